#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "base/bounded_work.h"
#include "testing/session.h"

// Input that is wrong or too much: each fails with its SQLSTATE, leaves nothing behind, and the database goes on.
namespace scyper::query {
namespace {

DatabaseOptions options_for(ExecutionMode mode, size_t memory_bytes) {
  DatabaseOptions options;
  options.partitions = 4;
  options.memory_bytes = memory_bytes;
  options.execution = mode;
  return options;
}

class WrongInputTest : public testing::TestWithParam<ExecutionMode> {
 protected:
  WrongInputTest() : session_(options_for(GetParam(), size_t{1} << 30)) {
    EXPECT_TRUE(session_
                    .script("CREATE TABLE t (a integer PRIMARY KEY, b varchar(5) NOT NULL, c numeric(6,2));"
                            "CREATE INDEX t_c ON t (c);"
                            "INSERT INTO t SELECT i, 'x' || i, i FROM generate_series(1, 50) g (i);"
                            "CREATE PROCEDURE p(x integer) LANGUAGE plpgsql AS $$ BEGIN "
                            "  UPDATE t SET c = c + 1; DELETE FROM t WHERE a > 40; INSERT INTO t VALUES (99, 'n', 1);"
                            "  IF x = 1 THEN PERFORM 1 / 0; END IF; "
                            "  IF x = 2 THEN INSERT INTO t VALUES (1, 'dup', 0); END IF; "
                            "  IF x = 3 THEN UPDATE t SET b = 'too long for it' WHERE a = 3; END IF; "
                            "  IF x = 4 THEN UPDATE t SET b = NULL WHERE a = 3; END IF; "
                            "  IF x = 5 THEN UPDATE t SET c = 123456 WHERE a = 3; END IF; "
                            "  IF x = 6 THEN CALL p(6); END IF; "
                            "  IF x = 7 THEN RAISE EXCEPTION 'no' USING ERRCODE = 'U0007'; END IF; END $$;")
                    .ok());
  }
  std::string state(std::string_view sql) { return sqlstate_of(session_.run(sql)); }
  storage::Digest digest() { return storage::table_digest(*session_.database().catalog()->find_table("t")); }

  Session session_;
};
INSTANTIATE_TEST_SUITE_P(Modes, WrongInputTest, testing::Values(ExecutionMode::kInterpreted, ExecutionMode::kQuick));

TEST_P(WrongInputTest, FailedStatementsLeaveNothingBehind) {
  const auto before = digest();
  const std::pair<const char*, const char*> failing[] = {
      {"CALL p(1)", "22012"},
      {"CALL p(2)", "23505"},
      {"CALL p(3)", "22001"},
      {"CALL p(4)", "23502"},
      {"CALL p(5)", "22003"},
      {"CALL p(6)", "54001"},
      {"CALL p(7)", "U0007"},
      {"INSERT INTO t SELECT i, 'y', 0 FROM generate_series(60, 1, -1) g (i)", "23505"},
      {"UPDATE t SET a = a + 1", "23505"},
      {"UPDATE t SET c = 1 / (a - 25)", "22012"},
      {"DELETE FROM t WHERE 1 / (a - 25) < 100", "22012"},
      {"UPDATE t SET c = c * 1000", "22003"},
      {"INSERT INTO t VALUES (100, 'ok', 1), (101, NULL, 1)", "23502"},
      {"SELECT 1 / (a - 25) FROM t", "22012"},
      {"INSERT INTO t VALUES (100, 'ok')  ,", "42601"},
      {"CREATE TABLE t (x integer)", "42P07"},
      {"CREATE TABLE u (x integer, PRIMARY KEY (y))", "42703"},
      {"CREATE UNIQUE INDEX t_one ON t (nosuch)", "42703"},
      {"DROP TABLE t, nosuch", "42P01"},
      {"CALL p()", "42883"},
      {"CALL p(1, 2)", "42883"},
      {"CALL p('x')", "22P02"},
  };
  for (const auto& [sql, expected] : failing) {
    EXPECT_EQ(state(sql), expected) << sql;
    EXPECT_TRUE(digest() == before) << sql;
    EXPECT_EQ(session_.text("SELECT count(*), sum(c), min(a), max(a) FROM t"), "50|1275.00|1|50") << sql;
    EXPECT_EQ(session_.text("SELECT count(*) FROM t WHERE c >= 10 AND c < 20"), "10") << sql;
  }
}

std::string repeated(int count, const std::string& part) {
  std::string text;
  for (int i = 0; i < count; i++) text += part;
  return text;
}

TEST_P(WrongInputTest, DeepNestingEndsWithAnError) {
  for (int depth : {100, 3000, 200000}) {
    const std::string nested[] = {
        "SELECT " + repeated(depth, "(") + "1" + repeated(depth, ")"),
        "SELECT " + repeated(depth, "- ") + "1",
        "SELECT " + repeated(depth, "NOT ") + "true",
        "SELECT 1" + repeated(depth, " + 1"),
        "SELECT true" + repeated(depth, " AND true"),
        "SELECT 'a'" + repeated(depth, " || 'a'"),
        "SELECT " + repeated(depth, "(SELECT ") + "1" + repeated(depth, ")"),
        "SELECT " + repeated(depth, "coalesce(") + "1" + repeated(depth, ")"),
        "SELECT " + repeated(depth, "abs(") + "1" + repeated(depth, ")"),
        "SELECT " + repeated(depth, "CASE WHEN true THEN ") + "1" + repeated(depth, " END"),
        "SELECT 1" + repeated(depth, " UNION ALL SELECT 1"),
        "SELECT * FROM " + repeated(depth, "(SELECT * FROM ") + "t" + repeated(depth, ") q"),
        "DO $$ " + repeated(depth, "BEGIN ") + "NULL; " + repeated(depth, "END; ") + "$$",
        "DO $$ BEGIN " + repeated(depth, "IF true THEN ") + "NULL; " + repeated(depth, "END IF; ") + "END $$",
    };
    for (const auto& sql : nested) {
      if (depth < 200000 || sql.size() < 2000000) {
        std::string result = state(sql);
        EXPECT_TRUE(result == "00000" || result == "54001" || result == "54000" || result == "0A000" ||
                    result == "42601")
            << sql.substr(0, 60) << "... of depth " << depth << ": " << result;
      }
    }
  }
  EXPECT_EQ(session_.text("SELECT count(*) FROM t"), "50");
}

// Deeper than jsonb is read, and longer without its exponents: refused before it is a value, however it is built.
TEST_P(WrongInputTest, JsonbKeepsItsLimits) {
  const std::string deepest = "(repeat('[', 1000) || repeat(']', 1000))::jsonb";
  for (const std::string& sql :
       {std::string("(repeat('[', 1001) || repeat(']', 1001))::jsonb"), "jsonb_build_array(" + deepest + ")",
        "jsonb_build_object('a', " + deepest + ")", "to_jsonb(ARRAY[" + deepest + "])",
        "(SELECT jsonb_agg(x) FROM (SELECT " + deepest + " x) y)", "jsonb_set('[1]', '{0}', " + deepest + ")"})
    EXPECT_EQ(state("SELECT length((" + sql + ")::text)"), "54001") << sql;
  EXPECT_EQ(state("SELECT (" + deepest + " -> 0)::text, " + deepest + " = " + deepest), "00000");
  EXPECT_EQ(state("SELECT ('[' || repeat('1e131071,', 20000) || '1]')::jsonb"), "54000");
}

// Each level of these is bound several times: the work must stay bounded.
TEST_P(WrongInputTest, NestingThatMultipliesWork) {
  for (const char* opening : {"nullif(", "1 BETWEEN 0 AND (", "CASE ("}) {
    std::string sql = "SELECT " + repeated(40, opening) + "1";
    std::string close = opening[0] == 'n' ? ", 2)" : opening[0] == '1' ? ")::integer" : ") WHEN 1 THEN 2 ELSE 3 END";
    std::string result = state(sql + repeated(40, close));
    EXPECT_TRUE(result == "00000" || result == "54001") << opening << result;
  }
}

// More inputs than a set of them has bits, in one chain, in pairs, and with nothing between them.
TEST_P(WrongInputTest, JoinsOfManyTables) {
  for (int count : {64, 65, 200}) {
    const auto name = [](int i) { return "t" + std::to_string(i); };
    std::string from, chain, pairs, constants;
    for (int i = 0; i < count; i++) {
      from += (i > 0 ? ", t " : "t ") + name(i);
      constants += (i > 0 ? ", (SELECT 1 AS a) " : "(SELECT 1 AS a) ") + name(i);
      if (i > 0) chain += (i > 1 ? " AND " : "") + name(i) + ".a = " + name(i - 1) + ".a";
      pairs += (i > 0 ? " AND " : "") + (i % 2 == 0 ? name(i) + ".a = 7" : name(i) + ".a = " + name(i - 1) + ".a");
    }
    EXPECT_EQ(session_.text("SELECT count(*), sum(t0.a) FROM " + from + " WHERE " + chain), "50|1275") << count;
    EXPECT_EQ(session_.text("SELECT count(*), sum(t0.a) FROM " + from + " WHERE " + pairs), "1|7") << count;
    EXPECT_EQ(session_.text("SELECT count(*) FROM " + constants), "1") << count;
  }
}

TEST_P(WrongInputTest, HugeStatements) {
  std::string values = "INSERT INTO t VALUES ";
  for (int i = 100; i < 2100; i++) values += (i > 100 ? ",(" : "(") + std::to_string(i) + ",'v',1)";
  EXPECT_EQ(session_.text(values), "");
  EXPECT_EQ(session_.text("SELECT count(*) FROM t"), "2050");
  std::string in = "SELECT count(*) FROM t WHERE a IN (0";
  for (int i = 1; i < 2000; i++) in += "," + std::to_string(i);
  EXPECT_EQ(session_.text(in + ")"), "1950");
  EXPECT_EQ(session_.text("SELECT length('" + std::string(1 << 20, 'x') + "')"), std::to_string(1 << 20));
}

TEST_P(WrongInputTest, InvalidUtf8) {
  EXPECT_EQ(state("SELECT '\xff'"), "22021");
  EXPECT_EQ(state("SELECT 'a\xc3'"), "22021");
  EXPECT_EQ(state("SELECT \"\xe2\x82\""), "22021");
  EXPECT_EQ(state(std::string_view("SELECT 'a\0b'", 12)), "22021");
  EXPECT_EQ(session_.text("SELECT length('\xc3\xa9')"), "1");
}

TEST_P(WrongInputTest, MemoryOfTheDatabaseRunsOut) {
  Session small(options_for(GetParam(), size_t{64} << 20));
  ASSERT_TRUE(small
                  .script("CREATE TABLE t (a integer PRIMARY KEY, b text);"
                          "INSERT INTO t VALUES (1, 'one')")
                  .ok());
  std::string error;
  for (int i = 0; i < 200 && error.empty(); i++)
    error = small.text("INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(" +
                       std::to_string(10 + i * 5000) + ", " + std::to_string(5009 + i * 5000) + ") g (i)");
  EXPECT_EQ(error.substr(0, 11), "ERROR 53200") << error;
  std::string count = small.text("SELECT count(*) FROM t");
  EXPECT_EQ(std::stoi(count) % 5000, 1) << "the failed statement left rows behind";
  EXPECT_EQ(small.text("SELECT b FROM t WHERE a = 1"), "one");
  EXPECT_EQ(small.text("UPDATE t SET a = -1 WHERE a = 1"), "");
  EXPECT_EQ(small.text("DELETE FROM t WHERE a > 10 AND a < 100"), "");
  EXPECT_EQ(small.text("INSERT INTO t VALUES (7, 'seven')"), "");
  EXPECT_EQ(small.text("SELECT b FROM t WHERE a = 7"), "seven");
}

// Not a row more fits. What frees memory works, and then rows fit again.
TEST_P(WrongInputTest, FullDatabaseReadsDeletesTruncatesAndDrops) {
  Session small(options_for(GetParam(), size_t{64} << 20));
  const std::string other =
      "CREATE TABLE other (a integer PRIMARY KEY, b varchar(200) NOT NULL);"
      "INSERT INTO other SELECT i, 'x' FROM generate_series(1, 100) g (i)";
  ASSERT_TRUE(
      small.script("CREATE TABLE t (a integer PRIMARY KEY, b text, c integer); CREATE INDEX t_c ON t (c)").ok());
  ASSERT_TRUE(small.script(other).ok());
  EXPECT_EQ(small.text("SELECT b FROM t WHERE a = 1"), "");  // what looks up keys has its index before
  int next = 0;
  const auto fill = [&](int rows) {
    std::string error;
    while (error.empty()) {
      error = small.text("INSERT INTO t SELECT i, repeat('x', 500), i FROM generate_series(" + std::to_string(next) +
                         ", " + std::to_string(next + rows - 1) + ") g (i)");
      if (error.empty()) next += rows;
    }
    EXPECT_EQ(error.substr(0, 11), "ERROR 53200");
  };
  for (int rows : {5000, 100, 1}) fill(rows);
  EXPECT_GT(next, 5000);
  EXPECT_EQ(small.text("SELECT count(*) FROM t"), std::to_string(next));
  EXPECT_EQ(small.text("SELECT a, length(b) FROM t WHERE c = 1"), "1|500");
  EXPECT_EQ(small.text("DELETE FROM t WHERE a = 1"), "");
  EXPECT_EQ(small.text("DELETE FROM t WHERE a < 5000"), "");
  EXPECT_EQ(small.text("SELECT count(*) FROM t"), std::to_string(next - 5000));
  EXPECT_EQ(small.text("INSERT INTO t VALUES (1, 'again', 1)"), "");
  EXPECT_EQ(small.text("TRUNCATE t"), "");
  next = 0;
  for (int rows : {5000, 100, 1}) fill(rows);
  EXPECT_EQ(small.text("DROP TABLE other"), "");
  EXPECT_TRUE(small.script(other).ok());
  EXPECT_EQ(small.text("SELECT count(*) FROM other"), "100");
}

// Each checks what all below it do: so many, and no more.
TEST_P(WrongInputTest, DomainsLieOverEachOtherUpToALimit) {
  constexpr int kMost = 100;
  const auto create = [](int i) {
    return "CREATE DOMAIN d" + std::to_string(i) + " AS " + (i == 1 ? "integer" : "d" + std::to_string(i - 1)) +
           " CONSTRAINT below CHECK (VALUE < " + std::to_string(1000 - i) + ")";
  };
  for (int i = 1; i <= kMost; i++) ASSERT_EQ(session_.text(create(i)), "") << i;
  const std::string refused = session_.text(create(kMost + 1));
  EXPECT_EQ(refused.substr(0, 11), "ERROR 54001") << refused;
  EXPECT_NE(refused.find("at most 100 may lie over each other"), std::string::npos) << refused;
  EXPECT_EQ(session_.text("SELECT 899::d100"), "899");
  EXPECT_EQ(state("SELECT 900::d100"), "23514");
  EXPECT_EQ(session_.text("SELECT 998::d1"), "998");
  // a change below reaches those above
  EXPECT_EQ(session_.text("ALTER DOMAIN d1 ADD CONSTRAINT positive CHECK (VALUE > 0)"), "");
  EXPECT_EQ(state("SELECT 0::d100"), "23514");
  EXPECT_EQ(session_.text("ALTER DOMAIN d1 DROP CONSTRAINT positive"), "");
  EXPECT_EQ(session_.text("SELECT 0::d100"), "0");
}

// A DELETE whose old rows fit nowhere: no row is gone, and the error says how to go on.
TEST_P(WrongInputTest, ADeleteOfMoreThanTheReserveSaysWhatToDo) {
  Session small(options_for(GetParam(), size_t{64} << 20));
  ASSERT_TRUE(small.script("CREATE TABLE t (a integer PRIMARY KEY)").ok());
  int next = 0;
  for (const int rows : {50'000, 1'000}) {
    const auto insert = [&] {
      return small.text("INSERT INTO t SELECT generate_series(" + std::to_string(next) + ", " +
                        std::to_string(next + rows - 1) + ")");
    };
    while (insert().empty()) next += rows;
  }
  const Status status = small.run("DELETE FROM t");
  EXPECT_EQ(sqlstate_of(status), "53200") << status;
  EXPECT_NE(hint_of(status).find("DELETE fewer rows at once"), std::string::npos) << hint_of(status);
  EXPECT_EQ(small.text("SELECT count(*) FROM t"), std::to_string(next));
  EXPECT_EQ(small.text("DELETE FROM t WHERE a < 1000"), "");
  EXPECT_EQ(small.text("SELECT count(*) FROM t"), std::to_string(next - 1000));
}

TEST_P(WrongInputTest, MemoryOfATransactionRunsOut) {
  ASSERT_TRUE(session_
                  .script("CREATE FUNCTION eat() RETURNS integer LANGUAGE plpgsql AS $$ DECLARE a text[]; BEGIN "
                          "INSERT INTO t VALUES (500, 'gone', 0); "
                          "FOR i IN 1..1000000 LOOP a[i] := repeat('x', 1000) || i; END LOOP; RETURN 1; END $$;")
                  .ok());
  EXPECT_EQ(state("SELECT eat()"), "53200");
  EXPECT_EQ(state("SELECT length(repeat(repeat('x', 1000000), 900))"), "53200");
  EXPECT_EQ(session_.text("SELECT count(*) FROM t"), "50");
}

#ifndef SCYPER_SANITIZED
// Results and what makes them count for the statement's memory, wherever they are built.
TEST_P(WrongInputTest, FunctionsKeepToTheMemoryOfTheStatement) {
  const std::string large = "repeat('x', 1000000)", many = "array_fill(" + large + ", ARRAY[10000])";
  for (const std::string& sql : std::vector<std::string>{
           "array_to_string(" + many + ", ',')",
           "format(repeat('%1$s', 10000), " + large + ")",
           "format('%2147483647s', 'x')",
           "regexp_replace(repeat('a', 1000000), 'a', repeat('x', 10000), 'g')",
           "replace(repeat('a', 1000000), 'a', repeat('x', 10000))",
           "json_build_array(VARIADIC " + many + ")",
           "jsonb_build_array(VARIADIC " + many + ")",
           "to_json(" + many + ")",
           "('[' || repeat('[1],', 5000000) || '1]')::jsonb",
           "jsonb_pretty(('[' || repeat('[1],', 5000000) || '1]')::jsonb)",
           "(" + many + ")::text",
           "(SELECT string_agg(" + large + ", ',') FROM generate_series(1, 10000))",
           "(SELECT jsonb_agg(" + large + ") FROM generate_series(1, 10000))",
       }) {
    const std::string result = state("SELECT length((" + sql + ")::text)");
    EXPECT_TRUE(result == "53200" || result == "54000") << sql << ": " << result;
  }
  EXPECT_EQ(session_.text("SELECT length(array_to_string(array_fill('ab'::text, ARRAY[100000]), ','))"), "299999");
}
#endif

// Each would take hours.
TEST_P(WrongInputTest, LongFunctionsEndWhenTheStatementIsCancelled) {
  const std::string texts = "repeat('a', 20000000)";
  for (const std::string& sql : std::vector<std::string>{
           "length(regexp_replace(" + texts + ", 'a(.*z)?', 'b', 'g'))",
           "array_length(regexp_split_to_array(" + texts + ", 'a(.*z)?'), 1)",
           "regexp_count(" + texts + ", 'a(.*z)?')",
           texts + " LIKE '%_' || repeat('a', 10000000) || 'b'",
           "array_fill(1, ARRAY[5000000]) @> array_fill(2, ARRAY[5000000])",
           "(('[' || repeat('1,', 100000) || '1]')::jsonb @> ('[' || repeat('2,', 100000) || '2]')::jsonb)",
           "jsonb_path_exists(('[' || repeat('1,', 100000) || '1]')::jsonb, '$[*] ? (exists($[*] ? (@ == 2)))')",
       }) {
    session_.interrupt(Interrupt::kCancel);
    EXPECT_EQ(state("SELECT " + sql), "57014") << sql;
    session_.interrupt(Interrupt::kNone);
  }
  EXPECT_EQ(session_.text("SELECT 1"), "1");
}

// Quadratic, these would take hours.
TEST_P(WrongInputTest, TextFunctionsTakeLinearTime) {
  const std::string text = "repeat('a', 4000000)", part = "repeat('a', 2000000) || 'b' || repeat('a', 1000000)";
  EXPECT_EQ(session_.text("SELECT position(" + part + " IN " + text + ")"), "0");
  EXPECT_EQ(session_.text("SELECT length(replace(" + text + ", " + part + ", ''))"), "4000000");
  EXPECT_EQ(session_.text("SELECT length(split_part(" + text + ", " + part + ", 1))"), "4000000");
  EXPECT_EQ(session_.text("SELECT array_length(string_to_array(" + text + ", " + part + "), 1)"), "1");
  EXPECT_EQ(session_.text("SELECT length(translate(repeat('z', 4000000), (SELECT string_agg(chr(i), '') FROM "
                          "generate_series(256, 40000) i) || 'z', 'x'))"),
            "0");
  EXPECT_EQ(session_.text("SELECT length(btrim(" + text + ", repeat('b', 4000000) || 'a'))"), "0");
  EXPECT_EQ(session_.text("SELECT translate('banana', 'ana', 'xyz'), btrim('éxé', 'é'), position('nan' IN 'banana')"),
            "bxyxyx|x|3");
}

// By the thread that plans, whose session says when it has to end.
TEST_P(WrongInputTest, PlanningEndsWhenItIsCancelled) {
  std::string joins = "SELECT count(*) FROM t t0", subqueries = "SELECT 1";
  for (int i = 1; i < 60; i++) joins += " JOIN t t" + std::to_string(i) + " ON t0.a = t" + std::to_string(i) + ".a";
  for (int i = 0; i < 100; i++) subqueries += " + (SELECT count(*) FROM t WHERE a = " + std::to_string(i) + ")";
  const std::atomic<bool> cancelled{true};
  for (const std::string& sql : {joins, subqueries}) {
    const WorkLimits limits{&cancelled, 0};
    const BoundedWork work(limits.bounds());
    EXPECT_EQ(sqlstate_of(session_.database().prepare(sql).status()), "57014");
  }
  EXPECT_EQ(state(joins), "00000");
}

// Statements that PostgreSQL has say what to do instead.
TEST_P(WrongInputTest, WhatIsNotThereHasAHint) {
  for (const char* sql :
       {"CREATE RULE r AS ON INSERT TO t DO NOTHING", "ALTER RULE r ON t RENAME TO s", "DROP RULE r ON t",
        "CREATE STATISTICS s ON a, b FROM t", "ALTER STATISTICS s RENAME TO u", "DROP STATISTICS s",
        "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC", "CREATE EXTENSION pg_trgm",
        "CREATE EXTENSION IF NOT EXISTS citext WITH SCHEMA public", "CREATE EXTENSION no_such_thing",
        "CREATE VIEW v WITH (security_barrier) AS SELECT a FROM t"}) {
    const Status status = session_.run(sql);
    EXPECT_EQ(sqlstate_of(status), "0A000") << sql << ": " << status;
    EXPECT_FALSE(hint_of(status).empty()) << sql << ": " << status;
  }
}

// What the log cannot take as one record fails before anything is there.
TEST(WrongInputTest, CreateTableAsHasABoundOfItsRedo) {
  Session session(DatabaseOptions{});
  Database& database = session.database();
  auto prepared =
      database.prepare("CREATE TABLE many AS SELECT g, repeat('x', 100) AS t FROM generate_series(1, 1000) g");
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  ResultSet result;
  DefinitionRun run;
  run.wants_rows = true;
  run.row_bytes_max = 64 << 10;
  EXPECT_EQ(sqlstate_of(database.define(**prepared, &result, &run)), "53400");
  EXPECT_EQ(session.text("SELECT count(*) FROM many").substr(0, 11), "ERROR 42P01");
  run = {};
  run.wants_rows = true;
  EXPECT_TRUE(database.define(**prepared, &result, &run).ok());
  EXPECT_EQ(session.text("SELECT count(*) FROM many"), "1000");
}

}  // namespace
}  // namespace scyper::query
