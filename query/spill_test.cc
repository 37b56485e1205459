// Operators that go to disk give the rows that they give in memory; disks that fail fail the statement.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <span>

#include "base/failpoint.h"
#include "base/test_slice.h"
#include "testing/session.h"

namespace scyper::query {
namespace {

struct Case {
  ExecutionMode mode;
  uint32_t threads;
};

class SpillTest : public testing::TestWithParam<Case> {
 protected:
  static std::unique_ptr<Session> make_session(size_t spill_from_bytes, size_t scratch_bytes = size_t{256} << 20) {
    DatabaseOptions options;
    options.execution = GetParam().mode;
    options.partitions = 3;
    options.shared_from_ns = 0;
    options.spill_from_bytes = spill_from_bytes;
    auto session = std::make_unique<Session>(options, scratch_bytes);
    session->set_threads(GetParam().threads);
    Status status = session->script(
        "CREATE TABLE line (w integer NOT NULL, n integer NOT NULL, item integer, amount numeric(6,2), text "
        "varchar(20), PRIMARY KEY (w, n)) PARTITION BY HASH (w);"
        "CREATE TABLE item (i integer PRIMARY KEY, name varchar(24) NOT NULL);"
        "INSERT INTO line SELECT s % 7, s, CASE WHEN s % 11 = 0 THEN NULL ELSE s * 7919 % 3000 END, s % 1000 / 8.0, "
        "'t' || s % 13 FROM generate_series(1, 6000) s;"
        "INSERT INTO item SELECT s, 'item ' || s % 50 FROM generate_series(0, 2499) s");
    EXPECT_TRUE(status.ok()) << status;
    return session;
  }
  void TearDown() override { disarm_failpoints(); }
};
INSTANTIATE_TEST_SUITE_P(Modes, SpillTest,
                         testing::Values(Case{ExecutionMode::kInterpreted, 1}, Case{ExecutionMode::kInterpreted, 2},
                                         Case{ExecutionMode::kQuick, 1}, Case{ExecutionMode::kQuick, 2}),
                         [](const auto& info) {
                           return std::string(info.param.mode == ExecutionMode::kQuick ? "Quick" : "Interpreted") +
                                  std::to_string(info.param.threads);
                         });

constexpr const char* kQueries[] = {
    // joins: inner, outer, semi, anti, full, marks, one row
    "SELECT count(*), sum(a.n), sum(b.n) FROM line a JOIN line b ON a.n = b.n + 1",
    "SELECT count(*), sum(a.n), count(b.n) FROM line a LEFT JOIN line b ON a.n = b.item + 2000 AND b.n % 3 = 0",
    "SELECT count(*), count(a.n), sum(b.n) FROM line a RIGHT JOIN line b ON a.item = b.n AND a.amount > 3",
    "SELECT count(*), count(a.n), sum(b.n) FROM line a FULL JOIN line b ON a.item = b.n",
    "SELECT a.n, b.n FROM line a FULL JOIN line b ON a.n = b.item + 5000 WHERE coalesce(a.n, 0) % 997 = 3 ORDER BY 1, "
    "2",
    "SELECT count(*), sum(n) FROM line a WHERE EXISTS (SELECT FROM line b WHERE b.item = a.n AND b.amount > 1)",
    "SELECT count(*), sum(n) FROM line a WHERE NOT EXISTS (SELECT FROM line b WHERE b.item = a.n AND b.amount > 1)",
    "SELECT count(*), sum(i) FROM item WHERE EXISTS (SELECT FROM line WHERE item = i AND amount > 120)",
    "SELECT count(*), sum(i) FROM item WHERE NOT EXISTS (SELECT FROM line WHERE item = i AND amount > 120)",
    "SELECT count(*) FROM line a WHERE n % 2 = 0 OR EXISTS (SELECT FROM line b WHERE b.item = a.n)",
    "SELECT sum(x) FROM (SELECT (SELECT b.n FROM line b WHERE b.n = a.item + 1) x FROM line a) y",
    "SELECT count(*), sum(c.n) FROM line a JOIN line b ON a.n = b.n JOIN line c ON c.n = b.n AND c.text = a.text",
    // one key has nearly all
    "SELECT count(*) FROM line a JOIN line b ON a.n = CASE WHEN b.n % 100 = 0 THEN b.n ELSE 5 END",
    "SELECT name, count(*), sum(amount) FROM line JOIN item ON item = i GROUP BY name ORDER BY name",
    // groups
    "SELECT count(*), sum(s), max(c), min(l) FROM (SELECT n, sum(item) s, count(amount) c, min(amount) l FROM line "
    "GROUP "
    "BY n) x",
    "SELECT n % 5000, sum(item), max(amount), avg(amount), count(*) FROM line GROUP BY n % 5000 ORDER BY 1 LIMIT 40 "
    "OFFSET 7",
    "SELECT text, n % 999 k, count(item), max(amount) FROM line GROUP BY 1, 2 ORDER BY 3, 4, 1, 2 LIMIT 30",
    "SELECT count(*), sum(item) FROM (SELECT DISTINCT item, text FROM line) d",
    "SELECT count(*), sum(n) FROM (SELECT n, text FROM line UNION SELECT n, text FROM line WHERE w = 3) u",
    "SELECT count(*), sum(n) FROM (SELECT n FROM line EXCEPT SELECT item FROM line) u",
    "SELECT count(*), sum(n) FROM (SELECT n FROM line INTERSECT ALL SELECT item FROM line) u",
    // sorts
    "SELECT n, text FROM line ORDER BY text DESC, amount NULLS FIRST, n",
    "SELECT n FROM line ORDER BY item DESC NULLS LAST, n LIMIT 300 OFFSET 1200",
    "SELECT n FROM line ORDER BY amount, n DESC LIMIT 5",
    "SELECT DISTINCT ON (item) item, n FROM line ORDER BY item, amount DESC, n",
    // windows
    "SELECT sum(r), sum(s), sum(l) FROM (SELECT rank() OVER (PARTITION BY item ORDER BY amount) r, sum(amount) OVER "
    "(PARTITION BY item ORDER BY n) s, lag(n) OVER (PARTITION BY item ORDER BY n) l FROM line) x",
    "SELECT sum(r * n) FROM (SELECT n, row_number() OVER (ORDER BY amount, n) r FROM line) x",
};

TEST_P(SpillTest, SameRowsAsInMemory) {
  auto memory = make_session(0);
  auto disk = make_session(1);
  constexpr size_t kBytes[] = {0, size_t{16} << 10, size_t{128} << 10};
  for (size_t bytes : std::span(kBytes).first(test_slice(3u, 2u))) {
    disk->set_spill(bytes);
    uint64_t before = disk->spilled_bytes();
    for (const char* query : kQueries) {
      EXPECT_EQ(disk->text(query), memory->text(query)) << bytes << " " << query;
      if (bytes == 0) EXPECT_GT(disk->spilled_bytes(), before) << "stayed in memory: " << query;
      before = disk->spilled_bytes();
    }
  }
}

// What does not fit runs with a disk, and does not without.
TEST_P(SpillTest, MemoryIsBounded) {
  const char* query =
      "SELECT count(*), sum(x.n), sum(c) FROM (SELECT a.n, a.text, count(*) c FROM line a JOIN line b ON a.n = b.n "
      "GROUP BY a.n, a.text) x JOIN line y ON y.n = x.n";
  auto all = make_session(0);
  auto session = make_session(1, size_t{512} << 10);
  if (GetParam().threads == 1) EXPECT_EQ(session->text(query), "ERROR 53200: out of memory");
  session->set_spill(size_t{128} << 10);
  EXPECT_EQ(session->text(query), all->text(query));
  EXPECT_GT(session->spilled_bytes(), uint64_t{256} << 10);
  session->set_spill(size_t{128} << 10, size_t{100} << 10);
  EXPECT_EQ(session->text(query), "ERROR 53200: out of memory");
}

TEST_P(SpillTest, ErrorsOfTheDisk) {
  auto session = make_session(1);
  session->set_spill(0);
  for (const char* query : {kQueries[0], kQueries[17], kQueries[21]}) {
    std::string right = session->text(query);
    ASSERT_TRUE(arm_failpoints("spill.no_space=fail@2").ok());
    EXPECT_EQ(session->text(query), "ERROR 53100: could not write to temporary file: No space left on device");
    ASSERT_TRUE(arm_failpoints("spill.no_space=off;spill.write_error=fail@3").ok());
    EXPECT_EQ(session->text(query), "ERROR 58030: could not write to temporary file: Input/output error");
    ASSERT_TRUE(arm_failpoints("spill.write_error=off;spill.read_error=fail@1").ok());
    EXPECT_EQ(session->text(query), "ERROR 58030: could not read temporary file: Input/output error");
    disarm_failpoints();
    EXPECT_EQ(session->text(query), right);
  }
  session->set_spill(0, uint64_t{1} << 40, "/nowhere");
  EXPECT_EQ(session->text(kQueries[0]), "ERROR 58030: could not create temporary file: No such file or directory");
}

TEST_P(SpillTest, LeavesNoFiles) {
  std::filesystem::path place =
      std::filesystem::path(testing::TempDir()) / ("scyper_spill_" + std::to_string(getpid()));
  std::filesystem::create_directory(place);
  auto session = make_session(1);
  session->set_spill(0, uint64_t{1} << 40, place.string());
  // a write that waits: the file is in use, and has no name
  ASSERT_TRUE(arm_failpoints("spill.write_error=fail@20").ok());
  EXPECT_EQ(session->text(kQueries[0]).substr(0, 11), "ERROR 58030");
  EXPECT_TRUE(std::filesystem::is_empty(place));
  disarm_failpoints();
  session->text(kQueries[0]);
  EXPECT_TRUE(std::filesystem::is_empty(place));
  std::filesystem::remove(place);
}

TEST_P(SpillTest, Interrupted) {
  auto session = make_session(1);
  session->set_spill(0);
  session->interrupt(Interrupt::kCancel);
  EXPECT_EQ(session->text(kQueries[0]), "ERROR 57014: canceling statement due to user request");
  EXPECT_EQ(session->text("SELECT count(*) FROM line"), "6000");
}

TEST_P(SpillTest, Explained) {
  auto session = make_session(1);
  session->set_spill(0);
  std::string text = session->text(std::string("EXPLAIN ANALYZE ") + kQueries[0]);
  size_t at = text.find("Written to Disk: ");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_GT(std::stoi(text.substr(at + 17)), 100);
}

}  // namespace
}  // namespace scyper::query
