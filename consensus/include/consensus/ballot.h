#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace scyper::consensus {

// The end of a node's log: term and LSN of its last batch. Compares by term, then LSN.
struct Position {
  uint64_t term = 0;
  uint64_t lsn = 0;
  friend auto operator<=>(const Position&, const Position&) = default;
};

// What a voter has on its disk: it takes nothing of a lower term, and of this term nothing but this node's.
// What asks for it under older voters than somebody before has asked under is refused, whatever its term: etcd has
// forgotten terms, or the voters.
struct Promise {
  uint64_t term = 0;
  std::string node;
  uint64_t config = 0;  // version of the voters; on the disk: the highest asked for; asked for: 0 = by redo, not said
  // the same primaryship
  friend bool operator==(const Promise& a, const Promise& b) { return a.term == b.term && a.node == b.node; }
};

// Who counts (docs/failover.md, Words). Both are more than half of them, so that they also meet those of the voters
// before or after a change by one.
struct Voters {
  std::vector<std::string> names;

  uint32_t write_copies() const { return static_cast<uint32_t>(names.size() / 2 + 1); }
  uint32_t fence_answers() const { return write_copies(); }
  bool has(const std::string& node) const;
};

// For tests: a guard that is off is a planted flaw, which the simulation has to find.
enum class Guard : uint8_t {
  kPromiseFirst,      // a fence is answered when the promise is on disk, not before
  kRefuseOldTerms,    // a voter takes nothing below its promise
  kPromiseNamesNode,  // nor of another node of the same term
  kFenceQuorum,       // a candidate waits for R answers
  kAdoptHighest,      // and adopts the highest position among them
  kVotersOnly,        // answers and copies of others do not count
  kCompleteOnly,      // nor answers of voters that have forgotten
  kTermInAcks,        // copies count for the term that their acknowledgement names
  kOwnTermCommits,    // nothing is confirmed before the term's start is
  kStartCopies,       // a primary opens when its term's start has W copies
  kLeaseForReads,     // strong reads need the lease
  kWriteQuorum,       // a commit is confirmed by W copies
  kGrantOfAll,        // without etcd a primary goes on when all voters have granted it, not one
  kGrantBinds,        // who has granted answers no fence meanwhile
  kGrantOutlives,     // not after a restart either
  kOneChange,         // voters change when a term has been opened under the last ones, not before
  kOpenedIsOpen,      // which it is when W voters have its start, not when it is won
  kNewestVoters,      // a voter answers no fence under older voters than it has promised under
  kKnownDisk,         // a voter counts with the disk that etcd has registered, not with another one
};

// The guards that are off; none but in tests.
class Flaws {
 public:
  Flaws() = default;
  explicit Flaws(Guard off) : off_(1u << static_cast<uint32_t>(off)) {}
  bool is_on(Guard guard) const { return (off_ >> static_cast<uint32_t>(guard) & 1) == 0; }

 private:
  uint32_t off_ = 0;
};

// The voter's half of safety: one per node, around the promise on its disk. No I/O: who owns it stores what propose()
// returns and says so with stored(). Threads: none.
// Invariant: promised() only rises.
// Source: Paxos' promises, as in design 5.2; Sougoumarane, "Consensus algorithms at scale", part 4 (revoke, then
// establish).
class Ballot {
 public:
  Ballot(Promise stored, Flaws flaws) : stored_(std::move(stored)), flaws_(flaws) {}

  const Promise& promised() const { return stored_; }
  // Whether a fence, or redo, of that primaryship may be taken, after its promise has been stored where it is new.
  bool admits(const Promise& primaryship) const;
  bool is_stored(const Promise& primaryship) const {
    return stored_ == primaryship && stored_.config >= primaryship.config;
  }
  void stored(const Promise& primaryship);

 private:
  Promise stored_;
  Flaws flaws_;
};

// The primary's half: which LSN has enough copies. Positions are of its own log. Threads: none.
class Copies {
 public:
  // start_lsn: of the term's first batch.
  Copies(Voters voters, uint64_t term, uint64_t start_lsn, Flaws flaws)
      : voters_(std::move(voters)), term_(term), start_lsn_(start_lsn), flaws_(flaws) {}

  // `node` has all of this primary's log up to lsn, and said so for `term`. Its own copy is noted likewise.
  void note(const std::string& node, uint64_t term, uint64_t lsn);
  // Confirmed LSN; 0 before the term's start is. Also the floor to publish, in every commit mode.
  uint64_t confirmed_lsn() const { return confirmed_lsn_; }

 private:
  const Voters voters_;
  const uint64_t term_;
  const uint64_t start_lsn_;
  const Flaws flaws_;
  std::map<std::string, uint64_t> lsns_;
  uint64_t confirmed_lsn_ = 0;
};

}  // namespace scyper::consensus
