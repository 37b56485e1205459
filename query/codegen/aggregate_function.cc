#include <algorithm>

#include "base/check.h"
#include "codegen/aggregate_state.h"
#include "codegen/generator.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {

const BoundExpr* first_argument(const Aggregate& aggregate) {
  return aggregate.args.empty() ? nullptr : aggregate.args[0].get();
}

// A sum is kept in 64 bits for small integers, in 128 for larger ones and numerics of known scale; unconstrained
// numerics carry their scale along.
SqlType sum_state_type(const Aggregate& aggregate) {
  const SqlType& arg = aggregate.args[0]->type;
  if (arg.id == TypeId::kFloat4 && aggregate.kind == AggregateKind::kAvg) return make_type(TypeId::kFloat8);
  if (is_float(arg.id) || is_dynamic_numeric(arg)) return arg;
  if (arg.id == TypeId::kNumeric) return make_numeric(kMaxPrecision, arg.scale);
  return make_numeric(kMaxPrecision, 0);
}
}  // namespace

size_t strict_arguments(const Aggregate& aggregate) {
  if (aggregate.args.empty() || aggregate.kind == AggregateKind::kArrayAgg || is_hypothetical(aggregate.kind) ||
      aggregate.kind == AggregateKind::kCountStar)
    return 0;
  return aggregate.kind >= AggregateKind::kCovarPop && aggregate.kind <= AggregateKind::kRegrIntercept ? 2 : 1;
}

namespace {

bool is_ordered_by_integers(const SqlType& type) {
  return is_integer(type.id) || is_float(type.id) || is_moment(type.id) || type.id == TypeId::kTime ||
         (type.id == TypeId::kNumeric && type.precision > 0 && type.precision <= kMaxPrecision64);
}

}  // namespace

bool keeps_values(const Aggregate& aggregate) {
  const bool is_known = aggregate.kind == AggregateKind::kMode || aggregate.kind == AggregateKind::kPercentileCont ||
                        aggregate.kind == AggregateKind::kPercentileDisc;
  return is_known && !aggregate.distinct && aggregate.order.size() == 1 && aggregate.order[0].output == 0 &&
         is_ordered_by_integers(aggregate.args[0]->type);
}

void Generator::step_ordered(const Aggregate& aggregate, const Value& value, Reg state) {
  Block begin = b_.new_block(), add = b_.new_block();
  b_.branch(b_.compare(Op::kEq, b_.load(Type::kPtr, state), b_.null_pointer()), begin, add, 2);
  b_.set_block(begin);
  const bool has_fraction = aggregate.args.size() > 1;
  const Reg fraction = has_fraction ? store_row({gen(*aggregate.args[1])}) : b_.null_pointer();
  const SqlType type = has_fraction ? aggregate.args[1]->type : make_type(TypeId::kFloat8);
  check(b_.call(k_rt_ordered_begin, {context(), state, fraction, data_of(std::vector<SqlType>{type})}));
  b_.jump(add);
  b_.set_block(add);
  check(b_.call(k_rt_ordered_add, {context(), state, store_row({value}), data_of(std::vector<SqlType>{value.type})}));
}

void Generator::step_aggregate(const Aggregate& aggregate, const Values& args, Reg state) {
  if (keeps_values(aggregate)) {
    step_ordered(aggregate, args[0], state);
  } else if (aggregate.collects()) {
    collect_row(args, state);
  } else {
    accumulate(aggregate, args, state);
  }
  Reg count = b_.load(Type::kI64, state, kAggregateCount);
  b_.store(state, kAggregateCount, b_.binary(Op::kAdd, count, constant(Type::kI64, 1)));
}

void Generator::accumulate(const Aggregate& aggregate, const Values& args, Reg state) {
  switch (aggregate.kind) {
    case AggregateKind::kCountStar:
    case AggregateKind::kCount:
      return;
    case AggregateKind::kSum:
    case AggregateKind::kAvg:
      return accumulate_sum(args[0], sum_state_type(aggregate), state);
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
    case AggregateKind::kBitAnd:
    case AggregateKind::kBitOr:
    case AggregateKind::kBitXor:
      return accumulate_bits(aggregate.kind, args[0], state);
    default: {
      Reg types = data_of(std::vector<SqlType>{args[0].type});
      Reg kind = constant(Type::kI64, static_cast<int64_t>(aggregate.kind));
      check(b_.call(k_rt_aggregate_step, {context(), state, kind, store_row(args), types}));
      return;
    }
  }
}

void Generator::accumulate_bits(AggregateKind kind, const Value& value, Reg state) {
  Reg none = b_.compare(Op::kEq, b_.load(Type::kI64, state, kAggregateCount), constant(Type::kI64, 0));
  Reg bits = b_.type_of(value.a) == Type::kI64 ? value.a : b_.convert(Op::kSExt, value.a, Type::kI64);
  // zeros are neutral but for AND
  Reg current = b_.load(Type::kI64, state);
  if (kind == AggregateKind::kBitAnd) current = b_.select(none, constant(Type::kI64, -1), current);
  Op op = kind == AggregateKind::kBitAnd ? Op::kAnd : kind == AggregateKind::kBitOr ? Op::kOr : Op::kXor;
  b_.store(state, 0, b_.binary(op, current, bits));
}

// --- aggregates that see their rows in order: kept in a RowBuffer, whose address is the state ---

void Generator::collect_row(const Values& args, Reg state) {
  std::vector<SqlType> types;
  for (const auto& arg : args) types.push_back(arg.type);
  Block create = b_.new_block(), append = b_.new_block();
  b_.branch(b_.compare(Op::kEq, b_.load(Type::kPtr, state), b_.null_pointer()), create, append, 2);
  b_.set_block(create);
  check(
      b_.call(k_rt_rows_create, {context(), data_of(types), constant(Type::kI64, static_cast<int64_t>(args.size()))}));
  b_.store(state, 0, b_.load(Type::kPtr, context(), kContextValue));
  b_.jump(append);
  b_.set_block(append);
  check(b_.call(k_rt_rows_append, {context(), b_.load(Type::kPtr, state), store_row(args)}));
}

// DISTINCT without ORDER BY sorts by the arguments, as PostgreSQL does; with it, by what is left of them as well.
void Generator::sort_collected(const Aggregate& aggregate, Reg rows) {
  std::vector<SortKey> keys;
  for (const auto& order : aggregate.order)
    keys.push_back({order.output, static_cast<uint8_t>(order.descending), static_cast<uint8_t>(order.nulls_first), 0});
  for (uint32_t i = 0; aggregate.distinct && i < aggregate.arity; i++)
    if (std::none_of(keys.begin(), keys.end(), [&](const SortKey& key) { return key.column == i; }))
      keys.push_back({i, 0, 0, 0});
  check(b_.call(k_rt_rows_sort,
                {context(), rows, data_of(keys), constant(Type::kI64, static_cast<int64_t>(keys.size()))}));
}

Value Generator::finish_collected(const Aggregate& aggregate, Reg state) {
  Value result = new_variable(aggregate.type, true);
  assign(result, null_value(aggregate.type));
  Block some = b_.new_block(), done = b_.new_block();
  Reg rows = b_.load(Type::kPtr, state);
  Reg temporary = b_.frame_address(b_.reserve_frame(kAggregateStateBytes));
  for (int64_t at = 0; at < kAggregateStateBytes; at += 8) b_.store(temporary, at, constant(Type::kI64, 0));
  bool ordered_set = aggregate.kind >= AggregateKind::kMode;
  if (is_hypothetical(aggregate.kind)) {  // alone it is the first, and all that there is
    Value alone = null_value(aggregate.type);
    alone.null = ir::kNoReg;
    if (aggregate.type.id == TypeId::kInt8) alone.a = constant(Type::kI64, 1);
    if (aggregate.type.id == TypeId::kFloat8)
      alone.a = b_.constant_f64(aggregate.kind == AggregateKind::kHypotheticalCumeDist ? 1 : 0);
    assign(result, alone);
  }
  Block finish = ordered_set ? done : b_.new_block();
  b_.branch(b_.compare(Op::kEq, rows, b_.null_pointer()), finish, some);
  b_.set_block(some);
  sort_collected(aggregate, rows);
  if (ordered_set) {
    Reg out = b_.frame_address(b_.reserve_frame(sizeof(Datum)));
    Reg kind = constant(Type::kI64, static_cast<int64_t>(aggregate.kind));
    std::vector<SortKey> keys;
    for (const auto& order : aggregate.order)
      keys.push_back(
          {order.output, static_cast<uint8_t>(order.descending), static_cast<uint8_t>(order.nulls_first), 0});
    check(b_.call(k_rt_ordered_set, {context(), kind, rows, data_of(keys), out}));
    assign(result, load_datum(out, 0, aggregate.type, true, true));
    b_.jump(done);
    b_.set_block(done);
    return result;
  }
  step_collected(aggregate, rows, temporary);
  b_.jump(finish);
  b_.set_block(finish);
  assign(result, finish_plain(aggregate, temporary));
  b_.jump(done);
  b_.set_block(done);
  result.stable = true;
  return result;
}

void Generator::step_collected(const Aggregate& aggregate, Reg rows, Reg state) {
  int64_t width = static_cast<int64_t>(aggregate.args.size());
  gen_rounds([&] { return b_.load(Type::kI64, rows, offsetof(RowBuffer, count)); },
             [&](Reg i) {
               check_interrupt();
               Block next = b_.new_block();
               if (aggregate.distinct) {
                 Block fresh = b_.new_block();
                 Reg arity = constant(Type::kI64, static_cast<int64_t>(aggregate.arity));
                 b_.branch(b_.call(k_rt_rows_same, {rows, i, arity}), next, fresh);
                 b_.set_block(fresh);
               }
               Reg first = b_.load(Type::kPtr, rows, offsetof(RowBuffer, rows));
               Reg row = b_.index(first, i, width * static_cast<int64_t>(sizeof(Datum)));
               Values args;
               for (size_t a = 0; a < aggregate.arity; a++)
                 args.push_back(load_datum(row, static_cast<int64_t>(a * sizeof(Datum)), aggregate.args[a]->type,
                                           a >= strict_arguments(aggregate), true));
               accumulate(aggregate, args, state);
               Reg count = b_.load(Type::kI64, state, kAggregateCount);
               b_.store(state, kAggregateCount, b_.binary(Op::kAdd, count, constant(Type::kI64, 1)));
               b_.jump(next);
               b_.set_block(next);
             });
}

void Generator::accumulate_sum(const Value& value, const SqlType& sum, Reg state) {
  if (is_float(sum.id)) {
    Value running = load_datum(state, 0, sum, false, true);
    b_.store(state, 0, arithmetic(BuiltinOp::kAdd, running, value, sum).a);
    return;
  }
  if (is_dynamic_numeric(sum)) {
    accumulate_decimal(value, sum, state);
    return;
  }
  Reg wide = b_.type_of(value.a) == Type::kI128 ? value.a : b_.convert(Op::kSExt, value.a, Type::kI128);
  Reg total = b_.binary_checked(Op::kAddChecked, b_.load(Type::kI128, state), wide,
                                raise_block(RuntimeError::kNumericOverflow));
  b_.store(state, 0, total);
}

// A numeric whose scale comes with it. Without a call where both fit 64 bits and have one scale, or where zero of a
// smaller one comes.
void Generator::accumulate_decimal(const Value& value, const SqlType& sum, Reg state) {
  constexpr auto kScale = static_cast<int64_t>(offsetof(Datum, scale));
  Block same = b_.new_block(), small = b_.new_block(), other = b_.new_block(), slow = b_.new_block(),
        add = b_.new_block(), done = b_.new_block();
  Reg old = b_.load(Type::kI64, state), old_high = b_.load(Type::kI64, state, 8);
  Reg low = b_.convert(Op::kTrunc, value.a, Type::kI64);
  Reg scale = b_.load(Type::kI32, state, kScale);
  b_.branch(b_.compare(Op::kEq, scale, value.b), same, other, 1);
  b_.set_block(same);
  Reg fits = b_.compare(Op::kEq, b_.convert(Op::kSExt, low, Type::kI128), value.a);
  Reg old_fits = b_.compare(Op::kEq, b_.binary(Op::kAShr, old, constant(Type::kI64, 63)), old_high);
  b_.branch(b_.binary(Op::kAnd, fits, old_fits), small, slow, 1);
  b_.set_block(small);
  Reg total = b_.binary_checked(Op::kAddChecked, old, low, slow);
  b_.jump(add);
  b_.set_block(add);
  b_.store(state, 0, total);
  b_.store(state, 8, b_.binary(Op::kAShr, total, constant(Type::kI64, 63)));
  b_.jump(done);
  b_.set_block(other);
  Reg zero = b_.compare(Op::kEq, value.a, b_.constant_i128(0));
  b_.branch(b_.binary(Op::kAnd, zero, b_.compare(Op::kLt, value.b, scale)), done, slow);
  b_.set_block(slow);
  Value running = load_datum(state, 0, sum, false, true);
  store_datum(state, 0, decimal_call(BuiltinOp::kAdd, running, value, sum));
  b_.jump(done);
  b_.set_block(done);
}

// MIN, MAX, BOOL_AND, BOOL_OR: keep the input when it is the first or beats what is there.
void Generator::accumulate_extreme(const Aggregate& aggregate, const Value& value, Reg state) {
  bool smallest = aggregate.kind == AggregateKind::kMin || aggregate.kind == AggregateKind::kBoolAnd;
  Block compare_block = b_.new_block();
  Block take = b_.new_block();
  Block done = b_.new_block();
  Reg count = b_.load(Type::kI64, state, kAggregateCount);
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
  if (keeps_values(aggregate)) {
    Reg out = b_.frame_address(b_.reserve_frame(sizeof(Datum)));
    const Reg kind = constant(Type::kI64, static_cast<int64_t>(aggregate.kind));
    const Reg descending = constant(Type::kI64, aggregate.order[0].descending ? 1 : 0);
    const Reg type = data_of(std::vector<SqlType>{aggregate.args[0]->type});
    check(b_.call(k_rt_ordered_finish, {context(), state, kind, type, descending, out}));
    return load_datum(out, 0, aggregate.type, true, true);
  }
  return aggregate.collects() ? finish_collected(aggregate, state) : finish_plain(aggregate, state);
}

Value Generator::finish_plain(const Aggregate& aggregate, Reg state) {
  if (aggregate.kind >= AggregateKind::kSumInterval) {
    Reg out = b_.frame_address(b_.reserve_frame(sizeof(Datum)));
    Reg types = data_of(std::vector<SqlType>{aggregate.args[0]->type});
    Reg kind = constant(Type::kI64, static_cast<int64_t>(aggregate.kind));
    check(b_.call(k_rt_aggregate_finish, {context(), state, kind, types, out}));
    return load_datum(out, 0, aggregate.type, aggregate.kind != AggregateKind::kRegrCount, true);
  }
  Reg count = b_.load(Type::kI64, state, kAggregateCount);
  Value result;
  result.type = aggregate.type;
  if (aggregate.kind == AggregateKind::kCount || aggregate.kind == AggregateKind::kCountStar) {
    result.a = count;
    return result;
  }
  SqlType arg = first_argument(aggregate)->type;
  Reg none = b_.compare(Op::kEq, count, constant(Type::kI64, 0));
  if (aggregate.kind == AggregateKind::kSum || aggregate.kind == AggregateKind::kAvg) {
    Value sum = load_datum(state, 0, sum_state_type(aggregate), false, true);
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
      if (is_float(arg.id)) {
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
