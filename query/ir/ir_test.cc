#include "ir/ir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/hand_over.h"

namespace scyper::query::ir {
namespace {

using testing::HasSubstr;

int64_t sum_of(const int64_t* values, int64_t count) noexcept {
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += values[i];
  return sum;
}
const External kSumOf{
    .name = "sum_of", .address = reinterpret_cast<void*>(&sum_of), .result = Type::kI64, .words = 2, .pure = true};

// if (arguments[0] < 10) { v = arguments[0] + 1 (checked) } else { v = sum_of(data) }; results[0] = v
Function small_function() {
  Builder b("small");
  const Reg variable = b.new_variable(Type::kI64);
  const Reg argument = b.load(Type::kI64, kArgumentsReg);
  const Block less = b.new_block();
  const Block not_less = b.new_block();
  const Block overflow = b.new_block();
  const Block done = b.new_block();
  b.branch(b.compare(Op::kLt, argument, b.constant(Type::kI64, 10)), less, not_less, 1);
  b.set_block(less);
  b.assign(variable, b.binary_checked(Op::kAddChecked, argument, b.constant(Type::kI64, 1), overflow));
  b.jump(done);
  b.set_block(not_less);
  const int64_t values[] = {1, 2};
  const Reg data = b.data({reinterpret_cast<const char*>(values), sizeof values});
  b.assign(variable, b.call(kSumOf, {data, b.constant(Type::kI64, 2)}));
  b.jump(done);
  b.set_block(overflow);
  b.ret_constant(7);
  b.set_block(done);
  b.store(kResultsReg, 0, variable);
  b.ret_constant(0);
  return b.finish();
}

TEST(Ir, PrintsAndVerifies) {
  const Function function = small_function();
  EXPECT_EQ(verify(function), "");
  const std::string text = to_string(function);
  EXPECT_THAT(text, HasSubstr("r4 = load i64 [r1 + 0]"));
  EXPECT_THAT(text, HasSubstr("add_checked i64 r4, r7 overflow b3"));
  EXPECT_THAT(text, HasSubstr("call i64 sum_of(r9, r10)"));
  EXPECT_THAT(text, HasSubstr("branch r6 b1 else b2 likely"));
}

TEST(Ir, FoldsConstantsAndDropsUnreachableBlocks) {
  Builder b("folds");
  const auto i64 = [&](int64_t value) { return b.constant(Type::kI64, value); };
  EXPECT_EQ(b.constant_value(b.binary(Op::kMul, i64(6), i64(7))), 42);
  EXPECT_EQ(b.constant_value(b.compare(Op::kLt, i64(6), i64(7))), 1);
  EXPECT_EQ(b.constant_value(b.logical_not(b.constant(Type::kI8, 1))), 0);
  EXPECT_EQ(b.constant_value(b.convert(Op::kZExt, b.constant(Type::kI32, -1), Type::kI64)), 4294967295);
  EXPECT_EQ(b.constant_value(b.convert(Op::kSExt, b.constant(Type::kI8, 200), Type::kI64)), -56);
  const Reg argument = b.load(Type::kI64, kArgumentsReg);
  EXPECT_EQ(b.binary(Op::kAdd, argument, i64(0)), argument);
  EXPECT_EQ(b.select(b.constant(Type::kI8, 0), i64(1), argument), argument);
  const Reg variable = b.new_variable(Type::kI64);
  EXPECT_NE(b.binary(Op::kAdd, variable, i64(0)), variable) << "a variable may change later";
  const Block never = b.new_block();  // stays empty
  const Block always = b.new_block();
  const Reg overflowing = b.binary_checked(Op::kAddChecked, i64(INT64_MAX), i64(1), always);
  EXPECT_FALSE(b.constant_value(overflowing).has_value());
  b.branch(b.constant(Type::kI8, 0), never, always);
  b.set_block(always);
  b.ret_constant(0);
  const Function function = b.finish();
  EXPECT_EQ(function.blocks.size(), 2u);
  EXPECT_EQ(verify(function), "");
}

TEST(Ir, WideConstants) {
  Builder b("wide");
  const Reg small = b.constant_i128(-5);
  EXPECT_EQ(b.constant_value(small), -5);
  const Reg wide = b.constant_i128(static_cast<__int128>(1) << 100);
  EXPECT_FALSE(b.constant_value(wide).has_value());
  b.store(kResultsReg, 0, wide);
  b.ret_constant(0);
  EXPECT_EQ(verify(b.finish()), "");
}

class Broken : public testing::Test {
 protected:
  Function function_ = small_function();
  Inst& find(Op op) {
    for (auto& block : function_.blocks) {
      for (Inst& inst : block) {
        if (inst.op == op) return inst;
      }
    }
    CHECK(false);
  }
};

TEST_F(Broken, Terminators) {
  Function copy = function_;
  copy.blocks[1].pop_back();
  EXPECT_THAT(verify(copy), HasSubstr("no terminator"));
  copy = function_;
  copy.blocks[1].push_back(copy.blocks[1].back());
  EXPECT_THAT(verify(copy), HasSubstr("behind a terminator"));
  copy = function_;
  copy.blocks.emplace_back();
  EXPECT_THAT(verify(copy), HasSubstr("no terminator"));
}

TEST_F(Broken, Targets) {
  find(Op::kBranch).other = 77;
  EXPECT_THAT(verify(function_), HasSubstr("wrong other target"));
  function_ = small_function();
  find(Op::kAddChecked).target = kNoBlock;
  EXPECT_THAT(verify(function_), HasSubstr("wrong target"));
}

TEST_F(Broken, Types) {
  find(Op::kAddChecked).type = Type::kI32;
  EXPECT_THAT(verify(function_), HasSubstr("type of the result"));
  function_ = small_function();
  find(Op::kReturn).a = kArgumentsReg;
  EXPECT_THAT(verify(function_), HasSubstr("type of operand a"));
  function_ = small_function();
  find(Op::kCall).arg_count = 1;
  EXPECT_THAT(verify(function_), HasSubstr("argument words"));
  function_ = small_function();
  find(Op::kCall).imm = 9;
  EXPECT_THAT(verify(function_), HasSubstr("unknown external"));
  function_ = small_function();
  find(Op::kDataAddr).imm = 17;
  EXPECT_THAT(verify(function_), HasSubstr("constant data"));
  function_ = small_function();
  find(Op::kStore).b = 4711;
  EXPECT_THAT(verify(function_), HasSubstr("unknown register"));
}

TEST_F(Broken, Definitions) {
  Inst& checked = find(Op::kAddChecked);
  find(Op::kStore).b = checked.dst;  // not assigned when not_less ran
  EXPECT_THAT(verify(function_), HasSubstr("along every path"));
  function_ = small_function();
  std::swap(function_.blocks[0][0], function_.blocks[0][2]);
  EXPECT_THAT(verify(function_), HasSubstr("before its assignment"));
  function_ = small_function();
  function_.blocks[0].insert(function_.blocks[0].begin(), function_.blocks[0][0]);
  EXPECT_THAT(verify(function_), HasSubstr("assigned twice"));
}

// control comes to the use around the definition, which its writer knows not to happen
TEST_F(Broken, DemotedTemporariesAreVariables) {
  find(Op::kStore).b = find(Op::kAddChecked).dst;
  Reg demoted = find(Op::kStore).b;
  demote(&function_);
  EXPECT_EQ(verify(function_), "");
  EXPECT_TRUE(function_.mutable_registers[demoted]);
}

// the result of a checked operation does not exist on the overflow edge
TEST_F(Broken, ResultOnTheOverflowEdge) {
  const Inst checked = find(Op::kAddChecked);
  auto& overflow = function_.blocks[checked.target];
  overflow.insert(overflow.begin(), Inst{.op = Op::kStore, .type = Type::kI64, .a = kResultsReg, .b = checked.dst});
  EXPECT_THAT(verify(function_), HasSubstr("along every path"));
}

// --- hand_over.h ---

int32_t never_called() noexcept { return 0; }
External external_of(std::string_view name, uint8_t words) {
  return {name, reinterpret_cast<void*>(&never_called), Type::kI32, words, false};
}
const External kTest = external_of("test", 1), kOutput = external_of("output", 1), kHandOver = external_of("over", 3);

enum class Shape { kTestFirst, kWorkFirst, kNoTest, kOutputFirst };

// A test that may skip the loop, whose head is a place; then a row.
Function function_of(Shape shape) {
  Builder b("f");
  const Block work = b.new_block(), done = b.new_block();
  if (shape == Shape::kOutputFirst) b.call(kOutput, {kContextReg});
  if (shape == Shape::kWorkFirst) b.swap_point();
  if (shape == Shape::kNoTest)
    b.jump(work);
  else
    b.branch(b.compare(Op::kEq, b.call(kTest, {kContextReg}), b.constant(Type::kI32, 0)), work, done);
  b.set_block(work);
  b.swap_point();
  b.branch(b.load(Type::kI8, kArgumentsReg), b.current_block(), done);
  b.set_block(done);
  b.call(kOutput, {kContextReg});
  b.ret_constant(0);
  return b.finish();
}

TEST(HandOver, IsWorthItWhereATestComesBeforeWorkAndRows) {
  EXPECT_TRUE(may_end_before_work(function_of(Shape::kTestFirst), kTest, kOutput));
  for (Shape shape : {Shape::kWorkFirst, Shape::kNoTest, Shape::kOutputFirst})
    EXPECT_FALSE(may_end_before_work(function_of(shape), kTest, kOutput)) << static_cast<int>(shape);
}

TEST(HandOver, HappensAtEveryPlace) {
  for (Shape shape : {Shape::kTestFirst, Shape::kWorkFirst, Shape::kNoTest, Shape::kOutputFirst}) {
    const Function function = function_of(shape);
    const Function changed = with_hand_over(function, kHandOver);
    EXPECT_EQ(verify(changed), "");
    EXPECT_TRUE(changed.swaps.blocks.empty());
    for (Block place : function.swaps.blocks) {
      const auto& block = changed.blocks[place];
      ASSERT_EQ(block[0].op, Op::kCall);
      EXPECT_EQ(changed.externals[static_cast<size_t>(block[0].imm)], &kHandOver);
      EXPECT_EQ(changed.blocks[block.back().target].size(), function.blocks[place].size());
    }
  }
}

}  // namespace
}  // namespace scyper::query::ir
