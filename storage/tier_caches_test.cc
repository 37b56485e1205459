// Tables whose frozen data is read through page caches of their own (docs/tiering.md).
#include "storage/tier_caches.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/comes_true.h"
#include "base/test_seed.h"
#include "compactor_fixture.h"
#include "storage/child_process.h"
#include "storage/frozen_tier.h"
#include "storage/partition_digest.h"
#include "storage/tiered_chunk.h"

namespace scyper::storage {
namespace {

constexpr uint32_t kSide = 1;

// A table in the default cache, and one in another; all their data is in files.
class TierCachesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "caches_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    FrozenTierOptions options;
    options.directory = name;
    options.cache_bytes = 16 * FrozenTier::kPageBytes;
    options.caches = {{"side", 16 * FrozenTier::kPageBytes, EvictionPolicy::kLru}};
    options.memory_bytes = 0;
    directory_ = name;
    auto made = FrozenTier::create(options);
    if (sqlstate_of(made.status()) == "0A000") GTEST_SKIP() << "no io_uring";
    ASSERT_TRUE(made.ok()) << made.status();
    tier_ = *std::move(made);
    Compactor::Options compactor = forced();
    compactor.tier = tier_.get();
    fixture_ = std::make_unique<Fixture>(1, Layout::kColumn, compactor);
    side_ = fixture_->store.table(small_schema(), 1);
    side_->allow_freezing(fixture_->memory.get());
    side_->frozen_store()->tier = tier_.get();
    side_->frozen_store()->tier_cache = kSide;
  }
  void TearDown() override {
    side_.reset();
    fixture_.reset();
    tier_.reset();
    EXPECT_EQ(rmdir(directory_.c_str()), 0) << directory_ << " has files";
  }

  // So many rows more in both, frozen at once.
  void fill(int rows) {
    const uint64_t seed = test_seed();
    for (int i = 0; i < 2; ++i) {
      Random random(seed);
      fixture_->append(rows, &random);
      std::swap(fixture_->table, side_);
      fixture_->next_id -= i == 0 ? rows : 0;
    }
    TablePartition* partitions[] = {fixture_->partition(), side_->partition(0)};
    while (fixture_->compactor.take_step(partitions, fixture_->store.log.get()) || fixture_->compactor.freeze_one()) {
    }
  }
  const TierFile& file_of(const Table& table, uint64_t chunk) {
    return *slot_of(table.partition(0), chunk << kChunkShift)->tiered->places[0].file;
  }
  PageCacheStatistics statistics(uint32_t cache) { return tier_->caches().cache(cache)->statistics(); }
  uint64_t asked(uint32_t cache) { return statistics(cache).hits + statistics(cache).faults; }
  bool is_let_go(uint32_t cache) {
    const PageCacheStatistics now = statistics(cache);
    return now.pinned_pages == 0 && now.waiting == 0 && now.processes == 1;
  }

  std::string directory_;
  std::unique_ptr<FrozenTier> tier_;
  std::unique_ptr<Fixture> fixture_;
  std::unique_ptr<Table> side_;
};

TEST_F(TierCachesTest, NoTableTakesPagesOfAnotherCache) {
  fill(6 * static_cast<int>(kChunkTuples));
  EXPECT_EQ(file_of(*fixture_->table, 0).cache(), 0u);
  EXPECT_EQ(file_of(*side_, 0).cache(), kSide);
  EXPECT_EQ(tier_->caches().cache(kSide)->options().policy, EvictionPolicy::kLru);
  const Digest digest = table_digest(*side_);
  EXPECT_EQ(asked(0), 0u);
  const PageCacheStatistics before = statistics(kSide);
  EXPECT_GT(before.evictions, 0u);                    // it holds a part
  EXPECT_EQ(table_digest(*fixture_->table), digest);  // the same rows
  EXPECT_GT(statistics(0).evictions, 0u);
  EXPECT_EQ(statistics(kSide).resident_pages, before.resident_pages);
  EXPECT_EQ(statistics(kSide).evictions, before.evictions);
  EXPECT_EQ(asked(kSide), before.hits + before.faults);
}

TEST_F(TierCachesTest, PagesAreAskedForInEachCache) {
  fill(static_cast<int>(kChunkTuples));
  const std::array<PageReader::Range, 3> ranges = {
      PageReader::Range{&file_of(*fixture_->table, 0), 0, 1}, {&file_of(*side_, 0), 0, 1}, {&file_of(*side_, 0), 2, 1}};
  EXPECT_EQ(tier_->ask(ranges), 2u);  // caches of this size read a page ahead
  EXPECT_EQ(statistics(0).read_ahead_pages, 1u);
  EXPECT_EQ(statistics(kSide).read_ahead_pages, 1u);
  std::vector<char> bytes(FrozenTier::kPageBytes);
  for (const PageReader::Range& range : ranges) {
    ASSERT_TRUE(tier_->read(*range.file, range.first * FrozenTier::kPageBytes, bytes.size(), bytes.data()).ok());
  }
  EXPECT_EQ(statistics(0).pages_read, 1u);
  EXPECT_EQ(statistics(kSide).pages_read, 2u);
}

TEST_F(TierCachesTest, ChildrenReadFromAll) {
  fill(2 * static_cast<int>(kChunkTuples));
  const Digest digest = table_digest(*side_);
  ChildOptions options;
  options.arena = fixture_->store.arena.get();
  options.frozen = fixture_->memory.get();
  options.pages = tier_->caches().all();
  const uint64_t before[] = {asked(0), asked(kSide)};
  auto child = ChildProcess::fork(
      options, [&](int) { return table_digest(*fixture_->table) == digest && table_digest(*side_) == digest ? 0 : 2; });
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(describe_wait_status((*child)->wait()), "exited with code 0");
  EXPECT_GT(asked(0), before[0]);
  EXPECT_GT(asked(kSide), before[1]);
  // one that is killed leaves nothing
  for (int round = 0; round < 10; ++round) {
    auto killed = ChildProcess::fork(options, [&](int socket) {
      for (uint64_t turn = 0;; ++turn) {
        for (const Table* table : {fixture_->table.get(), side_.get()}) {
          if (table_digest(*table) != digest) return 2;
        }
        if (turn == 0 && write(socket, "g", 1) != 1) return 3;
      }
    });
    ASSERT_TRUE(killed.ok()) << killed.status();
    char go;
    ASSERT_EQ(read((*killed)->socket(), &go, 1), 1);
    (*killed)->kill();
    EXPECT_TRUE(WIFSIGNALED((*killed)->wait()));
    for (const uint32_t cache : {0u, kSide}) EXPECT_TRUE(comes_true([&] { return is_let_go(cache); })) << cache;
  }
}

// What has been written stays where it is.
TEST_F(TierCachesTest, ATableGoesOnInAnotherCache) {
  fill(static_cast<int>(kChunkTuples));
  fixture_->table->frozen_store()->tier_cache = kSide;
  side_->frozen_store()->tier_cache = 0;
  fill(static_cast<int>(kChunkTuples));
  EXPECT_EQ(file_of(*fixture_->table, 0).cache(), 0u);
  EXPECT_EQ(file_of(*fixture_->table, 1).cache(), kSide);
  EXPECT_EQ(file_of(*side_, 0).cache(), kSide);
  EXPECT_EQ(file_of(*side_, 1).cache(), 0u);
  EXPECT_EQ(table_digest(*side_), table_digest(*fixture_->table));
  EXPECT_GT(asked(0), 0u);
  EXPECT_GT(asked(kSide), 0u);
  check_table(*side_);
}

// A file in two caches stays until both have let go of it.
TEST_F(TierCachesTest, AFileIsOpenedInSeveral) {
  fill(static_cast<int>(kChunkTuples));
  const uint64_t stamp = file_of(*side_, 0).stamp(), bytes = file_of(*side_, 0).data_bytes();
  const std::string path = file_of(*side_, 0).path();
  {
    auto again = tier_->open_again(stamp, bytes, 0);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ((*again)->cache(), 0u);
    EXPECT_EQ(tier_->counts().files, 3u);
    auto shared = tier_->open_again(stamp, bytes, kSide);
    ASSERT_TRUE(shared.ok()) << shared.status();
    EXPECT_EQ(shared->get(), &file_of(*side_, 0));
  }
  tier_->remove_unused();
  EXPECT_EQ(tier_->counts().files, 2u);
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  const auto kept = *tier_->open_again(stamp, bytes, 0);
  side_.reset();
  tier_->remove_unused();
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  std::vector<char> page(100);
  EXPECT_TRUE(tier_->read(*kept, 0, page.size(), page.data()).ok());
}

TEST_F(TierCachesTest, ANameThatIsNotThereIsTheDefaultOne) {
  TierCaches& caches = tier_->caches();
  EXPECT_EQ(caches.number_of("side"), kSide);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(caches.number_of("Side"), 0u);
  for (const char* name : {"", "default"}) EXPECT_EQ(caches.number_of(name), 0u);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "scyper: tier_caches has no cache \"Side\": tables that name it use the cache default\n");
}

}  // namespace
}  // namespace scyper::storage
