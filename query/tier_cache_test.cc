// The storage parameter tier_cache of tables (docs/tiering.md).
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>

#include "query/catalog_image.h"
#include "storage/frozen_slot.h"
#include "storage/frozen_tier.h"
#include "testing/session.h"

namespace scyper::query {
namespace {

constexpr char kShown[] = "SELECT relname, reloptions FROM pg_class WHERE reloptions IS NOT NULL ORDER BY 1";

class TierCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    DatabaseOptions options;
    options.execution = ExecutionMode::kInterpreted;
    options.partitions = 2;
    options.frozen_bytes = size_t{1} << 30;
    options.tier.caches = {{"small", 16 * storage::FrozenTier::kPageBytes, storage::EvictionPolicy::kLru},
                           {"Large-2", 64 * storage::FrozenTier::kPageBytes}};
    session_.emplace(options, size_t{256} << 20, true);
    if (session_->database().tier() == nullptr) GTEST_SKIP() << "no io_uring";
  }
  std::string q(const std::string& sql) { return session_->text(sql); }
  // That a definition's notices say; of an error that.
  std::string notices(const std::string& sql) {
    ResultSet result;
    const Status status = session_->run(sql, &result);
    if (!status.ok()) return std::string(status.message());
    std::string all;
    for (const std::string& notice : result.notices) all += notice;
    return all;
  }
  uint32_t cache_of(const std::string& table) {
    return session_->database().catalog()->find_table(table)->frozen_store()->tier_cache.load();
  }

  std::optional<Session> session_;
};

TEST_F(TierCacheTest, IsSetShownAndReset) {
  EXPECT_EQ(q("CREATE TABLE a (k integer PRIMARY KEY, v text) WITH (tier_cache = small, fillfactor = 70)"), "");
  EXPECT_EQ(q("CREATE TABLE b (k integer, v text) PARTITION BY HASH (k) WITH (tier_cache = 'Large-2')"), "");
  EXPECT_EQ(q("CREATE TABLE c WITH (tier_cache = 'small') AS SELECT 1 AS k"), "");
  EXPECT_EQ(q("CREATE MATERIALIZED VIEW m WITH (tier_cache = 'default') AS SELECT 1 AS k"), "");
  EXPECT_EQ(q("CREATE TABLE plain (LIKE a INCLUDING ALL)"), "");
  EXPECT_EQ(q(kShown), "a|{tier_cache=small}\nb|{tier_cache=Large-2}\nc|{tier_cache=small}\nm|{tier_cache=default}");
  EXPECT_EQ(cache_of("a"), 1u);
  EXPECT_EQ(cache_of("b"), 2u);
  EXPECT_EQ(cache_of("c"), 1u);
  EXPECT_EQ(cache_of("plain"), 0u);
  // what makes the table anew, and its names
  EXPECT_EQ(q("ALTER TABLE a ADD COLUMN w integer DEFAULT 3, DROP COLUMN v"), "");
  EXPECT_EQ(q("ALTER TABLE a RENAME TO z"), "");
  EXPECT_EQ(q("TRUNCATE z"), "");
  EXPECT_EQ(cache_of("z"), 1u);
  EXPECT_EQ(q("ALTER TABLE z SET (tier_cache = 'Large-2', autovacuum_enabled = off)"), "");
  EXPECT_EQ(cache_of("z"), 2u);
  EXPECT_EQ(q("ALTER TABLE z RESET (tier_cache, fillfactor, nothing)"), "");
  EXPECT_EQ(cache_of("z"), 0u);
  EXPECT_EQ(q("ALTER MATERIALIZED VIEW m SET (tier_cache = small)"), "");
  EXPECT_EQ(q("REFRESH MATERIALIZED VIEW m"), "");
  EXPECT_EQ(q(kShown), "b|{tier_cache=Large-2}\nc|{tier_cache=small}\nm|{tier_cache=small}");
  EXPECT_EQ(q("DROP TABLE b, c; "), "");
  EXPECT_EQ(q(kShown), "m|{tier_cache=small}");
}

TEST_F(TierCacheTest, ANameThatThisNodeDoesNotHave) {
  constexpr char kWarning[] = "WARNING:  this node has no cache \"far\" (tier_caches); it uses the default one";
  testing::internal::CaptureStderr();
  EXPECT_EQ(notices("CREATE TABLE a (k integer) WITH (tier_cache = far)"), kWarning);
  EXPECT_EQ(notices("CREATE TABLE b (k integer)"), "");
  EXPECT_EQ(notices("ALTER TABLE b SET (tier_cache = far)"), kWarning);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "scyper: tier_caches has no cache \"far\": tables that name it use the cache default\n");
  EXPECT_EQ(cache_of("a"), 0u);
  EXPECT_EQ(q(kShown), "a|{tier_cache=far}\nb|{tier_cache=far}");
}

TEST_F(TierCacheTest, RefusesWhatIsWrong) {
  ASSERT_EQ(q("CREATE TABLE a (k integer)"), "");
  for (const char* value : {"'a b'", "''", "'{}'", "'x,y=1'"}) {
    const std::string wrong = "ERROR 22023: invalid value for parameter \"tier_cache\": ";
    EXPECT_TRUE(q(std::string("ALTER TABLE a SET (tier_cache = ") + value + ")").starts_with(wrong)) << value;
    EXPECT_TRUE(q(std::string("CREATE TABLE b WITH (tier_cache = ") + value + ") AS SELECT 1 AS k").starts_with(wrong));
  }
  EXPECT_EQ(q("ALTER TABLE a SET (tier_caches = small)"), "ERROR 22023: unrecognized parameter \"tier_caches\"");
  EXPECT_EQ(q("ALTER TABLE a RESET (tier_cache = small)"), "ERROR 42601: RESET must not include values for parameters");
  EXPECT_EQ(q("ALTER TABLE a SET (layout = row)"), "ERROR 0A000: changing the layout of a table is not supported");
  EXPECT_EQ(q("ALTER TABLE a SET (tier_cache = small, nothing = 1)"),
            "ERROR 22023: unrecognized parameter \"nothing\"");
  EXPECT_EQ(q(kShown), "");
}

TEST_F(TierCacheTest, IsTakenBack) {
  ASSERT_EQ(q("CREATE TABLE a (k integer) WITH (tier_cache = small)"), "");
  EXPECT_EQ(q("DO $$ BEGIN ALTER TABLE a SET (tier_cache = 'Large-2'); PERFORM 1 / 0; END $$"),
            "ERROR 22012: division by zero");
  EXPECT_EQ(cache_of("a"), 1u);
  EXPECT_EQ(q("DO $$ BEGIN BEGIN ALTER TABLE a RESET (tier_cache); PERFORM 1 / 0; "
              "EXCEPTION WHEN division_by_zero THEN NULL; END; END $$"),
            "");
  EXPECT_EQ(cache_of("a"), 1u);
  EXPECT_EQ(q(kShown), "a|{tier_cache=small}");
}

// What is evicted then goes to files of the new cache.
TEST_F(TierCacheTest, EvictionsFollow) {
  session_->set_freezing(1);
  storage::TierCaches& caches = session_->database().tier()->caches();
  const auto read = [&](uint32_t number) { return caches.cache(number)->statistics().pages_read; };
  ASSERT_EQ(q("CREATE TABLE a (k integer, v integer) WITH (tier_cache = small)"), "");
  ASSERT_EQ(q("INSERT INTO a SELECT g, g * 7919 % 1000003 FROM generate_series(1, 20000) g"), "");
  const std::string sum = q("SELECT sum(v * 2) FROM a");
  EXPECT_GT(read(1), 0u);
  EXPECT_EQ(read(0) + read(2), 0u);
  ASSERT_EQ(q("ALTER TABLE a SET (tier_cache = 'Large-2')"), "");
  EXPECT_EQ(q("SELECT sum(v * 2) FROM a"), sum);
  EXPECT_EQ(read(2), 0u);
  ASSERT_EQ(q("INSERT INTO a SELECT g, 0 FROM generate_series(1, 20000) g"), "");
  EXPECT_EQ(q("SELECT sum(v * 2 + k - k) FROM a"), sum);
  EXPECT_GT(read(2), 0u);
  EXPECT_EQ(read(0), 0u);
}

TEST_F(TierCacheTest, IsInTheImageOfACatalog) {
  ASSERT_EQ(q("CREATE TABLE a (k integer)"), "");
  ASSERT_EQ(q("CREATE TABLE b (k integer) WITH (tier_cache = small)"), "");
  const auto decode = [&](const std::string& image) { return decode_catalog(image, 2, session_->database().arena()); };
  const auto cache_in = [](const Catalog& catalog, const char* table) {
    return catalog.rules.at(catalog.find_table(table)->schema().id).tier_cache;
  };
  std::string image = encode_catalog(*session_->database().catalog());
  auto read = decode(image);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(cache_in(**read, "a"), "");
  EXPECT_EQ(cache_in(**read, "b"), "small");
  // the version before: without the names at the end, and what came later: the database's name and settings, how the
  // two tables are partitioned
  const uint32_t before = 11;
  std::memcpy(image.data(), &before, sizeof(before));
  EXPECT_EQ(sqlstate_of(decode(image).status()), "XX001");
  const size_t later =
      2 * sizeof(uint32_t) + session_->database().catalog()->database.name.size() + 2 * (1 + sizeof(uint32_t));
  image.resize(image.size() - later - 2 * sizeof(uint32_t) - std::strlen("small"));
  read = decode(image);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(cache_in(**read, "b"), "");
}

}  // namespace
}  // namespace scyper::query
