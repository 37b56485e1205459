// Least and largest values of columns, and queries that need not run because of them.
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "base/test_seed.h"
#include "base/test_slice.h"
#include "bind/builtins.h"
#include "compile/program_parts.h"
#include "runtime/column_bounds.h"
#include "testing/session.h"

namespace scyper::query {
namespace {

class BoundsTest : public testing::TestWithParam<storage::Layout> {
 protected:
  static std::unique_ptr<Session> make_session(const std::string& script,
                                               ExecutionMode mode = ExecutionMode::kInterpreted) {
    DatabaseOptions options;
    options.execution = mode;
    options.partitions = 3;
    options.layout = GetParam();
    auto session = std::make_unique<Session>(options);
    Status status = session->script(script);
    EXPECT_TRUE(status.ok()) << status;
    return session;
  }
};
INSTANTIATE_TEST_SUITE_P(Layouts, BoundsTest, testing::Values(storage::Layout::kColumn, storage::Layout::kRow));

constexpr std::pair<BuiltinOp, const char*> kOperators[] = {{BuiltinOp::kLess, "<"},
                                                            {BuiltinOp::kLessEqual, "<="},
                                                            {BuiltinOp::kGreater, ">"},
                                                            {BuiltinOp::kGreaterEqual, ">="},
                                                            {BuiltinOp::kEqual, "="}};

// The table that a query reads, as its code finds it.
struct Tables {
  Tables(Session* session, const std::string& name) : program(session->program("SELECT count(*) FROM " + name)) {
    first = const_cast<storage::Table&>(program->table(0)).partition_array();
    context.tables = &first;
  }
  std::shared_ptr<const Program> program;
  storage::TablePartition** first = nullptr;
  ExecContext context;
};

// Whatever was deleted, overwritten or is NULL: they say what a scan would find.
TEST_P(BoundsTest, AreThoseOfTheRows) {
  std::mt19937_64 random(test_seed());
  auto number = [&](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
  auto session = make_session(
      "CREATE TABLE t (n integer PRIMARY KEY, s smallint, i integer NOT NULL, b bigint, d date, m numeric(8,2)) "
      "PARTITION BY HASH (n);"
      "INSERT INTO t SELECT g, NULL, g % 1000, NULL, NULL, g FROM generate_series(1, 60000) g");
  const char* columns[] = {"n", "s", "i", "b", "d"};
  for (int round = 0; round < test_slice(6, 2); round++) {
    const int low = number(40000) - 20000, high = low + 1 + number(3000);
    ASSERT_TRUE(session
                    ->run(absl::StrCat("UPDATE t SET s = n % 100 + ", number(900), ", i = ", low, " + n % ", high - low,
                                       ", b = CASE n % 3 WHEN 0 THEN NULL ELSE n - 30000 END, d = DATE "
                                       "'2020-01-01' + n % 50 WHERE n % ",
                                       2 + number(5), " = 0"))
                    .ok());
    ASSERT_TRUE(
        session->run(absl::StrCat("DELETE FROM t WHERE n > ", 60000 - number(20000), " OR n < ", number(9000))).ok());
    Tables tables(session.get(), "t");
    for (int64_t column = 0; column < 5; column++)
      for (const auto& [op, symbol] : kOperators)
        for (int64_t value : {-40000, low, high, high - 1, 0, 99, 7305, 7354, 7355, 60000, number(60000)}) {
          ColumnComparison comparison;
          comparison.op = static_cast<int64_t>(op);
          comparison.left_column = column;
          comparison.constant = value;
          const std::string text = column == 4 ? absl::StrCat("DATE '2000-01-01' + ", value) : absl::StrCat(value);
          const std::string some =
              session->text(absl::StrCat("SELECT count(*) > 0 FROM t WHERE ", columns[column], " ", symbol, " ", text));
          // between the bounds there may be gaps: equality is not decided there
          if (op == BuiltinOp::kEqual && some == "f") continue;
          ColumnBounds bounds;
          EXPECT_EQ(bounds.exclude(tables.context, comparison), some == "f") << columns[column] << symbol << text;
        }
  }
  ASSERT_TRUE(session->run("DELETE FROM t").ok());
  Tables tables(session.get(), "t");
  ColumnBounds bounds;
  EXPECT_TRUE(bounds.exclude(tables.context, ColumnComparison{}));
}

TEST_P(BoundsTest, AreReadOnceAndNoFurtherThanNeeded) {
  auto session = make_session(
      "CREATE TABLE t (n integer PRIMARY KEY, i integer NOT NULL, j integer) PARTITION BY HASH (n);"
      "INSERT INTO t SELECT g, g, 70000 + g FROM generate_series(1, 60000) g");
  Tables tables(session.get(), "t");
  ColumnBounds bounds;
  ColumnComparison small{static_cast<int64_t>(BuiltinOp::kGreater), 0, 1, -1, 0, 100};
  EXPECT_FALSE(bounds.exclude(tables.context, small));
  EXPECT_EQ(bounds.chunks_read(), 1u);
  EXPECT_FALSE(bounds.exclude(tables.context, small));
  EXPECT_EQ(bounds.chunks_read(), 1u);
  ColumnComparison large{static_cast<int64_t>(BuiltinOp::kGreater), 0, 1, 0, 2, 0};
  EXPECT_TRUE(bounds.exclude(tables.context, large));
  const uint64_t all = bounds.chunks_read();
  EXPECT_GE(all, 8u);  // four chunks at least, of two columns
  EXPECT_TRUE(bounds.exclude(tables.context, large));
  EXPECT_EQ(bounds.chunks_read(), all);
  session->interrupt(Interrupt::kNone);
  tables.context.interrupt = static_cast<uint32_t>(Interrupt::kCancel);
  EXPECT_FALSE(ColumnBounds().exclude(tables.context, large));
}

// Of ranges, whether chunks are read to their end or not, asked once or twice.
TEST_P(BoundsTest, ChunksHaveTheValuesOfTheirRows) {
  std::mt19937_64 random(test_seed());
  auto number = [&](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
  auto session = make_session(
      "CREATE TABLE t (n integer PRIMARY KEY, s smallint, i integer NOT NULL, b bigint);"
      "INSERT INTO t SELECT g, g / 3, g - 25000, CASE WHEN g % 5 > 0 THEN g * 1000000::bigint END FROM "
      "generate_series(1, 50000) g");
  const char* columns[] = {"n", "s", "i", "b"};
  const int64_t scales[] = {1, 1, 1, 1000000};
  for (int round = 0; round < 4; round++) {
    ASSERT_TRUE(session->run(absl::StrCat("UPDATE t SET i = i + 100000 WHERE n % 10000 = ", number(10000))).ok());
    ASSERT_TRUE(session->run(absl::StrCat("DELETE FROM t WHERE n / 100 % 7 = ", number(7), " OR n = 1")).ok());
    Tables tables(session.get(), "t");
    const storage::TablePartition& partition = *tables.first[0];
    ColumnBounds kept;
    for (int test = 0; test < 60; test++) {
      const auto column = static_cast<uint32_t>(number(4));
      const int64_t low = (number(80000) - 20000) * scales[column], high = low + number(2) * number(500);
      bool some = false, some_kept = false;
      for (storage::Tid first = 0; first < partition.tuple_limit; first += storage::kChunkTuples) {
        some |= ColumnBounds::has_value(nullptr, partition, first, column, {low, high});
        some_kept |= ColumnBounds::has_value(&kept, partition, first, column, {low, high});
      }
      const std::string expected = session->text(
          absl::StrCat("SELECT count(*) > 0 FROM t WHERE ", columns[column], " BETWEEN ", low, " AND ", high));
      EXPECT_EQ(some, expected == "t") << columns[column] << " " << low << " " << high;
      if (expected == "t") EXPECT_TRUE(some_kept) << columns[column] << " " << low << " " << high;
    }
    EXPECT_GT(kept.chunks_read(), 0u);
  }
}

TEST_P(BoundsTest, ScansPassOverHotChunks) {
  for (ExecutionMode mode : {ExecutionMode::kInterpreted, ExecutionMode::kQuick}) {
    auto session = make_session(
        "CREATE TABLE t (n integer PRIMARY KEY, d date NOT NULL, m numeric(9,2), k integer);"
        "INSERT INTO t SELECT g, DATE '2020-01-01' + g / 100, g / 4.0, g % 100 FROM generate_series(1, 100000) g",
        mode);
    auto skipped_by = [&](const std::string& condition, const std::string& expected) {
      const uint64_t before = session->chunks_skipped();
      EXPECT_EQ(session->text("SELECT count(*), min(k), max(n) FROM t WHERE " + condition), expected) << condition;
      return session->chunks_skipped() - before;
    };
    EXPECT_EQ(skipped_by("d >= DATE '2020-02-01' AND d < DATE '2020-02-03' AND k >= 0", "200|0|3299"), 6u);
    EXPECT_EQ(skipped_by("d = DATE '2022-01-01'", "100|0|73199"), 6u);
    EXPECT_EQ(skipped_by("m BETWEEN 10 AND 10.5", "3|40|42"), 6u);
    EXPECT_EQ(skipped_by("m > 24999.50", "2|0|100000"), 6u);
    EXPECT_EQ(skipped_by("d IN (DATE '2020-01-02', DATE '2022-09-26')", "200|0|99999"), 5u);
    EXPECT_EQ(skipped_by("d > DATE '2030-01-01'", "0|NULL|NULL"), 7u);
    EXPECT_EQ(skipped_by("k = 5", "1000|5|99905"), 0u);
    EXPECT_EQ(skipped_by("d < DATE '2020-01-02' OR k = 5", "1098|1|99905"), 0u);
    ASSERT_TRUE(session->run("UPDATE t SET d = DATE '2031-01-01' WHERE n = 50000").ok());
    EXPECT_EQ(skipped_by("d > DATE '2030-01-01'", "1|0|50000"), 6u);
    ASSERT_TRUE(session->run("DELETE FROM t WHERE n = 50000").ok());
    EXPECT_EQ(skipped_by("d > DATE '2030-01-01'", "0|NULL|NULL"), 7u);
    EXPECT_EQ(session->text("SELECT a.n, b.n FROM t a, t b WHERE a.d = DATE '2020-01-01' AND b.n = a.n + 3 AND b.d > "
                            "DATE '2020-01-01' AND b.d <= DATE '2020-01-02' ORDER BY 1"),
              "97|100\n98|101\n99|102");
  }
}

// Groups in an array: keys outside of what the statistics know, and NULL, have groups all the same; sum and avg of the
// same value add up once, with and without a count of their own.
TEST_P(BoundsTest, GroupsInAnArrayAreForAllKeys) {
  for (ExecutionMode mode : {ExecutionMode::kInterpreted, ExecutionMode::kQuick}) {
    auto session = make_session(
        "CREATE TABLE t (id integer PRIMARY KEY, k smallint, v numeric(6,2) NOT NULL, n integer, f double precision);"
        "INSERT INTO t SELECT g, g % 5 - 2, g, CASE WHEN g % 2 = 0 THEN g END, g FROM generate_series(1, 4000) g",
        mode);
    session->database().refresh_statistics();
    const std::string grouped =
        "SELECT k, count(*), sum(v), avg(v), sum(n), avg(n), sum(f) = avg(f) * count(f) FROM t GROUP BY k ORDER BY k";
    EXPECT_NE(session->text("EXPLAIN " + grouped).find("Group Array: -2 to 2"), std::string::npos)
        << session->text("EXPLAIN " + grouped);
    ASSERT_TRUE(session->run("DELETE FROM t WHERE id > 15").ok());
    ASSERT_TRUE(session
                    ->run("INSERT INTO t VALUES (101, 3, 1, 1, 1), (102, -3, 2, NULL, 2), (103, NULL, 3, 3, 3), (104, "
                          "32767, 4, 4, 4), (105, -32768, 5, 5, 5), (106, 3, 6, NULL, 6), (107, NULL, 7, NULL, 7)")
                    .ok());
    EXPECT_EQ(session->text(grouped),
              "-32768|1|5.00|5.0000000000000000|5|5.0000000000000000|t\n"
              "-3|1|2.00|2.0000000000000000|NULL|NULL|t\n"
              "-2|3|30.00|10.0000000000000000|10|10.0000000000000000|t\n"
              "-1|3|18.00|6.0000000000000000|6|6.0000000000000000|t\n"
              "0|3|21.00|7.0000000000000000|14|7.0000000000000000|t\n"
              "1|3|24.00|8.0000000000000000|8|8.0000000000000000|t\n"
              "2|3|27.00|9.0000000000000000|18|9.0000000000000000|t\n"
              "3|2|7.00|3.5000000000000000|1|1.00000000000000000000|t\n"
              "32767|1|4.00|4.0000000000000000|4|4.0000000000000000|t\n"
              "NULL|2|10.00|5.0000000000000000|3|3.0000000000000000|t");
    EXPECT_EQ(session->text("SELECT avg(v), sum(v), sum(n), avg(n) FROM t WHERE id > 1000"), "NULL|NULL|NULL|NULL");
    EXPECT_EQ(session->text("SELECT k, avg(v), sum(v), avg(n), sum(n) FROM t WHERE id < 6 GROUP BY k HAVING k > 0"),
              "1|3.0000000000000000|3.00|NULL|NULL\n2|4.0000000000000000|4.00|4.0000000000000000|4");
  }
}

// What the statistics expect is looked at before it is believed.
TEST_P(BoundsTest, QueriesDoNotRunInVain) {
  for (ExecutionMode mode : {ExecutionMode::kInterpreted, ExecutionMode::kQuick}) {
    auto session = make_session(
        "CREATE TABLE o (o integer PRIMARY KEY, entry timestamp NOT NULL);"
        "CREATE TABLE l (o integer, n integer, delivery timestamp, PRIMARY KEY (o, n));"
        "INSERT INTO o SELECT g, TIMESTAMP '2020-01-02' + g * INTERVAL '1 second' FROM generate_series(1, 4000) g;"
        "INSERT INTO l SELECT g % 4000 + 1, g, CASE WHEN g % 3 > 0 THEN TIMESTAMP '2020-01-01' END FROM "
        "generate_series(1, 40000) g",
        mode);
    session->database().refresh_statistics();
    const std::string late = "FROM o, l WHERE o.o = l.o AND delivery > entry";
    const std::string grouped = "SELECT n % 10, count(*) " + late + " GROUP BY 1 ORDER BY 1";
    auto rows_of_scans = [&](const std::string& sql) {
      std::string plan = session->text("EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) " + sql), rows;
      for (size_t at = plan.find("Seq Scan on "); at != std::string::npos; at = plan.find("Seq Scan on ", at + 1))
        if (size_t from = plan.find("(actual rows=", at); from < plan.find('\n', at))
          absl::StrAppend(&rows, plan.substr(from + 13, plan.find(')', from) - from - 13), " ");
      return rows;
    };
    EXPECT_NE(session->text("EXPLAIN " + grouped).find("Unless Empty By Bounds: l.delivery > o.entry"),
              std::string::npos)
        << session->text("EXPLAIN " + grouped);
    EXPECT_EQ(rows_of_scans(grouped), "0 0 ");
    EXPECT_EQ(session->text(grouped), "");
    EXPECT_EQ(session->text("SELECT count(*), sum(n) " + late), "0|NULL");
    EXPECT_EQ(session->text("SELECT count(*), count(l.n) FROM o LEFT JOIN l ON o.o = l.o AND delivery > entry"),
              "4000|0");
    EXPECT_EQ(session->text("SELECT count(*) FROM o WHERE NOT EXISTS (SELECT FROM l WHERE o.o = l.o AND delivery > "
                            "entry)"),
              "4000");
    EXPECT_EQ(session->text("SELECT x FROM (SELECT 1 AS x UNION ALL SELECT n " + late + ") u"), "1");
    ASSERT_TRUE(session->run("UPDATE l SET delivery = TIMESTAMP '2020-01-03' WHERE n = 17").ok());
    EXPECT_EQ(session->text(grouped), "7|1");  // the plan is as it was, the rows are not
    EXPECT_EQ(session->text("SELECT count(*), sum(n) " + late), "1|17");
    EXPECT_EQ(session->text("SELECT count(*) FROM o WHERE NOT EXISTS (SELECT FROM l WHERE o.o = l.o AND delivery > "
                            "entry)"),
              "3999");
  }
}

// What bounds may keep from running is compiled only when they do not.
TEST_P(BoundsTest, NothingIsCompiledInVain) {
  for (uint32_t threads : {1U, 3U}) {
    DatabaseOptions options;
    options.execution = ExecutionMode::kAdaptive;
    options.partitions = 2;
    options.layout = GetParam();
    options.shared_from_ns = 0;
    options.filter_from_ns = -1;  // tests wherever there can be some
    Session session(options);
    session.set_threads(threads);
    ASSERT_TRUE(session
                    .script("CREATE TABLE o (o integer PRIMARY KEY, entry integer NOT NULL);"
                            "CREATE TABLE l (o integer, n integer, delivery integer, PRIMARY KEY (o, n));"
                            "INSERT INTO o SELECT g, g FROM generate_series(1, 4000) g;"
                            "INSERT INTO l SELECT g % 4000 + 1, g, CASE WHEN g % 3 > 0 THEN -g END FROM "
                            "generate_series(1, 40000) g")
                    .ok());
    const std::string late = " FROM o, l WHERE o.o = l.o AND delivery > entry";
    struct Case {
      std::string query, before, after;
      bool waits;
    };
    const Case cases[] = {
        {"SELECT n % 10, count(*)" + late + " GROUP BY 1 ORDER BY 1", "", "7|1", true},
        {"SELECT count(*), sum(n)" + late, "0|NULL", "1|17", true},
        {"SELECT n, delivery" + late, "", "17|5000", true},
        // work before the test; what must not run twice
        {"SELECT max(x) FROM (SELECT o AS x FROM o WHERE o % 7 = 1 UNION ALL SELECT n" + late + ") u", "3998", "3998",
         false},
        {"SELECT count(*), sum(n * floor(random() + 1))" + late, "0|NULL", "1|17", false},
    };
    std::vector<std::shared_ptr<const Program>> programs;
    for (const Case& c : cases) {
      auto prepared = session.database().prepare(c.query);
      ASSERT_TRUE(prepared.ok()) << prepared.status();
      programs.push_back(session.database().first_program_of(**prepared));
      ASSERT_TRUE(session.database().add_companions(*programs.back()).ok());
      EXPECT_EQ(programs.back()->parts().code->is_deferred(), c.waits) << c.query;
    }
    for (bool later : {false, true}) {
      if (later) ASSERT_TRUE(session.run("UPDATE l SET delivery = 5000 WHERE n = 17").ok());
      for (size_t i = 0; i < std::size(cases); i++) {
        const Case& c = cases[i];
        EXPECT_EQ(session.text(*programs[i]), later ? c.after : c.before) << c.query;
        EXPECT_EQ(programs[i]->parts().code->is_deferred(), c.waits && !later) << c.query;
      }
    }
    // rows before the work: they come once
    const std::string both = "SELECT 1 AS x UNION ALL SELECT n" + late;
    auto some = session.database().prepare(both);
    ASSERT_TRUE(some.ok()) << some.status();
    EXPECT_EQ(session.text(*session.database().first_program_of(**some)), "1\n17");
    // transactions never compile
    auto prepared = session.database().prepare("SELECT min(n)" + late);
    ASSERT_TRUE(prepared.ok());
    EXPECT_TRUE(session.database().first_program_of(**prepared)->parts().code->is_deferred());
    ASSERT_TRUE(session.database().program_of(**prepared).ok());
    EXPECT_FALSE(session.database().first_program_of(**prepared)->parts().code->is_deferred());
  }
}

}  // namespace
}  // namespace scyper::query
