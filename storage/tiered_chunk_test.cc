// Frozen chunks whose data is in files (docs/tiering.md).
#include "storage/tiered_chunk.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/failpoint.h"
#include "base/test_seed.h"
#include "evictor.h"
#include "storage/child_process.h"
#include "storage/hot_views.h"
#include "storage/partition_digest.h"
#include "tiered_fixture.h"
#include "tuple_place.h"

namespace scyper::storage {
namespace {

using TieredChunkTest = TieredFixture;

// A table of vectors of all kinds, and one that stays hot.
TableSchema many_forms() {
  TableSchema schema;
  schema.id = TableId(5);
  schema.name = "forms";
  schema.columns = {
      {"id", make_type(TypeId::kInt4), true},           {"runs", make_type(TypeId::kInt8), false},
      {"constant", make_type(TypeId::kInt2), false},    {"null_bits", make_type(TypeId::kInt4), false},
      {"null_ranges", make_type(TypeId::kDate), false}, {"nulls", make_type(TypeId::kText), false},
      {"few", make_type(TypeId::kText), false},         {"run_of_few", make_string(TypeId::kVarchar, 200), false},
      {"long_texts", make_type(TypeId::kText), false},  {"padded", make_string(TypeId::kChar, 5), false},
      {"free", make_type(TypeId::kNumeric), false},     {"random", make_type(TypeId::kInt8), false}};
  schema.indexes = {{IndexId(1), "forms_pkey", {0}, {}, true, true}};
  schema.scheme = PartitionScheme::kHash;
  schema.partition_column = 0;
  return schema;
}

void fill(TablePartition* partition, Random* random) {
  const int rows = 2 * static_cast<int>(kChunkTuples);
  std::vector<Datum> values;
  std::vector<std::string> texts;
  texts.reserve(static_cast<size_t>(rows) * 4);
  const auto text = [&](std::string bytes) {
    texts.push_back(std::move(bytes));
    return string_datum(texts.back().data(), texts.back().size());
  };
  for (int i = 0; i < rows; ++i) {
    values.push_back(int_datum(i));
    values.push_back(int_datum(i / 300 * 1'000'000'007ll));
    values.push_back(int_datum(7));
    values.push_back(random->one_in(2) ? null_datum() : int_datum(static_cast<int64_t>(random->below(5000))));
    values.push_back(i % 2000 < 900 ? null_datum() : int_datum(i % 365));
    values.push_back(null_datum());
    values.push_back(text(std::string(80, 'f') + std::to_string(random->below(9))));
    values.push_back(text("for some hundred rows the same text " + std::to_string(i / 400)));
    values.push_back(text(std::string(random->below(90), static_cast<char>('a' + random->below(26)))));
    values.push_back(text("p" + std::to_string(random->below(3000))));
    values.push_back(random->one_in(3) ? null_datum() : int128_datum(static_cast<int64_t>(random->below(1000)), 2));
    values.push_back(int_datum(static_cast<int64_t>(random->below(uint64_t{1} << 60))));
  }
  ASSERT_TRUE(append_rows(partition, values, plain_text).ok());
}

// Single values and whole vectors, of all columns.
TEST_F(TieredChunkTest, ReadsWhatWasFrozen) {
  Random random(test_seed());
  auto table = fixture_->store.table(many_forms());
  auto hot = fixture_->store.table(many_forms());
  table->allow_freezing(fixture_->memory.get());
  table->frozen_store()->tier = tier_.get();
  TablePartition* partition = table->partition(0);
  Random again = random;
  fill(partition, &random);
  fill(hot->partition(0), &again);
  while (fixture_->compactor.take_step({&partition, 1}, fixture_->store.log.get()) ||
         fixture_->compactor.freeze_one()) {
  }
  const auto columns = static_cast<uint32_t>(table->schema().columns.size());
  std::set<FrozenScheme> schemes;
  uint32_t shared = 0;
  uint64_t bytes = 0;
  for (const Tid first : {Tid{0}, Tid{kChunkTuples}}) {
    const FrozenSlot& slot = *slot_of(partition, first);
    ASSERT_NE(slot.tiered, nullptr);
    const FrozenChunk chunk(slot.image, &table->frozen_store()->dictionaries);
    bytes += chunk.header().bytes;
    for (uint32_t column = 0; column < columns; ++column) {
      const FrozenHeader& head = chunk.header_of(column);
      EXPECT_EQ(chunk.has_data(column), head.bytes <= head_bytes(head)) << column;
      schemes.insert(head.scheme);
      shared += head.has_shared_text;
    }
  }
  EXPECT_EQ(schemes.size(), kFrozenSchemes);
  EXPECT_GT(shared, 0u);
  EXPECT_EQ(table->memory().frozen_bytes, bytes);
  for (int i = 0; i < 3000; ++i) {
    const Tid tid = random.below(2 * kChunkTuples);
    for (uint32_t column = 0; column < columns; ++column) {
      ASSERT_TRUE(same_value(table->schema().columns[column].type, read_column(partition, tid, column),
                             read_column(hot->partition(0), tid, column)))
          << tid << " " << column;
    }
  }
  EXPECT_EQ(table_digest(*table), table_digest(*hot));
  check_table(*table);
  table.reset();
  EXPECT_EQ(fixture_->memory->usage().used_bytes, 0u);
  tier_->remove_unused();
  EXPECT_TRUE(files().empty());
  EXPECT_EQ(tier_->counts().tiered_bytes, 0u);
  EXPECT_EQ(tier_->resident_bytes(), 0u);
}

TEST_F(TieredChunkTest, ItsCacheHasThePolicyThatWasChosen) {
  for (const EvictionPolicy policy : {EvictionPolicy::kFifo, EvictionPolicy::kLru, EvictionPolicy::kLirs}) {
    options_.cache_policy = policy;
    if (!start()) GTEST_SKIP() << "this system gives no io_uring";
    EXPECT_EQ(tier_->cache()->options().policy, policy);
  }
}

// Bounds in the heads answer without a page; shared texts, too.
// The pages of a row are asked for together.
TEST_F(TieredChunkTest, ATupleIsReadAtOnce) {
  options_.cache_bytes = 1024 * FrozenTier::kPageBytes;
  ASSERT_TRUE(start());
  auto table = fixture_->store.table(many_forms());
  table->allow_freezing(fixture_->memory.get());
  table->frozen_store()->tier = tier_.get();
  TablePartition* partition = table->partition(0);
  Random random(test_seed());
  fill(partition, &random);
  while (fixture_->compactor.take_step({&partition, 1}, fixture_->store.log.get()) ||
         fixture_->compactor.freeze_one()) {
  }
  ASSERT_TRUE(is_tiered(partition, 0));
  const PageCacheStatistics before = tier_->cache()->statistics();
  const uint64_t waits_before = PageReader::uses_of_thread().waits;
  ASSERT_TRUE(bring_tuple(partition, 700).ok());
  const PageCacheStatistics after = tier_->cache()->statistics();
  const uint64_t pages = after.pages_read - before.pages_read;
  EXPECT_GT(pages, 5u);
  // all but those that depend on what another one has
  EXPECT_GE(after.read_ahead_pages - before.read_ahead_pages, pages - 2);
  EXPECT_LE(PageReader::uses_of_thread().waits - waits_before, pages);
}

TEST_F(TieredChunkTest, SkipsWithoutReading) {
  Random random(test_seed());
  fixture_->append(static_cast<int>(kChunkTuples), &random);
  fixture_->compact();
  ASSERT_TRUE(is_tiered(fixture_->partition(), 0));
  const uint64_t before = tier_->cache()->statistics().pages_read;
  VectorReader vectors;
  vectors.open(fixture_->partition(), *slot_of(fixture_->partition(), 0));
  EXPECT_TRUE(vectors.can_skip(0, FrozenPredicate::equal(int_datum(-1))));
  EXPECT_FALSE(vectors.can_skip(0, FrozenPredicate::equal(int_datum(17))));
  EXPECT_TRUE(vectors.can_skip(0, FrozenPredicate::is_null(true)));
  EXPECT_EQ(tier_->cache()->statistics().pages_read, before);
  EXPECT_TRUE(vectors.can_skip(2, FrozenPredicate::equal(string_datum("nobody", 6))));
  EXPECT_FALSE(vectors.can_skip(2, FrozenPredicate::equal(string_datum("name7", 5))));
  EXPECT_TRUE(vectors.status().ok()) << vectors.status();
}

// With a budget, what is used stays.
TEST(EvictionRankTest, OfLittleUseFirstAndSmallOnesLast) {
  const auto rank = [](uint32_t bytes, uint32_t last_use, bool is_relevant) {
    return eviction_rank({nullptr, 0, 0, bytes, last_use, is_relevant}, 100);
  };
  const uint32_t page = FrozenTier::kPageBytes;
  EXPECT_GT(rank(page, 10, false), rank(page, 11, false));
  EXPECT_GT(rank(page, 10, false), rank(page / 2, 10, false));
  EXPECT_EQ(rank(page, 10, false), rank(9 * page, 10, false));
  EXPECT_GT(rank(page / 2, 0, false), rank(page, 90, false));
  EXPECT_GT(rank(page / 2, 100, false), rank(9 * page, 0, true));
  EXPECT_GT(rank(page, 100, true), rank(page / 16, 0, false));
}

TEST_F(TieredChunkTest, WhatNobodyUsesGoesFirst) {
  options_.memory_bytes = size_t{1} << 40;
  ASSERT_TRUE(start());
  Random random(test_seed());
  fixture_->append(3 * static_cast<int>(kChunkTuples), &random);
  fixture_->compact();
  EXPECT_EQ(tier_->counts().files, 0u);
  const uint64_t all = tier_->resident_bytes();
  // another node's budget, as it were: half of what there is
  tier_->add_resident(static_cast<int64_t>(options_.memory_bytes - all / 2));
  tier_->begin_window();
  VectorReader vectors;
  for (Tid tid = 0; tid < 3 * kChunkTuples; tid += kChunkTuples) {
    vectors.open(fixture_->partition(), *slot_of(fixture_->partition(), tid));
    ASSERT_TRUE(vectors.bring(1));
  }
  fixture_->compact();
  EXPECT_GT(tier_->counts().tiered_vectors, 0u);
  for (Tid tid = 0; tid < 3 * kChunkTuples; tid += kChunkTuples) {
    const FrozenSlot& slot = *slot_of(fixture_->partition(), tid);
    EXPECT_TRUE(FrozenChunk(slot.image, nullptr).has_data(1));
  }
}

// A child reads what its parent has given up meanwhile, through the parent's cache.
// Vectors of a hot data view's columns, in chunks that hold its tuples, go last, however long ago they were used.
TEST_F(TieredChunkTest, WhatMattersGoesLast) {
  options_.memory_bytes = size_t{1} << 40;
  ASSERT_TRUE(start());
  Random random(test_seed());
  fixture_->append(3 * static_cast<int>(kChunkTuples), &random);
  HotView view;
  view.columns = {1};
  view.conditions = {{1, FrozenPredicate::between(int_datum(0), int_datum(999)), false}};
  auto views = std::make_shared<HotViews>();
  views->views.push_back(std::make_shared<const HotView>(std::move(view)));
  fixture_->table->frozen_store()->set_hot_views(views);
  fixture_->compact();
  const uint64_t all = tier_->resident_bytes();
  tier_->add_resident(static_cast<int64_t>(options_.memory_bytes - all / 2));
  tier_->begin_window();
  VectorReader vectors;
  const std::vector<uint32_t> others = {0, 2, 3};
  for (Tid tid = 0; tid < 3 * kChunkTuples; tid += kChunkTuples) {
    vectors.open(fixture_->partition(), *slot_of(fixture_->partition(), tid));
    ASSERT_TRUE(vectors.bring(others));
  }
  fixture_->compact();
  EXPECT_GT(tier_->counts().tiered_vectors, 0u);
  for (Tid tid = 0; tid < 3 * kChunkTuples; tid += kChunkTuples) {
    const FrozenSlot& slot = *slot_of(fixture_->partition(), tid);
    EXPECT_TRUE(FrozenChunk(slot.image, nullptr).has_data(1));
  }
}

TEST_F(TieredChunkTest, AChildSeesFilesAsTheyWere) {
  Random random(test_seed());
  fixture_->append(20'000, &random);
  fixture_->compact();
  const Digest before = table_digest(*fixture_->table);
  ChildOptions options;
  options.arena = fixture_->store.arena.get();
  options.frozen = fixture_->memory.get();
  options.pages = tier_->caches().all();
  auto child = ChildProcess::fork(options, [&](int socket) {
    char go;
    if (read(socket, &go, 1) != 1) return 1;
    return table_digest(*fixture_->table) == before ? 0 : 2;
  });
  ASSERT_TRUE(child.ok()) << child.status();
  for (int id = 1; id <= 20'000; id += 2) {
    ASSERT_EQ(delete_tuple(fixture_->partition(), fixture_->find(id), fixture_->store.log.get()), ChangeResult::kOk);
    fixture_->store.log->commit();
  }
  fixture_->compact();
  EXPECT_GE(fixture_->compactor.counts().emptied, 2u);
  tier_->remove_unused();
  ASSERT_EQ(write((*child)->socket(), "g", 1), 1);
  const int status = (*child)->wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << describe_wait_status(status);
  check_table(*fixture_->table);
}

// What cannot be read is told, and stays as it is.
TEST_F(TieredChunkTest, DamageIsTold) {
  Random random(test_seed());
  fixture_->append(20'000, &random);
  fixture_->compact();
  TablePartition* partition = fixture_->partition();
  ASSERT_TRUE(arm_failpoints("page_cache.bit_flip=fail").ok());
  EXPECT_EQ(sqlstate_of(bring_tuple(partition, 77)), "XX001");
  EXPECT_EQ(sqlstate_of(partition_digest(*fixture_->table, 0).status()), "XX001");
  VectorReader vectors;
  vectors.open(partition, *slot_of(partition, 0));
  EXPECT_FALSE(vectors.bring(0));
  EXPECT_EQ(sqlstate_of(vectors.status()), "XX001");
  disarm_failpoints();
  // a quarter and more of the first chunk goes, but the rest cannot be moved: other chunks are dealt with
  for (Tid tid = 0; tid < 8'000; ++tid) {
    ASSERT_EQ(delete_tuple(partition, tid, fixture_->store.log.get()), ChangeResult::kOk);
    fixture_->store.log->commit();
  }
  ASSERT_TRUE(arm_failpoints("page_cache.bit_flip=fail").ok());
  fixture_->append(10, &random);
  const uint64_t frozen = fixture_->compactor.counts().frozen;
  fixture_->compact();
  EXPECT_GT(fixture_->compactor.counts().frozen, frozen);
  disarm_failpoints();
  EXPECT_EQ(slot_of(partition, 0)->invalid.positions(), 8'000u);
  check_table(*fixture_->table);
  fixture_->compact();
  EXPECT_EQ(slot_of(partition, 0)->state, ChunkState::kEmpty);
  check_table(*fixture_->table);
}

TEST_F(TieredChunkTest, FilesThatWereThereBeforeGo) {
  Random random(test_seed());
  fixture_->append(static_cast<int>(kChunkTuples), &random);
  fixture_->compact();
  ASSERT_EQ(files().size(), 1u);
  EXPECT_EQ(sqlstate_of(FrozenTier::create(options_).status()), "55006");
  auto file = *make_real_disk()->open(options_.directory + "/0123456789abcdef.tier.tmp", OpenMode::kCreate);
  file.reset();
  ASSERT_TRUE(start());
  tier_->remove_unused();
  EXPECT_TRUE(files().empty());
}

}  // namespace
}  // namespace scyper::storage
