#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/simulated_disk.h"
#include "query/role_mark.h"
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
    if (std::get<1>(GetParam())) {
      const Status status = engine_->write_archive("", nullptr).status();
      ASSERT_TRUE(status.ok()) << status;
    }
    open();
  }
  void all(std::initializer_list<const char*> statements) {
    for (const char* sql : statements) {
      Status status = run(engine_.get(), sql);
      ASSERT_TRUE(status.ok()) << sql << ": " << status;
    }
  }
  std::string digests() {
    std::string text;
    for_each_table(engine_.get(), [&](const std::string& name, const storage::Table& table) {
      const storage::Digest digest = storage::table_digest(table);
      absl::StrAppend(&text, name, " ", table.live_tuples(), " ", digest.lo, " ", digest.hi, "\n");
    });
    return text;
  }
  void check() {
    for_each_table(engine_.get(), [](const std::string&, const storage::Table& table) { storage::check_table(table); });
  }
  // Whether the statement is logged as rows.
  bool is_volatile(const char* sql) {
    query::Database& database = engine_->database();
    const auto prepared = database.prepare(sql);
    EXPECT_TRUE(prepared.ok()) << sql;
    const auto program = database.program_of(**prepared);
    EXPECT_TRUE(program.ok()) << sql << program.status();
    return (*program)->footprint().is_volatile;
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

// One record has definitions and rows in their order.
TEST_P(DefinitionsTest, TransactionsDefine) {
  open();
  all({"CREATE TABLE t (a integer PRIMARY KEY, b text)", "INSERT INTO t VALUES (1, 'x'), (2, 'y')", "CREATE SEQUENCE s",
       "CREATE SEQUENCE r",
       "CREATE PROCEDURE build(n integer) LANGUAGE plpgsql AS $$ BEGIN "
       "INSERT INTO t VALUES (3, 'z'); ALTER TABLE t ADD COLUMN c integer DEFAULT 7; UPDATE t SET c = a * n; "
       "CREATE TABLE made (k bigserial PRIMARY KEY, v integer); INSERT INTO made (v) SELECT c FROM t; "
       "CREATE INDEX made_v ON made (v); DELETE FROM made WHERE v = n; "
       "CREATE TABLE copied AS SELECT k, v FROM made; INSERT INTO copied VALUES (99, nextval('s')); "
       "BEGIN DROP TABLE copied; INSERT INTO t VALUES (3); EXCEPTION WHEN unique_violation THEN NULL; END; "
       "CREATE TABLE gone AS SELECT 1 AS a; DROP TABLE gone; "
       "PERFORM nextval('r') FROM t; ALTER SEQUENCE r RESTART WITH 50; END $$",
       "CREATE PROCEDURE fails() LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'CREATE TABLE never (a integer)'; "
       "EXECUTE 'DROP TABLE made'; PERFORM 1 / 0; END $$",
       "CREATE PROCEDURE steps() LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'CREATE TABLE step (a integer)'; "
       "EXECUTE 'INSERT INTO step VALUES (1)'; COMMIT; EXECUTE 'ALTER TABLE step ADD COLUMN b integer'; "
       "PERFORM 1 / 0; END $$",
       "CALL build(10)"});
  EXPECT_EQ(state(engine_.get(), "CALL fails()"), "22012");
  EXPECT_EQ(state(engine_.get(), "CALL steps()"), "22012");
  EXPECT_EQ(state(engine_.get(), "CALL build(10)"), "23505");
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(number(engine_.get(), "SELECT sum(a * 100 + c) FROM t"), 660);
    EXPECT_EQ(number(engine_.get(), "SELECT sum(k * 100 + v) FROM made"), 550);
    EXPECT_EQ(number(engine_.get(), "SELECT sum(k * 100 + v)::bigint FROM copied"), 10451);
    EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM step"), 1);
    EXPECT_EQ(state(engine_.get(), "SELECT b FROM step"), "42703");
    for (const char* sql : {"TABLE gone", "TABLE never"}) EXPECT_EQ(state(engine_.get(), sql), "42P01");
    all({"UPDATE step SET a = 2"});
    restart();
  }
  EXPECT_EQ(number(engine_.get(), "INSERT INTO made (v) VALUES (1) RETURNING k"), 4);
  EXPECT_EQ(number(engine_.get(), "SELECT nextval('s')"), 2);
  EXPECT_EQ(number(engine_.get(), "SELECT nextval('r')"), 50);
  all({"CREATE TABLE behind (a integer)", "INSERT INTO behind VALUES (1)"});
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM behind"), 1);
}

// A plain statement was compiled for the table as it was: no definition by EXECUTE takes it away from under it, and
// what is refused leaves nothing, whatever handlers there are.
TEST_P(DefinitionsTest, TransactionsKeepWhatPlainStatementsUse) {
  open();
  all({"CREATE TABLE t (a integer PRIMARY KEY)", "INSERT INTO t VALUES (1)", "CREATE TABLE u (a integer)",
       "CREATE FUNCTION change(sql text) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN EXECUTE sql; RETURN 1; END $$",
       "CREATE PROCEDURE uses(sql text) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (2); "
       "BEGIN PERFORM change(sql); EXCEPTION WHEN OTHERS THEN NULL; END; INSERT INTO t VALUES (3); END $$"});
  for (const char* sql : {"ALTER TABLE t ADD COLUMN z integer", "DROP TABLE t", "CREATE INDEX t_a ON t (a)",
                          "ALTER TABLE t ADD CHECK (a < 3)", "CREATE TABLE v (a integer REFERENCES t)"}) {
    EXPECT_EQ(state(engine_.get(), "CALL uses('" + std::string(sql) + "')"), "0A000") << sql;
    EXPECT_EQ(state(engine_.get(), "SELECT change('" + std::string(sql) + "') FROM t"), "0A000") << sql;
  }
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM t"), 1);
  EXPECT_EQ(state(engine_.get(), "SELECT z FROM t"), "42703");
  EXPECT_EQ(state(engine_.get(), "CALL uses('DROP TABLE u')"), "00000");
  EXPECT_EQ(number(engine_.get(), "SELECT change('ALTER TABLE t ADD COLUMN z integer DEFAULT 4')"), 1);
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT sum(a + z) FROM t"), 18);
  EXPECT_EQ(state(engine_.get(), "TABLE u"), "42P01");
}

// Definitions are replayed from their texts. Values that would be drawn anew come from the log.
TEST_P(DefinitionsTest, DrawnValuesStay) {
  open();
  all({"CREATE TABLE t (a integer, b text)", "INSERT INTO t SELECT g, 'x' || g FROM generate_series(1, 5) g",
       "CREATE TABLE p (h integer PRIMARY KEY, b text) PARTITION BY HASH (h)",
       "INSERT INTO p SELECT g * 37 % 101, 'x' || g FROM generate_series(1, 60) g", "DELETE FROM p WHERE h % 9 = 0",
       "CREATE FUNCTION dice() RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN random(); END $$",
       "CREATE FUNCTION draw() RETURNS float8 LANGUAGE plpgsql AS $$ BEGIN RETURN random(); END $$",
       "CREATE DOMAIN chance AS float8 CHECK (value < 1)", "CREATE SEQUENCE s",
       "CREATE TABLE k (id integer PRIMARY KEY)"});
  for (const char* table : {"t", "p"}) {
    for (const char* command :
         {"ADD COLUMN u uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE",
          "ADD COLUMN r float8 DEFAULT 1 + random() CHECK (r < 2)", "ADD COLUMN m timestamptz NOT NULL DEFAULT now()",
          "ADD COLUMN l timestamp DEFAULT LOCALTIMESTAMP", "ADD COLUMN c timestamptz DEFAULT clock_timestamp()",
          "ADD COLUMN d float8 DEFAULT dice()", "ADD COLUMN e float8 DEFAULT draw()",
          "ADD COLUMN f chance DEFAULT random()",
          "ADD COLUMN g text DEFAULT 'a text that is too long for its cell ' || gen_random_uuid()",
          "ADD COLUMN k integer[] DEFAULT ARRAY[(random() * 1000)::integer, NULL]",
          "ADD COLUMN x integer DEFAULT random() * 1000, ALTER COLUMN x TYPE chance USING random()",
          "ALTER COLUMN b TYPE text USING b || random()", "ALTER COLUMN d TYPE float8 USING d + dice()",
          "ADD COLUMN n integer DEFAULT nextval('s'), ADD COLUMN o bigserial, ADD COLUMN i integer GENERATED ALWAYS AS "
          "IDENTITY"}) {
      if (std::string_view(table) == "p" && std::string_view(command).ends_with("UNIQUE")) continue;  // without its key
      EXPECT_EQ(state(engine_.get(), "DO $$ BEGIN PERFORM nextval('s'); RAISE 'this draw is lost'; END $$"), "P0001");
      EXPECT_EQ(state(engine_.get(), absl::StrCat("ALTER TABLE ", table, " ", command)), "00000") << command;
    }
    const int64_t rows = number(engine_.get(), absl::StrCat("SELECT count(*) FROM ", table));
    for (const char* column : {"r", "e", "f", "g", "x", "b", "d", "n", "o", "i"})
      EXPECT_EQ(number(engine_.get(), absl::StrCat("SELECT count(DISTINCT ", column, ") FROM ", table)), rows)
          << column;
    for (const char* column : {"m", "l"})
      EXPECT_EQ(number(engine_.get(), absl::StrCat("SELECT count(DISTINCT ", column, ") FROM ", table)), 1) << column;
  }
  EXPECT_EQ(number(engine_.get(), "SELECT count(DISTINCT u) FROM t"), 5);
  EXPECT_EQ(state(engine_.get(), "ALTER TABLE t ADD COLUMN y timestamptz DEFAULT now() UNIQUE"), "23505");
  EXPECT_EQ(state(engine_.get(), "ALTER TABLE t ADD COLUMN y float8 DEFAULT random() CHECK (y > 2)"), "23514");
  EXPECT_EQ(state(engine_.get(), "ALTER TABLE t ADD COLUMN y integer DEFAULT nextval('s') REFERENCES k"), "23503");
  const std::string before = digests();
  restart();
  EXPECT_EQ(digests(), before);
  check();
  EXPECT_EQ(number(engine_.get(), "INSERT INTO t (a, x) VALUES (100, 0) RETURNING o"), 6);
  EXPECT_EQ(number(engine_.get(), "INSERT INTO t (a, x) VALUES (101, 0) RETURNING i"), 7);
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM t WHERE m >= now() - interval '1 hour' AND n > 0"), 7);
}

// In a block they follow row changes, and may be taken back.
TEST_P(DefinitionsTest, DrawnValuesOfBlocksStay) {
  open();
  all({"CREATE SEQUENCE s", "CREATE TABLE p (h integer PRIMARY KEY, b text) PARTITION BY HASH (h)",
       "INSERT INTO p SELECT g, 'a text that is too long for its cell ' || g FROM generate_series(1, 60) g"});
  const auto block = [&](bool commits) {
    auto opened = engine_->begin();
    ASSERT_TRUE(opened.ok()) << opened.status();
    query::ResultSet result;
    for (const char* sql :
         {"DELETE FROM p WHERE h % 7 = 0", "UPDATE p SET b = b || b WHERE h % 5 = 0",
          "ALTER TABLE p ADD COLUMN r float8 DEFAULT random(), ADD COLUMN n integer DEFAULT nextval('s'), ADD COLUMN m "
          "timestamptz DEFAULT now()",
          "INSERT INTO p (h, b) VALUES (7, 'back'), (1000, 'new')", "UPDATE p SET r = r + h WHERE h % 3 = 0",
          "ALTER TABLE p ALTER COLUMN b TYPE text USING left(b, 3) || random()", "DELETE FROM p WHERE h % 11 = 0"}) {
      const Status status = (*opened)->execute(sql, {}, &result, {});
      ASSERT_TRUE(status.ok()) << sql << ": " << status;
    }
    if (commits) ASSERT_TRUE((*opened)->commit().ok());
  };
  const std::string empty = digests();
  block(false);
  EXPECT_EQ(digests(), empty);
  check();
  all({"INSERT INTO p VALUES (2000, 'behind it')"});
  block(true);
  check();
  const std::string before = digests();
  const int64_t drawn = number(engine_.get(), "SELECT max(n) FROM p");
  EXPECT_GT(drawn, 100);  // those of the first block are lost
  restart();
  EXPECT_EQ(digests(), before);
  check();
  EXPECT_EQ(number(engine_.get(), "SELECT nextval('s')"), drawn + 1);
}

TEST_P(DefinitionsTest, ValuesOfFunctionsThatChangeTablesAreRefused) {
  open();
  all({"CREATE TABLE t (a integer)", "INSERT INTO t VALUES (1), (2)", "CREATE TABLE log (n integer)",
       "CREATE FUNCTION noted() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log VALUES (1); RETURN 1; END "
       "$$"});
  EXPECT_EQ(state(engine_.get(), "ALTER TABLE t ADD COLUMN n integer DEFAULT noted()"), "0A000");
  EXPECT_EQ(state(engine_.get(), "ALTER TABLE t ALTER COLUMN a TYPE integer USING noted()"), "0A000");
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM log"), 0);
  all({"ALTER TABLE t ADD COLUMN now text DEFAULT 'now()'",
       "ALTER TABLE t ADD COLUMN d jsonb DEFAULT '{\"a\": [1]}'::jsonb", "CREATE TABLE e (k integer)",
       "ALTER TABLE e ADD COLUMN u integer DEFAULT noted()", "INSERT INTO e VALUES (1)"});
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT sum(a) FROM t WHERE d -> 'a' -> 0 = '1'"), 3);
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM log"), 1);
}

// What fitted a worker's stack fits when it is replayed: by other code, whose frames are larger, and on another thread.
TEST_P(DefinitionsTest, RecursionAsDeepAsItRanIsReplayed) {
  open();
  all({"CREATE TABLE t (k integer PRIMARY KEY, v integer)",
       "CREATE FUNCTION f(a integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN IF a <= 0 THEN RETURN 0; END IF; "
       "RETURN 1 + f(a - 1); END $$"});
  for (int i = 0; i < 300; i++) ASSERT_EQ(number(engine_.get(), "SELECT f(50)"), 50);  // so that it is compiled
  int depth = 200'000;
  int64_t rows = 0;
  for (; depth > 100; depth -= depth / 20) {
    const std::string outcome = state(engine_.get(), absl::StrCat("INSERT INTO t VALUES (", rows, ", f(", depth, "))"));
    ASSERT_TRUE(outcome == "00000" || outcome == "54001") << outcome;
    if (outcome == "00000" && ++rows == 2) break;
  }
  ASSERT_EQ(rows, 2);
  EXPECT_GT(depth, 1000);
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM t"), rows);
  EXPECT_EQ(number(engine_.get(), "SELECT min(v) FROM t"), depth);
}

// Made one after the other, each finds the next one compiled; a restart compiles all of them at once.
TEST_P(DefinitionsTest, ChainsOfRoutinesAreCompiledAtOnce) {
  constexpr int kRoutines = 800;
  open();
  all({"CREATE TABLE t (v integer)", "CREATE FUNCTION f0(a integer) RETURNS integer LANGUAGE sql AS 'SELECT $1 + 1'"});
  for (int i = 1; i <= kRoutines; i++) {
    const std::string sql = absl::StrCat("CREATE FUNCTION f", i,
                                         "(a integer) RETURNS integer LANGUAGE sql AS 'SELECT f", i - 1, "($1) + 1'");
    ASSERT_EQ(state(engine_.get(), sql), "00000") << i;
  }
  const std::string call = absl::StrCat("INSERT INTO t VALUES (f", kRoutines, "(0))");
  ASSERT_EQ(state(engine_.get(), call), "00000");
  for (int i = 0; i < 2; i++) {
    restart();
    EXPECT_EQ(number(engine_.get(), "SELECT max(v) FROM t"), kRoutines + 1);
    ASSERT_EQ(state(engine_.get(), call), "00000");
  }
  all({"DROP FUNCTION f0 CASCADE"});
  EXPECT_EQ(state(engine_.get(), call), "42883");
}

// Numbers of objects are others in a replay, after definitions that were rolled back, or in another process.
TEST_P(DefinitionsTest, WhatReadsTheCatalogIsLoggedAsRows) {
  open();
  all({"CREATE TABLE t (k integer PRIMARY KEY, v bigint)", "CREATE TYPE e AS ENUM ('a')",
       "CREATE PROCEDURE p(k integer) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t SELECT k, max(oid) FROM pg_type; END "
       "$$",
       "CREATE VIEW relations AS SELECT oid, relname FROM pg_class"});
  for (const char* sql :
       {"INSERT INTO t SELECT 1, oid FROM pg_class WHERE relname = 't'", "CALL p(2)",
        "INSERT INTO t SELECT 3, count(*) FROM relations", "INSERT INTO t VALUES (4, 't'::regclass::oid)",
        "INSERT INTO t VALUES (5, to_regclass('t')::oid)", "UPDATE t SET v = tableoid",
        "INSERT INTO t VALUES (6, 'e'::regtype::oid)",
        "INSERT INTO t SELECT 7, length(pg_get_viewdef('relations'::regclass))",
        "INSERT INTO t VALUES (8, length(version()))",
        "INSERT INTO t SELECT 9, count(*) FROM information_schema.tables",
        "INSERT INTO t VALUES (10, length(format_type(16, NULL)))"})
    EXPECT_TRUE(is_volatile(sql)) << sql;
  EXPECT_FALSE(is_volatile("INSERT INTO t VALUES (1, 1)"));
  all({"INSERT INTO t SELECT 1, oid FROM pg_class WHERE relname = 't'", "CALL p(2)",
       "INSERT INTO t VALUES (4, 'e'::regtype::oid)"});
  const int64_t sum = number(engine_.get(), "SELECT sum(v) FROM t");
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT sum(v) FROM t"), sum);
}

// What a zone's name means is up to a node's files: not the statement is logged then, but its rows.
TEST_P(DefinitionsTest, StatementsWithZonesAreLoggedAsRows) {
  open();
  all({"CREATE TABLE t (k integer PRIMARY KEY, z timestamptz)",
       "CREATE PROCEDURE p(k integer) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (k, '2024-07-01 12:00 "
       "Europe/Berlin'); END $$"});
  for (const char* sql :
       {"INSERT INTO t VALUES (1, '2024-07-01 12:00 Europe/Berlin')", "CALL p(2)",
        "INSERT INTO t SELECT 3, timestamp '2024-07-01 12:00' AT TIME ZONE s FROM (VALUES ('CET')) v(s)",
        "INSERT INTO t VALUES (4, make_timestamptz(2024, 7, 1, 12, 0, 0, 'Europe/Berlin'))",
        "UPDATE t SET z = date_trunc('day', z, 'Europe/Berlin')", "UPDATE t SET z = (k || '-01-01')::timestamptz",
        "INSERT INTO t SELECT 5, unnest(ARRAY['2024-07-01 CET']::timestamptz[])"})
    EXPECT_TRUE(is_volatile(sql)) << sql;
  for (const char* sql : {"INSERT INTO t VALUES (1, '2024-07-01T12:00:00Z')", "INSERT INTO t VALUES (1, now())",
                          "UPDATE t SET z = z + interval '1 day'", "INSERT INTO t VALUES (1, '2024-07-01 12:00+02')"})
    EXPECT_FALSE(is_volatile(sql)) << sql;
}

TEST_P(DefinitionsTest, OnlyUtcIsTheZoneWithoutASession) {
  open();
  for (const char* sql : {"SET TimeZone = 'Europe/Berlin'", "SET LOCAL timezone TO 'Europe/Berlin'", "SET TIME ZONE 2",
                          "SET SESSION timezone TO 'PST8PDT'", "SET TIME ZONE 'Europe/Berlin'",
                          "SET TIME ZONE INTERVAL '+02:00' HOUR TO MINUTE"})
    EXPECT_EQ(state(engine_.get(), sql), "0A000") << sql;
  all({"SET TimeZone = 'UTC'", "SET TIME ZONE 'Etc/UTC'", "SET TIME ZONE DEFAULT", "SET TIME ZONE LOCAL",
       "SET LOCAL timezone TO 'gmt'", "SET timezone TO zulu", "RESET timezone"});
}

TEST_P(DefinitionsTest, SchemasStay) {
  open();
  all({"CREATE SCHEMA a", "CREATE SCHEMA b CREATE TABLE u (id integer PRIMARY KEY)",
       "CREATE TABLE a.t (id serial PRIMARY KEY, v integer CHECK (v > 0), u integer REFERENCES b.u)",
       "CREATE TABLE t (id integer PRIMARY KEY)", "CREATE SEQUENCE a.s",
       "CREATE VIEW a.v AS SELECT sum(v) AS n FROM a.t",
       "CREATE FUNCTION a.f(x integer) RETURNS bigint LANGUAGE sql AS 'SELECT n + x FROM a.v'",
       "INSERT INTO b.u VALUES (1)", "INSERT INTO a.t (v, u) VALUES (5, 1), (6, NULL)", "INSERT INTO t VALUES (77)",
       "CREATE INDEX by_v ON a.t (v)"});
  EXPECT_EQ(number(engine_.get(), "SELECT nextval('a.s')"), 1);
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT a.f(100)"), 111);
  EXPECT_EQ(number(engine_.get(), "SELECT nextval('a.s')"), 2);
  EXPECT_EQ(number(engine_.get(), "INSERT INTO a.t (v) VALUES (1) RETURNING id"), 3);
  EXPECT_EQ(number(engine_.get(), "SELECT id FROM t"), 77);
  EXPECT_EQ(state(engine_.get(), "INSERT INTO a.t (v) VALUES (0)"), "23514");
  EXPECT_EQ(state(engine_.get(), "INSERT INTO a.t (v, u) VALUES (1, 9)"), "23503");
  EXPECT_EQ(state(engine_.get(), "DROP SCHEMA b"), "2BP01");
  EXPECT_EQ(state(engine_.get(), "CREATE SCHEMA a"), "42P06");
  all({"DROP VIEW a.v", "ALTER TABLE a.t SET SCHEMA b", "DROP SCHEMA a CASCADE", "ALTER SCHEMA b RENAME TO c"});
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT sum(v) FROM c.t"), 12);
  EXPECT_EQ(state(engine_.get(), "INSERT INTO c.t (v, u) VALUES (1, 1)"), "00000");
  EXPECT_EQ(state(engine_.get(), "SELECT nextval('a.s')"), "42P01");
  EXPECT_EQ(state(engine_.get(), "CREATE TABLE a.x (y integer)"), "3F000");
  all({"DROP SCHEMA c CASCADE"});
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM information_schema.tables"), 1);
}

TEST_P(DefinitionsTest, TablesOfQueriesStay) {
  open();
  all({"CREATE SEQUENCE s",
       "CREATE TABLE c AS SELECT g AS id, random() AS r, now() AS at, nextval('s') AS n FROM generate_series(1, 40) g",
       "SELECT id, 'x' || id AS t INTO d FROM c WHERE id > 30", "CREATE TABLE e AS SELECT * FROM c WITH NO DATA",
       "CREATE TABLE f (LIKE c INCLUDING ALL, PRIMARY KEY (id))", "DELETE FROM c WHERE id < 5"});
  EXPECT_EQ(state(engine_.get(), "CREATE TABLE g AS SELECT 1 / (id - 40) AS x FROM c"), "22012");
  EXPECT_EQ(state(engine_.get(), "SELECT * FROM g"), "42P01");
  constexpr const char* kSum = "SELECT (sum(r) * 1e9)::bigint + sum(extract(epoch FROM at) * 1000)::bigint FROM c";
  const int64_t sum = number(engine_.get(), kSum);
  restart();
  EXPECT_EQ(number(engine_.get(), kSum), sum);
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM c"), 36);
  EXPECT_EQ(number(engine_.get(), "SELECT sum(length(t)) FROM d"), 30);
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM e"), 0);
  EXPECT_EQ(number(engine_.get(), "SELECT nextval('s')"), 41);
  all({"INSERT INTO f SELECT * FROM c", "INSERT INTO c SELECT * FROM c WHERE id = 5"});
  EXPECT_EQ(state(engine_.get(), "INSERT INTO f SELECT * FROM c"), "23505");
  EXPECT_EQ(state(engine_.get(), "CREATE TABLE g (id integer)"), "00000");
}

TEST_P(DefinitionsTest, StatementsOfSeveralPartsStay) {
  open();
  all({"CREATE TABLE t (id integer PRIMARY KEY, v integer)", "CREATE TABLE u (id integer PRIMARY KEY, v integer)",
       "INSERT INTO t SELECT g, g FROM generate_series(1, 20) g",
       "WITH d AS (DELETE FROM t WHERE id > 10 RETURNING *) INSERT INTO u SELECT id, v * 2 FROM d",
       "WITH x AS (UPDATE u SET v = 0 WHERE id = 20 RETURNING id) SELECT * FROM x",
       "MERGE INTO t USING u ON t.id = u.id - 10 WHEN MATCHED AND t.id < 5 THEN DELETE WHEN MATCHED THEN UPDATE SET v "
       "= "
       "u.v",
       "MERGE INTO t USING (VALUES (50, 1)) AS w (id, v) ON t.id = w.id WHEN NOT MATCHED THEN INSERT VALUES (w.id, "
       "w.v)"});
  const int64_t sum = number(engine_.get(), "SELECT sum(id * 1000 + v) FROM t");
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT sum(id * 1000 + v) FROM t"), sum);
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM t"), 7);
  EXPECT_EQ(number(engine_.get(), "SELECT v FROM u WHERE id = 20"), 0);
}

TEST_P(DefinitionsTest, ValuesOfAllTypesStay) {
  open();
  all(
      {"CREATE TABLE a (id uuid PRIMARY KEY, at timestamptz, t time, b bytea, j jsonb, iv interval, lu uuid[], "
       "lb bytea[], lj jsonb[], la timestamptz[], lt time[]) PARTITION BY HASH (id)",
       "CREATE TABLE k (b bytea PRIMARY KEY, v integer)",
       "CREATE PROCEDURE put(u uuid, z timestamptz, o time, y bytea, d jsonb) LANGUAGE plpgsql AS 'BEGIN INSERT INTO a "
       "(id, at, t, b, j) VALUES (u, z, o, y, d); END'",
       "INSERT INTO a VALUES ('00000000-0000-0000-0000-000000000001', '2020-01-01 10:00+02', '10:11', '\\x00ff', "
       "'{\"a\": [1, 2.50]}', '1 day', '{00000000-0000-0000-0000-000000000001,NULL}', ARRAY['\\x00'::bytea], "
       "ARRAY['1'::jsonb], '{2020-01-01}', '{24:00}')",
       "INSERT INTO a (id, at) SELECT gen_random_uuid(), now() FROM generate_series(1, 20)",
       "CALL put('00000000-0000-0000-0000-000000000002', '2021-01-01', '01:02', '\\xaa', '{\"z\": 1}')",
       "UPDATE a SET j = j || '{\"x\": 1}', iv = '2 days', lb = lb || '\\x01'::bytea WHERE t = '10:11'",
       "INSERT INTO k VALUES ('\\x', 1), ('\\x00', 2), ('\\x0000', 3)"});
  auto rows = [&] {
    query::ResultSet result;
    Status status = engine_->execute(
        "SELECT concat_ws('|', id, at, t, b, j, iv, lu::text, lb::text, lj::text, "
        "la::text, lt::text) FROM a ORDER BY id",
        {}, &result);
    EXPECT_TRUE(status.ok()) << status;
    std::string text;
    for (size_t i = 0; i < result.row_count(); ++i)
      text += std::string(result.value(i, 0).data(), result.value(i, 0).size()) + "\n";
    return text;
  };
  const std::string before = rows();
  EXPECT_NE(before.find("2020-01-01 08:00:00+00|10:11:00|\\x00ff|{\"a\": [1, 2.50], \"x\": 1}|2 days|"), before.npos)
      << before;
  for (const char* next : {"INSERT INTO k VALUES ('\\x01', 4)", "INSERT INTO k VALUES ('\\x02', 5)"}) {
    restart();
    EXPECT_EQ(rows(), before);
    EXPECT_EQ(number(engine_.get(), "SELECT v FROM k WHERE b = '\\x00'"), 2);
    EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM a WHERE id = '00000000-0000-0000-0000-000000000002'"), 1);
    all({next});  // there is no second archive of one LSN
  }
}

// Indexes on expressions and partial ones: their hidden columns are redone, archived and loaded as all others.
TEST_P(DefinitionsTest, HiddenColumnsStay) {
  open();
  all({"CREATE FUNCTION twice(n integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN n * 2; END'",
       "CREATE TABLE t (id integer, name text, n integer)",
       "CREATE TABLE h (k integer PRIMARY KEY, name varchar(40), n integer) PARTITION BY HASH (k)",
       "INSERT INTO t SELECT g, 'Name ' || g, g % 7 FROM generate_series(1, 60) g",
       "CREATE UNIQUE INDEX t_name ON t (lower(name)) WHERE n > 2", "CREATE INDEX t_twice ON t (twice(n))",
       "INSERT INTO t VALUES (100, 'NAME 1', 1)", "CREATE UNIQUE INDEX h_name ON h (k, upper(name) DESC) WHERE n > 0",
       "CREATE INDEX h_n ON h ((n + 1))", "INSERT INTO h SELECT id, name, n FROM t", "DELETE FROM t WHERE id % 9 = 0"});
  restart();
  EXPECT_EQ(state(engine_.get(), "INSERT INTO t VALUES (101, 'NAME 4', 6)"), "23505");
  EXPECT_EQ(number(engine_.get(), "SELECT id FROM t WHERE lower(name) = 'name 4' AND n > 2"), 4);
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM t WHERE twice(n) = 8"), 8);
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM h WHERE n + 1 = 2"), 10);
  all({"UPDATE t SET n = 1 WHERE id = 4", "INSERT INTO t VALUES (101, 'NAME 4', 6)", "UPDATE h SET n = n + 1",
       "ALTER TABLE t ADD COLUMN extra text DEFAULT 'e'", "ALTER TABLE t RENAME name TO label",
       "ALTER TABLE h ALTER COLUMN n TYPE bigint", "ALTER TABLE t RENAME TO r", "DELETE FROM h WHERE n + 1 = 3"});
  EXPECT_EQ(state(engine_.get(), "UPDATE r SET n = 5 WHERE id = 4"), "23505");
  restart();
  EXPECT_EQ(state(engine_.get(), "UPDATE r SET n = 5 WHERE id = 4"), "23505");
  EXPECT_EQ(number(engine_.get(), "SELECT id FROM r WHERE lower(label) = 'name 4' AND n > 2"), 101);
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM h WHERE n + 1 = 3"), 0);
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM h"), 51);
  all({"DROP INDEX t_name", "ALTER TABLE h DROP COLUMN name", "UPDATE r SET label = 'same', n = 9"});
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM r WHERE twice(n) = 18"), 56);
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM pg_index WHERE indpred IS NOT NULL"), 0);
}

// Domains: what is of them is checked as before.
TEST_P(DefinitionsTest, DomainsStay) {
  open();
  all({"CREATE DOMAIN gone AS integer", "CREATE DOMAIN base AS integer DEFAULT 4 CHECK (VALUE > 0)",
       "CREATE DOMAIN even AS base CONSTRAINT even CHECK (VALUE % 2 = 0)", "DROP DOMAIN gone",
       "CREATE DOMAIN word AS varchar(5) NOT NULL",
       "CREATE TABLE t (id integer PRIMARY KEY, e even, b base, w word) PARTITION BY HASH (id)",
       "INSERT INTO t SELECT g, g * 2, g, 'w' || g FROM generate_series(1, 20) g",
       "INSERT INTO t (id, w) VALUES (21, 'x')",
       "CREATE PROCEDURE put(i integer, what even) LANGUAGE plpgsql AS 'DECLARE other base := what - 2; BEGIN "
       "INSERT INTO t (id, e, w) VALUES (i, other, i); END'",
       "CALL put(30, 8)"});
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT sum(e) FROM t"), 430);
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM t WHERE b = 4"), 3);
  EXPECT_EQ(state(engine_.get(), "CALL put(31, 2)"), "23514");
  EXPECT_EQ(state(engine_.get(), "CALL put(31, 3)"), "23514");
  EXPECT_EQ(state(engine_.get(), "UPDATE t SET e = e + 1 WHERE id = 1"), "23514");
  EXPECT_EQ(state(engine_.get(), "UPDATE t SET w = NULL WHERE id = 1"), "23502");
  EXPECT_EQ(state(engine_.get(), "DROP DOMAIN base"), "2BP01");
  all({"ALTER DOMAIN base DROP CONSTRAINT base_check", "ALTER DOMAIN base ADD CONSTRAINT small CHECK (VALUE < 100)",
       "ALTER DOMAIN word DROP NOT NULL", "ALTER DOMAIN even RENAME TO pair", "UPDATE t SET w = NULL WHERE id = 1",
       "CALL put(32, 2)", "CREATE SCHEMA s", "CREATE DOMAIN s.own AS text DEFAULT 'o'",
       "CREATE TABLE s.u (a integer, o s.own)"});
  restart();
  all({"INSERT INTO t (id, e) VALUES (40, -2)", "INSERT INTO s.u (a) VALUES (1)"});
  EXPECT_EQ(state(engine_.get(), "INSERT INTO t (id, e) VALUES (41, 100)"), "23514");
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM s.u WHERE o = 'o'"), 1);
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM pg_type WHERE typtype = 'd'"), 4);
  all({"DROP PROCEDURE put(integer, integer)", "DROP DOMAIN base CASCADE"});
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM information_schema.columns WHERE table_name = 't'"), 2);
}

// What ALTER has made of routines and triggers.
TEST_P(DefinitionsTest, AlteredRoutinesAndTriggersStay) {
  open();
  all({"CREATE TABLE t (id integer PRIMARY KEY, v integer)",
       "CREATE TABLE c (id integer PRIMARY KEY, t integer REFERENCES t)",
       "CREATE TABLE log (n integer)",
       "CREATE FUNCTION count_rows() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO log SELECT count(*) FROM "
       "fresh; RETURN NULL; END'",
       "CREATE FUNCTION one() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO log VALUES (1000); RETURN NULL; "
       "END'",
       "CREATE TRIGGER counts AFTER INSERT ON t REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION "
       "count_rows()",
       "CREATE TRIGGER off AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION one()",
       "CREATE CONSTRAINT TRIGGER checked AFTER UPDATE ON t DEFERRABLE FOR EACH ROW EXECUTE FUNCTION one()",
       "CREATE FUNCTION f(a integer) RETURNS integer LANGUAGE plpgsql AS 'BEGIN RETURN coalesce(a, 7); END'",
       "CREATE PROCEDURE p(a integer) LANGUAGE plpgsql AS 'BEGIN INSERT INTO log VALUES (a); END'",
       "CREATE SCHEMA s",
       "ALTER FUNCTION f(integer) STRICT IMMUTABLE",
       "ALTER FUNCTION f(integer) RENAME TO g",
       "ALTER PROCEDURE p(integer) SET SCHEMA s",
       "ALTER FUNCTION count_rows() RENAME TO counted",
       "ALTER TABLE t DISABLE TRIGGER off",
       "ALTER TRIGGER counts ON t RENAME TO counter",
       "ALTER TABLE c DISABLE TRIGGER ALL",
       "INSERT INTO c VALUES (1, 99)",
       "ALTER TABLE t RENAME TO u",
       "INSERT INTO u VALUES (1, 1), (2, 2), (3, 3)"});
  const auto check = [&](int64_t sum) {
    EXPECT_EQ(number(engine_.get(), "SELECT sum(n) FROM log"), sum);
    EXPECT_EQ(number(engine_.get(),
                     "SELECT count(*) FROM pg_proc WHERE proisstrict AND provolatile = 'i' AND "
                     "pronamespace <> 'pg_catalog'::regnamespace"),
              1);
    EXPECT_EQ(number(engine_.get(), "SELECT count(g(NULL)) FROM log"), 0);
    EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM pg_trigger WHERE tgenabled = 'D' AND tgname = 'off'"), 1);
    EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM pg_trigger WHERE tgdeferrable OR tgnewtable = 'fresh'"), 2);
  };
  check(3);
  restart();
  check(3);
  all({"INSERT INTO u VALUES (4, 4), (5, 5)", "CALL s.p(10)", "INSERT INTO c VALUES (2, 99)",
       "UPDATE u SET v = 0 WHERE id = 5", "ALTER TABLE c ENABLE TRIGGER ALL"});
  EXPECT_EQ(state(engine_.get(), "INSERT INTO c VALUES (3, 99)"), "23503");
  restart();
  check(1015);
  EXPECT_EQ(state(engine_.get(), "INSERT INTO c VALUES (3, 99)"), "23503");
}

// Materialized views with their rows, and views that triggers change.
TEST_P(DefinitionsTest, MaterializedAndWritableViewsStay) {
  open();
  all({"CREATE TABLE t (id integer PRIMARY KEY, v integer)", "INSERT INTO t SELECT g, g FROM generate_series(1, 10) g",
       "CREATE MATERIALIZED VIEW sums AS SELECT v % 3 AS k, sum(v) AS total FROM t GROUP BY 1",
       "CREATE UNIQUE INDEX sums_k ON sums (k)", "CREATE MATERIALIZED VIEW later AS SELECT v FROM t WITH NO DATA",
       "CREATE VIEW w AS SELECT id, v FROM t",
       "CREATE FUNCTION put() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO t VALUES (NEW.id, NEW.v * 10); "
       "RETURN NEW; END'",
       "CREATE TRIGGER put INSTEAD OF INSERT ON w FOR EACH ROW EXECUTE FUNCTION put()", "INSERT INTO w VALUES (20, 2)",
       "CREATE PROCEDURE again() LANGUAGE plpgsql AS 'BEGIN REFRESH MATERIALIZED VIEW sums; END'"});
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT sum(total)::bigint FROM sums"), 55);
  EXPECT_EQ(state(engine_.get(), "SELECT v FROM later"), "55000");
  EXPECT_EQ(state(engine_.get(), "DELETE FROM sums"), "42809");
  all({"INSERT INTO w VALUES (21, 3)", "REFRESH MATERIALIZED VIEW CONCURRENTLY sums",
       "REFRESH MATERIALIZED VIEW later"});
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT sum(total)::bigint FROM sums"), 105);
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM later"), 12);
  EXPECT_EQ(number(engine_.get(), "SELECT total::bigint FROM sums WHERE k = 0"), 48);
  all({"DELETE FROM t WHERE id < 10", "CALL again()", "ALTER MATERIALIZED VIEW later RENAME TO late",
       "REFRESH MATERIALIZED VIEW late WITH NO DATA"});
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT sum(total)::bigint FROM sums"), 60);
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM pg_matviews WHERE NOT ispopulated"), 1);
  EXPECT_EQ(state(engine_.get(), "SELECT v FROM late"), "55000");
  EXPECT_EQ(state(engine_.get(), "DROP TABLE t"), "2BP01");
  all({"DROP TABLE t CASCADE"});
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM pg_matviews"), 0);
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM pg_trigger"), 0);
}

// Enums: their definitions, and values by the codes of their labels.
TEST_P(DefinitionsTest, EnumsStay) {
  open();
  all({"CREATE TYPE gone AS ENUM ('x')", "CREATE TYPE mood AS ENUM ('sad', 'happy')",
       "CREATE TABLE t (id integer PRIMARY KEY, m mood DEFAULT 'sad', ms mood[]) PARTITION BY HASH (id)",
       "CREATE UNIQUE INDEX t_m ON t (id, m) WHERE m = 'happy'",
       "INSERT INTO t SELECT g, CASE WHEN g % 2 = 0 THEN 'happy'::mood END, enum_range(NULL::mood) FROM "
       "generate_series(1, 20) g",
       "DROP TYPE gone", "ALTER TYPE mood ADD VALUE 'ok' BEFORE 'happy'", "UPDATE t SET m = 'ok' WHERE id = 3",
       "CREATE PROCEDURE put(i integer, what mood) LANGUAGE plpgsql AS 'BEGIN INSERT INTO t (id, m) VALUES (i, what); "
       "END'",
       "CALL put(30, 'happy')"});
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM t WHERE m = 'happy'"), 11);
  EXPECT_EQ(number(engine_.get(), "SELECT id FROM t WHERE m = 'ok'"), 3);
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM t WHERE 'sad' = ANY (ms)"), 20);
  EXPECT_EQ(state(engine_.get(), "CALL put(31, 'none')"), "22P02");
  EXPECT_EQ(state(engine_.get(), "DROP TYPE mood"), "2BP01");
  all({"CALL put(31, 'ok')", "ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'", "ALTER TYPE mood ADD VALUE 'better'",
       "INSERT INTO t (id, m) VALUES (40, 'better'), (41, DEFAULT)", "UPDATE t SET m = 'fine' WHERE id = 1"});
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM t WHERE m = 'fine'"), 3);
  EXPECT_EQ(number(engine_.get(), "SELECT id FROM t ORDER BY m DESC NULLS LAST LIMIT 1"), 40);
  EXPECT_EQ(number(engine_.get(), "SELECT id FROM t WHERE m = 'sad'"), 41);
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM pg_enum"), 4);
  all({"CREATE SCHEMA app", "CREATE TYPE app.level AS ENUM ('low', 'high')", "CREATE TABLE app.u (l app.level)",
       "INSERT INTO app.u VALUES ('high'), ('low')"});
  all({"ALTER TABLE t DROP COLUMN ms", "DROP PROCEDURE put(integer, mood)", "DROP TYPE mood CASCADE"});
  restart();
  EXPECT_EQ(state(engine_.get(), "SELECT 'sad'::mood"), "42704");
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM app.u WHERE l > 'low'::app.level"), 1);
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM t"), 24);
}

// A session is its role's by number: whatever becomes of the name, it keeps its own rights and gets no others.
TEST_P(DefinitionsTest, SessionsFollowTheNumbersOfTheirRoles) {
  open();
  all({"CREATE ROLE ann", "CREATE ROLE team", "CREATE TABLE t (a integer)", "CREATE TABLE secret (a integer)",
       "CREATE SCHEMA s", "GRANT USAGE, CREATE ON SCHEMA s TO ann, team", "INSERT INTO t VALUES (1), (2)",
       "GRANT SELECT ON t TO ann", "GRANT team TO ann"});
  const uint32_t id = engine_->catalog()->roles.find("ann")->id, team = engine_->catalog()->roles.find("team")->id;
  const auto as_ann = [&](const char* sql) { return query::with_roles({"ann", "ann"}, {id, id}, sql); };
  const auto as_team = [&](const char* sql) { return query::with_roles({"ann", "team"}, {id, team}, sql); };
  const char* const kCount = "SELECT count(*) FROM t";
  EXPECT_EQ(number(engine_.get(), as_ann(kCount)), 2);
  all({"ALTER ROLE ann RENAME TO bea", "ALTER ROLE team RENAME TO crew", "CREATE ROLE ann SUPERUSER",
       "CREATE ROLE team SUPERUSER"});
  const auto check = [&] {
    EXPECT_EQ(number(engine_.get(), as_ann(kCount)), 2);
    EXPECT_EQ(number(engine_.get(), as_ann("SELECT (current_user = 'bea' AND session_user = 'bea')::integer")), 1);
    EXPECT_EQ(number(engine_.get(), as_team("SELECT (current_user = 'crew' AND session_user = 'bea')::integer")), 1);
    for (const char* sql : {"SELECT count(*) FROM secret", "CREATE ROLE x", "EXPLAIN SELECT a FROM secret",
                            "DO 'BEGIN EXECUTE ''SELECT a FROM secret''; END'"}) {
      EXPECT_EQ(state(engine_.get(), as_ann(sql)), "42501") << sql;
      EXPECT_EQ(state(engine_.get(), as_team(sql)), "42501") << sql;
    }
  };
  check();
  // what they make is theirs, also for who replays it
  EXPECT_EQ(state(engine_.get(), as_ann("CREATE TABLE s.mine AS SELECT 1 AS a")), "00000");
  EXPECT_EQ(state(engine_.get(), as_team("DO 'BEGIN CREATE TABLE s.block (a integer); END'")), "00000");
  restart();
  check();
  EXPECT_EQ(number(engine_.get(),
                   "SELECT count(*) FROM pg_class WHERE (relname, pg_get_userbyid(relowner)) IN "
                   "(('mine', 'bea'), ('block', 'crew'))"),
            2);
  // another one with the name of a dropped one
  all({"DROP TABLE s.mine", "REVOKE ALL ON t FROM bea", "REVOKE ALL ON SCHEMA s FROM bea", "DROP ROLE bea",
       "CREATE ROLE bea SUPERUSER"});
  EXPECT_EQ(state(engine_.get(), as_ann(kCount)), "28000");
  EXPECT_EQ(state(engine_.get(), as_ann("CREATE ROLE x")), "28000");
  EXPECT_EQ(state(engine_.get(), as_ann("EXPLAIN SELECT a FROM t")), "28000");
}

// Roles, their members and rights; programs that were compiled for one role are no other's.
TEST_P(DefinitionsTest, RolesStay) {
  const auto as = [](const char* role, const char* sql) { return query::with_roles({role, role}, sql); };
  open();
  all(
      {"CREATE ROLE reader LOGIN PASSWORD 'SCRAM-SHA-256$4096:MDEyMzQ1Njc4OWFiY2RlZg==$"
       "VbRfxKWmPBUFVoeC/1OQ2KBB9A/ZuJlRYAEyN9hLKFE=:3VZKq6eYhzKw0qKCGa0p6vAcbkkrjfAKA1k9EKiM5Vk=' CONNECTION LIMIT 3 "
       "VALID UNTIL '2031-01-01 00:00:00+00'",
       "CREATE ROLE gone",
       "CREATE ROLE team",
       "CREATE ROLE maker CREATEROLE",
       "GRANT team TO reader WITH ADMIN OPTION",
       "CREATE TABLE t (a integer)",
       "CREATE TABLE u (a integer)",
       "INSERT INTO t VALUES (1), (2)",
       "CREATE VIEW v AS SELECT a FROM u",
       "CREATE SCHEMA s",
       "GRANT USAGE, CREATE ON SCHEMA s TO maker",
       "CREATE FUNCTION f() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM t); END'",
       "CREATE PROCEDURE p(n integer) LANGUAGE plpgsql AS 'BEGIN INSERT INTO t VALUES (n); END'",
       "GRANT SELECT ON t TO team",
       "GRANT SELECT ON v TO PUBLIC",
       "REVOKE EXECUTE ON FUNCTION f() FROM PUBLIC",
       "GRANT EXECUTE ON FUNCTION f() TO team",
       "CREATE SEQUENCE tickets",
       "GRANT USAGE ON SEQUENCE tickets TO team",
       "DROP ROLE gone",
       "ALTER ROLE maker RENAME TO makers"});
  const auto check = [&] {
    EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM pg_roles WHERE rolname IN ('reader', 'team', 'makers')"), 3);
    EXPECT_EQ(number(engine_.get(), "SELECT rolconnlimit FROM pg_roles WHERE rolname = 'reader'"), 3);
    EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM pg_auth_members WHERE admin_option"), 1);
    EXPECT_EQ(number(engine_.get(), as("reader", "SELECT count(*) FROM t").c_str()), 2);
    EXPECT_EQ(number(engine_.get(), as("reader", "SELECT f()").c_str()), 2);
    EXPECT_EQ(number(engine_.get(), as("makers", "SELECT count(*) FROM v").c_str()), 0);
    for (const char* sql : {"SELECT count(*) FROM t", "SELECT f()", "SELECT a FROM t WHERE a = 7", "CALL p(5)"}) {
      EXPECT_EQ(state(engine_.get(), as("makers", sql)), "42501") << sql;
      EXPECT_EQ(state(engine_.get(), as("nobody", sql)), "28000") << sql;
    }
    EXPECT_EQ(state(engine_.get(), as("reader", "CALL p(5)")), "42501");
    EXPECT_EQ(state(engine_.get(), as("reader", "SELECT nextval('tickets')")), "00000");
    EXPECT_EQ(state(engine_.get(), as("reader", "SELECT setval('tickets', 1)")), "42501");
    EXPECT_EQ(state(engine_.get(), as("makers", "SELECT nextval('tickets')")), "42501");
    EXPECT_EQ(state(engine_.get(), as("reader", "CREATE TABLE x (a integer)")), "42501");
    const query::Role* role = engine_->catalog()->roles.find("reader");
    ASSERT_NE(role, nullptr);
    EXPECT_TRUE(query::is_scram_verifier(role->verifier));
    EXPECT_EQ(role->valid_until, 978'307'200'000'000);
  };
  check();
  restart();
  check();
  // what a role makes is its own, also for who replays it
  EXPECT_EQ(state(engine_.get(), as("makers", "CREATE TABLE s.mine AS SELECT 1 AS a")), "00000");
  EXPECT_EQ(state(engine_.get(), as("makers", "DO 'BEGIN CREATE TABLE s.block (a integer); END'")), "00000");
  EXPECT_EQ(state(engine_.get(), as("makers", "CREATE TABLE s.numbered (id serial, a integer)")), "00000");
  EXPECT_EQ(state(engine_.get(), as("makers", "CREATE ROLE made")), "00000");
  EXPECT_EQ(state(engine_.get(), "DROP ROLE makers"), "2BP01");
  restart();
  EXPECT_EQ(number(engine_.get(), as("makers", "SELECT a FROM s.mine").c_str()), 1);
  EXPECT_EQ(number(engine_.get(), as("makers", "SELECT count(*) FROM s.block").c_str()), 0);
  EXPECT_EQ(state(engine_.get(), as("reader", "SELECT a FROM s.mine")), "42501");
  EXPECT_EQ(state(engine_.get(), as("makers", "INSERT INTO s.numbered (a) VALUES (1)")), "00000");
  EXPECT_EQ(state(engine_.get(), as("reader", "SELECT nextval('s.numbered_id_seq')")), "42501");
  // a right that is taken away counts at once, wherever it was compiled
  all({"REVOKE SELECT ON t FROM team", "GRANT INSERT ON t TO reader"});
  EXPECT_EQ(state(engine_.get(), as("reader", "SELECT count(*) FROM t")), "42501");
  EXPECT_EQ(state(engine_.get(), as("reader", "SELECT f()")), "42501");
  EXPECT_EQ(state(engine_.get(), as("reader", "CALL p(5)")), "00000");
  EXPECT_EQ(state(engine_.get(), as("makers", "CALL p(6)")), "42501");
  restart();
  EXPECT_EQ(number(engine_.get(), "SELECT sum(a) FROM t"), 8);
}

// Nothing that is logged or kept has a password.
TEST_P(DefinitionsTest, PasswordsOfRolesAreVerifiers) {
  open();
  for (const char* sql : {"CREATE ROLE a PASSWORD 'plain'", "DO 'BEGIN CREATE ROLE a PASSWORD ''plain''; END'",
                          "DO $a$ BEGIN EXECUTE 'CREATE ROLE a PASSWORD ''plain'''; END $a$"})
    EXPECT_EQ(state(engine_.get(), sql), "0A000") << sql;
  EXPECT_EQ(number(engine_.get(), "SELECT count(*) FROM pg_roles WHERE rolname = 'a'"), 0);
  // without a superuser who has a password everybody may come in: the last one stays
  const std::string verifier =
      "'SCRAM-SHA-256$4096:MDEyMzQ1Njc4OWFiY2RlZg==$VbRfxKWmPBUFVoeC/1OQ2KBB9A/ZuJlRYAEyN9hLKFE=:"
      "3VZKq6eYhzKw0qKCGa0p6vAcbkkrjfAKA1k9EKiM5Vk='";
  EXPECT_FALSE(engine_->catalog()->roles.is_closed());
  all({("CREATE ROLE admin LOGIN SUPERUSER PASSWORD " + verifier).c_str(),
       ("CREATE ROLE app LOGIN PASSWORD " + verifier).c_str()});
  EXPECT_TRUE(engine_->catalog()->roles.is_closed());
  for (const char* sql : {"DROP ROLE admin", "ALTER ROLE admin NOLOGIN", "ALTER ROLE admin NOSUPERUSER",
                          "ALTER ROLE admin PASSWORD NULL"})
    EXPECT_EQ(state(engine_.get(), sql), "55006") << sql;
  restart();
  EXPECT_TRUE(engine_->catalog()->roles.is_closed());
  all({"DROP ROLE app", "DROP ROLE admin"});
  EXPECT_FALSE(engine_->catalog()->roles.is_closed());
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
