#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "replication/parcel.h"

namespace scyper::replication {

// What a secondary has received, in the order of the LSNs: decides what is missing, what may be logged and what may be
// applied. Pure protocol: no threads, no clock, no network.
//
//   offer() -> [ahead: behind a gap] -> [in order] -> next_to_log() / next_to_apply() -> gone when both are done
//
// Invariants: (1) what is in order has no gap and follows the chain of hashes; (2) nothing is handed out to be applied
//   that the commit point does not cover; (3) terms never fall; (4) at most bytes_max are held: what does not fit is
//   refused and is missing again later.
// Threads: one at a time; the owner's lock.
class Inbox {
 public:
  struct Options {
    size_t bytes_max = size_t{64} << 20;
    bool logs = false;  // keeps parcels until they are logged, too
  };
  struct Start {
    uint64_t term = 0;
    uint64_t lsn = 0;  // the node has everything up to here
    std::vector<ChainPosition> positions;
    bool joins = true;  // positions are not known where their number is 0
  };
  Inbox(const ClusterId& cluster, const Start& start, const Options& options);

  enum class Verdict : uint8_t {
    kNew,
    kKnown,
    kOldTerm,
    kDamaged,  // not a group, or none that follows what is here
    kFull,
    kDiverged,  // the new primary's history differs from what has been applied or logged here: start anew
  };
  Verdict offer(Parcel parcel);
  void note(const Watermark& watermark);

  // What to fetch: everything behind the first up to the second. Nothing: all that is known to exist is here, or there
  // is no room for it.
  struct Range {
    uint64_t after_lsn;
    uint64_t upto_lsn;
    friend bool operator==(const Range&, const Range&) = default;
  };
  std::optional<Range> missing() const;

  struct Group {
    Parcel parcel;
    std::vector<BatchView> batches;
    std::vector<ChainPosition> positions_before;
  };
  // nullptr: nothing. It is being logged from now on, and stays valid, until logged().
  const Group* next_to_log();
  void logged();
  // The groups that may be applied, oldest first. begin_apply(): the first `count` of them are being applied from now
  // on, and stay valid, until applied().
  const Group* next_to_apply(size_t skip = 0) const;
  void begin_apply(size_t count);
  void applied();

  uint64_t term() const { return term_; }
  uint64_t received_lsn() const { return received_lsn_; }
  uint64_t logged_lsn() const { return logged_lsn_; }
  uint64_t applied_lsn() const { return applied_lsn_; }
  uint64_t commit_lsn() const { return commit_lsn_; }
  uint64_t known_lsn() const { return known_lsn_; }  // of what is known to exist
  size_t bytes() const { return bytes_; }
  bool has_diverged() const { return has_diverged_; }
  uint64_t damaged() const { return damaged_; }

 private:
  bool begin_term(uint64_t term, uint64_t term_lsn);
  void advance();
  void make_room(size_t bytes);
  bool append(Parcel parcel);
  void drop_done();

  const ClusterId cluster_;
  const Options options_;
  bool joins_;        // does not know where all streams stand
  bool is_at_start_;  // may stand within a group
  uint64_t term_;
  uint64_t received_lsn_;
  uint64_t logged_lsn_;
  uint64_t applied_lsn_;
  uint64_t commit_lsn_ = 0;
  uint64_t known_lsn_ = 0;
  std::vector<ChainPosition> positions_;
  std::deque<Group> in_order_;  // the oldest not yet applied and logged first
  size_t logged_ = 0;           // of in_order_
  bool is_logging_ = false;     // the one behind them
  size_t applied_ = 0;
  size_t applying_ = 0;               // behind them
  std::map<uint64_t, Parcel> ahead_;  // by base_lsn
  size_t bytes_ = 0;
  bool has_diverged_ = false;
  uint64_t damaged_ = 0;
};

}  // namespace scyper::replication
