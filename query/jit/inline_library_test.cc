#include "jit/inline_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inline_sample.h"
#include "jit/execution_modes.h"

extern "C" {
extern const char scyper_inline_sample_bitcode[];
extern const char scyper_inline_sample_bitcode_end[];

int64_t inline_sample_native_only(int64_t value) noexcept { return value * 100; }
int64_t inline_sample_nobody_knows() noexcept { return 5; }
}

namespace scyper::query::jit {
namespace {

using namespace ir;
using testing::HasSubstr;
using testing::Not;

template <typename F>
External external(std::string_view name, F* function, Type result, uint8_t words) {
  return {.name = name, .address = reinterpret_cast<void*>(function), .result = result, .words = words};
}
const External kAdd = external("inline_sample_add", &inline_sample_add, Type::kI64, 2);
const External kNarrow = external("inline_sample_narrow", &inline_sample_narrow, Type::kI32, 3);
const External kHash = external("inline_sample_hash", &inline_sample_hash, Type::kI64, 1);
const External kCallsNative = external("inline_sample_calls_native", &inline_sample_calls_native, Type::kI64, 1);
const External kLength = external("inline_sample_length", &inline_sample_length, Type::kI64, 1);
const External kCounter = external("inline_sample_counter", &inline_sample_counter, Type::kI64, 0);
const External kUnknown = external("inline_sample_unknown", &inline_sample_unknown, Type::kI64, 0);

class InlineLibraryTest : public testing::Test {
 protected:
  InlineLibraryTest() {
    const InlineLibrary::Symbol symbols[] = {
        {"inline_sample_native_only", reinterpret_cast<void*>(&inline_sample_native_only)}};
    const std::string_view bitcode(scyper_inline_sample_bitcode, scyper_inline_sample_bitcode_end);
    auto library = InlineLibrary::create(bitcode, symbols);
    EXPECT_TRUE(library.ok()) << library.status();
    library_ = *std::move(library);
    auto jit = Jit::create({.inline_library = library_.get()});
    EXPECT_TRUE(jit.ok()) << jit.status();
    jit_ = *std::move(jit);
  }

  std::unique_ptr<InlineLibrary> library_;
  std::unique_ptr<Jit> jit_;
};

// results: the seven functions of arguments[0] = value, arguments[1] = text
Function all_calls() {
  Builder b("all_calls");
  const Reg value = b.load(Type::kI64, kArgumentsReg);
  const Reg text = b.load(Type::kPtr, kArgumentsReg, 8);
  b.store(kResultsReg, 0, b.call(kAdd, {value, value}));
  const Reg narrow = b.call(kNarrow, {b.compare(Op::kGt, value, b.constant(Type::kI64, 3)),
                                      b.convert(Op::kTrunc, value, Type::kI16), kArgumentsReg});
  b.store(kResultsReg, 8, b.convert(Op::kSExt, narrow, Type::kI64));
  b.store(kResultsReg, 16, b.call(kHash, {value}));
  b.store(kResultsReg, 24, b.call(kCallsNative, {value}));
  b.store(kResultsReg, 32, b.call(kLength, {text}));
  b.store(kResultsReg, 40, b.call(kUnknown, {}));
  b.ret_constant(0);
  return b.finish();
}

TEST_F(InlineLibraryTest, SameResultsInAllModes) {
  const Function function = all_calls();
  ASSERT_EQ(verify(function), "");
  const AllModes modes(*jit_, function);
  for (int64_t value : {0, 3, 4, -7, 1000000}) {
    const int64_t arguments[] = {value, reinterpret_cast<int64_t>("four")};
    const int64_t expected[] = {3 * value,
                                value > 3 ? static_cast<int16_t>(value) : static_cast<int32_t>(value),
                                inline_sample_hash(value),
                                value * 100 + 1,
                                4,
                                5};
    for (ExecutionMode mode : kExecutionModes) {
      int64_t results[6] = {};
      EXPECT_EQ(modes.run(mode, nullptr, arguments, results), 0);
      for (size_t i = 0; i < std::size(expected); ++i) EXPECT_EQ(results[i], expected[i]) << i << " of " << value;
    }
  }
}

TEST_F(InlineLibraryTest, BetterTierInlines) {
  const auto quick = *jit_->assembly(all_calls(), Tier::kQuick);
  const auto better = *jit_->assembly(all_calls(), Tier::kBetter);
  for (const char* name :
       {"inline_sample_add", "inline_sample_narrow", "inline_sample_hash", "inline_sample_calls_native"}) {
    EXPECT_THAT(quick, HasSubstr(name));
    EXPECT_THAT(better, Not(HasSubstr(name)));
  }
  EXPECT_THAT(better, HasSubstr("inline_sample_native_only"));
  EXPECT_THAT(better, HasSubstr("inline_sample_unknown"));
}

TEST_F(InlineLibraryTest, RefusesStateAndUnknownFunctions) {
  EXPECT_FALSE(library_->contains("inline_sample_counter"));
  EXPECT_FALSE(library_->contains("inline_sample_unknown"));
  EXPECT_THAT(library_->refused(), testing::Contains(HasSubstr("inline_sample_counter: changing variable")));
  EXPECT_THAT(library_->refused(), testing::Contains(HasSubstr("unknown function inline_sample_nobody_knows")));
  EXPECT_EQ(library_->refused().size(), 2u);
  // called in all modes, the counter is one
  Builder b("count");
  b.store(kResultsReg, 0, b.call(kCounter, {}));
  b.ret_constant(0);
  const AllModes modes(*jit_, b.finish());
  int64_t last = inline_sample_counter();
  for (ExecutionMode mode : kExecutionModes) {
    int64_t result = 0;
    modes.run(mode, nullptr, nullptr, &result);
    EXPECT_EQ(result, ++last);
  }
}

TEST_F(InlineLibraryTest, RefusesRubbish) { EXPECT_FALSE(InlineLibrary::create("no bitcode", {}).ok()); }

// The cost of opening the bitcode, printed: compare with and without.
TEST_F(InlineLibraryTest, CompileTime) {
  const auto plain = *Jit::create({});
  for (int round = 0; round < 3; ++round) {
    const auto with = *jit_->compile(all_calls(), Tier::kBetter);
    const auto without = *plain->compile(all_calls(), Tier::kBetter);
    printf("with: translate %u optimize %u generate %u us, without: %u %u %u us\n", with->times.translate_us,
           with->times.optimize_us, with->times.generate_us, without->times.translate_us, without->times.optimize_us,
           without->times.generate_us);
  }
}

}  // namespace
}  // namespace scyper::query::jit
