#include "readers_fuzz.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/mutate.h"
#include "base/random.h"
#include "base/test_seed.h"

namespace scyper::replay {
namespace {

class ReadersFuzz : public testing::TestWithParam<std::pair<const char*, Readers>> {};
INSTANTIATE_TEST_SUITE_P(Readers, ReadersFuzz,
                         testing::Values(std::pair{"record", Readers::kRecord}, std::pair{"batch", Readers::kBatch},
                                         std::pair{"archive", Readers::kArchive}),
                         [](const auto& info) { return info.param.first; });

// A fixed slice of what the fuzzers do for hours: seeds, and what small changes make of them.
TEST_P(ReadersFuzz, ChangedBytes) {
  Random random(test_seed());
  const std::vector<std::string> seeds = fuzz_seeds(GetParam().second);
  const auto feed = [](const std::string& input) {
    return fuzz_readers(GetParam().second, reinterpret_cast<const uint8_t*>(input.data()), input.size());
  };
  for (const std::string& one : seeds) {
    EXPECT_TRUE(feed(one)) << "seed of reader " << static_cast<int>(static_cast<uint8_t>(one[0]));
  }
  for (int i = 0; i < 20'000; ++i) {
    std::string input = seeds[random.below(seeds.size())];
    mutate(&input, 1 + random.below(4), &random);
    feed(input);
  }
}

// SCYPER_TEST_WRITE_SEEDS=FOLDER: the seeds as files, to begin a fuzzer's kept inputs with after a format has changed.
TEST_P(ReadersFuzz, SeedsFitIntoInputs) {
  const char* folder = std::getenv("SCYPER_TEST_WRITE_SEEDS");
  int number = 0;
  for (const std::string& seed : fuzz_seeds(GetParam().second)) {
    EXPECT_LE(seed.size(), 4096u);  // -max_len of tools/fuzz
    if (folder == nullptr) continue;
    std::ofstream file(std::string(folder) + "/" + GetParam().first + "_seed" + std::to_string(++number));
    file.write(seed.data(), static_cast<std::streamsize>(seed.size()));
  }
}

}  // namespace
}  // namespace scyper::replay
