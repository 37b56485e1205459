#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace scyper::client {

// What the auditor's historians did to lists: one transaction reads two of them and appends to one or both.
struct ListTransaction {
  enum class Outcome : uint8_t { kDone, kOpen, kRefused };
  struct Access {
    int64_t key = 0;
    int64_t appended = 0;       // 0: nothing
    std::vector<int64_t> read;  // before that; of what was done only
  };
  Outcome outcome = Outcome::kDone;
  std::vector<Access> accesses;
};

// The histories in the auditor's second journal, a line each. Times: CLOCK_MONOTONIC.
//   R client called_ns returned_ns key kind a b value    a register: kind read, write (a) or cas (a to b); value: what
//   was
//                                                        read, or whether it was changed. Checked by
//                                                        tests/failover/histories. returned_ns -1: not known whether
//                                                        done
//   L outcome key appended list key appended list        outcome D(one), O(pen) or R(efused); a list: 1,2,3 or -
//   B target total accounts                              all accounts in a snapshot of that node
struct DrillHistory {
  uint64_t operations = 0;
  std::vector<ListTransaction> lists;
  struct Total {
    std::string target;
    int64_t total = 0, accounts = 0;
  };
  std::vector<Total> totals;
};
// XX001: a line that cannot be read.
StatusOr<DrillHistory> read_drill_history(const std::string& path);
// "1,2,3" or "-".
StatusOr<std::vector<int64_t>> parse_list(const std::string& text);

// What is wrong with them, for people; `ends`: the lists as they are at the end, by key. As Elle does with appends,
// which say the order of all versions: lost and refused elements, reads that are of no version, and cycles of
// dependencies: of writes (G0), with reads (G1c), with one read that missed a write (G-single) or more of them (G2).
// Source: Kingsbury, Alvaro, "Elle: inferring isolation anomalies from experimental observations", VLDB 2021.
std::vector<std::string> check_lists(const std::vector<ListTransaction>& transactions,
                                     const std::map<int64_t, std::vector<int64_t>>& ends);

}  // namespace scyper::client
