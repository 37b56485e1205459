#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/partition_set.h"
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
    bool is_shared = false;  // every node has it. A node knows it of its own; it is not told
    friend bool operator==(const Part& a, const Part& b) {
      return a.table == b.table && a.partition == b.partition && a.lo == b.lo && a.hi == b.hi && a.rows == b.rows;
    }
  };
  uint64_t term = 0;
  uint32_t snapshot = 0;
  uint64_t lsn = 0;
  std::vector<Part> parts;  // by table and partition
};
// The first place where `other` differs from what `own` has of those partitions and of shared tables, for people;
// empty: nowhere. Partitions beyond them should not be there: nodes do not tell of them unless they have rows.
std::string describe_difference(const StateDigest& own, const StateDigest& other,
                                const PartitionSet& subscribed = PartitionSet::all());

// A primary's digests and what its secondaries have told of theirs. Bounded. Threads: any.
class DigestBook {
 public:
  void add_own(StateDigest digest);
  // subscribed: the partitions that the node has to have.
  void add(const std::string& node, StateDigest digest, const PartitionSet& subscribed = PartitionSet::all());

  // DataLoss: the node's newest digest differs from this node's own at the same cut, and it is to begin anew. One node
  // at a time, until it has been found equal: where all differ it is the primary whose tables are wrong, and the others
  // have the only right ones. One that is not heard of for some digests makes way.
  Status verdict(const std::string& node);
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
    PartitionSet subscribed = PartitionSet::all();
    Status verdict;
    uint64_t round = 0;  // own_count_ when it was compared last
  };
  void compare(const StateDigest& own, const StateDigest& other, const std::string& name);

  mutable std::mutex mutex_;     // all that follows
  std::deque<StateDigest> own_;  // newest last
  uint64_t own_count_ = 0;
  std::string told_;  // has been told that it differs, and has not been found equal since; empty: nobody
  std::map<std::string, Node> nodes_;
};

}  // namespace scyper::replication
