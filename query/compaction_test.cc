// Rows of frozen, cold and cooling chunks are read and changed as those of hot ones (docs/compaction.md).
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/failpoint.h"
#include "base/test_seed.h"
#include "base/test_slice.h"
#include "storage/frozen_tier.h"
#include "testing/session.h"

namespace scyper::query {
namespace {

struct Case {
  ExecutionMode mode;
  storage::Layout layout;
};

constexpr char kSchema[] = R"(
CREATE TABLE item (i integer PRIMARY KEY, code char(2) NOT NULL, name varchar(24), price numeric(8,2), note text,
                   ratio double precision, free numeric, made date, flag boolean) PARTITION BY HASH (i);
CREATE INDEX item_name ON item (name);
CREATE TABLE stock (w integer, i integer, n bigint NOT NULL, label varchar(10), PRIMARY KEY (w, i))
  PARTITION BY HASH (w);
CREATE TABLE parent (p integer PRIMARY KEY, kind char(3));
CREATE TABLE child (c integer PRIMARY KEY, p integer REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE, v text);
CREATE TABLE log (l integer PRIMARY KEY, what text);
CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO log SELECT coalesce(max(l), 0) + 1, TG_OP || ' ' || OLD.label FROM log;
  UPDATE stock SET n = n + 1 WHERE w = OLD.w AND i = OLD.i + 1;
  RETURN NEW;
END $$;
CREATE TRIGGER stock_noted BEFORE UPDATE ON stock FOR EACH ROW WHEN (OLD.n % 7 = 0) EXECUTE FUNCTION noted();
CREATE FUNCTION name_of(k integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE s text;
BEGIN
  SELECT code || name INTO s FROM item WHERE i = k;
  IF k > 0 THEN s := s || name_of(k - 40); END IF;
  RETURN s;
END $$;
CREATE PROCEDURE twice(wh integer, k integer[]) LANGUAGE plpgsql AS $$
DECLARE was text; first text := ''; code2 char(2); code1 char(2);
BEGIN
  FOR r IN 1..4 LOOP
    UPDATE stock SET n = n + r, label = 'r' || r WHERE w = wh AND i = k[r];
    SELECT label INTO was FROM stock WHERE w = wh AND i = k[r];
    IF r = 1 THEN first := was; SELECT code INTO code1 FROM item WHERE i = k[r]; END IF;
    SELECT code INTO code2 FROM item WHERE i = k[r];
  END LOOP;
  BEGIN
    UPDATE stock SET n = 0 WHERE w = wh;
    DELETE FROM stock WHERE w = wh AND i = k[2];
    RAISE division_by_zero;
  EXCEPTION WHEN division_by_zero THEN NULL;
  END;
  UPDATE stock SET label = coalesce(first, '-') || code1 || code2 WHERE w = wh AND i = k[3];
END $$;
INSERT INTO item SELECT g, chr(65 + g % 7) || chr(97 + g % 5), 'name ' || g % 50,
  CASE WHEN g % 9 = 0 THEN NULL ELSE g * 1.25 END, CASE WHEN g % 4 = 0 THEN NULL ELSE repeat('note ', g % 8) || g END,
  g / 3.0, g * 1000000.000001, date '2020-01-01' + g % 400, g % 3 = 0 FROM generate_series(0, 399) g;
INSERT INTO stock SELECT w, i, w * 1000 + i, 's' || i FROM generate_series(0, 3) w, generate_series(0, 99) i;
INSERT INTO parent SELECT g, 'k' || g % 3 FROM generate_series(0, 19) g;
INSERT INTO child SELECT g, g % 20, 'child ' || g FROM generate_series(0, 99) g
)";

constexpr const char* kQueries[] = {
    "SELECT * FROM item ORDER BY i",
    "SELECT * FROM stock ORDER BY w, i",
    "SELECT * FROM parent ORDER BY p",
    "SELECT * FROM child ORDER BY c",
    "SELECT * FROM log ORDER BY l",
    "SELECT code, count(*), min(code), max(name), min(note), sum(price), max(free), round(avg(ratio)::numeric, 9) FROM "
    "item GROUP BY code "
    "ORDER BY code",
    "SELECT a.code, b.code, count(*) FROM item a JOIN item b ON a.name = b.name AND a.i < b.i GROUP BY a.code, b.code "
    "ORDER BY 1, 2",
    "SELECT label, code, name, sum(n) FROM stock JOIN item USING (i) GROUP BY label, code, name ORDER BY 1, 2, 3",
    "SELECT i, name, code FROM item WHERE name LIKE 'name 1%' ORDER BY name, i DESC LIMIT 20",
    "SELECT name, count(*) FROM item WHERE price BETWEEN 20 AND 90 AND flag GROUP BY name ORDER BY name",
    "SELECT i, name_of(i) FROM item WHERE i < 120 ORDER BY i",
    "SELECT string_agg(DISTINCT code, ',' ORDER BY code), array_agg(code ORDER BY i) FROM item WHERE i < 30",
    "SELECT i, first_value(code) OVER w, lag(name) OVER w FROM item WINDOW w AS (PARTITION BY made ORDER BY i) "
    "ORDER BY i LIMIT 50",
    "SELECT (SELECT min(code) FROM item), (SELECT max(label) FROM stock), (SELECT count(*) FROM child WHERE p = 3)",
    "SELECT DISTINCT code, flag FROM item UNION SELECT label::char(2), true FROM stock ORDER BY 1, 2",
    "SELECT c, kind, v FROM child LEFT JOIN parent USING (p) WHERE v > 'child 5' ORDER BY c",
};

class CompactionTest : public testing::TestWithParam<Case> {
 protected:
  static std::unique_ptr<Session> make_session(uint64_t freezes_after, bool cools = false, bool tiers = false) {
    DatabaseOptions options;
    options.execution = GetParam().mode;
    options.layout = GetParam().layout;
    options.partitions = 4;
    if (freezes_after > 0) options.frozen_bytes = size_t{1} << 30;
    auto session = std::make_unique<Session>(options, size_t{256} << 20, tiers);
    session->set_freezing(freezes_after);
    if (cools) session->set_cooling();
    const Status status = session->script(kSchema);
    EXPECT_TRUE(status.ok()) << status;
    return session;
  }
};
// Better code is no other to a sanitizer than quick code, and takes longest to make.
std::vector<Case> modes() {
  std::vector<Case> modes = {{ExecutionMode::kInterpreted, storage::Layout::kColumn},
                             {ExecutionMode::kQuick, storage::Layout::kRow},
                             {ExecutionMode::kBetter, storage::Layout::kColumn}};
  modes.resize(test_slice(size_t{3}, size_t{2}));
  return modes;
}
INSTANTIATE_TEST_SUITE_P(Modes, CompactionTest, testing::ValuesIn(modes()));

// A statement that changes rows.
std::string make_change(std::mt19937_64* random) {
  auto number = [&](int n) { return static_cast<int>((*random)() % static_cast<uint64_t>(n)); };
  const int i = number(420), w = number(4), k = number(100);
  switch (number(16)) {
    case 0:
      return absl::StrCat("UPDATE item SET price = price + 1, name = 'new ", k, "' WHERE i = ", i);
    case 1:
      return absl::StrCat("UPDATE item SET code = 'Z' || left(code, 1), note = note || '!' WHERE i BETWEEN ", i,
                          " AND ", i + 9);
    case 2:
      return absl::StrCat("UPDATE item SET i = i + 1000 WHERE i = ", i);
    case 3:
      return absl::StrCat("DELETE FROM item WHERE i = ", i, " RETURNING code, name");
    case 4:
      return absl::StrCat("DELETE FROM item WHERE name = 'name ", k % 50, "' AND price > ", 100 + k);
    case 5:
      return absl::StrCat("INSERT INTO item VALUES (", i,
                          ", 'Qq', 'again', 1, NULL, 2, 3, NULL, true) ON CONFLICT (i) "
                          "DO UPDATE SET name = excluded.name || item.code, price = item.price * 2 WHERE item.flag");
    case 6:
      return absl::StrCat("UPDATE stock SET n = n + 1, label = 'u", k, "' WHERE w = ", w, " AND n % 3 = 0");
    case 7:
      return absl::StrCat("UPDATE stock SET n = n + 7 WHERE w = ", w);
    case 8:
      return absl::StrCat("CALL twice(", w, ", ARRAY[", k, ",", number(100), ",", k, ",", number(110), "])");
    case 9:
      return absl::StrCat("UPDATE parent SET p = p + 100, kind = 'm' WHERE p = ", number(140));
    case 10:
      return absl::StrCat("DELETE FROM parent WHERE p = ", number(140));
    case 11:
      return absl::StrCat("MERGE INTO stock s USING (SELECT i % 100 AS i, min(code) AS code FROM item WHERE i % 10 = ",
                          k % 10, " GROUP BY i % 100) q ON s.w = ", w,
                          " AND s.i = q.i WHEN MATCHED AND s.n % 2 = 0 THEN UPDATE SET label = q.code, n = s.n + 1 "
                          "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (",
                          w, ", q.i, 5, q.code)");
    case 12:
      return absl::StrCat(
          "UPDATE stock SET n = stock.n + length(item.name), label = item.code FROM item WHERE stock.i "
          "= item.i AND stock.w = ",
          w, " AND item.flag");
    case 13:
      return absl::StrCat(
          "DO $$ DECLARE c CURSOR FOR SELECT i, label FROM stock WHERE w = ", w,
          " ORDER BY i LIMIT 5 FOR UPDATE; r record; BEGIN OPEN c; LOOP FETCH c INTO r; EXIT WHEN NOT "
          "FOUND; UPDATE stock SET label = left(r.label, 3) || r.i WHERE CURRENT OF c; END LOOP; END $$");
    case 14:
      return absl::StrCat("WITH gone AS (DELETE FROM child WHERE c % 20 = ", number(20),
                          " RETURNING c, p, v) INSERT INTO child SELECT c, p, left(v, 9) || '+' FROM gone WHERE c % 3 "
                          "> 0");
    default:
      return absl::StrCat("DO $$ DECLARE r record; BEGIN FOR r IN SELECT i, code FROM item WHERE i < ", k,
                          " LOOP UPDATE item SET name = r.code || i WHERE i = r.i + ", number(3), "; END LOOP; END $$");
  }
}

void compare_changes(uint64_t seed, Session* plain, Session* frozen) {
  std::mt19937_64 random(seed);
  for (int round = 0; round < 60; round++) {
    const std::string change = make_change(&random);
    ASSERT_EQ(frozen->text(change), plain->text(change)) << change;
    for (int i = 0; i < 3; i++) {  // of a cooling chunk the row moves
      const Datum key = int_datum(static_cast<int64_t>(random() % 420));
      ResultSet row, other;
      constexpr char kPoint[] = "SELECT (price * 100)::bigint + ascii(name) * 1000 FROM item WHERE i = $1";
      ASSERT_TRUE(frozen->run(kPoint, &row, {&key, 1}).ok());
      ASSERT_TRUE(plain->run(kPoint, &other, {&key, 1}).ok());
      ASSERT_EQ(row.row_count(), other.row_count()) << key.lo;
      if (row.row_count() == 0) continue;
      ASSERT_EQ(row.value(0, 0).null, other.value(0, 0).null) << key.lo;
      ASSERT_EQ(row.value(0, 0).lo, other.value(0, 0).lo) << key.lo;
    }
    if (round % 6 != 0) continue;
    for (const char* query : kQueries) ASSERT_EQ(frozen->text(query), plain->text(query)) << change << "\n" << query;
  }
  EXPECT_GT(frozen->frozen_chunks(), 10u);
}

TEST_P(CompactionTest, ChangesNoAnswer) {
  const uint64_t seed = test_seed();
  auto plain = make_session(0);
  auto frozen = make_session(1 + seed % 3);
  compare_changes(seed, plain.get(), frozen.get());
}

class TieringTest : public CompactionTest {};
INSTANTIATE_TEST_SUITE_P(Modes, TieringTest,
                         testing::Values(Case{ExecutionMode::kInterpreted, storage::Layout::kColumn},
                                         Case{ExecutionMode::kQuick, storage::Layout::kRow}));

// All data of frozen rows is in files, which a cache of 16 pages reads.
TEST_P(TieringTest, ChangesNoAnswer) {
  const uint64_t seed = test_seed();
  auto plain = make_session(0);
  auto tiered = make_session(1 + seed % 3, false, true);
  storage::FrozenTier* tier = tiered->database().tier();
  if (tier == nullptr) GTEST_SKIP() << "no io_uring";
  compare_changes(seed, plain.get(), tiered.get());
  EXPECT_GT(tier->counts().evicted_vectors, 100u);
  EXPECT_GT(tier->cache()->statistics().pages_read, 10u);
}

// A page that is damaged fails the statements that need it, and no other.
TEST_P(TieringTest, DamageFailsTheStatementThatMeetsIt) {
  auto plain = make_session(0);
  auto tiered = make_session(1, false, true);
  if (tiered->database().tier() == nullptr) GTEST_SKIP() << "no io_uring";
  // nothing has read items since they were written
  ASSERT_TRUE(arm_failpoints("page_cache.bit_flip=fail").ok());
  for (const char* statement :
       {"SELECT sum(price * 2) FROM item", "SELECT name FROM item WHERE i = 17",
        "UPDATE item SET price = 1 WHERE i = 18", "DELETE FROM item WHERE i = 19",
        "SELECT * FROM item JOIN stock USING (i)", "CREATE INDEX item_note ON item (note)",
        "ALTER TABLE item ADD COLUMN more integer DEFAULT 7",
        "DO $$ BEGIN UPDATE item SET price = 1 WHERE i = 20; EXCEPTION WHEN division_by_zero THEN NULL; END $$"}) {
    const std::string failed = tiered->text(statement);
    EXPECT_TRUE(failed.starts_with("ERROR XX001: ")) << statement << ": " << failed;
    EXPECT_NE(failed.find(".tier: page "), std::string::npos) << failed;
  }
  constexpr char kOther[] = "INSERT INTO log VALUES (99999, 'new')";
  EXPECT_EQ(tiered->text(kOther), plain->text(kOther));
  constexpr char kOfHeads[] = "SELECT count(*), sum(price), min(made) FROM item";  // which are in memory
  EXPECT_EQ(tiered->text(kOfHeads), plain->text(kOfHeads));
  disarm_failpoints();
  for (const char* query : kQueries) EXPECT_EQ(tiered->text(query), plain->text(query)) << query;
  constexpr char kChange[] = "UPDATE item SET price = price + 1 WHERE i IN (17, 18, 19, 20)";
  EXPECT_EQ(tiered->text(kChange), plain->text(kChange));
  for (const char* query : kQueries) EXPECT_EQ(tiered->text(query), plain->text(query)) << query;
}

// A full disk leaves everything in memory.
TEST_P(TieringTest, WhatTheDiskDoesNotTakeStaysInMemory) {
  ASSERT_TRUE(arm_failpoints("tier.before_write=fail").ok());
  auto plain = make_session(0);
  auto full = make_session(1, false, true);
  storage::FrozenTier* tier = full->database().tier();
  if (tier == nullptr) GTEST_SKIP() << "no io_uring";
  for (const char* query : kQueries) EXPECT_EQ(full->text(query), plain->text(query)) << query;
  EXPECT_EQ(tier->counts().tiered_vectors, 0u);
  EXPECT_GT(tier->counts().failed_evictions, 0u);
  EXPECT_GT(full->frozen_chunks(), 0u);
  disarm_failpoints();
  tier->begin_window();
  for (const char* query : kQueries) EXPECT_EQ(full->text(query), plain->text(query)) << query;
  EXPECT_GT(tier->counts().tiered_vectors, 10u);
}

class CoolingTest : public CompactionTest {};
INSTANTIATE_TEST_SUITE_P(Modes, CoolingTest,
                         testing::Values(Case{ExecutionMode::kInterpreted, storage::Layout::kColumn},
                                         Case{ExecutionMode::kQuick, storage::Layout::kRow}));

// Chunks cool first: what is read and changed there moves away.
TEST_P(CoolingTest, ChangesNoAnswer) {
  const uint64_t seed = test_seed();
  auto plain = make_session(0);
  auto cooling = make_session(1 + seed % 3, true);
  compare_changes(seed, plain.get(), cooling.get());
  EXPECT_GT(cooling->relocated_tuples(), 0u);
}

// Rows in the order of k, so that chunks and their pieces can be left out by k, d and ts.
constexpr char kManyRows[] = R"(
CREATE TABLE many (k integer PRIMARY KEY, i smallint, b bigint, n numeric(8,2), w numeric(25,4), f double precision,
                   s varchar(20), c char(6), t text, d date, ts timestamp, u uuid, e boolean) PARTITION BY HASH (k);
INSERT INTO many SELECT g, CASE WHEN g % 7 > 0 THEN g % 50 - 10 END, g * 10000000000, CASE WHEN g % 5 > 0 THEN g * 1.25 END,
  (g % 900) * 1000000000000.0001, CASE g % 6 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' ELSE g % 100 - 50.5 END,
  CASE WHEN g % 11 > 0 THEN 'name ' || g % 300 END, 'c' || g % 40, repeat('text ', g % 9) || g % 20,
  date '2020-01-01' + g / 100, timestamp '2020-01-01' + g * interval '1 minute',
  lpad(to_hex(g % 1000), 32, '0')::uuid, CASE WHEN g % 3 > 0 THEN g % 2 = 0 END FROM generate_series(0, 35999) g;
CREATE FUNCTION count_above(x numeric, y bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE r bigint;
BEGIN
  SELECT count(*) + coalesce(sum(abs(k)), 0) INTO r FROM many WHERE n > x AND i < y;
  RETURN r;
END $$;
CREATE FUNCTION count_like(x text, y timestamp) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE r bigint;
BEGIN
  SELECT count(*) + coalesce(sum(k), 0) INTO r FROM many WHERE (s = x OR t >= x OR x = c) AND ts <= y;
  RETURN r;
END $$;
)";

// A condition on one column of `many`, mostly one that chunks can be asked.
std::string make_comparison(std::mt19937_64* random) {
  auto pick = [&](const std::vector<const char*>& all) { return all[(*random)() % all.size()]; };
  static const std::vector<std::pair<const char*, std::vector<const char*>>> kColumns = {
      {"k", {"0", "-1", "100", "2047", "2048", "17.5", "20000", "35999", "99999999999", "NULL"}},
      {"i", {"-11", "-10", "0", "3.2", "39", "40000", "NULL::smallint"}},
      {"b", {"0", "123456789", "5000000000000", "120000000000000.5", "9223372036854775807"}},
      {"n", {"0", "1.25", "1.251", "1.249", "20000", "44998.75", "1e30", "'NaN'::numeric", "7::bigint"}},
      {"w", {"0", "1000000000000.0001", "1000000000000.00005", "899000000000000.09", "1e40"}},
      {"f", {"'NaN'", "0", "-50.5", "49.5", "'Infinity'", "1e300"}},
      {"s", {"'name 1'", "'name 299'", "''", "'nam'", "'o'", "'name 1 '"}},
      {"c", {"'c1'", "'c1    '", "'c39'", "'b'", "'c2'::text", "'c2  '::text", "'c3'::varchar"}},
      {"t", {"'text 1'", "'1'", "'text text 7'", "'zzz'", "''"}},
      {"d", {"'2020-01-01'", "'2020-03-01'", "'2020-12-25'", "'1990-01-01'", "'infinity'"}},
      {"ts", {"'2020-01-01 00:00'", "'2020-01-05 07:59'", "'2020-01-20'", "'2021-01-01'"}},
      {"u",
       {"'00000000-0000-0000-0000-000000000000'", "'00000000-0000-0000-0000-0000000003e7'",
        "'f0000000-0000-0000-0000-000000000000'"}},
      {"e", {"true", "false"}}};
  const auto& [column, values] = kColumns[(*random)() % kColumns.size()];
  const std::string value = pick(values), other = pick(values);
  switch ((*random)() % 9) {
    case 0:
      return absl::StrCat(column, " BETWEEN ", value, " AND ", other);
    case 1:
      return absl::StrCat(column, " IN (", value, ", ", other, ", ", pick(values), ")");
    case 2:
      return absl::StrCat(column, (*random)() % 2 == 0 ? " IS NULL" : " IS NOT NULL");
    case 3:
      return absl::StrCat(
          pick({"s", "c", "t"}), " LIKE ",
          pick({"'name 1%'", "'c3%'", "'text text%'", "'%1'", "'n_me%'", "'c1 %'", "'name 12'", "'1%5'"}));
    case 4:
      return absl::StrCat(value, pick({" < ", " >= ", " = "}), column);
    default:
      return absl::StrCat(column, pick({" = ", " <> ", " < ", " <= ", " > ", " >= "}), value);
  }
}

std::string make_condition(std::mt19937_64* random) {
  std::string text = make_comparison(random);
  const auto more = (*random)() % 3;
  for (uint64_t i = 0; i < more; i++) {
    const auto kind = (*random)() % 4;
    if (kind == 0)
      text = absl::StrCat("(", text, " OR ", make_comparison(random), ")");
    else if (kind == 1)
      text = absl::StrCat("(", text, " OR ", make_comparison(random), " AND ", make_comparison(random), ")");
    else
      absl::StrAppend(&text, " AND ", (*random)() % 5 == 0 ? "NOT " : "", make_comparison(random));
  }
  return text;
}

// Chunks that are asked what a scan wants leave out nothing of it.
TEST_P(CompactionTest, ScansFindWhatTheyWant) {
  std::mt19937_64 random(test_seed());
  auto plain = make_session(0);
  auto frozen = make_session(1, false, GetParam().mode == ExecutionMode::kQuick);  // with the data in files
  for (Session* session : {plain.get(), frozen.get()}) {
    const Status status = session->script(kManyRows);
    ASSERT_TRUE(status.ok()) << status;
  }
  frozen->set_freezing(UINT64_MAX);
  const int rounds = GetParam().mode == ExecutionMode::kBetter ? 20 : 120;  // which compiles long
  for (int round = 0; round < rounds; round++) {
    std::string query = absl::StrCat(
        "SELECT count(*), sum(k), sum(i), min(s), max(t), min(c), count(e), max(u::text), "
        "sum(n), max(w), count(f) FROM many WHERE ",
        make_condition(&random));
    if (round % 10 == 0)
      query = absl::StrCat("SELECT a.i, (SELECT count(*) FROM many m WHERE m.k < a.k * 90 AND m.n >= a.n AND ",
                           make_comparison(&random), ") FROM many a WHERE a.k % 4001 = 7 ORDER BY a.k");
    if (round % 10 == 1)
      query = absl::StrCat("SELECT count_above(", round * 3, ".255, ", round % 60 - 20, "), count_like('name ", round,
                           "', timestamp '2020-01-01' + interval '", round, " hours')");
    if (round == rounds / 2) {
      for (Session* session : {plain.get(), frozen.get()})
        ASSERT_EQ(session->text("DELETE FROM many WHERE k % 97 = 5 OR k BETWEEN 4000 AND 4700"), "");
    }
    ASSERT_EQ(frozen->text(query), plain->text(query)) << query;
  }
  EXPECT_GT(frozen->window_counts().skipped, 0u);
  EXPECT_GT(frozen->window_counts().decoded, 0u);
  EXPECT_EQ(plain->window_counts().chunks, 0u);
}

// Chunks all of whose rows pass tell what is asked of them, and no row is read.
TEST_P(CompactionTest, WholeChunksAnswer) {
  std::mt19937_64 random(test_seed());
  auto plain = make_session(0);
  auto frozen = make_session(1);
  for (Session* session : {plain.get(), frozen.get()}) {
    const Status status = session->script(kManyRows);
    ASSERT_TRUE(status.ok()) << status;
  }
  frozen->set_freezing(UINT64_MAX);
  constexpr char kAsked[] =
      "SELECT count(*), count(1), count(i), count(s), count(f), sum(i), avg(i), min(i), max(i), sum(k), avg(k), "
      "min(b), "
      "sum(b), sum(n), avg(n), min(n), max(n), sum(w), avg(w), max(w), min(d), max(ts) FROM many";
  for (const char* all : {" WHERE k >= 0 AND k < 99999", " WHERE d >= '2020-01-01' AND ts < '2021-01-01' AND n < 1e30",
                          " WHERE k BETWEEN -5.5 AND 35999.0 AND (b < 0 OR b <> -7)", ""}) {
    const WindowCounts before = frozen->window_counts();
    ASSERT_EQ(frozen->text(absl::StrCat(kAsked, all)), plain->text(absl::StrCat(kAsked, all))) << all;
    const WindowCounts after = frozen->window_counts();
    const bool has_nulls = std::string_view(all).find(" n ") != std::string_view::npos;
    EXPECT_EQ(after.answered - before.answered, has_nulls ? 0u : after.chunks - before.chunks) << all;
  }
  EXPECT_NE(frozen->text("EXPLAIN (ANALYZE) SELECT sum(k) FROM many").find("rows=36000"), std::string::npos);
  const int rounds = GetParam().mode == ExecutionMode::kBetter ? 6 : 24;  // which compiles long
  for (int round = 0; round < rounds; round++) {
    const char* asked =
        round % 2 == 0 ? kAsked : "SELECT count(*), count(i), sum(i), avg(k), min(i), max(k), min(d) FROM many";
    std::string query = absl::StrCat(asked, " WHERE ", make_condition(&random));
    if (round % 4 == 0)
      query = absl::StrCat("SELECT count(*), max(k) FILTER (WHERE i < 7) FROM many WHERE k > ", -round);
    if (round == rounds / 2) {
      for (Session* session : {plain.get(), frozen.get()}) {
        ASSERT_EQ(session->text("DELETE FROM many WHERE k = 17"), "");
        ASSERT_EQ(session->text("UPDATE many SET i = NULL, n = 3 WHERE k BETWEEN 18000 AND 18003"), "");
      }
    }
    ASSERT_EQ(frozen->text(query), plain->text(query)) << query;
    ASSERT_EQ(frozen->text(kAsked), plain->text(kAsked));
  }
}

// Tuples that an UPDATE moves keep their entries of the primary key in place, those of the other indexes not.
TEST_P(CompactionTest, UpdatesByIndexMeetEachRowOnce) {
  auto session = make_session(1);
  const Status status = session->script(R"(
CREATE TABLE walked (g integer, k integer, h integer NOT NULL, u integer NOT NULL, n integer, v integer NOT NULL,
  t text, PRIMARY KEY (g, k), UNIQUE (u, n));
CREATE INDEX ON walked (h);
INSERT INTO walked SELECT n / 20, n, n / 20, n / 20, NULL, 0, 'text ' || n FROM generate_series(0, 399) n)");
  ASSERT_TRUE(status.ok()) << status;
  const auto sums = [&](int g) {
    return session->text(absl::StrCat("SELECT count(*), sum(v), max(v), sum(length(t)) FROM walked WHERE g = ", g));
  };
  // other rows each time, so that what moves lies behind all others
  for (const auto& [column, value] : {std::pair("g", 6), {"h", 7}, {"u", 8}}) {
    ASSERT_EQ(session->text(absl::StrCat("UPDATE walked SET v = v + 1 WHERE ", column, " = ", value)), "") << column;
    ASSERT_EQ(sums(value), "20|20|1|160") << column;
  }
  ASSERT_EQ(session->text("UPDATE walked SET v = v + 1 WHERE g = 9 AND k % 2 = 0 RETURNING k, t").substr(0, 12),
            "180|text 180");
  ASSERT_EQ(sums(9), "20|10|1|160");
  // what is taken back lies in its frozen chunk again
  ASSERT_EQ(session->text("DO $$ BEGIN UPDATE walked SET v = 1 / (k - 190) WHERE g = 9; "
                          "EXCEPTION WHEN division_by_zero THEN NULL; END $$"),
            "");
  ASSERT_EQ(sums(9), "20|10|1|160");
  ASSERT_EQ(session->text("SELECT sum(v) FROM walked WHERE h = 9 AND u = 9"), "10");
}

TEST_P(CompactionTest, LoopsDecodeOnce) {
  auto frozen = make_session(1);
  const Status status = frozen->script(kManyRows);
  ASSERT_TRUE(status.ok()) << status;
  frozen->set_freezing(UINT64_MAX);
  const WindowCounts before = frozen->window_counts();
  const std::string sums = frozen->text("SELECT sum(count_above(g, 1000)) FROM generate_series(1, 30) g");
  const WindowCounts after = frozen->window_counts();
  auto plain = make_session(0);
  ASSERT_TRUE(plain->script(kManyRows).ok());
  EXPECT_EQ(sums, plain->text("SELECT sum(count_above(g, 1000)) FROM generate_series(1, 30) g"));
  EXPECT_GT(after.decoded, before.decoded);
  EXPECT_GE(after.kept - before.kept, 10 * (after.decoded - before.decoded));
}

constexpr char kNamed[] = R"(
CREATE TABLE named (k integer PRIMARY KEY, name varchar(24), code char(8) NOT NULL, made date NOT NULL);
CREATE INDEX named_name ON named (name);
CREATE INDEX named_code ON named (code);
CREATE INDEX named_made ON named (made);
INSERT INTO named
  SELECT g, CASE WHEN g % 50 = 7 THEN NULL ELSE
           chr(97 + g % 10) || chr(97 + g / 10 % 10) || chr(97 + g / 100 % 10) || repeat('x', g % 3) || g / 1000 END,
         chr(65 + g % 10) || chr(65 + g / 10 % 10) || CASE WHEN g % 7 = 0 THEN ' _' ELSE 'q' END || g % 3,
         date '2020-01-01' + g % 1000
  FROM generate_series(0, 32999) g;
UPDATE named SET name = 'é' || name WHERE k % 1000 = 5;
CREATE TABLE apart (k integer PRIMARY KEY, name varchar(24), code char(8) NOT NULL, made date NOT NULL);
INSERT INTO apart SELECT * FROM named
)";

// Ranges and prefixes that few rows have are found by an ordered index, others by a scan (VLDB 2012, 3.5: below about
// 3.3 %).
TEST_P(CompactionTest, FewRowsComeFromIndexes) {
  struct Asked {
    const char* condition;
    bool few;
  };
  constexpr Asked kAsked[] = {
      {"name LIKE 'abc%'", true},
      {"name LIKE 'ab%'", true},
      {"name LIKE 'ab_x%3'", true},
      {"name LIKE 'é%'", true},
      {"name LIKE 'ab'", true},
      {"name >= 'ab' AND name < 'ac'", true},
      {"'jj' < name", true},
      {"code LIKE 'AB%'", true},
      {"code LIKE 'AB %'", true},
      {"code LIKE 'AB \\_1%'", true},
      {"code LIKE 'AB q%'", true},
      {"made BETWEEN '2020-03-01' AND '2020-03-05'", true},
      {"made >= '2021-05-01' AND made <= '2021-05-06' AND name LIKE '%x%'", true},
      {"name >= 'a' AND name LIKE 'abc%'", true},
      {"k > 32990 AND name LIKE 'a%'", true},
      {"name LIKE 'a%'", false},
      {"name LIKE 'a%zzz'", false},
      {"name LIKE '%bc'", false},
      {"name NOT LIKE 'ab%'", false},
      {"name >= 'b' AND name < 'd'", false},
      {"code LIKE ' %'", false},
      {"made BETWEEN '2020-03-01' AND '2020-09-05'", false},
      {"made < '2020-03-01'", false},
  };
  auto session = make_session(GetParam().mode == ExecutionMode::kQuick ? 0 : 1);
  const Status status = session->script(kNamed);
  ASSERT_TRUE(status.ok()) << status;
  session->set_freezing(UINT64_MAX);
  session->database().refresh_statistics();
  for (const int round : {0, 1}) {
    for (const auto& [condition, few] : kAsked) {
      const auto from = [&](const char* table) {
        return absl::StrCat("SELECT count(*), sum(k), min(name), max(code) FROM ", table, " WHERE ", condition);
      };
      ASSERT_EQ(session->text(from("named")), session->text(from("apart"))) << condition;
      const std::string plan = session->text("EXPLAIN " + from("named"));
      EXPECT_EQ(plan.find(few ? "Index Scan on named" : "Seq Scan on named") != std::string::npos, true)
          << condition << "\n"
          << plan;
    }
    if (round > 0) break;
    for (const char* table : {"named", "apart"}) {
      ASSERT_EQ(session->text(absl::StrCat("UPDATE ", table, " SET name = 'abc' || name WHERE k % 640 = 9")), "");
      ASSERT_EQ(session->text(absl::StrCat("DELETE FROM ", table, " WHERE k % 100 = 10")), "");
    }
  }
  // changes find the same rows
  for (const auto& [condition, few] : kAsked) {
    for (const char* table : {"named", "apart"}) {
      ASSERT_EQ(session->text(absl::StrCat("UPDATE ", table, " SET made = made + 1 WHERE ", condition)), "");
      ASSERT_EQ(session->text(absl::StrCat("DELETE FROM ", table, " WHERE k % 11 = 3 AND ", condition)), "");
    }
    const char* const difference = "SELECT count(*) FROM (SELECT * FROM named EXCEPT ALL SELECT * FROM apart) d";
    ASSERT_EQ(session->text(difference), "0") << condition;
    ASSERT_EQ(session->text("SELECT (SELECT count(*) FROM named) - (SELECT count(*) FROM apart)"), "0") << condition;
  }
}

// Statements of transactions, which are not planned, too: no chunk is scanned.
TEST_P(CompactionTest, ChangesByPrefixComeFromIndexes) {
  auto session = make_session(1);
  const Status status = session->script(kNamed);
  ASSERT_TRUE(status.ok()) << status;
  // with a view EXPLAIN ANALYZE tells of chunks
  ASSERT_EQ(session->text("CREATE HOT DATA VIEW all_named AS SELECT k FROM named WHERE k >= 0"), "");
  session->set_freezing(UINT64_MAX);
  const auto explain = [&](const char* condition) {
    return session->text(absl::StrCat("EXPLAIN (ANALYZE) UPDATE named SET made = made + 1 WHERE ", condition));
  };
  EXPECT_NE(explain("name LIKE '%bc'").find("Frozen Chunks"), std::string::npos) << explain("name LIKE '%bc'");
  EXPECT_EQ(explain("name LIKE 'abc%'").find("Frozen Chunks"), std::string::npos) << explain("name LIKE 'abc%'");
  EXPECT_EQ(explain("code LIKE 'AB %'").find("Frozen Chunks"), std::string::npos) << explain("code LIKE 'AB %'");
}

// What a routine returns may be its argument, which lies where the row was decoded.
TEST_P(CompactionTest, RoutinesPassTextsThrough) {
  auto session = make_session(GetParam().mode == ExecutionMode::kQuick ? 0 : 1);
  const Status status = session->script(R"(
CREATE TABLE passed (k integer PRIMARY KEY, x text);
INSERT INTO passed SELECT g, 'x' || g % 5000 FROM generate_series(0, 8999) g;
CREATE FUNCTION same(a text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN a; END $$;
CREATE FUNCTION of_before(a text, wanted integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN UPDATE passed SET x = 'q' || x WHERE k = wanted; RETURN length(a) || a; END $$)");
  ASSERT_TRUE(status.ok()) << status;
  session->set_freezing(UINT64_MAX);
  for (const char* asked : {"max(#), min(#)", "count(DISTINCT #)", "md5(string_agg(#, ',' ORDER BY #))"}) {
    const std::string select = absl::StrCat("SELECT ", asked, " FROM passed");
    EXPECT_EQ(session->text(absl::StrReplaceAll(select, {{"#", "same(x)"}})),
              session->text(absl::StrReplaceAll(select, {{"#", "x"}})));
  }
  for (const char* result : {"2x1", "3qx1", "4qqx1"}) {  // frozen, then hot
    EXPECT_EQ(session->text("SELECT of_before(x, k) FROM passed WHERE k = 1"), result);
  }
}

}  // namespace
}  // namespace scyper::query
