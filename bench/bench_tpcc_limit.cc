// bench_tpcc_limit: TPC-C by hand, the upper bound of what compiled procedures can reach on this machine.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/histogram.h"
#include "client/ch/outcome.h"
#include "limit_engine.h"
#include "tpcc_flags.h"

namespace scyper::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Counts {
  uint64_t transactions = 0;
  uint64_t rolled_back = 0;
  std::array<uint64_t, ch::kProcedureCount> per_procedure{};
  std::array<Histogram, ch::kProcedureCount> latency_ns;  // of one in kSampled transactions
  static constexpr uint64_t kSampled = 8;
};

// Runs until the clock says so (asked now and then, so that it costs nothing).
double run_timed(LimitEngine& engine, ch::InputStream& stream, double seconds, Counts& counts) {
  constexpr uint64_t kBetweenLooks = 256;
  ch::Call call;
  int64_t time = first_run_time();
  const Clock::time_point start = Clock::now();
  double elapsed = 0;
  do {
    for (uint64_t i = 0; i < kBetweenLooks; ++i) {
      stream.next(call);
      const bool sampled = i % Counts::kSampled == 0;
      const Clock::time_point begin = sampled ? Clock::now() : Clock::time_point();
      const LimitOutcome& outcome = engine.execute(call, time++);
      if (sampled) {
        counts.latency_ns[static_cast<size_t>(call.procedure)].record(
            static_cast<uint64_t>(std::chrono::nanoseconds(Clock::now() - begin).count()));
      }
      ++counts.per_procedure[static_cast<size_t>(call.procedure)];
      counts.rolled_back += !outcome.sqlstate.empty();
    }
    counts.transactions += kBetweenLooks;
    elapsed = seconds_since(start);
  } while (elapsed < seconds);
  return elapsed;
}

nlohmann::json report(const Counts& counts, double seconds, const RedoLog& redo) {
  Histogram all;
  nlohmann::json procedures;
  for (size_t p = 0; p < ch::kProcedureCount; ++p) {
    all.merge(counts.latency_ns[p]);
    procedures[std::string(ch::procedure_name(static_cast<ch::Procedure>(p)))] = {
        {"count", counts.per_procedure[p]}, {"mean_us", counts.latency_ns[p].mean() / 1000}};
  }
  const double count = static_cast<double>(counts.transactions);
  return {{"tps", count / seconds},
          {"new_order_tps", static_cast<double>(counts.per_procedure[0]) / seconds},
          {"p50_us", static_cast<double>(all.percentile(50)) / 1000},
          {"p99_us", static_cast<double>(all.percentile(99)) / 1000},
          {"max_us", static_cast<double>(all.max()) / 1000},
          {"rolled_back", counts.rolled_back},
          {"redo_bytes_per_tx", static_cast<double>(redo.bytes()) / count},
          {"transactions", counts.transactions},
          {"seconds", seconds},
          {"procedures", procedures}};
}

nlohmann::json table_digests(const LimitDatabase& database) {
  nlohmann::json result;
  for (const ch::TableInfo& info : ch::all_tables()) {
    if (info.table == ch::Table::kSupplier || info.table == ch::Table::kNation || info.table == ch::Table::kRegion) {
      continue;  // not loaded, nothing writes them
    }
    ch::TableDigest digest;
    database.for_each_row(info.table, [&](std::span<const Datum> row) { digest.add(info, row); });
    result[std::string(info.name)] = digest.text();
  }
  return result;
}

nlohmann::json run_counted(LimitDatabase& database, LimitEngine& engine, ch::InputStream& stream,
                           const TpccFlags& flags) {
  OutcomeWriter writer(flags);
  ch::Call call;
  uint64_t rolled_back = 0;
  int64_t time = first_run_time();
  for (int64_t i = 0; i < flags.transactions; ++i) {
    stream.next(call);
    const LimitOutcome& outcome = engine.execute(call, time++);
    rolled_back += !outcome.sqlstate.empty();
    std::string& line = writer.begin_line();
    if (outcome.sqlstate.empty()) {
      ch::append_outcome(line, call.procedure, outcome.results());
    } else {
      ch::append_failure(line, call.procedure, outcome.sqlstate);
    }
    writer.end_line();
  }
  return {{"transactions", flags.transactions},
          {"rolled_back", rolled_back},
          {"digest", writer.digest()},
          {"tables", table_digests(database)}};
}

int run(int argc, char** argv) {
  TpccFlags flags;
  LimitOptions limit;
  CLI::App app("Hand-written TPC-C: the limit that compiled procedures are measured against");
  flags.add_to(app);
  app.add_flag("--huge-pages,!--no-huge-pages", limit.huge_pages, "Transparent huge pages for everything (default)");
  CLI11_PARSE(app, argc, argv);

  const ch::Generator generator(flags.generator_options());
  const Clock::time_point load_start = Clock::now();
  const auto database = std::make_unique<LimitDatabase>(generator, limit);
  const double load_seconds = seconds_since(load_start);
  LimitEngine engine(*database);
  ch::InputStream stream(generator, flags.mix_options());
  nlohmann::json result;
  if (flags.transactions > 0) {
    result = run_counted(*database, engine, stream, flags);
  } else {
    Counts warm_up, counts;
    const double warm_seconds = run_timed(engine, stream, flags.warm_up_seconds, warm_up);
    const double expected = static_cast<double>(warm_up.transactions) / warm_seconds * flags.seconds * 1.3;
    database->prefault(static_cast<size_t>(expected));
    const RedoLog warm_redo = engine.redo();
    const double seconds = run_timed(engine, stream, flags.seconds, counts);
    result = report(counts, seconds, engine.redo());
    result["redo_bytes_per_tx"] =
        static_cast<double>(engine.redo().bytes() - warm_redo.bytes()) / static_cast<double>(counts.transactions);
  }
  result["engine"] = "hand-written";
  result["warehouses"] = flags.warehouses;
  result["load_seconds"] = load_seconds;
  result["huge_pages"] = limit.huge_pages;
  print_result(result, flags);
  return 0;
}

}  // namespace
}  // namespace scyper::bench

int main(int argc, char** argv) { return scyper::bench::run(argc, argv); }
