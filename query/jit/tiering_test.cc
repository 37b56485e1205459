#include "jit/tiering.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "jit/code_arena.h"
#include "jit/random_program.h"

namespace scyper::query::jit {
namespace {

using namespace ir;

// results[0] = arguments[0] * factor
Function times_function(int64_t factor) {
  Builder b("times");
  b.store(kResultsReg, 0, b.binary(Op::kMul, b.load(Type::kI64, kArgumentsReg), b.constant(Type::kI64, factor)));
  b.ret_constant(0);
  return b.finish();
}

int64_t run_times(const TieredCode& code, int64_t argument) {
  int64_t result = 0;
  EXPECT_EQ(code.run(nullptr, &argument, &result), 0);
  return result;
}

class TieringTest : public testing::Test {
 protected:
  TieringTest() {
    auto jit = Jit::create({});
    EXPECT_TRUE(jit.ok()) << jit.status();
    jit_ = *std::move(jit);
  }
  std::unique_ptr<Jit> jit_;
};

TEST_F(TieringTest, MovesUpWithTheNumberOfRuns) {
  Tiering tiering(*jit_, {.quick_after_runs = 3, .better_after_runs = 5});
  auto code = *tiering.add(times_function(6));
  EXPECT_EQ(code->current_form(), "interpreter");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run_times(*code, 7), 42);
  tiering.wait_until_idle();
  EXPECT_EQ(code->current_form(), "interpreter");
  EXPECT_EQ(run_times(*code, 7), 42);
  tiering.wait_until_idle();
  EXPECT_EQ(code->current_form(), "quick");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run_times(*code, 8), 48);
  tiering.wait_until_idle();
  EXPECT_EQ(code->current_form(), "better");
  EXPECT_EQ(run_times(*code, 9), 54);
  EXPECT_EQ(tiering.compiled_count(), 2u);
}

TEST_F(TieringTest, StartsQuickWhenAsked) {
  Tiering tiering(*jit_, {.better_after_runs = 1});
  auto code = *tiering.add(times_function(6), Tiering::Start::kQuick);
  EXPECT_EQ(code->current_form(), "quick");
  EXPECT_EQ(run_times(*code, 7), 42);
  tiering.wait_until_idle();
  EXPECT_EQ(code->current_form(), "better");
}

TEST_F(TieringTest, FixedModesStay) {
  for (auto [mode, form] : {std::pair(TieringMode::kInterpreter, "interpreter"),
                            std::pair(TieringMode::kQuick, "quick"), std::pair(TieringMode::kBetter, "better")}) {
    Tiering tiering(*jit_, {.mode = mode, .quick_after_runs = 1, .better_after_runs = 1});
    auto code = *tiering.add(times_function(5));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(run_times(*code, i), 5 * i);
    tiering.wait_until_idle();
    EXPECT_EQ(code->current_form(), form);
  }
}

// Better code that comes while runs of a function are under way.
TEST_F(TieringTest, TellsWhenBetterCodeHasCome) {
  Tiering tiering(*jit_, {});
  Random random(3);
  Function function = random_swapping_program(random, 60);
  while (function.swaps.blocks.empty()) function = random_swapping_program(random, 60);
  auto code = *tiering.add(function, Tiering::Start::kQuick);
  EXPECT_TRUE(code->can_swap() && code->may_improve());
  EXPECT_EQ(code->better_code()->load(), nullptr);
  std::atomic<int> told = 0;
  const auto listener = code->when_better([&] { told = code->better_code()->load() != nullptr ? 1 : 2; });
  std::atomic<bool> is_dropped_told = false;
  code->when_better([&] { is_dropped_told = true; });  // what it gives is not held
  tiering.request_better(*code);
  tiering.wait_until_idle();
  EXPECT_EQ(told, 1);
  EXPECT_EQ(code->current_form(), "better");
  EXPECT_FALSE(code->may_improve());
  EXPECT_FALSE(is_dropped_told);
  const auto late = code->when_better([&] { told = 3; });
  tiering.wait_until_idle();
  EXPECT_EQ(told, 1);

  auto waits = *tiering.add(times_function(4), Tiering::Start::kBetter);
  EXPECT_EQ(waits->current_form(), "better");
  auto runs = *tiering.add(function, Tiering::Start::kBetter);
  tiering.wait_until_idle();
  EXPECT_EQ(runs->current_form(), "better");
}

TEST_F(TieringTest, BigFunctionsStayQuick) {
  Tiering tiering(*jit_, {.quick_after_runs = 1, .better_after_runs = 1, .better_instructions_max = 3});
  auto code = *tiering.add(times_function(6));
  for (int i = 0; i < 10; ++i) {
    run_times(*code, i);
    tiering.wait_until_idle();
  }
  EXPECT_EQ(code->current_form(), "quick");
}

TEST_F(TieringTest, AFullArenaLeavesTheInterpreter) {
  auto arena = *CodeArena::create(0);
  auto jit = *Jit::create({.arena = arena.get()});
  Random random(7);
  auto first = jit->compile(times_function(1), Tier::kQuick);
  ASSERT_TRUE(first.ok());
  std::vector<std::shared_ptr<const NativeCode>> keep;
  for (;;) {
    auto code = jit->compile(random_program(random, 100), Tier::kQuick);
    if (!code.ok()) {
      EXPECT_EQ(sqlstate_of(code.status()), "53200");
      break;
    }
    keep.push_back(*code);
  }
  const Function big = random_program(random, 200);
  Tiering tiering(*jit, {.quick_after_runs = 1});
  auto code = *tiering.add(big);
  alignas(16) std::byte input[kProgramInputBytes] = {}, output[kProgramOutputBytes];
  code->run(nullptr, input, output);
  tiering.wait_until_idle();
  EXPECT_EQ(code->current_form(), "interpreter");
  EXPECT_EQ(tiering.failed_count(), 1u);
  keep.clear();
  EXPECT_TRUE(jit->compile(big, Tier::kQuick).ok()) << "room again";
}

TEST_F(TieringTest, ManyThreadsRunWhileCompiling) {
  Tiering tiering(*jit_, {.quick_after_runs = 20, .better_after_runs = 300, .queue_length_max = 4});
  std::vector<std::shared_ptr<TieredCode>> codes;
  for (int64_t i = 0; i < 12; ++i) codes.push_back(*tiering.add(times_function(i)));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int64_t round = 0; round < 2000; ++round) {
        for (size_t i = 0; i < codes.size(); ++i) {
          if (run_times(*codes[i], round) != round * static_cast<int64_t>(i)) ++wrong;
        }
        if (round % 500 == 499) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    });
  }
  // beside them: code that comes and goes
  for (int64_t i = 0; i < 30; ++i) {
    auto code = *tiering.add(times_function(i), i % 3 == 0 ? Tiering::Start::kQuick : Tiering::Start::kInterpreter);
    for (int round = 0; round < 50; ++round) EXPECT_EQ(run_times(*code, 2), 2 * i);
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  // requests that met a full queue are made again
  for (const auto& code : codes) {
    for (int64_t round = 0; round < 2000 && code->current_form() != "better"; ++round) {
      run_times(*code, round);
      if (round % 10 == 0) tiering.wait_until_idle();
    }
    EXPECT_EQ(code->current_form(), "better");
  }
  EXPECT_EQ(tiering.failed_count(), 0u);
}

TEST_F(TieringTest, CodeOutlivesTieringAndJit) {
  std::shared_ptr<TieredCode> code;
  {
    Tiering tiering(*jit_, {.quick_after_runs = 1});
    code = *tiering.add(times_function(3), Tiering::Start::kQuick);
  }
  jit_ = nullptr;
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(run_times(*code, i), 3 * i);
}

// A child counts runs too, but has no thread to compile and takes no lock.
TEST_F(TieringTest, ForkedChildRuns) {
  Tiering tiering(*jit_, {.quick_after_runs = 3});
  auto code = *tiering.add(times_function(3));
  const pid_t child = fork();
  if (child == 0) {
    for (int64_t i = 0; i < 100; ++i) {
      int64_t result = 0;
      if (code->run(nullptr, &i, &result) != 0 || result != 3 * i) _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace scyper::query::jit
