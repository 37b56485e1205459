#include <deque>

#include "base/bounded_work.h"
#include "base/invariant.h"
#include "codegen/generator.h"
#include "codegen/membership.h"
#include "storage/big_numeric.h"
#include "types/datum_text.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {

Value value_of(const SqlType& type, ir::Reg a) {
  Value value;
  value.type = type;
  value.a = a;
  return value;
}
bool is_logic(BoundKind kind) { return kind == BoundKind::kAnd || kind == BoundKind::kOr || kind == BoundKind::kNot; }
Value integer_value(const SqlType& type, ir::Reg reg) {
  Value value;
  value.type = type;
  value.a = reg;
  return value;
}
}  // namespace

Value Generator::gen(const BoundExpr& expr) {
  check_stack();
  poll_work();
  switch (expr.kind) {
    case BoundKind::kConst:
      return constant_value(expr);
    case BoundKind::kVariable:
      return variables_[expr.index];
    case BoundKind::kColumn:
      return gen_column(expr);
    case BoundKind::kBuiltin:
      return gen_builtin(expr);
    case BoundKind::kUserCall:
      return gen_user_call(expr);
    case BoundKind::kRow:
      unsupported("a whole row in this place");
      return null_value(make_type(TypeId::kText));
    case BoundKind::kAnd:
    case BoundKind::kOr:
    case BoundKind::kNot:
      return gen_logic_value(expr);
    case BoundKind::kIsNull:
      return value_of(expr.type, is_null(gen(*expr.args[0])));
    case BoundKind::kIsTruth: {
      Value arg = gen(*expr.args[0]);
      Value value;
      value.type = expr.type;
      Reg matches = expr.index == 1 ? arg.a : b_.logical_not(arg.a);
      value.a = arg.null == ir::kNoReg ? matches : b_.binary(Op::kAnd, matches, b_.logical_not(arg.null));
      return value;
    }
    case BoundKind::kDistinct:
      return gen_distinct_from(expr);
    case BoundKind::kCase:
      return gen_case(expr);
    case BoundKind::kCoalesce:
      return gen_coalesce(expr);
    case BoundKind::kMinMax:
      return gen_min_max(expr);
    case BoundKind::kCast:
      if (std::optional<Value> array = constant_array(expr)) return *array;
      return cast(gen(*expr.args[0]), expr.type, expr.explicit_cast);
    case BoundKind::kSubscript:
      return gen_subscript(expr);
    case BoundKind::kArray:
      return gen_array(expr);
    case BoundKind::kAnyAll:
      return gen_any_all(expr);
    case BoundKind::kScalarSubquery:
      return gen_scalar_subquery(expr);
    case BoundKind::kExists:
      return gen_exists(expr);
    case BoundKind::kInSubquery:
      return gen_in_subquery(expr);
    case BoundKind::kSubqueryOutput:
      INVARIANT(outputs_ != nullptr);
      return (*outputs_)[expr.index];
    case BoundKind::kGroup:
      return (*found_in(groups_, expr.relation))[expr.index];
    case BoundKind::kWindow:
      INVARIANT(false);  // columns of the plan
    case BoundKind::kAggregate:
      return (*found_in(aggregates_, expr.relation))[expr.index];
    case BoundKind::kGrouping:  // one grouping set: every column is in it
      return integer_value(expr.type, constant(Type::kI32, 0));
    case BoundKind::kRowCount:
      return integer_value(expr.type, told_rows_);
  }
  return null_value(expr.type);
}

// Jumps to if_true or if_false; NULL counts as false, as in WHERE.
void Generator::gen_condition(const BoundExpr& expr, Block if_true, Block if_false, int likely) {
  check_stack();
  poll_work();
  if (is_logic(expr.kind)) return gen_logic(expr, if_true, if_false, if_false);
  Value value = gen(expr);
  Reg truth = value.a;
  if (value.null != ir::kNoReg) truth = b_.binary(Op::kAnd, truth, b_.logical_not(value.null));
  b_.branch(truth, if_true, if_false, likely);
}

// Three-valued logic as control flow.
void Generator::gen_logic(const BoundExpr& expr, Block if_true, Block if_false, Block if_null) {
  if (expr.kind == BoundKind::kNot) return gen_logic(*expr.args[0], if_false, if_true, if_null);
  if (!is_logic(expr.kind)) {
    Value value = gen(expr);
    if (value.null != ir::kNoReg) {
      Block known = b_.new_block();
      b_.branch(value.null, if_null, known, 2);
      b_.set_block(known);
    }
    return b_.branch(value.a, if_true, if_false);
  }
  bool is_and = expr.kind == BoundKind::kAnd;
  Block decided = is_and ? if_false : if_true;    // one argument decides
  Block undecided = is_and ? if_true : if_false;  // all arguments agree
  bool tracks_null = if_null != decided;
  Reg seen_null = ir::kNoReg;
  if (tracks_null) {
    seen_null = b_.new_variable(Type::kI8);
    b_.assign(seen_null, constant(Type::kI8, 0));
  }
  for (const LogicTest& test : find_tests(expr)) {
    Block next = b_.new_block();
    Block null = if_null;
    if (tracks_null) null = b_.new_block();
    if (is_and)
      gen_logic(*test.expr, next, decided, null);
    else if (test.members.size() > 1)
      gen_membership(*test.expr->args[0], test.members, decided, next, null);
    else
      gen_logic(*test.expr, decided, next, null);
    if (tracks_null) {
      b_.set_block(null);
      b_.assign(seen_null, constant(Type::kI8, 1));
      b_.jump(next);
    }
    b_.set_block(next);
  }
  if (tracks_null)
    b_.branch(seen_null, if_null, undecided);
  else
    b_.jump(undecided);
}

Value Generator::gen_logic_value(const BoundExpr& expr) {
  Value result = new_variable(expr.type, expr.nullable);
  Block if_true = b_.new_block();
  Block if_false = b_.new_block();
  Block if_null = expr.nullable ? b_.new_block() : if_false;
  Block done = b_.new_block();
  gen_logic(expr, if_true, if_false, if_null);
  auto set = [&](Block block, int value, int null) {
    b_.set_block(block);
    b_.assign(result.a, constant(Type::kI8, value));
    if (result.null != ir::kNoReg) b_.assign(result.null, constant(Type::kI8, null));
    b_.jump(done);
  };
  set(if_true, 1, 0);
  set(if_false, 0, 0);
  if (expr.nullable) set(if_null, 0, 1);
  b_.set_block(done);
  return result;
}

Value Generator::gen_column(const BoundExpr& expr) {
  auto it = sources_.find(expr.relation);
  INVARIANT(it != sources_.end());
  return load_column(it->second, expr.index);
}

Value Generator::gen_builtin(const BoundExpr& expr) {
  Values args;
  BuiltinOp op = expr.builtin->op;
  if (op == BuiltinOp::kRuntime)
    if (std::optional<Value> text = gen_text_function(expr)) return *text;
  if ((op == BuiltinOp::kEqual || op == BuiltinOp::kNotEqual) && is_string(expr.args[0]->type.id))
    if (std::optional<Value> equal = gen_text_equality(expr)) return *equal;
  for (const auto& arg : expr.args) args.push_back(gen(*arg));
  if (op >= BuiltinOp::kEqual && op <= BuiltinOp::kGreaterEqual) {
    // comparisons trap nothing: compute them whatever the NULL flags say, unless they call (what NULL strings point to
    // is undefined)
    auto compute = [&](const Values& values) {
      Value value;
      value.type = expr.type;
      value.a = compare(op, values[0], values[1]);
      return value;
    };
    Type type = register_type(args[0].type);
    if (type == Type::kPtr || args[0].type.id == TypeId::kNumeric) return strict(args, expr.type, compute);
    return with_null(compute(args), or_null(args[0].null, args[1].null));
  }
  if (op == BuiltinOp::kNow) {
    Value value;
    value.type = expr.type;
    value.a = b_.load_invariant(Type::kI64, context(), offsetof(ExecContext, transaction_time_us));
    return value;
  }
  if (op == BuiltinOp::kConcat) {
    return strict(args, expr.type, [&](const Values& values) {
      check(b_.call(k_rt_concat, {context(), values[0].a, values[0].b, values[1].a, values[1].b}));
      Value result;
      result.type = expr.type;
      result.a = b_.load(Type::kPtr, context(), kContextValue);
      result.b = b_.load(Type::kI64, context(), kContextValue + 8);
      result.stable = true;
      return result;
    });
  }
  if (op == BuiltinOp::kRuntime) {
    if (!expr.builtin->strict) return gen_runtime_call(expr, args);
    return strict(args, expr.type, [&](const Values& values) { return gen_runtime_call(expr, values); });
  }
  return strict(args, expr.type, [&](const Values& values) {
    if (op == BuiltinOp::kNegate) return negate(values[0], expr.type);
    return arithmetic(op, values[0], values[1], expr.type);
  });
}

// Any builtin without code of its own: int32 f(context, Datum args[], count, Datum* result).
Value Generator::gen_runtime_call(const BoundExpr& expr, const Values& args) {
  Reg row = store_row(args);
  Reg out = b_.frame_address(b_.reserve_frame(sizeof(Datum)));
  Reg types = b_.null_pointer();
  if (expr.builtin->takes_types) {
    std::vector<SqlType> list;
    for (const auto& arg : args) list.push_back(arg.type);
    types = data_of(list);
  }
  check(b_.call(*expr.builtin->runtime,
                {context(), row, constant(Type::kI64, static_cast<int64_t>(args.size())), out, types}));
  bool nullable = !expr.builtin->strict || expr.builtin->may_return_null;
  return load_datum(out, 0, expr.type, nullable, expr.builtin->result_is_new);
}

Value Generator::gen_case(const BoundExpr& expr) {
  Value result = new_variable(expr.type, expr.nullable);
  result.stable = true;
  Block done = b_.new_block();
  for (size_t i = 0; i + 1 < expr.args.size(); i += 2) {
    Block then = b_.new_block();
    Block next = b_.new_block();
    gen_condition(*expr.args[i], then, next);
    b_.set_block(then);
    Value value = gen(*expr.args[i + 1]);
    result.stable &= value.stable;
    assign(result, value);
    b_.jump(done);
    b_.set_block(next);
  }
  Value value = gen(*expr.args.back());
  result.stable &= value.stable;
  assign(result, value);
  b_.jump(done);
  b_.set_block(done);
  return result;
}

Value Generator::gen_coalesce(const BoundExpr& expr) {
  Value result = new_variable(expr.type, expr.nullable);
  result.stable = true;
  Block done = b_.new_block();
  for (size_t i = 0; i < expr.args.size(); i++) {
    Value value = gen(*expr.args[i]);
    result.stable &= value.stable;
    assign(result, value);
    if (value.null == ir::kNoReg || i + 1 == expr.args.size()) {
      b_.jump(done);
      break;
    }
    Block next = b_.new_block();
    b_.branch(value.null, next, done);
    b_.set_block(next);
  }
  b_.set_block(done);
  return result;
}

Value Generator::gen_min_max(const BoundExpr& expr) {
  Value result = new_variable(expr.type, true);
  result.stable = true;
  assign(result, null_value(expr.type));
  for (const auto& arg : expr.args) {
    Value value = gen(*arg);
    result.stable &= value.stable;
    Block present = b_.new_block();
    Block take = b_.new_block();
    Block compare_block = b_.new_block();
    Block next = b_.new_block();
    if (value.null == ir::kNoReg)
      b_.jump(present);
    else
      b_.branch(value.null, next, present);
    b_.set_block(present);
    b_.branch(result.null, take, compare_block);
    b_.set_block(compare_block);
    Value a = value;
    Value b = result;
    a.null = b.null = ir::kNoReg;
    b_.branch(compare(expr.builtin->op, a, b), take, next);
    b_.set_block(take);
    assign(result, value);
    b_.jump(next);
    b_.set_block(next);
  }
  return result;
}

Value Generator::gen_distinct_from(const BoundExpr& expr) {
  Value a = gen(*expr.args[0]);
  Value b = gen(*expr.args[1]);
  Value result = new_variable(expr.type, false);
  Block both = b_.new_block();
  Block not_both = b_.new_block();
  Block done = b_.new_block();
  Reg null_a = is_null(a);
  Reg null_b = is_null(b);
  b_.branch(b_.binary(Op::kOr, null_a, null_b), not_both, both);
  b_.set_block(not_both);
  b_.assign(result.a, b_.binary(Op::kXor, null_a, null_b));
  b_.jump(done);
  b_.set_block(both);
  a.null = b.null = ir::kNoReg;
  b_.assign(result.a, compare(BuiltinOp::kNotEqual, a, b));
  b_.jump(done);
  b_.set_block(done);
  return result;
}

Value Generator::gen_subscript(const BoundExpr& expr) {
  Value array = gen(*expr.args[0]);
  Value index = gen(*expr.args[1]);
  Value result = new_variable(expr.type, true);
  assign(result, null_value(expr.type));
  Block work = b_.new_block();
  Block found = b_.new_block();
  Block done = b_.new_block();
  Reg null = or_null(array.null, index.null);
  if (null == ir::kNoReg)
    b_.jump(work);
  else
    b_.branch(null, done, work, 2);
  b_.set_block(work);
  // inside the bounds: elements[index - lower_bound]. An argument that is never assigned keeps its elements.
  const BoundExpr& from = *expr.args[0];
  bool fixed =
      from.kind == BoundKind::kVariable && from.index < program_.parameters && assigned_.count(from.index) == 0;
  auto load = [&](Type type, int64_t at) {
    return fixed ? b_.load_invariant(type, array.a, at) : b_.load(type, array.a, at);
  };
  Reg position = b_.binary(Op::kSub, index.a, load(Type::kI32, offsetof(ArrayValue, lower_bound)));
  Reg inside = b_.compare(Op::kULt, position, load(Type::kI32, offsetof(ArrayValue, size)));
  b_.branch(inside, found, done, 1);
  b_.set_block(found);
  Reg elements = load(Type::kPtr, offsetof(ArrayValue, elements));
  Reg element = b_.index(elements, b_.convert(Op::kSExt, position, Type::kI64), kDatumBytes);
  Value value = load_datum(element, 0, expr.type, true, array.stable, fixed);
  assign(result, value);
  result.stable = array.stable;
  b_.jump(done);
  b_.set_block(done);
  return result;
}

Value Generator::gen_array(const BoundExpr& expr) {
  Values items;
  for (const auto& arg : expr.args) items.push_back(stabilise(gen(*arg)));
  return make_array_of(items, expr.type);
}

// '{...}' as an array: read now, where that gives no error and the usual lower bound.
std::optional<Value> Generator::constant_array(const BoundExpr& cast) {
  constexpr int32_t kMostItems = 64;
  const BoundExpr& from = *cast.args[0];
  bool is_text = is_string(from.type.id) || from.type.id == TypeId::kUnknown;
  if (cast.type.id != TypeId::kArray || from.kind != BoundKind::kConst || from.value.null || !is_text)
    return std::nullopt;
  std::deque<std::string> memory;
  auto allocate = [](void* pieces, size_t size) noexcept -> void* {
    const BoundedWork::Pause pause;
    return static_cast<std::deque<std::string>*>(pieces)->emplace_back(size, '\0').data();
  };
  Datum datum;
  if (!parse_datum(cast.type, from.text, TextArena{allocate, &memory}, &datum).ok() || datum.null) return std::nullopt;
  const ArrayValue& array = *reinterpret_cast<const ArrayValue*>(datum.lo);
  if (array.size > kMostItems || array.lower_bound != 1) return std::nullopt;
  Values items;
  for (int32_t i = 0; i < array.size; i++) {
    BoundExpr item;
    item.type = element_of(cast.type);
    item.value = array.elements[i];
    if (holds_bytes(item.type.id) && !item.value.null) item.text.assign(item.value.data(), item.value.size());
    if (item.type.id == TypeId::kNumeric && !item.value.null && item.value.scale == kBigScale)
      item.text.assign(item.value.data(), big_numeric_bytes(item.value));
    items.push_back(constant_value(item));
  }
  return make_array_of(items, cast.type);
}

Value Generator::make_array_of(const Values& items, const SqlType& type) {
  Reg row = store_row(items);
  Reg element = data_of(std::vector<SqlType>{element_of(type)});
  check(b_.call(k_rt_array_make, {context(), element, row, constant(Type::kI64, static_cast<int64_t>(items.size()))}));
  Value value;
  value.type = type;
  value.fresh = true;
  value.a = b_.load(Type::kPtr, context(), kContextValue);
  value.stable = true;
  return value;
}

// left op ANY|ALL (array): true as soon as one element decides, NULL when a comparison was NULL and none decided. An
// array without elements decides for a NULL on the left, too.
Value Generator::gen_any_all(const BoundExpr& expr) {
  Value left = stabilise(gen(*expr.args[0]));
  Value array = gen(*expr.args[1]);
  bool all = expr.index == 1;
  return strict({array}, expr.type, [&](const Values& values) {
    Value result = new_variable(expr.type, true);
    b_.assign(result.a, constant(Type::kI8, all ? 1 : 0));
    b_.assign(result.null, constant(Type::kI8, 0));
    Reg i = b_.new_variable(Type::kI32);
    b_.assign(i, constant(Type::kI32, 0));
    Block head = b_.new_block();
    Block body = b_.new_block();
    Block test = b_.new_block();
    Block decided = b_.new_block();
    Block null = b_.new_block();
    Block next = b_.new_block();
    Block done = b_.new_block();
    b_.jump(head);
    b_.set_block(head);
    b_.branch(b_.compare(Op::kLt, i, b_.load(Type::kI32, values[0].a, offsetof(ArrayValue, size))), body, done);
    b_.set_block(body);
    Reg elements = b_.load(Type::kPtr, values[0].a, offsetof(ArrayValue, elements));
    Reg element = b_.index(elements, b_.convert(Op::kSExt, i, Type::kI64), kDatumBytes);
    Value item = load_datum(element, 0, element_of(values[0].type), true, true);
    b_.branch(or_null(item.null, left.null), null, test);
    b_.set_block(null);
    b_.assign(result.null, constant(Type::kI8, 1));
    b_.jump(next);
    b_.set_block(test);
    item.null = ir::kNoReg;
    Value known = left;
    known.null = ir::kNoReg;
    Reg hit = compare(expr.builtin->op, known, item);
    if (all)
      b_.branch(hit, next, decided);
    else
      b_.branch(hit, decided, next);
    b_.set_block(decided);
    b_.assign(result.a, constant(Type::kI8, all ? 0 : 1));
    b_.assign(result.null, constant(Type::kI8, 0));
    b_.jump(done);
    b_.set_block(next);
    b_.assign(i, b_.binary(Op::kAdd, i, constant(Type::kI32, 1)));
    b_.jump(head);
    b_.set_block(done);
    return result;
  });
}

Value Generator::gen_user_call(const BoundExpr& expr) {
  Values args;
  for (const auto& arg : expr.args) args.push_back(gen(*arg));
  note_call(expr.index, expr.args);
  if (!expr.routine->strict) return call_routine(expr.index, args, {expr.type}, nullptr);
  return strict(args, expr.type,
                [&](const Values& values) { return call_routine(expr.index, values, {expr.type}, nullptr); });
}

}  // namespace scyper::query
