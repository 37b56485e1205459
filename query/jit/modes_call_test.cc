#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "jit/execution_modes.h"

// Calls and control flow in the interpreter and in both tiers.
namespace scyper::query::jit {
namespace {

using namespace ir;

uint64_t seen_words[12];
template <size_t>
using Word = uint64_t;
template <size_t... i>
uint64_t note_words(Word<i>... word) noexcept {
  size_t at = 0;
  ((seen_words[at++] = word), ...);
  return sizeof...(i) + 1000;
}
template <size_t... i>
void* address_of_note(std::index_sequence<i...>) {
  return reinterpret_cast<void*>(&note_words<i...>);
}
template <size_t... n>
std::vector<External> make_note_externals(std::index_sequence<n...>) {
  static const std::string_view kNames[] = {"note0", "note1", "note2", "note3",  "note4",  "note5", "note6",
                                            "note7", "note8", "note9", "note10", "note11", "note12"};
  return {External{.name = kNames[n],
                   .address = address_of_note(std::make_index_sequence<n>()),
                   .result = Type::kI64,
                   .words = n}...};
}

TEST(Modes, CallsOfUpToTwelveWords) {
  const std::vector<External> externals = make_note_externals(std::make_index_sequence<13>());
  for (const External& external : externals) {
    Builder b("calls");
    std::vector<Reg> args;
    for (int i = 0; i < external.words; ++i) args.push_back(b.load(Type::kI64, kArgumentsReg, 8 * i));
    b.store(kResultsReg, 0, b.call(external, args));
    b.ret_constant(0);
    const Function function = b.finish();
    ASSERT_EQ(verify(function), "");
    const AllModes modes(shared_jit(), function);
    uint64_t arguments[12];
    for (uint64_t i = 0; i < 12; ++i) arguments[i] = 0xF0F0F0F000000000u + i;
    for (ExecutionMode mode : kExecutionModes) {
      memset(seen_words, 0, sizeof seen_words);
      int64_t result = 0;
      modes.run(mode, nullptr, arguments, &result);
      EXPECT_EQ(result, 1000 + external.words);
      EXPECT_EQ(memcmp(seen_words, arguments, external.words * 8u), 0) << external.name << " mode " << int(mode);
    }
  }
}

// i8, i16, i32, f64, i128, ptr, i64, i128, f64: 11 words
int32_t mixed(bool a, int16_t b, int32_t c, uint64_t d, uint64_t e_low, int64_t e_high, const void* f, int64_t g,
              uint64_t h_low, int64_t h_high, uint64_t i) noexcept {
  const uint64_t words[] = {a,
                            static_cast<uint64_t>(b),
                            static_cast<uint64_t>(c),
                            d,
                            e_low,
                            static_cast<uint64_t>(e_high),
                            reinterpret_cast<uint64_t>(f),
                            static_cast<uint64_t>(g),
                            h_low,
                            static_cast<uint64_t>(h_high),
                            i};
  memcpy(seen_words, words, sizeof words);
  return -5;
}

TEST(Modes, CallsWithAllTypes) {
  static const External kMixed{
      .name = "mixed", .address = reinterpret_cast<void*>(&mixed), .result = Type::kI32, .words = 11};
  Builder b("mixed_call");
  const auto load = [&](Type type, int64_t offset) { return b.load(type, kArgumentsReg, offset); };
  const Reg result = b.call(
      kMixed, {load(Type::kI8, 0), load(Type::kI16, 2), load(Type::kI32, 4), load(Type::kF64, 8), load(Type::kI128, 16),
               kArgumentsReg, load(Type::kI64, 32), load(Type::kI128, 48), b.constant_f64(0.5)});
  b.store(kResultsReg, 0, b.convert(Op::kSExt, result, Type::kI64));
  b.ret(result);
  const Function function = b.finish();
  ASSERT_EQ(verify(function), "");
  const AllModes modes(shared_jit(), function);
  Memory arguments;
  arguments.put(Type::kI8, 0, 1);
  arguments.put(Type::kI16, 2, -300);
  arguments.put(Type::kI32, 4, -70000);
  arguments.put_f(8, -0.25);
  const Int wide = -(Int{1} << 100) + 5;
  arguments.put(Type::kI128, 16, wide);
  arguments.put(Type::kI64, 32, INT64_MIN);
  arguments.put(Type::kI128, 48, -1);
  const uint64_t expected[] = {1,
                               static_cast<uint64_t>(-300),
                               static_cast<uint64_t>(-70000),
                               std::bit_cast<uint64_t>(-0.25),
                               static_cast<uint64_t>(wide),
                               static_cast<uint64_t>(wide >> 64),
                               reinterpret_cast<uint64_t>(arguments.bytes),
                               static_cast<uint64_t>(INT64_MIN),
                               ~uint64_t{0},
                               ~uint64_t{0},
                               std::bit_cast<uint64_t>(0.5)};
  for (ExecutionMode mode : kExecutionModes) {
    memset(seen_words, 0, sizeof seen_words);
    int64_t result_value = 0;
    EXPECT_EQ(modes.run(mode, nullptr, arguments.bytes, &result_value), -5);
    EXPECT_EQ(result_value, -5);
    for (size_t i = 0; i < std::size(expected); ++i) EXPECT_EQ(seen_words[i], expected[i]) << "word " << i;
  }
}

// Narrow results leave rubbish in the upper bits of the register.
uint64_t rubbish(uint64_t value) noexcept { return value; }

TEST(Modes, NarrowResultsOfCalls) {
  for (Type type : {Type::kI8, Type::kI16, Type::kI32, Type::kI64, Type::kPtr}) {
    static const std::string kNames[] = {"", "rubbish8", "rubbish16", "rubbish32", "rubbish64", "", "", "rubbish_ptr"};
    const External external{.name = kNames[static_cast<size_t>(type)],
                            .address = reinterpret_cast<void*>(&rubbish),
                            .result = type,
                            .words = 1};
    Builder b("narrow");
    const Reg result = b.call(external, {b.load(Type::kI64, kArgumentsReg)});
    const Reg word = type == Type::kI64   ? result
                     : type == Type::kPtr ? b.convert(Op::kBitcast, result, Type::kI64)
                                          : b.convert(Op::kSExt, result, Type::kI64);
    b.store(kResultsReg, 0, word);
    b.store(kResultsReg, 8, b.compare(Op::kEq, result, type == Type::kPtr ? b.null_pointer() : b.constant(type, -1)));
    b.ret_constant(0);
    const Function function = b.finish();
    ASSERT_EQ(verify(function), "");
    const AllModes modes(shared_jit(), function);
    for (uint64_t value : {0x1234567890ABCDEFu, 0xEDCBA098FFFFFFFFu, 0x80808080u + (uint64_t{1} << 50)}) {
      for (ExecutionMode mode : kExecutionModes) {
        Memory results;
        modes.run(mode, nullptr, &value, results.bytes);
        EXPECT_EQ(text(results.get(Type::kI64, 0)), text(wrap(type, value)));
        EXPECT_EQ(results.get(Type::kI8, 8), Int(type != Type::kPtr && wrap(type, value) == -1));
      }
    }
  }
}

// results[0] = number of pairs (i, j), i < n, j < i, whose product is divisible by 3; overflow exit when i * 2^58
// overflows
TEST(Modes, NestedLoops) {
  Builder b("nested");
  const Reg i = b.new_variable(Type::kI64);
  const Reg j = b.new_variable(Type::kI64);
  const Reg count = b.new_variable(Type::kI64);
  const auto i64 = [&](int64_t value) { return b.constant(Type::kI64, value); };
  const Reg n = b.load(Type::kI64, kArgumentsReg);
  const Block outer = b.new_block(), outer_body = b.new_block(), inner = b.new_block(), inner_body = b.new_block();
  const Block hit = b.new_block(), next = b.new_block(), outer_next = b.new_block(), done = b.new_block();
  const Block overflow = b.new_block();
  b.jump(outer);
  b.set_block(outer);
  b.branch(b.compare(Op::kLt, i, n), outer_body, done, 1);
  b.set_block(outer_body);
  b.binary_checked(Op::kMulChecked, i, i64(int64_t{1} << 58), overflow);
  b.assign(j, i64(0));
  b.jump(inner);
  b.set_block(inner);
  b.branch(b.compare(Op::kLt, j, i), inner_body, outer_next);
  b.set_block(inner_body);
  const Reg remainder = b.binary(Op::kSRem, b.binary(Op::kMul, i, j), i64(3));
  b.branch(b.logical_not(b.compare(Op::kNe, remainder, i64(0))), hit, next, 2);
  b.set_block(hit);
  b.assign(count, b.binary(Op::kAdd, count, i64(1)));
  b.jump(next);
  b.set_block(next);
  b.assign(j, b.binary(Op::kAdd, j, i64(1)));
  b.jump(inner);
  b.set_block(outer_next);
  b.assign(i, b.binary(Op::kAdd, i, i64(1)));
  b.jump(outer);
  b.set_block(done);
  b.store(kResultsReg, 0, count);
  b.ret_constant(0);
  b.set_block(overflow);
  b.store(kResultsReg, 0, i);
  b.ret_constant(1);
  const Function function = b.finish();
  ASSERT_EQ(verify(function), "");
  const AllModes modes(shared_jit(), function);
  for (int64_t n_value : {0, 1, 5, 31, 40}) {
    int64_t expected = 0;
    for (int64_t x = 0; x < n_value; ++x) {
      for (int64_t y = 0; y < x; ++y) expected += x * y % 3 == 0;
    }
    if (n_value > 32) expected = 32;
    for (ExecutionMode mode : kExecutionModes) {
      int64_t result = -1;
      EXPECT_EQ(modes.run(mode, nullptr, &n_value, &result), n_value > 32 ? 1 : 0);
      EXPECT_EQ(result, expected);
    }
  }
}

}  // namespace
}  // namespace scyper::query::jit
