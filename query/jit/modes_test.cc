#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "jit/execution_modes.h"

// Every operation with every type, in the interpreter and in both tiers, against plain C++.
namespace scyper::query::jit {
namespace {

using namespace ir;
constexpr Type kIntegers[] = {Type::kI8, Type::kI16, Type::kI32, Type::kI64, Type::kI128};

// What a binary integer operation gives; nothing if it overflows (checked) or is undefined for these operands.
struct Expected {
  bool defined = true;
  bool overflow = false;
  Int value = 0;
};

Expected integer_result(Op op, Type type, Int a, Int b) {
  const UInt ua = static_cast<UInt>(a), ub = static_cast<UInt>(b);
  const bool shift_defined = b >= 0 && b < bits_of(type);
  Int exact = 0;
  switch (op) {
    case Op::kAdd:
      return {.value = wrap(type, ua + ub)};
    case Op::kSub:
      return {.value = wrap(type, ua - ub)};
    case Op::kMul:
      return {.value = wrap(type, ua * ub)};
    case Op::kAnd:
      return {.value = a & b};
    case Op::kOr:
      return {.value = a | b};
    case Op::kXor:
      return {.value = a ^ b};
    case Op::kSDiv:
    case Op::kSRem: {
      const Int min = wrap(type, UInt{1} << (bits_of(type) - 1));
      if (b == 0 || (b == -1 && a == min)) return {.defined = false};
      return {.value = op == Op::kSDiv ? a / b : a % b};
    }
    case Op::kShl:
      return {.defined = shift_defined, .value = shift_defined ? wrap(type, ua << b) : 0};
    case Op::kLShr:
      return {.defined = shift_defined, .value = shift_defined ? wrap(type, zero_extended(type, a) >> b) : 0};
    case Op::kAShr:
      return {.defined = shift_defined, .value = shift_defined ? a >> b : 0};
    case Op::kAddChecked:
    case Op::kSubChecked:
    case Op::kMulChecked: {
      const bool over = op == Op::kAddChecked   ? __builtin_add_overflow(a, b, &exact)
                        : op == Op::kSubChecked ? __builtin_sub_overflow(a, b, &exact)
                                                : __builtin_mul_overflow(a, b, &exact);
      return {.overflow = over || exact != wrap(type, static_cast<UInt>(exact)), .value = exact};
    }
    case Op::kEq:
      return {.value = a == b};
    case Op::kNe:
      return {.value = a != b};
    case Op::kLt:
      return {.value = a < b};
    case Op::kLe:
      return {.value = a <= b};
    case Op::kGt:
      return {.value = a > b};
    case Op::kGe:
      return {.value = a >= b};
    case Op::kULt:
      return {.value = zero_extended(type, a) < zero_extended(type, b)};
    default:
      return {.defined = false};
  }
}

bool is_comparison(Op op) { return op >= Op::kEq && op <= Op::kFGe; }
bool is_checked(Op op) { return op >= Op::kAddChecked && op <= Op::kMulChecked; }

// arguments: a at 0, b at 16; results: the result at 0. Returns 0, 1 on overflow; comparisons used by a branch return 2
// or 3.
Function binary_function(Op op, Type type, std::optional<Int> constant, bool by_branch) {
  Builder b(std::string(name_of(op)) + "_" + std::string(name_of(type)));
  const Block overflow = b.new_block();
  const Reg left = b.load(type, kArgumentsReg, 0);
  Reg right = kNoReg;
  if (constant) {
    right = type == Type::kI128 ? b.constant_i128(*constant) : b.constant(type, static_cast<int64_t>(*constant));
  } else {
    right = b.load(type, kArgumentsReg, 16);
  }
  Reg result;
  if (is_checked(op)) {
    result = b.binary_checked(op, left, right, overflow);
  } else if (is_comparison(op)) {
    result = b.compare(op, left, right);
  } else {
    result = b.binary(op, left, right);
  }
  if (by_branch) {
    const Block yes = b.new_block();
    const Block no = b.new_block();
    b.branch(result, yes, no);
    b.set_block(yes);
    b.ret_constant(2);
    b.set_block(no);
    b.ret_constant(3);
  } else {
    b.store(kResultsReg, 0, result);
    b.ret_constant(0);
  }
  b.set_block(overflow);
  b.ret_constant(1);
  return b.finish();
}

void expect_integer_results(Op op, Type type, std::optional<Int> constant, bool by_branch) {
  const Function function = binary_function(op, type, constant, by_branch);
  ASSERT_EQ(verify(function), "");
  const AllModes modes(shared_jit(), function);
  const Type result_type = is_comparison(op) ? Type::kI8 : type;
  for (Int a : interesting(type)) {
    for (Int b : interesting(type)) {
      if (constant && b != *constant) continue;
      const Expected expected = integer_result(op, type, a, b);
      if (!expected.defined) continue;
      Memory arguments;
      arguments.put(type, 0, a);
      arguments.put(type, 16, b);
      for (ExecutionMode mode : kExecutionModes) {
        Memory results;
        const int32_t status = modes.run(mode, nullptr, arguments.bytes, results.bytes);
        const int32_t wanted = by_branch ? (expected.value != 0 ? 2 : 3) : expected.overflow ? 1 : 0;
        const Int value = by_branch || expected.overflow ? 0 : expected.value;
        ASSERT_EQ(status, wanted) << function.name << " " << text(a) << " " << text(b) << " mode " << int(mode);
        ASSERT_EQ(text(results.get(result_type, 0)), text(value))
            << function.name << " " << text(a) << " " << text(b) << " mode " << int(mode);
      }
    }
  }
}

TEST(Modes, IntegerOperations) {
  for (Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kSDiv, Op::kSRem, Op::kAnd, Op::kOr, Op::kXor, Op::kShl, Op::kLShr,
                Op::kAShr, Op::kAddChecked, Op::kSubChecked, Op::kMulChecked}) {
    for (Type type : kIntegers) {
      if (is_checked(op) && type == Type::kI8) continue;
      expect_integer_results(op, type, std::nullopt, false);
      if (op == Op::kSDiv || op == Op::kMulChecked || op == Op::kShl) expect_integer_results(op, type, 7, false);
      if (op == Op::kSubChecked) expect_integer_results(op, type, interesting(type)[15], false);  // the minimum
    }
  }
}

TEST(Modes, IntegerComparisons) {
  for (Op op : {Op::kEq, Op::kNe, Op::kLt, Op::kLe, Op::kGt, Op::kGe, Op::kULt}) {
    for (Type type : kIntegers) {
      expect_integer_results(op, type, std::nullopt, false);
      expect_integer_results(op, type, std::nullopt, true);
      if (op == Op::kLt) expect_integer_results(op, type, interesting(type)[12], true);  // the maximum
    }
  }
}

// What the builder computes itself must be what the operations would give.
TEST(Modes, FoldedConstants) {
  for (Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kSDiv, Op::kAnd, Op::kOr, Op::kXor, Op::kShl, Op::kAddChecked,
                Op::kSubChecked, Op::kMulChecked, Op::kEq, Op::kNe, Op::kLt, Op::kLe, Op::kGt, Op::kGe, Op::kULt}) {
    for (Type type : {Type::kI8, Type::kI16, Type::kI32, Type::kI64}) {
      if (is_checked(op) && type == Type::kI8) continue;
      for (Int left : interesting(type)) {
        for (Int right : interesting(type)) {
          Builder b("folded");
          const Block overflow = b.new_block();
          const Reg x = b.constant(type, static_cast<int64_t>(left));
          const Reg y = b.constant(type, static_cast<int64_t>(right));
          const Reg result = is_checked(op)      ? b.binary_checked(op, x, y, overflow)
                             : is_comparison(op) ? b.compare(op, x, y)
                                                 : b.binary(op, x, y);
          const auto folded = b.constant_value(result);
          if (!folded) continue;
          const Expected expected = integer_result(op, type, left, right);
          ASSERT_TRUE(expected.defined && !expected.overflow) << name_of(op) << " " << text(left) << " " << text(right);
          ASSERT_EQ(text(wrap(b.type_of(result), static_cast<UInt>(*folded))), text(expected.value))
              << name_of(op) << " " << name_of(type) << " " << text(left) << " " << text(right);
        }
      }
    }
  }
}

const double kDoubles[] = {0.0,
                           -0.0,
                           1.5,
                           -1.5,
                           3.0,
                           1e300,
                           -1e300,
                           1e-300,
                           std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           std::nan("")};

double double_result(Op op, double a, double b) {
  switch (op) {
    case Op::kFAdd:
      return a + b;
    case Op::kFSub:
      return a - b;
    case Op::kFMul:
      return a * b;
    case Op::kFDiv:
      return a / b;
    case Op::kFEq:
      return a == b;
    case Op::kFNe:
      return a != b;
    case Op::kFLt:
      return a < b;
    case Op::kFLe:
      return a <= b;
    case Op::kFGt:
      return a > b;
    default:
      return a >= b;
  }
}

TEST(Modes, Doubles) {
  for (Op op :
       {Op::kFAdd, Op::kFSub, Op::kFMul, Op::kFDiv, Op::kFEq, Op::kFNe, Op::kFLt, Op::kFLe, Op::kFGt, Op::kFGe}) {
    for (bool by_branch : {false, true}) {
      if (by_branch && !is_comparison(op)) continue;
      const Function function = binary_function(op, Type::kF64, std::nullopt, by_branch);
      ASSERT_EQ(verify(function), "");
      const AllModes modes(shared_jit(), function);
      for (double a : kDoubles) {
        for (double b : kDoubles) {
          Memory arguments;
          arguments.put_f(0, a);
          arguments.put_f(16, b);
          const double expected = double_result(op, a, b);
          for (ExecutionMode mode : kExecutionModes) {
            Memory results;
            const int32_t status = modes.run(mode, nullptr, arguments.bytes, results.bytes);
            ASSERT_EQ(status, by_branch ? (expected != 0 ? 2 : 3) : 0) << function.name << " " << a << " " << b;
            if (by_branch) continue;
            if (is_comparison(op)) {
              ASSERT_EQ(results.get(Type::kI8, 0), Int(expected)) << function.name << " " << a << " " << b;
            } else if (std::isnan(expected)) {
              ASSERT_TRUE(std::isnan(results.get_f(0)));
            } else {
              ASSERT_EQ(std::bit_cast<uint64_t>(results.get_f(0)), std::bit_cast<uint64_t>(expected))
                  << function.name << " " << a << " " << b << " mode " << int(mode);
            }
          }
        }
      }
    }
  }
}

// One operand at arguments + 0; expected() gives the result from it.
void expect_unary(Op op, Type from, Type to, const std::function<Int(Int)>& expected) {
  Builder b(std::string(name_of(op)) + "_" + std::string(name_of(from)) + "_" + std::string(name_of(to)));
  const Reg operand = b.load(from, kArgumentsReg);
  b.store(kResultsReg, 0, op == Op::kBswap ? b.bswap(operand) : b.convert(op, operand, to));
  b.ret_constant(0);
  const Function function = b.finish();
  ASSERT_EQ(verify(function), "");
  const AllModes modes(shared_jit(), function);
  for (Int a : interesting(from)) {
    Memory arguments;
    arguments.put(from, 0, a);
    for (ExecutionMode mode : kExecutionModes) {
      Memory results;
      modes.run(mode, nullptr, arguments.bytes, results.bytes);
      ASSERT_EQ(text(results.get(to, 0)), text(expected(a)))
          << function.name << " " << text(a) << " mode " << int(mode);
    }
  }
}

TEST(Modes, Conversions) {
  for (Type from : kIntegers) {
    for (Type to : kIntegers) {
      if (from < to) {
        expect_unary(Op::kSExt, from, to, [](Int a) { return a; });
        expect_unary(Op::kZExt, from, to, [&](Int a) { return static_cast<Int>(zero_extended(from, a)); });
      } else if (from > to) {
        expect_unary(Op::kTrunc, from, to, [&](Int a) { return wrap(to, static_cast<UInt>(a)); });
      }
    }
  }
  const auto as_double = [](Int a) {
    return Int(std::bit_cast<int64_t>(static_cast<double>(static_cast<int64_t>(a))));
  };
  expect_unary(Op::kIntToF, Type::kI32, Type::kF64, as_double);
  expect_unary(Op::kIntToF, Type::kI64, Type::kF64, as_double);
  const auto same = [](Int a) { return a; };
  expect_unary(Op::kBitcast, Type::kI64, Type::kF64, same);
  expect_unary(Op::kBitcast, Type::kF64, Type::kI64, same);
  expect_unary(Op::kBitcast, Type::kI64, Type::kPtr, same);
  expect_unary(Op::kBitcast, Type::kPtr, Type::kI64, same);
  for (Type type : {Type::kI16, Type::kI32, Type::kI64}) {
    expect_unary(Op::kBswap, type, type, [&](Int a) {
      return wrap(type, __builtin_bswap64(static_cast<uint64_t>(a)) >> (64 - bits_of(type)));
    });
  }
}

TEST(Modes, DoubleToInteger) {
  Builder b("f_to_int");
  b.store(kResultsReg, 0, b.convert(Op::kFToInt, b.load(Type::kF64, kArgumentsReg), Type::kI64));
  b.ret_constant(0);
  const AllModes modes(shared_jit(), b.finish());
  for (double value : {0.0, 1.9, -1.9, 1e15, -9.2e18}) {
    for (ExecutionMode mode : kExecutionModes) {
      int64_t result = 0;
      modes.run(mode, nullptr, &value, &result);
      EXPECT_EQ(result, static_cast<int64_t>(value));
    }
  }
}

constexpr Type kAllTypes[] = {Type::kI8, Type::kI16, Type::kI32, Type::kI64, Type::kI128, Type::kF64, Type::kPtr};

// Loads at odd addresses, select, moves through a variable, stores: for all types. The condition is at 64.
TEST(Modes, MovesSelectsLoadsAndStores) {
  for (Type type : kAllTypes) {
    Builder b("moves_" + std::string(name_of(type)));
    const Reg variable = b.new_variable(type);
    b.store(kResultsReg, 80, variable);  // variables start as zero
    const Reg left = b.load(type, kArgumentsReg, 1);
    const Reg right = b.load(type, kArgumentsReg, 19);
    const Reg condition = b.load(Type::kI8, kArgumentsReg, 64);
    b.assign(variable, left);
    b.store(kResultsReg, 3, b.select(condition, left, right));
    b.store(kResultsReg, 37, b.select(condition, right, variable));
    b.assign(variable, right);
    b.store(kResultsReg, 55, variable);
    b.store(kResultsReg, 101, b.select(b.compare(Op::kEq, condition, b.constant(Type::kI8, 0)), left, variable));
    b.ret_constant(0);
    const Function function = b.finish();
    ASSERT_EQ(verify(function), "");
    const AllModes modes(shared_jit(), function);
    const auto values = interesting(type);
    for (size_t i = 0; i + 1 < values.size(); ++i) {
      for (int condition_value : {0, 1}) {
        Memory arguments;
        arguments.put(type, 1, values[i]);
        arguments.put(type, 19, values[i + 1]);
        arguments.put(Type::kI8, 64, condition_value);
        for (ExecutionMode mode : kExecutionModes) {
          Memory results;
          results.put(Type::kI128, 80, -1);
          modes.run(mode, nullptr, arguments.bytes, results.bytes);
          const Int chosen = condition_value != 0 ? values[i] : values[i + 1];
          const Int other = condition_value != 0 ? values[i + 1] : values[i];
          ASSERT_EQ(text(results.get(type, 3)), text(chosen)) << function.name;
          ASSERT_EQ(text(results.get(type, 37)), text(other)) << function.name;
          ASSERT_EQ(text(results.get(type, 55)), text(values[i + 1])) << function.name;
          ASSERT_EQ(text(results.get(type, 80)), text(0)) << function.name;
          ASSERT_EQ(text(results.get(type, 101)), text(other)) << function.name;
        }
      }
    }
  }
}

TEST(Modes, PointersFrameDataAndConstants) {
  const Int wide = (Int{0x0123456789ABCDEF} << 64) | 0x0FEDCBA987654321;
  Builder b("pointers");
  const Reg table = b.data("0123456789abcdef");
  const Reg at = b.load(Type::kI64, kArgumentsReg);
  const int64_t first = b.reserve_frame(5);
  const int64_t second = b.reserve_frame(8000);  // probed page by page
  b.prefetch(table, 8);
  b.store(kResultsReg, 0, b.load(Type::kI8, b.index(table, at, 1)));
  b.store(kResultsReg, 1, b.load(Type::kI16, b.index(table, at, 2), 1));
  b.store(kResultsReg, 3, b.load(Type::kI8, b.index(b.offset(table, 15), at, -3)));
  b.store(b.frame_address(first), 0, b.constant(Type::kI8, 77));
  b.store(b.frame_address(second), 7992, b.constant_f64(2.5));
  b.store(kResultsReg, 4, b.load(Type::kI8, b.frame_address(first)));
  b.store(kResultsReg, 8, b.load(Type::kF64, b.offset(b.frame_address(second), 7992)));
  b.store(kResultsReg, 16, b.constant_i128(wide));
  b.store(kResultsReg, 32, b.constant_i128(-3));
  b.store(kResultsReg, 48, b.null_pointer());
  b.store(kResultsReg, 56, b.constant(Type::kI16, -2));
  b.store(kResultsReg, 64, kContextReg);
  b.store(kResultsReg, 72, b.compare(Op::kULt, kArgumentsReg, kResultsReg));
  b.store(kResultsReg, 73, b.compare(Op::kEq, kArgumentsReg, kArgumentsReg));
  b.store(kResultsReg, 74, b.compare(Op::kNe, b.null_pointer(), kArgumentsReg));
  b.ret_constant(-9);
  const Function function = b.finish();
  ASSERT_EQ(verify(function), "");
  const AllModes modes(shared_jit(), function);
  for (ExecutionMode mode : kExecutionModes) {
    Memory memory[2];  // arguments, results
    memory[0].put(Type::kI64, 0, 4);
    memory[1].put(Type::kI64, 48, -1);
    EXPECT_EQ(modes.run(mode, &memory, memory[0].bytes, memory[1].bytes), -9);
    const Memory& results = memory[1];
    EXPECT_EQ(char(results.get(Type::kI8, 0)), '4');
    EXPECT_EQ(int(results.get(Type::kI16, 1)), 'a' << 8 | '9');
    EXPECT_EQ(char(results.get(Type::kI8, 3)), '3');
    EXPECT_EQ(int(results.get(Type::kI8, 4)), 77);
    EXPECT_EQ(results.get_f(8), 2.5);
    EXPECT_EQ(text(results.get(Type::kI128, 16)), text(wide));
    EXPECT_EQ(text(results.get(Type::kI128, 32)), text(-3));
    EXPECT_EQ(int64_t(results.get(Type::kI64, 48)), 0);
    EXPECT_EQ(int(results.get(Type::kI16, 56)), -2);
    EXPECT_EQ(int64_t(results.get(Type::kI64, 64)), reinterpret_cast<int64_t>(&memory));
    EXPECT_EQ(int(results.get(Type::kI8, 72)), 1);
    EXPECT_EQ(int(results.get(Type::kI8, 73)), 1);
    EXPECT_EQ(int(results.get(Type::kI8, 74)), 1);
  }
}

}  // namespace
}  // namespace scyper::query::jit
