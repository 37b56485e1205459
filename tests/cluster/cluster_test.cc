// Replication between processes on loopback, by unicast.

#include "cluster.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "cluster_fixture.h"
#include "replication/link.h"

namespace scyper::tests {
namespace {

class ClusterTest : public ClusterFixture {};

TEST_F(ClusterTest, SecondariesFollowAndAnswer) {
  start_primary("--commit-mode quorum_durable");
  start_secondary("s1", /*keeps_log=*/true);
  start_secondary("s2", /*keeps_log=*/false);
  load();
  transactions(2000);
  nodes_.wait_until_level("p", {"s1", "s2"});
  nodes_.check({"p", "s1", "s2"}, kWarehouses);
  // the primary passes queries on to those who have less to do
  wait_for("an answer of a secondary", [&] {
    const Output out = nodes_.scyper("p", "sql -q --receipts -c 'SELECT count(*) FROM stock'");
    return out.text.find("node s") != std::string::npos;
  });
  // transactions are refused with the primary's address
  const Output refused = nodes_.scyper("s1", "sql -q -c 'CREATE TABLE t (a integer)'");
  EXPECT_NE(refused.text.find(nodes_.target("p")), std::string::npos) << refused.text;
}

// A secondary has short reads answered by the primary's worker: fresh, and without a snapshot.
TEST_F(ClusterTest, ShortReadsOfSecondariesAreFresh) {
  start_primary();
  start_secondary("s1", false);
  const auto sql = [&](const std::string& node, const std::string& rest) {
    return nodes_.scyper(node, "sql -q -t -o csv " + rest);
  };
  wait_for("the primary",
           [&] { return sql("p", "-c 'CREATE TABLE k (id integer PRIMARY KEY, v integer)'").code == 0; });
  ASSERT_EQ(sql("p", "-c 'INSERT INTO k SELECT g, 0 FROM generate_series(1, 100) g'").code, 0);
  nodes_.wait_until_level("p", {"s1"});
  for (int i = 1; i <= 10; ++i) {
    ASSERT_EQ(sql("p", absl::StrCat("-c 'UPDATE k SET v = ", i, " WHERE id = 7'")).code, 0);
    const Output read = sql("s1", "-c 'SELECT v FROM k WHERE id = 7'");
    EXPECT_EQ(read.text, absl::StrCat(i, "\n"));
  }
  const Output shorter = sql("s1", "--receipts -c 'SELECT v FROM k WHERE id = 7'");
  EXPECT_NE(shorter.text.find("snapshot 0"), std::string::npos) << shorter.text;
  const Output longer = sql("s1", "--receipts -c 'SELECT sum(v) FROM k'");
  EXPECT_EQ(longer.text.find("snapshot 0"), std::string::npos) << longer.text;
  EXPECT_NE(sql("s1", "-v -c 'SELECT v / (v - v) FROM k WHERE id = 7'").text.find("22012"), std::string::npos);
  nodes_.kill("p", SIGKILL);
  const Output refused = sql("s1", "-v -c 'SELECT v FROM k WHERE id = 7'");
  EXPECT_NE(refused.text.find("57P03"), std::string::npos) << refused.text;
}

// One global snapshot is the same on every node, also while transactions run.
TEST_F(ClusterTest, GlobalSnapshotsAreTheSameEverywhere) {
  start_primary();
  start_secondary("s1", false);
  start_secondary("s2", false);
  load();
  std::thread load_thread([this] { transactions(6000); });
  auto first = nodes_.session("s1"), second = nodes_.session("s2");
  ASSERT_TRUE(first != nullptr && second != nullptr);
  nodes_.wait_until_level("p", {});
  const std::string query = "SELECT count(*), sum(ol_amount), max(ol_o_id) FROM order_line";
  auto answer = [&](client::Session* session, std::string* text) {
    return session->execute(query, [&](const query::ResultSet& result) {
      for (size_t i = 0; i < 3 && result.row_count() > 0; ++i) absl::StrAppend(text, result.value(0, i).lo, " ");
    });
  };
  int compared = 0;
  for (int i = 0; i < 20; ++i) {
    first->wish().freshness = {};
    std::string one, other;
    Status status = answer(first.get(), &one);
    EXPECT_TRUE(status.ok()) << status;
    if (!first->receipt().has_value() || first->receipt()->term == 0) continue;
    second->wish().freshness.kind = query::Freshness::Kind::kGlobal;
    second->wish().freshness.term = first->receipt()->term;
    second->wish().freshness.snapshot = static_cast<uint32_t>(first->receipt()->snapshot);
    second->wish().freshness.is_exact = true;
    status = answer(second.get(), &other);
    if (sqlstate_of(status) == "55000") continue;  // nobody asked there for a second: it has gone
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(other, one);
    if (!second->receipt().has_value()) continue;
    EXPECT_EQ(second->receipt()->lsn, first->receipt()->lsn);
    ++compared;
  }
  load_thread.join();
  EXPECT_GT(compared, 0);
}

// A secondary whose snapshots are all in use takes none of the next ones: its queries go to other nodes at once.
TEST_F(ClusterTest, ANodeWithoutRoomForSnapshotsPassesQueriesOn) {
  start_primary();
  start_secondary("s1", false, "--snapshots-max 1");
  start_secondary("s2", false);
  ASSERT_NE(nodes_.session("p"), nullptr);
  ASSERT_EQ(nodes_.scyper("p", "sql -q -c 'CREATE TABLE t (a integer)'").code, 0);
  nodes_.wait_until_level("p", {"s1", "s2"});
  auto session = nodes_.session("s1");
  ASSERT_NE(session, nullptr);
  auto pinned = session->pin({});
  ASSERT_TRUE(pinned.ok()) << pinned.status();
  EXPECT_NE(pinned->term, 0u);  // a global one: fresh, whatever this node had applied
  for (int i = 1; i <= 3; ++i) {
    ASSERT_EQ(nodes_.scyper("p", "sql -q -c 'INSERT INTO t VALUES (1)'").code, 0);
    for (const std::string name : {"s1", "p"}) {
      const Output out = ask(name, "SELECT count(*) + 40 FROM t");
      EXPECT_EQ(out.text.find("node s1"), std::string::npos) << name << ": " << out.text;
      // once the primary knows, it names the other one at once
      if (i > 1) EXPECT_NE(out.text.find("node s2"), std::string::npos) << name << ": " << out.text;
      EXPECT_NE(out.text.find(absl::StrCat(40 + i)), std::string::npos) << name << ": " << out.text;
    }
    wait_for("the primary to know", [&] {
      const auto secondaries = nodes_.status("p").secondaries;
      return std::count_if(secondaries.begin(), secondaries.end(), [](const auto& s) { return !s.has_room; }) == 1;
    });
  }
  // the session has what it had
  int64_t count = -1;
  Status status = session->execute("SELECT count(*) FROM t", [&](const query::ResultSet& result) {
    if (result.row_count() > 0) count = result.value(0, 0).lo;
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(count, 0);
  ASSERT_TRUE(session->unpin().ok());
  // it is asked again when it has taken a snapshot, which needs one that it has not missed
  wait_for("an answer of the secondary", [&] {
    return nodes_.scyper("p", "sql -q -c 'INSERT INTO t VALUES (1)'").code == 0 &&
           ask("p", "SELECT count(*) FROM t").text.find("node s1") != std::string::npos;
  });
}

// Sessions on two nodes with one snapshot, while transactions run: it is the same, and stays.
TEST_F(ClusterTest, SessionsOnSeveralNodesShareASnapshot) {
  start_primary();
  start_secondary("s1", false);
  start_secondary("s2", false);
  load();
  nodes_.wait_until_level("p", {"s1", "s2"});
  std::thread load_thread([this] { transactions(4000); });
  auto first = nodes_.session("s1"), second = nodes_.session("s2"), third = nodes_.session("p");
  ASSERT_TRUE(first != nullptr && second != nullptr && third != nullptr);
  query::Freshness wish;
  wait_for("the same snapshot on both", [&] {
    auto one = first->pin({});
    if (!one.ok()) return false;
    wish.kind = query::Freshness::Kind::kGlobal;
    wish.term = one->term;
    wish.snapshot = static_cast<uint32_t>(one->snapshot);
    wish.is_exact = true;
    auto other = second->pin(wish);
    if (sqlstate_of(other.status()) == "55000") return false;  // nobody asked there for a second: it has gone
    EXPECT_TRUE(other.ok()) << other.status();
    return other.ok() && other->lsn == one->lsn && other->snapshot == one->snapshot;
  });
  EXPECT_EQ(sqlstate_of(third->pin(wish).status()), "55000");  // it keeps none
  auto answer = [](client::Session* session) {
    std::string text;
    Status status =
        session->execute("SELECT count(*), sum(ol_amount), max(ol_o_id) FROM order_line", [&](const auto& result) {
          for (size_t i = 0; i < 3 && result.row_count() > 0; ++i) absl::StrAppend(&text, result.value(0, i).lo, " ");
        });
    EXPECT_TRUE(status.ok()) << status;
    return text;
  };
  const std::string before = answer(first.get());
  EXPECT_EQ(answer(second.get()), before);
  load_thread.join();
  nodes_.wait_until_level("p", {"s1", "s2"});
  EXPECT_EQ(answer(second.get()), before);
  EXPECT_EQ(answer(first.get()), before);
  ASSERT_TRUE(first->unpin().ok());
  EXPECT_NE(answer(first.get()), before);
}

// Certificates as in a cluster with elections: the secondary shows its own and trusts who signed the primary's.
TEST_F(ClusterTest, SecondariesFollowWithTls) {
  const std::string files = nodes_.directory("tls");
  std::filesystem::create_directory(files);
  const Output made = run_command(absl::StrCat(
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost "
      "-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout ",
      files, "/key.pem -out ", files, "/cert.pem"));
  ASSERT_EQ(made.code, 0) << made.text;
  const std::string tls = absl::StrCat("--tls-cert ", files, "/cert.pem --tls-key ", files, "/key.pem --tls-client-ca ",
                                       files, "/cert.pem");
  start_primary(tls);
  start_secondary("s1", true, tls);
  start_secondary("s2", false);  // shows nothing: it is not let in
  const std::string as_client =
      absl::StrCat(" --ca ", files, "/cert.pem --cert ", files, "/cert.pem --key ", files, "/key.pem");
  auto sql = [&](const std::string& name, const std::string& text) {
    return nodes_.scyper(name, absl::StrCat("sql -q -t -o csv -c '", text, "'", as_client));
  };
  wait_for("the primary", [&] { return sql("p", "CREATE TABLE t (a integer)").code == 0; });
  ASSERT_EQ(sql("p", "INSERT INTO t VALUES (7)").code, 0);
  // fresh: on the secondary, or passed on to the primary, with TLS as well
  wait_for("the secondary", [&] { return sql("s1", "SELECT a FROM t").text == "7\n"; });
  wait_for("an answer of the secondary", [&] {
    // no short read, which the primary would answer
    return nodes_.scyper("p", absl::StrCat("sql -q --receipts -c 'SELECT a FROM t GROUP BY a'", as_client))
               .text.find("node s1") != std::string::npos;
  });
  const Output status = nodes_.scyper("p", "status" + as_client);
  EXPECT_EQ(status.text.find("s2"), std::string::npos) << status.text;
}

TEST_F(ClusterTest, LateJoinersStartFromAnArchive) {
  start_primary();
  load();
  transactions(500);
  const Output backup = nodes_.scyper("p", "backup");
  ASSERT_EQ(backup.code, 0) << backup.text;
  transactions(500);
  start_secondary("s1", true);
  start_secondary("s2", false);
  transactions(1000);
  nodes_.wait_until_level("p", {"s1", "s2"});
  EXPECT_NE(nodes_.log_of("s2").find("fetched the archive"), std::string::npos) << nodes_.log_of("s2");
  nodes_.check({"p", "s1", "s2"}, kWarehouses);
  // its log begins behind the archive, which does not say where the streams stand
  nodes_.kill("s1", SIGKILL);
  transactions(200);
  nodes_.start_again("s1");
  nodes_.wait_until_level("p", {"s1", "s2"});
  EXPECT_EQ(nodes_.log_of("s1").find("starting anew"), std::string::npos) << nodes_.log_of("s1");
  nodes_.check({"p", "s1", "s2"}, kWarehouses);
}

TEST_F(ClusterTest, NodesThatWereKilledComeBack) {
  start_primary();
  start_secondary("s1", true);
  start_secondary("s2", false);
  load();
  transactions(500);
  nodes_.kill("s1", SIGKILL);
  transactions(500);
  nodes_.start_again("s1");
  nodes_.wait_until_level("p", {"s1", "s2"});
  nodes_.kill("p", SIGKILL);
  nodes_.start_again("p");
  ASSERT_NE(nodes_.session("p"), nullptr);
  transactions(500);
  nodes_.wait_until_level("p", {"s1", "s2"});
  nodes_.check({"p", "s1", "s2"}, kWarehouses);
}

TEST_F(ClusterTest, FrozenSecondaryCatchesUp) {
  start_primary("--replication-memory 1MB");
  start_secondary("s1", false);
  load();
  nodes_.wait_until_level("p", {"s1"});
  nodes_.signal("s1", SIGSTOP);
  transactions(3000);
  nodes_.signal("s1", SIGCONT);
  nodes_.wait_until_level("p", {"s1"});
  nodes_.check({"p", "s1"}, kWarehouses);
}

// What it has logged counts as a copy: it is not thrown away because the memory is too small to apply more.
TEST_F(ClusterTest, ASecondaryWithoutRoomKeepsItsLog) {
  start_primary();
  start_secondary("s1", true, "--memory 32MB");
  const Output made = nodes_.scyper("p",
                                    "sql -q -c 'CREATE TABLE t (a integer PRIMARY KEY, b text)' -c "
                                    "\"INSERT INTO t SELECT i, repeat('x', 100) FROM generate_series(1, 1000) i\"");
  ASSERT_EQ(made.code, 0) << made.text;
  nodes_.wait_until_level("p", {"s1"});
  const Output filled =
      nodes_.scyper("p", "sql -q -c \"INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(2001, 42000) i\"");
  ASSERT_EQ(filled.code, 0) << filled.text;
  EXPECT_NE(nodes_.wait_for_end("s1"), 0);
  EXPECT_NE(nodes_.log_of("s1").find("out of memory"), std::string::npos) << nodes_.log_of("s1");
  EXPECT_FALSE(std::filesystem::is_empty(nodes_.directory("s1") + "/log"));
  start_secondary("s1", true);
  nodes_.wait_until_level("p", {"s1"});
  EXPECT_EQ(nodes_.scyper("s1", "sql -q -t -o csv -c 'SELECT count(*) FROM t'").text, "41000\n");
}

// A commit that gets no copy: who waits for it is told that nobody knows, and the primary ends.
TEST_F(ClusterTest, APrimaryWithoutCopiesStops) {
  start_primary("--commit-mode quorum_durable --stop-timeout 1s");
  start_secondary("s1", true);
  load();
  transactions(100);
  nodes_.signal("s1", SIGSTOP);
  Output out;
  std::thread client([&] { out = nodes_.scyper("p", "sql -c 'UPDATE warehouse SET w_tax = 0'"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // or it is refused, which ends as well
  nodes_.signal("p", SIGTERM);
  EXPECT_EQ(nodes_.wait_for_end("p"), 0);
  client.join();
  EXPECT_NE(out.code, 0) << out.text;
  nodes_.signal("s1", SIGCONT);
}

// A commit that got no copy before the primary ended: after the restart nobody sees it before it has one.
TEST_F(ClusterTest, WhatARestartFindsNeedsItsCopies) {
  start_primary("--commit-mode quorum_durable");
  start_secondary("s1", true);
  const Output made = nodes_.scyper("p", "sql -q -c 'CREATE TABLE t (a integer)'");
  ASSERT_EQ(made.code, 0) << made.text;
  nodes_.wait_until_level("p", {"s1"});
  nodes_.signal("s1", SIGSTOP);
  const uint64_t lsn = nodes_.status("p").durable_lsn;
  Output out;
  std::thread client([&] { out = nodes_.scyper("p", "sql -q -c 'INSERT INTO t VALUES (1)'"); });
  wait_for("the commit on the primary's disk", [&] { return nodes_.status("p").durable_lsn > lsn; });
  nodes_.kill("p", SIGKILL);
  client.join();
  EXPECT_NE(out.code, 0) << out.text;
  nodes_.start_again("p");
  wait_for("the primary", [&] { return nodes_.status("p").durable_lsn > lsn; });
  EXPECT_LT(nodes_.status("p").commit_lsn, nodes_.status("p").durable_lsn);
  auto reader = nodes_.session("p");
  ASSERT_NE(reader, nullptr);
  reader->wish().timeout_ms = 1000;
  EXPECT_FALSE(reader->execute("SELECT count(*) FROM t", [](const query::ResultSet&) {}).ok());
  nodes_.signal("s1", SIGCONT);
  EXPECT_EQ(nodes_.scyper("p", "sql -q -t -o csv -c 'SELECT count(*) FROM t'").text, "1\n");
  nodes_.wait_until_level("p", {"s1"});
}

// Neither secondaries that follow nor archives under way are waited for, however long the node would have time.
TEST_F(ClusterTest, NodesStopAtOnce) {
  const std::string flags = "--stop-timeout 10min --archive-rate 1kB";
  start_primary(flags);
  start_secondary("s1", true, flags);
  load();
  transactions(100);
  nodes_.wait_until_level("p", {"s1"});
  std::vector<std::thread> backups;
  std::map<std::string, Output> outputs;
  for (const std::string name : {"s1", "p"}) {
    Output& output = outputs[name];
    backups.emplace_back([this, name, &output] { output = nodes_.scyper(name, "backup"); });
    wait_for("an archive of " + name, [&] {
      return run_command("ls " + nodes_.directory(name) + "/archives/*/* 2>/dev/null | wc -l").text != "0\n";
    });
  }
  for (const std::string name : {"p", "s1"}) {  // the secondary attends to the primary meanwhile
    nodes_.signal(name, SIGTERM);
    EXPECT_EQ(nodes_.wait_for_end(name), 0);
    EXPECT_EQ(run_command("ls " + nodes_.directory(name) + "/archives").text, "");
  }
  for (std::thread& backup : backups) backup.join();
  for (const auto& [name, output] : outputs) {
    EXPECT_NE(output.text.find("shutting down"), std::string::npos) << name << ": " << output.text;
  }
}

// Digests of all partitions at the same cuts, while transactions run.
TEST_F(ClusterTest, DigestsAreCompared) {
  start_primary("--digest-period 200ms");
  start_secondary("s1", true);
  start_secondary("s2", false);
  load();
  transactions(3000);
  wait_for("two digests of each", [&] {
    const client::NodeStatus status = nodes_.status("p");
    int compared = 0;
    for (const auto& node : status.secondaries) compared += node.digests_equal >= 2 ? 1 : 0;
    return compared == 2;
  });
  for (const auto& node : nodes_.status("p").secondaries) EXPECT_EQ(node.digests_different, 0u) << node.difference;
}

// A node that has lost a group without an error notices by its digest, says so, and begins anew.
TEST_F(ClusterTest, ANodeThatDiffersBeginsAnew) {
  start_primary("--digest-period 200ms");
  nodes_.set_environment("SCYPER_FAILPOINTS='secondary.lose_group=fail@1*1'");
  start_secondary("s1", true);
  nodes_.set_environment("");
  start_secondary("s2", false);
  nodes_.wait_until_level("p", {"s1", "s2"});
  // groups that end with a marker are not lost: one of the rows is, whichever
  for (const char* sql : {"CREATE TABLE t (a integer PRIMARY KEY)", "INSERT INTO t VALUES (1)",
                          "INSERT INTO t VALUES (2)", "INSERT INTO t VALUES (3)", "INSERT INTO t VALUES (4)"}) {
    const Output out = nodes_.scyper("p", absl::StrCat("sql -q -c '", sql, "'"));
    ASSERT_EQ(out.code, 0) << out.text;
  }
  wait_for("a difference", [&] {
    for (const auto& node : nodes_.status("p").secondaries) {
      if (node.node == "s1" && node.digests_different > 0) return true;
    }
    return false;
  });
  wait_for("the node anew", [&] { return nodes_.log_of("s1").find("starting anew") != std::string::npos; });
  EXPECT_NE(nodes_.log_of("s1").find("the state differs from the primary's at LSN"), std::string::npos);
  nodes_.wait_until_level("p", {"s1", "s2"});
  EXPECT_EQ(nodes_.scyper("s1", "sql -q -t -o csv -c 'SELECT count(*) FROM t'").text, "4\n");
  wait_for("its next digest", [&] {
    for (const auto& node : nodes_.status("p").secondaries) {
      if (node.node == "s1" && node.digests_equal > 0) return true;
    }
    return false;
  });
  for (const auto& node : nodes_.status("p").secondaries) {
    EXPECT_EQ(node.digests_different, node.node == "s1" ? 1u : 0u);
    if (node.node == "s1") EXPECT_NE(node.difference.find(" of t has "), std::string::npos) << node.difference;
  }
}

// What only its queries see: its own indexes, and files that the primary does not have.
TEST_F(ClusterTest, ASecondaryHasIndexesAndFilesOfItsOwn) {
  const std::string files = nodes_.directory("files");
  std::filesystem::create_directories(files);
  std::ofstream(files + "/names.csv") << "id,name\n1,one\n2,two\n";
  start_primary();
  start_secondary("s1", /*keeps_log=*/true,
                  absl::StrCat("--secondary-indexes 't (b)' --foreign-files-directory ", files));
  ASSERT_NE(nodes_.session("p"), nullptr);
  for (const char* sql :
       {"CREATE TABLE t (a int PRIMARY KEY, b int)", "INSERT INTO t SELECT i, i % 100 FROM generate_series(1, 3000) i",
        "CREATE EXTENSION file_fdw", "CREATE SERVER files FOREIGN DATA WRAPPER file_fdw",
        "CREATE FOREIGN TABLE names (id int, name text) SERVER files OPTIONS (filename $$names.csv$$, format $$csv$$, "
        "header $$true$$)"})
    ASSERT_EQ(nodes_.scyper("p", absl::StrCat("sql -q -c '", sql, "'")).code, 0) << sql;
  nodes_.wait_until_level("p", {"s1"});
  const auto look = [&] {
    wait_for("an answer from the secondary's file", [&] {
      const Output out = ask("s1", "SELECT name FROM names JOIN t ON id = a ORDER BY id");
      return out.text.find("node s1") != std::string::npos && out.text.find("two") != std::string::npos;
    });
    wait_for("a plan by the secondary's index", [&] {
      const Output out = ask("s1", "EXPLAIN SELECT a, rank() OVER (ORDER BY a) FROM t WHERE b = 17");
      return out.text.find("Index Scan on t") != std::string::npos;
    });
  };
  look();
  const Output refused = nodes_.scyper("p", "sql -q -c 'CREATE TABLE copied AS SELECT id FROM names'");
  EXPECT_NE(refused.text.find("cannot be read in a transaction"), std::string::npos) << refused.text;
  // a restart finds the definitions in its own log, and makes its indexes again
  nodes_.kill("s1", SIGKILL);
  nodes_.start_again("s1");
  nodes_.wait_until_level("p", {"s1"});
  look();
}

TEST_F(ClusterTest, ADataDirectoryBelongsToOneProcess) {
  start_primary();
  start_secondary("s1", true);
  nodes_.wait_until_level("p", {"s1"});
  nodes_.start("thief", absl::StrCat("--role secondary --primary ", nodes_.target("p"), " --data-directory ",
                                     nodes_.directory("s1")));
  EXPECT_NE(nodes_.wait_for_end("thief"), 0);
  EXPECT_NE(nodes_.log_of("thief").find("another process uses the database"), std::string::npos);
  EXPECT_TRUE(nodes_.status("s1").not_serving.empty());
}

// Secondaries write the archives: the voter's log goes behind its own, the shared ones serve who joins.
TEST_F(ClusterTest, SecondariesWriteArchivesAndDropLog) {
  const std::string shared = nodes_.directory("shared");
  const std::string flags =
      "--archive-directory " + shared + " --archive-after 256kB --segment-bytes 1MB --archives-kept 1";
  start_primary();
  start_secondary("s1", true, flags);
  load();
  transactions(6000);
  nodes_.wait_until_level("p", {"s1"});
  auto archives_in = [](const std::string& path) {
    return run_command("ls " + path + "/*/MANIFEST 2>/dev/null | wc -l").text;
  };
  // while one is written there are two
  const std::string own = nodes_.directory("s1") + "/archives";
  wait_for("archives", [&] { return archives_in(shared) == "1\n" && archives_in(own) == "1\n"; });
  EXPECT_EQ(archives_in(nodes_.directory("p") + "/archives"), "0\n");
  wait_for("less log", [&] {
    transactions(500);
    return run_command("ls " + nodes_.directory("s1") + "/log | head -1").text != "00000000000000000001.log\n";
  });
  const std::string elsewhere = nodes_.directory("elsewhere");
  const Output backup = nodes_.scyper("s1", "backup --directory " + elsewhere);
  EXPECT_EQ(backup.code, 0) << backup.text;
  const Output verified = nodes_.scyper("s1", "backup verify " + elsewhere);
  EXPECT_EQ(verified.code, 0) << verified.text;
  start_secondary("s2", false, "--archive-directory " + shared);
  nodes_.kill("s1", SIGKILL);
  nodes_.start_again("s1");  // from its own archive and what is left of its log
  nodes_.wait_until_level("p", {"s1", "s2"});
  EXPECT_NE(nodes_.log_of("s2").find("join: archive " + shared), std::string::npos) << nodes_.log_of("s2");
  EXPECT_EQ(nodes_.log_of("s1").find("starting anew"), std::string::npos);
  nodes_.check({"p", "s1", "s2"}, kWarehouses);
}

// A joiner gets its archive and the log behind it from another secondary; when that hangs or has gone, from the
// primary.
TEST_F(ClusterTest, JoinersAskOtherSecondaries) {
  start_primary();
  start_secondary("s1", true);
  load();
  transactions(1000);
  nodes_.wait_until_level("p", {"s1"});
  ASSERT_EQ(nodes_.scyper("s1", "backup").code, 0);
  replication::LinkOptions options;
  options.target = nodes_.target("p");
  const auto link = replication::Link::make(options);
  uint64_t archive_lsn = 0;
  wait_for("the primary to know of the archive", [&] {
    const auto joined = link->join(nullptr);
    archive_lsn = joined.ok() && joined->peers.size() == 1 ? joined->peers[0].archive_lsn : 0;
    return archive_lsn > 0;
  });
  transactions(15'000);  // more than a joiner has the primary send at once
  nodes_.wait_until_level("p", {"s1"});
  start_secondary("s2", true);
  transactions(200);
  nodes_.wait_until_level("p", {"s1", "s2"});
  const client::NodeStatus second = nodes_.status("s2");
  EXPECT_EQ(second.seeded_from, "s1") << nodes_.log_of("s2");
  EXPECT_EQ(second.peer, "s1") << nodes_.log_of("s2");
  EXPECT_GT(second.peer_groups, 0u);
  EXPECT_NE(nodes_.scyper("s2", "status").text.find("began from"), std::string::npos);
  nodes_.signal("s1", SIGSTOP);
  start_secondary("s3", false);  // s1 is asked, if its silence has not been noticed yet
  nodes_.wait_until_level("p", {"s2", "s3"});
  const std::string third = nodes_.status("s3").seeded_from;
  EXPECT_TRUE(third == "s2" || third == "log of the primary") << third;  // s2 has the archive that it fetched
  nodes_.kill("s2", SIGKILL);
  start_secondary("s4", false);
  nodes_.signal("s1", SIGCONT);
  nodes_.start_again("s2");
  nodes_.wait_until_level("p", {"s1", "s2", "s3", "s4"});
  nodes_.check({"p", "s1", "s2", "s3", "s4"}, kWarehouses);
}

}  // namespace
}  // namespace scyper::tests
