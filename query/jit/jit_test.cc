#include "jit/jit.h"

#include <gtest/gtest.h>

namespace scyper::query::jit {
namespace {

using namespace ir;

TEST(Jit, Compiles) {
  auto jit = Jit::create({});
  ASSERT_TRUE(jit.ok()) << jit.status();
  Builder b("answer");
  b.store(kResultsReg, 0, b.binary(Op::kMul, b.load(Type::kI64, kArgumentsReg), b.constant(Type::kI64, 6)));
  b.ret_constant(3);
  const Function function = b.finish();
  for (Tier tier : {Tier::kQuick, Tier::kBetter}) {
    auto code = (*jit)->compile(function, tier);
    ASSERT_TRUE(code.ok()) << code.status();
    int64_t argument = 7, result = 0;
    EXPECT_EQ((*code)->entry(nullptr, &argument, &result), 3);
    EXPECT_EQ(result, 42);
    printf("%u %u %u %u, %zu bytes\n", (*code)->times.translate_us, (*code)->times.optimize_us,
           (*code)->times.generate_us, (*code)->times.link_us, (*code)->code_bytes);
  }
}

}  // namespace
}  // namespace scyper::query::jit
