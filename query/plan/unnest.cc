#include "plan/unnest.h"

#include <algorithm>
#include <utility>

#include "base/invariant.h"
#include "bind/make.h"
#include "plan/aggregate_kind.h"
#include "plan/expressions.h"
#include "plan/in_vain.h"

namespace scyper::query {

Unnesting::Unnesting(PlanPtr* outer, uint32_t* next_relation, std::vector<std::shared_ptr<SharedPlan>>* shared)
    : outer_(outer), relations_(produced_by(**outer)), next_relation_(next_relation), shared_(shared) {}

bool Unnesting::is_correlated(const PlanNode& node) const { return intersects(free_relations(node), relations_); }
bool Unnesting::is_correlated(const BoundExpr& expr) const { return intersects(relations_of(expr), relations_); }

// Other shared plans have several readers, and would need an outer value each.
bool offers_domain(const PlanNode& node) {
  return node.kind == PlanKind::kShared && node.shared->is_domain && node.relation == kNoRelation;
}

namespace {
// The sort that the order of a node's rows comes from; nullptr: there is none, or it can be told from no column here.
const PlanNode* ordered_below(const PlanNode& node) {
  const PlanNode* n = &node;
  while (n->kind == PlanKind::kFilter || n->kind == PlanKind::kMap ||
         (n->kind == PlanKind::kInner && n->inputs.size() == 1))
    n = n->inputs[0].get();
  return n->kind == PlanKind::kSort && !n->order.empty() ? n : nullptr;
}

// Equal values of the types look the same, digits and all: one may stand for the other in whatever is computed.
bool are_interchangeable(const SqlType& a, const SqlType& b) {
  if (a.id != b.id) return false;
  switch (kept_as(a.id)) {
    case TypeId::kFloat4:
    case TypeId::kFloat8:
    case TypeId::kInterval:
    case TypeId::kJsonb:
    case TypeId::kArray:
      return false;
    case TypeId::kNumeric:
      return a == b && a.precision != 0;
    case TypeId::kChar:
      return a == b;
    default:
      return true;
  }
}

// Leaves out rows whose stands are NULL by an equality that was dropped: afterwards the stands equal the outer columns
// as they are, NULL included.
void make_exact(PlanPtr* node, Unnesting::Stands* stands) {
  std::vector<BoundPtr> conjuncts;
  for (auto& [id, stand] : *stands) {
    if (!std::exchange(stand.is_equal, false) || !stand.expr->nullable) continue;
    BoundPtr is_null = make_expr(BoundKind::kIsNull, make_type(TypeId::kBool), false, -1);
    is_null->args.push_back(clone(*stand.expr));
    conjuncts.push_back(make_not(std::move(is_null)));
  }
  *node = make_filter(std::move(*node), std::move(conjuncts));
}

bool stands_differ(const Unnesting::Stands& a, const Unnesting::Stands& b) {
  return std::any_of(a.begin(), a.end(), [&](const auto& s) { return s.second.is_equal != b.at(s.first).is_equal; });
}

// A frame whose size is not the same for all rows?
bool has_loose_offset(const PlanNode& node) {
  return std::any_of(node.windows.begin(), node.windows.end(), [](const WindowCall& call) {
    return (call.start_offset != nullptr && call.start_offset->kind != BoundKind::kConst) ||
           (call.end_offset != nullptr && call.end_offset->kind != BoundKind::kConst);
  });
}
}  // namespace

namespace {
// Draws numbers or the like: then equal outer values do not give equal rows.
bool varies(const PlanNode& node) {
  bool found = false;
  for_each_own(const_cast<PlanNode*>(&node), [&](BoundPtr& e) { found |= calls_volatile(*e); });
  return found || std::any_of(node.inputs.begin(), node.inputs.end(), [](const auto& input) { return varies(*input); });
}
}  // namespace

bool Unnesting::can(const PlanNode& node) const {
  if (!is_correlated(node)) return true;
  return !varies(node) && can_push(node);
}

bool Unnesting::can_push(const PlanNode& node) const {
  if (!is_correlated(node)) return true;
  if (node.kind == PlanKind::kFunction && node.source->kind == RelationKind::kFunction) return false;  // once per row
  if (node.kind == PlanKind::kShared) return offers_domain(node) && can_push(*node.shared->plan);
  if (node.kind == PlanKind::kWindow && ordered_below(*node.inputs[0]) != nullptr) return false;
  if (node.kind == PlanKind::kSubquery || node.kind == PlanKind::kUnique || node.kind == PlanKind::kRecursive ||
      has_loose_offset(node))
    return false;
  if (node.kind == PlanKind::kSort && (node.limit != nullptr || node.offset != nullptr)) return false;
  bool inside = false;  // a subquery that was left where it stands
  visit_own(node, [&](const BoundExpr& e) { inside |= e.query != nullptr && is_correlated(e); });
  if (inside) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](const PlanPtr& input) { return can_push(*input); });
}

void Unnesting::collect(const BoundExpr& expr, Columns* columns) const {
  visit(expr, [&](const BoundExpr& e) {
    if (e.kind != BoundKind::kColumn || relations_.count(e.relation) == 0) return;
    ColumnId id{e.relation, e.index};
    columns->emplace(id, PlanColumn{id, e.type, e.nullable});
  });
}

Unnesting::Columns Unnesting::used_columns(const PlanNode& node) const {
  Columns columns;
  for_each_own(const_cast<PlanNode*>(&node), [&](BoundPtr& e) { collect(*e, &columns); });
  if (offers_domain(node)) columns.merge(used_columns(*node.shared->plan));
  for (const auto& input : node.inputs) columns.merge(used_columns(*input));
  return columns;
}

void Unnesting::substitute(BoundPtr* expr, const Stands& stands) {
  rewrite(expr, [&](BoundPtr* e) {
    if ((*e)->kind != BoundKind::kColumn) return false;
    auto it = stands.find({(*e)->relation, (*e)->index});
    if (it == stands.end()) return false;
    bool nullable = (*e)->nullable;
    *e = clone(*it->second.expr);
    (*e)->nullable |= nullable;
    return true;
  });
}

std::vector<BoundPtr> Unnesting::join_conjuncts(const Stands& stands) {
  std::vector<BoundPtr> conjuncts;
  for (const auto& [column, stand] : stands) {
    BoundPtr outer = make_reference(column, stand.type, stand.nullable);
    bool plain = stand.is_equal || !stand.nullable;
    conjuncts.push_back(plain ? make_equal(std::move(outer), clone(*stand.expr))
                              : make_same(std::move(outer), clone(*stand.expr)));
  }
  return conjuncts;
}

// D: the distinct values of outer columns, under names of its own.
PlanPtr Unnesting::domain(const Columns& columns, Stands* stands) {
  if (outer_plan_ == nullptr) {
    outer_plan_ = std::make_shared<SharedPlan>();
    outer_plan_->number = (*next_relation_)++;
    outer_plan_->is_domain = true;
    PlanPtr reader = make_node(PlanKind::kShared);
    reader->shared = outer_plan_;
    outer_plan_->plan = std::move(*outer_);
    *outer_ = std::move(reader);
    shared_->push_back(outer_plan_);
  }
  PlanPtr read = make_node(PlanKind::kShared);
  read->relation = (*next_relation_)++;
  read->shared = outer_plan_;
  PlanPtr group = make_node(PlanKind::kGroup);
  group->relation = (*next_relation_)++;
  for (const auto& [id, column] : columns) {
    uint32_t position = static_cast<uint32_t>(read->columns.size());
    read->columns.push_back(column);
    group->exprs.push_back(make_reference({read->relation, position}, column.type, column.nullable));
    Stand stand;
    stand.expr = make_reference({group->relation, position}, column.type, column.nullable);
    stand.type = column.type;
    stand.nullable = column.nullable;
    (*stands)[id] = std::move(stand);
  }
  group->inputs.push_back(std::move(read));
  return group;
}

Unnesting::Stands Unnesting::cross(PlanPtr* node, const Columns& columns) {
  Stands stands;
  PlanPtr inner = make_node(PlanKind::kInner);
  inner->inputs.push_back(domain(columns, &stands));
  inner->inputs.push_back(std::move(*node));
  *node = std::move(inner);
  return stands;
}

// Each outer column as the other side of an equality; those equalities are dropped.
bool Unnesting::stand_by_equalities(const Columns& columns, std::vector<BoundPtr>* conjuncts, Stands* stands) const {
  std::vector<size_t> used;
  for (const auto& [id, column] : columns) {
    bool found = false;
    for (size_t i = 0; i < conjuncts->size() && !found; i++) {
      const BoundExpr* sides[2] = {};
      bool null_safe = false;
      if (!is_equality(*(*conjuncts)[i], &sides[0], &sides[1], &null_safe) || null_safe) continue;
      for (int side = 0; side < 2 && !found; side++) {
        const BoundExpr& mine = *sides[side];
        const BoundExpr& other = *sides[1 - side];
        if (mine.kind != BoundKind::kColumn || mine.relation != id.relation || mine.index != id.index) continue;
        if (is_correlated(other) || !are_interchangeable(other.type, mine.type) || relations_of(other).empty() ||
            is_volatile(other) || has_subquery(other))
          continue;
        Stand stand;
        stand.expr = clone(other);
        stand.is_equal = true;
        stand.type = column.type;
        stand.nullable = column.nullable;
        (*stands)[id] = std::move(stand);
        used.push_back(i);
        found = true;
      }
    }
    if (!found) return false;
  }
  std::sort(used.rbegin(), used.rend());
  for (size_t i : used) conjuncts->erase(conjuncts->begin() + static_cast<ptrdiff_t>(i));
  return true;
}

Unnesting::Stands Unnesting::push_down(PlanPtr* node) {
  if (!is_correlated(**node)) return {};
  switch ((*node)->kind) {
    case PlanKind::kFilter:
    case PlanKind::kInner:
      return push_inner(node);
    case PlanKind::kGroup:
      return push_group(node);
    case PlanKind::kJoin:
      return push_join(node);
    case PlanKind::kSetOp:
      return push_set(node);
    case PlanKind::kShared:
      return push_down(&(*node)->shared->plan);  // its columns can be seen here
    case PlanKind::kSort:
    case PlanKind::kMap:
    case PlanKind::kValues:
    case PlanKind::kFunction:
      return push_input(node);
    case PlanKind::kWindow:
      return push_window(node);
    default:
      INVARIANT(false);
  }
  return {};
}

// D of the columns that have no stand yet, together with those that have one: combinations that no outer row has would
// only be more rows. Gives the conjuncts that join D with the plan that has the stands.
PlanPtr Unnesting::missing_domain(const Columns& columns, Stands* stands, std::vector<BoundPtr>* conjuncts) {
  Columns all = columns;
  bool is_complete = true;
  for (const auto& [id, column] : columns) is_complete &= stands->count(id) != 0;
  if (is_complete) return nullptr;
  for (const auto& [id, stand] : *stands) all.emplace(id, PlanColumn{id, stand.type, stand.nullable});
  Stands mine;
  PlanPtr values = domain(all, &mine);
  for (const auto& [id, stand] : *stands) {
    const bool is_plain = stand.is_equal || !stand.nullable;
    BoundPtr a = clone(*stand.expr), b = clone(*found_in(mine, id).expr);
    conjuncts->push_back(is_plain ? make_equal(std::move(a), std::move(b)) : make_same(std::move(a), std::move(b)));
  }
  stands->merge(mine);
  return values;
}

void Unnesting::add_missing(PlanPtr* node, const Columns& columns, Stands* stands) {
  std::vector<BoundPtr> conjuncts;
  PlanPtr values = missing_domain(columns, stands, &conjuncts);
  if (values == nullptr) return;
  while ((*node)->kind == PlanKind::kSort && (*node)->limit == nullptr && (*node)->offset == nullptr)
    node = &(*node)->inputs[0];  // a join above would lose the order
  PlanPtr inner = make_node(PlanKind::kInner);
  inner->inputs.push_back(std::move(values));
  inner->inputs.push_back(std::move(*node));
  inner->conjuncts = std::move(conjuncts);
  *node = std::move(inner);
}

void Unnesting::raise_order(PlanNode* group) {
  if (std::all_of(group->aggregates.begin(), group->aggregates.end(), ignores_order)) return;
  if (group->inputs[0]->kind == PlanKind::kSort) return;
  const PlanNode* sort = ordered_below(*group->inputs[0]);
  if (sort == nullptr) return;
  PlanPtr again = make_node(PlanKind::kSort);
  for (const auto& term : sort->order) again->order.push_back({clone(*term.expr), term.descending, term.nulls_first});
  again->inputs.push_back(std::move(group->inputs[0]));
  group->inputs[0] = std::move(again);
}

// Operators that compute from the row of their one input.
Unnesting::Stands Unnesting::push_input(PlanPtr* node) {
  PlanNode& n = **node;
  Columns own;
  for_each_own(&n, [&](BoundPtr& e) { collect(*e, &own); });
  Stands stands = push_down(&n.inputs[0]);
  add_missing(&n.inputs[0], own, &stands);
  for_each_own(&n, [&](BoundPtr& e) { substitute(&e, stands); });
  return stands;
}

// Rows of different outer values never share a partition.
Unnesting::Stands Unnesting::push_window(PlanPtr* node) {
  PlanNode& n = **node;
  Stands stands = push_input(node);
  for (const auto& [id, stand] : stands) n.exprs.push_back(clone(*stand.expr));
  n.is_sorted = false;
  return stands;
}

Unnesting::Stands Unnesting::push_inner(PlanPtr* node) {
  PlanNode& n = **node;
  Stands stands;
  bool inputs_correlated = false;
  for (const auto& input : n.inputs) inputs_correlated |= is_correlated(*input);
  if (!inputs_correlated) {
    Columns columns = used_columns(n);
    if (stand_by_equalities(columns, &n.conjuncts, &stands)) {
      for (auto& e : n.conjuncts) substitute(&e, stands);
      return stands;
    }
    stands = cross(&n.inputs[0], columns);
    for (auto& e : n.conjuncts) substitute(&e, stands);
    return stands;
  }
  for (auto& input : n.inputs) {
    Stands more = push_down(&input);
    for (auto& [id, stand] : more) {
      auto before = stands.find(id);
      if (before == stands.end()) {
        stands[id] = std::move(stand);
        continue;
      }
      bool plain = stand.is_equal || before->second.is_equal || !stand.nullable;
      BoundPtr a = clone(*before->second.expr);
      BoundPtr b = clone(*stand.expr);
      n.conjuncts.push_back(plain ? make_equal(std::move(a), std::move(b)) : make_same(std::move(a), std::move(b)));
      before->second.is_equal |= stand.is_equal;
    }
  }
  Columns own;
  for (auto& e : n.conjuncts) collect(*e, &own);
  if (PlanPtr values = missing_domain(own, &stands, &n.conjuncts); values != nullptr) {
    PlanPtr inner = make_node(PlanKind::kInner);  // a filter has one input
    inner->inputs = std::move(n.inputs);
    inner->inputs.push_back(std::move(values));
    n.inputs.clear();
    n.inputs.push_back(std::move(inner));
  }
  for (auto& e : n.conjuncts) substitute(&e, stands);
  return stands;
}

Unnesting::Stands Unnesting::push_group(PlanPtr* node) {
  PlanNode& n = **node;
  Columns columns = used_columns(n);
  bool is_static = n.exprs.empty() && !n.aggregates.empty();
  raise_order(&n);
  Stands inner = push_down(&n.inputs[0]);
  add_missing(&n.inputs[0], columns, &inner);
  for_each_own(&n, [&](BoundPtr& e) { substitute(&e, inner); });
  // aggregates move behind the new keys: the group gets a new name, a map keeps the old one
  uint32_t old_relation = n.relation;
  size_t old_keys = n.exprs.size();
  n.relation = (*next_relation_)++;
  Stands stands;
  for (auto& [id, stand] : inner) {
    Stand above;
    above.expr =
        make_reference({n.relation, static_cast<uint32_t>(n.exprs.size())}, stand.expr->type, stand.expr->nullable);
    above.is_equal = stand.is_equal;
    above.type = stand.type;
    above.nullable = stand.nullable;
    n.exprs.push_back(std::move(stand.expr));
    stands[id] = std::move(above);
  }
  PlanPtr map = make_node(PlanKind::kMap);
  map->relation = old_relation;
  for (size_t i = 0; i < old_keys; i++)
    map->exprs.push_back(
        make_reference({n.relation, static_cast<uint32_t>(i)}, n.exprs[i]->type, n.exprs[i]->nullable));
  for (size_t i = 0; i < n.aggregates.size(); i++) {
    const Aggregate& aggregate = n.aggregates[i];
    bool counts = counts_rows(aggregate.kind);
    BoundPtr value = make_reference({n.relation, static_cast<uint32_t>(n.exprs.size() + i)}, aggregate.type, !counts);
    map->exprs.push_back(is_static && counts ? make_coalesce_zero(std::move(value)) : std::move(value));
  }
  PlanPtr input = std::move(*node);
  if (is_static) {  // a group for each value of D, also where no row is
    Stands all;
    PlanPtr values = domain(columns, &all);
    PlanPtr join = make_join(JoinKind::kLeft, std::move(values), std::move(input));
    for (auto& [id, stand] : all) {
      const Stand& other = found_in(stands, id);
      bool plain = other.is_equal || !stand.nullable;
      BoundPtr a = clone(*stand.expr), b = clone(*other.expr);
      join->conjuncts.push_back(plain ? make_equal(std::move(a), std::move(b)) : make_same(std::move(a), std::move(b)));
    }
    stands = std::move(all);
    input = std::move(join);
  }
  map->inputs.push_back(std::move(input));
  *node = std::move(map);
  return stands;
}

Unnesting::Stands Unnesting::push_join(PlanPtr* node) {
  PlanNode& n = **node;
  Columns columns = used_columns(n);
  // the side whose rows decide carries D; the other one only if it needs it
  Stands left = push_down(&n.inputs[0]);
  add_missing(&n.inputs[0], columns, &left);
  bool both = n.join == JoinKind::kFull;
  Stands right = push_down(&n.inputs[1]);
  if (both) add_missing(&n.inputs[1], columns, &right);
  if (both && stands_differ(left, right)) {
    make_exact(&n.inputs[0], &left);
    make_exact(&n.inputs[1], &right);
  }
  for_each_own(&n, [&](BoundPtr& e) { substitute(&e, left); });
  for (auto& [id, stand] : right) {
    bool plain = stand.is_equal || found_in(left, id).is_equal || !stand.nullable;
    BoundPtr a = clone(*found_in(left, id).expr), b = clone(*stand.expr);
    n.conjuncts.push_back(plain ? make_equal(std::move(a), std::move(b)) : make_same(std::move(a), std::move(b)));
  }
  if (both) {
    // rows of either side: whichever is there
    for (auto& [id, stand] : left) {
      BoundPtr either = make_expr(BoundKind::kCoalesce, stand.expr->type, true, -1);
      either->args.push_back(std::move(stand.expr));
      either->args.push_back(clone(*found_in(right, id).expr));
      for (auto& arg : either->args) arg->nullable = true;
      stand.expr = std::move(either);
    }
  }
  return left;
}

Unnesting::Stands Unnesting::push_set(PlanPtr* node) {
  PlanNode& n = **node;
  Columns columns = used_columns(n);
  std::vector<Stands> sides;
  for (auto& input : n.inputs) {
    sides.push_back(push_down(&input));
    add_missing(&input, columns, &sides.back());
  }
  // rows of one side that count for no outer row must not look like those that count for an outer NULL
  if (std::any_of(sides.begin(), sides.end(), [&](const Stands& side) { return stands_differ(side, sides[0]); }))
    for (size_t i = 0; i < sides.size(); i++) make_exact(&n.inputs[i], &sides[i]);
  Stands result;
  const size_t width = n.outputs[0].size();
  for (size_t i = 0; i < n.inputs.size(); i++) {
    for (auto& e : n.outputs[i]) substitute(&e, sides[i]);
    size_t position = width;
    for (auto& [id, stand] : sides[i]) {
      Stand above;
      above.type = stand.type;
      above.nullable = stand.nullable;
      above.is_equal = stand.is_equal;
      above.expr = make_reference({n.relation, static_cast<uint32_t>(position++)}, stand.type, true);
      n.outputs[i].push_back(std::move(stand.expr));
      result[id] = std::move(above);
    }
  }
  return result;
}

}  // namespace scyper::query
