#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "base/test_seed.h"
#include "base/test_slice.h"
#include "query/column_batch.h"
#include "query/queries.h"
#include "query/value_text.h"
#include "storage/statistics.h"
#include "testing/bank.h"

namespace scyper::primary {
namespace {

using query::Freshness;
using query::Queries;
using query::QueryOptions;
using query::Receipt;
using query::ResultSet;

constexpr int64_t kTotalBalance = int64_t{1000} * Bank::kBranches * Bank::kAccounts;
constexpr char kSum[] = "SELECT sum(balance)::bigint FROM accounts";

struct Answer {
  Status status;
  std::vector<std::string> rows;  // integers, separated by blanks
  Receipt receipt;
  int64_t number() const { return rows.empty() ? -1 : std::strtoll(rows[0].c_str(), nullptr, 10); }
};

Answer ask(Queries* queries, std::string_view sql, const QueryOptions& options = {},
           std::span<const Datum> arguments = {}) {
  Answer answer;
  ResultSet result;
  answer.status = queries->execute(sql, arguments, options, &result, &answer.receipt);
  for (size_t r = 0; answer.status.ok() && r < result.row_count(); ++r) {
    std::string row;
    for (size_t c = 0; c < result.columns.size(); ++c) {
      const Datum& value = result.value(r, c);
      if (c > 0) row += " ";
      row += value.null                             ? "null"
             : is_string(result.columns[c].type.id) ? std::string(value.data(), value.size())
                                                    : std::to_string(value.lo);
    }
    answer.rows.push_back(std::move(row));
  }
  return answer;
}

// As a client does after 57P02: a snapshot may have died without anybody knowing yet.
Answer ask_again(Queries* queries, std::string_view sql) {
  Answer answer;
  for (int i = 0; i < 6'000; ++i) {
    answer = ask(queries, sql);
    if (sqlstate_of(answer.status) != "57P02") break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return answer;
}

QueryOptions in_session(uint64_t session) {
  QueryOptions options;
  options.session = session;
  return options;
}

// The pids of this process's children.
std::vector<pid_t> children() {
  std::vector<pid_t> pids;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "children");
    for (pid_t pid; file >> pid;) pids.push_back(pid);
  }
  return pids;
}

class Load {
 public:
  Load(Bank* bank, uint64_t seed) : bank_(bank), random_(seed) {
    move_ = bank->prepare("CALL move($1, $2, $3, $4, $5)");
    churn_ = bank->prepare("CALL churn($1)");
    thread_ = std::thread([this] { run(); });
  }
  ~Load() {
    is_over_ = true;
    thread_.join();
  }

 private:
  void run() {
    while (!is_over_) {
      std::vector<std::unique_ptr<Call>> calls;
      std::vector<Transaction*> batch;
      for (int k = 0; k < 16; ++k) {
        auto b = static_cast<int64_t>(random_() % Bank::kBranches);
        auto i = static_cast<int64_t>(random_() % Bank::kAccounts), j = static_cast<int64_t>(random_() % 32);
        int64_t to = random_() % 10 == 0 ? bank_->branch_elsewhere(static_cast<int32_t>(b)) : b;
        if (random_() % 3 == 0) {
          calls.push_back(std::make_unique<Call>(churn_, std::initializer_list<int64_t>{b}));
        } else {
          calls.push_back(std::make_unique<Call>(move_, std::initializer_list<int64_t>{b, i, to, j, 1}));
        }
        batch.push_back(calls.back().get());
      }
      bank_->engine().submit(batch);
      for (auto& call : calls) call->wait();
    }
  }

  Bank* const bank_;
  std::mt19937_64 random_;
  std::shared_ptr<const Statement> move_, churn_;
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

class SnapshotTest : public testing::TestWithParam<ExecutionMode> {
 protected:
  static EngineOptions options() {
    EngineOptions options = Bank::small_options();
    options.execution = GetParam();
    return options;
  }
};

TEST_P(SnapshotTest, FreshAnswersSeeWhatWasCommitted) {
  EngineOptions with = options();
  with.queries.snapshots.unused_us_max = 3'600'000'000;
  Bank bank(with);
  Queries* queries = bank.engine().queries();
  ASSERT_NE(queries, nullptr);
  for (int i = 1; i <= 20; ++i) {
    ASSERT_TRUE(bank.run("UPDATE rates SET rate = " + std::to_string(1000 + i) + " WHERE id = 3").ok());
    Answer answer = ask(queries, "SELECT rate FROM rates WHERE id = 3");
    ASSERT_TRUE(answer.status.ok()) << answer.status;
    ASSERT_EQ(answer.number(), 1000 + i);
    EXPECT_GT(answer.receipt.lsn, 0u);
    EXPECT_EQ(answer.receipt.node, "local");
  }
  EXPECT_EQ(queries->counters().snapshots.forks, 20u);
  // nothing was committed in between: no fork
  const uint64_t forks = queries->counters().snapshots.forks;
  EXPECT_EQ(ask(queries, kSum).number(), kTotalBalance);
  EXPECT_EQ(queries->counters().snapshots.forks, forks);
}

TEST_P(SnapshotTest, StatisticsComeFromSnapshots) {
  Bank bank(options());
  Queries* queries = bank.engine().queries();
  ASSERT_TRUE(bank.run("CREATE TABLE filled (id integer PRIMARY KEY, kind integer, name text)").ok());
  ASSERT_TRUE(bank.run("INSERT INTO filled SELECT i, i % 4, 'n' || i % 9 FROM generate_series(1, 3000) i").ok());
  auto& database = bank.engine().database();
  const auto table = database.catalog()->find_table("filled");
  ASSERT_EQ(table->statistics(), nullptr);
  constexpr char kQuery[] = "SELECT count(*) FROM filled WHERE kind = 3";
  ASSERT_EQ(ask(queries, kQuery).number(), 750);
  while (table->statistics() == nullptr) std::this_thread::yield();  // the child's answer; the test's own bound ends it
  const auto statistics = table->statistics();
  EXPECT_EQ(statistics->rows, 3000);
  ASSERT_EQ(statistics->columns.size(), 3u);
  EXPECT_EQ(statistics->columns[1].distinct, 4);
  EXPECT_EQ(statistics->columns[1].numbers.back(), 3);
  EXPECT_EQ(statistics->columns[2].distinct, 9);
  EXPECT_FALSE(statistics->columns[2].texts.empty());
  // what was planned without them is planned anew, once; if they came late enough
  const uint64_t compiled = database.programs_compiled();
  EXPECT_EQ(ask(queries, kQuery).number(), 750);
  const uint64_t planned = database.programs_compiled();
  EXPECT_LE(planned, compiled + 1);
  EXPECT_EQ(ask(queries, kQuery).number(), 750);
  EXPECT_EQ(database.programs_compiled(), planned);
  // few changes: the sample is good enough
  ASSERT_TRUE(bank.run("DELETE FROM filled WHERE id <= 100").ok());
  EXPECT_EQ(ask(queries, kQuery).number(), 725);
  EXPECT_EQ(table->statistics(), statistics);
  // ANALYZE takes them at once
  ASSERT_TRUE(bank.run("ANALYZE filled").ok());
  EXPECT_EQ(table->statistics()->rows, 2900);
  EXPECT_EQ(ask(queries, kQuery).number(), 725);
}

TEST_P(SnapshotTest, SessionsKeepTheirSnapshot) {
  Bank bank(options());
  Queries* queries = bank.engine().queries();
  Receipt receipt;
  auto session = queries->open_session({}, &receipt);
  ASSERT_TRUE(session.ok()) << session.status();
  Answer before = ask(queries, "SELECT rate FROM rates WHERE id = 3", in_session(*session));
  ASSERT_TRUE(before.status.ok()) << before.status;
  EXPECT_EQ(before.receipt.lsn, receipt.lsn);
  ASSERT_TRUE(bank.run("UPDATE rates SET rate = 4711 WHERE id = 3").ok());
  EXPECT_EQ(ask(queries, "SELECT rate FROM rates WHERE id = 3", in_session(*session)).number(), before.number());
  EXPECT_EQ(ask(queries, "SELECT rate FROM rates WHERE id = 3").number(), 4711);
  QueryOptions stale;
  stale.freshness.kind = Freshness::Kind::kStaleness;
  stale.freshness.staleness_us = 60'000'000;
  EXPECT_TRUE(ask(queries, "SELECT rate FROM rates WHERE id = 3", stale).status.ok());
  QueryOptions ahead;
  ahead.freshness.kind = Freshness::Kind::kAtLeast;
  ahead.freshness.lsn = receipt.lsn + 1;
  Answer answer = ask(queries, "SELECT rate FROM rates WHERE id = 3", ahead);
  EXPECT_EQ(answer.number(), 4711);
  ahead.freshness.lsn = answer.receipt.lsn + 1000;
  EXPECT_EQ(sqlstate_of(ask(queries, kSum, ahead).status), "55000");
  EXPECT_TRUE(queries->close_session(*session).ok());
  EXPECT_EQ(sqlstate_of(ask(queries, kSum, in_session(*session)).status), "25P03");
}

// A session's number is no key to it: for others it does not exist.
TEST_P(SnapshotTest, SessionsAreTheirOwners) {
  Bank bank(options());
  Queries* queries = bank.engine().queries();
  const auto first = queries->open_session({}, nullptr, "ann"), second = queries->open_session({}, nullptr, "ann");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_GT(std::max(*first, *second) - std::min(*first, *second), 1u << 20);  // not drawn one after the other
  QueryOptions with = in_session(*first);
  for (const char* other : {"", "eve"}) {
    with.owner = other;
    EXPECT_EQ(sqlstate_of(ask(queries, kSum, with).status), "25P03");
    EXPECT_EQ(sqlstate_of(queries->describe(kSum, *first, other).status()), "25P03");
    EXPECT_EQ(sqlstate_of(queries->close_session(*first, other)), "25P03");
  }
  with.owner = "ann";
  EXPECT_TRUE(ask(queries, kSum, with).status.ok());
  EXPECT_TRUE(queries->describe(kSum, *first, "ann").ok());
  EXPECT_TRUE(queries->close_session(*first, "ann").ok());
  EXPECT_EQ(sqlstate_of(ask(queries, kSum, with).status), "25P03");
}

// What a query that allows staleness sees is judged by its state, and so is the age in its receipt.
TEST_P(SnapshotTest, AgesAreThoseOfTheState) {
  Bank bank(options());
  Queries* queries = bank.engine().queries();
  QueryOptions stale;
  stale.freshness.kind = Freshness::Kind::kStaleness;
  const Answer before = ask(queries, kSum);
  ASSERT_TRUE(before.status.ok()) << before.status;
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  // nothing has been committed since: the snapshot is old, its state is not
  stale.freshness.staleness_us = 1'000;
  const Answer same = ask(queries, kSum, stale);
  ASSERT_TRUE(same.status.ok()) << same.status;
  EXPECT_EQ(same.receipt.lsn, before.receipt.lsn);
  ASSERT_TRUE(bank.run("UPDATE rates SET rate = 4711 WHERE id = 3").ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const Answer after = ask(queries, kSum, stale);
  ASSERT_TRUE(after.status.ok()) << after.status;
  EXPECT_GT(after.receipt.lsn, before.receipt.lsn);
}

// A snapshot sees tables, columns and indexes as they were; compiled after they have changed.
TEST_P(SnapshotTest, OldSnapshotsOutliveDefinitions) {
  Bank bank(options());
  Queries* queries = bank.engine().queries();
  ASSERT_TRUE(bank.run("CREATE TABLE things (a integer PRIMARY KEY, b integer, c text)").ok());
  ASSERT_TRUE(bank.run("CREATE INDEX things_c ON things (c)").ok());
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(bank.run("INSERT INTO things VALUES (" + std::to_string(i) + ", " + std::to_string(i % 5) + ", 'old" +
                         std::to_string(i % 7) + "')")
                    .ok());
  }
  auto session = queries->open_session({}, nullptr);
  ASSERT_TRUE(session.ok());
  ASSERT_TRUE(bank.run("DROP INDEX things_c").ok());
  ASSERT_TRUE(bank.run("CREATE INDEX things_b ON things (b)").ok());
  Answer by_b = ask(queries, "SELECT count(*) FROM things WHERE b = 3", in_session(*session));
  ASSERT_TRUE(by_b.status.ok()) << by_b.status;
  EXPECT_EQ(by_b.number(), 10);
  EXPECT_EQ(ask(queries, "SELECT count(*) FROM things WHERE c = 'old3'", in_session(*session)).number(), 7);
  EXPECT_EQ(ask(queries, "SELECT count(*) FROM things WHERE b = 3").number(), 10);
  ASSERT_TRUE(bank.run("DROP TABLE things").ok());
  ASSERT_TRUE(bank.run("CREATE TABLE things (x text)").ok());
  Answer old = ask(queries, "SELECT a, c FROM things WHERE b = 4 AND a < 10 ORDER BY a", in_session(*session));
  ASSERT_TRUE(old.status.ok()) << old.status;
  EXPECT_EQ(old.rows, (std::vector<std::string>{"4 old4", "9 old2"}));
  EXPECT_EQ(ask(queries, "SELECT count(*) FROM things").number(), 0);
  EXPECT_EQ(sqlstate_of(ask(queries, "SELECT a FROM things").status), "42703");
}

TEST_P(SnapshotTest, AnswersOfEveryType) {
  Bank bank(options());
  Queries* queries = bank.engine().queries();
  ResultSet result;
  const std::string sql =
      "SELECT true, 1::smallint, -2, 3::bigint, 1.5::float8, 12.50::numeric(8,2), 'text', NULL::integer, "
      "DATE '2000-01-02', ARRAY[1, NULL, 3], 123456789012345678901234567890::numeric(38,0)";
  Status status = queries->execute(sql, {}, {}, &result, nullptr);
  ASSERT_TRUE(status.ok()) << status;
  ResultSet expected;
  ASSERT_TRUE(bank.engine().execute(sql, {}, &expected).ok());
  ASSERT_EQ(result.row_count(), 1u);
  ASSERT_EQ(result.columns.size(), expected.columns.size());
  for (size_t c = 0; c < result.columns.size(); ++c) {
    EXPECT_EQ(result.columns[c].type, expected.columns[c].type);
    const Datum &a = result.value(0, c), &b = expected.value(0, c);
    ASSERT_EQ(a.null, b.null) << c;
    if (a.null) continue;
    if (is_string(result.columns[c].type.id) || result.columns[c].type.id == TypeId::kUnknown) {
      EXPECT_EQ(std::string(a.data(), a.size()), std::string(b.data(), b.size()));
    } else if (result.columns[c].type.id == TypeId::kArray) {
      const auto &x = *reinterpret_cast<const ArrayValue*>(a.lo), &y = *reinterpret_cast<const ArrayValue*>(b.lo);
      ASSERT_EQ(x.size, y.size);
      EXPECT_EQ(x.lower_bound, y.lower_bound);
      for (int i = 0; i < x.size; ++i) EXPECT_EQ(x.elements[i].null, y.elements[i].null);
      EXPECT_EQ(x.elements[2].lo, 3);
    } else {
      EXPECT_EQ(a.lo, b.lo) << c;
      if (result.columns[c].type.id != TypeId::kNumeric) continue;
      EXPECT_EQ(a.scale, b.scale) << c;
      EXPECT_EQ(a.hi, b.hi) << c;
    }
  }
}

TEST_P(SnapshotTest, LongNumbersComeWhole) {
  Bank bank(options());
  const std::string sql =
      "SELECT i, 1e50 * i + 0.5, CASE WHEN i % 2 = 0 THEN 'NaN'::numeric WHEN i = 3 THEN '-Infinity' ELSE i END, "
      "ARRAY[1e45, NULL, i], NULL::numeric, -1e-60 / i FROM generate_series(1, 5) AS s(i) ORDER BY 1";
  ResultSet result, expected;
  Status status = bank.engine().queries()->execute(sql, {}, {}, &result, nullptr);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(bank.engine().execute(sql, {}, &expected).ok());
  ASSERT_EQ(result.row_count(), 5u);
  for (size_t row = 0; row < 5; ++row) {
    for (size_t c = 0; c < result.columns.size(); ++c) {
      std::string got, wanted;
      query::append_value(&got, result.columns[c].type, result.value(row, c));
      query::append_value(&wanted, expected.columns[c].type, expected.value(row, c));
      EXPECT_EQ(got, wanted) << row << " " << c;
      if (row == 2 && c == 1) {
        EXPECT_EQ(got, "300000000000000000000000000000000000000000000000000.5");
      }
    }
  }
}

TEST_P(SnapshotTest, ErrorsAreTheStatementsOwn) {
  Bank bank(options());
  Queries* queries = bank.engine().queries();
  EXPECT_EQ(sqlstate_of(ask(queries, "SELECT 1 / (rate - rate) FROM rates").status), "22012");
  EXPECT_EQ(queries->counters().broken, 1u);
  EXPECT_EQ(sqlstate_of(ask(queries, "SELECT nothing FROM rates").status), "42703");
  EXPECT_EQ(sqlstate_of(ask(queries, "INSERT INTO rates VALUES (99, 1)").status), "25006");
  EXPECT_EQ(sqlstate_of(ask(queries, "SELECT $1::integer").status), "08P01");
  Datum seven = int_datum(7);
  EXPECT_EQ(ask(queries, "SELECT $1::integer + 1", {}, {&seven, 1}).number(), 8);
  EXPECT_TRUE(queries->is_query("VALUES (1), (2)"));
  EXPECT_FALSE(queries->is_query("DELETE FROM rates"));
  EXPECT_FALSE(queries->is_query("SELECT 1; SELECT 2"));
  EXPECT_EQ(ask(queries, "VALUES (1), (2)").rows.size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Modes, SnapshotTest,
                         testing::Values(ExecutionMode::kInterpreted, ExecutionMode::kQuick, ExecutionMode::kAdaptive,
                                         ExecutionMode::kSwapping));

// Queries of a child that go on in better code, which their parent makes meanwhile.
class SnapshotSwapTest : public testing::TestWithParam<ExecutionMode> {
 protected:
  static EngineOptions options(ExecutionMode mode) {
    EngineOptions options = Bank::small_options();
    options.execution = mode;
    return options;
  }
  static void make_tables(Bank* bank) {
    for (const char* sql :
         {"CREATE TABLE line (n integer PRIMARY KEY, item integer, text varchar(20))",
          "INSERT INTO line SELECT s, s * 7919 % 3000, 't' || s % 13 FROM generate_series(1, 40000) s",
          "CREATE FUNCTION total(k integer) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE r record; s bigint := 0; "
          "BEGIN FOR r IN SELECT n FROM line WHERE item % 3 = k LOOP s := s + r.n; END LOOP; RETURN s; END $$",
          "ANALYZE"})
      ASSERT_TRUE(bank->run(sql).ok()) << sql;
  }
  // size: up to 3000, all pairs of rows. Each chunk of the outer table begins with a place to change.
  static std::string long_query(int size, int variant = 0) {
    return "SELECT count(*), sum(a.n % 7) FROM line a JOIN line b ON a.n > b.item + " + std::to_string(variant) +
           " AND b.item < " + std::to_string(size);
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, SnapshotSwapTest,
                         testing::Values(ExecutionMode::kSwapping, ExecutionMode::kSwappingInterpreted));

TEST_P(SnapshotSwapTest, SameRowsWhereverItChanges) {
  Bank bank(options(GetParam())), stays(options(ExecutionMode::kQuick));
  make_tables(&bank);
  make_tables(&stays);
  constexpr const char* kQueries[] = {
      "SELECT text, count(*), sum(n), max(item) FROM line GROUP BY text ORDER BY text",
      "SELECT count(*), sum(a.n) FROM line a JOIN line b ON a.item = b.item AND a.n <> b.n",
      "SELECT n, text FROM line WHERE n % 5 = 3 ORDER BY text, n DESC",
      "SELECT total(0), total(1)",
      "SELECT sum(1 / (n - 39990)) FROM line",
  };
  auto session = bank.engine().queries()->open_session({}, nullptr);
  ASSERT_TRUE(session.ok()) << session.status();
  for (const char* query : kQueries)
    for (uint32_t threads : {1U, 2U}) {
      const Answer expected = ask(stays.engine().queries(), query);
      QueryOptions with = in_session(*session);
      with.threads = threads;
      Answer answer;
      int run = 0;
      do {
        answer = ask(bank.engine().queries(), query, with);
        ASSERT_EQ(sqlstate_of(answer.status), sqlstate_of(expected.status)) << answer.status;
        ASSERT_EQ(answer.rows, expected.rows) << "place " << run << " " << query;
      } while (answer.receipt.swaps > 0 && ++run < 2000);
      if (threads == 1 && answer.status.ok()) EXPECT_GT(run, 0) << query;
      EXPECT_LT(run, 2000) << query;
    }
  EXPECT_GT(bank.engine().queries()->counters().swapped, 0u);
  EXPECT_EQ(stays.engine().queries()->counters().swapped, 0u);
}

TEST_F(SnapshotSwapTest, BetterCodeReachesRunningQueries) {
  Bank bank(options(ExecutionMode::kAdaptive)), stays(options(ExecutionMode::kQuick));
  make_tables(&bank);
  make_tables(&stays);
  Queries* queries = bank.engine().queries();
  for (uint32_t threads : {1U, 2U}) {
    QueryOptions with;
    with.threads = threads;
    uint32_t swaps = 0;
    for (int size = 30; swaps == 0 && size <= 3000; size += size / 2) {
      const std::string query = long_query(size, static_cast<int>(threads));
      const Answer answer = ask(queries, query, with);
      ASSERT_TRUE(answer.status.ok()) << answer.status;
      EXPECT_EQ(answer.rows, ask(stays.engine().queries(), query).rows);
      swaps = answer.receipt.swaps;
    }
    EXPECT_GT(swaps, 0u);
  }
  EXPECT_GE(queries->counters().swapped, 2u);
  // a program that the child has goes on being improved: the next run begins in the better code
  const Answer again = ask(queries, long_query(30, 1));
  EXPECT_TRUE(again.status.ok()) << again.status;
}

TEST_F(SnapshotSwapTest, QueriesEndAndChildrenDieWhileBetterCodeComes) {
  const uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  Bank bank(options(ExecutionMode::kAdaptive));
  make_tables(&bank);
  Queries* queries = bank.engine().queries();
  for (int i = 0; i < 30; ++i) {
    QueryOptions with;
    with.threads = 1 + i % 2;
    auto stream = queries->run(long_query(3000, i), {}, with);
    ASSERT_TRUE(stream.ok()) << stream.status();
    std::thread ends([&, what = i % 3] {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 40000));
      if (what == 0) (*stream)->cancel();
      if (what == 1)
        for (pid_t pid : children()) kill(pid, SIGKILL);
    });
    std::string batch;
    if (i % 3 < 2) {
      const Status status = (*stream)->next(&batch).status();
      if (!status.ok()) EXPECT_EQ(sqlstate_of(status), i % 3 == 0 ? "57014" : "57P02") << status;
    }
    ends.join();
    stream->reset();  // or the reader leaves
    ASSERT_EQ(ask_again(queries, kSum).number(), kTotalBalance);
    if (i % 5 == 0) ASSERT_TRUE(bank.run("UPDATE rates SET rate = 1 WHERE id = 1").ok());
  }
}

// Both forms of the code go when neither statements nor children have it any more.
TEST_F(SnapshotSwapTest, CodeIsGivenBack) {
  Bank bank(options(ExecutionMode::kAdaptive));
  make_tables(&bank);
  Queries* queries = bank.engine().queries();
  auto& database = bank.engine().database();
  auto forget = [&] {
    static int tables = 0;
    ASSERT_TRUE(bank.run("CREATE TABLE t" + std::to_string(++tables) + " (a integer)").ok());
    ASSERT_EQ(ask(queries, kSum).number(), kTotalBalance);
  };
  forget();
  const size_t before = database.code_bytes();
  auto session = queries->open_session({}, nullptr);
  ASSERT_TRUE(session.ok()) << session.status();
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(ask(queries, long_query(30 << i / 3, i), in_session(*session)).status.ok());
  EXPECT_GT(database.code_bytes(), before);
  ASSERT_TRUE(queries->close_session(*session).ok());
  forget();
  // its child ends soon, the compiler finishes what it has begun; the test's own bound ends this
  while (database.code_bytes() > before) std::this_thread::yield();
}

// A query whose bounds say that no row comes is never compiled; the others are, when their child asks for it.
TEST_F(SnapshotSwapTest, CodeComesWhenAQueryTurnsOutToWork) {
  Bank bank(options(ExecutionMode::kAdaptive));
  make_tables(&bank);
  Queries* queries = bank.engine().queries();
  ASSERT_TRUE(bank.run("CREATE TABLE big (n integer PRIMARY KEY, low integer, high integer NOT NULL)").ok());
  ASSERT_TRUE(bank.run("INSERT INTO big SELECT s, -s, s FROM generate_series(1, 60000) s").ok());
  ASSERT_TRUE(bank.run("ANALYZE").ok());
  const std::string query = "SELECT count(*), sum(a.n) FROM big a JOIN line b ON a.n = b.n AND a.low > b.n";
  auto& database = bank.engine().database();
  const Answer first = ask(queries, query);
  ASSERT_TRUE(first.status.ok()) << first.status;
  EXPECT_EQ(first.rows, std::vector<std::string>{"0 null"});
  const size_t before = database.code_bytes();
  for (uint32_t threads : {1U, 2U}) {
    QueryOptions with;
    with.threads = threads;
    EXPECT_EQ(ask(queries, query, with).rows, first.rows);
  }
  EXPECT_EQ(database.code_bytes(), before);
  ASSERT_TRUE(bank.run("UPDATE big SET low = 50000 WHERE n = 30000").ok());
  for (uint32_t threads : {1U, 2U}) {
    QueryOptions with;
    with.threads = threads;
    const Answer answer = ask(queries, query, with);
    EXPECT_EQ(answer.rows, std::vector<std::string>{"1 30000"}) << answer.status;
    if (threads == 1) EXPECT_GT(answer.receipt.compile_ms, 0);
  }
  EXPECT_GT(database.code_bytes(), before);
}

// More rows than a window holds, read slowly; and a reader that goes away.
TEST(SnapshotStreamTest, WaitsForSlowReaders) {
  Bank bank;
  Queries* queries = bank.engine().queries();
  const char* sql =
      "SELECT a.id, b.id, c.id, 'some text to fill the window' FROM accounts a, accounts b, accounts c "
      "WHERE a.branch = 1 AND b.branch = 2 AND c.branch < 8";
  auto stream = queries->run(sql, {}, {});
  ASSERT_TRUE(stream.ok()) << stream.status();
  std::string batch;
  uint64_t rows = 0;
  for (int i = 0;; ++i) {
    auto more = (*stream)->next(&batch);
    ASSERT_TRUE(more.ok()) << more.status();
    if (!*more) break;
    rows += query::row_count_of_columns(batch);
    if (i < 20) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(rows, 32u * 32 * 32 * 8);
  EXPECT_EQ((*stream)->rows(), rows);
  for (int i = 0; i < 5; ++i) {
    auto left = queries->run(sql, {}, {});
    ASSERT_TRUE(left.ok());
    ASSERT_TRUE((*left)->next(&batch).ok());
  }
  EXPECT_EQ(ask(queries, kSum).number(), kTotalBalance);
}

constexpr char kEndless[] =
    "SELECT count(*) FROM accounts a, accounts b, accounts c, accounts d WHERE a.balance + b.balance + c.balance < "
    "d.id";

TEST(SnapshotStreamTest, CancelAndTimeout) {
  Bank bank;
  Queries* queries = bank.engine().queries();
  auto stream = queries->run(kEndless, {}, {});
  ASSERT_TRUE(stream.ok()) << stream.status();
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    (*stream)->cancel();
  });
  std::string batch;
  EXPECT_EQ(sqlstate_of((*stream)->next(&batch).status()), "57014");
  canceller.join();
  QueryOptions quick;
  quick.timeout_us = 50'000;
  Answer late = ask(queries, kEndless, quick);
  EXPECT_EQ(sqlstate_of(late.status), "57014");
  EXPECT_NE(std::string(late.status.message()).find("timeout"), std::string::npos);
  // both have ended in the child too: the cap of running queries lets others in, and they are answered
  for (int i = 0; i < 4; ++i) EXPECT_EQ(ask(queries, kSum).number(), kTotalBalance);
}

TEST(SnapshotLossTest, KilledChildrenLoseTheirQueriesOnly) {
  Bank bank;
  Queries* queries = bank.engine().queries();
  for (int i = 0; i < 20; ++i) {
    auto stream = queries->run(kEndless, {}, {});
    ASSERT_TRUE(stream.ok()) << stream.status();
    for (pid_t pid : children()) kill(pid, SIGKILL);
    std::string batch;
    Status status = (*stream)->next(&batch).status();
    EXPECT_EQ(sqlstate_of(status), "57P02") << status;
    EXPECT_NE(hint_of(status), "");
    Answer next = ask_again(queries, kSum);
    EXPECT_EQ(next.number(), kTotalBalance) << next.status;
    ASSERT_TRUE(bank.run("UPDATE rates SET rate = 1 WHERE id = 1").ok());
  }
  EXPECT_GE(queries->counters().snapshots.lost, 1u);
}

TEST(SnapshotLossTest, ChildrenThatDoNotAnswerAreKilled) {
  EngineOptions options = Bank::small_options();
  options.queries.silence_us_max = 1000;
  Bank bank(options);
  Queries* queries = bank.engine().queries();
  QueryOptions with;
  with.timeout_us = 2'000'000;
  auto stream = queries->run(kEndless, {}, with);
  for (pid_t pid : children()) kill(pid, SIGSTOP);
  std::string batch;
  const Status status = stream.ok() ? (*stream)->next(&batch).status() : stream.status();
  // it may have ended before it was stopped
  EXPECT_TRUE(sqlstate_of(status) == "57P02" || sqlstate_of(status) == "57014") << status;
  for (pid_t pid : children()) kill(pid, SIGCONT);
  stream = absl::CancelledError();
  Answer next = ask_again(queries, kSum);
  EXPECT_EQ(next.number(), kTotalBalance) << next.status;
}

TEST(SnapshotLossTest, SessionsOfLostSnapshotsSaySo) {
  Bank bank;
  Queries* queries = bank.engine().queries();
  auto session = queries->open_session({}, nullptr);
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(ask(queries, kSum, in_session(*session)).number(), kTotalBalance);
  for (pid_t pid : children()) kill(pid, SIGKILL);
  EXPECT_EQ(sqlstate_of(ask(queries, kSum, in_session(*session)).status), "57P02");
  Answer next = ask_again(queries, kSum);
  EXPECT_EQ(next.number(), kTotalBalance) << next.status;
}

// Sessions that keep their snapshots, idle or not, leave a quarter of them to others.
TEST(SnapshotCapsTest, Count) {
  EngineOptions options = Bank::small_options();
  options.queries.snapshots.count_max = 4;
  Bank bank(options);
  Queries* queries = bank.engine().queries();
  std::vector<uint64_t> sessions;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(bank.run("UPDATE rates SET rate = " + std::to_string(i) + " WHERE id = 1").ok());
    auto session = queries->open_session({}, nullptr);
    ASSERT_TRUE(session.ok()) << session.status();
    sessions.push_back(*session);
  }
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(bank.run("UPDATE rates SET rate = 77 + " + std::to_string(i) + " WHERE id = 1").ok());
    const Status refused = queries->open_session({}, nullptr).status();
    EXPECT_EQ(sqlstate_of(refused), "53300");
    EXPECT_NE(hint_of(refused).find("snapshots_max"), std::string::npos) << refused;
    EXPECT_EQ(ask(queries, kSum).number(), kTotalBalance);
  }
  ASSERT_TRUE(bank.run("UPDATE rates SET rate = 77 WHERE id = 1").ok());
  ASSERT_TRUE(queries->close_session(sessions[1]).ok());
  EXPECT_TRUE(queries->open_session({}, nullptr).ok());
  EXPECT_EQ(ask(queries, "SELECT rate FROM rates WHERE id = 1").number(), 77);
  EXPECT_EQ(ask(queries, "SELECT rate FROM rates WHERE id = 1", in_session(sessions[2])).number(), 2);
}

TEST(SnapshotCapsTest, Age) {
  EngineOptions options = Bank::small_options();
  options.queries.snapshots.age_us_max = 1'000'000;
  Bank bank(options);
  Queries* queries = bank.engine().queries();
  auto session = queries->open_session({}, nullptr);
  ASSERT_TRUE(session.ok()) << session.status();
  Status status;
  for (int i = 0; i < 6'000 && status.ok(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    status = ask(queries, kSum, in_session(*session)).status;
  }
  EXPECT_EQ(sqlstate_of(status), "57P02");
  EXPECT_NE(std::string(status.message()).find("older"), std::string::npos) << status;
  EXPECT_EQ(ask_again(queries, kSum).number(), kTotalBalance);
}

TEST(SnapshotCapsTest, CopiedMemory) {
  EngineOptions options = Bank::small_options();
  options.queries.snapshots.copied_bytes_max = 1;
  Bank bank(options);
  Queries* queries = bank.engine().queries();
  auto session = queries->open_session({}, nullptr);
  ASSERT_TRUE(session.ok());
  Status status;
  for (int i = 0; i < 3'000 && status.ok(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    status = ask(queries, kSum, in_session(*session)).status;
  }
  EXPECT_EQ(sqlstate_of(status), "57P02");
  EXPECT_NE(std::string(status.message()).find("memory"), std::string::npos) << status;
}

// So many huge pages in the system's pool beside those that others have, and back again.
class HugePages {
 public:
  explicit HugePages(uint64_t count) : before_(read("nr_hugepages")) {
    std::ofstream(kPlace) << before_ - available() + count << std::flush;
    now_ = available();
  }
  ~HugePages() { std::ofstream(kPlace) << before_ << std::flush; }
  uint64_t count() const { return now_; }

 private:
  static constexpr char kPlace[] = "/proc/sys/vm/nr_hugepages";
  static uint64_t read(const std::string& name) {
    uint64_t value = 0;
    std::ifstream("/sys/kernel/mm/hugepages/hugepages-2048kB/" + name) >> value;
    return value;
  }
  static uint64_t available() { return read("free_hugepages") - read("resv_hugepages"); }
  const uint64_t before_;
  uint64_t now_ = 0;
};

// The child's pages are taken by the transactions' copies: the query fails and may be sent again, the node goes on.
TEST(SnapshotCapsTest, NoReservedPageLeftForCopies) {
  EngineOptions options = Bank::small_options();
  options.page_mode = storage::PageMode::kReservedHuge;
  options.memory_bytes = size_t{256} << 20;
  HugePages pool((options.memory_bytes >> 21) + 1);
  if (pool.count() != (options.memory_bytes >> 21) + 1) GTEST_SKIP() << "no pool of huge pages can be had here";
  Bank bank(options);
  Queries* queries = bank.engine().queries();
  auto session = queries->open_session({}, nullptr);
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(ask(queries, kSum, in_session(*session)).number(), kTotalBalance);
  ResultSet result;
  ASSERT_TRUE(bank.engine().execute("UPDATE accounts SET balance = balance + 1", {}, &result).ok());
  ASSERT_TRUE(bank.engine().execute("UPDATE accounts SET balance = balance - 1", {}, &result).ok());
  const Answer answer = ask(queries, kSum, in_session(*session));
  EXPECT_EQ(sqlstate_of(answer.status), "57P02") << answer.status;
  EXPECT_NE(std::string(answer.status.message()).find("vm.nr_hugepages"), std::string::npos) << answer.status;
  EXPECT_EQ(ask_again(queries, kSum).number(), kTotalBalance);
}

TEST(SnapshotCapsTest, QueryMemory) {
  const char* large =
      "SELECT DISTINCT a.id, b.id, c.id, a.branch, b.branch, c.branch FROM accounts a, accounts b, accounts c";
  for (uint64_t disk : {uint64_t{0}, uint64_t{16} << 20}) {
    EngineOptions options = Bank::small_options();
    options.queries.query_bytes_max = 8 << 20;
    options.queries.snapshots.spill_bytes_max = disk;
    Bank bank(options);
    Queries* queries = bank.engine().queries();
    EXPECT_EQ(sqlstate_of(ask(queries, large).status), "53200");
    EXPECT_EQ(ask(queries, kSum).number(), kTotalBalance);
  }
}

// In the child: more rows than the query's memory holds, in temporary files of their own place.
TEST(SnapshotCapsTest, QueriesGoToDisk) {
  const char* query =
      "SELECT count(*) FROM (SELECT DISTINCT a.id, b.id, a.branch FROM accounts a, accounts b WHERE a.id % 4 < b.id) d";
  EngineOptions options = Bank::small_options();
  Bank whole(options);
  const int64_t rows = ask(whole.engine().queries(), query).number();
  options.queries.query_bytes_max = 1 << 20;
  options.queries.snapshots.spill_directory = testing::TempDir();
  Bank bank(options);
  for (uint32_t threads : {1U, 2U}) {
    QueryOptions with;
    with.threads = threads;
    Answer answer = ask(bank.engine().queries(), query, with);
    ASSERT_TRUE(answer.status.ok()) << answer.status;
    EXPECT_EQ(answer.number(), rows);
    EXPECT_LE(answer.receipt.memory_bytes, options.queries.query_bytes_max);
    EXPECT_GT(answer.receipt.spilled_bytes, 0u);
  }
  const Queries::Counters counters = bank.engine().queries()->counters();
  EXPECT_EQ(counters.answered, 2u);
  EXPECT_GT(counters.spilled_bytes, 0u);
  EXPECT_GT(counters.memory_bytes, counters.memory_bytes_max);
  EXPECT_LE(counters.memory_bytes_max, options.queries.query_bytes_max);
  EXPECT_EQ(whole.engine().queries()->counters().spilled_bytes, 0u);
  options.queries.snapshots.spill_directory = "/nowhere";
  Bank other(options);
  EXPECT_EQ(sqlstate_of(ask(other.engine().queries(), query).status), "58030");
}

// Random order of everything, with the mix running: sums stay, whatever snapshot, whatever age.
TEST(SnapshotStressTest, ManySnapshotsDroppedInAnyOrder) {
  const uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  EngineOptions options = Bank::small_options();
  options.partitions = 4;
  options.workers = 2;
  options.queries.snapshots.count_max = 12;
  Bank bank(options);
  Queries* queries = bank.engine().queries();
  Load first(&bank, seed + 1), second(&bank, seed + 2);
  std::vector<uint64_t> sessions;
  for (int i = test_slice(300, 60); i > 0; --i) {
    const uint64_t what = random() % 8;
    if (what < 3 && sessions.size() < 8) {
      auto session = queries->open_session({}, nullptr);
      ASSERT_TRUE(session.ok()) << session.status();
      sessions.push_back(*session);
    } else if (what < 5 && !sessions.empty()) {
      const size_t at = random() % sessions.size();
      ASSERT_TRUE(queries->close_session(sessions[at]).ok());
      sessions.erase(sessions.begin() + static_cast<ptrdiff_t>(at));
    } else if (what < 7 && !sessions.empty()) {
      Answer answer = ask(queries, kSum, in_session(sessions[random() % sessions.size()]));
      ASSERT_TRUE(answer.status.ok()) << answer.status;
      ASSERT_EQ(answer.number(), kTotalBalance);
    } else {
      Answer answer = ask(queries, kSum);
      ASSERT_TRUE(answer.status.ok()) << answer.status;
      ASSERT_EQ(answer.number(), kTotalBalance);
    }
  }
  printf("%llu forks, %llu transactions taken back\n",
         static_cast<unsigned long long>(queries->counters().snapshots.forks),
         static_cast<unsigned long long>(queries->counters().snapshots.unfinished));
}

TEST(SnapshotStressTest, SumsStayInAThousandSnapshots) {
  const uint64_t seed = test_seed();
  EngineOptions options = Bank::small_options();
  options.partitions = 4;
  options.workers = 2;
  options.execution = ExecutionMode::kQuick;
  Bank bank(options);
  Queries* queries = bank.engine().queries();
  Load load(&bank, seed);
  uint64_t last_lsn = 0;
  while (queries->counters().snapshots.forks < test_slice<uint64_t>(1000, 40)) {
    Answer answer = ask(queries, kSum);
    ASSERT_TRUE(answer.status.ok()) << answer.status;
    ASSERT_EQ(answer.number(), kTotalBalance);
    ASSERT_GE(answer.receipt.lsn, last_lsn);
    last_lsn = answer.receipt.lsn;
  }
}

// Who waits for a global snapshot that does not come is told why at once, not when its patience is over.
TEST(GlobalSnapshots, ThatAreNotTakenAreNotWaitedFor) {
  query::Snapshots::Environment environment;
  environment.fork = [](query::ForkRequest) -> StatusOr<query::Forked> { return sql_error("53200", "local"); };
  environment.current_lsn = [] { return 0; };
  environment.catalog_version = [] { return 0; };
  query::Snapshots snapshots(environment, {});
  Freshness wish;
  wish.kind = Freshness::Kind::kGlobal;
  wish.term = 2;
  wish.snapshot = 5;
  auto passed = [&] { return snapshots.acquire(wish, 0).status(); };
  Status status;
  std::thread waits([&] { status = passed(); });
  snapshots.miss_global(1, 9, absl::UnavailableError("of an earlier term"));  // that was another one
  EXPECT_FALSE(snapshots.take_global(2, 4, environment.fork).ok());
  const Status taken = snapshots.take_global(
      2, 5, [](query::ForkRequest) -> StatusOr<query::Forked> { return sql_error("53300", "full"); });
  waits.join();
  EXPECT_EQ(sqlstate_of(taken), "53300");
  EXPECT_EQ(sqlstate_of(status), "55000");
  EXPECT_NE(status.message().find("full"), absl::string_view::npos) << status;
  snapshots.miss_global(2, 6, absl::UnavailableError("behind"));
  for (wish.snapshot = 4; wish.snapshot <= 6; ++wish.snapshot) {
    EXPECT_NE(passed().message().find("behind"), absl::string_view::npos);
  }
}

}  // namespace
}  // namespace scyper::primary
