#include <gtest/gtest.h>

#include <thread>

#include "primary/blocks.h"
#include "testing/bank.h"
#include "testing/engine_statements.h"

// Blocks in SERIALIZABLE: their statements fit together, and they stop nobody.
namespace scyper::primary {
namespace {

constexpr const char* kConflict = "40001";

class SerializableTest : public EngineStatements, public testing::TestWithParam<RedoMode> {
 protected:
  void SetUp() override {
    EngineOptions options = Bank::small_options();
    options.memory_bytes = size_t{128} << 20;
    options.redo = GetParam();
    start(options);
    all({"CREATE TABLE t (a integer PRIMARY KEY, b integer) PARTITION BY HASH (a)",
         "INSERT INTO t SELECT i, 0 FROM generate_series(1, 20) i", "CREATE TABLE log (what integer)",
         "CREATE TABLE other (a integer PRIMARY KEY, b integer)", "INSERT INTO other VALUES (1, 0), (2, 0)"});
  }

  Block begin() {
    auto transaction = begin_block(engine_.get(), BlockLevel::kSerializable);
    EXPECT_TRUE(transaction.ok()) << transaction.status();
    return {*std::move(transaction)};
  }
};

TEST_P(SerializableTest, ChangesElsewhereDoNotMatter) {
  Block block = begin();
  EXPECT_EQ(block.number("SELECT b FROM t WHERE a = 1"), 0);
  all({"UPDATE t SET b = 7 WHERE a <> 1", "INSERT INTO log VALUES (1)"});
  EXPECT_EQ(block.run("UPDATE t SET b = b + 1 WHERE a = 1"), "UPDATE 1");
  all({"UPDATE t SET b = 8 WHERE a <> 1", "INSERT INTO t VALUES (21, 0)"});
  EXPECT_EQ(block.commit(), "00000");
  EXPECT_EQ(number("SELECT b FROM t WHERE a = 1"), 1);
}

TEST_P(SerializableTest, UpdatesAreNotLost) {
  Block block = begin();
  EXPECT_EQ(block.number("SELECT b FROM t WHERE a = 1"), 0);
  all({"UPDATE t SET b = 5 WHERE a = 1"});
  EXPECT_EQ(block.run("UPDATE t SET b = 1 WHERE a = 1"), kConflict);
  block.transaction.reset();
  EXPECT_EQ(number("SELECT b FROM t WHERE a = 1"), 5);
}

TEST_P(SerializableTest, StatesDoNotMix) {
  Block block = begin();
  EXPECT_EQ(block.number("SELECT b FROM t WHERE a = 1"), 0);
  all({"UPDATE t SET b = 5 WHERE a IN (1, 2)"});
  EXPECT_EQ(block.run("SELECT b FROM t WHERE a = 2"), kConflict);
}

TEST_P(SerializableTest, WriteSkewAndPhantoms) {
  for (const char* read : {"SELECT sum(b)::bigint FROM t WHERE a IN (1, 2)", "SELECT count(*) FROM t WHERE b > 0"}) {
    Block one = begin(), other = begin();
    EXPECT_EQ(one.number(read), 0);
    EXPECT_EQ(other.number(read), 0);
    EXPECT_EQ(one.run("UPDATE t SET b = 1 WHERE a = 1"), "UPDATE 1");
    EXPECT_EQ(other.run("UPDATE t SET b = 1 WHERE a = 2"), "UPDATE 1");
    EXPECT_EQ(one.commit(), "00000");
    EXPECT_EQ(other.commit(), kConflict);
    all({"UPDATE t SET b = 0"});
  }
  EXPECT_FALSE(engine_->reservations().any());
}

// What a statement that changes rows has read counts as well.
TEST_P(SerializableTest, ConditionsOfChanges) {
  Block block = begin();
  EXPECT_EQ(block.run("UPDATE t SET b = 1 WHERE b = 9"), "UPDATE 0");
  EXPECT_EQ(block.run("INSERT INTO other SELECT 100, count(*) FROM t WHERE a > 100"), "INSERT 0 1");
  all({"UPDATE t SET b = 3 WHERE a = 7"});
  EXPECT_EQ(block.run("UPDATE other SET b = 1 WHERE a = 1"), "UPDATE 1");
  all({"UPDATE t SET b = 9 WHERE a = 7"});
  EXPECT_EQ(block.commit(), kConflict);
  EXPECT_EQ(number("SELECT count(*) FROM other"), 2);
}

TEST_P(SerializableTest, OwnChangesAndRowsWithoutKey) {
  Block block = begin();
  EXPECT_EQ(block.run("INSERT INTO log VALUES (1), (2)"), "INSERT 0 2");
  EXPECT_EQ(block.run("UPDATE log SET what = what + 10 WHERE what = 2"), "UPDATE 1");
  all({"INSERT INTO log VALUES (50)"});  // takes the hidden ids
  EXPECT_EQ(block.number("SELECT count(*) FROM log WHERE what = 12"), 1);
  EXPECT_EQ(block.run("DELETE FROM log WHERE what = 12"), "DELETE 1");
  all({"INSERT INTO log VALUES (51)"});
  EXPECT_EQ(block.run("UPDATE log SET what = 2 WHERE what = 1"), "UPDATE 1");
  all({"INSERT INTO log VALUES (52)"});
  EXPECT_EQ(block.commit(), "00000");
  EXPECT_EQ(number("SELECT sum(what)::bigint FROM log"), 50 + 51 + 52 + 2);
}

// Another row that looks the same is not the same row.
TEST_P(SerializableTest, TheRowThatWasChanged) {
  all({"INSERT INTO log VALUES (1), (3)"});
  Block block = begin();
  EXPECT_EQ(block.run("UPDATE log SET what = 7 WHERE what = (SELECT min(what) FROM log)"), "UPDATE 1");
  all({"INSERT INTO log VALUES (0)"});
  EXPECT_EQ(block.commit(), kConflict);
}

TEST_P(SerializableTest, DrawnValuesAreGivenAgain) {
  all({"CREATE SEQUENCE s", "CREATE TABLE keyed (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, r float8)"});
  Block block = begin();
  EXPECT_EQ(block.number("SELECT nextval('s')"), 1);
  EXPECT_EQ(block.run("INSERT INTO keyed (r) VALUES (random()), (random())"), "INSERT 0 2");
  EXPECT_EQ(block.number("SELECT currval('s')"), 1);
  EXPECT_EQ(block.run("INSERT INTO other SELECT 10 + nextval('s'), 0 FROM other"), "INSERT 0 2");
  EXPECT_EQ(block.run("SELECT clock_timestamp(), gen_random_uuid()"), "SELECT 1");
  all({"INSERT INTO keyed (r) VALUES (0)", "UPDATE t SET b = 1", "ALTER TABLE t ADD COLUMN c integer"});
  EXPECT_EQ(number("SELECT nextval('s')"), 4);
  EXPECT_EQ(block.number("SELECT lastval()"), 3);
  EXPECT_EQ(block.commit(), "00000");
  EXPECT_EQ(number("SELECT sum(id)::bigint FROM keyed"), 6);
  EXPECT_EQ(number("SELECT nextval('s')"), 5);
}

// What was taken back has been seen.
TEST_P(SerializableTest, ReadsBehindASavepointCount) {
  for (const bool changes : {false, true}) {
    Block block = begin();
    EXPECT_EQ(block.run("UPDATE t SET b = 1 WHERE a = 1"), "UPDATE 1");
    EXPECT_TRUE(block.transaction->set_savepoint().ok());
    EXPECT_EQ(block.run("INSERT INTO log VALUES (1)"), "INSERT 0 1");
    EXPECT_EQ(block.number("SELECT count(*) FROM log"), 1);
    EXPECT_EQ(block.run("INSERT INTO other VALUES (1, 1)"), "23505");
    EXPECT_TRUE(block.transaction->roll_back_to(0).ok());
    EXPECT_EQ(block.run("UPDATE t SET b = 2 WHERE a = 1"), "UPDATE 1");
    all({changes ? "INSERT INTO log VALUES (5)" : "UPDATE t SET b = 1 WHERE a = 5"});
    EXPECT_EQ(block.commit(), changes ? kConflict : "00000");
  }
  EXPECT_EQ(number("SELECT b FROM t WHERE a = 1"), 2);
}

// The same where the failed statement alone has read.
TEST_P(SerializableTest, FailuresCount) {
  Block block = begin();
  EXPECT_TRUE(block.transaction->set_savepoint().ok());
  EXPECT_EQ(block.run("INSERT INTO other VALUES (1, 1)"), "23505");
  EXPECT_TRUE(block.transaction->roll_back_to(0).ok());
  EXPECT_EQ(block.run("UPDATE t SET b = 2 WHERE a = 1"), "UPDATE 1");
  all({"DELETE FROM other WHERE a = 1"});
  EXPECT_EQ(block.commit(), kConflict);
}

TEST_P(SerializableTest, RunsAloneFromADefinitionOn) {
  for (const bool changes : {false, true}) {
    Block block = begin();
    EXPECT_EQ(block.number("SELECT b FROM t WHERE a = 1"), 0);
    EXPECT_EQ(block.run("UPDATE t SET b = 1 WHERE a = 2"), "UPDATE 1");
    all({changes ? "UPDATE t SET b = 1 WHERE a = 1" : "UPDATE t SET b = 1 WHERE a = 5"});
    EXPECT_EQ(block.run("CREATE TABLE made (a integer)"), changes ? kConflict : "CREATE TABLE");
    if (!changes) EXPECT_EQ(block.commit(), "00000");
  }
}

TEST_P(SerializableTest, QueriesOnASnapshotBefore) {
  const auto read = [&](std::string_view sql, int64_t value, bool is_whole) {
    auto made = std::make_shared<SnapshotRead>();
    made->text = sql;
    query::ResultSet rows;
    rows.columns = {{"n", make_type(TypeId::kInt8)}};
    rows.append(rows.columns[0].type, int_datum(value));
    made->rows.add(rows);
    made->lsn = engine_->last_lsn();
    made->is_whole = is_whole;
    return made;
  };
  struct Case {
    int64_t value;
    bool is_whole;
    const char* beside;
    const char* outcome;
  };
  for (const Case& each : std::initializer_list<Case>{
           {20, true, "UPDATE other SET b = 1", "UPDATE 1"},
           {19, false, "UPDATE other SET b = 1", "UPDATE 1"},         // not looked at: nobody has changed the table
           {20, true, "UPDATE t SET b = 3 WHERE a = 4", "UPDATE 1"},  // runs again
           {20, false, "UPDATE t SET b = 3 WHERE a = 4", kConflict},
           {19, true, "UPDATE t SET b = 3 WHERE a = 4", kConflict}}) {
    Block block = begin();
    block.transaction->begin_snapshot();
    block.transaction->add_read(read("SELECT count(*) FROM t", each.value, each.is_whole));
    all({each.beside});
    EXPECT_EQ(block.run("UPDATE t SET b = 3 WHERE a = 5"), each.outcome) << each.value << each.beside;
    if (std::string_view(each.outcome) != kConflict) EXPECT_EQ(block.commit(), "00000");
  }
}

// Each takes from one of two rows while their sum allows it: it never falls below zero.
TEST_P(SerializableTest, ManyAtOnce) {
  all({"UPDATE t SET b = 20 WHERE a IN (1, 2)"});
  std::atomic<int> committed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 30; ++k) {
        Block block = begin();
        query::ResultSet sum;
        if (!block.transaction->execute("SELECT sum(b)::bigint FROM t WHERE a IN (1, 2)", {}, &sum, {}).ok()) continue;
        if (sum.value(0, 0).lo < 1) break;
        const std::string update = "UPDATE t SET b = b - 1 WHERE a = " + std::to_string(1 + i % 2);
        if (block.run(update) == "UPDATE 1" && block.commit() == "00000") ++committed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(committed.load(), 0);
  EXPECT_LE(committed.load(), 40);
  EXPECT_EQ(number("SELECT sum(b)::bigint FROM t WHERE a IN (1, 2)"), 40 - committed.load());
  EXPECT_FALSE(engine_->versions().is_watched());
}

INSTANTIATE_TEST_SUITE_P(Redo, SerializableTest,
                         testing::Values(RedoMode::kNone, RedoMode::kLogical, RedoMode::kPhysical));

}  // namespace
}  // namespace scyper::primary
