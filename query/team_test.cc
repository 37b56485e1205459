// Queries that several threads run together give what one thread gives: rows, and errors of any of them.
#include <gtest/gtest.h>

#include "testing/session.h"

namespace scyper::query {
namespace {

class TeamTest : public testing::TestWithParam<ExecutionMode> {
 protected:
  static std::unique_ptr<Session> make_session(uint32_t threads, size_t scratch_bytes = size_t{256} << 20) {
    DatabaseOptions options;
    options.execution = GetParam();
    options.partitions = 3;
    options.shared_from_ns = 0;
    options.filter_from_ns = -1;  // wherever it can
    auto session = std::make_unique<Session>(options, scratch_bytes);
    session->set_threads(threads);
    Status status = session->script(
        "CREATE TABLE line (w integer NOT NULL, n integer NOT NULL, item integer, amount numeric(6,2), text "
        "varchar(20), PRIMARY KEY (w, n)) PARTITION BY HASH (w);"
        "CREATE TABLE item (i integer PRIMARY KEY, name varchar(24) NOT NULL);"
        "INSERT INTO line SELECT s % 7, s, CASE WHEN s % 11 = 0 THEN NULL ELSE s * 7919 % 3000 END, s % 1000 / 8.0, "
        "'t' || s % 13 FROM generate_series(1, 60000) s;"
        "INSERT INTO item SELECT s, 'item ' || s % 50 FROM generate_series(0, 2499) s;"
        "CREATE TABLE sparse (k bigint PRIMARY KEY, v integer);"
        "INSERT INTO sparse SELECT s * 1000000007::bigint, s FROM generate_series(-3, 2000) s");
    EXPECT_TRUE(status.ok()) << status;
    return session;
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, TeamTest, testing::Values(ExecutionMode::kInterpreted, ExecutionMode::kQuick));

TEST_P(TeamTest, SameRowsAsAlone) {
  const char* queries[] = {
      "SELECT count(*), sum(amount), min(item), max(n), avg(amount) FROM line",
      "SELECT text, count(*), count(item), sum(amount), min(amount), max(w) FROM line GROUP BY text ORDER BY text",
      "SELECT n % 5000, sum(item) FROM line GROUP BY n % 5000 ORDER BY 1 LIMIT 40 OFFSET 7",
      "SELECT name, sum(amount) FROM line JOIN item ON item = i GROUP BY name ORDER BY name",
      "SELECT name, count(n), max(n) FROM item LEFT JOIN line ON item = i AND amount > 100 GROUP BY name ORDER BY 1",
      "SELECT count(*) FROM item WHERE EXISTS (SELECT FROM line WHERE item = i AND amount > 120)",
      "SELECT count(*), sum(n) FROM line WHERE NOT EXISTS (SELECT FROM item WHERE item = i AND name LIKE '%3')",
      "SELECT count(*), sum(i) FROM (SELECT DISTINCT item, text FROM line) d JOIN item ON i = d.item",
      "SELECT n FROM line WHERE item = 77 ORDER BY n",
      "WITH s AS (SELECT item, sum(n) a FROM line GROUP BY 1) SELECT count(*) FROM s WHERE a = (SELECT max(a) FROM s)",
      "SELECT count(*) FROM line a JOIN line b ON a.item = b.n WHERE a.w <> b.w",
      "SELECT w, n FROM line WHERE amount > 124.8 AND text LIKE 't1%' ORDER BY w DESC, n",
      "SELECT sum(amount) FROM line WHERE n < 0",
      // arrays, exact and by hash, with filters and groups of their own
      "SELECT i, name, count(*), sum(amount), max(n) FROM line JOIN item ON item = i GROUP BY i, name ORDER BY i",
      "SELECT a.w, a.n, sum(b.n), min(b.amount) FROM line a JOIN line b ON a.w = b.w AND a.n = b.n AND a.text < 't5' "
      "GROUP BY a.w, a.n ORDER BY 1, 2 LIMIT 50",
      "SELECT k, count(*), avg(amount) FROM line JOIN sparse ON k = item * 1000000007::bigint GROUP BY k ORDER BY k",
      "SELECT count(*), sum(v) FROM line JOIN sparse ON k = item * 1000000007::bigint JOIN item ON i = v WHERE name "
      "LIKE "
      "'%9'",
      "SELECT count(*), sum(amount) FROM line, (SELECT i, avg(n) a FROM line JOIN item ON item = i WHERE name LIKE "
      "'%7' "
      "GROUP BY i) t WHERE item = t.i AND n < a",
      "SELECT text, sum(n) FROM line WHERE n < 0 GROUP BY text",
  };
  auto alone = make_session(1);
  for (uint32_t threads : {2u, 5u}) {
    auto together = make_session(threads);
    for (const char* query : queries) EXPECT_EQ(together->text(query), alone->text(query)) << threads << " " << query;
  }
}

// The runtime's choice between exact and hashed places changes no rows either.
TEST_P(TeamTest, ArraysAreAsTables) {
  auto session = make_session(3);
  EXPECT_NE(session->text("EXPLAIN SELECT i, sum(n) FROM line JOIN item ON item = i GROUP BY i").find("Group Join"),
            std::string::npos);
  const char* as_written =
      "SELECT count(*), sum(x.n) FROM line x WHERE x.item * 1000000007::bigint IN (SELECT k + 0 FROM sparse)";
  const char* by_key = "SELECT count(*), sum(x.n) FROM line x JOIN sparse ON k = x.item * 1000000007::bigint";
  EXPECT_NE(session->text(std::string("EXPLAIN ") + by_key).find("Array Join"), std::string::npos);
  EXPECT_EQ(session->text(by_key), session->text(as_written));
}

TEST_P(TeamTest, ErrorOfOneEndsAll) {
  auto session = make_session(4);
  EXPECT_EQ(session->text("SELECT text, sum(1 / (n - 33333)) FROM line GROUP BY text"),
            "ERROR 22012: division by zero");
  EXPECT_EQ(session->text("SELECT count(*) FROM line JOIN item ON i = 5000 / (n - 33333)"),
            "ERROR 22012: division by zero");
  EXPECT_EQ(session->text("SELECT count(*) FROM line"), "60000");
}

TEST_P(TeamTest, MemoryIsBounded) {
  auto session = make_session(2, size_t{8} << 20);
  EXPECT_EQ(session->text("SELECT count(*) FROM (SELECT a.text, b.n FROM line a JOIN line b ON a.item = b.item "
                          "GROUP BY a.text, b.n) x"),
            "ERROR 53200: out of memory");
  EXPECT_EQ(session->text("SELECT count(*) FROM line"), "60000");
}

}  // namespace
}  // namespace scyper::query
