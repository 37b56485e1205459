#include "markers.h"

#include <chrono>
#include <cstring>

#include "base/postgres_epoch.h"
#include "replay/record.h"

namespace scyper::primary {

namespace {
constexpr int64_t kNsPerUs = 1000;
// Nodes keep a snapshot that nobody uses for a second at least: an older one may be gone although nothing has changed.
constexpr int64_t kReuseNs = 500'000'000;
}  // namespace

Marker Markers::draw(int64_t min_distance_us) {
  const uint64_t seen_lsn = lsns_->last.load(std::memory_order_acquire);
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    const int64_t age_ns = clock_->monotonic_ns() - newest_.drawn_ns;
    if (newest_.snapshot != 0 && newest_.lsn >= seen_lsn && age_ns < kReuseNs) return newest_;
    const int64_t wait_ns = min_distance_us * kNsPerUs - age_ns;
    if (newest_.snapshot == 0 || wait_ns <= 0) {
      draw_now(/*is_digested=*/false);
    } else {
      drawn_.wait_for(lock, std::chrono::nanoseconds(wait_ns));
    }
  }
}

Marker Markers::draw_for_digest() {
  std::lock_guard<std::mutex> lock(mutex_);
  draw_now(/*is_digested=*/true);
  return newest_;
}

Marker Markers::newest() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return newest_;
}

void Markers::draw_now(bool is_digested) {
  replay::RedoHeader header;
  header.kind = replay::RedoKind::kMarker;
  header.partition = replay::kNoPartition;
  header.time_us = clock_->now_us() - kPostgresEpochUs;
  const uint64_t number = newest_.snapshot + 1;
  header.body_bytes = sizeof(number);
  char* out = buffer_.reserve(sizeof(header) + sizeof(number));
  header.lsn = buffer_.draw(lsns_);
  std::memcpy(out, &header, sizeof(header));
  std::memcpy(out + sizeof(header), &number, sizeof(number));
  newest_ = {static_cast<uint32_t>(number), header.lsn, is_digested, clock_->monotonic_ns()};
  waiting_.push_back(newest_);  // before the log writer can see the record
  buffer_.publish(out + sizeof(header) + sizeof(number));
  drawn_.notify_all();
}

bool Markers::next(uint64_t after_lsn, uint64_t complete_lsn, Marker* marker) {
  std::lock_guard<std::mutex> lock(mutex_);
  while (!waiting_.empty() && waiting_.front().lsn <= after_lsn) waiting_.pop_front();
  if (waiting_.empty() || waiting_.front().lsn > complete_lsn) return false;
  *marker = waiting_.front();
  return true;
}

}  // namespace scyper::primary
