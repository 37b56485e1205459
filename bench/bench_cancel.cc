// How long a query that is to end goes on: in scans, joins, groups, sorts and windows, in memory and on the way
// to disk. Each runs again and again with a statement timeout somewhere within its time, and is cancelled as
// often. `late`: from the deadline to the answer, which comes when the query has ended in its child; `cancel`: from the
// cancellation to the answer, which does not wait for that.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "primary/engine.h"
#include "query/queries.h"

namespace scyper {
namespace {

struct Flags {
  int64_t rows = 2'000'000;
  int runs = 50;
  uint32_t threads = 1;
  uint64_t seed = 1;
  std::string output = "table";
};

struct Case {
  const char* name;
  const char* sql;
};
constexpr Case kCases[] = {
    {"scan", "SELECT count(*) FROM line WHERE text LIKE '%a%b%c%d%'"},
    {"join", "SELECT count(*) FROM line a JOIN line b ON a.item = b.n AND a.text <> b.text || 'x'"},
    {"nested loop", "SELECT count(*) FROM line a, line b WHERE b.n <= 500 AND a.n > b.n + a.item"},
    {"group", "SELECT count(*) FROM (SELECT text, item, count(*) FROM line GROUP BY 1, 2) x"},
    {"sort", "SELECT count(*) FROM (SELECT n FROM line ORDER BY text, item DESC OFFSET 1) x"},
    {"window", "SELECT sum(r) FROM (SELECT row_number() OVER (PARTITION BY item % 999 ORDER BY text) r FROM line) x"},
};

struct Figures {
  double run_ms = 0;
  std::vector<double> late_ms, cancel_ms;
};

double at(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

class Bench {
 public:
  Bench(primary::Engine* engine, const Flags& flags)
      : queries_(engine->queries()), flags_(flags), random_(flags.seed) {}

  StatusOr<Figures> measure(const char* sql, uint64_t session) {
    query::QueryOptions with;
    with.session = session;
    with.threads = flags_.threads;
    Figures figures;
    for (int i = 0; i < 2; i++) {  // the second one with code that is there
      const int64_t start_ns = clock_.monotonic_ns();
      query::ResultSet result;
      SCYPER_RETURN_IF_ERROR(queries_->execute(sql, {}, with, &result, nullptr));
      figures.run_ms = ms_since(start_ns);
    }
    for (int i = 0; i < flags_.runs; i++) {
      const int64_t after_us = static_cast<int64_t>(figures.run_ms * 1000 * share_(random_)) + 1;
      with.timeout_us = after_us;
      const int64_t start_ns = clock_.monotonic_ns();
      query::ResultSet result;
      SCYPER_ASSIGN_OR_RETURN(bool ended, has_ended(queries_->execute(sql, {}, with, &result, nullptr)));
      if (ended) figures.late_ms.push_back(ms_since(start_ns) - static_cast<double>(after_us) / 1e3);
      with.timeout_us = 0;
      SCYPER_RETURN_IF_ERROR(cancel(sql, with, after_us, &figures));
    }
    return figures;
  }

 private:
  double ms_since(int64_t start_ns) const { return static_cast<double>(clock_.monotonic_ns() - start_ns) / 1e6; }

  // False: it was faster.
  static StatusOr<bool> has_ended(const Status& status) {
    if (status.ok()) return false;
    if (sqlstate_of(status) == "57014") return true;
    return status;
  }

  Status cancel(const char* sql, const query::QueryOptions& with, int64_t after_us, Figures* figures) {
    SCYPER_ASSIGN_OR_RETURN(auto stream, queries_->run(sql, {}, with));
    int64_t start_ns = 0;
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(after_us));
      start_ns = clock_.monotonic_ns();
      stream->cancel();
    });
    std::string batch;
    StatusOr<bool> has_rows = true;
    while (has_rows.ok() && *has_rows) has_rows = stream->next(&batch);
    const int64_t end_ns = clock_.monotonic_ns();
    canceller.join();
    SCYPER_ASSIGN_OR_RETURN(bool ended, has_ended(has_rows.status()));
    if (ended) figures->cancel_ms.push_back(static_cast<double>(end_ns - start_ns) / 1e6);
    return Status();
  }

  query::Queries* const queries_;
  const Flags& flags_;
  const RealClock clock_;
  std::mt19937_64 random_;
  std::uniform_real_distribution<double> share_{0.05, 0.95};
};

Status run_cases(const Flags& flags, bool spills, nlohmann::ordered_json* out) {
  primary::EngineOptions options;
  options.memory_bytes = size_t{4} << 30;
  options.queries.query_bytes_max = spills ? size_t{64} << 20 : size_t{2} << 30;
  options.queries.snapshots.spill_bytes_max = uint64_t{16} << 30;
  options.queries.snapshots.spill_directory = std::filesystem::temp_directory_path();
  SCYPER_ASSIGN_OR_RETURN(auto engine, primary::Engine::create(options));
  const std::string rows = std::to_string(flags.rows);
  for (const std::string& sql :
       {std::string("CREATE TABLE line (n integer PRIMARY KEY, item integer NOT NULL, text varchar(24) NOT NULL)"),
        "INSERT INTO line SELECT g, (g * 7919::bigint % " + rows +
            ")::integer + 1, 'text of a line ' || g % 99991 "
            "FROM generate_series(1, " +
            rows + ") g",
        std::string("ANALYZE")})
    SCYPER_RETURN_IF_ERROR(engine->execute(sql, {}, nullptr));
  SCYPER_ASSIGN_OR_RETURN(const uint64_t snapshot, engine->queries()->open_session({}, nullptr));
  Bench bench(engine.get(), flags);
  for (const Case& c : kCases) {
    const std::string name = std::string(c.name) + (spills ? " on disk" : "");
    auto measured = bench.measure(c.sql, snapshot);
    if (!measured.ok()) {  // say that it does not fit the memory
      std::fprintf(stderr, "%s: %s\n", name.c_str(), std::string(measured.status().message()).c_str());
      continue;
    }
    const Figures& figures = *measured;
    const double late[] = {at(figures.late_ms, 0.5), at(figures.late_ms, 0.99), at(figures.late_ms, 1)};
    const double cancel[] = {at(figures.cancel_ms, 0.5), at(figures.cancel_ms, 0.99)};
    if (flags.output == "table")
      std::printf("%-16s %9.1f %9.2f %9.2f %9.2f %10.3f %10.3f\n", name.c_str(), figures.run_ms, late[0], late[1],
                  late[2], cancel[0], cancel[1]);
    std::fflush(stdout);
    (*out)[name] = {{"run_ms", figures.run_ms},       {"late_p50_ms", late[0]},     {"late_p99_ms", late[1]},
                    {"late_ms_max", late[2]},         {"cancel_p50_ms", cancel[0]}, {"cancel_p99_ms", cancel[1]},
                    {"ended", figures.late_ms.size()}};
  }
  return engine->queries()->close_session(snapshot);
}

int run(int argc, char** argv) {
  Flags flags;
  CLI::App app("How long queries go on that are to end.");
  app.add_option("--rows", flags.rows, "of the table")->check(CLI::Range(1, 100'000'000))->capture_default_str();
  app.add_option("--runs", flags.runs, "of each kind and query")->check(CLI::Range(1, 100'000))->capture_default_str();
  app.add_option("--threads", flags.threads, "of one query")->capture_default_str();
  app.add_option("--seed", flags.seed)->capture_default_str();
  app.add_option("-o,--output", flags.output)->check(CLI::IsMember({"table", "json"}))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  nlohmann::ordered_json out;
  if (flags.output == "table")
    std::printf("%-16s %9s %9s %9s %9s %10s %10s\n", "query", "whole ms", "late p50", "late p99", "late max",
                "cancel p50", "cancel p99");
  for (bool spills : {false, true}) {
    const Status status = run_cases(flags, spills, &out);
    if (!status.ok()) {
      std::fprintf(stderr, "%s %s\n", std::string(sqlstate_of(status)).c_str(), std::string(status.message()).c_str());
      return 1;
    }
  }
  if (flags.output == "json") std::printf("%s\n", out.dump(2).c_str());
  return 0;
}

}  // namespace
}  // namespace scyper

int main(int argc, char** argv) { return scyper::run(argc, argv); }
