#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
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

// The same, but without SCYPER_TEST_SEED and SCYPER_TEST_FULL another one each day (UTC): of a test that looks for what
// nobody knows of yet.
inline uint64_t test_seed_of_day() {
  constexpr int64_t kSecondsPerDay = 86400;
  if (std::getenv("SCYPER_TEST_SEED") != nullptr || std::getenv("SCYPER_TEST_FULL") != nullptr) return test_seed();
  const auto seed = static_cast<uint64_t>(std::time(nullptr) / kSecondsPerDay);
  std::printf("seed %llu of this day (SCYPER_TEST_SEED repeats it)\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return seed;
}

}  // namespace scyper
