#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "large_transactions.h"
#include "primary/blocks.h"
#include "primary/copy_in.h"
#include "primary/fork.h"
#include "testing/bank.h"
#include "testing/engine_statements.h"

// Large transactions: what others see of them, who waits for them, and what ends them.
namespace scyper::primary {
namespace {

#ifdef SCYPER_SANITIZED
constexpr int kRows = 10'000;  // each takes ten times as long; definitions of fewer rows are not large
#else
constexpr int kRows = 20'000;
#endif

class LargeTest : public EngineStatements, public testing::TestWithParam<std::tuple<RedoMode, uint32_t>> {
 protected:
  void open() {
    EngineOptions options = Bank::small_options();
    options.memory_bytes = size_t{256} << 20;
    options.redo = std::get<0>(GetParam());
    options.workers = std::get<1>(GetParam());
    options.large_after_us = 0;
    options.log.directory = "/data";
    options.log.disk = &disk_;
    options.log.on_failure = [](const Status&) {};
    start(options);
  }
  void SetUp() override {
    open();
    all({"CREATE TABLE big (id integer PRIMARY KEY, note text NOT NULL) PARTITION BY HASH (id)",
         "CREATE INDEX big_note ON big (note)",
         "CREATE TABLE other (id integer PRIMARY KEY, value bigint NOT NULL) PARTITION BY HASH (id)",
         "CREATE TABLE shared (id integer PRIMARY KEY, value bigint NOT NULL)",
         "INSERT INTO other SELECT i, 0 FROM generate_series(1, 100) i", "INSERT INTO shared VALUES (1, 0)"});
  }
  void fill() { EXPECT_EQ(run(insert_text()), insert_tag()); }
  static std::string insert_text(const std::string& more = "") {
    return "INSERT INTO big SELECT i, 'a text that is too long for its cell ' || i FROM generate_series(1, " +
           std::to_string(kRows) + ") i" + more;
  }
  static std::string insert_tag() { return "INSERT 0 " + std::to_string(kRows); }
  LargeTransactions& large() { return engine_->large(); }
  // Runs beside the test, which goes on when the statement has become a large transaction.
  std::thread begin(std::string sql, std::string* outcome, const StatementLimits& limits = {}) {
    const uint64_t before = large().count();
    is_over_ = false;
    std::thread thread([this, sql = std::move(sql), outcome, limits] {
      *outcome = run(sql, limits);
      is_over_ = true;
    });
    while (large().count() == before && !is_over_) std::this_thread::yield();
    EXPECT_GT(large().count(), before);
    return thread;
  }
  // Of `big`. The child checks tables and indexes first.
  uint64_t rows_in_fork() {
    ForkRequest request;
    request.body = [](const ForkedDatabase& forked, int socket) {
      uint64_t rows = 0;
      for (const auto& [name, table] : forked.point.catalog->tables) {
        storage::check_table(*table);
        if (name == "big") rows = table->live_tuples();
      }
      return write(socket, &rows, sizeof rows) == sizeof rows ? 0 : 1;
    };
    auto forked = engine_->fork(request);
    EXPECT_TRUE(forked.ok()) << forked.status();
    uint64_t rows = 0;
    if (!forked.ok()) return rows;
    EXPECT_EQ(read(forked->child->socket(), &rows, sizeof rows), static_cast<ssize_t>(sizeof rows));
    EXPECT_EQ(forked->child->wait(), 0);
    return rows;
  }
  void check() {
    for_each_table(engine_.get(), [](const std::string&, const storage::Table& table) { storage::check_table(table); });
  }
  std::string digests() {
    std::string text;
    for_each_table(engine_.get(), [&](const std::string& name, const storage::Table& table) {
      const storage::Digest digest = storage::table_digest(table);
      text += name + ' ' + std::to_string(digest.lo) + ' ' + std::to_string(digest.hi) + '\n';
    });
    return text;
  }
  void expect_same_after_restart() {
    check();
    const std::string before = digests();
    open();
    EXPECT_EQ(digests(), before);
    check();
  }

  std::atomic<bool> is_over_{false};
};

TEST_P(LargeTest, OthersGoOnBesideIt) {
  int64_t beside = 0;
  // a test that gets no processor meanwhile sees nothing beside it
  for (int tries = 0; tries < 100 && beside == 0; ++tries) {
    if (tries > 0) EXPECT_EQ(run("DELETE FROM big"), "DELETE " + std::to_string(kRows));
    std::string inserted;
    std::thread thread = begin(insert_text(), &inserted);
    while (large().is_open()) {
      EXPECT_EQ(run("UPDATE other SET value = value + 1 WHERE id = 7"), "UPDATE 1");
      EXPECT_EQ(run("UPDATE shared SET value = value + 1"), "UPDATE 1");
      ++beside;
    }
    thread.join();
    EXPECT_EQ(inserted, insert_tag());
  }
  EXPECT_GT(beside, 0);
  EXPECT_EQ(number("SELECT sum(value)::bigint FROM other"), beside);
  EXPECT_EQ(number("SELECT value FROM shared"), beside);
  EXPECT_EQ(number("SELECT count(*) FROM big"), kRows);
  EXPECT_EQ(run("UPDATE big SET note = note || '!'"), "UPDATE " + std::to_string(kRows));
  EXPECT_EQ(run("DELETE FROM big WHERE id > 10"), "DELETE " + std::to_string(kRows - 10));
  EXPECT_EQ(number("SELECT count(*) FROM big WHERE note LIKE '%!'"), 10);
  expect_same_after_restart();
}

TEST_P(LargeTest, WhoTouchesItsTableWaits) {
  std::string inserted, updated, defined;
  std::thread thread = begin(insert_text(), &inserted);
  const uint64_t before = engine_->waits().count();
  std::thread waiting([&] { updated = run("UPDATE big SET note = 'x' WHERE id = " + std::to_string(kRows)); });
  std::thread defining([&] { defined = run("CREATE TABLE late (id integer)"); });
  while (large().is_open() && engine_->waits().count() == before) std::this_thread::yield();
  thread.join();
  waiting.join();
  defining.join();
  EXPECT_EQ(inserted, insert_tag());
  EXPECT_EQ(updated, "UPDATE 1");
  EXPECT_EQ(defined, "CREATE TABLE");
  EXPECT_EQ(number("SELECT count(*) FROM big WHERE note = 'x'"), 1);
  EXPECT_EQ(engine_->waits().count(), 0u);
}

TEST_P(LargeTest, AnErrorLeavesNothing) {
  EXPECT_EQ(run("INSERT INTO big VALUES (" + std::to_string(kRows - 1) + ", 'is there')"), "INSERT 0 1");
  const std::string before = digests();
  std::string inserted;
  std::thread thread = begin(insert_text(), &inserted);
  std::string waited;
  std::thread waiting([&] { waited = run("INSERT INTO big VALUES (3, 'new')"); });
  thread.join();
  waiting.join();
  EXPECT_EQ(inserted, "23505");
  EXPECT_EQ(waited, "INSERT 0 1");
  EXPECT_EQ(run("DELETE FROM big WHERE id = 3"), "DELETE 1");
  EXPECT_EQ(digests(), before);
  expect_same_after_restart();
}

TEST_P(LargeTest, ItsClientCanEndIt) {
  const std::string before = digests();
  std::atomic<bool> is_cancelled{false};
  StatementLimits limits;
  limits.cancelled = &is_cancelled;
  std::string inserted;
  std::thread thread =
      begin(insert_text(" UNION ALL SELECT i, '' FROM generate_series(1000000, 100000000) i"), &inserted, limits);
  is_cancelled = true;
  thread.join();
  EXPECT_EQ(inserted, "57014");
  EXPECT_EQ(digests(), before);
  check();
}

TEST_P(LargeTest, AStoppingEngineEndsIt) {
  const std::string before = digests();
  std::string inserted;
  std::thread thread =
      begin(insert_text(" UNION ALL SELECT i, '' FROM generate_series(1000000, 100000000) i"), &inserted);
  engine_->stop_admission();
  thread.join();
  EXPECT_EQ(inserted, "57P01");
  open();
  EXPECT_EQ(digests(), before);
}

TEST_P(LargeTest, AForkSeesNothingOfIt) {
  fill();
  std::string outcome;
  std::thread thread = begin("UPDATE big SET note = note || 'more than before'", &outcome);
  std::set<uint64_t> seen;
  do {
    seen.insert(rows_in_fork());
  } while (large().is_open());
  thread.join();
  EXPECT_EQ(outcome, "UPDATE " + std::to_string(kRows));
  EXPECT_EQ(seen, std::set<uint64_t>{kRows});
}

TEST_P(LargeTest, ItWaitsForRowsOfOpenBlocks) {
  fill();
  auto block = begin_block(engine_.get());
  ASSERT_TRUE(block.ok());
  query::ResultSet result;
  ASSERT_TRUE((*block)->execute("UPDATE big SET note = 'of the block' WHERE id = 5", {}, &result, {}).ok());
  std::string updated;
  const uint64_t before = engine_->waits().count();
  std::thread thread([&] { updated = run("UPDATE big SET note = note || '!'"); });
  while (engine_->waits().count() == before) std::this_thread::yield();
  EXPECT_EQ(run("UPDATE other SET value = 1 WHERE id = 1"), "UPDATE 1");
  ASSERT_TRUE((*block)->commit().ok());
  thread.join();
  EXPECT_EQ(updated, "UPDATE " + std::to_string(kRows));
  EXPECT_EQ(number("SELECT count(*) FROM big WHERE note = 'of the block!'"), 1);
}

TEST_P(LargeTest, NumbersAreNotDrawnTwice) {
  all({"CREATE TABLE numbered (id serial PRIMARY KEY, value integer)"});
  EXPECT_EQ(run("INSERT INTO numbered (value) SELECT i FROM generate_series(1, " + std::to_string(kRows) + ") i"),
            insert_tag());
  EXPECT_EQ(number("SELECT min(id) * 1000000 + max(id)::bigint FROM numbered"), 1'000'000 + kRows);
  EXPECT_EQ(run("INSERT INTO numbered (value) VALUES (1)"), "INSERT 0 1");
  EXPECT_EQ(number("SELECT max(id)::bigint FROM numbered"), kRows + 1);
  expect_same_after_restart();
}

TEST_P(LargeTest, CopiesAreLarge) {
  const auto copy = [&](int from) {
    auto in = engine_->open_copy("COPY big FROM STDIN");
    EXPECT_TRUE(in.ok()) << in.status();
    std::string text;
    for (int i = 0; i < kRows; ++i) text += std::to_string(from + i) + "\tcopied " + std::to_string(i) + '\n';
    EXPECT_TRUE((*in)->add(text).ok());
    query::ResultSet result;
    const Status status = (*in)->finish({}, &result);
    return status.ok() ? result.command_tag : std::string(sqlstate_of(status));
  };
  const uint64_t before = large().count();
  EXPECT_EQ(copy(1), "COPY " + std::to_string(kRows));
  EXPECT_EQ(copy(kRows), "23505");
  EXPECT_EQ(large().count(), before + 2);
  EXPECT_EQ(number("SELECT count(*) FROM big"), kRows);
  expect_same_after_restart();
}

TEST_P(LargeTest, TablesAreMadeAnewInSlices) {
  fill();
  for (const char* sql : {"ALTER TABLE big ADD COLUMN n integer NOT NULL DEFAULT 7, ADD COLUMN m text",
                          "CREATE UNIQUE INDEX big_n ON big (id, n)", "ALTER TABLE big DROP COLUMN m"}) {
    std::string outcome, waited;
    std::thread thread = begin(sql, &outcome);
    std::thread waiting([&] { waited = run("UPDATE big SET note = 'new' WHERE id = 1"); });
    int64_t beside = 0;
    const int64_t before = number("SELECT sum(value)::bigint FROM other");
    for (; large().is_open(); ++beside) {
      EXPECT_EQ(run("UPDATE other SET value = value + 1 WHERE id = 7"), "UPDATE 1");
      EXPECT_EQ(rows_in_fork(), uint64_t{kRows});
    }
    thread.join();
    waiting.join();
    EXPECT_EQ(outcome, sql[0] == 'A' ? "ALTER TABLE" : "CREATE INDEX");
    EXPECT_EQ(waited, "UPDATE 1");
    EXPECT_EQ(number("SELECT sum(value)::bigint FROM other"), before + beside);
  }
  EXPECT_EQ(number("SELECT sum(n)::bigint FROM big"), 7 * kRows);
  const uint64_t count = large().count();
  EXPECT_EQ(run("CREATE UNIQUE INDEX big_same ON big (id, n) WHERE n = 8"), "CREATE INDEX");
  EXPECT_EQ(run("UPDATE big SET n = NULL WHERE id = 3"), "23502");
  EXPECT_EQ(run("ALTER TABLE big ADD COLUMN k integer NOT NULL"), "23502");
  EXPECT_EQ(large().count(), count + 2);
  expect_same_after_restart();
}

// Definitions that read or copy all rows of a table.
TEST_P(LargeTest, AllLongDefinitionsRunInSlices) {
  fill();
  EXPECT_EQ(run("ALTER TABLE other ADD UNIQUE (id, value)"), "ALTER TABLE");
  int64_t beside = 0;
  for (const char* sql : {"ALTER TABLE big ADD COLUMN u uuid DEFAULT gen_random_uuid(), ADD COLUMN v varchar(100)",
                          "ALTER TABLE big ADD COLUMN n integer DEFAULT 1, ADD COLUMN at timestamptz DEFAULT now()",
                          "ALTER TABLE big ALTER COLUMN u SET NOT NULL", "ALTER TABLE big ALTER COLUMN u DROP NOT NULL",
                          "ALTER TABLE big ALTER COLUMN n TYPE bigint", "ALTER TABLE big ALTER COLUMN v TYPE text",
                          "ALTER TABLE big ALTER COLUMN n TYPE text USING n || 'x'",
                          "ALTER TABLE big ADD CHECK (length(note) > 3) NOT VALID, ADD CHECK (u IS NOT NULL)",
                          "ALTER TABLE big VALIDATE CONSTRAINT big_note_check",
                          "ALTER TABLE big ADD COLUMN s integer DEFAULT 1 REFERENCES shared",
                          "ALTER TABLE big RENAME COLUMN v TO w", "ALTER TABLE big DROP COLUMN s, DROP COLUMN note"}) {
    std::string outcome;
    std::thread thread = begin(sql, &outcome);
    while (large().is_open()) {
      EXPECT_EQ(run("UPDATE other SET value = value + 1 WHERE id = 7"), "UPDATE 1");
      EXPECT_EQ(rows_in_fork(), uint64_t{kRows});
      ++beside;
    }
    thread.join();
    EXPECT_EQ(outcome, "ALTER TABLE") << sql;
    check();
  }
  EXPECT_GT(beside, 0);
  EXPECT_EQ(number("SELECT count(DISTINCT u) FROM big"), kRows);
  EXPECT_EQ(number("SELECT count(*) FROM big WHERE n = '1x' AND at IS NOT NULL AND w IS NULL"), kRows);
  expect_same_after_restart();
}

// An error behind the copy of the rows leaves the table as it was, with what it shares with the copy.
TEST_P(LargeTest, AFailedDefinitionLeavesTheTable) {
  fill();
  const std::string before = digests();
  EXPECT_EQ(run("ALTER TABLE big ADD COLUMN n integer DEFAULT 1, ADD CHECK (id < 10)"), "23514");
  EXPECT_EQ(run("ALTER TABLE big ADD COLUMN u uuid DEFAULT gen_random_uuid(), ADD COLUMN k integer NOT NULL"), "23502");
  EXPECT_EQ(digests(), before);
  check();
  EXPECT_EQ(run("UPDATE big SET note = note || '!' WHERE id % 2 = 0"), "UPDATE " + std::to_string(kRows / 2));
  EXPECT_EQ(run("DELETE FROM big WHERE id % 3 = 0"), "DELETE " + std::to_string(kRows / 3));
  expect_same_after_restart();
}

TEST_P(LargeTest, SeveralComeOneAfterTheOther) {
  std::string outcomes[3];
  std::vector<std::thread> threads;
  threads.push_back(begin(insert_text(), &outcomes[0]));
  for (int i = 1; i < 3; ++i) {
    threads.emplace_back([&, i] {
      outcomes[i] = run("INSERT INTO other SELECT i, 1 FROM generate_series(" + std::to_string(i * 1'000'000) + ", " +
                        std::to_string(i * 1'000'000 + kRows - 1) + ") i");
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& outcome : outcomes) EXPECT_EQ(outcome, insert_tag());
  EXPECT_EQ(number("SELECT count(*) FROM other"), 2 * kRows + 100);
  expect_same_after_restart();
}

#ifdef SCYPER_SANITIZED
INSTANTIATE_TEST_SUITE_P(Modes, LargeTest,
                         testing::Values(std::tuple(RedoMode::kLogical, 2u), std::tuple(RedoMode::kPhysical, 1u)));
#else
INSTANTIATE_TEST_SUITE_P(Modes, LargeTest,
                         testing::Combine(testing::Values(RedoMode::kLogical, RedoMode::kPhysical),
                                          testing::Values(1u, 2u)));
#endif

}  // namespace
}  // namespace scyper::primary
