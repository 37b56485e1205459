#include "base/check.h"
#include "codegen/aggregate_state.h"
#include "codegen/generator.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {
constexpr int64_t kContextValue = offsetof(ExecContext, value);

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

bool takes_null(AggregateKind kind) { return kind == AggregateKind::kArrayAgg; }

void Generator::step_aggregate(const Aggregate& aggregate, const Values& args, Reg state) {
  accumulate(aggregate, args, state);
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
  }
}

void Generator::accumulate_sum(const Value& value, const SqlType& sum, Reg state) {
  if (is_float(sum.id)) {
    Value running = load_datum(state, 0, sum, false, true);
    b_.store(state, 0, arithmetic(BuiltinOp::kAdd, running, value, sum).a);
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
