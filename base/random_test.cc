#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace scyper {
namespace {

// Reference values of the authors' C code.
TEST(Random, IsXoshiro256StarStar) {
  Random random(std::array<uint64_t, 4>{1, 2, 3, 4});
  EXPECT_EQ(random.next(), 11520u);
  EXPECT_EQ(random.next(), 0u);
  EXPECT_EQ(random.next(), 1509978240u);
  EXPECT_EQ(random.next(), 1215971899390074240u);
}

TEST(Random, SeedsBySplitmix) {
  EXPECT_EQ(Random(0).state()[0], 0xe220a8397b1dcdafu);
  Random a(7);
  Random b(7);
  Random c(8);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
  Random resumed(a.state());
  EXPECT_EQ(a.next(), resumed.next());
}

TEST(Random, BelowIsUniform) {
  Random random(42);
  for (uint64_t n : {1u, 2u, 3u, 10u, 97u}) {
    std::vector<uint64_t> hits(n);
    constexpr uint64_t kDraws = 100'000;
    for (uint64_t i = 0; i < kDraws; ++i) ++hits.at(random.below(n));
    const double expected = static_cast<double>(kDraws) / static_cast<double>(n);
    double chi_square = 0;
    for (uint64_t h : hits)
      chi_square += (static_cast<double>(h) - expected) * (static_cast<double>(h) - expected) / expected;
    EXPECT_LT(chi_square, static_cast<double>(n) + 6 * std::sqrt(2.0 * static_cast<double>(n))) << n;
  }
}

// With n = 3 * 2^62, a plain modulo draws the lowest third twice as often as the others.
TEST(Random, BelowHasNoModuloBias) {
  Random random(1);
  const uint64_t third = uint64_t{1} << 62;
  std::array<int, 3> hits{};
  for (int i = 0; i < 30'000; ++i) ++hits.at(random.below(3 * third) / third);
  for (int h : hits) EXPECT_NEAR(h, 10'000, 500);
}

TEST(Random, BetweenReachesBothEnds) {
  Random random(3);
  std::array<int, 5> hits{};
  for (int i = 0; i < 1000; ++i) ++hits.at(static_cast<size_t>(random.between(-2, 2) + 2));
  EXPECT_GT(*std::min_element(hits.begin(), hits.end()), 100);
  EXPECT_EQ(random.between(5, 5), 5);
  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 100; ++i) {
    const int64_t any = random.between(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
    negative |= any < 0;
    positive |= any > 0;
  }
  EXPECT_TRUE(negative && positive);
}

TEST(Random, RealStaysBelowOne) {
  Random random(4);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double value = random.real();
    ASSERT_TRUE(value >= 0 && value < 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

}  // namespace
}  // namespace scyper
