#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "consensus/ballot.h"

namespace scyper::consensus {

// What etcd holds, all keys at one revision (docs/failover.md, Keys).
struct Member {
  Position position;
  bool is_complete = false;
  bool has_row_layout = false;
  int64_t revision = 0;  // of the key
};
// A node that may campaign before all others, once: as long as no campaign has drawn a term above `term`. Written by a
// primary that hands over, or by hand where nobody leads.
struct Appointment {
  uint64_t term = 0;
  std::string node;
  bool accepts_loss = false;  // by hand only: voters that are not complete count
  friend bool operator==(const Appointment&, const Appointment&) = default;
};
// The disk that a node was known with last: what it has promised and acknowledged lies there.
struct DiskEntry {
  std::string id;
  int64_t revision = 0;  // of the key
};
struct View {
  int64_t revision = 0;  // of all that follows: keys that change later get higher ones
  Voters voters;
  uint64_t config = 0;  // their version
  uint64_t opened = 0;  // the newest version under which a term has been opened
  uint64_t term = 0;
  int64_t term_revision = 0;    // of the key, 0 = absent
  int64_t config_revision = 0;  // of the key that names the voters
  int64_t paused_revision = 0;  // of the key that forbids elections but by appointment, 0 = absent
  std::optional<Appointment> appointment;
  std::optional<Promise> leader;  // node and term
  Position floor;                 // W voters have had it, whatever the commit mode
  std::map<std::string, Member> members;
  std::map<std::string, DiskEntry> disks;
  int64_t asked_us = 0;  // when the read was sent, by this node's clock
};

struct FenceAnswer {
  uint64_t term = 0;     // of the fence
  bool granted = false;  // else: `promised` is higher, or another node's
  Promise promised;
  Position position;  // when granted: nothing of a lower term is appended any more
  bool is_complete = false;
};

// Of a voter to a primary that does not reach etcd: whether it elects nobody else for a lease from now on.
struct GrantAnswer {
  uint64_t term = 0;
  int64_t asked_us = 0;  // as the primary said it: by its own clock
  bool granted = false;
};

// What the elector wants done. Those that need an answer say by which function it comes.
struct Action {
  enum class Kind : uint8_t {
    kReadView,     // on_view()
    kPublish,      // position and completeness into etcd, soon
    kCampaign,     // a lease, then the Txn: term and the revisions. on_campaign()
    kKeepAlive,    // of term's lease. on_keep_alive() when it succeeded, on_lease_lost() when there is none any more
    kGiveUpLease,  // revoke it: the leader key goes
    // promise: onto the disk, synced, in the order of these actions, where it never lowers the one that is there (a
    // higher term, or of the same term another node's). on_promise_stored(); it cannot fail: who cannot write ends the
    // process, for what is on the disk is not known any more.
    kStorePromise,
    kSendFence,    // to `node`: (term, this node), under voters of version `config`
    kAnswerFence,  // to `node`: answer
    kAdopt,        // make the log equal to `node`'s up to `position`: cut what diverges, fetch. on_adopted()
    kStartTerm,    // append the first batch of the term. on_term_confirmed() when W voters have it
    kOpen,         // take writes in this term
    kClose,        // no writes, strong reads or tickets; what is under way may still be confirmed
    kStepDown,     // it is over with this term: follow
    kAskGrant,     // of `node`: on_grant_asked() there, with the term and asked_us
    kAnswerGrant,  // to `node`: grant. on_grant() there
    kKeepGrant,    // onto the disk: this node may have granted something. on_grant_kept() when it is there
    kDropGrant,    // off the disk: it has granted nothing that still holds
    kReclaim,      // another lease for the leader key of this term, where nobody else has it. on_reclaimed()
    kNoteOpened,   // into etcd: this term has been opened, under voters of version `config`
    // into etcd: this node's disk, where its key has the revision `disk_revision` still, and: `promise` leads (term not
    // 0); or nobody was ever elected (term 0); or its key is absent (is_known_again). on_registered()
    kRegisterDisk,
    kHandOver,  // to `node`: the leader key goes and `node` is appointed, one Txn. on_handed_over()
    kEnd,       // the process: its lease has run out
  };
  Kind kind;
  uint64_t term = 0;
  int64_t term_revision = 0;
  int64_t config_revision = 0;
  int64_t paused_revision = 0;
  int64_t disk_revision = 0;
  bool is_known_again = false;
  std::string node;
  Promise promise;
  Position position;
  FenceAnswer answer;
  GrantAnswer grant;
  int64_t asked_us = 0;
  uint64_t config = 0;
};

struct ElectorOptions {
  std::string node;
  bool has_row_layout = false;
  std::string disk;              // drawn for the data directory; empty: disks are not told apart
  bool was_registered = false;   // the disk has been: it counts again where etcd has forgotten all of this node's
  int64_t lease_us = 2'000'000;  // etcd's least; granted leases may be longer, which is harmless
  int64_t open_us = 0;  // from a won campaign until the term is open, at most; less than the lease counts as that
  int64_t margin_us = 500'000;  // by which this node closes before; covers what clocks differ in rate
  int64_t poll_us = 500'000;    // between two reads of the keys; watches only make it sooner
  int64_t settle_us = 150'000;  // until voters have published their positions
  int64_t step_us = 300'000;    // by which each next candidate waits longer
  int64_t resend_us = 100'000;  // of fences
  Flaws flaws;                  // tests only
};

// Decides when this node campaigns, what it promises and when it is primary. Pure: time, messages and etcd's answers
// come in, actions go out (take_actions()), nothing else happens; so that a whole cluster runs in one process under one
// seed. Invariants: (1) is_open() only between kOpen and the next kClose, kStepDown or kEnd; (2) a term is opened after
// R
//   complete voters have promised it on disk and W have its start (complete or not where a loss was accepted by hand);
//   (3) is_open() only while etcd's lease lasts, or what all voters have granted.
// Units: microseconds of a monotonic clock that goes on while the machine sleeps (CLOCK_BOOTTIME). Threads: none.
// Source: docs/failover.md.
class Elector {
 public:
  // may_have_granted: what kKeepGrant has put onto the disk is there.
  Elector(ElectorOptions options, Promise stored, Position position, bool is_complete, int64_t now_us,
          bool may_have_granted = false);

  void on_time(int64_t now_us);
  void on_view(const View& view, int64_t now_us);  // call on_time() and read again when a watch says that keys changed
  enum class Campaign : uint8_t { kWon, kLost, kUnknown };
  // lease_sent_us: when the lease was asked for.
  void on_campaign(Campaign result, uint64_t term, int64_t lease_sent_us, int64_t now_us);
  // term: that of the action that they answer, as below.
  void on_keep_alive(uint64_t term, int64_t sent_us, int64_t now_us);
  void on_lease_lost(uint64_t term, int64_t now_us);
  void on_fence(const Promise& wanted, int64_t now_us);
  void on_fence_answer(const std::string& from, const FenceAnswer& answer, int64_t now_us);
  void on_promise_stored(const Promise& promise, int64_t now_us);
  // Without etcd (docs/failover.md, Without etcd).
  void on_grant_asked(const std::string& from, uint64_t term, int64_t asked_us, int64_t now_us);
  void on_grant_kept(int64_t now_us);
  void on_grant(const std::string& from, const GrantAnswer& answer, int64_t now_us);
  // kUnknown: should it have been done, it has been taken back.
  void on_reclaimed(Campaign result, uint64_t term, int64_t lease_sent_us, int64_t now_us);
  // It goes on by what the voters have granted, not by etcd's lease.
  bool is_failsafe(int64_t now_us) const;
  // Whenever they change. Neither falls by itself: what was read earlier and is said later changes nothing, and a fence
  // is answered with the highest that was said before.
  void on_log(Position position, bool is_complete);
  // In that term this node follows, and its log has all that the primary had at a moment since this process began.
  void on_caught_up(uint64_t term);
  // The disk is etcd's.
  void on_registered();
  // The end of the log was cut on purpose, in the same process (which no node does yet: docs/failover.md, Not yet).
  void on_cut(Position position, bool is_complete);
  void on_adopted(uint64_t term, bool succeeded, int64_t now_us);
  void on_term_confirmed(uint64_t term, int64_t now_us);
  // A primary whose commits wait for copies: since when some wait and none has been confirmed, -1: none waits. After a
  // lease of that it steps down. Say so before on_time(), whenever it changes.
  void on_unconfirmed(int64_t since_us);
  // Switchover: closes, so that what was accepted ends and `to` gets all of it; on_drained() when that is so. Opens
  // again at until_us. False: it is not open.
  bool begin_drain(const std::string& to, int64_t until_us, int64_t now_us);
  void on_drained(int64_t now_us);
  enum class HandOver : uint8_t { kDone, kNotDone, kUnknown };
  void on_handed_over(HandOver result, uint64_t term, int64_t now_us);
  // To whom it is about to hand over; empty: nobody.
  const std::string& drains_to() const { return drains_to_; }
  // Somebody has refused redo of this node's: it has promised that.
  void on_refused(const Promise& promised, int64_t now_us);

  // Whether redo of that primaryship may be appended, and acknowledged while this is still so. False: dropped; where it
  // is news, its promise is on its way to the disk. Any redo that a voter gets goes through here.
  bool takes_redo(const Promise& primaryship, int64_t now_us);
  const Promise& promised() const { return ballot_.promised(); }
  // Whether elections can have come to that term. Each campaign draws the next one, so a term far above all that this
  // node knows is forged: were it promised, no term would be left for anybody.
  bool is_plausible(uint64_t term) const {
    const uint64_t known = std::max({view_.term, ballot_.promised().term, position_.term, term_});
    return term <= known || term - known <= kTermJumpMax;
  }
  static constexpr uint64_t kTermJumpMax = uint64_t{1} << 20;

  // Whether etcd has registered this node's disk, as far as this process has been told. Else what the voter of this
  // name has promised and acknowledged may lie elsewhere or nowhere: it is not complete, and no copy of its counts.
  bool has_known_disk() const { return is_disk_known_; }
  bool is_complete() const { return is_complete_ && is_disk_known_; }

  bool is_open(int64_t now_us) const;   // takes writes
  bool may_read(int64_t now_us) const;  // strong reads and tickets
  // is_open() holds until then, unless something comes in; 0: it does not hold.
  int64_t open_until_us() const { return takes_writes() ? closing_us() : 0; }
  // As open_until_us(), while it closes to hand over, too: what was accepted before is still answered.
  int64_t leads_until_us() const { return state_ == State::kPrimary && !is_handing_over_ ? closing_us() : 0; }
  bool leads() const { return state_ >= State::kFencing && state_ <= State::kPrimary; }
  bool has_ended() const { return state_ == State::kEnded; }
  uint64_t term() const { return term_; }  // while it leads
  // Who counts in its term, while it leads; they are not those of etcd any more: only the next term has those.
  const Voters& voters() const { return voters_; }
  bool has_old_voters() const { return state_ == State::kPrimary && view_.config > config_; }
  std::vector<Action> take_actions();

 private:
  enum class State : uint8_t { kFollower, kCampaigning, kFencing, kAdopting, kStarting, kPrimary, kEnded };

  Action& act(Action::Kind kind);
  void set_log(Position position, bool is_complete);
  bool takes_writes() const { return state_ == State::kPrimary && !is_closed_ && drains_to_.empty(); }
  void end_drain(int64_t now_us);
  bool is_barred(const Promise& wanted) const;
  bool gets_nowhere(int64_t now_us) const;
  void store_promise(const Promise& promise);
  void answer_fence(const Promise& wanted, bool granted);
  void note_opened();
  void step_down(int64_t now_us);
  void win(uint64_t term, int64_t lease_sent_us, int64_t now_us);
  void send_fences(int64_t now_us);
  void count_answers(int64_t now_us);
  void start_term(int64_t now_us);
  void watch_lease(int64_t now_us);
  void ask_grants(int64_t now_us);
  void answer_grant(const std::string& to, uint64_t term, int64_t asked_us, bool granted);
  bool may_grant(const Promise& primaryship, int64_t now_us) const;
  bool tells_disks_apart() const;
  void look_at_disk();
  void set_disk_known(bool is_known);
  bool is_bound(int64_t now_us) const;
  void reclaim();
  void reopen(int64_t now_us);
  void consider(int64_t now_us);
  bool is_appointed() const;
  bool have_published() const;
  bool may_win() const;
  std::optional<uint32_t> place() const;
  // Since when etcd or all voters have said last that nobody else is elected for a lease.
  int64_t leased_us() const { return std::max(lease_sent_us_, failsafe_us_); }
  int64_t closing_us() const { return leased_us() + options_.lease_us - options_.margin_us; }

  const ElectorOptions options_;
  Ballot ballot_;
  Position position_;
  bool is_complete_;  // the log, whatever disk it lies on
  bool is_disk_known_;
  uint64_t caught_up_term_ = 0;
  State state_ = State::kFollower;
  View view_;
  bool has_view_ = false;
  std::string led_by_;        // the last leader that a view had; empty: none yet
  int64_t led_revision_ = 0;  // of that view
  uint64_t term_seen_ = 0;    // highest that anybody has named
  int64_t next_read_us_ = 0;
  int64_t missing_since_us_ = -1;  // the leader; -1: there is one, as far as known
  int64_t not_before_us_ = 0;      // back-off after a campaign that led nowhere
  uint32_t failures_ = 0;          // of them, one after the other

  // while it leads or campaigns
  uint64_t term_ = 0;
  Voters voters_;  // as the campaign found them: others come with another term
  uint64_t config_ = 0;
  bool is_closed_ = true;
  bool accepts_loss_ = false;  // as it was appointed
  std::string drains_to_;
  int64_t drain_until_us_ = 0;
  bool is_handing_over_ = false;
  int64_t campaign_us_ = 0;
  int64_t won_us_ = 0;
  int64_t unconfirmed_since_us_ = -1;
  int64_t lease_sent_us_ = 0;  // of the last request that succeeded
  int64_t next_keep_alive_us_ = 0;
  int64_t next_fence_us_ = 0;
  std::map<std::string, FenceAnswer> answers_;
  std::map<std::string, int64_t> grants_;  // when that was asked for which a voter has granted last
  int64_t failsafe_us_ = 0;                // when that was asked for which all have granted
  int64_t next_ask_us_ = 0;
  bool is_reclaiming_ = false;
  int64_t reclaimed_us_ = 0;

  // what it has granted
  int64_t bound_until_us_ = 0;
  bool is_grant_kept_ = false;  // on the disk
  struct Asked {
    std::string node;
    uint64_t term = 0;
    int64_t asked_us = 0;
  };
  std::optional<Asked> granting_;  // as soon as it is kept

  // a promise on its way to the disk, and who waits for it
  std::optional<Promise> storing_;
  std::set<std::string> fenced_by_;

  std::vector<Action> actions_;
};

}  // namespace scyper::consensus
