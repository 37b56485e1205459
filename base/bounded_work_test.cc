#include "base/bounded_work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

namespace scyper {
namespace {

struct Owner {
  size_t bytes_max = size_t{8} << 20;
  std::atomic<bool> must_end{false};
  BoundedWork::Bounds bounds() const {
    return {this, [](const void* owner) noexcept { return static_cast<const Owner*>(owner)->bytes_max; },
            [](const void* owner) noexcept {
              return static_cast<const Owner*>(owner)->must_end ? WorkEnd::kCancel : WorkEnd::kNone;
            }};
  }
};

TEST(BoundedWork, PollThrowsOnceTheWorkHasToEnd) {
  poll_work();  // no work: nothing to look at
  Owner owner;
  const BoundedWork work(owner.bounds());
  poll_work();
  owner.must_end = true;
  EXPECT_TRUE(work_must_end());
  EXPECT_THROW(poll_work(), WorkInterrupted);
  const BoundedWork::Pause pause;
  poll_work();
}

#ifndef SCYPER_SANITIZED
TEST(BoundedWork, NewThrowsBeyondTheBound) {
  Owner owner;
  {
    const BoundedWork work(owner.bounds());
    EXPECT_THROW(std::string(size_t{16} << 20, 'x'), std::bad_alloc);
    // what is freed counts no more
    for (int i = 0; i < 100; ++i) EXPECT_EQ(std::string(size_t{6} << 20, 'x').back(), 'x');
    std::vector<std::string> kept;
    EXPECT_THROW(for (int i = 0; i < 100; ++i) kept.emplace_back(size_t{1} << 20, 'x'), std::bad_alloc);
    EXPECT_LE(kept.size(), 9);
    EXPECT_EQ(std::string(100, 'x').size(), 100);  // small pieces never fail
    kept.clear();
    const BoundedWork::Pause pause;
    EXPECT_EQ(std::string(size_t{16} << 20, 'x').back(), 'x');
  }
  EXPECT_EQ(std::string(size_t{16} << 20, 'x').back(), 'x');
}

TEST(BoundedWork, SmallPiecesCountButOnlyPollsThrowForThem) {
  Owner owner;
  const BoundedWork work(owner.bounds());
  std::vector<std::string> kept;
  kept.reserve(1000);
  for (int i = 0; i < 1000; ++i) kept.emplace_back(20'000, 'x');
  EXPECT_THROW(poll_work(), std::bad_alloc);
  EXPECT_THROW(std::string(BoundedWork::kSmallBytes, 'x'), std::bad_alloc);
  kept.clear();
  poll_work();
}

TEST(BoundedWork, LargePiecesLookWhetherTheWorkHasToEnd) {
  Owner owner;
  owner.bytes_max = SIZE_MAX;
  const BoundedWork work(owner.bounds());
  owner.must_end = true;
  EXPECT_THROW(std::string(size_t{2} << 20, 'x'), WorkInterrupted);
}
#endif

}  // namespace
}  // namespace scyper
