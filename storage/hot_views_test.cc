// Hot data views: implication of conditions, and what is promised of frozen chunks while rows change.
#include "storage/hot_views.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "base/test_seed.h"
#include "compactor_fixture.h"
#include "storage/change_log.h"
#include "tuple_place.h"

namespace scyper::storage {
namespace {

using Conditions = std::vector<ColumnCondition>;

Datum text_datum(const char* text) { return string_datum(text, std::string(text).size()); }

enum Column : uint32_t { kId, kPrice, kRatio, kCode, kText, kFlag };

TableSchema mixed_schema() {
  TableSchema schema;
  schema.id = TableId(7);
  schema.name = "mixed";
  SqlType price = make_type(TypeId::kNumeric);
  price.precision = 8;
  price.scale = 2;
  schema.columns = {{"id", make_type(TypeId::kInt4), true},       {"price", price, false},
                    {"ratio", make_type(TypeId::kFloat8), false}, {"code", make_string(TypeId::kChar, 6), false},
                    {"words", make_type(TypeId::kText), false},   {"flag", make_type(TypeId::kBool), false}};
  schema.indexes = {{IndexId(1), "mixed_pkey", {0}, {}, true, true}};
  return schema;
}

// Values of a column that lie near each other, in any order.
std::vector<Datum> values_of(uint32_t column) {
  const double infinity = std::numeric_limits<double>::infinity();
  switch (column) {
    case kPrice:
      return {int128_datum(-1, 2), int128_datum(0, 2), int128_datum(1, 2), int128_datum(100, 2), int128_datum(101, 2)};
    case kRatio:
      return {float_datum(-infinity), float_datum(-1.5), float_datum(-0.0),     float_datum(0.0),
              float_datum(5e-324),    float_datum(1e9),  float_datum(infinity), float_datum(__builtin_nan(""))};
    case kCode:
      return {text_datum(""), text_datum("a"), text_datum("a "), text_datum("ab"), text_datum("b")};
    case kText:
      return {text_datum(""), text_datum("a"), text_datum("a "), text_datum("ab"), text_datum("b")};
    case kFlag:
      return {int_datum(0), int_datum(1)};
    default:
      return {int_datum(-2), int_datum(-1), int_datum(0), int_datum(1), int_datum(2), int_datum(3)};
  }
}

class MixedChunk {
 public:
  explicit MixedChunk(Random* random) : memory_(*FrozenMemory::create(kMemoryBytes, FrozenPages::kSmall)) {
    table_ = store_.table(mixed_schema(), 1);
    table_->allow_freezing(memory_.get());
    std::vector<Datum> rows;
    for (int i = 0; i < 2000; ++i) {
      rows.push_back(int_datum(i - 1000));
      for (uint32_t column = 1; column < table_->schema().columns.size(); ++column) {
        const std::vector<Datum> values = values_of(column);
        rows.push_back(random->one_in(6) ? null_datum() : values[random->below(values.size())]);
      }
    }
    CHECK(append_rows(table_->partition(0), rows, plain_text).ok());
    Compactor compactor(forced());
    TablePartition* partition = table_->partition(0);
    while (compactor.take_step({&partition, 1}, store_.log.get()) || compactor.freeze_one()) {
    }
    CHECK(slot().state == ChunkState::kFrozen);
  }

  const TableSchema& schema() const { return table_->schema(); }
  const FrozenSlot& slot() const { return table_->partition(0)->frozen[0]; }
  ChunkSelection rows(const Conditions& conditions) const {
    ChunkSelection selection{};
    VectorReader vectors;
    vectors.open(table_->partition(0), slot());
    if (!select_rows(&vectors, slot().invalid, conditions, &selection)) selection = {};
    return selection;
  }

 private:
  TestStore store_;
  std::unique_ptr<FrozenMemory> memory_;
  std::unique_ptr<Table> table_;
};

FrozenPredicate random_range(uint32_t column, Random* random) {
  const std::vector<Datum> values = values_of(column);
  FrozenPredicate range;
  if (!random->one_in(3)) range.low = values[random->below(values.size())];
  if (!random->one_in(3)) range.high = random->one_in(3) ? range.low : values[random->below(values.size())];
  range.low_included = random->one_in(2);
  range.high_included = random->one_in(2);
  return range;
}

ColumnCondition random_condition(Random* random) {
  ColumnCondition condition{static_cast<uint32_t>(random->below(6)), {}, false};
  if (random->one_in(6)) {
    condition.predicate = FrozenPredicate::is_null(random->one_in(2));
  } else if (random->one_in(8) && (condition.column == kText || condition.column == kCode)) {
    condition.predicate = FrozenPredicate::prefix(text_datum("a"));
  } else {
    condition.predicate = random_range(condition.column, random);
  }
  return condition;
}

Conditions random_conjunction(Random* random) {
  Conditions all;
  for (uint64_t terms = 1 + random->below(3); terms > 0; --terms) {
    for (uint64_t i = 1 + random->below(3); i > 0; --i) {
      all.push_back(random_condition(random));
      all.back().has_alternative = i > 1;
    }
  }
  return all;
}

// What mostly follows from it: bounds wider or gone, more alternatives, fewer terms.
Conditions loosen(const Conditions& given, Random* random) {
  Conditions all;
  for (size_t begin = 0; begin < given.size();) {
    size_t end = begin + 1;
    while (given[end - 1].has_alternative) ++end;
    if (all.empty() || random->one_in(2)) {
      for (size_t i = begin; i < end; ++i) {
        all.push_back(given[i]);
        if (random->one_in(3)) all.back().predicate.low_included = true;
        if (random->one_in(3)) all.back().predicate.high = Datum();
        if (random->one_in(3)) all.back().predicate.kind = FrozenPredicate::Kind::kIsNotNull;
      }
      if (random->one_in(3)) {
        all.back().has_alternative = true;
        all.push_back(random_condition(random));
      }
    }
    begin = end;
  }
  return all;
}

// Whatever it says follows, does: of each row of a chunk.
TEST(HotViewsTest, WhatIsImpliedHolds) {
  Random random(test_seed());
  const MixedChunk chunk(&random);
  int implied = 0, not_implied = 0;
  for (int round = 0; round < 20'000; ++round) {
    const Conditions given = random_conjunction(&random);
    const Conditions wanted = random.one_in(4) ? random_conjunction(&random) : loosen(given, &random);
    if (!implies(chunk.schema(), given, wanted)) {
      ++not_implied;
      continue;
    }
    ++implied;
    const ChunkSelection narrow = chunk.rows(given), wide = chunk.rows(wanted);
    for (size_t word = 0; word < narrow.size(); ++word) ASSERT_EQ(narrow[word] & ~wide[word], 0u) << round;
  }
  EXPECT_GT(implied, 2000);
  EXPECT_GT(not_implied, 2000);
}

ColumnCondition on(uint32_t column, const FrozenPredicate& predicate, bool has_alternative = false) {
  return {column, predicate, has_alternative};
}

TEST(HotViewsTest, ImpliedAreRangesPointsAndLists) {
  const TableSchema schema = mixed_schema();
  const auto follows = [&](const Conditions& given, const Conditions& wanted) {
    return implies(schema, given, wanted);
  };
  const auto between = [](int low, int high) { return FrozenPredicate::between(int_datum(low), int_datum(high)); };
  const auto above = [](int low, bool included) { return FrozenPredicate::above(int_datum(low), included); };
  const auto below = [](int high, bool included) { return FrozenPredicate::below(int_datum(high), included); };
  const auto point = [](int value) { return FrozenPredicate::equal(int_datum(value)); };
  // bounds of integers, open and closed
  EXPECT_TRUE(follows({on(kId, between(3, 5))}, {on(kId, between(3, 5))}));
  EXPECT_TRUE(follows({on(kId, above(3, false))}, {on(kId, above(4, true))}));
  EXPECT_TRUE(follows({on(kId, above(4, true))}, {on(kId, above(3, false))}));
  EXPECT_FALSE(follows({on(kId, above(3, true))}, {on(kId, above(3, false))}));
  EXPECT_FALSE(follows({on(kId, above(3, true))}, {on(kId, between(3, 1'000'000))}));
  EXPECT_FALSE(follows({on(kPrice, between(3, 5))}, {on(kId, between(3, 5))}));
  // two conjuncts for one range, of which one is narrower than it has to be
  EXPECT_TRUE(follows({on(kId, above(7, true)), on(kId, below(9, true))}, {on(kId, between(5, 10))}));
  EXPECT_FALSE(follows({on(kId, above(7, true)), on(kPrice, below(9, true))}, {on(kId, between(5, 10))}));
  // lists
  const Conditions list = {on(kId, point(1), true), on(kId, point(2), true), on(kId, point(5))};
  EXPECT_TRUE(follows({on(kId, point(2))}, list));
  EXPECT_TRUE(follows({on(kId, point(5), true), on(kId, point(1))}, list));
  EXPECT_TRUE(follows(list, {on(kId, between(1, 5))}));
  EXPECT_FALSE(follows({on(kId, point(5), true), on(kId, point(4))}, list));
  EXPECT_FALSE(follows(list, {on(kId, between(2, 5))}));
  // another conjunct changes nothing, another one that is wanted does
  EXPECT_TRUE(follows({on(kFlag, point(1)), on(kId, point(2))}, {on(kId, between(1, 5))}));
  EXPECT_FALSE(follows({on(kId, point(2))}, {on(kId, between(1, 5)), on(kFlag, point(1))}));
  EXPECT_FALSE(follows({}, {on(kId, between(1, 5))}));
  // NULL
  EXPECT_TRUE(follows({on(kPrice, point(2))}, {on(kPrice, FrozenPredicate::is_null(false))}));
  EXPECT_TRUE(follows({on(kPrice, FrozenPredicate::is_null(true))}, {on(kPrice, FrozenPredicate::is_null(true))}));
  EXPECT_FALSE(follows({on(kPrice, FrozenPredicate::is_null(true))}, {on(kPrice, FrozenPredicate::is_null(false))}));
  EXPECT_FALSE(follows({on(kPrice, FrozenPredicate::is_null(false))}, {on(kPrice, above(-5, true))}));
}

TEST(HotViewsTest, ImpliedAreTextsAndDoublesInTheirOrder) {
  const TableSchema schema = mixed_schema();
  const auto follows = [&](uint32_t column, const FrozenPredicate& given, const FrozenPredicate& wanted) {
    const ColumnCondition one = on(column, given), other = on(column, wanted);
    return implies(schema, {&one, 1}, {&other, 1});
  };
  const auto text = [](const char* value) { return FrozenPredicate::equal(text_datum(value)); };
  EXPECT_TRUE(follows(kCode, text("a"), text("a  ")));  // blanks of char(n) do not count
  EXPECT_FALSE(follows(kText, text("a"), text("a ")));
  EXPECT_TRUE(follows(kText, text("ab"), FrozenPredicate::between(text_datum("a"), text_datum("b"))));
  EXPECT_FALSE(follows(kText, text("b"), FrozenPredicate::below(text_datum("b"), false)));
  EXPECT_TRUE(follows(kText, FrozenPredicate::prefix(text_datum("a")), FrozenPredicate::is_null(false)));
  const auto number = [](double value) { return FrozenPredicate::equal(float_datum(value)); };
  const double nan = __builtin_nan(""), infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(follows(kRatio, number(-0.0), number(0.0)));
  EXPECT_TRUE(follows(kRatio, number(0.0), number(-0.0)));
  EXPECT_TRUE(follows(kRatio, number(nan), FrozenPredicate::above(float_datum(infinity), false)));
  EXPECT_FALSE(follows(kRatio, FrozenPredicate::above(float_datum(1), true),
                       FrozenPredicate::between(float_datum(1), float_datum(infinity))));
}

// --- promises ---

HotView view_of(const char* name, uint32_t column, const FrozenPredicate& predicate) {
  HotView view;
  view.name = name;
  view.columns = {column};
  view.conditions = {on(column, predicate)};
  return view;
}

// amount in [low, high]
std::shared_ptr<const HotViews> amounts(std::vector<std::array<int64_t, 2>> ranges) {
  auto views = std::make_shared<HotViews>();
  for (const auto& [low, high] : ranges) {
    views->views.push_back(std::make_shared<const HotView>(
        view_of("amounts", 1, FrozenPredicate::between(int_datum(low), int_datum(high)))));
  }
  return views;
}

// Some of those there are, at other places, and others, of which one has many tuples.
std::shared_ptr<const HotViews> other_views(const HotViews* before, Random* random) {
  const auto low = static_cast<int64_t>(random->below(900));
  auto views = std::make_shared<HotViews>(*amounts({{low, low + 20}, {low + 50, low + 50}, {low, low + 400}}));
  for (size_t i = 0; before != nullptr && i < before->views.size(); ++i) {
    if (views->views.size() == 8 || random->one_in(3)) continue;
    views->views.insert(views->views.begin() + static_cast<ptrdiff_t>(random->below(views->views.size())),
                        before->views[i]);
  }
  return views;
}

// No tuple that a chunk holds is one of a view that is not to find any there.
void check_promises(const TablePartition* partition, uint32_t* irrelevant) {
  *irrelevant = 0;
  for (uint64_t chunk = 0; partition->frozen != nullptr && chunk < partition->chunk_count; ++chunk) {
    const FrozenSlot& slot = partition->frozen[chunk];
    if (slot.state != ChunkState::kFrozen || slot.views == nullptr) continue;
    *irrelevant += slot.relevant_to == 0 ? 1 : 0;
    for (uint32_t i = 0; i < kChunkTuples; ++i) {
      const Tid tid = (chunk << kChunkShift) + i;
      if (!frozen_has_tuple(partition, tid)) continue;
      const Datum amount = read_column(partition, tid, 1);
      for (size_t view = 0; view < slot.views->views.size(); ++view) {
        const FrozenPredicate& range = slot.views->views[view]->conditions[0].predicate;
        const bool holds = amount.null == 0 && amount.lo >= range.low.lo && amount.lo <= range.high.lo;
        ASSERT_TRUE(!holds || ((slot.relevant_to >> view) & 1) != 0) << tid << " " << view;
      }
    }
  }
}

TEST(HotViewsTest, WhatIsRelevantMovesTogether) {
  Random random(test_seed());
  Fixture fixture;
  fixture.append(40'000, &random);
  fixture.compact();
  uint32_t irrelevant = 0;
  fixture.table->frozen_store()->set_hot_views(amounts({{100, 119}, {500, 509}}));
  fixture.compact();
  check_promises(fixture.partition(), &irrelevant);
  EXPECT_GE(irrelevant, 2u);
  const Compactor::Counts counts = fixture.compactor.counts();
  EXPECT_GT(counts.relevant_moved, 500u);
  EXPECT_EQ(counts.irrelevant, irrelevant);
  // what they moved to is relevant, and stays where it is
  fixture.compact();
  EXPECT_EQ(fixture.compactor.counts().relevant_moved, counts.relevant_moved);
  check_table(*fixture.table);

  const ColumnCondition inside = on(1, FrozenPredicate::between(int_datum(101), int_datum(103)));
  const ColumnCondition outside = on(1, FrozenPredicate::between(int_datum(99), int_datum(103)));
  uint32_t pruned = 0;
  for (uint64_t chunk = 0; chunk < fixture.partition()->chunk_count; ++chunk) {
    const FrozenSlot& slot = fixture.partition()->frozen[chunk];
    if (slot.state != ChunkState::kFrozen) continue;
    EXPECT_EQ(find_pruning_view(slot, fixture.table->schema(), {&outside, 1}), nullptr);
    pruned += find_pruning_view(slot, fixture.table->schema(), {&inside, 1}) != nullptr ? 1 : 0;
  }
  EXPECT_EQ(pruned, irrelevant);
  // most tuples: they stay, and are read
  fixture.table->frozen_store()->set_hot_views(amounts({{0, 999}}));
  fixture.compact();
  check_promises(fixture.partition(), &irrelevant);
  EXPECT_EQ(fixture.compactor.counts().relevant_moved, counts.relevant_moved);
  fixture.table->frozen_store()->set_hot_views(nullptr);
  fixture.compact();
  for (uint64_t chunk = 0; chunk < fixture.partition()->chunk_count; ++chunk) {
    EXPECT_EQ(fixture.partition()->frozen[chunk].views, nullptr);
  }
}

// Inserts, updates into views and out of them, deletes, rollbacks, other views, while chunks are frozen and placed.
TEST(HotViewsTest, PromisesHoldWhileRowsChange) {
  Random random(test_seed());
  Fixture fixture(1, Layout::kColumn, {.is_forced = true, .moved_tuples_max = 50});
  fixture.append(3'000, &random);
  TablePartition* partition = fixture.partition();
  ChangeLog* log = fixture.store.log.get();
  const UpdateDescriptor amount = make_update_descriptor(*fixture.table, std::vector<uint32_t>{1});
  const auto change = [&] {
    const Tid tid = fixture.find(static_cast<int32_t>(1 + random.below(3'000)));
    const Datum value = random.one_in(9) ? null_datum() : int_datum(static_cast<int64_t>(random.below(1000)));
    if (tid == kNoTid) return;
    if (random.one_in(4)) {
      ASSERT_EQ(delete_tuple(partition, tid, log), ChangeResult::kOk);
      return;
    }
    ASSERT_EQ(update_row(partition, log, make_hot(partition, tid, log), amount, {value}), ChangeResult::kOk);
  };
  uint32_t irrelevant = 0, most = 0;
  for (int round = 0; round < 150; ++round) {
    if (round % 10 == 0) {
      fixture.table->frozen_store()->set_hot_views(
          random.one_in(8) ? nullptr : other_views(fixture.table->frozen_store()->hot_views().get(), &random));
    }
    for (uint64_t i = random.below(30); i > 0; --i) change();
    check_promises(partition, &irrelevant);  // before the transaction ends
    if (HasFatalFailure()) return;
    random.one_in(2) ? log->rollback_all() : log->commit();
    check_promises(partition, &irrelevant);
    if (HasFatalFailure()) return;
    for (uint64_t i = random.below(20); i > 0; --i) {
      fixture.compactor.take_step({&partition, 1}, log);
      if (random.one_in(2)) fixture.compactor.freeze_one();
    }
    check_promises(partition, &irrelevant);
    if (HasFatalFailure()) return;
    most = std::max(most, irrelevant);
    if (random.one_in(6)) fixture.append(100, &random);
  }
  EXPECT_GT(most, 0u);
  EXPECT_GT(fixture.compactor.counts().relevant_moved, 50u);
  check_table(*fixture.table);
}

}  // namespace
}  // namespace scyper::storage
