#include "plan/check_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/invariant.h"
#include "plan/expressions.h"
#include "plan/unique.h"

namespace scyper::query {

namespace {

const char* kind_text(PlanKind kind) {
  constexpr const char* kNames[] = {"one row", "get",       "filter",  "map",    "inner join", "join",
                                    "group",   "sort",      "set",     "values", "function",   "shared",
                                    "unique",  "recursive", "working", "window", "subquery"};
  return kNames[static_cast<size_t>(kind)];
}

// What is known of one column where it is defined.
struct Defined {
  SqlType type;
  bool nullable = true;
};

// The relations that a node offers; true: an outer join may have filled their columns with NULL.
using Visible = std::map<uint32_t, bool>;

class PlanChecker {
 public:
  PlanChecker(const Plan& plan, const std::set<uint32_t>& outer, bool proves_claims)
      : plan_(plan), outer_(outer), proves_claims_(proves_claims) {}

  std::string run() {
    for (const auto& shared : plan_.shared) define(*shared->plan);
    define(*plan_.root);
    for (const auto& shared : plan_.shared) visit(*shared->plan);
    const Visible& visible = visit(*plan_.root);
    for (const auto& output : plan_.outputs) check_expr(*plan_.root, *output, visible, "an output");
    return std::move(fault_);
  }

 private:
  void fail(const PlanNode& node, std::string text) {
    if (!fault_.empty()) return;
    const std::string relation = node.relation == kNoRelation ? "" : absl::StrCat(" ", node.relation);
    fault_ = absl::StrCat(kind_text(node.kind), relation, ": ", text);
  }

  void define(const PlanNode& node) {
    const bool defines = node.relation != kNoRelation && node.kind != PlanKind::kInner;
    if (defines && !definitions_.emplace(node.relation, &node).second)
      fail(node, absl::StrCat("relation ", node.relation, " is defined twice"));
    for (const auto& input : node.inputs) define(*input);
  }

  // A column as the node that defines it has it; nothing: it has no such column.
  std::optional<Defined> column(const PlanNode& node, uint32_t index) const {
    auto of_expr = [&](const std::vector<BoundPtr>& exprs) -> std::optional<Defined> {
      if (index >= exprs.size()) return std::nullopt;
      return Defined{exprs[index]->type, exprs[index]->nullable};
    };
    auto of_relation = [&](const Relation& relation) -> std::optional<Defined> {
      if (index >= relation.columns.size()) return std::nullopt;
      return Defined{relation.columns[index].type, relation.columns[index].nullable};
    };
    switch (node.kind) {
      case PlanKind::kGet:
      case PlanKind::kFunction:
        return of_relation(*node.source);
      case PlanKind::kSubquery:
        return of_relation(*node.owned);
      case PlanKind::kMap:
        return of_expr(node.exprs);
      case PlanKind::kGroup:
        return group_column(node, index);
      case PlanKind::kWindow:
        if (index >= node.windows.size()) return std::nullopt;
        return Defined{node.windows[index].function.type, false};
      case PlanKind::kJoin:
        if (index > 0) return std::nullopt;
        return Defined{make_type(TypeId::kBool), !node.doubtful.empty()};
      case PlanKind::kShared:
        if (index >= node.columns.size()) return std::nullopt;
        return Defined{node.columns[index].type, node.columns[index].nullable};
      case PlanKind::kSetOp:
      case PlanKind::kValues:
      case PlanKind::kRecursive:
        return any_of_lists(node, index);
      default:
        return Defined{make_type(TypeId::kUnknown), false};
    }
  }

  // The binder knows of more aggregates that they are never NULL; without keys and rows all but counts are.
  static std::optional<Defined> group_column(const PlanNode& node, uint32_t index) {
    if (index < node.exprs.size()) return Defined{node.exprs[index]->type, node.exprs[index]->nullable};
    index -= static_cast<uint32_t>(node.exprs.size());
    if (index >= node.aggregates.size()) return std::nullopt;
    const Aggregate& aggregate = node.aggregates[index];
    return Defined{aggregate.type, node.exprs.empty() && !counts_rows(aggregate.kind)};
  }

  static std::optional<Defined> any_of_lists(const PlanNode& node, uint32_t index) {
    Defined defined{make_type(TypeId::kUnknown), false};  // no rows: nothing is wrong of them
    for (size_t i = 0; i < node.outputs.size(); i++) {
      if (index >= node.outputs[i].size()) return std::nullopt;
      const BoundExpr& e = *node.outputs[i][index];
      if (i == 0) defined = {e.type, false};
      defined.nullable |= e.nullable;
    }
    if (node.kind == PlanKind::kRecursive) defined.nullable = false;  // its tuples can hold NULL whatever they say
    return defined;
  }

  static bool are_alike(const SqlType& a, const SqlType& b) {
    return a.id == b.id || (is_string(a.id) && is_string(b.id)) || a.id == TypeId::kUnknown || b.id == TypeId::kUnknown;
  }

  void check_column(const PlanNode& node, const BoundExpr& e, const Visible& visible, const char* place, bool inside) {
    const std::string name = absl::StrCat(place, " reads column ", e.index, " of relation ", e.relation);
    auto seen = visible.find(e.relation);
    auto known = definitions_.find(e.relation);
    if (seen == visible.end()) {
      // inside of a subquery that was left as it is, relations of its own are named, too
      if (outer_.count(e.relation) == 0 && (!inside || known != definitions_.end()))
        fail(node, absl::StrCat(name, ", which no node below offers"));
      return;
    }
    if (known == definitions_.end()) return;
    const std::optional<Defined> defined = column(*known->second, e.index);
    if (!defined.has_value()) return fail(node, absl::StrCat(name, ", which has fewer columns"));
    if (inside || known->second->kind == PlanKind::kWorking) return;
    if (!are_alike(e.type, defined->type)) fail(node, absl::StrCat(name, ", which is of another type"));
    if (!e.nullable && defined->nullable) fail(node, absl::StrCat(name, " as NOT NULL, which it is not"));
    if (!e.nullable && seen->second) fail(node, absl::StrCat(name, " as NOT NULL above an outer join"));
  }

  void check_expr(const PlanNode& node, const BoundExpr& e, const Visible& visible, const char* place,
                  bool inside = false) {
    if (!fault_.empty()) return;
    if (e.kind == BoundKind::kColumn) check_column(node, e, visible, place, inside);
    for (const auto& arg : e.args) check_expr(node, *arg, visible, place, inside);
    if (e.query == nullptr) return;
    scyper::query::visit(*e.query, [&](const BoundExpr& x) {
      if (x.kind == BoundKind::kColumn && fault_.empty()) check_column(node, x, visible, place, true);
    });
  }

  void check_all(const PlanNode& node, const std::vector<BoundPtr>& exprs, const Visible& visible, const char* place) {
    for (const auto& e : exprs) check_expr(node, *e, visible, place);
  }

  Visible visit(const PlanNode& node) {
    std::vector<Visible> inputs;
    for (const auto& input : node.inputs) inputs.push_back(visit(*input));
    if (node.kind == PlanKind::kShared) return visit_shared(node);
    if (node.kind == PlanKind::kSetOp || node.kind == PlanKind::kRecursive) return visit_lists(node, inputs);
    if (node.kind == PlanKind::kJoin) return visit_join(node, &inputs);
    Visible visible;
    for (auto& input : inputs) visible.merge(input);
    const bool adds_before = node.kind == PlanKind::kGet || node.kind == PlanKind::kSubquery;
    Visible below = visible;
    if (node.relation != kNoRelation && node.kind != PlanKind::kInner) visible[node.relation] = false;
    check_node(node, adds_before ? visible : below);
    if (proves_claims_ && node.is_distinct && !is_unique(*node.inputs[0], columns_of(views_of(node.exprs))))
      fail(node, "its rows may be equal");
    if (node.kind == PlanKind::kSubquery) visit_subquery(node, below, &visible);
    if (node.kind == PlanKind::kGroup) return {{node.relation, false}};
    if (node.kind == PlanKind::kUnique && !is_sorted_by(*node.inputs[0], keys_of(node), 0))
      fail(node, "its input is not sorted by what it compares");
    if (node.kind == PlanKind::kWindow && node.is_sorted &&
        !is_sorted_by(*node.inputs[0], keys_of(node), node.order.size()))
      fail(node, "its input does not come as it needs it");
    return visible;
  }

  void check_node(const PlanNode& node, const Visible& visible) {
    check_all(node, node.conjuncts, visible, "a condition");
    check_all(node, node.exprs, visible, "an expression");
    for (const auto& row : node.outputs) check_all(node, row, visible, "a row");
    for (const auto& aggregate : node.aggregates) {
      check_all(node, aggregate.args, visible, "an aggregate");
      if (aggregate.filter != nullptr) check_expr(node, *aggregate.filter, visible, "a filter");
    }
    for (const auto& call : node.windows)
      for_each_expr(call, [&](const BoundExpr& e) { check_expr(node, e, visible, "a window call"); });
    for (const auto& term : node.order) check_expr(node, *term.expr, visible, "an order");
    for (const auto* bound : {&node.limit, &node.offset})
      if (*bound != nullptr) check_expr(node, **bound, {}, "a limit");
    for (const auto& filter : node.filters) check_all(node, filter.keys, visible, "a join's filter");
  }

  Visible visit_shared(const PlanNode& node) {
    Visible offered = offered_by(*node.shared->plan);
    if (node.relation == kNoRelation) return offered;
    for (const auto& column : node.columns)
      if (offered.count(column.id.relation) == 0)
        fail(node, absl::StrCat("reads column ", column.id.index, " of relation ", column.id.relation,
                                ", which the shared plan does not offer"));
    return {{node.relation, false}};
  }

  Visible visit_lists(const PlanNode& node, const std::vector<Visible>& inputs) {
    for (size_t i = 0; i < inputs.size() && i < node.outputs.size(); i++) {
      check_all(node, node.outputs[i], inputs[i], "an output");
      if (node.outputs[i].size() != node.outputs[0].size()) fail(node, "its inputs differ in width");
      for (size_t k = 0; k < std::min(node.outputs[i].size(), node.outputs[0].size()); k++)
        if (!are_alike(node.outputs[i][k]->type, node.outputs[0][k]->type))
          fail(node, absl::StrCat("its inputs differ in the type of column ", k));
    }
    return {{node.relation, false}};
  }

  Visible visit_join(const PlanNode& node, std::vector<Visible>* inputs) {
    Visible both = (*inputs)[0];
    both.insert((*inputs)[1].begin(), (*inputs)[1].end());
    check_all(node, node.conjuncts, both, "a condition");
    check_all(node, node.doubtful, both, "a condition");
    for (const auto& key : node.keys) {
      check_expr(node, *key.left, (*inputs)[0], "a left key");
      check_expr(node, *key.right, (*inputs)[1], "a right key");
      if (!are_alike(key.left->type, key.right->type)) fail(node, "the sides of a key differ in their types");
    }
    if (node.is_direct) check_direct(node);
    const bool is_claimed = proves_claims_ && node.has_one_partner && node.join == JoinKind::kLeft;
    if (is_claimed && !never_matches(node) && !has_one_partner(node)) fail(node, "a row may have two partners");
    Visible visible = (*inputs)[0];
    if (node.join == JoinKind::kFull)
      for (auto& [relation, is_filled] : visible) is_filled = true;
    if (node.join == JoinKind::kMark) visible[node.relation] = false;
    if (node.join == JoinKind::kSemi || node.join == JoinKind::kAnti || node.join == JoinKind::kMark) return visible;
    for (const auto& [relation, is_filled] : (*inputs)[1])
      visible[relation] = is_filled || node.join != JoinKind::kInner;
    return visible;
  }

  static bool never_matches(const PlanNode& node) {
    return std::any_of(node.conjuncts.begin(), node.conjuncts.end(),
                       [](const BoundPtr& e) { return e->kind == BoundKind::kConst; });
  }

  void check_direct(const PlanNode& node) {
    std::vector<const BoundExpr*> keys;
    for (const auto& key : node.keys) keys.push_back(key.right.get());
    if (!is_unique(*node.inputs[1], columns_of(keys))) fail(node, "rows of its array may have one key");
  }

  void visit_subquery(const PlanNode& node, const Visible& below, Visible* visible) {
    (*visible)[node.relation] = node.join == JoinKind::kLeft;
    scyper::query::visit(*node.owned->query, [&](const BoundExpr& e) {
      if (e.kind == BoundKind::kColumn && fault_.empty()) check_column(node, e, below, "the query", true);
    });
  }

  // As visit() has it, without looking at expressions again.
  static Visible offered_by(const PlanNode& node) {
    Visible visible;
    if (node.kind == PlanKind::kJoin) {
      visible = offered_by(*node.inputs[0]);
      const bool filters = node.join == JoinKind::kSemi || node.join == JoinKind::kAnti || node.join == JoinKind::kMark;
      if (node.join == JoinKind::kFull)
        for (auto& [relation, is_filled] : visible) is_filled = true;
      if (node.join == JoinKind::kMark) visible[node.relation] = false;
      if (filters) return visible;
      for (const auto& [relation, is_filled] : offered_by(*node.inputs[1]))
        visible[relation] = is_filled || node.join != JoinKind::kInner;
      return visible;
    }
    if (node.kind == PlanKind::kShared && node.relation == kNoRelation) return offered_by(*node.shared->plan);
    const bool hides = node.kind == PlanKind::kGroup || node.kind == PlanKind::kSetOp ||
                       node.kind == PlanKind::kRecursive || node.kind == PlanKind::kShared;
    if (!hides)
      for (const auto& input : node.inputs) visible.merge(offered_by(*input));
    if (node.relation != kNoRelation && node.kind != PlanKind::kInner)
      visible[node.relation] = node.kind == PlanKind::kSubquery && node.join == JoinKind::kLeft;
    return visible;
  }

  struct SortKey {
    const BoundExpr* expr;
    const SortTerm* term;  // nullptr: in any direction
  };
  static std::vector<SortKey> keys_of(const PlanNode& node) {
    std::vector<SortKey> keys;
    for (const auto& e : node.exprs)
      if (std::none_of(keys.begin(), keys.end(), [&](const SortKey& key) { return same(*key.expr, *e); }))
        keys.push_back({e.get(), nullptr});
    for (const auto& term : node.order) keys.push_back({term.expr.get(), &term});
    return keys;
  }

  // Do the rows come sorted by the keys? The last `ordered` of them in that order and direction, those before in any.
  static bool is_sorted_by(const PlanNode& node, const std::vector<SortKey>& keys, size_t ordered) {
    if (keys.empty()) return true;
    const PlanNode* n = &node;
    while (n->kind == PlanKind::kFilter || n->kind == PlanKind::kMap ||
           (n->kind == PlanKind::kWindow && n->is_sorted) || (n->kind == PlanKind::kSort && n->order.empty()))
      n = n->inputs[0].get();
    if (n->kind != PlanKind::kSort && n->kind != PlanKind::kWindow) return false;
    const std::vector<SortKey> sorted = keys_of(*n);
    const size_t free = keys.size() - ordered;
    if (sorted.size() < keys.size()) return false;
    for (size_t i = 0; i < free; i++)
      if (std::none_of(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(free),
                       [&](const SortKey& key) { return same(*key.expr, *sorted[i].expr); }))
        return false;
    for (size_t i = free; i < keys.size(); i++) {
      if (!same(*keys[i].expr, *sorted[i].expr)) return false;
      const SortTerm *wanted = keys[i].term, *given = sorted[i].term;
      const bool descends = given != nullptr && given->descending, first = given != nullptr && given->nulls_first;
      if (wanted != nullptr && (wanted->descending != descends || wanted->nulls_first != first)) return false;
    }
    return true;
  }

  const Plan& plan_;
  const std::set<uint32_t>& outer_;
  const bool proves_claims_;
  std::map<uint32_t, const PlanNode*> definitions_;
  std::string fault_;
};

}  // namespace

std::string find_fault(const Plan& plan, const std::set<uint32_t>& outer, bool proves_claims) {
  return PlanChecker(plan, outer, proves_claims).run();
}

void check_plan(const Plan& plan, const std::set<uint32_t>& outer, const char* pass, bool proves_claims) {
  const std::string fault = find_fault(plan, outer, proves_claims);
  if (fault.empty()) return;
  const std::string text = absl::StrCat("after ", pass, ": ", fault);
  invariant_failed(__FILE__, __LINE__, text.c_str());
}

}  // namespace scyper::query
