// What secondaries with a subscription get of a primary, over real gRPC.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "replication/inbox.h"
#include "testing/group_maker.h"
#include "testing/link_fixture.h"

namespace scyper::replication {
namespace {

using PartialLinkTest = LinkTest;

PartitionSet partition(uint32_t number) {
  PartitionSet set;
  set.add(number);
  return set;
}

// Each group as it came, of a range of LSNs.
std::vector<std::string> follow_groups(Link* link, uint64_t after_lsn, uint64_t upto_lsn) {
  std::vector<std::string> groups;
  const Status status =
      link->follow(kCluster, after_lsn, upto_lsn, [&](const std::vector<Parcel>& parcels, const Watermark&) {
        for (const Parcel& parcel : parcels) groups.push_back(*parcel.bytes);
        return true;
      });
  EXPECT_TRUE(status.ok()) << status;
  return groups;
}

// From memory, from files and by the channel for bulk data the bodies of other partitions do not travel.
TEST_F(PartialLinkTest, ASubscriptionTakesTheBodiesOfItsPartitions) {
  takes_partial_ = has_bulk_ = true;
  awaits_positions(true);
  std::mt19937_64 random(test_seed());
  GroupMaker primary(kCluster, [&](uint64_t) {
    std::string record(random() % 20'000, '\0');
    for (char& each : record) each = static_cast<char>(random());
    return record;
  });
  uint64_t held_lsn = 0;  // behind it the outbox has all
  for (int i = 0; i < 60; ++i) {
    std::vector<uint32_t> streams;
    while (streams.empty() || random() % 3 != 0) streams.push_back(static_cast<uint32_t>(random() % 3));
    const Parcel parcel = primary.make(1, streams, 2);
    files_.push_back(parcel);
    outbox_.send(*parcel.bytes, parcel.complete_lsn, 0, 0);
    if (outbox_.bytes_held() < outbox_.bytes_sent() && held_lsn == 0) held_lsn = parcel.complete_lsn;
  }
  ASSERT_GT(held_lsn, 0u);  // some of it comes from the files
  uint64_t whole_bytes = 0;
  for (uint32_t number : {0u, 1u}) {
    auto link = this->link(absl::StrCat("s", number), partition(number));
    auto joined = link->join(nullptr);
    ASSERT_TRUE(joined.ok()) << joined.status();
    Inbox::Options options;
    options.partitions = partition(number);
    Inbox inbox(kCluster, {}, options);
    inbox.note({1, 0, primary.lsn(), primary.lsn(), 0});
    const std::vector<std::string> groups = follow_groups(link.get(), 0, primary.lsn());
    ASSERT_EQ(groups.size(), files_.size());
    uint64_t bytes = 0;
    for (size_t i = 0; i < groups.size(); ++i) {
      const Parcel expected = *partial_parcel(files_[i], partition(number));
      EXPECT_TRUE(groups[i] == *expected.bytes) << i;
      bytes += groups[i].size();
      whole_bytes += number == 0 ? files_[i].bytes->size() : 0;
      Parcel parcel;
      parcel.bytes = std::make_shared<const std::string>(groups[i]);
      EXPECT_EQ(inbox.offer(std::move(parcel)), Inbox::Verdict::kNew);
    }
    EXPECT_EQ(inbox.received_lsn(), primary.lsn());
    EXPECT_LT(bytes, whole_bytes * 9 / 10);
    EXPECT_GT(link->bulk().bytes, 0u);
    EXPECT_LE(link->bulk().bytes, bytes);
    // a range, as for a repair
    const auto repair = follow_groups(link.get(), files_[40].base_lsn, files_[41].complete_lsn);
    ASSERT_EQ(repair.size(), 2u);
    EXPECT_TRUE(repair[1] == groups[41]);
  }
}

// Who is refused is told why, whichever call it is; what a primary does not know it does not refuse: it is seen here.
TEST_F(PartialLinkTest, SubscriptionsAreRefusedWhereNoneAreGiven) {
  send_group();
  make_archive({{"MANIFEST", "m"}});
  for (const bool takes : {false, true}) {
    takes_partial_ = takes;
    awaits_positions(true);
    auto link = this->link("s", partition(takes ? 2 : 1));
    const auto is_refusal = [&](const Status& status) {
      return takes ? absl::IsInvalidArgument(status) : absl::IsFailedPrecondition(status);
    };
    const Status joined = link->join(nullptr).status();
    EXPECT_EQ(sqlstate_of(joined), takes ? "22023" : "55000") << joined;
    EXPECT_NE(joined.message().find(takes ? "no partition 2" : "partial_secondaries is off"), absl::string_view::npos)
        << joined;
    const Status followed = link->follow(kCluster, 0, kRecords, [](const auto&, const Watermark&) { return true; });
    EXPECT_TRUE(is_refusal(followed)) << followed;
    SimulatedDisk to;
    EXPECT_TRUE(is_refusal(link->fetch_archive(kCluster, &to, "/to", nullptr).status()));
    EXPECT_FALSE(to.exists("/to"));
    EXPECT_TRUE(this->link("s")->join(nullptr).ok());  // all partitions are always given
    EXPECT_EQ(this->link("s", partition(1))->join(nullptr).ok(), takes);
  }
}

// It is nobody's copy and gives nothing: others do not hear of it, and no commit counts it.
TEST_F(PartialLinkTest, WhoHasSomePartitionsIsNeitherPeerNorVoter) {
  takes_partial_ = true;
  awaits_positions(true);
  for (const bool is_partial : {true, false}) {
    LinkOptions options;
    options.target = absl::StrCat("127.0.0.1:", port_);
    options.node = "s";
    options.address = "s:1";
    options.is_voter = true;
    if (is_partial) options.partitions = partition(1);
    auto link = Link::make(options);
    int reports = 0;
    size_t peers = 0;
    const Status status = link->attend([&]() -> std::optional<Position> {
      Position position;
      position.term = 1;
      position.received_lsn = 10;
      if (++reports == 1) return position;
      while (members_.list().empty() || members_.list().front().seen_ns == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      const Member member = members_.list().front();
      EXPECT_EQ(member.is_voter, !is_partial);
      EXPECT_EQ(member.partitions.is_all(), !is_partial);
      EXPECT_TRUE(member.partitions.has(1));
      EXPECT_EQ(members_.confirmed_lsn(1, false), is_partial ? 0u : 10u);
      peers = this->link("other")->join(nullptr)->peers.size();
      return std::nullopt;
    });
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(peers, is_partial ? 0u : 1u);
  }
}

// With gaps where other partitions are, each file as long as it was; interrupted, it goes on at the byte.
TEST_F(PartialLinkTest, OfAnArchiveOnlyWhatASubscriptionNeedsIsSent) {
  takes_partial_ = true;
  awaits_positions(true);
  const auto files = archive_files();
  make_archive(files);
  const uint64_t mb = uint64_t{1} << 20;
  archive_parts_ = {{"t1.10.dat", {{1000, 2 * mb + 5}, {3 * mb, 4 * mb + 7}}}, {"t2.10.dat", {{5 * mb, 6 * mb}}}};
  auto expected = files;
  expected.erase("empty");
  uint64_t total = files.at("MANIFEST").size();
  for (const auto& [name, ranges] : archive_parts_) {
    std::string bytes(files.at(name).size(), '\0');
    for (const auto& [begin, end] : ranges) {
      bytes.replace(begin, end - begin, files.at(name), begin, end - begin);
      total += end - begin;
    }
    expected[name] = bytes;
  }
  for (const bool has_bulk : {false, true}) {
    has_bulk_ = has_bulk;
    SimulatedDisk to;
    ASSERT_TRUE(to.make_directory("/to").ok());
    auto link = this->link(absl::StrCat("s", has_bulk), partition(1));
    ASSERT_TRUE(link->join(nullptr).ok());
    call_us_ = 60'000'000;
    uint64_t last = 0, of = 0;
    int interruptions = 0;
    const auto fetched = link->fetch_archive(kCluster, &to, "/to", [&](uint64_t bytes, uint64_t all) {
      EXPECT_GE(bytes, last);
      last = bytes;
      of = all;
      if (bytes < total * static_cast<uint64_t>(interruptions + 1) / 4 || interruptions == 2) return;
      ++interruptions;
      server_->Shutdown(std::chrono::system_clock::now());
      serve(true);
    });
    ASSERT_TRUE(fetched.ok()) << fetched.status();
    EXPECT_EQ(interruptions, 2);
    EXPECT_EQ(last, total);
    EXPECT_EQ(of, total);
    expect_archive(&to, expected);
    EXPECT_FALSE(to.exists("/to" + archive_ + "/empty"));
    EXPECT_EQ(link->bulk().bytes > 0, has_bulk);
  }
  // nothing but the manifest: two tables of other partitions
  SimulatedDisk to;
  ASSERT_TRUE(to.make_directory("/to").ok());
  auto link = this->link("s", partition(0));
  ASSERT_TRUE(link->fetch_archive(kCluster, &to, "/to", nullptr).ok());
  EXPECT_EQ(to.list("/to" + archive_)->size(), 1u);
}

}  // namespace
}  // namespace scyper::replication
