#include "primary/fork.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "base/test_seed.h"
#include "base/test_slice.h"
#include "testing/bank.h"

namespace scyper::primary {
namespace {

constexpr int64_t kTotalBalance = int64_t{1000} * Bank::kBranches * Bank::kAccounts;

// In the child, without any of the query library: reads the cells.
int64_t sum_of_balances(const query::Catalog& catalog) {
  const auto& table = *catalog.find_table("accounts");
  uint32_t balance = 0;
  while (table.schema().columns[balance].name != "balance") ++balance;
  int64_t sum = 0;
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    const storage::TablePartition* partition = table.partition(p);
    for (storage::Tid tid = 0; tid < partition->tuple_limit; ++tid) {
      if (storage::is_live(partition, tid)) sum += storage::read_column(partition, tid, balance).lo;
    }
  }
  return sum;
}

struct Reading {
  int64_t sum = 0;
  uint64_t lsn = 0;
};

ForkRequest reading_request() {
  ForkRequest request;
  request.body = [](const ForkedDatabase& forked, int socket) {
    for (const auto& [name, table] : forked.point.catalog->tables) storage::check_table(*table);
    Reading reading{sum_of_balances(*forked.point.catalog), forked.point.lsn};
    return write(socket, &reading, sizeof reading) == sizeof reading ? 0 : 1;
  };
  return request;
}

Reading read_fork(PartitionEngine* engine, ForkPoint* point = nullptr) {
  auto forked = engine->fork(reading_request());
  EXPECT_TRUE(forked.ok()) << forked.status();
  Reading reading;
  if (!forked.ok()) return reading;
  EXPECT_EQ(read(forked->child->socket(), &reading, sizeof reading), static_cast<ssize_t>(sizeof reading));
  EXPECT_EQ(forked->child->wait(), 0);
  if (point != nullptr) *point = forked->point;
  return reading;
}

// Submits random transactions of every class, 10 % of them crossing, until told to stop.
class Load {
 public:
  Load(Bank* bank, uint64_t seed) : bank_(bank), random_(seed) {
    move_ = bank->prepare("CALL move($1, $2, $3, $4, $5)");
    churn_ = bank->prepare("CALL churn($1)");
    failing_ = bank->prepare("CALL move_and_fail($1, $2, $3, $4)");
    linked_ = bank->prepare("CALL move_linked($1, $2, $3)");
    thread_ = std::thread([this] { run(); });
  }
  ~Load() {
    is_over_ = true;
    thread_.join();
  }

 private:
  std::unique_ptr<Call> make_call() {
    auto b = static_cast<int64_t>(random_() % Bank::kBranches);
    auto i = static_cast<int64_t>(random_() % Bank::kAccounts), j = static_cast<int64_t>(random_() % Bank::kAccounts);
    int64_t elsewhere = bank_->branch_elsewhere(static_cast<int32_t>(b));
    const uint64_t kind = random_() % 20;
    auto make = [](const auto& statement, std::initializer_list<int64_t> v) {
      return std::make_unique<Call>(statement, v);
    };
    if (kind == 0) return make(move_, {b, i, elsewhere, j, 3});
    if (kind == 1) return make(linked_, {b, i, 2});  // misclassified
    if (kind == 2) return make(failing_, {b, i, j, 5});
    if (kind < 10) return make(churn_, {b});
    return make(move_, {b, i, b, j, 1});
  }
  void run() {
    while (!is_over_) {
      std::vector<std::unique_ptr<Call>> calls;
      std::vector<Transaction*> batch;
      for (int k = 0; k < 16; ++k) {
        calls.push_back(make_call());
        batch.push_back(calls.back().get());
      }
      bank_->engine().submit(batch);
      for (auto& call : calls) call->wait();
    }
  }

  Bank* const bank_;
  std::mt19937_64 random_;
  std::shared_ptr<const Statement> move_, churn_, failing_, linked_;
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

struct ForkCase {
  ForkMode mode;
  uint32_t workers;
  ExecutionMode execution;
};

class ForkTest : public testing::TestWithParam<ForkCase> {};

TEST_P(ForkTest, SumsStayInEverySnapshot) {
  uint64_t seed = test_seed();
  EngineOptions options = Bank::small_options();
  options.workers = GetParam().workers;
  options.fork_mode = GetParam().mode;
  options.execution = GetParam().execution;
  Bank bank(options);
  const int snapshots = test_slice(200, 40);
  uint64_t unfinished = 0, last_lsn = 0;
  {
    Load first(&bank, seed), second(&bank, seed + 1);
    for (int i = 0; i < snapshots; ++i) {
      ForkPoint point;
      const Reading reading = read_fork(&bank.engine(), &point);
      ASSERT_EQ(reading.sum, kTotalBalance) << "snapshot " << i;
      ASSERT_EQ(reading.lsn, point.lsn);
      ASSERT_GE(point.lsn, last_lsn);
      last_lsn = point.lsn;
      unfinished += point.unfinished;
    }
  }
  printf("%llu transactions taken back in %d children\n", static_cast<unsigned long long>(unfinished), snapshots);
  if (GetParam().mode == ForkMode::kQuiesced) EXPECT_EQ(unfinished, 0u);
  EXPECT_EQ(bank.value_of("SELECT sum(balance)::bigint FROM accounts"), kTotalBalance);
  bank.check_tables();
}

INSTANTIATE_TEST_SUITE_P(Modes, ForkTest,
                         testing::Values(ForkCase{ForkMode::kQuiesced, 2, ExecutionMode::kAdaptive},
                                         ForkCase{ForkMode::kActionConsistent, 1, ExecutionMode::kQuick},
                                         ForkCase{ForkMode::kActionConsistent, 2, ExecutionMode::kAdaptive},
                                         ForkCase{ForkMode::kActionConsistent, 4, ExecutionMode::kInterpreted}));

// A long transaction does not hold up an action-consistent fork, and the child has taken it back.
TEST(ForkTest, LongTransactionIsTakenBack) {
  EngineOptions options = Bank::small_options();
  options.transaction_time_us_max = 60'000'000;
  Bank bank(options);
  ASSERT_TRUE(
      bank.run("CREATE PROCEDURE drain(b integer) LANGUAGE plpgsql AS $$ DECLARE n integer; BEGIN "
               "FOR i IN 0..31 LOOP UPDATE accounts SET balance = balance - 1 WHERE branch = b AND id = i; END LOOP; "
               "n := 1; WHILE n > 0 LOOP n := 1; END LOOP; END $$")
          .ok());
  Call drain(bank.prepare("CALL drain($1)"), {3});
  std::atomic<bool> is_over{false};
  drain.cancelled = &is_over;
  drain.start(&bank.engine());
  uint32_t unfinished = 0;
  for (int i = 0; i < 10'000 && unfinished == 0; ++i) {
    ForkPoint point;
    EXPECT_EQ(read_fork(&bank.engine(), &point).sum, kTotalBalance);
    unfinished = point.unfinished;
  }
  EXPECT_EQ(unfinished, 1u);
  is_over = true;
  drain.wait();
  EXPECT_EQ(sqlstate_of(drain.status), "57014");
  EXPECT_EQ(read_fork(&bank.engine()).sum, kTotalBalance);
}

// Forks beside DDL, loads and compilations, which take all locks that there are.
TEST(ForkTest, BesideDefinitions) {
  Bank bank;
  std::atomic<bool> is_over{false};
  std::thread definer([&] {
    auto run = [&](std::string_view sql) {
      Status status = bank.run(sql);
      EXPECT_TRUE(status.ok()) << sql << ": " << status;
      return status.ok();
    };
    for (int i = 0; !is_over; ++i) {
      if (!run("CREATE TABLE side (a integer PRIMARY KEY, b integer)")) return;
      if (!run("INSERT INTO side VALUES (1, 2)") || !run("CREATE INDEX side_b ON side (b)")) return;
      ASSERT_EQ(bank.value_of("SELECT count(*) + " + std::to_string(i) + " FROM side WHERE b = 2"), 1 + i);
      if (!run("DROP TABLE side")) return;
    }
  });
  Load load(&bank, test_seed());
  for (int i = 0; i < 100; ++i) ASSERT_EQ(read_fork(&bank.engine()).sum, kTotalBalance);
  is_over = true;
  definer.join();
}

TEST(ForkTest, ChildrenEndWithTheEngine) {
  std::unique_ptr<storage::ChildProcess> child;
  {
    Bank bank;
    ForkRequest request;
    request.body = [](const ForkedDatabase&, int) { return pause(); };
    auto forked = bank.engine().fork(std::move(request));
    ASSERT_TRUE(forked.ok()) << forked.status();
    child = std::move(forked->child);
  }
  const int status = child->wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

}  // namespace
}  // namespace scyper::primary
