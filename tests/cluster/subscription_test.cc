// Secondaries that subscribe to some partitions, as processes on loopback.

#include <signal.h>

#include <string>
#include <thread>

#include "cluster_fixture.h"

namespace scyper::tests {
namespace {

// Of four partitions those with warehouse 2; warehouse 1 is in another one.
constexpr char kSubscribed[] = "--subscribe 0-1";

class SubscriptionTest : public ClusterFixture {
 protected:
  // No short read, which the primary would answer.
  static constexpr char kLong[] = " HAVING count(*) >= 0";
  static std::string stock_of(const std::string& condition) {
    return "SELECT count(*), sum(s_quantity), sum(s_ytd), sum(s_order_cnt) FROM stock " + condition + kLong;
  }
  // Integers of the only row, or the SQLSTATE.
  static std::string answer_of(client::Session* session, const std::string& sql) {
    std::string text;
    const Status status = session->execute(sql, [&](const query::ResultSet& result) {
      for (size_t i = 0; i < result.columns.size() && result.row_count() > 0; ++i)
        absl::StrAppend(&text, result.value(0, i).lo, " ");
    });
    return status.ok() ? text : sqlstate_of(status);
  }
  // Where it ran; the answer has to be that of the primary's own rows.
  std::string node_of(const std::string& asked, const std::string& sql) {
    auto primary = nodes_.session("p"), other = nodes_.session(asked);
    if (primary == nullptr || other == nullptr) return "no session";
    EXPECT_TRUE(primary->pin({}).ok());
    EXPECT_EQ(answer_of(other.get(), sql), answer_of(primary.get(), sql)) << sql;
    return other->receipt().has_value() ? other->receipt()->node : "no receipt";
  }
  client::SecondaryStatus seen() {
    const auto status = nodes_.status("p");
    return status.secondaries.empty() ? client::SecondaryStatus() : status.secondaries.front();
  }
  void wait_for_equal_digests() {
    const uint64_t now_lsn = nodes_.status("p").last_lsn;
    wait_for("an equal digest", [&] {
      const client::SecondaryStatus one = seen();
      return one.digests_equal > 0 && one.digest_lsn >= now_lsn;
    });
    EXPECT_EQ(seen().digests_different, 0u) << seen().difference;
  }
};

TEST_F(SubscriptionTest, AnswersWhatItHas) {
  start_primary("--partial-secondaries --digest-period 300ms");
  load();
  start_secondary("s1", /*keeps_log=*/false, kSubscribed);
  transactions(2000);
  nodes_.wait_until_level("p", {"s1"});
  EXPECT_EQ(seen().partitions, "0-1");
  EXPECT_EQ(nodes_.status("s1").subscribed, "0-1");
  const std::string joined =
      "SELECT count(*), sum(ol_amount) FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND "
      "ol_o_id = o_id WHERE o_w_id = ";
  for (const std::string asked : {"s1", "p"}) {
    EXPECT_EQ(node_of(asked, stock_of("WHERE s_w_id = 2")), "s1");
    EXPECT_EQ(node_of(asked, joined + "2" + kLong), "s1");
    EXPECT_EQ(node_of(asked, std::string("SELECT count(*) FROM item") + kLong), "s1");
    EXPECT_NE(node_of(asked, stock_of("WHERE s_w_id = 1")), "s1");
    EXPECT_NE(node_of(asked, joined + "1" + kLong), "s1");
    EXPECT_NE(node_of(asked, stock_of("")), "s1");
  }
  auto session = nodes_.session("s1");
  ASSERT_NE(session, nullptr);
  session->wish().freshness.kind = query::Freshness::Kind::kStaleness;
  session->wish().freshness.staleness_us = 60'000'000;
  EXPECT_EQ(answer_of(session.get(), "SELECT count(*) FROM warehouse"), absl::StrCat(kWarehouses, " "));
  // a session has the rows of its node
  ASSERT_TRUE(session->pin({}).ok());
  EXPECT_EQ(answer_of(session.get(), "SELECT count(*) FROM warehouse"), "55000");
  EXPECT_EQ(answer_of(session.get(), "SELECT count(*) FROM warehouse WHERE w_id = 2"), "1 ");
  wait_for_equal_digests();
}

// With definitions, a full secondary beside it, and all of them killed and started again meanwhile.
TEST_F(SubscriptionTest, FollowsThroughEverything) {
  nodes_.set_environment("SCYPER_COMPACTION=forced SCYPER_COMPACTION_WINDOW=20ms");
  start_primary("--partial-secondaries --digest-period 300ms --redo logical");
  start_secondary("s1", false, kSubscribed);
  start_secondary("s2", true);
  load();
  transactions(1000);
  const auto define = [this](const std::string& sql) {
    const Output out = nodes_.scyper("p", "sql -q -c \"" + sql + "\"");
    EXPECT_EQ(out.code, 0) << sql << ": " << out.text;
  };
  define("CREATE TABLE notes (w integer, n integer, t text DEFAULT 'none', PRIMARY KEY (w, n)) PARTITION BY HASH (w)");
  define("INSERT INTO notes SELECT i % 9, i FROM generate_series(1, 900) i");
  define("ALTER TABLE notes ADD COLUMN more integer DEFAULT 7");
  define("CREATE INDEX notes_n ON notes (n)");
  define("CREATE TABLE totals AS SELECT w, count(*) AS c FROM notes GROUP BY w");
  nodes_.kill("s1", SIGKILL);
  std::thread load_thread([this] { transactions(2000); });
  nodes_.start_again("s1");
  load_thread.join();
  nodes_.wait_until_level("p", {"s1", "s2"});
  EXPECT_EQ(node_of("s1", std::string("SELECT count(*), sum(n), sum(more) FROM notes WHERE w = 2") + kLong), "s1");
  EXPECT_NE(node_of("s1", std::string("SELECT count(*), sum(n), sum(more) FROM notes") + kLong), "s1");
  EXPECT_TRUE(node_of("s1", std::string("SELECT count(*), sum(c)::bigint FROM totals") + kLong).starts_with("s"));
  nodes_.kill("p", SIGKILL);
  nodes_.start_again("p");
  ASSERT_NE(nodes_.session("p"), nullptr);
  define("UPDATE notes SET more = more + 1");
  transactions(500);
  nodes_.wait_until_level("p", {"s1", "s2"});
  EXPECT_EQ(node_of("s1", std::string("SELECT count(*), sum(n), sum(more) FROM notes WHERE w = 2") + kLong), "s1");
  EXPECT_EQ(node_of("s1", stock_of("WHERE s_w_id = 2")).substr(0, 1), "s");
  wait_for("digests of both", [&] {
    const auto status = nodes_.status("p");
    size_t equal = 0;
    for (const auto& one : status.secondaries) equal += one.digests_equal > 0 ? 1 : 0;
    return equal == 2;
  });
  for (const auto& one : nodes_.status("p").secondaries) EXPECT_EQ(one.digests_different, 0u) << one.difference;
}

TEST_F(SubscriptionTest, IsRefusedWhereItCannotBe) {
  start_primary();
  start_secondary("s1", false, kSubscribed);
  EXPECT_NE(nodes_.wait_for_end("s1"), 0);
  EXPECT_NE(nodes_.log_of("s1").find("partial_secondaries"), std::string::npos) << nodes_.log_of("s1");
}

}  // namespace
}  // namespace scyper::tests
