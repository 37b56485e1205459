#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/comes_true.h"
#include "base/text_file.h"
#include "client/client.h"
#include "client/cluster_client.h"
#include "cluster.h"
#include "testing/etcd_process.h"

// Elections with real processes and a real etcd.
namespace scyper::tests {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
constexpr auto kWait = std::chrono::seconds(120);  // a busy machine

std::unique_ptr<client::Client> connect(const std::string& target) {
  client::ConnectOptions to;
  to.target = target;
  to.connect_timeout_ms = 500;
  to.call_timeout_ms = 3000;
  auto client = client::Client::connect(to);
  return client.ok() ? *std::move(client) : nullptr;
}

// Whether an error says that nothing was done.
bool is_refusal(const Status& status) {
  const std::string state = sqlstate_of(status);
  return state == "25006" || state == "57P03" || state == "57P01" || state == "53300" || state == "08001";
}

class FailoverTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(consensus::EtcdProcess::is_installed()) << "tools/install-packages installs it";
    ASSERT_TRUE(etcd_.start()) << etcd_.log();
  }
  void start(const std::string& name, const std::string& more = "") {
    cluster_.start(name, absl::StrCat("--partitions 4 --workers 2 --cluster test --etcd ", etcd_.endpoint(),
                                      " --voter-names n1,n2,n3 --lease-ttl 6s --commit-mode ", commit_mode_,
                                      " --segment-bytes 4MB --data-directory ", cluster_.directory(name), " ", more));
    names_.push_back(name);
  }
  void start_all() {
    for (const char* name : {"n1", "n2", "n3"}) start(name);
    ASSERT_NE(run_anywhere("CREATE TABLE t (id bigint PRIMARY KEY)"), "");
  }
  // The node that did it; empty: none within the time.
  std::string run_anywhere(const std::string& sql, const std::string& but = "") {
    const auto until = Clock::now() + kWait;
    std::string last;
    while (Clock::now() < until) {
      for (const std::string& name : names_) {
        auto client = name == but ? nullptr : connect(cluster_.target(name));
        if (client == nullptr) continue;
        auto prepared = client->prepare("SELECT 1");
        if (!prepared.ok()) continue;  // a secondary, or not open
        const Status status = client->execute(sql, [](const query::ResultSet&) {});
        if (status.ok() || sqlstate_of(status) == "42P07") return name;
        last = std::string(status.message());
      }
      std::this_thread::sleep_for(milliseconds(50));
    }
    ADD_FAILURE() << sql << ": " << last;
    return "";
  }
  // `scyper` with a command for the cluster, which is found by its etcd.
  Output verb(const std::string& arguments) const {
    return run_command(absl::StrCat(SCYPER_PROGRAM, " ", arguments, " --cluster test --etcd ", etcd_.endpoint()));
  }
  void wait_until_followed(const std::string& primary) const {
    const auto until = Clock::now() + kWait;
    size_t serving = 0;
    while (serving + 1 < names_.size() && Clock::now() < until) {
      serving = 0;
      for (const auto& secondary : cluster_.status(primary).secondaries) serving += secondary.serves ? 1 : 0;
      if (serving + 1 < names_.size()) std::this_thread::sleep_for(milliseconds(50));
    }
    EXPECT_EQ(serving + 1, names_.size()) << "not all follow " << primary;
  }
  // Ids on a node, as a snapshot of its own has them.
  std::set<int64_t> ids(const std::string& name) {
    std::set<int64_t> found;
    auto client = connect(cluster_.target(name));
    if (client == nullptr) return found;
    client::QueryWish wish;
    wish.freshness.kind = query::Freshness::Kind::kStaleness;
    wish.freshness.staleness_us = 1000;
    wish.timeout_ms = 10'000;
    static_cast<void>(client->query("SELECT id FROM t", wish, [&](const query::ResultSet& rows, const query::Receipt*) {
      for (size_t i = 0; i < rows.row_count(); ++i) found.insert(rows.value(i, 0).lo);
    }));
    return found;
  }
  // Every node has what was acknowledged, and nothing that nobody sent.
  void check(const std::set<int64_t>& acknowledged, const std::set<int64_t>& unknown) {
    for (const std::string& name : names_) {
      std::vector<int64_t> lost;
      std::set<int64_t> found;
      const auto until = Clock::now() + kWait;
      do {
        lost.clear();
        found = ids(name);
        for (int64_t id : acknowledged) {
          if (!found.contains(id)) lost.push_back(id);
        }
        if (!lost.empty()) std::this_thread::sleep_for(milliseconds(200));
      } while (!lost.empty() && Clock::now() < until);
      EXPECT_TRUE(lost.empty()) << name << " lacks " << lost.size() << " of " << acknowledged.size() << ", first "
                                << lost.front();
      for (int64_t id : found) EXPECT_TRUE(acknowledged.contains(id) || unknown.contains(id)) << name << ": " << id;
    }
  }

  std::string commit_mode_ = "quorum_durable";
  consensus::EtcdProcess etcd_;
  ClusterProcesses cluster_;
  std::vector<std::string> names_;
};

// Inserts one id after the other wherever it is let, and keeps the outcomes apart from the cluster.
class Writer {
 public:
  explicit Writer(std::vector<std::string> targets) : targets_(std::move(targets)), thread_([this] { run(); }) {}
  ~Writer() { stop(); }
  void stop() {
    is_stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  size_t count() const { return count_; }
  void add_target(const std::string& target) {
    std::lock_guard<std::mutex> lock(mutex_);
    targets_.push_back(target);
  }
  bool waits_for(size_t more) const {
    const size_t wanted = count_ + more;
    const auto until = Clock::now() + kWait;
    while (count_ < wanted && Clock::now() < until) std::this_thread::sleep_for(milliseconds(20));
    return count_ >= wanted;
  }
  // After stop().
  std::set<int64_t> acknowledged, unknown;

 private:
  void run() {
    size_t target = 0;
    std::unique_ptr<client::Client> client;
    std::shared_ptr<const client::Prepared> insert;
    for (int64_t id = 1; !is_stopping_;) {
      if (client == nullptr) {
        client = connect(next_target(++target));
        auto prepared = client == nullptr ? absl::UnavailableError("") : client->prepare("INSERT INTO t VALUES ($1)");
        if (!prepared.ok()) {
          client.reset();
          std::this_thread::sleep_for(milliseconds(20));
          continue;
        }
        insert = *std::move(prepared);
      }
      const Datum argument = int_datum(id);
      query::ResultSet result;
      const Status status = client->call(*insert, {&argument, 1}, &result);
      if (!status.ok()) client.reset();
      if (!status.ok() && is_refusal(status)) continue;
      (status.ok() ? acknowledged : unknown).insert(id++);
      if (status.ok()) ++count_;
    }
  }
  std::string next_target(size_t turn) {
    std::lock_guard<std::mutex> lock(mutex_);
    return targets_[turn % targets_.size()];
  }
  std::mutex mutex_;  // targets_
  std::vector<std::string> targets_;
  std::atomic<bool> is_stopping_{false};
  std::atomic<size_t> count_{0};
  std::thread thread_;
};

TEST_F(FailoverTest, AKilledPrimaryIsReplacedAndComesBackAndNothingIsLost) {
  start_all();
  Writer writer({cluster_.target("n1"), cluster_.target("n2"), cluster_.target("n3")});
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(writer.waits_for(50));
    const std::string primary = run_anywhere("CREATE TABLE t (id bigint PRIMARY KEY)");
    cluster_.kill(primary, SIGKILL);
    EXPECT_NE(run_anywhere("CREATE TABLE t (id bigint PRIMARY KEY)", primary), primary);
    EXPECT_TRUE(writer.waits_for(50));
    // the first target is dead, or was until now
    const Output out = run_command(absl::StrCat(SCYPER_PROGRAM, " sql -t -c 'DELETE FROM t WHERE id < 0' --target ",
                                                cluster_.target(primary), ",", cluster_.target("n1"), ",",
                                                cluster_.target("n2"), ",", cluster_.target("n3")));
    EXPECT_EQ(out.code, 0) << out.text;
    cluster_.start_again(primary);
  }
  writer.stop();
  EXPECT_GE(writer.acknowledged.size(), 300u);
  check(writer.acknowledged, writer.unknown);
}

TEST_F(FailoverTest, AFrozenPrimaryThatWakesUpConfirmsNothing) {
  start_all();
  Writer writer({cluster_.target("n1"), cluster_.target("n2"), cluster_.target("n3")});
  ASSERT_TRUE(writer.waits_for(20));
  const std::string primary = run_anywhere("CREATE TABLE t (id bigint PRIMARY KEY)");
  cluster_.signal(primary, SIGSTOP);
  EXPECT_NE(run_anywhere("CREATE TABLE t (id bigint PRIMARY KEY)", primary), primary);
  EXPECT_TRUE(writer.waits_for(50));
  cluster_.signal(primary, SIGCONT);
  EXPECT_TRUE(writer.waits_for(50));
  writer.stop();
  check(writer.acknowledged, writer.unknown);
}

// One of two that had the newest commits comes back empty, the other one not at all: the third must not win with the
// vote of the empty one.
TEST_F(FailoverTest, AVoterWithAnEmptyDiskElectsNobodyAndCountsOnceItHasCaughtUp) {
  start_all();
  Writer writer({cluster_.target("n1"), cluster_.target("n2"), cluster_.target("n3")});
  ASSERT_TRUE(writer.waits_for(20));
  const std::string primary = run_anywhere("CREATE TABLE t (id bigint PRIMARY KEY)");
  std::vector<std::string> others;
  for (const std::string& name : names_) {
    if (name != primary) others.push_back(name);
  }
  const std::string behind = others[0], wiped = others[1];
  cluster_.kill(behind, SIGKILL);
  EXPECT_TRUE(writer.waits_for(50));
  cluster_.kill(primary, SIGKILL);
  cluster_.kill(wiped, SIGKILL);
  std::filesystem::remove_all(cluster_.directory(wiped));
  cluster_.start_again(behind);
  cluster_.start_again(wiped);
  const auto says = [&](const std::string& name, const std::string& text) {
    return comes_true([&] { return cluster_.log_of(name).find(text) != std::string::npos; }, kWait);
  };
  EXPECT_TRUE(says(behind, "NOBODY CAN BE ELECTED")) << cluster_.log_of(behind);
  EXPECT_TRUE(says(wiped, "another data directory of " + wiped)) << cluster_.log_of(wiped);
  // a candidate whose campaign fails has the leader key for a moment
  Output out;
  const auto tells_of_loss = [&] {
    out = verb("failover");
    return out.text.find("MAY BE LOST") != std::string::npos;
  };
  EXPECT_TRUE(comes_true(tells_of_loss, kWait)) << out.text;
  const size_t before = writer.count();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  EXPECT_EQ(writer.count(), before);
  cluster_.start_again(primary);
  EXPECT_TRUE(writer.waits_for(50));
  EXPECT_TRUE(comes_true([&] { return verb("members").text.find("INCOMPLETE") == std::string::npos; }, kWait));
  writer.stop();
  check(writer.acknowledged, writer.unknown);
}

// Alone, a primary logs what nobody confirms, and dies. What it has more than the next one is cut from its log when it
// comes back, no more: in `quorum_durable` it was never confirmed, in `local` it was, and is kept aside.
class DivergentTailTest : public FailoverTest, public testing::WithParamInterface<std::string> {};

TEST_P(DivergentTailTest, IsCutAndTheRestOfTheLogStays) {
  commit_mode_ = GetParam();
  start_all();
  const std::vector<std::string> targets = {cluster_.target("n1"), cluster_.target("n2"), cluster_.target("n3")};
  auto writer = std::make_unique<Writer>(targets);
  ASSERT_TRUE(writer->waits_for(50));
  writer->stop();
  const std::string old = run_anywhere("CREATE TABLE t (id bigint PRIMARY KEY)");
  cluster_.wait_until_level(old, old == "n1" ? std::vector<std::string>{"n2", "n3"}
                                             : std::vector<std::string>{"n1", old == "n2" ? "n3" : "n2"});
  for (const std::string& name : names_) {
    if (name != old) cluster_.kill(name, SIGKILL);
  }
  auto client = connect(cluster_.target(old));
  ASSERT_NE(client, nullptr);
  const Status alone = client->execute("INSERT INTO t VALUES (-1)", [](const query::ResultSet&) {});
  EXPECT_EQ(alone.ok(), commit_mode_ == "local") << alone;
  const auto until = Clock::now() + kWait;
  const auto has_ended = [&] { return cluster_.log_of(old).find("term 1 is over") != std::string::npos; };
  while (commit_mode_ != "local" && !has_ended() && Clock::now() < until) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(has_ended(), commit_mode_ != "local");  // it gives its lease back where nothing is confirmed
  cluster_.kill(old, SIGKILL);
  for (const std::string& name : names_) {
    if (name != old) cluster_.start_again(name);
  }
  ASSERT_NE(run_anywhere("INSERT INTO t VALUES (-2)", old), "");
  const size_t said = cluster_.log_of(old).size();
  cluster_.start_again(old);
  check(std::set<int64_t>{-2}, writer->acknowledged);
  EXPECT_EQ(ids(old).count(-1), 0u);
  const std::string log = cluster_.log_of(old).substr(said);
  EXPECT_NE(log.find("the log is cut behind term"), std::string::npos) << log;
  for (const char* anew : {"whole log is replayed", "fetched the archive"}) {
    EXPECT_EQ(log.find(anew), std::string::npos) << log;
  }
  const std::string aside = cluster_.directory(old) + "/cut";
  EXPECT_EQ(std::filesystem::exists(aside), commit_mode_ == "local");
  if (commit_mode_ != "local") return;
  EXPECT_NE(log.find("copies are in " + aside), std::string::npos) << log;
  const Output out = run_command(absl::StrCat(SCYPER_PROGRAM, " log inspect ", aside));
  EXPECT_EQ(out.code, 0) << out.text;
}
INSTANTIATE_TEST_SUITE_P(CommitModes, DivergentTailTest, testing::Values("quorum_durable", "local"));

// While all voters are there the primary goes on, for longer than its lease; without one of them it stops.
TEST_F(FailoverTest, WithoutEtcdAllGoesOnUntilAVoterIsMissing) {
  start_all();
  Writer writer({cluster_.target("n1"), cluster_.target("n2"), cluster_.target("n3")});
  ASSERT_TRUE(writer.waits_for(20));
  const std::string primary = run_anywhere("CREATE TABLE t (id bigint PRIMARY KEY)");
  wait_until_followed(primary);
  const uint64_t term = cluster_.status(primary).term;
  etcd_.kill(SIGKILL);
  std::this_thread::sleep_for(std::chrono::seconds(14));  // two leases and more
  EXPECT_TRUE(writer.waits_for(20));
  EXPECT_EQ(cluster_.status(primary).term, term);
  EXPECT_EQ(cluster_.status(primary).role, "primary");
  const std::string other = primary == "n1" ? "n2" : "n1";
  cluster_.kill(other, SIGKILL);
  size_t before = 0;
  const auto until = Clock::now() + kWait;
  do {  // until it stands still for longer than a call takes
    before = writer.count();
    std::this_thread::sleep_for(std::chrono::seconds(4));
  } while (writer.count() != before && Clock::now() < until);
  EXPECT_EQ(writer.count(), before);
  ASSERT_TRUE(etcd_.start()) << etcd_.log();
  cluster_.start_again(other);
  EXPECT_TRUE(writer.waits_for(20));
  writer.stop();
  check(writer.acknowledged, writer.unknown);
}

// Of three nodes one is dead and one makes its tables, for an hour: the third one is promised to all the same.
TEST_F(FailoverTest, ANodeThatRecoversPromisesAndStops) {
  start_all();
  const std::string primary = run_anywhere("CREATE TABLE t (id bigint PRIMARY KEY)");
  wait_until_followed(primary);
  const std::string other = primary == "n1" ? "n2" : "n1", third = primary == "n3" ? "n2" : "n3";
  const auto comes_to = [&](const std::string& node, const std::string& what, size_t times) {
    const auto counted = [&] {
      size_t count = 0;
      const std::string log = cluster_.log_of(node);
      for (size_t at = log.find(what); at != std::string::npos; at = log.find(what, at + 1)) ++count;
      return count;
    };
    const auto until = Clock::now() + kWait;
    while (times != 0 && counted() < times && Clock::now() < until) std::this_thread::sleep_for(milliseconds(50));
    return counted();
  };
  const std::string joins = "join: primary at", leads = "is fenced, this node becomes primary";
  const size_t joined = comes_to(other, joins, 0), led = comes_to(third, leads, 0);
  cluster_.kill(other, SIGKILL);
  start(other, "--failpoints 'recovery.after_replay=sleep(3600000)'");
  ASSERT_GT(comes_to(other, joins, joined + 1), joined);
  cluster_.kill(primary, SIGKILL);
  EXPECT_GT(comes_to(third, leads, led + 1), led);
  cluster_.signal(other, SIGTERM);  // is not waited for either
  EXPECT_EQ(cluster_.wait_for_end(other), 0);
}

// With a client that asks again no call fails: each is answered, once.
TEST_F(FailoverTest, IsSwitchedOverWithoutAFailedCall) {
  start_all();
  std::atomic<bool> is_stopping{false};
  std::atomic<int64_t> done{0};
  std::string failure;
  std::thread caller([&] {
    client::ClusterClient client({}, {cluster_.target("n1"), cluster_.target("n2"), cluster_.target("n3")}, 60'000,
                                 5000);
    query::ResultSet result;
    for (int64_t id = 1; !is_stopping && failure.empty(); ++id) {
      const Datum argument = int_datum(id);
      const Status status = client.call("INSERT INTO t VALUES ($1)", {&argument, 1}, &result);
      status.ok() ? void(++done) : void(failure = std::string(status.message()));
    }
  });
  const auto calls_go_on = [&] {
    const int64_t wanted = done + 30;
    const auto until = Clock::now() + kWait;
    while (done < wanted && Clock::now() < until) std::this_thread::sleep_for(milliseconds(10));
    return done >= wanted;
  };
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(calls_go_on());
    const std::string primary = run_anywhere("CREATE TABLE t (id bigint PRIMARY KEY)");
    const std::string to = primary == "n2" ? "n3" : "n2";
    wait_until_followed(primary);
    const Output out = verb("switchover --timeout-ms 60000 --drain-ms 20000 -o json --to " + to);
    EXPECT_EQ(out.code, 0) << out.text;
    EXPECT_NE(out.text.find("\"primary\": \"" + to + "\""), std::string::npos) << out.text;
    EXPECT_EQ(run_anywhere("CREATE TABLE t (id bigint PRIMARY KEY)"), to);
  }
  EXPECT_TRUE(calls_go_on());
  is_stopping = true;
  caller.join();
  EXPECT_EQ(failure, "");
  std::set<int64_t> acknowledged;
  for (int64_t id = 1; id <= done; ++id) acknowledged.insert(id);
  check(acknowledged, {done + 1});
  Output out = verb("switchover --to " + run_anywhere("CREATE TABLE t (id bigint PRIMARY KEY)"));
  EXPECT_NE(out.text.find("is primary already"), std::string::npos) << out.text;
  EXPECT_NE(out.code, 0);
  out = verb("switchover --to n9");
  EXPECT_NE(out.text.find("n9 is no voter"), std::string::npos) << out.text;
  EXPECT_NE(out.code, 0);
}

TEST_F(FailoverTest, PausedNobodyIsElectedAndFailoverByHandDoesIt) {
  start_all();
  Writer writer({cluster_.target("n1"), cluster_.target("n2"), cluster_.target("n3")});
  ASSERT_TRUE(writer.waits_for(20));
  EXPECT_EQ(verb("pause").code, 0);
  EXPECT_NE(verb("pause").code, 0);
  EXPECT_NE(verb("members remove n3").text.find("elections are paused since"), std::string::npos);
  const std::string primary = run_anywhere("CREATE TABLE t (id bigint PRIMARY KEY)");
  auto until = Clock::now() + kWait;  // nodes hear of it a little later
  Output out;
  do {
    out = cluster_.scyper(primary, "status");
  } while (out.text.find("PAUSED since") == std::string::npos && Clock::now() < until);
  EXPECT_NE(out.text.find("PAUSED since"), std::string::npos) << out.text;
  out = verb("failover");
  EXPECT_NE(out.text.find(primary + " is primary"), std::string::npos) << out.text;
  EXPECT_NE(out.code, 0);
  cluster_.kill(primary, SIGKILL);
  until = Clock::now() + kWait;  // until its leases have gone
  do {
    out = verb("failover");
    EXPECT_NE(out.code, 0);
  } while ((out.text.find("Say --confirm") == std::string::npos ||
            out.text.find(primary + ": not there") == std::string::npos) &&
           Clock::now() < until);
  EXPECT_NE(out.text.find("nothing that was acknowledged is lost"), std::string::npos) << out.text;
  EXPECT_NE(out.text.find(primary + ": not there"), std::string::npos) << out.text;
  out = verb("failover --confirm");
  EXPECT_EQ(out.code, 0) << out.text;
  EXPECT_TRUE(writer.waits_for(20));
  EXPECT_EQ(verb("resume").code, 0);
  EXPECT_NE(verb("resume").code, 0);
  cluster_.start_again(primary);
  writer.stop();
  check(writer.acknowledged, writer.unknown);
}

// None hangs: each says what is wrong.
TEST_F(FailoverTest, VerbsEndWithoutEtcdAndWithoutVoters) {
  start_all();
  const std::string primary = run_anywhere("CREATE TABLE t (id bigint PRIMARY KEY)");
  cluster_.kill(primary, SIGKILL);
  cluster_.kill(primary == "n1" ? "n2" : "n1", SIGKILL);
  const auto until = Clock::now() + kWait;
  Output out;
  do {
    out = verb("failover --confirm --timeout-ms 1000");
  } while (out.text.find("1 of 3 voters are there") == std::string::npos && Clock::now() < until);
  EXPECT_NE(out.text.find("1 of 3 voters are there, 2 are needed"), std::string::npos) << out.text;
  out = verb("members remove n3");
  EXPECT_NE(out.text.find("there is no primary"), std::string::npos) << out.text;
  etcd_.kill(SIGKILL);
  for (const char* name :
       {"switchover", "failover", "pause", "resume", "members", "members add n3", "members remove n3"}) {
    out = verb(name);
    EXPECT_NE(out.code, 0);
    EXPECT_NE(out.text.find("etcd"), std::string::npos) << name << ": " << out.text;
  }
}

// Under load a cluster of three grows to five and shrinks to three others: each time the primary makes way. Then it is
// killed: what was acknowledged under whichever voters is there.
TEST_F(FailoverTest, VotersComeAndGoUnderLoadAndNothingIsLost) {
  start_all();
  Writer writer({cluster_.target("n1"), cluster_.target("n2"), cluster_.target("n3")});
  ASSERT_TRUE(writer.waits_for(50));
  Output out = verb("members add n4");
  EXPECT_NE(out.text.find("the cluster has no node n4"), std::string::npos) << out.text;
  EXPECT_EQ(out.code, 1);
  const auto change = [&](const std::string& arguments, const std::string& voters) {
    const Output done = verb("members " + arguments + " --timeout-ms 120000 -o json");
    EXPECT_EQ(done.code, 0) << arguments << ": " << done.text;
    EXPECT_NE(done.text.find("\"voters\": [" + voters + "]"), std::string::npos) << done.text;
    EXPECT_TRUE(writer.waits_for(50)) << arguments;
  };
  const auto is_learner = [&](const std::string& name) {  // it follows, and says so
    const auto until = Clock::now() + kWait;
    do {
      out = verb("members list -o json");
      const size_t at = out.text.find("{\"node\": \"" + name + "\"");
      if (at != std::string::npos && out.text.find("\"learner\"", at) < out.text.find('}', at)) return true;
      std::this_thread::sleep_for(milliseconds(50));
    } while (Clock::now() < until);
    return false;
  };
  for (const char* name : {"n4", "n5"}) {
    start(name);
    writer.add_target(cluster_.target(name));
    EXPECT_TRUE(is_learner(name)) << out.text;
  }
  change("add n4", R"("n1", "n2", "n3", "n4")");
  change("add n5", R"("n1", "n2", "n3", "n4", "n5")");
  out = verb("members add n5");
  EXPECT_NE(out.text.find("n5 is a voter already"), std::string::npos) << out.text;
  out = verb("members");
  EXPECT_EQ(out.code, 0) << out.text;
  EXPECT_NE(out.text.find("voters of version 3, a majority is 3"), std::string::npos) << out.text;
  EXPECT_EQ(out.text.find("NOT IN EFFECT"), std::string::npos) << out.text;
  // who is primary goes, whoever that is, and one that is dead
  const std::string primary = run_anywhere("CREATE TABLE t (id bigint PRIMARY KEY)");
  std::vector<std::string> left = {"\"n1\"", "\"n2\"", "\"n3\"", "\"n4\"", "\"n5\""};
  std::erase(left, "\"" + primary + "\"");
  change("remove " + primary, absl::StrJoin(left, ", "));
  EXPECT_TRUE(is_learner(primary)) << out.text;
  const std::string next = run_anywhere("CREATE TABLE t (id bigint PRIMARY KEY)", primary);
  std::string dead;
  for (const char* name : {"n5", "n4", "n3"}) {
    if (dead.empty() && name != next && name != primary) dead = name;
  }
  cluster_.kill(dead, SIGKILL);
  std::erase(left, "\"" + dead + "\"");
  change("remove " + dead, absl::StrJoin(left, ", "));
  const std::string last = run_anywhere("CREATE TABLE t (id bigint PRIMARY KEY)", primary);
  cluster_.kill(last, SIGKILL);
  EXPECT_TRUE(writer.waits_for(50));  // two of three are enough
  out = verb("members remove " + (left[0] == "\"" + last + "\"" ? left[1] : left[0]));
  EXPECT_NE(out.text.find("1 of the 2 voters would be there, 2 are needed"), std::string::npos) << out.text;
  for (const std::string& name : {last, dead}) cluster_.start_again(name);
  writer.stop();
  check(writer.acknowledged, writer.unknown);
}

// The checker of registers, built with Go. Empty: why not.
std::string build_history_checker(const std::string& folder, std::string* why) {
  const std::string at = absl::StrCat("cd ", SCYPER_HISTORIES, " && ");
  for (const char* step : {"go version", "go mod download"}) {
    const Output out = run_command(at + step);
    if (out.code == 0) continue;
    *why = absl::StrCat(step, ": ", out.text, " (tools/install-packages installs what is needed)");
    return "";
  }
  const Output out = run_command(absl::StrCat(at, "go build -o ", folder, "/histories ."));
  EXPECT_EQ(out.code, 0) << out.text;
  return folder + "/histories";
}

// 60 faults in one life of a cluster, each under load, and histories meanwhile.
TEST(DrillTest, FindsNothingLostInSixtyFaults) {
  ASSERT_TRUE(consensus::EtcdProcess::is_installed()) << "tools/install-packages installs it";
  const std::string turn =
      "kill-primary,brief-freeze,etcd-restart,isolation,kill-secondary,brief-freeze,isolation,etcd-restart,switchover,"
      "brief-freeze,etcd-restart,kill-secondary,isolation,brief-freeze,etcd-restart";
  const std::string reports = absl::StrCat(testing::TempDir(), "drill-sixty-", ::getpid());
  const auto drill = [&](const char* isolation) {
    return run_command(absl::StrCat(
        SCYPER_PROGRAM, " drill all-in-turn --repeat 60 --writers 2 --rate 300 --lease-ttl 6s -o json --report ",
        reports, " --kinds ", absl::StrReplaceAll(turn, {{"isolation", isolation}})));
  };
  Output out = drill(::geteuid() == 0 ? "brief-isolation" : "brief-freeze");
  if (out.text.find("42501") != std::string::npos) out = drill("brief-freeze");  // namespaces cannot be made
  EXPECT_EQ(out.code, 0) << out.text;
  EXPECT_NE(out.text.find("\"faults\": 60, "), std::string::npos) << out.text;
  EXPECT_NE(out.text.find("\"lost\": 0, \"duplicated\": 0, \"violations\": 0}"), std::string::npos) << out.text;
  std::string why;
  const std::string checker = build_history_checker(reports, &why);
  if (!checker.empty()) {
    out = run_command(absl::StrCat(checker, " ", reports, "/all-in-turn.history"));
    EXPECT_EQ(out.code, 0) << out.text;
    EXPECT_NE(out.text.find(": Ok"), std::string::npos) << out.text;
    EXPECT_EQ(out.text.find(" 0 operations"), std::string::npos) << out.text;
  }
  if (!HasFailure()) std::filesystem::remove_all(reports);
  if (checker.empty()) GTEST_SKIP() << "histories of registers are not checked: " << why;
}

// Each is wrong for another reason, but for the first and the last.
TEST(HistoryCheckerTest, TellsWrongHistoriesFromRightOnes) {
  const std::string folder = absl::StrCat(testing::TempDir(), "histories-", ::getpid());
  std::filesystem::create_directories(folder);
  std::string why;
  const std::string checker = build_history_checker(folder, &why);
  if (checker.empty()) GTEST_SKIP() << why;
  const auto check = [&](const std::string& history) {
    std::ofstream(folder + "/history") << history;
    return run_command(checker + " " + folder + "/history").code;
  };
  const std::string write = "R 1 10 20 1 write 5 5 0\n";
  EXPECT_EQ(check(write + "R 2 30 40 1 read 0 0 5\n"), 0);
  EXPECT_EQ(check(write + "R 2 30 40 1 read 0 0 0\n"), 1);                        // stale
  EXPECT_EQ(check(write + "R 2 30 40 1 read 0 0 7\n"), 1);                        // nobody's
  EXPECT_EQ(check(write + "R 1 30 40 1 cas 5 6 1\nR 2 31 41 1 cas 5 7 1\n"), 1);  // both
  EXPECT_EQ(check(write + "R 1 30 40 1 cas 5 6 0\n"), 1);                         // refused though it was 5
  EXPECT_EQ(check(write + "R 1 30 -1 1 cas 5 6 0\nR 2 50 60 1 read 0 0 5\nR 2 70 80 1 read 0 0 6\n"), 0);  // open
  EXPECT_EQ(check("R 1 x\n"), 2);
  std::filesystem::remove_all(folder);
}

// The others, once each.
class DrillKindTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Kinds, DrillKindTest,
                         testing::Values("freeze-primary", "isolate-primary", "kill-secondary", "kill-snapshot",
                                         "kill-at-failpoint", "etcd-down", "etcd-and-voter-down", "switchover",
                                         "rolling-restart", "disk-full"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(DrillKindTest, FindsNothingLost) {
  const std::string kind = GetParam();
  const bool needs_root = kind == "isolate-primary" || kind == "disk-full";
  if (needs_root && ::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_TRUE(consensus::EtcdProcess::is_installed()) << "tools/install-packages installs it";
  const std::string reports = absl::StrCat(testing::TempDir(), "drill-", kind, "-", ::getpid());
  int repeat = kind == "kill-snapshot" || kind == "kill-at-failpoint" ? 3 : 1;
  if (kind == "kill-at-failpoint" && std::getenv("SCYPER_TEST_FULL") != nullptr) repeat = 37;
  const Output out =
      run_command(absl::StrCat(SCYPER_PROGRAM, " drill ", kind, " --repeat ", repeat,
                               " --seed 37 --writers 2 --rate 300 --lease-ttl 6s -o json --report ", reports));
  if (needs_root && out.text.find("42501") != std::string::npos) GTEST_SKIP() << out.text;
  EXPECT_EQ(out.code, 0) << out.text;
  EXPECT_NE(out.text.find("\"drill\": \"" + kind + "\""), std::string::npos) << out.text;
  EXPECT_NE(out.text.find("\"lost\": 0, \"duplicated\": 0, \"violations\": 0}"), std::string::npos) << out.text;
  for (const char* name : {"/report.json", "/report.md"}) {
    const auto written = read_text_file(reports + name);
    EXPECT_TRUE(written.ok() && written->find(kind) != std::string::npos) << name;
  }
  std::filesystem::remove_all(reports);
}

}  // namespace
}  // namespace scyper::tests
