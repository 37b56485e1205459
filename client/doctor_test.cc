#include "doctor.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"

namespace scyper::client {
namespace {

using Level = Finding::Level;

// A machine whose kernel files are ours.
class DoctorTest : public ::testing::Test {
 protected:
  DoctorTest() {
    std::string path = (std::filesystem::temp_directory_path() / "doctor-XXXXXX").string();
    root_ = ::mkdtemp(path.data());
    put("proc/meminfo", "MemTotal:       16777216 kB\nSwapTotal:             0 kB\nHugePages_Free:     4096\n");
    put("proc/sys/vm/overcommit_memory", "0\n");
    put("proc/sys/vm/swappiness", "60\n");
    put("proc/sys/vm/max_map_count", "65530\n");
    put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    put("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    config_.engine.memory_bytes = uint64_t{8} << 30;
  }
  ~DoctorTest() override { std::filesystem::remove_all(root_); }

  void put(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root_ / path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  static Finding find(const std::vector<Finding>& all, const std::string& name) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Finding& f) { return f.name == name; });
    EXPECT_NE(found, all.end()) << name;
    return found == all.end() ? Finding() : *found;
  }
  Finding kernel(const std::string& name) { return find(examine_kernel(KernelFiles(root_.string()), config_), name); }

  std::filesystem::path root_;
  server::NodeConfig config_;
};

TEST_F(DoctorTest, FindsAFitMachineFit) {
  for (const Finding& finding : examine_kernel(KernelFiles(root_.string()), config_)) {
    if (finding.name == "clock") continue;  // this machine's
    EXPECT_TRUE(finding.level == Level::kGood || finding.level == Level::kSkipped)
        << finding.name << ": " << finding.what;
    EXPECT_EQ(finding.advice, "");
  }
}

TEST_F(DoctorTest, ComparesMemoryWithTheMachineAndItsGroup) {
  config_.engine.memory_bytes = uint64_t{15} << 30;
  EXPECT_EQ(kernel("memory").level, Level::kWarning);
  config_.engine.memory_bytes = uint64_t{17} << 30;
  EXPECT_EQ(kernel("memory").level, Level::kBad);
  config_.engine.memory_bytes = uint64_t{8} << 30;
  put("sys/fs/cgroup/memory.max", "4294967296\n");
  EXPECT_EQ(kernel("memory").level, Level::kBad);
  put("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(kernel("memory").level, Level::kGood);
}

TEST_F(DoctorTest, LooksAtPages) {
  put("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  EXPECT_EQ(kernel("huge pages").level, Level::kWarning);
  config_.engine.page_mode = storage::PageMode::kReservedHuge;
  EXPECT_EQ(kernel("huge pages").level, Level::kWarning);  // 8 GB: nothing left for copies
  put("proc/meminfo", "MemTotal:       67108864 kB\nHugePages_Free:     9558\n");
  EXPECT_EQ(kernel("huge pages").level, Level::kGood);
  put("proc/meminfo", "MemTotal:       67108864 kB\nHugePages_Free:     100\n");
  EXPECT_EQ(kernel("huge pages").level, Level::kBad);
}

TEST_F(DoctorTest, LooksAtTheKernelsSettings) {
  put("proc/sys/vm/overcommit_memory", "2\n");
  EXPECT_EQ(kernel("overcommit").level, Level::kBad);
  put("proc/sys/vm/max_map_count", "1000\n");
  EXPECT_EQ(kernel("mappings").level, Level::kWarning);
  put("proc/meminfo", "MemTotal:       16777216 kB\nSwapTotal:       1048576 kB\n");
  EXPECT_EQ(kernel("swap").level, Level::kWarning);
  put("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  EXPECT_EQ(kernel("clock source").level, Level::kWarning);
  put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  EXPECT_EQ(kernel("cpu governor").level, Level::kWarning);
}

TEST_F(DoctorTest, WritesToTheDataDirectoryAndLeavesNothing) {
  EXPECT_EQ(find(examine_disk(config_), "disk").level, Level::kSkipped);
  config_.engine.log.directory = (root_ / "data").string();
  EXPECT_EQ(find(examine_disk(config_), "disk").level, Level::kBad);
  std::filesystem::create_directory(root_ / "data");
  EXPECT_EQ(find(examine_disk(config_), "archives").level, Level::kGood);
  config_.engine.log.archive_log_bytes = 0;
  EXPECT_EQ(find(examine_disk(config_), "archives").level, Level::kWarning) << "the log grows for ever";
  const Finding sync = find(examine_disk(config_), "disk sync");
  EXPECT_NE(sync.level, Level::kBad) << sync.what;
  EXPECT_TRUE(absl::StartsWith(sync.what, "a durable write of 4 KB: p50 ")) << sync.what;
  EXPECT_TRUE(std::filesystem::is_empty(root_ / "data"));
}

TEST_F(DoctorTest, TriesPorts) {
  const int taken = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(taken, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(taken, 1), 0);
  ASSERT_EQ(::getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size), 0);
  config_.server.listen = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  config_.server.http_listen = "127.0.0.1:0";
  config_.server.postgres_listen = "192.0.2.1:5433";  // nobody's
  const std::vector<Finding> all = examine_network(config_);
  EXPECT_EQ(find(all, "port of listen").level, Level::kBad);
  EXPECT_TRUE(absl::StrContains(find(all, "port of listen").what, "in use"));
  EXPECT_EQ(find(all, "port of http_listen").level, Level::kGood);
  EXPECT_EQ(find(all, "port of postgres_listen").level, Level::kBad);
  EXPECT_EQ(find(all, "multicast").level, Level::kSkipped);
  ::close(taken);
}

bool has(const std::vector<Finding>& all, const std::string& name) {
  return std::any_of(all.begin(), all.end(), [&](const Finding& each) { return each.name == name; });
}

TEST_F(DoctorTest, TriesMulticast) {
  config_.engine.replication.multicast_interface = "192.0.2.1";
  EXPECT_EQ(find(examine_network(config_), "multicast").level, Level::kWarning);
  EXPECT_EQ(find(examine_network(config_), "multicast key").level, Level::kWarning);
  config_.engine.replication.multicast_key_file = "key";
  EXPECT_FALSE(has(examine_network(config_), "multicast key"));
  config_.engine.replication.multicast_key_file = "";
  config_.engine.replication.multicast_interface = "127.0.0.1";
  EXPECT_FALSE(has(examine_network(config_), "multicast key"));
  config_.engine.replication.multicast_interface = "not an address";
  EXPECT_EQ(find(examine_network(config_), "multicast").level, Level::kWarning);
}

TEST_F(DoctorTest, LooksForRdma) {
  EXPECT_FALSE(has(examine_network(config_), "RDMA devices"));
  config_.engine.replication.transport = primary::TransportChoice::kRdma;
  const bool is_there = std::filesystem::exists("/dev/infiniband/rdma_cm");
  EXPECT_EQ(find(examine_network(config_), "RDMA devices").level, is_there ? Level::kGood : Level::kWarning);
  EXPECT_TRUE(has(examine_network(config_), "locked memory"));
  EXPECT_EQ(examine_locked_memory(8 << 20, false, 5 << 20).level, Level::kGood);
  EXPECT_EQ(examine_locked_memory(64 << 10, true, 5 << 20).level, Level::kGood);
  const Finding small = examine_locked_memory(64 << 10, false, 5 << 20);
  EXPECT_EQ(small.level, Level::kWarning);
  EXPECT_TRUE(absl::StrContains(small.advice, "ulimit -l 5120")) << small.advice;
}

consensus::ClusterKeys::Seen cluster_of(const std::map<std::string, bool>& complete_by_name) {
  consensus::ClusterKeys::Seen seen;
  seen.config.voters.names = {"n1", "n2", "n3"};
  seen.view.term = 3;
  for (const auto& [name, is_complete] : complete_by_name) seen.members[name].member.is_complete = is_complete;
  return seen;
}

TEST(DoctorOfClusters, FindsVotersThatAreIncompleteOrMissing) {
  const Finding good = examine_voters(cluster_of({{"n1", true}, {"n2", true}, {"n3", true}}));
  EXPECT_EQ(good.level, Level::kGood);
  EXPECT_EQ(good.advice, "");
  // a majority has come back with empty disks
  auto stuck = cluster_of({{"n1", true}, {"n2", false}, {"n3", false}});
  const Finding bad = examine_voters(stuck);
  EXPECT_EQ(bad.level, Level::kBad);
  EXPECT_TRUE(absl::StrContains(bad.what, "1 of 3") && absl::StrContains(bad.what, "n2, n3 incomplete")) << bad.what;
  EXPECT_TRUE(absl::StrContains(bad.advice, "scyper failover --confirm")) << bad.advice;
  stuck.view.leader = {.term = 3, .node = "n1"};  // they catch up with a primary
  EXPECT_EQ(examine_voters(stuck).level, Level::kWarning);
  stuck.view.leader.reset();
  stuck.view.term = 0;  // nobody was ever elected: all begin so
  EXPECT_EQ(examine_voters(stuck).level, Level::kGood);
  const Finding missing = examine_voters(cluster_of({{"n1", true}, {"n2", true}}));
  EXPECT_EQ(missing.level, Level::kWarning);
  EXPECT_TRUE(absl::StrContains(missing.what, "n3 not there")) << missing.what;
  const server::NodeConfig config;
  EXPECT_EQ(examine_cluster(config).at(0).level, Level::kSkipped);
}

}  // namespace
}  // namespace scyper::client
