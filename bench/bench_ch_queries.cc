// The analytical queries of CH-benCHmark in this process: text to last row, planned and compiled anew
// each time (--reuse: once). No snapshot, no client.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>

#include "ch_limit.h"
#include "client/ch/generator.h"
#include "client/ch/sql.h"
#include "client/ch/tables.h"
#include "storage/frozen_tier.h"
#include "testing/session.h"

namespace scyper {
namespace {

struct Flags {
  int32_t warehouses = 1;
  bool tiny = false;
  int repeat = 3;
  std::string profile = "spec";
  std::string mode = "quick";
  std::string layout = "column";
  std::string only;
  bool explain = false;
  bool show = false;
  bool reuse = false;
  bool limit = false;
  bool cpu = false;
  bool compact = false;
  std::string tier;
  uint64_t tier_cache_mb = 64;
  uint32_t partitions = 1;
  uint32_t threads = 1;
};

bool succeed(const Status& status, std::string_view what) {
  if (status.ok()) return true;
  std::cerr << what << ": " << sqlstate_of(status) << " " << std::string(status.message()) << "\n";
  return false;
}

bool load(query::Session* session, const ch::Generator& generator) {
  for (const auto& table : ch::all_tables()) {
    for (int32_t w = 1; w <= (table.warehouse_column < 0 ? 1 : generator.scale().warehouses); w++) {
      ch::RowCursor cursor(generator, table.table, w);
      for (ch::RowBatch batch = cursor.next(); batch.rows > 0; batch = cursor.next())
        if (!succeed(session->database().load(table.name, {batch.values, batch.rows * batch.columns}, nullptr),
                     table.name))
          return false;
    }
  }
  if (session->database().catalog()->tables.begin()->second->frozen_store() != nullptr) {
    session->set_freezing(1);
    if (!succeed(session->script("SELECT 1"), "freezing")) return false;
    session->set_freezing(UINT64_MAX);
  }
  session->database().refresh_statistics();
  return true;
}

query::DatabaseOptions options_of(const Flags& flags) {
  query::DatabaseOptions options;
  options.partitions = flags.partitions;
  options.memory_bytes = size_t{12} << 30;
  if (flags.compact) options.frozen_bytes = size_t{8} << 30;
  options.tier.directory = flags.tier;
  options.tier.cache_bytes = flags.tier_cache_mb << 20;
  options.tier.memory_bytes = 0;
  options.layout = flags.layout == "row" ? storage::Layout::kRow : storage::Layout::kColumn;
  options.execution = flags.mode == "interpreted" ? query::ExecutionMode::kInterpreted
                      : flags.mode == "quick"     ? query::ExecutionMode::kQuick
                      : flags.mode == "better"    ? query::ExecutionMode::kBetter
                                                  : query::ExecutionMode::kAdaptive;
  return options;
}

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

// Wall-clock time, or with --cpu the time that this process has computed: what other programs on the machine disturb
// less.
class Stopwatch {
 public:
  explicit Stopwatch(bool cpu) : clock_(cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC), begin_(now()) {}
  double milliseconds() const { return now() - begin_; }

 private:
  double now() const {
    timespec time{};
    clock_gettime(clock_, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
  }
  clockid_t clock_;
  double begin_;
};

struct Timing {
  std::vector<double> total, compile;
  size_t rows = 0;
};

bool run_query(query::Session* session, const Flags& flags, const std::string& text, Timing* timing) {
  std::shared_ptr<const query::Program> program;
  for (int i = 0; i < flags.repeat; i++) {
    Stopwatch watch(flags.cpu);
    if (!flags.reuse || program == nullptr) {
      // a comment of its own keeps the statement cache out
      auto prepared = session->database().prepare(text + " -- " + std::to_string(i));
      if (!succeed(prepared.status(), text)) return false;
      program = session->database().first_program_of(**prepared);  // as queries on snapshots have it
    }
    double compile = watch.milliseconds();
    if (!succeed(session->database().add_companions(*program), text)) return false;
    query::ResultSet result;
    result.columns = program->columns();
    if (!succeed(session->execute(*program, {}, &result), text)) return false;
    timing->total.push_back(watch.milliseconds());
    timing->compile.push_back(compile);
    timing->rows = result.row_count();
  }
  return true;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<std::pair<std::string, std::string>> chosen_queries(const Flags& flags) {
  std::vector<std::pair<std::string, std::string>> queries;
  for (int i = 1; i <= 22; i++) {
    std::string name = (i < 10 ? "q0" : "q") + std::to_string(i);
    if (flags.only.empty() || name == flags.only) queries.emplace_back(name, std::string(ch::query_sql(i)));
  }
  return queries;
}

// Ours (--reuse: running alone) against hand-written code, median ms and their ratio; false when an answer differs.
bool compare_with_limit(query::Session* session, const Flags& flags, nlohmann::json* out) {
  bool equal = true;
  for (const auto& limit : bench::limit_queries()) {
    std::string name = (limit.number < 10 ? "q0" : "q") + std::to_string(limit.number);
    if (!flags.only.empty() && name != flags.only) continue;
    std::string text(ch::query_sql(limit.number)), check = limit.check, by_hand;
    check.replace(check.find("%s"), 2, text);
    Timing timing;
    if (!run_query(session, flags, text, &timing)) return false;
    std::vector<double> times;
    auto catalog = session->database().catalog();
    for (int i = 0; i < flags.repeat; i++) {
      auto begin = std::chrono::steady_clock::now();
      by_hand = limit.run(*catalog);
      times.push_back(milliseconds_since(begin));
    }
    std::string ours = session->text(check);
    equal &= ours == by_hand;
    if (ours != by_hand) std::cerr << name << " differs\n" << ours << "\nby hand:\n" << by_hand << "\n";
    double ratio = median(timing.total) / median(times);
    std::cerr << name << " " << median(timing.total) << " ms, by hand " << median(times) << ", ratio " << ratio << "\n";
    (*out)["limit"].push_back({{"name", name},
                               {"ms", std::round(median(timing.total) * 100) / 100},
                               {"by_hand_ms", std::round(median(times) * 100) / 100},
                               {"ratio", std::round(ratio * 100) / 100},
                               {"equal", ours == by_hand}});
  }
  std::cout << out->dump() << std::endl;
  return equal;
}

int run(const Flags& flags) {
  query::Session session(options_of(flags), size_t{4} << 30);
  session.set_threads(flags.threads);
  ch::GeneratorOptions options;
  options.scale = flags.tiny ? ch::Scale::tiny(flags.warehouses) : ch::Scale{};
  options.scale.warehouses = flags.warehouses;
  if (flags.profile == "varied") options.profile = ch::Profile::kVaried;
  ch::Generator generator(options);
  if (!succeed(session.script(ch::schema_sql({.partition_by = "HASH", .with = ""})), "schema")) return 1;
  if (!load(&session, generator)) return 1;
  nlohmann::json out;
  if (flags.limit) return compare_with_limit(&session, flags, &out) ? 0 : 1;
  double logs = 0;
  int count = 0;
  for (const auto& [name, text] : chosen_queries(flags)) {
    if (flags.explain) std::cerr << name << "\n" << session.text("EXPLAIN " + text) << "\n";
    if (flags.show) std::cerr << session.text(text) << "\n";
    Timing timing;
    if (!run_query(&session, flags, text, &timing)) continue;
    out["queries"].push_back({{"name", name},
                              {"ms", std::round(median(timing.total) * 100) / 100},
                              {"compile_ms", std::round(median(timing.compile) * 100) / 100},
                              {"rows", timing.rows}});
    std::cerr << name << " " << median(timing.total) << " ms, compiled in " << median(timing.compile) << ", "
              << timing.rows << " rows\n";
    logs += std::log(median(timing.total));
    count++;
  }
  if (storage::FrozenTier* tier = session.database().tier(); tier != nullptr) {
    const storage::PageCacheStatistics cache = tier->cache()->statistics();
    out["tier"] = {{"vector_bytes", tier->counts().tiered_bytes},
                   {"memory_bytes", tier->resident_bytes()},
                   {"pages_hit", cache.hits},
                   {"pages_waited_for", cache.faults},
                   {"pages_read", cache.pages_read}};
  }
  out["geomean_ms"] = count == 0 ? 0 : std::round(std::exp(logs / count) * 100) / 100;
  std::cout << out.dump() << std::endl;
  return 0;
}

}  // namespace
}  // namespace scyper

int main(int argc, char** argv) {
  scyper::Flags flags;
  CLI::App app("CH-benCHmark's queries in this process");
  app.add_option("--warehouses", flags.warehouses);
  app.add_flag("--cpu", flags.cpu, "computing time of the process instead of wall-clock time");
  app.add_flag("--compact", flags.compact, "everything is frozen");
  app.add_option("--tier", flags.tier, "with --compact: the data of everything is in files in this directory");
  app.add_option("--tier-cache", flags.tier_cache_mb, "MB of the cache that they are read through");
  app.add_flag("--tiny", flags.tiny, "the scaled-down database of the tests");
  app.add_option("--repeat", flags.repeat);
  app.add_option("--profile", flags.profile)->check(CLI::IsMember({"spec", "varied"}));
  app.add_option("--mode", flags.mode)->check(CLI::IsMember({"interpreted", "quick", "better", "adaptive"}));
  app.add_option("--layout", flags.layout)->check(CLI::IsMember({"row", "column"}));
  app.add_option("--only", flags.only, "one query, as q05");
  app.add_option("--partitions", flags.partitions);
  app.add_option("--threads", flags.threads, "of one query");
  app.add_flag("--explain", flags.explain);
  app.add_flag("--show", flags.show, "print the answers");
  app.add_flag("--limit", flags.limit, "Q1, Q5, Q6 and Q18 beside code by hand over the same tables");
  app.add_flag("--reuse", flags.reuse, "plan and compile once");
  CLI11_PARSE(app, argc, argv);
  return scyper::run(flags);
}
