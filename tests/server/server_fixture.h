#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/metrics.h"
#include "client/client.h"
#include "server/server.h"
#include "testing/fake_engine.h"

namespace scyper::server {

// A server on a free loopback port over a FakeEngine, and clients of it.
class ServerTest : public testing::Test {
 protected:
  ServerTest();
  // Changes `options` first where a test needs other ones.
  void start();
  std::unique_ptr<client::Client> connect();
  std::string target() const { return "127.0.0.1:" + std::to_string(server->port()); }

  // Waits until the value is reached; fails after a minute.
  void wait_until(const std::function<bool()>& condition, const char* what);
  double metric(const std::string& name) const;  // sum over labels

  ServerOptions options;
  FakeEngine engine;
  MetricsRegistry metrics;
  std::unique_ptr<Server> server;
};

// One HTTP GET: status line, headers and body.
std::string http_get(uint16_t port, const std::string& path);

}  // namespace scyper::server
