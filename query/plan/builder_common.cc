#include <algorithm>
#include <utility>

#include "bind/make.h"
#include "plan/builder.h"
#include "plan/expressions.h"
#include "plan/planner.h"

// Queries of WITH, trees of outer joins, grouping sets.
namespace scyper::query {

namespace {
// For the nodes below a shared plan, which it owns: without a share in it, or nobody would ever free both.
std::shared_ptr<SharedPlan> from_within(const std::shared_ptr<SharedPlan>& plan) {
  return {std::shared_ptr<SharedPlan>(), plan.get()};
}
}  // namespace

// A reference to a query of WITH: inlined where it is the only one, else computed once.
PlanPtr PlanBuilder::build_common(const Relation& relation) {
  const CommonQuery& common = *relation.common;
  auto visible = [&](const BoundQuery& query, Built* built) {
    std::vector<BoundPtr> outputs;
    for (size_t i = 0; i < built->outputs.size(); i++)
      if (!query.outputs[i].hidden) outputs.push_back(std::move(built->outputs[i]));
    return outputs;
  };
  bool recursive = common.recursive != nullptr;
  if (!recursive && !common.always_materialised && common.references <= 1) {
    const BoundQuery& query = own_copy(*common.query);  // its reader may have been copied
    Built built = build(query);
    PlanPtr node = make_node(PlanKind::kMap);
    node->relation = relation.id;
    node->exprs = visible(query, &built);
    node->inputs.push_back(std::move(built.root));
    return node;
  }
  auto [it, fresh] = commons_.emplace(&common, CommonPlan{});
  CommonPlan& plan = it->second;
  if (!fresh && plan.is_open) {
    PlanPtr node = make_node(PlanKind::kWorking);
    node->relation = relation.id;
    node->shared = from_within(plan.shared);
    return node;
  }
  if (fresh) {
    plan.query = relation.common;
    plan.shared = std::make_shared<SharedPlan>();
    plan.shared->number = new_relation();
    plan.relation = new_relation();
    Built first = build(own_copy(*common.query));
    PlanPtr node = make_node(recursive ? PlanKind::kRecursive : PlanKind::kMap);
    node->relation = plan.relation;
    node->inputs.push_back(std::move(first.root));
    if (recursive) {
      node->set_all = common.keeps_duplicates;
      node->shared = from_within(plan.shared);
      node->outputs.push_back(visible(*common.query, &first));
      plan.is_open = true;
      Built second = build(own_copy(*common.recursive));
      plan.is_open = false;
      node->inputs.push_back(std::move(second.root));
      node->outputs.push_back(visible(*common.recursive, &second));
    } else {
      node->exprs = visible(*common.query, &first);
    }
    plan.shared->plan = std::move(node);
    shared_.push_back(plan.shared);
  }
  PlanPtr node = make_node(PlanKind::kShared);
  node->relation = relation.id;
  node->shared = plan.shared;
  for (uint32_t i = 0; i < relation.columns.size(); i++)
    node->columns.push_back({{plan.relation, i}, relation.columns[i].type, relation.columns[i].nullable});
  return node;
}

namespace {
// The part of a tree of joins that begins at an entry of FROM, as a tree of its own.
JoinTree moved_tree(const JoinTree& tree, uint32_t from) {
  JoinTree moved;
  moved.type = tree.type;
  moved.first = tree.first - from;
  if (tree.left == nullptr) return moved;
  moved.left = std::make_shared<JoinTree>(moved_tree(*tree.left, from));
  moved.right = std::make_shared<JoinTree>(moved_tree(*tree.right, from));
  return moved;
}

uint32_t last_of(const JoinTree& tree) { return tree.left == nullptr ? tree.first : last_of(*tree.right); }

// Columns of some relations become those of others.
void rename_relations(BoundPtr* expr, const std::map<uint32_t, uint32_t>& names) {
  rewrite(expr, [&](BoundPtr* e) {
    auto name = (*e)->kind == BoundKind::kColumn ? names.find((*e)->relation) : names.end();
    if (name != names.end()) (*e)->relation = name->second;
    return false;
  });
}
}  // namespace

namespace {
// The relations that a query defines, those of its derived tables among them.
void for_each_relation(BoundQuery* query, const std::function<void(Relation*)>& f) {
  for (auto& entry : query->from) {
    f(entry.relation.get());
    if (entry.relation->query != nullptr) for_each_relation(entry.relation->query.get(), f);
    if (entry.relation->computes_common)  // copied with its reader
      for (auto* term : {&entry.relation->common->query, &entry.relation->common->recursive})
        if (*term != nullptr) for_each_relation(term->get(), f);
  }
  for (BoundQuery* side : {query->left.get(), query->right.get()})
    if (side != nullptr) for_each_relation(side, f);
}

// Those of subqueries in its expressions, too.
void for_every_relation(BoundQuery* query, const std::function<void(Relation*)>& f) {
  for_each_relation(query, f);
  rewrite(query, [&](BoundPtr* e) {
    if ((*e)->query != nullptr) for_each_relation((*e)->query.get(), f);
    return false;
  });
}
}  // namespace

const BoundQuery& PlanBuilder::own_copy(const BoundQuery& query) {
  if (built_.empty()) return query;
  BoundPtr copy = make_expr(BoundKind::kScalarSubquery, make_type(TypeId::kUnknown), true, -1);
  copy->query = clone(query);
  if (!rename_copy(copy->query.get())) return query;
  kept_.push_back(std::move(copy));
  return *kept_.back()->query;
}

bool PlanBuilder::rename_copy(BoundQuery* query) {
  const std::vector<Relation*> renamed = rename_taken(query, built_, next_relation_);
  for (const Relation* relation : renamed) {
    const auto common = relation->computes_common ? commons_.find(relation->common.get()) : commons_.end();
    if (common != commons_.end() && !common->second.is_open) commons_.erase(common);  // it reads relations around
  }
  return !renamed.empty();
}

void PlanBuilder::note_relations(BoundQuery* query) {
  for_every_relation(query, [&](const Relation* relation) { built_.insert(relation->id); });
}

std::vector<Relation*> rename_taken(BoundQuery* query, const std::set<uint32_t>& taken, uint32_t* next_relation) {
  std::map<uint32_t, uint32_t> names;
  std::vector<Relation*> renamed;
  auto rename = [&](Relation* relation) {
    if (taken.count(relation->id) == 0) return;
    auto [name, is_new] = names.emplace(relation->id, 0);
    if (is_new) name->second = (*next_relation)++;
    relation->id = name->second;
    renamed.push_back(relation);
  };
  for_every_relation(query, rename);
  if (names.empty()) return renamed;
  for (Relation* relation : renamed)
    for (auto& hidden : relation->hidden) {
      for (auto& e : hidden.exprs) rename_relations(&e, names);
      if (hidden.is_true != nullptr) rename_relations(&hidden.is_true, names);
    }
  rewrite(query, [&](BoundPtr* e) {
    auto name = (*e)->kind == BoundKind::kColumn ? names.find((*e)->relation) : names.end();
    if (name != names.end()) (*e)->relation = name->second;
    return false;
  });
  return renamed;
}

// SELECT * FROM a part of a tree of joins. offsets: where the columns of each of its relations begin.
std::unique_ptr<Relation> PlanBuilder::as_query(const BoundQuery& query, const JoinTree& item,
                                                std::map<uint32_t, uint32_t>* offsets) {
  auto inner = std::make_unique<BoundQuery>();
  auto outer = std::make_unique<Relation>();
  std::map<uint32_t, uint32_t> names;  // inside, relations have names of their own
  for (uint32_t i = item.first; i <= last_of(item); i++) {
    const FromEntry& entry = query.from[i];
    std::unique_ptr<Relation> relation = clone(*entry.relation);
    relation->id = names[entry.relation->id] = new_relation();
    (*offsets)[entry.relation->id] = static_cast<uint32_t>(outer->columns.size());
    for (uint32_t c = 0; c < relation->columns.size(); c++) {
      outer->columns.push_back(relation->columns[c]);
      outer->columns.back().nullable = true;
      inner->outputs.push_back(
          {relation->columns[c].name, make_reference({relation->id, c}, relation->columns[c].type, true), false});
    }
    inner->from.push_back({std::move(relation), entry.join, {}});
    if (i == item.first) continue;  // its ON is that of the join with what is to the left
    for (const auto& e : entry.on) inner->from.back().on.push_back(clone(*e));
  }
  inner->id = new_relation();
  inner->correlated = true;
  inner->joins.push_back(moved_tree(item, item.first));
  for (auto& entry : inner->from)
    for (auto& hidden : entry.relation->hidden) {
      for (auto& e : hidden.exprs) rename_relations(&e, names);
      if (hidden.is_true != nullptr) rename_relations(&hidden.is_true, names);
    }
  outer->id = new_relation();
  outer->kind = RelationKind::kQuery;
  outer->query = std::move(inner);
  rewrite(outer->query.get(), [&](BoundPtr* e) {
    auto name = (*e)->kind == BoundKind::kColumn ? names.find((*e)->relation) : names.end();
    if (name != names.end()) (*e)->relation = name->second;
    return false;
  });
  return outer;
}

// A join that has to run once for each row of the tree: its relations get their names back above.
void PlanBuilder::add_dependent_join(const BoundQuery& query, const JoinTree& item, PlanPtr* tree, JoinKind kind,
                                     std::vector<BoundPtr> on) {
  std::map<uint32_t, uint32_t> offsets;
  std::unique_ptr<Relation> relation = as_query(query, item, &offsets);
  const uint32_t joined = relation->id;
  for (auto& e : on)
    rewrite(&e, [&](BoundPtr* x) {
      auto offset = (*x)->kind == BoundKind::kColumn ? offsets.find((*x)->relation) : offsets.end();
      if (offset == offsets.end()) return false;
      (*x)->relation = joined;
      (*x)->index += offset->second;
      (*x)->nullable = true;
      return false;
    });
  const std::vector<RelationColumn> columns = relation->columns;
  add_subquery(tree, std::move(relation), kind, std::move(on));
  for (uint32_t i = item.first; i <= last_of(item); i++) {
    const Relation& named = *query.from[i].relation;
    PlanPtr map = make_node(PlanKind::kMap);
    map->relation = named.id;
    for (uint32_t c = 0; c < named.columns.size(); c++) {
      const uint32_t position = offsets.at(named.id) + c;
      map->exprs.push_back(make_reference({joined, position}, columns[position].type, true));
    }
    map->inputs.push_back(std::move(*tree));
    *tree = std::move(map);
  }
}

// A side of a join, or an item of FROM, that reads columns of those before it.
void PlanBuilder::add_dependent(const BoundQuery& query, const JoinTree& item, PlanPtr* tree, PlanPtr input,
                                JoinKind kind, std::vector<BoundPtr> on) {
  const bool can = Unnesting(tree, next_relation_, &shared_).can(*input);
  if (!can && item.left != nullptr) return add_dependent_join(query, item, tree, kind, std::move(on));
  if (!can) return add_lateral(tree, std::move(input), *query.from[item.first].relation, kind, std::move(on));
  PlanNode* ignored = nullptr;
  attach(tree, std::move(input), kind, std::move(on), &ignored);
}

PlanPtr PlanBuilder::build_tree(const BoundQuery& query, const JoinTree& tree) {
  if (tree.left == nullptr) return build_relation(*query.from[tree.first].relation);
  PlanPtr left = build_tree(query, *tree.left), right = build_tree(query, *tree.right);
  std::vector<BoundPtr> on = resolve_all(query.from[tree.right->first].on);
  bool lateral = intersects(free_relations(*right), produced_by(*left));
  if (tree.type == JoinType::kInner) {
    if (lateral) {
      add_dependent(query, *tree.right, &left, std::move(right), JoinKind::kInner, {});
    } else {
      add_inner(&left, std::move(right));
    }
    for (auto& e : on) add_condition(&left, std::move(e));
    return left;
  }
  if (lateral) {
    add_dependent(query, *tree.right, &left, std::move(right), JoinKind::kLeft, std::move(on));
    return left;
  }
  if (tree.type == JoinType::kRight) std::swap(left, right);
  PlanPtr join =
      make_join(tree.type == JoinType::kFull ? JoinKind::kFull : JoinKind::kLeft, std::move(left), std::move(right));
  join->conjuncts = std::move(on);
  return join;
}

namespace {
// Keys, aggregates and values of GROUPING of one grouping set, whose group-by defines `relation`.
std::vector<BoundPtr> set_outputs(const BoundQuery& query, const PlanNode& group, const std::vector<uint32_t>& set,
                                  uint32_t relation) {
  std::vector<BoundPtr> outputs;
  for (uint32_t key = 0; key < group.exprs.size(); key++) {
    const SqlType& type = group.exprs[key]->type;
    auto at = std::find(set.begin(), set.end(), key);
    if (at == set.end())
      outputs.push_back(make_null(type, -1));
    else
      outputs.push_back(make_reference({relation, static_cast<uint32_t>(at - set.begin())}, type, true));
  }
  for (size_t a = 0; a < group.aggregates.size(); a++)
    outputs.push_back(make_reference({relation, static_cast<uint32_t>(set.size() + a)}, group.aggregates[a].type,
                                     !counts_rows(group.aggregates[a].kind)));
  for (const auto& call : query.grouping_calls) {
    int64_t bits = 0;
    for (uint32_t key : call) bits = bits * 2 + (std::find(set.begin(), set.end(), key) == set.end() ? 1 : 0);
    outputs.push_back(make_constant(make_type(TypeId::kInt4), int_datum(bits), -1));
  }
  return outputs;
}
}  // namespace

// The input once, a group-by for each set, their union. Columns: keys (NULL where the set has them not), aggregates,
// the values of GROUPING.
PlanPtr PlanBuilder::build_grouping_sets(const BoundQuery& query, PlanPtr group) {
  auto shared = std::make_shared<SharedPlan>();
  shared->number = new_relation();
  // what the groups read, under names of its own
  std::vector<BoundPtr> inputs;
  PlanPtr map = make_node(PlanKind::kMap);
  map->relation = new_relation();
  auto name = [&](BoundPtr& e) {
    uint32_t position = 0;
    while (position < map->exprs.size() && !same(*map->exprs[position], *e)) position++;
    SqlType type = e->type;
    bool nullable = e->nullable;
    if (position == map->exprs.size()) map->exprs.push_back(std::move(e));
    e = make_reference({map->relation, position}, type, nullable);
  };
  for_each_own(group.get(), name);
  PlanPtr all = nullptr;
  uint32_t relation = group->relation;
  auto reader = [&](uint32_t as) {
    PlanPtr node = make_node(PlanKind::kShared);
    node->relation = as;
    node->shared = shared;
    for (uint32_t i = 0; i < map->exprs.size(); i++)
      node->columns.push_back({{map->relation, i}, map->exprs[i]->type, map->exprs[i]->nullable});
    return node;
  };
  auto rename = [&](BoundPtr& e, uint32_t as) {
    e = clone(*e);
    e->relation = as;
  };
  for (size_t s = 0; s < query.grouping_sets.size(); s++) {
    const auto& set = query.grouping_sets[s];
    PlanPtr one = make_node(PlanKind::kGroup);
    one->relation = new_relation();
    uint32_t as = new_relation();
    for (uint32_t key : set) {
      one->exprs.push_back(clone(*group->exprs[key]));
      rename(one->exprs.back(), as);
    }
    for (const auto& aggregate : group->aggregates) {
      one->aggregates.push_back(clone(aggregate));
      for (auto& arg : one->aggregates.back().args) rename(arg, as);
      if (one->aggregates.back().filter != nullptr) rename(one->aggregates.back().filter, as);
    }
    if (one->aggregates.empty() && set.empty()) one->aggregates.push_back(count_rows());  // one row, even of nothing
    std::vector<BoundPtr> outputs = set_outputs(query, *group, set, one->relation);
    one->inputs.push_back(reader(as));
    if (all == nullptr) {
      all = make_node(PlanKind::kSetOp);
      all->relation = relation;
      all->set = SetOp::kUnion;
      all->set_all = true;
    }
    all->inputs.push_back(std::move(one));
    all->outputs.push_back(std::move(outputs));
  }
  map->inputs.push_back(std::move(group->inputs[0]));
  shared->plan = std::move(map);
  shared_.push_back(std::move(shared));
  return all;
}

}  // namespace scyper::query
