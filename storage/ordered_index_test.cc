#include <algorithm>
#include <iterator>
#include <optional>

#include "btree.h"
#include "index_model_test.h"
#include "radix_tree.h"

namespace scyper::storage {
namespace {

using Model = std::map<std::string, Tid>;

uint32_t size_of(const std::string& key) { return static_cast<uint32_t>(key.size()); }
IndexResult insert(OrderedIndex* index, const std::string& key, Tid tid) {
  return index->insert(key.data(), size_of(key), tid);
}
IndexResult erase(OrderedIndex* index, const std::string& key) { return index->erase(key.data(), size_of(key)); }
IndexResult replace(OrderedIndex* index, const std::string& key, Tid tid) {
  return index->replace(key.data(), size_of(key), tid);
}
Tid find(const OrderedIndex* index, const std::string& key) { return index->find(key.data(), size_of(key)); }

std::vector<Tid> scan(const OrderedIndex* index, const std::string& lo, const std::string& hi, bool backward,
                      uint32_t exclusive = 0, size_t limit = ~size_t{0}) {
  OrderedCursor cursor;
  index->seek(&cursor, lo.data(), size_of(lo), hi.data(), size_of(hi), backward, exclusive);
  std::vector<Tid> tids;
  while (tids.size() < limit) {
    const Tid tid = index->next(&cursor);
    if (tid == kNoTid) {
      EXPECT_EQ(index->next(&cursor), kNoTid);  // the end stays the end
      break;
    }
    tids.push_back(tid);
  }
  return tids;
}

// index.h's words, literally.
std::vector<Tid> expected_scan(const Model& model, const std::string& lo, const std::string& hi, bool backward,
                               uint32_t exclusive) {
  std::vector<Tid> tids;
  for (auto it = model.lower_bound(lo); it != model.end(); ++it) {
    const std::string& key = it->first;
    if (!hi.empty() && key.substr(0, hi.size()) > hi) break;
    if (!lo.empty() && (exclusive & 1) != 0 && key.starts_with(lo)) continue;
    if (!hi.empty() && (exclusive & 2) != 0 && key.starts_with(hi)) continue;
    tids.push_back(it->second);
  }
  if (backward) std::reverse(tids.begin(), tids.end());
  return tids;
}

// A bound near real keys: a key, a prefix of one, a changed one, one too long, or none.
std::string random_bound(Random* random, KeySource* source) {
  std::string bound = source->next();
  switch (random->below(6)) {
    case 0:
      return "";
    case 1:
    case 2:
      return bound.substr(0, random->below(bound.size() + 1));
    case 3:
      if (!bound.empty()) bound[random->below(bound.size())] ^= static_cast<char>(1 << random->below(8));
      return bound;
    case 4:
      return bound + std::string(1 + random->below(9), random->one_in(2) ? '\0' : '\xff');
    default:
      return bound;
  }
}

class OrderedModelTest : public testing::TestWithParam<std::tuple<uint32_t, uint32_t>> {
 protected:
  // Up to 100 at a time, in order or not, now and then with one that is there.
  static void insert_many(OrderedIndex* index, Model* model, Random* random, KeySource* source) {
    Model entries;
    for (uint64_t i = random->between(1, 100); i > 0; --i) {
      const std::string key = source->next();
      if (!model->contains(key)) entries.emplace(key, random->next() >> 1);
    }
    std::vector<std::pair<std::string, Tid>> order(entries.begin(), entries.end());
    if (random->one_in(2)) {
      for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random->below(i)]);
    }
    const bool has_twice = random->one_in(10) && !order.empty();
    if (has_twice) {
      order.push_back(model->empty() || random->one_in(2) ? order[0] : std::pair<std::string, Tid>(*model->begin()));
    }
    std::string keys;
    std::vector<Tid> tids;
    for (const auto& [key, tid] : order) {
      keys += key;
      tids.push_back(tid);
    }
    const IndexResult result = index->insert_all(keys.data(), tids.data(), static_cast<uint32_t>(tids.size()));
    ASSERT_EQ(result, has_twice ? IndexResult::kDuplicate : IndexResult::kOk);
    for (const auto& [key, tid] : entries) {
      const Tid found = find(index, key);
      ASSERT_TRUE(found == tid || (has_twice && found == kNoTid));
      if (found == tid) model->emplace(key, tid);
    }
    index->check_structure();
  }
  void check_scans(const OrderedIndex* index, const Model& model, Random* random, KeySource* source, int scans) {
    for (int i = 0; i < scans; ++i) {
      std::string lo = random_bound(random, source);
      std::string hi = random->one_in(3) ? lo : random_bound(random, source);
      if (lo > hi && !hi.empty() && !random->one_in(10)) std::swap(lo, hi);
      const bool backward = random->one_in(2);
      const auto exclusive = static_cast<uint32_t>(random->below(4));
      ASSERT_EQ(scan(index, lo, hi, backward, exclusive), expected_scan(model, lo, hi, backward, exclusive))
          << testing::PrintToString(lo) << " to " << testing::PrintToString(hi) << " backward " << backward
          << " exclusive " << exclusive;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Widths, OrderedModelTest,
                         testing::Combine(testing::Values(0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 20, 23, 24, 25,
                                                          60),
                                          testing::Values(0, 1, 2)));

TEST_P(OrderedModelTest, AgreesWithMap) {
  const auto [width, distribution] = GetParam();
  const uint64_t seed = random_seed(200 + width * 3 + distribution);
  SCOPED_TRACE(testing::Message() << "SCYPER_TEST_SEED=" << seed);
  Random random(seed);
  auto arena = test_arena();
  const auto index = OrderedIndex::create(arena.get(), width);
  ASSERT_NE(index, nullptr);
  Model model;
  KeySource source(&random, width, distribution, 12000);
  const uint64_t steps = random_steps(40000);
  for (uint64_t step = 0; step < steps; ++step) {
    const uint64_t inserts_of_ten = step / (steps / 6 + 1) % 2 == 0 ? 7 : 2;
    const std::string key = source.next();
    const auto it = model.find(key);
    const uint64_t choice = random.below(10);
    if (width > 0 && inserts_of_ten == 7 && random.one_in(500)) {
      ASSERT_NO_FATAL_FAILURE(insert_many(index.get(), &model, &random, &source));
    } else if (choice < inserts_of_ten) {
      const Tid tid = random.next() >> 1;
      ASSERT_EQ(insert(index.get(), key, tid), it == model.end() ? IndexResult::kOk : IndexResult::kDuplicate);
      if (it == model.end()) model.emplace(key, tid);
    } else if (choice < 8) {
      ASSERT_EQ(erase(index.get(), key), it == model.end() ? IndexResult::kNotFound : IndexResult::kOk);
      if (it != model.end()) model.erase(it);
    } else if (choice < 9) {
      if (it == model.end()) ASSERT_EQ(replace(index.get(), key, 1), IndexResult::kNotFound);
      // neighbours, too
      auto next = model.lower_bound(key);
      for (uint64_t i = random.below(8); next != model.end() && i > 0; ++next, --i) {
        next->second = random.next() >> 1;
        ASSERT_EQ(replace(index.get(), next->first, next->second), IndexResult::kOk);
      }
    } else {
      ASSERT_EQ(find(index.get(), key), it == model.end() ? kNoTid : it->second);
    }
    if (step % (steps / 40 + 1) == 0) {
      index->check_structure();
      check_scans(index.get(), model, &random, &source, 10);
    }
  }
  ASSERT_EQ(index->size(), model.size());
  for (const auto& [key, tid] : model) ASSERT_EQ(find(index.get(), key), tid);
  while (!model.empty()) {
    const auto it = random.one_in(2) ? model.begin() : std::prev(model.end());
    ASSERT_EQ(erase(index.get(), it->first), IndexResult::kOk);
    model.erase(it);
    if (model.size() % 500 == 0) {
      index->check_structure();
      ASSERT_EQ(scan(index.get(), "", "", true), expected_scan(model, "", "", true, 0));
    }
  }
  EXPECT_EQ(index->size(), 0u);
  EXPECT_TRUE(scan(index.get(), "", "", false).empty());
  EXPECT_TRUE(scan(index.get(), "", "", true).empty());
}

// Many sequences side by side, as the orders of many districts: nodes stay nearly full.
TEST(OrderedIndex, SequencesFillNodes) {
  for (const bool descending : {false, true}) {
    auto arena = test_arena();
    const auto index = OrderedIndex::create(arena.get(), 16);
    const uint64_t prefixes = 50, each = 3000;
    for (uint64_t i = 0; i < each; ++i) {
      for (uint64_t p = 0; p < prefixes; ++p) {
        const std::string key = number_key(p, 8) + number_key(descending ? each - i : i, 8);
        ASSERT_EQ(insert(index.get(), key, i), IndexResult::kOk);
      }
    }
    index->check_structure();
    EXPECT_LT(index->memory_bytes() / (prefixes * each), 30u) << descending;
  }
  auto arena = test_arena();
  const auto index = OrderedIndex::create(arena.get(), 8);
  for (uint64_t i = 0; i < 200000; ++i) ASSERT_EQ(insert(index.get(), number_key(i, 8), i), IndexResult::kOk);
  EXPECT_LT(index->memory_bytes() / 200000, 20u);
}

// A queue: rows come at the right and go at the left. The memory stays, and the minimum is found at once.
TEST(OrderedIndex, QueuesLeaveNothingBehind) {
  for (const uint32_t width : {8u, 16u, 24u}) {
    auto arena = test_arena();
    const auto index = OrderedIndex::create(arena.get(), width);
    uint64_t tail = 0;
    for (uint64_t head = 0; head < 200000; ++head) {
      ASSERT_EQ(insert(index.get(), number_key(head, width), head), IndexResult::kOk);
      if (head < 900) continue;
      ASSERT_EQ(scan(index.get(), "", "", false, 0, 1), std::vector<Tid>{tail});
      ASSERT_EQ(erase(index.get(), number_key(tail++, width)), IndexResult::kOk);
    }
    index->check_structure();
    EXPECT_LE(index->memory_bytes(), 2 * kArenaGranuleBytes);
  }
}

// Random deletes down to 1 %: merging gives the nodes back.
TEST(OrderedIndex, SparseNodesMerge) {
  auto arena = test_arena();
  BTree<1, 512> tree(arena.get(), 8);
  ASSERT_TRUE(tree.start());
  for (uint64_t i = 0; i < 100000; ++i) tree.insert_key(number_key(i, 8).data(), i);
  const uint64_t full = tree.nodes_in_use();
  for (uint64_t i = 0; i < 100000; ++i) {
    if (i % 100 != 0) ASSERT_EQ(tree.erase_key(number_key(i, 8).data()), IndexResult::kOk);
  }
  tree.check_structure();
  EXPECT_LT(tree.nodes_in_use(), full / 15);
}

// Small nodes make deep trees: splits and merges reach through many levels.
TEST(OrderedIndex, DeepTrees) {
  for (const uint32_t distribution : {0u, 1u, 2u}) {
    const uint64_t seed = random_seed(300 + distribution);
    SCOPED_TRACE(testing::Message() << "SCYPER_TEST_SEED=" << seed);
    Random random(seed);
    auto arena = test_arena();
    BTree<1, 192> tree(arena.get(), 8);
    ASSERT_TRUE(tree.start());
    Model model;
    KeySource source(&random, 8, distribution, 20000);
    const uint64_t steps = random_steps(80000);
    for (uint64_t step = 0; step < steps; ++step) {
      const uint64_t inserts_of_ten = step / (steps / 6 + 1) % 2 == 0 ? 8 : 1;
      const std::string key = source.next();
      const bool present = model.contains(key);
      if (random.below(10) < inserts_of_ten) {
        ASSERT_EQ(tree.insert_key(key.data(), step), present ? IndexResult::kDuplicate : IndexResult::kOk);
        model.emplace(key, step);
      } else {
        ASSERT_EQ(tree.erase_key(key.data()), present ? IndexResult::kOk : IndexResult::kNotFound);
        model.erase(key);
      }
      if (random.one_in(
              100)) {  // a range goes from its low end on, as rows of a queue: whole nodes empty beside full ones
        auto it = model.lower_bound(key);
        for (uint64_t i = random.below(300); i > 0 && it != model.end(); --i) {
          ASSERT_EQ(tree.erase_key(it->first.data()), IndexResult::kOk);
          it = model.erase(it);
        }
      }
      if (random.one_in(50)) tree.check_structure();
      if (step % (steps / 80 + 1) != 0) continue;
      for (const auto& [known, tid] : model) ASSERT_EQ(tree.find_key(known.data()), tid);
    }
    while (!model.empty()) {
      const auto it = random.one_in(3) ? model.begin() : std::prev(model.end());
      ASSERT_EQ(tree.erase_key(it->first.data()), IndexResult::kOk);
      model.erase(it);
    }
    tree.check_structure();
    EXPECT_EQ(tree.nodes_in_use(), 1u);
  }
}

// All node types grow and shrink, and what is erased leaves nothing behind.
TEST(OrderedIndex, RadixNodesGrowAndShrink) {
  for (const uint32_t fanout : {4u, 5u, 16u, 17u, 48u, 49u, 255u}) {
    auto arena = test_arena();
    RadixTree tree(arena.get(), 0);
    const std::string stem(37, 's');
    std::vector<std::string> keys;
    for (uint32_t i = 0; i < fanout; ++i) {
      for (const char* end : {"", "a", "bc"}) keys.push_back(stem + static_cast<char>(i + 1) + "common" + end + '\0');
    }
    Random random(fanout);
    for (int round = 0; round < 3; ++round) {
      std::shuffle(keys.begin(), keys.end(), random);
      for (const std::string& key : keys) {
        ASSERT_EQ(tree.insert_key(key.data(), size_of(key), 1), IndexResult::kOk);
        tree.check_structure();
      }
      ASSERT_EQ(scan(&tree, stem, stem, true).size(), keys.size());
      std::shuffle(keys.begin(), keys.end(), random);
      for (const std::string& key : keys) {
        ASSERT_EQ(tree.erase_key(key.data(), size_of(key)), IndexResult::kOk);
        tree.check_structure();
      }
      EXPECT_EQ(tree.pieces_in_use(), 0u);
    }
  }
}

TEST(OrderedIndex, OutOfMemoryLeavesItUsable) {
  for (const uint32_t width : {8u, 16u, 24u, 40u}) {
    for (const bool sequence : {true, false}) {
      auto arena = test_arena(6 * kArenaGranuleBytes);
      const auto index = OrderedIndex::create(arena.get(), width);
      const uint64_t factor = sequence ? 1 : 0x9E3779B97F4A7C15ull;
      uint64_t entries = 0;
      while (insert(index.get(), number_key(entries * factor, width), entries) == IndexResult::kOk) ++entries;
      EXPECT_GT(entries, 1000u);
      EXPECT_EQ(insert(index.get(), number_key(entries * factor, width), 1), IndexResult::kOutOfMemory);
      index->check_structure();
      for (uint64_t i = 0; i < entries; ++i) ASSERT_EQ(find(index.get(), number_key(i * factor, width)), i);
      for (uint64_t i = 0; i < entries; ++i) {
        ASSERT_EQ(erase(index.get(), number_key(i * factor, width)), IndexResult::kOk);
      }
      for (uint64_t i = 0; i < entries; ++i) {
        ASSERT_EQ(insert(index.get(), number_key(i * factor, width), i), IndexResult::kOk);
      }
      index->check_structure();
    }
  }
  auto arena = test_arena(0);
  EXPECT_EQ(OrderedIndex::create(arena.get(), 8), nullptr);
}

}  // namespace
}  // namespace scyper::storage
