#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "drill.h"
#include "drill_journal.h"

namespace scyper::client {

// Tables and procedures of the histories, and what is in them at first; may be run again.
std::string historian_schema();
constexpr int64_t kDrillAccounts = 8, kDrillBalance = 100;  // each at first

// What historians share: they meet at the same registers and lists, for a while each.
struct HistorianPlace {
  std::atomic<int64_t> operations{0};
  std::atomic<int64_t> last_value{0};  // no value is written twice
};
// Reads and changes registers and lists, moves money, one operation after the other, until `is_stopping`.
void keep_history(const CommonOptions& common, const AuditorOptions& options, uint32_t historian, uint64_t seed,
                  HistorianPlace* place, DrillJournal* journal, const std::atomic<bool>* is_stopping);
// Adds up all accounts, on one node's snapshot after the other's.
void add_up_accounts(const CommonOptions& common, const AuditorOptions& options, DrillJournal* journal,
                     const std::atomic<bool>* is_stopping);

}  // namespace scyper::client
