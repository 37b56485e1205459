#include "replay/request_window.h"
#include "base/test_seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
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
    const auto role = static_cast<uint32_t>(10 + client % 3);
    all.push_back(
        {{client + 1, next[client]++, role}, {lsn, (*random)() % 5, true, std::string((*random)() % 50, 'x')}});
    all.back().outcome.fingerprint = 1 + (*random)() % 3;
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
      const auto answer = in_order.find(one.key, one.outcome.fingerprint, &found);
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
  EXPECT_EQ(window.find({1000 + clients, 5}, 0, &known), RequestWindow::Answer::kCommitted);
  EXPECT_EQ(window.find({1000 + clients, 6}, 0, &known), RequestWindow::Answer::kNew);
  EXPECT_EQ(window.find({1000 + clients - 1, 5}, 0, &known), RequestWindow::Answer::kForgotten);
  EXPECT_EQ(window.find({1000 + clients - 1, 6}, 0, &known), RequestWindow::Answer::kNew);
  EXPECT_EQ(window.find({1001, 6}, 0, &known), RequestWindow::Answer::kForgotten);  // the client is not known any more
  EXPECT_EQ(window.find({1000 + clients + 1, 1}, 0, &known), RequestWindow::Answer::kNew);
}

// One role's requests decide nothing about another's, whatever ids they have.
TEST(RequestWindowTest, RolesHaveWindowsOfTheirOwn) {
  constexpr uint64_t kHighest = ~uint64_t{0};
  RequestWindow window(1);
  RequestWindow::Outcome known;
  uint64_t lsn = 0;
  window.finish({7, 1, 11}, {++lsn, 1, true, "secret"});
  EXPECT_EQ(window.find({7, 1, 12}, 0, &known), RequestWindow::Answer::kNew);
  EXPECT_TRUE(known.rows.empty());
  const uint64_t clients = RequestWindow::kIdleClientsMax + 10;
  for (uint64_t i = 0; i <= clients; ++i) window.finish({kHighest - i, kHighest, 12}, {++lsn, 0, true, ""});
  EXPECT_EQ(window.find({500, 1, 12}, 0, &known), RequestWindow::Answer::kForgotten);
  EXPECT_EQ(window.find({500, 1, 11}, 0, &known), RequestWindow::Answer::kNew);
  EXPECT_EQ(window.find({7, 1, 11}, 0, &known), RequestWindow::Answer::kForgotten);
  EXPECT_EQ(window.find({7, 2, 11}, 0, &known), RequestWindow::Answer::kNew);
}

TEST(RequestWindowTest, AnotherRequestGetsNoAnswer) {
  RequestWindow window(10);
  RequestWindow::Outcome outcome{1, 1, true, "rows"}, known;
  outcome.fingerprint = 5;
  window.finish({7, 1, 11}, outcome);
  EXPECT_EQ(window.find({7, 1, 11}, 6, &known), RequestWindow::Answer::kAnother);
  EXPECT_TRUE(known.rows.empty());
  EXPECT_EQ(window.find({7, 1, 11}, 5, &known), RequestWindow::Answer::kCommitted);
  EXPECT_EQ(known.rows, "rows");
}

// A record or an archive of an older node does not say whose a request was: nobody gets its rows, and nobody repeats
// it.
TEST(RequestWindowTest, OldRecordsAnswerNobody) {
  RedoClient client;
  client.client_id = 7;
  client.row_bytes = 4;
  std::string body(reinterpret_cast<const char*>(&client), offsetof(RedoClient, role_id));
  RecordView record;
  record.header.flags = kRedoHasClient;
  record.header.lsn = 3;
  record.header.request_id = 1;
  body += "rows";
  record.body = body;
  RequestWindow window(10);
  window.finish(record);
  RequestWindow::Outcome known;
  EXPECT_EQ(window.find({7, 1, 11}, 5, &known), RequestWindow::Answer::kForgotten);
  EXPECT_EQ(window.find({7, 2, 11}, 5, &known), RequestWindow::Answer::kNew);
  std::string old;
  const auto put = [&old](auto number) { old.append(reinterpret_cast<const char*>(&number), sizeof(number)); };
  put(uint32_t{2});
  for (uint64_t number : std::initializer_list<uint64_t>{0, 0, 1, 8, 4, 2})
    put(number);  // client 8 has forgotten its requests up to 4
  for (uint64_t number : std::initializer_list<uint64_t>{7, 1, 3, 0}) put(number);
  put(uint32_t{4});
  old += "rows";
  RequestWindow from_archive(10);
  ASSERT_TRUE(from_archive.decode(old).ok());
  EXPECT_EQ(from_archive.find({7, 1, 11}, 5, &known), RequestWindow::Answer::kForgotten);
  EXPECT_EQ(from_archive.find({8, 4, 11}, 5, &known), RequestWindow::Answer::kForgotten);
  EXPECT_EQ(from_archive.find({8, 5, 11}, 5, &known), RequestWindow::Answer::kNew);
}

TEST(RequestWindowTest, RefusesDamagedBytes) {
  RequestWindow window(10);
  window.finish({1, 2}, {3, 4, true, "rows"});
  const std::string bytes = window.encode(~uint64_t{0});
  for (size_t size = 0; size < bytes.size(); ++size) {
    if (size == 36) continue;  // no request at all: whole
    RequestWindow other(10);
    EXPECT_FALSE(other.decode(std::string_view(bytes).substr(0, size)).ok()) << size;
  }
}

}  // namespace
}  // namespace scyper::replay
