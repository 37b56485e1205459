// Both ends of replication over gRPC, with the threads that they have in a node.

#include "replication/link.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/free_port.h"
#include "base/simulated_disk.h"
#include "base/test_seed.h"
#include "replication/bulk_server.h"
#include "replication/inbox.h"
#include "replication/peer_publisher.h"
#include "replication/publisher.h"
#include "testing/link_fixture.h"

namespace scyper::replication {
namespace {

constexpr uint64_t kGroups = 2000;

// The log writer sends and confirms by what the followers report, two of them, while others look.
TEST_F(LinkTest, FollowersReportAndTheLogWriterConfirms) {
  std::vector<std::thread> threads;
  std::atomic<bool> is_over{false};
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([this, i] {
      auto link = this->link(absl::StrCat("s", i));
      auto joined = link->join(nullptr);
      ASSERT_TRUE(joined.ok()) << joined.status();
      std::mutex mutex;
      Inbox inbox(kCluster, {}, {});
      std::thread reports([&] {
        bool is_done = false;
        Status status = link->attend([&]() -> std::optional<Position> {
          if (is_done) return std::nullopt;
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          std::lock_guard<std::mutex> lock(mutex);
          Position position;
          position.term = 1;
          position.received_lsn = inbox.received_lsn();
          position.applied_lsn = inbox.applied_lsn();
          is_done = inbox.applied_lsn() == kGroups * kRecords;
          return position;
        });
        EXPECT_TRUE(status.ok()) << status;
      });
      Status status = link->follow(kCluster, 0, 0, [&](std::vector<Parcel> parcels, const Watermark& watermark) {
        std::lock_guard<std::mutex> lock(mutex);
        inbox.note(watermark);
        for (Parcel& parcel : parcels) EXPECT_EQ(inbox.offer(std::move(parcel)), Inbox::Verdict::kNew);
        size_t count = 0;
        while (inbox.next_to_apply(count) != nullptr) ++count;
        inbox.begin_apply(count);
        inbox.applied();
        return inbox.applied_lsn() < kGroups * kRecords;
      });
      EXPECT_TRUE(status.ok()) << status;
      reports.join();
    });
  }
  std::thread looks([&] {
    while (!is_over) {
      static_cast<void>(members_.list());
      static_cast<void>(outbox_.bytes_behind(10));
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  for (uint64_t i = 0; i < kGroups; ++i) {
    send_group();
    outbox_.confirm(std::min(outbox_.watermark().complete_lsn, members_.confirmed_lsn(1, false)));
    outbox_.beat(clock_.monotonic_ns(), clock_.now_us());
    if (i % 64 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  while (outbox_.watermark().commit_lsn < kGroups * kRecords) {
    outbox_.confirm(std::min(outbox_.watermark().complete_lsn, members_.confirmed_lsn(1, false)));
    outbox_.beat(clock_.monotonic_ns(), clock_.now_us());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (std::thread& thread : threads) thread.join();
  is_over = true;
  looks.join();
}

// Where no commit waits for them, positions need not come often; nobody knows so of a primary that has said nothing.
TEST_F(LinkTest, APrimarySaysWhetherItWaitsForPositions) {
  send_group();
  for (const bool awaits : {true, false}) {
    awaits_positions(awaits);
    auto link = this->link("s");
    EXPECT_TRUE(link->awaits_positions());
    Status status = link->follow(kCluster, 0, 0,
                                 [](const std::vector<Parcel>& parcels, const Watermark&) { return parcels.empty(); });
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(link->awaits_positions(), awaits);
    link->redirect(absl::StrCat("127.0.0.1:", port_));  // to another one, perhaps
    EXPECT_TRUE(link->awaits_positions());
  }
}

// Without a key for multicast secondaries have terms and commit points from here alone.
TEST_F(LinkTest, APrimarySaysHowFarItIs) {
  send_group();
  outbox_.confirm(kRecords);
  outbox_.beat(clock_.monotonic_ns(), clock_.now_us());
  EXPECT_TRUE(absl::IsUnimplemented(link("s")->watermark().status()));
  says_current_ = true;
  awaits_positions(true);  // begins anew
  const auto found = link("s")->watermark();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->term, 1u);
  EXPECT_EQ(found->complete_lsn, kRecords);
  EXPECT_EQ(found->commit_lsn, kRecords);
  // of a primary that an election has not named
  LinkOptions options;
  options.target = absl::StrCat("127.0.0.1:", port_);
  options.node = "s";
  options.admits = [](uint64_t term, const std::string&) { return term != 1; };
  EXPECT_TRUE(absl::IsUnavailable(Link::make(options)->watermark().status()));
}

// Who differs is told so, whichever digest comes first; who comes again is heard.
TEST_F(LinkTest, ADifferentStateEndsTheAttendance) {
  for (const bool own_first : {true, false}) {
    const uint64_t lsn = own_first ? 10 : 20;
    const StateDigest own{1, 1, lsn, {{"t", 0, 1, 2, 3}}};
    auto other = std::make_shared<StateDigest>(own);
    other->parts[0].lo = 5;
    if (own_first) digests_.add_own(own);
    auto link = this->link("s");
    int reports = 0;
    Status status = link->attend([&]() -> std::optional<Position> {
      if (++reports > 60'000) return std::nullopt;  // a minute
      if (reports == 3 && !own_first) digests_.add_own(own);
      if (reports > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      Position position;
      if (reports == 1) position.digest = other;
      return position;
    });
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_NE(status.message().find("partition 0 of t"), absl::string_view::npos);
    EXPECT_TRUE(members_.list().empty());
  }
  EXPECT_EQ(digests_.comparisons()["s"].different, 2u);
  auto link = this->link("s");
  int reports = 0;
  Status status = link->attend(
      [&]() -> std::optional<Position> { return ++reports > 3 ? std::nullopt : std::optional<Position>(Position()); });
  EXPECT_TRUE(status.ok()) << status;
}

// A fetched archive counts when it is whole, and stays when it counts.
TEST_F(LinkTest, AFetchedArchiveIsThereWholeOrNotAtAll) {
  const std::string directory = "/00000000000000000010";
  const std::map<std::string, std::string> files = {{"MANIFEST", std::string(3000, 'm')},
                                                    {"t1.10.dat", std::string(9000, 'd')}};
  SimulatedDisk to;
  ASSERT_TRUE(to.make_directory("/to").ok());
  ASSERT_TRUE(to.sync_directory("/").ok());
  auto link = this->link("s");
  auto fetch = [&] { return link->fetch_archive(kCluster, &to, "/to", nullptr).status(); };
  EXPECT_TRUE(absl::IsNotFound(fetch()));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    archive_ = directory;  // that has gone when its files are read: no "there is none"
  }
  EXPECT_TRUE(absl::IsAborted(fetch())) << fetch();
  ASSERT_TRUE(disk_.make_directory(directory).ok());
  for (const auto& [name, bytes] : files) {
    auto file = disk_.open(directory + "/" + name, OpenMode::kCreate);
    ASSERT_TRUE(file.ok() && (*file)->write(0, bytes).ok());
  }
  auto look = [&](bool has_returned) {
    for (uint64_t luck = 0; luck < 20; ++luck) {
      auto image = to.after_power_loss(luck);
      const bool is_there = image->exists("/to" + directory + "/MANIFEST");
      EXPECT_TRUE(is_there || !has_returned);
      for (const auto& [name, bytes] : files) {
        if (!is_there) continue;
        auto found = image->read_file("/to" + directory + "/" + name);
        EXPECT_TRUE(found.ok() && *found == bytes) << name;
      }
    }
  };
  to.set_observer([&] { look(/*has_returned=*/false); });
  Status status = fetch();
  to.set_observer(nullptr);
  ASSERT_TRUE(status.ok()) << status;
  look(/*has_returned=*/true);
}

// Another one may send its own: no error of this node's disk, nor of the archive.
TEST_F(LinkTest, APrimaryThatGoesWhileItSendsItsArchiveIsSaidToHaveGone) {
  call_us_ = 300'000;
  archive_ = "/00000000000000000010";
  ASSERT_TRUE(disk_.make_directory(archive_).ok());
  for (const char* name : {"/MANIFEST", "/t1.10.dat"}) {
    auto file = disk_.open(archive_ + name, OpenMode::kCreate);
    ASSERT_TRUE(file.ok() && (*file)->write(0, std::string(size_t{32} << 20, 'd')).ok());
  }
  SimulatedDisk to;
  ASSERT_TRUE(to.make_directory("/to").ok());
  bool has_gone = false;
  Status status = link("s")
                      ->fetch_archive(kCluster, &to, "/to",
                                      [&](uint64_t, uint64_t) {
                                        if (std::exchange(has_gone, true)) return;
                                        server_->Shutdown(std::chrono::system_clock::now());
                                      })
                      .status();
  EXPECT_TRUE(has_gone);
  EXPECT_EQ(sqlstate_of(status), "08006") << status;
}

// A primary that is stopped in the middle and started anew, and a channel that breaks: it goes on at the byte.
TEST_F(LinkTest, AnArchiveGoesOnAtTheByteWhereItWas) {
  const auto files = archive_files();
  make_archive(files);
  uint64_t total = 0;
  for (const auto& [name, bytes] : files) total += bytes.size();
  call_us_ = 60'000'000;
  for (const bool has_bulk : {false, true}) {
    has_bulk_ = has_bulk;
    SimulatedDisk to;
    ASSERT_TRUE(to.make_directory("/to").ok());
    auto link = this->link(absl::StrCat("s", has_bulk));
    ASSERT_TRUE(link->join(nullptr).ok());
    uint64_t last = 0, of = 0;
    int interruptions = 0;
    auto fetched = link->fetch_archive(kCluster, &to, "/to", [&](uint64_t bytes, uint64_t all) {
      EXPECT_GE(bytes, last);
      last = bytes;
      of = all;
      if (bytes < (interruptions == 0 ? total / 4 : total / 2) || interruptions == 2) return;
      if (++interruptions == 1 && has_bulk) return pair_->cut();
      server_->Shutdown(std::chrono::system_clock::now());
      serve(true);
    });
    ASSERT_TRUE(fetched.ok()) << fetched.status();
    EXPECT_EQ(interruptions, 2);
    EXPECT_EQ(last, total);  // no byte came twice
    EXPECT_EQ(of, total);
    expect_archive(&to, files);
    EXPECT_EQ(link->bulk().bytes > 0, has_bulk);
    EXPECT_EQ(bulk_.bytes_sent() > 0, has_bulk);
    // A broken channel may be open again by now, and its note gone.
    if (!has_bulk) EXPECT_NE(link->bulk().note, "");
  }
}

TEST_F(LinkTest, WithoutADeviceItGoesByGrpcAndSaysWhy) {
  const auto files = archive_files();
  make_archive(files);
  SimulatedDisk to;
  ASSERT_TRUE(to.make_directory("/to").ok());
  auto link = this->link("s");
  auto joined = link->join(nullptr);
  ASSERT_TRUE(joined.ok() && joined->has_bulk) << joined.status();
  ASSERT_TRUE(link->fetch_archive(kCluster, &to, "/to", nullptr).ok());
  expect_archive(&to, files);
  EXPECT_EQ(link->bulk().note, "no device in this test");
  EXPECT_EQ(bulk_.trouble(), "no device in this test");
  EXPECT_EQ(link->bulk().bytes, 0u);
}

// Large groups by the channel, small ones beside their announcement, in order; and by gRPC behind the channel's end.
TEST_F(LinkTest, TheLogComesByTheChannelToo) {
  has_bulk_ = true;
  auto link = this->link("s");
  ASSERT_TRUE(link->join(nullptr).ok());
  std::mt19937_64 random(test_seed());
  std::string sent;
  const auto send = [&](size_t bytes) {
    std::string group(bytes, '\0');
    for (char& each : group) each = static_cast<char>(random());
    sent += group;
    outbox_.send(group, outbox_.watermark().complete_lsn + kRecords, 0, 0);
  };
  for (int i = 0; i < 8; ++i) send(i % 2 == 0 ? size_t{100'000} : size_t{500});
  std::string got;
  bool is_cut = false;
  uint64_t lsn = 0;
  while (got.size() < sent.size() || !is_cut) {
    const Status status = link->follow(kCluster, lsn, 0, [&](std::vector<Parcel> parcels, const Watermark&) {
      for (Parcel& each : parcels) {
        got += *each.bytes;
        lsn += kRecords;
      }
      if (got.size() < sent.size()) return true;
      if (std::exchange(is_cut, true)) return false;
      pair_->cut();
      send(200'000);
      return true;
    });
    ASSERT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
  }
  EXPECT_TRUE(got == sent);
  EXPECT_GT(link->bulk().bytes, uint64_t{300'000});
  // another node's channel is its own
  auto other = this->link("other");
  ASSERT_TRUE(other->join(nullptr).ok());
  const Status status =
      other->follow(kCluster, 0, lsn, [](const std::vector<Parcel>&, const Watermark&) { return true; });
  EXPECT_TRUE(status.ok()) << status;
  const uint64_t before = other->bulk().bytes;
  EXPECT_GT(before, uint64_t{300'000});
  // and another primary's
  other->redirect(absl::StrCat("127.0.0.1:", port_));
  EXPECT_TRUE(other->follow(kCluster, 0, lsn, [](const std::vector<Parcel>&, const Watermark&) { return true; }).ok());
  EXPECT_GT(other->bulk().bytes, before);
  EXPECT_EQ(other->bulk().note, "");
}

// gRPC itself refuses for a tenth of a second more.
TEST_F(LinkTest, WhoWasRefusedIsServedByTheNextCallOnceSomebodyListens) {
  int port = free_port();
  LinkOptions options;
  options.target = absl::StrCat("127.0.0.1:", port);
  options.node = "s";
  auto link = Link::make(options);
  const auto follow = [&] {
    return link->follow(kCluster, 0, 0, [](const std::vector<Parcel>&, const Watermark&) { return false; });
  };
  EXPECT_TRUE(absl::IsUnavailable(follow()));
  auto second = serve_on_loopback(publisher_.get(), &port);
  ASSERT_NE(second, nullptr);
  const Status status = follow();
  EXPECT_TRUE(status.ok()) << status;
  outbox_.stop();
  second->Shutdown(std::chrono::system_clock::now());
}

TEST_F(LinkTest, CancelEndsWhoeverWaits) {
  auto link = this->link("s");
  std::thread follows([&] {
    Status status = link->follow(kCluster, 0, 0, [](const std::vector<Parcel>&, const Watermark&) { return true; });
    EXPECT_FALSE(status.ok());
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  link->cancel();
  follows.join();
  EXPECT_FALSE(link->join(nullptr).ok());
}

// Another secondary, which follows the primary of term 1.
class PeerTest : public LinkTest {
 protected:
  PeerTest() {
    PeerPublisherOptions options;
    options.cluster = kCluster;
    options.node = "peer";
    options.disk = &disk_;
    options.newest_archive = [this](uint64_t term) -> StatusOr<std::string> {
      if (term != 1) return absl::FailedPreconditionError("another primary");
      std::lock_guard<std::mutex> lock(mutex_);
      return archive_.empty() ? StatusOr<std::string>(absl::NotFoundError("none")) : StatusOr<std::string>(archive_);
    };
    options.read_log = [this](uint64_t term, uint64_t after_lsn, uint64_t upto_lsn,
                              const std::function<bool(Parcel)>& each) -> Status {
      if (term != 1) return absl::FailedPreconditionError("another primary");
      std::lock_guard<std::mutex> lock(mutex_);
      if (log_.empty() || log_.back().complete_lsn <= after_lsn) return absl::OutOfRangeError("not here");
      for (const Parcel& parcel : log_) {
        if (parcel.complete_lsn <= after_lsn) continue;
        if (!each(parcel) || parcel.complete_lsn >= upto_lsn) break;
      }
      return Status();
    };
    options.is_stopped = [this] { return is_stopped_.load(); };
    peer_publisher_ = make_peer_publisher(options);
    peer_server_ = serve_on_loopback(peer_publisher_.get(), &peer_port_);
  }
  ~PeerTest() override { stop_peer(); }
  void stop_peer() {
    is_stopped_ = true;
    if (peer_server_ != nullptr) peer_server_->Shutdown(std::chrono::system_clock::now());
  }
  std::unique_ptr<Link> peer_link(uint64_t term) const {
    LinkOptions options;
    options.target = absl::StrCat("127.0.0.1:", peer_port_);
    options.node = "s";
    options.call_us = 60'000'000;  // a busy machine is no peer that hangs
    options.peer_term = term;
    return Link::make(options);
  }
  // What a range brings, by the last LSN; nothing where it fails.
  StatusOr<uint64_t> follow(Link* link, uint64_t after_lsn, uint64_t upto_lsn, const ClusterId& cluster = kCluster) {
    uint64_t last = 0;
    SCYPER_RETURN_IF_ERROR(
        link->follow(cluster, after_lsn, upto_lsn, [&](std::vector<Parcel> parcels, const Watermark& watermark) {
          EXPECT_EQ(watermark.term, 1u);
          EXPECT_EQ(watermark.commit_lsn, 0u);
          for (Parcel& parcel : parcels) {
            EXPECT_TRUE(open_parcel(kCluster, &parcel).ok());
            last = parcel.complete_lsn;
          }
          return true;
        }));
    return last;
  }

  std::vector<Parcel> log_;
  std::atomic<bool> is_stopped_{false};
  std::shared_ptr<grpc::Service> peer_publisher_;
  int peer_port_ = 0;
  std::unique_ptr<grpc::Server> peer_server_;
};

TEST_F(PeerTest, GivesTheHistoryOfThePrimaryThatIsNamed) {
  const auto files = archive_files();
  make_archive(files);
  for (int i = 0; i < 10; ++i) send_group();
  log_ = outbox_.read(0, {}, size_t{1} << 20, std::chrono::milliseconds(0)).parcels;
  SimulatedDisk to;
  ASSERT_TRUE(to.make_directory("/to").ok());
  auto link = peer_link(1);
  auto fetched = link->fetch_archive(kCluster, &to, "/to", nullptr);
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  expect_archive(&to, files);
  auto got = follow(link.get(), 2 * kRecords, 5 * kRecords);
  EXPECT_TRUE(got.ok() && *got == 5 * kRecords) << got.status();
  EXPECT_TRUE(absl::IsOutOfRange(follow(link.get(), 10 * kRecords, 11 * kRecords).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(follow(link.get(), 0, 0).status()));  // only a primary is followed
  EXPECT_TRUE(absl::IsFailedPrecondition(follow(link.get(), 0, 6, ClusterId{{7, 8}}).status()));
  for (const uint64_t term : {uint64_t{0}, uint64_t{2}}) {
    // who names none takes it for a primary, and looks for that elsewhere
    const auto is_refused = [&](const Status& status) {
      return term == 0 ? absl::IsUnimplemented(status) : absl::IsFailedPrecondition(status);
    };
    auto other = peer_link(term);
    EXPECT_TRUE(is_refused(follow(other.get(), 0, 6).status())) << term;
    SimulatedDisk nowhere;
    ASSERT_TRUE(nowhere.make_directory("/to").ok());
    EXPECT_TRUE(is_refused(other->fetch_archive(kCluster, &nowhere, "/to", nullptr).status())) << term;
    EXPECT_FALSE(nowhere.exists("/to" + archive_));
  }
}

// It is not waited for, as a primary is: there are others to ask.
TEST_F(PeerTest, OneThatDiesInTheMiddleIsGivenUp) {
  make_archive(archive_files());
  SimulatedDisk to;
  ASSERT_TRUE(to.make_directory("/to").ok());
  bool has_gone = false;
  const Status status = peer_link(1)
                            ->fetch_archive(kCluster, &to, "/to",
                                            [&](uint64_t, uint64_t) {
                                              if (!std::exchange(has_gone, true)) stop_peer();
                                            })
                            .status();
  EXPECT_TRUE(has_gone);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(sqlstate_of(status), "08006") << status;
  EXPECT_FALSE(to.exists("/to" + archive_ + "/MANIFEST"));
}

// A primary tells who else follows it in its term, the asking one aside, and how new archives are; asked as a secondary
// that it is no more, it answers for its own term only.
TEST_F(PeerTest, ThePrimaryNamesThem) {
  make_archive({{"MANIFEST", "m"}});
  send_group();
  const auto enter = [this](const std::string& name, uint64_t term, uint64_t archive_lsn) {
    Member member;
    member.name = name;
    member.address = name + ":1";
    Position position;
    position.term = term;
    position.received_lsn = 2;
    position.archive_lsn = archive_lsn;
    members_.report(members_.enter(member), position, clock_.monotonic_ns());
  };
  enter("s", 1, 0);
  enter("a", 1, 7);
  enter("of another history", 0, 9);
  auto link = this->link("s");
  auto joined = link->join(nullptr);
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->archive_lsn, 10u);
  EXPECT_EQ(joined->watermark.term, 1u);
  EXPECT_EQ(joined->watermark.complete_lsn, kRecords);
  auto peers = link->peers(kCluster);
  ASSERT_TRUE(peers.ok()) << peers.status();
  ASSERT_EQ(peers->size(), 1u);
  EXPECT_EQ(peers->front().node, "a");
  EXPECT_EQ(peers->front().address, "a:1");
  EXPECT_EQ(peers->front().archive_lsn, 7u);
  EXPECT_EQ(joined->peers.size(), 1u);
  LinkOptions options;
  options.target = absl::StrCat("127.0.0.1:", port_);
  options.peer_term = 2;
  EXPECT_TRUE(absl::IsFailedPrecondition(follow(Link::make(options).get(), 0, kRecords).status()));
  options.peer_term = 1;
  auto got = follow(Link::make(options).get(), 0, kRecords);
  EXPECT_TRUE(got.ok() && *got == kRecords) << got.status();
}

}  // namespace
}  // namespace scyper::replication
