#include "drill_audit.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "drill_historian.h"
#include "result_format.h"

namespace scyper::client {

namespace {

using Rows = std::function<Status(const query::ResultSet& rows, size_t row)>;

Status read_rows(Client* client, const std::string& sql, const Rows& take) {
  QueryWish wish;  // of the node itself
  wish.freshness.kind = query::Freshness::Kind::kStaleness;
  wish.freshness.staleness_us = 1;
  Status taken;
  const Status status = client->query(sql, wish, [&](const query::ResultSet& rows, const query::Receipt*) {
    for (size_t i = 0; i < rows.row_count() && taken.ok(); ++i) taken = take(rows, i);
  });
  return status.ok() ? taken : status;
}

Status read_numbers(Client* client, const std::string& sql, std::map<int64_t, int64_t>* numbers) {
  return read_rows(client, sql, [&](const query::ResultSet& rows, size_t i) {
    (*numbers)[rows.value(i, 0).lo] = rows.value(i, 1).lo;
    return Status();
  });
}

}  // namespace

StatusOr<DrillContents> read_drill_contents(Client* client) {
  DrillContents found;
  const Rows note = [&](const query::ResultSet& rows, size_t i) {
    found.seen.emplace_back(rows.value(i, 0).lo, rows.value(i, 1).lo, rows.value(i, 2).lo);
    return Status();
  };
  SCYPER_RETURN_IF_ERROR(read_rows(client, "SELECT w, n, id FROM drill_seen", note));
  std::sort(found.seen.begin(), found.seen.end());
  SCYPER_RETURN_IF_ERROR(read_numbers(client, "SELECT w, n FROM drill_writers", &found.numbers));
  SCYPER_RETURN_IF_ERROR(read_numbers(client, "SELECT k, v FROM drill_registers", &found.registers));
  SCYPER_RETURN_IF_ERROR(read_numbers(client, "SELECT k, b FROM drill_accounts", &found.accounts));
  const Rows list = [&](const query::ResultSet& rows, size_t i) -> Status {
    SCYPER_ASSIGN_OR_RETURN(found.lists[rows.value(i, 0).lo],
                            parse_list(value_text(rows.columns[1].type, rows.value(i, 1))));
    return Status();
  };
  SCYPER_RETURN_IF_ERROR(read_rows(client, "SELECT k, v FROM drill_lists", list));
  return found;
}

bool answers_query(Client* client) {
  const Rows ignore = [](const query::ResultSet&, size_t) { return Status(); };
  return client != nullptr && read_rows(client, "SELECT sum(n) FROM drill_writers", ignore).ok();
}

bool tells_staleness(Client* client) {
  if (client == nullptr) return false;
  QueryWish wish;
  wish.freshness.kind = query::Freshness::Kind::kStaleness;
  wish.freshness.staleness_us = INT64_C(3'600'000'000);
  bool is_stale = false;
  const Status status = client->query("SELECT sum(n)::bigint FROM drill_writers", wish,
                                      [&](const query::ResultSet& rows, const query::Receipt*) {
                                        for (const std::string& notice : rows.notices)
                                          is_stale |= notice.find("stale") != std::string::npos;
                                      });
  return status.ok() && is_stale;
}

void check_history(const DrillHistory& history, const DrillContents& contents, DrillReport* report) {
  report->operations += history.operations;
  for (const std::string& finding : check_lists(history.lists, contents.lists)) {
    report->find(&report->violations, finding);
  }
  const auto check_total = [&](const std::string& where, int64_t total, int64_t accounts) {
    if (total == kDrillAccounts * kDrillBalance && accounts == kDrillAccounts) return;
    report->find(&report->violations, absl::StrCat(where, ": ", accounts, " accounts with ", total));
  };
  for (const auto& [target, total, accounts] : history.totals) check_total("a snapshot of " + target, total, accounts);
  int64_t total = 0;
  for (const auto& [account, balance] : contents.accounts) total += balance;
  check_total("at the end", total, static_cast<int64_t>(contents.accounts.size()));
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
