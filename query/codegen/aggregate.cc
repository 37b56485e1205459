#include "base/check.h"
#include "codegen/generator.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {
constexpr int64_t kDatumBytes = sizeof(Datum);
constexpr int64_t kContextValue = offsetof(ExecContext, value);
constexpr int64_t kStateBytes = 2 * kDatumBytes;  // the running value, then in lo the count of its inputs
constexpr int64_t kStateCount = kDatumBytes;

const BoundExpr* first_argument(const Aggregate& aggregate) {
  return aggregate.args.empty() ? nullptr : aggregate.args[0].get();
}

// A sum is kept in 64 bits for small integers, in 128 for larger ones and numerics of known scale; unconstrained
// numerics carry their scale along.
SqlType sum_state_type(const SqlType& arg) {
  if (arg.id == TypeId::kFloat8 || is_dynamic_numeric(arg)) return arg;
  if (arg.id == TypeId::kNumeric) return make_numeric(kMaxPrecision, arg.scale);
  return make_numeric(kMaxPrecision, 0);
}
}  // namespace

// Aggregates without GROUP BY keep their states in frame memory, groups in the rows of a KeyTable: its key, then the
// states.
void Generator::gen_aggregation(const BoundQuery& query, JoinPlan* plan, const Consumer& consume) {
  bool grouped = !query.groups.empty();
  GroupStore store = gen_group_store(query);
  std::vector<Reg> distinct = gen_distinct_tables(query);
  gen_joins(plan, [&] {
    Reg state = store.frame;
    Reg group = ir::kNoReg;
    if (grouped) {
      Values keys;
      for (const auto& expr : query.groups) keys.push_back(gen(*expr));
      check(b_.call(k_rt_table_find, {context(), store.table, store_row(keys), constant(Type::kI64, 1)}));
      group = b_.load(Type::kPtr, context(), kContextValue);
      state = b_.offset(group, offsetof(KeyTable::Entry, row) + store.key_bytes);
    }
    for (size_t i = 0; i < query.aggregates.size(); i++)
      update_aggregate(query.aggregates[i], b_.offset(state, static_cast<int64_t>(i) * kStateBytes), group,
                       distinct[i]);
  });
  Block done = b_.new_block();
  if (!grouped) {
    gen_group_output(query, ir::kNoReg, store.frame, done, consume);
    if (!b_.terminated()) b_.jump(done);
    b_.set_block(done);
    return;
  }
  Reg entry = b_.new_variable(Type::kPtr);
  b_.assign(entry, b_.load(Type::kPtr, store.table, offsetof(KeyTable, first)));
  Block head = b_.new_block(), each = b_.new_block(), next = b_.new_block();
  b_.jump(head);
  b_.set_block(head);
  b_.branch(b_.compare(Op::kEq, entry, b_.null_pointer()), done, each);
  b_.set_block(each);
  check_interrupt();
  Reg row = b_.offset(entry, offsetof(KeyTable::Entry, row));
  gen_group_output(query, row, b_.offset(row, store.key_bytes), next, consume);
  if (!b_.terminated()) b_.jump(next);
  b_.set_block(next);
  b_.assign(entry, b_.load(Type::kPtr, entry, offsetof(KeyTable::Entry, next)));
  b_.jump(head);
  b_.set_block(done);
}

Generator::GroupStore Generator::gen_group_store(const BoundQuery& query) {
  GroupStore store;
  std::vector<SqlType> types;
  for (const auto& group : query.groups) types.push_back(group->type);
  int64_t key_width = static_cast<int64_t>(types.size());
  store.key_bytes = key_width * kDatumBytes;
  if (!query.groups.empty()) {
    for (size_t i = 0; i < 2 * query.aggregates.size(); i++) types.push_back(make_type(TypeId::kInt8));
    check(
        b_.call(k_rt_table_create, {context(), data_of(types), constant(Type::kI64, static_cast<int64_t>(types.size())),
                                    constant(Type::kI64, key_width)}));
    store.table = b_.load(Type::kPtr, context(), kContextValue);
    return store;
  }
  uint32_t bytes = static_cast<uint32_t>(kStateBytes) * static_cast<uint32_t>(query.aggregates.size() + 1);
  store.frame = b_.frame_address(b_.reserve_frame(bytes));
  Reg zero = constant(Type::kI64, 0);
  for (int64_t at = 0; at < static_cast<int64_t>(bytes); at += 8) b_.store(store.frame, at, zero);
  return store;
}

// One set per DISTINCT aggregate, of (group, argument).
std::vector<ir::Reg> Generator::gen_distinct_tables(const BoundQuery& query) {
  std::vector<Reg> tables(query.aggregates.size(), ir::kNoReg);
  for (size_t i = 0; i < query.aggregates.size(); i++) {
    if (!query.aggregates[i].distinct) continue;
    std::vector<SqlType> key = {make_type(TypeId::kInt8), query.aggregates[i].args[0]->type};
    check(b_.call(k_rt_table_create, {context(), data_of(key), constant(Type::kI64, 2), constant(Type::kI64, 2)}));
    tables[i] = b_.load(Type::kPtr, context(), kContextValue);
  }
  return tables;
}

// HAVING and the outputs of one group.
void Generator::gen_group_output(const BoundQuery& query, Reg row, Reg state, Block reject, const Consumer& consume) {
  Values groups;
  Values aggregates;
  for (size_t i = 0; i < query.groups.size(); i++)
    groups.push_back(
        load_datum(row, static_cast<int64_t>(i) * kDatumBytes, query.groups[i]->type, query.groups[i]->nullable, true));
  for (size_t i = 0; i < query.aggregates.size(); i++)
    aggregates.push_back(
        finish_aggregate(query.aggregates[i], b_.offset(state, static_cast<int64_t>(i) * kStateBytes)));
  groups_[query.id] = &groups;
  aggregates_[query.id] = &aggregates;
  for (const auto& having : query.having) {
    Block accept = b_.new_block();
    gen_condition(*having, accept, reject);
    b_.set_block(accept);
  }
  Values outputs = gen_outputs(query, true);
  groups_.erase(query.id);
  aggregates_.erase(query.id);
  consume(outputs);
}

void Generator::update_aggregate(const Aggregate& aggregate, Reg state, Reg group, Reg distinct) {
  Block next = b_.new_block();
  if (aggregate.filter != nullptr) {
    Block accept = b_.new_block();
    gen_condition(*aggregate.filter, accept, next);
    b_.set_block(accept);
  }
  Values args;
  for (const auto& arg : aggregate.args) args.push_back(gen(*arg));
  if (!args.empty() && args[0].null != ir::kNoReg && aggregate.kind != AggregateKind::kArrayAgg) {
    Block present = b_.new_block();
    b_.branch(args[0].null, next, present);
    b_.set_block(present);
    args[0].null = ir::kNoReg;
  }
  if (distinct != ir::kNoReg) {
    Value id;
    id.type = make_type(TypeId::kInt8);
    id.a = group == ir::kNoReg ? constant(Type::kI64, 0) : b_.convert(Op::kBitcast, group, Type::kI64);
    check(b_.call(k_rt_table_find, {context(), distinct, store_row({id, args[0]}), constant(Type::kI64, 1)}));
    Block fresh = b_.new_block();
    Reg is_new = b_.load(Type::kI64, context(), kContextValue + 8);
    b_.branch(b_.compare(Op::kNe, is_new, constant(Type::kI64, 0)), fresh, next);
    b_.set_block(fresh);
  }
  accumulate(aggregate, args, state);
  Reg count = b_.load(Type::kI64, state, kStateCount);
  b_.store(state, kStateCount, b_.binary(Op::kAdd, count, constant(Type::kI64, 1)));
  b_.jump(next);
  b_.set_block(next);
}

void Generator::accumulate(const Aggregate& aggregate, const Values& args, Reg state) {
  switch (aggregate.kind) {
    case AggregateKind::kCountStar:
    case AggregateKind::kCount:
      return;
    case AggregateKind::kSum:
    case AggregateKind::kAvg:
      return accumulate_sum(args[0], sum_state_type(args[0].type), state);
    case AggregateKind::kMin:
    case AggregateKind::kMax:
    case AggregateKind::kBoolAnd:
    case AggregateKind::kBoolOr:
      return accumulate_extreme(aggregate, args[0], state);
    case AggregateKind::kStringAgg:
      check(b_.call(k_rt_string_agg, {context(), state, args[0].a, args[0].b, store_row({args[1]})}));
      return;
    case AggregateKind::kArrayAgg: {
      Value item = stabilise(args[0]);
      Reg type = data_of(std::vector<SqlType>{args[0].type});
      check(b_.call(k_rt_array_append, {context(), b_.load(Type::kPtr, state), store_row({item}), type}));
      b_.store(state, 0, b_.load(Type::kPtr, context(), kContextValue));
      return;
    }
  }
}

void Generator::accumulate_sum(const Value& value, const SqlType& sum, Reg state) {
  if (sum.id == TypeId::kFloat8) {
    b_.store(state, 0, b_.binary(Op::kFAdd, b_.load(Type::kF64, state), value.a));
    return;
  }
  if (is_dynamic_numeric(sum)) {
    Value running = load_datum(state, 0, sum, false, true);
    store_datum(state, 0, decimal_call(BuiltinOp::kAdd, running, value, sum));
    return;
  }
  Reg wide = b_.type_of(value.a) == Type::kI128 ? value.a : b_.convert(Op::kSExt, value.a, Type::kI128);
  Reg total = b_.binary_checked(Op::kAddChecked, b_.load(Type::kI128, state), wide,
                                raise_block(RuntimeError::kNumericOverflow));
  b_.store(state, 0, total);
}

// MIN, MAX, BOOL_AND, BOOL_OR: keep the input when it is the first or beats what is there.
void Generator::accumulate_extreme(const Aggregate& aggregate, const Value& value, Reg state) {
  bool smallest = aggregate.kind == AggregateKind::kMin || aggregate.kind == AggregateKind::kBoolAnd;
  Block compare_block = b_.new_block();
  Block take = b_.new_block();
  Block done = b_.new_block();
  Reg count = b_.load(Type::kI64, state, kStateCount);
  b_.branch(b_.compare(Op::kEq, count, constant(Type::kI64, 0)), take, compare_block);
  b_.set_block(compare_block);
  Value current = load_datum(state, 0, value.type, false, true);
  b_.branch(compare(smallest ? BuiltinOp::kLess : BuiltinOp::kGreater, value, current), take, done);
  b_.set_block(take);
  store_datum(state, 0, stabilise(value));
  b_.jump(done);
  b_.set_block(done);
}

Value Generator::finish_aggregate(const Aggregate& aggregate, Reg state) {
  Reg count = b_.load(Type::kI64, state, kStateCount);
  Value result;
  result.type = aggregate.type;
  if (aggregate.kind == AggregateKind::kCount || aggregate.kind == AggregateKind::kCountStar) {
    result.a = count;
    return result;
  }
  SqlType arg = first_argument(aggregate)->type;
  Reg none = b_.compare(Op::kEq, count, constant(Type::kI64, 0));
  if (aggregate.kind == AggregateKind::kSum || aggregate.kind == AggregateKind::kAvg) {
    Value sum = load_datum(state, 0, sum_state_type(arg), false, true);
    if (is_dynamic_numeric(sum.type)) sum.b = b_.load(Type::kI32, state, offsetof(Datum, scale));
    if (aggregate.kind == AggregateKind::kSum) {
      if (aggregate.type.id == TypeId::kInt8) {
        result.a = b_.convert(Op::kTrunc, sum.a, Type::kI64);
        Reg back = b_.convert(Op::kSExt, result.a, Type::kI128);
        Block fits = b_.new_block();
        b_.branch(b_.compare(Op::kNe, back, sum.a), raise_block(RuntimeError::kInt8Range), fits, 2);
        b_.set_block(fits);
      } else {
        result.a = sum.a;
        result.b = sum.b;
      }
      result.null = none;
      return result;
    }
    Value empty;
    empty.type = make_type(TypeId::kInt8);
    empty.a = count;
    empty.null = none;
    return strict({sum, empty}, aggregate.type, [&](const Values& values) {
      if (arg.id == TypeId::kFloat8) {
        Value average;
        average.type = aggregate.type;
        average.a = b_.binary(Op::kFDiv, values[0].a, b_.convert(Op::kIntToF, values[1].a, Type::kF64));
        return average;
      }
      return decimal_call(BuiltinOp::kDivide, values[0], values[1], aggregate.type);
    });
  }
  SqlType held = aggregate.kind == AggregateKind::kMin || aggregate.kind == AggregateKind::kMax ? arg : aggregate.type;
  result = load_datum(state, 0, held, false, true);
  result.type = aggregate.type;
  result.null = none;
  return result;
}

}  // namespace scyper::query
