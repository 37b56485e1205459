#include <gtest/gtest.h>

#include <cstring>

#include <fstream>
#include <sstream>

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
            "Planning Time: # ms\nMemory: # kB\nExecution Time: # ms");
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

}  // namespace
}  // namespace scyper::query
