#include "plpgsql_fuzz.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

namespace scyper::query {
namespace {

std::vector<std::string> corpus() {
  std::vector<std::string> bodies;
  for (const auto& entry : std::filesystem::directory_iterator(SCYPER_PLPGSQL_CORPUS)) {
    std::ifstream in(entry.path());
    std::stringstream text;
    text << in.rdbuf();
    bodies.push_back(text.str());
  }
  std::sort(bodies.begin(), bodies.end());
  return bodies;
}

void feed(const std::string& body) { fuzz_plpgsql(reinterpret_cast<const uint8_t*>(body.data()), body.size()); }

// A fixed slice of what the fuzzer does for hours: the corpus, and bodies with words of others in them.
TEST(PlpgsqlFuzz, ChangedBodies) {
  const char* given = std::getenv("SCYPER_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  const std::vector<std::string> bodies = corpus();
  ASSERT_FALSE(bodies.empty());
  std::vector<std::string> words;
  for (const auto& body : bodies) {
    feed(body);
    std::istringstream in(body);
    for (std::string word; in >> word;) words.push_back(word);
  }
  auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
  for (int i = 0; i < 1500; ++i) {
    std::string body = bodies[pick(bodies.size())];
    for (size_t changes = 1 + pick(3); changes > 0 && !body.empty(); --changes) {
      const size_t at = pick(body.size());
      const size_t length = std::min(body.size() - at, pick(12));
      body.replace(at, length, pick(3) == 0 ? "" : " " + words[pick(words.size())] + " ");
    }
    feed(body);
  }
}

}  // namespace
}  // namespace scyper::query
