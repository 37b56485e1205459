#include "base/deep_stack.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "base/invariant.h"

namespace scyper {
namespace {

// Levels of about two kilobytes each until the stack is low, or `most`.
uint64_t descend(uint64_t most, const volatile char* before = nullptr) {
  volatile char frame[2048];
  frame[0] = before == nullptr ? 0 : before[0];
  if (most == 0 || is_stack_low()) return 0;
  return 1 + descend(most - 1, frame) + static_cast<uint64_t>(frame[0]);
}

TEST(DeepStackTest, HasRoomForWhatFitsNoThreadsStack) {
  constexpr uint64_t kMost = 50'000;  // ThreadSanitizer knows 65,536 calls
  const uint64_t here = descend(kMost);
  EXPECT_GT(here, 250u);
  EXPECT_LT(here, kStackBytes / 2048);
  uint64_t deep = 0;
  on_deep_stack([&] { deep = descend(kMost); });
  EXPECT_EQ(deep, kMost);
  EXPECT_EQ(descend(kMost), here);
}

TEST(DeepStackTest, ExceptionsAndNestedStacksComeBack) {
  thread_local int mine = 7;
  int seen = 0;
  EXPECT_THROW(on_deep_stack([&] {
                 on_deep_stack([&] { seen = mine; });
                 EXPECT_THROW(on_deep_stack([] { throw std::runtime_error("inner"); }), std::runtime_error);
                 throw std::logic_error("outer");
               }),
               std::logic_error);
  EXPECT_EQ(seen, 7);
  EXPECT_FALSE(is_stack_low());
}

// A recursion without a bound of its own goes on where the stack is low, and ends.
uint64_t chain(uint64_t most, const volatile char* before = nullptr) {
  volatile char frame[16 << 10];
  frame[0] = before == nullptr ? 0 : before[0];
  uint64_t levels = static_cast<uint64_t>(frame[0]);
  with_more_stack([&] {
    if (most > 0 && !is_stack_low()) levels += 1 + chain(most - 1, frame);
  });
  return levels;
}

TEST(DeepStackTest, ARecursionGetsMoreStackWhereItIsLow) { EXPECT_EQ(chain(5'000), 5'000u); }

}  // namespace
}  // namespace scyper
