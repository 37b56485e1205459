// The parts of the verbs transport that need no device. With devices: rdma/rdma_vm_test.cc.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>
#include <random>
#include <string>

#include "base/test_seed.h"
#include "pacer.h"
#include "rdma/rings.h"
#include "replication/multicast.h"
#include "replication/rdma_device_name.h"
#include "shared_ring.h"

namespace scyper::replication {
namespace {

TEST(RdmaDeviceNameTest, NamesPortAndIndex) {
  RdmaDeviceName name;
  ASSERT_TRUE(RdmaDeviceName::parse("", &name));
  EXPECT_EQ(name.device, "");
  ASSERT_TRUE(RdmaDeviceName::parse("any", &name));
  EXPECT_EQ(name.device, "");
  ASSERT_TRUE(RdmaDeviceName::parse("mlx5_0", &name));
  EXPECT_EQ(name.device, "mlx5_0");
  EXPECT_EQ(name.port, 0);
  EXPECT_EQ(name.gid_index, -1);
  ASSERT_TRUE(RdmaDeviceName::parse("rxe0:2:255", &name));
  EXPECT_EQ(name.device, "rxe0");
  EXPECT_EQ(name.port, 2);
  EXPECT_EQ(name.gid_index, 255);
}

TEST(RdmaDeviceNameTest, RefusesWhatIsNone) {
  RdmaDeviceName name;
  for (const char* text : {":1", "a:", "a:0", "a:256", "a:x", "a:1:", "a:1:256", "a:1:-1", "a:1:2:3", "a b", "../a"}) {
    EXPECT_FALSE(RdmaDeviceName::parse(text, &name)) << text;
  }
}

TEST(RingLayoutTest, FitsMemoryAndDevice) {
  RingLayout layout = RingLayout::make(1024, 4 << 20, 1 << 20);
  EXPECT_EQ(layout.slot_bytes, 1088u);  // with the routing header, in whole cache lines
  EXPECT_EQ(layout.count % RingLayout::kSignalEvery, 0u);
  EXPECT_LE(layout.bytes(), 4u << 20);
  EXPECT_GT(layout.bytes() + layout.slot_bytes * RingLayout::kSignalEvery, 4u << 20);
  EXPECT_EQ(layout.offset(3), 3 * 1088u);
  EXPECT_EQ(RingLayout::make(1024, 4 << 20, 100).count, 96u);
  EXPECT_EQ(RingLayout::make(4096, 1, 1 << 20).count, RingLayout::kSlotsMin);
  EXPECT_EQ(RingLayout::make(1024, 4 << 20, RingLayout::kSlotsMin - 1).count, 0u);
  EXPECT_LE(RingLayout::make(256, uint64_t{1} << 40, 1 << 20).count, 16'384u);
}

// A device that answers signalled requests late and in order: no slot is taken while it is in flight.
TEST(SendSlotsTest, SlotsInFlightAreNotTaken) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  constexpr uint32_t kCount = 96;
  SendSlots slots(kCount);
  std::deque<SendSlots::Request> in_flight;
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 3 != 0 && slots.has_room()) {
      const SendSlots::Request made = slots.next();
      for (const SendSlots::Request& other : in_flight) ASSERT_NE(other.slot, made.slot);
      in_flight.push_back(made);
      slots.take();
    } else {  // up to the next completion
      size_t done = 0;
      while (done < in_flight.size() && !in_flight[done].is_signalled) ++done;
      if (done == in_flight.size()) {
        ASSERT_TRUE(slots.has_room()) << "full, and nothing will say that there is room";
        continue;
      }
      ASSERT_TRUE(slots.complete(in_flight[done].number));
      in_flight.erase(in_flight.begin(), in_flight.begin() + static_cast<std::ptrdiff_t>(done) + 1);
    }
  }
}

TEST(SendSlotsTest, CompletionsOfNothingAreFound) {
  SendSlots slots(64);
  EXPECT_FALSE(slots.complete(0));
  slots.take();
  EXPECT_FALSE(slots.complete(1));
  EXPECT_TRUE(slots.complete(0));
  EXPECT_FALSE(slots.complete(0));
}

TEST(GidTest, AddressesOfIPv4) {
  const uint8_t mapped[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 7};
  const uint8_t link_local[16] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 7};
  uint32_t address = 0;
  ASSERT_TRUE(is_ipv4_gid(mapped, &address));
  EXPECT_EQ(std::memcmp(&address, mapped + 12, 4), 0);
  EXPECT_FALSE(is_ipv4_gid(link_local, &address));
}

TEST(PacerTest, GivesTheRateAndABurst) {
  constexpr int64_t kRate = 10'000'000, kPacket = 1000;
  Pacer pacer(kRate, kPacket, 0);
  int64_t sent = 0, now_ns = 0;
  for (; now_ns < kPacerNsPerSecond; now_ns += kPacerNsPerMs) {
    while (pacer.may_send_at(now_ns)) {
      pacer.sent(kPacket);
      sent += kPacket;
    }
  }
  EXPECT_GE(sent, kRate * 99 / 100);
  EXPECT_LE(sent, kRate * 101 / 100);
  // what was not used for long is lost but for the burst of 5 ms
  now_ns += 10 * kPacerNsPerSecond;
  sent = 0;
  while (pacer.may_send_at(now_ns)) {
    pacer.sent(kPacket);
    sent += kPacket;
  }
  EXPECT_EQ(sent, kRate * 5 / 1000);
}

TEST(SharedRingTest, LargerRecordsThanThereIsRoomForAreTakenOnly) {
  auto ring = std::make_unique<SharedRing>();
  ASSERT_TRUE(ring->write(std::string(500, 'a')));
  ASSERT_TRUE(ring->write("b"));
  char out[100] = {};
  EXPECT_EQ(ring->read(out, sizeof(out)), 500u);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(ring->read(out, sizeof(out)), 1u);
  EXPECT_EQ(out[0], 'b');
  EXPECT_TRUE(ring->is_empty());
}

MulticastOptions rdma_options(const std::string& interface) {
  MulticastOptions options;
  options.kind = MulticastOptions::Kind::kRdma;
  options.interface = interface;
  options.program = SCYPER_RDMA_PROGRAM;
  return options;
}

// Without a device, or with one: no device has that address.
TEST(RdmaProcessTest, SaysWhyItCannotStart) {
  auto started = MulticastProcess::start(rdma_options("192.0.2.1"));
  ASSERT_TRUE(absl::IsUnavailable(started.status())) << started.status();
  EXPECT_NE(started.status().message().find("RDMA"), std::string::npos) << started.status();
  started = MulticastProcess::start(rdma_options("not an address"));
  ASSERT_TRUE(absl::IsUnavailable(started.status())) << started.status();
  EXPECT_NE(started.status().message().find("no IPv4 address"), std::string::npos) << started.status();
  MulticastOptions options = rdma_options("");
  options.rdma.device = "a:b";
  EXPECT_TRUE(absl::IsUnavailable(MulticastProcess::start(options).status()));
  options.program = "/nowhere/scyper-rdma";
  EXPECT_TRUE(absl::IsNotFound(MulticastProcess::start(options).status()));
}

TEST(RdmaProcessTest, FindsADevice) {
  if (!std::filesystem::exists("/sys/class/infiniband") || std::filesystem::is_empty("/sys/class/infiniband")) {
    const auto started = MulticastProcess::start(rdma_options(""));
    ASSERT_NE(started.status().message().find("there is no RDMA device"), std::string::npos) << started.status();
    GTEST_SKIP() << "there is no RDMA device here (rdma_vm_test has soft ones)";
  }
  MulticastOptions options = rdma_options("");
  options.sends = true;
  const auto started = MulticastProcess::start(options);
  if (!started.ok()) GTEST_SKIP() << started.status();  // no port that is up, too little memory may be locked
  EXPECT_GE((*started)->datagram_bytes(), 256u);
  EXPECT_GT((*started)->counters().registered_bytes, 0u);
}

}  // namespace
}  // namespace scyper::replication
