#include "top_view.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace scyper::client {
namespace {

NodeSight primary_sight() {
  NodeSight sight;
  sight.address = "127.0.0.1:7400";
  NodeStatus& s = sight.now;
  s.node = "p1";
  s.role = "primary";
  s.election = "shop";
  s.leader = "p1";
  s.etcd_answers = true;
  s.commit_mode = "quorum";
  s.term = 3;
  s.uptime_seconds = 20;
  s.procedures = {{"pay", 1000, 10, 0.001, 0.5, 0.02, 0.9}, {"", 5, 0, 0, 0, 0, 0}, {"never", 0, 0, 0, 0, 0, 0}};
  s.stages = {{"replay", 10, 2.0, 1, 5}};
  s.queries.started = 4;
  sight.before = s;
  sight.before.uptime_seconds = 18;
  s.committed = 5000;
  s.procedures[0].committed = 3000;
  s.stages[0] = {"replay", 20, 3.0, 1, 5};
  sight.seconds = 2;
  return sight;
}

std::string text_of(const std::vector<NodeSight>& nodes, size_t columns = 200) {
  std::string text;
  for (const ViewLine& line : draw_view(nodes, "12:00:00", columns)) text += line.text + "\n";
  return text;
}

void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST(TopViewTest, ShowsRatesBetweenTwoAnswers) {
  const std::string text = text_of({primary_sight()});
  expect_has(text, "ScyPer shop: primary p1, term 3, commit mode quorum");
  expect_has(text, "Transactions a second: 2,500 committed, 0 rolled back");
  expect_has(text, "pay                       1,000              0");
  expect_has(text, "(other statements)");
  EXPECT_EQ(text.find("never"), std::string::npos);
  expect_has(text, "    4 ms  3 ms");  // 40 ms of 10 more
}

TEST(TopViewTest, KnowsNoRatesOfANodeThatBeganAnew) {
  NodeSight sight = primary_sight();
  sight.now.uptime_seconds = 1;
  expect_has(text_of({sight}), "Transactions a second: - committed");
  EXPECT_LT(rate_of(sight, [](const NodeStatus& s) { return s.committed; }), 0);
  expect_has(view_json({sight}, 1), "\"rates\": null");
}

TEST(TopViewTest, ShowsWhatRunsAndWhatWasSlow) {
  NodeSight sight = primary_sight();
  sight.now.running = {{7, "ann", "psql", "10.0.0.3", "active", "SELECT count(*) FROM orders", 1500, 1500},
                       {8, "bob", "", "10.0.0.4", "idle in transaction", "UPDATE t SET a = $1", 10, 60'000}};
  query::SlowQuery slow;
  slow.text = "CREATE INDEX i ON t (a)";
  slow.total_ms = 2000;
  sight.now.slow_transactions = {slow};
  const std::string text = text_of({sight});
  expect_has(text, "RUNNING ON  PID  USER    CLIENT");
  const size_t longest = text.find("(idle in transaction) UPDATE t SET a = $1"),
               other = text.find("SELECT count(*) FROM orders");
  EXPECT_NE(other, std::string::npos) << text;
  EXPECT_LT(longest, other) << text;
  expect_has(text, "TRANSACTION OF THE LAST HOUR");
  expect_has(text, "CREATE INDEX i ON t (a)");
  expect_has(view_json({sight}, 1), "\"running\": [{\"pid\": 7, \"user\": \"ann\"");
}

TEST(TopViewTest, SaysWhatIsWrong) {
  NodeSight gone;
  gone.address = "10.0.0.9:7400";
  gone.trouble = "deadline exceeded";
  gone.now.node = "s1";
  NodeSight sight = primary_sight();
  sight.now.voters = {{"p1", true}, {"s1", false}};
  sight.now.log_full = true;
  const std::vector<ViewLine> lines = draw_view({sight, gone}, "", 200);
  EXPECT_EQ(lines[1].text, "! p1 127.0.0.1:7400 the disk of the log is full: read-only; voter s1 is missing");
  EXPECT_EQ(lines[1].emphasis, Emphasis::kBad);
  EXPECT_EQ(lines[2].text, "! s1 10.0.0.9:7400 does not answer: deadline exceeded");
  expect_has(text_of({gone}), "no primary answers");
}

TEST(TopViewTest, FollowsTheNewerPrimary) {
  NodeSight old = primary_sight();
  NodeSight newer = primary_sight();
  newer.now.node = "p2";
  newer.now.term = 4;
  expect_has(text_of({old, newer}), "primary p2, term 4");
}

TEST(TopViewTest, IsNoWiderThanTheTerminalAndHasNothingThatItObeys) {
  NodeSight sight = primary_sight();
  query::SlowQuery slow;
  slow.text = "SELECT 'gr\xc3\xbc\xc3\x9f'\n\033[2J\x07 \xc2\x9b \xff FROM t";
  sight.now.slow_queries = {slow};
  for (size_t columns : {1u, 20u, 80u, 200u}) {
    for (const ViewLine& line : draw_view({sight}, "12:00:00", columns)) {
      size_t width = 0;
      for (char c : line.text) {
        width += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
        EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7f) << line.text;
      }
      EXPECT_LE(width, columns);
    }
  }
  expect_has(text_of({sight}), "SELECT 'gr\xc3\xbc\xc3\x9f'  [2J    ? FROM t");
}

}  // namespace
}  // namespace scyper::client
