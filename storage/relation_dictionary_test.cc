#include "storage/relation_dictionary.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/random.h"
#include "base/test_seed.h"
#include "storage/invalid_ranges.h"

namespace scyper::storage {
namespace {

std::string text_of(const RelationDictionary& dictionary, uint32_t key) {
  const StringRef text = dictionary.text(key);
  return {text.data, text.size};
}

TEST(RelationDictionaryTest, KeysAreReusedWhenNobodyRefersToThem) {
  RelationDictionary dictionary;
  const uint32_t smith = dictionary.acquire("SMITH");
  const uint32_t empty = dictionary.acquire("");
  EXPECT_EQ(dictionary.acquire("SMITH"), smith);
  EXPECT_NE(empty, smith);
  EXPECT_EQ(text_of(dictionary, empty), "");
  dictionary.release(smith);
  EXPECT_EQ(dictionary.find("SMITH"), smith);
  dictionary.release(smith);
  EXPECT_EQ(dictionary.find("SMITH"), RelationDictionary::kNoKey);
  EXPECT_EQ(dictionary.acquire("JONES"), smith);
  EXPECT_EQ(text_of(dictionary, smith), "JONES");
}

TEST(RelationDictionaryTest, EqualsAMap) {
  Random random(test_seed());
  RelationDictionary dictionary;
  std::map<std::string, std::pair<uint32_t, int>> model;  // key, references
  for (int step = 0; step < 100000; ++step) {
    const std::string value(random.below(40), static_cast<char>('a' + random.below(20)));
    const std::string name = value + std::to_string(random.below(12));
    auto known = model.find(name);
    ASSERT_EQ(dictionary.find(name), known == model.end() ? RelationDictionary::kNoKey : known->second.first);
    if (random.below(100) < 48 && known != model.end()) {
      dictionary.release(known->second.first);
      if (--known->second.second == 0) model.erase(known);
    } else {
      const uint32_t key = dictionary.acquire(name);
      if (known != model.end()) ASSERT_EQ(known->second.first, key);
      auto& entry = model[name];
      entry = {key, entry.second + 1};
    }
    ASSERT_EQ(dictionary.values(), model.size());
  }
  for (const auto& [name, entry] : model) EXPECT_EQ(text_of(dictionary, entry.first), name);
}

void expect_ranges(const InvalidRanges& ranges, const std::vector<bool>& model) {
  uint32_t invalid = 0;
  for (uint32_t i = 0; i < model.size(); ++i) {
    ASSERT_EQ(ranges.contains(i), model[i]) << i;
    invalid += model[i] ? 1 : 0;
  }
  ASSERT_EQ(ranges.positions(), invalid);
  for (size_t i = 1; i < ranges.ranges().size(); ++i) {
    ASSERT_LT(ranges.ranges()[i - 1].end, ranges.ranges()[i].begin);  // ordered, not touching
  }
}

TEST(InvalidRangesTest, EqualsABitmap) {
  Random random(test_seed());
  for (int round = 0; round < 20; ++round) {
    InvalidRanges ranges;
    std::vector<bool> model(1 + random.below(500));
    const auto size = static_cast<uint32_t>(model.size());
    for (int step = 0; step < 300; ++step) {
      const auto begin = static_cast<uint32_t>(random.below(size));
      if (random.one_in(4)) {
        EXPECT_EQ(ranges.remove(begin), model[begin]);
        model[begin] = false;
      } else {
        const auto end =
            static_cast<uint32_t>(random.one_in(2) ? begin + 1 : random.between(begin + 1, std::min(size, begin + 20)));
        bool is_new = false;
        for (uint32_t i = begin; i < end; ++i) is_new |= !model[i];
        EXPECT_EQ(ranges.add(begin, end), is_new);
        std::fill(model.begin() + begin, model.begin() + end, true);
      }
      const auto from = static_cast<uint32_t>(random.below(size + 1));
      const auto to = static_cast<uint32_t>(random.between(from, size));
      std::vector<bool> seen(size, true);
      ranges.for_each_valid(from, to, [&](uint32_t a, uint32_t b) {
        ASSERT_LT(a, b);
        for (; a < b; ++a) seen[a] = false;
      });
      for (uint32_t i = 0; i < size; ++i) ASSERT_EQ(seen[i], model[i] || i < from || i >= to);
    }
    expect_ranges(ranges, model);
  }
}

}  // namespace
}  // namespace scyper::storage
