#include "plan/row_bounds.h"

#include <algorithm>

#include "base/invariant.h"

namespace scyper::query {

namespace {

uint64_t times(uint64_t a, uint64_t b) {
  if (a == 0 || b == 0) return 0;
  return a > kAnyRows / b ? kAnyRows : a * b;
}

uint64_t plus(uint64_t a, uint64_t b) { return a > kAnyRows - b ? kAnyRows : a + b; }

RowBounds product(const PlanNode& node) {
  RowBounds all{1, 1};
  for (const auto& input : node.inputs) {
    const RowBounds one = row_bounds(*input);
    all = {times(all.least, one.least), times(all.most, one.most)};
  }
  if (!node.conjuncts.empty() || !node.keys.empty()) all.least = 0;
  return all;
}

RowBounds of_join(const PlanNode& node) {
  const RowBounds left = row_bounds(*node.inputs[0]), right = row_bounds(*node.inputs[1]);
  switch (node.join) {
    case JoinKind::kInner:
      return product(node);
    case JoinKind::kLeft:
      return {left.least, node.has_one_partner ? left.most : times(left.most, std::max<uint64_t>(right.most, 1))};
    case JoinKind::kFull:
      return {std::max(left.least, right.least), plus(times(left.most, right.most), plus(left.most, right.most))};
    case JoinKind::kSemi:
    case JoinKind::kAnti:
      return {0, left.most};
    case JoinKind::kMark:
    case JoinKind::kSingle:
      return left;
  }
  return {};
}

RowBounds of_sort(const PlanNode& node, RowBounds rows) {
  if (node.offset != nullptr) rows.least = 0;
  if (node.limit == nullptr) return rows;
  if (node.limit->kind != BoundKind::kConst) return {0, rows.most};
  if (node.limit->value.null || node.limit->value.lo < 0) return rows;
  const uint64_t limit = static_cast<uint64_t>(node.limit->value.lo);
  return {std::min(rows.least, limit), std::min(rows.most, limit)};
}

RowBounds of_set(const PlanNode& node) {
  RowBounds rows = row_bounds(*node.inputs[0]);
  for (size_t i = 1; i < node.inputs.size(); i++) {
    const RowBounds other = row_bounds(*node.inputs[i]);
    if (node.set == SetOp::kUnion)
      rows = {plus(rows.least, other.least), plus(rows.most, other.most)};
    else
      rows = {0, node.set == SetOp::kIntersect ? std::min(rows.most, other.most) : rows.most};
  }
  if (!node.set_all) rows.least = std::min<uint64_t>(rows.least, 1);
  return rows;
}

}  // namespace

RowBounds row_bounds(const PlanNode& node) {
  check_stack();
  const RowBounds first =
      node.inputs.empty() || node.kind == PlanKind::kJoin ? RowBounds{} : row_bounds(*node.inputs[0]);
  switch (node.kind) {
    case PlanKind::kOneRow:
      return {1, 1};
    case PlanKind::kFilter:
      return {node.conjuncts.empty() ? first.least : 0, first.most};
    case PlanKind::kMap:
    case PlanKind::kWindow:
      return first;
    case PlanKind::kInner:
      return product(node);
    case PlanKind::kJoin:
      return of_join(node);
    case PlanKind::kGroup:
      if (node.exprs.empty() && !node.aggregates.empty()) return {1, 1};
      return {std::min<uint64_t>(first.least, 1), node.exprs.empty() ? std::min<uint64_t>(first.most, 1) : first.most};
    case PlanKind::kUnique:
      return {std::min<uint64_t>(first.least, 1), first.most};
    case PlanKind::kSort:
      return of_sort(node, first);
    case PlanKind::kSetOp:
      return of_set(node);
    case PlanKind::kValues:
      return {times(first.least, node.outputs.size()), times(first.most, node.outputs.size())};
    case PlanKind::kShared:
      return node.shared->plan == nullptr ? RowBounds{} : row_bounds(*node.shared->plan);
    case PlanKind::kSubquery:
      return {node.join == JoinKind::kLeft ? first.least : 0, kAnyRows};
    case PlanKind::kGet:
    case PlanKind::kFunction:
    case PlanKind::kRecursive:
    case PlanKind::kWorking:
      return {};
  }
  return {};
}

}  // namespace scyper::query
