#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/random.h"
#include "base/test_slice.h"
#include "block_waits.h"
#include "primary/blocks.h"
#include "reservations.h"
#include "testing/bank.h"
#include "testing/engine_statements.h"

// Blocks that stop nobody: what others see of them, and who waits for whom.
namespace scyper::primary {
namespace {

class TentativeTest : public EngineStatements, public testing::TestWithParam<RedoMode> {
 protected:
  void open() {
    EngineOptions options = Bank::small_options();
    options.memory_bytes = size_t{128} << 20;
    options.redo = GetParam();
    options.log.directory = "/data";
    options.log.disk = &disk_;
    options.log.on_failure = [](const Status&) {};
    start(options);
  }
  void SetUp() override { open(); }

  Block begin() {
    auto transaction = begin_block(engine_.get());
    EXPECT_TRUE(transaction.ok()) << transaction.status();
    return {*std::move(transaction)};
  }
  // Runs beside the test; until its answer comes it must wait for a block.
  std::thread waiting(std::string_view sql, std::string* outcome) {
    const uint64_t before = engine_->waits().count();
    std::thread thread([this, sql = std::string(sql), outcome] { *outcome = run(sql); });
    while (engine_->waits().count() == before) std::this_thread::yield();
    return thread;
  }
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

// FOR UPDATE and its kin lock what a block reads, and nothing else.
TEST_P(TentativeTest, LockedRowsStopOnlyThoseWhoWantThem) {
  for (const char* table : {"t (a integer PRIMARY KEY, b integer) PARTITION BY HASH (a)", "t (a integer, b integer)",
                            "t (a text PRIMARY KEY, b integer)"}) {
    SCOPED_TRACE(table);
    all({"DROP TABLE IF EXISTS t"});
    all({(std::string("CREATE TABLE ") + table).c_str(), "INSERT INTO t SELECT i, 0 FROM generate_series(1, 6) i"});
    const bool is_partitioned = std::string_view(table).ends_with("HASH (a)");
    const uint64_t crossing = engine_->counters().crossing;
    if (is_partitioned) EXPECT_EQ(run("SELECT b FROM t WHERE a = 3 FOR UPDATE"), "SELECT 1");
    EXPECT_EQ(engine_->counters().crossing, crossing);  // it belongs to its partition
    Block block = begin();
    EXPECT_EQ(block.run("SELECT b FROM t WHERE a = '1' FOR UPDATE"), "SELECT 1");
    EXPECT_EQ(run("UPDATE t SET b = 1 WHERE a = '2'"), "UPDATE 1");
    EXPECT_EQ(run("SELECT * FROM t"), "SELECT 6");
    EXPECT_EQ(run("SELECT * FROM t WHERE a = '2' FOR UPDATE"), "SELECT 1");
    EXPECT_EQ(run("SELECT * FROM t WHERE a = '1' FOR KEY SHARE NOWAIT"), "55P03");
    EXPECT_EQ(run("SELECT * FROM t ORDER BY a LIMIT 2 FOR UPDATE SKIP LOCKED"), "SELECT 2");
    EXPECT_EQ(number("SELECT min(a::integer) FROM (SELECT a FROM t ORDER BY a LIMIT 2 FOR UPDATE SKIP LOCKED) x"), 2);
    std::string updated, locked;
    std::vector<std::thread> threads;
    threads.push_back(waiting("UPDATE t SET b = b + 1 WHERE a = '1'", &updated));
    threads.push_back(waiting("SELECT * FROM t WHERE a = '1' FOR SHARE", &locked));
    EXPECT_EQ(block.run("UPDATE t SET b = 10 WHERE a = '1'"), "UPDATE 1");
    EXPECT_EQ(block.commit(), "00000");
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(updated, "UPDATE 1");
    EXPECT_EQ(locked, "SELECT 1");
    EXPECT_EQ(number("SELECT b FROM t WHERE a = '1'"), 11);
    EXPECT_FALSE(engine_->reservations().any());
  }
}

TEST_P(TentativeTest, LocksHavePostgresStrengths) {
  all({"CREATE TABLE t (a integer PRIMARY KEY, b integer)", "INSERT INTO t VALUES (1, 0)"});
  const char* const names[] = {"KEY SHARE", "SHARE", "NO KEY UPDATE", "UPDATE"};
  for (int held = 0; held < 4; ++held) {
    Block block = begin();
    EXPECT_EQ(block.run("SELECT a FROM t FOR " + std::string(names[held])), "SELECT 1");
    for (int wanted = 0; wanted < 4; ++wanted) {
      SCOPED_TRACE(std::string(names[held]) + " and " + names[wanted]);
      const std::string sql = "SELECT a FROM t FOR " + std::string(names[wanted]);
      EXPECT_EQ(run(sql + " NOWAIT"), held + wanted >= 3 ? "55P03" : "SELECT 1");
      EXPECT_EQ(run(sql + " SKIP LOCKED"), held + wanted >= 3 ? "SELECT 0" : "SELECT 1");
    }
    EXPECT_EQ(block.run("SELECT a FROM t FOR UPDATE"), "SELECT 1");  // what it has grows
    EXPECT_EQ(run("SELECT a FROM t FOR KEY SHARE NOWAIT"), "55P03");
  }
}

// A statement that has waited locks the rows that its condition finds now.
TEST_P(TentativeTest, WhoHasWaitedForALockLooksAgain) {
  all({"CREATE TABLE jobs (id integer PRIMARY KEY, state text)", "INSERT INTO jobs VALUES (1, 'new'), (2, 'new')"});
  Block one = begin(), two = begin();
  EXPECT_EQ(one.run("SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE"), "SELECT 1");
  EXPECT_EQ(one.run("UPDATE jobs SET state = 'done' WHERE id = 1"), "UPDATE 1");
  int64_t found = 0;
  std::thread thread(
      [&] { found = two.number("SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE"); });
  while (engine_->waits().count() == 0) std::this_thread::yield();
  EXPECT_EQ(one.commit(), "00000");
  thread.join();
  EXPECT_EQ(found, 2);
  EXPECT_EQ(run("SELECT * FROM jobs FOR UPDATE NOWAIT"), "55P03");
  EXPECT_EQ(run("SELECT * FROM jobs WHERE id = 1 FOR UPDATE NOWAIT"), "SELECT 1");
}

TEST_P(TentativeTest, LocksOfJoinsViewsSubqueriesAndRoutines) {
  all({"CREATE TABLE t (a integer PRIMARY KEY, b integer) PARTITION BY HASH (a)",
       "CREATE TABLE u (a integer PRIMARY KEY, t integer)", "INSERT INTO t SELECT i, i FROM generate_series(1, 9) i",
       "INSERT INTO u SELECT i + 10, i FROM generate_series(1, 5) i",
       "CREATE VIEW v AS SELECT b AS c FROM t WHERE a < 8",
       "CREATE FUNCTION taken(n integer) RETURNS integer LANGUAGE plpgsql AS $$ DECLARE x integer; BEGIN "
       "SELECT b INTO x FROM t WHERE a = n FOR UPDATE; RETURN x; END $$"});
  const std::pair<const char*, std::pair<std::string, std::string>> cases[] = {
      {"SELECT 1 FROM t JOIN u ON u.t = t.a WHERE u.a = 12 FOR UPDATE", {"2", "12"}},
      {"SELECT 1 FROM t JOIN u ON u.t = t.a WHERE u.a = 12 FOR UPDATE OF t", {"2", ""}},
      {"SELECT 1 FROM t JOIN u ON u.t = t.a WHERE u.a = 12 FOR UPDATE OF u", {"", "12"}},
      {"SELECT 1 FROM u LEFT JOIN t ON u.t = t.a AND t.a > 3 WHERE u.a < 13 FOR UPDATE OF u", {"", "11,12"}},
      {"SELECT 1 FROM t WHERE a IN (SELECT t FROM u WHERE a > 13) FOR UPDATE", {"4,5", ""}},
      {"SELECT c FROM v WHERE c > 6 FOR UPDATE", {"7", ""}},
      {"SELECT x.b FROM (SELECT a, b FROM t) x, u WHERE x.b = u.t AND u.a = 13 FOR UPDATE OF x", {"3", ""}},
      {"SELECT max(b) FROM (SELECT b FROM t WHERE a > 7 FOR UPDATE) x", {"8,9", ""}},
      {"WITH x AS (SELECT a FROM t ORDER BY a DESC LIMIT 1 FOR UPDATE) SELECT a FROM x", {"9", ""}},
      {"SELECT a, 1, 'x' FROM t ORDER BY 2, b DESC OFFSET 1 LIMIT 1 FOR UPDATE", {"8", ""}},
      {"SELECT taken(6)", {"6", ""}},
      {"UPDATE u SET t = 0 WHERE a = (SELECT a + 10 FROM t WHERE a = 1 FOR NO KEY UPDATE)", {"1", "11"}},
  };
  for (const auto& [sql, rows] : cases) {
    SCOPED_TRACE(sql);
    Block block = begin();
    EXPECT_GT(block.run(sql).size(), 5u);
    const auto locked = [this](const std::string& table) {
      query::ResultSet result;
      const Status status =
          engine_->execute("SELECT string_agg(x.a::text, ',' ORDER BY x.a) FROM " + table +
                               " x WHERE x.a NOT IN (SELECT a FROM " + table + " FOR UPDATE SKIP LOCKED)",
                           {}, &result);
      EXPECT_TRUE(status.ok()) << status;
      const Datum value = result.value(0, 0);
      return value.null != 0 ? std::string() : std::string(value.data(), value.size());
    };
    EXPECT_EQ(locked("t"), rows.first);
    EXPECT_EQ(locked("u"), rows.second);
  }
}

TEST_P(TentativeTest, LocksGoWithTheirSavepointAndCloseCircles) {
  all({"CREATE TABLE t (a integer PRIMARY KEY, b integer)", "INSERT INTO t VALUES (1, 0), (2, 0)"});
  Block one = begin(), two = begin();
  EXPECT_TRUE(one.transaction->set_savepoint().ok());
  EXPECT_EQ(one.run("SELECT 1 FROM t WHERE a = 1 FOR UPDATE"), "SELECT 1");
  EXPECT_EQ(two.run("SELECT 1 FROM t WHERE a = 1 FOR UPDATE NOWAIT"), "55P03");
  EXPECT_TRUE(one.transaction->roll_back_to(0).ok());
  EXPECT_EQ(two.run("SELECT 1 FROM t WHERE a = 1 FOR UPDATE NOWAIT"), "SELECT 1");
  EXPECT_EQ(one.run("SELECT 1 FROM t WHERE a = 2 FOR SHARE"), "SELECT 1");
  std::string outcome;
  std::thread thread([&] { outcome = one.run("SELECT 1 FROM t WHERE a = 1 FOR SHARE"); });
  while (engine_->waits().count() == 0) std::this_thread::yield();
  EXPECT_EQ(two.run("UPDATE t SET b = 1 WHERE a = 2"), "40P01");
  two.transaction.reset();
  thread.join();
  EXPECT_EQ(outcome, "SELECT 1");
  const query::SettingValues settings{{"lock_timeout", "20ms"}};
  two = begin();
  two.settings = &settings;
  EXPECT_EQ(two.run("SELECT 1 FROM t FOR NO KEY UPDATE"), "55P03");
}

// The first statement that needs the node alone waits for reserved rows, with what its block has done before.
TEST_P(TentativeTest, WhoGoesOnAloneWaitsFirst) {
  all({"CREATE TABLE t (a integer PRIMARY KEY, b integer)", "INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)"});
  Block one = begin(), two = begin();
  EXPECT_EQ(one.run("UPDATE t SET b = 1 WHERE a = 1"), "UPDATE 1");
  EXPECT_EQ(two.run("UPDATE t SET b = 2 WHERE a = 2"), "UPDATE 1");
  std::string outcome;
  std::thread thread([&] { outcome = two.run("SELECT x.b FROM (SELECT b FROM t LIMIT 9) x FOR UPDATE OF x"); });
  while (engine_->waits().count() == 0) std::this_thread::yield();
  EXPECT_EQ(run("UPDATE t SET b = 3 WHERE a = 3"), "UPDATE 1");
  EXPECT_EQ(one.commit(), "00000");
  thread.join();
  EXPECT_EQ(outcome, "SELECT 3");
  EXPECT_EQ(two.number("SELECT sum(b)::bigint FROM t"), 6);
  EXPECT_EQ(two.commit(), "00000");
  EXPECT_EQ(number("SELECT sum(b)::bigint FROM t"), 6);
}

// Counters that are read, locked and written, and queues of jobs: in blocks, by single statements and in routines.
TEST_P(TentativeTest, HistoriesOfLockedRows) {
  const uint64_t seed = 20261130;
  SCOPED_TRACE(seed);
  all({"CREATE TABLE counter (id integer PRIMARY KEY, n bigint NOT NULL) PARTITION BY HASH (id)",
       "INSERT INTO counter SELECT i, 0 FROM generate_series(1, 3) i",
       "CREATE TABLE jobs (id integer PRIMARY KEY, state text, runs integer NOT NULL DEFAULT 0)",
       "INSERT INTO jobs SELECT i, 'new' FROM generate_series(1, 60) i",
       "CREATE FUNCTION raise_counter(k integer) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE x bigint; BEGIN "
       "SELECT n INTO x FROM counter WHERE id = k FOR UPDATE; UPDATE counter SET n = x + 1 WHERE id = k; RETURN x; END "
       "$$"});
  std::atomic<int64_t> raised{0}, taken{0};
  const auto raise = [&](uint64_t number, Random* random) {
    const std::string id = std::to_string(random->between(1, 3));
    if (number == 0) {
      EXPECT_EQ(run("SELECT raise_counter(" + id + ")"), "SELECT 1");
      raised += 1;
      return;
    }
    Block block = begin();
    const int64_t n = block.number("SELECT n FROM counter WHERE id = " + id + " FOR UPDATE");
    EXPECT_EQ(block.run("UPDATE counter SET n = " + std::to_string(n + 1) + " WHERE id = " + id), "UPDATE 1");
    if (random->one_in(4)) return;  // taken back
    EXPECT_EQ(block.commit(), "00000");
    raised += 1;
  };
  const auto take = [&](uint64_t number) {
    const std::string pick = "SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";
    if (number == 0) {
      const std::string done = run("UPDATE jobs SET state = 'done', runs = runs + 1 WHERE id = (" + pick + ")");
      EXPECT_EQ(done.substr(0, 7), "UPDATE ");
      taken += done == "UPDATE 1" ? 1 : 0;
      return;
    }
    Block block = begin();
    query::ResultSet result;
    EXPECT_TRUE(block.transaction->execute(pick, {}, &result, {}).ok());
    if (result.row_count() == 0) return;
    const std::string id = std::to_string(result.value(0, 0).lo);
    EXPECT_EQ(block.run("UPDATE jobs SET state = 'done', runs = runs + 1 WHERE id = " + id), "UPDATE 1");
    EXPECT_EQ(block.commit(), "00000");
    taken += 1;
  };
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Random random(seed + i);
      for (int n = 0; n < test_slice(40, 20); ++n) {
        raise(i, &random);
        take(i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(engine_->reservations().any());
  EXPECT_EQ(engine_->waits().count(), 0u);
  EXPECT_EQ(number("SELECT sum(n)::bigint FROM counter"), raised.load());
  EXPECT_EQ(number("SELECT sum(runs)::bigint FROM jobs"), taken.load());
  EXPECT_EQ(number("SELECT count(*) FROM jobs WHERE runs > 1"), 0);
  open();
  EXPECT_EQ(number("SELECT sum(n)::bigint FROM counter"), raised.load());
}

INSTANTIATE_TEST_SUITE_P(Modes, TentativeTest, testing::Values(RedoMode::kLogical, RedoMode::kPhysical));

}  // namespace
}  // namespace scyper::primary
