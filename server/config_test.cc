#include "server/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace scyper::server {
namespace {

class ConfigTest : public testing::Test {
 protected:
  ConfigTest() { path_ = testing::TempDir() + "scyper_config_" + std::to_string(getpid()) + ".toml"; }
  ~ConfigTest() override { unlink(path_.c_str()); }
  StatusOr<std::vector<Assignment>> read(const std::string& text) {
    std::ofstream(path_) << text;
    return read_config_file(path_);
  }
  std::string path_;
};

TEST_F(ConfigTest, FlagsWinOverVariablesOverTheFile) {
  auto file = read("partitions = 3\nworkers = 3\nqueue_capacity = 3\nlisten = \"127.0.0.1:1\"\n");
  ASSERT_TRUE(file.ok()) << file.status();
  char workers[] = "SCYPER_WORKERS=4", capacity[] = "SCYPER_QUEUE_CAPACITY=4", other[] = "PATH=/bin";
  char* environment[] = {workers, other, capacity, nullptr};
  auto variables = read_config_environment(environment);
  ASSERT_TRUE(variables.ok()) << variables.status();
  auto config = make_config(*file, *variables, {{"queue_capacity", "5"}});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->engine.partitions, 3u);
  EXPECT_EQ(config->engine.workers, 4u);
  EXPECT_EQ(config->engine.queue_capacity, 5u);
  EXPECT_EQ(config->server.listen, "127.0.0.1:1");
}

TEST_F(ConfigTest, NamesWhatIsWrong) {
  auto message = [&](const std::string& text) { return std::string(read(text).status().message()); };
  EXPECT_NE(message("\npartition = 3\n").find(":2: unknown setting \"partition\"; did you mean \"partitions\"?"),
            std::string::npos)
      << message("\npartition = 3\n");
  EXPECT_NE(message("zzzzzzzzzz = 3\n").find("unknown setting \"zzzzzzzzzz\""), std::string::npos);
  EXPECT_NE(message("workers = \"many\"\n").find("workers: \"many\" is not a number from 1 to 1024"),
            std::string::npos);
  EXPECT_NE(message("workers = 0\n").find("from 1 to 1024"), std::string::npos);
  EXPECT_NE(message("layout = \"diagonal\"\n").find("is not one of column, row"), std::string::npos);
  EXPECT_NE(message("tier_policy = \"mru\"\n").find("is not one of fifo, lru, lirs"), std::string::npos);
  const auto of_caches = [&](const std::string& list) { return message("tier_caches = \"" + list + "\"\n"); };
  for (const char* wrong : {"history", "history:1GB:lru:x", "a b:1GB", ":1GB", "a:1GB,,b:1GB", "a:1GB,"})
    EXPECT_NE(of_caches(wrong).find("is not a cache such as history:1GB or history:1GB:lru"), std::string::npos)
        << wrong << ": " << of_caches(wrong);
  EXPECT_NE(of_caches("a:much").find("is not a size such as 8GB"), std::string::npos);
  EXPECT_NE(of_caches("a:1kB").find("\"a:1kB\" is too small; the least is 256kB"), std::string::npos)
      << of_caches("a:1kB");
  EXPECT_NE(of_caches("a:1GB:mru").find("\"mru\" is not one of fifo, lru, lirs"), std::string::npos);
  EXPECT_NE(of_caches("default:1GB").find("is the cache of tier_cache and tier_policy"), std::string::npos);
  EXPECT_NE(of_caches("a:1GB, b:1GB, a:2GB").find("\"a\" is there twice"), std::string::npos);
  std::string many;
  for (int i = 0; i < 16; ++i) many += (i == 0 ? "c" : ",c") + std::to_string(i) + ":1MB";
  EXPECT_NE(of_caches(many).find("at most 15 caches"), std::string::npos) << of_caches(many);
  EXPECT_NE(message("memory = \"lots\"\n").find("is not a size such as 8GB"), std::string::npos);
  EXPECT_NE(message("workers = \n").find(path_), std::string::npos);
  EXPECT_NE(message("[node]\nworkers = 1\n").find("without sections"), std::string::npos);
  EXPECT_EQ(read_config_file("/nowhere.toml").status().message(),
            "/nowhere.toml: cannot be read: No such file or directory");
}

TEST_F(ConfigTest, VariablesOfKubernetesAreNotSettings) {
  char host[] = "SCYPER_SERVICE_HOST=10.0.0.1", port[] = "SCYPER_PORT=tcp://10.0.0.1:7400",
       failpoints[] = "SCYPER_FAILPOINTS=a=error", wrong[] = "SCYPER_WORKER=1";
  char* fine[] = {host, port, failpoints, nullptr};
  EXPECT_TRUE(read_config_environment(fine).ok());
  char* bad[] = {wrong, nullptr};
  EXPECT_NE(read_config_environment(bad).status().message().find("SCYPER_WORKER"), absl::string_view::npos);
}

TEST_F(ConfigTest, PrintedConfigurationReadsBack) {
  auto config = make_config({}, {},
                            {{"memory", "3GB"},
                             {"transaction_time_max", "1500ms"},
                             {"redo", "none"},
                             {"insecure_listen", "true"},
                             {"tier_policy", "lru"},
                             {"tier_caches", " history:1GB,small : 64MB:fifo"},
                             {"pages", "small"}});
  ASSERT_TRUE(config.ok()) << config.status();
  auto file = read(print_config(*config));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->size(), settings().size());
  auto again = make_config(*file, {}, {});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(print_config(*again), print_config(*config));
  EXPECT_EQ(again->engine.memory_bytes, size_t{3} << 30);
  EXPECT_EQ(again->engine.transaction_time_us_max, 1'500'000u);
  EXPECT_EQ(again->engine.compaction.tier.cache_policy, storage::EvictionPolicy::kLru);
  const auto& caches = again->engine.compaction.tier.caches;
  ASSERT_EQ(caches.size(), 2u);
  EXPECT_EQ(caches[0].name, "history");
  EXPECT_EQ(caches[0].bytes, size_t{1} << 30);
  EXPECT_EQ(caches[0].policy, storage::EvictionPolicy::kLirs);
  EXPECT_EQ(caches[1].name, "small");
  EXPECT_EQ(caches[1].policy, storage::EvictionPolicy::kFifo);
}

TEST(Quantities, HaveUnits) {
  EXPECT_EQ(*parse_bytes("4096"), 4096u);
  EXPECT_EQ(*parse_bytes("1.5 GB"), uint64_t{3} << 29);
  EXPECT_EQ(*parse_bytes("64MiB"), uint64_t{64} << 20);
  EXPECT_FALSE(parse_bytes("-1").ok());
  EXPECT_FALSE(parse_bytes("").ok());
  EXPECT_FALSE(parse_bytes("1 parsec").ok());
  EXPECT_EQ(*parse_duration_us("10s"), 10'000'000u);
  EXPECT_EQ(*parse_duration_us("250us"), 250u);
  EXPECT_FALSE(parse_duration_us("10").ok());
}

TEST_F(ConfigTest, MulticastBeyondLoopbackIsEncrypted) {
  auto make = [](std::vector<Assignment> flags) { return make_config({}, {}, flags).status(); };
  EXPECT_TRUE(make({{"multicast_interface", "127.0.0.1"}}).ok());
  EXPECT_FALSE(make({{"multicast_interface", "10.0.0.1"}}).ok());
  EXPECT_TRUE(make({{"multicast_interface", "10.0.0.1"}, {"multicast_key_file", "/k"}}).ok());
  EXPECT_TRUE(make({{"multicast_interface", "10.0.0.1"}, {"insecure_listen", "true"}}).ok());
  EXPECT_TRUE(make({{"rdma_device", "any"}}).ok());  // a primary does not use it unless told
  EXPECT_FALSE(make({{"transport", "rdma"}, {"rdma_device", "any"}}).ok());
  EXPECT_FALSE(make({{"role", "secondary"}, {"primary", "127.0.0.1:7400"}, {"rdma_device", "any"}}).ok());
  const Assignment rdma{"transport", "rdma"};
  EXPECT_FALSE(make({rdma, {"rdma_device", "any"}, {"multicast_interface", "127.0.0.1"}}).ok());
  EXPECT_TRUE(make({{"rdma_device", "mlx5_0:1:3"}, {"multicast_key_file", "/k"}}).ok());
  EXPECT_FALSE(make({{"rdma_device", "mlx5_0:0"}, {"multicast_key_file", "/k"}}).ok());
  EXPECT_TRUE(make({{"transport", "rdma"}}).ok());
  // archives and repairs alone
  const Assignment unicast{"transport", "unicast"};
  EXPECT_FALSE(make({unicast, {"rdma_device", "any"}}).ok());
  EXPECT_TRUE(make({unicast, {"rdma_device", "any"}, {"multicast_key_file", "/k"}}).ok());
  EXPECT_TRUE(make({unicast, {"rdma_device", "any"}, {"rdma_seeding", "false"}}).ok());
}

TEST_F(ConfigTest, ASubscriptionIsForSecondariesThatKeepNothing) {
  auto make = [](std::vector<Assignment> more) {
    std::vector<Assignment> flags = {{"subscribe", "0-3,7"}, {"role", "secondary"}, {"primary", "127.0.0.1:1"}};
    flags.insert(flags.end(), more.begin(), more.end());
    return make_config({}, {}, flags);
  };
  auto right = make({});
  ASSERT_TRUE(right.ok()) << right.status();
  EXPECT_EQ(right->secondary.link.partitions, *PartitionSet::parse("0-3,7"));
  EXPECT_NE(print_config(*right).find("subscribe = \"0-3,7\""), std::string::npos);
  const std::vector<std::pair<Assignment, std::string>> wrong = {{{"subscribe", "3-1"}, "partitions rise"},
                                                                 {{"role", "primary"}, "a primary has all"},
                                                                 {{"voter", "on"}, "voter"},
                                                                 {{"data_directory", "/d"}, "data_directory"},
                                                                 {{"archive_directory", "/a"}, "archives"},
                                                                 {{"cluster", "c"}, "elections"}};
  for (const auto& [setting, why] : wrong) {
    const Status status = make({setting}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << setting.first << ": " << status;
    EXPECT_NE(status.message().find(why), absl::string_view::npos) << status;
    // whoever has all of them may
    if (setting.first != "cluster" && setting.first != "subscribe")
      EXPECT_TRUE(make({setting, {"subscribe", ""}}).ok()) << setting.first;
  }
  EXPECT_FALSE(make_config({}, {}, {})->engine.replication.takes_partial);
  EXPECT_TRUE(make_config({}, {}, {{"partial_secondaries", "on"}})->engine.replication.takes_partial);
}

TEST_F(ConfigTest, ChannelsNeedGroupsAndPorts) {
  const Assignment channels{"multicast_channels", "8"};
  const auto make = [](std::vector<Assignment> flags) {
    flags.insert(flags.begin(),
                 {{"replication", "on"}, {"data_directory", "/d"}, {"multicast_interface", "127.0.0.1"}});
    return make_config({}, {}, flags).status();
  };
  const auto state = [&](const std::vector<Assignment>& flags) { return sqlstate_of(make(flags)); };
  EXPECT_TRUE(make({channels}).ok());
  EXPECT_TRUE(make({{"multicast_channels", "64"}, {"multicast_port", "65472"}}).ok());
  EXPECT_EQ(state({channels, {"multicast_group", "239.255.255.250"}}), "22023");
  EXPECT_EQ(state({channels, {"multicast_group", "group"}}), "22023");
  EXPECT_EQ(state({channels, {"multicast_port", "65530"}}), "22023");
  EXPECT_TRUE(make({{"multicast_group", "239.255.255.255"}, {"multicast_port", "65535"}}).ok());
  for (const char* wrong : {"0", "65", "x"}) EXPECT_FALSE(make({{"multicast_channels", wrong}}).ok()) << wrong;
  // one channel needs its group, too
  for (const char* wrong : {"group", "", "10.0.0.1"}) EXPECT_EQ(state({{"multicast_group", wrong}}), "22023") << wrong;
  EXPECT_EQ(state({{"transport", "rdma"}, {"multicast_group", "group"}}), "22023");
}

TEST_F(ConfigTest, WhatMulticastDoesNotUseIsNotChecked) {
  const auto make = [](std::vector<Assignment> flags) {
    flags.insert(
        flags.begin(),
        {{"replication", "on"}, {"data_directory", "/d"}, {"multicast_channels", "8"}, {"insecure_listen", "on"}});
    return make_config({}, {}, flags).status();
  };
  const Assignment port{"multicast_port", "65530"}, group{"multicast_group", "group"};
  const Assignment interface{"multicast_interface", "127.0.0.1"}, device{"rdma_device", "mlx5_0"};
  EXPECT_EQ(sqlstate_of(make({interface, port})), "22023");
  EXPECT_EQ(sqlstate_of(make({interface, group})), "22023");
  EXPECT_TRUE(make({port, group}).ok());
  EXPECT_TRUE(make({interface, port, group, {"transport", "unicast"}}).ok());
  EXPECT_TRUE(make({interface, port, group, {"replication", "off"}}).ok());
  EXPECT_TRUE(make({interface, port, group, {"role", "secondary"}, {"primary", "127.0.0.1:1"}}).ok());
  const Assignment raw{"multicast_protocol", "ip"}, verbs{"transport", "rdma"};
  EXPECT_TRUE(make({interface, port, raw}).ok());
  EXPECT_EQ(sqlstate_of(make({interface, group, raw})), "22023");
  EXPECT_TRUE(make({verbs, device, port}).ok());
  EXPECT_EQ(sqlstate_of(make({verbs, device, group})), "22023");
  EXPECT_EQ(sqlstate_of(make({verbs, device, interface, port})), "22023");  // PGM may have to take its place
}

TEST_F(ConfigTest, AClusterSaysWhatItNeeds) {
  const std::vector<Assignment> right = {{"cluster", "c"},         {"etcd", "127.0.0.1:2379"},
                                         {"node_name", "n1"},      {"voter_names", "n1,n2,n3"},
                                         {"data_directory", "/d"}, {"listen", "127.0.0.1:7400"}};
  auto make = [&](std::vector<Assignment> more) {
    std::vector<Assignment> flags = right;
    flags.insert(flags.end(), more.begin(), more.end());
    return make_config({}, {}, flags).status();
  };
  EXPECT_TRUE(make({}).ok()) << make({});
  const std::vector<Assignment> wrong = {{"cluster", "a/b"},
                                         {"cluster", ""},
                                         {"etcd", ""},
                                         {"node_name", "n 1"},
                                         {"voter_names", ""},
                                         {"data_directory", ""},
                                         {"role", "secondary"},
                                         {"primary", "127.0.0.1:1"},
                                         {"voter_names", "a,b=c"},
                                         {"listen", "127.0.0.1:0"},
                                         {"peer_listen", "10.0.0.1:0"},
                                         {"multicast_interface", "127.0.0.1"},
                                         {"rdma_device", "any"}};
  for (const Assignment& each : wrong) EXPECT_FALSE(make({each}).ok()) << each.first << " = " << each.second;
  const Assignment device{"rdma_device", "any"}, key{"multicast_key_file", "/k"};
  EXPECT_TRUE(make({device, key, {"transport", "unicast"}}).ok());
  EXPECT_FALSE(make({device, key, {"transport", "rdma"}}).ok());
}

}  // namespace
}  // namespace scyper::server
