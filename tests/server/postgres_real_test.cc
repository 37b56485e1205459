// PostgreSQL's protocol on the real engine: results that are read in parts.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "postgres_socket.h"
#include "real_node.h"

namespace scyper::server {
namespace {

const std::string kFlush = message('H', "");

class PostgresRealTest : public RealNodeTest {
 protected:
  PostgresRealTest() {
    ServerOptions server;
    server.postgres_listen = "127.0.0.1:0";
    start_node({}, server);
    socket_ = std::make_unique<Socket>(server_->postgres_port());
    socket_->send(start_packet());
    EXPECT_TRUE(socket_->types().ends_with("Z"));
  }
  // Asks for one row; more of the result is read on while the client thinks.
  void read_one_row(const std::string& sql) {
    socket_->send(parse("", sql) + bind("", {}, 0) + execute(1) + kFlush);
    EXPECT_EQ(std::string({socket_->read().type, socket_->read().type, socket_->read().type, socket_->read().type}),
              "12Ds");
  }
  double open_sessions() {
    double value = -1;
    for (const auto& family : metrics_.collect()) {
      if (family.name == "scyper_postgres_sessions") value = family.samples.at(0).value;
    }
    return value;
  }

  std::unique_ptr<Socket> socket_;
};

TEST_F(PostgresRealTest, AnErrorBehindTheFirstRowsComesWhenTheyAreAskedFor) {
  read_one_row("SELECT repeat('x', 10000), 1 / (1000 - i) FROM generate_series(1, 2000) i");
  for (int round = 0; round < 2; ++round) {
    socket_->send(execute(0) + kSync);
    EXPECT_TRUE(socket_->types().ends_with("EZ"));
    EXPECT_EQ(socket_->error.field('C'), round == 0 ? "22012" : "34000");
  }
}

// Cursors are portals of the protocol, too: those of DECLARE and those that routines leave open.
TEST_F(PostgresRealTest, CursorsAreDescribedAndExecuted) {
  const auto describe = [](const std::string& name) { return message('D', "P" + text(name)); };
  const auto execute_named = [](const std::string& name, int rows) { return message('E', text(name) + int32(rows)); };
  socket_->send(
      query("CREATE FUNCTION open_it() RETURNS refcursor LANGUAGE plpgsql AS $$ DECLARE c refcursor := 'r'; "
            "BEGIN OPEN c FOR SELECT i FROM generate_series(1, 5) i; RETURN c; END $$"));
  EXPECT_TRUE(socket_->types().ends_with("Z"));
  socket_->send(query("BEGIN; SELECT open_it(); DECLARE d CURSOR FOR SELECT i FROM generate_series(1, 4) i"));
  EXPECT_TRUE(socket_->types().ends_with("Z"));
  for (const char* name : {"d", "r"}) {
    socket_->tags.clear();
    socket_->send(query("MOVE 1 FROM " + std::string(name)));
    EXPECT_EQ(socket_->types(), "CZ");
    socket_->send(describe(name) + execute_named(name, 2) + execute_named(name, 0) + kSync);
    EXPECT_EQ(socket_->types(), name == std::string("d") ? "TDDsDCZ" : "TDDsDDCZ") << socket_->error.field('M');
    EXPECT_EQ(socket_->tags.back(), name == std::string("d") ? "SELECT 1" : "SELECT 2");
  }
  socket_->send(query("ROLLBACK"));
  EXPECT_EQ(socket_->types(), "CZ");
}

// A result of which the next row takes hours: nobody waits for it when its client has gone.
TEST_F(PostgresRealTest, AClientThatGoesEndsWhatIsReadOn) {
  read_one_row("SELECT repeat('x', 100000) FROM generate_series(1, 100000000000000) i WHERE i < 5");
  EXPECT_EQ(open_sessions(), 1);
  socket_.reset();
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (open_sessions() != 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(open_sessions(), 0);
}

// Settings reach the engine and come back from it; names are looked up in search_path wherever a statement runs.
TEST_F(PostgresRealTest, SettingsOfTheSession) {
  const auto ask = [&](const std::string& sql) {
    socket_->rows.clear();
    socket_->send(query(sql));
    const std::string types = socket_->types();
    if (types.find('E') != std::string::npos) return "ERROR " + socket_->error.field('C');
    return socket_->rows.empty() ? socket_->tags.back() : socket_->rows[0].substr(6);
  };
  EXPECT_EQ(ask("SELECT current_setting('app.tenant', true) IS NULL"), "t");
  EXPECT_EQ(ask("SET app.tenant = 'acme'"), "SET");
  EXPECT_EQ(ask("SELECT current_setting('app.tenant')"), "acme");
  EXPECT_EQ(ask("SELECT set_config('app.tenant', 'other', false)"), "other");
  EXPECT_EQ(ask("SHOW app.tenant"), "other");
  EXPECT_EQ(ask("SELECT set_config('app.tenant', 'once', true)"), "once");
  EXPECT_EQ(ask("SELECT current_setting('app.tenant')"), "other");
  EXPECT_EQ(
      ask("SELECT set_config('app.tenant', 'lost', false), 1 / (current_setting('app.tenant') <> '')::integer - 1 / 0"),
      "ERROR 22012");
  EXPECT_EQ(ask("SELECT current_setting('app.tenant')"), "other");
  EXPECT_EQ(ask("CREATE TABLE t (a text)"), "CREATE TABLE");
  EXPECT_EQ(ask("INSERT INTO t VALUES ('public')"), "INSERT 0 1");
  EXPECT_EQ(ask("CREATE SCHEMA app"), "CREATE SCHEMA");
  EXPECT_EQ(ask("SET search_path = app, public"), "SET");
  EXPECT_EQ(ask("SELECT a FROM t"), "public");
  EXPECT_EQ(ask("CREATE TABLE t (a text)"), "CREATE TABLE");
  EXPECT_EQ(ask("INSERT INTO t VALUES ('app')"), "INSERT 0 1");
  EXPECT_EQ(ask("SELECT a FROM t"), "app");
  socket_->rows.clear();
  socket_->send(parse("", "SELECT a FROM t WHERE a = $1") + bind("", {"app"}, 0) + execute(0) + kSync);
  EXPECT_EQ(socket_->types(), "12DCZ");
  EXPECT_EQ(ask("SET search_path = public"), "SET");
  EXPECT_EQ(ask("SELECT a FROM t"), "public");
  EXPECT_EQ(ask("SELECT pg_catalog.set_config('search_path', 'app', false)"), "app");
  EXPECT_EQ(ask("SELECT a FROM t"), "app");
  EXPECT_EQ(ask("DROP TABLE t"), "DROP TABLE");
  EXPECT_EQ(ask("SELECT a FROM t"), "ERROR 42P01");
  EXPECT_EQ(ask("RESET search_path"), "RESET");
  EXPECT_EQ(ask("SELECT a FROM t"), "public");
}

// What statements on snapshots and in transactions, parameters and results mean.
TEST_F(PostgresRealTest, TimeZoneOfTheSession) {
  const auto ask = [&](const std::string& sql) {
    socket_->rows.clear();
    socket_->send(query(sql));
    const std::string types = socket_->types();
    if (types.find('E') != std::string::npos) return "ERROR " + socket_->error.field('C');
    return socket_->rows.empty() ? socket_->tags.back() : socket_->rows[0].substr(6);
  };
  EXPECT_EQ(ask("CREATE TABLE moments (at timestamptz PRIMARY KEY)"), "CREATE TABLE");
  EXPECT_EQ(ask("SET TimeZone = 'europe/berlin'"), "SET");
  EXPECT_EQ(ask("SHOW TimeZone"), "Europe/Berlin");
  EXPECT_EQ(ask("INSERT INTO moments VALUES ('2024-07-01 12:00')"), "INSERT 0 1");
  EXPECT_EQ(ask("SELECT at FROM moments"), "2024-07-01 12:00:00+02");
  EXPECT_EQ(ask("SELECT at::text FROM moments WHERE at = '2024-07-01 12:00'"), "2024-07-01 12:00:00+02");
  socket_->rows.clear();
  socket_->send(parse("", "SELECT at::text FROM moments WHERE at = $1") + bind("", {"2024-07-01 12:00"}, 0) +
                execute(0) + kSync);
  EXPECT_EQ(socket_->types(), "12DCZ");
  EXPECT_EQ(socket_->rows[0].substr(6), "2024-07-01 12:00:00+02");
  EXPECT_EQ(ask("SELECT set_config('TimeZone', 'Asia/Tokyo', false)"), "Asia/Tokyo");
  EXPECT_EQ(ask("SELECT at::text FROM moments"), "2024-07-01 19:00:00+09");
  EXPECT_EQ(ask("SET TimeZone = 'Mars/Olympus'"), "ERROR 22023");
  EXPECT_EQ(ask("BEGIN"), "BEGIN");
  EXPECT_EQ(ask("SET LOCAL TIME ZONE 2"), "SET");
  EXPECT_EQ(ask("SELECT at::text FROM moments"), "2024-07-01 12:00:00+02");
  EXPECT_EQ(ask("SHOW TimeZone"), "<+02>-02");
  EXPECT_EQ(ask("ROLLBACK"), "ROLLBACK");
  EXPECT_EQ(ask("SELECT at FROM moments"), "2024-07-01 19:00:00+09");
  EXPECT_EQ(ask("RESET TimeZone"), "RESET");
  EXPECT_EQ(ask("SELECT at FROM moments"), "2024-07-01 10:00:00+00");
}

// The last places are superusers': the error of all others names the settings.
TEST_F(RealNodeTest, TheLastPlacesAreForSuperusers) {
  ServerOptions server;
  server.postgres_listen = "127.0.0.1:0";
  server.postgres_connections_max = 3;
  server.postgres_superuser_connections = 2;
  start_node({}, server);
  run("CREATE ROLE clerk LOGIN");
  std::vector<std::unique_ptr<Socket>> open;
  const auto comes = [&](const std::string& user) {
    open.push_back(std::make_unique<Socket>(server_->postgres_port()));
    open.back()->send(start_packet(user));
    return open.back()->types().ends_with("Z");
  };
  const auto error = [&](char field) { return open.back()->error.field(field); };
  EXPECT_TRUE(comes("clerk"));
  EXPECT_FALSE(comes("clerk"));
  EXPECT_EQ(error('C'), "53300");
  EXPECT_EQ(error('M'), "remaining connection slots are reserved for non-replication superuser connections");
  EXPECT_EQ(error('H'), "See postgres_superuser_connections and postgres_connections_max.");
  EXPECT_TRUE(comes("scyper"));
  EXPECT_TRUE(comes("scyper"));
  EXPECT_FALSE(comes("scyper"));
  EXPECT_EQ(error('M'), "sorry, too many clients already");
  EXPECT_EQ(error('H'), "See postgres_connections_max.");
}

}  // namespace
}  // namespace scyper::server
