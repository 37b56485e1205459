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
//   that the commit point does not cover, nor before the end of what is here is known to be the primary's, too: a
//   commit point covers LSNs, and another primary may have had other groups at those; (3) terms never fall; (4) at most
//   bytes_max are held: what does not fit is refused and is missing again later.
// Threads: one at a time; the owner's lock.
class Inbox {
 public:
  // For tests: a guard that is off, which the simulation has to find.
  enum class Flaw : uint8_t {
    kNone,
    kIgnoresGaps,         // what does not follow is taken as if it did
    kAppliesUnconfirmed,  // groups are handed out that the commit point does not cover
    kKeepsTails,          // what came beyond a new term's start stays
    kTrustsPeers,         // of another secondary anything is taken, and given to it
  };
  struct Options {
    size_t bytes_max = size_t{64} << 20;
    bool logs = false;  // keeps parcels until they are logged, too
    // Where no other node can be elected that lacks it: a term that begins before what was confirmed is a loss.
    bool holds_confirmed = false;
    // Of what is done with: kept for newest(), and the last one in any case. 0: none.
    size_t newest_bytes = 0;
    Flaw flaw = Flaw::kNone;
    PartitionSet partitions = PartitionSet::all();  // parcels have the bodies of their streams, and no others
  };
  struct Start {
    uint64_t term = 0;
    uint64_t lsn = 0;  // the node has everything up to here
    std::vector<ChainPosition> positions;
    bool joins = true;            // positions are not known where their number is 0
    bool may_be_in_group = true;  // lsn may lie within a group of the primary's
    uint64_t last_term = 0;       // of the last batch up to lsn; may be below `term`
    uint64_t confirmed_lsn = 0;   // of it, what is known to have been confirmed
  };
  Inbox(const ClusterId& cluster, const Start& start, const Options& options);

  enum class Verdict : uint8_t {
    kNew,
    kKnown,
    kOldTerm,
    kDamaged,  // not a group, or none that follows what is here
    kFull,
    kUnproven,  // came without a key, and would begin a term or come before the end of what is here is known
    kDiverged,  // the new primary's history differs from what has been applied or logged here: start anew
  };
  Verdict offer(Parcel parcel);
  // What another secondary has given, asked for the history of that term's primary: taken only while this node follows
  // that primary, too, and knows that the end of what is here is its. Counts as fetched from the log.
  Verdict offer_of_peer(Parcel parcel, uint64_t term);
  // False: of a primary of an earlier term. What came with it does not count.
  bool note(const Watermark& watermark);

  // What to fetch: everything behind the first up to the second. Nothing: all that is known to exist is here, or there
  // is no room for it. While the end of what is here has not been compared with the primary's log it includes the group
  // that ends there.
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
  // nullptr: nothing. It is being logged from now on, with the `skip` ones before it, and they stay valid, until
  // logged().
  const Group* next_to_log(size_t skip = 0);
  void logged();
  size_t unlogged() const { return options_.logs ? in_order_.size() - logged_ : 0; }  // groups
  // The groups that may be applied, oldest first. begin_apply(): the first `count` of them are being applied from now
  // on, and stay valid, until applied().
  const Group* next_to_apply(size_t skip = 0) const;
  void begin_apply(size_t count);
  void applied();
  // What has been received and not applied, whether it is confirmed or not: for a node that becomes primary. Nothing is
  // being applied.
  std::vector<Group> unapplied() const;
  // The groups that have been received last, oldest first, up to the end: without gaps.
  std::vector<Parcel> newest() const;
  // Whether all that is in order here is known to be part of the history of that term's primary, so that others who
  // follow it may have it.
  bool is_shared(uint64_t term) const;
  const std::vector<ChainPosition>& positions() const { return positions_; }

  // Where to follow the primary from: where missing() begins, or would.
  uint64_t next_lsn() const { return is_matched_ ? received_lsn_ : received_lsn_ - 1; }

  // Whether the end of what is here is known to be part of the primary's history.
  bool is_matched() const { return is_matched_; }

  uint64_t term() const { return term_; }
  uint64_t received_lsn() const { return received_lsn_; }
  uint64_t logged_lsn() const { return logged_lsn_; }
  uint64_t applied_lsn() const { return applied_lsn_; }
  // Of the last batch received, logged.
  uint64_t received_term() const { return in_order_.empty() ? done_term_ : in_order_.back().parcel.term; }
  uint64_t logged_term() const { return logged_term_; }
  uint64_t commit_lsn() const { return commit_lsn_; }
  uint64_t known_lsn() const { return known_lsn_; }  // of what is known to exist
  size_t bytes() const { return bytes_; }
  bool has_diverged() const { return has_diverged_; }
  // Diverged, as the primary has lost what it had confirmed up to here. 0: not that.
  uint64_t lost_lsn() const { return lost_lsn_; }
  uint64_t damaged() const { return damaged_; }

 private:
  bool has(Flaw flaw) const { return options_.flaw == flaw; }
  bool begin_term(uint64_t term, uint64_t term_lsn);
  bool follows(const Parcel& parcel, const std::vector<BatchView>& batches) const;
  void advance();
  void make_room(size_t bytes);
  bool append(Parcel parcel);
  bool is_touched(size_t index) const;
  void drop_last();
  void drop_done();
  void keep_done(Parcel parcel);
  bool match(const Parcel& parcel, const std::vector<BatchView>& batches);

  const ClusterId cluster_;
  const Options options_;
  bool joins_;                 // does not know where all streams stand
  bool is_at_start_;           // may stand within a group
  const uint64_t joined_lsn_;  // of the archive; 0 = none
  bool is_matched_;            // the end of what is here is a border of the primary's, with the same history
  uint64_t term_;
  uint64_t term_lsn_ = ~uint64_t{0};  // where it began, when that is known
  uint64_t received_lsn_;
  uint64_t logged_lsn_;
  uint64_t applied_lsn_;
  uint64_t commit_lsn_ = 0;
  const uint64_t confirmed_lsn_;  // as the node started
  uint64_t known_lsn_ = 0;
  uint64_t done_term_;    // of the last batch before in_order_
  uint64_t logged_term_;  // of the last one logged
  std::vector<ChainPosition> positions_;
  std::deque<Group> in_order_;  // the oldest not yet applied and logged first
  std::deque<Parcel> done_;     // before them
  size_t done_bytes_ = 0;
  size_t logged_ = 0;   // of in_order_
  size_t logging_ = 0;  // behind them
  size_t applied_ = 0;
  size_t applying_ = 0;               // behind them
  std::map<uint64_t, Parcel> ahead_;  // by base_lsn
  size_t bytes_ = 0;
  bool has_diverged_ = false;
  uint64_t lost_lsn_ = 0;
  uint64_t damaged_ = 0;
};

}  // namespace scyper::replication
