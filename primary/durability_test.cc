#include "durability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "base/simulated_disk.h"
#include "testing/restarts.h"

namespace scyper::primary {
namespace {

class RestartTest : public testing::TestWithParam<RedoMode> {};

TEST_P(RestartTest, SameStateAfterRestart) {
  SimulatedDisk disk;
  storage::Digest before;
  uint64_t lsn;
  {
    Bank bank(log_options(&disk, GetParam()));
    work(&bank, 3, 60);
    EXPECT_TRUE(bank.run("CREATE INDEX by_balance ON accounts (branch, balance)").ok());
    EXPECT_TRUE(bank.run("CREATE TABLE loose (a integer, t text)").ok());
    for (int i = 0; i < 20; ++i)
      EXPECT_TRUE(bank.run("INSERT INTO loose VALUES ($1, 'some text that is long')", {i}).ok());
    EXPECT_TRUE(bank.run("DELETE FROM loose WHERE a < 5").ok());
    EXPECT_TRUE(bank.run("UPDATE loose SET t = 'short' WHERE a = 7").ok());
    work(&bank, 2, 20);
    before = digest_of(&bank.engine());
    lsn = bank.engine().last_lsn();
  }
  for (uint32_t threads : {1u, 3u, 1u}) {  // and once more: what recovery leaves can be recovered
    EngineOptions options = log_options(&disk, GetParam());
    options.log.recovery_threads = threads;
    Status status;
    auto engine = open_or_null(options, &status);
    ASSERT_NE(engine, nullptr) << status;
    EXPECT_EQ(digest_of(engine.get()), before);
    EXPECT_EQ(engine->last_lsn(), lsn);
    EXPECT_EQ(number(engine.get(), "SELECT count(*) FROM loose"), 15);
    query::ResultSet result;
    EXPECT_TRUE(engine->execute("CALL deposit(1, 1, 1)", {}, &result).ok());
    EXPECT_TRUE(engine->execute("CALL deposit(1, 1, -1)", {}, &result).ok());
    lsn += 2;
    EXPECT_EQ(engine->last_lsn(), lsn);
  }
}

INSTANTIATE_TEST_SUITE_P(Redo, RestartTest, testing::Values(RedoMode::kLogical, RedoMode::kPhysical));

TEST(DurabilityTest, AcknowledgedSurvivesPowerLoss) {
  SimulatedDisk disk;
  Bank bank(log_options(&disk));
  for (int i = 1; i <= 40; ++i) {
    ASSERT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
    if (i % 8 != 0) continue;
    auto image = disk.after_power_loss(static_cast<uint64_t>(i));
    Status status;
    auto engine = open_or_null(log_options(image.get()), &status);
    ASSERT_NE(engine, nullptr) << status;
    EXPECT_EQ(number(engine.get(), "SELECT balance FROM accounts WHERE branch = 1 AND id = 1"), 1000 + i);
  }
}

// Rows that no record of the log has: the database at the end is not what replay gives.
TEST(DurabilityDeathTest, ShadowFindsRowsThatRedoLacks) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto leave_out = [] {
    SimulatedDisk disk;
    EngineOptions options = log_options(&disk);
    options.log.shadows_redo = true;
    Bank bank(options);
    EXPECT_TRUE(bank.run("CREATE TABLE loose (a integer)").ok());
    const auto load = [&] { return bank.engine().database().load("loose", std::vector<Datum>{int_datum(1)}, nullptr); };
    EXPECT_TRUE(bank.engine().run_exclusively(load).ok());
    EXPECT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
    bank.stop();
  };
  EXPECT_DEATH(leave_out(), "shadow of redo: replay gives other rows: loose, partition");
}

// Its end compares: nothing that a restart or an archive leaves looks like a difference.
TEST(DurabilityTest, ShadowFollowsRestartsAndArchives) {
  SimulatedDisk disk;
  EngineOptions options = log_options(&disk);
  options.log.shadows_redo = true;
  {
    Bank bank(options);
    work(&bank, 3, 20);
    ASSERT_TRUE(bank.engine().write_archive("", nullptr).ok());
    work(&bank, 2, 10);
  }
  for (const RedoMode redo : {RedoMode::kPhysical, RedoMode::kLogical}) {
    options.redo = redo;
    Status status;
    auto engine = open_or_null(options, &status);
    ASSERT_NE(engine, nullptr) << status;
    query::ResultSet result;
    EXPECT_TRUE(engine->execute("CALL deposit(1, 1, 1)", {}, &result).ok());
    EXPECT_TRUE(engine->execute("ALTER TABLE accounts ADD COLUMN note text DEFAULT 'none'", {}, &result).ok() ||
                redo == RedoMode::kLogical);  // it is there already
    EXPECT_TRUE(engine->execute("CALL deposit(2, 1, 1)", {}, &result).ok());
  }
}

TEST(DurabilityTest, CopiesSurvivePowerLoss) {
  SimulatedDisk disk;
  Bank bank(log_options(&disk));
  ASSERT_TRUE(bank.run("CREATE TABLE numbered (id serial PRIMARY KEY, t text)").ok());
  auto copy = bank.engine().open_copy("COPY numbered (t) FROM STDIN");
  ASSERT_TRUE(copy.ok() &&
              (*copy)->add("a\na text that lies in the heap, being longer than sixty-three characters\n").ok());
  query::ResultSet result;
  ASSERT_TRUE((*copy)->finish({}, &result).ok());
  Status status;
  auto image = disk.after_power_loss(1);
  auto engine = open_or_null(log_options(image.get()), &status);
  ASSERT_NE(engine, nullptr) << status;
  EXPECT_EQ(digest_of(engine.get()), bank.digest());
  EXPECT_EQ(number(engine.get(), "SELECT count(*) FROM numbered"), 2);
  EXPECT_EQ(number(engine.get(), "SELECT nextval('numbered_id_seq')"), 3);
}

// They were admitted while it had its lease; then the process stood still.
TEST(DurabilityTest, AnswersWithoutCopiesNeedTheLeaseStill) {
  for (const CommitMode mode : {CommitMode::kAsync, CommitMode::kLocal}) {
    SCOPED_TRACE(static_cast<int>(mode));
    SimulatedDisk disk;
    std::atomic<bool> leads{true};
    EngineOptions options = log_options(&disk, RedoMode::kLogical, mode);
    options.replication.is_on = true;
    options.replication.transport = TransportChoice::kUnicast;
    options.replication.voters = 1;
    options.replication.term = 1;
    options.replication.node = "a";
    options.replication.leads = [&] { return leads.load(); };
    Bank bank(options);
    const char* commits =
        "CREATE PROCEDURE stops() LANGUAGE plpgsql AS $$ BEGIN "
        "UPDATE accounts SET balance = 7 WHERE branch = 2 AND id = 2; COMMIT; RAISE 'enough'; END $$";
    ASSERT_TRUE(bank.run(commits).ok());
    const auto read = bank.prepare("SELECT balance FROM accounts WHERE branch = $1 AND id = $2");
    Call reads(read, {1, 1}), writes(bank.prepare("CALL deposit($1, $2, $3)"), {1, 1, 7}), reads_again(read, {1, 1});
    Call stops(bank.prepare("CALL stops()"), {}), reads_all(bank.prepare("SELECT count(*) FROM accounts"), {});
    const std::vector<Call*> calls = {&reads, &writes, &reads_again, &stops, &reads_all};
    std::vector<std::string> states;
    const Status held = bank.engine().run_exclusively([&] {
      for (Call* call : calls) call->start(&bank.engine());
      leads = false;
      return Status();
    });
    for (Call* call : calls) {
      call->wait();
      states.push_back(sqlstate_of(call->status));
      EXPECT_EQ(call->result.row_count(), 0u);
    }
    EXPECT_TRUE(held.ok()) << held;
    EXPECT_THAT(states, testing::ElementsAre("57P03", "08007", "57P03", "08007", "57P03"));
    EXPECT_EQ(sqlstate_of(bank.run("CREATE TABLE late (a integer)")), "08007");
    EXPECT_EQ(sqlstate_of(bank.engine().load("late", std::vector<Datum>{int_datum(1)})), "08007");
    leads = true;
    EXPECT_EQ(number(&bank.engine(), "SELECT balance FROM accounts WHERE branch = 1 AND id = 1"), 1007);
    EXPECT_EQ(number(&bank.engine(), "SELECT balance FROM accounts WHERE branch = 2 AND id = 2"), 7);
    EXPECT_EQ(number(&bank.engine(), "SELECT count(*) FROM late"), 1);
  }
}

TEST(DurabilityTest, ReadersSeeOnlyWhatIsDurable) {
  SimulatedDisk disk;
  // the sync of the deposit hangs until the reader has been asked for
  std::atomic<bool> hold{false};
  disk.set_observer([&] {
    while (hold.load()) std::this_thread::yield();
  });
  Bank bank(log_options(&disk));
  ASSERT_TRUE(bank.run("CALL deposit(1, 1, 0)").ok());
  Call deposit(bank.prepare("CALL deposit($1, $2, $3)"), {1, 1, 7});
  Call read(bank.prepare("SELECT balance FROM accounts WHERE branch = $1 AND id = $2"), {1, 1});
  Call elsewhere(bank.prepare("SELECT balance FROM accounts WHERE branch = $1 AND id = $2"),
                 {bank.branch_elsewhere(1), 1});
  hold = true;
  deposit.start(&bank.engine());
  read.start(&bank.engine());
  elsewhere.start(&bank.engine());
  const uint64_t durable = bank.engine().durability().log()->durable_lsn();
  for (int i = 0; i < 60'000 && bank.engine().last_lsn() == durable; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // for what must not come
  EXPECT_EQ(bank.engine().counters().committed.load() > 0, true);
  EXPECT_EQ(bank.engine().durability().log()->durable_lsn() + 1, bank.engine().last_lsn());
  hold = false;
  deposit.wait();
  read.wait();
  elsewhere.wait();
  EXPECT_EQ(read.result.value(0, 0).lo, 1007);
  EXPECT_EQ(bank.engine().durability().log()->durable_lsn(), bank.engine().last_lsn());
}

TEST(DurabilityTest, FailedWriteOrSyncStopsTheNode) {
  for (auto operation : {SimulatedDisk::Operation::kWrite, SimulatedDisk::Operation::kSync}) {
    SimulatedDisk disk;
    std::atomic<int> failures{0};
    EngineOptions options = log_options(&disk);
    options.log.on_failure = [&](const Status&) { ++failures; };
    Bank bank(options);
    ASSERT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
    disk.fail(operation, 0);
    EXPECT_EQ(sqlstate_of(bank.run("CALL deposit(1, 1, 1)")), "08007");
    EXPECT_EQ(failures, 1);
    EXPECT_EQ(sqlstate_of(bank.run("CALL deposit(1, 1, 1)")), "58030");
    // nothing that was acknowledged is lost; what was not may be there or not
    for (uint64_t seed = 0; seed < 20; ++seed) {
      auto image = disk.after_power_loss(seed);
      Status status;
      auto engine = open_or_null(log_options(image.get()), &status);
      ASSERT_NE(engine, nullptr) << status;
      const int64_t balance = number(engine.get(), "SELECT balance FROM accounts WHERE branch = 1 AND id = 1");
      EXPECT_TRUE(balance == 1001 || balance == 1002) << balance;
    }
  }
}

// Mostly the next segment cannot be made and writes are refused. When the current one fills before that is noticed, the
// last of them has committed and waits for space.
TEST(DurabilityTest, FullDiskIsReadOnlyUntilThereIsSpace) {
  SimulatedDisk disk;
  Bank bank(log_options(&disk));
  ASSERT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
  disk.set_capacity(1);
  std::atomic<bool> has_space{false};
  int64_t deposits = 1;
  Status status;
  std::thread client([&] {
    while (status.ok() && !has_space.load()) {
      status = bank.run("CALL churn(1)");
      if (status.ok()) status = bank.run("CALL deposit(1, 1, 1)");
      if (status.ok()) ++deposits;
    }
  });
  const GroupCommit* log = bank.engine().durability().log();
  for (int i = 0; i < 60'000 && !log->is_full(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(log->is_full());
  EXPECT_EQ(sqlstate_of(bank.run("CREATE TABLE t (a integer)")), "53100");
  has_space.store(true);
  disk.set_capacity(~uint64_t{0});
  client.join();
  EXPECT_TRUE(status.ok() || sqlstate_of(status) == "53100") << status;
  EXPECT_EQ(bank.value_of("SELECT balance FROM accounts WHERE branch = 1 AND id = 1"), 1000 + deposits);
  Status later = bank.run("CALL deposit(1, 1, 1)");
  for (int i = 0; i < 3'000 && !later.ok(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    later = bank.run("CALL deposit(1, 1, 1)");
  }
  EXPECT_TRUE(later.ok()) << later;
}

// More redo than the log's memory holds: who was admitted before is refused when it is to commit, and no worker waits
// for space.
TEST(DurabilityTest, AFullDiskHoldsNoWorker) {
  constexpr int kCalls = 120;  // of a megabyte each
  for (const bool is_slow_before : {false, true}) {
    SimulatedDisk disk;
    std::atomic<bool> hold{false};
    disk.set_observer([&] {
      while (hold.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    EngineOptions options = log_options(&disk, RedoMode::kPhysical, CommitMode::kAsync);
    options.log.compresses = false;
    Bank bank(options);
    ASSERT_TRUE(bank.run("CREATE TABLE texts (id integer PRIMARY KEY, t text) PARTITION BY HASH (id)").ok());
    ASSERT_TRUE(bank.run("INSERT INTO texts VALUES (1, '')").ok());
    ASSERT_TRUE(bank.engine().durability().log()->wait_confirmed(bank.engine().last_lsn()).ok());
    const auto fill = bank.prepare("UPDATE texts SET t = repeat('x', 1000000 + $1::integer) WHERE id = 1");
    hold = true;
    std::vector<std::unique_ptr<Call>> calls;
    std::vector<Transaction*> all;
    for (int i = 0; i < kCalls; ++i) {
      calls.push_back(std::make_unique<Call>(fill, std::initializer_list<int64_t>{i}));
      all.push_back(calls.back().get());
    }
    const EngineCounters& counters = bank.engine().counters();
    const uint64_t before = counters.committed.load() + counters.rolled_back.load();
    bank.engine().submit(all);
    if (is_slow_before) {  // a worker waits for the writer
      for (uint64_t seen = 0, bytes = 0; bytes < LogBuffer::kWaitingBytesMax || seen != bytes;) {
        seen = bytes;
        std::this_thread::sleep_for(std::chrono::milliseconds(200));  // less finds less
        bytes = bank.engine().counters().redo_bytes.load();
      }
    }
    disk.set_capacity(1);
    hold = false;
    const auto are_answered = [&] {
      const EngineCounters& now = bank.engine().counters();
      return now.committed.load() + now.rolled_back.load() - before >= kCalls;
    };
    for (int i = 0; i < 60'000 && !are_answered(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(are_answered());
    EXPECT_TRUE(bank.engine().log_info().is_full);
    if (!are_answered()) disk.set_capacity(~uint64_t{0});  // so that the test ends
    EXPECT_EQ(bank.value_of("SELECT balance FROM accounts WHERE branch = 1 AND id = 1"), 1000);
    int64_t refused = 0;
    for (auto& call : calls) {
      call->wait();
      refused += call->status.ok() ? 0 : 1;
      EXPECT_TRUE(call->status.ok() || sqlstate_of(call->status) == "53100") << call->status;
    }
    EXPECT_GT(refused, 0);
    const int64_t length = bank.value_of("SELECT length(t) FROM texts WHERE id = 1");
    // in the order sent: the first ones have committed, if any was before the disk was found full
    EXPECT_EQ(length, refused == kCalls ? 0 : 1000000 + kCalls - refused - 1);
    disk.set_capacity(~uint64_t{0});
    EXPECT_TRUE(bank.engine().durability().log()->wait_confirmed(bank.engine().last_lsn()).ok());
    auto image = disk.after_power_loss(1);
    auto engine = open_or_null(log_options(image.get(), RedoMode::kPhysical));
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(number(engine.get(), "SELECT length(t) FROM texts WHERE id = 1"), length);
  }
}

TEST(DurabilityTest, AsyncIsWrittenWithinItsDelay) {
  SimulatedDisk disk;
  Bank bank(log_options(&disk, RedoMode::kLogical, CommitMode::kAsync));
  ASSERT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
  ASSERT_TRUE(bank.engine().durability().log()->wait_confirmed(bank.engine().last_lsn()).ok());
  auto image = disk.after_power_loss(1);
  auto engine = open_or_null(log_options(image.get()));
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(number(engine.get(), "SELECT balance FROM accounts WHERE branch = 1 AND id = 1"), 1001);
}

// A commit whose copies are not there may be on this disk only: a later primary can lack it.
TEST(DurabilityTest, WhatARestartFindsNeedsItsCopies) {
  SimulatedDisk disk;
  EngineOptions options = log_options(&disk);
  options.replication.is_on = true;
  options.replication.transport = TransportChoice::kUnicast;
  {
    Bank bank(options);
    ASSERT_TRUE(send(&bank.engine(), 9, 1, "CALL deposit(1, 1, 1)").ok());
  }
  for (CommitMode mode : {CommitMode::kQuorum, CommitMode::kQuorumDurable}) {
    options.log.mode = mode;
    for (const bool has_copies : {false, true}) {
      Status status;
      auto engine = open_or_null(options, &status);
      ASSERT_NE(engine, nullptr) << status;
      Publication* publication = engine->durability().publication();
      const uint64_t lsn = engine->last_lsn();
      EXPECT_EQ(engine->log_info().durable_lsn, lsn);
      EXPECT_LT(engine->log_info().confirmed_lsn, lsn);
      EXPECT_LT(publication->outbox().watermark().commit_lsn, lsn);
      EXPECT_GT(engine->log_info().confirmed_lsn, 0u);  // what the log says of earlier groups
      Status read, again;
      std::thread reader([&] {
        query::ResultSet result;
        read = engine->execute("SELECT balance FROM accounts WHERE branch = 1 AND id = 1", {}, &result);
        again = send(engine.get(), 9, 1, "CALL deposit(1, 1, 1)");
      });
      if (has_copies) {
        replication::Members& members = publication->members();
        replication::Member member;
        member.name = "s1";
        member.is_voter = true;
        const uint64_t number = members.enter(member);
        replication::Position position;
        position.term = publication->term();
        position.received_lsn = lsn;
        members.report(number, position, 0);
        if (mode == CommitMode::kQuorumDurable) EXPECT_LT(engine->log_info().confirmed_lsn, lsn);
        position.durable_lsn = lsn;
        members.report(number, position, 0);
      } else {
        engine->give_up();
      }
      reader.join();
      EXPECT_EQ(sqlstate_of(read), has_copies ? "00000" : "08007") << read;
      EXPECT_EQ(sqlstate_of(again), has_copies ? "00000" : "08007") << again;
      EXPECT_EQ(engine->log_info().confirmed_lsn >= lsn, has_copies);
    }
  }
}

// What looks torn on the disk of a primary that waits for copies may have been acknowledged: they have it still.
TEST(DurabilityTest, ATornTailThatMayHaveBeenAcknowledgedIsNotCut) {
  SimulatedDisk disk;
  EngineOptions options = log_options(&disk);
  options.replication.is_on = true;
  options.replication.transport = TransportChoice::kUnicast;
  uint64_t lsn;
  {
    Bank bank(options);
    ASSERT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
    lsn = bank.engine().last_lsn();
  }
  const auto flip_end = [&disk] {  // of the last group, which no later one confirms
    const std::string path = storage::list_segments(&disk, "/data/log")->back().path;
    const std::string bytes = *disk.read_file(path);
    disk.flip(path, bytes.find_last_not_of('\0'), 0x10);
    return path;
  };
  const std::string path = flip_end();
  const std::string damaged = *disk.read_file(path);
  Status status;
  for (CommitMode mode : {CommitMode::kQuorum, CommitMode::kQuorumDurable}) {
    options.log.mode = mode;
    EXPECT_EQ(open_or_null(options, &status), nullptr);
    EXPECT_EQ(sqlstate_of(status), "XX001") << status;
    EXPECT_NE(hint_of(status).find("scyper log cut /data"), std::string::npos) << hint_of(status);
    EXPECT_EQ(*disk.read_file(path), damaged);
  }
  auto cut = replay::cut_torn_tail(&disk, "/data/log");
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_LT(cut->complete_lsn, lsn);
  EXPECT_NE(cut->reason, "");
  auto engine = open_or_null(options, &status);
  ASSERT_NE(engine, nullptr) << status;
  engine->give_up();
  engine.reset();
  // nothing is torn any more; without copies what is torn was never acknowledged
  cut = replay::cut_torn_tail(&disk, "/data/log");
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_EQ(cut->reason, "");
  options.log.mode = CommitMode::kLocal;
  ASSERT_NE(open_or_null(options, &status), nullptr) << status;
  static_cast<void>(flip_end());
  EXPECT_NE(open_or_null(options, &status), nullptr) << status;
}

// A secondary's mark against throwing its history away: as the primary's it counts again.
TEST(DurabilityTest, APrimaryNeedsNoMarkThatItsHistoryIsKept) {
  SimulatedDisk disk;
  {
    Bank bank(log_options(&disk));
  }
  ASSERT_TRUE(disk.replace_file(replay::kept_path("/data"), "its primary began below").ok());
  Status status;
  EXPECT_NE(open_or_null(log_options(&disk), &status), nullptr) << status;
  EXPECT_FALSE(disk.exists(replay::kept_path("/data")));
}

TEST(DurabilityTest, OtherPartitionsAreRefused) {
  SimulatedDisk disk;
  {
    Bank bank(log_options(&disk));
  }
  EngineOptions options = log_options(&disk);
  options.partitions = 5;
  Status status;
  EXPECT_EQ(open_or_null(options, &status), nullptr);
  EXPECT_EQ(sqlstate_of(status), "22023");
}

}  // namespace
}  // namespace scyper::primary
