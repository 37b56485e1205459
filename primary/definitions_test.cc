#include <gtest/gtest.h>

#include "base/simulated_disk.h"
#include "testing/bank.h"

// What definitions add to the catalog survives restarts: by the log alone, and by archive and log.
namespace scyper::primary {
namespace {

EngineOptions log_options(Disk* disk, RedoMode redo) {
  EngineOptions options = Bank::small_options();
  options.memory_bytes = size_t{128} << 20;
  options.redo = redo;
  options.log.directory = "/data";
  options.log.segment_bytes = 256 << 10;
  options.log.disk = disk;
  options.log.on_failure = [](const Status&) {};
  return options;
}

Status run(PartitionEngine* engine, std::string_view sql) {
  query::ResultSet result;
  return engine->execute(sql, {}, &result);
}
std::string state(PartitionEngine* engine, std::string_view sql) { return std::string(sqlstate_of(run(engine, sql))); }

int64_t number(PartitionEngine* engine, std::string_view sql) {
  query::ResultSet result;
  Status status = engine->execute(sql, {}, &result);
  EXPECT_TRUE(status.ok()) << sql << ": " << status;
  return status.ok() && result.row_count() == 1 ? result.value(0, 0).lo : -1;
}

class DefinitionsTest : public testing::TestWithParam<std::tuple<RedoMode, bool>> {
 protected:
  void open() {
    engine_.reset();
    auto engine = PartitionEngine::create(log_options(&disk_, std::get<0>(GetParam())));
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
  }
  void restart() {
    if (std::get<1>(GetParam())) ASSERT_TRUE(engine_->write_archive("", nullptr).ok());
    open();
  }
  void all(std::initializer_list<const char*> statements) {
    for (const char* sql : statements) {
      Status status = run(engine_.get(), sql);
      ASSERT_TRUE(status.ok()) << sql << ": " << status;
    }
  }

  SimulatedDisk disk_;
  std::unique_ptr<PartitionEngine> engine_;
};

TEST_P(DefinitionsTest, SequencesGoOn) {
  open();
  all({"CREATE SEQUENCE s", "CREATE TABLE t (id bigserial PRIMARY KEY, v integer)",
       "CREATE TABLE i (id integer GENERATED ALWAYS AS IDENTITY, h integer) PARTITION BY HASH (h)"});
  for (int i = 0; i < 20; i++) {
    all({"INSERT INTO t (v) VALUES (1), (2)"});
    ASSERT_TRUE(run(engine_.get(), "INSERT INTO i (h) VALUES (" + std::to_string(i) + ")").ok());
  }
  EXPECT_EQ(number(engine_.get(), "SELECT nextval('s')"), 1);
  EXPECT_EQ(number(engine_.get(), "SELECT nextval('s')"), 2);
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT nextval('s')"), 3);
  EXPECT_EQ(number(engine_.get(), "INSERT INTO t (v) VALUES (1) RETURNING id"), 41);
  EXPECT_EQ(number(engine_.get(), "INSERT INTO i (h) VALUES (5) RETURNING id"), 21);
  EXPECT_EQ(number(engine_.get(), "SELECT count(DISTINCT id) FROM i"), 21);
  all({"ALTER SEQUENCE s RESTART WITH 100"});
  EXPECT_EQ(number(engine_.get(), "SELECT setval('t_id_seq', 500)"), 500);
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT nextval('s')"), 100);
  EXPECT_EQ(number(engine_.get(), "INSERT INTO t (v) VALUES (1) RETURNING id"), 501);
  EXPECT_EQ(state(engine_.get(), "INSERT INTO i (id, h) VALUES (1, 1)"), "428C9");
}

TEST_P(DefinitionsTest, SequencesGoOnBehindCommitsInProcedures) {
  open();
  all({"CREATE SEQUENCE s", "CREATE TABLE t (id bigserial PRIMARY KEY, v bigint)",
       "CREATE PROCEDURE fill() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t (v) VALUES (1), (2); COMMIT; "
       "PERFORM nextval('s'); COMMIT; ROLLBACK; END $$",
       "CALL fill()"});
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT nextval('s')"), 2);
  EXPECT_EQ(number(engine_.get(), "INSERT INTO t (v) VALUES (1) RETURNING id"), 3);
}

TEST_P(DefinitionsTest, ConstraintsHold) {
  open();
  all({"CREATE TABLE p (id integer PRIMARY KEY, v integer CHECK (v > 0))",
       "CREATE TABLE c (id integer PRIMARY KEY, p integer REFERENCES p ON DELETE CASCADE, d integer "
       "GENERATED ALWAYS AS (id * 2) STORED)",
       "INSERT INTO p VALUES (1, 1), (2, 2)", "INSERT INTO c VALUES (1, 1), (2, 2), (3, 2)",
       "INSERT INTO c VALUES (3, 1) ON CONFLICT (id) DO UPDATE SET p = excluded.p", "DELETE FROM p WHERE id = 2"});
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT sum(id * 10 + p) FROM c"), 42);
  EXPECT_EQ(number(engine_.get(), "SELECT sum(d) FROM c"), 8);
  EXPECT_EQ(state(engine_.get(), "INSERT INTO p VALUES (3, 0)"), "23514");
  EXPECT_EQ(state(engine_.get(), "INSERT INTO c VALUES (9, 9)"), "23503");
  EXPECT_EQ(state(engine_.get(), "DROP TABLE p"), "2BP01");
  all({"DELETE FROM p"});
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM c"), 0);
}

TEST_P(DefinitionsTest, ChangedTablesStay) {
  open();
  all({"CREATE TABLE t (a integer, b text)", "CREATE TABLE h (k integer PRIMARY KEY, v text) PARTITION BY HASH (k)",
       "INSERT INTO t SELECT g, 'x' || g FROM generate_series(1, 50) g", "DELETE FROM t WHERE a % 3 = 0",
       "INSERT INTO h SELECT g, 'y' || g FROM generate_series(1, 50) g"});
  restart();
  all({"ALTER TABLE t ADD COLUMN n bigserial, ADD c integer DEFAULT 7", "ALTER TABLE t DROP COLUMN b",
       "UPDATE t SET c = n WHERE a = 50", "ALTER TABLE t ADD PRIMARY KEY (a)", "ALTER TABLE t DROP CONSTRAINT t_pkey",
       "DELETE FROM t WHERE a = 49", "ALTER TABLE h ADD COLUMN w integer DEFAULT 1, ALTER v TYPE varchar(9)",
       "UPDATE h SET w = 5 WHERE k = 9", "ALTER TABLE h RENAME TO renamed", "ALTER TABLE renamed RENAME v TO text",
       "ALTER TABLE renamed ADD CHECK (w < 6)", "COMMENT ON TABLE renamed IS 'kept'"});
  const int64_t sum = number(engine_.get(), "SELECT sum(a * 1000 + n * c)::bigint FROM t");
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT sum(a * 1000 + n * c)::bigint FROM t"), sum);
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM t"), 33);
  EXPECT_EQ(number(engine_.get(), "SELECT sum(w + length(text)) FROM renamed"), 195);
  EXPECT_EQ(state(engine_.get(), "UPDATE renamed SET w = 6"), "23514");
  all({"UPDATE t SET c = 0", "DELETE FROM t WHERE a < 25", "ALTER TABLE renamed DROP COLUMN text"});
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM t WHERE c = 0"), 17);
}

TEST_P(DefinitionsTest, LoadsAreChecked) {
  open();
  all({"CREATE TABLE p (id integer PRIMARY KEY)", "INSERT INTO p VALUES (1), (2)",
       "CREATE TABLE c (id integer, p integer REFERENCES p, v integer CHECK (v > 0), w integer GENERATED ALWAYS AS (v "
       "+ "
       "1) STORED)"});
  auto load = [&](std::initializer_list<int64_t> values) {
    std::vector<Datum> row;
    for (int64_t value : values) row.push_back(int_datum(value));
    return std::string(sqlstate_of(engine_->load("c", row)));
  };
  EXPECT_EQ(load({1, 1, 1, 0, 2, 3, 1, 0}), "23503");
  EXPECT_EQ(load({1, 1, 1, 0, 2, 2, 0, 0}), "23514");
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM c"), 0);
  EXPECT_EQ(load({1, 1, 5, 0, 2, 2, 6, 0}), "00000");
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT sum(w) FROM c"), 13);
}

INSTANTIATE_TEST_SUITE_P(Modes, DefinitionsTest,
                         testing::Combine(testing::Values(RedoMode::kLogical, RedoMode::kPhysical), testing::Bool()));

}  // namespace
}  // namespace scyper::primary
