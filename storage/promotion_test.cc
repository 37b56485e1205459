// Vectors whose data is in the tier and that are used again come back to memory (docs/tiering.md).
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "base/failpoint.h"
#include "base/test_seed.h"
#include "storage/child_process.h"
#include "storage/partition_digest.h"
#include "storage/tiered_chunk.h"
#include "tiered_fixture.h"

namespace scyper::storage {
namespace {

constexpr uint32_t kChunks = 6;
constexpr size_t kPlenty = size_t{8} << 20;

// Some chunks of a table, more than the cache has room for. What others have in memory decides whether there is room.
class PromotionTest : public TieredFixture {
 protected:
  void SetUp() override {
    TieredFixture::SetUp();
    if (tier_ == nullptr) return;
    options_.memory_bytes = kPlenty;
    options_.cache_policy = EvictionPolicy::kLru;
    ASSERT_TRUE(start());
    fixture_->append(static_cast<int>(kChunks * kChunkTuples), &random_);
    leave_room(0);
    fixture_->compact();
    digest_ = table_digest(*fixture_->table);
    next_window();
  }
  void leave_room(uint64_t bytes) {
    const auto others = static_cast<int64_t>(kPlenty - bytes);
    tier_->add_resident(others - others_);
    others_ = others;
  }
  const FrozenSlot& slot(uint32_t chunk) { return *slot_of(fixture_->partition(), Tid{chunk} << kChunkShift); }
  bool has_data(uint32_t chunk, uint32_t column) { return FrozenChunk(slot(chunk).image, nullptr).has_data(column); }
  uint32_t resident_vectors() {
    uint32_t sum = 0;
    for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
      for (uint32_t column = 0; column < 4; ++column) sum += has_data(chunk, column) ? 1 : 0;
    }
    return sum;
  }
  void scan(uint32_t column, int times, uint32_t chunks = kChunks) {
    VectorReader vectors;
    for (int i = 0; i < times; ++i) {
      for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
        vectors.open(fixture_->partition(), slot(chunk));
        ASSERT_TRUE(vectors.bring(column)) << vectors.status();
      }
    }
  }
  void next_window() {
    tier_->begin_window();
    fixture_->compact();
  }
  void check() {
    EXPECT_EQ(table_digest(*fixture_->table), digest_);
    check_table(*fixture_->table);
  }
  bool child_agrees(ChildProcess* child) {
    EXPECT_EQ(write(child->socket(), "g", 1), 1);
    const int status = child->wait();
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  std::unique_ptr<ChildProcess> fork_reader() {
    ChildOptions options;
    options.arena = fixture_->store.arena.get();
    options.frozen = fixture_->memory.get();
    options.pages = tier_->caches().all();
    auto child = ChildProcess::fork(options, [this](int socket) {
      char go;
      if (read(socket, &go, 1) != 1) return 1;
      return table_digest(*fixture_->table) == digest_ ? 0 : 2;
    });
    EXPECT_TRUE(child.ok()) << child.status();
    return child.ok() ? *std::move(child) : nullptr;
  }

  Random random_{test_seed()};
  int64_t others_ = 0;
  Digest digest_;
};

// A scan of each now and then pays for no way back, several in a window do.
TEST_F(PromotionTest, WhatIsUsedComesBack) {
  ASSERT_EQ(resident_vectors(), 0u);
  leave_room(kPlenty);
  scan(1, 1);
  next_window();
  EXPECT_EQ(resident_vectors(), 0u);
  scan(1, 20);
  next_window();
  for (uint32_t chunk = 0; chunk < kChunks; ++chunk) EXPECT_TRUE(has_data(chunk, 1));
  EXPECT_EQ(resident_vectors(), kChunks);
  EXPECT_EQ(tier_->counts().promoted_vectors, kChunks);
  EXPECT_GT(tier_->counts().promoted_bytes, 0u);
  const uint64_t pages = tier_->cache()->statistics().hits + tier_->cache()->statistics().faults;
  scan(1, 1);
  EXPECT_EQ(tier_->cache()->statistics().hits + tier_->cache()->statistics().faults, pages);
  check();
}

// Rows that are read one by one count as well as they are sampled; a chunk of which all comes back is as any other.
TEST_F(PromotionTest, SingleValuesCount) {
  leave_room(kPlenty);
  for (int i = 0; i < 8000; ++i) ASSERT_TRUE(bring_tuple(fixture_->partition(), random_.below(kChunkTuples)).ok());
  next_window();
  EXPECT_EQ(slot(0).tiered, nullptr);
  EXPECT_EQ(resident_vectors(), 4u);
  EXPECT_FALSE(is_tiered(fixture_->partition(), 77));
  check();
}

// And goes again without a write.
TEST_F(PromotionTest, ItsPlaceInAFileStays) {
  leave_room(kPlenty);
  scan(1, 20);
  scan(2, 20);
  next_window();
  ASSERT_EQ(resident_vectors(), 2 * kChunks);
  const auto before = tier_->counts();
  const size_t files_before = files().size();
  ASSERT_EQ(before.unwritten_bytes, 0u);
  leave_room(0);
  fixture_->compact();
  EXPECT_EQ(resident_vectors(), 0u);
  const auto after = tier_->counts();
  EXPECT_EQ(after.evictions, before.evictions);
  EXPECT_EQ(after.evicted_vectors, before.evicted_vectors + 2 * kChunks);
  EXPECT_EQ(after.unwritten_bytes, before.promoted_bytes);
  EXPECT_EQ(files().size(), files_before);
  check();
  fixture_->table.reset();
  tier_->remove_unused();
  EXPECT_TRUE(files().empty());
  EXPECT_EQ(tier_->counts().tiered_bytes, 0u);
}

// Without room, what nobody uses makes some.
TEST_F(PromotionTest, InPlaceOfWhatNobodyUses) {
  leave_room(kPlenty);
  scan(2, 20);
  scan(3, 20);
  next_window();
  ASSERT_EQ(resident_vectors(), 2 * kChunks);
  leave_room(tier_->resident_bytes() - static_cast<uint64_t>(others_));
  for (int i = 0; i < 20; ++i) {
    scan(1, 20);
    next_window();
  }
  EXPECT_LT(resident_vectors(), 3 * kChunks);
  for (uint32_t chunk = 0; chunk < kChunks; ++chunk) EXPECT_TRUE(has_data(chunk, 1));
  EXPECT_EQ(tier_->excess_bytes(), 0u);
  check();
}

// All is used alike and half has room: nothing changes places. And what is used in turns moves as much as a window may.
TEST_F(PromotionTest, LittleGoesBackAndForth) {
  leave_room(kPlenty);
  scan(0, 20);
  scan(1, 20);
  next_window();
  ASSERT_EQ(resident_vectors(), 2 * kChunks);
  leave_room((tier_->resident_bytes() - static_cast<uint64_t>(others_)) / 2);
  const auto use_alike = [this](int windows) {
    for (int i = 0; i < windows; ++i) {
      scan(0, 20);
      scan(1, 20);
      next_window();
    }
  };
  use_alike(4);
  ASSERT_GT(resident_vectors(), 0u);
  ASSERT_LT(resident_vectors(), 2 * kChunks);
  const auto before = tier_->counts();
  use_alike(10);
  EXPECT_EQ(tier_->counts().promoted_bytes, before.promoted_bytes);
  EXPECT_EQ(tier_->counts().evicted_bytes, before.evicted_bytes);
  constexpr int kWindows = 20;
  for (int i = 0; i < kWindows; ++i) {
    scan(i % 2 == 0 ? 2 : 1, 40);
    next_window();
  }
  // each of them once in eight windows
  EXPECT_LE(tier_->counts().promoted_vectors - before.promoted_vectors, 2 * kChunks * (kWindows / 8 + 1));
  check();
}

// What cannot be read, or has no memory, stays where it is.
TEST_F(PromotionTest, FailuresLeaveAllAsItWas) {
  leave_room(kPlenty);
  scan(1, 100);
  ASSERT_TRUE(arm_failpoints("tier.before_promotion_read=fail").ok());
  next_window();
  EXPECT_EQ(resident_vectors(), 0u);
  EXPECT_EQ(tier_->counts().failed_promotions, kChunks);
  // one of them only: the others come
  ASSERT_TRUE(arm_failpoints("tier.before_promotion_read=fail*1").ok());
  next_window();
  EXPECT_EQ(resident_vectors(), kChunks - 1);
  disarm_failpoints();
  EXPECT_EQ(tier_->counts().failed_promotions, kChunks + 1);
  check();
  leave_room(0);
  fixture_->compact();
  ASSERT_EQ(resident_vectors(), 0u);
  leave_room(kPlenty);
  const size_t taken = fixture_->memory->budget_bytes() - fixture_->memory->usage().used_bytes - 8192;
  const char* block = fixture_->memory->allocate(taken);
  ASSERT_NE(block, nullptr);
  scan(1, 100);
  next_window();
  EXPECT_EQ(resident_vectors(), 0u);
  fixture_->memory->retire(block, taken);
  scan(1, 100);
  next_window();
  EXPECT_EQ(resident_vectors(), kChunks);
  check();
}

TEST_F(PromotionTest, DamageIsNotBroughtBack) {
  leave_room(kPlenty);
  scan(1, 100, 1);
  // its pages have to be read again
  for (const uint32_t column : {0, 2, 3}) scan(column, 1);
  ASSERT_TRUE(arm_failpoints("page_cache.bit_flip=fail").ok());
  next_window();
  EXPECT_EQ(resident_vectors(), 0u);
  EXPECT_GT(tier_->counts().failed_promotions, 0u);
  EXPECT_FALSE(tier_->damage().empty());
  disarm_failpoints();
  check();
}

// Children made before and between see what there was, wherever it is now.
TEST_F(PromotionTest, ChildrenSeeTheTableAsItWas) {
  auto first = fork_reader();
  leave_room(kPlenty);
  scan(1, 20);
  scan(3, 20);
  next_window();
  ASSERT_EQ(resident_vectors(), 2 * kChunks);
  auto second = fork_reader();
  leave_room(0);
  fixture_->compact();
  ASSERT_EQ(resident_vectors(), 0u);
  auto third = fork_reader();
  ASSERT_TRUE(first != nullptr && second != nullptr && third != nullptr);
  // rows go, and with them chunks and files
  for (Tid tid = 0; tid < kChunks * kChunkTuples; ++tid) {
    ASSERT_EQ(delete_tuple(fixture_->partition(), tid, fixture_->store.log.get()), ChangeResult::kOk);
    fixture_->store.log->commit();
  }
  fixture_->compact();
  tier_->remove_unused();
  EXPECT_TRUE(child_agrees(first.get()));
  EXPECT_TRUE(child_agrees(second.get()));
  EXPECT_TRUE(child_agrees(third.get()));
}

// A chunk that changes on the way, and a table that goes.
TEST_F(PromotionTest, WhatChangesOnTheWayIsLeft) {
  leave_room(kPlenty);
  scan(1, 100);
  tier_->begin_window();
  TablePartition* partition = fixture_->partition();
  ChangeLog* log = fixture_->store.log.get();
  ASSERT_TRUE(fixture_->compactor.take_step({&partition, 1}, log));
  for (Tid tid = 0; tid < kChunkTuples; ++tid) {
    ASSERT_EQ(delete_tuple(partition, tid, log), ChangeResult::kOk);
    log->commit();
  }
  while (fixture_->compactor.take_step({&partition, 1}, log)) {
  }
  ASSERT_EQ(slot(0).state, ChunkState::kEmpty);
  fixture_->compact();
  EXPECT_TRUE(has_data(1, 1));
  check_table(*fixture_->table);
  scan(0, 100, 0);
  for (uint32_t chunk = 1; chunk < kChunks; ++chunk) {
    VectorReader vectors;
    for (int i = 0; i < 100; ++i) {
      vectors.open(partition, slot(chunk));
      ASSERT_TRUE(vectors.bring(0));
    }
  }
  tier_->begin_window();
  ASSERT_TRUE(fixture_->compactor.take_step({&partition, 1}, log));
  fixture_->table.reset();
  EXPECT_TRUE(fixture_->compactor.freeze_one());
  EXPECT_TRUE(fixture_->compactor.take_step({}, log));
  EXPECT_EQ(fixture_->memory->usage().used_bytes, 0u);
}

// Rows that change one after the other: what is left of their chunk comes before it is to be emptied. What is deleted
// reads nothing.
TEST_F(PromotionTest, WhatLosesManyRowsComesBack) {
  leave_room(kPlenty);
  TablePartition* partition = fixture_->partition();
  ChangeLog* log = fixture_->store.log.get();
  constexpr Tid kRows = kChunkTuples / 8;
  for (Tid row = 0; row < kRows; ++row) {
    ASSERT_TRUE(bring_tuple(partition, row).ok());
    ASSERT_NE(make_hot(partition, row, log), kNoTid);
    log->commit();
    if (row % 100 == 0) fixture_->compact();
  }
  EXPECT_EQ(slot(0).state, ChunkState::kFrozen);
  EXPECT_EQ(slot(0).tiered, nullptr);
  EXPECT_EQ(fixture_->compactor.counts().moved, 0u);
  check();
  for (Tid row = kChunkTuples; row < kChunkTuples + kRows; ++row) {
    ASSERT_EQ(delete_tuple(partition, row, log), ChangeResult::kOk);
    log->commit();
    if (row % 100 == 0) fixture_->compact();
  }
  EXPECT_NE(slot(1).tiered, nullptr);
}

// A chunk that has lost a quarter of its tuples.
class EmptyingTest : public PromotionTest {
 protected:
  void SetUp() override {
    PromotionTest::SetUp();
    if (tier_ == nullptr) return;
    for (Tid tid = 0; tid < kChunkTuples / 4; ++tid) {
      ASSERT_EQ(delete_tuple(fixture_->partition(), tid, fixture_->store.log.get()), ChangeResult::kOk);
      fixture_->store.log->commit();
    }
    digest_ = table_digest(*fixture_->table);
    ASSERT_EQ(resident_vectors(), 0u);
  }
  bool take_step() {
    TablePartition* partition = fixture_->partition();
    return fixture_->compactor.take_step({&partition, 1}, fixture_->store.log.get());
  }
  uint64_t moved() { return fixture_->compactor.counts().moved; }
  uint64_t pages_used() {
    const auto statistics = tier_->cache()->statistics();
    return statistics.hits + statistics.faults;
  }
};

// Its rows are read in memory, and it does not go again before.
TEST_F(EmptyingTest, ItComesBackBefore) {
  const uint64_t evicted = tier_->counts().evicted_vectors;
  EXPECT_FALSE(take_step());
  EXPECT_EQ(moved(), 0u);
  EXPECT_TRUE(fixture_->compactor.freeze_one());
  const uint64_t pages = pages_used();
  ASSERT_TRUE(take_step());
  EXPECT_EQ(slot(0).tiered, nullptr);
  EXPECT_EQ(resident_vectors(), 4u);
  ASSERT_TRUE(take_step());
  EXPECT_GT(moved(), 0u);
  fixture_->compact();
  EXPECT_EQ(slot(0).state, ChunkState::kEmpty);
  EXPECT_EQ(moved(), kChunkTuples / 4 * 3);
  EXPECT_EQ(pages_used(), pages);
  EXPECT_EQ(tier_->counts().evicted_vectors, evicted + 4);  // those of the chunk that its tuples are in now
  check();
  fixture_->table.reset();
  tier_->remove_unused();
  EXPECT_TRUE(files().empty());
}

TEST_F(EmptyingTest, ADamagedOneStays) {
  for (const uint32_t column : {0, 2, 3}) scan(column, 1);  // its pages have to be read again
  ASSERT_TRUE(arm_failpoints("page_cache.bit_flip=fail").ok());
  fixture_->compact();
  EXPECT_FALSE(tier_->damage().empty());
  EXPECT_EQ(slot(0).state, ChunkState::kFrozen);
  EXPECT_NE(slot(0).tiered, nullptr);
  EXPECT_EQ(resident_vectors(), 0u);
  EXPECT_EQ(moved(), 0u);
  disarm_failpoints();
  check();
  next_window();
  EXPECT_EQ(slot(0).state, ChunkState::kEmpty);
  check();
}

// Without frozen memory it is emptied where it is.
TEST_F(EmptyingTest, WithoutMemoryItsRowsAreReadOneByOne) {
  const size_t taken = fixture_->memory->budget_bytes() - fixture_->memory->usage().used_bytes - 8192;
  const char* block = fixture_->memory->allocate(taken);
  ASSERT_NE(block, nullptr);
  EXPECT_FALSE(take_step());
  EXPECT_TRUE(fixture_->compactor.freeze_one());
  while (slot(0).state != ChunkState::kEmpty) {
    ASSERT_NE(slot(0).tiered, nullptr);
    ASSERT_TRUE(take_step());
  }
  EXPECT_EQ(moved(), kChunkTuples / 4 * 3);
  fixture_->memory->retire(block, taken);
  check();
}

// The table goes, or its chunk's last tuples do.
TEST_F(EmptyingTest, WhatGoesOnItsWayIsLeft) {
  EXPECT_FALSE(take_step());
  for (Tid tid = kChunkTuples / 4; tid < kChunkTuples; ++tid) {
    ASSERT_EQ(delete_tuple(fixture_->partition(), tid, fixture_->store.log.get()), ChangeResult::kOk);
    fixture_->store.log->commit();
  }
  while (take_step()) {
  }
  EXPECT_EQ(slot(0).state, ChunkState::kEmpty);
  EXPECT_TRUE(fixture_->compactor.freeze_one());
  EXPECT_EQ(slot(0).state, ChunkState::kEmpty);
  for (Tid tid = kChunkTuples; tid < kChunkTuples + kChunkTuples / 2; ++tid) {
    ASSERT_EQ(delete_tuple(fixture_->partition(), tid, fixture_->store.log.get()), ChangeResult::kOk);
    fixture_->store.log->commit();
  }
  while (take_step()) {
  }
  fixture_->table.reset();
  EXPECT_TRUE(fixture_->compactor.freeze_one());
  EXPECT_TRUE(fixture_->compactor.take_step({}, fixture_->store.log.get()));
  EXPECT_EQ(fixture_->memory->usage().used_bytes, 0u);
}

// Two partitions, each another owner's.
class OwnersTest : public TieredFixture {
 protected:
  void SetUp() override {
    partitions_ = 2;
    TieredFixture::SetUp();
    if (tier_ == nullptr) return;
    options_.memory_bytes = kPlenty;
    ASSERT_TRUE(start());
  }
  void fill(uint32_t owner) {
    fixture_->append(3 * static_cast<int>(kChunkTuples), &random_, owner);
    fixture_->compact(owner);
  }
  // Of what others have, so that so much is left, less than nothing, too.
  void leave_room(int64_t bytes) {
    tier_->add_resident(static_cast<int64_t>(kPlenty) - bytes - static_cast<int64_t>(tier_->resident_bytes()));
  }
  void pass_windows(int count) {
    for (int i = 0; i < count; ++i) {
      tier_->begin_window();
      for (const uint32_t owner : {1, 0}) fixture_->compact(owner);
    }
  }
  void scan(uint32_t owner, int times) {
    VectorReader vectors;
    for (int i = 0; i < times; ++i) {
      for (Tid chunk = 0; chunk < 3; ++chunk) {
        vectors.open(fixture_->partition(owner), *slot_of(fixture_->partition(owner), chunk << kChunkShift));
        for (const uint32_t column : {0, 1, 2, 3}) ASSERT_TRUE(vectors.bring(column)) << vectors.status();
      }
    }
  }
  uint32_t resident_vectors(uint32_t owner) {
    uint32_t sum = 0;
    for (Tid chunk = 0; chunk < 3; ++chunk) {
      const char* image = slot_of(fixture_->partition(owner), chunk << kChunkShift)->image;
      for (const uint32_t column : {0, 1, 2, 3}) sum += FrozenChunk(image, nullptr).has_data(column) ? 1 : 0;
    }
    return sum;
  }

  Random random_{test_seed()};
};

TEST_F(OwnersTest, WhatIsUsedLeastOfAllGoesFirst) {
  for (const uint32_t owner : {0, 1}) fill(owner);
  pass_windows(10);
  ASSERT_EQ(resident_vectors(0) + resident_vectors(1), 24u);
  scan(0, 20);
  pass_windows(1);
  leave_room(-1);
  fixture_->compact(0);
  EXPECT_EQ(resident_vectors(0), 12u);
  EXPECT_EQ(tier_->excess_bytes(), 1u);
  EXPECT_FALSE(fixture_->compactor.take_step({}, fixture_->store.log.get()));  // of an owner of nothing
  fixture_->compact(1);
  EXPECT_EQ(resident_vectors(0), 12u);
  EXPECT_LT(resident_vectors(1), 12u);
  EXPECT_EQ(tier_->excess_bytes(), 0u);
}

TEST_F(OwnersTest, WhatIsUsedComesInPlaceOfWhatOthersDoNotUse) {
  leave_room(-static_cast<int64_t>(kPlenty));
  fill(0);
  ASSERT_EQ(resident_vectors(0), 0u);
  leave_room(kPlenty / 2);
  fill(1);
  leave_room(0);
  pass_windows(10);
  ASSERT_EQ(resident_vectors(0), 0u);
  ASSERT_EQ(resident_vectors(1), 12u);
  for (int i = 0; i < 10 && resident_vectors(0) == 0; ++i) {
    scan(0, 20);
    pass_windows(1);
  }
  EXPECT_GT(resident_vectors(0), 0u);
  for (const uint32_t owner : {1, 0}) fixture_->compact(owner);
  EXPECT_LT(resident_vectors(1), 12u);
  EXPECT_EQ(tier_->excess_bytes(), 0u);
}

}  // namespace
}  // namespace scyper::storage
