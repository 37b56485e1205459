#pragma once

#include <atomic>
#include <cstdint>

namespace scyper {

// Where time comes from, so that tests and simulations own it. Two scales that never mix: wall time is shared with
// people and other nodes and may jump; monotonic time only moves forward and means nothing outside the process.
// Threads: every function from any thread. Fork: the child may call them.
class Clock {
 public:
  virtual ~Clock() = default;
  // Microseconds since 1970-01-01 UTC.
  virtual int64_t now_us() const noexcept = 0;
  virtual int64_t monotonic_ns() const noexcept = 0;
};

class RealClock final : public Clock {
 public:
  int64_t now_us() const noexcept override;
  int64_t monotonic_ns() const noexcept override;
};

// Stands still until told otherwise.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(int64_t now_us = 0) : now_us_(now_us) {}
  int64_t now_us() const noexcept override { return now_us_.load(); }
  int64_t monotonic_ns() const noexcept override { return monotonic_ns_.load(); }

  // Time passes: both scales move, forward only.
  void advance_us(int64_t us);
  // Somebody sets the wall clock: only now_us() moves, back too.
  void set_now_us(int64_t now_us) { now_us_.store(now_us); }

 private:
  std::atomic<int64_t> now_us_;
  std::atomic<int64_t> monotonic_ns_{0};
};

}  // namespace scyper
