#include "bind/extreme_lookups.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "bind/make.h"
#include "plan/access_path.h"
#include "plan/expressions.h"
#include "plan/planner.h"
#include "storage/statistics.h"

namespace scyper::query {

namespace {

constexpr double kNullsMax = 1000;  // that may lie before the greatest value

bool is_extreme(const Aggregate& aggregate, uint32_t relation) {
  return (aggregate.kind == AggregateKind::kMin || aggregate.kind == AggregateKind::kMax) &&
         aggregate.filter == nullptr && aggregate.args.size() == 1 && aggregate.args[0]->kind == BoundKind::kColumn &&
         aggregate.args[0]->relation == relation;
}

// One table, without groups, whose only aggregates are extremes of columns.
bool is_about_extremes(const BoundQuery& query) {
  if (!query.aggregated || query.aggregates.empty() || !query.groups.empty() || !query.grouping_sets.empty() ||
      !query.having.empty() || !query.windows.empty() || !query.joins.empty() || query.distinct || query.correlated ||
      query.from.size() != 1 || query.from[0].relation->kind != RelationKind::kTable)
    return false;
  const uint32_t relation = query.from[0].relation->id;
  return std::all_of(query.aggregates.begin(), query.aggregates.end(),
                     [&](const Aggregate& aggregate) { return is_extreme(aggregate, relation); });
}

bool has_few_nulls(const storage::Table& table, uint32_t column) {
  if (table.schema().columns[column].not_null) return true;
  const auto statistics = table.statistics();
  return statistics != nullptr && statistics->sampled > 0 && column < statistics->columns.size() &&
         statistics->columns[column].null_fraction * static_cast<double>(table.live_tuples()) <= kNullsMax;
}

// Whether an index gives the rows that WHERE leaves, and no others, in the order of the column.
bool is_in_order(const BoundQuery& query, const Aggregate& aggregate) {
  const Relation& relation = *query.from[0].relation;
  const uint32_t column = aggregate.args[0]->index;
  WantedOrder order;
  order.columns.push_back(column);
  order.descending = aggregate.kind == AggregateKind::kMax;
  const std::vector<const BoundExpr*> conjuncts = views_of(query.where);
  const AccessPath path = choose_access(relation, conjuncts, {}, order);
  if (path.kind != AccessKind::kRange || !path.ordered || (order.descending && !has_few_nulls(*relation.table, column)))
    return false;
  std::set<size_t> covered;
  for (const auto* parts : {&path.equal, &path.bounds})
    for (const KeyPart& part : *parts) covered.insert(part.conjunct);
  covered.erase(kNoConjunct);
  return covered.size() == conjuncts.size();
}

BoundPtr first_row(const BoundQuery& query, const Aggregate& aggregate, uint32_t* query_count,
                   uint32_t* relation_count) {
  auto sub = std::make_unique<BoundQuery>();
  sub->id = ++*query_count;
  FromEntry entry;
  entry.relation = clone(*query.from[0].relation);
  sub->from.push_back(std::move(entry));
  for (const BoundPtr& conjunct : query.where) sub->where.push_back(clone(*conjunct));
  const BoundExpr& column = *aggregate.args[0];
  if (column.nullable) {
    BoundPtr is_null = make_expr(BoundKind::kIsNull, make_type(TypeId::kBool), false, -1);
    is_null->args.push_back(clone(column));
    sub->where.push_back(make_not(std::move(is_null)));
  }
  sub->outputs.push_back({"value", clone(column), false});
  const bool descending = aggregate.kind == AggregateKind::kMax;
  sub->order.push_back({0, descending, descending});
  sub->limit = make_constant(make_type(TypeId::kInt8), int_datum(1), -1);
  rename_taken(sub.get(), {query.from[0].relation->id}, relation_count);
  BoundPtr value = make_expr(BoundKind::kScalarSubquery, column.type, true, column.location);
  value->query = std::move(sub);
  return value->type == aggregate.type ? std::move(value) : make_cast(std::move(value), aggregate.type, true);
}

}  // namespace

void use_extreme_lookups(BoundQuery* query, uint32_t* query_count, uint32_t* relation_count) {
  if (!is_about_extremes(*query)) return;
  const bool are_plain = std::none_of(query->where.begin(), query->where.end(),
                                      [](const BoundPtr& e) { return has_subquery(*e) || is_volatile(*e); });
  if (!are_plain || !std::all_of(query->aggregates.begin(), query->aggregates.end(),
                                 [&](const Aggregate& aggregate) { return is_in_order(*query, aggregate); }))
    return;
  for (OutputColumn& output : query->outputs) {
    rewrite(&output.expr, [&](BoundPtr* e) {
      if ((*e)->kind != BoundKind::kAggregate || (*e)->relation != query->id) return false;
      *e = first_row(*query, query->aggregates[(*e)->index], query_count, relation_count);
      return true;
    });
  }
  query->from.clear();
  query->where.clear();
  query->aggregates.clear();
  query->aggregated = false;
}

}  // namespace scyper::query
