#include "plan/unique.h"

#include <algorithm>

#include "plan/expressions.h"

namespace scyper::query {

bool has_unique_key(const Relation& relation, const std::set<uint32_t>& columns) {
  const auto& schema = relation.table->schema();
  return std::any_of(schema.indexes.begin(), schema.indexes.end(), [&](const storage::IndexDef& index) {
    return index.unique && std::all_of(index.columns.begin(), index.columns.end(), [&](uint32_t column) {
             return columns.count(column) != 0 && schema.columns[column].not_null;
           });
  });
}

std::set<ColumnId> columns_of(const std::vector<const BoundExpr*>& exprs) {
  std::set<ColumnId> columns;
  for (const BoundExpr* e : exprs) {
    while (widens_integer(*e)) e = e->args[0].get();
    if (e->kind == BoundKind::kColumn) columns.insert({e->relation, e->index});
  }
  return columns;
}

namespace {

// Calls f(left, right) for the equalities of a join, sides as its inputs.
template <class F>
void for_equalities(const PlanNode& join, const F& f) {
  for (const auto& key : join.keys) f(*key.left, *key.right);
  std::set<uint32_t> left = produced_by(*join.inputs[0]), right = produced_by(*join.inputs[1]);
  for (const auto& e : join.conjuncts) {
    const BoundExpr *a = nullptr, *b = nullptr;
    bool null_safe = false;
    if (!is_equality(*e, &a, &b, &null_safe)) continue;
    if (intersects(relations_of(*a), right)) std::swap(a, b);
    if (!intersects(relations_of(*a), right) && !intersects(relations_of(*b), left)) f(*a, *b);
  }
}

// Columns that conditions above a node hold to one value: what they are compared with comes from outside of it.
void add_fixed(const std::vector<BoundPtr>& conjuncts, const std::set<uint32_t>& produced, std::set<ColumnId>* fixed) {
  const auto comes_from_outside = [&](const BoundExpr& e) {
    return !intersects(relations_of(e), produced) && !is_volatile(e);
  };
  for (const auto& e : conjuncts) {
    const BoundExpr* sides[2] = {};
    bool null_safe = false;
    if (!is_equality(*e, &sides[0], &sides[1], &null_safe)) continue;
    for (int side : {0, 1})
      if (comes_from_outside(*sides[side])) fixed->merge(columns_of({sides[1 - side]}));
  }
}

// Columns with the same value in all rows of a node, as far as its conditions tell.
std::set<ColumnId> fixed_columns(const PlanNode& node) {
  std::set<ColumnId> fixed;
  const auto rename = [&](const std::set<ColumnId>& below) {
    for (uint32_t i = 0; i < node.exprs.size(); i++)
      for (const ColumnId& id : columns_of({node.exprs[i].get()}))
        if (below.count(id) != 0) fixed.insert({node.relation, i});
  };
  switch (node.kind) {
    case PlanKind::kFilter:
    case PlanKind::kInner:
      for (const auto& input : node.inputs) fixed.merge(fixed_columns(*input));
      add_fixed(node.conjuncts, produced_by(node), &fixed);
      return fixed;
    case PlanKind::kSort:
    case PlanKind::kUnique:
    case PlanKind::kWindow:
      return fixed_columns(*node.inputs[0]);
    case PlanKind::kMap:
      fixed = fixed_columns(*node.inputs[0]);
      rename(std::set<ColumnId>(fixed));
      return fixed;
    case PlanKind::kGroup:
      rename(fixed_columns(*node.inputs[0]));
      return fixed;
    case PlanKind::kJoin:
      if (node.join != JoinKind::kFull) fixed = fixed_columns(*node.inputs[0]);
      if (node.join == JoinKind::kInner) fixed.merge(fixed_columns(*node.inputs[1]));
      return fixed;
    default:
      return fixed;
  }
}

bool is_unique_group(const PlanNode& group, const std::set<ColumnId>& columns) {
  if (group.exprs.empty()) return !group.aggregates.empty();
  const std::set<ColumnId> fixed = fixed_columns(group);
  for (uint32_t i = 0; i < group.exprs.size(); i++) {
    const ColumnId key{group.relation, i};
    const bool tells = i >= group.hashed.size() || group.hashed[i];
    if (tells && columns.count(key) == 0 && fixed.count(key) == 0) return false;
  }
  return true;
}

bool is_unique_join(const PlanNode& join, std::set<ColumnId> columns) {
  if (join.join == JoinKind::kFull) return false;
  if (join.join == JoinKind::kSemi || join.join == JoinKind::kAnti || join.join == JoinKind::kMark ||
      join.join == JoinKind::kSingle)
    return is_unique(*join.inputs[0], columns);
  std::set<ColumnId> right_keys, left_keys;
  for_equalities(join, [&](const BoundExpr& a, const BoundExpr& b) {
    std::set<ColumnId> x = columns_of({&a}), y = columns_of({&b});
    left_keys.merge(std::set<ColumnId>(x));
    right_keys.merge(std::set<ColumnId>(y));
    if (join.join != JoinKind::kInner || x.empty() || y.empty()) return;
    if (columns.count(*x.begin()) != 0)
      columns.insert(*y.begin());
    else if (columns.count(*y.begin()) != 0)
      columns.insert(*x.begin());
  });
  right_keys.insert(columns.begin(), columns.end());
  left_keys.insert(columns.begin(), columns.end());
  // a row of one side is told by the columns, and has one partner at most that agrees in them
  if (is_unique(*join.inputs[0], columns) && is_unique(*join.inputs[1], right_keys)) return true;
  return join.join == JoinKind::kInner && is_unique(*join.inputs[1], columns) && is_unique(*join.inputs[0], left_keys);
}

// One input's row is told by the columns; those of the others one after the other by equalities with what is known.
bool is_unique_inner(const PlanNode& inner, const std::set<ColumnId>& columns) {
  const std::set<uint32_t> produced = produced_by(inner);
  auto reaches_all = [&](size_t first) {
    std::set<uint32_t> known = produced_by(*inner.inputs[first]);
    std::vector<bool> done(inner.inputs.size(), false);
    done[first] = true;
    for (bool grows = true; grows;) {
      grows = false;
      for (size_t i = 0; i < inner.inputs.size(); i++) {
        if (done[i]) continue;
        std::set<ColumnId> keys = columns;
        add_fixed(inner.conjuncts, produced, &keys);
        for (const auto& e : inner.conjuncts) {
          const BoundExpr* sides[2] = {};
          bool null_safe = false;
          if (!is_equality(*e, &sides[0], &sides[1], &null_safe)) continue;
          for (int side : {0, 1})
            if (is_subset(relations_of(*sides[side]), known)) keys.merge(columns_of({sides[1 - side]}));
        }
        if (!is_unique(*inner.inputs[i], keys)) continue;
        done[i] = grows = true;
        collect_produced(*inner.inputs[i], &known);
      }
    }
    return std::find(done.begin(), done.end(), false) == done.end();
  };
  std::set<ColumnId> first_known = columns;
  add_fixed(inner.conjuncts, produced, &first_known);
  for (size_t i = 0; i < inner.inputs.size(); i++)
    if (is_unique(*inner.inputs[i], first_known) && reaches_all(i)) return true;
  return false;
}

}  // namespace

bool is_unique(const PlanNode& node, const std::set<ColumnId>& columns) {
  switch (node.kind) {
    case PlanKind::kOneRow:
      return true;
    case PlanKind::kGet: {
      std::set<uint32_t> own;
      for (const ColumnId& id : columns)
        if (id.relation == node.relation) own.insert(id.index);
      return has_unique_key(*node.source, own);
    }
    case PlanKind::kFilter: {
      std::set<ColumnId> known = columns;
      add_fixed(node.conjuncts, produced_by(*node.inputs[0]), &known);
      return is_unique(*node.inputs[0], known);
    }
    case PlanKind::kSort:
    case PlanKind::kUnique:
      return is_unique(*node.inputs[0], columns);
    case PlanKind::kMap: {
      std::set<ColumnId> below = columns;
      for (const ColumnId& id : columns)
        if (id.relation == node.relation) below.merge(columns_of({node.exprs[id.index].get()}));
      return is_unique(*node.inputs[0], below);
    }
    case PlanKind::kJoin:
      return is_unique_join(node, columns);
    case PlanKind::kInner:
      return is_unique_inner(node, columns);
    case PlanKind::kGroup:
      return is_unique_group(node, columns);
    case PlanKind::kSetOp:
      if (node.set_all) return false;
      for (uint32_t i = 0; i < node.outputs[0].size(); i++)
        if (columns.count({node.relation, i}) == 0) return false;
      return true;
    case PlanKind::kWindow:  // a column more for each row
      return is_unique(*node.inputs[0], columns);
    case PlanKind::kShared: {
      if (node.shared->plan == nullptr) return false;
      if (node.relation == kNoRelation) return is_unique(*node.shared->plan, columns);
      std::set<ColumnId> theirs;
      for (uint32_t i = 0; i < node.columns.size(); i++)
        if (columns.count({node.relation, i}) != 0) theirs.insert(node.columns[i].id);
      return is_unique(*node.shared->plan, theirs);
    }
    default:
      return false;
  }
}

bool has_one_partner(const PlanNode& join) {
  std::set<ColumnId> keys;
  for_equalities(join, [&](const BoundExpr&, const BoundExpr& right) { keys.merge(columns_of({&right})); });
  return is_unique(*join.inputs[1], keys);
}

}  // namespace scyper::query
