#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>

namespace scyper::replication {

constexpr int64_t kPacerNsPerMs = 1'000'000;
constexpr int64_t kPacerNsPerSecond = 1'000'000'000;

inline int64_t monotonic_now_ns() {
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kPacerNsPerSecond + time.tv_nsec;
}

// A token bucket in front of a network, for the processes that send by multicast. It holds some milliseconds: a
// process that gets its core for one in five would else send a fifth. Times: monotonic nanoseconds. Threads: one.
class Pacer {
 public:
  Pacer(int64_t bytes_per_second, int64_t packet_bytes, int64_t now_ns)
      : rate_(bytes_per_second),
        packet_bytes_(packet_bytes),
        burst_(std::max(rate_ * kBurstMs / 1000, 4 * packet_bytes)),
        left_(burst_),
        filled_ns_(now_ns) {}
  // The clock is looked at only when the bucket is empty.
  bool may_send() { return left_ >= packet_bytes_ || may_send_at(monotonic_now_ns()); }
  bool may_send_at(int64_t now_ns) {
    const int64_t passed_ns = std::min(now_ns - filled_ns_, kFillNs);  // idle for hours it does not overflow
    left_ = std::min(burst_, left_ + passed_ns * rate_ / kPacerNsPerSecond);
    filled_ns_ = now_ns;
    return left_ >= packet_bytes_;
  }
  void sent(int64_t bytes) { left_ -= bytes; }
  // Until it is worth while to look again.
  int64_t wait_ns() const { return std::min(burst_ / 4 * kPacerNsPerSecond / rate_, kPacerNsPerMs) + 1; }

 private:
  static constexpr int64_t kBurstMs = 5;                 // half of what a socket's 4 MB hold at the default rate
  static constexpr int64_t kFillNs = kPacerNsPerSecond;  // fills any bucket
  const int64_t rate_, packet_bytes_, burst_;
  int64_t left_, filled_ns_;
};

}  // namespace scyper::replication
