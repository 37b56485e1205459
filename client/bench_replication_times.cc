// `scyper bench replication --parts snapshots,joins,freshness,loss`.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/histogram.h"
#include "bench_node.h"
#include "bench_replication.h"

namespace scyper::client {

namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr auto kSnapshotPause = std::chrono::milliseconds(50);  // far more than marker_distance
constexpr auto kServeLook = std::chrono::milliseconds(5);
constexpr double kJoinSecondsMax = 300;

double ms_of(const Histogram& times_ns, double percent) {
  return static_cast<double>(times_ns.percentile(percent)) / 1e6;
}

void say(const CommonOptions& common, const std::string& line) {
  if (common.is_json) return;
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

// --- global snapshots ---

struct ForkSum {
  double count = 0, ms = 0;
};
ForkSum forks_of(const NodeStatus& status) {
  for (const StageStatus& stage : status.stages) {
    if (stage.name == "fork")
      return {static_cast<double>(stage.count), stage.mean_ms * static_cast<double>(stage.count)};
  }
  return {};
}

struct SnapshotTimes {
  Histogram all_ns, fork_ns, beside_ns;  // of the node that was last; its fork; the rest
  uint64_t missed = 0;                   // rounds in which some node had none
};

// One global snapshot: the first node asks for it, the others wait for its number, which is the next.
class SnapshotRound {
 public:
  explicit SnapshotRound(std::vector<std::unique_ptr<Session>>* sessions) : sessions_(*sessions) {}

  Status begin() {  // the newest number
    SCYPER_ASSIGN_OR_RETURN(const query::Receipt receipt, sessions_[0]->pin({}));
    term_ = receipt.term;
    number_ = receipt.snapshot;
    return sessions_[0]->unpin();
  }

  // primary: something is committed by it, which the snapshot has to have.
  Status measure(Session* primary, SnapshotTimes* times) {
    std::vector<ForkSum> before;
    for (auto& session : sessions_) {
      SCYPER_ASSIGN_OR_RETURN(const NodeStatus status, session->status());
      before.push_back(forks_of(status));
    }
    SCYPER_RETURN_IF_ERROR(
        primary->execute("UPDATE warehouse SET w_ytd = w_ytd WHERE w_id = 1", [](const query::ResultSet&) {}));
    const Clock::time_point start = Clock::now();
    std::vector<std::future<StatusOr<Clock::duration>>> waiting;
    for (size_t i = 0; i < sessions_.size(); ++i) {
      waiting.push_back(std::async(std::launch::async, [this, i, start]() -> StatusOr<Clock::duration> {
        query::Freshness freshness;
        if (i > 0) {
          freshness.kind = query::Freshness::Kind::kGlobal;
          freshness.term = term_;
          freshness.snapshot = static_cast<uint32_t>(number_ + 1);
        }
        SCYPER_ASSIGN_OR_RETURN(const query::Receipt receipt, sessions_[i]->pin(freshness));
        const Clock::duration time = Clock::now() - start;
        if (receipt.term != term_ || receipt.snapshot != number_ + 1) return absl::AbortedError("another snapshot");
        return time;
      }));
    }
    std::vector<StatusOr<Clock::duration>> done;
    for (auto& each : waiting) done.push_back(each.get());
    for (auto& session : sessions_) static_cast<void>(session->unpin());
    Clock::duration last{0}, last_beside{0};
    double fork_ms = 0;
    for (size_t i = 0; i < sessions_.size(); ++i) {
      if (!done[i].ok()) {
        ++times->missed;
        return begin();
      }
      SCYPER_ASSIGN_OR_RETURN(const NodeStatus status, sessions_[i]->status());
      const ForkSum after = forks_of(status);
      const double forked = after.count - before[i].count;
      const double ms = forked == 0 ? 0 : (after.ms - before[i].ms) / forked;
      const auto beside =
          *done[i] - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(ms));
      last = std::max(last, *done[i]);
      last_beside = std::max(last_beside, beside);
      fork_ms = std::max(fork_ms, ms);
    }
    ++number_;
    times->all_ns.record(static_cast<uint64_t>(last / std::chrono::nanoseconds(1)));
    times->beside_ns.record(static_cast<uint64_t>(last_beside / std::chrono::nanoseconds(1)));
    times->fork_ns.record(static_cast<uint64_t>(fork_ms * 1e6));
    return Status();
  }

 private:
  std::vector<std::unique_ptr<Session>>& sessions_;
  uint64_t term_ = 0, number_ = 0;
};

StatusOr<SnapshotTimes> measure_snapshots(const BenchCluster& cluster, Session* primary, double seconds) {
  SCYPER_ASSIGN_OR_RETURN(auto sessions, query_sessions(cluster));
  SnapshotRound round(&sessions);
  SCYPER_RETURN_IF_ERROR(round.begin());
  SnapshotTimes times;
  for (const Clock::time_point start = Clock::now(); seconds_since(start) < seconds;) {
    std::this_thread::sleep_for(kSnapshotPause);
    SCYPER_RETURN_IF_ERROR(round.measure(primary, &times));
  }
  return times;
}

// --- joining ---

// Seconds until the newest secondary serves, with all that there was when its process began.
StatusOr<double> measure_join(BenchCluster* cluster, Session* admin) {
  const Clock::time_point start = Clock::now();
  SCYPER_RETURN_IF_ERROR(cluster->add_secondary());
  const std::string name = absl::StrCat("s", cluster->secondaries());
  while (seconds_since(start) < kJoinSecondsMax) {
    SCYPER_ASSIGN_OR_RETURN(const NodeStatus status, admin->status());
    for (const SecondaryStatus& node : status.secondaries) {
      if (node.node == name && node.serves) return seconds_since(start);
    }
    std::this_thread::sleep_for(kServeLook);
  }
  return sql_error("57014", "a secondary does not get as far as serving");
}

}  // namespace

StatusOr<ordered_json> bench_global_snapshots(const CommonOptions& common, const ReplicationBenchOptions& options) {
  const ch::Generator generator(generator_options(options.ch));
  ordered_json rows = ordered_json::array();
  for (const uint32_t secondaries : options.secondaries) {
    if (secondaries == 0) continue;
    BenchCluster cluster(common, options, secondaries);
    SCYPER_RETURN_IF_ERROR(cluster.start(/*digest_period_s=*/0, generator));
    SCYPER_ASSIGN_OR_RETURN(auto admin, cluster.session(0));
    for (const bool has_load : {false, true}) {
      std::unique_ptr<BackgroundLoad> load;
      if (has_load) load = std::make_unique<BackgroundLoad>(cluster.connection(0), generator, light_load(options));
      SCYPER_ASSIGN_OR_RETURN(const SnapshotTimes times, measure_snapshots(cluster, admin.get(), options.oltp.seconds));
      double tps = 0;
      if (load != nullptr) {
        SCYPER_ASSIGN_OR_RETURN(tps, load->stop());
      }
      SCYPER_ASSIGN_OR_RETURN(const NodeStatus status, cluster.wait_until_level(admin.get()));
      rows.push_back({{"secondaries", secondaries},
                      {"tps", tps},
                      {"memory_bytes", status.memory_used_bytes},
                      {"snapshots", times.all_ns.count()},
                      {"missed", times.missed},
                      {"all_nodes_ms_p50", ms_of(times.all_ns, 50)},
                      {"all_nodes_ms_p99", ms_of(times.all_ns, 99)},
                      {"fork_ms_p50", ms_of(times.fork_ns, 50)},
                      {"fork_ms_p99", ms_of(times.fork_ns, 99)},
                      {"beside_fork_ms_p50", ms_of(times.beside_ns, 50)},
                      {"beside_fork_ms_p99", ms_of(times.beside_ns, 99)}});
      say(common, absl::StrFormat(
                      "global snapshot, %u secondaries, %.0f tps: on all nodes within %.1f ms (half), %.1f (99 %%); "
                      "forks %.1f and %.1f, the rest %.1f and %.1f; %u snapshots, %u missed",
                      secondaries, tps, ms_of(times.all_ns, 50), ms_of(times.all_ns, 99), ms_of(times.fork_ns, 50),
                      ms_of(times.fork_ns, 99), ms_of(times.beside_ns, 50), ms_of(times.beside_ns, 99),
                      times.all_ns.count(), times.missed));
    }
  }
  return rows;
}

StatusOr<ordered_json> bench_joins(const CommonOptions& common, const ReplicationBenchOptions& options) {
  const ch::Generator generator(generator_options(options.ch));
  ordered_json rows = ordered_json::array();
  BenchCluster cluster(common, options, 3);
  SCYPER_RETURN_IF_ERROR(cluster.start_primary(/*digest_period_s=*/0));
  SCYPER_ASSIGN_OR_RETURN(auto admin, cluster.session(0));
  SCYPER_RETURN_IF_ERROR(create_ch_database(admin.get(), generator, database_options(options.ch)).status());
  BackupResult archive;
  for (const char* from : {"log", "archive", "archive, beside transactions"}) {
    std::unique_ptr<BackgroundLoad> load;
    if (rows.size() == 1) {
      SCYPER_ASSIGN_OR_RETURN(auto client, Client::connect(cluster.connection(0)));
      SCYPER_ASSIGN_OR_RETURN(archive, client->backup(""));
    }
    if (rows.size() == 2) {
      load = std::make_unique<BackgroundLoad>(cluster.connection(0), generator, light_load(options));
    }
    SCYPER_ASSIGN_OR_RETURN(const double seconds, measure_join(&cluster, admin.get()));
    double tps = 0;
    if (load != nullptr) {
      SCYPER_ASSIGN_OR_RETURN(tps, load->stop());
    }
    SCYPER_ASSIGN_OR_RETURN(const NodeStatus status, admin->status());
    rows.push_back({{"from", from},
                    {"serves_s", seconds},
                    {"tps", tps},
                    {"memory_bytes", status.memory_used_bytes},
                    {"log_bytes", status.log_bytes},
                    {"archive_bytes", archive.stored_bytes}});
    say(common, absl::StrFormat("join from the %s: serves after %.2f s (%.0f MB of data)", from, seconds,
                                static_cast<double>(status.memory_used_bytes) / 1e6));
  }
  return rows;
}

StatusOr<ordered_json> bench_freshness(const CommonOptions& common, const ReplicationBenchOptions& options) {
  const ch::Generator generator(generator_options(options.ch));
  ordered_json rows = ordered_json::array();
  for (const uint32_t secondaries : options.secondaries) {
    if (secondaries == 0) continue;
    BenchCluster cluster(common, options, secondaries);
    SCYPER_RETURN_IF_ERROR(cluster.start(/*digest_period_s=*/0, generator));
    SCYPER_ASSIGN_OR_RETURN(auto admin, cluster.session(0));
    SCYPER_ASSIGN_OR_RETURN(const OltpResult most, run_oltp_remote(cluster.connection(0), generator, options.oltp, {}));
    SCYPER_RETURN_IF_ERROR(cluster.wait_until_level(admin.get()).status());
    OltpOptions half = options.oltp;
    half.streams = 1;
    half.batch = options.light_batch;
    half.rate = most.tps() * options.load_share;
    SCYPER_ASSIGN_OR_RETURN(auto sessions, query_sessions(cluster));
    Prober prober(std::move(sessions));
    SCYPER_ASSIGN_OR_RETURN(const OltpResult result, run_oltp_remote(cluster.connection(0), generator, half, {}));
    prober.stop();
    const Clock::time_point end = Clock::now();
    SCYPER_RETURN_IF_ERROR(cluster.wait_until_level(admin.get()).status());
    rows.push_back({{"secondaries", secondaries},
                    {"most_tps", most.tps()},
                    {"wanted_tps", half.rate},
                    {"tps", result.tps()},
                    {"freshness_ms_p50", ms_of(prober.times_ns(), 50)},
                    {"freshness_ms_p99", ms_of(prober.times_ns(), 99)},
                    {"answers", prober.times_ns().count()},
                    {"failed", prober.failed()},
                    {"catch_up_s", seconds_since(end)}});
    say(common, absl::StrFormat("freshness, %u secondaries, %.0f of %.0f tps: %.1f ms (half), %.1f (99 %%), %u answers",
                                secondaries, result.tps(), most.tps(), ms_of(prober.times_ns(), 50),
                                ms_of(prober.times_ns(), 99), prober.times_ns().count()));
  }
  return rows;
}

StatusOr<ordered_json> bench_loss(const CommonOptions& common, const ReplicationBenchOptions& options) {
  const ch::Generator generator(generator_options(options.ch));
  const uint32_t secondaries = *std::max_element(options.secondaries.begin(), options.secondaries.end());
  BenchCluster cluster(common, options, secondaries);
  SCYPER_RETURN_IF_ERROR(cluster.start(/*digest_period_s=*/0, generator));
  SCYPER_ASSIGN_OR_RETURN(auto admin, cluster.session(0));
  ordered_json rows = ordered_json::array();
  double without = 0;
  OltpOptions load = options.oltp;
  load.warmup_seconds = 0;
  uint64_t repaired_before = 0;
  for (const uint32_t percent : options.losses) {
    SCYPER_RETURN_IF_ERROR(cluster.set_loss(percent));
    SCYPER_ASSIGN_OR_RETURN(const NodeStatus before, admin->status());
    const Clock::time_point start = Clock::now();
    SCYPER_ASSIGN_OR_RETURN(const OltpResult result, run_oltp_remote(cluster.connection(0), generator, load, {}));
    SCYPER_ASSIGN_OR_RETURN(const NodeStatus level, cluster.wait_until_level(admin.get()));
    const double seconds = seconds_since(start);
    const double rate = static_cast<double>(level.last_lsn - before.last_lsn) / seconds;
    if (percent == 0 && without == 0) without = rate;
    uint64_t repaired = 0;
    for (const SecondaryStatus& node : level.secondaries) repaired += node.repaired;
    load.mix.seed += load.streams;
    rows.push_back({{"secondaries", secondaries},
                    {"loss_percent", percent},
                    {"tps", result.tps()},
                    {"replicated_per_s", rate},
                    {"of_no_loss", without == 0 ? 0 : rate / without},
                    {"seconds", seconds},
                    {"repaired_groups", repaired - repaired_before},
                    {"transport", level.secondaries.empty() ? "" : level.secondaries.front().transport}});
    repaired_before = repaired;
    say(common,
        absl::StrFormat("loss of %u %%: %.0f logged transactions/s until all secondaries had them (%.2f of without), "
                        "%.0f tps at the primary",
                        percent, rate, without == 0 ? 0 : rate / without, result.tps()));
  }
  SCYPER_RETURN_IF_ERROR(cluster.set_loss(0));
  return rows;
}

}  // namespace scyper::client
