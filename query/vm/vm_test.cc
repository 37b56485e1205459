#include "vm/vm.h"

#include <gtest/gtest.h>

#include "ir/ir.h"

// What is special to the interpreter; the meaning of every operation is tested for all execution modes in
// jit/modes_test.cc.
namespace scyper::query::vm {
namespace {

using namespace ir;

// fib(arguments[0]) by recursion through an external.
const VmFunction* recursive_function = nullptr;
int64_t call_again(int64_t argument) noexcept {
  int64_t result = 0;
  recursive_function->run(nullptr, &argument, &result);
  return result;
}
const External kCallAgain{
    .name = "call_again", .address = reinterpret_cast<void*>(&call_again), .result = Type::kI64, .words = 1};

TEST(Vm, Recursion) {
  Builder b("fib");
  const Reg n = b.load(Type::kI64, kArgumentsReg);
  const Block small = b.new_block();
  const Block big = b.new_block();
  b.branch(b.compare(Op::kLt, n, b.constant(Type::kI64, 2)), small, big);
  b.set_block(small);
  b.store(kResultsReg, 0, n);
  b.ret_constant(0);
  b.set_block(big);
  const Reg first = b.call(kCallAgain, {b.binary(Op::kSub, n, b.constant(Type::kI64, 1))});
  const Reg second = b.call(kCallAgain, {b.binary(Op::kSub, n, b.constant(Type::kI64, 2))});
  b.store(kResultsReg, 0, b.binary(Op::kAdd, first, second));
  b.ret_constant(0);
  const Function function = b.finish();
  ASSERT_EQ(verify(function), "");
  const auto vm = VmFunction::prepare(function);
  recursive_function = vm.get();
  EXPECT_EQ(call_again(20), 6765);
}

TEST(Vm, TemporariesShareSlotsAndConstantsToo) {
  Builder b("long");
  Reg value = b.load(Type::kI64, kArgumentsReg);
  for (int i = 0; i < 1000; ++i) {
    value = b.binary(Op::kAdd, b.binary(Op::kMul, value, b.constant(Type::kI64, 3)), b.constant(Type::kI64, i % 7 + 1));
  }
  b.store(kResultsReg, 0, value);
  b.ret_constant(0);
  const auto vm = VmFunction::prepare(b.finish());
  EXPECT_LE(vm->frame_bytes(), 200u);
  EXPECT_EQ(vm->code_count(), 2003u);
  uint64_t expected = 5;
  for (uint64_t i = 0; i < 1000; ++i) expected = expected * 3 + i % 7 + 1;
  int64_t argument = 5;
  uint64_t result = 0;
  EXPECT_EQ(vm->run(nullptr, &argument, &result), 0);
  EXPECT_EQ(result, expected);
}

TEST(Vm, FusesCompareWithBranchAndResultWithAssignment) {
  Builder b("loop");
  const Reg i = b.new_variable(Type::kI64);
  const Block body = b.new_block();
  const Block done = b.new_block();
  b.jump(body);
  b.set_block(body);
  b.assign(i, b.binary(Op::kAdd, i, b.constant(Type::kI64, 1)));
  b.branch(b.compare(Op::kLt, i, b.constant(Type::kI64, 100)), body, done);
  b.set_block(done);
  b.ret(b.convert(Op::kTrunc, i, Type::kI32));
  const auto vm = VmFunction::prepare(b.finish());
  EXPECT_EQ(vm->code_count(), 4u);  // add, branch, trunc, return
  EXPECT_EQ(vm->run(nullptr, nullptr, nullptr), 100);
}

TEST(Vm, BigFramesLieOnTheHeap) {
  Builder b("big");
  const int64_t first = b.reserve_frame(1 << 20);
  const int64_t second = b.reserve_frame(16);
  b.store(b.frame_address(first), 0, b.constant(Type::kI64, 1));
  b.store(b.frame_address(second), 8, b.constant(Type::kI64, 2));
  b.store(kResultsReg, 0, b.load(Type::kI64, b.frame_address(second), 8));
  b.ret_constant(0);
  const auto vm = VmFunction::prepare(b.finish());
  EXPECT_GT(vm->frame_bytes(), size_t{1} << 20);
  int64_t result = 0;
  EXPECT_EQ(vm->run(nullptr, nullptr, &result), 0);
  EXPECT_EQ(result, 2);
}

}  // namespace
}  // namespace scyper::query::vm
