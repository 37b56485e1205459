#include "oltp_report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "client/ch/outcome.h"
#include "progress.h"
#include "result_format.h"

namespace scyper::client {

namespace {

double us(uint64_t ns) { return static_cast<double>(ns) / 1000.0; }

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

double redo_per_transaction(const OltpReport& report) {
  uint64_t committed = report.after.committed - report.before.committed;
  uint64_t bytes = report.after.redo_bytes - report.before.redo_bytes;
  return committed == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(committed);
}

nlohmann::ordered_json procedures_json(const OltpStats& stats) {
  nlohmann::ordered_json out;
  for (int p = 0; p < ch::kProcedureCount; ++p) {
    const auto& one = stats.procedures[static_cast<size_t>(p)];
    out[std::string(ch::procedure_name(static_cast<ch::Procedure>(p)))] = {
        {"count", one.completed},
        {"rolled_back", one.rolled_back},
        {"p50_us", us(one.latency.percentile(50))},
        {"p99_us", us(one.latency.percentile(99))},
        {"p999_us", us(one.latency.percentile(99.9))},
        {"mean_us", one.latency.mean() / 1000}};
  }
  return out;
}

}  // namespace

std::string oltp_json(const OltpReport& report) {
  const OltpStats& stats = report.result.stats;
  Histogram latency = stats.latency();
  double seconds = report.result.seconds;
  nlohmann::ordered_json out = {{"tps", static_cast<double>(stats.completed()) / seconds},
                                {"new_order_tps", static_cast<double>(stats.procedures[0].completed) / seconds},
                                {"p50_us", us(latency.percentile(50))},
                                {"p99_us", us(latency.percentile(99))},
                                {"p999_us", us(latency.percentile(99.9))},
                                {"max_us", us(latency.max())},
                                {"transactions", stats.completed()},
                                {"rolled_back", stats.rolled_back()},
                                {"refused", stats.refused},
                                {"redo_bytes_per_tx", redo_per_transaction(report)},
                                {"crossing", report.after.crossing - report.before.crossing},
                                {"misclassified", report.after.misclassified - report.before.misclassified},
                                {"seconds", seconds},
                                {"mode", report.mode},
                                {"load_seconds", report.load.seconds},
                                {"load_rows", report.load.rows},
                                {"memory_bytes", report.after.memory_used_bytes},
                                {"by_procedure", procedures_json(stats)}};
  for (const auto& [key, value] : report.settings) out["settings"][key] = value;
  if (!report.result.digest.empty()) out["digest"] = report.result.digest;
  for (const auto& [table, digest] : report.table_digests) out["tables"][table] = digest;
  if (report.is_checked) {
    out["consistency"] = {{"checked", report.check.checked}, {"violations", nlohmann::ordered_json::array()}};
    for (const auto& v : report.check.violations) {
      out["consistency"]["violations"].push_back(
          {{"condition", v.name}, {"meaning", v.meaning}, {"rows", v.rows}, {"error", v.error}});
    }
  }
  return out.dump(2) + "\n";
}

std::string oltp_text(const OltpReport& report) {
  const OltpStats& stats = report.result.stats;
  std::vector<std::vector<std::string>> rows = {
      {"procedure", "calls", "calls/s", "rolled back", "p50 us", "p99 us", "p99.9 us"}};
  auto add = [&](const std::string& name, uint64_t count, uint64_t rolled_back, const Histogram& latency) {
    rows.push_back({name, grouped(count),
                    grouped(static_cast<uint64_t>(static_cast<double>(count) / report.result.seconds)),
                    grouped(rolled_back), fixed(us(latency.percentile(50)), 1), fixed(us(latency.percentile(99)), 1),
                    fixed(us(latency.percentile(99.9)), 1)});
  };
  for (int p = 0; p < ch::kProcedureCount; ++p) {
    const auto& one = stats.procedures[static_cast<size_t>(p)];
    add(std::string(ch::procedure_name(static_cast<ch::Procedure>(p))), one.completed, one.rolled_back, one.latency);
  }
  add("all", stats.completed(), stats.rolled_back(), stats.latency());
  std::string out = format_cells(rows, {false, true, true, true, true, true, true});
  out += "\n" + grouped(stats.completed()) + " transactions in " + fixed(report.result.seconds, 2) + " s (" +
         report.mode + "), " + fixed(redo_per_transaction(report), 0) + " bytes of redo each, " +
         grouped(report.after.crossing - report.before.crossing) + " partition-crossing";
  if (stats.refused > 0) out += ", " + grouped(stats.refused) + " refused";
  out += "\n";
  if (!report.result.digest.empty()) out += "digest of the outcomes: " + report.result.digest + "\n";
  for (const auto& [table, digest] : report.table_digests) out += "  " + table + ": " + digest + "\n";
  if (report.is_checked) out += check_text(report.check);
  return out;
}

std::string check_text(const ConsistencyReport& report) {
  if (report.violations.empty()) {
    return "consistency conditions of TPC-C: all " + std::to_string(report.checked) + " checks hold\n";
  }
  std::string out = "consistency conditions of TPC-C: " + std::to_string(report.violations.size()) + " of " +
                    std::to_string(report.checked) + " checks FAIL\n";
  for (const auto& v : report.violations) {
    out += "  " + v.name + ": " + v.meaning + ": " +
           (v.error.empty() ? std::to_string(v.rows) + " rows violate it" : "cannot be checked: " + v.error) + "\n";
  }
  return out;
}

StatusOr<std::map<std::string, std::string>> digest_tables(Session* session, const ch::Scale& scale) {
  std::map<std::string, std::string> out;
  for (const ch::TableInfo& table : ch::all_tables()) {
    bool is_untouched =
        table.table == ch::Table::kSupplier || table.table == ch::Table::kNation || table.table == ch::Table::kRegion;
    if (is_untouched) continue;
    ch::TableDigest digest;
    auto add = [&](const query::ResultSet& result) {
      for (size_t row = 0; row < result.row_count(); ++row) {
        digest.add(table, {&result.value(row, 0), result.columns.size()});
      }
    };
    std::string sql = "SELECT * FROM " + std::string(table.name);
    int32_t warehouses = table.warehouse_column < 0 ? 1 : scale.warehouses;
    for (int32_t w = 1; w <= warehouses; ++w) {
      std::string where;
      if (table.warehouse_column >= 0) {
        where = " WHERE " + std::string(table.columns[static_cast<size_t>(table.warehouse_column)].name) + " = " +
                std::to_string(w);
      }
      SCYPER_RETURN_IF_ERROR(session->execute(sql + where, add));
    }
    out[std::string(table.name)] = digest.text();
  }
  return out;
}

}  // namespace scyper::client
