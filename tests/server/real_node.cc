#include "real_node.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <string>
#include <utility>

namespace scyper::server {

void RealNodeTest::start_node(primary::EngineOptions options, ServerOptions server) {
  options.partitions = 4;
  options.workers = 2;
  options.queries.node = "test-node";
  auto made = primary::Engine::create(options);
  ASSERT_TRUE(made.ok()) << made.status();
  engine_ = *std::move(made);
  server.listen = "127.0.0.1:0";
  server.http_listen = "";
  server.stop_timeout_ms = stop_timeout_ms_;
  auto started = Server::start(server, engine_.get(), &metrics_);
  ASSERT_TRUE(started.ok()) << started.status();
  server_ = *std::move(started);
  client_ = connect();
}

std::unique_ptr<client::Client> RealNodeTest::connect() {
  client::ConnectOptions to;
  to.target = "127.0.0.1:" + std::to_string(server_->port());
  to.connect_timeout_ms = 60'000;  // a busy machine
  auto client = client::Client::connect(to);
  EXPECT_TRUE(client.ok()) << client.status();
  return client.ok() ? *std::move(client) : nullptr;
}

std::shared_ptr<grpc::Channel> RealNodeTest::channel() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxSendMessageSize(-1);
  return grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(server_->port()), grpc::InsecureChannelCredentials(),
                                   arguments);
}

void RealNodeTest::wait_for_a_transaction() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < until) {
    primary::ForkRequest request;
    request.body = [](const primary::ForkedDatabase&, int) { return 0; };
    auto forked = engine_->fork(std::move(request));
    ASSERT_TRUE(forked.ok()) << forked.status();
    forked->child->wait();
    if (forked->point.unfinished > 0) return;
  }
  ADD_FAILURE() << "no transaction is under way";
}

void RealNodeTest::run(std::string_view sql) {
  Status status = client_->execute(sql, [](const query::ResultSet&) {});
  ASSERT_TRUE(status.ok()) << status << " " << sql;
}

}  // namespace scyper::server
