#include "readers_fuzz.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "base/mutate.h"
#include "base/random.h"

namespace scyper::replay {
namespace {

// A fixed slice of what the fuzzer does for hours: seeds, and what small changes make of them.
TEST(ReadersFuzz, ChangedBytes) {
  const char* given = std::getenv("SCYPER_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Random random(seed);
  const std::vector<std::string> seeds = fuzz_seeds();
  const auto feed = [](const std::string& input) {
    fuzz_readers(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  };
  for (const std::string& one : seeds) feed(one);
  for (int i = 0; i < 60'000; ++i) {
    std::string input = seeds[random.below(seeds.size())];
    mutate(&input, 1 + random.below(4), &random);
    feed(input);
  }
}

}  // namespace
}  // namespace scyper::replay
