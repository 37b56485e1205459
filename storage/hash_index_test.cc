#include <cstring>
#include <set>

#include "hash_table.h"
#include "index_model_test.h"

namespace scyper::storage {
namespace {

IndexResult insert(HashIndex* index, const std::string& key, Tid tid) {
  return index->insert(key.data(), static_cast<uint32_t>(key.size()), tid);
}
IndexResult erase(HashIndex* index, const std::string& key) {
  return index->erase(key.data(), static_cast<uint32_t>(key.size()));
}
Tid find(const HashIndex* index, const std::string& key) {
  index->prefetch(key.data(), static_cast<uint32_t>(key.size()));
  return index->find(key.data(), static_cast<uint32_t>(key.size()));
}

struct HashCase {
  uint32_t width;
  uint32_t distribution;
};

class HashModelTest : public testing::TestWithParam<std::tuple<uint32_t, uint32_t>> {};
INSTANTIATE_TEST_SUITE_P(Widths, HashModelTest,
                         testing::Combine(testing::Values(0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 60),
                                          testing::Values(0, 1, 2)));

TEST_P(HashModelTest, AgreesWithMap) {
  const auto [width, distribution] = GetParam();
  const uint64_t seed = random_seed(100 + width * 3 + distribution);
  SCOPED_TRACE(testing::Message() << "SCYPER_TEST_SEED=" << seed);
  Random random(seed);
  auto arena = test_arena();
  const auto index = HashIndex::create(arena.get(), width);
  std::map<std::string, Tid> model;
  KeySource source(&random, width, distribution, 20000);
  const uint64_t steps = random_steps(60000);
  for (uint64_t step = 0; step < steps; ++step) {
    // phases of growth and of shrinking
    const uint64_t inserts_of_ten = step / (steps / 6 + 1) % 2 == 0 ? 7 : 2;
    const std::string key = source.next();
    const auto it = model.find(key);
    const uint64_t choice = random.below(10);
    if (choice < inserts_of_ten) {
      const Tid tid = random.below(kMaxHashedTid + 1);
      ASSERT_EQ(insert(index.get(), key, tid), it == model.end() ? IndexResult::kOk : IndexResult::kDuplicate);
      if (it == model.end()) model.emplace(key, tid);
    } else if (choice < 8) {
      ASSERT_EQ(erase(index.get(), key), it == model.end() ? IndexResult::kNotFound : IndexResult::kOk);
      if (it != model.end()) model.erase(it);
    } else if (choice < 9) {
      const Tid tid = random.below(kMaxHashedTid + 1);
      const auto result = index->replace(key.data(), static_cast<uint32_t>(key.size()), tid);
      ASSERT_EQ(result, it == model.end() ? IndexResult::kNotFound : IndexResult::kOk);
      if (it != model.end()) it->second = tid;
    } else {
      ASSERT_EQ(find(index.get(), key), it == model.end() ? kNoTid : it->second);
    }
    if (step % (steps / 20 + 1) == 0) index->check_structure();
  }
  ASSERT_EQ(index->size(), model.size());
  for (const auto& [key, tid] : model) ASSERT_EQ(find(index.get(), key), tid);
  while (!model.empty()) {
    ASSERT_EQ(erase(index.get(), model.begin()->first), IndexResult::kOk);
    model.erase(model.begin());
  }
  index->check_structure();
  EXPECT_EQ(index->size(), 0u);
}

TEST(HashIndex, ExtremeTidsAndKeys) {
  auto arena = test_arena();
  for (const uint32_t width : {1u, 8u, 16u, 40u}) {
    const auto index = HashIndex::create(arena.get(), width);
    const std::string zeros(width, '\0'), ones(width, '\xff');
    EXPECT_EQ(find(index.get(), zeros), kNoTid);
    EXPECT_EQ(insert(index.get(), zeros, 0), IndexResult::kOk);
    EXPECT_EQ(insert(index.get(), ones, kMaxHashedTid), IndexResult::kOk);
    EXPECT_EQ(find(index.get(), zeros), 0u);
    EXPECT_EQ(find(index.get(), ones), kMaxHashedTid);
    EXPECT_EQ(erase(index.get(), zeros), IndexResult::kOk);
    EXPECT_EQ(find(index.get(), zeros), kNoTid);
    EXPECT_EQ(find(index.get(), ones), kMaxHashedTid);
  }
}

// A sequence, the most common key, fills the buckets as evenly as random keys would.
TEST(HashIndex, SequencesSpread) {
  auto arena = test_arena();
  for (const uint32_t width : {4u, 8u, 12u, 16u, 24u}) {
    const auto index = HashIndex::create(arena.get(), width);
    const uint64_t entries = 200000;
    for (uint64_t i = 0; i < entries; ++i)
      ASSERT_EQ(insert(index.get(), number_key(i, width, '\0'), i), IndexResult::kOk);
    index->check_structure();
    const size_t apart = width > 16 ? 48 : 0;
    EXPECT_LT(index->memory_bytes() / entries, 45 + apart) << "width " << width;
  }
}

// Keys with equal hashes: splitting cannot separate them, a chain must. The hash is forced by a form of its own.
class CollidingForm : public WordForm {
 public:
  using WordForm::WordForm;
  static uint64_t hash(Key key) { return key % 3 == 0 ? 77 : key % 3 == 1 ? hash_word(key) : hash_word(key) << 20; }
  static uint64_t hash_of(const Entry& entry) { return hash(entry.word); }
};

TEST(HashIndex, EqualHashesChain) {
  const uint64_t seed = random_seed(9);
  SCOPED_TRACE(testing::Message() << "SCYPER_TEST_SEED=" << seed);
  Random random(seed);
  auto arena = test_arena();
  HashTable<CollidingForm> table(arena.get(), 8);
  ASSERT_TRUE(table.start());
  std::map<uint64_t, Tid> model;
  for (int step = 0; step < 40000; ++step) {
    const uint64_t number = random.below(4000);
    const auto* key = reinterpret_cast<const char*>(&number);
    const auto it = model.find(number);
    if (random.below(10) < (step / 8000 % 2 == 0 ? 7u : 2u)) {
      ASSERT_EQ(table.insert_key(table.load(key, 8), number),
                it == model.end() ? IndexResult::kOk : IndexResult::kDuplicate);
      model.emplace(number, number);
    } else {
      ASSERT_EQ(table.erase_key(key, 8), it == model.end() ? IndexResult::kNotFound : IndexResult::kOk);
      model.erase(number);
    }
    if (step % 500 == 0) table.check_structure();
  }
  for (uint64_t i = 0; i < 4000; ++i) {
    ASSERT_EQ(table.find_key(i), model.count(i) != 0 ? i : kNoTid);
  }
  EXPECT_LT(table.memory_bytes(), size_t{4} << 20);
}

// When the budget is used up, the insert fails, everything before stays, and freed places serve again.
TEST(HashIndex, OutOfMemoryLeavesItUsable) {
  for (const uint32_t width : {8u, 16u, 100u}) {
    auto arena = test_arena(12 * kArenaGranuleBytes);
    const auto index = HashIndex::create(arena.get(), width);
    uint64_t entries = 0;
    while (insert(index.get(), number_key(entries, width), entries) == IndexResult::kOk) ++entries;
    EXPECT_GT(entries, 1000u);
    EXPECT_EQ(insert(index.get(), number_key(entries, width), 1), IndexResult::kOutOfMemory);
    index->check_structure();
    for (uint64_t i = 0; i < entries; ++i) ASSERT_EQ(find(index.get(), number_key(i, width)), i);
    for (uint64_t i = 0; i < entries; ++i) ASSERT_EQ(erase(index.get(), number_key(i, width)), IndexResult::kOk);
    for (uint64_t i = 0; i < entries; ++i) ASSERT_EQ(insert(index.get(), number_key(i, width), i), IndexResult::kOk);
    index->check_structure();
  }
  auto arena = test_arena(0);
  EXPECT_EQ(HashIndex::create(arena.get(), 8), nullptr);
}

}  // namespace
}  // namespace scyper::storage
