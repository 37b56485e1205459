#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/comes_true.h"
#include "base/failpoint.h"
#include "base/random.h"
#include "base/simulated_disk.h"
#include "base/test_seed.h"
#include "durability.h"
#include "storage/frozen_slot.h"
#include "storage/frozen_tier.h"
#include "testing/bank.h"
#include "testing/compacting.h"
#include "testing/restarts.h"

// Compaction in a running engine. Everything is frozen all the time: what transactions, archives and recovery see must
// not show it. (Steps and images: storage/compactor_test; snapshots: compaction_snapshot_test.cc; other tests of this
// folder run with SCYPER_TEST_COMPACTION, too.)
namespace scyper::primary {
namespace {

// Comes true when nobody changes anything.
bool all_is_frozen(Engine* engine) {
  return comes_true([&] {
    for (const Engine::TableInfo& table : engine->tables()) {
      if (table.temperature.hot.tuples + table.temperature.cold.tuples > 0) return false;
    }
    return true;
  });
}

TEST(CompactionTest, OffByDefault) {
  Bank bank(hot(Bank::small_options()));
  EXPECT_EQ(EngineOptions().compaction.mode, replay::CompactionMode::kOff);
  EXPECT_EQ(bank.engine().compaction(), nullptr);
  EXPECT_EQ(bank.engine().database().frozen_memory(), nullptr);
}

// Nobody submits anything: workers wake for steps; shared tables have theirs, too.
TEST(CompactionTest, AnIdleEngineFreezesAllTables) {
  for (const uint32_t workers : {1u, 2u}) {
    EngineOptions options = frozen(Bank::small_options());
    options.workers = workers;
    Bank bank(options);
    EXPECT_TRUE(all_is_frozen(&bank.engine())) << workers;
    for (const Engine::TableInfo& table : bank.engine().tables()) {
      EXPECT_EQ(table.temperature.frozen.tuples, table.rows) << table.name;
      if (table.name != "stamps") EXPECT_GT(table.rows, 0u) << table.name;
    }
    bank.check_tables();
    EXPECT_EQ(bank.value_of("SELECT sum(balance)::bigint FROM accounts"), 16 * 32 * 1000);
  }
}

// The same on every engine: what has the time of day in it is left out.
void change(Bank* bank, int rounds, uint64_t seed) {
  Random random(seed);
  const auto any = [&](uint64_t below) { return static_cast<int64_t>(random.below(below)); };
  for (int i = 0; i < rounds; ++i) {
    const int64_t b = any(Bank::kBranches);
    EXPECT_TRUE(bank->run("CALL deposit($1, $2, $3)", {b, any(32), any(100)}).ok());
    EXPECT_TRUE(bank->run("CALL move($1, $2, $3, $4, 5)", {b, any(32), any(Bank::kBranches), any(32)}).ok());
    EXPECT_FALSE(bank->run("CALL move_and_fail($1, $2, $3, 5)", {b, any(32), any(32)}).ok());
    EXPECT_TRUE(bank->run("CALL move_linked($1, $2, $3)", {b, any(32), any(50)}).ok());
    EXPECT_TRUE(bank->run("CALL set_rate($1, $2)", {any(8), any(1000)}).ok());
    EXPECT_TRUE(bank->run("INSERT INTO accounts VALUES ($1, $2, 0)", {b, 1000 + i}).ok());
    if (i % 3 == 0) EXPECT_TRUE(bank->run("DELETE FROM accounts WHERE branch = $1 AND id >= 1000", {b}).ok());
    if (i % 16 == 0) EXPECT_TRUE(bank->run("UPDATE accounts SET balance = balance + id").ok());
  }
  EXPECT_TRUE(bank->run("DELETE FROM accounts WHERE id >= 1000").ok());
}

std::set<std::string> files_of(const std::string& directory) {
  std::set<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(directory)) files.insert(file.path());
  return files;
}

// A page whose bit was flipped, and what stands there since.
struct Damage {
  std::string file;
  std::streamoff at;
  std::array<char, 64> bytes;
};

// Flips a bit of each page of the files that are there.
std::vector<Damage> flip_bits(const std::set<std::string>& files) {
  std::vector<Damage> done;
  for (const std::string& file : files) {
    if (!std::filesystem::exists(file)) continue;
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    const auto size = static_cast<std::streamoff>(std::filesystem::file_size(file));
    for (std::streamoff at = 100; at < size - 16384; at += 16384) {
      Damage damage{file, at, {}};
      stream.seekg(at).read(damage.bytes.data(), damage.bytes.size());
      damage.bytes[0] = static_cast<char>(damage.bytes[0] ^ 4);
      stream.seekp(at).put(damage.bytes[0]);
      done.push_back(damage);
    }
  }
  return done;
}

// Puts the bits back, but for pages that have been written since.
void put_back(const std::vector<Damage>& done) {
  for (const Damage& damage : done) {
    if (!std::filesystem::exists(damage.file)) continue;
    std::fstream stream(damage.file, std::ios::in | std::ios::out | std::ios::binary);
    std::array<char, 64> now{};
    stream.seekg(damage.at).read(now.data(), now.size());
    if (now == damage.bytes) stream.seekp(damage.at).put(static_cast<char>(now[0] ^ 4));
  }
}

class CompactionModesTest : public testing::TestWithParam<RedoMode> {};
INSTANTIATE_TEST_SUITE_P(Redo, CompactionModesTest, testing::Values(RedoMode::kLogical, RedoMode::kPhysical));

// The same transactions with and without: the same state, here and after recovery, which is with and without in turn.
// With physical redo the data of frozen rows is in files besides.
TEST_P(CompactionModesTest, TheSameStateWithAndWithout) {
  SimulatedDisk disk, other_disk;
  storage::Digest with, without;
  const auto compacted = [](const EngineOptions& options) {
    return GetParam() == RedoMode::kPhysical ? tiered(frozen(options)) : frozen(options);
  };
  {
    Bank bank(compacted(log_options(&disk, GetParam())));
    Bank plain(hot(log_options(&other_disk, GetParam())));
    for (Bank* one : {&bank, &plain})
      EXPECT_TRUE(one->run("CREATE HOT DATA VIEW few AS SELECT balance FROM accounts WHERE id IN (3, 5)").ok());
    const uint64_t seed = test_seed();
    for (uint64_t round = 0; round < 5; ++round) {
      change(&bank, 40, seed + round);
      change(&plain, 40, seed + round);
      EXPECT_TRUE(all_is_frozen(&bank.engine()));
      EXPECT_EQ(digest_of(&bank.engine()), digest_of(&plain.engine())) << round;
    }
    with = digest_of(&bank.engine());
    if (const storage::FrozenTier* tier = bank.engine().database().tier(); tier != nullptr) {
      EXPECT_GT(tier->counts().evicted_vectors, 0u);
    }
    without = digest_of(&plain.engine());
  }
  EXPECT_EQ(with, without);
  for (int life = 0; life < 3; ++life) {
    const EngineOptions options = log_options(&disk, GetParam());
    auto engine = open_or_null(life % 2 == 0 ? hot(options) : compacted(options));
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(digest_of(engine.get()), with) << life;
    EXPECT_EQ(engine->database().catalog()->hot_data_views.count("few"), 1u);
    if (life % 2 == 0) continue;
    EXPECT_TRUE(comes_true([&] { return engine->compaction()->counts().irrelevant > 0; }));
  }
}

// Archives are written from frozen chunks, at rest and by a child, and load as any.
void write_archives(EngineOptions (*compacted)(EngineOptions)) {
  SimulatedDisk disk;
  storage::Digest before;
  {
    Bank bank(compacted(log_options(&disk)));
    for (int round = 0; round < 3; ++round) {
      work(&bank, 2, 40);
      EXPECT_TRUE(all_is_frozen(&bank.engine()));
      ASSERT_TRUE(bank.engine().write_archive("", nullptr).ok()) << round;
    }
    work(&bank, 2, 20);  // for the log behind it
    before = digest_of(&bank.engine());
  }
  auto engine = open_or_null(compacted(log_options(&disk)));
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(digest_of(engine.get()), before);
}
TEST(CompactionTest, ArchivesOfFrozenTables) {
  write_archives([](EngineOptions options) { return frozen(std::move(options)); });
}
TEST(CompactionTest, ArchivesOfTieredTables) {
  write_archives([](EngineOptions options) { return tiered(frozen(std::move(options))); });
}

uint32_t cache_of_accounts(PartitionEngine* engine) {
  return engine->database().catalog()->find_table("accounts")->frozen_store()->tier_cache.load();
}

// What was in the tier when the archive was made stays there over a restart, in its table's cache; the log behind it
// changes and deletes such rows. Again and again, with crashes where files and archives come and go.
TEST_P(CompactionModesTest, RestartsInPlace) {
  SimulatedDisk disk;
  EngineOptions options = tiered(frozen(log_options(&disk, GetParam())));
  if (options.compaction.tier.directory.empty()) GTEST_SKIP() << "no io_uring";
  options.compaction.tier.caches = {{"side", 16 * storage::FrozenTier::kPageBytes}};
  const auto has_evicted = [](PartitionEngine* engine) {
    return comes_true([&] { return engine->database().tier()->counts().tiered_vectors > 20; });
  };
  storage::Digest before;
  {
    Bank bank(options);
    EXPECT_TRUE(bank.run("ALTER TABLE accounts SET (tier_cache = side)").ok());
    work(&bank, 2, 40);
    EXPECT_TRUE(all_is_frozen(&bank.engine()));
    EXPECT_TRUE(has_evicted(&bank.engine()));
    ASSERT_TRUE(bank.engine().write_archive("", nullptr).ok());
    change(&bank, 30, test_seed());
    EXPECT_TRUE(bank.run("DELETE FROM accounts WHERE id % 7 = 3").ok());
    before = digest_of(&bank.engine());
  }
  uint64_t pages_read = 0;
  for (int life = 0; life < 3; ++life) {
    auto engine = open_or_null(options);
    ASSERT_NE(engine, nullptr);
    const auto tier = engine->database().tier()->counts();
    EXPECT_GT(tier.tiered_vectors, tier.evicted_vectors) << "nothing was in place";
    EXPECT_EQ(digest_of(engine.get()), before) << life;
    EXPECT_TRUE(has_evicted(engine.get()));
    EXPECT_EQ(cache_of_accounts(engine.get()), 1u);
    pages_read += engine->database().tier()->caches().cache(1)->statistics().pages_read;
    if (life == 1) EXPECT_TRUE(engine->write_archive("", nullptr).ok());
  }
  EXPECT_GT(pages_read, 0u);
  // by others, from rows
  auto hot_engine = open_or_null(hot(log_options(&disk, GetParam())));
  ASSERT_NE(hot_engine, nullptr);
  EXPECT_EQ(digest_of(hot_engine.get()), before);
}

// Vectors go to files and come back beside transactions, snapshots and archives, as others take room and give it back.
TEST_P(CompactionModesTest, VectorsComeAndGo) {
  constexpr int64_t kRoom = int64_t{1} << 20;
  SimulatedDisk disk, other_disk;
  EngineOptions options = tiered(frozen(log_options(&disk, GetParam()), 20000));
  if (options.compaction.tier.directory.empty()) GTEST_SKIP() << "no io_uring";
  options.compaction.tier.memory_bytes = kRoom;
  storage::Digest before;
  {
    Bank bank(options);
    Bank plain(hot(log_options(&other_disk, GetParam())));
    storage::FrozenTier* tier = bank.engine().database().tier();
    const uint64_t seed = test_seed();
    for (uint64_t round = 0; round < 5; ++round) {
      const auto counts = tier->counts();
      tier->add_resident(kRoom);
      change(&bank, 20, seed + round);
      change(&plain, 20, seed + round);
      EXPECT_TRUE(all_is_frozen(&bank.engine()));
      EXPECT_TRUE(comes_true([&] { return tier->counts().evicted_vectors > counts.evicted_vectors; }));
      tier->add_resident(-kRoom);
      // what is read may have stayed in memory
      for (int i = 0; i < 500 && tier->counts().promoted_vectors == counts.promoted_vectors; ++i) {
        static_cast<void>(bank.value_of("SELECT sum(balance % 7) FROM accounts"));
      }
      if (round % 2 == 1) ASSERT_TRUE(bank.engine().write_archive("", nullptr).ok());
      before = digest_of(&bank.engine());
      EXPECT_EQ(before, digest_of(&plain.engine())) << round;
    }
    EXPECT_GT(tier->counts().promoted_vectors, 0u);
  }
  auto engine = open_or_null(options);
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(digest_of(engine.get()), before);
}

// A damaged page fails the statements that read it, until the chunk has been made anew of the archive's rows.
TEST(CompactionTest, DamagedColdPagesAreRepaired) {
  SimulatedDisk disk;
  const EngineOptions options = tiered(frozen(log_options(&disk)));
  if (options.compaction.tier.directory.empty()) GTEST_SKIP() << "no io_uring";
  constexpr std::string_view kUpdate = "UPDATE accounts SET balance = balance + 1 WHERE balance > 0";
  Bank bank(options);
  // more than the cache holds
  ASSERT_TRUE(bank.run("INSERT INTO accounts SELECT g % 16, 10000 + g, (g::bigint * 7919) % 1000000007 "
                       "FROM generate_series(1, 120000) g")
                  .ok());
  storage::FrozenTier* tier = bank.engine().database().tier();
  EXPECT_TRUE(all_is_frozen(&bank.engine()));
  EXPECT_TRUE(comes_true([&] { return tier->counts().tiered_bytes > 20 * storage::FrozenTier::kPageBytes; }));
  ASSERT_TRUE(bank.engine().write_archive("", nullptr).ok());
  const storage::Digest before = digest_of(&bank.engine());
  const std::vector<Damage> damage = flip_bits(files_of(options.compaction.tier.directory));
  EXPECT_FALSE(bank.run(kUpdate).ok());
  EXPECT_TRUE(comes_true([&] { return bank.run("UPDATE accounts SET balance = balance WHERE balance > 0").ok(); }));
  EXPECT_GT(tier->counts().repaired_chunks, 0u);
  put_back(damage);  // what nobody has read
  EXPECT_EQ(digest_of(&bank.engine()), before);
}

// Whichever read of the tier fails at a start, the rows of the archive are taken instead.
TEST(CompactionTest, DamageAtAStart) {
  SimulatedDisk disk;
  const EngineOptions options = tiered(frozen(log_options(&disk)));
  if (options.compaction.tier.directory.empty()) GTEST_SKIP() << "no io_uring";
  storage::Digest before;
  {
    Bank bank(options);
    work(&bank, 2, 40);
    EXPECT_TRUE(all_is_frozen(&bank.engine()));
    EXPECT_TRUE(comes_true([&] { return bank.engine().database().tier()->counts().tiered_vectors > 20; }));
    ASSERT_TRUE(bank.engine().write_archive("", nullptr).ok());
    EXPECT_TRUE(bank.run("UPDATE accounts SET balance = balance + 1").ok());
    work(&bank, 2, 20);
    before = digest_of(&bank.engine());
  }
  for (int skipped = 0; skipped < 24; skipped += 3) {
    ASSERT_TRUE(arm_failpoints("page_cache.bit_flip=fail@" + std::to_string(skipped) + "*1").ok());
    auto engine = open_or_null(options);
    disarm_failpoints();
    ASSERT_NE(engine, nullptr) << skipped;
    EXPECT_EQ(digest_of(engine.get()), before) << skipped;
  }
}

// Frozen chunks are referred to without a look: what is damaged there is found when the archive is read back, and all
// is written again.
TEST(CompactionTest, DamageInWhatArchivesReferTo) {
  SimulatedDisk disk;
  storage::Digest before;
  {
    Bank bank(frozen(log_options(&disk)));
    EXPECT_TRUE(all_is_frozen(&bank.engine()));
    const auto whole = bank.engine().write_archive("", nullptr);
    ASSERT_TRUE(whole.ok()) << whole.status();
    ASSERT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
    EXPECT_TRUE(all_is_frozen(&bank.engine()));
    const auto kept = bank.engine().write_archive("", nullptr);
    ASSERT_TRUE(kept.ok()) << kept.status();
    EXPECT_LT(kept->stored_bytes * 2, whole->stored_bytes);
    const auto archives = *storage::list_archives(&disk, "/data/archives");
    const auto manifest = *storage::read_manifest(&disk, archives.back().path);
    for (const storage::ArchiveTable& table : manifest.tables) {
      if (table.files.empty()) continue;
      const std::string name = storage::archive_file_name(table.id, table.files[0].lsn);
      disk.flip(archives.back().path + "/" + name, 70, 0x10);
      break;
    }
    ASSERT_TRUE(bank.run("CALL deposit(2, 1, 1)").ok());
    const auto again = bank.engine().write_archive("", nullptr);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_GT(again->stored_bytes * 2, whole->stored_bytes);
    EXPECT_GT(bank.engine().log_info().damaged_archives, 0u);
    EXPECT_TRUE(replay::verify_archive(&disk, again->path).ok());
    before = digest_of(&bank.engine());
  }
  auto engine = open_or_null(frozen(log_options(&disk)));
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(digest_of(engine.get()), before);
}

// Power is lost, or the process killed, while chunks freeze: what was acknowledged is there, and nothing by half.
TEST(CompactionTest, PowerLossWhileChunksFreeze) {
  const uint64_t seed = test_seed();
  SimulatedDisk disk;
  Bank bank(frozen(log_options(&disk)));
  int64_t sum = 16 * 32 * 1000;
  for (uint64_t crash = 0; crash < 6; ++crash) {
    const uint64_t before = frozen_chunks(&bank.engine());
    do {
      const auto b = static_cast<int64_t>((seed + static_cast<uint64_t>(sum)) % Bank::kBranches);
      ASSERT_TRUE(bank.run("CALL deposit($1, 1, 1)", {b}).ok());
      ASSERT_TRUE(bank.run("CALL move($1, 1, $2, 2, 5)", {b, (b + 3) % Bank::kBranches}).ok());
      ++sum;
    } while (frozen_chunks(&bank.engine()) == before);
    auto image = crash % 3 == 0 ? disk.after_kill() : disk.after_power_loss(seed + crash);
    auto engine = open_or_null(frozen(log_options(image.get())));
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(number(engine.get(), "SELECT sum(balance)::bigint FROM accounts"), sum);
    digest_of(engine.get());  // checks the tables
    if (crash % 2 == 1) ASSERT_TRUE(bank.engine().write_archive("", nullptr).ok());
  }
}

// Tables come and go while their chunks are compacted.
TEST(CompactionTest, DefinitionsMeanwhile) {
  Bank bank(frozen(Bank::small_options()));
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(bank.run("CREATE TABLE side (a integer PRIMARY KEY, t text)").ok());
    ASSERT_TRUE(bank.run("INSERT INTO side SELECT g, 'text ' || g % 7 FROM generate_series(1, 500) g").ok());
    if (i % 2 == 0) EXPECT_TRUE(all_is_frozen(&bank.engine()));
    ASSERT_TRUE(bank.run("ALTER TABLE side ADD COLUMN b bigint DEFAULT 5").ok());
    ASSERT_TRUE(bank.run("CREATE INDEX side_t ON side (t)").ok());
    ASSERT_TRUE(bank.run("UPDATE side SET b = b + 1 WHERE a % 3 = 0").ok());
    EXPECT_EQ(bank.value_of("SELECT sum(b)::bigint FROM side"), 500 * 5 + 166);
    EXPECT_EQ(bank.value_of("SELECT count(*) FROM side WHERE t = 'text 3'"), 72);
    bank.check_tables();
    ASSERT_TRUE(bank.run("DROP TABLE side").ok());
  }
}

// More than frozen memory holds: what finds no room stays hot, and transactions do not see it.
TEST(CompactionTest, FrozenMemoryRunsOut) {
  EngineOptions options = frozen(Bank::small_options());
  options.compaction.frozen_bytes_max = 1 << 20;
  Bank bank(options);
  ASSERT_TRUE(bank.run("CREATE TABLE large (a integer PRIMARY KEY, b bigint, c bigint, d bigint, e bigint) "
                       "PARTITION BY HASH (a)")
                  .ok());
  ASSERT_TRUE(bank.run("INSERT INTO large SELECT g, g::bigint * g * g * 7919, g::bigint * g * g * 7901, "
                       "g::bigint * g * g * 7907, g::bigint * g * g * 7883 FROM generate_series(1, 60000) g")
                  .ok());
  EXPECT_TRUE(comes_true([&] { return bank.engine().compaction()->counts().without_memory > 0; }));
  EXPECT_EQ(bank.value_of("SELECT count(DISTINCT b + c % 1000) FROM large"), 60000);
  bank.check_tables();
}

// What fits because it is frozen fits at a restart, too, whether the log or an archive has it.
TEST(CompactionTest, WhatFitsFrozenFitsAtARestart) {
  constexpr int64_t kBatches = 24, kRows = 20'000;
  SimulatedDisk disk;
  EngineOptions options = frozen(log_options(&disk));
  options.memory_bytes = size_t{24} << 20;
  auto engine = open_or_null(options);
  ASSERT_NE(engine, nullptr);
  const auto run = [&](std::string_view sql) { return engine->execute(sql, {}, nullptr); };
  ASSERT_TRUE(
      run("CREATE TABLE t (a bigint, b bigint, c bigint, d bigint, e bigint, f bigint, g bigint, h bigint)").ok());
  for (int64_t i = 0; i < kBatches; ++i) {
    const Status status =
        run(absl::StrCat("INSERT INTO t SELECT i, i, i, i, i, i, i, i FROM generate_series(1, ", kRows, ") i"));
    ASSERT_TRUE(status.ok()) << status << " in batch " << i;
    const uint64_t chunks = static_cast<uint64_t>((i + 1) * kRows) >> 14;
    ASSERT_TRUE(comes_true([&] { return frozen_chunks(engine.get()) >= chunks; }));
  }
  for (const bool has_archive : {false, true}) {
    if (has_archive) ASSERT_TRUE(engine->write_archive("", nullptr).ok());
    engine.reset();
    Status status;
    engine = open_or_null(options, &status);
    ASSERT_NE(engine, nullptr) << status;
    EXPECT_EQ(number(engine.get(), "SELECT count(*) FROM t"), kBatches * kRows);
    EXPECT_EQ(number(engine.get(), "SELECT sum(h)::bigint FROM t"), kBatches * (kRows * (kRows + 1) / 2));
    digest_of(engine.get());
  }
}

// By an access observer of the system, where there is one, and by what the engine itself counts: full chunks that
// nobody touches, and not the newest.
class FreezingTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Observers, FreezingTest, testing::Values("auto", "counters"),
                         [](const auto& observer) { return std::string(observer.param); });

TEST_P(FreezingTest, ColdChunksFreezeByThemselves) {
  EngineOptions options = hot(Bank::small_options());
  options.compaction.mode = replay::CompactionMode::kOn;
  options.compaction.observer = GetParam();
  options.compaction.window_us = 20'000;
  options.partitions = 2;
  auto engine = PartitionEngine::create(options);
  ASSERT_TRUE(engine.ok()) << engine.status();
  const auto run = [&](std::string_view sql) {
    const Status status = (*engine)->execute(sql, {}, nullptr);
    ASSERT_TRUE(status.ok()) << status;
  };
  run("CREATE TABLE t (a integer PRIMARY KEY, b bigint, c text) PARTITION BY HASH (a)");
  run("INSERT INTO t SELECT g, g % 10, 'value ' || g % 100 FROM generate_series(1, 100000) g");
  const auto temperature = [&] { return (*engine)->tables()[0].temperature; };
  EXPECT_TRUE(comes_true([&] { return temperature().frozen.chunks >= 4; }));
  const storage::TableTemperature now = temperature();
  EXPECT_GT(now.hot.chunks, 0u);
  EXPECT_EQ(now.hot.tuples + now.cold.tuples + now.frozen.tuples, 100'000u);
  EXPECT_LT((now.frozen_bytes + now.dictionary_bytes) * 2, now.thawed_bytes);
  run("UPDATE t SET b = b + 1 WHERE a <= 1000");
  EXPECT_EQ(number((*engine).get(), "SELECT sum(b)::bigint FROM t"), 450'000 + 1000);
  digest_of((*engine).get());
}

TEST(CompactionTest, AnObserverThatDoesNotExistIsAnError) {
  EngineOptions options = hot(Bank::small_options());
  options.compaction.mode = replay::CompactionMode::kOn;
  options.compaction.observer = "telescope";
  EXPECT_EQ(sqlstate_of(PartitionEngine::create(options).status()), "0A000");
}

}  // namespace
}  // namespace scyper::primary
