#include "cluster_session.h"

#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include "server/server.h"
#include "testing/fake_engine.h"
#include "wire.h"

namespace scyper::client {
namespace {

class ClusterSessionTest : public testing::Test {
 protected:
  void SetUp() override {
    server::ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.http_listen = "";
    auto server = server::Server::start(options, &engine_, &metrics_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    ConnectOptions to;
    to.target = "127.0.0.1:1,127.0.0.1:" + std::to_string(server_->port());
    auto session = cluster_session(to);
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
  }
  Status execute(const std::string& sql) {
    engine_.script_requests.clear();
    return session_->execute(sql, [](const query::ResultSet&) {});
  }

  server::FakeEngine engine_;
  MetricsRegistry metrics_;
  std::unique_ptr<server::Server> server_;
  std::unique_ptr<Session> session_;
};

// A COPY that was refused has done nothing: the next primary is asked.
TEST_F(ClusterSessionTest, CopiesFollowThePrimary) {
  engine_.copy_errors = {"25006", "57P03", "57P01", "08006", "42P01", "25006"};
  EXPECT_EQ(sqlstate_of(session_->open_copy("COPY t FROM STDIN").status()), "42P01");
  EXPECT_EQ(engine_.copy_errors.size(), 1u);
}

// A statement whose answer was lost is sent again under the same request id, the next one under another.
TEST_F(ClusterSessionTest, StatementsAreSentAgainUnderTheirRequestId) {
  engine_.script_errors = {"57P03", "08007", "25006", "42P01", "08006", ""};
  EXPECT_TRUE(execute("SELECT 1;").ok());
  EXPECT_EQ(engine_.script_requests, std::vector<uint64_t>(6, 1));
  EXPECT_TRUE(execute("SELECT 1").ok());
  EXPECT_EQ(engine_.script_requests, std::vector<uint64_t>(1, 2));
  // nothing was lost before: the error is the answer
  engine_.script_errors = {"57P01", "42P01"};
  EXPECT_EQ(sqlstate_of(execute("SELECT 1")), "42P01");
  // nor is there an answer behind what the execution says
  engine_.script_errors = {"08007", "23505"};
  EXPECT_EQ(sqlstate_of(execute("/* one /* within one */ */ -- two\n  DELETE FROM t")), "23505");
  EXPECT_EQ(engine_.script_requests, std::vector<uint64_t>(2, 4));
}

// A node that stops cancels the calls that it has not answered. Their outcome is open, as that of a lost connection.
TEST_F(ClusterSessionTest, WhatANodeCancelsIsALostConnection) {
  EXPECT_EQ(sqlstate_of(status_of(grpc::Status(grpc::StatusCode::CANCELLED, ""))), "08006");
}

// Of these a node does not remember the request id.
TEST_F(ClusterSessionTest, DefinitionsAndScriptsAreNotSentAgain) {
  for (const char* sql : {"CREATE TABLE t (a integer)", "SELECT 1; SELECT 1"}) {
    engine_.script_errors = {"57P03", "08007"};
    const Status status = execute(sql);
    EXPECT_EQ(sqlstate_of(status), "08007") << sql;
    EXPECT_NE(hint_of(status).find("It may have committed or not"), std::string::npos) << status;
    EXPECT_EQ(engine_.script_requests, std::vector<uint64_t>(2, 0)) << sql;
  }
}

}  // namespace
}  // namespace scyper::client
