// Parcels by several channels over OpenPGM, between network namespaces: to a node with all partitions, and to one with
// some. Skipped where namespaces cannot be made.

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "base/test_seed.h"
#include "network_spaces.h"
#include "replication/multicast.h"
#include "testing/group_maker.h"

namespace scyper::tests {
namespace {

using replication::Parcel;

constexpr replication::ClusterId kCluster{{7, 9}};
constexpr uint32_t kChannels = 3;
constexpr uint16_t kPort = 7420;
constexpr std::chrono::seconds kPatience{60};  // a busy machine
constexpr int kGroups = 200;
constexpr size_t kMemory = size_t{64} << 20;

struct Way {
  std::string name;
  bool is_sealed = false, is_raw = false;
};

// A node that takes what comes.
class Receiver {
 public:
  Receiver(std::unique_ptr<replication::MulticastProcess> process, const replication::DatagramReader::Options& options)
      : process_(std::move(process)), reader_(kCluster, options) {}
  void take_all() {
    std::string datagram;
    while (process_->receive(&datagram, 1)) {
      auto received = reader_.read(datagram, 1);
      if (received.parcel.has_value()) parcels_[received.parcel->complete_lsn] = *received.parcel->bytes;
    }
  }
  const std::map<uint64_t, std::string>& parcels() const { return parcels_; }
  const replication::DatagramReader::Counters& counters() const { return reader_.counters(); }
  uint64_t resets() const { return process_->counters().resets; }

 private:
  const std::unique_ptr<replication::MulticastProcess> process_;
  replication::DatagramReader reader_;
  std::map<uint64_t, std::string> parcels_;
};

class ChannelsTest : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (!spaces_.make(3).ok()) GTEST_SKIP() << "no network namespaces here";
    std::filesystem::create_directories(directory_);
    sender_ = start(0, /*sends=*/true, 0);
    all_ = receiver(1, PartitionSet::all());
    some_ = receiver(2, some_partitions_);
    ASSERT_TRUE(sender_ != nullptr && all_ != nullptr && some_ != nullptr);
    make_writer();
    // until the bridge and OpenPGM know who is there
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (all_->parcels().empty() || some_->parcels().empty()) {
      ASSERT_LT(std::chrono::steady_clock::now(), until);
      send_group();
      take_all();
    }
    settle();
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  // The process runs in a namespace, this one watches it from outside.
  std::unique_ptr<replication::MulticastProcess> start(uint32_t space, bool sends, uint64_t joined) {
    replication::MulticastOptions options;
    options.sends = sends;
    options.interface = spaces_.address(space);
    options.port = kPort;
    options.channels = kChannels;
    options.joined = joined;
    options.is_raw = GetParam().is_raw;
    options.identity = absl::StrCat("test:", space, ":", ++starts_);
    options.program = absl::StrCat(directory_, "/", space);
    std::ofstream(options.program) << "#!/bin/sh\nexec ip netns exec " << spaces_.name(space) << " "
                                   << SCYPER_PGM_PROGRAM << " \"$@\"\n";
    std::filesystem::permissions(options.program, std::filesystem::perms::owner_all);
    auto process = replication::MulticastProcess::start(options);
    EXPECT_TRUE(process.ok()) << process.status();
    return process.ok() ? *std::move(process) : nullptr;
  }
  std::unique_ptr<Receiver> receiver(uint32_t space, const PartitionSet& partitions) {
    auto process = start(space, /*sends=*/false, replication::channels_of(partitions, kChannels));
    return process == nullptr
               ? nullptr
               : std::make_unique<Receiver>(
                     std::move(process), replication::DatagramReader::Options{kMemory, key(), kChannels, partitions});
  }
  const replication::DatagramKey* key() const { return GetParam().is_sealed ? &key_ : nullptr; }
  void make_writer() {
    writer_ = std::make_unique<replication::DatagramWriter>(kCluster, replication::draw_source(),
                                                            sender_->datagram_bytes(), key(), kChannels);
  }

  Parcel send_group() {
    std::vector<uint32_t> streams;
    for (uint32_t stream = 0; stream < 6; ++stream) {
      if (random_.below(4) != 0) streams.push_back(stream);
    }
    if (streams.empty()) streams.push_back(1);
    Parcel parcel = maker_.make(1, streams, 2);
    writer_->write(parcel, {1, 0, parcel.complete_lsn, 0, 0}, [this](uint32_t channel, std::string_view bytes) {
      sent_bytes_[channel] += bytes.size();
      sender_->send(bytes, channel);
    });
    sender_->flush();
    return parcel;
  }
  void take_all() {
    all_->take_all();
    some_->take_all();
  }
  // Nothing has come for a while.
  void settle() {
    uint64_t seen = 0;
    while (seen != all_->counters().datagrams + some_->counters().datagrams) {
      seen = all_->counters().datagrams + some_->counters().datagrams;
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      take_all();
    }
  }
  // What is sent comes to both, and each has what it subscribes to.
  void send_and_check() {
    std::vector<Parcel> sent;
    const auto until = std::chrono::steady_clock::now() + kPatience;
    for (int i = 0; i < kGroups; ++i) {
      sent.push_back(send_group());
      if (i % 20 == 0) take_all();
    }
    for (const Parcel& parcel : sent) {
      const uint64_t lsn = parcel.complete_lsn;
      while (!all_->parcels().contains(lsn) || !some_->parcels().contains(lsn)) {
        ASSERT_LT(std::chrono::steady_clock::now(), until) << "LSN " << lsn;
        replication::Watermark beat{1, 0, lsn, 0, 0};
        writer_->write(beat, [this](uint32_t channel, std::string_view bytes) {
          sent_bytes_[channel] += bytes.size();
          sender_->send(bytes, channel);
        });
        sender_->flush();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        take_all();
      }
      ASSERT_EQ(all_->parcels().at(lsn), *parcel.bytes);
      const auto layout = replication::GroupLayout::read(*parcel.bytes, 1, some_partitions_, kMemory);
      ASSERT_EQ(some_->parcels().at(lsn), layout->join(*parcel.bytes, {}));
    }
  }

  Random random_{test_seed()};
  const PartitionSet some_partitions_ = *PartitionSet::parse("2");  // stream 3: channel 1, with streams 1 and 5
  const replication::DatagramKey key_{std::array<uint8_t, replication::DatagramKey::kBytes>{1, 2, 3}};
  const std::string directory_ = absl::StrCat("/tmp/scyper_channels_", ::getpid());
  client::NetworkSpaces spaces_;  // before the processes, which end first
  int starts_ = 0;
  replication::GroupMaker maker_{kCluster, [this](uint64_t) { return std::string(random_.below(2000), 'r'); }};
  std::unique_ptr<replication::MulticastProcess> sender_;
  std::unique_ptr<replication::DatagramWriter> writer_;
  std::unique_ptr<Receiver> all_, some_;
  std::map<uint32_t, uint64_t> sent_bytes_;  // by channel
};

TEST_P(ChannelsTest, EachNodeGetsItsChannelsOnly) {
  if (all_ == nullptr) return;
  const auto before = sent_bytes_;
  const uint64_t all_before = all_->counters().bytes, some_before = some_->counters().bytes;
  send_and_check();
  settle();
  std::array<uint64_t, kChannels> sent;
  for (uint32_t channel = 0; channel < kChannels; ++channel) {
    sent[channel] = sent_bytes_[channel] - before.at(channel);
    EXPECT_GT(sent[channel], 0u) << channel;
  }
  EXPECT_EQ(all_->counters().bytes - all_before, sent[0] + sent[1] + sent[2]);
  EXPECT_EQ(some_->counters().bytes - some_before, sent[0] + sent[1]);
  EXPECT_EQ(all_->counters().malformed + some_->counters().malformed, 0u);
}

TEST_P(ChannelsTest, LossOnOneChannelIsRepaired) {
  if (all_ == nullptr) return;
  if (GetParam().is_raw) GTEST_SKIP() << "channels are told apart by their UDP ports here";
  for (uint16_t channel : {1, 2}) {
    for (uint32_t space : {1u, 2u})
      ASSERT_TRUE(spaces_.set_loss(space, 10, static_cast<uint16_t>(kPort + channel)).ok());
    send_and_check();
  }
}

TEST_P(ChannelsTest, ASenderStartsAgain) {
  if (all_ == nullptr) return;
  for (int i = 0; i < 2; ++i) {
    sender_.reset();
    sender_ = start(0, /*sends=*/true, 0);
    ASSERT_NE(sender_, nullptr);
    make_writer();
    send_and_check();
  }
}

// As many channels as there can be, of a slow network with large packets: OpenPGM takes no rate below a packet.
TEST(ChannelsProgram, StartsWithTheLeastRateOfEach) {
  replication::MulticastOptions options;
  options.program = SCYPER_PGM_PROGRAM;
  options.interface = "127.0.0.1";
  options.port = kPort + 100;
  options.channels = replication::kChannelsMax;
  options.joined = ~uint64_t{0};
  options.mtu = 9000;
  options.bytes_per_second = 1 << 20;
  for (const bool sends : {true, false}) {
    options.sends = sends;
    const auto started = replication::MulticastProcess::start(options);
    EXPECT_TRUE(started.ok()) << started.status();
  }
}

TEST(ChannelsProgram, RefusesWhatIsNoGroup) {
  replication::MulticastOptions options;
  options.program = SCYPER_PGM_PROGRAM;
  options.interface = "127.0.0.1";
  options.port = kPort + 100;
  for (const bool sends : {true, false}) {
    options.sends = sends;
    for (const char* wrong : {"", "group", "10.0.0.1"}) {
      options.group = wrong;
      EXPECT_FALSE(replication::MulticastProcess::start(options).ok()) << wrong;
    }
    options.group = "239.255.255.250";
    options.channels = 6;
    options.joined = 0b111111;
    EXPECT_TRUE(replication::MulticastProcess::start(options).ok());
    options.channels = 7;
    options.joined = 0b1000001;
    EXPECT_FALSE(replication::MulticastProcess::start(options).ok());
    options.channels = 1;
    options.joined = 1;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, ChannelsTest, testing::Values(Way{"clear"}, Way{"sealed", true}, Way{"raw", true, true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace scyper::tests
