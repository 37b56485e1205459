#include "base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/random.h"

namespace scyper {
namespace {

TEST(Histogram, EmptyIsZero) {
  Histogram h;
  EXPECT_EQ(h.percentile(50), 0u);
  EXPECT_EQ(h.count(), 0u);
  EXPECT_EQ(h.min(), 0u);
  EXPECT_EQ(h.max(), 0u);
  EXPECT_EQ(h.mean(), 0.0);
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram h;
  for (uint64_t v = 0; v < 100; ++v) h.record(v);
  EXPECT_EQ(h.percentile(0), 0u);
  EXPECT_EQ(h.percentile(1), 0u);
  EXPECT_EQ(h.percentile(50), 49u);
  EXPECT_EQ(h.percentile(99), 98u);
  EXPECT_EQ(h.percentile(100), 99u);
  EXPECT_EQ(h.mean(), 49.5);
  EXPECT_EQ(h.count_up_to(9), 10u);
}

TEST(Histogram, TakesTheWholeRange) {
  Histogram h;
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    for (uint64_t v : {power - 1, power, power + 1}) h.record(v);
  }
  h.record(std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(h.count(), 193u);
  EXPECT_EQ(h.max(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(h.min(), 0u);
  EXPECT_EQ(h.count_up_to(std::numeric_limits<uint64_t>::max()), 193u);
}

// Against the sorted list, over nine orders of magnitude.
TEST(Histogram, PercentilesAreWithinOnePercent) {
  constexpr uint64_t kSeed = 20260101;
  SCOPED_TRACE(kSeed);
  Random random(kSeed);
  Histogram a;
  Histogram b;
  std::vector<uint64_t> values;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t value = static_cast<uint64_t>(std::exp(random.real() * 20.0));
    values.push_back(value);
    (i % 3 == 0 ? a : b).record(value);
  }
  a.merge(b);
  std::sort(values.begin(), values.end());
  for (double p : {0.1, 1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 99.99}) {
    const size_t rank = static_cast<size_t>(std::ceil(p / 100 * static_cast<double>(values.size())));
    const double exact = static_cast<double>(values[rank - 1]);
    EXPECT_NEAR(static_cast<double>(a.percentile(p)), exact, exact * 0.01) << p;
  }
  EXPECT_EQ(a.count(), values.size());
  EXPECT_EQ(a.max(), values.back());
  EXPECT_EQ(a.min(), values.front());
}

}  // namespace
}  // namespace scyper
