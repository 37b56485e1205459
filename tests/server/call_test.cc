// Client::call(): by RPCs and by the streams that it keeps.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "server_fixture.h"

namespace scyper::server {
namespace {

class CallTest : public ServerTest {
 protected:
  void begin(const client::ConnectOptions& given = {}) {
    if (server == nullptr) start();
    client::ConnectOptions to = given;
    to.target = target();
    to.connect_timeout_ms = 60'000;
    auto connected = client::Client::connect(to);
    ASSERT_TRUE(connected.ok()) << connected.status();
    client = *std::move(connected);
    auto prepared = client->prepare("CALL add($1, $2)");
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    add = *prepared;
  }

  // The sum by the node, or -1.
  int64_t sum(int64_t a, int64_t b, Status* status) {
    query::ResultSet result;
    const Datum arguments[] = {int_datum(a), int_datum(b)};
    *status = client->call(*add, arguments, &result);
    return status->ok() && result.row_count() == 1 ? result.value(0, 0).lo : -1;
  }
  void expect_sum(int64_t a, int64_t b) {
    Status status;
    EXPECT_EQ(sum(a, b, &status), a + b) << status;
  }

  std::unique_ptr<client::Client> client;
  std::shared_ptr<const client::Prepared> add;
};

TEST_F(CallTest, KeepsAStreamFromTheSecondCallOn) {
  begin();
  for (int i = 0; i < 10; ++i) expect_sum(i, 1);
  EXPECT_EQ(metric("scyper_server_unary_calls_total"), 1);
  EXPECT_EQ(metric("scyper_server_streams_opened_total"), 1);

  // an error is the call's alone
  auto fail = client->prepare("CALL fail($1)");
  ASSERT_TRUE(fail.ok());
  const Datum state[] = {string_datum("23505", 5)};
  query::ResultSet result;
  const Status status = client->call(**fail, state, &result);
  EXPECT_EQ(sqlstate_of(status), "23505");
  EXPECT_EQ(detail_of(status), "the detail");
  EXPECT_EQ(hint_of(status), "the hint");
  EXPECT_EQ(position_of(status), 3);
  expect_sum(1, 2);
  EXPECT_EQ(metric("scyper_server_streams_opened_total"), 1);

  client.reset();
  wait_until([&] { return metric("scyper_server_streams_open") == 0; }, "the stream is still open");
  EXPECT_EQ(metric("scyper_server_streams_broken_total"), 0);
}

TEST_F(CallTest, RpcsOnlyWhereStreamsAreNotWanted) {
  client::ConnectOptions to;
  to.keeps_streams = false;
  begin(to);
  for (int i = 0; i < 3; ++i) expect_sum(i, 1);
  EXPECT_EQ(metric("scyper_server_unary_calls_total"), 3);
  EXPECT_EQ(metric("scyper_server_streams_opened_total"), 0);
}

TEST_F(CallTest, ManyThreadsShareAClient) {
  begin();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 24; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        Status status;
        if (sum(t, i, &status) != t + i) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(metric("scyper_server_streams_opened_total"), 16);
}

TEST_F(CallTest, AClientThatLosesPatienceCallsOn) {
  begin();
  for (int i = 0; i < 3; ++i) expect_sum(i, 1);
  client::ConnectOptions to;
  to.target = target();
  to.connect_timeout_ms = 60'000;
  to.call_timeout_ms = 300;
  auto connected = client::Client::connect(to);
  ASSERT_TRUE(connected.ok()) << connected.status();
  client = *std::move(connected);  // what the first one has prepared is the node's
  engine.hold();
  for (int i = 0; i < 2; ++i) {  // an RPC and a stream
    Status status;
    EXPECT_EQ(sum(1, 1, &status), -1);
    EXPECT_EQ(sqlstate_of(status), "57014") << status;
  }
  engine.release();
  Status status;
  wait_until([&] { return sum(2, 2, &status) == 4; }, "no call is answered");
}

TEST_F(CallTest, ANodeThatHasNoRoomForStreamsAnswersRpcs) {
  options.streams_max = 1;
  start();
  auto other = connect();
  auto prepared = other->prepare("CALL add($1, $2)");
  auto stream = other->open_stream();
  ASSERT_TRUE(prepared.ok() && stream.ok());
  const Datum arguments[] = {int_datum(1), int_datum(1)};
  (*stream)->add(**prepared, arguments, 1);
  ASSERT_TRUE((*stream)->send().ok());
  ASSERT_TRUE((*stream)->receive([](const client::StreamResult&) {}).ok());
  begin();
  for (int i = 0; i < 4; ++i) expect_sum(i, 1);
  EXPECT_EQ(metric("scyper_server_unary_calls_total"), 4);
}

TEST_F(CallTest, GoesOnWithANodeThatHasBegunAnew) {
  begin();
  for (int i = 0; i < 3; ++i) expect_sum(i, 1);
  options.listen = target();
  server->stop();
  Status status;
  EXPECT_EQ(sum(1, 1, &status), -1);
  EXPECT_TRUE(sqlstate_of(status) == "57P01" || sqlstate_of(status) == "08006") << status;
  server.reset();
  start();
  wait_until([&] { return sum(2, 3, &status) == 5; }, "no call is answered");
  expect_sum(3, 4);
}

}  // namespace
}  // namespace scyper::server
