#include "base/check.h"
#include "codegen/generator.h"
#include "storage/big_numeric.h"
#include "storage/json_text_type.h"
#include "storage/name_type.h"
#include "storage/time_modifier.h"
#include "types/decimal.h"
#include "types/ordered_bytes.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {

int integer_width(TypeId id) { return id == TypeId::kInt2 ? 2 : id == TypeId::kInt4 ? 4 : 8; }

bool same_string(const SqlType& from, const SqlType& to) {
  if (is_checked_text(to)) return from == to;  // others are checked
  if (is_name(to)) return is_name(from);       // others are cut
  if (from.id == TypeId::kChar) return to.id == TypeId::kChar && (to.length < 0 || to.length == from.length);
  if (to.id == TypeId::kChar) return to.length < 0;
  return to.length < 0 || (from.length >= 0 && from.length <= to.length);
}
}  // namespace

Value Generator::cast(const Value& value, const SqlType& to, bool explicit_cast) {
  const SqlType& from = value.type;
  if (from == to) return value;
  if (from.id == TypeId::kUnknown && value.null != ir::kNoReg && !is_string(to.id)) return null_value(to);
  if ((is_string(from.id) || from.id == TypeId::kUnknown) && is_string(to.id)) {
    Value result = value;
    result.type = to;
    if ((from.id == TypeId::kUnknown && !is_checked_text(to) && !is_name(to)) || same_string(from, to)) return result;
    if (from.id == TypeId::kChar && to.id != TypeId::kChar && to.length < 0) {  // char(n) as text: without its padding
      return strict({value}, to, [&](const Values& values) {
        Value trimmed = values[0];
        trimmed.type = to;
        trimmed.b = b_.call(k_rt_char_text_size, {values[0].a, values[0].b});
        return trimmed;
      });
    }
    return cast_generic(value, to, explicit_cast);
  }
  if (keeps_ordered_bytes(from, to)) {
    Value result = value;
    result.type = to;
    return result;
  }
  if (from.id == to.id && has_clock(to.id) && (to.length < 0 || (to.length == from.length))) {
    Value result = value;
    result.type = to;
    return result;
  }
  if (is_integer(from.id) && is_integer(to.id)) return cast_integer(value, to);
  if (to.id == TypeId::kNumeric && (is_integer(from.id) || from.id == TypeId::kNumeric)) return cast_numeric(value, to);
  if (from.id == TypeId::kFloat4 && to.id == TypeId::kFloat8) {
    Value result = value;
    result.type = to;
    return result;
  }
  if (from.id == TypeId::kInt4 && to.id == TypeId::kFloat8) {
    Value result = value;
    result.type = to;
    result.a = b_.convert(Op::kIntToF, value.a, Type::kF64);
    return result;
  }
  if (from.id == TypeId::kInt8 && to.id == TypeId::kFloat8) {
    Value result = value;
    result.type = to;
    result.a = b_.convert(Op::kIntToF, value.a, Type::kF64);
    return result;
  }
  return cast_generic(value, to, explicit_cast);
}

Value Generator::cast_integer(const Value& value, const SqlType& to) {
  Type reg = register_type(to);
  Value result = value;
  result.type = to;
  if (integer_width(value.type.id) == integer_width(to.id)) return result;
  if (integer_width(value.type.id) < integer_width(to.id)) {
    result.a = b_.convert(Op::kSExt, value.a, reg);
    return result;
  }
  return strict({value}, to, [&](const Values& values) {
    Value narrow;
    narrow.type = to;
    narrow.a = b_.convert(Op::kTrunc, values[0].a, reg);
    Reg back = b_.convert(Op::kSExt, narrow.a, b_.type_of(values[0].a));
    Block next = b_.new_block();
    RuntimeError error = to.id == TypeId::kInt2 ? RuntimeError::kInt2Range : RuntimeError::kInt4Range;
    b_.branch(b_.compare(Op::kNe, back, values[0].a), raise_block(error), next, 2);
    b_.set_block(next);
    return narrow;
  });
}

// To a numeric: inline when the scale only grows and the digits are known to fit, else through the runtime.
Value Generator::cast_numeric(const Value& value, const SqlType& to) {
  SqlType from = is_integer(value.type.id) ? as_numeric(value.type) : value.type;
  if (is_modified_numeric(to)) return cast_generic(value, to, true);
  if (is_dynamic_numeric(to)) {
    Value result = to_dynamic(value);
    result.type = to;
    result.null = value.null;
    return result;
  }
  bool known = !is_dynamic_numeric(from);
  int integer_digits = from.precision - from.scale;
  if (known && to.scale >= from.scale && integer_digits <= to.precision - to.scale) {
    Value result = value;
    result.type = to;
    result.a = rescale(value.a, from.scale, to.scale, register_type(to));
    return result;
  }
  if (known && to.scale >= from.scale && from.precision + (to.scale - from.scale) <= kMaxPrecision64) {
    // fits in 64 bits: only the bound is left to check, out of line when it fails (for the error's detail)
    return strict({value}, to, [&](const Values& values) {
      Value result;
      result.type = to;
      Reg scaled = rescale(values[0].a, from.scale, to.scale, Type::kI64);
      int64_t bound = static_cast<int64_t>(kPowersOfTen[to.precision]);
      Reg shifted = b_.binary(Op::kAdd, scaled, constant(Type::kI64, bound - 1));
      Reg inside = b_.compare(Op::kULt, shifted, constant(Type::kI64, 2 * bound - 1));
      Block slow = b_.new_block();
      Block next = b_.new_block();
      b_.branch(inside, next, slow, 1);
      b_.set_block(slow);
      Value wide = to_dynamic(values[0]);
      check(b_.call(k_rt_decimal_rescale,
                    {context(), wide.a, wide.b, constant(Type::kI64, to.precision), constant(Type::kI64, to.scale)}));
      b_.jump(next);
      b_.set_block(next);
      result.a = register_type(to) == Type::kI64 ? scaled : b_.convert(Op::kSExt, scaled, Type::kI128);
      return result;
    });
  }
  return strict({value}, to, [&](const Values& values) {
    Value wide = to_dynamic(values[0]);
    check(b_.call(k_rt_decimal_rescale,
                  {context(), wide.a, wide.b, constant(Type::kI64, to.precision), constant(Type::kI64, to.scale)}));
    Value result;
    result.type = to;
    result.a = b_.load(Type::kI128, context(), kContextValue);
    if (register_type(to) == Type::kI64) result.a = b_.convert(Op::kTrunc, result.a, Type::kI64);
    return result;
  });
}

Value Generator::cast_generic(const Value& value, const SqlType& to, bool explicit_cast) {
  return strict({value}, to, [&](const Values& values) {
    Reg in = store_row(values);
    Reg out = b_.frame_address(b_.reserve_frame(sizeof(Datum)));
    Reg types = data_of(std::vector<SqlType>{value.type, to});
    check(b_.call(k_rt_cast, {context(), in, types, b_.offset(types, sizeof(SqlType)),
                              constant(Type::kI64, explicit_cast ? 1 : 0), out}));
    // a text may be a part of the one that is given, which may lie in a window
    const bool is_part = holds_bytes(value.type.id) && holds_bytes(to.id) && reads_windows();
    const bool may_be_null =
        is_moment(value.type.id) && (to.id == TypeId::kTime || to.id == TypeId::kTimetz);  // of infinity
    return load_datum(out, 0, to, may_be_null, !is_part || value.stable);
  });
}

}  // namespace scyper::query
