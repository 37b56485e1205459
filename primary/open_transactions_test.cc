#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/simulated_disk.h"
#include "primary/blocks.h"
#include "query/search_path.h"
#include "testing/bank.h"

// Open transactions and temporary tables: what restarts find of them.
namespace scyper::primary {
namespace {

constexpr const char* kSession = "pg_temp_7";

EngineOptions open_options(Disk* disk, RedoMode redo) {
  EngineOptions options = Bank::small_options();
  options.memory_bytes = size_t{128} << 20;
  options.redo = redo;
  options.log.directory = "/data";
  options.log.disk = disk;
  options.log.on_failure = [](const Status&) {};
  return options;
}

class OpenTransactionTest : public testing::TestWithParam<std::tuple<RedoMode, bool>> {
 protected:
  void open(uint64_t transaction_time_us = 60'000'000) {
    engine_.reset();
    EngineOptions options = open_options(&disk_, std::get<0>(GetParam()));
    options.transaction_time_us_max = transaction_time_us;
    auto engine = PartitionEngine::create(options);
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
  }
  void restart() {
    if (std::get<1>(GetParam())) {
      const Status status = engine_->write_archive("", nullptr).status();
      ASSERT_TRUE(status.ok()) << status;
    }
    open();
  }
  // As a session of PostgreSQL's protocol does it.
  std::string text(std::string_view sql) const {
    if (!engine_->has_temporary_tables(kSession)) return std::string(sql);
    return query::with_search_path(query::path_with_temporary({}, kSession), sql);
  }
  StatementLimits limits() const {
    StatementLimits limits;
    limits.settings = &settings_;
    return limits;
  }
  Status run(std::string_view sql) {
    query::ResultSet result;
    return engine_->execute(text(sql), {}, &result, limits());
  }
  void all(std::initializer_list<const char*> statements) {
    for (const char* sql : statements) {
      const Status status = run(sql);
      ASSERT_TRUE(status.ok()) << sql << ": " << status;
    }
  }
  static int64_t number_of(const Status& status, const query::ResultSet& result) {
    EXPECT_TRUE(status.ok()) << status;
    return status.ok() && result.row_count() == 1 ? result.value(0, 0).lo : -1;
  }
  int64_t number(std::string_view sql) {
    query::ResultSet result;
    const Status status = engine_->execute(text(sql), {}, &result, limits());
    return number_of(status, result);
  }
  std::string state(std::string_view sql) { return std::string(sqlstate_of(run(sql))); }
  std::string step(OpenTransaction* transaction, std::string_view sql) {
    query::ResultSet result;
    return std::string(sqlstate_of(transaction->execute(text(sql), {}, &result, limits())));
  }
  int64_t number(OpenTransaction* transaction, std::string_view sql) {
    query::ResultSet result;
    const Status status = transaction->execute(text(sql), {}, &result, limits());
    return number_of(status, result);
  }
  std::unique_ptr<OpenTransaction> begin() {
    auto transaction = engine_->begin();
    EXPECT_TRUE(transaction.ok()) << transaction.status();
    return transaction.ok() ? *std::move(transaction) : nullptr;
  }

  SimulatedDisk disk_;
  const query::SettingValues settings_{{std::string(query::kTemporarySchemaSetting), kSession}};
  std::unique_ptr<PartitionEngine> engine_;
};

TEST_P(OpenTransactionTest, CommitsAllOrNothing) {
  open();
  all({"CREATE TABLE t (a integer PRIMARY KEY, b text)"});
  {
    auto transaction = begin();
    EXPECT_EQ(step(transaction.get(), "INSERT INTO t VALUES (1, 'x'), (2, 'y')"), "00000");
    EXPECT_EQ(step(transaction.get(), "CREATE TABLE u (k bigserial PRIMARY KEY, v text)"), "00000");
    EXPECT_EQ(step(transaction.get(), "INSERT INTO t VALUES (1, 'again')"), "23505");
    EXPECT_EQ(step(transaction.get(), "INSERT INTO u (v) SELECT b FROM t"), "00000");
    EXPECT_TRUE(transaction->set_savepoint().ok());
    EXPECT_EQ(step(transaction.get(), "ALTER TABLE u ADD COLUMN w integer DEFAULT 5"), "00000");
    EXPECT_EQ(step(transaction.get(), "DELETE FROM t"), "00000");
    EXPECT_TRUE(transaction->roll_back_to(0).ok());
    EXPECT_EQ(step(transaction.get(), "SELECT w FROM u"), "42703");
    EXPECT_EQ(number(transaction.get(), "SELECT count(*) FROM t JOIN u ON b = v"), 2);
    EXPECT_TRUE(transaction->commit().ok());
  }
  {
    auto transaction = begin();
    EXPECT_EQ(step(transaction.get(), "DROP TABLE u"), "00000");
    EXPECT_EQ(step(transaction.get(), "UPDATE t SET b = 'lost'"), "00000");
  }  // taken back
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(number("SELECT count(*) FROM t WHERE b <> 'lost'"), 2);
    EXPECT_EQ(number("SELECT sum(k)::bigint FROM u"), 3);
    all({"UPDATE t SET b = b || '.'"});
    restart();
  }
  EXPECT_EQ(number("INSERT INTO u (v) VALUES ('z') RETURNING k"), 3);
}

// COPY FROM STDIN as one of the statements, of a table that the transaction has made, too.
TEST_P(OpenTransactionTest, CopiesRows) {
  open();
  all({"CREATE TABLE t (id integer PRIMARY KEY, v integer CHECK (v < 100))", "INSERT INTO t VALUES (1, 1)"});
  auto transaction = engine_->begin();
  ASSERT_TRUE(transaction.ok()) << transaction.status();
  const auto copy = [&](std::string_view sql, std::string_view rows) {
    auto in = (*transaction)->open_copy(sql);
    if (!in.ok()) return std::string(sqlstate_of(in.status()));
    Status status = (*in)->add(rows);
    query::ResultSet result;
    if (status.ok()) status = (*in)->finish(limits(), &result);
    return status.ok() ? result.command_tag : std::string(sqlstate_of(status));
  };
  EXPECT_EQ(step(transaction->get(), "CREATE TABLE made (a integer, b text)"), "00000");
  EXPECT_EQ(copy("COPY made FROM STDIN", "1\tone\n2\ttwo\n"), "COPY 2");
  EXPECT_EQ(copy("COPY t FROM STDIN (FORMAT csv)", "2,2\n3,3\n"), "COPY 2");
  // what fails leaves no trace of itself, and the transaction goes on
  EXPECT_EQ(copy("COPY t FROM STDIN", "4\t4\n3\t3\n"), "23505");
  EXPECT_EQ(copy("COPY t FROM STDIN", "4\t4\n5\t500\n"), "23514");
  EXPECT_EQ(copy("COPY t FROM STDIN", "4\tx\n"), "22P02");
  EXPECT_EQ(copy("COPY nothing FROM STDIN", ""), "42P01");
  ASSERT_TRUE((*transaction)->set_savepoint().ok());
  EXPECT_EQ(copy("COPY t (id) FROM STDIN", "6\n7\n"), "COPY 2");
  ASSERT_TRUE((*transaction)->roll_back_to(0).ok());
  EXPECT_EQ(step(transaction->get(), "INSERT INTO made SELECT id, 'of t' FROM t"), "00000");
  ASSERT_TRUE((*transaction)->commit().ok());
  transaction->reset();
  const auto check = [&] {
    EXPECT_EQ(number("SELECT sum(id * 10 + v)::bigint FROM t"), 66);
    EXPECT_EQ(number("SELECT count(*) FROM made"), 5);
  };
  check();
  restart();
  check();
  // what is not committed is gone, begun COPYs, too
  transaction = engine_->begin();
  ASSERT_TRUE(transaction.ok());
  EXPECT_EQ(copy("COPY t FROM STDIN", "8\t8\n"), "COPY 1");
  auto begun = (*transaction)->open_copy("COPY t FROM STDIN");
  ASSERT_TRUE(begun.ok() && (*begun)->add("9\t9\n").ok());
  begun->reset();
  transaction->reset();
  check();
}

TEST_P(OpenTransactionTest, OthersWaitAndForksDoNot) {
  open();
  all({"CREATE TABLE t (a integer PRIMARY KEY)"});
  auto transaction = begin();
  EXPECT_EQ(step(transaction.get(), "INSERT INTO t VALUES (1)"), "00000");
  auto forked = engine_->fork({});  // beside what is open
  EXPECT_TRUE(forked.ok()) << forked.status();
  std::thread other([&] { EXPECT_EQ(state("INSERT INTO t VALUES (2)"), "00000"); });
  EXPECT_EQ(number(transaction.get(), "SELECT count(*) FROM t"), 1);
  EXPECT_TRUE(transaction->commit().ok());
  other.join();
  EXPECT_EQ(number("SELECT count(*) FROM t"), 2);
}

TEST_P(OpenTransactionTest, IdleClientsLoseIt) {
  open(/*transaction_time_us=*/100'000);
  all({"CREATE TABLE t (a integer PRIMARY KEY)"});
  auto transaction = begin();
  EXPECT_EQ(step(transaction.get(), "INSERT INTO t VALUES (1)"), "00000");
  EXPECT_EQ(state("INSERT INTO t VALUES (2)"), "00000");  // when the other one is over
  EXPECT_EQ(step(transaction.get(), "INSERT INTO t VALUES (3)"), "25P03");
  EXPECT_EQ(sqlstate_of(transaction->commit()), "25P03");
  EXPECT_EQ(number("SELECT sum(a) FROM t"), 2);
}

// A statement that waits for its turn ends when it is cancelled or late, not when its turn comes. It is not done then.
TEST_P(OpenTransactionTest, WhoWaitsForItCanLeave) {
  open();
  all({"CREATE TABLE t (a integer PRIMARY KEY)", "INSERT INTO t VALUES (1)"});
  auto block = begin_block(engine_.get(), BlockLevel::kReadCommitted);
  ASSERT_TRUE(block.ok()) << block.status();
  EXPECT_EQ(step(block->get(), "INSERT INTO t VALUES (2)"), "00000");
  auto alone = begin();
  EXPECT_EQ(step(alone.get(), "CREATE TABLE other (a integer)"), "00000");
  std::atomic<bool> is_cancelled{true};
  const auto begin_ns = engine_->now_ns();
  for (const bool is_late : {false, true}) {
    StatementLimits bounds = limits();
    query::ResultSet result;
    const auto bound = [&] {
      if (!is_late) bounds.cancelled = &is_cancelled;
      if (is_late) bounds.deadline_ns = engine_->now_ns() + 20'000'000;
    };
    for (const char* sql : {"UPDATE t SET a = a + 10", "SELECT a FROM t WHERE a = 1", "CREATE TABLE third (a integer)",
                            "DO $$ BEGIN DELETE FROM t; END $$"}) {
      bound();
      EXPECT_EQ(sqlstate_of(engine_->execute(sql, {}, &result, bounds)), "57014") << sql;
    }
    for (const char* sql : {"DELETE FROM t WHERE a = 1", "CREATE TABLE third (a integer)"}) {
      bound();
      EXPECT_EQ(sqlstate_of((*block)->execute(sql, {}, &result, bounds)), "57014") << sql;
    }
    bound();
    const auto copy = engine_->open_copy("COPY t FROM STDIN");
    ASSERT_TRUE(copy.ok()) << copy.status();
    EXPECT_TRUE((*copy)->add("77\n").ok());
    EXPECT_EQ(sqlstate_of((*copy)->finish(bounds, &result)), "57014");
  }
  StatementLimits bounds;
  bounds.cancelled = &is_cancelled;
  EXPECT_EQ(sqlstate_of((*block)->commit(bounds)), "57014");
  EXPECT_LT(engine_->now_ns() - begin_ns, 30'000'000'000);
  EXPECT_TRUE(alone->commit().ok());
  EXPECT_EQ(number("SELECT sum(a) FROM t"), 1);
  EXPECT_EQ(state("SELECT 1 FROM third"), "42P01");
  block->reset();
  alone.reset();
  restart();
  EXPECT_EQ(number("SELECT sum(a) FROM t"), 1);
}

TEST_P(OpenTransactionTest, TemporaryTablesLeaveNothing) {
  open();
  all({"CREATE TABLE t (a integer PRIMARY KEY, b text)", "CREATE TEMP TABLE w (id serial PRIMARY KEY, v text)",
       "INSERT INTO w (v) VALUES ('one'), ('two')", "CREATE INDEX ON w (v)", "INSERT INTO t SELECT id, v FROM w",
       "UPDATE w SET v = v || '!'", "DELETE FROM w WHERE id = 1", "CREATE TABLE kept AS SELECT * FROM w",
       "CREATE TEMP TABLE t AS SELECT 77 AS a", "ALTER TABLE w ADD COLUMN n integer DEFAULT 5",
       "CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN CREATE TEMP TABLE x (a integer) ON COMMIT DROP; "
       "INSERT INTO x VALUES (10); INSERT INTO public.t SELECT a, 'p' FROM x; END $$",
       "CALL p()", "TRUNCATE w", "INSERT INTO w (v) VALUES ('more')", "CREATE SCHEMA s",
       "CREATE TABLE s.behind (a bigserial)"});
  EXPECT_EQ(number("SELECT a FROM t"), 77);
  EXPECT_TRUE(engine_->has_temporary_tables(kSession));
  EXPECT_EQ(state("CREATE VIEW v AS SELECT n FROM w"), "00000");  // a temporary one
  EXPECT_EQ(state("CREATE TABLE l (LIKE w)"), "42P01");
  EXPECT_EQ(state("DROP TABLE kept, w"), "0A000");
  restart();
  EXPECT_FALSE(engine_->has_temporary_tables(kSession));
  EXPECT_EQ(number("SELECT sum(a) FROM t"), 13);
  EXPECT_EQ(number("SELECT id FROM kept"), 2);
  EXPECT_EQ(number("INSERT INTO s.behind DEFAULT VALUES RETURNING a"), 1);
  EXPECT_EQ(state("SELECT * FROM w"), "42P01");
  EXPECT_EQ(state("SELECT * FROM v"), "42P01");
  all({"CREATE TEMP TABLE w (a integer)", "DROP TABLE w", "CREATE TEMP TABLE w (a integer)"});
  engine_->drop_temporary_tables(kSession);
  EXPECT_FALSE(engine_->has_temporary_tables(kSession));
  all({"CREATE TABLE w (a integer)"});
}

INSTANTIATE_TEST_SUITE_P(Modes, OpenTransactionTest,
                         testing::Combine(testing::Values(RedoMode::kLogical, RedoMode::kPhysical), testing::Bool()));

}  // namespace
}  // namespace scyper::primary
