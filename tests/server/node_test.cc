// Statements, loading, administration, TLS and HTTP of a server.

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "server_fixture.h"

namespace scyper::server {
namespace {

class NodeTest : public ServerTest {};

TEST_F(NodeTest, StreamsRowsOfScripts) {
  engine.numbers = 50'000;
  start();
  auto client = connect();
  size_t results = 0;
  Status status = client->execute("SELECT * FROM numbers;SELECT * FROM numbers", [&](const query::ResultSet& result) {
    ++results;
    ASSERT_EQ(result.row_count(), 50'000u);
    EXPECT_EQ(result.columns[2].name, "word");
    EXPECT_EQ(result.value(49'999, 1).lo, int64_t{49'999} * 49'999);
    EXPECT_EQ(std::string(result.value(123, 2).data(), result.value(123, 2).size()), "word 123");
    EXPECT_EQ(result.command_tag, "SELECT 50000");
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(results, 2u);
}

TEST_F(NodeTest, ScriptsStopAtTheFirstError) {
  start();
  auto client = connect();
  size_t results = 0;
  Status status =
      client->execute("SELECT * FROM numbers;SELEC;SELECT * FROM numbers", [&](const query::ResultSet&) { ++results; });
  EXPECT_EQ(sqlstate_of(status), "42601");
  EXPECT_EQ(position_of(status), 1);
  EXPECT_EQ(results, 1u);
  EXPECT_EQ(sqlstate_of(client->execute("SELECT '\xFF'", [](const query::ResultSet&) {})), "22021");
}

TEST_F(NodeTest, ForgottenStatementsArePreparedAgain) {
  options.prepared_max = 1;
  start();
  auto client = connect();
  auto add = client->prepare("CALL add($1, $2)");
  ASSERT_TRUE(add.ok());
  ASSERT_TRUE(client->prepare("CALL slow()").ok());  // pushes it out
  query::ResultSet result;
  Datum arguments[] = {int_datum(1), int_datum(2)};
  EXPECT_TRUE(client->call(**add, arguments, &result).ok());
  EXPECT_EQ(result.value(0, 0).lo, 3);
  EXPECT_EQ((*client->prepare("CALL add($1, $2)"))->id, (*add)->id);
  EXPECT_EQ(sqlstate_of(client->prepare("CALL nothing()").status()), "42601");
}

// The same by their memory; what is kept is shown.
TEST_F(NodeTest, PreparedStatementsAreBoundedByMemory) {
  options.prepared_bytes_max = 1;  // one stays
  start();
  auto client = connect();
  auto add = client->prepare("CALL add($1, $2)");
  ASSERT_TRUE(add.ok());
  const double one = metric("scyper_prepared_bytes");
  EXPECT_GT(one, 0);
  ASSERT_TRUE(client->prepare("CALL slow()").ok());
  EXPECT_GT(metric("scyper_prepared_bytes"), 0);
  EXPECT_LT(metric("scyper_prepared_bytes"), 2 * one);
  query::ResultSet result;
  Datum arguments[] = {int_datum(1), int_datum(2)};
  EXPECT_TRUE(client->call(**add, arguments, &result).ok());  // prepared again
  EXPECT_EQ(result.value(0, 0).lo, 3);
}

TEST_F(NodeTest, LessMemoryForGrpcThanItsMessagesNeedIsRefused) {
  options.message_bytes_max = 1 << 20;
  options.grpc_memory_bytes = 15 << 20;
  const Status refused = Server::check(options);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("grpc_memory"), std::string::npos) << refused;
  options.grpc_memory_bytes = 16 << 20;
  EXPECT_TRUE(Server::check(options).ok()) << Server::check(options);
}

TEST_F(NodeTest, LoadsBatchesAllOrNothing) {
  start();
  auto client = connect();
  EXPECT_EQ(sqlstate_of(client->open_load("nothing").status()), "42P01");
  auto load = client->open_load("pairs");
  ASSERT_TRUE(load.ok()) << load.status();
  ASSERT_EQ((*load)->columns().size(), 2u);
  Datum good[] = {int_datum(1), string_datum("one", 3), int_datum(2), null_datum()};
  Datum bad[] = {int_datum(3), null_datum(), int_datum(-1), null_datum()};
  EXPECT_TRUE((*load)->load(good).ok());
  EXPECT_EQ(sqlstate_of((*load)->load(bad)), "23514");
  EXPECT_TRUE((*load)->load(good).ok());
  EXPECT_EQ(engine.loaded().size(), 8u);
  EXPECT_EQ(metric("scyper_server_rows_loaded_total"), 4);
}

TEST_F(NodeTest, DescribesItself) {
  start();
  auto client = connect();
  auto status = client->status();
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->role, "primary");
  EXPECT_EQ(status->partitions, engine.options().partitions);
  EXPECT_EQ(status->version, kVersion);
  auto description = client->describe();
  ASSERT_TRUE(description.ok());
  ASSERT_EQ(description->tables.size(), 1u);
  EXPECT_EQ(description->tables[0].columns[1].type, make_string(TypeId::kVarchar, 10));
  EXPECT_EQ(description->routines[0].classification, "partition-constrained by $1");
}

TEST_F(NodeTest, ShowsWhereTablesLie) {
  start();
  auto status = connect()->storage();
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_FALSE(status->compaction.has_value());
  ASSERT_EQ(status->tables.size(), 1u);
  const storage::TableTemperature& shown = status->tables[0].temperature;
  const storage::TableTemperature wanted = engine.tables()[0].temperature;
  EXPECT_EQ(shown.hot.tuples, wanted.hot.tuples);
  EXPECT_EQ(shown.frozen.chunks, wanted.frozen.chunks);
  EXPECT_EQ(shown.thawed_bytes, wanted.thawed_bytes);
  EXPECT_EQ(shown.invalid_ranges, wanted.invalid_ranges);
  ASSERT_EQ(shown.attributes.size(), 2u);
  EXPECT_EQ(shown.attributes[1].name, "b");
  EXPECT_EQ(shown.attributes[1].dictionary_values, 17u);
}

TEST_F(NodeTest, ServesMetricsAndHealthOverHttp) {
  start();
  auto client = connect();
  ASSERT_TRUE(client->execute("SELECT * FROM numbers", [](const query::ResultSet&) {}).ok());
  std::string metrics_page = http_get(server->http_port(), "/metrics");
  EXPECT_NE(metrics_page.find("200 OK"), std::string::npos) << metrics_page;
  EXPECT_NE(metrics_page.find("\nscyper_server_statements_total 1\n"), std::string::npos) << metrics_page;
  EXPECT_NE(metrics_page.find("# TYPE scyper_server_request_duration_seconds histogram"), std::string::npos);
  EXPECT_NE(metrics_page.find("scyper_transactions_total{outcome=\"committed\"}"), std::string::npos);
  EXPECT_NE(http_get(server->http_port(), "/healthz").find("\r\n\r\nok\n"), std::string::npos);
  EXPECT_NE(http_get(server->http_port(), "/readyz").find("\r\n\r\nready\n"), std::string::npos);
  EXPECT_NE(http_get(server->http_port(), "/primary").find("\r\n\r\nprimary\n"), std::string::npos);
  EXPECT_NE(http_get(server->http_port(), "/replica").find("503 Service Unavailable"), std::string::npos);
  EXPECT_NE(metrics_page.find("\nscyper_node_role{role=\"primary\"} 1\n"), std::string::npos);
  EXPECT_NE(metrics_page.find("\nprocess_resident_memory_bytes "), std::string::npos);
  EXPECT_NE(http_get(server->http_port(), "/other").find("404"), std::string::npos);
  EXPECT_NE(http_get(server->http_port(), "/metrics/more").find("404 Not Found"), std::string::npos);
  EXPECT_NE(http_get(server->http_port(), "/").find("<title>ScyPer</title>"), std::string::npos);
  EXPECT_NE(http_get(server->http_port(), "/status.json").find("\"role\":\"primary\""), std::string::npos);
}

TEST_F(NodeTest, SaysWhetherItIsReady) {
  options.ready_commit_ms = 1;
  start();
  const auto ready = [this] { return http_get(server->http_port(), "/readyz"); };
  EXPECT_NE(ready().find("\r\n\r\nready\n"), std::string::npos);
  primary::Engine::LogInfo log;
  log.is_on = log.is_full = true;
  engine.set_log(log);
  EXPECT_NE(ready().find("503 Service Unavailable"), std::string::npos);
  EXPECT_NE(ready().find("the database is read-only"), std::string::npos);
  EXPECT_NE(http_get(server->http_port(), "/primary").find("200 OK"), std::string::npos);  // there is no other
  EXPECT_NE(http_get(server->http_port(), "/metrics").find("\nscyper_log_full 1\n"), std::string::npos);
  log.is_full = false;
  log.is_failed = true;
  engine.set_log(log);
  EXPECT_NE(ready().find("the log cannot be written"), std::string::npos);
  log.is_failed = false;
  log.last_lsn = 7;
  log.confirmed_lsn = 5;
  engine.set_log(log);
  EXPECT_NE(ready().find("\nready\n"), std::string::npos);  // it has risen
  std::string answer = ready();
  while (answer.find("\nready\n") != std::string::npos) answer = ready();
  EXPECT_NE(answer.find("the commit point is 5 of 7"), std::string::npos) << answer;
  log.confirmed_lsn = 6;
  engine.set_log(log);
  EXPECT_NE(ready().find("\nready\n"), std::string::npos);
}

TEST_F(NodeTest, WantsTlsBeyondLoopback) {
  options.listen = "0.0.0.0:0";
  EXPECT_FALSE(Server::start(options, &engine, &metrics).ok());
  options.listen = "127.0.0.1:0";
  options.http_listen = "0.0.0.0:0";
  EXPECT_FALSE(Server::start(options, &engine, &metrics).ok());
  options.insecure_http = true;
  EXPECT_TRUE(Server::start(options, &engine, &metrics).ok());
  options.listen = "0.0.0.0:0";  // HTTP alone
  EXPECT_FALSE(Server::start(options, &engine, &metrics).ok());
  options.listen = "127.0.0.1:0";
  options.http_listen = "";
  options.tls_cert = "/nowhere/cert.pem";
  EXPECT_FALSE(Server::start(options, &engine, &metrics).ok());
  options.tls_cert = "";
  options.listen = "0.0.0.0:0";
  options.insecure_listen = true;
  EXPECT_TRUE(Server::start(options, &engine, &metrics).ok());
}

// What only a primary reads is looked at before a node takes part in elections.
TEST_F(NodeTest, FilesAreCheckedBeforeThereIsAnEngine) {
  const std::string users = testing::TempDir() + "/users";
  std::ofstream(users) << "app:secret\n";
  options.postgres_listen = "127.0.0.1:0";
  options.postgres_users = users;
  ASSERT_EQ(::chmod(users.c_str(), 0640), 0);
  EXPECT_NE(Server::check(options).message().find("others than its owner may read it"), absl::string_view::npos);
  ASSERT_EQ(::chmod(users.c_str(), 0600), 0);
  EXPECT_TRUE(Server::check(options).ok());
  options.tls_cert = options.tls_key = "/nowhere/node.pem";
  EXPECT_FALSE(Server::check(options).ok());
}

// The loop's first request for a stream, still on its way when the queue was shut, aborted the process.
TEST_F(NodeTest, StopsRightAfterItsStart) {
  for (int i = 0; i < 100; ++i) {
    auto server = Server::start(options, &engine, &metrics);
    ASSERT_TRUE(server.ok()) << "start " << i << ": " << server.status();
  }
}

TEST_F(NodeTest, TwoServersDoNotShareAPort) {
  start();
  ServerOptions second = options;
  second.listen = target();
  EXPECT_FALSE(Server::start(second, &engine, &metrics).ok());
}

TEST_F(NodeTest, SpeaksTls) {
  char directory[] = "/tmp/scyper_tls_XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  std::string path(directory);
  std::string command =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost "
      "-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout " +
      path + "/key.pem -out " + path + "/cert.pem 2>/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  options.tls_cert = path + "/cert.pem";
  options.tls_key = path + "/key.pem";
  start();
  client::ConnectOptions to;
  to.target = target();
  to.tls_ca = path + "/cert.pem";
  to.connect_timeout_ms = 60'000;  // a busy machine
  auto client = client::Client::connect(to);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_TRUE((*client)->status().ok());
  to.tls_ca = "";
  to.connect_timeout_ms = 300;
  EXPECT_EQ(sqlstate_of(client::Client::connect(to).status()), "08001");
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace scyper::server
