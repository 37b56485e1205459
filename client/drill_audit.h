#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "client/client.h"
#include "drill_history.h"
#include "drill_journal.h"
#include "drill_report.h"

namespace scyper::client {

// What a node holds of what the drill's load wrote.
struct DrillContents {
  std::vector<std::tuple<int64_t, int64_t, int64_t>> seen;  // writer, number, id; sorted
  std::map<int64_t, int64_t> numbers;                       // by writer
  std::map<int64_t, std::vector<int64_t>> lists;
  std::map<int64_t, int64_t> registers, accounts;
  friend bool operator==(const DrillContents&, const DrillContents&) = default;
};
// Of that node itself, as it is now.
StatusOr<DrillContents> read_drill_contents(Client* client);
// Whether the node answers a query on a snapshot of its own; null: it takes no connection.
bool answers_query(Client* client);
// Likewise who allows any staleness, and whether the node says that the answer is stale.
bool tells_staleness(Client* client);

// Compares what a node holds with what was sent, acknowledged and refused; what is wrong goes into the report.
void audit_contents(const std::string& node, const DrillContents& contents, const DrillJournalReader& journal,
                    DrillReport* report);

// Lists and money. Registers: tests/failover/histories.
void check_history(const DrillHistory& history, const DrillContents& contents, DrillReport* report);

}  // namespace scyper::client
