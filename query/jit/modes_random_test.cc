#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "base/test_seed.h"
#include "jit/execution_modes.h"
#include "jit/random_program.h"

// Random programs give the same in every execution mode. SCYPER_TEST_SEED=n repeats a failure, SCYPER_TEST_STEPS=n sets
// the number of programs.
namespace scyper::query::jit {
namespace {

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void run_everywhere(Random& random, const ir::Function& function) {
  ASSERT_EQ(ir::verify(function), "") << ir::to_string(function);
  const AllModes modes(shared_jit(), function);
  for (int round = 0; round < 8; ++round) {
    alignas(16) uint64_t input[kProgramInputBytes / 8];
    for (uint64_t& word : input) word = random.one_in(2) ? random.below(100) : random.next();
    alignas(16) std::byte results[3][kProgramOutputBytes] = {};
    int32_t status[3];
    for (int mode = 0; mode < 3; ++mode) {
      status[mode] = modes.run(static_cast<ExecutionMode>(mode), nullptr, input, results[mode]);
    }
    for (int mode : {1, 2}) {
      ASSERT_EQ(status[mode], status[0]) << "mode " << mode << "\n" << ir::to_string(function);
      for (size_t i = 0; i < kProgramOutputBytes; ++i) {
        ASSERT_EQ(results[mode][i], results[0][i]) << "mode " << mode << " byte " << i << "\n"
                                                   << ir::to_string(function);
      }
    }
  }
}

TEST(Modes, RandomPrograms) {
  Random random(test_seed());
  const uint64_t programs = from_environment("SCYPER_TEST_STEPS", 60);
  size_t instructions = 0;
  for (uint64_t i = 0; i < programs && !testing::Test::HasFatalFailure(); ++i) {
    const ir::Function function = ir::Function(random_program(random, static_cast<uint32_t>(20 + random.below(150))));
    instructions += function.instruction_count();
    run_everywhere(random, function);
  }
  printf("%llu programs, %zu instructions\n", static_cast<unsigned long long>(programs), instructions);
}

// A run that changes to the better tier's code at its n-th swap point gives what one that stays gives.
void run_swapping(Random& random, const ir::Function& function, uint64_t* swaps) {
  ASSERT_EQ(ir::verify(function), "") << ir::to_string(function);
  for (auto form : {ir::CodeForm::kInterpreted, ir::CodeForm::kQuick, ir::CodeForm::kBetter}) {
    const ir::Function executed = ir::with_swaps(function, form);
    ASSERT_EQ(ir::verify(executed), "") << ir::to_string(executed);
  }
  const AllModes modes(shared_jit(), function);
  alignas(16) uint64_t input[kProgramInputBytes / 8];
  for (uint64_t& word : input) word = random.one_in(2) ? random.below(100) : random.next();
  auto run = [&](ExecutionMode mode, int64_t passes, std::byte* results, int32_t* status) {
    SwapContext context;
    context.code = &context.now;
    context.passes = passes;
    context.better = modes.code(Tier::kBetter).entry;
    *status = modes.run(mode, &context, input, results);
    return context.swaps;
  };
  alignas(16) std::byte expected[kProgramOutputBytes] = {};
  int32_t expected_status = 0;
  ASSERT_EQ(run(ExecutionMode::kInterpreter, -1, expected, &expected_status), 0);
  for (auto mode : {ExecutionMode::kInterpreter, ExecutionMode::kQuick}) {
    for (int64_t passes = 0; passes < 12; ++passes) {
      alignas(16) std::byte results[kProgramOutputBytes] = {};
      int32_t status = 0;
      const int64_t swapped = run(mode, passes, results, &status);
      *swaps += static_cast<uint64_t>(swapped);
      ASSERT_EQ(status, expected_status) << "pass " << passes << "\n" << ir::to_string(function);
      ASSERT_EQ(std::memcmp(results, expected, sizeof results), 0) << "pass " << passes << "\n"
                                                                   << ir::to_string(function);
      if (swapped == 0) break;  // it has no more places
    }
  }
}

TEST(Modes, RandomProgramsChangeTheirCodeOnTheWay) {
  Random random(test_seed());
  const uint64_t programs = from_environment("SCYPER_TEST_STEPS", 30);
  uint64_t swaps = 0;
  for (uint64_t i = 0; i < programs && !testing::Test::HasFatalFailure(); ++i) {
    run_swapping(random, random_swapping_program(random, static_cast<uint32_t>(20 + random.below(150))), &swaps);
  }
  EXPECT_GT(swaps, programs);
  printf("%llu programs, %llu changes\n", static_cast<unsigned long long>(programs),
         static_cast<unsigned long long>(swaps));
}

}  // namespace
}  // namespace scyper::query::jit
