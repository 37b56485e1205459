#include "storage/relation_dictionary.h"

#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

// A dictionary of another process, in blocks; part of it is held.
TEST(RelationDictionaryTest, IsRestored) {
  Random random(test_seed());
  std::map<uint32_t, std::string> values;  // by key
  while (values.size() < 3000) {
    values.try_emplace(static_cast<uint32_t>(random.below(5000)), "value" + std::to_string(values.size()));
  }
  RelationDictionary dictionary;
  const auto restore = [&](auto begin, auto end) {
    std::string bytes;
    std::vector<RelationDictionary::RestoredText> texts;
    for (auto at = begin; at != end; ++at) {
      texts.push_back({at->first, static_cast<uint32_t>(bytes.size()), static_cast<uint32_t>(at->second.size())});
      bytes += at->second;
    }
    auto block = std::make_unique<char[]>(bytes.size());
    std::memcpy(block.get(), bytes.data(), bytes.size());
    return dictionary.restore(std::move(block), bytes.size(), texts);
  };
  const auto middle = std::next(values.begin(), 1000);
  ASSERT_TRUE(restore(values.begin(), middle));
  ASSERT_TRUE(restore(middle, values.end()));
  EXPECT_FALSE(restore(std::prev(middle), std::next(middle, 5))) << "keys that have values";
  EXPECT_EQ(dictionary.values(), values.size());
  std::vector<uint32_t> held;
  for (const auto& [key, value] : values) {
    if (random.one_in(2)) held.push_back(key);
  }
  ASSERT_TRUE(dictionary.hold(held));
  uint32_t unused = 0;
  while (values.contains(unused)) ++unused;
  const uint32_t with_unused[] = {held[0], unused};
  EXPECT_FALSE(dictionary.hold(with_unused));
  dictionary.release(held.back());
  ASSERT_TRUE(dictionary.hold({&held.back(), 1})) << "nothing goes yet";
  dictionary.end_restore();
  EXPECT_EQ(dictionary.values(), held.size());
  for (const uint32_t key : held) EXPECT_EQ(text_of(dictionary, key), values[key]);
  if (random.one_in(2)) {  // before anybody looks for values, or later
    dictionary.release(held.back());
    EXPECT_EQ(dictionary.find(values[held.back()]), RelationDictionary::kNoKey);
    held.pop_back();
  }
  const uint32_t other = dictionary.acquire("another");
  EXPECT_EQ(text_of(dictionary, other), "another");
  for (const uint32_t key : held) {
    ASSERT_NE(key, other);
    ASSERT_EQ(dictionary.find(values[key]), key);
    ASSERT_EQ(dictionary.acquire(values[key]), key);
  }
  for (int times = 0; times < 2; ++times) {
    for (const uint32_t key : held) dictionary.release(key);
  }
  EXPECT_EQ(dictionary.values(), 1u);
  for (const uint32_t key : held) ASSERT_EQ(dictionary.find(values[key]), RelationDictionary::kNoKey);
  EXPECT_EQ(text_of(dictionary, other), "another");
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
