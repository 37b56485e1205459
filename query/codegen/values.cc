#include "base/invariant.h"
#include "codegen/generator.h"
#include "runtime/swap.h"
#include "storage/big_numeric.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {
constexpr int64_t kHi = offsetof(Datum, hi);
constexpr int64_t kScale = offsetof(Datum, scale);
constexpr int64_t kNull = offsetof(Datum, null);
}  // namespace

void Generator::unsupported(std::string_view what) {
  if (status_.ok()) status_ = sql_error("0A000", std::string(what) + " is not supported");
}

Value Generator::new_variable(const SqlType& type, bool nullable) {
  Value value;
  value.type = type;
  value.a = b_.new_variable(register_type(type));
  if (second_register_type(type) != Type::kVoid) value.b = b_.new_variable(second_register_type(type));
  if (nullable) value.null = b_.new_variable(Type::kI8);
  value.stable = true;
  return value;
}

// The caller has cast `value` to the variable's type and, for what outlives the row, stabilised it.
void Generator::assign(const Value& variable, const Value& value) {
  INVARIANT(register_type(variable.type) == register_type(value.type));
  b_.assign(variable.a, value.a);
  if (variable.b != ir::kNoReg) {
    if (value.b != ir::kNoReg)
      b_.assign(variable.b, value.b);
    else
      b_.assign(variable.b, constant(Type::kI32, value.type.scale));  // known scale into an unconstrained numeric
  }
  if (variable.null != ir::kNoReg) b_.assign(variable.null, is_null(value));
}

Value Generator::null_value(const SqlType& type) {
  Value value;
  value.type = type;
  value.a = constant(register_type(type), 0);
  if (second_register_type(type) != Type::kVoid) value.b = constant(second_register_type(type), 0);
  value.null = constant(Type::kI8, 1);
  value.stable = true;
  return value;
}

Value Generator::constant_value(const BoundExpr& expr) {
  if (expr.value.null) return null_value(expr.type);
  Value value;
  value.type = expr.type;
  value.stable = true;
  switch (kept_as(expr.type.id)) {
    case TypeId::kFloat4:
    case TypeId::kFloat8:
      value.a = b_.constant_f64(__builtin_bit_cast(double, expr.value.lo));
      break;
    case TypeId::kNumeric:
      if (expr.value.scale == kBigScale) {
        const Reg high = b_.constant_i128(static_cast<__int128>(expr.value.hi) << 64);
        value.a =
            b_.binary(Op::kOr, high,
                      b_.convert(Op::kZExt, b_.convert(Op::kBitcast, b_.data(expr.text), Type::kI64), Type::kI128));
        value.b = constant(Type::kI32, kBigScale);
        break;
      }
      value.a = register_type(expr.type) == Type::kI64 ? constant(Type::kI64, expr.value.lo)
                                                       : b_.constant_i128(expr.value.int128());
      if (is_dynamic_numeric(expr.type)) value.b = constant(Type::kI32, expr.value.scale);
      break;
    case TypeId::kInterval:
    case TypeId::kUuid:
      value.a = b_.constant_i128(expr.value.int128());
      break;
    case TypeId::kChar:
    case TypeId::kVarchar:
    case TypeId::kText:
    case TypeId::kBytea:
    case TypeId::kJsonb:
    case TypeId::kUnknown:
      value.a = b_.data(expr.text);
      value.b = constant(Type::kI64, static_cast<int64_t>(expr.text.size()));
      break;
    default:
      value.a = constant(register_type(expr.type), expr.value.lo);
  }
  return value;
}

ir::Reg Generator::is_null(const Value& value) {
  return value.null == ir::kNoReg ? constant(Type::kI8, 0) : value.null;
}

ir::Reg Generator::or_null(Reg a, Reg b) {
  if (a == ir::kNoReg) return b;
  if (b == ir::kNoReg || a == b) return a;
  return b_.binary(Op::kOr, a, b);
}

Value Generator::with_null(Value value, Reg null) {
  value.null = or_null(value.null, null);
  return value;
}

void Generator::store_datum(Reg base, int64_t offset, const Value& value) {
  if (value.null != ir::kNoReg) {
    b_.store(base, offset + kNull, value.null);
  } else {
    b_.store(base, offset + kNull, constant(Type::kI8, 0));
  }
  switch (register_type(value.type)) {
    case Type::kI128:
      b_.store(base, offset, value.a);
      break;
    case Type::kF64:
      b_.store(base, offset, value.a);
      break;
    case Type::kPtr:
      b_.store(base, offset, value.a);
      if (value.b != ir::kNoReg) b_.store(base, offset + kHi, value.b);
      return;
    case Type::kI8:
      b_.store(base, offset, b_.convert(Op::kZExt, value.a, Type::kI64));
      break;
    case Type::kI64:
      b_.store(base, offset, value.a);
      break;
    default:
      b_.store(base, offset, b_.convert(Op::kSExt, value.a, Type::kI64));
  }
  if (value.type.id != TypeId::kNumeric) return;
  if (register_type(value.type) == Type::kI64)
    b_.store(base, offset + kHi, b_.binary(Op::kAShr, value.a, constant(Type::kI64, 63)));
  b_.store(base, offset + kScale, value.b != ir::kNoReg ? value.b : constant(Type::kI32, value.type.scale));
}

Value Generator::load_datum(Reg base, int64_t offset, const SqlType& type, bool nullable, bool stable, bool invariant) {
  auto load = [&](Type part, int64_t at) {
    return invariant ? b_.load_invariant(part, base, at) : b_.load(part, base, at);
  };
  Value value;
  value.type = type;
  value.stable = stable;
  Type reg = register_type(type);
  if (reg == Type::kI8 || reg == Type::kI16 || reg == Type::kI32 || reg == Type::kI64 || reg == Type::kI128 ||
      reg == Type::kF64 || reg == Type::kPtr)
    value.a = load(reg, offset);  // little endian: the low bytes are the narrow value
  if (is_dynamic_numeric(type))
    value.b = load(Type::kI32, offset + kScale);
  else if (second_register_type(type) == Type::kI64)
    value.b = load(Type::kI64, offset + kHi);
  if (nullable) value.null = load(Type::kI8, offset + kNull);
  return value;
}

ir::Reg Generator::store_row(const Values& values) {
  int64_t frame = b_.reserve_frame(static_cast<uint32_t>(kDatumBytes) * static_cast<uint32_t>(values.size() + 1));
  Reg base = b_.frame_address(frame);
  for (size_t i = 0; i < values.size(); i++) store_datum(base, static_cast<int64_t>(i) * kDatumBytes, values[i]);
  return base;
}

Value Generator::stabilise(const Value& value) {
  if (value.stable || register_type(value.type) != Type::kPtr) return value;
  Value copy = value;
  copy.stable = true;
  copy.cells = ir::kNoReg;
  Block copied = b_.new_block();
  Block skip = b_.new_block();
  Value variable = new_variable(value.type, false);
  b_.assign(variable.a, b_.null_pointer());
  if (variable.b != ir::kNoReg) b_.assign(variable.b, constant(Type::kI64, 0));
  if (value.null != ir::kNoReg) {
    Block present = b_.new_block();
    b_.branch(value.null, skip, present, 2);
    b_.set_block(present);
  }
  if (value.cells != ir::kNoReg) {
    b_.assign(variable.a, value.a);
    b_.assign(variable.b, value.b);
    Reg distance = b_.binary(Op::kSub, b_.convert(Op::kBitcast, value.a, Type::kI64),
                             b_.convert(Op::kBitcast, value.cells, Type::kI64));
    b_.branch(b_.compare(Op::kULt, distance, constant(Type::kI64, value.cells_bytes)), copied, skip);
  } else {
    b_.jump(copied);
  }
  b_.set_block(copied);
  if (value.type.id == TypeId::kArray) {
    check(b_.call(k_rt_copy_array, {context(), value.a}));
  } else {
    check(b_.call(k_rt_copy_text, {context(), value.a, value.b}));
    b_.assign(variable.b, value.b);
  }
  b_.assign(variable.a, b_.load(Type::kPtr, context(), kContextValue));
  b_.jump(skip);
  b_.set_block(skip);
  copy.a = variable.a;
  copy.b = variable.b;
  return copy;
}

Value Generator::strict(const Values& args, const SqlType& type, const std::function<Value(const Values&)>& compute) {
  Reg null = ir::kNoReg;
  for (const auto& arg : args) null = or_null(null, arg.null);
  if (null == ir::kNoReg) return compute(args);
  Value result = new_variable(type, true);
  b_.assign(result.null, constant(Type::kI8, 1));
  b_.assign(result.a, constant(register_type(type), 0));
  if (result.b != ir::kNoReg) b_.assign(result.b, constant(second_register_type(type), 0));
  Block work = b_.new_block();
  Block done = b_.new_block();
  b_.branch(null, done, work, 2);
  b_.set_block(work);
  Values present = args;
  for (auto& arg : present) arg.null = ir::kNoReg;
  Value computed = compute(present);
  result.stable = computed.stable;
  assign(result, computed);
  b_.jump(done);
  b_.set_block(done);
  return result;
}

void Generator::check(Reg status) {
  Block next = b_.new_block();
  b_.branch(b_.compare(Op::kNe, status, constant(Type::kI32, 0)), handler_, next, 2);
  b_.set_block(next);
}

ir::Block Generator::raise_block(RuntimeError error) {
  auto key = std::make_pair(handler_, static_cast<int>(error));
  auto it = raise_blocks_.find(key);
  if (it != raise_blocks_.end()) return it->second;
  Block current = b_.current_block();
  Block block = b_.new_block();
  b_.set_block(block);
  b_.call(k_rt_fail, {context(), constant(Type::kI64, static_cast<int64_t>(error))});
  b_.jump(handler_);
  b_.set_block(current);
  raise_blocks_[key] = block;
  return block;
}

void Generator::raise(RuntimeError error) { b_.jump(raise_block(error)); }

// Every loop passes here: other threads end a transaction through ExecContext::interrupt.
void Generator::check_interrupt() {
  Block interrupted = b_.new_block();
  Block next = b_.new_block();
  Reg flag = b_.load(Type::kI32, context(), offsetof(ExecContext, interrupt));
  b_.branch(b_.compare(Op::kNe, flag, constant(Type::kI32, 0)), interrupted, next, 2);
  b_.set_block(interrupted);
  check(b_.call(k_rt_interrupted, {context()}));
  b_.jump(next);
  b_.set_block(next);
}

// Before a loop that drives a pipeline, or at the head of one whose rounds are thousands of rows: the run may go on in
// better code here (ir/swap.cc). Nothing inside of other loops: with an entry in them they would be none to the
// compiler.
void Generator::may_swap() {
  if (loops_ > 0) return;
  b_.set_swaps(swap_points());
  if (resources_.passes_swaps) b_.call(k_rt_swap_passed, {context()});
  b_.swap_point();
}

void Generator::gen_round(const std::function<void()>& body) {
  loops_++;
  body();
  loops_--;
}

}  // namespace scyper::query
