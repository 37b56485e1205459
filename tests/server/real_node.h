#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/metrics.h"
#include "client/client.h"
#include "primary/engine.h"
#include "server/server.h"

namespace grpc {
class Channel;
}

namespace scyper::server {

// A server on a free loopback port over a real engine with 4 partitions and 2 workers, and a client of it.
class RealNodeTest : public testing::Test {
 protected:
  void start_node(primary::EngineOptions options, ServerOptions server);
  std::unique_ptr<client::Client> connect();
  std::shared_ptr<grpc::Channel> channel();  // of its own
  void run(std::string_view sql);            // fails the test with the statement
  // Until one is half done: a fork would have to take it back.
  void wait_for_a_transaction();

  uint32_t stop_timeout_ms_ = 500;
  MetricsRegistry metrics_;
  std::unique_ptr<primary::Engine> engine_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<client::Client> client_;
};

}  // namespace scyper::server
