#include "base/clock.h"

#include <time.h>

#include "base/check.h"

namespace scyper {

namespace {
int64_t read_ns(clockid_t clock) noexcept {
  timespec time{};
  CHECK(::clock_gettime(clock, &time) == 0);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}
}  // namespace

int64_t RealClock::now_us() const noexcept { return read_ns(CLOCK_REALTIME) / 1000; }
int64_t RealClock::monotonic_ns() const noexcept { return read_ns(CLOCK_MONOTONIC); }

void ManualClock::advance_us(int64_t us) {
  CHECK(us >= 0);
  now_us_.fetch_add(us);
  monotonic_ns_.fetch_add(us * 1000);
}

}  // namespace scyper
