// A run that goes on in better code of its program gives what one that stays gives, wherever it changes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>

#include "absl/strings/str_replace.h"
#include "base/test_slice.h"
#include "compile/program_parts.h"
#include "testing/session.h"

namespace scyper::query {
namespace {

constexpr char kTables[] =
    "CREATE TABLE line (w integer NOT NULL, n integer NOT NULL, item integer, amount numeric(6,2), text varchar(20), "
    "PRIMARY KEY (w, n)) PARTITION BY HASH (w);"
    "CREATE TABLE item (i integer PRIMARY KEY, name varchar(24) NOT NULL);"
    "CREATE TABLE large (i integer PRIMARY KEY, of integer NOT NULL, note varchar(30));"
    "INSERT INTO line SELECT s % 7, s, CASE WHEN s % 11 = 0 THEN NULL ELSE s * 7919 % 3000 END, s % 1000 / 8.0, "
    "'t' || s % 13 FROM generate_series(1, 40000) s;"
    "INSERT INTO item SELECT s, 'item ' || s % 50 FROM generate_series(0, 2499) s;"
    "INSERT INTO large SELECT s, s * 31 % 40000, 'note ' || s % 777 FROM generate_series(1, 25000) s;"
    "CREATE FUNCTION total(k integer) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE r record; s bigint := 0; "
    "BEGIN FOR r IN SELECT n, amount FROM line WHERE w + 0 = k LOOP s := s + r.n; "
    "IF r.amount > 100 THEN s := s - 1; END IF; END LOOP; RETURN s; END $$;"
    "CREATE FUNCTION top(k integer) RETURNS SETOF integer LANGUAGE plpgsql AS $$ BEGIN "
    "RETURN QUERY SELECT max(n) FROM line WHERE n % 5 < k GROUP BY text ORDER BY 1 DESC LIMIT 3; END $$;"
    "CREATE PROCEDURE raise_all(k integer) LANGUAGE plpgsql AS $$ DECLARE s bigint; BEGIN "
    "BEGIN UPDATE large SET of = of + 1; SELECT sum(1 / (of - of)) INTO s FROM large; "
    "EXCEPTION WHEN division_by_zero THEN UPDATE large SET of = of + k WHERE i % 3 = 0; END; "
    "SELECT sum(of) INTO s FROM large; DELETE FROM large WHERE i % 1000 = s % 1000; END $$";

constexpr const char* kQueries[] = {
    "SELECT count(*), sum(amount), min(item), max(n), avg(amount) FROM line",
    "SELECT text, count(*), count(item), sum(amount), min(amount), max(w) FROM line GROUP BY text ORDER BY text",
    "SELECT n % 5000, sum(item) FROM line GROUP BY n % 5000 ORDER BY 1 LIMIT 40 OFFSET 7",
    // joins: by arrays, hashed, staged, nested loops, with groups in the table, outer, semi, anti, full
    "SELECT name, sum(amount) FROM line JOIN item ON item = i GROUP BY name ORDER BY name",
    "SELECT i, name, count(*), sum(amount), max(n) FROM line JOIN item ON item = i GROUP BY i, name ORDER BY i LIMIT "
    "99",
    "SELECT count(*), sum(a.i), sum(length(b.note)) FROM large a JOIN large b ON a.of = b.of AND a.i <> b.i + 1",
    "SELECT l.note, count(*), sum(n) FROM line JOIN large l ON n = l.of * 2 GROUP BY l.note ORDER BY 3 DESC, 1 LIMIT 9",
    "SELECT count(*), sum(a.n) FROM line a JOIN item b ON a.n < b.i + 30 WHERE a.n % 16 = 3",
    "SELECT name, count(n), max(n) FROM item LEFT JOIN line ON item = i AND amount > 100 GROUP BY name ORDER BY 1",
    "SELECT count(*), count(b.n), sum(a.i) FROM large a LEFT JOIN line b ON a.of = b.n AND b.amount > 50",
    "SELECT count(*), count(a.n), sum(l.i) FROM line a FULL JOIN large l ON a.n = l.of + 20000",
    "SELECT count(*) FROM item WHERE EXISTS (SELECT FROM line WHERE item = i AND amount > 120)",
    "SELECT count(*), sum(n) FROM line WHERE NOT EXISTS (SELECT FROM item WHERE item = i AND name LIKE '%3')",
    "SELECT count(*), sum(n) FROM line a WHERE n % 2 = 0 OR EXISTS (SELECT FROM line b WHERE b.item = a.n)",
    "SELECT count(*), sum(i) FROM (SELECT DISTINCT item, text FROM line) d JOIN item ON i = d.item",
    "SELECT sum(i), max((SELECT max(n) FROM line WHERE line.item = item.i)) FROM item WHERE i < 40",
    // sets, sorts, windows, recursion, what is read twice
    "SELECT count(*), sum(n) FROM (SELECT n FROM line UNION SELECT of FROM large EXCEPT SELECT i FROM item) x",
    "SELECT count(*), sum(n) FROM (SELECT n FROM line UNION ALL SELECT of FROM large) x WHERE n % 3 = 1",
    "SELECT w, n FROM line WHERE amount > 124 AND text LIKE 't1%' ORDER BY w DESC, n",
    "SELECT note, i FROM large ORDER BY of % 1000, i DESC LIMIT 20 OFFSET 5",
    "SELECT sum(r), max(s) FROM (SELECT row_number() OVER (PARTITION BY text ORDER BY n) r, sum(w) OVER (ORDER BY n "
    "ROWS 3 PRECEDING) s FROM line) x",
    "WITH RECURSIVE r(a, b) AS (SELECT i, 0 FROM item WHERE i < 900 UNION ALL SELECT a + 1, b + 1 FROM r WHERE b < 5) "
    "SELECT count(*), sum(a), max(b) FROM r JOIN line ON n = a",
    "WITH s AS (SELECT item, sum(n) a FROM line GROUP BY 1) SELECT count(*) FROM s WHERE a = (SELECT max(a) FROM s)",
    "SELECT w, text, count(*), sum(n) FROM line GROUP BY GROUPING SETS ((w), (text), ()) ORDER BY 1, 2, 3",
    "SELECT string_agg(text, ',' ORDER BY n) FROM line WHERE n % 4001 = 7",
    "SELECT count(DISTINCT item), count(DISTINCT text) FROM line WHERE n % 2 = 1",
    "SELECT count(*), sum(n * g) FROM line, generate_series(1, 3) g WHERE n % g = 0",
    "VALUES (1, 'a'), (2, 'b')",
    // routines have code and places of their own
    "SELECT w, total(w) FROM generate_series(0, 2) w",
    "SELECT sum(total(w)) FROM line WHERE n < 4",
    "SELECT g, t FROM generate_series(1, 2) g, top(g) t ORDER BY 1, 2",
    // errors on the way, in the one code or the other
    "SELECT text, sum(1 / (n - 33333)) FROM line GROUP BY text",
    "SELECT count(*) FROM line JOIN item ON i = 5000 / (n - 39999)",
};

struct Case {
  ExecutionMode mode;
  uint32_t threads;
  bool spills;
};

class SwapTest : public testing::TestWithParam<Case> {
 protected:
  static std::unique_ptr<Session> make_session(ExecutionMode mode, uint32_t threads, bool spills) {
    DatabaseOptions options;
    options.execution = mode;
    options.partitions = 2;
    options.shared_from_ns = 0;
    options.filter_from_ns = -1;  // wherever it can
    if (spills) options.spill_from_bytes = 1;
    auto session = std::make_unique<Session>(options);
    session->set_threads(threads);
    if (spills) session->set_spill(0);
    Status status = session->script(sized(kTables));
    EXPECT_TRUE(status.ok()) << status;
    return session;
  }
  // The fixed slice has a fifth of the rows where each of many runs writes them to disk, or a sanitizer watches.
  static std::string sized(const char* text) {
    const bool is_full = std::getenv("SCYPER_TEST_FULL") != nullptr;
    if (is_full || !test_slice(GetParam().spills, true)) return text;
    return absl::StrReplaceAll(
        text, {{"(1, 40000)", "(1, 8000)"}, {"(1, 25000)", "(1, 5000)"}, {"33333", "6667"}, {"39999", "7999"}});
  }
  static std::unique_ptr<Session> staying() { return make_session(ExecutionMode::kQuick, 1, false); }
  static std::unique_ptr<Session> swapping() {
    return make_session(GetParam().mode, GetParam().threads, GetParam().spills);
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, SwapTest,
                         testing::Values(Case{ExecutionMode::kSwapping, 1, false},
                                         Case{ExecutionMode::kSwapping, 3, false},
                                         Case{ExecutionMode::kSwapping, 1, true},
                                         Case{ExecutionMode::kSwappingInterpreted, 1, false},
                                         Case{ExecutionMode::kSwappingInterpreted, 2, true}),
                         [](const auto& info) {
                           const Case& c = info.param;
                           return std::string(c.mode == ExecutionMode::kSwapping ? "Quick" : "Interpreted") +
                                  std::to_string(c.threads) + (c.spills ? "OnDisk" : "");
                         });

// The n-th run changes at its n-th place, until one has none left. Each round on disk has places of its own: there the
// strides grow, quickly in the fixed slice.
constexpr int kRunsMax = 500;
int stride_on_disk(int run) { return std::getenv("SCYPER_TEST_FULL") != nullptr ? 8 * run * run : 8 * run * run * run; }

TEST_P(SwapTest, SameRowsWhereverItChanges) {
  auto stays = staying(), swaps = swapping();
  uint64_t changes = 0;
  for (size_t i = 0; i < std::size(kQueries); i += test_slice<size_t>(1, 3)) {
    const std::string query = sized(kQueries[i]);
    const std::string expected = stays->text(query);
    const auto program = swaps->program(query);
    ASSERT_NE(program, nullptr) << query;
    int run = 0;
    do {
      ASSERT_EQ(swaps->text(*program), expected) << "place " << run << " " << query;
      changes += swaps->swaps();
      for (int n = GetParam().spills ? stride_on_disk(run) : 0; n > 0; --n) program->parts().code->next_passes();
    } while (swaps->swaps() > 0 && ++run < kRunsMax);
    EXPECT_LT(run, kRunsMax) << query;
    if (query.substr(0, 6) != "VALUES") EXPECT_GT(run, 0) << query;
  }
  printf("%llu changes\n", static_cast<unsigned long long>(changes));
}

TEST_P(SwapTest, ChangesOfRowsAreMadeOnce) {
  auto stays = staying(), swaps = swapping();
  constexpr const char* kStatements[] = {
      "UPDATE line SET amount = amount + 1 WHERE n % 3 = 0",
      "INSERT INTO large SELECT n + (SELECT max(i) FROM large), n, text FROM line JOIN item ON item = i WHERE n < 4000",
      "DELETE FROM line WHERE n % 1000 < 2 AND n IN (SELECT of FROM large WHERE i % 50 = 3)",
      "CALL raise_all(5)",
  };
  constexpr const char* kCheck =
      "SELECT (SELECT sum(amount) || ' ' || count(*) FROM line), (SELECT sum(of) || ' ' || count(*) FROM large)";
  uint64_t changes = 0;
  for (int run = 0; run < 4; ++run)
    for (const char* statement : kStatements) {
      ASSERT_EQ(swaps->text(statement), stays->text(statement)) << statement;
      changes += swaps->swaps();
      ASSERT_EQ(swaps->text(kCheck), stays->text(kCheck)) << "run " << run << " " << statement;
    }
  EXPECT_GT(changes, 4u);
}

TEST_P(SwapTest, BetterCodeIsInterruptedToo) {
  auto swaps = swapping();
  constexpr const char* kQuery = "SELECT sum(amount) FROM line JOIN item ON item = i";
  const auto program = swaps->program(kQuery);
  ASSERT_NE(program, nullptr);
  for (int run = 0; run < 4; ++run) {
    swaps->interrupt(Interrupt::kCancel);
    EXPECT_EQ(swaps->text(*program), "ERROR 57014: canceling statement due to user request");
  }
  EXPECT_NE(swaps->text(*program).substr(0, 5), "ERROR");
}

TEST_P(SwapTest, ExplainTellsWhichCodeRan) {
  constexpr const char* kExplain = "EXPLAIN ANALYZE SELECT text, sum(amount) FROM line GROUP BY text";
  constexpr const char* kJson = "EXPLAIN (ANALYZE, FORMAT JSON) SELECT text, sum(amount) FROM line GROUP BY text";
  auto swaps = swapping(), stays = staying();
  const std::string from = GetParam().mode == ExecutionMode::kSwapping ? "quick" : "interpreted";
  EXPECT_NE(swaps->text(kExplain).find("Code: " + from + " -> better\n"), std::string::npos) << swaps->text(kExplain);
  EXPECT_NE(swaps->text(kJson).find("\"Code\": \"" + from + " -> better\""), std::string::npos) << swaps->text(kJson);
  EXPECT_NE(stays->text(kExplain).find("Code: quick\n"), std::string::npos) << stays->text(kExplain);
}

// Nobody waits for the better code: a query that is long enough is in the middle of its work when it comes.
TEST(AdaptiveSwapTest, LongQueriesGoOnInBetterCode) {
  DatabaseOptions options;
  options.partitions = 2;
  Session session(options),
      stays({.partitions = 2, .tier = {}, .execution = ExecutionMode::kQuick, .foreign_files_directory = {}});
  for (Session* one : {&session, &stays}) ASSERT_TRUE(one->script(kTables).ok());
  session.database().refresh_statistics();
  uint32_t swaps = 0;
  for (int of = 500; swaps == 0 && of <= 64000; of *= 2) {
    const std::string query =
        "SELECT count(*), sum(a.n % 7) FROM line a JOIN large b ON a.n > b.i * 2 AND b.i < " + std::to_string(of);
    const std::string rows = session.text(query);
    swaps = session.swaps();
    EXPECT_EQ(rows, stays.text(query));
  }
  EXPECT_GT(swaps, 0u);
}

// What is over at once stays in the code that it began with: it has no such places.
TEST(AdaptiveSwapTest, ShortQueriesHaveNoPlaces) {
  Session session(DatabaseOptions{});
  ASSERT_TRUE(session.script(kTables).ok());
  session.database().refresh_statistics();
  auto has_places = [&](std::string_view query) {
    auto prepared = session.database().prepare(query);
    EXPECT_TRUE(prepared.ok()) << prepared.status();
    return session.database().first_program_of(**prepared)->parts().code->can_swap();
  };
  EXPECT_FALSE(has_places("SELECT name FROM item WHERE i = 77"));
  EXPECT_FALSE(has_places("SELECT count(*) FROM item WHERE i BETWEEN 5 AND 60"));
  EXPECT_FALSE(has_places("SELECT count(*) FROM line WHERE n > 5"));
  EXPECT_TRUE(has_places("SELECT count(*), sum(a.n) FROM line a JOIN large b ON a.n > b.i * 2"));
}

}  // namespace
}  // namespace scyper::query
