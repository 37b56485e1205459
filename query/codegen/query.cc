#include <algorithm>

#include "base/bounded_work.h"
#include "base/check.h"
#include "base/invariant.h"
#include "codegen/generator.h"
#include "codegen/simple_query.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

std::set<uint32_t> Generator::known_relations() const {
  std::set<uint32_t> known;
  for (const auto& [id, source] : sources_) known.insert(id);
  return known;
}

namespace {
bool is_same_in_any_order(const Aggregate& aggregate) {
  switch (aggregate.kind) {
    case AggregateKind::kCountStar:
    case AggregateKind::kCount:
    case AggregateKind::kMin:
    case AggregateKind::kMax:
    case AggregateKind::kBoolAnd:
    case AggregateKind::kBoolOr:
      return true;
    case AggregateKind::kSum:
    case AggregateKind::kAvg:
      return aggregate.args[0]->type.id != TypeId::kFloat8;
    default:
      return false;
  }
}

// Where rows lie in a table is not the same on every node, nor after a restart: does what comes first depend on it?
bool shows_places(const BoundQuery& query, const JoinPlan& plan) {
  if (query.aggregated && query.groups.empty() &&
      std::all_of(query.aggregates.begin(), query.aggregates.end(), is_same_in_any_order))
    return false;
  return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const JoinStep& step) {
    const storage::Table* table = step.entry->relation->table.get();
    if (table == nullptr || step.path.kind == AccessKind::kFullScan) return table != nullptr;
    return query.order.empty() && !table->schema().indexes[step.path.index].unique;  // equal keys come as they lie
  });
}
}  // namespace

void Generator::gen_query(const BoundQuery& query, const Consumer& consume, bool is_one_row) {
  check_stack();
  poll_work();
  if (query.with != nullptr) return gen_changing_query(query, consume);
  gen_plain_query(query, consume, is_one_row);
}

void Generator::gen_plain_query(const BoundQuery& query, const Consumer& consume, bool is_one_row) {
  if (!is_simple(query, known_relations(), is_one_row)) return gen_planned(query, consume);
  Block done = b_.new_block();
  // what enclosing queries grouped is not what this one refers to, but for correlated references, which keep their
  // values
  Consumer last = limited(query, done, consume);
  JoinPlan plan = plan_joins(query, known_relations());
  resources_.footprint.is_planned |= shows_places(query, plan);
  resources_.footprint.is_long |= !is_one_row && is_long(query, plan);
  auto produce = [&](const Consumer& rows) {
    gen_unsorted(query, &plan, query.distinct ? deduplicated(query, rows) : rows);
  };
  bool hidden = false;
  for (const auto& output : query.outputs) hidden |= output.hidden;
  if (query.order.empty() || plan.ordered) {
    produce([&](const Values& values) {
      if (!hidden) return last(values);
      Values visible;
      for (size_t i = 0; i < values.size(); i++)
        if (!query.outputs[i].hidden) visible.push_back(values[i]);
      last(visible);
    });
  } else {
    gen_sorted(query, produce, last, query.limit == nullptr ? 0 : plan.ordered_items);
  }
  for (const auto& entry : query.from) sources_.erase(entry.relation->id);
  if (!b_.terminated()) b_.jump(done);
  b_.set_block(done);
}

Generator::Values Generator::gen_outputs(const BoundQuery& query, bool hidden) {
  Values values;
  for (const auto& output : query.outputs)
    if (hidden || !output.hidden) values.push_back(gen(*output.expr));
  return values;
}

void Generator::gen_unsorted(const BoundQuery& query, JoinPlan* plan, const Consumer& consume) {
  if (query.aggregated) return gen_aggregation(query, plan, consume);
  gen_joins(plan, [&] { consume(gen_outputs(query, true)); });
}

// The number of LIMIT or OFFSET. `otherwise`: there is none, or it is NULL.
ir::Reg Generator::gen_count(const BoundExpr* expr, int64_t otherwise) {
  if (expr == nullptr) return constant(Type::kI64, otherwise);
  const Value value = gen(*expr);
  return value.null == ir::kNoReg ? value.a : b_.select(value.null, constant(Type::kI64, otherwise), value.a);
}

// LIMIT and OFFSET: counts rows, jumps to done when enough have passed. The counters are set up here, before any loop.
Generator::Consumer Generator::limited(const BoundQuery& query, Block done, const Consumer& consume) {
  if (query.limit == nullptr && query.offset == nullptr) return consume;
  auto counter = [&](const BoundExpr* expr, int64_t otherwise, RuntimeError negative) {
    Reg left = b_.new_variable(Type::kI64);
    if (expr == nullptr) return left;
    Reg given = gen_count(expr, otherwise);
    Block next = b_.new_block();
    b_.branch(b_.compare(Op::kLt, given, constant(Type::kI64, 0)), raise_block(negative), next, 2);
    b_.set_block(next);
    b_.assign(left, given);
    return left;
  };
  Reg offset = counter(query.offset.get(), 0, RuntimeError::kNegativeOffset);
  Reg limit = counter(query.limit.get(), INT64_MAX, RuntimeError::kNegativeLimit);
  if (query.limit != nullptr) {
    Block some = b_.new_block();
    b_.branch(b_.compare(Op::kEq, limit, constant(Type::kI64, 0)), done, some, 2);
    b_.set_block(some);
  }
  bool has_offset = query.offset != nullptr;
  bool has_limit = query.limit != nullptr;
  return [this, offset, limit, has_offset, has_limit, done, consume](const Values& values) {
    Block next = b_.new_block();
    if (has_offset) {
      Block pass = b_.new_block();
      Block skip = b_.new_block();
      b_.branch(b_.compare(Op::kEq, offset, constant(Type::kI64, 0)), pass, skip);
      b_.set_block(skip);
      b_.assign(offset, b_.binary(Op::kSub, offset, constant(Type::kI64, 1)));
      b_.jump(next);
      b_.set_block(pass);
    }
    consume(values);
    if (!b_.terminated()) {
      if (has_limit) {
        b_.assign(limit, b_.binary(Op::kSub, limit, constant(Type::kI64, 1)));
        b_.branch(b_.compare(Op::kEq, limit, constant(Type::kI64, 0)), done, next);
      } else {
        b_.jump(next);
      }
    }
    b_.set_block(next);
  };
}

// DISTINCT: passes a row the first time.
Generator::Consumer Generator::deduplicated(const BoundQuery& query, const Consumer& consume) {
  std::vector<SqlType> types;
  for (const auto& output : query.outputs) types.push_back(output.expr->type);
  int64_t width = static_cast<int64_t>(types.size());
  check(b_.call(k_rt_table_create,
                {context(), data_of(types), constant(Type::kI64, width), constant(Type::kI64, width)}));
  Reg table = b_.load(Type::kPtr, context(), kContextValue);
  return [this, table, consume](const Values& values) {
    Reg row = store_row(values);
    check(b_.call(k_rt_table_find, {context(), table, row, constant(Type::kI64, 1)}));
    Block fresh = b_.new_block();
    Block next = b_.new_block();
    Reg is_new = b_.load(Type::kI64, context(), kContextValue + 8);
    b_.branch(b_.compare(Op::kNe, is_new, constant(Type::kI64, 0)), fresh, next);
    b_.set_block(fresh);
    consume(values);
    if (!b_.terminated()) b_.jump(next);
    b_.set_block(next);
  };
}

// ORDER BY: all rows into a buffer, then out of it in order. ordered_items: rows come in the order of so many leading
// items of ORDER BY, so that those behind the LIMIT and its peers in these items are not needed.
void Generator::gen_sorted(const BoundQuery& query, const std::function<void(const Consumer&)>& produce,
                           const Consumer& consume, size_t ordered_items) {
  std::vector<SqlType> types;
  for (const auto& output : query.outputs) types.push_back(output.expr->type);
  int64_t width = static_cast<int64_t>(types.size());
  check(b_.call(k_rt_rows_create, {context(), data_of(types), constant(Type::kI64, width)}));
  Reg rows = b_.load(Type::kPtr, context(), kContextValue);
  std::vector<SortKey> keys;
  for (const auto& item : query.order)
    keys.push_back({item.output, static_cast<uint8_t>(item.descending), static_cast<uint8_t>(item.nulls_first), 0});
  Reg limit = ir::kNoReg, offset = ir::kNoReg;
  if (ordered_items > 0) limit = gen_count(query.limit.get(), INT64_MAX), offset = gen_count(query.offset.get(), 0);
  Block found = b_.new_block();
  produce([&](const Values& values) {
    check(b_.call(k_rt_rows_append, {context(), rows, store_row(values)}));
    if (ordered_items == 0) return;
    Block more = b_.new_block();
    Reg items = constant(Type::kI64, static_cast<int64_t>(ordered_items));
    Reg is_last = b_.call(k_rt_rows_pass_limit, {rows, data_of(keys), items, limit, offset});
    b_.branch(is_last, found, more, 2);
    b_.set_block(more);
  });
  b_.jump(found);
  b_.set_block(found);
  check(b_.call(k_rt_rows_sort,
                {context(), rows, data_of(keys), constant(Type::kI64, static_cast<int64_t>(keys.size()))}));
  Reg count = b_.load(Type::kI64, rows, offsetof(RowBuffer, count));
  Reg first = b_.load(Type::kPtr, rows, offsetof(RowBuffer, rows));
  Reg i = b_.new_variable(Type::kI64);
  b_.assign(i, constant(Type::kI64, 0));
  Block head = b_.new_block();
  Block each = b_.new_block();
  Block next = b_.new_block();
  Block done = b_.new_block();
  b_.jump(head);
  b_.set_block(head);
  b_.branch(b_.compare(Op::kLt, i, count), each, done, 1);
  b_.set_block(each);
  check_interrupt();
  Reg row = b_.index(first, i, width * kDatumBytes);
  Values values;
  for (size_t c = 0; c < query.outputs.size(); c++)
    if (!query.outputs[c].hidden)
      values.push_back(
          load_datum(row, static_cast<int64_t>(c) * kDatumBytes, types[c], query.outputs[c].expr->nullable, true));
  gen_round([&] { consume(values); });
  if (!b_.terminated()) b_.jump(next);
  b_.set_block(next);
  b_.assign(i, b_.binary(Op::kAdd, i, constant(Type::kI64, 1)));
  b_.jump(head);
  b_.set_block(done);
}

}  // namespace scyper::query
