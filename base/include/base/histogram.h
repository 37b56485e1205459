#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace scyper {

// Counts values (mostly latencies in nanoseconds) in buckets that grow with the value, in fixed memory (30 KB).
// Precision: values below 128 are exact; above, a percentile is within 0.8 % of a recorded value. count, sum, min and
// max are exact. Threads: none; one per thread, then merge(). Fork: plain memory, the child may read and write its
// copy. Source: the bucket scheme of HdrHistogram (G. Tene), with 64 buckets per power of two.
class Histogram {
 public:
  void record(uint64_t value) {
    ++buckets_[bucket_of(value)];
    ++count_;
    sum_ += value;
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
  }

  void merge(const Histogram& other);
  void clear() { *this = Histogram(); }

  // The value that p percent of the recorded ones do not exceed (nearest rank); 0 if nothing was recorded. 0 <= p <=
  // 100.
  uint64_t percentile(double p) const;

  uint64_t count() const { return count_; }
  uint64_t sum() const { return sum_; }
  uint64_t min() const { return count_ == 0 ? 0 : min_; }
  uint64_t max() const { return max_; }
  double mean() const;

  // How many recorded values lie in buckets that end at or below `bound`: the cumulative counts of a metrics
  // exposition.
  uint64_t count_up_to(uint64_t bound) const;

 private:
  // 128 exact values, then 64 buckets for each of the powers of two 2^7 .. 2^63.
  static constexpr size_t kSubBuckets = 64;
  static constexpr size_t kBuckets = 2 * kSubBuckets + 57 * kSubBuckets;

  static constexpr size_t bucket_of(uint64_t value) {
    if (value < 2 * kSubBuckets) return value;
    const int shift = std::bit_width(value) - 7;
    return static_cast<size_t>(shift) * kSubBuckets + (value >> shift);
  }
  static constexpr uint64_t lowest_of(size_t bucket) {
    if (bucket < 2 * kSubBuckets) return bucket;
    const size_t shift = bucket / kSubBuckets - 1;
    return (bucket - shift * kSubBuckets) << shift;
  }
  static constexpr uint64_t highest_of(size_t bucket) {
    return bucket + 1 == kBuckets ? ~uint64_t{0} : lowest_of(bucket + 1) - 1;
  }

  std::array<uint64_t, kBuckets> buckets_{};
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t min_ = ~uint64_t{0};
  uint64_t max_ = 0;
};

}  // namespace scyper
