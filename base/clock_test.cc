#include "base/clock.h"

#include <gtest/gtest.h>

namespace scyper {
namespace {

TEST(RealClock, MovesForward) {
  RealClock clock;
  const int64_t before = clock.monotonic_ns();
  EXPECT_GE(clock.monotonic_ns(), before);
  EXPECT_GT(clock.now_us(), int64_t{1'700'000'000} * 1'000'000);  // November 2023
}

TEST(ManualClock, MovesWhenTold) {
  ManualClock clock(1000);
  EXPECT_EQ(clock.now_us(), 1000);
  clock.advance_us(5);
  EXPECT_EQ(clock.now_us(), 1005);
  EXPECT_EQ(clock.monotonic_ns(), 5000);
  clock.set_now_us(10);
  EXPECT_EQ(clock.now_us(), 10);
  EXPECT_EQ(clock.monotonic_ns(), 5000);
}

TEST(ManualClockDeathTest, NeverMovesBack) {
  ManualClock clock;
  EXPECT_DEATH(clock.advance_us(-1), "us >= 0");
}

}  // namespace
}  // namespace scyper
