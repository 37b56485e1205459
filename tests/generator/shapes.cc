#include "generator/shapes.h"

#include <cstdlib>
#include <iostream>
#include <sstream>

#include "base/check.h"

namespace scyper::generator {

namespace {
struct Entry {
  Shape shape;
  const char* name;
  bool is_on;
};

// A shape that is off has a comment that says what fails.
constexpr Entry kEntries[] = {
    {Shape::kInSelect, "in_select", true},
    {Shape::kInWhere, "in_where", true},
    {Shape::kInInnerOn, "in_inner_on", true},
    {Shape::kInOuterOn, "in_outer_on", true},
    {Shape::kInHaving, "in_having", true},
    {Shape::kInOrderBy, "in_order_by", true},
    {Shape::kInLimit, "in_limit", true},
    {Shape::kInAggregate, "in_aggregate", true},
    {Shape::kInFilter, "in_filter", true},
    {Shape::kInCase, "in_case", true},
    {Shape::kInSource, "in_source", true},
    {Shape::kCorrelated, "correlated", true},
    {Shape::kDepthThree, "depth_three", true},
    {Shape::kExists, "exists", true},
    {Shape::kIn, "in", true},
    {Shape::kNotIn, "not_in", true},
    {Shape::kAny, "any", true},
    {Shape::kAll, "all_of", true},
    {Shape::kRowIn, "row_in", true},
    {Shape::kArrayOf, "array_of", true},
    {Shape::kLateral, "lateral", true},
    {Shape::kLateralOuter, "lateral_outer", true},
    {Shape::kDerived, "derived", true},
    {Shape::kSets, "sets", true},
    {Shape::kSetsInside, "sets_inside", true},
    {Shape::kWindows, "windows", true},
    {Shape::kWindowsInside, "windows_inside", true},
    {Shape::kDistinct, "distinct", true},
    {Shape::kDistinctOn, "distinct_on", true},
    {Shape::kGroups, "groups", true},
    {Shape::kGroupsInside, "groups_inside", true},
    {Shape::kGroupingSets, "grouping_sets", true},
    {Shape::kEmptyGroup, "empty_group", true},
    {Shape::kLoneHaving, "lone_having", true},
    {Shape::kExpressionKeys, "expression_keys", true},
    {Shape::kLimitsInside, "limits_inside", true},
    {Shape::kOrderedDerived, "ordered_derived", true},
    {Shape::kValues, "values", true},
    {Shape::kFunctions, "functions", true},
    {Shape::kRowsInSelect, "rows_in_select", true},
    {Shape::kWith, "with", true},
    {Shape::kWithInside, "with_inside", true},
    {Shape::kRecursive, "recursive", true},
    {Shape::kLeftJoin, "left_join", true},
    {Shape::kRightJoin, "right_join", true},
    {Shape::kFullJoin, "full_join", true},
    {Shape::kNestedJoin, "nested_join", true},
    {Shape::kUsing, "using", true},
    {Shape::kNatural, "natural", true},
    {Shape::kViews, "views", true},
    {Shape::kNumbers, "numbers", true},
    {Shape::kLateralNumbers, "lateral_numbers", true},
    {Shape::kReturning, "returning", true},
    {Shape::kMerge, "merge", true},
    {Shape::kTableAs, "table_as", true},
    {Shape::kCascades, "cascades", true},
    {Shape::kChanges, "changes", true},
    {Shape::kStale, "stale", true},
    {Shape::kAsWith, "as_with", true},
    {Shape::kAsView, "as_view", true},
    {Shape::kAsFunction, "as_function", true},
    {Shape::kAsLoop, "as_loop", true},
    {Shape::kPartitioned, "partitioned", true},
};
static_assert(std::size(kEntries) == static_cast<size_t>(Shape::kCount));
}  // namespace

Shapes::Shapes() {
  for (const Entry& entry : kEntries) on_[static_cast<size_t>(entry.shape)] = entry.is_on;
  if (const char* list = std::getenv("SCYPER_TEST_SHAPES"); list != nullptr) read(list);
}

void Shapes::read(const std::string& list) {
  for (bool& on : on_) on = false;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    const bool is_off = word.starts_with("-");
    bool is_known = word == "all";
    for (const Entry& entry : kEntries) {
      if (word != "all" && word.substr(is_off ? 1 : 0) != entry.name) continue;
      on_[static_cast<size_t>(entry.shape)] = !is_off;
      is_known = true;
    }
    if (!is_known) std::cerr << "SCYPER_TEST_SHAPES: no shape " << word << "\n";
    CHECK(is_known);
  }
}

}  // namespace scyper::generator
