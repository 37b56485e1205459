#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"

namespace scyper::replication {

// What a node's tables hold at the cut of a global snapshot: the same on every node with the same history (design
// section 5, rule 7).
struct StateDigest {
  struct Part {
    std::string table;
    uint32_t partition = 0;
    uint64_t lo = 0, hi = 0;  // sum of the rows' hashes
    uint64_t rows = 0;
    friend bool operator==(const Part&, const Part&) = default;
  };
  uint64_t term = 0;
  uint32_t snapshot = 0;
  uint64_t lsn = 0;
  std::vector<Part> parts;  // by table and partition
};
// The first place where `other` differs from `own`, for people; empty: nowhere.
std::string describe_difference(const StateDigest& own, const StateDigest& other);

// A primary's digests and what its secondaries have told of theirs. Bounded. Threads: any.
class DigestBook {
 public:
  void add_own(StateDigest digest);
  void add(const std::string& node, StateDigest digest);

  // DataLoss: the node's newest digest differs from this node's own at the same cut.
  Status verdict(const std::string& node) const;
  // The node begins anew: what it has now is not what has been compared.
  void forget(const std::string& node);

  struct Comparison {
    uint64_t equal = 0, different = 0;  // snapshots
    uint64_t lsn = 0;                   // of the newest one compared
    std::string difference;             // the newest, with its LSN; stays when the node has begun anew
  };
  std::map<std::string, Comparison> comparisons() const;
  uint64_t own_count() const;

 private:
  struct Node {
    Comparison comparison;
    std::deque<StateDigest> waiting;  // for this node's own
    Status verdict;
  };
  void compare(const StateDigest& own, const StateDigest& other, Node* node);

  mutable std::mutex mutex_;     // all that follows
  std::deque<StateDigest> own_;  // newest last
  uint64_t own_count_ = 0;
  std::map<std::string, Node> nodes_;
};

}  // namespace scyper::replication
