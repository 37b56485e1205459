#include "plan/check_plan.h"

#include <gtest/gtest.h>

#include <utility>

#include "bind/make.h"
#include "plan/expressions.h"
#include "plan/row_bounds.h"

// Plans that are broken on purpose: the checker has to say what is wrong, where.
namespace scyper::query {
namespace {

const SqlType kInt = make_type(TypeId::kInt4);
const SqlType kText = make_type(TypeId::kText);

BoundPtr column(uint32_t relation, uint32_t index, bool nullable = false, const SqlType& type = kInt) {
  return make_reference({relation, index}, type, nullable);
}

BoundPtr one() { return make_constant(kInt, int_datum(1), -1); }

// A row of `width` integers that are not NULL, as relation `relation`.
PlanPtr values(uint32_t relation, size_t width = 2) {
  PlanPtr node = make_node(PlanKind::kValues);
  node->relation = relation;
  node->outputs.emplace_back();
  for (size_t i = 0; i < width; i++) {
    node->outputs[0].push_back(one());
    node->outputs[0].back()->nullable = false;
  }
  node->inputs.push_back(make_node(PlanKind::kOneRow));
  return node;
}

PlanPtr above(PlanKind kind, PlanPtr input, BoundPtr expr, uint32_t relation = kNoRelation) {
  PlanPtr node = make_node(kind);
  node->relation = relation;
  node->exprs.push_back(std::move(expr));
  node->inputs.push_back(std::move(input));
  return node;
}

PlanPtr sorted(PlanPtr input, BoundPtr expr) {
  PlanPtr node = make_node(PlanKind::kSort);
  node->order.push_back({std::move(expr), false, false});
  node->inputs.push_back(std::move(input));
  return node;
}

std::string fault_of(PlanPtr root, BoundPtr output, const std::set<uint32_t>& outer = {}) {
  Plan plan;
  plan.root = std::move(root);
  if (output != nullptr) plan.outputs.push_back(std::move(output));
  return find_fault(plan, outer);
}

TEST(CheckPlan, AcceptsWhatIsRight) {
  EXPECT_EQ(fault_of(values(1), column(1, 1)), "");
  EXPECT_EQ(fault_of(above(PlanKind::kMap, values(1), column(1, 0), 2), column(2, 0)), "");
  EXPECT_EQ(fault_of(above(PlanKind::kMap, values(1), column(1, 0), 2), column(1, 1)), "") << "maps hide nothing";
  EXPECT_EQ(fault_of(values(1), column(7, 0), {7}), "") << "the row of a query around is known";
}

TEST(CheckPlan, FindsColumnsThatNobodyOffers) {
  EXPECT_EQ(fault_of(values(1), column(7, 0)),
            "values 1: an output reads column 0 of relation 7, which no node below offers");
  EXPECT_EQ(fault_of(values(1), column(1, 2)),
            "values 1: an output reads column 2 of relation 1, which has fewer columns");
  EXPECT_EQ(fault_of(above(PlanKind::kGroup, values(1), column(1, 0), 2), column(1, 0)),
            "group 2: an output reads column 0 of relation 1, which no node below offers");
  EXPECT_EQ(fault_of(make_join(JoinKind::kSemi, values(1), values(2)), column(2, 0)),
            "join: an output reads column 0 of relation 2, which no node below offers");
}

TEST(CheckPlan, FindsRelationsThatAreDefinedTwice) {
  EXPECT_EQ(fault_of(make_join(JoinKind::kInner, values(1), values(1)), nullptr),
            "values 1: relation 1 is defined twice");
}

TEST(CheckPlan, FindsColumnsThatMayBeNull) {
  EXPECT_EQ(fault_of(make_join(JoinKind::kLeft, values(1), values(2)), column(2, 0)),
            "join: an output reads column 0 of relation 2 as NOT NULL above an outer join");
  EXPECT_EQ(fault_of(make_join(JoinKind::kLeft, values(1), values(2)), column(2, 0, true)), "");
  EXPECT_EQ(fault_of(make_join(JoinKind::kLeft, values(1), values(2)), column(1, 0)), "");
  EXPECT_EQ(fault_of(make_join(JoinKind::kFull, values(1), values(2)), column(1, 0)),
            "join: an output reads column 0 of relation 1 as NOT NULL above an outer join");
  EXPECT_EQ(fault_of(above(PlanKind::kMap, values(1), make_null(kInt, -1), 2), column(2, 0)),
            "map 2: an output reads column 0 of relation 2 as NOT NULL, which it is not");
}

TEST(CheckPlan, FindsTypesThatDiffer) {
  EXPECT_EQ(fault_of(values(1), column(1, 0, false, kText)),
            "values 1: an output reads column 0 of relation 1, which is of another type");
  PlanPtr join = make_join(JoinKind::kInner, values(1), above(PlanKind::kMap, values(2), make_null(kText, -1), 3));
  join->keys.push_back({column(1, 0), column(3, 0, true, kText), kInt, false});
  EXPECT_EQ(fault_of(std::move(join), nullptr), "join: the sides of a key differ in their types");
}

TEST(CheckPlan, FindsSetOperationsWhoseInputsDiffer) {
  PlanPtr set = make_node(PlanKind::kSetOp);
  set->relation = 3;
  set->set = SetOp::kUnion;
  for (uint32_t relation : {1, 2}) {
    set->inputs.push_back(values(relation));
    set->outputs.emplace_back();
    set->outputs.back().push_back(column(relation, 0));
  }
  set->outputs[1].push_back(column(2, 1));
  EXPECT_EQ(fault_of(std::move(set), nullptr), "set 3: its inputs differ in width");
}

TEST(CheckPlan, FindsOrdersThatAreNotThere) {
  EXPECT_EQ(fault_of(above(PlanKind::kUnique, sorted(values(1), column(1, 0)), column(1, 0)), nullptr), "");
  EXPECT_EQ(fault_of(above(PlanKind::kUnique, values(1), column(1, 0)), nullptr),
            "unique: its input is not sorted by what it compares");
  EXPECT_EQ(fault_of(above(PlanKind::kUnique, sorted(values(1), column(1, 1)), column(1, 0)), nullptr),
            "unique: its input is not sorted by what it compares");
  PlanPtr window = above(PlanKind::kWindow, values(1), column(1, 0), 2);
  window->is_sorted = true;
  EXPECT_EQ(fault_of(std::move(window), nullptr), "window 2: its input does not come as it needs it");
}

TEST(CheckPlan, FindsKeysThatAreNotUnique) {
  auto direct = [](PlanPtr built, BoundPtr key) {
    PlanPtr join = make_join(JoinKind::kInner, values(1), std::move(built));
    join->keys.push_back({column(1, 0), std::move(key), kInt, false});
    join->is_direct = true;
    return join;
  };
  EXPECT_EQ(fault_of(direct(above(PlanKind::kGroup, values(2), column(2, 0), 3), column(3, 0)), nullptr), "");
  EXPECT_EQ(fault_of(direct(values(2), column(2, 0)), nullptr), "join: rows of its array may have one key");
}

TEST(CheckPlan, FindsSecondPartners) {
  auto joined = [](PlanPtr right, BoundPtr key) {
    PlanPtr join = make_join(JoinKind::kLeft, values(1), std::move(right));
    if (key != nullptr) join->conjuncts.push_back(make_equal(column(1, 0), std::move(key)));
    join->has_one_partner = true;
    return join;
  };
  EXPECT_EQ(fault_of(joined(above(PlanKind::kGroup, values(2), column(2, 0), 3), column(3, 0)), nullptr), "");
  EXPECT_EQ(fault_of(joined(above(PlanKind::kGroup, values(2), column(2, 0), 3), nullptr), nullptr),
            "join: a row may have two partners");
  EXPECT_EQ(fault_of(joined(values(2), column(2, 0)), nullptr), "join: a row may have two partners");
  // a key that a condition below holds to one value tells no rows apart
  auto held = [](uint32_t index) {
    std::vector<BoundPtr> conjuncts;
    conjuncts.push_back(make_equal(column(2, index), one()));
    return above(PlanKind::kGroup, make_filter(values(2), std::move(conjuncts)), column(2, 0), 3);
  };
  EXPECT_EQ(fault_of(joined(held(0), nullptr), nullptr), "");
  EXPECT_EQ(fault_of(joined(held(1), nullptr), nullptr), "join: a row may have two partners");
  EXPECT_EQ(fault_of(joined(make_node(PlanKind::kOneRow), nullptr), nullptr), "");
}

TEST(CheckPlan, FindsRowsThatAreNotDistinct) {
  auto distinct = [](PlanPtr input, BoundPtr expr) {
    PlanPtr map = above(PlanKind::kMap, std::move(input), std::move(expr), 4);
    map->is_distinct = true;
    return map;
  };
  EXPECT_EQ(fault_of(distinct(above(PlanKind::kGroup, values(2), column(2, 0), 3), column(3, 0)), nullptr), "");
  EXPECT_EQ(fault_of(distinct(values(2), column(2, 0)), nullptr), "map 4: its rows may be equal");
}

TEST(RowBounds, ComeFromTheInputs) {
  auto bounds = [](PlanPtr node) {
    const RowBounds rows = row_bounds(*node);
    return std::pair(rows.least, rows.most);
  };
  auto limited = [](PlanPtr input, int64_t limit) {
    PlanPtr sort = make_node(PlanKind::kSort);
    sort->limit = make_constant(make_type(TypeId::kInt8), int_datum(limit), -1);
    sort->inputs.push_back(std::move(input));
    return sort;
  };
  auto total = [](PlanPtr input) {
    PlanPtr group = make_node(PlanKind::kGroup);
    group->relation = 9;
    group->aggregates.emplace_back();
    group->inputs.push_back(std::move(input));
    return group;
  };
  auto table = [] { return make_node(PlanKind::kFunction); };
  using Pair = std::pair<uint64_t, uint64_t>;
  EXPECT_EQ(bounds(values(1)), Pair(1, 1));
  EXPECT_EQ(bounds(table()), Pair(0, kAnyRows));
  EXPECT_EQ(bounds(limited(table(), 3)), Pair(0, 3));
  EXPECT_EQ(bounds(limited(values(1), 0)), Pair(0, 0));
  EXPECT_EQ(bounds(total(table())), Pair(1, 1));
  EXPECT_EQ(bounds(above(PlanKind::kGroup, table(), one(), 2)), Pair(0, kAnyRows));
  EXPECT_EQ(bounds(above(PlanKind::kGroup, values(1), one(), 2)), Pair(1, 1));
  EXPECT_EQ(bounds(make_join(JoinKind::kLeft, values(1), table())), Pair(1, kAnyRows));
  EXPECT_EQ(bounds(make_join(JoinKind::kSingle, values(1), table())), Pair(1, 1));
  EXPECT_EQ(bounds(make_join(JoinKind::kSemi, limited(table(), 5), table())), Pair(0, 5));
  EXPECT_EQ(bounds(make_join(JoinKind::kInner, limited(table(), 5), limited(table(), 4))), Pair(0, 20));
}

TEST(CheckPlan, LooksIntoSharedPlans) {
  auto shared = std::make_shared<SharedPlan>();
  shared->plan = values(1);
  PlanPtr reader = make_node(PlanKind::kShared);
  reader->relation = 2;
  reader->shared = shared;
  reader->columns.push_back({{9, 0}, kInt, false});
  Plan plan;
  plan.shared.push_back(shared);
  plan.root = std::move(reader);
  EXPECT_EQ(find_fault(plan, {}), "shared 2: reads column 0 of relation 9, which the shared plan does not offer");
}

}  // namespace
}  // namespace scyper::query
