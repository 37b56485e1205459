// Hot data views (docs/tiering.md): defining them, and that scans which leave out chunks by them find what others find.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/object_name.h"
#include "base/test_seed.h"
#include "parse/text.h"
#include "query/catalog_image.h"
#include "query/learned_views.h"
#include "storage/frozen_slot.h"
#include "storage/frozen_tier.h"
#include "storage/hot_view_learner.h"
#include "storage/hot_views.h"
#include "testing/session.h"

namespace scyper::query {
namespace {

constexpr char kShown[] =
    "SELECT viewname, schemaname, tablename, columns, predicate FROM scyper_hot_data_views ORDER BY 1";

DatabaseOptions options_of(ExecutionMode mode, bool freezes) {
  DatabaseOptions options;
  options.execution = mode;
  options.partitions = 4;
  if (freezes) options.frozen_bytes = size_t{1} << 30;
  return options;
}

class HotViewTest : public testing::Test {
 protected:
  HotViewTest() : session_(options_of(ExecutionMode::kInterpreted, true)) {
    const Status status = session_.script(R"(
      CREATE TABLE line (id integer PRIMARY KEY, made timestamp, zoned timestamptz, price numeric(8,2), code char(4),
                         note text, free numeric, ratio double precision, j jsonb, open boolean);
      CREATE VIEW shown AS SELECT id FROM line; CREATE SCHEMA other; CREATE TABLE other.far (a integer, b text);
      CREATE MATERIALIZED VIEW stored AS SELECT id FROM line)");
    EXPECT_TRUE(status.ok()) << status;
  }
  std::string q(const std::string& sql) { return session_.text(sql); }
  // Views by which the table's chunks are placed.
  size_t used(const std::string& table) {
    const auto views = session_.database().catalog()->find_table(table)->frozen_store()->hot_views();
    return views == nullptr ? 0 : views->views.size();
  }

  Session session_;
};

TEST_F(HotViewTest, AreDefinedShownAndDropped) {
  EXPECT_EQ(q("CREATE HOT DATA VIEW recent AS SELECT price, made, code FROM line WHERE made >= '2024-05-25'"), "");
  EXPECT_EQ(q("create  hot /* a */ data view \"Open Ones\" as select * from line where open = true and code in "
              "('a', 'b') and free is null; "),
            "");
  EXPECT_EQ(q("CREATE HOT DATA VIEW far AS SELECT a FROM other.far WHERE a BETWEEN 1 AND 5"), "");
  EXPECT_EQ(q("SELECT viewname, schemaname, tablename, columns FROM scyper_hot_data_views ORDER BY 1"),
            "Open Ones|public|line|id, made, zoned, price, code, note, free, ratio, j, open\n"
            "far|other|far|a\nrecent|public|line|made, price, code");
  EXPECT_EQ(q("SELECT predicate FROM scyper_hot_data_views WHERE viewname = 'recent'"), "(made >= '2024-05-25')");
  EXPECT_EQ(q("CREATE HOT DATA VIEW recent AS SELECT id FROM line WHERE id = 1"),
            "ERROR 42710: hot data view \"recent\" already exists");
  ResultSet dropped;
  ASSERT_TRUE(session_.run("DROP HOT DATA VIEW IF EXISTS none, recent", &dropped).ok());
  EXPECT_EQ(dropped.command_tag, "DROP HOT DATA VIEW");
  ASSERT_EQ(dropped.notices.size(), 1u);
  EXPECT_EQ(dropped.notices[0], "NOTICE:  hot data view \"none\" does not exist, skipping");
  EXPECT_EQ(q("DROP HOT DATA VIEW recent"), "ERROR 42704: hot data view \"recent\" does not exist");
  EXPECT_EQ(q("DROP HOT DATA VIEW far, \"Open Ones\" CASCADE"), "");
  EXPECT_EQ(q("SET search_path = other"), "");  // of tables, not of their names
  EXPECT_EQ(q("CREATE HOT DATA VIEW far AS SELECT b FROM far WHERE far.a = 1"), "");
  EXPECT_EQ(q(kShown), "far|other|far|b|(far.a = 1)");
  EXPECT_EQ(used(object_key("other", "far")), 1u);
  EXPECT_EQ(q("SET search_path = public"), "");
  EXPECT_EQ(q("CREATE TABLE unrelated (a integer)"), "");
  EXPECT_EQ(used(object_key("other", "far")), 1u);
  EXPECT_EQ(q("DROP HOT DATA VIEW far"), "");
  EXPECT_EQ(q(kShown), "");
}

// What belongs to a table goes with it, and follows its names.
TEST_F(HotViewTest, FollowTheirTables) {
  ASSERT_EQ(q("CREATE HOT DATA VIEW a AS SELECT id, note, price FROM line WHERE line.price > 5 AND id < 100"), "");
  ASSERT_EQ(q("CREATE HOT DATA VIEW b AS SELECT note FROM line WHERE note = 'price'"), "");
  ASSERT_EQ(q("CREATE HOT DATA VIEW c AS SELECT ratio FROM line WHERE id = 3"), "");
  EXPECT_EQ(q("DROP VIEW shown; "), "");
  EXPECT_EQ(q("DROP MATERIALIZED VIEW stored"), "");
  EXPECT_EQ(q("ALTER TABLE line RENAME COLUMN price TO \"Cost\""), "");
  EXPECT_EQ(q("ALTER TABLE line RENAME TO entry"), "");
  EXPECT_EQ(q(kShown),
            "a|public|entry|id, \"Cost\", note|((entry.\"Cost\" > 5) AND (id < 100))\n"
            "b|public|entry|note|(note = 'price')\nc|public|entry|ratio|(id = 3)");
  EXPECT_EQ(q("ALTER TABLE entry ALTER COLUMN \"Cost\" TYPE numeric(10,3)"), "");
  EXPECT_EQ(q("ALTER TABLE entry ALTER COLUMN \"Cost\" TYPE numeric"),
            "ERROR 0A000: the predicate of hot data view \"a\" does not compare columns of such types with constants");
  EXPECT_EQ(q("ALTER TABLE entry DROP COLUMN made"), "");
  EXPECT_EQ(q("ALTER TABLE entry DROP COLUMN ratio"), "");  // all that matters of c
  EXPECT_EQ(q("ALTER TABLE entry DROP COLUMN note"), "");   // b compares it
  EXPECT_EQ(q(kShown), "a|public|entry|id, \"Cost\"|((entry.\"Cost\" > 5) AND (id < 100))");
  EXPECT_EQ(q("TRUNCATE entry"), "");
  EXPECT_NE(q(kShown), "");
  EXPECT_EQ(used("entry"), 1u);
  EXPECT_EQ(q("DROP TABLE entry"), "");
  EXPECT_EQ(q(kShown), "");
}

TEST_F(HotViewTest, AreInTheImageOfACatalog) {
  ASSERT_EQ(q("SET time zone 'Asia/Tokyo'"), "");
  ASSERT_EQ(q("CREATE HOT DATA VIEW a AS SELECT id, note FROM line WHERE zoned > '2024-01-01'"), "");
  const auto catalog = session_.database().catalog();
  auto read = decode_catalog(encode_catalog(*catalog), 4, session_.database().arena());
  ASSERT_TRUE(read.ok()) << read.status();
  const HotDataView &was = *catalog->hot_data_views.at("a"), &is = *(*read)->hot_data_views.at("a");
  EXPECT_EQ(is.table, was.table);
  EXPECT_EQ(is.columns, was.columns);
  EXPECT_EQ(is.predicate, "(zoned > '2024-01-01')");
  EXPECT_EQ(is.time_zone, "Asia/Tokyo");
}

TEST_F(HotViewTest, RefuseWhatTheyCannotPromise) {
  const std::string refused = "ERROR 0A000: not supported in a hot data view";
  const std::string prefix = "CREATE HOT DATA VIEW v AS ";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"SELECT id FROM line WHERE id > 1 OR id = 0", "OR"},
      {"SELECT id FROM line WHERE id > 1 AND note LIKE 'a%'", "LIKE"},
      {"SELECT id FROM line WHERE id <> 1", "<>"},
      {"SELECT id FROM line WHERE id NOT IN (1, 2)", "NOT"},
      {"SELECT id FROM line WHERE id NOT BETWEEN 1 AND 2", "NOT"},
      {"SELECT id FROM line WHERE id BETWEEN SYMMETRIC 2 AND 1", "BETWEEN"},
      {"SELECT id FROM line WHERE id + 1 > 5", "> 5"},
      {"SELECT id FROM line WHERE id > free", "> free"},
      {"SELECT id FROM line WHERE id = NULL", "= NULL"},
      {"SELECT id FROM line WHERE made > now()", "> now"},
      {"SELECT id FROM line WHERE made > '2024-01-01' AND open", "open"},
      {"SELECT id FROM line WHERE free > 1", "> 1"},
      {"SELECT id FROM line WHERE j = '{}'", "= '"},
      {"SELECT id FROM line WHERE price < 1e90", "< 1e"},
      {"SELECT id FROM line WHERE true", "true"},
      {"SELECT id FROM line l WHERE id = 1", "line l"},
      {"SELECT id FROM line", "line"},
      {"SELECT id + 1 FROM line WHERE id = 1", "id + 1"},
      {"SELECT id AS k FROM line WHERE id = 1", "id AS"},
  };
  for (const auto& [query, at] : cases) {
    const Status status = session_.run(prefix + query);
    ASSERT_FALSE(status.ok()) << query;
    EXPECT_EQ(absl::StrCat("ERROR ", sqlstate_of(status), ": ", std::string(status.message())), refused) << query;
    EXPECT_EQ(position_of(status), static_cast<int32_t>((prefix + query).find(at)) + 1) << query;
  }
  for (const char* query :
       {"SELECT DISTINCT id FROM line WHERE id = 1", "SELECT id FROM line WHERE id = 1 LIMIT 3", "VALUES (1)",
        "SELECT id FROM line WHERE id = 1 UNION SELECT 1", "SELECT line.id FROM line, other.far WHERE id = 1",
        "SELECT count(*) FROM line WHERE id = 1", "SELECT id FROM (SELECT 1 AS id) t WHERE id = 1",
        "WITH t AS (SELECT 1) SELECT id FROM line WHERE id = 1", "SELECT id FROM line WHERE id = 1 FOR UPDATE"})
    EXPECT_EQ(q(prefix + query), refused) << query;
}

TEST_F(HotViewTest, RefuseWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"CREATE HOT DATA VIEW v AS SELECT id FROM nowhere WHERE id = 1", "42P01: relation \"nowhere\" does not exist"},
      {"CREATE HOT DATA VIEW v AS SELECT id FROM shown WHERE id = 1", "42809: \"shown\" is not a table"},
      {"CREATE HOT DATA VIEW v AS SELECT id FROM stored WHERE id = 1", "42809: \"stored\" is not a table"},
      {"CREATE HOT DATA VIEW v AS SELECT x FROM line WHERE id = 1", "42703: column \"x\" does not exist"},
      {"CREATE HOT DATA VIEW v AS SELECT id FROM line WHERE x = 1", "42703: column \"x\" does not exist"},
      {"CREATE HOT DATA VIEW v AS SELECT id FROM line WHERE id = 'a'",
       "22P02: invalid input syntax for type integer: \"a\""},
      {"CREATE HOT DATA VIEW v AS SELECT id FROM line WHERE id = (SELECT 1)",
       "0A000: cannot use subquery in check constraint"},
      {"CREATE HOT DATA VIEW public.v AS SELECT id FROM line WHERE id = 1", "42601: syntax error at or near \".\""},
      {"CREATE HOT DATA VIEW v (a) AS SELECT id FROM line WHERE id = 1", "0A000: not supported in a hot data view"},
      {"CREATE HOT DATA VIEW v AS DELETE FROM line", "42601: syntax error at or near \"DELETE\""},
      {"CREATE OR REPLACE HOT DATA VIEW v AS SELECT 1", "42601: syntax error at or near \"HOT\""},
      {"CREATE HOT DATA TABLE v (a integer)", "42601: syntax error at or near \"HOT\""},
      {"CREATE HOT DATA VIEW", "42601: syntax error at end of input"},
      {"DROP HOT DATA VIEW a, public.b", "42601: syntax error at or near \".\""},
      {"SELECT 1 FROM hot data view", "42601: syntax error at or near \"view\""},
      {"DROP HOT DATA VIEW line", "42704: hot data view \"line\" does not exist"},
  };
  for (const auto& [query, error] : cases) EXPECT_EQ(q(query), "ERROR " + error) << query;
  EXPECT_EQ(q("CREATE TEMPORARY TABLE brief (a integer)"), "");
  EXPECT_EQ(q("CREATE HOT DATA VIEW v AS SELECT a FROM pg_temp_1.brief WHERE a = 1"),
            "ERROR 0A000: hot data views of temporary tables are not supported");
  for (int i = 0; i < 64; i++)
    ASSERT_EQ(q(absl::StrCat("CREATE HOT DATA VIEW v", i, " AS SELECT id FROM line WHERE id = ", i)), "");
  EXPECT_EQ(q("CREATE HOT DATA VIEW v64 AS SELECT id FROM line WHERE id = 64"),
            "ERROR 54000: a table has at most 64 hot data views");
  EXPECT_EQ(q("CREATE HOT DATA VIEW v65 AS SELECT a FROM other.far WHERE a = 64"), "");
}

TEST_F(HotViewTest, BelongToWhoOwnsTheTable) {
  ASSERT_EQ(q("CREATE ROLE guest LOGIN"), "");
  ASSERT_EQ(q("GRANT SELECT ON line TO guest"), "");
  ASSERT_EQ(q("CREATE HOT DATA VIEW mine AS SELECT id FROM line WHERE id = 1"), "");
  ASSERT_EQ(q("SET ROLE guest"), "");
  EXPECT_EQ(q("CREATE HOT DATA VIEW v AS SELECT id FROM line WHERE id = 1"),
            "ERROR 42501: must be owner of table line");
  EXPECT_EQ(q("DROP HOT DATA VIEW mine"), "ERROR 42501: must be owner of table line");
}

// Within a transaction, and taken back with it.
TEST_F(HotViewTest, AreTakenBack) {
  EXPECT_EQ(q("DO $$ BEGIN BEGIN EXECUTE 'CREATE HOT DATA VIEW v AS SELECT id FROM line WHERE id = 1'; "
              "PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN NULL; END; "
              "EXECUTE 'CREATE HOT DATA VIEW w AS SELECT id FROM line WHERE id = 2'; END $$"),
            "");
  EXPECT_EQ(q("SELECT viewname FROM scyper_hot_data_views"), "w");
  EXPECT_EQ(q("DO $$ BEGIN DROP HOT DATA VIEW w; CREATE HOT DATA VIEW w AS SELECT id FROM line WHERE id = 3; END $$"),
            "");
  EXPECT_EQ(q("SELECT predicate FROM scyper_hot_data_views"), "(id = 3)");
  EXPECT_EQ(used("line"), 1u);
}

TEST_F(HotViewTest, PlansShowThem) {
  ASSERT_EQ(q("INSERT INTO line SELECT g, '2024-01-01', now(), g, 'c', 'n' FROM generate_series(1, 10) g"), "");
  const auto line = [&](const std::string& condition) {
    const std::string plan = q("EXPLAIN (COSTS off) SELECT sum(id) FROM line WHERE " + condition);
    const size_t at = plan.find("Hot Data View: ");
    return at == std::string::npos ? plan : plan.substr(at + 15, plan.find('\n', at) - at - 15);
  };
  EXPECT_EQ(line("price > 5").find("Hot"), std::string::npos);
  ASSERT_EQ(q("CREATE HOT DATA VIEW dear AS SELECT id FROM line WHERE price >= 5.50"), "");
  ASSERT_EQ(q("CREATE HOT DATA VIEW coded AS SELECT id FROM line WHERE code IN ('a', 'b') AND note IS NOT NULL"), "");
  EXPECT_EQ(line("price > 5.5"), "dear");
  EXPECT_EQ(line("price BETWEEN 6 AND 9.123 AND open"), "dear");
  EXPECT_EQ(line("price >= 5.495"), "dear");
  EXPECT_EQ(line("price >= 5.49"), "none, the filter implies no view's predicate");
  EXPECT_EQ(line("price IN (6, 7.01) OR price > 1000"), "dear");
  EXPECT_EQ(line("note > 'x' AND code = 'b  '"), "coded");
  EXPECT_EQ(line("code = 'b'"), "none, the filter implies no view's predicate");
  EXPECT_EQ(line("price > $1"), "decided with the values of the filter");
}

// --- answers ---

constexpr char kRows[] = R"(
CREATE TABLE entry (k integer PRIMARY KEY, i smallint, n numeric(8,2), f double precision, s varchar(20), c char(6),
                    d date, ts timestamp, u uuid, e boolean) PARTITION BY HASH (k);
INSERT INTO entry SELECT g, CASE WHEN g % 7 > 0 THEN g * 31 % 50 - 10 END, CASE WHEN g % 5 > 0 THEN g * 17 % 3000 * 1.25 END,
  CASE g % 60 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' ELSE g % 100 - 50.5 END,
  CASE WHEN g % 11 > 0 THEN 'name ' || g * 7 % 300 END, 'c' || g * 13 % 40, date '2020-01-01' + g * 11 % 400,
  timestamp '2020-01-01' + g * interval '10 minutes', lpad(to_hex(g * 3 % 1000), 32, '0')::uuid,
  CASE WHEN g % 3 > 0 THEN g % 2 = 0 END FROM generate_series(0, 11999) g;
)";

struct Part {
  const char* column;
  std::vector<const char*> values;  // ascending
};
const std::vector<Part>& parts() {
  static const std::vector<Part> kParts = {
      {"k", {"0", "500", "600", "3000", "11900", "11999"}},
      {"i", {"-10", "0", "1", "3", "38", "39"}},
      {"n", {"0", "1.25", "1.26", "100", "3700", "3748.75"}},
      {"f", {"'-Infinity'", "'-50.5'", "'-0.0'", "'0.0'", "'40'", "'NaN'"}},
      {"s", {"''", "'name 1'", "'name 12'", "'name 130'", "'name 2'", "'name 99'"}},
      {"c", {"'c1'", "'c10  '", "'c12'", "'c2'", "'c20'", "'c9'"}},
      {"d", {"'2020-01-01'", "'2020-01-15'", "'2020-02-01'", "'2020-12-25'", "'2021-02-03'"}},
      {"ts", {"'2020-01-01'", "'2020-01-02 12:00'", "'2020-02-01'", "'2020-03-20'", "'2020-04-01'"}},
      {"u",
       {"'00000000-0000-0000-0000-000000000000'", "'00000000-0000-0000-0000-000000000010'",
        "'00000000-0000-0000-0000-0000000000ff'", "'00000000-0000-0000-0000-0000000003e7'"}}};
  return kParts;
}

// A comparison that views may have. `narrow`: how far inside of the values it keeps.
std::string comparison(std::mt19937_64* random, const Part& part, size_t narrow) {
  const size_t last = part.values.size() - 1;
  const size_t low = std::min(last, narrow + (*random)() % 2), high = last - std::min(last - low, narrow);
  switch ((*random)() % 6) {
    case 0:
      return absl::StrCat(part.column, " = ", part.values[(low + high) / 2]);
    case 1:
      return absl::StrCat(part.column, " >= ", part.values[high]);
    case 2:
      return absl::StrCat(part.column, " < ", part.values[low + (low < high ? 1 : 0)]);
    case 3:
      return absl::StrCat(part.column, " IN (", part.values[low], ", ", part.values[high], ")");
    case 4:
      return absl::StrCat(part.column, " IS ", (*random)() % 2 == 0 ? "NOT " : "", "NULL");
    default:
      return absl::StrCat(part.column, " BETWEEN ", part.values[low], " AND ", part.values[high]);
  }
}

std::string view_predicate(std::mt19937_64* random) {
  const Part &one = parts()[(*random)() % parts().size()], &other = parts()[(*random)() % parts().size()];
  std::string text = comparison(random, one, 0);
  if ((*random)() % 3 == 0) absl::StrAppend(&text, " AND ", comparison(random, other, 0));
  return text;
}

std::string filter(std::mt19937_64* random, const std::vector<std::string>& views) {
  std::string text = views.empty() || (*random)() % 3 == 0
                         ? comparison(random, parts()[(*random)() % parts().size()], (*random)() % 3)
                         : views[(*random)() % views.size()];
  for (uint64_t i = (*random)() % 3; i > 0; i--)
    absl::StrAppend(&text, " AND ", comparison(random, parts()[(*random)() % parts().size()], (*random)() % 3));
  return text;
}

// Changes that bring rows into views and out of them; some are taken back.
std::string change(std::mt19937_64* random) {
  const auto number = [&](int n) { return static_cast<int>((*random)() % static_cast<uint64_t>(n)); };
  const Part& part = parts()[1 + (*random)() % (parts().size() - 1)];
  const std::string update =
      absl::StrCat("UPDATE entry SET ", part.column, " = ", part.values[(*random)() % part.values.size()],
                   " WHERE k % 97 = ", number(97));
  switch (number(6)) {
    case 0:
      return absl::StrCat("DELETE FROM entry WHERE k % 211 = ", number(211));
    case 1:
      return absl::StrCat("INSERT INTO entry SELECT k + 20000 + ", number(1000),
                          ", i, n, f, s, c, d, ts, u, e FROM entry WHERE k % 301 = ", number(301),
                          " ON CONFLICT DO NOTHING");
    case 2:
      return absl::StrCat("DO $$ BEGIN BEGIN ", update, "; DELETE FROM entry WHERE k % 53 = ", number(53),
                          "; PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN NULL; END; END $$");
    default:
      return update;
  }
}

class HotViewAnswersTest : public testing::TestWithParam<ExecutionMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, HotViewAnswersTest,
                         testing::Values(ExecutionMode::kInterpreted, ExecutionMode::kQuick));

TEST_P(HotViewAnswersTest, AreTheSame) {
  std::mt19937_64 random(test_seed());
  Session plain(options_of(GetParam(), false)), frozen(options_of(GetParam(), true));
  frozen.set_freezing(3);
  for (Session* session : {&plain, &frozen}) {
    const Status status = session->script(kRows);
    ASSERT_TRUE(status.ok()) << status;
  }
  std::vector<std::string> views;  // predicates
  for (int round = 0; round < 100; round++) {
    if (round % 10 == 0) {
      for (size_t i = 0; i < views.size(); i++) ASSERT_EQ(frozen.text(absl::StrCat("DROP HOT DATA VIEW v", i)), "");
      views.clear();
      for (size_t i = 0; i < 3; i++) {
        views.push_back(view_predicate(&random));
        const std::string view = absl::StrCat("CREATE HOT DATA VIEW v", i, " AS SELECT * FROM entry WHERE ", views[i]);
        ASSERT_EQ(frozen.text(view), "") << view;
      }
    }
    if (round % 2 == 0) {
      const std::string text = change(&random);
      ASSERT_EQ(frozen.text(text), plain.text(text)) << text;
    }
    for (int i = 0; i < 3; i++) {
      const std::string query =
          absl::StrCat("SELECT count(*), sum(k), sum(n), min(s), max(c), count(e), min(ts) FROM entry WHERE ",
                       filter(&random, views));
      ASSERT_EQ(frozen.text(query), plain.text(query)) << query << "\nviews: " << absl::StrJoin(views, "; ");
    }
    const std::string join = absl::StrCat(
        "SELECT count(*), sum(a.k) FROM generate_series(1, 3) g, entry a WHERE a.i = g AND ", filter(&random, views));
    ASSERT_EQ(frozen.text(join), plain.text(join)) << join;
  }
  EXPECT_GT(frozen.window_counts().irrelevant, 0u);
  EXPECT_EQ(frozen.text("SELECT count(*), sum(k) FROM entry"), plain.text("SELECT count(*), sum(k) FROM entry"));
}

// --- learned views ---

void allow_learning(Session* session) {
  for (const auto& [name, table] : session->database().catalog()->tables)
    if (table->frozen_store() != nullptr && table->frozen_store()->learner == nullptr)
      table->frozen_store()->learner = std::make_unique<storage::HotViewLearner>(table->schema());
}

std::vector<LearnedViewInfo> views_of(Session* session, const char* table) {
  return learned_views(*session->database().catalog()->find_table(table));
}

class LearnedViewAnswersTest : public testing::TestWithParam<ExecutionMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, LearnedViewAnswersTest,
                         testing::Values(ExecutionMode::kInterpreted, ExecutionMode::kQuick));

// Few rows, by bounds that move.
std::string repeated_filter(std::mt19937_64* random, uint64_t kind) {
  const uint64_t step = (*random)() % 8;
  switch (kind % 8) {
    case 0:
      return absl::StrCat("k BETWEEN ", 500 + step, " AND 600");
    case 1:
      return absl::StrCat("i = ", 5 + step % 2);
    case 2:
      return absl::StrCat("n >= 100 AND n < ", 200 + step);
    case 3:
      return absl::StrCat("s IN ('name 12', 'name ", 130 + step % 3, "')");
    case 4:
      return absl::StrCat("c = 'c9' AND f > ", step);
    case 5:
      return absl::StrCat("d >= date '2021-01-24' + ", step);
    case 6:
      return absl::StrCat("ts > timestamp '2020-03-20 0", step, ":00'");
    default:
      return absl::StrCat("u < '00000000-0000-0000-0000-0000000000", 10 + step, "'");
  }
}

TEST_P(LearnedViewAnswersTest, AreTheSameWhileViewsComeAndGo) {
  std::mt19937_64 random(test_seed());
  Session plain(options_of(GetParam(), false)), learning(options_of(GetParam(), true));
  learning.set_freezing(3);
  for (Session* session : {&plain, &learning}) ASSERT_TRUE(session->script(kRows).ok());
  allow_learning(&learning);
  LearningChanges changes;
  uint64_t kinds[2] = {};
  for (int round = 0; round < 90; round++) {
    if (round % 15 == 0)
      for (uint64_t& kind : kinds) kind = random();
    if (round % 3 == 0) {
      const std::string text = change(&random);
      ASSERT_EQ(learning.text(text), plain.text(text)) << text;
    }
    for (int i = 0; i < 6; i++) {
      const std::string query =
          absl::StrCat("SELECT count(*), sum(k), sum(n), min(s), max(c), count(e), min(ts) FROM entry WHERE ",
                       i == 5 ? filter(&random, {}) : repeated_filter(&random, kinds[i % 2]));
      ASSERT_EQ(learning.text(query), plain.text(query)) << query;
    }
    const LearningChanges now = learn_hot_views(*learning.database().catalog());
    changes.adopted += now.adopted;
    changes.given_up += now.given_up;
  }
  EXPECT_GT(changes.adopted, 1u);
  EXPECT_GT(learning.window_counts().irrelevant, 0u);
  EXPECT_EQ(learning.text("SELECT count(*), sum(k) FROM entry"), plain.text("SELECT count(*), sum(k) FROM entry"));
}

TEST(LearnedViewTest, AreShownAsSql) {
  Session session(options_of(ExecutionMode::kInterpreted, true));
  session.set_freezing(1);
  ASSERT_TRUE(session.script(kRows).ok());
  allow_learning(&session);
  for (int i = 0; i < 12; i++) {
    session.text("SELECT sum(k) FROM entry WHERE n BETWEEN 100 AND 200.5");
    session.text(i % 2 == 0 ? "SELECT sum(k) FROM entry WHERE s = 'name 12' AND e IS NULL"
                            : "SELECT sum(k) FROM entry WHERE s = 'name 130'");
  }
  EXPECT_TRUE(views_of(&session, "entry").empty());
  for (int i = 0; i < 3; i++) {
    learn_hot_views(*session.database().catalog());
    session.text("SELECT 1");
  }
  const std::vector<LearnedViewInfo> views = views_of(&session, "entry");
  ASSERT_EQ(views.size(), 2u);
  EXPECT_EQ(views[0].condition, "(s = 'name 12' OR s = 'name 130')");  // the fewest rows
  EXPECT_EQ(views[1].condition, "n BETWEEN 100.00 AND 200.50");
  EXPECT_EQ(views[1].workload, "transactions");
  EXPECT_EQ(views[1].columns, (std::vector<std::string>{"k", "n"}));
  EXPECT_EQ(views[1].statements, 0.5);
  EXPECT_GT(views[1].rows_left_out, 0.9);
  const std::string plan = session.text("EXPLAIN (COSTS off) SELECT sum(k) FROM entry WHERE n = 150");
  EXPECT_NE(plan.find("Hot Data View: learned_transactions_"), std::string::npos) << plan;
  // in use beside those by hand, which come and go
  ASSERT_EQ(session.text("CREATE HOT DATA VIEW v AS SELECT k FROM entry WHERE i = 3"), "");
  EXPECT_EQ(session.text("SELECT viewname FROM scyper_hot_data_views"), "v");
  EXPECT_EQ(session.database().catalog()->find_table("entry")->frozen_store()->hot_views()->views.size(), 3u);
  ASSERT_EQ(session.text("DROP HOT DATA VIEW v"), "");
  EXPECT_EQ(session.database().catalog()->find_table("entry")->frozen_store()->hot_views()->views.size(), 2u);
}

// Each scan of a statement once, however often it runs.
TEST(LearnedViewTest, ScansAreNotedOnceAStatement) {
  Session session(options_of(ExecutionMode::kInterpreted, true));
  session.set_freezing(1);
  ASSERT_TRUE(session.script(kRows).ok());
  allow_learning(&session);
  const auto noted = [&] {
    learn_hot_views(*session.database().catalog());
    return learning_state(*session.database().catalog(), storage::Workload::kTransactions).samples;
  };
  ASSERT_EQ(noted(), 0u);
  session.text("SELECT count(*) FROM generate_series(1, 20) g, entry a WHERE a.i = g AND a.n > 5");
  const uint64_t first = noted();
  EXPECT_GE(first, 1u);
  EXPECT_LE(first, 2u);
  session.text("SELECT n FROM entry WHERE k = 77");  // by an index
  EXPECT_EQ(noted(), first);
  session.text("SELECT count(*) FROM entry WHERE i > 50 AND i < 40");  // reads nothing
  EXPECT_LE(noted(), first + 1);
}

// What was read of the tier, where there is one.
TEST(TierAnalysisTest, CountsPages) {
  const auto pages = [](Session* session, const std::string& options) {
    const std::string plan =
        session->text("EXPLAIN (ANALYZE, COSTS off, TIMING off" + options + ") SELECT sum(n), min(s) FROM entry");
    const size_t at = plan.find("Tier Pages");
    return at == std::string::npos ? std::string() : plan.substr(at, plan.find("Code", at) - at);
  };
  Session tiered(options_of(ExecutionMode::kInterpreted, true), size_t{64} << 20, /*tiers=*/true);
  if (tiered.database().tier() == nullptr) GTEST_SKIP() << "no io_uring";
  tiered.set_freezing(1);
  ASSERT_TRUE(tiered.script(kRows).ok());
  for (int i = 0; i < 4; i++) ASSERT_EQ(tiered.text("SELECT 1"), "1");
  uint64_t asked = 0, read = 0, waits = 0;
  const std::string line = pages(&tiered, "");
  ASSERT_EQ(std::sscanf(line.c_str(), "Tier Pages: %lu, read: %lu, waits: %lu", &asked, &read, &waits), 3) << line;
  EXPECT_GT(asked, 0u);
  EXPECT_LE(waits, asked);
  EXPECT_LE(waits, read);
  EXPECT_NE(pages(&tiered, ", FORMAT json").find("\"Tier Page Waits\": "), std::string::npos);
  Session plain(options_of(ExecutionMode::kInterpreted, false));
  ASSERT_TRUE(plain.script(kRows).ok());
  EXPECT_EQ(pages(&plain, ""), "");
}

// An integer and a numeric as the bounds of one range, in either order.
TEST(ScanBoundsTest, AreReadAsTheyAre) {
  Session plain(options_of(ExecutionMode::kInterpreted, false)), frozen(options_of(ExecutionMode::kInterpreted, true));
  frozen.set_freezing(1);
  for (Session* session : {&plain, &frozen}) ASSERT_TRUE(session->script(kRows).ok());
  ASSERT_GT(frozen.frozen_chunks(), 0u);
  for (const char* condition : {"n <= 100 AND n >= 0.5", "n >= 0.5 AND n <= 100", "n BETWEEN 3 AND 4.5",
                                "n BETWEEN 2.5 AND 4", "k < 10.5 AND k > 5", "k > 5 AND k < 10.5"}) {
    const std::string query = absl::StrCat("SELECT count(*), sum(k) FROM entry WHERE ", condition);
    EXPECT_EQ(frozen.text(query), plain.text(query)) << condition;
  }
}

TEST(HotViewAnalysisTest, CountsChunksThatAreSkipped) {
  Session session(options_of(ExecutionMode::kInterpreted, true));
  session.set_freezing(1);
  ASSERT_TRUE(session.script(kRows).ok());
  const auto chunks = [&](const std::string& options) {
    const std::string plan =
        session.text("EXPLAIN (ANALYZE, COSTS off, TIMING off" + options + ") SELECT count(*) FROM entry WHERE i = 5");
    const size_t at = plan.find("Frozen Chunks");
    return at == std::string::npos ? "" : plan.substr(at, plan.find("Code", at) - at);
  };
  EXPECT_EQ(chunks(""), "");
  ASSERT_EQ(session.text("CREATE HOT DATA VIEW v AS SELECT k FROM entry WHERE i BETWEEN 5 AND 6"), "");
  ASSERT_EQ(session.text("SELECT 1"), "1");
  EXPECT_NE(chunks("").find(", skipped: 4, of these by hot data views: 4\n"), std::string::npos) << chunks("");
  EXPECT_NE(chunks(", FORMAT json").find("\"Frozen Chunks Skipped By Hot Data Views\": 4"), std::string::npos);
}

// By values that are known only when the statement runs.
TEST(HotViewParametersTest, DecideWhenItRuns) {
  Session session(options_of(ExecutionMode::kInterpreted, true));
  session.set_freezing(1);
  ASSERT_TRUE(session.script(kRows).ok());
  ASSERT_EQ(session.text("CREATE HOT DATA VIEW v AS SELECT k FROM entry WHERE i BETWEEN 5 AND 6"), "");
  ASSERT_EQ(session.text("SELECT 1"), "1");
  const auto pruned = [&](int64_t low, int64_t high) {
    const uint64_t before = session.window_counts().irrelevant;
    const Datum bounds[] = {int_datum(low), int_datum(high)};
    ResultSet result;
    EXPECT_TRUE(session.run("SELECT count(*) FROM entry WHERE i >= $1 AND i < $2", &result, bounds).ok());
    return std::pair(session.window_counts().irrelevant - before, result.value(0, 0).lo);
  };
  const auto outside = pruned(4, 7), inside = pruned(5, 7), empty = pruned(6, 6);
  EXPECT_EQ(outside.first, 0u);
  EXPECT_GE(inside.first, 4u);  // one chunk of each partition at least
  EXPECT_EQ(empty.second, 0);
  EXPECT_EQ(absl::StrCat(inside.second), session.text("SELECT count(*) FROM entry WHERE i IN (5, 6)"));
}

}  // namespace
}  // namespace scyper::query
