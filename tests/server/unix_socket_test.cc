// The file of a Unix socket beside the port: setting unix_socket.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "server_fixture.h"

namespace scyper::server {
namespace {

class UnixSocketTest : public ServerTest {
 protected:
  UnixSocketTest() {
    char directory[] = "/tmp/scyper_socket_XXXXXX";
    EXPECT_NE(mkdtemp(directory), nullptr);
    folder = directory;
    options.unix_socket = folder + "/node.sock";
  }
  ~UnixSocketTest() override {
    server.reset();
    std::filesystem::remove_all(folder);
  }

  mode_t mode() const {
    struct stat found{};
    EXPECT_EQ(stat(options.unix_socket.c_str(), &found), 0);
    EXPECT_TRUE(S_ISSOCK(found.st_mode));
    return found.st_mode & 0777;
  }
  Status call_there() const {
    client::ConnectOptions to;
    to.target = "unix:" + options.unix_socket;
    to.connect_timeout_ms = 60'000;
    SCYPER_ASSIGN_OR_RETURN(auto client, client::Client::connect(to));
    SCYPER_ASSIGN_OR_RETURN(auto add, client->prepare("CALL add($1, $2)"));
    query::ResultSet result;
    const Datum arguments[] = {int_datum(1), int_datum(2)};
    return client->call(*add, arguments, &result);
  }
  // Why a server with these options does not start.
  Status refusal() {
    auto started = Server::start(options, &engine, &metrics);
    EXPECT_FALSE(started.ok());
    return started.status();
  }
  static bool says(const Status& status, const char* text) {
    return status.message().find(text) != absl::string_view::npos;
  }

  std::string folder;
};

TEST_F(UnixSocketTest, ServesBesideThePort) {
  start();
  EXPECT_EQ(mode(), 0770u);
  EXPECT_TRUE(call_there().ok());
  EXPECT_TRUE(connect()->status().ok());
  server->stop();
  EXPECT_FALSE(std::filesystem::exists(options.unix_socket));
  server.reset();
  options.unix_socket_permissions = "0700";
  start();
  EXPECT_EQ(mode(), 0700u);
  EXPECT_TRUE(call_there().ok());
}

TEST_F(UnixSocketTest, TwoNodesDoNotShareIt) {
  start();
  const Status refused = refusal();
  EXPECT_TRUE(says(refused, "another process listens there")) << refused;
  EXPECT_TRUE(call_there().ok());
}

TEST_F(UnixSocketTest, WhatADeadNodeLeftIsReplaced) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, options.unix_socket.c_str());
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  close(fd);
  ASSERT_TRUE(std::filesystem::exists(options.unix_socket));
  start();
  EXPECT_TRUE(call_there().ok());
}

// Beside postgres_listen, under the name that libpq looks for. Its file goes with the node.
TEST_F(UnixSocketTest, ServesPostgresClients) {
  options.postgres_socket_directory = folder;
  EXPECT_TRUE(says(refusal(), "postgres_socket_directory needs postgres_listen"));
  options.postgres_listen = "127.0.0.1:0";
  start();
  const std::string port = std::to_string(server->postgres_port());
  const std::string path = folder + "/.s.PGSQL." + port;
  struct stat found{};
  ASSERT_EQ(stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0770u);
  const auto ask = [&](const std::string& question) {
    const std::string command = "psql -X -A -t -h " + folder + " -p " + port + " -U me -d scyper -c '" + question + "'";
    FILE* answers = popen(command.c_str(), "r");
    char line[100] = "";
    EXPECT_NE(fgets(line, sizeof line, answers), nullptr);
    EXPECT_EQ(pclose(answers), 0);
    return std::string(line);
  };
  EXPECT_EQ(ask("SHOW standard_conforming_strings"), "on\n");
  server.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(UnixSocketTest, WrongSettingsAreRefused) {
  std::ofstream(options.unix_socket) << "precious";
  Status refused = refusal();
  EXPECT_TRUE(says(refused, "there is a file that is no socket")) << refused;
  EXPECT_TRUE(std::filesystem::is_regular_file(options.unix_socket));
  options.unix_socket = folder + "/nowhere/node.sock";
  refused = refusal();
  EXPECT_TRUE(says(refused, "/nowhere/node.sock")) << refused;
  options.unix_socket = folder + "/" + std::string(120, 'x');
  refused = refusal();
  EXPECT_TRUE(says(refused, "is too long (maximum 107 bytes)")) << refused;
  options.unix_socket = folder + "/node.sock2";
  for (const char* wrong : {"rwx", "0888", "01777", ""}) {
    options.unix_socket_permissions = wrong;
    refused = refusal();
    EXPECT_TRUE(says(refused, "is not a file's mode")) << refused;
    EXPECT_FALSE(Server::check(options).ok());
  }
}

}  // namespace
}  // namespace scyper::server
