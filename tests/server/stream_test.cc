// Transaction streams over loopback.

#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "server_fixture.h"

namespace scyper::server {
namespace {

using client::StreamResult;

class StreamTest : public ServerTest {
 protected:
  void open() {
    start();
    client = connect();
    ASSERT_NE(client, nullptr);
    auto prepared = client->prepare("CALL add($1, $2)");
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    add = *prepared;
    auto opened = client->open_stream();
    ASSERT_TRUE(opened.ok());
    stream = *std::move(opened);
  }
  void call_add(int64_t a, int64_t b, uint64_t id, uint32_t timeout_ms = 0) {
    Datum arguments[] = {int_datum(a), int_datum(b)};
    stream->add(*add, arguments, id, timeout_ms);
  }
  // Receives until `count` results came; by request id: the sum, or the SQLSTATE of a failed one.
  std::map<uint64_t, std::string> receive(size_t count) {
    std::map<uint64_t, std::string> results;
    while (results.size() < count) {
      Status status = stream->receive([&](const StreamResult& result) {
        query::ResultSet rows;
        Status decoded = result.decode_rows(*add, &rows);
        results[result.request_id] = decoded.ok() ? std::to_string(rows.value(0, 0).lo) : sqlstate_of(decoded);
      });
      if (!status.ok()) {
        ADD_FAILURE() << status;
        break;
      }
    }
    return results;
  }

  std::unique_ptr<client::Client> client;
  std::shared_ptr<const client::Prepared> add;
  std::unique_ptr<client::Stream> stream;
};

TEST_F(StreamTest, AnswersBatchesByRequestId) {
  open();
  for (uint64_t id = 0; id < 1000; ++id) {
    call_add(static_cast<int64_t>(id), 1000, id + 7);
    if (id % 64 == 63) ASSERT_TRUE(stream->send().ok());
  }
  ASSERT_TRUE(stream->send().ok());
  stream->close_sending();
  auto results = receive(1000);
  for (uint64_t id = 0; id < 1000; ++id) EXPECT_EQ(results[id + 7], std::to_string(id + 1000));
  EXPECT_EQ(stream->receive([](const StreamResult&) { FAIL(); }).code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(stream->finish().ok());
  EXPECT_EQ(metric("scyper_server_calls_total"), 1000);
  EXPECT_EQ(metric("scyper_server_calls_open"), 0);
}

TEST_F(StreamTest, ErrorsBelongToTheirCalls) {
  open();
  call_add(2'000'000'000, 2'000'000'000, 1);
  call_add(1, 1, 2);
  client::Prepared unknown = *add;
  unknown.id = 12345;
  Datum arguments[] = {int_datum(1), int_datum(2)};
  stream->add(unknown, arguments, 3);
  client::Prepared wrong = *add;  // more bytes than the statement's parameters take
  wrong.parameters.push_back(make_type(TypeId::kInt8));
  Datum three[] = {int_datum(1), int_datum(2), int_datum(3)};
  stream->add(wrong, three, 4);
  client::Prepared narrow = *add;  // fewer
  narrow.parameters.pop_back();
  stream->add(narrow, {arguments, 1}, 5);
  ASSERT_TRUE(stream->send().ok());
  std::map<uint64_t, std::string> expected = {{1, "22003"}, {2, "2"}, {3, "26000"}, {4, "08P01"}, {5, "08P01"}};
  EXPECT_EQ(receive(5), expected);
}

TEST_F(StreamTest, ErrorsHaveAllFields) {
  open();
  auto fail = client->prepare("CALL fail($1)");
  ASSERT_TRUE(fail.ok());
  Datum state = string_datum("40001", 5);
  stream->add(**fail, {&state, 1}, 9);
  ASSERT_TRUE(stream->send().ok());
  Status status;
  ASSERT_TRUE(stream->receive([&](const StreamResult& result) { status = result.status(); }).ok());
  EXPECT_EQ(sqlstate_of(status), "40001");
  EXPECT_EQ(status.message(), "failed as asked");
  EXPECT_EQ(detail_of(status), "the detail");
  EXPECT_EQ(hint_of(status), "the hint");
  EXPECT_EQ(position_of(status), 3);
  EXPECT_EQ(client::retry_after_ms_of(status), 1u);
}

TEST_F(StreamTest, AFullQueueRefusesSingleCallsWithARetryHint) {
  engine.queue_capacity = 10;
  open();
  engine.hold();
  for (uint64_t id = 0; id < 30; ++id) call_add(1, 1, id);
  ASSERT_TRUE(stream->send().ok());
  size_t refused = 0, received = 0;
  auto handler = [&](const StreamResult& result) {
    ++received;
    if (!result.failed) return;
    ++refused;
    EXPECT_EQ(sqlstate_of(result.status()), "53300");
    EXPECT_GT(client::retry_after_ms_of(result.status()), 0u);
  };
  while (received < 20) ASSERT_TRUE(stream->receive(handler).ok());  // the refused ones come while the rest waits
  EXPECT_EQ(refused, 20u);
  engine.release();
  while (received < 30) ASSERT_TRUE(stream->receive(handler).ok());
  EXPECT_EQ(refused, 20u);
}

TEST_F(StreamTest, SlowCallsDoNotHoldBackTheirBatch) {
  open();
  auto slow = client->prepare("CALL slow()");
  ASSERT_TRUE(slow.ok());
  stream->add(**slow, {}, 1);
  for (uint64_t id = 2; id < 10; ++id) call_add(1, 1, id);
  ASSERT_TRUE(stream->send().ok());
  auto fast = receive(8);
  EXPECT_FALSE(fast.contains(1));
  engine.open_slow();
  ASSERT_TRUE(stream->receive([](const StreamResult& result) { EXPECT_EQ(result.request_id, 1u); }).ok());
}

TEST_F(StreamTest, StopsReadingWhenTooMuchIsUnanswered) {
  options.stream_calls_max = 100;
  open();
  engine.hold();
  constexpr uint64_t kCalls = 200'000;  // far more than the connection buffers
  std::thread sender([&] {
    for (uint64_t id = 0; id < kCalls; ++id) {
      call_add(1, 1, id);
      if (stream->pending() == 50) EXPECT_TRUE(stream->send().ok());
    }
    stream->close_sending();
  });
  wait_until([&] { return metric("scyper_server_reads_paused_total") > 0; }, "never paused");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(engine.queue_depth(), 150u);
  engine.release();
  std::set<uint64_t> ids;
  while (ids.size() < kCalls) {
    ASSERT_TRUE(stream->receive([&](const StreamResult& result) { ids.insert(result.request_id); }).ok());
  }
  sender.join();
  EXPECT_TRUE(stream->finish().ok());
}

TEST_F(StreamTest, AClientThatGoesAwayLeavesNothing) {
  open();
  engine.hold();
  for (uint64_t id = 0; id < 100; ++id) call_add(1, 1, id);
  ASSERT_TRUE(stream->send().ok());
  wait_until([&] { return engine.queue_depth() == 100; }, "calls did not arrive");
  stream.reset();  // cancels
  client.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(metric("scyper_server_streams_open"), 1);  // its calls are still running
  engine.release();
  wait_until([&] { return metric("scyper_server_streams_open") == 0; }, "the session is still there");
  EXPECT_EQ(engine.executed(), 100u);
  EXPECT_EQ(metric("scyper_server_calls_open"), 0);
  auto other = connect();
  query::ResultSet result;
  Datum arguments[] = {int_datum(3), int_datum(4)};
  EXPECT_TRUE(other->call(*add, arguments, &result).ok());
  EXPECT_EQ(result.value(0, 0).lo, 7);
}

TEST_F(StreamTest, DeadlinesReachTheEngine) {
  open();
  engine.hold();
  call_add(1, 1, 1, /*timeout_ms=*/1);
  call_add(2, 2, 2, /*timeout_ms=*/60'000);
  ASSERT_TRUE(stream->send().ok());
  wait_until([&] { return engine.queue_depth() == 2; }, "calls did not arrive");
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  engine.release();
  std::map<uint64_t, std::string> expected = {{1, "57014"}, {2, "4"}};
  EXPECT_EQ(receive(2), expected);
}

TEST_F(StreamTest, AMessageOverTheLimitEndsTheStreamOnly) {
  options.message_bytes_max = 10'000;
  open();
  for (uint64_t id = 0; id < 2000; ++id) call_add(1, 1, id);
  static_cast<void>(stream->send());
  EXPECT_EQ(sqlstate_of(stream->finish()), "54000");
  wait_until([&] { return metric("scyper_server_streams_open") == 0; }, "the session is still there");
  EXPECT_EQ(engine.executed(), 0u);
  EXPECT_NE(connect()->prepare("CALL slow()").status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(StreamTest, TooManyCallsInAMessageEndTheStream) {
  options.batch_calls_max = 10;
  open();
  for (uint64_t id = 0; id < 11; ++id) call_add(1, 1, id);
  ASSERT_TRUE(stream->send().ok());
  EXPECT_EQ(sqlstate_of(stream->finish()), "54000");
  EXPECT_EQ(engine.executed(), 0u);
}

TEST_F(StreamTest, StopFinishesWhatWasAccepted) {
  open();
  engine.hold();
  for (uint64_t id = 0; id < 50; ++id) call_add(1, 1, id);
  ASSERT_TRUE(stream->send().ok());
  wait_until([&] { return engine.queue_depth() == 50; }, "calls did not arrive");
  std::thread stopper([&] { server->stop(); });
  wait_until([&] { return client->status()->stopping; }, "not stopping");  // the node still answers
  query::ResultSet result;
  Datum arguments[] = {int_datum(1), int_datum(1)};
  Status refused = client->call(*add, arguments, &result);
  EXPECT_EQ(sqlstate_of(refused), "57P01") << refused;
  engine.release();
  EXPECT_EQ(receive(50).size(), 50u);
  EXPECT_EQ(sqlstate_of(stream->finish()), "57P01");
  stopper.join();
  EXPECT_EQ(metric("scyper_server_streams_open"), 0);
}

TEST_F(StreamTest, ManyStreamsAtOnce) {
  options.grpc_threads = 2;
  open();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      auto mine = connect();
      auto opened = *mine->open_stream();
      uint64_t sum = 0;
      for (int round = 0; round < 50; ++round) {
        for (uint64_t id = 0; id < 16; ++id) {
          Datum arguments[] = {int_datum(round), int_datum(static_cast<int64_t>(id))};
          opened->add(*add, arguments, id);
        }
        ASSERT_TRUE(opened->send().ok());
        for (size_t received = 0; received < 16;) {
          ASSERT_TRUE(opened
                          ->receive([&](const StreamResult& result) {
                            ++received;
                            sum += result.request_id;
                          })
                          .ok());
        }
      }
      EXPECT_EQ(sum, 50u * 120u);
    });
  }
  for (std::thread& thread : threads) thread.join();
  wait_until([&] { return metric("scyper_server_streams_open") == 1; }, "sessions are left");
}

}  // namespace
}  // namespace scyper::server
