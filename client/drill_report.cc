#include "drill_report.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace scyper::client {

namespace {

std::string json_of(const DrillReport& report) {
  return absl::StrFormat(
      "{\"drill\": \"%s\", \"commit_mode\": \"%s\", \"faults\": %d, \"rto_ms_p50\": %.1f, \"rto_ms_p99\": %.1f, "
      "%s%s\"operations\": %d, \"acknowledged\": %d, \"lost\": %d, \"duplicated\": %d, \"violations\": %d}",
      report.kind, report.commit_mode, report.faults, report.percentile(0.5), report.percentile(0.99),
      report.seed == 0 ? "" : absl::StrCat("\"seed\": ", report.seed, ", "),
      report.commit_ms.empty()
          ? ""
          : absl::StrFormat("\"commit_ms_p99\": %.1f, ", DrillReport::percentile_of(report.commit_ms, 0.99)),
      report.operations, report.acknowledged, report.lost, report.duplicated, report.violations);
}

}  // namespace

void DrillReport::find(uint64_t* count, const std::string& finding) {
  constexpr size_t kFindingsMax = 20;
  ++*count;
  if (findings.size() < kFindingsMax) findings.push_back(finding);
}

double DrillReport::percentile_of(const std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const auto at = static_cast<size_t>(share * static_cast<double>(sorted.size()) + 0.999999);
  return sorted[std::clamp<size_t>(at, 1, sorted.size()) - 1];
}

std::string drill_json(const std::vector<DrillReport>& reports) {
  if (reports.size() == 1) return json_of(reports.front()) + "\n";
  std::vector<std::string> all;
  for (const DrillReport& report : reports) all.push_back(json_of(report));
  return absl::StrCat("{\"drills\": [", absl::StrJoin(all, ",\n"), "]}\n");
}

std::string drill_markdown(const std::vector<DrillReport>& reports) {
  std::string text =
      "| drill | commit mode | faults | RTO p50 | RTO p99 | acknowledged | lost | duplicated | violations |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const DrillReport& report : reports) {
    absl::StrAppendFormat(&text, "| %s | %s | %d | %.0f ms | %.0f ms | %d | %d | %d | %d |\n", report.kind,
                          report.commit_mode, report.faults, report.percentile(0.5), report.percentile(0.99),
                          report.acknowledged, report.lost, report.duplicated, report.violations);
  }
  for (const DrillReport& report : reports) {
    if (report.seed != 0) absl::StrAppend(&text, "- ", report.kind, ": --seed ", report.seed, "\n");
    if (!report.commit_ms.empty()) {
      absl::StrAppendFormat(&text, "- %s: commit p99 meanwhile %.1f ms\n", report.kind,
                            DrillReport::percentile_of(report.commit_ms, 0.99));
    }
    if (!report.resources.empty()) absl::StrAppend(&text, "- ", report.kind, ": ", report.resources, "\n");
    for (const std::string& finding : report.findings) absl::StrAppend(&text, "- ", report.kind, ": ", finding, "\n");
  }
  return text;
}

Status write_drill_reports(const std::string& directory, const std::vector<DrillReport>& reports) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  std::ofstream json(directory + "/report.json"), markdown(directory + "/report.md");
  json << drill_json(reports);
  markdown << drill_markdown(reports);
  json.close();
  markdown.close();
  return json && markdown ? Status() : sql_error("58030", directory + ": the reports cannot be written");
}

}  // namespace scyper::client
