#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"
#include "storage/arena.h"
#include "storage/index.h"

// What the tests of both kinds of index share: key sources and the size of the random slice.
namespace scyper::storage {

// SCYPER_TEST_STEPS=n: operations per random slice. SCYPER_TEST_SEED=n repeats a failure.
inline uint64_t random_steps(uint64_t fallback) {
  const char* text = std::getenv("SCYPER_TEST_STEPS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}
inline uint64_t random_seed(uint64_t fallback) {
  const char* text = std::getenv("SCYPER_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

inline std::unique_ptr<Arena> test_arena(size_t budget = size_t{1} << 30) {
  auto arena = Arena::create(size_t{4} << 30, budget, PageMode::kSmall);
  return *std::move(arena);
}

// The last min(width, 8) bytes hold the number, big endian; what comes before is `filler`.
inline std::string number_key(uint64_t number, uint32_t width, char filler = 'p') {
  std::string key(width, filler);
  for (uint32_t i = 0; i < width && i < 8; ++i) key[width - 1 - i] = static_cast<char>(number >> (8 * i));
  return key;
}

// Strings that end in 0 and contain none: the shape of an encoded text column. Short alphabets share prefixes.
inline std::string text_key(Random* random, uint32_t alphabet, uint32_t max_length) {
  std::string key(random->below(max_length + 1), ' ');
  for (char& c : key) c = static_cast<char>(1 + random->below(alphabet));
  key.push_back('\0');
  return key;
}

// Keys that repeat: `distribution` 0 uniform, 1 skewed to few values, 2 dense sequence. Texts (width 0): 0 any bytes, 1
// a short alphabet, 2 long common beginnings.
class KeySource {
 public:
  KeySource(Random* random, uint32_t width, uint32_t distribution, uint64_t range)
      : random_(random), width_(width), distribution_(distribution), range_(range) {}

  std::string next() {
    if (width_ == 0 && distribution_ == 2) return stem_.substr(0, random_->below(8) * 40) + text_key(random_, 3, 5);
    if (width_ == 0) return text_key(random_, distribution_ == 0 ? 255 : 3, 12);
    uint64_t number = random_->below(range_);
    if (distribution_ == 1) number = number * number / range_ * (number % 3 + 1) / 3;
    if (distribution_ == 2) number = ++sequence_ % range_;
    if (distribution_ == 0 && width_ >= 8) number *= 0x9E3779B97F4A7C15ull;
    std::string key = number_key(number, width_);
    if (width_ > 8) key[0] = static_cast<char>(random_->below(3));  // the far end differs too
    return key;
  }

 private:
  Random* random_;
  uint32_t width_;
  uint32_t distribution_;
  uint64_t range_;
  uint64_t sequence_ = 0;
  std::string stem_ = std::string(100, 'x') + std::string(60, '\2') + std::string(140, '\3');
};

}  // namespace scyper::storage
