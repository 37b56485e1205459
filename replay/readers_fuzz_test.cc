#include "readers_fuzz.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

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
    for (uint64_t changes = 1 + random.below(4); changes > 0 && input.size() > 1; --changes) {
      const size_t at = 1 + random.below(input.size() - 1);
      switch (random.below(4)) {
        case 0:
          input[at] = static_cast<char>(random.next());
          break;
        case 1:
          input.resize(at);
          break;
        case 2:
          input.insert(at, 1 + random.below(9), static_cast<char>(random.below(3) * 127));
          break;
        default:
          input[at] = static_cast<char>(input[at] ^ (1 << random.below(8)));
      }
    }
    feed(input);
  }
}

}  // namespace
}  // namespace scyper::replay
