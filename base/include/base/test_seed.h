#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace scyper {

// Seed of a randomised test, printed: SCYPER_TEST_SEED where it is given (it repeats a run); else, in a full run
// (SCYPER_TEST_FULL), drawn anew; else always the same, so that what a fixed slice finds is due to the change under
// test. Any thread.
inline uint64_t test_seed() {
  const char* given = std::getenv("SCYPER_TEST_SEED");
  const bool is_full = std::getenv("SCYPER_TEST_FULL") != nullptr;
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : is_full ? std::random_device()() : 20111;
  std::printf("seed %llu (SCYPER_TEST_SEED repeats it)\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return seed;
}

}  // namespace scyper
