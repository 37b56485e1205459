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
// Positions go out when they change, at most so often; and so often when they do not.
constexpr std::chrono::microseconds kReportPause{200};
constexpr std::chrono::milliseconds kReportPeriod{100};
}  // namespace

// kFull: some were not taken, and are missing now. kStop: nothing is taken any more.
Follower::Taken Follower::take(std::vector<Parcel> parcels, const Watermark& watermark, bool is_repair) {
  bool has_diverged = false, is_full = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopping_ || !failure_.ok()) return Taken::kStop;
    heard_ns_ = clock_.monotonic_ns();
    inbox_.note(watermark);
    for (Parcel& parcel : parcels) {
      const Inbox::Verdict verdict = inbox_.offer(std::move(parcel));
      if (verdict == Inbox::Verdict::kNew && is_repair) ++repaired_groups_;
      is_full = verdict == Inbox::Verdict::kFull;
      if (is_full) break;
    }
    if (inbox_.applied_lsn() >= inbox_.known_lsn()) current_ns_ = heard_ns_;
    has_diverged = inbox_.has_diverged();
  }
  changed_.notify_all();
  if (!has_diverged) return is_full ? Taken::kFull : Taken::kAll;
  fail(sql_error("XX001", "the primary's history differs from this node's"), /*restarts_empty=*/true);
  return Taken::kStop;
}

void Follower::wait_to_retry() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, kRetry, [this] { return is_stopping_.load(); });
}

// Unicast: the primary's log from where this node stands, for ever.
void Follower::receive() {
  while (!is_stopping_) {
    uint64_t after_lsn;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      if (!failure_.ok()) return;
      // a full inbox is waited for, not fetched again and again
      changed_.wait_for(lock, std::chrono::seconds(1),
                        [this] { return is_stopping_ || inbox_.bytes() < options_.inbox_bytes / 2; });
      after_lsn = inbox_.received_lsn();
    }
    bool is_first = true;
    Status status =
        link_->follow(identity_.cluster, after_lsn, 0, [&](std::vector<Parcel> parcels, const Watermark& w) {
          if (std::exchange(is_first, false)) {
            std::lock_guard<std::mutex> lock(mutex_);
            is_connected_ = true;
          }
          if (take(std::move(parcels), w, /*is_repair=*/false) != Taken::kAll) return false;
          std::unique_lock<std::mutex> lock(mutex_);
          // slower than the primary: gRPC's flow control holds the rest back
          changed_.wait(lock,
                        [this] { return is_stopping_ || !failure_.ok() || inbox_.bytes() < options_.inbox_bytes / 2; });
          return true;
        });
    {
      std::lock_guard<std::mutex> lock(mutex_);
      is_connected_ = false;
    }
    if (absl::IsOutOfRange(status)) {
      return fail(sql_error("XX001", "the primary's log does not reach back to this node's state"),
                  /*restarts_empty=*/true);
    }
    if (absl::IsFailedPrecondition(status)) return fail(status, /*restarts_empty=*/false);
    wait_to_retry();
  }
}

void Follower::report() {
  while (!is_stopping_) {
    replication::Position last;
    bool is_first = true;
    Status status = link_->attend([&]() -> std::optional<replication::Position> {
      if (!std::exchange(is_first, false)) {
        std::this_thread::sleep_for(kReportPause);
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait_for(lock, kReportPeriod, [&] {
          return is_stopping_ || inbox_.received_lsn() != last.received_lsn ||
                 inbox_.applied_lsn() != last.applied_lsn ||
                 (keeper_ != nullptr && inbox_.logged_lsn() != last.durable_lsn);
        });
      }
      if (is_stopping_) return std::nullopt;
      last = position();
      const query::Queries::Counters counters = queries_->counters();
      last.queries = counters.running + counters.waiting;
      return last;
    });
    wait_to_retry();
  }
}

}  // namespace scyper::secondary
