// What a node has that replays some partitions only, beside the primary whose log it is (docs/replication.md,
// Subscriptions).

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "base/simulated_disk.h"
#include "base/test_seed.h"
#include "query/program.h"
#include "replay/compaction.h"
#include "replay/recovery.h"
#include "replay/state_digest.h"
#include "replication/digests.h"
#include "storage/partition_digest.h"
#include "testing/compacting.h"
#include "testing/restarts.h"

namespace scyper::primary {
namespace {

using replication::StateDigest;

constexpr std::string_view kMoreTables = R"sql(
CREATE SEQUENCE numbers;
CREATE TABLE tickets (branch integer NOT NULL REFERENCES links (branch), number bigint NOT NULL, note text, tags text[],
  price numeric, PRIMARY KEY (branch, number)) PARTITION BY HASH (branch);
CREATE TABLE totals (name varchar(20) PRIMARY KEY, value numeric);
CREATE MATERIALIZED VIEW sums AS SELECT branch, sum(balance) AS sum FROM accounts GROUP BY branch;
CREATE TABLE words (branch integer NOT NULL, word varchar(90) NOT NULL, uses bigint, meaning text,
  PRIMARY KEY (word, branch)) PARTITION BY HASH (branch);
CREATE TABLE notes (id integer, note text);
CREATE PROCEDURE issue(b integer, n text) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO tickets VALUES (b, nextval('numbers'), n, ARRAY[n, NULL, 'x'], b * 1.25);
END $$;
CREATE PROCEDURE part_by_part(b1 integer, b2 integer) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE accounts SET balance = balance + 1 WHERE branch = b1 AND id < 3;
  COMMIT;
  UPDATE accounts SET balance = balance - 1 WHERE branch = b2 AND id < 3;
END $$;
)sql";

class PartialReplayTest : public testing::Test {
 protected:
  void start(EngineOptions options) {
    options_ = std::move(options);
    options_.physical_crossing = true;
    bank_ = std::make_unique<Bank>(options_);
    ASSERT_TRUE(bank_->engine().execute_script(kMoreTables, nullptr).ok());
    engine_ = &bank_->engine();
  }
  // Without power, and again: the archive, and the log behind it.
  void crash() {
    const StateDigest before = primary_state();
    crashed_ = disk_.after_power_loss(random_());
    bank_.reset();
    options_.log.disk = crashed_.get();
    Status status;
    reopened_ = open_or_null(options_, &status);
    ASSERT_TRUE(status.ok()) << status;
    engine_ = reopened_.get();
    EXPECT_EQ(replication::describe_difference(before, primary_state()), "");
  }
  SimulatedDisk& disk() { return crashed_ != nullptr ? *crashed_ : disk_; }

  int32_t number(int32_t limit) { return static_cast<int32_t>(random_() % static_cast<uint64_t>(limit)); }
  int32_t branch() { return number(Bank::kBranches); }

  // One statement; it may fail, as what came before it decides.
  void run(const std::string& sql) {
    const Status status = engine_->execute(sql, {}, nullptr);
    ++tried_;
    if (status.ok()) ++done_;
    if (sqlstate_of(status) == "XX000" || sqlstate_of(status) == "XX001") ADD_FAILURE() << sql << ": " << status;
  }
  void must(const std::string& sql) {
    const Status status = engine_->execute(sql, {}, nullptr);
    EXPECT_TRUE(status.ok()) << sql << ": " << status;
  }
  void change();
  void change_alone();
  void define();
  void define_new();
  void run_block();
  void run_workload(int rounds);

  StatusOr<std::unique_ptr<query::Database>> recover(Disk* disk, const PartitionSet& held,
                                                     replay::RecoveryOptions recovery = {}) {
    query::DatabaseOptions options;
    options.partitions = options_.partitions;
    options.memory_bytes = size_t{128} << 20;
    options.page_mode = storage::PageMode::kSmall;
    options.execution = query::ExecutionMode::kInterpreted;
    options.frozen_bytes = size_t{64} << 20;
    SCYPER_ASSIGN_OR_RETURN(auto database, query::Database::create(options));
    SCYPER_ASSIGN_OR_RETURN(const auto identity, replay::open_data_directory(disk, "/data", 0));
    recovery.partitions = held;
    recovery.cuts = false;
    recovery.threads = 2;
    SCYPER_RETURN_IF_ERROR(replay::recover(disk, "/data", identity, database.get(), recovery).status());
    return database;
  }
  // What is there of a database, as nodes tell it of theirs.
  static StateDigest state_of(query::Database* database, const PartitionSet& held);
  StateDigest primary_state() {
    StateDigest state;
    EXPECT_TRUE(engine_
                    ->run_exclusively([&] {
                      state = state_of(&engine_->database(), PartitionSet::all());
                      return Status();
                    })
                    .ok());
    return state;
  }
  void freeze(query::Database* database);
  void compare(const PartitionSet& held, bool uses_archive);
  void compare_answers(query::Database* database, const PartitionSet& held);

  SimulatedDisk disk_;
  std::unique_ptr<SimulatedDisk> crashed_;
  EngineOptions options_;
  std::unique_ptr<Bank> bank_;
  std::unique_ptr<PartitionEngine> reopened_;
  PartitionEngine* engine_ = nullptr;
  std::mt19937_64 random_{test_seed()};
  int made_ = 0, tried_ = 0, done_ = 0;
};

StateDigest PartialReplayTest::state_of(query::Database* database, const PartitionSet& held) {
  StateDigest state;
  const auto catalog = database->catalog();
  for (const auto& [name, table] : catalog->tables) {
    storage::check_table(*table);
    const bool is_shared = table->schema().scheme == storage::PartitionScheme::kShared;
    for (uint32_t i = 0; i < table->partition_count(); ++i) {
      const auto digest = storage::partition_digest(*table, i);
      EXPECT_TRUE(digest.ok());
      const uint64_t rows = table->partition(i)->live_tuples;
      if (!is_shared && !held.has(i) && rows == 0) continue;
      state.parts.push_back({name, i, digest->lo, digest->hi, rows, is_shared});
    }
  }
  return state;
}

// Of one partition.
void PartialReplayTest::change() {
  const int32_t b = branch();
  switch (number(9)) {
    case 0:
      return run(absl::StrCat("CALL issue(", b, ", 'note ", number(1000), "')"));
    case 1:
      return run(absl::StrCat("INSERT INTO accounts VALUES (", b, ", ", 100 + number(1000), ", ", number(100), ")"));
    case 2:
      return run(absl::StrCat("DELETE FROM accounts WHERE branch = ", b, " AND id = ", 100 + number(1000)));
    case 3:
      return run(absl::StrCat("CALL stamp(", b, ")"));
    case 4:
      return run(absl::StrCat("DELETE FROM stamps WHERE branch = ", b));
    case 5:
      return run(absl::StrCat("UPDATE tickets SET note = note || 'x', tags = tags || 'y'::text, price = price / 3 ",
                              "WHERE branch = ", b));
    case 6:
      return run(absl::StrCat("UPDATE accounts SET balance = balance + (SELECT rate FROM rates WHERE id = ", b,
                              ") WHERE branch = ", b));
    default:
      return run(absl::StrCat("CALL deposit(", b, ", ", number(32), ", ", number(50), ")"));
  }
}

void PartialReplayTest::change_alone() {
  const int32_t b = branch();
  switch (number(13)) {
    case 10:
      return run(absl::StrCat("INSERT INTO words SELECT branch, repeat('w', ", number(60), ") || branch, ", number(9),
                              ", CASE WHEN branch % 3 > 0 THEN 'meaning' END FROM links ON CONFLICT DO NOTHING"));
    case 11:
      return run(absl::StrCat("UPDATE words SET uses = uses + 1, meaning = meaning || word WHERE uses < ", number(9)));
    case 12:
      return run(absl::StrCat("DELETE FROM words WHERE length(word) % 4 = ", number(4)));
    case 0:
      return run("UPDATE rates SET rate = (SELECT count(*) FROM accounts) % 1000 WHERE id < 5");
    case 1:
      return run(
          "INSERT INTO totals SELECT 'sum', sum(balance) FROM accounts ON CONFLICT (name) "
          "DO UPDATE SET value = excluded.value");
    case 2:
      return run(absl::StrCat("DELETE FROM tickets WHERE number % 7 = ", number(7)));
    case 3:
      return run(absl::StrCat("CALL part_by_part(", b, ", ", branch(), ")"));
    case 4:
      return run(absl::StrCat("CALL move_linked(", b, ", 3, 5)"));  // misclassified
    case 5:
      return run("INSERT INTO tickets SELECT branch, nextval('numbers'), 'of all' FROM links");
    case 6:
      return run(absl::StrCat("UPDATE stamps SET branch = ", b, " WHERE branch = ", branch()));
    case 7:
      return run(absl::StrCat("INSERT INTO notes SELECT number, note FROM tickets WHERE number % 10 = ", number(10)));
    default:
      return run(absl::StrCat("CALL move(", b, ", 1, ", branch(), ", 2, 5)"));
  }
}

// Of tables that have rows.
void PartialReplayTest::define() {
  const std::string name = absl::StrCat("c", ++made_);
  switch (number(16)) {
    case 0:
      return run(absl::StrCat("ALTER TABLE accounts ADD COLUMN ", name, " integer DEFAULT ", number(10)));
    case 1:
      run(absl::StrCat("ALTER TABLE accounts ADD COLUMN ", name, " bigint GENERATED ALWAYS AS (balance * 2) STORED"));
      return run(absl::StrCat("ALTER TABLE accounts DROP COLUMN ", name));
    case 2:
      run(absl::StrCat("ALTER TABLE tickets ALTER COLUMN price TYPE numeric(30,", 2 + number(4),
                       ") USING round(price, 2)"));
      return run("ALTER TABLE tickets ALTER COLUMN price TYPE numeric");
    case 3:
      return run(absl::StrCat("ALTER TABLE tickets ADD CONSTRAINT ", name, " CHECK (number > 0)"));
    case 4:
      return run(absl::StrCat("ALTER TABLE stamps ADD CONSTRAINT ", name, " FOREIGN KEY (branch) REFERENCES rates"));
    case 5:
      run(absl::StrCat("CREATE INDEX ", name, " ON tickets (lower(note), number) WHERE number % 2 = 0"));
      return run(absl::StrCat("DROP INDEX ", name));
    case 6:
      run(absl::StrCat("CREATE UNIQUE INDEX ", name, " ON accounts (branch, id, balance)"));
      return run(absl::StrCat("DROP INDEX ", name));
    case 7:
      return run("TRUNCATE stamps");
    case 8:
      return run(absl::StrCat("ALTER SEQUENCE numbers INCREMENT BY ", 1 + number(3), " MINVALUE ", 1 + number(3)));
    case 9:
      return run("REFRESH MATERIALIZED VIEW sums");
    case 10:
      run("ALTER TABLE tickets DROP CONSTRAINT tickets_pkey");
      run(absl::StrCat("DELETE FROM tickets WHERE branch = ", branch()));
      return run("ALTER TABLE tickets ADD PRIMARY KEY (branch, number)");
    case 11:
      run("ALTER TABLE tickets ALTER COLUMN note SET NOT NULL");
      return run("ALTER TABLE tickets ALTER COLUMN note DROP NOT NULL");
    case 12:
      return run(absl::StrCat("ALTER TABLE notes ADD COLUMN ", name, " text DEFAULT 'new'"));
    case 13:
      return run(absl::StrCat("ALTER TABLE stamps ADD COLUMN ", name, " integer DEFAULT nextval('numbers')"));
    case 14:
      run("TRUNCATE notes RESTART IDENTITY");
      return run("ANALYZE");
    default:
      return define_new();
  }
}

void PartialReplayTest::define_new() {
  const std::string name = absl::StrCat("t", ++made_);
  switch (number(4)) {
    case 0:
      run(absl::StrCat("CREATE TABLE ", name, " AS SELECT branch, number, note, tags FROM tickets"));
      return run(absl::StrCat("ALTER TABLE ", name, " ADD COLUMN more serial"));
    case 1:
      run(absl::StrCat("CREATE TABLE ", name, " (LIKE accounts INCLUDING ALL) PARTITION BY HASH (branch)"));
      run(absl::StrCat("INSERT INTO ", name, " SELECT * FROM accounts WHERE id < 5"));
      return run(absl::StrCat("DELETE FROM ", name, " WHERE branch = ", branch()));
    case 2:
      run(absl::StrCat("CREATE MATERIALIZED VIEW ", name, " AS SELECT branch, count(*) AS n FROM stamps GROUP BY 1"));
      return run(absl::StrCat("REFRESH MATERIALIZED VIEW ", name));
    default:
      run(absl::StrCat("CREATE TABLE ", name, " (branch integer, note varchar(9)) PARTITION BY HASH (branch)"));
      run(absl::StrCat("INSERT INTO ", name, " SELECT branch, 'n' || id FROM accounts"));
      run(absl::StrCat("UPDATE ", name, " SET note = 'changed' WHERE branch = ", branch()));
      if (number(2) == 0) run(absl::StrCat("DROP TABLE ", name));
  }
}

// Row changes and definitions in one record.
void PartialReplayTest::run_block() {
  const std::string name = absl::StrCat("b", ++made_);
  auto block = engine_->begin();
  ASSERT_TRUE(block.ok()) << block.status();
  query::ResultSet result;
  for (const std::string& sql : {absl::StrCat("UPDATE accounts SET balance = balance + 1 WHERE id = ", number(32)),
                                 absl::StrCat("CREATE TABLE ", name, " AS SELECT * FROM links"),
                                 absl::StrCat("ALTER TABLE stamps ADD COLUMN ", name, " integer DEFAULT 5"),
                                 absl::StrCat("INSERT INTO stamps (branch, at) SELECT branch, '2026-01-01' FROM links"),
                                 absl::StrCat("UPDATE stamps SET ", name, " = branch WHERE branch < 9")}) {
    const Status status = (*block)->execute(sql, {}, &result, {});
    EXPECT_TRUE(status.ok()) << sql << ": " << status;
  }
  if (number(3) != 0) EXPECT_TRUE((*block)->commit().ok());  // else it is taken back
}

// Beside other clients, whose transactions are of one partition.
void PartialReplayTest::run_workload(int rounds) {
  std::atomic<bool> is_over{false};
  std::thread beside([&] {
    for (int i = 0; !is_over; ++i) {
      const std::string sql = absl::StrCat("CALL deposit(", i % Bank::kBranches, ", ", i % 32, ", ", i % 5, ")");
      EXPECT_TRUE(engine_->execute(sql, {}, nullptr).ok());
    }
  });
  for (int i = 0; i < rounds; ++i) {
    const int32_t which = number(100);
    if (which < 10) {
      change_alone();
    } else if (which < 16) {
      define();
    } else if (which == 16 && made_ < 200) {
      run_block();
    } else {
      change();
    }
  }
  is_over = true;
  beside.join();
}

void PartialReplayTest::compare_answers(query::Database* database, const PartitionSet& held) {
  storage::ChangeLog::Options limits;
  auto log = *storage::ChangeLog::create(database->arena(), limits);
  query::ScratchArena scratch(size_t{64} << 20);
  for (int32_t b = 0; b < Bank::kBranches; ++b) {
    if (!held.has(storage::partition_of(b, options_.partitions))) continue;
    const std::string sql = absl::StrCat(
        "SELECT count(*), coalesce(sum(a.balance), 0)::bigint, (SELECT count(*) FROM tickets t WHERE t.branch = ", b,
        "), (SELECT sum(rate) FROM rates) FROM accounts a WHERE a.branch = ", b);
    query::ResultSet wanted, got;
    ASSERT_TRUE(engine_->execute(sql, {}, &wanted).ok());
    const auto prepared = database->prepare(sql);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    const auto program = *database->program_of(**prepared);
    query::ExecContext context;
    context.set_log(log.get());
    context.scratch = &scratch;
    context.partitions = options_.partitions;
    context.partition = ~uint32_t{0};
    context.crossing = 1;
    context.result = &got;
    got.columns = program->columns();
    ASSERT_EQ(program->run(&context, nullptr), query::Outcome::kOk);
    log->rollback_all();
    ASSERT_EQ(got.row_count(), 1u);
    for (size_t c = 0; c < wanted.columns.size(); ++c) EXPECT_EQ(got.value(0, c).lo, wanted.value(0, c).lo) << sql;
  }
}

// Compaction of a database in which most partitions are empty.
void PartialReplayTest::freeze(query::Database* database) {
  const EngineOptions frozen_options = frozen(options_, 1000);
  auto compaction = replay::Compaction::start(database, frozen_options.compaction);
  ASSERT_TRUE(compaction.ok()) << compaction.status();
  replay::Compaction::Share share;
  share.count = 1;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
  while (std::chrono::steady_clock::now() < end) {
    if (!(*compaction)->take_step(&share, nullptr)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void PartialReplayTest::compare(const PartitionSet& held, bool uses_archive) {
  SCOPED_TRACE(absl::StrCat("partitions ", held.to_string(), uses_archive ? " from the archive" : " from the log"));
  const StateDigest wanted = primary_state();
  const auto image = disk().after_kill();
  replay::RecoveryOptions recovery;
  recovery.uses_archive = uses_archive;
  const auto database = recover(image.get(), held, recovery);
  ASSERT_TRUE(database.ok()) << database.status();
  const StateDigest got = state_of(database->get(), held);
  EXPECT_EQ(replication::describe_difference(wanted, got, held), "");
  ASSERT_EQ((*database)->catalog()->tables.size(), engine_->database().catalog()->tables.size());
  for (const auto& [name, table] : engine_->database().catalog()->tables) {
    const auto other = (*database)->catalog()->find_table(name);
    ASSERT_NE(other, nullptr) << name;
    EXPECT_EQ(other->schema().columns.size(), table->schema().columns.size()) << name;
    EXPECT_EQ(other->schema().indexes.size(), table->schema().indexes.size()) << name;
  }
  compare_answers(database->get(), held);
  freeze(database->get());
  EXPECT_EQ(replication::describe_difference(wanted, state_of(database->get(), held), held), "");
}

// Each with other subscriptions, from the log alone, then from an archive and what came behind it.
struct Kind {
  RedoMode redo;
  bool is_compacted;
};
class PartialReplayOfAllTest : public PartialReplayTest, public testing::WithParamInterface<Kind> {};

TEST_P(PartialReplayOfAllTest, HeldPartitionsAreThePrimarys) {
  EngineOptions options = log_options(&disk_, GetParam().redo);
  options.memory_bytes = size_t{256} << 20;
  start(GetParam().is_compacted ? frozen(options, 2000) : options);
  auto draw = [&] {
    PartitionSet held;
    for (uint32_t i = 0; i < options_.partitions; ++i) {
      if (number(2) == 0) held.add(i);
    }
    return held;
  };
  PartitionSet one;
  one.add(static_cast<uint32_t>(number(4)));
  run_workload(300);
  compare(one, /*uses_archive=*/false);
  compare(PartitionSet::all(), false);
  ASSERT_TRUE(engine_->write_archive("", nullptr).ok());
  run_workload(200);
  crash();
  run_workload(200);
  for (int i = 0; i < 3; ++i) compare(draw(), true);
  compare(PartitionSet(), true);
  EXPECT_GT(done_, tried_ / 2) << "most of it should have been possible";
}

INSTANTIATE_TEST_SUITE_P(Kinds, PartialReplayOfAllTest,
                         testing::Values(Kind{RedoMode::kLogical, false}, Kind{RedoMode::kLogical, true},
                                         Kind{RedoMode::kPhysical, false}));

TEST_F(PartialReplayTest, ACrossingStatementIsRefused) {
  options_ = log_options(&disk_);
  bank_ = std::make_unique<Bank>(options_);
  EXPECT_TRUE(bank_->run("CALL deposit(1, 1, 1)").ok());
  EXPECT_TRUE(bank_->run("CALL move(1, 1, $1, 2, 5)", {bank_->branch_elsewhere(1)}).ok());
  PartitionSet held;
  held.add(0);
  const auto image = disk_.after_kill();
  const auto database = recover(image.get(), held);
  EXPECT_EQ(sqlstate_of(database.status()), "55000") << database.status();
  EXPECT_NE(database.status().message().find("logged as a statement"), absl::string_view::npos);
  EXPECT_TRUE(recover(image.get(), PartitionSet::all()).ok());
}

// A row's value depends on rows, or draws, that a partial node lacks. So the log has the values.
TEST_F(PartialReplayTest, ValuesThatNeedAllRowsAreLogged) {
  start(log_options(&disk_));
  must(
      "CREATE FUNCTION branch_sum(b integer) RETURNS bigint LANGUAGE plpgsql STABLE AS "
      "$$ BEGIN RETURN (SELECT sum(balance) FROM accounts WHERE branch <> b); END $$");
  must(
      "CREATE FUNCTION rate_of(b integer) RETURNS integer LANGUAGE plpgsql STABLE AS "
      "$$ BEGIN RETURN (SELECT rate FROM rates WHERE id = b); END $$");
  must("CREATE TABLE shared_one (id integer PRIMARY KEY, value bigint)");
  must("INSERT INTO shared_one VALUES (1, 2)");
  for (const char* sql : {"ALTER TABLE links ALTER COLUMN target TYPE bigint USING branch_sum(target)",
                          "ALTER TABLE links ALTER COLUMN target TYPE bigint USING (SELECT count(*) FROM links l)",
                          "ALTER TABLE links ADD COLUMN n bigint DEFAULT nextval('numbers')",
                          "ALTER TABLE shared_one ADD COLUMN n bigserial",
                          "ALTER TABLE shared_one ALTER COLUMN value TYPE numeric USING branch_sum(id)"}) {
    auto block = engine_->begin();
    ASSERT_TRUE(block.ok());
    query::ResultSet result;
    const Status status = (*block)->execute(sql, {}, &result, {});
    EXPECT_TRUE(status.ok()) << sql << ": " << status;
    (*block).reset();  // taken back
    must(sql);
  }
  must("ALTER TABLE tickets ADD COLUMN chance float8 DEFAULT random(), ADD COLUMN since timestamptz DEFAULT now()");
  must("ALTER TABLE links ALTER COLUMN target TYPE bigint USING rate_of(branch)");  // shared tables are everywhere
  must("TRUNCATE links CASCADE");
  must("ALTER TABLE links ADD COLUMN o bigserial");
  PartitionSet held;
  held.add(2);
  compare(held, false);
}

// What transactions of other partitions have drawn is not known: neither an error nor more than there is.
TEST_F(PartialReplayTest, SequencesMayBeBehind) {
  start(log_options(&disk_));
  const int32_t own = 1, other = bank_->branch_elsewhere(own);
  PartitionSet held;
  held.add(bank_->partition_of(own));
  const auto compare_states = [&](bool is_behind) {
    const auto image = disk_.after_kill();
    const auto database = recover(image.get(), held);
    ASSERT_TRUE(database.ok()) << database.status();
    const auto state_in = [](query::Database& of) {
      return of.catalog()->sequences.at(object_key_of_text("numbers"))->state();
    };
    const auto wanted = state_in(engine_->database()), got = state_in(**database);
    EXPECT_EQ(got.changes < wanted.changes, is_behind);
    EXPECT_EQ(got.value == wanted.value, !is_behind);
    EXPECT_LE(got.changes, wanted.changes);
    compare(held, false);
  };
  for (int i = 0; i < 50; ++i) must(absl::StrCat("CALL issue(", other, ", 'note')"));
  compare_states(true);
  must("ALTER SEQUENCE numbers MINVALUE 10 START WITH 20");
  compare_states(true);
  must(absl::StrCat("CALL issue(", own, ", 'note')"));
  compare_states(false);
  must("INSERT INTO tickets SELECT branch, nextval('numbers'), 'of all' FROM links");
  compare_states(false);
}

}  // namespace
}  // namespace scyper::primary
