#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/random.h"
#include "base/simulated_disk.h"
#include "base/test_slice.h"
#include "block_waits.h"
#include "primary/blocks.h"
#include "reservations.h"
#include "row_locking.h"
#include "testing/bank.h"

// Blocks that stop nobody: what others see of them, and who waits for whom.
namespace scyper::primary {
namespace {

class TentativeTest : public testing::TestWithParam<RedoMode> {
 protected:
  void open() {
    engine_.reset();
    EngineOptions options = Bank::small_options();
    options.memory_bytes = size_t{128} << 20;
    options.redo = GetParam();
    options.log.directory = "/data";
    options.log.disk = &disk_;
    options.log.on_failure = [](const Status&) {};
    auto engine = PartitionEngine::create(options);
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
  }
  void SetUp() override { open(); }

  struct Block {
    std::unique_ptr<OpenTransaction> transaction;
    const query::SettingValues* settings = nullptr;
    std::string run(std::string_view sql) {
      query::ResultSet result;
      StatementLimits limits;
      limits.settings = settings;
      const Status status = transaction->execute(sql, {}, &result, limits);
      return status.ok() ? result.command_tag : std::string(sqlstate_of(status));
    }
    int64_t number(std::string_view sql) {
      query::ResultSet result;
      const Status status = transaction->execute(sql, {}, &result, {});
      EXPECT_TRUE(status.ok()) << status;
      return status.ok() && result.row_count() == 1 ? result.value(0, 0).lo : -1;
    }
    std::string commit() {
      const Status status = transaction->commit();
      transaction.reset();
      return std::string(sqlstate_of(status));
    }
  };
  Block begin() {
    auto transaction = begin_block(engine_.get());
    EXPECT_TRUE(transaction.ok()) << transaction.status();
    return {*std::move(transaction)};
  }
  std::string run(std::string_view sql) {
    query::ResultSet result;
    const Status status = engine_->execute(sql, {}, &result);
    return status.ok() ? result.command_tag : std::string(sqlstate_of(status));
  }
  void all(std::initializer_list<const char*> statements) {
    for (const char* sql : statements) {
      const Status status = engine_->execute(sql, {}, nullptr);
      ASSERT_TRUE(status.ok()) << sql << ": " << status;
    }
  }
  int64_t number(std::string_view sql) {
    query::ResultSet result;
    const Status status = engine_->execute(sql, {}, &result);
    EXPECT_TRUE(status.ok()) << sql << ": " << status;
    return status.ok() && result.row_count() == 1 ? result.value(0, 0).lo : -1;
  }
  // Runs beside the test; until its answer comes it must wait for a block.
  std::thread waiting(std::string_view sql, std::string* outcome) {
    const uint64_t before = engine_->waits().count();
    std::thread thread([this, sql = std::string(sql), outcome] { *outcome = run(sql); });
    while (engine_->waits().count() == before) std::this_thread::yield();
    return thread;
  }

  SimulatedDisk disk_;
  std::unique_ptr<PartitionEngine> engine_;
};

TEST_P(TentativeTest, OthersGoOnAndSeeNothing) {
  all({"CREATE TABLE t (a integer PRIMARY KEY, b integer) PARTITION BY HASH (a)",
       "INSERT INTO t SELECT i, 0 FROM generate_series(1, 20) i"});
  Block block = begin();
  EXPECT_EQ(block.run("UPDATE t SET b = 1 WHERE a <= 2"), "UPDATE 2");
  EXPECT_EQ(block.run("INSERT INTO t VALUES (21, 1)"), "INSERT 0 1");
  EXPECT_EQ(block.run("DELETE FROM t WHERE a = 20"), "DELETE 1");
  EXPECT_EQ(run("UPDATE t SET b = 5 WHERE a = 3"), "UPDATE 1");
  EXPECT_EQ(run("INSERT INTO t VALUES (22, 5)"), "INSERT 0 1");
  EXPECT_EQ(number("SELECT sum(b)::bigint * 100 + count(*) FROM t"), 1021);
  // the block sees what others have committed, and what it has changed itself
  EXPECT_EQ(block.number("SELECT sum(b)::bigint * 100 + count(*) FROM t"), 1321);
  EXPECT_EQ(block.run("UPDATE t SET b = b + 1 WHERE a IN (1, 3)"), "UPDATE 2");
  EXPECT_EQ(block.commit(), "00000");
  EXPECT_EQ(number("SELECT sum(b)::bigint * 100 + count(*) FROM t"), 1521);
  open();
  EXPECT_EQ(number("SELECT sum(b)::bigint * 100 + count(*) FROM t"), 1521);
}

TEST_P(TentativeTest, OthersWaitForItsRowsAndKeys) {
  all({"CREATE TABLE t (a integer PRIMARY KEY, b integer UNIQUE)", "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)"});
  for (const bool commits : {true, false}) {
    Block block = begin();
    EXPECT_EQ(block.run("UPDATE t SET b = b + 1 WHERE a = 1"), "UPDATE 1");
    EXPECT_EQ(block.run("INSERT INTO t VALUES (4, 40)"), "INSERT 0 1");
    EXPECT_EQ(block.run("DELETE FROM t WHERE a = 3"), "DELETE 1");
    std::string updated, duplicate, freed, unique;
    std::vector<std::thread> threads;
    threads.push_back(waiting("UPDATE t SET b = b + 100 WHERE a = 1", &updated));
    threads.push_back(waiting("INSERT INTO t VALUES (4, 41)", &duplicate));
    threads.push_back(waiting("INSERT INTO t VALUES (3, 31)", &freed));
    threads.push_back(waiting("UPDATE t SET b = 40 WHERE a = 2", &unique));
    EXPECT_EQ(number("SELECT sum(b)::bigint FROM t"), 60);
    if (commits) EXPECT_EQ(block.commit(), "00000");
    block.transaction.reset();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(updated, "UPDATE 1");
    EXPECT_EQ(duplicate, commits ? "23505" : "INSERT 0 1");
    EXPECT_EQ(freed, commits ? "INSERT 0 1" : "23505");
    EXPECT_EQ(unique, commits ? "23505" : "UPDATE 1");
    EXPECT_EQ(number("SELECT b FROM t WHERE a = 1"), commits ? 111 : 110);
    all({"DELETE FROM t", "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)"});
  }
  EXPECT_FALSE(engine_->reservations().any());
}

TEST_P(TentativeTest, ParentsOfItsRowsStay) {
  all({"CREATE TABLE parent (id integer PRIMARY KEY, note text)",
       "CREATE TABLE child (id integer PRIMARY KEY, parent integer REFERENCES parent)",
       "INSERT INTO parent VALUES (1), (2)"});
  Block block = begin();
  EXPECT_EQ(block.run("INSERT INTO child VALUES (1, 1)"), "INSERT 0 1");
  EXPECT_EQ(block.run("DELETE FROM parent WHERE id = 2"), "DELETE 1");
  EXPECT_EQ(run("UPDATE parent SET note = 'x' WHERE id = 1"), "UPDATE 1");  // no key
  std::string deleted, referred;
  std::thread first = waiting("DELETE FROM parent WHERE id = 1", &deleted);
  std::thread second = waiting("INSERT INTO child VALUES (2, 2)", &referred);
  EXPECT_EQ(block.commit(), "00000");
  first.join();
  second.join();
  EXPECT_EQ(deleted, "23503");
  EXPECT_EQ(referred, "23503");
}

// COPY runs alone and cannot wait for the block.
TEST_P(TentativeTest, CopiesMeetItsRows) {
  all({"CREATE TABLE parent (id integer PRIMARY KEY)",
       "CREATE TABLE child (id integer PRIMARY KEY, parent integer REFERENCES parent)",
       "INSERT INTO parent VALUES (1), (2)"});
  Block block = begin();
  EXPECT_EQ(block.run("DELETE FROM parent WHERE id = 2"), "DELETE 1");
  const auto copy = [&](std::string_view rows) {
    auto in = engine_->open_copy("COPY child FROM STDIN");
    EXPECT_TRUE(in.ok() && (*in)->add(rows).ok());
    query::ResultSet result;
    const Status status = (*in)->finish({}, &result);
    return status.ok() ? result.command_tag : std::string(sqlstate_of(status));
  };
  EXPECT_EQ(copy("1\t1\n"), "COPY 1");
  EXPECT_EQ(copy("2\t2\n"), "40001");
  EXPECT_EQ(sqlstate_of(engine_->load("child", std::vector<Datum>{int_datum(3), int_datum(1)})), "55006");
  EXPECT_EQ(block.commit(), "00000");
  EXPECT_EQ(copy("2\t2\n"), "23503");
  EXPECT_EQ(number("SELECT count(*) FROM child"), 1);
}

TEST_P(TentativeTest, BlocksWaitForEachOtherButNotInACircle) {
  all({"CREATE TABLE t (a integer PRIMARY KEY, b integer)", "INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)"});
  Block one = begin(), two = begin();
  EXPECT_EQ(one.run("UPDATE t SET b = b + 1 WHERE a = 1"), "UPDATE 1");
  EXPECT_EQ(two.run("UPDATE t SET b = b + 1 WHERE a = 2"), "UPDATE 1");
  std::string outcome;
  std::thread thread([&] { outcome = one.run("UPDATE t SET b = b + 1 WHERE a = 2"); });
  while (engine_->waits().count() == 0) std::this_thread::yield();
  EXPECT_EQ(two.run("UPDATE t SET b = b + 1 WHERE a = 1"), "40P01");
  two.transaction.reset();
  thread.join();
  EXPECT_EQ(outcome, "UPDATE 1");
  EXPECT_EQ(one.commit(), "00000");
  EXPECT_EQ(number("SELECT sum(b)::bigint FROM t"), 2);
}

TEST_P(TentativeTest, WaitingEndsByTimeAndWithTheNode) {
  all({"CREATE TABLE t (a integer PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)"});
  Block one = begin(), two = begin();
  const query::SettingValues settings{{"lock_timeout", "20ms"}};
  two.settings = &settings;
  EXPECT_EQ(one.run("DELETE FROM t WHERE a = 1"), "DELETE 1");
  EXPECT_EQ(two.run("DELETE FROM t WHERE a = 1"), "55P03");
  std::atomic<bool> cancelled{false};
  StatementLimits limits;
  limits.cancelled = &cancelled;
  std::thread canceller([&] {
    while (engine_->waits().count() == 0) std::this_thread::yield();
    cancelled = true;
  });
  EXPECT_EQ(sqlstate_of(engine_->execute("DELETE FROM t WHERE a = 1", {}, nullptr, limits)), "57014");
  canceller.join();
  std::string outcome;
  std::thread waiter = waiting("DELETE FROM t WHERE a = 1", &outcome);
  engine_->stop_admission();
  waiter.join();
  EXPECT_EQ(outcome, "57P03");
  EXPECT_EQ(one.commit(), "57P03");
  two.transaction.reset();
  open();
  EXPECT_EQ(number("SELECT count(*) FROM t"), 2);
}

TEST_P(TentativeTest, SavepointsAndFailedStatements) {
  all({"CREATE TABLE t (a integer PRIMARY KEY, b bigserial, c text)", "INSERT INTO t (a) VALUES (1)"});
  Block block = begin();
  EXPECT_EQ(block.run("INSERT INTO t (a) VALUES (2)"), "INSERT 0 1");
  EXPECT_TRUE(block.transaction->set_savepoint().ok());
  EXPECT_EQ(block.run("UPDATE t SET c = 'kept'"), "UPDATE 2");
  EXPECT_TRUE(block.transaction->set_savepoint().ok());
  EXPECT_EQ(block.run("INSERT INTO t (a) VALUES (3)"), "INSERT 0 1");
  EXPECT_EQ(block.run("INSERT INTO t (a) VALUES (4), (1)"), "23505");
  EXPECT_EQ(block.run("SELECT nothing"), "42703");
  EXPECT_EQ(block.run("SELEC"), "42601");
  EXPECT_TRUE(block.transaction->roll_back_to(1).ok());
  EXPECT_EQ(run("INSERT INTO t (a) VALUES (3)"), "INSERT 0 1");  // not reserved any more
  EXPECT_EQ(block.number("SELECT count(*) FROM t WHERE c = 'kept'"), 2);
  EXPECT_EQ(block.run("INSERT INTO t (a) VALUES (5)"), "INSERT 0 1");
  EXPECT_EQ(block.number("SELECT currval('t_b_seq')"), block.number("SELECT b FROM t WHERE a = 5"));
  EXPECT_TRUE(block.transaction->release(0).ok());
  EXPECT_EQ(block.commit(), "00000");
  const int64_t drawn = number("SELECT max(b) FROM t");
  open();
  EXPECT_EQ(number("SELECT sum(a)::bigint FROM t"), 11);
  EXPECT_EQ(number("SELECT count(*) FROM t WHERE c = 'kept'"), 2);
  EXPECT_GT(number("INSERT INTO t (a) VALUES (6) RETURNING b"), drawn);
}

// What a block cannot do so makes it exclusive, with what it has changed before.
TEST_P(TentativeTest, GoesOnAlone) {
  all({"CREATE TABLE t (a integer PRIMARY KEY, b text)", "INSERT INTO t VALUES (1, 'x')"});
  {
    Block block = begin();
    EXPECT_EQ(block.run("INSERT INTO t VALUES (2, 'y')"), "INSERT 0 1");
    EXPECT_TRUE(block.transaction->set_savepoint().ok());
    EXPECT_EQ(block.run("DELETE FROM t WHERE a = 1"), "DELETE 1");
    EXPECT_EQ(block.run("CREATE TABLE u AS SELECT * FROM t"), "SELECT 1");
    EXPECT_TRUE(block.transaction->roll_back_to(0).ok());
    EXPECT_EQ(block.run("CREATE TABLE u AS SELECT * FROM t"), "SELECT 2");
    EXPECT_EQ(block.commit(), "00000");
  }
  {
    Block block = begin();
    EXPECT_EQ(block.run("UPDATE t SET b = 'z' WHERE a = 1"), "UPDATE 1");
    EXPECT_EQ(block.number("SELECT a FROM t WHERE b = 'z' FOR UPDATE"), 1);
    EXPECT_EQ(block.run("UPDATE t SET b = 'w' WHERE a = 2"), "UPDATE 1");
  }  // taken back
  {
    Block block = begin();
    EXPECT_EQ(block.run("UPDATE t SET b = b || '!'"), "UPDATE 2");
    all({"CREATE TABLE other (a integer)"});
    EXPECT_EQ(block.run("UPDATE t SET b = b || '!'"), "UPDATE 2");
    all({"ALTER TABLE t ADD COLUMN c integer"});
    EXPECT_EQ(block.run("UPDATE t SET b = b || '!'"), "40001");
  }
  {
    Block one = begin(), two = begin();
    EXPECT_EQ(one.run("UPDATE t SET b = 'one' WHERE a = 1"), "UPDATE 1");
    EXPECT_EQ(two.run("CREATE TABLE more (a integer)"), "CREATE TABLE");
    EXPECT_EQ(two.run("UPDATE t SET b = 'two' WHERE a = 1"), "40001");
    two.transaction.reset();
    EXPECT_EQ(one.commit(), "00000");
  }
  open();
  EXPECT_EQ(number("SELECT count(*) FROM t WHERE b IN ('one', 'y')"), 2);
  EXPECT_EQ(number("SELECT count(*) FROM u"), 2);
}

// Transfers by blocks and by single statements, a queue without primary key, and rows that come and go.
TEST_P(TentativeTest, HistoriesKeepTheSum) {
  const uint64_t seed = 20261129;
  SCOPED_TRACE(seed);
  constexpr int64_t kAccounts = 12;
  all({"CREATE TABLE account (id integer PRIMARY KEY, balance bigint NOT NULL) PARTITION BY HASH (id)",
       "CREATE TABLE moves (account integer, amount bigint)",
       "INSERT INTO account SELECT i, 100 FROM generate_series(1, 12) i",
       "CREATE PROCEDURE transfer(a integer, b integer, n bigint) LANGUAGE plpgsql AS $$ BEGIN "
       "UPDATE account SET balance = balance - n WHERE id = a; UPDATE account SET balance = balance + n WHERE id = b; "
       "INSERT INTO moves VALUES (a, -n), (b, n); END $$"});
  std::atomic<int> committed{0}, deadlocks{0};
  const auto work = [&](uint64_t number) {
    Random random(seed + number);
    for (int i = 0; i < test_slice(60, 15); ++i) {
      const std::string a = std::to_string(random.between(1, kAccounts)),
                        b = std::to_string(random.between(1, kAccounts));
      const std::string n = std::to_string(random.between(1, 9));
      if (number % 2 == 0 && random.one_in(2)) {
        EXPECT_EQ(run("CALL transfer(" + a + ", " + b + ", " + n + ")"), "CALL");
        continue;
      }
      Block block = begin();
      const std::string steps[] = {"UPDATE account SET balance = balance - " + n + " WHERE id = " + a,
                                   "INSERT INTO moves VALUES (" + a + ", -" + n + ")",
                                   "UPDATE account SET balance = balance + " + n + " WHERE id = " + b,
                                   "INSERT INTO moves VALUES (" + b + ", 0)",
                                   "UPDATE moves SET amount = " + n + " WHERE account = " + b + " AND amount = 0"};
      bool is_ok = true;
      for (const std::string& sql : steps) {
        const std::string outcome = block.run(sql);
        is_ok = outcome.size() > 5;
        EXPECT_TRUE(is_ok || outcome == "40P01") << sql << ": " << outcome;
        if (!is_ok) break;
      }
      deadlocks += is_ok ? 0 : 1;
      if (!is_ok || random.one_in(5)) continue;  // taken back
      const std::string outcome = block.commit();
      EXPECT_EQ(outcome, "00000");
      committed += 1;
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(committed.load(), 0);
  EXPECT_FALSE(engine_->reservations().any());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(number("SELECT sum(balance)::bigint FROM account"), kAccounts * 100);
    EXPECT_EQ(number("SELECT sum(amount)::bigint FROM moves"), 0);
    EXPECT_EQ(number("SELECT count(*) FROM account a WHERE balance <> 100 + "
                     "coalesce((SELECT sum(amount) FROM moves WHERE account = a.id), 0)"),
              0);
    open();
  }
}

TEST(RowLockingTest, WordsThatLock) {
  EXPECT_TRUE(has_locking_words("SELECT 1 FROM t FOR UPDATE"));
  EXPECT_TRUE(has_locking_words("select 1 from t\nfor  no key\tupdate of t"));
  EXPECT_TRUE(has_locking_words("SELECT 1 FROM t FOR KEY SHARE"));
  EXPECT_FALSE(has_locking_words("SELECT substring(a FROM 1 FOR 2) FROM t"));
  EXPECT_FALSE(has_locking_words("UPDATE t SET a = 'for' WHERE before = 'update'"));
}

INSTANTIATE_TEST_SUITE_P(Modes, TentativeTest, testing::Values(RedoMode::kLogical, RedoMode::kPhysical));

}  // namespace
}  // namespace scyper::primary
