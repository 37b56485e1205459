// `scyper bench olap`.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench_node.h"
#include "client/ch/csv.h"
#include "client/ch/sql.h"
#include "progress.h"
#include "result_format.h"

namespace scyper::client {

namespace {

constexpr int kQ5 = 5;  // the join order decides it, so means are also given without it

struct QueryFigures {
  std::string name;
  double first_ms = 0;
  std::vector<double> ms;         // planned and compiled anew
  std::vector<double> reused_ms;  // text known, code reused
  uint64_t rows = 0;
  double compile_ms = 0;  // of the run with the median
  double run_ms = 0;
  uint64_t memory_bytes = 0;
  std::string error;
};

struct OlapReport {
  std::vector<QueryFigures> queries;
  std::optional<ChLoadResult> load;
  double fork_ms = 0;  // opening a session: a fork with all that is around it
  uint64_t lsn = 0;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double geometric_mean(const OlapReport& report, const char* without, const std::vector<double> QueryFigures::* which) {
  double sum = 0;
  int count = 0;
  for (const QueryFigures& query : report.queries) {
    if (!query.error.empty() || query.name == without || (query.*which).empty()) continue;
    sum += std::log(std::max(median(query.*which), 1e-3));
    ++count;
  }
  return count == 0 ? 0 : std::exp(sum / count);
}

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// One run, from the text to the last byte here.
Status run_once(Session* session, std::string_view sql, query::ResultSet* kept, double* ms) {
  const Clock::time_point start = Clock::now();
  Status status = session->execute(sql, [&](const query::ResultSet& result) {
    *ms = ms_since(start);
    kept->columns = result.columns;
    kept->clear_rows();
    const size_t width = result.columns.size();
    for (size_t i = 0; i < result.values().size(); ++i) {
      kept->append(result.columns[i % width].type, result.values()[i]);
    }
  });
  return status;
}

Status measure_query(Session* session, const OlapOptions& options, int number, QueryFigures* figures) {
  const std::string_view sql = ch::query_sql(number);
  query::ResultSet result;
  struct Run {
    double ms, compile_ms, run_ms;
  };
  std::vector<Run> runs;
  for (uint32_t i = 0; i < options.repeat; ++i) {
    session->wish().is_compiled_anew = true;
    double ms = 0;
    SCYPER_RETURN_IF_ERROR(run_once(session, sql, &result, &ms));
    if (i == 0) figures->first_ms = ms;
    figures->ms.push_back(ms);
    const auto& receipt = session->receipt();
    runs.push_back({ms, receipt ? receipt->compile_ms : 0, receipt ? receipt->run_ms : 0});
    if (receipt) figures->memory_bytes = receipt->memory_bytes;
  }
  for (uint32_t i = 0; i < options.repeat + 1; ++i) {
    session->wish().is_compiled_anew = false;
    double ms = 0;
    SCYPER_RETURN_IF_ERROR(run_once(session, sql, &result, &ms));
    if (i > 0) figures->reused_ms.push_back(ms);  // the first one compiles
  }
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.ms < b.ms; });
  figures->compile_ms = runs[runs.size() / 2].compile_ms;
  figures->run_ms = runs[runs.size() / 2].run_ms;
  figures->rows = result.row_count();
  if (!options.results_path.empty()) {
    FormatOptions format;
    format.format = OutputFormat::kCsv;
    std::ofstream(options.results_path + "/" + figures->name + ".csv") << format_result(result, format);
  }
  return Status();
}

StatusOr<OlapReport> measure(Session* session, const OlapOptions& options, bool is_quiet) {
  OlapReport report;
  const Clock::time_point start = Clock::now();
  SCYPER_ASSIGN_OR_RETURN(query::Receipt receipt, session->pin({}));
  report.fork_ms = ms_since(start);
  report.lsn = receipt.lsn;
  session->wish().threads = options.threads;
  session->wish().timeout_ms = options.timeout_ms;
  std::vector<int> numbers = options.queries;
  for (int i = 1; numbers.empty() || (options.queries.empty() && i <= ch::kQueryCount); ++i) numbers.push_back(i);
  for (int number : numbers) {
    QueryFigures figures;
    figures.name = "Q" + std::to_string(number);
    Status status = measure_query(session, options, number, &figures);
    if (!status.ok()) figures.error = sqlstate_of(status) + ": " + std::string(status.message());
    if (!is_quiet) {
      std::printf("  %-4s %10.1f ms %8llu rows  %s\n", figures.name.c_str(), median(figures.ms),
                  static_cast<unsigned long long>(figures.rows), figures.error.c_str());
      std::fflush(stdout);
    }
    report.queries.push_back(std::move(figures));
    // a lost snapshot would fail all that follow
    if (sqlstate_of(status) == "57P02") SCYPER_RETURN_IF_ERROR(session->pin({}).status());
  }
  SCYPER_RETURN_IF_ERROR(session->unpin());
  return report;
}

std::string report_json(const OlapReport& report, const OlapOptions& options) {
  const std::string q5 = "Q" + std::to_string(kQ5);
  int failed = 0;
  auto queries = nlohmann::ordered_json::array();
  for (const QueryFigures& query : report.queries) {
    nlohmann::ordered_json one = {{"name", query.name}};
    if (!query.error.empty()) {
      ++failed;
      one["error"] = query.error;
    } else {
      one.update({{"first_ms", query.first_ms},
                  {"median_ms", median(query.ms)},
                  {"reused_ms", median(query.reused_ms)},
                  {"compile_ms", query.compile_ms},
                  {"run_ms", query.run_ms},
                  {"memory_bytes", query.memory_bytes},
                  {"rows", query.rows}});
    }
    queries.push_back(std::move(one));
  }
  nlohmann::ordered_json out = {{"warehouses", options.ch.warehouses},
                                {"profile", options.ch.profile},
                                {"threads", options.threads},
                                {"repeat", options.repeat},
                                {"queries", std::move(queries)},
                                {"geomean_ms", geometric_mean(report, "", &QueryFigures::ms)},
                                {"geomean_without_q5_ms", geometric_mean(report, q5.c_str(), &QueryFigures::ms)},
                                {"geomean_reused_ms", geometric_mean(report, "", &QueryFigures::reused_ms)},
                                {"failed", failed},
                                {"fork_ms", report.fork_ms},
                                {"lsn", report.lsn}};
  if (report.load.has_value()) out["load"] = {{"rows", report.load->rows}, {"seconds", report.load->seconds}};
  return out.dump(2) + "\n";
}

std::string report_text(const OlapReport& report) {
  std::vector<std::vector<std::string>> rows = {
      {"query", "first ms", "median ms", "code reused ms", "compile ms", "run ms", "rows", ""}};
  char text[64];
  auto number = [&](double value) {
    std::snprintf(text, sizeof text, "%.1f", value);
    return std::string(text);
  };
  for (const QueryFigures& query : report.queries) {
    rows.push_back({query.name, number(query.first_ms), number(median(query.ms)), number(median(query.reused_ms)),
                    number(query.compile_ms), number(query.run_ms), grouped(query.rows), query.error});
  }
  std::string out = format_cells(rows, {false, true, true, true, true, true, true, false});
  std::snprintf(text, sizeof text, "%.1f", geometric_mean(report, "", &QueryFigures::ms));
  out += "geometric mean " + std::string(text) + " ms";
  std::snprintf(text, sizeof text, "%.1f", geometric_mean(report, "Q5", &QueryFigures::ms));
  out += ", without Q5 " + std::string(text) + " ms";
  std::snprintf(text, sizeof text, "%.2f", report.fork_ms);
  return out + "; the session's fork took " + text + " ms\n";
}

StatusOr<OlapReport> bench(const CommonOptions& common, const OlapOptions& options) {
  ch::Generator generator(generator_options(options.ch));
  std::unique_ptr<LocalNode> node;
  ConnectOptions target = common.connect;
  if (options.where != BenchOptions::Where::kTarget) {
    const bool has_server = options.where == BenchOptions::Where::kGrpc;
    SCYPER_ASSIGN_OR_RETURN(node, start_node(common, options.ch, has_server));
    if (has_server) target.target = "127.0.0.1:" + std::to_string(node->server->port());
  }
  std::unique_ptr<Session> local = node == nullptr ? nullptr : local_session(node->engine.get());
  std::unique_ptr<Session> remote;
  if (options.where != BenchOptions::Where::kInProcess) {
    SCYPER_ASSIGN_OR_RETURN(auto client, Client::connect(target));
    remote = remote_session(std::move(client), target.target);
  }
  std::optional<ChLoadResult> load;
  if (!options.is_loaded) {
    Session* loader = local != nullptr ? local.get() : remote.get();
    SCYPER_ASSIGN_OR_RETURN(load, create_ch_database(loader, generator, database_options(options.ch)));
  }
  SCYPER_ASSIGN_OR_RETURN(OlapReport report,
                          measure(remote != nullptr ? remote.get() : local.get(), options, common.is_json));
  report.load = load;
  return report;
}

}  // namespace

int run_bench_olap(const CommonOptions& common, OlapOptions options) {
  options.ch.is_quiet = options.ch.is_quiet || common.is_json;
  if (!options.export_path.empty()) {
    Status status = ch::write_csv_files(ch::Generator(generator_options(options.ch)), options.export_path);
    return status.ok() ? kExitOk : show_failure(status, common.is_json);
  }
  auto report = bench(common, options);
  if (!report.ok()) return show_failure(report.status(), common.is_json);
  std::fputs((common.is_json ? report_json(*report, options) : "\n" + report_text(*report)).c_str(), stdout);
  const bool has_failed = std::any_of(report->queries.begin(), report->queries.end(),
                                      [](const QueryFigures& query) { return !query.error.empty(); });
  return has_failed ? kExitError : kExitOk;
}

}  // namespace scyper::client
