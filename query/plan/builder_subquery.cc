#include <algorithm>
#include <utility>

#include "base/invariant.h"
#include "bind/make.h"
#include "bind/statement_reads.h"
#include "plan/builder.h"
#include "plan/expressions.h"
#include "plan/in_vain.h"
#include "plan/unique.h"

// Subqueries as joins.
namespace scyper::query {

void PlanBuilder::add_condition(PlanPtr* tree, BoundPtr conjunct) {
  if (has_subquery(*conjunct)) {
    bool negated = conjunct->kind == BoundKind::kNot;
    const BoundExpr& inner = negated ? *conjunct->args[0] : *conjunct;
    bool is_in = inner.kind == BoundKind::kInSubquery;
    if (inner.kind == BoundKind::kExists || is_in) {
      bool certain = std::none_of(inner.args.begin(), inner.args.end(), [](const BoundPtr& e) { return e->nullable; });
      bool plain =
          std::none_of(inner.args.begin(), inner.args.end(), [](const BoundPtr& e) { return has_subquery(*e); });
      if (plain && (!negated || !is_in || certain)) {
        rename_copy(inner.query.get());
        if (join_subquery(tree, inner, negated ? JoinKind::kAnti : JoinKind::kSemi, nullptr))
          return kept_.push_back(std::move(conjunct));
      }
    }
    place_subqueries(&conjunct, tree, Asked::kAlways);
  }
  std::vector<BoundPtr> conjuncts;
  split_and(std::move(conjunct), &conjuncts);
  if ((*tree)->kind == PlanKind::kInner || (*tree)->kind == PlanKind::kFilter) {
    for (auto& e : conjuncts) (*tree)->conjuncts.push_back(std::move(e));
    return;
  }
  *tree = make_filter(std::move(*tree), std::move(conjuncts));
}

namespace {
// Does a subquery run where it stands, when it is asked?
bool stays(const BoundExpr& e, bool is_branch, bool is_optional) {
  const bool is_drawn = reads_drawn_rows(*e.query);
  if (computes_once(*e.query)) return e.kind != BoundKind::kInSubquery && !is_drawn;  // a join compares rows of IN
  return is_branch || (is_optional && shows_in_vain(e) && !is_drawn);
}
}  // namespace

void PlanBuilder::place_subqueries(BoundPtr* expr, PlanPtr* tree, Asked asked) {
  BoundExpr& e = **expr;
  if (!has_subquery(e)) return;
  for (size_t i = 0; i < e.args.size(); i++) {
    const bool is_logic = e.kind == BoundKind::kAnd || e.kind == BoundKind::kOr;
    const bool has_branches = e.kind == BoundKind::kCase || e.kind == BoundKind::kCoalesce;
    const Asked mine = i == 0 ? Asked::kAlways : is_logic ? Asked::kPerhaps : has_branches ? Asked::kInBranch : asked;
    place_subqueries(&e.args[i], tree, std::max(asked, mine));
  }
  if (e.query == nullptr) return;
  rename_copy(e.query.get());
  if (stays(e, asked == Asked::kInBranch, asked == Asked::kPerhaps)) return note_relations(e.query.get());
  if (e.kind == BoundKind::kScalarSubquery) {
    std::set<uint32_t> before = built_;
    Built built = build(*e.query);
    Unnesting unnesting(tree, next_relation_, &shared_);
    bool can = unnesting.can(*built.root);
    bool is_correlated = unnesting.is_correlated(*built.root), draws = false;
    for (const auto& output : built.outputs) {
      const bool reads = intersects(relations_of(*output), produced_by(**tree));
      can &= !has_subquery(*output) || !reads;
      is_correlated |= reads;
      draws |= calls_volatile(*output);
    }
    if (!can || (is_correlated && draws)) {
      built_ = std::move(before);
      return note_relations(e.query.get());
    }
    BoundPtr value = attach_scalar(tree, std::move(built));
    kept_.push_back(std::exchange(*expr, std::move(value)));
    return;
  }
  bool plain = std::none_of(e.args.begin(), e.args.end(), [](const BoundPtr& arg) { return has_subquery(*arg); });
  BoundPtr mark;
  if (!plain || !join_subquery(tree, e, JoinKind::kMark, &mark)) return note_relations(e.query.get());
  kept_.push_back(std::exchange(*expr, std::move(mark)));
}

namespace {
// EXISTS looks at no columns and no order.
void strip(PlanPtr* node, bool keeps_columns) {
  for (;;) {
    PlanNode& n = **node;
    bool drop = (n.kind == PlanKind::kSort && n.limit == nullptr && n.offset == nullptr) ||
                (!keeps_columns && n.kind == PlanKind::kMap) ||
                (!keeps_columns && n.kind == PlanKind::kGroup && !n.exprs.empty());
    if (!keeps_columns && n.kind == PlanKind::kSort && n.offset == nullptr && n.limit != nullptr)
      drop = n.limit->kind == BoundKind::kConst && !n.limit->value.null && n.limit->value.lo > 0;
    if (!drop) return;
    PlanPtr input = std::move(n.inputs[0]);
    *node = std::move(input);
  }
}
}  // namespace

// EXISTS and IN as semi, anti or mark join. false: it has to run where it stands.
bool PlanBuilder::join_subquery(PlanPtr* tree, const BoundExpr& subquery, JoinKind kind, BoundPtr* mark) {
  std::set<uint32_t> before = built_;
  auto give_up = [&] {
    built_ = std::move(before);
    return false;
  };
  Built built = build(*subquery.query);
  bool exists = subquery.kind == BoundKind::kExists;
  strip(&built.root, !exists);
  const bool draws = std::any_of(built.outputs.begin(), built.outputs.end(),
                                 [](const auto& e) { return is_volatile(*e) || has_subquery(*e); });
  if (!exists && draws) name_outputs(&built);  // once for each of its rows, not for each pair
  if (!Unnesting(tree, next_relation_, &shared_).can(*built.root)) return give_up();
  if (kind == JoinKind::kMark && !draws && join_null_aware(tree, &built, subquery, mark)) return true;
  std::vector<BoundPtr> conjuncts, doubtful;
  for (const auto& arg : subquery.args) {
    BoundPtr copy = clone(*arg);
    rewrite(&copy, [&](BoundPtr* e) {
      if ((*e)->kind != BoundKind::kSubqueryOutput) return false;
      bool nullable = (*e)->nullable;
      *e = clone(*built.outputs[(*e)->index]);
      (*e)->nullable |= nullable;
      return true;
    });
    if (has_subquery(*copy)) return give_up();
    bool matters = kind == JoinKind::kMark && copy->nullable;
    (matters ? doubtful : conjuncts).push_back(std::move(copy));
  }
  bool doubts = !doubtful.empty();
  PlanNode* join = nullptr;
  // doubtful conjuncts travel with the others, so that what they name is kept, and are told apart afterwards
  size_t certain = conjuncts.size();
  for (auto& e : doubtful) conjuncts.push_back(std::move(e));
  size_t total = conjuncts.size();
  attach(tree, std::move(built.root), kind, std::move(conjuncts), &join);
  for (size_t i = certain; i < total; i++) join->doubtful.push_back(std::move(join->conjuncts[i]));
  join->conjuncts.erase(join->conjuncts.begin() + static_cast<ptrdiff_t>(certain),
                        join->conjuncts.begin() + static_cast<ptrdiff_t>(total));
  if (kind == JoinKind::kMark) {
    join->relation = new_relation();
    *mark = make_reference({join->relation, 0}, make_type(TypeId::kBool), doubts);
  }
  return true;
}

namespace {

BoundPtr make_case(std::vector<BoundPtr> args) {
  BoundPtr result = make_expr(BoundKind::kCase, make_type(TypeId::kBool), true, -1);
  result->args = std::move(args);
  return result;
}

BoundPtr is_null(BoundPtr value) {
  BoundPtr result = make_expr(BoundKind::kIsNull, make_type(TypeId::kBool), false, -1);
  result->args.push_back(std::move(value));
  return result;
}

BoundPtr truth(bool value) { return make_constant(make_type(TypeId::kBool), int_datum(value ? 1 : 0), -1); }

}  // namespace

// The rows of a plan, computed once, for several readers. Its only column is `value`.
std::shared_ptr<SharedPlan> PlanBuilder::share_values(PlanPtr root, BoundPtr value) {
  auto shared = std::make_shared<SharedPlan>();
  shared->number = new_relation();
  PlanPtr map = make_node(PlanKind::kMap);
  map->relation = new_relation();
  map->exprs.push_back(std::move(value));
  map->inputs.push_back(std::move(root));
  shared->plan = std::move(map);
  shared_.push_back(shared);
  return shared;
}

PlanPtr PlanBuilder::read_values(const std::shared_ptr<SharedPlan>& shared) {
  const BoundExpr& value = *shared->plan->exprs[0];
  PlanPtr reader = make_node(PlanKind::kShared);
  reader->relation = new_relation();
  reader->shared = shared;
  reader->columns.push_back({{shared->plan->relation, 0}, value.type, value.nullable});
  return reader;
}

// x IN (SELECT y ...) as a value, where NULL may decide and nothing in the subquery depends on the row. A mark says
// whether some y is equal. Where none is, the numbers of the rows and of those that are not NULL tell FALSE from NULL.
// false: it is not of this kind.
bool PlanBuilder::join_null_aware(PlanPtr* tree, Built* built, const BoundExpr& subquery, BoundPtr* mark) {
  if (subquery.kind != BoundKind::kInSubquery || subquery.args.size() != 1 || !subquery.args[0]->nullable) return false;
  BoundPtr equality = clone(*subquery.args[0]);
  const BoundExpr *x = nullptr, *y = nullptr;
  bool is_null_safe = false;
  if (!is_equality(*equality, &x, &y, &is_null_safe) || is_null_safe || equality->kind != BoundKind::kBuiltin)
    return false;
  if (x->type.id != y->type.id || x->type.id == TypeId::kArray || has_subquery(*equality) || is_volatile(*x))
    return false;
  const Unnesting unnesting(tree, next_relation_, &shared_);
  const bool is_correlated = unnesting.is_correlated(*built->root) ||
                             std::any_of(built->outputs.begin(), built->outputs.end(),
                                         [&](const BoundPtr& e) { return unnesting.is_correlated(*e); });
  if (is_correlated) return false;
  rewrite(&equality->args[1], [&](BoundPtr* e) {
    if ((*e)->kind != BoundKind::kSubqueryOutput) return false;
    const bool nullable = (*e)->nullable;
    *e = clone(*built->outputs[(*e)->index]);
    (*e)->nullable |= nullable;
    return true;
  });
  const auto shared = share_values(std::move(built->root), std::move(equality->args[1]));
  PlanPtr values = read_values(shared), rows = read_values(shared);
  const PlanColumn column = values->columns[0];
  equality->args[1] = make_reference({values->relation, 0}, column.type, column.nullable);
  BoundPtr left = clone(*equality->args[0]);
  *tree = make_join(JoinKind::kMark, std::move(*tree), std::move(values));
  (*tree)->relation = new_relation();
  (*tree)->conjuncts.push_back(std::move(equality));
  BoundPtr is_found = make_reference({(*tree)->relation, 0}, make_type(TypeId::kBool), false);

  PlanPtr group = make_node(PlanKind::kGroup);
  group->relation = new_relation();
  group->aggregates.push_back(count_rows());
  group->aggregates.push_back(count_rows());
  group->aggregates[1].kind = AggregateKind::kCount;
  group->aggregates[1].arity = 1;
  group->aggregates[1].args.push_back(make_reference({rows->relation, 0}, column.type, column.nullable));
  group->inputs.push_back(std::move(rows));
  const auto count = [&](uint32_t number) {
    return make_reference({group->relation, number}, make_type(TypeId::kInt8), false);
  };
  std::vector<BoundPtr> doubts;
  doubts.push_back(is_null(std::move(left)));
  doubts.push_back(make_not(make_equal(count(0), count(1))));
  std::vector<BoundPtr> branches;
  branches.push_back(std::move(is_found));
  branches.push_back(truth(true));
  branches.push_back(make_equal(count(0), make_constant(make_type(TypeId::kInt8), int_datum(0), -1)));
  branches.push_back(truth(false));
  branches.push_back(make_or(std::move(doubts)));
  branches.push_back(make_null(make_type(TypeId::kBool), -1));
  branches.push_back(truth(false));
  *mark = make_case(std::move(branches));
  add_inner(tree, std::move(group));
  return true;
}

// Joins `node`, whose columns may refer to the tree's, with the tree. conjuncts come first in the join's.
bool PlanBuilder::attach(PlanPtr* tree, PlanPtr node, JoinKind kind, std::vector<BoundPtr> conjuncts, PlanNode** join) {
  Unnesting unnesting(tree, next_relation_, &shared_);
  bool filters = kind == JoinKind::kSemi || kind == JoinKind::kAnti || kind == JoinKind::kMark;
  // a selection on top can be checked by the join
  bool top = node->kind == PlanKind::kFilter || node->kind == PlanKind::kInner;
  if (top && (filters || kind == JoinKind::kInner || kind == JoinKind::kLeft)) {
    bool below = std::any_of(node->inputs.begin(), node->inputs.end(),
                             [&](const PlanPtr& input) { return unnesting.is_correlated(*input); });
    if (!below) {
      std::vector<BoundPtr> kept;
      for (auto& e : node->conjuncts) (unnesting.is_correlated(*e) ? conjuncts : kept).push_back(std::move(e));
      node->conjuncts = std::move(kept);
    }
  }
  Unnesting::Stands stands = unnesting.push_down(&node);
  for (auto& e : Unnesting::join_conjuncts(stands)) conjuncts.push_back(std::move(e));
  if (kind == JoinKind::kInner) {
    add_inner(tree, std::move(node));
    if ((*tree)->kind != PlanKind::kInner) *tree = make_filter(std::move(*tree), {});
    for (auto& e : conjuncts) (*tree)->conjuncts.push_back(std::move(e));
    return true;
  }
  *tree = make_join(kind, std::move(*tree), std::move(node));
  (*tree)->conjuncts = std::move(conjuncts);
  *join = tree->get();
  return true;
}

namespace {
// A subquery of one row: a second partner needs no watch where it is certain that there is none.
void claim_one_partner(PlanNode* join) {
  if (!has_one_partner(*join)) return;
  join->join = JoinKind::kLeft;
  join->has_one_partner = true;
}
}  // namespace

BoundPtr PlanBuilder::attach_scalar(PlanPtr* tree, Built built) {
  strip(&built.root, true);
  PlanNode* join = nullptr;
  Unnesting unnesting(tree, next_relation_, &shared_);
  BoundPtr& output = built.outputs[0];
  bool correlated = unnesting.is_correlated(*built.root) || unnesting.is_correlated(*output);
  if (!correlated && built.one_row && !is_volatile(*output)) {
    if (built.root->kind == PlanKind::kOneRow) return std::move(output);
    add_inner(tree, std::move(built.root));
    return std::move(output);
  }
  const bool is_total = built.root->kind == PlanKind::kGroup && built.root->exprs.empty();  // not the group of DISTINCT
  if (correlated && built.one_row && is_total && !unnesting.is_correlated(*output))
    return attach_static(tree, std::move(built));
  // the value as a column, so that it is NULL where there is no row
  PlanPtr map = make_node(PlanKind::kMap);
  map->relation = new_relation();
  BoundPtr reference = make_reference({map->relation, 0}, output->type, true);
  map->exprs.push_back(std::move(output));
  map->inputs.push_back(std::move(built.root));
  attach(tree, std::move(map), JoinKind::kSingle, {}, &join);
  if (built.one_row) claim_one_partner(join);
  return reference;
}

// An aggregation without GROUP BY: grouped by what it is correlated with; where no group is, counts are 0 and other
// aggregates NULL.
BoundPtr PlanBuilder::attach_static(PlanPtr* tree, Built built) {
  PlanNode* group = built.root.get();
  Unnesting unnesting(tree, next_relation_, &shared_);
  bool inner_only = std::all_of(group->aggregates.begin(), group->aggregates.end(), [&](const Aggregate& aggregate) {
    return std::none_of(aggregate.args.begin(), aggregate.args.end(),
                        [&](const BoundPtr& e) { return unnesting.is_correlated(*e); }) &&
           (aggregate.filter == nullptr || !unnesting.is_correlated(*aggregate.filter));
  });
  BoundPtr output = std::move(built.outputs[0]);
  PlanNode* join = nullptr;
  if (!inner_only) {
    PlanPtr map = make_node(PlanKind::kMap);
    map->relation = new_relation();
    BoundPtr reference = make_reference({map->relation, 0}, output->type, true);
    map->exprs.push_back(std::move(output));
    map->inputs.push_back(std::move(built.root));
    attach(tree, std::move(map), JoinKind::kSingle, {}, &join);
    claim_one_partner(join);
    return reference;
  }
  Unnesting::raise_order(group);
  Unnesting::Stands stands = unnesting.push_down(&group->inputs[0]);
  size_t keys = 0;
  for (auto& [id, stand] : stands) {
    SqlType type = stand.expr->type;
    bool nullable = stand.expr->nullable;
    group->exprs.push_back(std::move(stand.expr));
    stand.expr = make_reference({group->relation, static_cast<uint32_t>(keys++)}, type, nullable);
  }
  rewrite(&output, [&](BoundPtr* e) {
    if ((*e)->kind != BoundKind::kColumn || (*e)->relation != group->relation) return false;
    INVARIANT((*e)->index < group->aggregates.size());
    const Aggregate& aggregate = group->aggregates[(*e)->index];
    bool counts = counts_rows(aggregate.kind);
    (*e)->index += static_cast<uint32_t>(keys);
    (*e)->nullable = true;
    if (counts) *e = make_coalesce_zero(std::move(*e));
    return true;
  });
  std::vector<BoundPtr> conjuncts = Unnesting::join_conjuncts(stands);
  *tree = make_join(JoinKind::kLeft, std::move(*tree), std::move(built.root));
  (*tree)->conjuncts = std::move(conjuncts);
  (*tree)->has_one_partner = true;
  return output;
}

}  // namespace scyper::query
