#include "replication/channels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/test_seed.h"
#include "multicast_program.h"
#include "pgm/channel_share.h"
#include "replication/datagram.h"
#include "testing/group_maker.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace scyper::replication {
namespace {

constexpr ClusterId kCluster{{7, 9}};

PartitionSet partitions_of(const std::string& text) { return *PartitionSet::parse(text); }

// What a subscriber is to get of a parcel.
std::string expected(const Parcel& parcel, const PartitionSet& partitions) {
  std::string bytes;
  Parcel whole = parcel;
  const auto batches = open_parcel(kCluster, &whole);
  size_t at = 0;
  for (const BatchView& batch : *batches) {
    const bool is_kept = has_stream(partitions, batch.header.stream);
    bytes += parcel.bytes->substr(at, is_kept ? batch.header.total_bytes() : sizeof(BatchHeader));
    at += batch.header.total_bytes();
  }
  return bytes;
}

struct Sent {
  uint32_t channel;
  std::string bytes;
};

std::vector<Sent> send(DatagramWriter* writer, const Parcel& parcel) {
  std::vector<Sent> all;
  writer->write(parcel, {parcel.term, 0, parcel.complete_lsn, parcel.base_lsn, 0},
                [&](uint32_t channel, std::string_view bytes) { all.push_back({channel, std::string(bytes)}); });
  return all;
}

TEST(Channels, StreamsHaveTheirs) {
  for (uint32_t stream : {0u, 1u, 5u, 4096u}) EXPECT_EQ(channel_of(stream, 1), 0u);
  EXPECT_EQ(channel_of(0, 4), 0u);
  for (uint32_t partition = 0; partition < 9; ++partition) EXPECT_EQ(channel_of(partition + 1, 4), 1 + partition % 3);
  EXPECT_EQ(channel_of(4096, 2), 1u);
  EXPECT_EQ(channels_of(PartitionSet::all(), 1), 1u);
  EXPECT_EQ(channels_of(PartitionSet::all(), 3), 7u);
  EXPECT_EQ(channels_of(PartitionSet::all(), kChannelsMax), ~uint64_t{0});
  EXPECT_EQ(channels_of(PartitionSet(), 8), 1u);
  EXPECT_EQ(channels_of(partitions_of("0,4"), 3), 0b011u);
  EXPECT_EQ(channels_of(partitions_of("1,62,63"), 64), 1u | 1u << 2 | uint64_t{1} << 63 | 1u << 1);
  EXPECT_EQ(channels_of(partitions_of("3"), 1), 1u);
}

TEST(Channels, GroupsFollowTheFirst) {
  EXPECT_EQ(*channel_group("239.192.7.1", 0), "239.192.7.1");
  EXPECT_EQ(*channel_group("239.192.7.254", 3), "239.192.8.1");
  EXPECT_EQ(*channel_group("239.255.255.255", 0), "239.255.255.255");
  const std::vector<std::pair<std::string, uint32_t>> wrong = {
      {"239.255.255.250", 6}, {"255.255.255.255", 1}, {"10.0.0.1", 0}, {"223.255.255.255", 1}, {"239.1", 0}, {"", 1}};
  for (const auto& [group, channel] : wrong) {
    EXPECT_EQ(sqlstate_of(channel_group(group, channel).status()), "22023") << group;
  }
}

// Every group in every subset of partitions, by any number of channels, comes as its subscriber is to have it: whatever
// is late or doubled; nothing wrong comes of what is lost or flipped.
TEST(Channels, RandomGroupsComeTogether) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  std::array<uint8_t, DatagramKey::kBytes> secret;
  secret.fill(1);
  const DatagramKey key(secret);
  uint64_t whole = 0, lost = 0;
  for (int round = 0; round < 300; ++round) {
    const auto channels = static_cast<uint32_t>(1 + random.below(random.below(4) == 0 ? kChannelsMax : 5));
    const auto streams = static_cast<uint32_t>(1 + random.below(20));
    PartitionSet partitions = random.below(3) == 0 ? PartitionSet::all() : PartitionSet();
    if (!partitions.is_all()) {
      for (uint32_t i = 0; i + 1 < streams; ++i) {
        if (random.below(2) == 0) partitions.add(i);
      }
    }
    const DatagramKey* used = random.below(2) == 0 ? &key : nullptr;
    const size_t body = random.below(2000);
    GroupMaker maker(kCluster, [&](uint64_t) { return std::string(random.below(body + 1), 'r'); });
    DatagramWriter writer(kCluster, 5, 300 + random.below(2000), used, channels);
    DatagramReader reader(kCluster, {1 << 22, used, channels, partitions});
    std::map<uint64_t, std::string> wanted;
    std::vector<std::string> on_the_way;
    const bool has_losses = random.below(2) == 0;
    for (int group = 0; group < 5; ++group) {
      std::vector<uint32_t> some;
      for (uint32_t stream = 0; stream < streams; ++stream) {
        if (random.below(3) != 0) some.push_back(stream);
      }
      if (some.empty()) some.push_back(static_cast<uint32_t>(random.below(streams)));
      const Parcel parcel = maker.make(1, some, 1);
      wanted[parcel.complete_lsn] = expected(parcel, partitions);
      for (const Sent& sent : send(&writer, parcel)) {
        ASSERT_LT(sent.channel, channels);
        if (!has_channel(channels_of(partitions, channels), sent.channel)) continue;
        if (has_losses && random.below(20) == 0) continue;
        on_the_way.push_back(sent.bytes);
        if (random.below(10) == 0) on_the_way.push_back(sent.bytes);
        if (!has_losses || random.below(10) != 0) continue;
        std::string& flipped = on_the_way.back();
        flipped[random.below(flipped.size())] ^= static_cast<char>(1 + random.below(255));
      }
    }
    for (size_t i = on_the_way.size(); i > 1; --i) std::swap(on_the_way[i - 1], on_the_way[random.below(i)]);
    std::map<uint64_t, int> got;
    for (const std::string& datagram : on_the_way) {
      const auto received = reader.read(datagram, 1);
      if (!received.parcel.has_value()) continue;
      EXPECT_EQ(*received.parcel->bytes, wanted.at(received.parcel->complete_lsn));
      ++got[received.parcel->complete_lsn];
    }
    if (!has_losses) EXPECT_EQ(got.size(), wanted.size()) << channels << " channels, " << streams << " streams";
    whole += got.size();
    lost += wanted.size() - got.size();
    reader.forget(1, maker.lsn());
    EXPECT_EQ(reader.unfinished(), 0u);
    EXPECT_EQ(reader.memory_bytes(), 0u);
  }
  EXPECT_GT(whole, 0u);
  EXPECT_GT(lost, 0u);
}

// What a node gets that joins some channels is what it needs, and the headers of all.
TEST(Channels, BodiesTravelByTheirsOnly) {
  GroupMaker maker(kCluster, [](uint64_t lsn) { return std::string(900, static_cast<char>('a' + lsn)); });
  DatagramWriter writer(kCluster, 5, 1448, nullptr, 3);
  const Parcel parcel = maker.make(1, {0, 1, 2, 3, 4}, 1);  // the LSNs that their bodies show: 1 to 5
  std::map<uint32_t, std::string> by_channel;
  for (const Sent& sent : send(&writer, parcel)) by_channel[sent.channel] += sent.bytes;
  const std::map<uint32_t, std::string> letters = {{0, "b"}, {1, "ce"}, {2, "df"}};
  ASSERT_EQ(by_channel.size(), letters.size());
  for (const auto& [channel, bytes] : by_channel) {
    for (char letter = 'b'; letter <= 'f'; ++letter) {
      const bool is_there = bytes.find(std::string(200, letter)) != std::string::npos;
      EXPECT_EQ(is_there, letters.at(channel).find(letter) != std::string::npos) << channel << letter;
    }
  }
}

// Where fewer datagrams do, fewer are sent.
TEST(Channels, SmallGroupsTakeOneDatagram) {
  GroupMaker small(kCluster), large(kCluster, [](uint64_t) { return std::string(2000, 'r'); });
  DatagramWriter writer(kCluster, 5, 1448, nullptr, 8);
  DatagramReader reader(kCluster, {1 << 20, nullptr, 8, partitions_of("2")});
  const Parcel parcel = small.make(1, {1, 2, 3, 4, 5}, 1);
  const auto sent = send(&writer, parcel);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].channel, 0u);
  const auto received = reader.read(sent[0].bytes, 1);
  ASSERT_TRUE(received.parcel.has_value());
  EXPECT_EQ(*received.parcel->bytes, expected(parcel, partitions_of("2")));
  std::map<uint32_t, int> datagrams;
  for (const Sent& each : send(&writer, large.make(1, {2, 4}, 1))) ++datagrams[each.channel];
  EXPECT_EQ(datagrams, (std::map<uint32_t, int>{{0, 1}, {2, 2}, {4, 2}}));
}

// By one channel nothing has changed since there are several: what other versions send and take.
TEST(Channels, OneChannelIsAsBefore) {
  Parcel parcel;
  parcel.term = 3;
  parcel.base_lsn = 10;
  parcel.complete_lsn = 20;
  std::string bytes;
  for (int i = 0; i < 500; ++i) bytes += static_cast<char>(i * 7);
  parcel.bytes = std::make_shared<const std::string>(bytes);
  std::array<uint8_t, DatagramKey::kBytes> secret;
  secret.fill(1);
  const DatagramKey key(secret);
  std::string hashes;
  for (const DatagramKey* used : {static_cast<const DatagramKey*>(nullptr), &key}) {
    DatagramWriter writer(kCluster, 5, 400, used);
    std::string all;
    const auto add = [&](uint32_t channel, std::string_view datagram) {
      EXPECT_EQ(channel, 0u);
      all += datagram;
    };
    const Watermark watermark{3, 4, 20, 15, 99};
    writer.write(parcel, watermark, add);
    writer.write(watermark, add);
    char hex[32];
    std::snprintf(hex, sizeof(hex), "%zu %016lx ", all.size(),
                  static_cast<unsigned long>(XXH3_64bits(all.data(), all.size())));
    hashes += hex;
  }
  EXPECT_EQ(hashes, "812 c142c1320ffc29e6 1108 7434217c34528f43 ");
}

// Pieces of parcels that are there take no memory: neither those that the parcel did not need, nor late ones.
TEST(Channels, PiecesOfWhatIsThereCostNothing) {
  GroupMaker maker(kCluster, [](uint64_t) { return std::string(5000, 'r'); });
  DatagramWriter writer(kCluster, 5, 1448, nullptr, 3);
  const auto partitions = partitions_of("0");
  DatagramReader reader(kCluster, {64 << 20, nullptr, 3, partitions});
  std::map<uint64_t, int> parcels;
  const auto read = [&](const std::vector<Sent>& all) {
    for (const Sent& sent : all) {
      if (!has_channel(channels_of(partitions, 3), sent.channel)) continue;
      const auto received = reader.read(sent.bytes, 1);
      if (received.parcel.has_value()) ++parcels[received.parcel->complete_lsn];
    }
  };
  // partition 2 shares the channel of partition 0, which has nothing in the one, and something in the other
  const std::vector<Sent> first = send(&writer, maker.make(1, {0, 3}, 1));
  const uint64_t first_lsn = maker.lsn();
  const std::vector<Sent> second = send(&writer, maker.make(1, {0, 1, 3}, 1));
  const uint64_t second_lsn = maker.lsn();
  for (const auto& all : {first, second, first, second}) {
    read(all);
    EXPECT_EQ(reader.unfinished(), 0u);
    EXPECT_EQ(reader.memory_bytes(), 0u);
  }
  EXPECT_EQ(parcels, (std::map<uint64_t, int>{{first_lsn, 1}, {second_lsn, 1}}));
  EXPECT_GT(reader.counters().duplicates, first.size() + second.size());
  EXPECT_EQ(reader.counters().forgotten, 0u);
}

// What was received in another way, until less of it counts.
TEST(Channels, WhatWasReceivedOtherwiseCostsNothing) {
  GroupMaker maker(kCluster, [](uint64_t) { return std::string(5000, 'r'); });
  DatagramWriter writer(kCluster, 5, 1448, nullptr, 2);
  DatagramReader reader(kCluster, {64 << 20, nullptr, 2, PartitionSet::all()});
  const auto read = [&](const std::vector<Sent>& all) {
    bool is_there = false;
    for (const Sent& sent : all) is_there |= reader.read(sent.bytes, 1).parcel.has_value();
    return is_there;
  };
  const std::vector<Sent> first = send(&writer, maker.make(3, {0, 1}, 1));
  const uint64_t first_lsn = maker.lsn();
  const std::vector<Sent> second = send(&writer, maker.make(3, {0, 1}, 1));
  const uint64_t second_lsn = maker.lsn();
  const std::vector<Sent> third = send(&writer, maker.make(3, {0, 1}, 1));
  const auto costs_nothing = [&](const std::vector<Sent>& all) {
    EXPECT_FALSE(read(all));
    return reader.unfinished() == 0 && reader.memory_bytes() == 0;
  };
  EXPECT_FALSE(read({first[0]}));
  EXPECT_EQ(reader.unfinished(), 1u);
  reader.forget(3, second_lsn);
  EXPECT_TRUE(costs_nothing(first));
  EXPECT_TRUE(costs_nothing(second));
  EXPECT_TRUE(read(third));
  reader.forget(4, 0);  // of a term above all that is sent
  EXPECT_TRUE(costs_nothing(second));
  // a new term has cut the log: what follows is needed again
  reader.forget(3, first_lsn);
  EXPECT_TRUE(costs_nothing(first));
  EXPECT_TRUE(read(second));
  EXPECT_FALSE(read(third));  // was given before
  reader.forget(2, second_lsn);
  EXPECT_TRUE(read(first));
}

// What OpenPGM can live with, however many channels share it.
TEST(Channels, EachHasItsShareOfRepairs) {
  EXPECT_EQ(repair_window_of(1), 65536u);
  EXPECT_EQ(repair_window_of(3), 16384u);
  EXPECT_EQ(repair_window_of(8), 8192u);
  for (uint32_t channels = 1; channels <= kChannelsMax; ++channels) {
    const uint32_t window = repair_window_of(channels);
    EXPECT_EQ(window & (window - 1), 0u) << channels;
    EXPECT_GE(window, 8192u) << channels;
    for (int rate : {1 << 20, 60'000'000, 1'000'000'000}) {
      for (int mtu : {576, 1500, 65000}) {
        EXPECT_GE(repair_rate_of(rate, channels, mtu), mtu);
        EXPECT_GE(repair_rate_of(rate, channels, mtu), rate / 4 / static_cast<int>(channels));
      }
    }
  }
  EXPECT_EQ(repair_rate_of(60'000'000, 3, 1500), 5'000'000);
  EXPECT_EQ(repair_rate_of(1 << 20, 64, 65000), 65000);
}

TEST(Channels, ProgramsRefuseWhatIsNoGroup) {
  EXPECT_EQ(group_of("239.192.7.254", 3), "239.192.8.1");
  for (const char* wrong : {"", "group", "10.0.0.1", "239.1"}) EXPECT_EQ(group_of(wrong, 0), "") << wrong;
  EXPECT_EQ(group_of("239.255.255.250", 6), "");
  EXPECT_EQ(group_of("223.255.255.255", 1), "");
}

// One counter seals what goes by all channels; one of them may be behind by as much as the window.
TEST(Channels, SealedOnesNeedNoOrderAmongChannels) {
  std::array<uint8_t, DatagramKey::kBytes> secret;
  secret.fill(1);
  const DatagramKey key(secret);
  GroupMaker maker(kCluster, [](uint64_t) { return std::string(1500, 'r'); });
  DatagramWriter writer(kCluster, 5, 1448, &key, 3);
  DatagramReader reader(kCluster, {64 << 20, &key, 3, PartitionSet::all()});
  std::map<uint32_t, std::vector<std::string>> by_channel;
  std::map<uint64_t, int> counters;
  for (int i = 0; i < 200; ++i) {
    for (const Sent& sent : send(&writer, maker.make(1, {0, 1, 2}, 1))) {
      SealedHeader header;
      std::memcpy(&header, sent.bytes.data(), sizeof(header));
      ++counters[header.counter];
      by_channel[sent.channel].push_back(sent.bytes);
    }
  }
  for (const auto& [counter, times] : counters) EXPECT_EQ(times, 1) << counter;
  int parcels = 0;
  for (uint32_t channel : {2, 0, 1}) {
    for (const std::string& datagram : by_channel[channel]) {
      parcels += reader.read(datagram, 1).parcel.has_value() ? 1 : 0;
    }
  }
  EXPECT_EQ(parcels, 200);
  for (const auto& [channel, datagrams] : by_channel) {
    for (const std::string& datagram : datagrams) EXPECT_FALSE(reader.read(datagram, 1).watermark.has_value());
  }
  EXPECT_EQ(reader.counters().replayed, counters.size());
}

// What others send without a key costs no more than its bound, however it is made.
void expect_bounded(size_t memory_bytes_max, size_t unfinished_max) {
  DatagramReader reader(kCluster, {memory_bytes_max, nullptr, 4, partitions_of("0,1")});
  GroupMaker maker(kCluster, [](uint64_t) { return std::string(3000, 'r'); });
  DatagramWriter writer(kCluster, 5, 1448, nullptr, 4);
  size_t unfinished = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Parcel parcel = maker.make(1, {1, 2, 3}, 1);
    if (i % 1000 != 0) {  // the first piece of a channel's only
      for (const Sent& sent : send(&writer, parcel)) {
        if (sent.channel != static_cast<uint32_t>(i % 4)) continue;
        EXPECT_FALSE(reader.read(sent.bytes, 1).parcel.has_value());
        break;
      }
      unfinished = std::max(unfinished, reader.unfinished());
    } else {
      bool is_there = false;
      for (const Sent& sent : send(&writer, parcel)) is_there |= reader.read(sent.bytes, 1).parcel.has_value();
      EXPECT_TRUE(is_there);
    }
    ASSERT_LE(reader.memory_bytes(), memory_bytes_max);
  }
  EXPECT_LE(unfinished, unfinished_max);
  EXPECT_GT(reader.counters().unwanted, 0u);  // channel 3 is not joined
  EXPECT_GT(reader.counters().forgotten, 0u);
}

TEST(Channels, ForgedPartsAreBounded) {
  expect_bounded(1 << 20, 1024);
  expect_bounded(1 << 30, DatagramReader::kUnfinishedMax);
}

// Parts that do not fit together are dropped, with what came before of that parcel.
TEST(Channels, PartsOfDifferentGroupsMakeNoParcel) {
  GroupMaker one(kCluster, [](uint64_t) { return std::string(1500, 'r'); });
  GroupMaker other(kCluster, [](uint64_t) { return std::string(1700, 's'); });
  DatagramWriter writer(kCluster, 5, 4096, nullptr, 2);
  DatagramReader reader(kCluster, {1 << 20, nullptr, 2, PartitionSet::all()});
  const auto first = send(&writer, one.make(1, {0, 1, 2}, 1)), second = send(&writer, other.make(1, {0, 1, 2}, 1));
  ASSERT_EQ(first.size(), 2u);
  EXPECT_FALSE(reader.read(first[0].bytes, 1).parcel.has_value());
  EXPECT_FALSE(reader.read(second[1].bytes, 1).parcel.has_value());
  EXPECT_EQ(reader.counters().malformed, 1u);
  EXPECT_EQ(reader.unfinished(), 0u);
}

}  // namespace
}  // namespace scyper::replication
