// `scyper bench mixed`.

#include "bench_mixed.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "client/ch/sql.h"
#include "progress.h"
#include "query/queries.h"

namespace scyper::client {

namespace {

// One session that runs the queries in turn, on a new snapshot every period.
class QuerySession {
 public:
  QuerySession(query::Queries* queries, const MixedOptions& options) : queries_(queries), options_(options) {
    thread_ = std::thread([this] { run(); });
  }
  ~QuerySession() { stop(); }
  void stop() {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
  }

  uint64_t answered() const { return answered_; }
  uint64_t failed() const { return failed_; }
  uint64_t snapshots() const { return snapshots_; }

 private:
  void run() {
    std::vector<int> numbers = options_.queries;
    for (int i = 1; options_.queries.empty() && i <= ch::kQueryCount; ++i) numbers.push_back(i);
    const auto period = std::chrono::milliseconds(options_.snapshot_period_ms);
    auto next = std::chrono::steady_clock::now();
    uint64_t session = 0;
    for (size_t at = 0; !is_over_; at = (at + 1) % numbers.size()) {
      if (std::chrono::steady_clock::now() >= next) {
        next = std::max(next + period, std::chrono::steady_clock::now());
        if (session != 0) static_cast<void>(queries_->close_session(session));
        auto opened = queries_->open_session({}, nullptr);
        if (!opened.ok()) {
          ++failed_;
          continue;
        }
        session = *opened;
        ++snapshots_;
      }
      ask(session, numbers[at]);
    }
    if (session != 0) static_cast<void>(queries_->close_session(session));
  }

  // A query that outlasts its snapshot's period is not cut off: the next one gets the next snapshot.
  void ask(uint64_t session, int number) {
    query::QueryOptions options;
    options.session = session;
    options.threads = options_.threads;
    query::ResultSet result;
    Status status = queries_->execute(ch::query_sql(number), {}, options, &result, nullptr);
    ++(status.ok() ? answered_ : failed_);
  }

  query::Queries* const queries_;
  const MixedOptions& options_;
  std::atomic<bool> is_over_{false};
  std::atomic<uint64_t> answered_{0}, failed_{0}, snapshots_{0};
  std::thread thread_;
};

double us(uint64_t ns) { return static_cast<double>(ns) / 1000; }

}  // namespace

StatusOr<MixedRound> run_mixed_round(primary::Engine* engine, const ch::Generator& generator,
                                     const MixedOptions& options) {
  MixedRound round;
  const auto begun = thread_times();
  SCYPER_ASSIGN_OR_RETURN(OltpResult alone, run_oltp_in_process(engine, generator, options.oltp, options.drivers, {}));
  const auto between = thread_times();
  round.threads_alone = difference(begun, between);
  round.tps_alone = alone.tps();
  round.p99_us_alone = us(alone.stats.latency().percentile(99));
  QuerySession session(engine->queries(), options);
  SCYPER_ASSIGN_OR_RETURN(OltpResult beside, run_oltp_in_process(engine, generator, options.oltp, options.drivers, {}));
  round.threads_beside = difference(between, thread_times());
  session.stop();
  round.tps_beside = beside.tps();
  round.p99_us_beside = us(beside.stats.latency().percentile(99));
  round.max_us_beside = us(beside.stats.latency().max());
  round.answered = session.answered();
  round.failed = session.failed();
  round.snapshots = session.snapshots();
  round.seconds_beside = beside.seconds;
  return round;
}

namespace {

// Who took the time of the cores.
nlohmann::ordered_json threads_json(const std::map<std::string, ThreadTimes>& threads) {
  auto out = nlohmann::ordered_json::object();
  for (const auto& [name, times] : threads)
    out[name] = {
        {"cpu_ms", std::llround(times.cpu_ms)}, {"wait_ms", std::llround(times.wait_ms)}, {"faults", times.faults}};
  return out;
}

nlohmann::ordered_json round_json(const MixedRound& round) {
  return {{"tps_alone", round.tps_alone},
          {"tps_beside_queries", round.tps_beside},
          {"ratio", round.tps_beside / round.tps_alone},
          {"p99_us_alone", round.p99_us_alone},
          {"p99_us_beside", round.p99_us_beside},
          {"max_us_beside", round.max_us_beside},
          {"queries", round.answered},
          {"queries_failed", round.failed},
          {"snapshots", round.snapshots},
          {"seconds", round.seconds_beside},
          {"threads_alone", threads_json(round.threads_alone)},
          {"threads_beside_queries", threads_json(round.threads_beside)}};
}

StatusOr<nlohmann::ordered_json> bench(const CommonOptions& common, const MixedOptions& options) {
  ch::Generator generator(generator_options(options.ch));
  SCYPER_ASSIGN_OR_RETURN(auto node, start_node(common, options.ch, /*has_server=*/false));
  auto session = local_session(node->engine.get());
  SCYPER_RETURN_IF_ERROR(create_ch_database(session.get(), generator, database_options(options.ch)).status());
  auto rounds = nlohmann::ordered_json::array();
  double alone = 0, beside = 0;
  for (uint32_t i = 0; i < options.rounds; ++i) {
    SCYPER_ASSIGN_OR_RETURN(MixedRound round, run_mixed_round(node->engine.get(), generator, options));
    alone += round.tps_alone;
    beside += round.tps_beside;
    rounds.push_back(round_json(round));
    if (common.is_json) continue;
    std::printf("  %s tps alone, %s beside queries: %.2f; %llu queries answered, %llu failed, %llu snapshots\n",
                grouped(static_cast<uint64_t>(round.tps_alone)).c_str(),
                grouped(static_cast<uint64_t>(round.tps_beside)).c_str(), round.tps_beside / round.tps_alone,
                static_cast<unsigned long long>(round.answered), static_cast<unsigned long long>(round.failed),
                static_cast<unsigned long long>(round.snapshots));
    std::fflush(stdout);
  }
  const auto counters = node->engine->queries()->counters().snapshots;
  const double forks = counters.forks == 0 ? 1 : static_cast<double>(counters.forks);
  nlohmann::ordered_json out = {{"warehouses", options.ch.warehouses},
                                {"workers", node->engine->options().workers},
                                {"profile", options.ch.profile},
                                {"snapshot_period_ms", options.snapshot_period_ms},
                                {"rounds", std::move(rounds)},
                                {"ratio", beside / alone},
                                {"fork_ms_mean", static_cast<double>(counters.fork_ns) / 1e6 / forks},
                                {"stall_ms_mean", static_cast<double>(counters.stall_ns) / 1e6 / forks},
                                {"stall_ms_max", static_cast<double>(counters.stall_ns_max) / 1e6},
                                {"transactions_taken_back", counters.unfinished}};
  for (const char* key : {"partitions", "layout", "pages", "redo", "fork"}) {
    std::string value = server::find_setting(key)->get(node->config);
    std::erase(value, '"');
    out[key] = value;
  }
  return out;
}

}  // namespace

int run_bench_mixed(const CommonOptions& common, MixedOptions options) {
  options.oltp.busy_cores = options.threads;  // without queries too: the same load in both
  options.ch.is_quiet = options.ch.is_quiet || common.is_json;
  auto report = bench(common, options);
  if (!report.ok()) return show_failure(report.status(), common.is_json);
  if (common.is_json) {
    std::printf("%s\n", report->dump(2).c_str());
  } else {
    std::printf("transactions beside queries at %.2f of the rate without; fork %.2f ms, longest stall %.2f ms\n",
                report->at("ratio").get<double>(), report->at("fork_ms_mean").get<double>(),
                report->at("stall_ms_max").get<double>());
  }
  return kExitOk;
}

}  // namespace scyper::client
