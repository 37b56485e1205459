#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "base/test_seed.h"
#include "testing/bank.h"

namespace scyper::primary {
namespace {

constexpr int64_t kTotalBalance = int64_t{1000} * Bank::kBranches * Bank::kAccounts;

struct Statements {
  explicit Statements(Bank* bank)
      : move(bank->prepare("CALL move($1, $2, $3, $4, $5)")),
        linked(bank->prepare("CALL move_linked($1, $2, $3)")),
        failing(bank->prepare("CALL move_and_fail($1, $2, $3, $4)")),
        total(bank->prepare("SELECT sum(balance)::bigint FROM accounts")),
        churn(bank->prepare("CALL churn($1)")),
        rate(bank->prepare("SELECT rate FROM rates WHERE id = $1")),
        set_rate(bank->prepare("CALL set_rate($1, $2)")) {}
  std::shared_ptr<const Statement> move, linked, failing, total, churn, rate, set_rate;
};

// A submitter thread: batches of random transactions, several out at a time.
class Client {
 public:
  Client(Bank* bank, const Statements& statements, uint64_t seed)
      : bank_(bank), statements_(statements), random_(seed) {}

  void run(int batches) {
    for (int i = 0; i < batches; ++i) {
      std::vector<std::unique_ptr<Call>> calls;
      std::vector<Transaction*> batch;
      int size = 1 + static_cast<int>(random_() % 32);
      for (int j = 0; j < size; ++j) {
        calls.push_back(make_call());
        batch.push_back(calls.back().get());
      }
      bank_->engine().submit(batch);
      for (auto& call : calls) {
        call->wait();
        check(*call);
      }
    }
  }

 private:
  std::unique_ptr<Call> make_call() {
    auto b = static_cast<int64_t>(random_() % Bank::kBranches), i = static_cast<int64_t>(random_() % Bank::kAccounts);
    auto c = static_cast<int64_t>(random_() % Bank::kBranches), j = static_cast<int64_t>(random_() % Bank::kAccounts);
    auto make = [](const std::shared_ptr<const Statement>& statement, std::initializer_list<int64_t> values) {
      return std::make_unique<Call>(statement, values);
    };
    switch (random_() % 16) {
      case 0:
        return make(statements_.move, {b, i, c, j, 3});  // mostly crossing
      case 1:
        return make(statements_.linked, {b, i, 2});  // misclassified
      case 2:
        return make(statements_.failing, {b, i, j, 5});
      case 3:
        return make(statements_.total, {});  // crossing, reads only
      case 4:
        return make(statements_.rate, {b});
      case 5:
        return make(statements_.set_rate, {b, j});
      // long enough to be seen half done by whoever runs beside it
      case 6:
      case 7:
        return make(statements_.churn, {b});
      default:
        return make(statements_.move, {b, i, b, j, 1});
    }
  }

  static void check(const Call& call) {
    bool fails = call.statement->text().starts_with("CALL move_and_fail");
    ASSERT_EQ(call.status.ok(), !fails) << call.status << call.statement->text();
    if (fails) ASSERT_EQ(sqlstate_of(call.status), "P0099");
    if (call.statement->text().starts_with("SELECT sum")) {
      ASSERT_EQ(call.result.row_count(), 1u);
      ASSERT_EQ(call.result.value(0, 0).lo, kTotalBalance);
    }
    if (call.statement->text().starts_with("CALL move_linked")) ASSERT_TRUE(call.retried_as_crossing);
  }

  Bank* const bank_;
  const Statements& statements_;
  std::mt19937_64 random_;
};

// A thread that waits for each of its transactions, and so runs many of them as a guest (worker.h).
class Guest {
 public:
  Guest(Bank* bank, uint64_t seed) : bank_(bank), random_(seed) {}

  // False: the engine takes no more.
  bool run_one() {
    const auto number = [this](int64_t below) {
      return static_cast<int64_t>(random_() % static_cast<uint64_t>(below));
    };
    const int64_t b = number(Bank::kBranches);
    const bool crosses = number(4) == 0;
    const int64_t to = crosses ? bank_->branch_elsewhere(static_cast<int32_t>(b)) : b;
    query::ResultSet result;
    Status status;
    switch (number(6)) {
      case 0:
        status = bank_->engine().execute("SELECT sum(balance)::bigint FROM accounts", {}, &result);
        if (status.ok()) EXPECT_EQ(result.value(0, 0).lo, kTotalBalance);
        break;
      case 1:
        status = call("CALL churn($1)", {b});
        break;
      case 2:
        status = call("CALL move_and_fail($1, $2, $3, $4)", {b, number(Bank::kAccounts), number(Bank::kAccounts), 5});
        if (sqlstate_of(status) == "P0099") status = Status();
        break;
      default:
        status = call("CALL move($1, $2, $3, $4, $5)", {b, number(Bank::kAccounts), to, number(Bank::kAccounts), 1});
    }
    if (!status.ok()) EXPECT_EQ(sqlstate_of(status), "57P03") << status;
    return status.ok();
  }

 private:
  Status call(std::string_view sql, std::initializer_list<int64_t> values) {
    std::vector<Datum> arguments;
    for (int64_t value : values) arguments.push_back(int_datum(value));
    query::ResultSet result;
    return bank_->engine().execute(sql, arguments, &result);
  }

  Bank* const bank_;
  std::mt19937_64 random_;
};

class StressTest : public testing::TestWithParam<uint32_t> {};

TEST_P(StressTest, SumStaysWhateverRuns) {
  uint64_t seed = test_seed();
  EngineOptions options = Bank::small_options();
  options.workers = GetParam();
  if (GetParam() == 4) options.execution = ExecutionMode::kAdaptive;
  Bank bank(options);
  Statements statements(&bank);
  std::vector<std::thread> threads;
  std::atomic<bool> is_over{false};
  for (uint64_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] { Client(&bank, statements, seed + i).run(200); });
  }
  for (uint64_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      Guest guest(&bank, seed + 100 + i);
      for (int j = 0; j < 2000; ++j) EXPECT_TRUE(guest.run_one());
    });
  }
  // DDL and exclusive work in between
  std::thread definer([&] {
    for (int i = 0; !is_over; ++i) {
      EXPECT_TRUE(bank.run(i % 2 == 0 ? "CREATE TABLE side (a integer)" : "DROP TABLE side").ok());
      EXPECT_EQ(bank.engine().tables().size(), i % 2 == 0 ? 5u : 4u);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  for (auto& thread : threads) thread.join();
  is_over = true;
  definer.join();
  EXPECT_EQ(bank.value_of("SELECT sum(balance)::bigint FROM accounts"), kTotalBalance);
  EXPECT_EQ(bank.value_of("SELECT count(*) FROM accounts"), Bank::kBranches * Bank::kAccounts);
  bank.check_tables();
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  // compaction's own work comes and goes
  while (bank.engine().queue_depth() != 0 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_LT(std::chrono::steady_clock::now(), until);
  EXPECT_GT(bank.engine().counters().misclassified.load(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Workers, StressTest, testing::Values(1, 2, 4));

// Guests and nobody else: no worker is awake, and those who wait for one another are woken.
TEST_P(StressTest, GuestsAlone) {
  const uint64_t seed = test_seed();
  EngineOptions options = Bank::small_options();
  options.workers = GetParam();
  Bank bank(options);
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Guest guest(&bank, seed + i);
      for (int j = 0; j < 3000; ++j) ASSERT_TRUE(guest.run_one());
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(bank.value_of("SELECT sum(balance)::bigint FROM accounts"), kTotalBalance);
  bank.check_tables();
}

// A guest is answered, also by an engine that stops: by its result or by 57P03.
TEST_P(StressTest, StopsUnderGuests) {
  const uint64_t seed = test_seed();
  EngineOptions options = Bank::small_options();
  options.workers = GetParam();
  Bank bank(options);
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Guest guest(&bank, seed + i);
      while (guest.run_one()) ++done;
    });
  }
  while (done < 1000) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  bank.engine().stop_admission();
  for (auto& thread : threads) thread.join();
  bank.stop();
}

// Partition-constrained and crossing transactions both keep being answered while the other kind floods the node.
TEST(StressTest, NeitherSideStarves) {
  Bank bank;
  Statements statements(&bank);
  std::atomic<bool> is_over{false};
  std::atomic<int> constrained{0}, crossing{0};
  auto flood = [&](bool crosses, std::atomic<int>* answered) {
    auto to = [&](int64_t b) -> int64_t { return crosses ? bank.branch_elsewhere(static_cast<int32_t>(b)) : b; };
    std::vector<std::unique_ptr<Call>> calls;
    std::vector<Transaction*> batch;
    for (int64_t i = 0; i < 64; ++i) {
      int64_t b = i % Bank::kBranches;
      calls.push_back(std::make_unique<Call>(statements.move, std::initializer_list<int64_t>{b, 1, to(b), 2, 1}));
      batch.push_back(calls.back().get());
    }
    while (!is_over) {
      for (auto& call : calls) call->completion = std::make_unique<Completion>();
      bank.engine().submit(batch);
      for (auto& call : calls) call->wait();
      *answered += 64;
    }
  };
  std::thread a([&] { flood(false, &constrained); });
  std::thread b([&] { flood(true, &crossing); });
  // who starves gets nothing as long as the others go on
  for (int i = 0; i < 60'000 && (constrained < 640 || crossing < 640); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  is_over = true;
  a.join();
  b.join();
  printf("constrained %d, crossing %d\n", constrained.load(), crossing.load());
  EXPECT_GE(constrained.load(), 640);
  EXPECT_GE(crossing.load(), 640);
}

// Transactions that sleeping workers have to be woken for: a lost wake-up would hang.
TEST(StressTest, NoWakeUpIsLost) {
  uint64_t seed = test_seed();
  Bank bank;
  Statements statements(&bank);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(seed + t);
      for (int i = 0; i < 3000; ++i) {
        auto b = static_cast<int64_t>(random() % Bank::kBranches);
        bool crosses = random() % 4 == 0;
        Call call(statements.move, {b, 1, crosses ? bank.branch_elsewhere(static_cast<int32_t>(b)) : b, 2, 1});
        call.start(&bank.engine());
        call.wait();
        ASSERT_TRUE(call.status.ok());
        if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 50));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

// Stops while submitters go on: each transaction is answered once, by its result or by 57P03.
TEST(StressTest, StopsUnderFullQueues) {
  EngineOptions options = Bank::small_options();
  options.queue_capacity = 64;
  Bank bank(options);
  Statements statements(&bank);
  constexpr int kCalls = 20'000;
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < kCalls; ++i) {
    int64_t b = i % Bank::kBranches;
    calls.push_back(
        std::make_unique<Call>(statements.move, std::initializer_list<int64_t>{b, 1, (b + i / 100) % 16, 2, 1}));
  }
  bool was_stopped = false;
  for (int i = 0; i < kCalls; i += 20) {
    std::vector<Transaction*> batch;
    for (int j = i; j < i + 20; ++j) batch.push_back(calls[static_cast<size_t>(j)].get());
    bank.engine().submit(batch);
    if (i == kCalls / 2) bank.engine().stop_admission();
  }
  bank.stop();
  int done = 0, full = 0, stopped = 0;
  for (auto& call : calls) {
    call->wait();
    if (call->status.ok()) {
      ++done;
    } else if (sqlstate_of(call->status) == "53300") {
      ++full;
    } else {
      ASSERT_EQ(sqlstate_of(call->status), "57P03");
      ++stopped;
    }
    was_stopped |= stopped > 0;
  }
  EXPECT_EQ(done + full + stopped, kCalls);
  EXPECT_TRUE(was_stopped);
  EXPECT_GT(done, 0);
}

}  // namespace
}  // namespace scyper::primary
