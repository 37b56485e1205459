#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "replication/link.h"
#include "replication/peer_publisher.h"
#include "testing/link_fixture.h"

// Archives that come with files of the other node's tier (docs/tiering.md, Seeding).
namespace scyper::replication {
namespace {

constexpr size_t kFileBytes = size_t{3} << 20;

// A node's archive that names two files of its tier, and a node that asks for it.
class TierLinkTest : public LinkTest {
 protected:
  TierLinkTest() {
    files_of_archive_ = archive_files();
    files_of_archive_["t1.places"] = std::string(5000, 'p');
    make_archive(files_of_archive_);
    EXPECT_TRUE(disk_.make_directory("/tier").ok());
    for (const char digit : {'1', '2'}) {
      const std::string name = absl::StrCat("000000000000000", std::string(1, digit), ".tier");
      tier_files_[name] = "/tier/" + name;
      of_tier_[name] = std::string(kFileBytes, digit);
      put(name, of_tier_[name]);
    }
    EXPECT_TRUE(to_.make_directory("/to").ok());
    EXPECT_TRUE(to_.make_directory("/own").ok());
    sink_.disk = &to_;
    sink_.path_of = [this](const std::string& name) {
      return wants_.empty() || wants_ == name ? "/own/" + name + ".tmp" : "";
    };
    sink_.finish = [this](const std::string& name) {
      finished_.push_back(name);
      return to_.rename("/own/" + name + ".tmp", "/own/" + name);
    };
    sink_.give_up = [this](const Status& why) { given_up_.push_back(why); };
  }
  void put(const std::string& name, const std::string& bytes) {
    auto file = disk_.open("/tier/" + name, OpenMode::kCreate);
    ASSERT_TRUE(file.ok() && (*file)->write(0, bytes).ok());
  }
  void expect_tier(const std::vector<std::string>& names) {
    EXPECT_EQ(finished_, names);
    for (const std::string& name : names) {
      const auto found = to_.read_file("/own/" + name);
      EXPECT_TRUE(found.ok() && *found == of_tier_[name]) << name;
    }
  }

  const std::string one_ = "0000000000000001.tier", other_ = "0000000000000002.tier";
  std::map<std::string, std::string> files_of_archive_, of_tier_;
  SimulatedDisk to_;
  TierSink sink_;
  std::string wants_;  // empty: all
  std::vector<std::string> finished_;
  std::vector<Status> given_up_;
};

TEST_F(TierLinkTest, ComeToWhoHasATier) {
  for (const bool has_bulk : {false, true}) {
    has_bulk_ = has_bulk;
    finished_.clear();
    uint64_t last = 0, of = 0;
    const auto on_bytes = [&](uint64_t bytes, uint64_t all) {
      last = bytes;
      of = all;
    };
    const auto fetched = link("s")->fetch_archive(kCluster, &to_, "/to", on_bytes, &sink_);
    ASSERT_TRUE(fetched.ok()) << fetched.status();
    expect_archive(&to_, files_of_archive_);
    expect_tier({one_, other_});
    EXPECT_TRUE(given_up_.empty());
    EXPECT_EQ(last, of);
  }
  // nobody else gets them
  SimulatedDisk plain;
  ASSERT_TRUE(plain.make_directory("/to").ok());
  ASSERT_TRUE(link("t")->fetch_archive(kCluster, &plain, "/to", nullptr).ok());
  EXPECT_FALSE(plain.exists("/to" + archive_ + "/t1.places"));
  EXPECT_FALSE(plain.exists("/to" + archive_ + "/" + one_));
}

TEST_F(TierLinkTest, WhatIsThereStays) {
  sink_.present = {one_, "something.tier"};
  ASSERT_TRUE(link("s")->fetch_archive(kCluster, &to_, "/to", nullptr, &sink_).ok());
  expect_archive(&to_, files_of_archive_);
  expect_tier({other_});
}

// Files that the other node lacks itself, or that are not wanted, take nothing from the archive.
TEST_F(TierLinkTest, SomeOfThem) {
  wants_ = other_;
  ASSERT_TRUE(link("s")->fetch_archive(kCluster, &to_, "/to", nullptr, &sink_).ok());
  expect_archive(&to_, files_of_archive_);
  expect_tier({other_});
  wants_.clear();
  finished_.clear();
  ASSERT_TRUE(disk_.remove("/tier/" + other_).ok());
  ASSERT_TRUE(link("t")->fetch_archive(kCluster, &to_, "/to", nullptr, &sink_).ok());
  expect_archive(&to_, files_of_archive_);
  expect_tier({one_});
}

// No room in the tier's directory: the archive comes, and who asked is told once.
TEST_F(TierLinkTest, AFullTierIsGivenUp) {
  SimulatedDisk own;
  ASSERT_TRUE(own.make_directory("/own").ok());
  own.set_capacity(kFileBytes / 2);
  sink_.disk = &own;
  has_bulk_ = true;
  bool has_gone = false;
  const auto on_bytes = [&](uint64_t, uint64_t) {
    if (given_up_.empty() || std::exchange(has_gone, true)) return;
    server_->Shutdown(std::chrono::system_clock::now());  // and goes on in the middle of what is not wanted
    serve(true);
  };
  call_us_ = 60'000'000;
  const auto fetched = link("s")->fetch_archive(kCluster, &to_, "/to", on_bytes, &sink_);
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  expect_archive(&to_, files_of_archive_);
  EXPECT_TRUE(has_gone);
  EXPECT_TRUE(finished_.empty());
  ASSERT_EQ(given_up_.size(), 1u);
  EXPECT_TRUE(is_disk_full(given_up_[0])) << given_up_[0];
}

// As nodes mostly have it: the archive gets the room that the tier's files would not leave it.
TEST_F(TierLinkTest, OneDiskForBoth) {
  uint64_t rows = 0;
  for (const auto& [name, bytes] : files_of_archive_) rows += bytes.size();
  to_.set_capacity(rows + (size_t{1} << 20) - 2000);  // a piece of a file, and then not the manifest
  const auto fetched = link("s")->fetch_archive(kCluster, &to_, "/to", nullptr, &sink_);
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  expect_archive(&to_, files_of_archive_);
  expect_tier({});
  EXPECT_EQ(given_up_.size(), 1u);
}

// It goes on at the byte, in the middle of a file of the tier, too.
TEST_F(TierLinkTest, GoesOnWhereItWas) {
  uint64_t total = 2 * kFileBytes;
  for (const auto& [name, bytes] : files_of_archive_) total += bytes.size();
  call_us_ = 60'000'000;
  uint64_t last = 0;
  int interruptions = 0;
  const auto on_bytes = [&](uint64_t bytes, uint64_t) {
    last = bytes;
    if (bytes + (interruptions == 0 ? 2 : 1) * kFileBytes < total || interruptions == 2) return;
    ++interruptions;
    server_->Shutdown(std::chrono::system_clock::now());
    serve(true);
  };
  const auto fetched = link("s")->fetch_archive(kCluster, &to_, "/to", on_bytes, &sink_);
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  EXPECT_EQ(interruptions, 2);
  EXPECT_EQ(last, total);
  expect_archive(&to_, files_of_archive_);
  expect_tier({one_, other_});
}

TEST_F(TierLinkTest, SecondariesGiveTheirsToo) {
  PeerPublisherOptions options;
  options.cluster = kCluster;
  options.node = "peer";
  options.disk = &disk_;
  options.newest_archive = [this](uint64_t) { return archive_; };
  options.tier_files = [this](const std::string&) { return tier_files_; };
  options.is_stopped = [] { return false; };
  const auto publisher = make_peer_publisher(options);
  int port = 0;
  const auto server = serve_on_loopback(publisher.get(), &port);
  LinkOptions asking;
  asking.target = absl::StrCat("127.0.0.1:", port);
  asking.node = "s";
  asking.peer_term = 1;
  ASSERT_TRUE(Link::make(asking)->fetch_archive(kCluster, &to_, "/to", nullptr, &sink_).ok());
  expect_archive(&to_, files_of_archive_);
  expect_tier({one_, other_});
  server->Shutdown(std::chrono::system_clock::now());
}

}  // namespace
}  // namespace scyper::replication
