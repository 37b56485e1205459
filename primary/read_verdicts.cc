#include "primary/read_verdicts.h"

namespace scyper::primary {

namespace {
constexpr int64_t kLongForNs = 10'000'000'000;
}

std::optional<ShortRead> ReadVerdicts::find(const std::string& shape, uint64_t catalog_version, int64_t now_ns) {
  MutexLock lock(&mutex_);
  const auto found = by_shape_.find(shape);
  if (found == by_shape_.end() || found->second.catalog_version != catalog_version) return std::nullopt;
  const Entry& entry = found->second;
  if (entry.verdict == ShortRead::kLong && now_ns - entry.since_ns >= kLongForNs) return std::nullopt;
  return entry.verdict;
}

void ReadVerdicts::set(const std::string& shape, uint64_t catalog_version, ShortRead verdict, int64_t now_ns) {
  MutexLock lock(&mutex_);
  const size_t bytes = sizeof(Entry) + shape.size();
  if (bytes > bytes_max_) return;
  if (const auto known = by_shape_.find(shape); known != by_shape_.end()) {
    known->second = {catalog_version, verdict, now_ns};
    return;
  }
  if (by_shape_.size() >= capacity_ || bytes_ + bytes > bytes_max_) {
    by_shape_.clear();
    bytes_ = 0;
  }
  by_shape_[shape] = {catalog_version, verdict, now_ns};
  bytes_ += bytes;
}

}  // namespace scyper::primary
