#include <gtest/gtest.h>

#include <cstring>

#include <fstream>
#include <sstream>

#include "base/random.h"
#include "base/test_seed.h"
#include "query/catalog_image.h"
#include "testing/session.h"

namespace scyper::query {
namespace {

DatabaseOptions options_for(ExecutionMode mode) {
  DatabaseOptions options;
  options.partitions = 4;
  options.memory_bytes = size_t{1} << 30;
  options.execution = mode;
  return options;
}

// Everything in both execution modes.
class SqlTest : public testing::TestWithParam<ExecutionMode> {
 protected:
  SqlTest() : session_(options_for(GetParam())) {}
  std::string q(std::string_view sql) { return session_.text(sql); }
  Session session_;
};
INSTANTIATE_TEST_SUITE_P(Modes, SqlTest, testing::Values(ExecutionMode::kInterpreted, ExecutionMode::kQuick));

TEST_P(SqlTest, ExplainsWhatRuns) {
  std::string ir = q("EXPLAIN (COMPILED) SELECT 1 + 2");
  EXPECT_NE(ir.find("rt_emit"), std::string::npos) << ir;
  EXPECT_EQ(ir.find("machine code"), std::string::npos) << ir;
  std::string both = q("EXPLAIN (COMPILED, MACHINE) SELECT 1 + 2");
  EXPECT_EQ(both.find(ir), 0u) << both;
  EXPECT_NE(both.find("machine code of"), std::string::npos) << both;
  EXPECT_NE(both.find("ret"), std::string::npos) << both;
  EXPECT_EQ(q("EXPLAIN (COMPILED, MACHINE off) SELECT 1 + 2"), ir);
  EXPECT_EQ(q("EXPLAIN SELECT 1"), "Direct (through indexes, as written)");
  EXPECT_EQ(q("EXPLAIN (COMPILED, NONE) SELECT 1"), "ERROR 42601: unrecognized EXPLAIN option \"none\"");
}

// EXPLAIN ANALYZE runs the statement and counts; numbers that vary become '#'.
std::string without_times(std::string text) {
  for (const char* label : {"time=", "memory=", "Time: ", "Memory: ", "Time\": ", "Usage\": "})
    for (size_t at = text.find(label); at != std::string::npos; at = text.find(label, at + 1)) {
      size_t from = at + std::strlen(label), to = text.find_first_not_of("0123456789.", from);
      text.replace(from, std::min(to, text.size()) - from, "#");
    }
  return text;
}

TEST_P(SqlTest, ExplainsWhatRan) {
  q("CREATE TABLE e (id integer PRIMARY KEY, g integer)");
  q("INSERT INTO e SELECT i, i % 3 FROM generate_series(1, 10) s(i)");
  EXPECT_EQ(without_times(q("EXPLAIN (ANALYZE, COSTS off) SELECT g, count(*) FROM e GROUP BY g ORDER BY g")),
            "Sort (actual rows=3)\n      Sort Key: #1.1\n"
            "  -> Hash Aggregate (actual rows=3)\n        Group Key: e.g\n        Aggregates: count(*)\n"
            "    -> Seq Scan on e (actual rows=10)\n"
            "Pipeline 1: Seq Scan on e => Hash Aggregate  (time=# ms rows=10 memory=# kB)\n"
            "Pipeline 2: Hash Aggregate => Sort  (time=# ms rows=3 memory=# kB)\n"
            "Pipeline 3: Sort  (time=# ms rows=3 memory=# kB)\n"
            "Planning Time: # ms\nMemory: # kB\nCode: " +
                std::string(GetParam() == ExecutionMode::kQuick ? "quick" : "interpreted") + "\nExecution Time: # ms");
  EXPECT_EQ(without_times(q("EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) DELETE FROM e WHERE id = 3")),
            "Direct (through indexes, as written) (actual rows=1)");
  EXPECT_EQ(q("SELECT count(*) FROM e"), "9");
  std::string json = q("EXPLAIN (ANALYZE, FORMAT json) SELECT sum(g) FROM e");
  for (const char* part : {"\"Actual Rows\": 9", "\"Pipelines\": [", "\"Actual Time\": ", "\"Execution Time\": "})
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  EXPECT_EQ(q("EXPLAIN (TIMING) SELECT 1"), "ERROR 22023: EXPLAIN option TIMING requires ANALYZE");
  EXPECT_EQ(q("EXPLAIN (FORMAT xml) SELECT 1"), "ERROR 0A000: EXPLAIN format xml is not supported");
  EXPECT_EQ(q("EXPLAIN (ANALYZE maybe) SELECT 1"), "ERROR 42601: analyze requires a Boolean value");
}

// Joins by unique integers go by arrays; what nobody joins is left out by the scan; partners may be groups.
TEST(Plans, ShowArraysFiltersAndGroupJoins) {
  DatabaseOptions options = options_for(ExecutionMode::kInterpreted);
  options.filter_from_ns = -1;
  Session session(options);
  ASSERT_TRUE(session
                  .script("CREATE TABLE part (p integer PRIMARY KEY, name text, price integer);"
                          "CREATE TABLE line (l integer PRIMARY KEY, p integer, n integer, t text);"
                          "INSERT INTO part SELECT i, 'part ' || i, i % 7 FROM generate_series(1, 100) i;"
                          "INSERT INTO line SELECT i, i % 120, i % 5, 'x' || i % 3 FROM generate_series(1, 2000) i;")
                  .ok());
  auto plan = [&](const std::string& sql) { return session.text("EXPLAIN (COSTS off, SUMMARY off) " + sql); };
  EXPECT_EQ(plan("SELECT sum(n) FROM line JOIN part ON line.p = part.p WHERE price = 3"),
            "Aggregate\n      Aggregates: sum(line.n)\n"
            "  -> Array Join\n        Hash Cond: line.p = part.p\n        Makes Filter: 1\n"
            "        Unless Empty By Bounds: part.price = 3, line.p = part.p\n"
            "    -> Seq Scan on line\n          Passes Filter 1: line.p\n"
            "    -> Seq Scan on part\n          Filter: (part.price = 3)");
  EXPECT_EQ(session.text("SELECT sum(n), count(*) FROM line JOIN part ON line.p = part.p WHERE price = 3"), "487|236");
  std::string groups =
      "SELECT part.p, name, sum(n), count(*) FROM line, part WHERE line.p = part.p GROUP BY part.p, name";
  EXPECT_NE(plan(groups).find("Group Join"), std::string::npos) << plan(groups);
  EXPECT_NE(plan("SELECT line.p, count(*) FROM line, part WHERE line.p = part.p GROUP BY line.p").find("Group Join"),
            std::string::npos);
  // not where a group has several rows of the table, or takes part of its key from the other side
  EXPECT_EQ(plan("SELECT price, count(*) FROM line, part WHERE line.p = part.p GROUP BY price").find("Group Join"),
            std::string::npos);
  EXPECT_EQ(plan("SELECT part.p, n, count(*) FROM line, part WHERE line.p = part.p GROUP BY 1, 2").find("Group Join"),
            std::string::npos);
  // by its keys a group passes a filter, too
  EXPECT_NE(plan("SELECT * FROM (SELECT p, sum(n) FROM line GROUP BY p) s JOIN part USING (p)").find("Passes Filter"),
            std::string::npos);
  // nothing is left out before a LIMIT, or on the side that a left join keeps
  EXPECT_EQ(plan("SELECT * FROM (SELECT p FROM line ORDER BY l LIMIT 9) s JOIN part USING (p)").find(": line.p\n"),
            std::string::npos);
  EXPECT_EQ(plan("SELECT * FROM line LEFT JOIN part USING (p)").find("Filter"), std::string::npos);
  EXPECT_EQ(plan("SELECT * FROM line WHERE p NOT IN (SELECT price FROM part WHERE price > 2)").find("Makes Filter"),
            std::string::npos);
}

// What occurs twice is computed once; not where it may differ, or where few rows of it may do.
TEST(Plans, ShareWhatIsRepeated) {
  DatabaseOptions options = options_for(ExecutionMode::kInterpreted);
  options.filter_from_ns = -1;
  Session session(options);
  ASSERT_TRUE(session
                  .script("CREATE TABLE part (p integer PRIMARY KEY, name text, price integer);"
                          "CREATE TABLE line (l integer PRIMARY KEY, p integer, n integer);"
                          "INSERT INTO part SELECT i, 'part ' || i, i % 7 FROM generate_series(1, 100) i;"
                          "INSERT INTO line SELECT i, i % 120, i % 5 FROM generate_series(1, 2000) i;")
                  .ok());
  auto scans = [&](const std::string& sql) {
    const std::string plan = session.text("EXPLAIN " + sql);
    int count = 0;
    for (size_t at = plan.find("Seq Scan on line"); at != std::string::npos; at = plan.find("Seq Scan on line", at + 1))
      count++;
    return count;
  };
  const std::string sum = "SELECT sum(n) FROM line JOIN part USING (p) WHERE price = 3";
  const std::string by =
      "SELECT name FROM line JOIN part USING (p) WHERE price = 3 GROUP BY name HAVING sum(n) * 9 > (";
  EXPECT_EQ(scans(by + sum + ")"), 1);
  EXPECT_EQ(session.text(by + sum + ") ORDER BY 1 LIMIT 1"), session.text(by + "487) ORDER BY 1 LIMIT 1"));
  EXPECT_EQ(scans(by + sum + " AND n > 0)"), 2);
  EXPECT_EQ(scans("SELECT (" + sum + "), (" + sum + "), (" + sum + ")"), 1);
  EXPECT_EQ(scans("(" + sum + ") UNION ALL (SELECT l FROM line JOIN part USING (p) WHERE price = 3 LIMIT 1)"), 2);
}

TEST(Plans, DropsWhatChangesNoAnswer) {
  Session session(options_for(ExecutionMode::kInterpreted));
  ASSERT_TRUE(session
                  .script("CREATE TABLE part (p integer PRIMARY KEY, name text, price integer);"
                          "CREATE TABLE line (l integer PRIMARY KEY, p integer, f double precision);"
                          "CREATE VIEW wide AS SELECT l, line.p, upper(name) AS u FROM line LEFT JOIN part USING (p);")
                  .ok());
  auto plan = [&](const std::string& sql) { return session.text("EXPLAIN (COSTS off, SUMMARY off) " + sql); };
  auto has = [&](const std::string& sql, const char* what) { return plan(sql).find(what) != std::string::npos; };
  // left joins with one partner at most that nobody reads
  EXPECT_EQ(plan("SELECT l FROM line LEFT JOIN part USING (p)"), "Seq Scan on line");
  EXPECT_FALSE(has("SELECT l, p FROM wide WHERE p > 3", "Left"));
  EXPECT_EQ(plan("SELECT count(*) FROM line LEFT JOIN (SELECT price, sum(p) FROM part GROUP BY price) s ON price = l"),
            "Aggregate\n      Aggregates: count(*)\n  -> Seq Scan on line");
  EXPECT_TRUE(has("SELECT u FROM wide", "Left"));
  EXPECT_TRUE(has("SELECT l FROM line LEFT JOIN part ON price = l", "Left"));
  EXPECT_TRUE(has("SELECT l FROM line LEFT JOIN part ON part.p = part.price + l", "Left"));
  EXPECT_TRUE(has("SELECT l FROM line LEFT JOIN (SELECT p FROM part WHERE random() < 1) s USING (p)", "Left"));
  EXPECT_TRUE(has("SELECT part.p FROM line JOIN part USING (p)", "Join"));
  // DISTINCT of rows that differ
  EXPECT_EQ(plan("SELECT DISTINCT l FROM line"), "Project\n      Expressions: line.l\n  -> Seq Scan on line");
  EXPECT_FALSE(has("SELECT DISTINCT ON (l) l, p FROM line", "Unique"));
  EXPECT_FALSE(
      has("SELECT DISTINCT price, n FROM (SELECT price, count(*) AS n FROM part GROUP BY price) s", "Distinct"));
  EXPECT_TRUE(has("SELECT DISTINCT p FROM line", "Distinct"));
  EXPECT_TRUE(has("SELECT DISTINCT ON (p) l, p FROM line", "Unique"));
  // sorts whose order nobody sees
  EXPECT_FALSE(has("SELECT count(*), max(p) FROM (SELECT * FROM line ORDER BY p) s", "Sort"));
  EXPECT_FALSE(has("SELECT DISTINCT p FROM (SELECT p FROM line ORDER BY l) s", "Sort"));
  EXPECT_FALSE(has("(SELECT p FROM line ORDER BY l) UNION SELECT p FROM part", "Sort"));
  EXPECT_TRUE(has("(SELECT p FROM line ORDER BY l) UNION ALL SELECT p FROM part", "Sort"));
  EXPECT_TRUE(has("SELECT sum(f) FROM (SELECT f FROM line ORDER BY f) s", "Sort"));
  EXPECT_TRUE(has("SELECT array_agg(p) FROM (SELECT p FROM line ORDER BY l) s", "Sort"));
  EXPECT_TRUE(has("SELECT sum(p) FROM (SELECT p FROM line ORDER BY l LIMIT 3) s", "Sort"));
}

TEST(Plans, AnalyzeSeesWhatTransactionsDid) {
  Session session(options_for(ExecutionMode::kInterpreted));
  ASSERT_TRUE(
      session
          .script("CREATE TABLE t (a integer PRIMARY KEY, b integer);"
                  "INSERT INTO t SELECT i, CASE WHEN i % 100 = 0 THEN 1 ELSE 2 END FROM generate_series(1, 4000) i;")
          .ok());
  auto rows = [&](const std::string& sql) {
    const std::string text = session.text("EXPLAIN " + sql);
    return std::stod(text.substr(text.find("rows=") + 5));
  };
  EXPECT_NEAR(rows("SELECT a FROM t WHERE b = 1"), 10, 5);  // nothing is known
  EXPECT_EQ(session.text("ANALYZE t"), "");
  EXPECT_NEAR(rows("SELECT a FROM t WHERE b = 1"), 40, 30);
  EXPECT_NEAR(rows("SELECT a FROM t WHERE b = 2"), 3960, 100);
  EXPECT_EQ(session.text("DELETE FROM t WHERE b = 2"), "");
  EXPECT_EQ(session.text("ANALYZE"), "");
  EXPECT_EQ(rows("SELECT a FROM t WHERE b = 1"), 40);
}

TEST(Plans, GroupsAreBoundedByWhatReachesThem) {
  Session session(options_for(ExecutionMode::kInterpreted));
  ASSERT_TRUE(session
                  .script("CREATE TABLE part (p integer PRIMARY KEY, name text, price integer);"
                          "CREATE TABLE line (l integer PRIMARY KEY, p integer, n integer);"
                          "INSERT INTO part SELECT i, 'part ' || i, i % 10 FROM generate_series(1, 1000) i;"
                          "INSERT INTO line SELECT i, i % 1000 + 1, i % 5 FROM generate_series(1, 20000) i;")
                  .ok());
  session.database().refresh_statistics();
  auto rows = [&](const std::string& sql) {  // of the topmost operator
    const std::string text = session.text("EXPLAIN " + sql);
    return std::stod(text.substr(text.find("rows=") + 5));
  };
  const std::string some = " FROM line JOIN part USING (p) WHERE price = 3 ";
  EXPECT_NEAR(rows("SELECT part.p, count(*)" + some + "GROUP BY part.p"), 100, 50);
  EXPECT_NEAR(rows("SELECT line.p, count(*)" + some + "GROUP BY line.p"), 100, 50);
  EXPECT_NEAR(rows("SELECT part.p, part.name, line.p, count(*)" + some + "GROUP BY 1, 2, 3"), 100, 50);
  EXPECT_NEAR(rows("SELECT DISTINCT line.p" + some), 100, 50);
  EXPECT_EQ(rows("SELECT price, count(*)" + some + "GROUP BY price"), 1);
  EXPECT_NEAR(rows("SELECT n, count(*) FROM line GROUP BY n"), 5, 1);
  EXPECT_NEAR(rows("SELECT n, price, count(*) FROM line JOIN part USING (p) GROUP BY n, price"), 50, 10);
  EXPECT_EQ(rows("SELECT l, p, n, count(*) FROM line GROUP BY l, p, n"), 20000);
  EXPECT_NEAR(rows("SELECT p FROM line INTERSECT SELECT p FROM part"), 1000, 1);
}

// Which queries search partial indexes and indexes on expressions.
TEST(Plans, ShowIndexesOfExpressions) {
  Session session(options_for(ExecutionMode::kInterpreted));
  ASSERT_TRUE(session
                  .script("CREATE TABLE t (id integer PRIMARY KEY, name text, n integer, g integer);"
                          "CREATE INDEX t_name ON t (lower(name)); CREATE INDEX t_part ON t (n) WHERE g = 1;"
                          "CREATE INDEX t_sum ON t ((n + g)) WHERE name IS NOT NULL;"
                          "INSERT INTO t SELECT i, 'N' || i, i, i % 50 FROM generate_series(1, 5000) i;")
                  .ok());
  auto searches = [&](const std::string& where) {
    const std::string plan = session.text("EXPLAIN (COSTS off) SELECT count(*) FROM t WHERE " + where);
    return plan.find("Seq Scan on t") == std::string::npos;
  };
  EXPECT_TRUE(searches("lower(name) = 'n7'"));
  EXPECT_TRUE(searches("'n7' = lower(name)"));
  EXPECT_TRUE(searches("n = 51 AND g = 1"));
  EXPECT_TRUE(searches("g = 1"));
  EXPECT_TRUE(searches("n + g = 7 AND name = 'x'"));
  EXPECT_FALSE(searches("upper(name) = 'N7'"));
  EXPECT_FALSE(searches("n = 51"));
  EXPECT_FALSE(searches("n = 51 AND g = 2"));
  EXPECT_FALSE(searches("n + g = 7"));
  EXPECT_EQ(session.text("SELECT count(*) FROM t WHERE n + g = 7 AND name = 'x'"), "0");
  EXPECT_EQ(session.text("SELECT id FROM t WHERE n + g = 8 AND name > 'N'"), "4");
}

// Random changes; what the indexes say is what the rows say.
TEST_P(SqlTest, PartialIndexesAgreeWithTheirTables) {
  ASSERT_TRUE(session_
                  .script("CREATE TABLE t (id integer PRIMARY KEY, name text, n integer);"
                          "CREATE UNIQUE INDEX one ON t (lower(name)) WHERE n > 5;"
                          "CREATE INDEX many ON t (n) WHERE name IS NOT NULL; CREATE INDEX sums ON t ((n + id));")
                  .ok());
  Random random(test_seed());
  auto one_of = [&](int below) { return std::to_string(random.below(static_cast<uint64_t>(below))); };
  auto name = [&] { return random.one_in(5) ? "NULL" : (random.one_in(2) ? "'a" : "'A") + one_of(40) + "'"; };
  int refused = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string sql;
    switch (random.below(6)) {
      case 0:
        sql = "UPDATE t SET name = " + name() + ", n = n + 1 WHERE id = " + one_of(60);
        break;
      case 1:
        sql = "UPDATE t SET n = " + one_of(12) + " WHERE id > " + one_of(60);
        break;
      case 2:
        sql = "DELETE FROM t WHERE id = " + one_of(60);
        break;
      case 3:
        sql = "INSERT INTO t VALUES (" + one_of(60) + ", " + name() + ", " + one_of(12) +
              ") ON CONFLICT (lower(name)) WHERE n > 5 DO UPDATE SET n = excluded.n";
        break;
      default:
        sql = "INSERT INTO t VALUES (" + one_of(60) + ", " + name() + ", " + one_of(12) +
              ") ON CONFLICT (id) DO UPDATE SET name = excluded.name";
    }
    const std::string answer = q(sql);
    refused += answer.find("23505") != std::string::npos ? 1 : 0;
    ASSERT_TRUE(answer.find("ERROR") == std::string::npos || answer.find("23505") != std::string::npos) << answer;
    if (i % 50 != 0) continue;
    storage::check_table(*session_.database().catalog()->find_table("t"));
    const std::string n = one_of(12), sum = one_of(60), key = one_of(40);
    EXPECT_EQ(q("SELECT count(*) FROM t WHERE n = " + n + " AND name IS NOT NULL"),
              q("SELECT count(name) FROM t WHERE n + 0 = " + n));
    EXPECT_EQ(q("SELECT sum(id) FROM t WHERE n + id = " + sum), q("SELECT sum(id) FROM t WHERE id + n = " + sum));
    EXPECT_EQ(q("SELECT id FROM t WHERE lower(name) = 'a" + key + "' AND n > 5"),
              q("SELECT id FROM t WHERE lower(name) || '' = 'a" + key + "' AND n > 5"));
  }
  EXPECT_GT(refused, 0);
  EXPECT_EQ(q("SELECT count(*) FROM (SELECT lower(name) FROM t WHERE n > 5 GROUP BY 1 HAVING count(name) > 1) s"), "0");
}

TEST_P(SqlTest, Expressions) {
  EXPECT_EQ(q("SELECT 1 + 2 * 3"), "7");
  EXPECT_EQ(q("SELECT 7 / 2, -7 / 2, 7 % 3, -7 % 3"), "3|-3|1|-1");
  EXPECT_EQ(q("SELECT 2147483647 + 1"), "ERROR 22003: integer out of range");
  EXPECT_EQ(q("SELECT 1 / 0"), "ERROR 22012: division by zero");
  EXPECT_EQ(q("SELECT 1.5 + 2.25, 1.5 * 2, 10 / 4.0, 1.0 / 3"), "3.75|3.0|2.5000000000000000|0.33333333333333333333");
  EXPECT_EQ(q("SELECT NULL IS NULL, 1 IS NULL, NULL = 1, NULL AND false, NULL OR true, NOT NULL::boolean"),
            "t|f|NULL|f|t|NULL");
  EXPECT_EQ(q("SELECT 'a' || 'b' || 1, left('hello', 2), position('l' IN 'hello'), length('abc')"), "ab1|he|3|3");
  EXPECT_EQ(q("SELECT CASE WHEN 1 > 2 THEN 'x' ELSE 'y' END, coalesce(NULL, 3), nullif(1, 1), greatest(1, 3, 2)"),
            "y|3|NULL|3");
  EXPECT_EQ(q("SELECT 5 BETWEEN 1 AND 10, 3 IN (1, 2, 3), 4 NOT IN (1, NULL)"), "t|t|NULL");
  EXPECT_EQ(q("SELECT date '2024-02-28' + 2, timestamp '2024-01-01 10:00:00'"), "2024-03-01|2024-01-01 10:00:00");
  EXPECT_EQ(q("SELECT (ARRAY[10, 20, 30])[2], array_length(ARRAY[1, 2], 1), 2 = ANY (ARRAY[1, 2])"), "20|2|t");
  EXPECT_EQ(q("SELECT 'abc'::integer"), "ERROR 22P02: invalid input syntax for type integer: \"abc\"");
  EXPECT_EQ(q("SELECT 123.456::numeric(5,2), 3.7::integer, '12'::integer + 1"), "123.46|4|13");
  EXPECT_EQ(q("SELECT 'ab'::char(4) || 'c', 'ab'::char(4) = 'ab'"), "abc|t");
}

TEST_P(SqlTest, TablesAndQueries) {
  ASSERT_TRUE(session_
                  .script("CREATE TABLE t (a integer PRIMARY KEY, b varchar(10), c numeric(8,2) NOT NULL);"
                          "INSERT INTO t VALUES (1, 'one', 1.5), (2, NULL, 2.25), (3, 'three', 3);")
                  .ok());
  EXPECT_EQ(q("SELECT * FROM t ORDER BY a"), "1|one|1.50\n2|NULL|2.25\n3|three|3.00");
  EXPECT_EQ(q("SELECT a FROM t WHERE a = 2"), "2");
  EXPECT_EQ(q("SELECT a FROM t WHERE b IS NULL"), "2");
  EXPECT_EQ(q("SELECT count(*), count(b), sum(c), avg(c), min(b), max(a) FROM t"), "3|2|6.75|2.2500000000000000|one|3");
  EXPECT_EQ(q("INSERT INTO t VALUES (1, 'x', 0)"),
            "ERROR 23505: duplicate key value violates unique constraint \"t_pkey\"");
  EXPECT_EQ(q("INSERT INTO t VALUES (9, 'x', NULL)"),
            "ERROR 23502: null value in column \"c\" of relation \"t\" violates not-null constraint");
  EXPECT_EQ(q("INSERT INTO t VALUES (9, 'longer than ten', 1)"),
            "ERROR 22001: value too long for type character varying(10)");
  EXPECT_EQ(q("UPDATE t SET c = c + 1 WHERE a >= 2 RETURNING a, c"), "2|3.25\n3|4.00");
  EXPECT_EQ(q("DELETE FROM t WHERE a = 1 RETURNING b"), "one");
  EXPECT_EQ(q("SELECT a FROM t ORDER BY a DESC LIMIT 1"), "3");
  EXPECT_EQ(q("SELECT x FROM t"), "ERROR 42703: column \"x\" does not exist");
  EXPECT_EQ(q("SELECT * FROM nowhere"), "ERROR 42P01: relation \"nowhere\" does not exist");
  EXPECT_EQ(q("SELECT 1 +"), "ERROR 42601: syntax error at end of input");
}

TEST_P(SqlTest, JoinsAndGroups) {
  ASSERT_TRUE(session_
                  .script("CREATE TABLE p (id integer PRIMARY KEY, name text);"
                          "CREATE TABLE c (id integer PRIMARY KEY, p_id integer, v integer);"
                          "INSERT INTO p VALUES (1, 'a'), (2, 'b'), (3, 'c');"
                          "INSERT INTO c VALUES (10, 1, 5), (11, 1, 7), (12, 2, 9), (13, NULL, 1);")
                  .ok());
  EXPECT_EQ(q("SELECT p.name, c.v FROM p JOIN c ON c.p_id = p.id ORDER BY c.id"), "a|5\na|7\nb|9");
  EXPECT_EQ(q("SELECT p.name, c.v FROM p LEFT JOIN c ON c.p_id = p.id ORDER BY p.id, c.id"), "a|5\na|7\nb|9\nc|NULL");
  EXPECT_EQ(q("SELECT p.name, count(c.id), sum(c.v) FROM p LEFT JOIN c ON c.p_id = p.id GROUP BY p.name ORDER BY 1"),
            "a|2|12\nb|1|9\nc|0|NULL");
  EXPECT_EQ(q("SELECT name FROM p WHERE EXISTS (SELECT 1 FROM c WHERE c.p_id = p.id AND c.v > 8)"), "b");
  EXPECT_EQ(q("SELECT name FROM p WHERE id IN (SELECT p_id FROM c) ORDER BY name"), "a\nb");
  EXPECT_EQ(q("SELECT name, (SELECT max(v) FROM c WHERE p_id = p.id) FROM p ORDER BY id"), "a|7\nb|9\nc|NULL");
  EXPECT_EQ(q("SELECT p_id, sum(v) FROM c GROUP BY p_id HAVING sum(v) > 8 ORDER BY p_id"), "1|12\n2|9");
  EXPECT_EQ(q("SELECT DISTINCT p_id FROM c ORDER BY p_id NULLS FIRST"), "NULL\n1\n2");
  EXPECT_EQ(q("SELECT 1 UNION SELECT 2 UNION SELECT 1 ORDER BY 1"), "1\n2");
  EXPECT_EQ(q("SELECT x, y FROM (SELECT p_id AS x, v AS y FROM c) s WHERE y > 5 ORDER BY y"), "1|7\n2|9");
  EXPECT_EQ(q("SELECT name, v FROM p, c WHERE p_id = p.id + 1 - 1 AND v + 0 = 7"), "a|7");
  EXPECT_EQ(q("SELECT v FROM c, p GROUP BY p_id"),
            "ERROR 42803: column \"c.v\" must appear in the GROUP BY clause or be used in an aggregate function");
  EXPECT_EQ(q("UPDATE c SET v = v + 100 FROM p WHERE p.id = c.p_id AND p.name = 'a' RETURNING c.id, p.name, v"),
            "10|a|105\n11|a|107");
}

TEST_P(SqlTest, Procedures) {
  ASSERT_TRUE(session_
                  .script(R"(
    CREATE TABLE account (id integer PRIMARY KEY, balance numeric(12,2) NOT NULL) PARTITION BY HASH (id);
    INSERT INTO account SELECT i, 100 FROM generate_series(1, 10) AS g(i);
    CREATE FUNCTION fib(n integer) RETURNS integer LANGUAGE plpgsql AS $$
    BEGIN
      IF n < 2 THEN RETURN n; END IF;
      RETURN fib(n - 1) + fib(n - 2);
    END $$;
    CREATE PROCEDURE transfer(a integer, b integer, amount numeric, INOUT left_over numeric DEFAULT NULL) LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE account SET balance = balance - amount WHERE id = a RETURNING balance INTO left_over;
      IF NOT FOUND THEN RAISE EXCEPTION 'no account %', a USING ERRCODE = 'P1234'; END IF;
      UPDATE account SET balance = balance + amount WHERE id = b;
      IF left_over < 0 THEN RAISE EXCEPTION 'too poor: %', left_over; END IF;
    END $$;
    CREATE PROCEDURE careful(a integer, b integer, amount numeric, INOUT message text DEFAULT '') LANGUAGE plpgsql AS $$
    DECLARE r numeric;
    BEGIN
      BEGIN
        CALL transfer(a, b, amount, r);
        message := 'left ' || r;
      EXCEPTION WHEN OTHERS THEN
        message := SQLSTATE || ': ' || SQLERRM;
      END;
    END $$;)")
                  .ok());
  EXPECT_EQ(q("SELECT fib(15)"), "610");
  EXPECT_EQ(q("CALL transfer(1, 2, 30)"), "70.00");
  EXPECT_EQ(q("CALL transfer(1, 2, 300)"), "ERROR P0001: too poor: -230.00");
  EXPECT_EQ(q("CALL transfer(99, 2, 300)"), "ERROR P1234: no account 99");
  EXPECT_EQ(q("CALL careful(1, 2, 300)"), "P0001: too poor: -230.00");
  EXPECT_EQ(q("CALL careful(1, 2, 10.5)"), "left 59.50");
  EXPECT_EQ(q("SELECT sum(balance), count(*) FROM account"), "1000.00|10");
  EXPECT_EQ(q("SELECT id, balance FROM account WHERE id IN (1, 2) ORDER BY id"), "1|59.50\n2|140.50");
}

// The catalog of an archive, and one that a program of before wrote: without what came with version 9.
TEST(CatalogImageTest, IsReadAsItWasWritten) {
  Session session(options_for(ExecutionMode::kInterpreted));
  auto image = [&] { return encode_catalog(*session.database().catalog()); };
  auto read = [&](std::string_view bytes) { return decode_catalog(bytes, 4, session.database().arena()); };
  ASSERT_TRUE(session.script("CREATE TABLE t (a integer PRIMARY KEY); CREATE VIEW v AS SELECT a FROM t;").ok());
  std::string before = image();
  // the numbers of materialized and of hot data views, t's cache; v's options; the database's name and settings;
  // how the table is partitioned, and whether v is a partition
  const size_t name_bytes = session.database().catalog()->database.name.size();
  before.resize(before.size() - 3 * sizeof(uint32_t) - 2 - (2 * sizeof(uint32_t) + name_bytes) -
                (1 + sizeof(uint32_t) + 1));
  const uint32_t version = 8;
  std::memcpy(before.data(), &version, sizeof(version));
  const auto old = read(before);
  ASSERT_TRUE(old.ok()) << old.status();
  EXPECT_EQ(encode_catalog(**old), image());
  ASSERT_TRUE(
      session
          .script("CREATE TABLE c (b integer REFERENCES t); ALTER TABLE c DISABLE TRIGGER ALL;"
                  "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
                  "CREATE TRIGGER i INSTEAD OF INSERT ON v FOR EACH ROW EXECUTE FUNCTION f();"
                  "CREATE TRIGGER r AFTER UPDATE ON t REFERENCING OLD TABLE AS o NEW TABLE AS n EXECUTE FUNCTION f();"
                  "CREATE CONSTRAINT TRIGGER k AFTER INSERT ON t FROM c DEFERRABLE FOR EACH ROW EXECUTE FUNCTION f();"
                  "ALTER TABLE t ENABLE REPLICA TRIGGER k;"
                  "CREATE VIEW w WITH (security_invoker) AS SELECT a FROM v WHERE a > 0 WITH LOCAL CHECK OPTION;"
                  "CREATE TABLE p (a integer, b text) PARTITION BY RANGE (a, lower(b));"
                  "CREATE TABLE p1 PARTITION OF p (b DEFAULT 'x', CHECK (a <> 3)) FOR VALUES FROM (1, MINVALUE) TO (5, "
                  "'b');"
                  "CREATE TABLE p2 PARTITION OF p DEFAULT PARTITION BY LIST (b);"
                  "CREATE TABLE p3 PARTITION OF p2 FOR VALUES IN ('x', NULL);"
                  "CREATE MATERIALIZED VIEW m AS SELECT a FROM v; CREATE MATERIALIZED VIEW e AS SELECT 1 WITH NO DATA;")
          .ok());
  const std::string now = image();
  const auto again = read(now);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(encode_catalog(**again), now);
  const Trigger& referencing = *(*again)->triggers.at({"t", "r"});
  EXPECT_EQ(referencing.old_table + referencing.new_table, "on");
  EXPECT_TRUE((*again)->triggers.at({"v", "i"})->instead);
  const Trigger& constraint = *(*again)->triggers.at({"t", "k"});
  EXPECT_TRUE(constraint.is_constraint && constraint.is_deferrable);
  EXPECT_EQ(constraint.constraint_table, "c");
  EXPECT_EQ(constraint.firing, Firing::kReplica);
  const View* view = (*again)->find_view("w", false);
  EXPECT_TRUE(view->check_option == CheckOption::kLocal && view->is_invoker);
  const auto& keys = (*again)->rules.at((*again)->find_table("c")->schema().id).foreign_keys;
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_FALSE(keys[0].checks);
  EXPECT_TRUE(keys[0].acts);
  EXPECT_TRUE((*again)->find_materialized_view("m")->is_populated);
  EXPECT_FALSE((*again)->find_materialized_view("e")->is_populated);
  for (size_t size = before.size(); size < now.size(); size += 13)  // what is cut is found
    EXPECT_FALSE(read(std::string_view(now).substr(0, size)).ok()) << size;
}

}  // namespace
}  // namespace scyper::query
