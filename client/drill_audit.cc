#include "drill_audit.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace scyper::client {

StatusOr<DrillContents> read_drill_contents(Client* client) {
  QueryWish wish;  // of the node itself
  wish.freshness.kind = query::Freshness::Kind::kStaleness;
  wish.freshness.staleness_us = 1;
  DrillContents found;
  SCYPER_RETURN_IF_ERROR(
      client->query("SELECT w, n, id FROM drill_seen", wish, [&](const query::ResultSet& rows, const query::Receipt*) {
        for (size_t i = 0; i < rows.row_count(); ++i) {
          found.seen.emplace_back(rows.value(i, 0).lo, rows.value(i, 1).lo, rows.value(i, 2).lo);
        }
      }));
  SCYPER_RETURN_IF_ERROR(
      client->query("SELECT w, n FROM drill_writers", wish, [&](const query::ResultSet& rows, const query::Receipt*) {
        for (size_t i = 0; i < rows.row_count(); ++i) {
          found.numbers[rows.value(i, 0).lo] = rows.value(i, 1).lo;
        }
      }));
  std::sort(found.seen.begin(), found.seen.end());
  return found;
}

void audit_contents(const std::string& node, const DrillContents& contents, const DrillJournalReader& journal,
                    DrillReport* report) {
  const auto violate = [&](const std::string& what) { report->find(&report->violations, node + ": " + what); };
  std::map<int64_t, int> times;
  std::map<int64_t, int64_t> numbers;
  for (const auto& [writer, number, id] : contents.seen) {
    ++times[id];
    if (number != ++numbers[writer]) violate(absl::StrCat("a gap before number ", number));
    if (!journal.sent().contains(id)) violate(absl::StrCat(id, " was never sent"));
    if (journal.refused().contains(id)) violate(absl::StrCat(id, " was refused"));
  }
  for (const auto& [writer, number] : contents.numbers) {
    if (numbers[writer] != number) violate(absl::StrCat("writer ", writer, " miscounts"));
  }
  for (const auto& [id, count] : times) {
    if (count > 1) report->find(&report->duplicated, absl::StrCat(node, ": ", id, " is there ", count, " times"));
  }
  for (const Acknowledgement& entry : journal.acknowledged()) {
    if (times.contains(entry.id)) continue;
    report->find(&report->lost, absl::StrCat(node, ": ", entry.id, " is lost, acknowledged by ", entry.target));
  }
}

}  // namespace scyper::client
