// Replication by PGM between network namespaces joined by a bridge: loss, silence, a frozen node, a killed multicast
// process. Skipped where namespaces cannot be made.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/test_seed.h"
#include "cluster.h"
#include "relay.h"

namespace scyper::tests {
namespace {

constexpr int kWarehouses = 2;
constexpr int kNodes = 3;
constexpr uint16_t kMulticastPort = 7402;
constexpr int kSpaces = kNodes + 1;             // one more for who does not belong to the cluster
constexpr std::chrono::seconds kPatience{120};  // a busy machine

bool run_ok(const std::string& command) { return run_command(command).code == 0; }

// A bridge with an address of this machine, and namespaces on it. All go with the object.
class Namespaces {
 public:
  Namespaces() {
    is_there_ = run_ok(absl::StrCat("ip link add ", bridge(), " type bridge && ip link set ", bridge(),
                                    " up && ip addr add ", address(254), "/24 dev ", bridge()));
    for (int i = 1; i <= kSpaces && is_there_; ++i) {
      is_there_ = run_ok(absl::StrCat(
          "ip netns add ", name(i), " && ip link add ", link(i), " type veth peer name eth0 netns ", name(i),
          " && ip link set ", link(i), " master ", bridge(), " up && ip -n ", name(i), " addr add ", address(i),
          "/24 dev eth0 && ip -n ", name(i), " link set eth0 up && ip -n ", name(i), " link set lo up"));
    }
  }
  ~Namespaces() {
    for (int i = 1; i <= kSpaces; ++i) {
      run_command("ip link del " + link(i));  // a namespace goes when its last process has, by and by
      run_command("ip netns del " + name(i));
    }
    run_command("ip link del " + bridge());
  }
  bool is_there() const { return is_there_; }
  // From now on a relay is what joins that namespace to the bridge; nullptr: it cannot be made.
  std::unique_ptr<Relay> relay(int i, uint64_t seed) const {
    run_command(absl::StrCat("ip -n ", name(i), " link del eth0"));
    auto relay = std::make_unique<Relay>(name(i), bridge(), "eth0", seed);
    const bool is_up = run_ok(absl::StrCat("ip -n ", name(i), " addr add ", address(i), "/24 dev eth0 && ip -n ",
                                           name(i), " link set eth0 up"));
    return relay->is_there() && is_up ? std::move(relay) : nullptr;
  }
  std::string name(int i) const { return absl::StrCat("scyper-", ::getpid(), "-", i); }
  std::string address(int i) const { return absl::StrCat("10.77.", subnet(), ".", i); }
  // Of multicast datagrams that arrive: percent that are lost; 100 = all.
  void lose(int i, int percent, bool is_raw = false) const {
    run_command(absl::StrCat("ip netns exec ", name(i), " nft flush ruleset"));
    if (percent == 0) return;
    const std::string which = is_raw ? "ip protocol 113 " : "udp dport 7402-7465 ";
    const std::string chance = percent < 100 ? absl::StrCat("numgen random mod 100 < ", percent, " ") : "";
    const Output out =
        run_command(absl::StrCat("ip netns exec ", name(i),
                                 " nft 'add table ip t; add chain ip t i { type filter hook input priority 0; };"
                                 " add rule ip t i ",
                                 which, chance, "drop'"));
    EXPECT_EQ(out.code, 0) << out.text;
  }

 private:
  std::string link(int i) const { return absl::StrCat("v", ::getpid() % 10000, "n", i); }
  std::string bridge() const { return absl::StrCat("sb", ::getpid() % 100000); }
  int subnet() const { return 1 + ::getpid() % 250; }
  bool is_there_ = false;
};

class MulticastTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!spaces_.is_there()) GTEST_SKIP() << "no network namespaces here";
    make_relays();
    if (IsSkipped()) return;
    start(1, absl::StrCat("--replication --transport ", asks_for_rdma() ? "rdma" : "auto", " --multicast-protocol ",
                          is_raw() ? "ip" : "udp", " --multicast-channels ", channels(), more_of_primary(),
                          " --data-directory ", nodes_.directory("n1")));
    ASSERT_NE(nodes_.session("n1"), nullptr);
    for (int i = 2; i <= kNodes; ++i) start(i, "--role secondary --primary " + nodes_.target("n1"));
    const Output out = nodes_.scyper("n1", absl::StrCat("load ch --scale tiny --warehouses ", kWarehouses));
    ASSERT_EQ(out.code, 0) << out.text;
    nodes_.wait_until_level("n1", {"n2", "n3"});
    wait_for_transport("pgm");
  }
  void start(int i, const std::string& flags) {
    // one test in the clear, all others encrypted
    const std::string key = is_encrypted() ? " --multicast-key-file " + key_file() : "";
    nodes_.start(absl::StrCat("n", i), absl::StrCat("--multicast-interface ", spaces_.address(i), key, " ", flags),
                 spaces_.address(i), spaces_.name(i));
  }
  virtual bool is_encrypted() const { return true; }
  virtual bool is_raw() const { return false; }
  virtual bool asks_for_rdma() const { return false; }
  virtual int channels() const { return 1; }
  virtual std::string more_of_primary() const { return ""; }
  virtual void make_relays() {}
  std::string key_file() {
    const std::string path = nodes_.directory("key");
    if (!std::filesystem::exists(path)) {
      std::ofstream(path) << std::string(64, '7') << "\n";
      std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    }
    return path;
  }
  void transactions(int count) {
    const Output out = nodes_.scyper(
        "n1", absl::StrCat("bench oltp --loaded --scale tiny --crossing 10 --warmup-seconds 0 --warehouses ",
                           kWarehouses, " --transactions ", count));
    ASSERT_EQ(out.code, 0) << out.text;
  }
  void wait_for_transport(const std::string& transport) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (true) {
      int count = 0;
      for (const auto& node : nodes_.status("n1").secondaries) count += node.transport == transport ? 1 : 0;
      if (count == kNodes - 1) return;
      ASSERT_LT(std::chrono::steady_clock::now(), until) << nodes_.scyper("n1", "status").text;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  // And what it sends then comes by multicast again.
  void restart_primary() {
    nodes_.kill("n1", SIGKILL);
    nodes_.start_again("n1");
    ASSERT_NE(nodes_.session("n1"), nullptr);
    transactions(2000);
    nodes_.wait_until_level("n1", {"n2", "n3"});
    wait_for_transport("pgm");
    check();
  }
  void check() {
    nodes_.wait_until_level("n1", {"n2", "n3"});
    nodes_.check({"n1", "n2", "n3"}, kWarehouses);
  }
  Namespaces spaces_;  // before the nodes, which end first
  ClusterProcesses nodes_;
};

TEST_F(MulticastTest, LossIsRepaired) {
  for (int percent : {1, 5}) {
    for (int i : {2, 3}) spaces_.lose(i, percent);
    transactions(5000);
  }
  check();
}

// What PGM cannot repair in time, as its repairs are lost, too, comes from the other secondary.
TEST_F(MulticastTest, TheOtherSecondaryRepairs) {
  spaces_.lose(2, 90);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (nodes_.status("n2").peer_groups == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), until) << nodes_.scyper("n2", "status").text;
    transactions(1000);
  }
  EXPECT_EQ(nodes_.status("n2").peer, "n3");
  spaces_.lose(2, 0);
  check();
}

// Where no RDMA device has the interface's address: PGM instead.
class MulticastInTheClearTest : public MulticastTest {
 protected:
  bool is_encrypted() const override { return false; }
  bool asks_for_rdma() const override { return true; }
};

TEST_F(MulticastInTheClearTest, LossIsRepaired) {
  for (int i : {2, 3}) spaces_.lose(i, 5);
  transactions(5000);
  check();
  const client::NodeStatus status = nodes_.status("n1");
  EXPECT_FALSE(status.is_encrypted);
  EXPECT_EQ(status.transport, "pgm");
  EXPECT_TRUE(status.transport_note.starts_with("RDMA: multicast on ")) << status.transport_note;
}

// One secondary behind a bad cable, in the clear, so that the datagrams' own hashes find what has been changed.
class RelayTest : public MulticastInTheClearTest {
 protected:
  void make_relays() override {
    relay_ = spaces_.relay(3, seed_);
    if (relay_ == nullptr) GTEST_SKIP() << "no TAP devices here";
  }
  const uint64_t seed_ = test_seed();
  std::unique_ptr<Relay> relay_;
};

TEST_F(RelayTest, WhatIsLateDoubledAndChangedIsAppliedOnce) {
  if (relay_ == nullptr) return;
  SCOPED_TRACE(absl::StrCat("seed ", seed_));
  Mishaps mishaps;
  mishaps.lost = 0.01;
  mishaps.doubled = 0.1;
  mishaps.late = 0.1;
  mishaps.flipped = 0.05;
  relay_->set_mishaps(kMulticastPort, mishaps);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  do {
    transactions(2000);
    ASSERT_LT(std::chrono::steady_clock::now(), until);
  } while (nodes_.status("n3").malformed_datagrams == 0);
  check();
  const Relay::Counters& counters = relay_->counters();
  EXPECT_GT(counters.lost, 0u);
  EXPECT_GT(counters.doubled, 0u);
  EXPECT_GT(counters.late, 0u);
  EXPECT_GT(counters.flipped, 0u);
  EXPECT_EQ(nodes_.status("n2").malformed_datagrams, 0u);
}

class RawMulticastTest : public MulticastTest {
 protected:
  bool is_raw() const override { return true; }
};

// PGM as IP's own protocol, 113. All of its packets lost: they are what brings the log.
TEST_F(RawMulticastTest, LossIsRepaired) {
  for (int i : {2, 3}) spaces_.lose(i, 5, is_raw());
  transactions(5000);
  for (int i : {2, 3}) spaces_.lose(i, 100, is_raw());
  wait_for_transport("unicast");
  for (int i : {2, 3}) spaces_.lose(i, 0);
  wait_for_transport("pgm");
  check();
}

class ChannelsMulticastTest : public MulticastTest {
 protected:
  int channels() const override { return 3; }
  std::string more_of_primary() const override { return " --partial-secondaries --digest-period 300ms"; }
  std::string joined(int i) const {
    return run_command(absl::StrCat("ip -n ", spaces_.name(i), " maddr show dev eth0")).text;
  }
};

TEST_F(ChannelsMulticastTest, LossIsRepaired) {
  for (int i : {2, 3}) {
    for (const char* group : {"239.192.7.1", "239.192.7.2", "239.192.7.3"}) {
      EXPECT_NE(joined(i).find(group), std::string::npos) << joined(i);
    }
    EXPECT_EQ(nodes_.status(absl::StrCat("n", i)).multicast_channels, 3u);
    spaces_.lose(i, 5);
  }
  EXPECT_EQ(nodes_.status("n1").multicast_channels, 3u);
  EXPECT_NE(nodes_.scyper("n1", "status").text.find("pgm, 3 channels, encrypted"), std::string::npos);
  EXPECT_NE(nodes_.scyper("n1", "status -o json").text.find("\"multicast_channels\": 3"), std::string::npos);
  transactions(5000);
  for (int i : {2, 3}) spaces_.lose(i, 100);
  transactions(2000);
  wait_for_transport("unicast");
  for (int i : {2, 3}) spaces_.lose(i, 0);
  wait_for_transport("pgm");
  transactions(2000);
  check();
}

TEST_F(ChannelsMulticastTest, RestartedPrimary) { restart_primary(); }

// Partition 0 is the first of those by channel 1: channel 2 is not even joined.
TEST_F(ChannelsMulticastTest, SomePartitionsByTheirChannels) {
  start(4, "--role secondary --subscribe 0 --primary " + nodes_.target("n1"));
  nodes_.wait_until_level("n1", {"n2", "n3", "n4"});
  EXPECT_NE(joined(4).find("239.192.7.2"), std::string::npos) << joined(4);
  EXPECT_EQ(joined(4).find("239.192.7.3"), std::string::npos) << joined(4);
  spaces_.lose(4, 5);
  transactions(5000);
  nodes_.wait_until_level("n1", {"n2", "n3", "n4"});
  const auto own = [this] {
    for (const auto& one : nodes_.status("n1").secondaries)
      if (one.node == "n4") return one;
    return client::SecondaryStatus();
  };
  EXPECT_EQ(own().partitions, "0");
  EXPECT_EQ(own().transport, "pgm");
  EXPECT_EQ(nodes_.status("n4").multicast_channels, 2u);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (own().digests_equal < 2 && own().digests_different == 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_GE(own().digests_equal, 2u);
  EXPECT_EQ(own().digests_different, 0u) << own().difference;
}

// Who has not the key speaks on the group: what he says is counted and dropped.
TEST_F(MulticastTest, AnotherPrimaryWithAnotherKeyIsNotHeard) {
  std::ofstream(nodes_.directory("wrong")) << std::string(64, '8');
  std::filesystem::permissions(nodes_.directory("wrong"), std::filesystem::perms::owner_read);
  nodes_.start("forger",
               absl::StrCat("--replication --data-directory ", nodes_.directory("forger"), " --multicast-interface ",
                            spaces_.address(4), " --multicast-key-file ", nodes_.directory("wrong")),
               spaces_.address(4), spaces_.name(4));
  ASSERT_NE(nodes_.session("forger"), nullptr);
  transactions(2000);
  check();
  EXPECT_TRUE(nodes_.status("n2").is_encrypted);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (nodes_.status("n2").forged_datagrams == 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_GT(nodes_.status("n2").forged_datagrams, 0u);
  EXPECT_EQ(nodes_.status("n2").malformed_datagrams, 0u);
}

TEST_F(MulticastTest, SilenceFallsBackToUnicastAndReturns) {
  for (int i : {2, 3}) spaces_.lose(i, 100);
  transactions(2000);
  wait_for_transport("unicast");
  nodes_.wait_until_level("n1", {"n2", "n3"});
  for (int i : {2, 3}) spaces_.lose(i, 0);
  transactions(2000);
  wait_for_transport("pgm");
  check();
}

TEST_F(MulticastTest, KilledMulticastProcessesAreReplaced) {
  for (int i = 1; i <= kNodes; ++i) {
    std::istringstream pids(run_command("ip netns pids " + spaces_.name(i)).text);
    for (pid_t pid; pids >> pid;) {
      const std::string name = run_command(absl::StrCat("cat /proc/", pid, "/comm")).text;
      if (name.starts_with("scyper-pgm")) ::kill(pid, SIGKILL);
    }
    transactions(2000);
  }
  nodes_.wait_until_level("n1", {"n2", "n3"});
  wait_for_transport("pgm");
  check();
}

TEST_F(MulticastTest, FrozenReceiverAndRestartedPrimary) {
  nodes_.signal("n2", SIGSTOP);
  transactions(5000);
  nodes_.signal("n2", SIGCONT);
  restart_primary();
}

}  // namespace
}  // namespace scyper::tests
