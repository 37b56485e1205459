#include "limit_index.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace scyper::bench {
namespace {

using SmallTree = Tree<uint64_t, 6, 4>;

void expect_equal(const SmallTree& tree, const std::map<uint64_t, uint32_t>& model) {
  auto expected = model.begin();
  for (auto at = tree.lower_bound(0); at.valid(); at.advance(), ++expected) {
    ASSERT_NE(expected, model.end());
    ASSERT_EQ(at.key(), expected->first);
    ASSERT_EQ(at.value(), expected->second);
  }
  ASSERT_EQ(expected, model.end());
}

TEST(Tree, AgreesWithAMapUnderRandomChanges) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    SmallTree tree;
    tree.reserve(false);
    std::map<uint64_t, uint32_t> model;
    const uint64_t range = seed % 2 == 0 ? 300 : 3000;
    for (int i = 0; i < 20'000; ++i) {
      const uint64_t key = random.below(range);
      const bool growing = (i / 2000) % 2 == 0;
      if (random.below(10) < (growing ? 7U : 3U)) {
        if (model.emplace(key, static_cast<uint32_t>(i)).second) tree.insert(key, static_cast<uint32_t>(i));
      } else {
        ASSERT_EQ(tree.erase(key), model.erase(key) == 1);
      }
      const uint64_t probe = random.below(range + 2);
      const auto above = model.lower_bound(probe);
      const auto at = tree.lower_bound(probe);
      ASSERT_EQ(at.valid(), above != model.end());
      if (at.valid()) {
        ASSERT_EQ(at.key(), above->first);
      }
      const auto below = tree.last_below(probe);
      ASSERT_EQ(below.valid(), above != model.begin());
      if (below.valid()) {
        ASSERT_EQ(below.key(), std::prev(above)->first);
      }
    }
    expect_equal(tree, model);
    while (!model.empty()) {
      ASSERT_TRUE(tree.erase(model.begin()->first));
      model.erase(model.begin());
    }
    expect_equal(tree, model);
  }
}

TEST(Tree, RunsOfKeysInSeveralQueues) {
  Random random(9);
  SmallTree tree;
  tree.reserve(false);
  std::map<uint64_t, uint32_t> model;
  uint64_t next[5] = {};
  for (int i = 0; i < 3000; ++i) {
    const uint64_t queue = random.below(5);
    const uint32_t count = static_cast<uint32_t>(random.between(1, 5));
    const uint64_t first = queue << 32 | next[queue];
    next[queue] += count;
    tree.insert_run(first, static_cast<uint32_t>(i), count);
    for (uint32_t k = 0; k < count; ++k) model[first + k] = static_cast<uint32_t>(i) + k;
    if (i % 4 == 0) {  // a rolled back run, whose keys are used again
      for (uint32_t k = 0; k < count; ++k) {
        ASSERT_TRUE(tree.erase(first + k));
        model.erase(first + k);
      }
      next[queue] = static_cast<uint32_t>(first);
    } else if (i % 4 != 1) {
      const auto head = tree.lower_bound(random.below(5) << 32);
      if (head.valid()) {
        const uint64_t key = head.key();
        ASSERT_TRUE(tree.erase(key));
        ASSERT_EQ(model.erase(key), 1U);
      }
    }
  }
  expect_equal(tree, model);
  for (const auto& [key, value] : model) {
    const auto at = tree.lower_bound(key);
    ASSERT_TRUE(at.valid() && at.key() == key && at.value() == value);
  }
}

TEST(HashIndex, FindsEveryKeyAndNoOther) {
  HashIndex index;
  index.reserve(1000, false);
  const auto key_of = [](uint32_t row) { return uint64_t{row} * 7919; };
  for (uint32_t row = 0; row < 1000; ++row) index.insert(key_of(row), row);
  for (uint32_t row = 0; row < 1000; ++row) EXPECT_EQ(index.find(key_of(row), key_of), row);
  EXPECT_EQ(index.find(5, key_of), HashIndex::kMissing);
}

}  // namespace
}  // namespace scyper::bench
