// Archives and ranges of the log by RDMA verbs between soft devices (rdma_vm_test.cc): loss, devices that go, too
// little memory that may be locked, peers that do not keep to the protocol, an archive that is interrupted.

#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/disk.h"
#include "base/test_seed.h"
#include "rdma/connection.h"
#include "replication/bulk.h"
#include "replication/bulk_server.h"
#include "replication/link.h"
#include "replication/publisher.h"
#include "testing/loopback_server.h"
#include "testing/memory_bulk.h"
#include "testing/soft_devices.h"

namespace scyper::replication {
namespace {

constexpr ClusterId kBulkVmCluster{{5, 6}};
constexpr uint32_t kSlots = 16;

RdmaBulkChannel::Options bulk_options(int i, const DatagramKey* key = nullptr) {
  RdmaBulkChannel::Options options;
  options.cluster = kBulkVmCluster;
  options.interface = address(i);
  options.key = key;
  return options;
}

struct Ends {
  std::unique_ptr<RdmaBulkChannel> source, sink;
};
Ends open_ends(const DatagramKey* key = nullptr) {
  Ends made;
  auto source = RdmaBulkChannel::offer(bulk_options(0, key));
  EXPECT_TRUE(source.ok()) << source.status();
  if (!source.ok()) return made;
  made.source = *std::move(source);
  auto sink = RdmaBulkChannel::connect(bulk_options(1, key), made.source->address());
  EXPECT_TRUE(sink.ok()) << sink.status() << "; the source: " << made.source->trouble();
  if (sink.ok()) made.sink = *std::move(sink);
  return made;
}

std::string random_bytes(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string bytes(count, '\0');
  for (size_t i = 0; i + 8 <= count; i += 8) {
    const uint64_t word = random();
    std::memcpy(bytes.data() + i, &word, sizeof(word));
  }
  return bytes;
}

void transfer(const Ends& ends, const std::string& bytes) {
  std::string got;
  const uint64_t slot = ends.source->next_slot();
  std::thread writer([&] { EXPECT_TRUE(ends.source->write(bytes, {}).ok()); });
  const Status status = ends.sink->read(slot, bytes.size(), &got, {});
  EXPECT_TRUE(status.ok()) << status;
  writer.join();
  EXPECT_TRUE(got == bytes);
}

TEST(BulkVmTest, BytesComeWhole) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  const DatagramKey key(std::array<uint8_t, DatagramKey::kBytes>{7});
  for (const DatagramKey* each : {static_cast<const DatagramKey*>(nullptr), &key}) {
    const Ends ends = open_ends(each);
    ASSERT_NE(ends.sink, nullptr);
    transfer(ends, random_bytes((each == nullptr ? size_t{6} << 20 : size_t{1} << 20) + 13, seed));
    EXPECT_GE(ends.source->registered_bytes(), uint64_t{4} << 20);
    EXPECT_LE(ends.source->registered_bytes(), uint64_t{5} << 20);
  }
}

TEST(BulkVmTest, WhatIsLostOnTheWayIsSentAgain) {
  const Ends ends = open_ends();
  ASSERT_NE(ends.sink, nullptr);
  lose(1, 1);
  transfer(ends, random_bytes(size_t{1} << 20, 1));
  lose(1, 0);
}

TEST(BulkVmTest, ADeviceThatGoesEndsTheChannelAndNothingElse) {
  for (const int i : {0, 1}) {
    Ends ends = open_ends();
    ASSERT_NE(ends.sink, nullptr);
    transfer(ends, "before");
    remove_device(i);
    std::string got;
    EXPECT_TRUE(absl::IsUnavailable(i == 0 ? ends.source->write(std::string(size_t{32} << 20, 'x'), {})
                                           : ends.sink->read(1, 1, &got, {})));
    EXPECT_TRUE((i == 0 ? ends.source : ends.sink)->is_broken());
    ends = {};
    add_device(i);
  }
  const Ends ends = open_ends();
  ASSERT_NE(ends.sink, nullptr);
  transfer(ends, "behind");
}

// Forks of the node while a device writes to memory that both see.
TEST(BulkVmTest, ForksDoNotDisturb) {
  const Ends ends = open_ends();
  ASSERT_NE(ends.sink, nullptr);
  std::vector<char> memory(size_t{8} << 20, 'm');
  for (int i = 0; i < 5; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (size_t at = 0; at < memory.size(); at += 4096) memory[at] = 'c';
      ::_exit(0);
    }
    transfer(ends, random_bytes(size_t{300'000}, static_cast<uint64_t>(i)));
    ::waitpid(child, nullptr, 0);
  }
}

// With too small a limit of locked memory, and without the right to exceed it: why, in a text for people.
TEST(BulkVmTest, TooLittleMemoryThatMayBeLocked) {
  int pipe_fds[2];
  ASSERT_EQ(::pipe(pipe_fds), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{1 << 20, 1 << 20};
    ::setrlimit(RLIMIT_MEMLOCK, &limit);
    ::prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK);  // what it starts has it no more
    const std::string why(RdmaBulkChannel::offer(bulk_options(0)).status().message());
    static_cast<void>(!::write(pipe_fds[1], why.data(), why.size()));
    ::_exit(0);
  }
  ::close(pipe_fds[1]);
  char text[1000] = {};
  static_cast<void>(!::read(pipe_fds[0], text, sizeof(text) - 1));
  ::close(pipe_fds[0]);
  ::waitpid(child, nullptr, 0);
  EXPECT_NE(std::string(text).find("memory cannot be registered"), std::string::npos) << text;
  EXPECT_NE(std::string(text).find("limit of locked memory: 1048576 bytes"), std::string::npos) << text;
}

// --- peers that do not keep to the protocol ---

// In a process of its own: one that has used a device holds it, and tests behind it take devices away.
void in_child(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

class Rogue {
 public:
  Rogue(bool is_source, const BulkAddress* peer) : memory_(make_bulk_memory(kSlots)) {
    VerbsConnection::Options options;
    options.is_source = is_source;
    options.interface = address(is_source ? 0 : 1);
    options.memory = memory_.get();
    options.slots = kSlots;
    if (peer != nullptr) {
      std::memcpy(memory_->token, peer->token.data(), BulkMemory::kTokenBytes);
      options.peer_address = ::inet_addr(peer->host.c_str());
      options.peer_port = peer->port;
    }
    connection_ = std::make_unique<VerbsConnection>(options);
    error_ = connection_->open();
  }
  VerbsConnection& connection() { return *connection_; }
  const std::string& error() const { return error_; }
  BulkMemory& memory() { return *memory_; }
  BulkAddress address_of() {
    return {address(0), connection_->port(),
            std::string(reinterpret_cast<const char*>(memory_->token), BulkMemory::kTokenBytes), false};
  }
  // A request of that kind; how it ends.
  ibv_wc_status post(ibv_wr_opcode opcode, uint64_t remote, uint32_t key, uint32_t bytes) {
    ibv_sge part{connection_->slots_address(), bytes, connection_->slots_local_key()};
    ibv_send_wr request{};
    request.wr_id = 99;
    request.sg_list = &part;
    request.num_sge = 1;
    request.opcode = opcode;
    request.wr.rdma.remote_addr = remote;
    request.wr.rdma.rkey = key;
    ibv_send_wr* failed = nullptr;
    EXPECT_EQ(ibv_post_send(connection_->queue_pair(), &request, &failed), 0);
    ibv_wc done{};
    const bool has_ended =
        comes([&] { return ibv_poll_cq(connection_->queue_pair()->send_cq, 1, &done) == 1 && done.wr_id == 99; });
    EXPECT_TRUE(has_ended);
    return done.status;
  }
  static bool comes(const std::function<bool()>& condition) {
    for (int i = 0; i < 10'000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }

 private:
  std::unique_ptr<BulkMemory, FreeMemory> memory_;
  std::unique_ptr<VerbsConnection> connection_;
  std::string error_;
};

TEST(BulkVmTest, NobodyIsLetInWithoutTheToken) {
  auto source = RdmaBulkChannel::offer(bulk_options(0));
  ASSERT_TRUE(source.ok()) << source.status();
  BulkAddress wrong = (*source)->address();
  wrong.token[3] ^= 1;
  const auto refused = RdmaBulkChannel::connect(bulk_options(1), wrong);
  EXPECT_NE(refused.status().message().find("the peer refuses"), std::string::npos) << refused.status();
  auto sink = RdmaBulkChannel::connect(bulk_options(1), (*source)->address());
  ASSERT_TRUE(sink.ok()) << sink.status();
  transfer({*std::move(source), *std::move(sink)}, "who has it is");
}

// What a sink may do with what it is offered is read it, within the slots.
void write_to_source(bool writes) {
  auto source = RdmaBulkChannel::offer(bulk_options(0));
  ASSERT_TRUE(source.ok()) << source.status();
  const BulkAddress at = (*source)->address();
  Rogue rogue(/*is_source=*/false, &at);
  ASSERT_EQ(rogue.error(), "");
  const std::string kept(1000, 'k');
  ASSERT_TRUE((*source)->write(kept, {}).ok());
  std::vector<VerbsConnection::News> news;
  ASSERT_TRUE(Rogue::comes([&] { return rogue.connection().poll(&news).empty() && !news.empty(); }));
  const BulkMessage offer = news.front().message;
  EXPECT_EQ(rogue.post(IBV_WR_RDMA_READ, offer.address, offer.key, 1000), IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(rogue.memory().slot(0, kSlots), kept.data(), kept.size()), 0);
  if (writes) {
    std::memset(rogue.memory().slot(0, kSlots), 'r', 1000);
    EXPECT_EQ(rogue.post(IBV_WR_RDMA_WRITE, offer.address, offer.key, 1000), IBV_WC_REM_ACCESS_ERR);
  } else {
    const uint64_t end = offer.address + uint64_t{kSlots} * BulkMemory::kSlotBytes;
    EXPECT_EQ(rogue.post(IBV_WR_RDMA_READ, end - 500, offer.key, 1000), IBV_WC_REM_ACCESS_ERR);
  }
  EXPECT_TRUE(Rogue::comes([&] { return (*source)->is_broken(); }));
}
TEST(BulkVmTest, APeerWritesNothingToASource) {
  for (const bool writes : {true, false}) in_child([&] { write_to_source(writes); });
}

void write_to_sink(bool writes) {
  Rogue rogue(/*is_source=*/true, nullptr);
  ASSERT_EQ(rogue.error(), "");
  const BulkAddress at = rogue.address_of();
  StatusOr<std::unique_ptr<RdmaBulkChannel>> sink = absl::UnavailableError("");
  std::thread connects([&] { sink = RdmaBulkChannel::connect(bulk_options(1), at); });
  EXPECT_TRUE(Rogue::comes([&] { return rogue.connection().check().empty() && rogue.connection().is_connected(); }));
  connects.join();
  ASSERT_TRUE(sink.ok()) << sink.status();
  if (writes) {  // the keys that it may have, at addresses that it may have
    EXPECT_NE(rogue.post(IBV_WR_RDMA_WRITE, rogue.connection().slots_address(), rogue.connection().slots_key(), 1000),
              IBV_WC_SUCCESS);
  } else {  // a message that is larger than its buffer
    EXPECT_NE(rogue.post(IBV_WR_SEND, 0, 0, 1000), IBV_WC_SUCCESS);
  }
  std::string got;
  EXPECT_TRUE(absl::IsUnavailable((*sink)->read(0, 1, &got, {})));
  EXPECT_EQ(got, "");
}
TEST(BulkVmTest, APeerWritesNothingToASinkButMessages) {
  for (const bool writes : {true, false}) in_child([&] { write_to_sink(writes); });
}

// --- a node's archive ---

class SeedingVmTest : public testing::Test {
 protected:
  SeedingVmTest() : outbox_({kBulkVmCluster, 1, 0, size_t{1} << 20, 0, {}}), members_(1, [] {}) {
    std::filesystem::create_directories(archive_);
    const auto make = [&](const std::string& name, size_t bytes) {
      files_[name] = random_bytes(bytes, bytes);
      std::ofstream(absl::StrCat(archive_, "/", name), std::ios::binary) << files_[name];
    };
    make("MANIFEST", 1000);
    make("t1.10.dat", size_t{5} << 20);
    make("t2.10.dat", (size_t{5} << 20) + 77);
    serve();
  }
  ~SeedingVmTest() override {
    outbox_.stop();
    server_->Shutdown(std::chrono::system_clock::now());
    std::filesystem::remove_all("/tmp/seeding");
  }
  void serve() {
    PublisherOptions options;
    options.outbox = &outbox_;
    options.members = &members_;
    options.digests = &digests_;
    options.clock = &clock_;
    options.partitions = 2;
    options.transport = [] { return TransportInfo(); };
    options.disk = disk_.get();
    options.newest_archive = [this] { return StatusOr<std::string>(archive_); };
    options.bulk = &bulk_;
    publisher_ = make_publisher(options);
    server_ = serve_on_loopback(publisher_.get(), &port_);
    ASSERT_NE(server_, nullptr);
  }
  std::unique_ptr<Link> link() {
    LinkOptions options;
    options.target = absl::StrCat("127.0.0.1:", port_);
    options.node = "s";
    options.call_us = 60'000'000;
    options.connect_bulk = [](const ClusterId&, const BulkAddress& at) -> StatusOr<std::unique_ptr<BulkChannel>> {
      SCYPER_ASSIGN_OR_RETURN(auto channel, RdmaBulkChannel::connect(bulk_options(1), at));
      return std::unique_ptr<BulkChannel>(std::move(channel));
    };
    return Link::make(options);
  }
  void expect_files(const std::string& at) {
    for (const auto& [name, bytes] : files_) {
      auto found = disk_->read_file(absl::StrCat(at, "/", name));
      EXPECT_TRUE(found.ok() && *found == bytes) << name;
    }
  }

  const std::string archive_ = "/tmp/seeding/from/00000000000000000010";
  std::map<std::string, std::string> files_;
  std::unique_ptr<Disk> disk_ = make_real_disk();
  RealClock clock_;
  Outbox outbox_;
  Members members_;
  DigestBook digests_;
  BulkServer bulk_{[](BulkAddress* at) -> StatusOr<std::unique_ptr<BulkChannel>> {
    SCYPER_ASSIGN_OR_RETURN(auto channel, RdmaBulkChannel::offer(bulk_options(0)));
    *at = channel->address();
    return std::unique_ptr<BulkChannel>(std::move(channel));
  }};
  std::shared_ptr<grpc::Service> publisher_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// The source's device goes: by gRPC, from the byte where it was. It comes back: the next one goes by it.
TEST_F(SeedingVmTest, InterruptedAndResumed) {
  const auto link = this->link();
  ASSERT_TRUE(link->join(nullptr).ok());
  bool is_gone = false;
  uint64_t last = 0, total = 0;
  auto fetched = link->fetch_archive(kBulkVmCluster, disk_.get(), "/tmp/seeding/to", [&](uint64_t bytes, uint64_t of) {
    last = bytes;
    total = of;
    if (bytes > size_t{3} << 20 && !std::exchange(is_gone, true)) remove_device(0);
  });
  if (is_gone) add_device(0);
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  EXPECT_TRUE(is_gone);
  EXPECT_EQ(last, total);  // no byte twice
  expect_files(*fetched);
  const BulkInfo bulk = link->bulk();
  EXPECT_NE(bulk.note, "");
  EXPECT_GT(bulk.bytes, uint64_t{2} << 20);
  EXPECT_LT(bulk.bytes, total);
  std::filesystem::remove_all("/tmp/seeding/to");
  const auto again = this->link();
  ASSERT_TRUE(again->join(nullptr).ok());
  fetched = again->fetch_archive(kBulkVmCluster, disk_.get(), "/tmp/seeding/to", nullptr);
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  expect_files(*fetched);
  EXPECT_EQ(again->bulk().note, "");
  EXPECT_GT(again->bulk().bytes, uint64_t{9} << 20);
}

}  // namespace
}  // namespace scyper::replication
