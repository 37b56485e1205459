// Archives and the log by RDMA, as far as that needs no device: what is on the wire, credits, slots, seals. With
// devices: rdma/bulk_vm_test.cc.

#include "replication/bulk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/test_seed.h"
#include "rdma/rendezvous.h"
#include "testing/memory_bulk.h"

namespace scyper::replication {
namespace {

constexpr ClusterId kBulkCluster{{3, 4}};
constexpr uint32_t kSlotBytes = BulkMemory::kSlotBytes;

TEST(BulkHelloTest, RefusesWhatIsNone) {
  BulkHello hello, out;
  hello.slots = 16;
  const auto parse = [&](size_t size) { return BulkHello::parse(&hello, size, &out); };
  char longer[200] = {};
  std::memcpy(longer, &hello, sizeof(hello));
  EXPECT_EQ(BulkHello::parse(longer, sizeof(longer), &out), "");
  EXPECT_EQ(out.slots, 16);
  EXPECT_NE(parse(sizeof(hello) - 1), "");
  EXPECT_NE(BulkHello::parse(nullptr, 200, &out), "");
  const BulkHello good = hello;
  hello.magic ^= 1;
  EXPECT_NE(parse(sizeof(hello)), "");
  hello = good;
  hello.version = 2;
  EXPECT_NE(parse(sizeof(hello)).find("version 2"), std::string::npos);
  hello = good;
  hello.slot_bytes *= 2;
  EXPECT_NE(parse(sizeof(hello)), "");
  for (const uint16_t slots : {uint16_t{0}, uint16_t{BulkMemory::kSlotsMin - 1}, uint16_t{BulkMemory::kSlotsMax + 1}}) {
    hello = good;
    hello.slots = slots;
    EXPECT_NE(parse(sizeof(hello)), "") << slots;
  }
  uint8_t token[BulkMemory::kTokenBytes] = {};
  EXPECT_TRUE(good.has_token(token));
  token[15] = 1;
  EXPECT_FALSE(good.has_token(token));
}

TEST(BulkMessageTest, RefusesWhatIsNone) {
  BulkMessage message, out;
  EXPECT_EQ(BulkMessage::parse(&message, sizeof(message), &out), "");
  EXPECT_NE(BulkMessage::parse(&message, sizeof(message) - 1, &out), "");
  message.kind = static_cast<BulkMessage::Kind>(3);
  EXPECT_NE(BulkMessage::parse(&message, sizeof(message), &out), "");
  message.kind = BulkMessage::Kind::kRelease;
  message.magic = 0;
  EXPECT_NE(BulkMessage::parse(&message, sizeof(message), &out), "");
}

TEST(BulkMemoryTest, SlotsOfMemory) {
  EXPECT_EQ(BulkMemory::slots_of(uint64_t{4} << 20), 16u);
  EXPECT_EQ(BulkMemory::slots_of(1), BulkMemory::kSlotsMin);
  EXPECT_EQ(BulkMemory::slots_of(uint64_t{1} << 40), BulkMemory::kSlotsMax);
}

// A wire that takes all, for one side alone.
class NoWire final : public BulkWire {
 public:
  bool has_room() const override { return true; }
  std::string send(const BulkMessage& message) override {
    sent.push_back(message);
    return "";
  }
  std::string read(uint64_t number, const BulkMessage&) override {
    read_numbers.push_back(number);
    return "";
  }
  std::vector<BulkMessage> sent;
  std::vector<uint64_t> read_numbers;
};

void fill(BulkMemory* memory, uint32_t slots, int count) {
  for (int i = 0; i < count; ++i) {
    memory->sizes[memory->filled.load() % slots].store(100);
    memory->filled.fetch_add(1);
  }
}
BulkMessage release(uint64_t number) {
  BulkMessage message;
  message.kind = BulkMessage::Kind::kRelease;
  message.number = number;
  return message;
}
BulkMessage offer(uint64_t number, uint32_t bytes = 100) {
  BulkMessage message;
  message.number = number;
  message.bytes = bytes;
  return message;
}

TEST(BulkSourceTest, OffersAreCredits) {
  constexpr uint32_t kSlots = 8, kWindow = 4;
  const auto memory = make_bulk_memory(kSlots);
  NoWire wire;
  BulkSource source(memory.get(), kSlots, kWindow, 0x1000, 5, &wire);
  fill(memory.get(), kSlots, 8);
  EXPECT_EQ(source.advance(), "");
  ASSERT_EQ(wire.sent.size(), kWindow);
  EXPECT_EQ(wire.sent[3].address, 0x1000 + 3 * uint64_t{kSlotBytes});
  EXPECT_EQ(wire.sent[3].key, 5u);
  EXPECT_FALSE(source.can_advance());
  EXPECT_NE(source.on_message(release(0)), "");  // of nothing
  EXPECT_NE(source.on_message(release(5)), "");  // of what was not offered
  EXPECT_NE(source.on_message(offer(4)), "");
  EXPECT_EQ(memory->released.load(), 0u);
  EXPECT_EQ(source.on_message(release(3)), "");
  EXPECT_EQ(memory->released.load(), 3u);
  EXPECT_EQ(source.advance(), "");
  EXPECT_EQ(wire.sent.size(), 7u);
  EXPECT_NE(source.on_message(release(3)), "");  // again
}

TEST(BulkSourceTest, ANodeThatLiesEndsIt) {
  const auto memory = make_bulk_memory(4);
  NoWire wire;
  BulkSource source(memory.get(), 4, 4, 0, 0, &wire);
  memory->filled.store(5);  // one more than there are
  memory->sizes[0].store(1);
  EXPECT_NE(source.advance(), "");
  memory->filled.store(1);
  for (const uint32_t size : {0u, kSlotBytes + 1}) {
    BulkSource other(memory.get(), 4, 4, 0, 0, &wire);
    memory->sizes[0].store(size);
    EXPECT_NE(other.advance(), "") << size;
  }
}

TEST(BulkSinkTest, ReadsOnlyIntoFreeSlotsAndRefusesWhatItDidNotAllow) {
  constexpr uint32_t kSlots = 4, kWindow = 4;
  const auto memory = make_bulk_memory(kSlots);
  NoWire wire;
  BulkSink sink(memory.get(), kSlots, kWindow, &wire);
  EXPECT_NE(sink.on_message(release(1)), "");
  EXPECT_NE(sink.on_message(offer(1)), "");  // out of order
  EXPECT_NE(sink.on_message(offer(0, 0)), "");
  EXPECT_NE(sink.on_message(offer(0, kSlotBytes + 1)), "");
  EXPECT_NE(sink.on_read(), "");  // of what was not begun
  for (uint64_t i = 0; i < kWindow; ++i) EXPECT_EQ(sink.on_message(offer(i)), "");
  EXPECT_NE(sink.on_message(offer(kWindow)), "");  // beyond its credits
  EXPECT_EQ(sink.advance(), "");
  EXPECT_EQ(wire.read_numbers.size(), kSlots);
  EXPECT_EQ(memory->filled.load(), 0u);  // nothing is there before its read has ended
  EXPECT_EQ(sink.on_read(), "");
  EXPECT_EQ(memory->filled.load(), 1u);
  EXPECT_EQ(sink.advance(), "");
  ASSERT_EQ(wire.sent.size(), 1u);
  EXPECT_EQ(wire.sent[0].number, 1u);
  EXPECT_EQ(sink.on_message(offer(kWindow)), "");
  EXPECT_FALSE(sink.can_advance());  // the node has not taken the first one yet
  memory->released.store(1);
  EXPECT_EQ(sink.advance(), "");
  EXPECT_EQ(wire.read_numbers.size(), 5u);
  memory->released.store(1000);  // a node that lies gets nothing more
  EXPECT_EQ(sink.on_message(offer(kWindow + 1)), "more offers than there is room for");
  EXPECT_FALSE(sink.can_advance());
}

// In any order of events, with slots of all sizes: all arrives, in order, and nothing is overwritten.
TEST(BulkTest, AllArrivesInAnyOrderOfEvents) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const auto& [source_slots, sink_slots] : {std::pair{4u, 8u}, std::pair{8u, 4u}, std::pair{5u, 5u}}) {
    MemoryBulkConnection connection(source_slots, sink_slots, random());
    BulkMemory* from = connection.source_memory();
    BulkMemory* to = connection.sink_memory();
    constexpr uint64_t kSlots = 400;
    uint64_t filled = 0, taken = 0;
    while (taken < kSlots) {
      if (random() % 3 == 0 && filled < kSlots && filled - from->released.load() < source_slots) {
        const uint32_t size = random() % 4 == 0 ? kSlotBytes : 1 + static_cast<uint32_t>(random() % 3000);
        std::memset(from->slot(filled, source_slots), static_cast<int>(filled % 251), size);
        from->sizes[filled % source_slots].store(size);
        from->filled.store(++filled);
      }
      if (random() % 3 == 0 && to->filled.load() > taken) {
        const uint32_t size = to->sizes[taken % sink_slots].load();
        const char* slot = to->slot(taken, sink_slots);
        ASSERT_EQ(static_cast<uint8_t>(slot[0]), taken % 251);
        ASSERT_EQ(std::memcmp(slot, slot + 1, size - 1), 0);
        std::memset(to->slot(taken, sink_slots), 0xff, size);
        to->released.store(++taken);
      }
      bool moved = false;
      ASSERT_EQ(connection.step(&moved), "");
    }
    EXPECT_EQ(connection.open_offers(), connection.window());
  }
}

class BulkChannelTest : public testing::Test {
 protected:
  BulkChannelTest() : pair_(std::make_shared<MemoryBulkPair>(4, test_seed())) {}
  void open(const DatagramKey* source_key, const DatagramKey* sink_key) {
    source_ = std::make_unique<MemoryBulkPair::End>(pair_, true, kBulkCluster, source_key);
    sink_ = std::make_unique<MemoryBulkPair::End>(pair_, false, kBulkCluster, sink_key);
  }
  std::shared_ptr<MemoryBulkPair> pair_;
  std::unique_ptr<BulkChannel> source_, sink_;
};

TEST_F(BulkChannelTest, BytesComeWholeInTheClearAndSealed) {
  const DatagramKey key(std::array<uint8_t, DatagramKey::kBytes>{7});
  for (const DatagramKey* each : {static_cast<const DatagramKey*>(nullptr), &key}) {
    pair_ = std::make_shared<MemoryBulkPair>(4, test_seed());
    open(each, each);
    std::string sent(5 * kSlotBytes + 17, '\0');
    for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 31 + i / 1000);
    std::thread writer([&] {
      EXPECT_TRUE(source_->write(sent, {}).ok());
      EXPECT_TRUE(source_->write("unwanted", {}).ok());
      EXPECT_EQ(source_->next_slot(), 7u);
      EXPECT_TRUE(source_->write("more", {}).ok());
    });
    std::string got;
    EXPECT_TRUE(sink_->read(0, sent.size(), &got, {}).ok());
    EXPECT_TRUE(got == sent);
    got.clear();
    EXPECT_TRUE(sink_->read(7, 4, &got, {}).ok());  // what nobody wants is dropped
    EXPECT_EQ(got, "more");
    writer.join();
    EXPECT_EQ(sink_->bytes(), sent.size() + 4);
    EXPECT_TRUE(absl::IsUnavailable(sink_->read(6, 8, &got, {})));  // it is gone
    EXPECT_TRUE(sink_->is_broken());
  }
}

TEST_F(BulkChannelTest, WhatIsForgedOrExchangedIsFound) {
  const DatagramKey key(std::array<uint8_t, DatagramKey::kBytes>{7}),
      other(std::array<uint8_t, DatagramKey::kBytes>{8});
  std::string got;
  open(&key, &other);
  ASSERT_TRUE(source_->write("bytes", {}).ok());
  EXPECT_TRUE(absl::IsUnavailable(sink_->read(0, 5, &got, {})));
  pair_ = std::make_shared<MemoryBulkPair>(4, test_seed());
  open(nullptr, &key);  // not sealed
  ASSERT_TRUE(source_->write("bytes", {}).ok());
  EXPECT_TRUE(absl::IsUnavailable(sink_->read(0, 5, &got, {})));
  // two slots of the same channel in each other's place
  pair_ = std::make_shared<MemoryBulkPair>(4, test_seed());
  open(&key, &key);
  ASSERT_TRUE(source_->write("first", {}).ok());
  ASSERT_TRUE(source_->write("other", {}).ok());
  BulkMemory* memory = pair_->connection().sink_memory();
  while (memory->filled.load(std::memory_order_acquire) < 2) std::this_thread::yield();
  std::swap_ranges(memory->slot(0, 4), memory->slot(0, 4) + 100, memory->slot(1, 4));
  EXPECT_TRUE(absl::IsUnavailable(sink_->read(0, 5, &got, {})));
  EXPECT_EQ(got, "");
}

TEST_F(BulkChannelTest, WhoWaitsIsToldOfItsEnd) {
  open(nullptr, nullptr);
  std::string got;
  int asked = 0;
  EXPECT_TRUE(absl::IsCancelled(sink_->read(0, 1, &got, [&] { return ++asked < 3; })));
  // more than all slots hold, and nobody takes them
  const std::string much(size_t{20} * kSlotBytes, 'x');
  EXPECT_TRUE(absl::IsCancelled(source_->write(much, [&] { return ++asked < 10; })));
  EXPECT_FALSE(source_->is_broken());
  std::thread writer([&] { EXPECT_TRUE(absl::IsUnavailable(source_->write(much, {}))); });
  pair_->cut();
  writer.join();
  EXPECT_TRUE(source_->is_broken());
  EXPECT_TRUE(absl::IsUnavailable(sink_->read(100, 1, &got, {})));
}

TEST(RdmaBulkChannelTest, SaysWhyItCannotStart) {
  RdmaBulkChannel::Options options;
  options.program = SCYPER_RDMA_PROGRAM;
  options.interface = "192.0.2.1";  // no device has it
  auto offered = RdmaBulkChannel::offer(options);
  ASSERT_TRUE(absl::IsUnavailable(offered.status())) << offered.status();
  EXPECT_NE(offered.status().message().find("RDMA"), std::string::npos) << offered.status();
  options.interface = "not an address";
  offered = RdmaBulkChannel::offer(options);
  EXPECT_TRUE(absl::IsUnavailable(offered.status())) << offered.status();
  BulkAddress address{"10.0.0.1", 1, std::string(BulkMemory::kTokenBytes, 't'), true};
  EXPECT_TRUE(absl::IsUnavailable(RdmaBulkChannel::connect(options, address).status()));  // sealed, and no key here
  address.is_sealed = false;
  EXPECT_TRUE(absl::IsUnavailable(RdmaBulkChannel::connect(options, address).status()));
  address.token = "short";
  EXPECT_TRUE(absl::IsUnavailable(RdmaBulkChannel::connect(options, address).status()));
  options.program = "/nowhere/scyper-rdma";
  EXPECT_TRUE(absl::IsNotFound(RdmaBulkChannel::offer(options).status()));
}

}  // namespace
}  // namespace scyper::replication
