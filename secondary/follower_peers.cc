#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "follower.h"
#include "replay/archive.h"
#include "replay/log_parcels.h"
#include "storage/archive.h"

// From and for other secondaries of the same primary: archives and the log, so that the primary need not send them.
// Invariants: (1) what is given is in order here while the end of it is known to be the history of the primary that was
//   named; (2) what is taken was asked for in the term that this node's inbox has when it comes; (3) whatever goes
//   wrong, the primary is asked.
namespace scyper::secondary {

using replication::Inbox;
using replication::Parcel;
using replication::Peer;
using replication::Watermark;

namespace {
constexpr size_t kPeersAsked = 2;  // for one range, then the primary is
constexpr int64_t kPeerCallUs = 500'000;
constexpr int64_t kShunnedNs = 5'000'000'000;
constexpr int64_t kPeersPeriodNs = 2'000'000'000;
// Less is followed from the primary at once: it has that in memory.
constexpr uint64_t kFarLsns = 10'000;
constexpr uint64_t kRangeLsns = 200'000;  // of one call
constexpr std::chrono::milliseconds kRoomWait{200};
}  // namespace

// --- for others ---

void Follower::start_offering() {
  peer_publisher_.cluster = identity_.cluster;
  peer_publisher_.node = options_.link.node;
  peer_publisher_.disk = disk_;
  peer_publisher_.newest_archive = [this](uint64_t term) { return shared_archive(term); };
  peer_publisher_.tier_files = replay::archive_tier_files(disk_, database_->tier());
  peer_publisher_.read_log = [this](uint64_t term, uint64_t after_lsn, uint64_t upto_lsn,
                                    const std::function<bool(Parcel)>& each) {
    return share_log(term, after_lsn, upto_lsn, each);
  };
  peer_publisher_.is_stopped = [this] { return is_stopping_.load(); };
  peers_ = primary_.peers;
  peers_ns_ = clock_.monotonic_ns();
}

// With the lock. What has some of the partitions only is for nobody else.
bool Follower::shares(uint64_t term) const { return options_.link.partitions.is_all() && inbox_.is_shared(term); }

// Archives are of states that were applied: of what is confirmed.
StatusOr<std::string> Follower::shared_archive(uint64_t term) const {
  uint64_t applied_lsn;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopping_ || !failure_.ok() || !is_own_confirmed_ || !shares(term)) {
      return absl::FailedPreconditionError("the node does not know whether its state is that primary's");
    }
    applied_lsn = inbox_.applied_lsn();
  }
  if (options_.data_directory.empty()) return absl::NotFoundError("the node keeps no archives");
  SCYPER_ASSIGN_OR_RETURN(const auto entries,
                          storage::list_archives(disk_, replay::archives_directory(options_.data_directory)));
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (entry->is_complete && entry->lsn <= applied_lsn) return entry->path;
  }
  return absl::NotFoundError("the node has no archive");
}

// From memory, or from its own log: that has nothing yet which may not be given, as it is written in order.
Status Follower::share_log(uint64_t term, uint64_t after_lsn, uint64_t upto_lsn,
                           const std::function<bool(Parcel)>& each) const {
  std::vector<Parcel> newest;
  uint64_t logged_lsn = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopping_ || !failure_.ok() || !shares(term)) {
      return absl::FailedPreconditionError("the node does not know whether its log is that primary's");
    }
    newest = inbox_.newest();
    if (keeper_ != nullptr) logged_lsn = inbox_.logged_lsn();
  }
  const auto is_over = [upto_lsn](uint64_t lsn) { return lsn >= upto_lsn; };
  if (!newest.empty() && newest.front().base_lsn <= after_lsn) {
    for (Parcel& parcel : newest) {
      if (parcel.complete_lsn <= after_lsn) continue;
      const uint64_t lsn = parcel.complete_lsn;
      if (!each(std::move(parcel)) || is_over(lsn)) break;
    }
    if (newest.back().complete_lsn > after_lsn) return Status();
  } else if (logged_lsn > after_lsn) {
    return replay::read_parcels(disk_, replay::log_directory(options_.data_directory), identity_.cluster, after_lsn,
                                [&](Parcel parcel) {
                                  const uint64_t lsn = parcel.complete_lsn;
                                  return lsn <= logged_lsn && each(std::move(parcel)) && !is_over(lsn);
                                });
  }
  return absl::OutOfRangeError(absl::StrCat("the node has no log behind LSN ", after_lsn));
}

// --- from others ---

void Follower::refresh_peers() {
  const int64_t now_ns = clock_.monotonic_ns();
  if (now_ns - peers_ns_ < kPeersPeriodNs) return;
  peers_ns_ = now_ns;
  auto peers = link_->peers(identity_.cluster);
  if (!peers.ok()) return;
  peers_ = *std::move(peers);
  std::erase_if(peer_links_, [&](const auto& link) {
    return std::none_of(peers_.begin(), peers_.end(), [&](const Peer& peer) { return peer.address == link.first; });
  });
}

// What a joiner lacks behind its archive. Where there are elections redo of a term is taken at the primary's own word.
void Follower::catch_up_from_peers() {
  if (!asks_peers(options_, primary_) || options_.link.admits != nullptr || peers_.empty()) return;
  if (primary_.watermark.term == 0) return;
  if (take({}, primary_.watermark, /*is_repair=*/false) == Taken::kStop) return;
  while (!is_stopping_) {
    Inbox::Range range{0, 0};
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait_for(lock, kRoomWait, [this] { return is_stopping_ || inbox_.bytes() < options_.inbox_bytes / 2; });
      // what is not confirmed yet would fill it for good
      const uint64_t upto_lsn = std::min(primary_.complete_lsn, inbox_.commit_lsn());
      const uint64_t from_lsn = inbox_.received_lsn();
      if (!failure_.ok() || inbox_.bytes() >= options_.inbox_bytes / 2 || from_lsn + kFarLsns > upto_lsn) return;
      range = {from_lsn, std::min(upto_lsn, from_lsn + kRangeLsns)};
    }
    if (!fetch_from_peers(range)) return;
  }
}

// False: nobody has given anything that is new.
bool Follower::fetch_from_peers(const Inbox::Range& range) {
  if (!asks_peers(options_, primary_)) return false;
  refresh_peers();
  uint64_t term;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!inbox_.is_matched()) return false;  // its end is compared with the primary's log first
    term = inbox_.term();
  }
  size_t asked = 0;
  for (size_t i = 0; i < peers_.size() && asked < kPeersAsked && !is_stopping_; ++i) {
    const Peer& peer = peers_[++peer_turn_ % peers_.size()];
    const PeerLink& known = peer_links_[peer.address];
    if (clock_.monotonic_ns() < known.shunned_ns) continue;
    ++asked;
    if (fetch_from_peer(peer, range, term)) return true;
  }
  return false;
}

bool Follower::fetch_from_peer(const Peer& peer, const Inbox::Range& range, uint64_t term) {
  PeerLink& known = peer_links_[peer.address];
  if (known.link == nullptr || known.term != term) {
    known.link = options_.connect_peer(peer, term, kPeerCallUs);
    known.term = term;
  }
  uint64_t before;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopping_) return false;
    asked_ = known.link;
    before = peer_groups_;
  }
  bool is_refused = false;
  const Status status = known.link->follow(identity_.cluster, range.after_lsn, range.upto_lsn,
                                           [&](std::vector<Parcel> parcels, const Watermark&) {
                                             return take_of_peer(std::move(parcels), term, &is_refused) == Taken::kAll;
                                           });
  std::lock_guard<std::mutex> lock(mutex_);
  asked_ = nullptr;
  const bool has_helped = peer_groups_ > before;
  if (has_helped) peer_ = peer.node;
  // neither that it does not have what was asked for is a fault, nor that there is more of it than a call takes
  const bool is_late = has_helped && absl::IsDeadlineExceeded(status);
  if ((!status.ok() && !absl::IsOutOfRange(status) && !is_late && !is_stopping_) || is_refused) {
    ++peer_failures_;
    known.shunned_ns = clock_.monotonic_ns() + kShunnedNs;
  }
  return has_helped;
}

// Of the primary nothing is heard by this: neither its term, nor its commit point, nor that it is there.
Follower::Taken Follower::take_of_peer(std::vector<Parcel> parcels, uint64_t term, bool* is_refused) {
  Taken taken = Taken::kAll;
  uint64_t lost_lsn = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopping_ || !failure_.ok()) return Taken::kStop;
    if (term < barred_term_) return Taken::kFull;
    const uint64_t before_lsn = inbox_.received_lsn();
    for (Parcel& parcel : parcels) {
      const Inbox::Verdict verdict = inbox_.offer_of_peer(std::move(parcel), term);
      if (verdict == Inbox::Verdict::kNew) {
        ++peer_groups_;
        ++repaired_groups_;
      } else if (verdict != Inbox::Verdict::kKnown) {
        *is_refused = verdict != Inbox::Verdict::kFull;
        taken = Taken::kFull;
        break;
      }
    }
    if (inbox_.received_lsn() > before_lsn) arrivals_.push_back({inbox_.received_lsn(), clock_.monotonic_ns()});
    note_gap();
    note_known();
    if (inbox_.has_diverged()) {
      taken = Taken::kStop;
      lost_lsn = inbox_.lost_lsn();
    }
  }
  changed_.notify_all();
  return taken == Taken::kStop ? give_up(lost_lsn, {}) : taken;
}

}  // namespace scyper::secondary
