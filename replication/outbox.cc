#include "replication/outbox.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace scyper::replication {

namespace {
// Without news; losing one costs a receiver so long.
constexpr int64_t kBeatNs = 20'000'000;
}  // namespace

Outbox::Outbox(const Start& start) : cluster_(start.cluster), bytes_max_(start.bytes_max) {
  watermark_.term = start.term;
  watermark_.term_lsn = watermark_.complete_lsn = start.lsn;
  watermark_.commit_lsn = start.commit_lsn;
  CHECK(start.parcels.empty() || start.parcels.back().complete_lsn == start.lsn);
  for (const Parcel& parcel : start.parcels) {
    CHECK(parcels_.empty() || parcels_.back().complete_lsn == parcel.base_lsn);
    parcels_.push_back(parcel);
    bytes_ += parcel.bytes->size();
  }
}

Outbox::~Outbox() { stop(); }

void Outbox::set_transmitter(std::unique_ptr<Transmitter> transmitter) { transmitter_ = std::move(transmitter); }

void Outbox::send(std::string_view group, uint64_t complete_lsn, uint32_t snapshot, int64_t time_us) {
  Parcel parcel;
  parcel.complete_lsn = complete_lsn;
  parcel.snapshot = snapshot;
  parcel.bytes = std::make_shared<const std::string>(group);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    CHECK(complete_lsn > watermark_.complete_lsn);
    parcel.term = watermark_.term;
    parcel.base_lsn = watermark_.complete_lsn;
    parcels_.push_back(parcel);
    bytes_ += group.size();
    while (bytes_ > bytes_max_ && parcels_.size() > 1) {
      bytes_ -= parcels_.front().bytes->size();
      parcels_.pop_front();
    }
    watermark_.complete_lsn = complete_lsn;
    watermark_.time_us = time_us;
    told_ = watermark_;
    ++parcels_sent_;
    bytes_sent_ += group.size();
  }
  changed_.notify_all();
  if (transmitter_ == nullptr) return;
  transmitter_->send(parcel, told_);
}

void Outbox::confirm(uint64_t commit_lsn) {
  std::lock_guard<std::mutex> lock(mutex_);
  watermark_.commit_lsn = std::max(watermark_.commit_lsn, commit_lsn);
}

void Outbox::beat(int64_t monotonic_ns, int64_t time_us) {
  Watermark now;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const bool has_news = watermark_.commit_lsn != told_.commit_lsn || watermark_.complete_lsn != told_.complete_lsn;
    if (!has_news && monotonic_ns - told_ns_ < kBeatNs) return;
    watermark_.time_us = time_us;
    now = told_ = watermark_;
    told_ns_ = monotonic_ns;
  }
  changed_.notify_all();
  if (transmitter_ != nullptr) transmitter_->send(now);
}

Watermark Outbox::watermark() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return watermark_;
}

Outbox::Piece Outbox::read(uint64_t after_lsn, const Watermark& seen, size_t bytes_max,
                           std::chrono::milliseconds wait) {
  Piece piece;
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, wait,
                    [&] { return is_stopped_ || watermark_.complete_lsn > after_lsn || !(watermark_ == seen); });
  piece.watermark = watermark_;
  if (after_lsn >= watermark_.complete_lsn) return piece;
  if (parcels_.empty() || parcels_.front().base_lsn > after_lsn) {
    piece.is_too_old = true;
    return piece;
  }
  auto next = std::upper_bound(parcels_.begin(), parcels_.end(), after_lsn,
                               [](uint64_t lsn, const Parcel& parcel) { return lsn < parcel.complete_lsn; });
  size_t bytes = 0;
  for (; next != parcels_.end() && (bytes == 0 || bytes + next->bytes->size() <= bytes_max); ++next) {
    bytes += next->bytes->size();
    piece.parcels.push_back(*next);
  }
  return piece;
}

void Outbox::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_stopped_ = true;
  }
  changed_.notify_all();
}

bool Outbox::is_stopped() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return is_stopped_;
}

uint64_t Outbox::parcels_sent() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return parcels_sent_;
}

uint64_t Outbox::bytes_sent() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return bytes_sent_;
}

uint64_t Outbox::bytes_held() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

uint64_t Outbox::bytes_behind(uint64_t lsn) const {
  uint64_t bytes = 0;
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto parcel = parcels_.rbegin(); parcel != parcels_.rend() && parcel->complete_lsn > lsn; ++parcel) {
    bytes += parcel->bytes->size();
  }
  return bytes;
}

}  // namespace scyper::replication
