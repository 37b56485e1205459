#include "replay/request_window.h"
#include "base/test_seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace scyper::replay {
namespace {

struct Sent {
  RequestWindow::Key key;
  RequestWindow::Outcome outcome;
};

// LSNs grow with request ids within a client, as they do where clients wait for answers.
std::vector<Sent> history(std::mt19937_64* random, size_t size) {
  std::vector<Sent> all;
  std::vector<uint64_t> next(8, 1);
  for (uint64_t lsn = 1; lsn <= size; ++lsn) {
    const uint64_t client = (*random)() % next.size();
    all.push_back({{client + 1, next[client]++}, {lsn, (*random)() % 5, true, std::string((*random)() % 50, 'x')}});
  }
  return all;
}

TEST(RequestWindowTest, IsAFunctionOfTheHistory) {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 50; ++round) {
    std::vector<Sent> all = history(&random, 200);
    RequestWindow in_order(40, 300), shuffled(40, 300);
    for (const Sent& one : all) in_order.finish(one.key, one.outcome);
    std::shuffle(all.begin(), all.end(), random);
    for (const Sent& one : all) shuffled.finish(one.key, one.outcome);
    ASSERT_EQ(in_order.encode(~uint64_t{0}), shuffled.encode(~uint64_t{0}));
    RequestWindow decoded(40, 300);
    ASSERT_TRUE(decoded.decode(in_order.encode(~uint64_t{0})).ok());
    ASSERT_EQ(decoded.encode(~uint64_t{0}), in_order.encode(~uint64_t{0}));
    int known = 0;
    for (const Sent& one : all) {
      RequestWindow::Outcome found;
      const auto answer = in_order.find(one.key, &found);
      ASSERT_NE(answer, RequestWindow::Answer::kNew);
      ASSERT_EQ(answer == RequestWindow::Answer::kCommitted, one.outcome.lsn > 160);
      known += answer == RequestWindow::Answer::kCommitted && found.has_rows && found.rows == one.outcome.rows ? 1 : 0;
    }
    ASSERT_GT(known, 5);
    ASSERT_LT(known, 40);
  }
}

TEST(RequestWindowTest, ForgetsClientsThatRest) {
  RequestWindow window(1);
  const uint64_t clients = RequestWindow::kIdleClientsMax + 10;
  for (uint64_t i = 1; i <= clients; ++i) window.finish({1000 + i, 5}, {i, 0, true, ""});
  RequestWindow::Outcome known;
  EXPECT_EQ(window.find({1000 + clients, 5}, &known), RequestWindow::Answer::kCommitted);
  EXPECT_EQ(window.find({1000 + clients, 6}, &known), RequestWindow::Answer::kNew);
  EXPECT_EQ(window.find({1000 + clients - 1, 5}, &known), RequestWindow::Answer::kForgotten);
  EXPECT_EQ(window.find({1000 + clients - 1, 6}, &known), RequestWindow::Answer::kNew);
  EXPECT_EQ(window.find({1001, 6}, &known), RequestWindow::Answer::kForgotten);  // the client is not known any more
  EXPECT_EQ(window.find({1000 + clients + 1, 1}, &known), RequestWindow::Answer::kNew);
}

TEST(RequestWindowTest, RefusesDamagedBytes) {
  RequestWindow window(10);
  window.finish({1, 2}, {3, 4, true, "rows"});
  const std::string bytes = window.encode(~uint64_t{0});
  for (size_t size = 0; size < bytes.size(); ++size) {
    if (size == 28) continue;  // no request at all: whole
    RequestWindow other(10);
    EXPECT_FALSE(other.decode(std::string_view(bytes).substr(0, size)).ok()) << size;
  }
}

}  // namespace
}  // namespace scyper::replay
