#include <algorithm>
#include <utility>

#include "base/invariant.h"
#include "bind/make.h"
#include "plan/builder.h"
#include "plan/expressions.h"

// Window calls: one kWindow for all that share partition and order. Whose sort serves several comes first: the next
// ones find their input sorted.
namespace scyper::query {

namespace {

bool same_keys(const WindowCall& a, const WindowCall& b) {
  WindowCall x, y;
  for (const auto& [from, to] : {std::pair{&a, &x}, std::pair{&b, &y}}) {
    for (const auto& e : from->partition) to->partition.push_back(clone(*e));
    for (const auto& item : from->order) to->order.push_back({clone(*item.expr), item.descending, item.nulls_first});
  }
  return same(x, y);
}

// Do the partition and order of `node` begin those of `sorted`?
bool is_prefix(const PlanNode& node, const PlanNode& sorted) {
  size_t wanted = node.exprs.size() + node.order.size();
  if (node.exprs.size() > sorted.exprs.size() + sorted.order.size() ||
      wanted > sorted.exprs.size() + sorted.order.size())
    return false;
  auto key = [](const PlanNode& n, size_t i) -> std::pair<const BoundExpr*, int> {
    if (i < n.exprs.size()) return {n.exprs[i].get(), 0};
    const SortTerm& term = n.order[i - n.exprs.size()];
    return {term.expr.get(), (term.descending ? 2 : 0) + (term.nulls_first ? 1 : 0)};
  };
  for (size_t i = 0; i < wanted; i++) {
    auto [e, direction] = key(node, i);
    auto [other, its_direction] = key(sorted, i);
    if (!same(*e, *other) || (i >= node.exprs.size() && direction != its_direction)) return false;
  }
  return true;
}

}  // namespace

void PlanBuilder::add_windows(const BoundQuery& query, PlanPtr* tree) {
  if (query.windows.empty()) return;
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < query.windows.size(); i++) {
    auto it = std::find_if(groups.begin(), groups.end(),
                           [&](const auto& group) { return same_keys(query.windows[group[0]], query.windows[i]); });
    if (it == groups.end())
      groups.push_back({i});
    else
      it->push_back(i);
  }
  auto key_count = [&](const std::vector<size_t>& group) {
    const WindowCall& call = query.windows[group[0]];
    return call.partition.size() + call.order.size();
  };
  std::sort(groups.begin(), groups.end(), [&](const auto& a, const auto& b) {
    size_t x = key_count(a), y = key_count(b);
    return x != y ? x > y : a[0] < b[0];
  });
  std::vector<ColumnId>& names = windows_[query.id];
  names.resize(query.windows.size());
  const PlanNode *sorted = nullptr, *top = nullptr;  // the last one that sorts, the last one
  for (const auto& group : groups) {
    PlanPtr node = make_node(PlanKind::kWindow);
    node->relation = new_relation();
    const WindowCall& first = query.windows[group[0]];
    node->exprs = resolve_all(first.partition);
    for (const auto& item : first.order)
      node->order.push_back({resolve(*item.expr), item.descending, item.nulls_first});
    for (size_t i : group) {
      WindowCall call = clone(query.windows[i]);
      call.partition.clear();
      call.order.clear();
      for_each_expr(&call, [&](BoundPtr& e) { e = resolve(*e); });
      names[i] = {node->relation, static_cast<uint32_t>(node->windows.size())};
      node->windows.push_back(std::move(call));
    }
    for_each_own(node.get(), [&](BoundPtr& e) { place_subqueries(&e, tree, Asked::kAlways); });
    node->is_sorted = sorted != nullptr && tree->get() == top && is_prefix(*node, *sorted);
    top = node.get();
    if (!node->is_sorted) sorted = top;
    node->inputs.push_back(std::move(*tree));
    *tree = std::move(node);
  }
}

namespace {
BoundPtr make_bigint_call(const char* name, BoundPtr a, BoundPtr b, TypeId result) {
  for (const Builtin* builtin : find_builtins(name)) {
    if (builtin->parameters != std::vector<TypeId>{TypeId::kInt8, TypeId::kInt8}) continue;
    BoundPtr call = make_expr(BoundKind::kBuiltin, make_type(result), a->nullable || b->nullable, -1);
    call->builtin = builtin;
    call->args.push_back(std::move(a));
    call->args.push_back(std::move(b));
    return call;
  }
  INVARIANT(false);
}
}  // namespace

// LIMIT WITH TIES of a sorted input: up to the rank of the last row; a NULL limit is none.
void PlanBuilder::add_ties(const BoundQuery& query, Built* built) {
  PlanPtr window = make_node(PlanKind::kWindow);
  window->relation = new_relation();
  window->is_sorted = true;
  for (const auto& term : built->root->order)
    window->order.push_back({clone(*term.expr), term.descending, term.nulls_first});
  for (WindowKind kind : {WindowKind::kRank, WindowKind::kRowNumber}) {
    WindowCall call;
    call.kind = kind;
    call.function.type = make_type(TypeId::kInt8);
    window->windows.push_back(std::move(call));
  }
  auto result = [&](uint32_t i) { return make_reference({window->relation, i}, make_type(TypeId::kInt8), false); };
  auto offset = [&] {
    if (query.offset == nullptr) return make_constant(make_type(TypeId::kInt8), int_datum(0), -1);
    return make_coalesce_zero(resolve(*query.offset));
  };
  BoundPtr none = make_expr(BoundKind::kIsNull, make_type(TypeId::kBool), false, -1);
  none->args.push_back(resolve(*query.limit));
  BoundPtr last = make_bigint_call("+", resolve(*query.limit), offset(), TypeId::kInt8);
  std::vector<BoundPtr> choices, conjuncts;
  choices.push_back(std::move(none));
  choices.push_back(make_bigint_call("<=", result(0), std::move(last), TypeId::kBool));
  conjuncts.push_back(make_or(std::move(choices)));
  conjuncts.push_back(make_bigint_call(">", result(1), offset(), TypeId::kBool));
  window->inputs.push_back(std::move(built->root));
  built->root = make_filter(std::move(window), std::move(conjuncts));
}

}  // namespace scyper::query
