#include "consensus/supervisor.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/comes_true.h"
#include "base/simulated_disk.h"
#include "consensus/disk_file.h"
#include "consensus/promise_file.h"
#include "testing/etcd_process.h"

namespace scyper::consensus {
namespace {

// The logs of all nodes.
class Positions {
 public:
  void set(const std::string& name, Position position) {
    std::lock_guard<std::mutex> lock(mutex_);
    all_[name] = position;
  }
  // The batch of that term: the one that is there, else one behind what the node has.
  Position append(const std::string& name, uint64_t term) {
    std::lock_guard<std::mutex> lock(mutex_);
    Position& mine = all_[name];
    if (mine.term >= term) return mine;
    Position batch{term, mine.lsn + 1};
    for (const auto& [other, position] : all_) {
      if (position.term == term) batch = position;
    }
    return mine = batch;
  }
  bool has(const std::string& name, Position position) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = all_.find(name);
    return found != all_.end() && found->second >= position;
  }
  size_t count(Position position) {
    std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<size_t>(
        std::count_if(all_.begin(), all_.end(), [&](const auto& one) { return one.second >= position; }));
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Position> all_;
};

// A log without contents: who is told to lead writes one batch, which the others have when they are told to.
class FakeReplica final : public Replica {
 public:
  FakeReplica(std::string name, Position position, Positions* all)
      : name_(std::move(name)), all_(all), position_(position) {
    all_->set(name_, position_);
  }
  LogState log() override {
    std::lock_guard<std::mutex> lock(mutex_);
    return {position_, true, position_.term};
  }
  Status bar(const Promise&) override {
    ++bars;
    return Status();
  }
  bool has_start(uint64_t term) override {
    std::lock_guard<std::mutex> lock(mutex_);
    return position_.term == term;
  }
  int64_t unconfirmed_since_us() override { return -1; }
  // Of four at most.
  uint64_t copied_lsn() override {
    const Position position = log().position;
    return all_->count(position) >= 3 ? position.lsn : 0;
  }
  bool is_drained(const std::string& to, uint64_t) override { return drains && all_->has(to, log().position); }
  std::atomic<bool> drains{true};
  void append(uint64_t term) {
    std::lock_guard<std::mutex> lock(mutex_);
    position_ = all_->append(name_, term);
  }
  std::atomic<int> bars{0};

 private:
  const std::string name_;
  Positions* const all_;
  std::mutex mutex_;
  Position position_;
};

struct Node {
  Node(const std::string& name, Position position, Positions* all) : replica(name, position, all) {}
  FakeReplica replica;
  SimulatedDisk disk;
  std::unique_ptr<Supervisor> supervisor;
};

class SupervisorTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(EtcdProcess::is_installed()) << "tools/install-packages installs it";
    ASSERT_TRUE(etcd_.start()) << etcd_.log();
  }
  void add(const std::string& name, Position position) {
    nodes_[name] = std::make_unique<Node>(name, position, &positions_);
    ASSERT_TRUE(nodes_[name]->disk.make_directory("/data").ok());
    // known already, so that it does not matter who comes after the first election
    ASSERT_TRUE(nodes_[name]->disk.replace_file("/data/disk", "id=" + name + "0 registered=1\n").ok());
  }
  void start(const std::string& name) {
    SupervisorOptions options;
    options.elector.node = name;
    options.elector.lease_us = lease_us_;
    options.elector.margin_us = lease_us_ / 4;
    options.etcd.endpoints = {etcd_.endpoint()};
    options.cluster = options.peers.cluster = "test";
    options.peers.listen = "127.0.0.1:0";
    options.config.version = 1;
    options.config.voters.names = {"a", "b", "c"};
    options.config.commit_mode = "quorum_durable";
    options.address = "address-of-" + name;
    options.disk = &nodes_[name]->disk;
    options.directory = "/data";
    options.on_progress = [this, name](const std::string& line) {
      std::lock_guard<std::mutex> lock(said_mutex_);
      said_ += absl::StrCat(boot_time_us() / 1000, " ", name, ": ", line, "\n");
    };
    options.metrics = &metrics_;
    auto started = Supervisor::start(options, &nodes_[name]->replica);
    ASSERT_TRUE(started.ok()) << started.status();
    nodes_[name]->supervisor = *std::move(started);
  }
  // Lets whoever is to lead write its start.
  bool runs_until(const std::function<bool()>& condition) {
    const auto turn = [&] {
      for (auto& [name, node] : nodes_) {
        if (node->supervisor == nullptr) continue;
        const Role role = node->supervisor->role();
        if (role.kind == Role::Kind::kLead) node->replica.append(role.leader.term);
      }
      return condition();
    };
    return comes_true(turn, std::chrono::seconds(120));
  }
  int64_t open_until_us(const std::string& name) const {
    const auto& supervisor = nodes_.at(name)->supervisor;
    return supervisor != nullptr ? supervisor->open_until_us().load() : 0;
  }
  bool is_open(const std::string& name) const { return open_until_us(name) > boot_time_us(); }
  std::string primary() const {
    std::vector<std::string> open;
    for (const auto& [name, node] : nodes_) {
      if (is_open(name)) open.push_back(name);
    }
    // one may have closed while the next was asked: who still is was open all the time
    std::erase_if(open, [this](const std::string& name) { return !is_open(name); });
    EXPECT_LE(open.size(), 1u);
    return open.empty() ? "" : open.front();
  }
  // Empty: there was none.
  std::string wait_for_primary() {
    std::string found;
    EXPECT_TRUE(runs_until([&] { return !(found = primary()).empty(); }));
    return found;
  }
  Promise on_disk(const std::string& name) { return *PromiseFile(&nodes_[name]->disk, "/data").load(); }

  double count(const std::string& name, const std::string& outcome) {
    for (const MetricFamily& family : metrics_.collect()) {
      for (const MetricSample& sample : family.samples) {
        if (family.name == name && sample.labels.front().second == outcome) return sample.value;
      }
    }
    return -1;
  }

  MetricsRegistry metrics_;
  void TearDown() override {
    nodes_.clear();
    if (HasFailure()) std::cout << said_;
  }

  EtcdProcess etcd_;
  Positions positions_;
  std::mutex said_mutex_;
  std::string said_;              // by the nodes
  int64_t lease_us_ = 6'000'000;  // a busy machine
  std::map<std::string, std::unique_ptr<Node>> nodes_;
};

TEST_F(SupervisorTest, WhoHasMostLeadsAndTheNextOneWhenItHasGone) {
  add("a", {1, 5});
  add("b", {2, 3});
  add("c", {2, 4});
  for (const char* name : {"a", "b", "c"}) start(name);
  const std::string first = wait_for_primary();
  ASSERT_NE(first, "");
  EXPECT_NE(first, "a");  // R answers never are a's alone
  const uint64_t term = nodes_[first]->supervisor->role().leader.term;
  EXPECT_GT(term, 2u);
  EXPECT_EQ(nodes_[first]->supervisor->role().config.commit_mode, "quorum_durable");
  EXPECT_EQ(on_disk(first), (Promise{term, first}));
  for (auto& [name, node] : nodes_) {
    if (name == first) continue;
    EXPECT_TRUE(runs_until([&] {
      const Role role = node->supervisor->role();
      return role.kind == Role::Kind::kFollow && role.leader == Promise{term, first};
    }));
    EXPECT_EQ(node->supervisor->role().address, "address-of-" + first);
    // redo is taken of the primary that was promised, of nobody else
    EXPECT_TRUE(runs_until([&] { return node->supervisor->takes_redo({term, first}); }));
    EXPECT_FALSE(node->supervisor->takes_redo({term - 1, first}));
    EXPECT_FALSE(node->supervisor->takes_redo({term, "x"}));
    EXPECT_EQ(on_disk(name), (Promise{term, first}));
    EXPECT_GT(node->replica.bars, 0);
    node->replica.append(term);
  }
  nodes_[first]->supervisor.reset();  // gives its lease back
  const std::string second = wait_for_primary();
  ASSERT_NE(second, "");
  EXPECT_NE(second, first);
  EXPECT_GT(nodes_[second]->supervisor->role().leader.term, term);
  // what the old one left on its disk still binds it
  start(first);
  EXPECT_TRUE(runs_until(
      [&] { return nodes_[first]->supervisor->role().leader == nodes_[second]->supervisor->role().leader; }));
}

TEST_F(SupervisorTest, WithoutEtcdAPrimaryGoesOnWhileAllVotersAreThereAndWithItAgainToo) {
  for (const char* name : {"a", "b", "c"}) {
    add(name, {0, 0});
    start(name);
  }
  const std::string first = wait_for_primary();
  ASSERT_NE(first, "");
  const Promise leader = nodes_[first]->supervisor->role().leader;
  EXPECT_TRUE(runs_until([&] {  // all voters have promised the term
    return std::all_of(nodes_.begin(), nodes_.end(),
                       [&](auto& node) { return node.second->supervisor->takes_redo(leader); });
  }));
  etcd_.kill(SIGKILL);
  const int64_t killed_us = boot_time_us();
  EXPECT_TRUE(runs_until([&] { return boot_time_us() > killed_us + 3 * lease_us_; }));
  EXPECT_TRUE(runs_until([&] { return is_open(first); }));
  EXPECT_EQ(nodes_[first]->supervisor->role().leader, leader);
  for (const auto& [name, node] : nodes_) EXPECT_EQ(node->disk.exists("/data/granted"), name != first);
  ASSERT_TRUE(etcd_.start()) << etcd_.log();
  const int64_t back_us = boot_time_us();
  EXPECT_TRUE(runs_until([&] { return boot_time_us() > back_us + 2 * lease_us_; }));
  EXPECT_TRUE(runs_until([&] { return is_open(first); }));
  EXPECT_EQ(nodes_[first]->supervisor->role().leader, leader);
  EXPECT_TRUE(runs_until([&] {
    return std::none_of(nodes_.begin(), nodes_.end(),
                        [](auto& node) { return node.second->disk.exists("/data/granted"); });
  }));
}

TEST_F(SupervisorTest, WithoutEtcdAndAVoterAPrimaryClosesAndEndsAndAnotherTermFollows) {
  lease_us_ = 3'000'000;
  for (const char* name : {"a", "b", "c"}) {
    add(name, {0, 0});
    start(name);
  }
  const std::string first = wait_for_primary();
  ASSERT_NE(first, "");
  const uint64_t term = nodes_[first]->supervisor->role().leader.term;
  nodes_[first == "a" ? "b" : "a"]->supervisor.reset();
  etcd_.kill(SIGKILL);
  EXPECT_TRUE(runs_until([&] { return !is_open(first); }));
  EXPECT_TRUE(runs_until([&] { return nodes_[first]->supervisor->role().kind == Role::Kind::kEnd; }));
  nodes_[first]->supervisor.reset();
  ASSERT_TRUE(etcd_.start()) << etcd_.log();
  start(first);  // as the process that begins anew
  const std::string second = wait_for_primary();
  ASSERT_NE(second, "");
  EXPECT_GT(nodes_[second]->supervisor->role().leader.term, term);
}

TEST_F(SupervisorTest, OneOfThreeNeverLeads) {
  add("a", {1, 1});
  start("a");
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_EQ(nodes_["a"]->supervisor->promised().term, 0u);  // nor campaigns, before another one was ever there
  add("b", {1, 1});
  start("b");
  EXPECT_TRUE(runs_until([&] { return !primary().empty(); }));
  nodes_["a"]->supervisor.reset();
  nodes_["b"]->supervisor.reset();
  start("a");
  const uint64_t term = nodes_["a"]->supervisor->promised().term;
  EXPECT_TRUE(runs_until([&] { return nodes_["a"]->supervisor->promised().term > term; }));  // it campaigned
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_EQ(nodes_["a"]->supervisor->role().kind, Role::Kind::kWait);
  start("b");
  EXPECT_TRUE(runs_until([&] { return !primary().empty(); }));
}

TEST_F(SupervisorTest, AVoterWithAnEmptyDiskCountsOnceItHasCaughtUp) {
  for (const char* name : {"a", "b", "c"}) {
    add(name, {1, 1});
    start(name);
  }
  const std::string first = wait_for_primary(), wiped = first == "c" ? "b" : "c";
  ASSERT_NE(first, "");
  const Promise leader = nodes_[first]->supervisor->role().leader;
  nodes_[wiped]->supervisor.reset();
  const auto complete = [&] {
    const ClusterState state = nodes_[first]->supervisor->cluster_state();
    return std::any_of(state.voters.begin(), state.voters.end(),
                       [&](const auto& voter) { return voter.node == wiped && voter.is_complete; });
  };
  EXPECT_TRUE(runs_until([&] { return !complete(); }));
  nodes_[wiped] = std::make_unique<Node>(wiped, Position(), &positions_);
  ASSERT_TRUE(nodes_[wiped]->disk.make_directory("/data").ok());
  start(wiped);
  EXPECT_TRUE(runs_until([&] { return nodes_[wiped]->supervisor->role().kind == Role::Kind::kFollow; }));
  EXPECT_FALSE(nodes_[wiped]->supervisor->has_known_disk());
  EXPECT_FALSE(complete());
  EXPECT_TRUE(runs_until([&] { return nodes_[wiped]->supervisor->takes_redo(leader); }));
  EXPECT_FALSE(nodes_[wiped]->supervisor->has_known_disk());
  nodes_[wiped]->replica.append(leader.term);
  EXPECT_TRUE(runs_until([&] { return nodes_[wiped]->supervisor->has_known_disk() && complete(); }));
}

// By hand, as `scyper` does.
class ByHand {
 public:
  explicit ByHand(const std::string& endpoint) {
    EtcdOptions options;
    options.endpoints = {endpoint};
    etcd_ = *Etcd::make(options);
    keys = std::make_unique<ClusterKeys>(etcd_.get(), "test", "hand");
  }
  bool ask(const std::string& id, const std::string& to, uint64_t drain_ms) {
    auto seen = keys->read();
    if (!seen.ok() || !seen->view.leader.has_value()) return false;
    auto asked = keys->ask_switchover(*seen->view.leader, {seen->view.leader->term, id, to, drain_ms, ""});
    return asked.ok() && *asked;
  }

 private:
  std::unique_ptr<Etcd> etcd_;

 public:
  std::unique_ptr<ClusterKeys> keys;
};

TEST_F(SupervisorTest, IsSwitchedOverToWhomItIsAskedOrSaysWhyNot) {
  for (const char* name : {"a", "b", "c"}) {
    add(name, {1, 1});
    start(name);
  }
  const std::string first = wait_for_primary(), next = first == "c" ? "b" : "c";
  ASSERT_NE(first, "");
  const uint64_t term = nodes_[first]->supervisor->role().leader.term;
  // somebody has to be there to take over: all voters know the term's start
  for (auto& [name, node] : nodes_) node->replica.append(term);
  ByHand hand(etcd_.endpoint());
  const auto failure_of = [&](const std::string& id) {
    auto seen = hand.keys->read();
    return seen.ok() && seen->switchover.has_value() && seen->switchover->id == id ? seen->switchover->failure : "";
  };
  ASSERT_TRUE(hand.ask("r1", "x", 1000));
  EXPECT_TRUE(runs_until([&] { return failure_of("r1").find("x is no voter") != std::string::npos; }));
  nodes_[first]->replica.drains = false;
  ASSERT_TRUE(hand.ask("r2", next, 100));
  EXPECT_TRUE(runs_until([&] { return failure_of("r2").find("did not have everything") != std::string::npos; }));
  EXPECT_TRUE(runs_until([&] { return is_open(first); }));
  nodes_[first]->replica.drains = true;
  ASSERT_TRUE(hand.ask("r3", next, 10'000));
  ASSERT_TRUE(runs_until([&] { return nodes_[first]->supervisor->role().kind == Role::Kind::kEnd; }));
  EXPECT_TRUE(nodes_[first]->supervisor->role().was_handed_over);
  EXPECT_TRUE(runs_until([&] { return is_open(next); }));
  EXPECT_EQ(nodes_[next]->supervisor->role().leader.term, term + 1);
}

// The primary makes way, for whom it knows to be a voter then; the next change waits for that.
TEST_F(SupervisorTest, VotersComeAndGoAndAPrimaryThatGoesHandsOver) {
  for (const char* name : {"a", "b", "c"}) {
    add(name, {1, 1});
    start(name);
  }
  ASSERT_NE(wait_for_primary(), "");
  ByHand hand(etcd_.endpoint());
  StatusOr<ClusterKeys::Seen> seen = absl::UnknownError("");
  // Who leads with it; empty: nobody within the time.
  const auto leader_with = [&](uint64_t version) {
    std::string found;
    EXPECT_TRUE(runs_until([&] {
      for (auto& [name, node] : nodes_) {  // who follows has it all
        const Role role = node->supervisor->role();
        node->replica.append(role.leader.term);
        if (role.kind != Role::Kind::kEnd) continue;
        node->supervisor.reset();  // as the process that begins anew
        start(name);
      }
      seen = hand.keys->read();
      if (!seen.ok() || seen->config.version != version || seen->view.opened != version) return false;
      found = primary();
      return !found.empty();
    }));
    return found;
  };
  const auto changes_to = [&](const Voters& voters) {
    return runs_until([&] {
      auto now = hand.keys->read();
      if (!now.ok() || now->config.version != seen->config.version) return now.ok();  // it was, and the answer was lost
      auto changed = hand.keys->change_voters(*now, voters);
      return changed.ok() && *changed;
    });
  };
  ASSERT_NE(leader_with(1), "");
  const uint64_t first_term = seen->view.term;
  add("d", {1, 1});
  start("d");
  EXPECT_TRUE(absl::IsInvalidArgument(hand.keys->change_voters(*seen, {{"a", "b", "d"}}).status()));
  ASSERT_TRUE(changes_to({{"a", "b", "c", "d"}}));
  EXPECT_TRUE(runs_until([&] {  // as it was seen it is not any more
    auto changed = hand.keys->change_voters(*seen, {{"a", "b"}});
    return changed.ok() && !*changed;
  }));
  const std::string second = leader_with(2);
  ASSERT_NE(second, "");
  EXPECT_GT(seen->view.term, first_term);
  EXPECT_EQ(nodes_[second]->supervisor->role().config.voters.names.size(), 4u);
  Voters without = seen->config.voters;
  std::erase(without.names, second);
  ASSERT_TRUE(changes_to(without));
  const std::string third = leader_with(3);
  ASSERT_NE(third, "");
  EXPECT_NE(third, second);
  EXPECT_FALSE(nodes_[third]->supervisor->role().config.voters.has(second));
}

TEST_F(SupervisorTest, TellsWhoLeadsWhoVotesAndWhetherEtcdAnswers) {
  for (const char* name : {"a", "b", "c"}) add(name, {1, 1});
  start("a");
  start("b");
  const std::string first = wait_for_primary(), other = first == "a" ? "b" : "a";
  ASSERT_NE(first, "");
  const auto state_of = [&](const std::string& node) { return nodes_[node]->supervisor->cluster_state(); };
  EXPECT_TRUE(runs_until([&] { return state_of(other).leader == first; }));
  const ClusterState leading = state_of(first), following = state_of(other);
  EXPECT_TRUE(leading.leads && leading.etcd_answers);
  EXPECT_GT(leading.lease_us, 0);
  EXPECT_LE(leading.lease_us, lease_us_);
  EXPECT_FALSE(following.leads);
  EXPECT_EQ(following.lease_us, 0);
  EXPECT_GT(following.term, 1u);
  EXPECT_EQ(following.changes, 0u);
  ASSERT_EQ(following.voters.size(), 3u);
  EXPECT_FALSE(following.voters[2].is_there);
  start("c");
  EXPECT_TRUE(runs_until([&] { return state_of(other).voters[2].is_there; }));
  EXPECT_GT(count("scyper_etcd_calls_total", "answered"), 0);
  for (auto& [name, node] : nodes_) node->replica.append(nodes_[first]->supervisor->role().leader.term);
  nodes_[first]->supervisor.reset();
  EXPECT_TRUE(runs_until([&] { return state_of(other).changes >= 1; }));
  const double failed = count("scyper_etcd_calls_total", "failed");
  etcd_.kill(SIGKILL);
  EXPECT_TRUE(runs_until([&] { return !state_of(other).etcd_answers; }));
  EXPECT_GT(count("scyper_etcd_calls_total", "failed"), failed);
}

TEST_F(SupervisorTest, PausedNobodyIsElectedButByAppointment) {
  for (const char* name : {"a", "b", "c"}) {
    add(name, {1, 1});
    start(name);
  }
  const std::string first = wait_for_primary(), next = first == "c" ? "b" : "c";
  ASSERT_NE(first, "");
  for (auto& [name, node] : nodes_) node->replica.append(nodes_[first]->supervisor->role().leader.term);
  ByHand hand(etcd_.endpoint());
  ASSERT_TRUE(hand.keys->pause("now").ok());
  EXPECT_TRUE(runs_until([&] {
    return std::all_of(nodes_.begin(), nodes_.end(),
                       [](const auto& node) { return node.second->supervisor->cluster_state().paused == "now"; });
  }));
  nodes_[first]->supervisor.reset();
  EXPECT_TRUE(runs_until([&] {
    auto seen = hand.keys->read();
    return seen.ok() && !seen->view.leader.has_value();
  }));
  // longer than an election takes; that none comes is the elector's test
  std::this_thread::sleep_for(std::chrono::seconds(2));
  EXPECT_EQ(primary(), "");
  auto seen = hand.keys->read();
  ASSERT_TRUE(seen.ok());
  auto appointed = hand.keys->appoint({seen->view.term, next, false}, seen->view.term_revision);
  EXPECT_TRUE(appointed.ok() && *appointed);
  EXPECT_TRUE(runs_until([&] { return is_open(next); }));
  EXPECT_TRUE(*hand.keys->resume());
  EXPECT_FALSE(*hand.keys->resume());
}

TEST(DiskFileTest, KeepsItsNameAndDamageIsSeen) {
  SimulatedDisk disk;
  ASSERT_TRUE(disk.make_directory("/data").ok());
  ASSERT_TRUE(disk.make_directory("/other").ok());
  const auto first = DiskFile(&disk, "/data").open(false), other = DiskFile(&disk, "/other").open(true);
  ASSERT_TRUE(first.ok() && other.ok());
  EXPECT_NE(first->id, other->id);
  EXPECT_FALSE(first->was_registered);
  EXPECT_TRUE(other->was_registered);
  DiskFile file(&disk, "/data");
  EXPECT_EQ(file.open(true)->id, first->id);
  EXPECT_FALSE(file.open(true)->was_registered);
  ASSERT_TRUE(file.note_registered(first->id).ok());
  EXPECT_TRUE(file.open(false)->was_registered);
  for (const char* text : {"", "id=a", "id=a registered=2\n", "id= registered=1\n", "nonsense\n"}) {
    ASSERT_TRUE(disk.replace_file("/data/disk", text).ok());
    EXPECT_FALSE(file.open(true).ok()) << text;
  }
}

TEST(PromiseFileTest, IsNeverLoweredAndDamageIsSeen) {
  SimulatedDisk disk;
  ASSERT_TRUE(disk.make_directory("/data").ok());
  PromiseFile file(&disk, "/data");
  EXPECT_EQ(*file.load(), Promise());
  ASSERT_TRUE(file.store({3, "a"}).ok());
  EXPECT_TRUE(file.store({3, "a"}).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(file.store({3, "b"})));
  EXPECT_TRUE(absl::IsFailedPrecondition(file.store({2, "a"})));
  ASSERT_TRUE(file.store({4, "b"}).ok());
  EXPECT_EQ(*file.load(), (Promise{4, "b"}));
  ASSERT_TRUE(file.store({4, "b", 2}).ok());
  EXPECT_EQ(file.load()->config, 2u);
  for (const char* text : {"", "term=4 node=b", "term=5 nod\n", "nonsense\n"}) {
    ASSERT_TRUE(disk.replace_file("/data/promise", text).ok());
    EXPECT_FALSE(file.load().ok()) << text;
  }
}

}  // namespace
}  // namespace scyper::consensus
