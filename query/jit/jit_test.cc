#include "jit/jit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/failpoint.h"
#include "jit/code_arena.h"
#include "jit/random_program.h"

namespace scyper::query::jit {
namespace {

using namespace ir;
using testing::HasSubstr;

std::unique_ptr<Jit> make_jit(CodeArena* arena = nullptr) {
  auto jit = Jit::create({.arena = arena});
  EXPECT_TRUE(jit.ok()) << jit.status();
  return *std::move(jit);
}

Function constant_function(int32_t status) {
  Builder b("status");
  b.ret_constant(status);
  return b.finish();
}

TEST(Jit, GivesMemoryBack) {
  auto arena = *CodeArena::create(size_t{1} << 20);
  const auto jit = make_jit(arena.get());
  Random random(1);
  const auto kept = *jit->compile(constant_function(77), Tier::kBetter);
  const size_t used = arena->used_bytes();
  EXPECT_EQ(jit->live_code_bytes(), used);
  const void* last = nullptr;
  int reused = 0;
  for (int round = 0; round < 50; ++round) {
    const auto tier = static_cast<Tier>(round % 2);
    const auto code = jit->compile(random_program(random, 30), tier);
    ASSERT_TRUE(code.ok()) << code.status();
    EXPECT_TRUE(arena->contains(reinterpret_cast<const void*>((*code)->entry)));
    EXPECT_GT(arena->used_bytes(), used);
    const void* entry = reinterpret_cast<const void*>((*code)->entry);
    reused += entry == last;
    last = entry;
  }
  EXPECT_GT(reused, 0);
  EXPECT_EQ(arena->used_bytes(), used);
  EXPECT_EQ(jit->live_code_bytes(), used);
  EXPECT_EQ(kept->entry(nullptr, nullptr, nullptr), 77);
}

TEST(Jit, CompilesInManyThreads) {
  const auto jit = make_jit();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 25; ++round) {
        const int32_t status = t * 1000 + round;
        const auto code = jit->compile(constant_function(status), round % 8 == 0 ? Tier::kBetter : Tier::kQuick);
        if (!code.ok() || (*code)->entry(nullptr, nullptr, nullptr) != status) ++wrong;
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    const ForkHold hold = jit->hold_for_fork();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(jit->live_code_bytes(), 0u);
}

int64_t first_external() noexcept { return 1; }
int64_t second_external() noexcept { return 2; }

TEST(Jit, RefusesTwoExternalsOfOneName) {
  const auto jit = make_jit();
  for (auto [address, ok] : {std::pair(&first_external, true), std::pair(&second_external, false)}) {
    const External external{
        .name = "twice", .address = reinterpret_cast<void*>(address), .result = Type::kI64, .words = 0};
    Builder b("caller");
    b.call(external, {});
    b.ret_constant(0);
    const auto code = jit->compile(b.finish(), Tier::kQuick);
    EXPECT_EQ(code.ok(), ok);
    if (ok) continue;
    EXPECT_THAT(std::string(code.status().message()), HasSubstr("two functions called twice"));
  }
}

#ifndef SCYPER_SANITIZED  // what the compilation had made stays allocated
TEST(Jit, LivesThroughFatalErrorsOfLlvm) {
  const auto jit = make_jit();
  for (const Tier tier : {Tier::kQuick, Tier::kBetter}) {
    ASSERT_TRUE(arm_failpoints("native.fatal=fail*1").ok());
    const auto broken = jit->compile(constant_function(1), tier);
    disarm_failpoints();
    EXPECT_EQ(sqlstate_of(broken.status()), "XX000") << broken.status();
    const auto next = jit->compile(constant_function(2), tier);
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_EQ((*next)->entry(nullptr, nullptr, nullptr), 2);
  }
}
#endif

TEST(Jit, PrintsAssembly) {
  const auto jit = make_jit();
  const auto text = jit->assembly(constant_function(4711), Tier::kBetter);
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, HasSubstr("4711"));
  EXPECT_EQ(jit->live_code_bytes(), 0u);
}

// pointers into the executable are reached directly: the arena lies near it
TEST(Jit, ArenaIsNearTheExecutable) {
  const auto jit = make_jit();
  const auto code = *jit->compile(constant_function(1), Tier::kQuick);
  const auto distance = reinterpret_cast<intptr_t>(&first_external) - reinterpret_cast<intptr_t>(code->entry);
#ifndef SCYPER_SANITIZED
  EXPECT_LT(std::abs(distance), intptr_t{1} << 31);
#else
  (void)distance;
#endif
}

}  // namespace
}  // namespace scyper::query::jit
