#include "drill_report.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace scyper::client {

namespace {

constexpr double kCommitMsMax = 50;  // at p99, while a process dies that is not the primary's

double p99_of(const std::vector<double>& values) { return DrillReport::percentile_of(values, 0.99); }

// "commit_ms_p99": of all, and of each kind where there are several.
std::string json_of_commits(const DrillReport& report) {
  std::vector<double> all;
  std::vector<std::string> kinds;
  for (const auto& [kind, values] : report.commit_ms) {
    all.insert(all.end(), values.begin(), values.end());
    kinds.push_back(absl::StrFormat("\"%s\": %.1f", kind, p99_of(values)));
  }
  if (kinds.empty()) return "";
  return absl::StrFormat(
      "\"commit_ms_p99\": %.1f, %s", p99_of(all),
      kinds.size() == 1 ? "" : absl::StrCat("\"commit_ms_p99_of\": {", absl::StrJoin(kinds, ", "), "}, "));
}

std::string json_of_resources(const DrillReport& report) {
  if (report.resources.empty()) return "";
  return absl::StrFormat("\"memory_drift\": %.4f, \"descriptors_and_children_are_back\": %s, ", report.memory_drift,
                         report.has_returned ? "true" : "false");
}

// What a soak is judged by.
std::string verdict(const DrillReport& report) {
  std::string text = "\n| bar | value | |\n| --- | --- | --- |\n";
  const auto add = [&](const std::string& bar, const std::string& value, bool holds) {
    absl::StrAppend(&text, "| ", bar, " | ", value, " | ", holds ? "held" : "MISSED", " |\n");
  };
  add("acknowledged and lost: 0", absl::StrCat(report.lost), report.lost == 0);
  add("done twice: 0", absl::StrCat(report.duplicated), report.duplicated == 0);
  const uint64_t others = report.violations - (report.holds_resources() ? 0 : 1);
  add("other violations: 0", absl::StrCat(others), others == 0);
  add(absl::StrFormat("memory: %.0f %% more at most", DrillReport::kMemoryDriftMax * 100),
      absl::StrFormat("%+.1f %%", report.memory_drift * 100), report.memory_drift <= DrillReport::kMemoryDriftMax);
  add("descriptors and children back", report.has_returned ? "yes" : "no", report.has_returned);
  for (const char* kind : {"kill-secondary", "kill-snapshot"}) {
    const auto commits = report.commit_ms.find(kind);
    if (commits == report.commit_ms.end()) continue;
    const double p99 = p99_of(commits->second);
    add(absl::StrFormat("commit p99 at %s: %.0f ms", kind, kCommitMsMax), absl::StrFormat("%.1f ms", p99),
        p99 <= kCommitMsMax);
  }
  return text;
}

std::string json_of(const DrillReport& report) {
  return absl::StrFormat(
      "{\"drill\": \"%s\", \"commit_mode\": \"%s\", \"faults\": %d, \"rto_ms_p50\": %.1f, \"rto_ms_p99\": %.1f, "
      "%s%s\"operations\": %d, \"acknowledged\": %d, \"lost\": %d, \"duplicated\": %d, \"violations\": %d}",
      report.kind, report.commit_mode, report.faults, report.percentile(0.5), report.percentile(0.99),
      report.seed == 0 ? "" : absl::StrCat("\"seed\": ", report.seed, ", "),
      absl::StrCat(json_of_commits(report), json_of_resources(report)), report.operations, report.acknowledged,
      report.lost, report.duplicated, report.violations);
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
    for (const auto& [kind, values] : report.commit_ms) {
      absl::StrAppendFormat(&text, "- %s: commit p99 meanwhile %.1f ms\n", kind, p99_of(values));
    }
    if (!report.resources.empty()) absl::StrAppend(&text, "- ", report.kind, ": ", report.resources, "\n");
    for (const std::string& finding : report.findings) absl::StrAppend(&text, "- ", report.kind, ": ", finding, "\n");
    if (!report.resources.empty()) absl::StrAppend(&text, verdict(report));
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
