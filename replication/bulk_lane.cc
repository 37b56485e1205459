#include "bulk_lane.h"

#include <string>
#include <tuple>

namespace scyper::replication {

namespace {
// Where there is no way at all, some seconds may pass until that is known.
constexpr std::chrono::seconds kBulkPause{60};
// After one that worked: a primary that starts anew.
constexpr std::chrono::seconds kBulkPauseBehindOne{2};
}  // namespace

BulkLane::Use::Use(BulkLane* lane, const Open& open) : lane_(lane) {
  if (!open) return;
  std::unique_lock<std::mutex> lock(lane->use_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  if (lane->is_outdated_.exchange(false)) {
    lane->close("another primary");
    lane->next_try_ = {};
  }
  if (lane->channel_ != nullptr && lane->channel_->is_broken()) {
    const std::string why = lane->channel_->trouble();
    lane->close(why.empty() ? "the channel has broken" : why);
  }
  const auto now = std::chrono::steady_clock::now();
  if (lane->channel_ == nullptr && now >= lane->next_try_) {
    lane->next_try_ = now + kBulkPause;
    auto opened = open();
    std::lock_guard<std::mutex> state(lane->mutex_);
    lane->note_ = opened.ok() ? "" : std::string(opened.status().message());
    if (opened.ok()) std::tie(lane->number_, lane->channel_) = *std::move(opened);
  }
  if (lane->channel_ != nullptr) lock_ = std::move(lock);
}

Status BulkLane::Use::read(uint64_t slot, size_t bytes, std::string* out, const BulkChannel::GoesOn& goes_on) {
  if (number() == 0) return absl::UnavailableError("bulk data of a channel that was not asked for");
  Status status = lane_->channel_->read(slot, bytes, out, goes_on);
  if (absl::IsUnavailable(status)) {
    lane_->close(std::string(status.message()));
    lock_.unlock();
  }
  return status;
}

void BulkLane::close(const std::string& why) {
  std::unique_ptr<BulkChannel> closed;
  std::lock_guard<std::mutex> lock(mutex_);
  if (channel_ == nullptr) return;
  bytes_before_ += channel_->bytes();
  closed = std::move(channel_);
  number_ = 0;
  note_ = why;
  next_try_ = std::chrono::steady_clock::now() + kBulkPauseBehindOne;
}

BulkInfo BulkLane::info() const {
  std::lock_guard<std::mutex> lock(mutex_);
  BulkInfo made;
  made.note = note_;
  made.bytes = bytes_before_ + (channel_ == nullptr ? 0 : channel_->bytes());
  made.registered_bytes = channel_ == nullptr ? 0 : channel_->registered_bytes();
  return made;
}

}  // namespace scyper::replication
