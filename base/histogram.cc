#include "base/histogram.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace scyper {

void Histogram::merge(const Histogram& other) {
  for (size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

uint64_t Histogram::percentile(double p) const {
  CHECK(p >= 0 && p <= 100);
  if (count_ == 0) return 0;
  const uint64_t rank =
      std::clamp<uint64_t>(static_cast<uint64_t>(std::ceil(p / 100.0 * static_cast<double>(count_))), 1, count_);
  if (rank == count_) return max_;
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen >= rank) {
      const uint64_t middle = lowest_of(i) + (highest_of(i) - lowest_of(i)) / 2;
      return std::clamp(middle, min_, max_);
    }
  }
  return max_;
}

double Histogram::mean() const { return count_ == 0 ? 0.0 : static_cast<double>(sum_) / static_cast<double>(count_); }

uint64_t Histogram::count_up_to(uint64_t bound) const {
  uint64_t total = 0;
  for (size_t i = 0; i < kBuckets && highest_of(i) <= bound; ++i) total += buckets_[i];
  return total;
}

}  // namespace scyper
