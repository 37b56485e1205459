#include "durability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/simulated_disk.h"
#include "query/value_text.h"
#include "testing/bank.h"

namespace scyper::primary {
namespace {

constexpr char kDirectory[] = "/data";

EngineOptions log_options(Disk* disk, RedoMode redo = RedoMode::kLogical, CommitMode mode = CommitMode::kLocal) {
  EngineOptions options = Bank::small_options();
  options.memory_bytes = size_t{128} << 20;
  options.redo = redo;
  options.log.directory = kDirectory;
  options.log.mode = mode;
  options.log.segment_bytes = 256 << 10;
  options.log.disk = disk;
  options.log.on_failure = [](const Status&) {};
  return options;
}

std::unique_ptr<PartitionEngine> open_or_null(const EngineOptions& options, Status* status = nullptr) {
  auto engine = PartitionEngine::create(options);
  if (status != nullptr) *status = engine.status();
  if (!engine.ok()) return nullptr;
  return *std::move(engine);
}

storage::Digest digest_of(PartitionEngine* engine) {
  storage::Digest sum;
  Status status = engine->run_exclusively([&] {
    auto catalog = engine->database().catalog();
    for (const auto& [name, table] : catalog->tables) {
      storage::check_table(*table);
      storage::Digest one = storage::table_digest(*table);
      sum.add(one.lo, one.hi);
    }
    return Status();
  });
  EXPECT_TRUE(status.ok());
  return sum;
}

int64_t number(PartitionEngine* engine, std::string_view sql) {
  query::ResultSet result;
  Status status = engine->execute(sql, {}, &result);
  EXPECT_TRUE(status.ok()) << status;
  return status.ok() && result.row_count() == 1 ? result.value(0, 0).lo : -1;
}

// Every class of transaction, on one thread or several.
void work(Bank* bank, int threads, int rounds) {
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([=] {
      for (int i = 0; i < rounds; ++i) {
        int b = (t * 7 + i) % Bank::kBranches;
        EXPECT_TRUE(bank->run("CALL deposit($1, $2, $3)", {b, i % 32, i}).ok());
        if (i % 4 == 0) EXPECT_TRUE(bank->run("CALL move($1, 1, $2, 2, 5)", {b, (b + 3) % Bank::kBranches}).ok());
        if (i % 8 == 0) EXPECT_FALSE(bank->run("CALL move_and_fail($1, 1, 2, 5)", {b}).ok());
        if (i % 8 == 1) EXPECT_TRUE(bank->run("CALL set_rate($1, $2)", {b, i}).ok());
        if (i % 8 == 2) EXPECT_TRUE(bank->run("CALL stamp($1)", {b}).ok());
        if (i % 8 == 3) EXPECT_TRUE(bank->run("DELETE FROM stamps WHERE branch = $1", {b}).ok());
        if (i % 8 == 4) EXPECT_TRUE(bank->run("CALL churn($1)", {b}).ok());
      }
    });
  }
  for (std::thread& thread : all) thread.join();
}

Status send(PartitionEngine* engine, uint64_t client, uint64_t request, std::string_view sql,
            Call** answered = nullptr) {
  static std::vector<std::unique_ptr<Call>> kept;
  auto statement = engine->prepare(sql);
  if (!statement.ok()) return statement.status();
  kept.push_back(std::make_unique<Call>(*statement, std::initializer_list<int64_t>{}));
  Call* call = kept.back().get();
  call->client_id = client;
  call->request_id = request;
  call->start(engine);
  call->wait();
  if (answered != nullptr) *answered = call;
  return call->status;
}

std::vector<std::string> texts_of(const query::ResultSet& result) {
  std::vector<std::string> texts;
  for (size_t row = 0; row < result.row_count(); ++row) {
    for (size_t i = 0; i < result.columns.size(); ++i) {
      texts.emplace_back();
      query::append_value(&texts.back(), result.columns[i].type, result.value(row, i));
    }
  }
  return texts;
}

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
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
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

TEST(DurabilityTest, FullDiskIsReadOnlyUntilThereIsSpace) {
  SimulatedDisk disk;
  Bank bank(log_options(&disk));
  ASSERT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
  disk.set_capacity(1);
  int64_t deposits = 1;
  Status status;
  for (int i = 0; i < 200'000; ++i) {
    status = bank.run("CALL churn(1)");
    if (!status.ok()) break;
    status = bank.run("CALL deposit(1, 1, 1)");
    if (!status.ok()) break;
    ++deposits;
  }
  EXPECT_EQ(sqlstate_of(status), "53100") << status;
  EXPECT_EQ(bank.value_of("SELECT balance FROM accounts WHERE branch = 1 AND id = 1"), 1000 + deposits);
  EXPECT_EQ(sqlstate_of(bank.run("CREATE TABLE t (a integer)")), "53100");
  disk.set_capacity(~uint64_t{0});
  for (int i = 0; i < 100 && !status.ok(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    status = bank.run("CALL deposit(1, 1, 1)");
  }
  EXPECT_TRUE(status.ok()) << status;
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

TEST(DurabilityTest, RequestsAreNotRepeated) {
  for (bool with_archive : {false, true}) {
    SimulatedDisk disk;
    {
      Bank bank(log_options(&disk, with_archive ? RedoMode::kPhysical : RedoMode::kLogical));
      ASSERT_TRUE(send(&bank.engine(), 9, 1, "UPDATE accounts SET balance = balance + 1 WHERE branch = 1").ok());
      ASSERT_TRUE(send(&bank.engine(), 9, 2, "CALL move(1, 1, 2, 2, 5)").ok());
      ASSERT_FALSE(send(&bank.engine(), 9, 3, "CALL move_and_fail(1, 1, 2, 5)").ok());
      ASSERT_TRUE(send(&bank.engine(), 9, 3, "CALL deposit(3, 3, 3)").ok());  // a failed one may come again
      if (with_archive) ASSERT_TRUE(bank.engine().write_archive("", nullptr).ok());
      ASSERT_TRUE(send(&bank.engine(), 9, 4, "CALL deposit(3, 3, 3)").ok());
    }
    auto engine = open_or_null(log_options(&disk));
    ASSERT_NE(engine, nullptr);
    const storage::Digest before = digest_of(engine.get());
    Call* answered = nullptr;
    ASSERT_TRUE(send(engine.get(), 9, 1, "UPDATE accounts SET balance = balance + 1 WHERE branch = 1", &answered).ok());
    EXPECT_TRUE(answered->was_repeated);
    EXPECT_EQ(answered->result.affected_rows, 32u);
    for (uint64_t request : {2u, 3u, 4u}) {
      ASSERT_TRUE(send(engine.get(), 9, request, "CALL deposit(5, 5, 5)", &answered).ok());
      EXPECT_TRUE(answered->was_repeated);
    }
    EXPECT_EQ(digest_of(engine.get()), before);
    ASSERT_TRUE(send(engine.get(), 10, 1, "CALL deposit(5, 5, 5)", &answered).ok());  // another client's
    EXPECT_FALSE(answered->was_repeated);
    EXPECT_NE(digest_of(engine.get()), before);
  }
}

// Also a node without a data directory remembers, as long as it lives.
TEST(RequestTest, NodesWithoutALogRememberToo) {
  for (RedoMode redo : {RedoMode::kNone, RedoMode::kLogical, RedoMode::kPhysical}) {
    EngineOptions options = log_options(nullptr, redo);
    options.log = {};
    Bank bank(options);
    Call* answered = nullptr;
    ASSERT_TRUE(send(&bank.engine(), 9, 1, "CALL deposit(3, 3, 3)", &answered).ok());
    EXPECT_FALSE(answered->was_repeated);
    const storage::Digest before = digest_of(&bank.engine());
    ASSERT_TRUE(send(&bank.engine(), 9, 1, "CALL deposit(3, 3, 3)", &answered).ok());
    EXPECT_TRUE(answered->was_repeated);
    EXPECT_EQ(digest_of(&bank.engine()), before);
    ASSERT_TRUE(send(&bank.engine(), 9, 2, "CALL deposit(3, 3, 3)", &answered).ok());
    EXPECT_FALSE(answered->was_repeated);
  }
}

TEST(RequestTest, ARepeatedOneGetsItsRowsAgain) {
  const char* kUpdate =
      "UPDATE accounts SET balance = balance + 7 WHERE branch = 6 AND id < 3 "
      "RETURNING id, balance, balance * 0.25, 'text ' || id, NULL::date, CASE WHEN id > 0 THEN ARRAY[id, NULL] END";
  const char* kLarge = "UPDATE accounts SET balance = 1 WHERE branch = 5 RETURNING repeat('large', 1000)";
  for (RedoMode redo : {RedoMode::kLogical, RedoMode::kPhysical}) {
    SimulatedDisk disk;
    std::vector<std::string> first;
    Call* answered = nullptr;
    {
      Bank bank(log_options(&disk, redo));
      ASSERT_TRUE(send(&bank.engine(), 9, 1, kUpdate, &answered).ok());
      first = texts_of(answered->result);
      ASSERT_GE(first.size(), 6u);
      ASSERT_TRUE(send(&bank.engine(), 9, 1, kUpdate, &answered).ok());
      EXPECT_TRUE(answered->was_repeated);
      EXPECT_EQ(texts_of(answered->result), first);
      ASSERT_TRUE(send(&bank.engine(), 9, 2, kLarge, &answered).ok());
    }
    auto engine = open_or_null(log_options(&disk, redo));
    ASSERT_NE(engine, nullptr);
    ASSERT_TRUE(send(engine.get(), 9, 1, kUpdate, &answered).ok());
    EXPECT_TRUE(answered->was_repeated);
    EXPECT_EQ(texts_of(answered->result), first);
    EXPECT_EQ(answered->result.command_tag, absl::StrCat("UPDATE ", answered->result.row_count()));
    ASSERT_TRUE(send(engine.get(), 9, 2, kLarge, &answered).ok());
    EXPECT_TRUE(answered->was_repeated);
    EXPECT_EQ(answered->result.row_count(), 0u);
    EXPECT_EQ(answered->result.notices.size(), 1u);
  }
}

TEST(RequestTest, ADuplicateOfARunningOneWaits) {
  SimulatedDisk disk;
  Bank bank(log_options(&disk));
  const int64_t before = number(&bank.engine(), "SELECT sum(balance)::bigint FROM accounts");
  for (const char* sql : {"CALL deposit(3, 3, 3)", "UPDATE accounts SET balance = balance + 1 WHERE id = 1"}) {
    auto statement = bank.engine().prepare(sql);
    ASSERT_TRUE(statement.ok());
    std::vector<std::unique_ptr<Call>> calls;
    for (uint64_t i = 0; i < 60; ++i) {
      calls.push_back(std::make_unique<Call>(*statement, std::initializer_list<int64_t>{}));
      calls.back()->client_id = sql[0];
      calls.back()->request_id = i / 6 + 1;
    }
    for (auto& call : calls) call->start(&bank.engine());
    int repeated = 0;
    for (auto& call : calls) {
      call->wait();
      EXPECT_TRUE(call->status.ok()) << call->status;
      repeated += call->was_repeated ? 1 : 0;
    }
    EXPECT_EQ(repeated, 50);
  }
  const int64_t branches = number(&bank.engine(), "SELECT count(*) FROM accounts WHERE id = 1");
  EXPECT_EQ(number(&bank.engine(), "SELECT sum(balance)::bigint FROM accounts"), before + 30 + 10 * branches);
}

TEST(RequestTest, OneOutsideOfTheWindowIsRefused) {
  SimulatedDisk disk;
  EngineOptions options = log_options(&disk);
  options.log.request_window = 10;
  auto check = [](PartitionEngine* engine) {
    const storage::Digest before = digest_of(engine);
    Call* answered = nullptr;
    for (uint64_t request = 1; request <= 30; ++request) {
      const Status status = send(engine, 9, request, "CALL deposit(3, 3, 3)", &answered);
      EXPECT_EQ(sqlstate_of(status), request <= 20 ? "55000" : "00000") << request;
    }
    EXPECT_EQ(digest_of(engine), before);
  };
  {
    Bank bank(options);
    for (uint64_t request = 1; request <= 30; ++request) {
      ASSERT_TRUE(send(&bank.engine(), 9, request, "CALL deposit(3, 3, 3)").ok());
      if (request == 17) ASSERT_TRUE(bank.engine().write_archive("", nullptr).ok());
    }
    check(&bank.engine());
  }
  Status status;
  auto engine = open_or_null(options, &status);
  ASSERT_NE(engine, nullptr) << status;
  check(engine.get());
}

TEST(RequestTest, IntervalsTravelWhole) {
  SimulatedDisk disk;
  storage::Digest before;
  {
    Bank bank(log_options(&disk, RedoMode::kLogical));
    ASSERT_TRUE(bank.run("CREATE PROCEDURE later(b integer, d interval) LANGUAGE plpgsql AS $$ BEGIN "
                         "UPDATE stamps SET at = at + d WHERE branch = b; END $$")
                    .ok());
    ASSERT_TRUE(bank.run("CALL stamp(1)").ok());
    Datum interval = int_datum(-1'000'000);
    interval.hi = (int64_t{3} << 32) | 5;  // 3 months, 5 days
    const std::vector<Datum> arguments = {int_datum(1), interval};
    ASSERT_TRUE(bank.engine().execute("CALL later($1, $2)", arguments, nullptr).ok());
    before = digest_of(&bank.engine());
  }
  auto engine = open_or_null(log_options(&disk, RedoMode::kLogical));
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(digest_of(engine.get()), before);
}

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
  for (int i = 0; i < 100 && disk.list("/data/log")->size() > 3; ++i) {
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
  for (int i = 0; i < 400 && disk.list("/data/archives")->empty(); ++i) {
    ASSERT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
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
