#include "client/ch/mix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace scyper::ch {
namespace {

const ArrayValue& array(const Datum& value) { return *reinterpret_cast<const ArrayValue*>(value.lo); }

TEST(Mix, SharesAndRangesAreTpcc) {
  const Generator generator({.scale = {.warehouses = 4}});
  InputStream stream(generator, {.seed = 11});
  Call call;
  std::array<int, kProcedureCount> count{};
  int rollbacks = 0, by_name = 0, remote_payments = 0, lines = 0, remote_lines = 0;
  constexpr int kCalls = 200'000;
  for (int i = 0; i < kCalls; ++i) {
    stream.next(call);
    ++count[static_cast<size_t>(call.procedure)];
    ASSERT_EQ(call.args().size(), parameter_types(call.procedure).size());
    ASSERT_EQ(call.args()[0].lo, call.home);
    if (call.procedure == Procedure::kNewOrder) {
      rollbacks += call.rolls_back;
      const ArrayValue &items = array(call.args()[3]), &supply = array(call.args()[4]),
                       &quantity = array(call.args()[5]);
      ASSERT_TRUE(items.size >= 5 && items.size <= 15 && supply.size == items.size && quantity.size == items.size);
      bool remote = false;
      for (int32_t l = 0; l < items.size; ++l) {
        ASSERT_TRUE(items.elements[l].lo >= 1 && items.elements[l].lo <= 100'000 + call.rolls_back);
        ASSERT_TRUE(quantity.elements[l].lo >= 1 && quantity.elements[l].lo <= 10);
        ASSERT_TRUE(supply.elements[l].lo >= 1 && supply.elements[l].lo <= 4);
        remote_lines += supply.elements[l].lo != call.home;
        remote |= supply.elements[l].lo != call.home;
        ++lines;
      }
      ASSERT_EQ(remote, call.remote);
      ASSERT_EQ(items.elements[items.size - 1].lo == 100'001, call.rolls_back);
    } else if (call.procedure == Procedure::kPayment) {
      by_name += call.args()[4].lo == 0;
      ASSERT_EQ(call.args()[4].lo == 0, call.args()[5].size() > 0);
      ASSERT_EQ(call.args()[2].lo != call.home, call.remote);
      remote_payments += call.remote;
    }
  }
  EXPECT_NEAR(count[0], kCalls * 0.45, 1000);
  EXPECT_NEAR(count[1], kCalls * 0.43, 1000);
  EXPECT_NEAR(count[2], kCalls * 0.04, 400);
  EXPECT_NEAR(count[3], kCalls * 0.04, 400);
  EXPECT_NEAR(rollbacks, count[0] * 0.01, 150);
  EXPECT_NEAR(by_name, count[1] * 0.6, 800);
  EXPECT_NEAR(remote_payments, count[1] * 0.15, 600);
  EXPECT_NEAR(remote_lines, lines * 0.01, 500);
}

TEST(Mix, CrossingShareAndHomes) {
  const Generator generator({.scale = Scale::tiny(4)});
  for (const double percent : {0.0, 10.0, 100.0}) {
    InputStream stream(generator, {.seed = 3, .homes = {2, 3}, .spec_remote = false, .crossing_percent = percent});
    Call call;
    int candidates = 0, remote = 0;
    for (int i = 0; i < 50'000; ++i) {
      stream.next(call);
      ASSERT_TRUE(call.home == 2 || call.home == 3);
      candidates += call.procedure == Procedure::kNewOrder || call.procedure == Procedure::kPayment;
      remote += call.remote;
    }
    EXPECT_NEAR(remote, candidates * percent / 100, 600);
    if (percent == 0) {
      EXPECT_EQ(remote, 0);
    }
    if (percent == 100) {
      EXPECT_EQ(remote, candidates);
    }
  }
}

TEST(Mix, SkewGoesToAFewItems) {
  const Generator generator({.scale = Scale::tiny(1)});
  InputStream stream(generator, {.seed = 3, .rollback_percent = 0, .skew = kTieringSkew});
  Call call;
  std::map<int64_t, int> uses;
  int lines = 0;
  for (int i = 0; i < 20'000; ++i) {
    stream.next(call);
    if (call.procedure != Procedure::kNewOrder) continue;
    for (int64_t line = 0; line < array(call.args()[3]).size; ++line, ++lines) {
      ++uses[call.elements[0][static_cast<size_t>(line)].lo];
    }
  }
  const auto items = static_cast<size_t>(generator.scale().items);
  EXPECT_EQ(uses.size(), items * 40 / 100);
  EXPECT_GE(uses.begin()->first, 1);
  EXPECT_LE(uses.rbegin()->first, static_cast<int64_t>(items));
  std::vector<int> counts;
  for (const auto& [item, count] : uses) counts.push_back(count);
  std::sort(counts.rbegin(), counts.rend());
  const int of_hot = std::accumulate(counts.begin(), counts.begin() + static_cast<ptrdiff_t>(items / 10), 0);
  EXPECT_NEAR(of_hot, lines * 0.8, lines * 0.01);
}

TEST(Mix, CensusNamesExist) {
  const Generator generator({.scale = Scale::tiny(1), .profile = Profile::kCensus});
  InputStream stream(generator, {.seed = 3});
  Call call;
  int checked = 0;
  while (checked < 50) {
    stream.next(call);
    if (call.procedure != Procedure::kOrderStatus || call.args()[2].lo != 0) continue;
    const std::string name(call.args()[3].data(), call.args()[3].size());
    bool found = false;
    for (int32_t c = 1; c <= generator.scale().customers_per_district && !found; ++c) {
      char text[24];
      found =
          name == std::string(text, generator.customer_last_name(1, static_cast<int32_t>(call.args()[1].lo), c, text));
    }
    ASSERT_TRUE(found) << name;
    ++checked;
  }
}

}  // namespace
}  // namespace scyper::ch
