#include "base/check.h"
#include "codegen/generator.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {
constexpr int64_t kDatumBytes = sizeof(Datum);
constexpr int64_t kContextValue = offsetof(ExecContext, value);
}  // namespace

std::set<uint32_t> Generator::known_relations() const {
  std::set<uint32_t> known;
  for (const auto& [id, source] : sources_) known.insert(id);
  return known;
}

void Generator::gen_query(const BoundQuery& query, const Consumer& consume) {
  Block done = b_.new_block();
  // what enclosing queries grouped is not what this one refers to, but for correlated references, which keep their
  // values
  Consumer last = limited(query, done, consume);
  JoinPlan plan;
  if (query.set == SetOp::kNone) plan = plan_joins(query, known_relations());
  auto produce = [&](const Consumer& rows) {
    if (query.set != SetOp::kNone) return gen_set_operation(query, rows);
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
    gen_sorted(query, produce, last);
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

// LIMIT and OFFSET: counts rows, jumps to done when enough have passed. The counters are set up here, before any loop.
Generator::Consumer Generator::limited(const BoundQuery& query, Block done, const Consumer& consume) {
  if (query.limit == nullptr && query.offset == nullptr) return consume;
  auto counter = [&](const BoundExpr* expr, int64_t otherwise, RuntimeError negative) {
    Reg left = b_.new_variable(Type::kI64);
    Value value = expr == nullptr ? Value{} : gen(*expr);
    if (expr == nullptr) return left;
    Reg given = value.a;
    if (value.null != ir::kNoReg) given = b_.select(value.null, constant(Type::kI64, otherwise), given);
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

// ORDER BY: all rows into a buffer, then out of it in order.
void Generator::gen_sorted(const BoundQuery& query, const std::function<void(const Consumer&)>& produce,
                           const Consumer& consume) {
  std::vector<SqlType> types;
  for (const auto& output : query.outputs) types.push_back(output.expr->type);
  int64_t width = static_cast<int64_t>(types.size());
  check(b_.call(k_rt_rows_create, {context(), data_of(types), constant(Type::kI64, width)}));
  Reg rows = b_.load(Type::kPtr, context(), kContextValue);
  produce([&](const Values& values) { check(b_.call(k_rt_rows_append, {context(), rows, store_row(values)})); });
  std::vector<SortKey> keys;
  for (const auto& item : query.order)
    keys.push_back({item.output, static_cast<uint8_t>(item.descending), static_cast<uint8_t>(item.nulls_first), 0});
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
  consume(values);
  if (!b_.terminated()) b_.jump(next);
  b_.set_block(next);
  b_.assign(i, b_.binary(Op::kAdd, i, constant(Type::kI64, 1)));
  b_.jump(head);
  b_.set_block(done);
}

void Generator::gen_union_all(const BoundQuery& query, const Consumer& consume) {
  // both sides into one buffer, so that what follows is generated once
  std::vector<SqlType> types;
  for (const auto& output : query.outputs) types.push_back(output.expr->type);
  Reg width = constant(Type::kI64, static_cast<int64_t>(types.size()));
  check(b_.call(k_rt_rows_create, {context(), data_of(types), width}));
  Reg store = b_.load(Type::kPtr, context(), kContextValue);
  auto append = [&](const Values& values) { check(b_.call(k_rt_rows_append, {context(), store, store_row(values)})); };
  gen_query(*query.left, append);
  gen_query(*query.right, append);
  gen_buffer_rows(store, types.size(), [&](Reg row) {
    Values values;
    for (size_t c = 0; c < types.size(); c++)
      values.push_back(
          load_datum(row, static_cast<int64_t>(c) * kDatumBytes, types[c], query.outputs[c].expr->nullable, true));
    consume(values);
  });
}

// UNION, INTERSECT, EXCEPT: both sides into one table of distinct rows. An extra Datum counts: lo = rows of the left
// side (UNION: of either), hi = rows of the right side.
void Generator::gen_set_operation(const BoundQuery& query, const Consumer& consume) {
  bool is_union = query.set == SetOp::kUnion;
  if (is_union && query.set_all) return gen_union_all(query, consume);
  std::vector<SqlType> types;
  for (const auto& output : query.outputs) types.push_back(output.expr->type);
  int64_t width = static_cast<int64_t>(types.size());
  check(b_.call(k_rt_table_create,
                {context(), data_of(types), constant(Type::kI64, width + 1), constant(Type::kI64, width)}));
  Reg store = b_.load(Type::kPtr, context(), kContextValue);
  int64_t count_at = offsetof(KeyTable::Entry, row) + width * kDatumBytes;
  gen_query(*query.left, [&](const Values& values) {
    check(b_.call(k_rt_table_find, {context(), store, store_row(values), constant(Type::kI64, 1)}));
    Reg entry = b_.load(Type::kPtr, context(), kContextValue);
    Reg count = b_.load(Type::kI64, entry, count_at);
    Reg more = query.set_all ? b_.binary(Op::kAdd, count, constant(Type::kI64, 1)) : constant(Type::kI64, 1);
    b_.store(entry, count_at, more);
  });
  gen_query(*query.right, [&](const Values& values) {
    check(b_.call(k_rt_table_find, {context(), store, store_row(values), constant(Type::kI64, is_union ? 1 : 0)}));
    Reg entry = b_.load(Type::kPtr, context(), kContextValue);
    if (is_union) return b_.store(entry, count_at, constant(Type::kI64, 1));
    Block found = b_.new_block();
    Block next = b_.new_block();
    b_.branch(b_.compare(Op::kEq, entry, b_.null_pointer()), next, found);
    b_.set_block(found);
    b_.store(entry, count_at + 8,
             b_.binary(Op::kAdd, b_.load(Type::kI64, entry, count_at + 8), constant(Type::kI64, 1)));
    b_.jump(next);
    b_.set_block(next);
  });
  gen_set_output(query, store, count_at, consume);
}

// How often each row comes out: UNION 1; INTERSECT min(l, r); EXCEPT l - r; without ALL at most once.
void Generator::gen_set_output(const BoundQuery& query, Reg store, int64_t count_at, const Consumer& consume) {
  Reg entry = b_.new_variable(Type::kPtr);
  Reg times = b_.new_variable(Type::kI64);
  b_.assign(entry, b_.load(Type::kPtr, store, offsetof(KeyTable, first)));
  Block head = b_.new_block(), each = b_.new_block(), again = b_.new_block(), emit = b_.new_block(),
        next = b_.new_block(), done = b_.new_block();
  b_.jump(head);
  b_.set_block(head);
  b_.branch(b_.compare(Op::kEq, entry, b_.null_pointer()), done, each);
  b_.set_block(each);
  check_interrupt();
  Reg l = b_.load(Type::kI64, entry, count_at);
  Reg r = b_.load(Type::kI64, entry, count_at + 8);
  Reg zero = constant(Type::kI64, 0);
  Reg wanted = l;
  if (query.set == SetOp::kIntersect && query.set_all)
    wanted = b_.select(b_.compare(Op::kLt, l, r), l, r);
  else if (query.set == SetOp::kIntersect)
    wanted = b_.select(b_.compare(Op::kNe, r, zero), l, zero);
  else if (query.set == SetOp::kExcept && query.set_all)
    wanted = b_.binary(Op::kSub, l, r);
  else if (query.set == SetOp::kExcept)
    wanted = b_.select(b_.compare(Op::kEq, r, zero), l, zero);
  b_.assign(times, wanted);
  b_.jump(again);
  b_.set_block(again);
  b_.branch(b_.compare(Op::kGt, times, zero), emit, next);
  b_.set_block(emit);
  b_.assign(times, b_.binary(Op::kSub, times, constant(Type::kI64, 1)));
  Values values;
  for (size_t c = 0; c < query.outputs.size(); c++)
    values.push_back(load_datum(entry, offsetof(KeyTable::Entry, row) + static_cast<int64_t>(c) * kDatumBytes,
                                query.outputs[c].expr->type, query.outputs[c].expr->nullable, true));
  consume(values);
  if (!b_.terminated()) b_.jump(again);
  b_.set_block(next);
  b_.assign(entry, b_.load(Type::kPtr, entry, offsetof(KeyTable::Entry, next)));
  b_.jump(head);
  b_.set_block(done);
}

}  // namespace scyper::query
