// Transactions of several statements by gRPC, on the real engine.
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "client/transaction.h"
#include "real_node.h"
#include "scyper.grpc.pb.h"
#include "server/messages.h"

namespace scyper::server {
namespace {

using client::Transaction;
using State = client::Transaction::State;
using client::TransactionOptions;

class InteractTest : public RealNodeTest {
 protected:
  void begin_node(const ServerOptions& server = {}) {
    start_node({}, server);
    run("CREATE TABLE x (a integer PRIMARY KEY, b text)");
  }
  std::unique_ptr<Transaction> begin(const TransactionOptions& options = {}) {
    auto transaction = client_->begin(options);
    EXPECT_TRUE(transaction.ok()) << transaction.status();
    return transaction.ok() ? *std::move(transaction) : nullptr;
  }
  // The command tag, or the SQLSTATE.
  static std::string ask(Transaction* transaction, std::string_view sql) {
    query::ResultSet result;
    const Status status = transaction->execute(sql, &result);
    return status.ok() ? result.command_tag : sqlstate_of(status);
  }
  static int64_t number(Transaction* transaction, std::string_view sql) {
    query::ResultSet result;
    const Status status = transaction->execute(sql, &result);
    EXPECT_TRUE(status.ok()) << status << " " << sql;
    return status.ok() && result.row_count() == 1 ? result.value(0, 0).lo : -1;
  }
  // As others see it.
  int64_t count() {
    int64_t found = -1;
    const Status status = client_->execute("SELECT count(*) FROM x",
                                           [&](const query::ResultSet& result) { found = result.value(0, 0).lo; });
    EXPECT_TRUE(status.ok()) << status;
    return found;
  }
  void wait_until(const std::function<bool()>& condition, const char* what) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), until) << what;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
};

TEST_F(InteractTest, CommitsAllOrNothing) {
  begin_node();
  auto transaction = begin();
  EXPECT_EQ(transaction->state(), State::kOpen);
  EXPECT_EQ(ask(transaction.get(), "INSERT INTO x VALUES (1, 'one'), (2, 'two')"), "INSERT 0 2");
  EXPECT_EQ(number(transaction.get(), "SELECT count(*) FROM x"), 2);
  EXPECT_EQ(count(), 0) << "others see what is not committed";
  EXPECT_TRUE(transaction->commit().ok());
  EXPECT_EQ(transaction->state(), State::kNone);
  EXPECT_EQ(count(), 2);

  // the same stream takes the next one
  ASSERT_TRUE(transaction->begin({}).ok());
  EXPECT_EQ(ask(transaction.get(), "DELETE FROM x"), "DELETE 2");
  EXPECT_TRUE(transaction->rollback().ok());
  EXPECT_EQ(count(), 2);
  EXPECT_EQ(ask(transaction.get(), "SELECT 1"), "25P01");
}

TEST_F(InteractTest, CursorsAndPreparedStatements) {
  begin_node();
  auto transaction = begin();
  EXPECT_EQ(ask(transaction.get(), "INSERT INTO x SELECT i, 'b' || i FROM generate_series(1, 100) i"), "INSERT 0 100");
  EXPECT_EQ(ask(transaction.get(), "DECLARE c CURSOR FOR SELECT a, b FROM x ORDER BY a FOR UPDATE"), "DECLARE CURSOR");
  EXPECT_EQ(ask(transaction.get(), "DECLARE c CURSOR FOR SELECT 1"), "42P03");
  EXPECT_EQ(ask(transaction.get(), "ROLLBACK"), "ROLLBACK");
  ASSERT_TRUE(transaction->begin({}).ok());
  EXPECT_EQ(ask(transaction.get(), "INSERT INTO x SELECT i, 'b' || i FROM generate_series(1, 100) i"), "INSERT 0 100");
  EXPECT_EQ(ask(transaction.get(), "DECLARE c CURSOR FOR SELECT a, b FROM x ORDER BY a FOR UPDATE"), "DECLARE CURSOR");
  EXPECT_EQ(ask(transaction.get(), "FETCH 3 FROM c"), "FETCH 3");
  EXPECT_EQ(ask(transaction.get(), "UPDATE x SET b = 'third' WHERE CURRENT OF c"), "UPDATE 1");
  EXPECT_EQ(number(transaction.get(), "SELECT a FROM x WHERE b = 'third'"), 3);
  EXPECT_EQ(number(transaction.get(), "SELECT count(*) FROM pg_cursors WHERE name = 'c'"), 1);
  EXPECT_EQ(ask(transaction.get(), "PREPARE p AS SELECT a FROM x WHERE a = $1"), "PREPARE");
  EXPECT_EQ(number(transaction.get(), "EXECUTE p (50)"), 50);
  EXPECT_EQ(ask(transaction.get(), "DECLARE h CURSOR WITH HOLD FOR SELECT a FROM x ORDER BY a"), "DECLARE CURSOR");
  EXPECT_TRUE(transaction->commit().ok());
  ASSERT_TRUE(transaction->begin({}).ok());
  EXPECT_EQ(number(transaction.get(), "FETCH h"), 1);
  EXPECT_EQ(number(transaction.get(), "EXECUTE p (51)"), 51);
  const auto described = transaction->describe("FETCH 2 FROM h");
  ASSERT_TRUE(described.ok()) << described.status();
  EXPECT_EQ((*described)->columns.size(), 1u);
  EXPECT_EQ(ask(transaction.get(), "FETCH c"), "34000") << "it has ended with its transaction";
}

TEST_F(InteractTest, CopiesText) {
  begin_node();
  auto transaction = begin();
  auto copying = transaction->open_copy("COPY x FROM STDIN");
  ASSERT_TRUE(copying.ok()) << copying.status();
  EXPECT_EQ((*copying)->column_count(), 2u);
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i) + "\trow " + std::to_string(i) + "\n";
  ASSERT_TRUE((*copying)->write(text).ok());
  query::ResultSet result;
  ASSERT_TRUE((*copying)->finish(&result).ok());
  EXPECT_EQ(result.command_tag, "COPY 20000");
  EXPECT_TRUE(transaction->commit().ok());
  EXPECT_EQ(count(), 20'000);
  ASSERT_TRUE(transaction->begin({}).ok());
  EXPECT_EQ(sqlstate_of(transaction->open_copy("COPY nothing FROM STDIN").status()), "42P01");
  EXPECT_EQ(transaction->state(), State::kFailed);
}

TEST_F(InteractTest, AnErrorFailsItUntilASavepoint) {
  begin_node();
  auto transaction = begin();
  EXPECT_EQ(ask(transaction.get(), "INSERT INTO x VALUES (1)"), "INSERT 0 1");
  EXPECT_EQ(ask(transaction.get(), "SAVEPOINT s"), "SAVEPOINT");
  EXPECT_EQ(ask(transaction.get(), "INSERT INTO x VALUES (1)"), "23505");
  EXPECT_EQ(transaction->state(), State::kFailed);
  EXPECT_EQ(ask(transaction.get(), "SELECT 1"), "25P02");
  EXPECT_EQ(ask(transaction.get(), "ROLLBACK TO s"), "ROLLBACK");
  EXPECT_EQ(transaction->state(), State::kOpen);
  EXPECT_EQ(ask(transaction.get(), "INSERT INTO x VALUES (2)"), "INSERT 0 1");
  EXPECT_EQ(ask(transaction.get(), "COMMIT AND CHAIN"), "COMMIT");
  EXPECT_EQ(transaction->state(), State::kOpen);
  EXPECT_EQ(count(), 2);
  EXPECT_EQ(ask(transaction.get(), "SELECT 1/0"), "22012");
  EXPECT_EQ(sqlstate_of(transaction->commit()), "40000") << "a failed transaction is taken back";
  EXPECT_EQ(transaction->state(), State::kNone);
}

TEST_F(InteractTest, ArgumentsAreOfTheTypesThatTheTransactionSees) {
  begin_node();
  auto transaction = begin();
  EXPECT_EQ(ask(transaction.get(), "CREATE TABLE y (a bigint, b text)"), "CREATE TABLE");
  auto insert = transaction->describe("INSERT INTO y VALUES ($1, $2) RETURNING a + 1");
  ASSERT_TRUE(insert.ok()) << insert.status();
  ASSERT_EQ((*insert)->parameters.size(), 2u);
  EXPECT_EQ((*insert)->parameters[0].id, TypeId::kInt8);
  const Datum arguments[] = {int_datum(int64_t{1} << 40), string_datum("wide", 4)};
  query::ResultSet result;
  const Status status = transaction->execute(**insert, arguments, &result);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(result.value(0, 0).lo, (int64_t{1} << 40) + 1);
  EXPECT_EQ(result.affected_rows, 1u);
  EXPECT_EQ(sqlstate_of(transaction->execute(**insert, {}, &result)), "08P01");
  EXPECT_TRUE(transaction->rollback().ok());
}

TEST_F(InteractTest, ModesAndSettings) {
  begin_node();
  TransactionOptions options;
  options.is_read_only = true;
  options.isolation = client::Isolation::kSerializable;
  options.settings = {{"application_name", "interact"}};
  auto transaction = begin(options);
  EXPECT_EQ(ask(transaction.get(), "INSERT INTO x VALUES (1)"), "25006");
  EXPECT_TRUE(transaction->rollback().ok());
  const auto shown = [&](const char* name) {
    query::ResultSet result;
    EXPECT_TRUE(transaction->execute(std::string("SHOW ") + name, &result).ok());
    return std::string(result.value(0, 0).data(), result.value(0, 0).size());
  };
  ASSERT_TRUE(transaction->begin({.isolation = client::Isolation::kRepeatableRead}).ok());
  EXPECT_EQ(shown("transaction_isolation"), "repeatable read");
  EXPECT_EQ(shown("transaction_read_only"), "off");
  EXPECT_EQ(shown("application_name"), "interact");
  EXPECT_EQ(ask(transaction.get(), "SET LOCAL search_path = pg_catalog"), "SET");
  EXPECT_TRUE(transaction->rollback().ok());
  TransactionOptions wrong;
  wrong.settings = {{"no_such_thing", "1"}};
  EXPECT_EQ(sqlstate_of(client_->begin(wrong).status()), "42704");
}

TEST_F(InteractTest, SerializableFindsConflicts) {
  begin_node();
  run("INSERT INTO x VALUES (1), (2)");
  auto one = begin({.isolation = client::Isolation::kSerializable});
  EXPECT_EQ(number(one.get(), "SELECT count(*) FROM x"), 2);
  run("INSERT INTO x VALUES (3)");
  EXPECT_EQ(ask(one.get(), "INSERT INTO x VALUES (4)"), "40001");
  EXPECT_TRUE(one->rollback().ok());
  EXPECT_EQ(count(), 3);
}

TEST_F(InteractTest, WaitsForRowsOfAnotherOne) {
  begin_node();
  run("INSERT INTO x VALUES (1, 'a')");
  auto first = begin();
  EXPECT_EQ(ask(first.get(), "UPDATE x SET b = 'b' WHERE a = 1"), "UPDATE 1");
  std::string second_tag;
  auto other = connect();
  auto second = other->begin({});
  ASSERT_TRUE(second.ok()) << second.status();
  std::thread waiting([&] { second_tag = ask(second->get(), "UPDATE x SET b = b || 'c' WHERE a = 1"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(first->commit().ok());
  waiting.join();
  EXPECT_EQ(second_tag, "UPDATE 1");
  EXPECT_TRUE((*second)->commit().ok());
  auto check = begin();
  EXPECT_EQ(number(check.get(), "SELECT count(*) FROM x WHERE b = 'bc'"), 1);
}

TEST_F(InteractTest, CancelEndsAStatementAlone) {
  begin_node();
  auto transaction = begin();
  EXPECT_EQ(ask(transaction.get(), "INSERT INTO x VALUES (1)"), "INSERT 0 1");
  EXPECT_EQ(ask(transaction.get(), "SAVEPOINT s"), "SAVEPOINT");
  std::thread cancelling([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    transaction->cancel();
  });
  EXPECT_EQ(ask(transaction.get(), "DO $$ BEGIN LOOP NULL; END LOOP; END $$"), "57014");
  cancelling.join();
  query::ResultSet result;
  EXPECT_EQ(ask(transaction.get(), "ROLLBACK TO s"), "ROLLBACK");
  EXPECT_EQ(sqlstate_of(transaction->execute("DO $$ BEGIN LOOP NULL; END LOOP; END $$", &result, 100)), "57014");
  EXPECT_EQ(ask(transaction.get(), "ROLLBACK TO s"), "ROLLBACK");
  EXPECT_TRUE(transaction->commit().ok());
  EXPECT_EQ(count(), 1);
}

TEST_F(InteractTest, ABrokenStreamTakesItBack) {
  begin_node();
  auto transaction = begin();
  EXPECT_EQ(ask(transaction.get(), "INSERT INTO x VALUES (1)"), "INSERT 0 1");
  transaction.reset();
  // its key is free again, so nobody waits for it
  auto other = begin({.settings = {{"lock_timeout", "20s"}}});
  EXPECT_EQ(ask(other.get(), "INSERT INTO x VALUES (1)"), "INSERT 0 1");
  EXPECT_TRUE(other->rollback().ok());
  EXPECT_EQ(count(), 0);
}

TEST_F(InteractTest, AnIdleTransactionEnds) {
  begin_node();
  auto transaction = begin({.settings = {{"idle_in_transaction_session_timeout", "200ms"}}});
  EXPECT_EQ(ask(transaction.get(), "INSERT INTO x VALUES (1)"), "INSERT 0 1");
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_EQ(ask(transaction.get(), "INSERT INTO x VALUES (2)"), "25P03");
  EXPECT_EQ(transaction->state(), State::kNone);
  EXPECT_EQ(count(), 0);
}

TEST_F(InteractTest, TheNodeStops) {
  begin_node();
  auto transaction = begin();
  EXPECT_EQ(ask(transaction.get(), "INSERT INTO x VALUES (1)"), "INSERT 0 1");
  server_->stop();
  EXPECT_EQ(sqlstate_of(transaction->commit()), "57P01") << "it says that nothing is committed";
}

TEST_F(InteractTest, OnlySoMany) {
  ServerOptions server;
  server.grpc_transactions_max = 2;
  begin_node(server);
  auto one = begin(), two = begin();
  EXPECT_EQ(sqlstate_of(client_->begin({}).status()), "53300");
  one.reset();
  wait_until([&] { return client_->begin({}).ok(); }, "no place gets free");
}

TEST_F(InteractTest, LargeResultsComeInPieces) {
  begin_node();
  auto transaction = begin();
  EXPECT_EQ(ask(transaction.get(), "INSERT INTO x SELECT i, repeat('y', 100) FROM generate_series(1, 30000) g(i)"),
            "INSERT 0 30000");
  query::ResultSet result;
  const Status status = transaction->execute("SELECT a, b FROM x ORDER BY a", &result);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(result.row_count(), 30000u);
  EXPECT_EQ(result.value(29999, 0).lo, 30000);
  EXPECT_TRUE(transaction->rollback().ok());
}

// What only clients send that are not ours.
class RawInteractTest : public InteractTest {
 protected:
  using Steps = grpc::ClientReaderWriter<v1::InteractRequest, v1::InteractResponse>;
  // The SQLSTATE of the answer, or of the end.
  static std::string ask(Steps* steps, const v1::InteractRequest& step) {
    v1::InteractResponse answer;
    if (!steps->Write(step)) return end(steps);
    while (steps->Read(&answer)) {
      if (answer.has_error()) return answer.error().sqlstate();
      if (answer.has_copy_header()) return "copy " + std::to_string(answer.copy_header().column_count());
      if (answer.has_complete()) return answer.complete().command_tag();
    }
    return end(steps);
  }
  static std::string end(Steps* steps) {
    v1::Error error;
    return find_error(steps->Finish(), &error) ? error.sqlstate() : "no word";
  }
  static v1::InteractRequest statement(const std::string& sql) {
    v1::InteractRequest step;
    step.mutable_statement()->set_sql(sql);
    return step;
  }
};

TEST_F(RawInteractTest, WrongSteps) {
  begin_node();
  const auto stub = v1::Transactions::NewStub(channel());
  {
    grpc::ClientContext context;
    EXPECT_EQ(ask(stub->Interact(&context).get(), statement("SELECT 1")), "08P01") << "no begin";
  }
  grpc::ClientContext context;
  const auto steps = stub->Interact(&context);
  v1::InteractRequest begin;
  begin.mutable_begin();
  EXPECT_EQ(ask(steps.get(), begin), "BEGIN");
  EXPECT_EQ(ask(steps.get(), begin), "25001");
  EXPECT_EQ(ask(steps.get(), statement("ROLLBACK")), "ROLLBACK");
  EXPECT_EQ(ask(steps.get(), begin), "BEGIN");
  EXPECT_EQ(ask(steps.get(), statement("SELECT 1; SELECT 2")), "42601");
  EXPECT_EQ(ask(steps.get(), statement("ROLLBACK")), "ROLLBACK");
  EXPECT_EQ(ask(steps.get(), begin), "BEGIN");
  EXPECT_EQ(ask(steps.get(), statement("\xff")), "22021");
  EXPECT_EQ(ask(steps.get(), statement("ROLLBACK")), "ROLLBACK");
  EXPECT_EQ(ask(steps.get(), begin), "BEGIN");
  EXPECT_EQ(ask(steps.get(), statement("FETCH c")), "34000");
  EXPECT_EQ(ask(steps.get(), statement("ROLLBACK")), "ROLLBACK");
  EXPECT_EQ(ask(steps.get(), begin), "BEGIN");
  EXPECT_EQ(ask(steps.get(), statement("COPY x FROM STDIN")), "0A000");
  EXPECT_EQ(ask(steps.get(), v1::InteractRequest()), "08P01");
  v1::InteractRequest savepoint;
  savepoint.mutable_savepoint()->set_number(uint64_t{1} << 60);
  EXPECT_EQ(ask(steps.get(), savepoint), "08P01");
  EXPECT_EQ(ask(steps.get(), statement("ROLLBACK")), "ROLLBACK");
}

TEST_F(RawInteractTest, CopiesInATransaction) {
  begin_node();
  const auto stub = v1::Transactions::NewStub(channel());
  grpc::ClientContext context;
  const auto steps = stub->Interact(&context);
  v1::InteractRequest begin, commit;
  begin.mutable_begin();
  commit.mutable_commit();
  const auto copy = [](const std::string& sql) {
    v1::InteractRequest step;
    step.mutable_copy()->set_sql(sql);
    return step;
  };
  const auto text = [](const std::string& piece, bool is_last) {
    v1::InteractRequest step;
    step.mutable_copy()->set_text(piece);
    step.mutable_copy()->set_done(is_last);
    return step;
  };
  EXPECT_EQ(ask(steps.get(), copy("COPY x FROM STDIN")), "08P01") << "no begin";
  grpc::ClientContext other;
  const auto open = stub->Interact(&other);
  EXPECT_EQ(ask(open.get(), begin), "BEGIN");
  EXPECT_EQ(ask(open.get(), statement("INSERT INTO x VALUES (1, 'a')")), "INSERT 0 1");
  EXPECT_EQ(ask(open.get(), copy("COPY x FROM STDIN")), "copy 2");
  EXPECT_EQ(ask(open.get(), text("2\tb\n3", false)), "");
  EXPECT_EQ(ask(open.get(), text("\tc\n", true)), "COPY 2");
  EXPECT_EQ(ask(open.get(), statement("SELECT a FROM x")), "SELECT 3");
  // given up: nothing of it is there
  EXPECT_EQ(ask(open.get(), copy("COPY x FROM STDIN")), "copy 2");
  EXPECT_EQ(ask(open.get(), text("4\td\n", false)), "");
  EXPECT_EQ(ask(open.get(), statement("SAVEPOINT s")), "SAVEPOINT");
  EXPECT_EQ(ask(open.get(), text("5\te\n", true)), "08P01");
  EXPECT_EQ(ask(open.get(), statement("ROLLBACK TO s")), "ROLLBACK");
  EXPECT_EQ(ask(open.get(), copy("SELECT 1")), "42601");
  EXPECT_EQ(ask(open.get(), statement("ROLLBACK TO s")), "ROLLBACK");
  EXPECT_EQ(ask(open.get(), copy("COPY x FROM STDIN")), "copy 2");
  EXPECT_EQ(ask(open.get(), text("1\tf\n", true)), "23505");
  EXPECT_EQ(ask(open.get(), statement("ROLLBACK TO s")), "ROLLBACK");
  EXPECT_EQ(ask(open.get(), commit), "COMMIT");
  EXPECT_EQ(count(), 3);
}

TEST_F(RawInteractTest, WhatAnotherNodePassesOnIsChecked) {
  begin_node();
  const auto stub = v1::Transactions::NewStub(channel());
  grpc::ClientContext context;
  const auto steps = stub->Interact(&context);
  v1::InteractRequest begin;
  begin.mutable_begin()->set_passed_on(true);
  EXPECT_EQ(ask(steps.get(), begin), "");
  v1::InteractRequest savepoint;
  savepoint.mutable_savepoint()->set_act(v1::InteractRequest::Savepoint::ROLL_BACK_TO);
  savepoint.mutable_savepoint()->set_number(uint64_t{1} << 60);
  EXPECT_EQ(ask(steps.get(), savepoint), "3B001");
  // a row by types that the statement has not
  v1::InteractRequest insert = statement("INSERT INTO x VALUES (1, $1)");
  encode_type(make_type(TypeId::kInt4), insert.mutable_statement()->add_argument_types());
  insert.mutable_statement()->set_packed_arguments(std::string("\0\1\0\0\0", 5));
  EXPECT_EQ(ask(steps.get(), insert), "0A000");
  v1::InteractRequest commit;
  commit.mutable_commit();
  EXPECT_EQ(ask(steps.get(), commit), "");
  EXPECT_EQ(ask(steps.get(), commit), "08P01");
  EXPECT_EQ(count(), 0);
}

}  // namespace
}  // namespace scyper::server
