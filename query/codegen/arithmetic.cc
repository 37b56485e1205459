#include "base/invariant.h"
#include "codegen/generator.h"
#include "runtime/functions_jsonb.h"
#include "runtime/functions_range.h"
#include "types/decimal.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {

RuntimeError range_error(TypeId id) {
  switch (id) {
    case TypeId::kInt2:
      return RuntimeError::kInt2Range;
    case TypeId::kInt4:
      return RuntimeError::kInt4Range;
    default:
      return RuntimeError::kInt8Range;
  }
}

Op integer_comparison(BuiltinOp op) {
  switch (op) {
    case BuiltinOp::kEqual:
      return Op::kEq;
    case BuiltinOp::kNotEqual:
      return Op::kNe;
    case BuiltinOp::kLess:
      return Op::kLt;
    case BuiltinOp::kLessEqual:
      return Op::kLe;
    case BuiltinOp::kGreater:
      return Op::kGt;
    default:
      return Op::kGe;
  }
}

Op float_comparison(BuiltinOp op) {
  switch (op) {
    case BuiltinOp::kEqual:
      return Op::kFEq;
    case BuiltinOp::kNotEqual:
      return Op::kFNe;
    case BuiltinOp::kLess:
      return Op::kFLt;
    case BuiltinOp::kLessEqual:
      return Op::kFLe;
    case BuiltinOp::kGreater:
      return Op::kFGt;
    default:
      return Op::kFGe;
  }
}

}  // namespace

Value Generator::arithmetic(BuiltinOp op, const Value& a, const Value& b, const SqlType& type) {
  if (type.id == TypeId::kNumeric) return numeric_arithmetic(op, a, b, type);
  if (is_integer(type.id) && is_integer(a.type.id)) return integer_arithmetic(op, a, b, type);
  INVARIANT(is_float(type.id));
  Value result = float_arithmetic(op, a, b);
  return type.id == TypeId::kFloat4 ? cast_generic(result, type, true) : result;
}

// Finite results that are not 0 are right; the runtime looks at the others: overflow, underflow, division by zero.
Value Generator::float_arithmetic(BuiltinOp op, const Value& a, const Value& b) {
  Op code = op == BuiltinOp::kAdd        ? Op::kFAdd
            : op == BuiltinOp::kSubtract ? Op::kFSub
            : op == BuiltinOp::kMultiply ? Op::kFMul
                                         : Op::kFDiv;
  Value result = new_variable(make_type(TypeId::kFloat8), false);
  Block slow = b_.new_block(), done = b_.new_block();
  b_.assign(result.a, b_.binary(code, a.a, b.a));
  Reg fine = b_.compare(Op::kFEq, b_.binary(Op::kFSub, result.a, result.a), b_.constant_f64(0));
  if (code == Op::kFMul || code == Op::kFDiv)
    fine = b_.binary(Op::kAnd, fine, b_.compare(Op::kFNe, result.a, b_.constant_f64(0)));
  b_.branch(fine, done, slow, 1);
  b_.set_block(slow);
  Reg x = b_.convert(Op::kBitcast, a.a, Type::kI64);
  Reg y = b_.convert(Op::kBitcast, b.a, Type::kI64);
  check(b_.call(k_rt_float, {context(), constant(Type::kI64, static_cast<int64_t>(op)), x, y}));
  b_.assign(result.a, b_.load(Type::kF64, context(), kContextValue));
  b_.jump(done);
  b_.set_block(done);
  return result;
}

Value Generator::integer_arithmetic(BuiltinOp op, const Value& a, const Value& b, const SqlType& type) {
  Value result;
  result.type = type;
  Block overflow = raise_block(range_error(type.id));
  switch (op) {
    case BuiltinOp::kAdd:
      result.a = b_.binary_checked(Op::kAddChecked, a.a, b.a, overflow);
      return result;
    case BuiltinOp::kSubtract:
      result.a = b_.binary_checked(Op::kSubChecked, a.a, b.a, overflow);
      return result;
    case BuiltinOp::kMultiply:
      result.a = b_.binary_checked(Op::kMulChecked, a.a, b.a, overflow);
      return result;
    default:
      break;
  }
  Type reg = register_type(type);
  Block divide = b_.new_block();
  b_.branch(b_.compare(Op::kEq, b.a, constant(reg, 0)), raise_block(RuntimeError::kDivisionByZero), divide, 2);
  b_.set_block(divide);
  // the minimum divided by -1 does not fit; its remainder is 0
  Value quotient = new_variable(type, false);
  Block minus_one = b_.new_block();
  Block plain = b_.new_block();
  Block done = b_.new_block();
  b_.branch(b_.compare(Op::kEq, b.a, constant(reg, -1)), minus_one, plain, 2);
  b_.set_block(minus_one);
  if (op == BuiltinOp::kDivide)
    b_.assign(quotient.a, b_.binary_checked(Op::kSubChecked, constant(reg, 0), a.a, overflow));
  else
    b_.assign(quotient.a, constant(reg, 0));
  b_.jump(done);
  b_.set_block(plain);
  b_.assign(quotient.a, b_.binary(op == BuiltinOp::kDivide ? Op::kSDiv : Op::kSRem, a.a, b.a));
  b_.jump(done);
  b_.set_block(done);
  result.a = quotient.a;
  return result;
}

Value Generator::negate(const Value& a, const SqlType& type) {
  Value result;
  result.type = type;
  result.b = a.b;
  if (is_float(type.id)) {
    Reg bits = b_.convert(Op::kBitcast, a.a, Type::kI64);
    result.a = b_.convert(Op::kBitcast, b_.binary(Op::kXor, bits, constant(Type::kI64, INT64_MIN)), Type::kF64);
  } else if (is_dynamic_numeric(type)) {
    // by a call where it is more than an integer and its scale (storage/big_numeric.h)
    result = new_variable(type, false);
    Block special = b_.new_block(), plain = b_.new_block(), done = b_.new_block();
    b_.branch(b_.compare(Op::kLt, a.b, constant(Type::kI32, 0)), special, plain, 2);
    b_.set_block(plain);
    b_.assign(result.a, b_.binary(Op::kSub, constant(Type::kI128, 0), a.a));
    b_.assign(result.b, a.b);
    b_.jump(done);
    b_.set_block(special);
    Value zero;
    zero.type = make_type(TypeId::kInt8);
    zero.a = constant(Type::kI64, 0);
    assign(result, decimal_call(BuiltinOp::kSubtract, zero, a, type));
    b_.jump(done);
    b_.set_block(done);
  } else if (type.id == TypeId::kNumeric) {
    result.a = b_.binary(Op::kSub, constant(register_type(type), 0), a.a);
  } else {
    result.a =
        b_.binary_checked(Op::kSubChecked, constant(register_type(type), 0), a.a, raise_block(range_error(type.id)));
  }
  return result;
}

// value * 10^(to - from); the caller knows that it fits in `type`.
ir::Reg Generator::rescale(Reg value, int from_scale, int to_scale, Type type) {
  if (b_.type_of(value) != type) value = b_.convert(Op::kSExt, value, type);
  INVARIANT(to_scale >= from_scale);
  if (to_scale == from_scale) return value;
  int128 factor = static_cast<int128>(kPowersOfTen[to_scale - from_scale]);
  Reg multiplier = type == Type::kI64 ? constant(Type::kI64, static_cast<int64_t>(factor)) : b_.constant_i128(factor);
  return b_.binary(Op::kMul, value, multiplier);
}

Value Generator::to_dynamic(const Value& value) {
  if (is_dynamic_numeric(value.type)) return value;
  Value result = value;
  result.type = make_numeric(0, 0);
  if (value.type.id == TypeId::kNumeric) {
    if (b_.type_of(value.a) != Type::kI128) result.a = b_.convert(Op::kSExt, value.a, Type::kI128);
    result.b = constant(Type::kI32, value.type.scale);
  } else {
    INVARIANT(is_integer(value.type.id));
    result.a = b_.convert(Op::kSExt, value.a, Type::kI128);
    result.b = constant(Type::kI32, 0);
  }
  return result;
}

// Where the binder knows a precision of at most 38 digits for the result, no overflow is possible.
Value Generator::numeric_arithmetic(BuiltinOp op, const Value& a, const Value& b, const SqlType& type) {
  bool fixed = type.precision != 0 && a.type.precision != 0 && b.type.precision != 0;
  int integer_digits = std::max(a.type.precision - a.type.scale, b.type.precision - b.type.scale);
  bool fits = op == BuiltinOp::kMultiply ? a.type.precision + b.type.precision <= kMaxPrecision
                                         : integer_digits + std::max(a.type.scale, b.type.scale) < kMaxPrecision;
  bool inline_op = op == BuiltinOp::kAdd || op == BuiltinOp::kSubtract || op == BuiltinOp::kMultiply;
  if (!fixed || !fits || !inline_op) return decimal_call(op, a, b, type);
  Value result;
  result.type = type;
  Type reg = register_type(type);
  if (op == BuiltinOp::kMultiply) {
    result.a = b_.binary(Op::kMul, rescale(a.a, 0, 0, reg), rescale(b.a, 0, 0, reg));
  } else {
    result.a = b_.binary(op == BuiltinOp::kAdd ? Op::kAdd : Op::kSub, rescale(a.a, a.type.scale, type.scale, reg),
                         rescale(b.a, b.type.scale, type.scale, reg));
  }
  return result;
}

Value Generator::decimal_call(BuiltinOp op, const Value& a, const Value& b, const SqlType& type) {
  Value x = to_dynamic(a);
  Value y = to_dynamic(b);
  check(b_.call(k_rt_decimal, {context(), constant(Type::kI64, static_cast<int64_t>(op)), x.a, x.b, y.a, y.b}));
  Value result;
  result.type = type;
  result.a = b_.load(Type::kI128, context(), kContextValue);
  if (is_dynamic_numeric(type)) {
    result.b = b_.load(Type::kI32, context(), kContextValue + 16);
  } else if (register_type(type) == Type::kI64) {
    result.a = b_.convert(Op::kTrunc, result.a, Type::kI64);
  }
  return result;
}

ir::Reg Generator::compare_numeric(BuiltinOp op, const Value& a, const Value& b) {
  if (a.type.precision != 0 && b.type.precision != 0) {
    int scale = std::max(a.type.scale, b.type.scale);
    int digits = std::max(a.type.precision - a.type.scale, b.type.precision - b.type.scale) + scale;
    if (digits <= kMaxPrecision) {
      Type reg = digits <= kMaxPrecision64 ? Type::kI64 : Type::kI128;
      return b_.compare(integer_comparison(op), rescale(a.a, a.type.scale, scale, reg),
                        rescale(b.a, b.type.scale, scale, reg));
    }
  }
  Value x = to_dynamic(a);
  Value y = to_dynamic(b);
  Reg order = b_.call(k_rt_decimal_compare, {x.a, x.b, y.a, y.b});
  return b_.compare(integer_comparison(op), order, constant(Type::kI32, 0));
}

ir::Reg Generator::compare(BuiltinOp op, const Value& a, const Value& b) {
  Op code = integer_comparison(op);
  switch (kept_as(a.type.id)) {
    case TypeId::kNumeric:
      return compare_numeric(op, a, b);
    case TypeId::kFloat4:
    case TypeId::kFloat8: {
      // PostgreSQL: NaN equals NaN and is greater than everything else
      Reg nan_a = b_.compare(Op::kFNe, a.a, a.a);
      Reg nan_b = b_.compare(Op::kFNe, b.a, b.a);
      Reg plain = b_.compare(float_comparison(op), a.a, b.a);
      Reg by_nan = b_.compare(code, nan_a, nan_b);
      return b_.select(b_.binary(Op::kOr, nan_a, nan_b), by_nan, plain);
    }
    case TypeId::kChar:
    case TypeId::kVarchar:
    case TypeId::kText:
    case TypeId::kBytea:
    case TypeId::kUnknown: {
      bool blank_padded = a.type.id == TypeId::kChar && b.type.id == TypeId::kChar;
      if (op == BuiltinOp::kEqual || op == BuiltinOp::kNotEqual) {
        Reg equal = b_.call(blank_padded ? k_rt_equal_char : k_rt_equal_text, {a.a, a.b, b.a, b.b});
        return op == BuiltinOp::kEqual ? equal : b_.logical_not(equal);
      }
      Reg order = b_.call(blank_padded ? k_rt_compare_char : k_rt_compare_text, {a.a, a.b, b.a, b.b});
      return b_.compare(code, order, constant(Type::kI32, 0));
    }
    case TypeId::kInterval:
      return b_.compare(code, b_.call(k_rt_compare_interval, {a.a, b.a}), constant(Type::kI32, 0));
    case TypeId::kJsonb:
      if (has_trailer(a.type.id))
        return b_.compare(code, b_.call(k_rt_compare_ranges, {a.a, a.b, b.a, b.b}), constant(Type::kI32, 0));
      return b_.compare(code, b_.call(k_rt_compare_jsonb, {a.a, a.b, b.a, b.b}), constant(Type::kI32, 0));
    case TypeId::kArray: {
      Reg type = data_of(std::vector<SqlType>{element_of(a.type)});
      Reg order = b_.call(k_rt_compare_array, {a.a, b.a, type, constant(Type::kI64, 0)});
      return b_.compare(code, order, constant(Type::kI32, 0));
    }
    default:
      return b_.compare(code, a.a, b.a);
  }
}

}  // namespace scyper::query
