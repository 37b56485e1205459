#include "server_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace scyper::server {

ServerTest::ServerTest() {
  options.listen = "127.0.0.1:0";
  options.http_listen = "127.0.0.1:0";
}

void ServerTest::start() {
  auto started = Server::start(options, &engine, &metrics);
  ASSERT_TRUE(started.ok()) << started.status();
  server = *std::move(started);
}

std::unique_ptr<client::Client> ServerTest::connect() {
  client::ConnectOptions to;
  to.target = target();
  to.connect_timeout_ms = 60'000;  // a busy machine
  auto client = client::Client::connect(to);
  EXPECT_TRUE(client.ok()) << client.status();
  return client.ok() ? *std::move(client) : nullptr;
}

void ServerTest::wait_until(const std::function<bool()>& condition, const char* what) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << what;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

double ServerTest::metric(const std::string& name) const {
  double sum = 0;
  for (const MetricFamily& family : metrics.collect()) {
    if (family.name != name) continue;
    for (const MetricSample& sample : family.samples) sum += sample.value;
  }
  return sum;
}

std::string http_get(uint16_t port, const std::string& path) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    std::string request = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    EXPECT_EQ(write(fd, request.data(), request.size()), static_cast<ssize_t>(request.size()));
    char buffer[4096];
    for (ssize_t n; (n = read(fd, buffer, sizeof(buffer))) > 0;) answer.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  return answer;
}

}  // namespace scyper::server
