#include "codegen/simple_query.h"

#include <algorithm>
#include <functional>

#include "bind/statement_reads.h"
#include "plan/estimate.h"
#include "plan/expressions.h"
#include "query/local_indexes.h"
#include "storage/statistics.h"

namespace scyper::query {

namespace {
constexpr int kGoodAccess = 10;  // AccessPath::score of an equality on an index's first column

// Estimated rows that one lookup through the step's path finds; 1 where statistics do not tell.
double rows_of_lookup(const JoinStep& step) {
  if (step.kind != JoinStep::Kind::kTable || step.path.kind == AccessKind::kPoint) return 1;
  return std::max(1.0, rows_of_equal(step.path, *step.entry->relation->table).value_or(1));
}

// Queries on snapshots are planned again as tables grow. For them a range of so many rows is compared with a scan,
// which leaves out chunks by their bounds. Statements of transactions keep their plans and their ranges.
bool is_wide(const JoinStep& step) {
  constexpr double kRowsMax = 2000;
  return LocalIndexUse::is_on() && step.path.kind == AccessKind::kRange && rows_of_lookup(step) > kRowsMax;
}

// Whether a condition says no more than the bounds of the range that is read, but that the column is not NULL.
bool is_bound(const BoundExpr& filter, const AccessPath& path) {
  return std::any_of(path.bounds.begin(), path.bounds.end(), [&](const KeyPart& part) {
    return part.made == nullptr && std::any_of(filter.args.begin(), filter.args.end(),
                                               [&](const BoundPtr& arg) { return arg.get() == part.value; });
  });
}

// Of the rows that a step finds, how many pass its conditions.
double passing_share(const JoinStep& step) {
  std::vector<const BoundExpr*> filters;
  for (const auto* list : {&step.filters, &step.on})
    for (const BoundExpr* filter : *list)
      if (!is_bound(*filter, step.path)) filters.push_back(filter);
  if (filters.empty()) return 1;
  Estimator estimator;
  if (step.entry->relation->table != nullptr) estimator.add_table(*step.entry->relation);
  return step.entry->join == JoinType::kLeft ? 1 : estimator.selectivity_of_all(filters);
}

// Rows that the query has to give, about: those of LIMIT and OFFSET; 0: all.
double wanted_rows(const BoundQuery& query, bool is_one_row) {
  constexpr double kUsualPage = 100;  // where LIMIT is a parameter
  if (is_one_row && query.limit == nullptr) return query.offset == nullptr ? 1 : 0;
  if (query.limit == nullptr) return 0;
  double rows = 0;
  for (const BoundExpr* e : {query.limit.get(), query.offset.get()}) {
    if (e == nullptr) continue;
    if (e->kind != BoundKind::kConst) rows += kUsualPage;
    if (e->kind == BoundKind::kConst && e->value.null) return 0;
    if (e->kind == BoundKind::kConst) rows += static_cast<double>(e->value.lo);
  }
  return std::max(1.0, rows);
}

// Rows that are equal in the items of ORDER BY that an index has in order. They have to be sorted by the others.
double peers_of_row(const BoundQuery& query, const JoinPlan& plan) {
  if (query.order.empty() || plan.ordered) return 0;
  const storage::Table& table = *plan.steps[0].entry->relation->table;
  std::vector<uint32_t> columns;
  for (size_t i = 0; i < plan.ordered_items; ++i) columns.push_back(query.outputs[query.order[i].output].expr->index);
  return storage::rows_of_one_value(table, columns).value_or(static_cast<double>(table.live_tuples()));
}

// Whether the first rows of the first table, in the order that is asked for or in any, are all that the query needs.
// The other tables are looked up by key for each of them. is_one_row: who asks looks at one row only.
bool stops_early(const BoundQuery& query, const JoinPlan& plan, bool is_one_row) {
  constexpr double kInOrderMax = 10'000;  // sorting beats more single rows by an index
  constexpr double kAnyOrderMax = 30'000;
  const double wanted = wanted_rows(query, is_one_row);
  if (wanted == 0 || plan.steps.empty() || !plan.constant_filters.empty() || query.aggregated || query.distinct ||
      !query.groups.empty() || (!query.order.empty() && plan.ordered_items == 0))
    return false;
  double share = 1;
  for (const JoinStep& step : plan.steps) {
    const bool is_first = &step == &plan.steps.front();
    if (step.kind != JoinStep::Kind::kTable || (is_first && step.entry->join != JoinType::kInner)) return false;
    if (!is_first && (step.path.score < kGoodAccess || is_wide(step))) return false;
    share *= passing_share(step);
  }
  if (query.correlated && share < 1) return false;  // it runs for each row around it
  const bool is_single = plan.steps.size() == 1 && share == 1 && (query.order.empty() || plan.ordered);
  if (is_single && query.order.empty()) return true;
  const double read = wanted / std::max(share, 1e-9) + peers_of_row(query, plan);
  const auto rows = static_cast<double>(plan.steps[0].entry->relation->table->live_tuples());
  return read <= (query.order.empty() ? kAnyOrderMax : kInOrderMax) &&
         (is_single || read <= std::max(1000.0, rows / 10));
}

bool has_simple_shape(const BoundQuery& query) {
  return query.set == SetOp::kNone && (!query.distinct || query.order.empty()) && query.joins.empty() &&
         query.grouping_sets.empty() && query.distinct_on.empty() && query.windows.empty() && !query.with_ties;
}
}  // namespace

bool is_long(const BoundQuery& query, const JoinPlan& plan) {
  constexpr double kRowsMax = 5000;  // some 100 ns a row
  double rows = 1;
  for (const JoinStep& step : plan.steps) rows *= rows_of_lookup(step);
  return rows > kRowsMax && !stops_early(query, plan, /*is_one_row=*/false);
}

// Point accesses and small joins through indexes need no planning: the pipeline of join_plan.h runs them as they are
// written.
bool is_simple(const BoundQuery& query, const std::set<uint32_t>& known, bool is_one_row) {
  if (!has_simple_shape(query)) return false;
  JoinPlan plan = plan_joins(query, known);
  const bool stops = stops_early(query, plan, is_one_row);
  for (const auto& step : plan.steps) {
    bool good = step.kind == JoinStep::Kind::kTable
                    ? stops || (step.path.score >= kGoodAccess && !is_wide(step))
                    : step.kind == JoinStep::Kind::kSeries || step.kind == JoinStep::Kind::kUnnest ||
                          step.kind == JoinStep::Kind::kFunction || step.kind == JoinStep::Kind::kFeed ||
                          step.kind == JoinStep::Kind::kValues;
    if (!good) return false;
  }
  std::set<uint32_t> inner = known;
  for (const auto& entry : query.from) inner.insert(entry.relation->id);
  bool simple = true;
  std::function<void(const BoundExpr&)> look = [&](const BoundExpr& e) {
    if (e.query != nullptr)
      simple &=
          is_simple(*e.query, inner, e.kind == BoundKind::kExists) && (query.from.empty() || !computes_once(*e.query));
    for (const auto& arg : e.args) look(*arg);
  };
  for (const auto& entry : query.from) {
    for (const auto& e : entry.on) look(*e);
    for (const auto& argument : entry.relation->arguments) look(*argument);
    for (const auto& row : entry.relation->rows)
      for (const auto& value : row) look(*value);
  }
  for (const auto& e : query.where) look(*e);
  for (const auto& e : query.groups) look(*e);
  for (const auto& aggregate : query.aggregates)
    for (const auto& arg : aggregate.args) look(*arg);
  for (const auto& e : query.having) look(*e);
  for (const auto& output : query.outputs) look(*output.expr);
  return simple;
}

}  // namespace scyper::query
