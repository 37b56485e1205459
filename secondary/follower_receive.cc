#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "follower.h"

// What comes in: parcels and watermarks, by multicast or from the primary, and what is told back.
namespace scyper::secondary {

using replication::Inbox;
using replication::Parcel;
using replication::Watermark;

namespace {
constexpr std::chrono::milliseconds kRetry{50};
// While a new primary is about to listen; it opens when it is followed.
constexpr std::chrono::milliseconds kSoon{10};
constexpr int64_t kSoonNs = 2'000'000'000;
// The primary's beats come every 20 ms: so long without one, and its log is followed by unicast.
constexpr int64_t kMulticastSilenceNs = 1'000'000'000;
// PGM repairs by itself within some 20 ms; then the primary is asked.
constexpr int64_t kRepairAfterNs = 30'000'000;
// Verbs do not, and keep the order of what they do not lose.
constexpr int64_t kRdmaRepairAfterNs = 10'000'000;
constexpr std::chrono::milliseconds kRepairLook{5};
constexpr int kListenMs = 100;
// Without a key the primary is asked for its commit point: often while groups wait for it, else as often as it beats.
constexpr std::chrono::milliseconds kConfirmPause{2};
constexpr std::chrono::milliseconds kBeatPause{20};
constexpr std::chrono::milliseconds kUnheardPause{100};
constexpr int64_t kBeatTakenNs = 5'000'000;
constexpr int64_t kKnownDistanceNs = 1'000'000;
constexpr size_t kKnownsMax = 10'000;
// Positions go out when they change, at most so often where commits wait for them; else so often, as each costs the
// primary as much as some transactions; and so often when they do not change.
constexpr std::chrono::microseconds kReportPause{200};
constexpr std::chrono::microseconds kCalmReportPause{100'000};
constexpr std::chrono::microseconds kRoomLook{20'000};  // for what queries' tickets go by
constexpr std::chrono::milliseconds kReportPeriod{100};
}  // namespace

// kFull: some were not taken, and are missing now. kStop: nothing is taken any more.
Follower::Taken Follower::take(std::vector<Parcel> parcels, const Watermark& watermark, bool is_repair) {
  bool has_diverged = false, is_full = false;
  uint64_t lost_lsn = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopping_ || !failure_.ok()) return Taken::kStop;
    if (watermark.term < barred_term_) return Taken::kFull;
    const uint64_t before_lsn = inbox_.received_lsn();
    if (!inbox_.note(watermark)) return Taken::kAll;  // a primary that does not know yet that it is none
    heard_ns_ = clock_.monotonic_ns();
    if (!parcels.empty() && !is_repair) {
      send_time_.record_ns(static_cast<uint64_t>(std::max<int64_t>(0, clock_.now_us() - watermark.time_us) * 1000));
    }
    for (Parcel& parcel : parcels) {
      const Inbox::Verdict verdict = inbox_.offer(std::move(parcel));
      if (verdict == Inbox::Verdict::kNew && is_repair) ++repaired_groups_;
      is_full = verdict == Inbox::Verdict::kFull;
      if (is_full) break;
    }
    if (inbox_.received_lsn() > before_lsn) arrivals_.push_back({inbox_.received_lsn(), heard_ns_});
    note_gap();
    note_known();
    has_diverged = inbox_.has_diverged();
    lost_lsn = inbox_.lost_lsn();
  }
  changed_.notify_all();
  if (!has_diverged) return is_full ? Taken::kFull : Taken::kAll;
  return give_up(lost_lsn, watermark);
}

Follower::Taken Follower::give_up(uint64_t lost_lsn, const Watermark& watermark) {
  if (lost_lsn == 0) {
    fail_behind_divergence("the primary's history differs from this node's");
  } else {
    fail_behind_loss(lost_lsn, watermark);
  }
  return Taken::kStop;
}

// Of another primary than it was seeded for: what differs can be cut when it is seeded again.
void Follower::fail_behind_divergence(const std::string& what) {
  fail(sql_error("XX001", what), /*restarts_empty=*/!options_.cutting.has_value() || redirections() == 0);
}

// What this node has may be all that is left of it.
void Follower::fail_behind_loss(uint64_t lost_lsn, const Watermark& watermark) {
  const std::string what = absl::StrCat("the primary has lost transactions: they were confirmed up to LSN ", lost_lsn,
                                        ", but term ", watermark.term, " began behind LSN ", watermark.term_lsn);
  const bool is_kept = !options_.data_directory.empty();
  if (is_kept) {
    if (Status status = keep_history(disk_, options_.data_directory, what); !status.ok()) {
      say(absl::StrCat("the data directory could not be marked: ", std::string(status.message())));
    }
  }
  fail(sql_error("XX001", what), /*restarts_empty=*/!is_kept);
}

// With the lock. Under load there is always something that has just come: only since when counts.
void Follower::note_known() {
  const uint64_t known_lsn = std::max(inbox_.known_lsn(), inbox_.received_lsn());
  drop_applied();
  // a new term may have cut what was known
  while (knowns_.size() > 1 && knowns_[knowns_.size() - 2].lsn >= known_lsn) knowns_.pop_back();
  if (!knowns_.empty()) {
    Known& last = knowns_.back();
    const bool is_close = heard_ns_ - last.ns < kKnownDistanceNs || knowns_.size() >= kKnownsMax;
    if (last.lsn >= known_lsn || is_close) {
      last.lsn = known_lsn;
      return;
    }
  }
  if (known_lsn > inbox_.applied_lsn()) knowns_.push_back({known_lsn, heard_ns_});
}

// With the lock.
void Follower::drop_applied() {
  const uint64_t applied_lsn = inbox_.applied_lsn();
  const int64_t now_ns = clock_.monotonic_ns();
  while (!arrivals_.empty() && arrivals_.front().lsn <= applied_lsn) {
    replay_time_.record_ns(static_cast<uint64_t>(now_ns - arrivals_.front().received_ns));
    arrivals_.pop_front();
  }
  while (!knowns_.empty() && knowns_.front().lsn <= applied_lsn) knowns_.pop_front();
  currency_.apply(applied_lsn);
  if (heard_ns_ == 0) return;
  is_own_confirmed_ = is_own_confirmed_ || (inbox_.is_matched() && inbox_.commit_lsn() >= recovered_.lsn);
  has_caught_up_ = has_caught_up_ || applied_lsn >= primary_.complete_lsn ||
                   applied_lsn >= std::max(inbox_.known_lsn(), inbox_.received_lsn());
}

// With the lock. By unicast nothing is lost, it is only not there yet.
void Follower::note_gap() {
  const bool misses = hears_multicast() && inbox_.missing().has_value();
  if (misses && gap_ns_ == 0) gap_ns_ = heard_ns_;
  if (misses || gap_ns_ == 0) return;
  repair_time_.record_ns(static_cast<uint64_t>(heard_ns_ - gap_ns_));
  gap_ns_ = 0;
}

void Follower::redirect(const std::string& target) {
  link_->redirect(target);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ++redirections_;
    redirected_ns_ = clock_.monotonic_ns();
  }
  changed_.notify_all();
}

// redirections: as they were before what has failed.
void Follower::wait_to_retry(uint64_t redirections) {
  std::unique_lock<std::mutex> lock(mutex_);
  const bool is_soon = redirections_ > 0 && clock_.monotonic_ns() - redirected_ns_ < kSoonNs;
  changed_.wait_for(lock, is_soon ? kSoon : kRetry,
                    [&] { return is_stopping_.load() || redirections_ != redirections; });
}

// A network without multicast works, by unicast; a key that cannot be read is an error all the same.
Status Follower::start_multicast() {
  if (!options_.multicast_key_file.empty()) {
    SCYPER_ASSIGN_OR_RETURN(key_, replication::DatagramKey::read(options_.multicast_key_file));
  }
  const replication::TransportInfo& transport = primary_.transport;
  const bool is_rdma = transport.kind == "rdma";
  if (!is_rdma && transport.kind != "pgm") {
    transport_note_ = "the primary sends by unicast";
  } else if (options_.interface.empty() && (!is_rdma || options_.rdma.device.empty())) {
    transport_note_ = is_rdma ? "neither multicast_interface nor rdma_device is set" : "multicast_interface is not set";
  } else if (transport.is_encrypted != key_.has_value()) {
    transport_note_ = key_.has_value() ? "the primary's multicast is not encrypted, multicast_key_file is set here"
                                       : "the primary's multicast is encrypted: set multicast_key_file";
  } else if (key_.has_value() && key_->fingerprint(identity_.cluster) != transport.key_fingerprint) {
    transport_note_ = "multicast_key_file holds another key than the primary's";
  } else if (transport.channels > replication::kChannelsMax) {
    transport_note_ = absl::StrCat("the primary sends by ", transport.channels, " channels: more than there can be");
  }
  if (!transport_note_.empty()) return Status();
  replication::MulticastOptions options;
  options.interface = options_.interface;
  options.group = transport.multicast_group;
  options.port = transport.multicast_port;
  options.channels = transport.channels;
  options.joined = replication::channels_of(options_.link.partitions, transport.channels);
  options.is_raw = transport.is_raw;
  if (is_rdma) options.kind = replication::MulticastOptions::Kind::kRdma;
  options.rdma = options_.rdma;
  options.identity = absl::StrCat(replication::to_string(identity_.cluster), ":", options_.link.node);
  auto started = replication::MulticastProcess::start(options);
  if (!started.ok()) {
    transport_note_ = std::string(started.status().message());
    return Status();
  }
  multicast_ = *std::move(started);
  threads_.emplace_back([this] { listen(); });
  if (!key_.has_value()) {
    threads_.emplace_back([this] { confirm(); });
    pthread_setname_np(threads_.back().native_handle(), "confirm");
  }
  return Status();
}

// With the lock.
bool Follower::hears_multicast() const {
  return multicast_ != nullptr && multicast_ns_ != 0 && clock_.monotonic_ns() - multicast_ns_ < kMulticastSilenceNs;
}

void Follower::listen() {
  replication::DatagramReader reader(identity_.cluster, {options_.inbox_bytes / 4, key_.has_value() ? &*key_ : nullptr,
                                                         primary_.transport.channels, options_.link.partitions});
  std::string datagram;
  uint64_t term = 0, received_lsn = 0, commit_heard = 0;
  int64_t beat_due_ns = 0;
  while (!is_stopping_) {
    if (!multicast_->receive(&datagram, kListenMs)) continue;
    reader.forget(term, received_lsn);  // what was fetched meanwhile
    auto received = reader.read(datagram, term);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      term = inbox_.term();
      received_lsn = inbox_.received_lsn();
      datagrams_ = reader.counters();
      // all nodes need the first channel; what others lose is fetched
      if (key_.has_value() && received.watermark.has_value() && received.channel == 0)
        multicast_ns_ = clock_.monotonic_ns();
    }
    if (!received.watermark.has_value()) continue;
    if (!key_.has_value()) {
      if (!hear_unproven(std::move(received))) return;
      continue;
    }
    std::vector<Parcel> parcels;
    if (received.parcel.has_value()) parcels.push_back(*std::move(received.parcel));
    // pieces in the middle of a parcel have no news
    if (parcels.empty() && received.watermark->commit_lsn <= commit_heard && clock_.monotonic_ns() < beat_due_ns) {
      continue;
    }
    commit_heard = received.watermark->commit_lsn;
    beat_due_ns = clock_.monotonic_ns() + kBeatTakenNs;
    if (take(std::move(parcels), *received.watermark, /*is_repair=*/false) == Taken::kStop) return;
  }
}

// Anybody on the network may have sent it. Its watermark counts for nothing: the term and the commit point come by
// gRPC. Its group counts where it fits, and is dropped where it does not.
bool Follower::hear_unproven(replication::DatagramReader::Received received) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopping_ || !failure_.ok()) return false;
    const bool is_of_term = received.watermark.has_value() && received.watermark->term == inbox_.term();
    if (!is_of_term || lacks_watermark_ || inbox_.term() < barred_term_) return true;
    const int64_t now_ns = clock_.monotonic_ns();
    if (received.channel == 0) multicast_ns_ = now_ns;
    if (!received.parcel.has_value()) return true;
    received.parcel->is_unproven = true;
    const uint64_t before_lsn = inbox_.received_lsn();
    if (inbox_.offer(*std::move(received.parcel)) != Inbox::Verdict::kNew) return true;
    const int64_t sent_us = std::max<int64_t>(0, clock_.now_us() - received.watermark->time_us);
    send_time_.record_ns(static_cast<uint64_t>(sent_us) * 1000);
    if (inbox_.received_lsn() > before_lsn) arrivals_.push_back({inbox_.received_lsn(), now_ns});
    note_gap();
    note_known();
  }
  changed_.notify_all();
  return true;
}

// Without a key: asks the primary how far it is while multicast is heard. Unicast brings that by itself.
void Follower::confirm() {
  while (!is_stopping_) {
    const StatusOr<Watermark> watermark = link_->watermark();
    if (watermark.ok() && take({}, *watermark, /*is_repair=*/false) == Taken::kStop) return;
    std::unique_lock<std::mutex> lock(mutex_);
    if (watermark.ok()) lacks_watermark_ = false;
    if (absl::IsUnimplemented(watermark.status())) {  // then the log comes by unicast
      lacks_watermark_ = true;
      multicast_ns_ = 0;
    }
    const bool waits = inbox_.received_lsn() > inbox_.commit_lsn();
    const auto pause = !hears_multicast() || !watermark.ok() ? kUnheardPause : waits ? kConfirmPause : kBeatPause;
    changed_.wait_for(lock, pause, [&] {
      return is_stopping_ || (!waits && hears_multicast() && inbox_.received_lsn() > inbox_.commit_lsn());
    });
  }
}

void Follower::receive() {
  catch_up_from_peers();
  while (!is_stopping_) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!failure_.ok()) return;
    }
    follow_primary();
    repair_until_silent();
  }
}

// By unicast: the primary's log from where this node stands, until multicast brings it.
void Follower::follow_primary() {
  uint64_t after_lsn, after_term, redirections;
  bool is_compared;  // the first group that comes is compared with the last one here
  {
    std::unique_lock<std::mutex> lock(mutex_);
    // a full inbox is waited for, not fetched again and again
    changed_.wait_for(lock, std::chrono::seconds(1),
                      [this] { return is_stopping_ || inbox_.bytes() < options_.inbox_bytes / 2; });
    redirections = redirections_;
    after_lsn = inbox_.next_lsn();
    is_compared = !inbox_.is_matched();
    // a state that an archive gave is nobody's log
    const bool is_known =
        !is_compared && options_.link.admits != nullptr && (after_lsn > recovered_.lsn || !recovered_.segments.empty());
    after_term = is_known ? inbox_.received_term() : 0;
  }
  bool is_replaced = false, has_new_term = false;
  Status status = link_->follow(
      identity_.cluster, after_lsn, 0,
      [&](std::vector<Parcel> parcels, const Watermark& w) {
        const bool is_empty = parcels.empty();
        if (take(std::move(parcels), w, /*is_repair=*/false) != Taken::kAll) return false;
        std::unique_lock<std::mutex> lock(mutex_);
        // a new term, or another end of the log than here: from further back
        has_new_term = !inbox_.is_matched() && !is_compared;
        if (!inbox_.is_matched() && !(is_compared && is_empty)) return false;
        is_connected_ = true;
        // slower than the primary: gRPC's flow control holds the rest back
        changed_.wait(lock,
                      [this] { return is_stopping_ || !failure_.ok() || inbox_.bytes() < options_.inbox_bytes / 2; });
        is_replaced = hears_multicast() && !inbox_.missing().has_value();
        return !is_replaced;
      },
      after_term);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_connected_ = is_replaced;
  }
  if (is_replaced || has_new_term) return;
  if (absl::IsOutOfRange(status)) {
    return fail(sql_error("XX001", "the primary's log does not reach back to this node's state"),
                /*restarts_empty=*/true);
  }
  if (absl::IsDataLoss(status)) {
    return fail_behind_divergence(
        absl::StrCat("the primary's history differs from this node's: ", std::string(status.message())));
  }
  if (absl::IsFailedPrecondition(status)) return fail(status, /*restarts_empty=*/false);
  wait_to_retry(redirections);
}

// While multicast is heard: what it has not brought for a while is fetched.
void Follower::repair_until_silent() {
  Inbox::Range waited{0, 0};
  int64_t since_ns = 0;
  const int64_t repair_after_ns = primary_.transport.kind == "rdma" ? kRdmaRepairAfterNs : kRepairAfterNs;
  std::unique_lock<std::mutex> lock(mutex_);
  while (!is_stopping_ && failure_.ok() && hears_multicast()) {
    changed_.wait_for(lock, kRepairLook, [this] { return is_stopping_.load(); });
    const auto missing = inbox_.missing();
    if (!missing.has_value()) {
      waited = {0, 0};
      continue;
    }
    const int64_t now_ns = clock_.monotonic_ns();
    if (waited.after_lsn != missing->after_lsn || since_ns == 0) {
      waited = *missing;
      since_ns = now_ns;
    }
    if (now_ns - since_ns < repair_after_ns) continue;
    since_ns = 0;
    ++repairs_;
    lock.unlock();
    if (!repair(*missing)) return;
    lock.lock();
  }
}

// From another secondary that has it, else from the primary. False: the node has failed.
bool Follower::repair(const Inbox::Range& missing) {
  if (fetch_from_peers(missing)) return true;
  Status status = link_->follow(identity_.cluster, missing.after_lsn, missing.upto_lsn,
                                [this](std::vector<Parcel> parcels, const Watermark& w) {
                                  return take(std::move(parcels), w, /*is_repair=*/true) == Taken::kAll;
                                });
  if (!absl::IsOutOfRange(status)) return true;
  fail(sql_error("XX001", "the primary's log does not reach back to this node's state"), /*restarts_empty=*/true);
  return false;
}

// Commits of the primary may wait for what this node has.
bool Follower::is_waited_for() const {
  // where there are elections it may vote without knowing it
  const bool may_vote = options_.link.is_voter || options_.link.admits != nullptr;
  return may_vote && link_->awaits_positions();
}

// Positions that nobody waits for are told less often, but for whether there is room for snapshots.
void Follower::pause_reports(bool had_room) const {
  if (is_waited_for()) return std::this_thread::sleep_for(kReportPause);
  const auto may_end = [&] {
    std::lock_guard<std::mutex> lock(mutex_);
    return is_stopping_ || !failure_.ok() || has_room_ != had_room;
  };
  for (auto slept = kRoomLook; !may_end() && slept <= kCalmReportPause; slept += kRoomLook) {
    std::this_thread::sleep_for(kRoomLook);
  }
}

void Follower::report() {
  while (!is_stopping_) {
    replication::Position last;
    bool is_first = true;
    std::shared_ptr<const replication::StateDigest> told;
    const uint64_t redirections = this->redirections();
    Status status = link_->attend([&]() -> std::optional<replication::Position> {
      if (!std::exchange(is_first, false)) {
        pause_reports(last.has_room);
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait_for(lock, kReportPeriod, [&] {
          // that the end of the log is the primary's makes a copy of it
          return is_stopping_ || copied_term() != last.term || inbox_.received_lsn() != last.received_lsn ||
                 inbox_.applied_lsn() != last.applied_lsn || digest_ != told ||
                 (keeper_ != nullptr && inbox_.logged_lsn() != last.durable_lsn);
        });
      }
      if (is_stopping_) return std::nullopt;
      last = position();
      {
        std::lock_guard<std::mutex> lock(mutex_);
        if (digest_ != told) last.digest = told = digest_;
      }
      const query::Queries::Counters counters = queries_->counters();
      last.queries = counters.running + counters.waiting;
      return last;
    });
    if (absl::IsDataLoss(status)) {
      return fail(sql_error("XX001", std::string(status.message())), /*restarts_empty=*/true);
    }
    wait_to_retry(redirections);
  }
}

}  // namespace scyper::secondary
