#include "client/cluster_client.h"

#include <gtest/gtest.h>

#include "server_fixture.h"

namespace scyper::server {
namespace {

class ClusterClientTest : public ServerTest {
 protected:
  // The SQLSTATE of one call that the node ends with these, one attempt after the other; 00000 = done.
  std::string call(const std::string& states, int timeout_ms = 60'000) {
    client::ClusterClient client({}, {target()}, timeout_ms);
    const Datum arguments[] = {string_datum(states.data(), states.size())};
    query::ResultSet result;
    return sqlstate_of(client.call("CALL fail_by_turns($1)", arguments, &result));
  }
};

TEST_F(ClusterClientTest, CallsAreRepeatedWhereThatMayHelp) {
  start();
  EXPECT_EQ(call("25006 57P03 53300 08006 57014"), "00000");
  EXPECT_EQ(call("25006 42883"), "42883");
  EXPECT_EQ(call("25006 23505"), "23505");
}

// An attempt without an answer may have been done, whatever the later ones say.
TEST_F(ClusterClientTest, AnOpenOutcomeStaysOpen) {
  start();
  EXPECT_EQ(call("08007 25006 42883 53100 57P03"), "00000");
  EXPECT_EQ(call("08007 42883 23505"), "23505");  // it has run and looked for the first one
  EXPECT_EQ(call("08007 40003"), "40003");
  std::string refusals;  // more of them than there is time for
  for (int i = 0; i < 10'000; ++i) refusals += " 25006";
  EXPECT_EQ(call("57014" + refusals, 3000), "40003");
}

// Who has other nodes to ask does not wait for one where nobody listens.
TEST_F(ClusterClientTest, ARefusedConnectionNeedNotBeWaitedFor) {
  client::ConnectOptions to;
  to.target = "127.0.0.1:1";
  to.connect_timeout_ms = 3'600'000;
  to.fails_when_refused = true;
  EXPECT_EQ(sqlstate_of(client::Client::connect(to).status()), "08001");
}

TEST_F(ClusterClientTest, NobodyThereIsNoOpenOutcome) {
  client::ClusterClient client({}, {"127.0.0.1:1"}, 0);
  query::ResultSet result;
  EXPECT_EQ(sqlstate_of(client.call("CALL slow()", {}, &result)), "08001");
}

}  // namespace
}  // namespace scyper::server
