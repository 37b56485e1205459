// Rows of frozen chunks that an index leads to one after the other are decoded together (docs/compaction.md), while
// routines take turns at the same depth, and what is read next is changed meanwhile.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "query/database.h"
#include "storage/frozen_slot.h"
#include "storage/frozen_tier.h"
#include "testing/session.h"

namespace scyper::query {
namespace {

constexpr char kSchema[] = R"(
CREATE TABLE line (o integer, n integer, v integer NOT NULL, label varchar(20), w bigint, PRIMARY KEY (o, n));
CREATE TABLE wide (k integer PRIMARY KEY, a text, b numeric(12,2), c char(40), d bigint);
CREATE FUNCTION line_of(g integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE s text;
BEGIN SELECT label || v INTO s FROM line WHERE o = g / 10 AND n = g % 10; RETURN s; END $$;
CREATE FUNCTION value_of(g integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE s text;
BEGIN SELECT w * 2 INTO s FROM line WHERE o = g / 10 AND n = g % 10; RETURN s; END $$;
CREATE FUNCTION wide_of(g integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE s text; t text;
BEGIN
  SELECT a || c || d INTO s FROM wide WHERE k = g;
  SELECT a || b INTO t FROM wide WHERE k = g + 1;
  RETURN s || coalesce(t, '-');
END $$;
CREATE PROCEDURE change(first integer) LANGUAGE plpgsql AS $$
DECLARE r record; w integer; seen text := '';
BEGIN
  FOR r IN SELECT n, v, label FROM line WHERE o = first LOOP
    seen := seen || r.label;
    DELETE FROM line WHERE o = first + 1 AND n = r.n AND n % 3 = 0;
    UPDATE line SET v = v + r.v, label = left(seen, 20) WHERE o = first + 1 AND n = r.n + 2;
    FOR k IN 0 .. 9 LOOP
      SELECT v INTO w FROM line WHERE o = first + 1 AND n = k;
      seen := seen || coalesce(w::text, '-');
    END LOOP;
    BEGIN
      DELETE FROM line WHERE o = first AND n > r.n;
      RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero THEN NULL;
    END;
  END LOOP;
  UPDATE line SET label = left(md5(seen), 20) WHERE o = first;
END $$;
INSERT INTO line SELECT g / 10, g % 10, g * 7 % 1000, 'line ' || g, g * 10000000000 FROM generate_series(0, 1999) g;
INSERT INTO wide SELECT g, repeat('a', g % 9) || g, g / 4.0, 'c' || g % 30, g * 100000000000 FROM generate_series(0, 1999) g;
)";

constexpr const char* kStatements[] = {
    "SELECT count(*) FROM line",
    "SELECT string_agg(line_of(g) || value_of(g) || wide_of(g), ',' ORDER BY g) FROM generate_series(0, 1998) g",
    "SELECT w.k, sum(v), max(label), min(w.c) FROM wide w JOIN line ON o = w.k WHERE w.k < 40 GROUP BY w.k ORDER BY 1",
    "CALL change(3)",
    "SELECT * FROM line ORDER BY o, n",
    "CALL change(4)",
    "CALL change(60)",
    "SELECT md5(string_agg(coalesce(line_of(g), '') || wide_of(g), ',' ORDER BY g)) FROM generate_series(0, 1998) g",
    "DELETE FROM line WHERE o BETWEEN 10 AND 30 AND v % 2 = 0 RETURNING *",
    "UPDATE line SET v = v + 1 WHERE o BETWEEN 20 AND 40 AND n > 4 RETURNING o, n, v, label",
    "SELECT o, n, v, label FROM line WHERE o BETWEEN 5 AND 45 ORDER BY o, n",
};

TEST(FrozenNeighboursTest, AreWhatTheyAreAlone) {
  for (const ExecutionMode mode : {ExecutionMode::kInterpreted, ExecutionMode::kQuick}) {
    for (const storage::Layout layout : {storage::Layout::kColumn, storage::Layout::kRow}) {
      DatabaseOptions options;
      options.execution = mode;
      options.layout = layout;
      Session plain(options);
      options.frozen_bytes = size_t{1} << 30;
      Session frozen(options);
      ASSERT_TRUE(plain.script(kSchema).ok());
      ASSERT_TRUE(frozen.script(kSchema).ok());
      frozen.set_freezing(1);
      for (const char* statement : kStatements) {
        const std::string expected = plain.text(statement);
        ASSERT_EQ(expected.find("ERROR"), std::string::npos) << expected;
        ASSERT_EQ(frozen.text(statement), expected) << statement;
      }
      EXPECT_GT(frozen.frozen_chunks(), 2u);
    }
  }
}

// Rows of chunks in files and of such in memory take turns in one place.
TEST(FrozenNeighboursTest, SomeChunksAreInFiles) {
  constexpr char kRows[] = R"(
CREATE TABLE item (k integer PRIMARY KEY, v bigint NOT NULL, label text NOT NULL);
INSERT INTO item SELECT g, g * 7919 % 1000003, md5(g::text) FROM generate_series(0, 65000) g;
CREATE FUNCTION turns(a integer, b integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE s text := ''; r record; ks integer[] := ARRAY[a, b, a, a + 1, b, a + 1];
BEGIN
  FOR i IN 1 .. 6 LOOP
    FOR r IN SELECT v, label FROM item WHERE k = ks[i] LOOP s := s || r.v || r.label; END LOOP;
  END LOOP;
  RETURN s;
END $$)";
  std::string name = testing::TempDir() + "neighbours_XXXXXX";
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  {
    DatabaseOptions options;
    options.execution = ExecutionMode::kInterpreted;
    Session plain(options);
    options.frozen_bytes = size_t{1} << 30;
    options.tier.directory = name;
    options.tier.cache_bytes = 64 * storage::FrozenTier::kPageBytes;
    options.tier.memory_bytes = size_t{3} << 19;
    Session frozen(options);
    if (frozen.database().tier() == nullptr) GTEST_SKIP() << "no io_uring";
    for (Session* session : {&plain, &frozen}) {
      const Status status = session->script(kRows);
      ASSERT_TRUE(status.ok()) << status;
    }
    frozen.set_freezing(1);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(frozen.text("SELECT count(*) FROM item"), "65001");
    const storage::TablePartition* partition = frozen.database().catalog()->find_table("item")->partition(0);
    std::set<bool> in_files;
    for (uint32_t chunk = 0; chunk < partition->chunk_count; ++chunk) {
      const storage::FrozenSlot* slot = storage::slot_of(partition, storage::Tid{chunk} << storage::kChunkShift);
      ASSERT_TRUE(slot != nullptr && slot->state == storage::ChunkState::kFrozen) << chunk;
      in_files.insert(slot->tiered != nullptr);
    }
    EXPECT_EQ(in_files.size(), 2u);
    for (const int a : {5, 20'000, 40'000, 60'000}) {
      for (const int b : {9, 20'009, 40'009, 60'009}) {
        const std::string asked = absl::StrCat("SELECT turns(", a, ", ", b, ")");
        EXPECT_EQ(frozen.text(asked), plain.text(asked)) << asked;
      }
    }
  }
  std::filesystem::remove_all(name);
}

}  // namespace
}  // namespace scyper::query
