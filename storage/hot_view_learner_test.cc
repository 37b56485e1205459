// Hot data views that are learned: of what is repeated, following what is asked, of transactions and analytics apart.
#include "storage/hot_view_learner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "base/test_seed.h"
#include "compactor_fixture.h"
#include "view_candidates.h"

namespace scyper::storage {
namespace {

enum Column : uint32_t { kId, kAmount, kName, kNote };
constexpr Workload kOltp = Workload::kTransactions, kOlap = Workload::kAnalytics;

FrozenPredicate within(int64_t low, int64_t high) { return FrozenPredicate::between(int_datum(low), int_datum(high)); }
FrozenPredicate from(int64_t low) { return FrozenPredicate::above(int_datum(low), true); }
FrozenPredicate named(const char* name) { return FrozenPredicate::equal(string_datum(name, std::string(name).size())); }
ColumnCondition on(uint32_t column, const FrozenPredicate& predicate) { return {column, predicate, false}; }

class HotViewLearnerTest : public testing::Test {
 protected:
  // Three chunks whose amounts are even in [0, 1000).
  HotViewLearnerTest() : random_(test_seed()) {
    fixture_.append(40'000, &random_);
    fixture_.compact();
    store()->learner = std::make_unique<HotViewLearner>(fixture_.table->schema());
  }
  FrozenStore* store() { return fixture_.table->frozen_store(); }
  HotViewLearner* learner() { return store()->learner.get(); }

  void ask(Workload workload, const std::vector<ColumnCondition>& conditions, int times = 1,
           const std::vector<uint32_t>& columns = {kAmount}) {
    for (int i = 0; i < times; ++i) {
      if (!learner()->wants(workload)) continue;
      learner()->note(workload, make_sample(fixture_.table->schema(), columns, conditions));
    }
  }
  void end_window() {
    const HotViewLearner::Changes changes = learner()->evaluate(store());
    adopted_ += changes.adopted;
    given_up_ += changes.given_up;
    fixture_.compact();
  }
  void end_windows(int count) {
    for (int i = 0; i < count; ++i) end_window();
  }
  // Chunks that a scan with these conditions skips by a view.
  uint32_t skipped(const std::vector<ColumnCondition>& conditions) {
    uint32_t count = 0;
    for (uint64_t chunk = 0; chunk < fixture_.partition()->chunk_count; ++chunk) {
      const FrozenSlot& slot = fixture_.partition()->frozen[chunk];
      if (slot.state != ChunkState::kFrozen) continue;
      count += find_pruning_view(slot, fixture_.table->schema(), conditions) != nullptr ? 1 : 0;
    }
    return count;
  }
  std::vector<LearnedView> views(Workload workload) {
    std::vector<LearnedView> all = learner()->views();
    std::erase_if(all, [&](const LearnedView& one) { return one.workload != workload; });
    return all;
  }
  bool is_contained(const LearnedView& view, const std::vector<ColumnCondition>& conditions) {
    return implies(fixture_.table->schema(), conditions, view.view->conditions);
  }

  Random random_;
  Fixture fixture_;
  uint64_t adopted_ = 0, given_up_ = 0;
};

TEST_F(HotViewLearnerTest, LearnsWhatIsRepeated) {
  ask(kOltp, {on(kAmount, within(100, 110))}, 10, {kAmount, kNote});
  ask(kOltp, {on(kAmount, within(105, 119))}, 10);
  EXPECT_EQ(skipped({on(kAmount, within(101, 103))}), 0u);
  end_windows(3);
  ASSERT_EQ(views(kOltp).size(), 1u);
  EXPECT_EQ(views(kOlap).size(), 0u);
  const LearnedView view = views(kOltp)[0];
  EXPECT_EQ(view.view->columns, (std::vector<uint32_t>{kAmount, kNote}));
  EXPECT_EQ(view.view->name.substr(0, 21), "learned_transactions_");
  EXPECT_EQ(view.statements, 1);
  EXPECT_GT(view.left_out, 0.9);
  EXPECT_TRUE(is_contained(view, {on(kAmount, within(100, 119))}));
  EXPECT_FALSE(is_contained(view, {on(kAmount, within(100, 120))}));
  EXPECT_GE(skipped({on(kAmount, within(101, 103))}), 2u);
  EXPECT_EQ(skipped({on(kAmount, within(99, 103))}), 0u);
  EXPECT_GT(fixture_.compactor.counts().relevant_moved, 500u);
  check_table(*fixture_.table);
}

TEST_F(HotViewLearnerTest, LearnsNothingOfWhatDoesNotPay) {
  // too few
  ask(kOltp, {on(kAmount, within(100, 110))}, HotViewLearner::kSamplesMin - 1);
  end_windows(4);
  EXPECT_TRUE(learner()->views().empty());
  // most rows; no condition; each time another value; what would move too many rows
  for (int i = 0; i < 300; ++i) {
    ask(kOlap, {on(kAmount, from(50))});
    ask(kOlap, {});
    ask(kOlap, {on(kAmount, within(i * 367 % 1000, i * 367 % 1000))});
    ask(kOlap, {on(kAmount, within(0, 400))});
    if (i % 10 == 0) end_window();
  }
  end_windows(4);
  EXPECT_TRUE(learner()->views().empty());
  EXPECT_EQ(fixture_.compactor.counts().placed, 0u);
}

TEST_F(HotViewLearnerTest, FollowsWhatIsAsked) {
  for (int i = 0; i < 4; ++i) {
    ask(kOlap, {on(kAmount, within(100, 119))}, 30);
    end_window();
  }
  EXPECT_GE(skipped({on(kAmount, within(100, 119))}), 2u);
  for (int i = 0; i < 20; ++i) {
    ask(kOlap, {on(kAmount, within(700, 719))}, 30);
    end_window();
  }
  ASSERT_EQ(views(kOlap).size(), 1u);
  EXPECT_TRUE(is_contained(views(kOlap)[0], {on(kAmount, within(700, 719))}));
  EXPECT_GE(skipped({on(kAmount, within(700, 719))}), 2u);
  EXPECT_EQ(skipped({on(kAmount, within(100, 119))}), 0u);
  EXPECT_GE(given_up_, 1u);
  // nobody asks any more: what is known grows old
  end_windows(static_cast<int>(HotViewLearner::kWindowsMax) + 5);
  EXPECT_TRUE(learner()->views().empty());
  EXPECT_EQ(store()->hot_views(), nullptr);
  EXPECT_EQ(learner()->samples(kOlap), 0u);
}

// Bounds that move a little each time: views do not come and go.
TEST_F(HotViewLearnerTest, DoesNotFlap) {
  for (int i = 0; i < 60; ++i) {
    const int64_t low = 800 + static_cast<int64_t>(random_.below(60));
    for (int j = 0; j < 20; ++j) ask(kOlap, {on(kAmount, within(low, low + static_cast<int64_t>(random_.below(30))))});
    ask(kOlap, {}, 3);
    end_window();
  }
  EXPECT_GE(views(kOlap).size(), 1u);
  EXPECT_LE(adopted_, 15u);  // a few while more becomes known, of thirty that were tried
}

TEST_F(HotViewLearnerTest, KeepsWorkloadsApart) {
  // hundreds of transactions hide neither the few queries nor each other's columns
  for (int i = 0; i < 10; ++i) {
    ask(kOltp, {on(kAmount, within(300, 310))}, 500, {kId, kAmount, kName, kNote});
    ask(kOlap, {on(kAmount, within(900, 920))}, 2);
    end_window();
  }
  ASSERT_EQ(views(kOltp).size(), 1u);
  ASSERT_EQ(views(kOlap).size(), 1u);
  EXPECT_EQ(views(kOlap)[0].view->name.substr(0, 18), "learned_analytics_");
  EXPECT_EQ(views(kOlap)[0].view->columns, std::vector<uint32_t>{kAmount});
  EXPECT_EQ(views(kOltp)[0].view->columns.size(), 4u);
  EXPECT_EQ(views(kOltp)[0].statements, 1);
  EXPECT_EQ(views(kOlap)[0].statements, 1);
  EXPECT_GE(skipped({on(kAmount, within(300, 310))}), 2u);
  EXPECT_GE(skipped({on(kAmount, within(900, 920))}), 2u);
  EXPECT_LE(learner()->samples(kOltp), HotViewLearner::kSamplesMax);
  EXPECT_LE(learner()->samples(kOlap), 20u);
  // those by hand come first, and stay
  auto by_hand = std::make_shared<HotViews>();
  for (size_t i = 0; i + 1 < HotViews::kMax; ++i) {
    HotView view;
    view.name = "by hand";
    view.conditions = {on(kAmount, within(5000, 5000 + static_cast<int64_t>(i)))};
    by_hand->views.push_back(std::make_shared<const HotView>(std::move(view)));
  }
  store()->set_hot_views(by_hand);
  ASSERT_EQ(store()->hot_views()->views.size(), HotViews::kMax);
  EXPECT_EQ(store()->hot_views()->views.back(), views(kOltp)[0].view);
  store()->set_hot_views(nullptr);
  EXPECT_EQ(store()->hot_views()->views.size(), 2u);
}

// What was promised of a view that stays is not asked again when another one comes.
TEST_F(HotViewLearnerTest, PromisesStayWithTheirViews) {
  ask(kOltp, {on(kAmount, within(100, 110))}, 20);
  end_windows(3);
  const uint32_t before = skipped({on(kAmount, within(100, 110))});
  ASSERT_GE(before, 2u);
  for (int i = 0; i < 3; ++i) {
    ask(kOlap, {on(kAmount, within(500, 505))}, 20);
    end_window();
  }
  EXPECT_EQ(store()->hot_views()->views.size(), 2u);
  EXPECT_GE(skipped({on(kAmount, within(100, 110))}), before);
  EXPECT_GE(skipped({on(kAmount, within(500, 505))}), 2u);
}

std::vector<HotView> candidates_of(const std::vector<std::vector<ColumnCondition>>& asked) {
  const TableSchema schema = small_schema();
  std::vector<HotView> samples;
  std::vector<const HotView*> given;
  for (const auto& one : asked) samples.push_back(make_sample(schema, std::vector<uint32_t>{}, one));
  for (const HotView& one : samples) given.push_back(&one);
  return find_view_candidates(schema, given, 8);
}
bool has(const std::vector<HotView>& views, const std::vector<ColumnCondition>& conditions) {
  return std::any_of(views.begin(), views.end(), [&](const HotView& view) {
    return implies(small_schema(), conditions, view.conditions) && implies(small_schema(), view.conditions, conditions);
  });
}

TEST(ViewCandidatesTest, AreRangesListsAndConjunctions) {
  // a lower bound by an own conjunct, an upper one by another; one that lies apart
  std::vector<std::vector<ColumnCondition>> asked;
  for (int64_t i = 0; i < 19; ++i)
    asked.push_back({on(kAmount, from(100 + i)), on(kAmount, FrozenPredicate::below(int_datum(200 + i), false))});
  asked.push_back({on(kAmount, within(0, 9999))});
  asked.push_back({on(kAmount, from(5))});
  std::vector<HotView> found = candidates_of(asked);
  EXPECT_TRUE(has(found, {on(kAmount, within(0, 9999))}));
  EXPECT_TRUE(has(found, {on(kAmount, {FrozenPredicate::Kind::kRange, true, false, int_datum(100), int_datum(218)})}));
  EXPECT_TRUE(has(found, {on(kAmount, from(100))}));
  EXPECT_TRUE(has(found, {on(kAmount, from(0))}));
  // values that come more than once
  asked.clear();
  for (int i = 0; i < 12; ++i) asked.push_back({on(kName, named(i % 3 == 0 ? "b" : "a"))});
  asked.push_back({on(kName, named("c"))});
  found = candidates_of(asked);
  EXPECT_TRUE(has(found, {{kName, named("a"), true}, on(kName, named("b"))}));
  EXPECT_TRUE(has(found, {on(kName, named("a"))}));
  EXPECT_TRUE(has(found, {on(kName, FrozenPredicate::between(named("a").low, named("c").low))}));
  // two columns together, and each
  for (auto& one : asked) one.push_back(on(kNote, FrozenPredicate::is_null(true)));
  found = candidates_of(asked);
  EXPECT_TRUE(has(found, {on(kNote, FrozenPredicate::is_null(true))}));
  EXPECT_TRUE(
      has(found, {{kName, named("a"), true}, on(kName, named("b")), on(kNote, FrozenPredicate::is_null(true))}));
  // too few; what has no order
  asked.resize(7);
  EXPECT_TRUE(candidates_of(asked).empty());
  EXPECT_TRUE(candidates_of(std::vector<std::vector<ColumnCondition>>(9)).empty());
  const std::vector<ColumnCondition> prefix = {on(kName, FrozenPredicate::prefix(named("a").low))};
  EXPECT_TRUE(candidates_of(std::vector<std::vector<ColumnCondition>>(9, prefix)).empty());
}

// Samples own their texts, and forget what is too large.
TEST(ViewCandidatesTest, SamplesAreBounded) {
  const TableSchema schema = small_schema();
  std::string text = "abc";
  const HotView sample = make_sample(schema, std::vector<uint32_t>{kNote, kId}, std::vector{on(kNote, named("abc"))});
  EXPECT_EQ(sample.columns, (std::vector<uint32_t>{kId, kNote}));
  ASSERT_EQ(sample.conditions.size(), 1u);
  text.assign(2000, 'x');
  const std::vector<ColumnCondition> large = {on(kNote, named(text.c_str()))};
  EXPECT_TRUE(make_sample(schema, std::vector<uint32_t>{}, large).conditions.empty());
  const std::vector<ColumnCondition> many(100, on(kAmount, from(3)));
  EXPECT_TRUE(make_sample(schema, std::vector<uint32_t>{}, many).conditions.empty());
}

}  // namespace
}  // namespace scyper::storage
