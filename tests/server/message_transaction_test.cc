// Several statements in one message are one transaction, as in PostgreSQL.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "postgres_socket.h"
#include "real_node.h"

namespace scyper::server {
namespace {

class MessageTransactionTest : public RealNodeTest {
 protected:
  MessageTransactionTest() {
    ServerOptions server;
    server.postgres_listen = "127.0.0.1:0";
    start_node({}, server);
    socket_ = std::make_unique<Socket>(server_->postgres_port());
    socket_->send(start_packet());
    EXPECT_TRUE(socket_->types().ends_with("Z"));
    EXPECT_EQ(ask("CREATE TABLE x (a integer)"), "CREATE TABLE");
  }
  // Tags of what was done, then the error's SQLSTATE.
  std::string ask(const std::string& sql) {
    socket_->rows.clear();
    socket_->tags.clear();
    socket_->send(query(sql));
    const std::string types = socket_->types();
    EXPECT_TRUE(types.ends_with("Z")) << sql;
    std::string all;
    for (const std::string& tag : socket_->tags) all += (all.empty() ? "" : "; ") + tag;
    if (types.find('E') != std::string::npos) all += (all.empty() ? "" : "; ") + socket_->error.field('C');
    return all;
  }
  std::string value(const std::string& sql) {
    ask(sql);
    return socket_->rows.empty() ? "no row" : socket_->rows[0].substr(6);
  }
  std::string rows_of_x() { return value("SELECT coalesce(string_agg(a::text, ',' ORDER BY a), '') FROM x"); }

  std::unique_ptr<Socket> socket_;
};

TEST_F(MessageTransactionTest, AnErrorTakesBackTheWholeMessage) {
  EXPECT_EQ(ask("CREATE TABLE y (a integer); INSERT INTO y VALUES (1); SELECT 1/0;"),
            "CREATE TABLE; INSERT 0 1; 22012");
  EXPECT_EQ(ask("SELECT * FROM y"), "42P01");
  EXPECT_EQ(ask("INSERT INTO x VALUES (1); SELECT * FROM missing"), "INSERT 0 1; 42P01");
  EXPECT_EQ(ask("INSERT INTO x VALUES (2); DO 'BEGIN RAISE ''no''; END'"), "INSERT 0 1; P0001");
  EXPECT_EQ(ask("SELECT 1; INSERT INTO x VALUES (3); SELECT 1/0"), "SELECT 1; INSERT 0 1; 22012");
  EXPECT_EQ(ask("INSERT INTO x VALUES (4); selec 1"), "42601");
  EXPECT_EQ(rows_of_x(), "");
  EXPECT_EQ(ask("INSERT INTO x VALUES (5); SELECT count(*) FROM x"), "INSERT 0 1; SELECT 1");
  EXPECT_EQ(ask("SELECT 1; INSERT INTO x VALUES (6)"), "SELECT 1; INSERT 0 1");
  EXPECT_EQ(rows_of_x(), "5,6");
}

TEST_F(MessageTransactionTest, FunctionsThatWrite) {
  EXPECT_EQ(ask("CREATE FUNCTION add(v integer) RETURNS integer LANGUAGE plpgsql AS "
                "'BEGIN INSERT INTO x VALUES (v); RETURN v; END'"),
            "CREATE FUNCTION");
  EXPECT_EQ(ask("SELECT add(1); SELECT 1/0"), "SELECT 1; 22012");
  EXPECT_EQ(ask("SELECT add(2); SELECT add(3)"), "SELECT 1; SELECT 1");
  EXPECT_EQ(rows_of_x(), "2,3");
}

TEST_F(MessageTransactionTest, BlocksWithinAMessage) {
  EXPECT_EQ(ask("INSERT INTO x VALUES (1); COMMIT; INSERT INTO x VALUES (2); SELECT 1/0"),
            "INSERT 0 1; COMMIT; INSERT 0 1; 22012");
  EXPECT_EQ(rows_of_x(), "1");
  EXPECT_EQ(ask("INSERT INTO x VALUES (3); ROLLBACK; INSERT INTO x VALUES (4)"), "INSERT 0 1; ROLLBACK; INSERT 0 1");
  EXPECT_EQ(rows_of_x(), "1,4");
  // BEGIN makes a block of what came before it, too
  EXPECT_EQ(ask("INSERT INTO x VALUES (5); BEGIN; INSERT INTO x VALUES (6)"), "INSERT 0 1; BEGIN; INSERT 0 1");
  EXPECT_EQ(ask("INSERT INTO x VALUES (7); SELECT 1/0"), "INSERT 0 1; 22012");
  EXPECT_EQ(ask("SELECT 1; SELECT 2"), "25P02");
  EXPECT_EQ(ask("ROLLBACK; INSERT INTO x VALUES (8)"), "ROLLBACK; INSERT 0 1");
  EXPECT_EQ(rows_of_x(), "1,4,8");
  EXPECT_EQ(ask("BEGIN; INSERT INTO x VALUES (9); COMMIT; INSERT INTO x VALUES (10); SELECT 1/0"),
            "BEGIN; INSERT 0 1; COMMIT; INSERT 0 1; 22012");
  EXPECT_EQ(rows_of_x(), "1,4,8,9");
  EXPECT_EQ(ask("SELECT 1; COMMIT AND CHAIN"), "SELECT 1; 25P01");
  EXPECT_EQ(ask("INSERT INTO x VALUES (11); SAVEPOINT s"), "INSERT 0 1; 25P01");
  EXPECT_EQ(ask("SELECT 1; ROLLBACK TO s"), "SELECT 1; 25P01");
  EXPECT_EQ(ask("BEGIN; SAVEPOINT s; INSERT INTO x VALUES (12); ROLLBACK TO s; COMMIT"),
            "BEGIN; SAVEPOINT; INSERT 0 1; ROLLBACK; COMMIT");
  EXPECT_EQ(rows_of_x(), "1,4,8,9");
}

TEST_F(MessageTransactionTest, SettingsAndCommandsOfTheSession) {
  EXPECT_EQ(ask("SET statement_timeout = 1234; SELECT 1/0"), "SET; 22012");
  EXPECT_EQ(value("SHOW statement_timeout"), "0");
  ask("SET LOCAL statement_timeout = 1234; SHOW statement_timeout");
  EXPECT_EQ(socket_->rows.at(0).substr(6), "1234ms");
  EXPECT_EQ(value("SHOW statement_timeout"), "0");
  EXPECT_EQ(ask("INSERT INTO x VALUES (1); DISCARD ALL"), "INSERT 0 1; 25001");
  EXPECT_EQ(ask("INSERT INTO x VALUES (1); CREATE INDEX CONCURRENTLY i ON x (a)"), "INSERT 0 1; 25001");
  EXPECT_EQ(ask("INSERT INTO x VALUES (1); DROP INDEX CONCURRENTLY i"), "INSERT 0 1; 25001");
  EXPECT_EQ(rows_of_x(), "");
  EXPECT_EQ(ask("CREATE INDEX CONCURRENTLY i ON x (a)"), "CREATE INDEX");
  EXPECT_EQ(ask("DECLARE c CURSOR FOR SELECT 1; FETCH c; CLOSE c"), "DECLARE CURSOR; FETCH 1; CLOSE CURSOR");
  EXPECT_EQ(ask("PREPARE p AS SELECT 5; SELECT 1/0"), "PREPARE; 22012");
  EXPECT_EQ(value("EXECUTE p"), "5");
}

}  // namespace
}  // namespace scyper::server
