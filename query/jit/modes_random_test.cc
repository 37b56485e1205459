#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

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
  const auto now = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  const uint64_t seed = from_environment("SCYPER_TEST_SEED", now);
  SCOPED_TRACE(testing::Message() << "SCYPER_TEST_SEED=" << seed);
  printf("SCYPER_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  Random random(seed);
  const uint64_t programs = from_environment("SCYPER_TEST_STEPS", 60);
  size_t instructions = 0;
  for (uint64_t i = 0; i < programs && !testing::Test::HasFatalFailure(); ++i) {
    const ir::Function function = ir::Function(random_program(random, static_cast<uint32_t>(20 + random.below(150))));
    instructions += function.instruction_count();
    run_everywhere(random, function);
  }
  printf("%llu programs, %zu instructions\n", static_cast<unsigned long long>(programs), instructions);
}

}  // namespace
}  // namespace scyper::query::jit
