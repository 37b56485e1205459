// Multicast by RDMA verbs with soft devices (rdma_rxe) on virtual cables of one machine, that of a kernel which has
// them: run_vm boots one, soft_devices makes them. Three receivers behind a bridge; loss, late join, restarts, devices
// that go, forks.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/comes_true.h"
#include "base/test_seed.h"
#include "replication/inbox.h"
#include "replication/multicast.h"
#include "testing/group_maker.h"
#include "testing/soft_devices.h"

namespace scyper::replication {
namespace {

constexpr int kReceivers = 3;
constexpr int kMtu = 4200;  // of the cables (run_vm); what a device makes of it: 4096
constexpr ClusterId kCluster{{1, 2}};

MulticastOptions options_of(int i) {
  MulticastOptions options;
  options.kind = MulticastOptions::Kind::kRdma;
  options.sends = i == 0;
  options.interface = address(i);
  return options;
}
std::shared_ptr<MulticastProcess> start(const MulticastOptions& options) {
  auto started = MulticastProcess::start(options);
  EXPECT_TRUE(started.ok()) << started.status();
  return started.ok() ? std::shared_ptr<MulticastProcess>(*std::move(started)) : nullptr;
}

// The processes that this one has started, with a line of their status.
std::vector<pid_t> children() {
  std::vector<pid_t> all;
  std::ifstream file(absl::StrCat("/proc/self/task/", ::getpid(), "/children"));
  for (pid_t each; file >> each;) all.push_back(each);
  return all;
}
uint64_t status_kb(pid_t pid, const std::string& key) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/status"));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key + ":")) return std::strtoull(line.c_str() + key.size() + 1, nullptr, 10);
  }
  return 0;
}

// Datagrams of all sizes, no more on their way than receivers have room for: all arrive, in order and whole.
void exchange(const std::vector<std::shared_ptr<MulticastProcess>>& ends, int count, uint64_t seed) {
  std::mt19937_64 random(seed);
  const uint32_t bytes_max = ends[0]->datagram_bytes();
  std::string got;
  for (int sent = 0; sent < count;) {
    std::vector<std::string> round;
    for (int i = 0; i < 50; ++i, ++sent) {
      const size_t bytes = random() % 3 == 0 ? 1 + random() % 200 : 1 + random() % bytes_max;
      round.emplace_back(bytes, static_cast<char>('a' + sent % 26));
      ends[0]->send(round.back());
    }
    ends[0]->flush();
    for (size_t i = 1; i < ends.size(); ++i) {
      for (const std::string& expected : round) {
        ASSERT_TRUE(comes_true([&] { return ends[i]->receive(&got, 100); })) << "receiver " << i;
        ASSERT_TRUE(got == expected) << "receiver " << i << ": " << got.size() << " bytes of " << expected.size();
      }
    }
  }
}

std::vector<std::shared_ptr<MulticastProcess>> start_all(const std::function<void(MulticastOptions*)>& change) {
  std::vector<std::shared_ptr<MulticastProcess>> ends;
  for (int i = 0; i <= kReceivers; ++i) {
    MulticastOptions options = options_of(i);
    change(&options);
    ends.push_back(start(options));
  }
  return ends;
}

TEST(RdmaVmTest, ThreeReceivers) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  for (const bool is_polling : {false, true}) {
    const auto ends = start_all([&](MulticastOptions* options) { options->rdma.is_polling = is_polling; });
    for (const auto& end : ends) ASSERT_NE(end, nullptr);
    EXPECT_EQ(ends[0]->datagram_bytes(), 4096u);
    exchange(ends, is_polling ? 300 : 1500, seed);
    for (const auto& end : ends) EXPECT_EQ(end->counters().dropped, 0u);
  }
}

// One queue pair in several groups: who joins some of them gets what is sent to those, and no more.
TEST(RdmaVmTest, EachReceiverGetsItsChannels) {
  constexpr uint32_t kChannels = 3;
  const std::vector<uint64_t> joined = {0, 0b111, 0b011, 0b101};  // the sender's is not asked
  std::vector<std::shared_ptr<MulticastProcess>> ends;
  for (int i = 0; i <= kReceivers; ++i) {
    MulticastOptions options = options_of(i);
    options.channels = kChannels;
    options.joined = joined[static_cast<size_t>(i)];
    ends.push_back(start(options));
    ASSERT_NE(ends.back(), nullptr);
  }
  std::string got;
  for (uint32_t round = 0; round < 20; ++round) {
    std::vector<std::string> sent;
    for (uint32_t i = 0; i < 30; ++i) {
      sent.emplace_back(100 + 50 * i, static_cast<char>('a' + (round + i) % 26));
      ends[0]->send(sent.back(), i % kChannels);
    }
    ends[0]->flush();
    for (size_t end = 1; end < ends.size(); ++end) {
      for (uint32_t i = 0; i < sent.size(); ++i) {
        if (!has_channel(joined[end], i % kChannels)) continue;
        ASSERT_TRUE(comes_true([&] { return ends[end]->receive(&got, 100); })) << "receiver " << end;
        ASSERT_TRUE(got == sent[i]) << "receiver " << end << ", datagram " << i << ": " << got.size() << " bytes";
      }
    }
  }
  for (size_t end = 1; end < ends.size(); ++end) EXPECT_FALSE(ends[end]->receive(&got, 100)) << "receiver " << end;
}

// As many joins as there can be are waited for.
TEST(RdmaVmTest, JoinsAllChannels) {
  for (int i = 0; i < 2; ++i) {
    MulticastOptions options = options_of(i);
    options.channels = kChannelsMax;
    options.joined = ~uint64_t{0};
    EXPECT_NE(start(options), nullptr) << i;
    options.group = "group";
    EXPECT_NE(MulticastProcess::start(options).status().message().find("no IPv4 multicast address"), std::string::npos);
  }
}

TEST(RdmaVmTest, DeviceByNameAndWhatDoesNotFit) {
  auto by_name = [](MulticastOptions* options) {
    const char last = options->interface.back();
    options->rdma.device = absl::StrCat("rxe", last - '1', ":1:1");
    options->interface = "";
    options->rdma.datagram_bytes = 1000;
  };
  const auto ends = start_all(by_name);
  for (const auto& end : ends) ASSERT_NE(end, nullptr);
  EXPECT_EQ(ends[0]->datagram_bytes(), 1000u);
  exchange(ends, 200, 1);

  const auto refused = [](const std::string& device, const std::string& interface) {
    MulticastOptions options = options_of(1);
    options.rdma.device = device;
    options.interface = interface;
    return std::string(MulticastProcess::start(options).status().message());
  };
  EXPECT_NE(refused("rxe2", address(1)).find("the interface's address is of device rxe1"), std::string::npos);
  EXPECT_NE(refused("rxe1:2", address(1)).find("the interface's address is of port 1"), std::string::npos);
  EXPECT_NE(refused("rxe1:1:200", "").find("no port that is asked for"), std::string::npos);
  EXPECT_NE(refused("mlx5_0", "").find("no port that is asked for"), std::string::npos);
  EXPECT_NE(refused("", "10.9.9.9").find("no RDMA device has the interface's address"), std::string::npos);
}

// The soft device takes the largest MTU that fits into the cable's.
TEST(RdmaVmTest, SmallerPathMtu) {
  must("ip link set v0 mtu 1500");
  remove_device(0);
  add_device(0);
  auto end = start(options_of(0));
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->datagram_bytes(), 1024u);
  end.reset();
  must(absl::StrCat("ip link set v0 mtu ", kMtu));
  remove_device(0);
  add_device(0);
}

// Registered memory is told, bounded, and the other process's; this one forks, and its children write all they have.
TEST(RdmaVmTest, ForksWhileRegistered) {
  const auto before = children();
  const auto ends = start_all([](MulticastOptions*) {});
  for (const auto& end : ends) {
    ASSERT_NE(end, nullptr);
    EXPECT_GT(end->counters().registered_bytes, 1u << 20);
    EXPECT_LE(end->counters().registered_bytes, 4u << 20);
  }
  uint64_t pinned_kb = 0;
  for (const pid_t pid : children()) pinned_kb += status_kb(pid, "VmPin");
  EXPECT_GE(pinned_kb * 1024, 4 * ends[0]->counters().registered_bytes / 2);
  EXPECT_EQ(status_kb(::getpid(), "VmPin"), 0u);
  std::vector<char> memory(size_t{8} << 20, 'm');
  std::vector<pid_t> forked;
  for (int i = 0; i < 10; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (size_t at = 0; at < memory.size(); at += 4096) memory[at] = 'c';
      ::usleep(20'000);
      ::_exit(0);
    }
    forked.push_back(child);
    exchange(ends, 100, static_cast<uint64_t>(i));
  }
  for (const pid_t child : forked) ::waitpid(child, nullptr, 0);
}

// --- the redo path: groups in datagrams to inboxes, what is lost is fetched ---

// A primary's log, as far as a repair needs it.
class Log {
 public:
  Parcel make(uint64_t term) {
    std::lock_guard<std::mutex> lock(mutex_);
    // a record's size is its own
    parcels_.push_back(maker_.make(term, {0, 1}, 1 + static_cast<uint32_t>(parcels_.size() % 40)));
    return parcels_.back();
  }
  std::vector<Parcel> fetch(const Inbox::Range& range) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<Parcel> found;
    for (const Parcel& each : parcels_) {
      if (each.complete_lsn > range.after_lsn && each.base_lsn < range.upto_lsn) {
        found.push_back(GroupMaker::fetched(each));
      }
    }
    return found;
  }
  Watermark watermark(uint64_t term, uint64_t term_lsn) {
    std::lock_guard<std::mutex> lock(mutex_);
    return {term, term_lsn, maker_.lsn(), maker_.lsn(), 0};
  }
  uint64_t lsn() {
    std::lock_guard<std::mutex> lock(mutex_);
    return maker_.lsn();
  }
  std::string bytes() {
    std::lock_guard<std::mutex> lock(mutex_);
    std::string all;
    for (const Parcel& each : parcels_) all += *each.bytes;
    return all;
  }

 private:
  std::mutex mutex_;
  GroupMaker maker_{kCluster, [](uint64_t lsn) { return std::string(20 + lsn * 37 % 400, static_cast<char>(lsn)); }};
  std::vector<Parcel> parcels_;
};

class Receiver {
 public:
  Receiver(int i, Log* log, const DatagramKey* key)
      : log_(*log), key_(key), process_(start(options_of(i))), thread_([this] { run(); }) {}
  ~Receiver() {
    is_stopping_ = true;
    thread_.join();
  }
  uint64_t applied_lsn() const { return applied_lsn_; }
  const std::string& bytes() const { return bytes_; }  // once all has been applied
  uint64_t repaired() const { return repaired_; }
  uint64_t by_multicast() const { return by_multicast_; }
  MulticastProcess& process() { return *process_; }

 private:
  void run() {
    if (process_ == nullptr) return;
    Inbox::Start start;
    start.term = 1;
    Inbox inbox(kCluster, start, {});
    DatagramReader reader(kCluster, size_t{8} << 20, key_);
    std::string datagram;
    while (!is_stopping_) {
      if (process_->receive(&datagram, 20)) {
        auto received = reader.read(datagram, inbox.term());
        if (received.watermark.has_value()) inbox.note(*received.watermark);
        if (received.parcel.has_value() && inbox.offer(*std::move(received.parcel)) == Inbox::Verdict::kNew) {
          ++by_multicast_;
        }
      } else if (const auto missing = inbox.missing(); missing.has_value()) {
        for (Parcel& each : log_.fetch(*missing)) {
          if (inbox.offer(std::move(each)) == Inbox::Verdict::kNew) ++repaired_;
        }
      }
      while (const Inbox::Group* group = inbox.next_to_apply()) {
        bytes_ += *group->parcel.bytes;
        inbox.begin_apply(1);
        inbox.applied();
      }
      applied_lsn_ = inbox.applied_lsn();
    }
  }

  Log& log_;
  const DatagramKey* const key_;
  const std::shared_ptr<MulticastProcess> process_;
  std::string bytes_;
  std::atomic<uint64_t> applied_lsn_{0}, repaired_{0}, by_multicast_{0};
  std::atomic<bool> is_stopping_{false};
  std::thread thread_;
};

class RdmaRedoTest : public testing::Test {
 protected:
  RdmaRedoTest() {
    const std::string path = "/tmp/key";
    std::ofstream(path) << std::string(64, '7');
    ::chmod(path.c_str(), 0400);
    auto key = DatagramKey::read(path);
    EXPECT_TRUE(key.ok()) << key.status();
    key_ = *key;
    begin_term(1);
  }
  ~RdmaRedoTest() override {
    for (int i = 1; i <= kReceivers; ++i) lose(i, 0);
  }
  // A primary that has been started: another process, source and counters.
  void begin_term(uint64_t term) {
    transmitter_.reset();
    sender_.reset();
    sender_ = start(options_of(0));
    transmitter_ = std::make_unique<MulticastTransmitter>(kCluster, sender_, &*key_);
    term_ = term;
    term_lsn_ = log_.lsn();
  }
  void join(int i) { receivers_.push_back(std::make_unique<Receiver>(i, &log_, &*key_)); }
  void send(int groups) {
    for (int i = 0; i < groups; ++i) {
      const Parcel parcel = log_.make(term_);
      transmitter_->send(parcel, log_.watermark(term_, term_lsn_));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  // Watermarks go on, as a primary's do, until all have everything.
  void check() {
    for (auto& receiver : receivers_) {
      ASSERT_TRUE(comes_true([&] {
        transmitter_->send(log_.watermark(term_, term_lsn_));
        return receiver->applied_lsn() == log_.lsn();
      })) << receiver->applied_lsn()
          << " of " << log_.lsn() << "; " << receiver->process().trouble();
    }
    for (auto& receiver : receivers_) EXPECT_TRUE(receiver->bytes() == log_.bytes());
  }
  // Whether groups come by multicast (again).
  bool hears(Receiver* receiver) {
    const uint64_t before = receiver->by_multicast();
    return comes_true([&] {
      send(1);
      return receiver->by_multicast() > before;
    });
  }

  Log log_;
  std::optional<DatagramKey> key_;
  uint64_t term_ = 1, term_lsn_ = 0;
  std::shared_ptr<MulticastProcess> sender_;
  std::unique_ptr<MulticastTransmitter> transmitter_;
  std::vector<std::unique_ptr<Receiver>> receivers_;
};

TEST_F(RdmaRedoTest, LossIsRepaired) {
  for (int i = 1; i <= kReceivers; ++i) join(i);
  for (const auto& receiver : receivers_) ASSERT_TRUE(hears(receiver.get()));
  for (int i = 1; i <= kReceivers; ++i) lose(i, 10);
  send(150);
  for (int i = 1; i <= kReceivers; ++i) lose(i, 0);
  check();
  for (const auto& receiver : receivers_) {
    EXPECT_GT(receiver->repaired(), 0u);
    EXPECT_GT(receiver->by_multicast(), 0u);
  }
}

TEST_F(RdmaRedoTest, LateJoinAndRestartedSender) {
  join(1);
  send(50);
  join(2);  // what was before comes by the other way
  ASSERT_TRUE(hears(receivers_[0].get()));
  ASSERT_TRUE(hears(receivers_[1].get()));
  check();
  // the process is killed, and another one started
  const uint64_t restarts = sender_->counters().restarts;
  for (const pid_t pid : children()) {
    std::ifstream file(absl::StrCat("/proc/", pid, "/cmdline"));
    std::ostringstream text;
    text << file.rdbuf();
    if (text.str().find(std::string("\0send\0", 6)) != std::string::npos) ::kill(pid, SIGKILL);
  }
  ASSERT_TRUE(comes_true([&] { return sender_->counters().restarts > restarts; }));
  for (const auto& receiver : receivers_) ASSERT_TRUE(hears(receiver.get()));
  check();
  // a new primary
  begin_term(2);
  for (const auto& receiver : receivers_) ASSERT_TRUE(hears(receiver.get()));
  check();
}

TEST_F(RdmaRedoTest, DevicesThatGoAndComeBack) {
  for (int i = 1; i <= kReceivers; ++i) join(i);
  for (const auto& receiver : receivers_) ASSERT_TRUE(hears(receiver.get()));
  remove_device(2);  // a receiver's
  ASSERT_TRUE(comes_true([&] { return !receivers_[1]->process().trouble().empty(); }));
  EXPECT_EQ(receivers_[1]->process().counters().registered_bytes, 0u);
  ASSERT_TRUE(hears(receivers_[0].get()));
  ASSERT_TRUE(hears(receivers_[2].get()));
  add_device(2);
  ASSERT_TRUE(hears(receivers_[1].get()));
  EXPECT_TRUE(receivers_[1]->process().trouble().empty());
  remove_device(0);  // the sender's
  ASSERT_TRUE(comes_true([&] { return !sender_->trouble().empty(); })) << sender_->trouble();
  send(20);
  add_device(0);
  for (const auto& receiver : receivers_) ASSERT_TRUE(hears(receiver.get()));
  check();
}

}  // namespace
}  // namespace scyper::replication
