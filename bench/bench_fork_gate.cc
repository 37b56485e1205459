// The two ways to keep transactions from being half done in a fork (HyPer III.D and IV.F): workers stop between two
// transactions, or between two changes of rows with the child taking back the rest. What transactions notice: the time
// in which none can run, beside the mix of TPC-C alone, and with one long transaction at a time among it.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "bench_node.h"

namespace scyper::client {
namespace {

struct Options {
  CommonOptions common;
  ChOptions ch;
  int forks = 100;
  int long_rows = 50'000;  // that the long transaction changes, one after the other
  std::string output = "table";
};

struct Figures {
  double fork_ms = 0, stall_p50_ms = 0, stall_p99_ms = 0, stall_max_ms = 0, undo_p50_ms = 0, undo_max_ms = 0;
  uint32_t taken_back = 0;
  double long_ms = 0;  // of one long transaction
};

double at(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

// Runs a statement again and again until it goes.
class Repeater {
 public:
  Repeater(primary::Engine* engine, std::string sql) : engine_(engine), sql_(std::move(sql)) {
    if (!sql_.empty()) thread_ = std::thread([this] { run(); });
  }
  ~Repeater() {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
  }
  double mean_ms() const { return runs_ == 0 ? 0 : static_cast<double>(ns_) / 1e6 / runs_; }

 private:
  void run() {
    const RealClock clock;
    while (!is_over_) {
      const int64_t start_ns = clock.monotonic_ns();
      Status status = engine_->execute(sql_, {}, nullptr);
      if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
      ns_ += clock.monotonic_ns() - start_ns;
      ++runs_;
    }
  }

  primary::Engine* const engine_;
  const std::string sql_;
  std::atomic<bool> is_over_{false};
  std::atomic<int64_t> ns_{0};
  std::atomic<int> runs_{0};
  std::thread thread_;
};

// The time that a child needs to be ready: taking back what was unfinished is the first thing it does.
double ready_ms(const primary::Forked& forked) {
  char ready;
  if (read(forked.child->socket(), &ready, 1) != 1) return 0;
  return static_cast<double>(RealClock().monotonic_ns() - forked.point.monotonic_ns - forked.point.fork_ns) / 1e6;
}

StatusOr<Figures> measure(const Options& options, const char* mode, bool has_long) {
  CommonOptions common = options.common;
  common.node_settings.emplace_back("fork", mode);
  ch::Generator generator(generator_options(options.ch));
  SCYPER_ASSIGN_OR_RETURN(auto node, start_node(common, options.ch, /*has_server=*/false));
  primary::Engine* engine = node->engine.get();
  auto session = local_session(engine);
  ChDatabaseOptions load = database_options(options.ch);
  load.is_quiet = true;
  SCYPER_RETURN_IF_ERROR(create_ch_database(session.get(), generator, load).status());
  SCYPER_RETURN_IF_ERROR(engine->execute_script(
      "CREATE TABLE long_rows (w integer, i integer, v bigint NOT NULL, PRIMARY KEY (w, i)) PARTITION BY HASH (w);"
      "CREATE PROCEDURE fill_rows(p integer, n integer) LANGUAGE plpgsql AS $$ BEGIN FOR k IN 1..n LOOP "
      "INSERT INTO long_rows VALUES (p, k, 0); END LOOP; END $$;"
      "CREATE PROCEDURE change_rows(p integer, n integer) LANGUAGE plpgsql AS $$ BEGIN FOR k IN 1..n LOOP "
      "UPDATE long_rows SET v = v + 1 WHERE w = p AND i = k; END LOOP; END $$",
      {}));
  const std::string rows = std::to_string(options.long_rows);
  SCYPER_RETURN_IF_ERROR(engine->execute("CALL fill_rows(1, " + rows + ")", {}, nullptr));
  Figures figures;
  std::vector<double> stalls, forks, undos;
  std::atomic<bool> is_over{false};
  // the mix in slices, so that it can be ended
  Status failure;
  std::thread driver([&] {
    OltpOptions slice;
    slice.transactions = 2000;
    for (uint64_t seed = 1; !is_over; ++seed) {
      slice.mix.seed = seed;
      failure = run_oltp_in_process(engine, generator, slice, 1, {}).status();
      if (!failure.ok()) return;
    }
  });
  {
    Repeater long_transactions(engine, has_long ? "CALL change_rows(1, " + rows + ")" : "");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    for (int i = 0; i < options.forks; ++i) {
      primary::ForkRequest request;
      request.body = [](const primary::ForkedDatabase&, int socket) { return write(socket, "r", 1) == 1 ? 0 : 1; };
      auto forked = engine->fork(std::move(request));
      if (!forked.ok()) break;
      undos.push_back(ready_ms(*forked));
      stalls.push_back(static_cast<double>(forked->point.stall_ns) / 1e6);
      forks.push_back(static_cast<double>(forked->point.fork_ns) / 1e6);
      figures.taken_back += forked->point.unfinished;
      forked->child->wait();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    is_over = true;
    figures.long_ms = long_transactions.mean_ms();
  }
  driver.join();
  SCYPER_RETURN_IF_ERROR(failure);
  figures.fork_ms = at(forks, 0.5);
  figures.stall_p50_ms = at(stalls, 0.5);
  figures.stall_p99_ms = at(stalls, 0.99);
  figures.stall_max_ms = at(stalls, 1);
  figures.undo_p50_ms = at(undos, 0.5);
  figures.undo_max_ms = at(undos, 1);
  return figures;
}

int run(int argc, char** argv) {
  Options options;
  options.ch.scale = "tiny";
  options.ch.warehouses = 4;
  options.ch.is_quiet = true;
  options.common.node_settings = {{"workers", "2"}, {"transaction_time_max", "60s"}};
  CLI::App app("The two ways to stop transactions for a fork: what they notice.");
  app.add_option("--warehouses", options.ch.warehouses)->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--scale", options.ch.scale)->check(CLI::IsMember({"full", "tiny"}))->capture_default_str();
  app.add_option("--forks", options.forks)->check(CLI::Range(1, 100'000))->capture_default_str();
  app.add_option("--long-rows", options.long_rows, "changed by a long transaction")->capture_default_str();
  app.add_option("-o,--output", options.output)->check(CLI::IsMember({"table", "json"}))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  nlohmann::ordered_json out;
  if (options.output == "table") {
    std::printf("%-14s %-18s %9s %10s %10s %10s %12s %10s %11s\n", "workers stop", "load", "fork ms", "stall p50",
                "stall p99", "stall max", "child ready", "ready max", "taken back");
  }
  for (bool has_long : {false, true}) {
    for (const char* mode : {"transactions", "changes"}) {
      auto figures = measure(options, mode, has_long);
      if (!figures.ok()) return show_failure(figures.status(), options.output == "json");
      const char* load = has_long ? "mix + long ones" : "mix";
      if (options.output == "table") {
        std::printf("%-14s %-18s %9.3f %10.3f %10.3f %10.3f %12.3f %10.3f %11u\n", mode, load, figures->fork_ms,
                    figures->stall_p50_ms, figures->stall_p99_ms, figures->stall_max_ms, figures->undo_p50_ms,
                    figures->undo_max_ms, figures->taken_back);
        std::fflush(stdout);
      }
      out[has_long ? "mix_and_long" : "mix"][mode] = {{"fork_ms", figures->fork_ms},
                                                      {"stall_p50_ms", figures->stall_p50_ms},
                                                      {"stall_p99_ms", figures->stall_p99_ms},
                                                      {"stall_max_ms", figures->stall_max_ms},
                                                      {"child_ready_ms", figures->undo_p50_ms},
                                                      {"child_ready_ms_max", figures->undo_max_ms},
                                                      {"taken_back", figures->taken_back},
                                                      {"long_transaction_ms", figures->long_ms}};
    }
  }
  if (options.output == "json") std::printf("%s\n", out.dump(2).c_str());
  return 0;
}

}  // namespace
}  // namespace scyper::client

int main(int argc, char** argv) { return scyper::client::run(argc, argv); }
