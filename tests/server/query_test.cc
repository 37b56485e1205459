// Queries over gRPC on the real engine: sessions, freshness, receipts, back-pressure, cancellation, caps.

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/text_file.h"
#include "query/error_status.h"
#include "query/queries.h"
#include "query/value_text.h"
#include "real_node.h"
#include "scyper.grpc.pb.h"
#include "server/packed.h"

namespace scyper::server {
namespace {

using client::QueryWish;

constexpr char kEndless[] = "SELECT count(*) FROM big a, big b, big c WHERE a.v + b.v + c.v < 0";

class QueryTest : public RealNodeTest {
 protected:
  void start(primary::EngineOptions options = {}) {
    options.memory_bytes = size_t{256} << 20;
    start_node(options, {});
    run("CREATE TABLE accounts (id integer PRIMARY KEY, balance bigint NOT NULL) PARTITION BY HASH (id);"
        "CREATE TABLE big (id integer PRIMARY KEY, v integer NOT NULL)");
    for (int i = 0; i < 20; ++i) run("INSERT INTO accounts VALUES (" + std::to_string(i) + ", 100)");
    auto load = client_->open_load("big");
    ASSERT_TRUE(load.ok()) << load.status();
    std::vector<Datum> rows;
    for (int i = 0; i < 30'000; ++i) {
      rows.push_back(int_datum(i));
      rows.push_back(int_datum(i % 100));
    }
    ASSERT_TRUE((*load)->load(rows).ok());
  }

  struct Answer {
    Status status;
    int64_t number = -1;
    size_t rows = 0;
    bool has_receipt = false;
    query::Receipt receipt;
  };
  Answer ask(std::string_view sql, const QueryWish& wish = {}) {
    Answer answer;
    answer.status = client_->query(sql, wish, [&](const query::ResultSet& result, const query::Receipt* receipt) {
      answer.rows = result.row_count();
      if (result.row_count() > 0) answer.number = result.value(0, 0).lo;
      answer.has_receipt = receipt != nullptr;
      if (receipt != nullptr) answer.receipt = *receipt;
    });
    return answer;
  }
};

TEST_F(QueryTest, AnswersCarryReceipts) {
  start();
  Answer answer = ask("SELECT sum(balance)::bigint FROM accounts");
  ASSERT_TRUE(answer.status.ok()) << answer.status;
  EXPECT_EQ(answer.number, 2000);
  ASSERT_TRUE(answer.has_receipt);
  EXPECT_EQ(answer.receipt.node, "test-node");
  EXPECT_GT(answer.receipt.lsn, 0u);
  EXPECT_GT(answer.receipt.snapshot, 0u);
  EXPECT_GE(answer.receipt.age_ms, 0);
  // scripts mix both kinds; what writes is a transaction
  Answer script =
      ask("UPDATE accounts SET balance = balance + 1 WHERE id = 3; SELECT sum(balance)::bigint FROM accounts");
  ASSERT_TRUE(script.status.ok()) << script.status;
  EXPECT_EQ(script.number, 2001);
  EXPECT_GT(script.receipt.lsn, answer.receipt.lsn);
  EXPECT_FALSE(ask("UPDATE accounts SET balance = balance - 1 WHERE id = 3").has_receipt);
  EXPECT_EQ(sqlstate_of(ask("SELECT 1 / 0").status), "22012");
  EXPECT_EQ(sqlstate_of(ask("SELECT nothing FROM accounts").status), "42703");
  EXPECT_EQ(ask("EXPLAIN (COMPILED) SELECT 1").rows > 0, true);
}

// What /proc says of this process's children of that name.
std::vector<std::string> statuses_of_children(const std::string& name) {
  std::vector<std::string> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(task.path() / "children");
    for (int pid; children >> pid;) {
      const auto status = read_text_file("/proc/" + std::to_string(pid) + "/status");
      if (status.ok() && status->find("Name:\t" + name + "\n") == 0) found.push_back(*status);
    }
  }
  return found;
}

TEST_F(QueryTest, SnapshotsAreConfined) {
  const int nameless = ::open(testing::TempDir().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (nameless < 0) GTEST_SKIP() << "the file system has no files without a name: children keep all calls";
  ::close(nameless);
  start();
  QueryWish pinned;
  auto session = client_->open_session({}, nullptr);
  ASSERT_TRUE(session.ok()) << session.status();
  pinned.session = *session;
  EXPECT_EQ(ask("SELECT count(*) FROM accounts", pinned).number, 20);
  const auto statuses = statuses_of_children("scyper-snapshot");
  ASSERT_FALSE(statuses.empty());
  for (const std::string& status : statuses) {
    EXPECT_NE(status.find("NoNewPrivs:\t1"), std::string::npos) << status;
    EXPECT_NE(status.find("Seccomp:\t2"), std::string::npos) << status;
  }
  // which read no file for it
  run("CREATE TABLE zones (name text PRIMARY KEY); INSERT INTO zones VALUES ('Asia/Tokyo'), "
      "('posix/America/New_York')");
  EXPECT_EQ(ask("SELECT count(*) FROM zones WHERE timestamptz '2026-01-01 00:00+00' AT TIME ZONE name <> '2026-01-01'")
                .number,
            2);
}

TEST_F(QueryTest, SessionsPinTheirSnapshot) {
  start();
  query::Receipt receipt;
  auto session = client_->open_session({}, &receipt);
  ASSERT_TRUE(session.ok()) << session.status();
  QueryWish pinned;
  pinned.session = *session;
  run("UPDATE accounts SET balance = 0 WHERE id = 1");
  Answer old = ask("SELECT sum(balance)::bigint FROM accounts", pinned);
  EXPECT_EQ(old.number, 2000);
  EXPECT_EQ(old.receipt.lsn, receipt.lsn);
  EXPECT_EQ(ask("SELECT sum(balance)::bigint FROM accounts").number, 1900);
  QueryWish at_least;
  at_least.freshness.kind = query::Freshness::Kind::kAtLeast;
  at_least.freshness.lsn = receipt.lsn + 1;
  EXPECT_EQ(ask("SELECT sum(balance)::bigint FROM accounts", at_least).number, 1900);
  EXPECT_TRUE(client_->close_session(*session).ok());
  EXPECT_EQ(sqlstate_of(ask("SELECT 1", pinned).status), "25P03");
  EXPECT_EQ(sqlstate_of(client_->close_session(*session)), "25P03");
}

TEST_F(QueryTest, PreparedQueriesTakeArguments) {
  start();
  auto prepared = client_->prepare_query("SELECT balance + $2::bigint FROM accounts WHERE id = $1::integer");
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  ASSERT_EQ((*prepared)->parameters.size(), 2u);
  for (int i = 0; i < 30; ++i) {
    Datum arguments[] = {int_datum(i % 20), int_datum(i)};
    int64_t got = -1;
    Status status = client_->query(**prepared, arguments, {}, [&](const query::ResultSet& result, const auto* receipt) {
      got = result.value(0, 0).lo;
      EXPECT_NE(receipt, nullptr);
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(got, 100 + i);
  }
  EXPECT_EQ(sqlstate_of(client_->prepare_query("DELETE FROM accounts").status()), "0A000");
}

// More than all windows on the way hold; the reader sleeps, the node waits and goes on serving others.
// Values of more than 8 bytes, and those that are texts inside, reach the snapshot's process whole.
TEST_F(QueryTest, ArgumentsOfAllTypesArriveWhole) {
  start();
  constexpr std::pair<const char*, const char*> kValues[] = {
      {"uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
      {"interval", "1 year 2 mons 3 days 04:05:06.789"},
      {"bytea", "\\x00ff10"},
      {"jsonb", "{\"a\": [1, 2, null]}"},
      {"numeric", "12345678901234567890.123456789"},
      {"text[]", "{a,NULL,c}"},
      {"uuid[]", "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,NULL}"},
  };
  for (const auto& [type, text] : kValues) {
    v1::ExecuteRequest request;
    request.set_sql(std::string("SELECT ($1::") + type + ")::text");
    request.mutable_query()->mutable_freshness()->set_fresh(true);
    query::ValueArena memory;
    Datum value;
    SqlType sql_type = make_type(TypeId::kText);
    for (uint8_t id = 1; id <= static_cast<uint8_t>(TypeId::kJsonb); ++id) {
      const SqlType scalar = make_type(static_cast<TypeId>(id));
      if (type_name(scalar) == type) sql_type = scalar;
      if (is_storable(scalar.id) && type_name(scalar) + "[]" == type) sql_type = make_array(scalar);
    }
    ASSERT_TRUE(query::parse_value(sql_type, text, &memory, &value).ok()) << type;
    append_row({{sql_type}}, &value, request.mutable_packed_arguments());
    grpc::ClientContext context;
    auto reader = v1::Queries::NewStub(channel())->Execute(&context, request);
    v1::ExecuteResponse response;
    std::string answer;
    while (reader->Read(&response)) {
      if (response.has_rows()) answer = response.rows().rows(0).values(0).text();
    }
    const grpc::Status status = reader->Finish();
    EXPECT_TRUE(status.ok()) << type << ": " << status.error_message();
    EXPECT_EQ(answer, text) << type;
  }
}

TEST_F(QueryTest, SlowReadersHoldNobodyUp) {
  start();
  class Slow final : public client::QueryHandler {
   public:
    void on_rows(const query::ResultSet& rows) override {
      count += rows.row_count();
      if (batches++ < 10) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    size_t count = 0;
    std::atomic<int> batches{0};
  } slow;
  std::thread reader([&] {
    auto own = connect();
    Status status =
        own->stream_query("SELECT a.id, b.id, 'some text that takes room' FROM big a, accounts b", {}, &slow);
    EXPECT_TRUE(status.ok()) << status;
  });
  while (slow.batches == 0) std::this_thread::yield();
  EXPECT_EQ(ask("SELECT count(*) FROM accounts").number, 20);
  reader.join();
  EXPECT_EQ(slow.count, 30'000u * 20);
}

TEST_F(QueryTest, TimeoutAndCancellation) {
  start();
  QueryWish wish;
  wish.timeout_ms = 50;
  EXPECT_EQ(sqlstate_of(ask(kEndless, wish).status), "57014");
  // a client that goes away: its query ends, and so gives back its place
  for (int i = 0; i < 4; ++i) {
    class Leaving final : public client::QueryHandler {
     public:
      void on_rows(const query::ResultSet&) override {}
    } leaving;
    auto own = connect();
    QueryWish short_wish;
    short_wish.timeout_ms = 100;
    EXPECT_EQ(sqlstate_of(own->stream_query(kEndless, short_wish, &leaving)), "57014");
  }
  EXPECT_EQ(ask("SELECT count(*) FROM accounts").number, 20);
}

// The limit on run time is an hour: what ends sooner was ended by its client.
TEST_F(QueryTest, TransactionsEndWithTheirClients) {
  primary::EngineOptions options;
  options.transaction_time_us_max = 3'600'000'000;
  start(options);
  auto channel = this->channel();
  const char loop[] = "DO $$ BEGIN UPDATE accounts SET balance = 7 WHERE id = 1; LOOP NULL; END LOOP; END $$";
  const uint64_t undone = engine_->counters().rolled_back;
  auto wait_for_end = [&](uint64_t count) {
    for (int i = 0; i < 60'000 && engine_->counters().rolled_back < undone + count; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(engine_->counters().rolled_back, undone + count);
  };
  auto until = [](int ms) { return std::chrono::system_clock::now() + std::chrono::milliseconds(ms); };
  auto execute = [&](grpc::ClientContext* context, const char* sql) {
    v1::ExecuteRequest request;
    request.set_sql(sql);
    v1::ExecuteResponse response;
    auto reader = v1::Queries::NewStub(channel)->Execute(context, request);
    while (reader->Read(&response)) {
    }
    return reader->Finish().error_code();
  };
  {
    grpc::ClientContext context;
    context.set_deadline(until(1000));  // by then it has begun
    EXPECT_EQ(execute(&context, loop), grpc::StatusCode::DEADLINE_EXCEEDED);
    wait_for_end(1);
  }
  {
    grpc::ClientContext context;
    std::thread leaver([&] {
      wait_for_a_transaction();
      context.TryCancel();
    });
    // the statement after the one that runs does not begin
    EXPECT_EQ(execute(&context, (std::string(loop) + "; UPDATE accounts SET balance = 8 WHERE id = 2").c_str()),
              grpc::StatusCode::CANCELLED);
    leaver.join();
    wait_for_end(2);
  }
  {
    grpc::ClientContext context;
    v1::CallRequest request;
    request.mutable_call()->set_sql(loop);
    v1::CallResponse response;
    std::thread leaver([&] {
      wait_for_a_transaction();
      context.TryCancel();
    });
    EXPECT_EQ(v1::Transactions::NewStub(channel)->Call(&context, request, &response).error_code(),
              grpc::StatusCode::CANCELLED);
    leaver.join();
    wait_for_end(3);
  }
  EXPECT_EQ(ask("SELECT sum(balance)::bigint FROM accounts").number, 2000);
}

TEST_F(QueryTest, ACallThatIsSentAgainIsNotRepeated) {
  start();
  auto channel = this->channel();
  auto stub = v1::Transactions::NewStub(channel);
  std::string rows;
  for (int i = 0; i < 2; ++i) {
    grpc::ClientContext context;
    v1::CallRequest request;
    request.mutable_call()->set_client_id(77);
    request.mutable_call()->set_request_id(1);
    request.mutable_call()->set_sql("UPDATE accounts SET balance = balance + 1 WHERE id = 1 RETURNING balance");
    v1::CallResponse response;
    ASSERT_TRUE(stub->Call(&context, request, &response).ok());
    EXPECT_EQ(response.result().rows(0).values(0).integer(), 101);
  }
  EXPECT_EQ(ask("SELECT sum(balance)::bigint FROM accounts").number, 2001);
}

TEST_F(QueryTest, ClientsCancelTheirQueries) {
  start();
  for (const char* sql : {kEndless, "DO $$ BEGIN LOOP END LOOP; END $$"}) {
    std::atomic<bool> is_over{false};
    std::thread canceller([&] {
      while (!is_over) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        client_->cancel();
      }
    });
    EXPECT_EQ(sqlstate_of(ask(sql).status), "57014") << sql;
    is_over = true;
    canceller.join();
  }
  EXPECT_EQ(ask("SELECT count(*) FROM accounts").number, 20);
}

TEST_F(QueryTest, CopyTakesTextInPieces) {
  start();
  auto copy = client_->open_copy("COPY accounts FROM STDIN");
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ((*copy)->column_count(), 2u);
  std::string text;
  for (int i = 100; i < 40'100; ++i) text += std::to_string(i) + "\t1\n";
  ASSERT_TRUE((*copy)->write(text.substr(0, 3)).ok());
  ASSERT_TRUE((*copy)->write(text.substr(3)).ok());
  EXPECT_EQ(ask("SELECT count(*) FROM accounts").number, 20);
  query::ResultSet result;
  ASSERT_TRUE((*copy)->finish(&result).ok());
  EXPECT_EQ(result.command_tag, "COPY 40000");
  EXPECT_EQ(ask("SELECT count(*) FROM accounts").number, 40'020);
}

TEST_F(QueryTest, CopiesThatDoNotEndHaveNotHappened) {
  start();
  EXPECT_EQ(sqlstate_of(client_->open_copy("COPY nothing FROM STDIN").status()), "42P01");
  EXPECT_EQ(sqlstate_of(client_->open_copy("SELECT 1").status()), "42601");
  query::ResultSet result;
  {
    auto left = client_->open_copy("COPY accounts FROM STDIN");
    ASSERT_TRUE(left.ok() && (*left)->write(std::string(200'000, '1')).ok());
  }
  {
    auto cancelled = client_->open_copy("COPY accounts FROM STDIN");
    ASSERT_TRUE(cancelled.ok() && (*cancelled)->write("1000\t1\n").ok());
    client_->cancel();
    EXPECT_EQ(sqlstate_of((*cancelled)->finish(&result)), "57014");
  }
  auto bad = client_->open_copy("COPY accounts FROM STDIN");
  ASSERT_TRUE(bad.ok());
  Status status = (*bad)->write("1000\t1\n1001\tx\n");
  if (status.ok()) status = (*bad)->finish(&result);
  EXPECT_EQ(sqlstate_of(status), "22P02");
  EXPECT_EQ(query::context_of(status), "COPY accounts, line 2, column balance: \"x\"");
  EXPECT_EQ(ask("SELECT count(*) FROM accounts").number, 20);
}

// As calls that were accepted: it may end, a new one may not begin.
TEST_F(QueryTest, StopWaitsForCopiesUnderWay) {
  stop_timeout_ms_ = 60'000;
  start();
  auto copy = client_->open_copy("COPY accounts FROM STDIN");
  ASSERT_TRUE(copy.ok() && (*copy)->write("1000\t1\n").ok());
  std::thread stopper([&] { server_->stop(); });
  while (!client_->status()->stopping) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(sqlstate_of(client_->open_copy("COPY accounts FROM STDIN").status()), "57P01");
  std::string text;
  for (int i = 1001; i < 41'001; ++i) text += std::to_string(i) + "\t1\n";
  query::ResultSet result;
  Status status = (*copy)->write(text);
  if (status.ok()) status = (*copy)->finish(&result);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(result.command_tag, "COPY 40001");
  stopper.join();
}

TEST_F(QueryTest, CapsAreClearErrors) {
  primary::EngineOptions options;
  options.queries.running_max = 1;
  options.queries.waiting_max = 1;
  start(options);
  std::vector<std::unique_ptr<client::Client>> clients;
  std::vector<std::thread> threads;
  std::atomic<int> refused{0}, cancelled{0};
  for (int i = 0; i < 4; ++i) {
    clients.push_back(connect());
    threads.emplace_back([&, own = clients.back().get()] {
      Status status = own->query(kEndless, {}, [](const query::ResultSet&, const query::Receipt*) {});
      if (sqlstate_of(status) == "53300") {
        ++refused;
        EXPECT_GT(client::retry_after_ms_of(status), 0u);
      }
      if (sqlstate_of(status) == "57014") ++cancelled;
    });
  }
  // one runs, one waits
  for (int i = 0; i < 60'000 && refused < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(refused, 2);
  for (auto& own : clients) own->cancel();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(cancelled, 2);
  Answer answer = ask("SELECT count(*) FROM accounts");
  for (int i = 0; i < 60'000 && sqlstate_of(answer.status) == "53300"; ++i) {  // the node hears of it a little later
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    answer = ask("SELECT count(*) FROM accounts");
  }
  EXPECT_EQ(answer.number, 20) << answer.status;
}

// Two wait for the snapshot, the others for those two; each has its thread.
TEST_F(QueryTest, StopRefusesWhoWaitsForASnapshotThatDoesNotCome) {
  primary::EngineOptions options;
  options.queries.running_max = 2;
  start(options);
  std::vector<std::thread> askers;
  std::atomic<int> refused{0};
  for (int i = 0; i < 6; ++i) {
    askers.emplace_back([&] {
      v1::ExecuteRequest request;
      request.set_sql("SELECT count(*) FROM accounts");
      request.mutable_query()->mutable_ticket()->set_term(1);
      request.mutable_query()->mutable_ticket()->set_snapshot(99);
      grpc::ClientContext context;
      v1::ExecuteResponse response;
      auto reader = v1::Queries::NewStub(channel())->Execute(&context, request);
      while (reader->Read(&response)) {
      }
      const grpc::Status status = reader->Finish();
      const bool is_refused = status.error_details().find("57P03") != std::string::npos;
      EXPECT_TRUE(is_refused) << status.error_code() << " " << status.error_message();
      refused += is_refused ? 1 : 0;
    });
  }
  auto count = [&] {
    const query::Queries::Counters counters = engine_->queries()->counters();
    return counters.running + counters.waiting;
  };
  while (count() < 6) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  server_->stop(200);
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(refused, 6);
}

TEST_F(QueryTest, StopEndsQueries) {
  start();
  auto own = connect();
  std::thread asker(
      [&] { EXPECT_FALSE(own->query(kEndless, {}, [](const query::ResultSet&, const query::Receipt*) {}).ok()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  server_->stop();
  asker.join();
}

}  // namespace
}  // namespace scyper::server
