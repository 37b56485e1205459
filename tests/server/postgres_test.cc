// PostgreSQL's protocol, message by message: what clients may send, and what they should not.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/test_seed.h"
#include "postgres_socket.h"
#include "server_fixture.h"

namespace scyper::server {
namespace {

class PostgresTest : public ServerTest {
 protected:
  void start() {
    options.postgres_listen = "127.0.0.1:0";
    options.http_listen = "";
    ServerTest::start();
  }
  std::unique_ptr<Socket> open() {
    auto socket = std::make_unique<Socket>(server->postgres_port());
    socket->send(start_packet());
    const std::string types = socket->types();
    EXPECT_TRUE(types.starts_with("RKS") && types.ends_with("Z")) << types;
    return socket;
  }
  void expect_works() {
    auto socket = open();
    socket->send(parse("", "CALL add($1, $2)") + bind("", {"20", "22"}, 1) + execute(0) + kSync);
    EXPECT_EQ(socket->types(), "12DCZ");
    ASSERT_FALSE(socket->rows.empty());
    EXPECT_EQ(socket->rows.back(), int16(1) + int32(4) + int32(42));
  }
};

TEST_F(PostgresTest, SimpleAndExtendedQueries) {
  start();
  auto socket = open();
  socket->send(query("SELECT * FROM numbers"));
  EXPECT_EQ(socket->types(), "TDDDCZ");
  EXPECT_EQ(socket->tags.back(), "SELECT 3");
  socket->send(query("  ;  "));
  EXPECT_EQ(socket->types(), "IZ");
  socket->send(query("SELECT * FROM numbers; BEGIN; SELECT * FROM numbers; nothing"));
  EXPECT_EQ(socket->types(), "EZ");  // the whole text is parsed first
  EXPECT_EQ(socket->error.field('C'), "42601");
  // portals with row limits: within a block they outlive Sync
  socket->send(query("BEGIN"));
  EXPECT_EQ(socket->types(), "CZ");
  socket->rows.clear();
  socket->send(parse("s", "SELECT * FROM numbers") + bind("s", {}, 0) + message('D', "P" + text("")) + execute(2) +
               kSync + execute(0) + kSync);
  EXPECT_EQ(socket->types(), "12TDDsZ");
  EXPECT_EQ(socket->types(), "DCZ");
  EXPECT_EQ(socket->rows.size(), 3u);
  socket->send(query("COMMIT") + message('D', "S" + text("s")) + message('C', "S" + text("s")) +
               message('D', "S" + text("s")) + kSync);
  EXPECT_EQ(socket->types(), "CZ");
  EXPECT_EQ(socket->types(), "tT3EZ");
  EXPECT_EQ(socket->error.field('C'), "26000");
}

TEST_F(PostgresTest, AnErrorSkipsUpToSync) {
  start();
  auto socket = open();
  socket->send(parse("", "nothing at all") + bind("", {}, 0) + execute(0) + message('H', "") + kSync +
               parse("", "CALL add($1, $2)") + bind("", {"1"}, 0) + execute(0) + kSync);
  EXPECT_EQ(socket->types(), "EZ");
  EXPECT_EQ(socket->types(), "1EZ");
  EXPECT_EQ(socket->error.field('C'), "08P01");
  socket->send(parse("", "CALL add($1, $2)") + bind("", {"1", "x"}, 0) + kSync);
  EXPECT_EQ(socket->types(), "1EZ");
  EXPECT_EQ(socket->error.field('C'), "22P02");
  EXPECT_EQ(socket->error.field('S'), "ERROR");
  socket->send(parse("", "CALL add($1, $2)") + bind("", {"2147483647", "1"}, 0) + execute(0) + kSync);
  EXPECT_EQ(socket->types(), "12EZ");
  EXPECT_EQ(socket->error.field('C'), "22003");
  // what stands between the error and Sync is not run, whatever it is
  socket->tags.clear();
  socket->send(parse("", "nothing at all") + query("CALL add(1, 2)") + query("BEGIN") + kSync);
  EXPECT_EQ(socket->types(), "EZ");
  EXPECT_TRUE(socket->tags.empty());
  socket->send(message('F', "") + message('d', "stray") + kSync);
  EXPECT_EQ(socket->types(), "EZ");
  expect_works();
}

TEST_F(PostgresTest, LimitsAreErrors) {
  options.postgres_connections_max = 2;
  options.postgres_statements_max = 1;
  options.postgres_message_bytes_max = 10'000;
  start();
  auto first = open(), second = open();
  Socket third(server->postgres_port());
  third.send(start_packet());
  EXPECT_EQ(third.types(), "E");
  EXPECT_EQ(third.error.field('C'), "53300");
  EXPECT_EQ(third.error.field('S'), "FATAL");
  first->send(parse("a", "CALL add($1, $2)") + parse("b", "CALL add($1, $2)") + kSync);
  EXPECT_EQ(first->types(), "1EZ");
  EXPECT_EQ(first->error.field('C'), "53400");
  first->send(query(std::string(20'000, ' ')));
  EXPECT_EQ(first->types(), "E");
  EXPECT_EQ(first->error.field('S'), "FATAL");
  second->send(query("SELECT * FROM numbers"));
  EXPECT_EQ(second->types(), "TDDDCZ");
}

TEST_F(PostgresTest, WhoSaysNothingIsNotWaitedFor) {
  options.postgres_authentication_timeout_ms = 50;
  start();
  Socket silent(server->postgres_port());
  EXPECT_EQ(silent.types(), "");
  Socket half(server->postgres_port());
  half.send(start_packet().substr(0, 7));
  EXPECT_EQ(half.types(), "");
}

// Connections without a word hold no place: of too many the oldest goes.
TEST_F(PostgresTest, SilentClientsKeepNobodyOut) {
  constexpr size_t kClients = 2, kStrangers = kClients + 16;
  options.postgres_connections_max = kClients;
  start();
  auto first = open();
  std::vector<std::unique_ptr<Socket>> silent;
  for (size_t i = 0; i < kStrangers + 10; ++i) silent.push_back(std::make_unique<Socket>(server->postgres_port()));
  EXPECT_EQ(silent[0]->types(), "");  // its end
  wait_until([&] { return metric("scyper_postgres_sessions") <= 1 + kStrangers; }, "the oldest are still there");
  auto second = open();
  Socket third(server->postgres_port());
  third.send(start_packet());
  EXPECT_EQ(third.types(), "E");
  EXPECT_EQ(third.error.field('C'), "53300");
  second.reset();
  wait_until(
      [&] {
        Socket again(server->postgres_port());
        again.send(start_packet());
        return again.types().ends_with("Z");
      },
      "the place is not free again");
}

// Of all statements and portals together, whatever their number.
TEST_F(PostgresTest, StatementsOfASessionHaveABoundOfBytes) {
  options.postgres_message_bytes_max = 10'000;
  start();
  auto socket = open();
  const std::string text_of_one = "SET application_name = '" + std::string(9'000, 'x') + "'";
  int kept = 0;
  while (kept < 100) {
    socket->send(parse("s" + std::to_string(kept), text_of_one) + kSync);
    if (socket->types() != "1Z") break;
    ++kept;
  }
  EXPECT_GE(kept, 2);
  EXPECT_LE(kept, 10);
  EXPECT_EQ(socket->error.field('C'), "53400");
  socket->send(message('C', "S" + text("s0")) + kSync);
  EXPECT_EQ(socket->types(), "3Z");
  socket->send(parse("again", text_of_one) + kSync);
  EXPECT_EQ(socket->types(), "1Z");
}

TEST_F(PostgresTest, StartPackets) {
  start();
  Socket tls(server->postgres_port());
  tls.send(int32(8) + int32(80'877'103));
  EXPECT_EQ(tls.read_bytes(1), "N");
  tls.send(int32(8) + int32(80'877'104));
  EXPECT_EQ(tls.read_bytes(1), "N");
  tls.send(start_packet());
  EXPECT_TRUE(tls.types().ends_with("Z"));
  Socket old(server->postgres_port());
  old.send(int32(8) + int32(131'072));
  EXPECT_EQ(old.types(), "E");
  EXPECT_EQ(old.error.field('C'), "0A000");
  Socket newer(server->postgres_port());
  const std::string payload = int32(196'610) + text("user") + text("a") + text("");
  newer.send(int32(static_cast<int64_t>(payload.size()) + 4) + payload);
  EXPECT_TRUE(newer.types().starts_with("vRK"));
  Socket nobody(server->postgres_port());
  nobody.send(int32(9) + int32(196'608) + text(""));
  EXPECT_EQ(nobody.types(), "E");
  EXPECT_EQ(nobody.error.field('C'), "28000");
  Socket cancel(server->postgres_port());  // of a session that does not exist
  cancel.send(int32(16) + int32(80'877'102) + int32(1) + int32(2));
  EXPECT_EQ(cancel.types(), "");
}

TEST_F(PostgresTest, SettingsOfABlock) {
  start();
  auto socket = open();
  const auto value_of = [&](const std::string& name) {
    socket->rows.clear();
    socket->send(query("SHOW " + name));
    EXPECT_EQ(socket->types(), "TDCZ");
    return socket->rows.empty() ? "" : socket->rows[0].substr(6);
  };
  // a local setting that was refused leaves nothing to bring back at the end
  socket->send(query("BEGIN") + query("SAVEPOINT a") + query("SET LOCAL nonsense = 1") + query("ROLLBACK TO a") +
               query("SET LOCAL lock_timeout = 'never'") + query("ROLLBACK TO a") + query("COMMIT"));
  EXPECT_EQ(socket->types() + socket->types() + socket->types(), "CZCZEZ");
  EXPECT_EQ(socket->error.field('C'), "42704");
  EXPECT_EQ(socket->types() + socket->types(), "CZEZ");
  EXPECT_EQ(socket->error.field('C'), "22023");
  EXPECT_EQ(socket->types() + socket->types(), "CZCZ");
  EXPECT_EQ(socket->tags.back(), "COMMIT");
  // the last SET of a block stays, what was local goes
  socket->send(query("BEGIN; SET lock_timeout = 1; SET LOCAL LOCK_TIMEOUT = 2; COMMIT"));
  socket->types();
  EXPECT_EQ(value_of("lock_timeout"), "1ms");
  socket->send(query("BEGIN; SET LOCAL lock_timeout = 3; SET LOCK_TIMEOUT = 4; COMMIT"));
  socket->types();
  EXPECT_EQ(value_of("lock_timeout"), "4ms");
  socket->send(query("BEGIN; SET LOCAL lock_timeout = 5; RESET lock_timeout; COMMIT"));
  socket->types();
  EXPECT_EQ(value_of("lock_timeout"), "0");
  expect_works();
}

TEST_F(PostgresTest, ModesOfTransactions) {
  start();
  auto socket = open();
  const auto value_of = [&](const std::string& before, const std::string& name) {
    socket->rows.clear();
    socket->send(query(before + "; SHOW " + name));
    socket->types();
    return socket->rows.empty() ? "" : socket->rows[0].substr(6);
  };
  EXPECT_EQ(value_of("BEGIN READ ONLY", "transaction_read_only"), "on");
  socket->send(query("CALL slow()"));
  EXPECT_EQ(socket->types(), "EZ");
  EXPECT_EQ(socket->error.field('C'), "25006");
  EXPECT_EQ(value_of("ROLLBACK", "transaction_read_only"), "off");
  EXPECT_EQ(value_of("BEGIN; SET TRANSACTION READ ONLY", "transaction_read_only"), "on");
  EXPECT_EQ(value_of("COMMIT AND CHAIN", "transaction_read_only"), "on");
  EXPECT_EQ(value_of("RESET ALL", "transaction_read_only"), "on");
  EXPECT_EQ(value_of("COMMIT", "transaction_read_only"), "off");
  // of the message's transaction, as in PostgreSQL
  EXPECT_EQ(value_of("SET transaction_read_only = on", "transaction_read_only"), "on");
  EXPECT_EQ(value_of("RESET application_name", "transaction_read_only"), "off");
  // what the session's defaults say, from the next transaction on
  EXPECT_EQ(value_of("SET default_transaction_read_only = on", "transaction_read_only"), "off");
  EXPECT_EQ(value_of("RESET application_name", "transaction_read_only"), "on");
  socket->send(query("CALL slow()"));
  EXPECT_EQ(socket->types(), "EZ");
  EXPECT_EQ(socket->error.field('C'), "25006");
  EXPECT_EQ(value_of("BEGIN", "transaction_read_only"), "on");
  EXPECT_EQ(value_of("SET TRANSACTION READ WRITE", "transaction_read_only"), "off");
  EXPECT_EQ(
      value_of("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ", "transaction_isolation"),
      "read committed");
  EXPECT_EQ(value_of("COMMIT", "transaction_isolation"), "repeatable read");
  EXPECT_EQ(value_of("BEGIN ISOLATION LEVEL SERIALIZABLE", "transaction_isolation"), "serializable");
  EXPECT_EQ(value_of("ROLLBACK", "transaction_isolation"), "repeatable read");
}

// As one who sends nothing.
TEST_F(PostgresTest, WhoSendsHalfAMessageIsIdle) {
  start();
  auto socket = open();
  socket->send(query("SET idle_in_transaction_session_timeout = 50; BEGIN") +
               query("SELECT * FROM numbers").substr(0, 8));
  EXPECT_EQ(socket->types(), "CCZ");
  EXPECT_EQ(socket->types(), "E");
  EXPECT_EQ(socket->error.field('C'), "25P03");
}

// Bytes that make no sense end their connection and nothing else.
TEST_F(PostgresTest, GarbageEndsItsConnectionOnly) {
  options.postgres_message_bytes_max = 4096;
  start();
  Random random(test_seed());
  const std::string sound = parse("a", "CALL add($1, $2)") + bind("a", {"1", "2"}, 1) + message('D', "S" + text("a")) +
                            execute(1) + kSync + query("SELECT * FROM numbers");
  for (int round = 0; round < 200; ++round) {
    Socket socket(server->postgres_port());
    std::string bytes = round % 2 == 0 ? sound : std::string(random.below(300), '\0');
    const size_t changes = round % 2 == 0 ? 1 + random.below(5) : bytes.size();
    for (size_t i = 0; i < changes && !bytes.empty(); ++i) {
      bytes[round % 2 == 0 ? random.below(bytes.size()) : i] = static_cast<char>(random.below(256));
    }
    if (round % 4 < 2) socket.send(start_packet());
    socket.send(bytes);
    socket.end_sending();
    while (socket.read().type != 0) continue;
  }
  expect_works();
}

// Clients that vanish in the middle of a message leave no thread and no descriptor.
TEST_F(PostgresTest, KilledConnectionsLeaveNothing) {
  options.postgres_connections_max = 200;
  start();
  expect_works();
  wait_until([&] { return metric("scyper_postgres_sessions") == 0; }, "the first session has not ended");
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = descriptors();
  for (int round = 0; round < 2; ++round) {
    std::vector<std::unique_ptr<Socket>> sockets;
    for (int i = 0; i < 100; ++i) {
      sockets.push_back(std::make_unique<Socket>(server->postgres_port()));
      const std::string whole = start_packet() + query("SELECT * FROM numbers");
      sockets.back()->send(std::string_view(whole).substr(0, whole.size() - static_cast<size_t>(i) % whole.size()));
    }
  }
  wait_until([&] { return metric("scyper_postgres_sessions") == 0 && descriptors() <= before; },
             "descriptors are left");
  expect_works();
}

TEST_F(PostgresTest, StopTellsIdleClients) {
  start();
  auto socket = open();
  server->stop();
  EXPECT_EQ(socket->types(), "E");
  EXPECT_EQ(socket->error.field('C'), "57P01");
}

}  // namespace
}  // namespace scyper::server
