#include "plan/builder.h"

#include <algorithm>
#include <utility>

#include "base/bounded_work.h"
#include "base/invariant.h"
#include "bind/make.h"
#include "plan/expressions.h"
#include "plan/row_bounds.h"

namespace scyper::query {

Aggregate PlanBuilder::count_rows() {
  Aggregate count;
  count.type = make_type(TypeId::kInt8);
  return count;
}

BoundPtr PlanBuilder::resolve(const BoundExpr& expr) const {
  check_stack();
  poll_work();
  BoundPtr copy = clone(expr);
  rewrite(&copy, [&](BoundPtr* e) {
    if ((*e)->kind == BoundKind::kWindow) {
      auto named = windows_.find((*e)->relation);
      if (named == windows_.end()) return false;
      *e = make_reference(named->second[(*e)->index], (*e)->type, (*e)->nullable);
      return true;
    }
    bool is_group = (*e)->kind == BoundKind::kGroup;
    bool is_grouping = (*e)->kind == BoundKind::kGrouping;
    if (!is_group && !is_grouping && (*e)->kind != BoundKind::kAggregate) return false;
    auto it = groups_.find((*e)->relation);
    if (it == groups_.end()) return false;  // of a query that runs around this plan
    if (is_grouping && !it->second.has_sets) {
      *e = make_constant((*e)->type, int_datum(0), -1);
      return true;
    }
    uint32_t position = (*e)->index + (is_group ? 0 : static_cast<uint32_t>(it->second.keys));
    if (is_grouping) position += static_cast<uint32_t>(it->second.aggregates);
    *e = make_reference({it->second.relation, position}, (*e)->type, (*e)->nullable);
    return true;
  });
  return copy;
}

std::vector<BoundPtr> PlanBuilder::resolve_all(const std::vector<BoundPtr>& exprs) const {
  std::vector<BoundPtr> copies;
  for (const auto& expr : exprs) copies.push_back(resolve(*expr));
  return copies;
}

PlanBuilder::Built PlanBuilder::build(const BoundQuery& query) {
  check_stack();
  poll_work();
  // Names of groups and windows are those of one build: the query may be built again, or run where it stands.
  auto groups = groups_;
  auto windows = windows_;
  Built built = query.set == SetOp::kNone ? build_plain(query) : build_set(query);
  finish(query, &built);
  if (built.one_row) {
    const RowBounds rows = row_bounds(*built.root);
    INVARIANT(rows.least == 1 && rows.most == 1);
  }
  groups_ = std::move(groups);
  windows_ = std::move(windows);
  return built;
}

std::vector<std::shared_ptr<SharedPlan>> PlanBuilder::take_shared(const PlanNode& root) {
  std::vector<const SharedPlan*> ordered;
  std::set<const SharedPlan*> seen;
  std::function<void(const PlanNode&)> visit = [&](const PlanNode& node) {
    if (node.kind == PlanKind::kShared && seen.insert(node.shared.get()).second) {
      visit(*node.shared->plan);
      ordered.push_back(node.shared.get());
    }
    for (const auto& input : node.inputs) visit(*input);
  };
  // the order in which they were made, but for those that were changed to read a later one
  std::set<const SharedPlan*> reached;
  visit(root);
  reached.swap(seen);
  ordered.clear();
  std::vector<std::shared_ptr<SharedPlan>> taken;
  for (const auto& shared : shared_) {
    if (reached.count(shared.get()) == 0 || !seen.insert(shared.get()).second) continue;
    visit(*shared->plan);
    ordered.push_back(shared.get());
  }
  for (const SharedPlan* plan : ordered)
    for (const auto& shared : shared_)
      if (shared.get() == plan) taken.push_back(shared);
  shared_.clear();
  return taken;
}

PlanBuilder::Built PlanBuilder::build_plain(const BoundQuery& query) {
  Built built;
  built.root = build_from(query);
  // what needs no subquery first
  for (const auto& conjunct : query.where)
    if (!has_subquery(*conjunct)) add_condition(&built.root, resolve(*conjunct));
  for (const auto& conjunct : query.where)
    if (has_subquery(*conjunct)) add_condition(&built.root, resolve(*conjunct));
  built.one_row = query.from.empty() && query.where.empty();
  if (query.aggregated) {
    add_group(query, &built.root);
    built.one_row = query.groups.empty() && query.having.empty() && query.grouping_sets.size() <= 1;
  }
  for (const auto& conjunct : query.having) add_condition(&built.root, resolve(*conjunct));
  add_windows(query, &built.root);
  for (const auto& output : query.outputs) {
    BoundPtr expr = resolve(*output.expr);
    place_subqueries(&expr, &built.root, Asked::kAlways);
    built.outputs.push_back(std::move(expr));
  }
  return built;
}

// --- FROM ---

void PlanBuilder::add_inner(PlanPtr* tree, PlanPtr input) {
  if (*tree == nullptr) {
    *tree = std::move(input);
    return;
  }
  if ((*tree)->kind != PlanKind::kInner) {
    PlanPtr inner = make_node(PlanKind::kInner);
    inner->inputs.push_back(std::move(*tree));
    *tree = std::move(inner);
  }
  (*tree)->inputs.push_back(std::move(input));
}

PlanPtr PlanBuilder::build_relation(const Relation& relation) {
  built_.insert(relation.id);
  PlanPtr node;
  switch (relation.kind) {
    case RelationKind::kTable:
      node = make_node(PlanKind::kGet);
      break;
    case RelationKind::kQuery: {
      Built built = build(*relation.query);
      node = make_node(PlanKind::kMap);
      for (size_t i = 0; i < built.outputs.size(); i++)
        if (!relation.query->outputs[i].hidden) node->exprs.push_back(std::move(built.outputs[i]));
      node->inputs.push_back(std::move(built.root));
      break;
    }
    case RelationKind::kValues:
      node = make_node(PlanKind::kValues);
      for (const auto& row : relation.rows) node->outputs.push_back(resolve_all(row));
      node->inputs.push_back(make_node(PlanKind::kOneRow));
      break;
    case RelationKind::kCommon:
      return build_common(relation);
    case RelationKind::kSeries:
    case RelationKind::kUnnest:
    case RelationKind::kFunction:
    case RelationKind::kFeed:
    case RelationKind::kForeign:
      node = make_node(PlanKind::kFunction);
      node->exprs = resolve_all(relation.arguments);
      node->inputs.push_back(make_node(PlanKind::kOneRow));
      break;
  }
  node->relation = relation.id;
  node->source = &relation;
  return node;
}

// SELECT * FROM a relation that is no query, as one.
std::unique_ptr<Relation> PlanBuilder::as_query(const Relation& relation) {
  auto query = std::make_unique<BoundQuery>();
  std::unique_ptr<Relation> inner = clone(relation);
  inner->id = new_relation();
  for (uint32_t i = 0; i < relation.columns.size(); i++) {
    const RelationColumn& column = relation.columns[i];
    query->outputs.push_back({column.name, make_reference({inner->id, i}, column.type, column.nullable), false});
  }
  query->id = new_relation();
  query->correlated = true;
  query->from.push_back({std::move(inner), JoinType::kInner, {}});
  auto outer = std::make_unique<Relation>();
  outer->id = relation.id;
  outer->kind = RelationKind::kQuery;
  outer->alias = relation.alias;
  outer->columns = relation.columns;
  outer->query = std::move(query);
  return outer;
}

void PlanBuilder::add_lateral(PlanPtr* tree, PlanPtr input, const Relation& relation, JoinKind kind,
                              std::vector<BoundPtr> on) {
  if (kind == JoinKind::kInner && on.empty() && input->kind == PlanKind::kFunction &&
      input->inputs[0]->kind == PlanKind::kOneRow) {  // called for each row
    input->inputs[0] = std::move(*tree);
    *tree = std::move(input);
    return;
  }
  PlanNode* join = nullptr;
  if (Unnesting(tree, next_relation_, &shared_).can(*input)) {
    attach(tree, std::move(input), kind, std::move(on), &join);
    return;
  }
  add_subquery(tree, relation.query != nullptr ? clone(relation) : as_query(relation), kind, std::move(on));
}

// A query that runs anew for each row of the tree.
void PlanBuilder::add_subquery(PlanPtr* tree, std::unique_ptr<Relation> relation, JoinKind kind,
                               std::vector<BoundPtr> on) {
  PlanPtr node = make_node(PlanKind::kSubquery);
  node->relation = relation->id;
  node->owned = std::move(relation);
  rewrite(node->owned->query.get(), [&](BoundPtr* e) {
    if ((*e)->kind != BoundKind::kGroup && (*e)->kind != BoundKind::kAggregate && (*e)->kind != BoundKind::kWindow)
      return false;
    *e = resolve(**e);
    return true;
  });
  node->join = kind;
  node->conjuncts = std::move(on);
  node->inputs.push_back(std::move(*tree));
  *tree = std::move(node);
}

PlanPtr PlanBuilder::build_from(const BoundQuery& query) {
  PlanPtr tree;
  for (const JoinTree& item : query.joins) {
    PlanPtr input = build_tree(query, item);
    if (tree != nullptr && intersects(free_relations(*input), produced_by(*tree)))
      add_dependent(query, item, &tree, std::move(input), JoinKind::kInner, {});
    else
      add_inner(&tree, std::move(input));
  }
  if (!query.joins.empty()) return tree;
  std::vector<const FromEntry*> later;
  auto is_lateral = [&](const PlanNode& node) {
    std::set<uint32_t> free = free_relations(node);
    return std::any_of(query.from.begin(), query.from.end(),
                       [&](const FromEntry& entry) { return free.count(entry.relation->id) != 0; });
  };
  for (const auto& entry : query.from) {
    if (entry.join == JoinType::kInner && later.empty()) {
      PlanPtr input = build_relation(*entry.relation);
      const bool is_select_list = tree != nullptr && entry.relation->kind == RelationKind::kUnnest &&
                                  entry.relation->alias == "*SELECT*";  // its rows come together for each row
      if (is_select_list || is_lateral(*input)) {
        add_lateral(&tree, std::move(input), *entry.relation, JoinKind::kInner, {});
      } else {
        add_inner(&tree, std::move(input));
      }
      continue;
    }
    // inner joins of plain relations may go before outer ones: their ON names only what is to their left
    if (entry.join == JoinType::kInner && entry.relation->kind == RelationKind::kTable) {
      add_inner(&tree, build_relation(*entry.relation));
      continue;
    }
    later.push_back(&entry);
  }
  for (const FromEntry* entry : later) {
    PlanPtr input = build_relation(*entry->relation);
    JoinKind kind = entry->join == JoinType::kLeft ? JoinKind::kLeft : JoinKind::kInner;
    std::vector<BoundPtr> on = resolve_all(entry->on);
    bool lateral =
        is_lateral(*input) || std::any_of(on.begin(), on.end(), [](const BoundPtr& e) { return has_subquery(*e); });
    if (lateral) {
      add_lateral(&tree, std::move(input), *entry->relation, kind, std::move(on));
    } else if (kind == JoinKind::kInner) {
      add_inner(&tree, std::move(input));
    } else {
      tree = make_join(kind, std::move(tree), std::move(input));
      tree->conjuncts = std::move(on);
    }
  }
  return tree == nullptr ? make_node(PlanKind::kOneRow) : std::move(tree);
}

void PlanBuilder::add_group(const BoundQuery& query, PlanPtr* tree) {
  PlanPtr group = make_node(PlanKind::kGroup);
  group->relation = new_relation();
  group->exprs = resolve_all(query.groups);
  for (const auto& aggregate : query.aggregates) {
    Aggregate copy = clone(aggregate);
    for (auto& arg : copy.args) arg = resolve(*arg);
    if (copy.filter != nullptr) copy.filter = resolve(*copy.filter);
    group->aggregates.push_back(std::move(copy));
  }
  // HAVING alone: one group of all rows, also of none. A group-by without aggregates would be a DISTINCT.
  if (group->exprs.empty() && group->aggregates.empty() && query.grouping_sets.empty())
    group->aggregates.push_back(count_rows());
  for_each_own(group.get(), [&](BoundPtr& e) { place_subqueries(&e, tree, Asked::kAlways); });
  group->inputs.push_back(std::move(*tree));
  if (query.grouping_sets.empty()) deduplicate_first(group.get());
  groups_[query.id] = {group->relation, group->exprs.size(), group->aggregates.size(), !query.grouping_sets.empty()};
  *tree = query.grouping_sets.empty() ? std::move(group) : build_grouping_sets(query, std::move(group));
}

// Aggregates that are all over the distinct values of one expression: these values are groups of a group-by below.
void PlanBuilder::deduplicate_first(PlanNode* group) {
  if (group->aggregates.empty()) return;
  const Aggregate& first = group->aggregates[0];
  for (const auto& aggregate : group->aggregates)
    if (!aggregate.distinct || aggregate.collects() || aggregate.args.size() != 1 || aggregate.filter != nullptr ||
        !same(*aggregate.args[0], *first.args[0]) || is_volatile(*aggregate.args[0]))
      return;
  PlanPtr inner = make_node(PlanKind::kGroup);
  inner->relation = new_relation();
  auto name = [&](BoundPtr& e) {
    BoundPtr reference =
        make_reference({inner->relation, static_cast<uint32_t>(inner->exprs.size())}, e->type, e->nullable);
    inner->exprs.push_back(std::exchange(e, std::move(reference)));
  };
  for (auto& key : group->exprs) name(key);
  name(group->aggregates[0].args[0]);
  for (auto& aggregate : group->aggregates) {
    aggregate.distinct = false;
    aggregate.args[0] = clone(*group->aggregates[0].args[0]);
  }
  inner->inputs.push_back(std::move(group->inputs[0]));
  group->inputs[0] = std::move(inner);
}

// --- what comes behind: DISTINCT, ORDER BY, LIMIT ---

// Outputs as columns of a map.
void PlanBuilder::name_outputs(Built* built) {
  bool plain = std::all_of(built->outputs.begin(), built->outputs.end(),
                           [](const BoundPtr& e) { return e->kind == BoundKind::kColumn; });
  if (plain) return;
  PlanPtr map = make_node(PlanKind::kMap);
  map->relation = new_relation();
  for (auto& output : built->outputs) {
    if (output->kind == BoundKind::kColumn || output->kind == BoundKind::kConst) continue;
    BoundPtr reference =
        make_reference({map->relation, static_cast<uint32_t>(map->exprs.size())}, output->type, output->nullable);
    map->exprs.push_back(std::exchange(output, std::move(reference)));
  }
  if (map->exprs.empty()) return;
  map->inputs.push_back(std::move(built->root));
  built->root = std::move(map);
}

void PlanBuilder::finish(const BoundQuery& query, Built* built) {
  if (query.distinct) {
    PlanPtr group = make_node(PlanKind::kGroup);
    group->relation = new_relation();
    for (auto& output : built->outputs) {
      BoundPtr reference =
          make_reference({group->relation, static_cast<uint32_t>(group->exprs.size())}, output->type, output->nullable);
      group->exprs.push_back(std::exchange(output, std::move(reference)));
    }
    group->inputs.push_back(std::move(built->root));
    built->root = std::move(group);
  }
  if (query.order.empty() && query.limit == nullptr && query.offset == nullptr && query.distinct_on.empty()) return;
  built->one_row = false;
  name_outputs(built);
  PlanPtr sort = make_node(PlanKind::kSort);
  for (const auto& item : query.order) {
    const BoundExpr& output = *built->outputs[item.output];
    if (output.kind == BoundKind::kConst) continue;
    sort->order.push_back({clone(output), item.descending, item.nulls_first});
  }
  if (!query.distinct_on.empty()) {
    PlanPtr unique = make_node(PlanKind::kUnique);
    for (uint32_t output : query.distinct_on) {
      const BoundExpr& e = *built->outputs[output];
      if (e.kind == BoundKind::kConst) continue;
      unique->exprs.push_back(clone(e));
      bool sorted = std::any_of(sort->order.begin(), sort->order.end(),
                                [&](const SortTerm& term) { return same(*term.expr, e); });
      if (!sorted) sort->order.push_back({clone(e), false, false});
    }
    sort->inputs.push_back(std::move(built->root));
    unique->inputs.push_back(sort->order.empty() ? std::move(sort->inputs[0]) : std::move(sort));
    built->root = std::move(unique);
    if (query.limit == nullptr && query.offset == nullptr) return;
    sort = make_node(PlanKind::kSort);
  }
  if (query.with_ties && query.limit != nullptr && !sort->order.empty()) {
    sort->inputs.push_back(std::move(built->root));
    built->root = std::move(sort);
    return add_ties(query, built);
  }
  if (query.limit != nullptr) sort->limit = resolve(*query.limit);
  if (query.offset != nullptr) sort->offset = resolve(*query.offset);
  sort->inputs.push_back(std::move(built->root));
  built->root = std::move(sort);
}

PlanBuilder::Built PlanBuilder::build_set(const BoundQuery& query) {
  PlanPtr node = make_node(PlanKind::kSetOp);
  node->relation = new_relation();
  node->set = query.set;
  node->set_all = query.set_all;
  for (const BoundQuery* side : {query.left.get(), query.right.get()}) {
    Built built = build(*side);
    std::vector<BoundPtr> outputs;
    for (size_t i = 0; i < built.outputs.size(); i++)
      if (!side->outputs[i].hidden) outputs.push_back(std::move(built.outputs[i]));
    node->outputs.push_back(std::move(outputs));
    node->inputs.push_back(std::move(built.root));
  }
  Built result;
  for (const auto& output : query.outputs) {
    BoundPtr expr = resolve(*output.expr);
    rewrite(&expr, [&](BoundPtr* e) {
      if ((*e)->kind != BoundKind::kSubqueryOutput) return false;
      *e = make_reference({node->relation, (*e)->index}, (*e)->type, (*e)->nullable);
      return true;
    });
    result.outputs.push_back(std::move(expr));
  }
  result.root = std::move(node);
  return result;
}

}  // namespace scyper::query
