#include "transaction_queue.h"

#include <gtest/gtest.h>

#include <thread>

#include "sleeper.h"

namespace scyper::primary {
namespace {

Chain chain_of(std::span<Transaction> transactions) {
  Chain chain;
  for (Transaction& transaction : transactions) chain.add(&transaction);
  return chain;
}

TEST(TransactionQueueTest, FirstInFirstOut) {
  TransactionQueue queue(100);
  std::vector<Transaction> transactions(5);
  EXPECT_TRUE(queue.empty());
  ASSERT_TRUE(queue.push(chain_of(std::span(transactions).first(2))));
  ASSERT_TRUE(queue.push(chain_of(std::span(transactions).subspan(2))));
  Transaction* taken = queue.take_all();
  for (Transaction& transaction : transactions) {
    ASSERT_EQ(taken, &transaction);
    taken = taken->next;
  }
  EXPECT_EQ(taken, nullptr);
  EXPECT_EQ(queue.take_all(), nullptr);
}

TEST(TransactionQueueTest, IsBounded) {
  TransactionQueue queue(10);
  EXPECT_EQ(queue.reserve(7), 7u);
  EXPECT_EQ(queue.reserve(7), 3u);
  EXPECT_EQ(queue.reserve(1), 0u);
  EXPECT_EQ(queue.depth(), 10u);
  queue.finish(4);
  EXPECT_EQ(queue.reserve(9), 4u);
  queue.reserve_always(5);
  EXPECT_EQ(queue.depth(), 15u);
  EXPECT_EQ(queue.reserve(1), 0u);
}

TEST(TransactionQueueTest, Closes) {
  TransactionQueue queue(10);
  std::vector<Transaction> transactions(1);
  ASSERT_TRUE(queue.push(chain_of(transactions)));
  EXPECT_FALSE(queue.try_close());
  EXPECT_EQ(queue.take_all(), &transactions[0]);
  EXPECT_TRUE(queue.try_close());
  EXPECT_TRUE(queue.try_close());
  EXPECT_FALSE(queue.push(chain_of(transactions)));
  EXPECT_EQ(queue.take_all(), nullptr);
}

// Two submitters; the taker sleeps whenever it finds nothing. Each submitter's order is kept and nothing is lost.
TEST(TransactionQueueTest, ManySubmitters) {
  constexpr size_t kEach = 20'000;
  constexpr size_t kBatch = 8;
  TransactionQueue queue(UINT32_MAX);
  Sleeper sleeper;
  std::vector<std::vector<Transaction>> transactions(2);
  for (auto& own : transactions) own = std::vector<Transaction>(kEach);
  std::vector<std::thread> submitters;
  for (size_t t = 0; t < 2; ++t) {
    submitters.emplace_back([&, t] {
      for (size_t i = 0; i < kEach; ++i) {
        transactions[t][i].partition = static_cast<uint32_t>(t);
        transactions[t][i].request_id = i;
      }
      for (size_t i = 0; i < kEach; i += kBatch) {
        ASSERT_TRUE(queue.push(chain_of(std::span(transactions[t]).subspan(i, kBatch))));
        sleeper.wake();
      }
    });
  }
  uint64_t next[2] = {0, 0};
  for (size_t taken = 0; taken < 2 * kEach;) {
    Transaction* transaction = queue.take_all();
    if (transaction == nullptr) {
      sleeper.prepare();
      if (queue.empty()) {
        sleeper.sleep();
      } else {
        sleeper.cancel();
      }
    }
    for (; transaction != nullptr; transaction = transaction->next) {
      ASSERT_EQ(transaction->request_id, next[transaction->partition]++);
      ++taken;
    }
  }
  for (auto& submitter : submitters) submitter.join();
}

TEST(SleeperTest, CompletionIsSeenOnce) {
  for (int i = 0; i < 2000; ++i) {
    auto completion = std::make_unique<Completion>();
    std::thread signaller;
    if (i % 2 == 0) {
      Completion* waited = completion.get();
      signaller = std::thread([waited] { waited->signal(); });
    } else {
      completion->signal();
    }
    completion->wait();
    if (signaller.joinable()) signaller.join();
  }
}

}  // namespace
}  // namespace scyper::primary
