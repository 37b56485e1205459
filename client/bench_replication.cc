// `scyper bench replication`: what secondaries cost the primary, and how fresh their answers are (ScyPer, DanaC 2013,
// Fig. 5(b)); the other parts lie in bench_replication_*.cc.

#include "bench_replication.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/histogram.h"
#include "bench_node.h"
#include "progress.h"

namespace scyper::client {

namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr auto kProbePause = std::chrono::milliseconds(20);

struct Cost {
  double tps = 0, primary_us = 0, pgm_us = 0, datagrams = 0, bytes = 0;  // all but the first per transaction
};

// The load alone. CPU time is counted over the whole of it, as are transactions.
StatusOr<Cost> measure_cost(const BenchCluster& cluster, const ReplicationBenchOptions& options,
                            const ch::Generator& generator, Session* admin) {
  const pid_t pgm = pgm_of(cluster.pid(0));
  SCYPER_ASSIGN_OR_RETURN(const NodeStatus before, admin->status());
  const double primary_us = cpu_us(cluster.pid(0)), pgm_us = cpu_us(pgm);
  SCYPER_ASSIGN_OR_RETURN(OltpResult result, run_oltp_remote(cluster.connection(0), generator, options.oltp, {}));
  const double primary_end_us = cpu_us(cluster.pid(0)), pgm_end_us = cpu_us(pgm);
  SCYPER_ASSIGN_OR_RETURN(const NodeStatus after, admin->status());
  const double count = static_cast<double>(after.committed + after.rolled_back - before.committed - before.rolled_back);
  Cost cost;
  cost.tps = result.tps();
  cost.primary_us = (primary_end_us - primary_us) / count;
  cost.pgm_us = (pgm_end_us - pgm_us) / count;
  cost.datagrams = static_cast<double>(after.datagrams_sent - before.datagrams_sent) / count;
  cost.bytes = static_cast<double>(after.replication_bytes - before.replication_bytes) / count;
  return cost;
}

struct Freshness {
  double tps = 0;
  Histogram times_ns;
  uint64_t failed = 0;
};

// With few calls outstanding, so that there is room for queries: the load is far below the most.
StatusOr<Freshness> measure_freshness(const BenchCluster& cluster, const ReplicationBenchOptions& options,
                                      const ch::Generator& generator) {
  SCYPER_ASSIGN_OR_RETURN(auto sessions, query_sessions(cluster));
  Prober prober(std::move(sessions));
  SCYPER_ASSIGN_OR_RETURN(OltpResult result,
                          run_oltp_remote(cluster.connection(0), generator, light_load(options), {}));
  prober.stop();
  return Freshness{result.tps(), prober.times_ns(), prober.failed()};
}

ordered_json stages_json(const NodeStatus& status) {
  ordered_json out = ordered_json::object();
  for (const StageStatus& stage : status.stages) out[stage.name] = stage.mean_ms;
  return out;
}

StatusOr<ordered_json> run_one(const CommonOptions& common, const ReplicationBenchOptions& options,
                               uint32_t secondaries, uint64_t* divergent) {
  BenchCluster cluster(common, options, secondaries);
  const ch::Generator generator(generator_options(options.ch));
  // compared once, when the load is over
  SCYPER_RETURN_IF_ERROR(cluster.start(static_cast<uint32_t>(2 * options.oltp.seconds) + 5, generator));
  SCYPER_ASSIGN_OR_RETURN(auto admin, cluster.session(0));
  SCYPER_ASSIGN_OR_RETURN(const Cost cost, measure_cost(cluster, options, generator, admin.get()));
  const auto start = Clock::now();
  SCYPER_ASSIGN_OR_RETURN(NodeStatus level, cluster.wait_until_level(admin.get()));
  const double catch_up_s = seconds_since(start);
  SCYPER_ASSIGN_OR_RETURN(const Freshness fresh, measure_freshness(cluster, options, generator));
  SCYPER_ASSIGN_OR_RETURN(level, cluster.wait_until_level(admin.get()));
  SCYPER_ASSIGN_OR_RETURN(const NodeStatus last, cluster.wait_until_compared(admin.get(), level.last_lsn));
  uint64_t repaired = 0, different = 0;
  for (const SecondaryStatus& node : last.secondaries) {
    repaired += node.repaired;
    different += node.digests_different;
  }
  *divergent += different;
  ordered_json run = {{"secondaries", secondaries},
                      {"transport", secondaries == 0 ? "none" : last.secondaries.front().transport},
                      {"encrypted", last.is_encrypted},
                      {"commit_mode", options.commit_mode},
                      {"redo", last.redo},
                      {"tps", cost.tps},
                      {"primary_cpu_us_per_tx", cost.primary_us},
                      {"pgm_cpu_us_per_tx", cost.pgm_us},
                      {"datagrams_per_tx", cost.datagrams},
                      {"log_bytes_per_tx", cost.bytes},
                      {"catch_up_s", catch_up_s},
                      {"freshness_tps", fresh.tps},
                      {"freshness_ms_p50", static_cast<double>(fresh.times_ns.percentile(50)) / 1e6},
                      {"freshness_ms_p99", static_cast<double>(fresh.times_ns.percentile(99)) / 1e6},
                      {"freshness_answers", fresh.times_ns.count()},
                      {"freshness_failed", fresh.failed},
                      {"repaired", repaired},
                      {"divergent", different}};
  ordered_json stages = stages_json(last);
  if (secondaries > 0) {
    SCYPER_ASSIGN_OR_RETURN(auto one, cluster.session(1));
    SCYPER_ASSIGN_OR_RETURN(const NodeStatus status, one->status());
    stages.update(stages_json(status));
  }
  run["stage_ms_mean"] = std::move(stages);
  return run;
}

StatusOr<ordered_json> bench_cost(const CommonOptions& common, const ReplicationBenchOptions& options,
                                  uint64_t* divergent) {
  ordered_json runs = ordered_json::array();
  for (const uint32_t secondaries : options.secondaries) {
    SCYPER_ASSIGN_OR_RETURN(ordered_json run, run_one(common, options, secondaries, divergent));
    if (!common.is_json) {
      std::printf(
          "%u secondaries by %s: %s tps, %.2f us of the primary's CPU per transaction, fresh within %.1f ms "
          "(half), %.1f ms (99 %%), %llu groups repaired\n",
          secondaries, run.at("transport").get<std::string>().c_str(),
          grouped(static_cast<uint64_t>(run.at("tps").get<double>())).c_str(),
          run.at("primary_cpu_us_per_tx").get<double>(), run.at("freshness_ms_p50").get<double>(),
          run.at("freshness_ms_p99").get<double>(), run.at("repaired").get<unsigned long long>());
      std::fflush(stdout);
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace

Prober::Prober(std::vector<std::unique_ptr<Session>> sessions) : sessions_(std::move(sessions)) {
  thread_ = std::thread([this] { run(); });
}

void Prober::stop() {
  is_over_ = true;
  if (thread_.joinable()) thread_.join();
}

void Prober::run() {
  for (size_t i = 0; !is_over_; i = (i + 1) % sessions_.size()) {
    const auto start = Clock::now();
    Status status = sessions_[i]->execute("SELECT count(*) FROM warehouse", [](const query::ResultSet&) {});
    const auto time = Clock::now() - start;
    if (status.ok()) {
      times_.record(static_cast<uint64_t>(time / std::chrono::nanoseconds(1)));
    } else {
      ++failed_;
    }
    std::this_thread::sleep_for(kProbePause);
  }
}

StatusOr<std::vector<std::unique_ptr<Session>>> query_sessions(const BenchCluster& cluster) {
  std::vector<std::unique_ptr<Session>> sessions;
  for (uint32_t i = cluster.secondaries() == 0 ? 0 : 1; i <= cluster.secondaries(); ++i) {
    SCYPER_ASSIGN_OR_RETURN(auto session, cluster.session(i));
    sessions.push_back(std::move(session));
  }
  return sessions;
}

int run_bench_replication(const CommonOptions& common, ReplicationBenchOptions options) {
  options.ch.is_quiet = options.ch.is_quiet || common.is_json;
  ordered_json report = {{"warehouses", options.ch.warehouses}};
  uint64_t divergent = 0;
  for (const std::string& part : options.parts) {
    auto rows = part == "cost"        ? bench_cost(common, options, &divergent)
                : part == "queries"   ? bench_cluster_queries(common, options)
                : part == "snapshots" ? bench_global_snapshots(common, options)
                : part == "joins"     ? bench_joins(common, options)
                : part == "freshness" ? bench_freshness(common, options)
                                      : bench_loss(common, options);
    if (!rows.ok()) return show_failure(rows.status(), common.is_json);
    report[part == "cost" ? "runs" : part] = *std::move(rows);
    if (part == "cost") report["divergent"] = divergent;
  }
  if (common.is_json) std::printf("%s\n", report.dump(2).c_str());
  return divergent == 0 ? kExitOk : kExitCheck;
}

}  // namespace scyper::client
