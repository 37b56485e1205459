// Wrong input and ill-behaved clients on a real node over gRPC: each gets its SQLSTATE or status, the tables stay as
// they were, the node goes on.

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "google/rpc/details.pb.h"
#include "query/error_status.h"
#include "real_node.h"
#include "scyper.grpc.pb.h"

namespace scyper::server {
namespace {

constexpr char kEndless[] = "DO $$ BEGIN UPDATE t SET b = 'y' WHERE a = 1; LOOP PERFORM 1; END LOOP; END $$";

struct Failure {
  grpc::StatusCode code = grpc::StatusCode::OK;
  std::string sqlstate;
  int position = 0;
};

class WrongInputOverGrpc : public RealNodeTest {
 protected:
  void start(primary::EngineOptions options = {}, ServerOptions server = {}) {
    if (options.memory_bytes > size_t{1} << 30) options.memory_bytes = size_t{256} << 20;
    start_node(options, server);
    channel_ = channel();
    transactions_ = v1::Transactions::NewStub(channel_);
    queries_ = v1::Queries::NewStub(channel_);
    run("CREATE TABLE t (a integer PRIMARY KEY, b varchar(5) NOT NULL, c numeric(6,2));"
        "INSERT INTO t SELECT i, 'x' || i, i FROM generate_series(1, 50) g (i);"
        "CREATE PROCEDURE p(x integer) LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET c = c + 1; DELETE FROM t WHERE a > x; "
        "PERFORM 1 / 0; END $$");
    before_ = contents();
  }

  std::string contents() {
    std::string text;
    Status status = client_->execute("SELECT count(*)::int, sum(c)::int, sum(a * length(b))::int FROM t",
                                     [&](const query::ResultSet& result) {
                                       for (int i = 0; i < 3; ++i)
                                         text += std::to_string(result.value(0, static_cast<size_t>(i)).lo) + " ";
                                     });
    return status.ok() ? text : status.ToString();
  }
  // The node goes on, and nothing has changed.
  void expect_no_trace(const std::string& after_what) { EXPECT_EQ(contents(), before_) << after_what; }

  static Failure failure_of(const grpc::Status& status) {
    Failure failure;
    failure.code = status.error_code();
    google::rpc::Status details;
    v1::Error error;
    if (details.ParseFromString(status.error_details()) && details.details_size() > 0 &&
        details.details(0).UnpackTo(&error)) {
      failure.sqlstate = error.sqlstate();
      failure.position = error.position();
    }
    return failure;
  }
  Failure call(const v1::Call& call) {
    grpc::ClientContext context;
    v1::CallRequest request;
    *request.mutable_call() = call;
    v1::CallResponse response;
    return failure_of(transactions_->Call(&context, request, &response));
  }
  Failure execute(const std::string& sql) {
    grpc::ClientContext context;
    v1::ExecuteRequest request;
    request.set_sql(sql);
    v1::ExecuteResponse response;
    auto reader = queries_->Execute(&context, request);
    while (reader->Read(&response)) {
    }
    return failure_of(reader->Finish());
  }

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Transactions::Stub> transactions_;
  std::unique_ptr<v1::Queries::Stub> queries_;
  std::string before_;
};

std::string repeated(int count, const std::string& part) {
  std::string text;
  for (int i = 0; i < count; i++) text += part;
  return text;
}

v1::Call call_of(const std::string& sql, std::initializer_list<int64_t> arguments = {}, uint64_t request_id = 0) {
  v1::Call call;
  call.set_sql(sql);
  call.set_request_id(request_id);
  for (int64_t argument : arguments) call.add_arguments()->set_integer(argument);
  return call;
}

TEST_F(WrongInputOverGrpc, StatementsFailWithTheirSqlstate) {
  start();
  using Code = grpc::StatusCode;
  struct Case {
    std::string sql, sqlstate;
    Code code;
    int position;
  };
  const Case cases[] = {
      {"SELECT 1 FROM WHERE", "42601", Code::INVALID_ARGUMENT, 15},
      {"LISTEN s", "0A000", Code::UNIMPLEMENTED, 1},
      {"INSERT INTO nosuch VALUES (1)", "42P01", Code::NOT_FOUND, 13},
      {"UPDATE t SET nosuch = 1", "42703", Code::INVALID_ARGUMENT, 14},
      {"CALL nosuch(1)", "42883", Code::NOT_FOUND, 6},
      {"SELECT a + true FROM t", "42883", Code::NOT_FOUND, 10},
      {"INSERT INTO t VALUES (60, 'x', 'abc')", "22P02", Code::INVALID_ARGUMENT, 32},
      {"CALL p(30)", "22012", Code::INVALID_ARGUMENT, 0},
      {"UPDATE t SET c = c * 1000", "22003", Code::INVALID_ARGUMENT, 0},
      {"INSERT INTO t VALUES (60, 'x', 1), (1, 'x', 1)", "23505", Code::ALREADY_EXISTS, 0},
      {"UPDATE t SET b = 'far too long' WHERE a = 7", "22001", Code::INVALID_ARGUMENT, 0},
      {"UPDATE t SET b = NULL WHERE a = 7", "23502", Code::FAILED_PRECONDITION, 0},
      {"UPDATE t SET b = '\xC3(' WHERE a = 7", "22021", Code::INVALID_ARGUMENT, 0},
      {"CALL p(1, 2)", "42883", Code::NOT_FOUND, 6},
      {"SELECT " + repeated(20'000, "(") + "1" + repeated(20'000, ")"), "54001", Code::RESOURCE_EXHAUSTED, -1},
  };
  for (const Case& one : cases) {
    Failure by_call = call(call_of(one.sql));
    Failure by_execute = execute(one.sql);
    for (const Failure& failure : {by_call, by_execute}) {
      EXPECT_EQ(failure.sqlstate, one.sqlstate) << one.sql.substr(0, 60);
      EXPECT_EQ(failure.code, one.code) << one.sql.substr(0, 60);
      if (one.position >= 0) EXPECT_EQ(failure.position, one.position) << one.sql.substr(0, 60);
    }
    expect_no_trace(one.sql.substr(0, 60));
  }
}

TEST_F(WrongInputOverGrpc, ArgumentsAreChecked) {
  start();
  const char insert[] = "INSERT INTO t VALUES ($1, 'x', $2)";
  v1::Call null_key = call_of("INSERT INTO t VALUES ($1, $2, 1)", {60});
  null_key.add_arguments();  // no kind: NULL
  v1::Call bad_text = call_of("UPDATE t SET b = $1 WHERE a = 1");
  bad_text.add_arguments()->set_text("\xFF\xFE");
  v1::Call wrong_kind = call_of("UPDATE t SET c = 0 WHERE a = $1");
  wrong_kind.add_arguments()->set_boolean(true);
  v1::Call packed = call_of("UPDATE t SET c = 0 WHERE a = $1");
  packed.set_packed_arguments(std::string("\0\1", 2));
  v1::Call unknown;
  unknown.set_statement_id(4711);
  const std::pair<v1::Call, const char*> cases[] = {
      {call_of(insert, {60}), "08P01"},
      {call_of(insert, {60, 1, 2}), "08P01"},
      {call_of("UPDATE t SET c = 0 WHERE a = $1", {int64_t{1} << 40}), "22003"},
      {null_key, "23502"},
      {bad_text, "22021"},
      {wrong_kind, "42804"},
      {packed, "08P01"},
      {unknown, "26000"},
  };
  for (const auto& [one, expected] : cases) {
    EXPECT_EQ(call(one).sqlstate, expected) << one.ShortDebugString();
    expect_no_trace(one.ShortDebugString());
  }
}

// Clients take 8 KB of trailing metadata.
TEST_F(WrongInputOverGrpc, LongErrorsKeepTheirSqlstate) {
  start();
  for (int length : {1'000, 5'000, 100'000}) {
    const std::string raise =
        "DO $$ BEGIN FOR i IN 1..100 LOOP RAISE NOTICE '%', repeat('n', 200); END LOOP; RAISE EXCEPTION '%', "
        "repeat('\xC3\xA4', " +
        std::to_string(length) +
        ") USING ERRCODE = 'ZZ001', DETAIL = repeat('d', 9000), HINT = repeat('h', 9000); END $$";
    EXPECT_EQ(execute(raise).sqlstate, "ZZ001") << length;
    EXPECT_EQ(call(call_of(raise)).sqlstate, "ZZ001") << length;
    EXPECT_EQ(execute("SELECT '" + std::string(static_cast<size_t>(length), 'x') + "'::integer").sqlstate, "22P02");
  }
  expect_no_trace("long errors");
}

// RAISE NOTICE before an error, in transactions and in queries.
TEST_F(WrongInputOverGrpc, NoticesBeforeAnErrorArrive) {
  start();
  const std::string body =
      " LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'first'; RAISE WARNING 'second' USING HINT = 'h'; ";
  run("CREATE FUNCTION failing() RETURNS integer" + body + "RETURN 1 / 0; END $$");
  for (const std::string sql : {"SELECT failing()", "UPDATE t SET c = failing()"}) {
    Status status = client_->execute(sql, [](const query::ResultSet&) {});
    EXPECT_EQ(sqlstate_of(status), "22012") << sql;
    EXPECT_EQ(query::notices_of(status), (std::vector<std::string>{"NOTICE:  first", "WARNING:  second\nHINT:  h"}));
  }
  grpc::ClientContext context;
  auto stream = transactions_->Stream(&context);
  v1::CallBatch batch;
  *batch.add_calls() = call_of("SELECT failing()");
  stream->WriteLast(batch, {});
  v1::ResultBatch results;
  ASSERT_TRUE(stream->Read(&results));
  EXPECT_EQ(results.results(0).error().notices_size(), 2);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(WrongInputOverGrpc, MessagesOverTheLimit) {
  ServerOptions options;
  options.message_bytes_max = 1 << 20;
  start({}, options);
  const std::string sql = "UPDATE t SET c = 0 WHERE b <> '" + std::string(2 << 20, 'x') + "'";
  EXPECT_EQ(call(call_of(sql)).code, grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(execute(sql).code, grpc::StatusCode::RESOURCE_EXHAUSTED);
  grpc::ClientContext context;
  auto stream = transactions_->Stream(&context);
  v1::CallBatch batch;
  *batch.add_calls() = call_of(sql);
  stream->Write(batch);
  v1::ResultBatch results;
  while (stream->Read(&results)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  expect_no_trace("messages over the limit");
}

// What was accepted runs to its end, nothing by halves.
TEST_F(WrongInputOverGrpc, ClientsThatLeaveInMidStream) {
  start();
  run("CREATE TABLE halves (a integer PRIMARY KEY, b integer NOT NULL)");
  run("CREATE PROCEDURE both_halves(x integer) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO halves VALUES (x, 1); "
      "INSERT INTO halves VALUES (-x, 1); END $$");
  for (int round = 0; round < 5; ++round) {
    auto own = v1::Transactions::NewStub(channel());
    grpc::ClientContext context;
    auto stream = own->Stream(&context);
    for (int b = 0; b < 20; ++b) {
      v1::CallBatch batch;
      for (int i = 1; i <= 50; ++i) *batch.add_calls() = call_of("CALL both_halves($1)", {round * 1000 + b * 50 + i});
      if (!stream->Write(batch)) break;
    }
    v1::ResultBatch results;
    if (round % 2 == 0) stream->Read(&results);
    context.TryCancel();
    stream->Finish();
  }
  auto streams_are_gone = [&] {
    double open = -1;
    for (const MetricFamily& family : metrics_.collect())
      if (family.name == "scyper_server_streams_open") open = family.samples[0].value;
    return open == 0;
  };
  for (int i = 0; i < 60'000 && !streams_are_gone(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(streams_are_gone());
  EXPECT_TRUE(client_
                  ->execute("SELECT count(*) FROM halves h WHERE NOT EXISTS (SELECT 1 FROM halves o WHERE o.a = -h.a)",
                            [](const query::ResultSet& result) { EXPECT_EQ(result.value(0, 0).lo, 0); })
                  .ok());
  expect_no_trace("clients that leave");
}

TEST_F(WrongInputOverGrpc, AFullQueueRefusesWithARetryHint) {
  primary::EngineOptions options;
  options.queue_capacity = 8;
  options.transaction_time_us_max = 60'000'000;
  start(options);
  grpc::ClientContext keeping;
  std::thread keeper([&] {
    v1::CallRequest request;
    *request.mutable_call() = call_of(kEndless, {}, 1);
    v1::CallResponse response;
    EXPECT_EQ(transactions_->Call(&keeping, request, &response).error_code(), grpc::StatusCode::CANCELLED);
  });
  wait_for_a_transaction();
  grpc::ClientContext context;
  auto stream = transactions_->Stream(&context);
  v1::CallBatch batch;
  for (uint64_t i = 1; i <= 200; ++i) *batch.add_calls() = call_of("UPDATE t SET c = c WHERE a = 2", {}, i);
  ASSERT_TRUE(stream->Write(batch));
  stream->WritesDone();
  std::map<std::string, int> states;
  v1::ResultBatch results;
  while (stream->Read(&results)) {
    for (const v1::CallResult& result : results.results()) {
      ++states[result.error().sqlstate()];
      if (result.has_error()) EXPECT_GT(result.error().retry_after_ms(), 0u);
    }
    keeping.TryCancel();  // refusals come first: the queue may go on
  }
  EXPECT_TRUE(stream->Finish().ok());
  keeper.join();
  EXPECT_GT(states["53300"], 0);
  EXPECT_EQ(states["53300"] + states[""], 200);
  expect_no_trace("a full queue");
}

TEST_F(WrongInputOverGrpc, EndlessLoops) {
  primary::EngineOptions options;
  options.transaction_time_us_max = 1'000'000;
  start(options);
  EXPECT_EQ(call(call_of(kEndless)).sqlstate, "57014");
  expect_no_trace("the node's limit");
  EXPECT_EQ(execute(kEndless).sqlstate, "57014");
  expect_no_trace("the node's limit");
  run("CREATE PROCEDURE forever() LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET c = 0; "
      "LOOP BEGIN PERFORM 1; EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END $$");
  v1::Call call_forever = call_of("CALL forever()");
  call_forever.set_timeout_ms(100);
  EXPECT_EQ(call(call_forever).sqlstate, "57014");
  expect_no_trace("its own limit");
}

TEST_F(WrongInputOverGrpc, AMemoryBudgetThatRunsOut) {
  primary::EngineOptions options;
  options.memory_bytes = size_t{48} << 20;
  options.scratch_bytes_max = size_t{8} << 20;
  start(options);
  run("CREATE TABLE much (a integer PRIMARY KEY, b text)");
  EXPECT_EQ(
      call(call_of("INSERT INTO much SELECT i, repeat('x', 1000) FROM generate_series(1, 200000) g (i)")).sqlstate,
      "53200");
  EXPECT_EQ(execute("SELECT sum(length(s)) FROM (SELECT repeat('x', 1000) || a AS s FROM t, generate_series(1, 10000) "
                    "ORDER BY 1) q")
                .sqlstate,
            "53200");
  EXPECT_TRUE(client_
                  ->execute("SELECT count(*) FROM much",
                            [](const query::ResultSet& result) { EXPECT_EQ(result.value(0, 0).lo, 0); })
                  .ok());
  run("INSERT INTO much VALUES (1, 'there is room again'); UPDATE t SET c = c");
  expect_no_trace("a budget that ran out");
}

}  // namespace
}  // namespace scyper::server
