#include "cluster_session.h"

#include <gtest/gtest.h>

#include "server/server.h"
#include "testing/fake_engine.h"

namespace scyper::client {
namespace {

// A COPY that was refused has done nothing: the next primary is asked.
TEST(ClusterSession, CopiesFollowThePrimary) {
  server::FakeEngine engine;
  MetricsRegistry metrics;
  server::ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.http_listen = "";
  auto server = server::Server::start(options, &engine, &metrics);
  ASSERT_TRUE(server.ok()) << server.status();
  ConnectOptions to;
  to.target = "127.0.0.1:1,127.0.0.1:" + std::to_string((*server)->port());
  auto session = cluster_session(to);
  ASSERT_TRUE(session.ok()) << session.status();
  engine.copy_errors = {"25006", "57P03", "57P01", "08006", "42P01", "25006"};
  EXPECT_EQ(sqlstate_of((*session)->open_copy("COPY t FROM STDIN").status()), "42P01");
  EXPECT_EQ(engine.copy_errors.size(), 1u);
}

}  // namespace
}  // namespace scyper::client
