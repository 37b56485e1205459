#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/failpoint.h"
#include "base/simulated_disk.h"
#include "durability.h"
#include "testing/restarts.h"

namespace scyper::primary {
namespace {

TEST(ArchiveTest, RecoveryStartsFromTheNewestOne) {
  SimulatedDisk disk;
  EngineOptions options = log_options(&disk, RedoMode::kPhysical);
  storage::Digest before;
  uint64_t lsn;
  {
    Bank bank(options);
    EXPECT_TRUE(bank.run("CREATE TABLE wide (a integer, b text, c numeric, d numeric(20,4), e boolean, f double "
                         "precision, g integer[], h varchar(5), i smallint, j date)")
                    .ok());
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(bank.run("INSERT INTO wide VALUES ($1, repeat('x', 7), 1.25, 3.5, true, 0.5, ARRAY[1,2,NULL], 'abc', "
                           "3, '2024-02-29')",
                           {i})
                      .ok());
    }
    EXPECT_TRUE(bank.run("INSERT INTO wide (a) VALUES (77)").ok());
    EXPECT_TRUE(bank.run("DELETE FROM wide WHERE a < 7").ok());
    work(&bank, 2, 40);
    auto first = bank.engine().write_archive("", nullptr);
    ASSERT_TRUE(first.ok()) << first.status();
    work(&bank, 2, 40);
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
      ASSERT_TRUE(bank.engine().write_archive("", nullptr).ok());
    }
    EXPECT_TRUE(bank.run("UPDATE wide SET b = 'after', g = ARRAY[5] WHERE a = 9").ok());
    EXPECT_TRUE(bank.run("CREATE PROCEDURE late() LANGUAGE plpgsql AS $$ BEGIN END $$").ok());
    before = digest_of(&bank.engine());
    lsn = bank.engine().last_lsn();
    EXPECT_EQ(disk.list("/data/archives")->size(), 2u);  // the first one has been retired
  }
  Status status;
  auto engine = open_or_null(options, &status);
  ASSERT_NE(engine, nullptr) << status;
  EXPECT_EQ(digest_of(engine.get()), before);
  EXPECT_EQ(engine->last_lsn(), lsn);
  EXPECT_EQ(engine->durability().recovered().transactions, 2u);
  EXPECT_EQ(number(engine.get(), "SELECT count(*) FROM wide"), 44);
  EXPECT_TRUE(engine->execute("CALL late()", {}, nullptr).ok());
  EXPECT_TRUE(engine->execute("INSERT INTO wide (a) VALUES (78)", {}, nullptr).ok());  // row ids go on
  engine.reset();
  // the newest is damaged: the one before, and more of the log
  auto archives = *storage::list_archives(&disk, "/data/archives");
  disk.flip(archives[1].path + "/" + storage::archive_file_name(1, archives[1].lsn), 100, 0x10);
  engine = open_or_null(options, &status);
  ASSERT_NE(engine, nullptr) << status;
  EXPECT_EQ(engine->durability().recovered().archive_lsn, archives[0].lsn);
  EXPECT_EQ(number(engine.get(), "SELECT count(*) FROM wide"), 45);
}

// What a start reads of the log has to be on the disk first: also where it is read beside an archive, and for one that
// cannot be used.
TEST(ArchiveTest, ALogThatCannotBeFlushedEndsTheStartAlsoWithADamagedArchive) {
  for (const uint32_t threads : {1u, 2u}) {
    for (const bool is_damaged : {false, true}) {
      SimulatedDisk disk;
      EngineOptions options = log_options(&disk);
      options.log.recovery_threads = threads;
      {
        Bank bank(options);
        for (int archive = 0; archive < 2; ++archive) {
          ASSERT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
          ASSERT_TRUE(bank.engine().write_archive("", nullptr).ok());
        }
        ASSERT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
      }
      const auto archives = *storage::list_archives(&disk, "/data/archives");
      if (is_damaged) disk.flip(archives[1].path + "/" + storage::archive_file_name(1, archives[1].lsn), 100, 0x10);
      disk.fail(SimulatedDisk::Operation::kSync, 0);
      Status status;
      EXPECT_EQ(open_or_null(options, &status), nullptr) << threads << is_damaged;
      EXPECT_FALSE(status.ok());
      disk.heal();
      const auto engine = open_or_null(options, &status);
      ASSERT_NE(engine, nullptr) << status;
      EXPECT_EQ(number(engine.get(), "SELECT balance FROM accounts WHERE branch = 1 AND id = 1"), 1003);
    }
  }
}

// Two are kept so that damage to one is no loss: one that is damaged already does not count.
TEST(ArchiveTest, ADamagedOneIsNoneOfThoseThatAreKept) {
  SimulatedDisk disk;
  EngineOptions options = log_options(&disk);
  options.log.segment_bytes = 64 << 10;
  {
    Bank bank(options);
    for (int archive = 0; archive < 2; ++archive) {
      for (int i = 0; i < 200; ++i) ASSERT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
      ASSERT_TRUE(bank.engine().write_archive("", nullptr).ok());
    }
  }
  auto damage = [&](const storage::ArchiveEntry& archive) {
    disk.flip(archive.path + "/MANIFEST", disk.read_file(archive.path + "/MANIFEST")->size() / 2, 0x10);
  };
  const auto before = *storage::list_archives(&disk, "/data/archives");
  ASSERT_EQ(before.size(), 2u);
  damage(before[1]);
  Status status;
  auto engine = open_or_null(options, &status);
  ASSERT_NE(engine, nullptr) << status;
  EXPECT_EQ(engine->durability().recovered().archive_lsn, before[0].lsn);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(engine->execute("CALL deposit(1, 1, 1)", {}, nullptr).ok());
  ASSERT_TRUE(engine->write_archive("", nullptr).ok());
  ASSERT_TRUE(engine->execute("CALL deposit(1, 1, 1)", {}, nullptr).ok());
  const int64_t balance = number(engine.get(), "SELECT balance FROM accounts WHERE branch = 1 AND id = 1");
  engine.reset();
  const auto after = *storage::list_archives(&disk, "/data/archives");
  ASSERT_EQ(after.size(), 2u);
  EXPECT_EQ(after[0].lsn, before[0].lsn);  // the damaged one has gone
  damage(after[1]);
  engine = open_or_null(options, &status);
  ASSERT_NE(engine, nullptr) << status;
  EXPECT_EQ(number(engine.get(), "SELECT balance FROM accounts WHERE branch = 1 AND id = 1"), balance);
}

// Nor does one that is damaged while the node runs: what is behind it is still there.
TEST(ArchiveTest, OneDamagedWhileTheNodeRunsIsNoneOfThoseThatAreKept) {
  SimulatedDisk disk;
  EngineOptions options = log_options(&disk);
  options.log.segment_bytes = 64 << 10;
  int64_t balance = 0;
  std::vector<uint64_t> lsns;
  {
    Bank bank(options);
    const auto archive = [&] {
      for (int i = 0; i < 200; ++i) ASSERT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
      auto written = bank.engine().write_archive("", nullptr);
      ASSERT_TRUE(written.ok()) << written.status();
      lsns.push_back(written->lsn);
    };
    for (int i = 0; i < 2; ++i) archive();
    const auto before = *storage::list_archives(&disk, "/data/archives");
    ASSERT_EQ(before.size(), 2u);
    disk.flip(before[1].path + "/" + storage::archive_file_name(1, before[1].lsn), 100, 0x10);
    archive();
    EXPECT_EQ(bank.engine().log_info().damaged_archives, 1u);
    balance = bank.value_of("SELECT balance FROM accounts WHERE branch = 1 AND id = 1");
  }
  const std::string newest = storage::archive_path("/data/archives", lsns[2]);
  disk.flip(newest + "/MANIFEST", disk.read_file(newest + "/MANIFEST")->size() / 2, 0x10);
  Status status;
  auto engine = open_or_null(options, &status);
  ASSERT_NE(engine, nullptr) << status;
  EXPECT_EQ(engine->durability().recovered().archive_lsn, lsns[0]);
  EXPECT_EQ(number(engine.get(), "SELECT balance FROM accounts WHERE branch = 1 AND id = 1"), balance);
}

// Older ones that cannot be read just now are neither damaged nor whole, and the new one stands without them.
TEST(ArchiveTest, OneThatCannotBeReadNowDoesNotCountAndStays) {
  SimulatedDisk disk;
  EngineOptions options = log_options(&disk);
  options.log.archives_kept = 2;
  Bank bank(options);
  std::vector<std::string> paths;
  const auto archive = [&] {
    ASSERT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
    auto written = bank.engine().write_archive("", nullptr);
    ASSERT_TRUE(written.ok()) << written.status();
    paths.push_back(written->path);
  };
  for (int i = 0; i < 2; ++i) archive();
  disk.refuse(paths[1] + "/");
  archive();
  EXPECT_TRUE(disk.exists(paths[0] + "/MANIFEST"));  // the second whole one
  EXPECT_TRUE(disk.exists(paths[1] + "/MANIFEST"));
  disk.heal();
  EXPECT_EQ(bank.engine().log_info().damaged_archives, 0u);
  archive();  // all can be read again: two stay
  EXPECT_FALSE(disk.exists(paths[0] + "/MANIFEST"));
  EXPECT_FALSE(disk.exists(paths[1] + "/MANIFEST"));
  EXPECT_TRUE(disk.exists(paths[2] + "/MANIFEST"));
}

// An archive counts when it has been read back: memory still has what a bad disk has lost.
TEST(ArchiveTest, OneDamagedWhenItIsWrittenIsWrittenAgain) {
  SimulatedDisk disk;
  EngineOptions options = log_options(&disk);
  options.log.archives_kept = 1;
  Bank bank(options);
  ASSERT_TRUE(bank.engine().write_archive("", nullptr).ok());
  ASSERT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
  ASSERT_TRUE(arm_failpoints("archive.garbles_block=fail*1").ok());
  auto written = bank.engine().write_archive("", nullptr);
  disarm_failpoints();
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_TRUE(replay::verify_archive(&disk, written->path).ok());
  EXPECT_EQ(bank.engine().log_info().damaged_archives, 1u);
  EXPECT_EQ(disk.list("/data/archives")->size(), 1u);
  // always: the older one stays, with its log
  ASSERT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
  ASSERT_TRUE(arm_failpoints("archive.garbles_block=fail").ok());
  EXPECT_EQ(sqlstate_of(bank.engine().write_archive("", nullptr).status()), "58030");
  disarm_failpoints();
  EXPECT_EQ(bank.engine().log_info().damaged_archives, 3u);
  ASSERT_EQ(disk.list("/data/archives")->size(), 1u);
  EXPECT_TRUE(replay::verify_archive(&disk, written->path).ok());
}

// What an attempt has written goes with its failure: on a full disk it would keep the log full.
TEST(ArchiveTest, AnAttemptThatFailsLeavesNothing) {
  char directory[] = "/tmp/scyper_archive_test_XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  SimulatedDisk simulated;
  for (const bool is_child : {true, false}) {
    EngineOptions options = log_options(is_child ? nullptr : &simulated);
    if (is_child) options.log.directory = std::string(directory) + "/data";
    const auto disk = make_real_disk();
    Disk* of = is_child ? disk.get() : &simulated;
    Bank bank(options);
    const std::string own = options.log.directory + "/archives", other = options.log.directory + "/elsewhere";
    for (const char* failure : {"archive.before_block=fail@2", "archive.after_manifest_write=exit"}) {
      if (!is_child && std::string(failure).find("exit") != std::string::npos) continue;
      ASSERT_TRUE(arm_failpoints(failure).ok());
      EXPECT_FALSE(bank.engine().write_archive("", nullptr).ok());
      EXPECT_FALSE(bank.engine().write_archive(other, nullptr).ok());
      disarm_failpoints();
      EXPECT_TRUE(of->list(own)->empty()) << failure;
      EXPECT_TRUE(of->list(other)->empty()) << failure;
      EXPECT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
    }
    EXPECT_TRUE(bank.engine().write_archive("", nullptr).ok());
  }
  std::filesystem::remove_all(directory);
}

// A node that stops does not wait for its archives, and leaves nothing of them.
TEST(ArchiveTest, StopEndsThoseUnderWay) {
  char directory[] = "/tmp/scyper_archive_test_XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  EngineOptions options = log_options(nullptr);
  options.log.directory = std::string(directory) + "/data";
  options.log.archive_rate = 1;  // would take years
  const auto disk = make_real_disk();
  std::string own = options.log.directory + "/archives";
  const auto wait_until_begun = [&] {
    while (!disk->exists(own) || disk->list(own)->empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  {
    Bank bank(options);
    std::vector<Status> statuses(2);
    std::vector<std::thread> backups;  // one is written, one waits for its turn
    for (Status& status : statuses) {
      backups.emplace_back([&] { status = bank.engine().write_archive("", nullptr).status(); });
    }
    wait_until_begun();
    bank.engine().stop_archives();
    for (std::thread& backup : backups) backup.join();
    for (const Status& status : statuses) EXPECT_EQ(sqlstate_of(status), "57P03") << status;
    EXPECT_TRUE(disk->list(own)->empty());
    EXPECT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
  }
  options.log.directory = std::string(directory) + "/other";
  own = options.log.directory + "/archives";
  options.log.archive_log_bytes = 1;  // by itself
  {
    Bank bank(options);
    EXPECT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
    wait_until_begun();
  }
  EXPECT_TRUE(disk->list(own)->empty());
  std::filesystem::remove_all(directory);
}

TEST(ArchiveTest, LogIsDroppedOnlyWhenCovered) {
  SimulatedDisk disk;
  EngineOptions options = log_options(&disk);
  options.log.segment_bytes = 64 << 10;
  options.log.archives_kept = 1;
  Bank bank(options);
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
  const size_t segments = disk.list("/data/log")->size();
  ASSERT_GT(segments, 5u);
  ASSERT_TRUE(bank.engine().write_archive("", nullptr).ok());
  ASSERT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
  for (int i = 0; i < 6'000 && disk.list("/data/log")->size() > 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_LE(disk.list("/data/log")->size(), 3u);
  auto image = disk.after_power_loss(3);
  auto engine = open_or_null(log_options(image.get()));
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(number(engine.get(), "SELECT balance FROM accounts WHERE branch = 1 AND id = 1"), 1401);
}

TEST(ArchiveTest, WrittenAfterSoMuchLog) {
  SimulatedDisk disk;
  EngineOptions options = log_options(&disk);
  options.log.archive_log_bytes = 20 << 10;
  Bank bank(options);
  for (int i = 0; i < 12'000 && disk.list("/data/archives")->empty(); ++i) {
    if (i < 400) ASSERT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_FALSE(disk.list("/data/archives")->empty());
}

TEST(ArchiveTest, WrittenByAForkedChildBesideTransactions) {
  char directory[] = "/tmp/scyper_archive_test_XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  EngineOptions options = log_options(nullptr);
  options.log.directory = std::string(directory) + "/data";
  int64_t total = 0;
  {
    Bank bank(options);
    std::atomic<bool> stop{false};
    std::thread writer([&] {
      while (!stop) EXPECT_TRUE(bank.run("CALL move(1, 1, 2, 2, 5)").ok());
    });
    for (int i = 0; i < 3; ++i) {
      auto archive = bank.engine().write_archive("", nullptr);
      ASSERT_TRUE(archive.ok()) << archive.status();
      EXPECT_GT(archive->rows, 500u);
    }
    stop = true;
    writer.join();
    total = bank.value_of("SELECT sum(balance)::bigint FROM accounts");
  }
  Status status;
  auto engine = open_or_null(options, &status);
  ASSERT_NE(engine, nullptr) << status;
  EXPECT_EQ(number(engine.get(), "SELECT sum(balance)::bigint FROM accounts"), total);
  EXPECT_GT(engine->durability().recovered().archive_lsn, 0u);
  Status second;
  EXPECT_EQ(open_or_null(options, &second), nullptr);
  EXPECT_EQ(sqlstate_of(second), "55006");
  engine.reset();
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace scyper::primary
