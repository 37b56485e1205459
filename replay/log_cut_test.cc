#include "replay/log_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/simulated_disk.h"
#include "replay/recovery.h"
#include "storage/archive.h"
#include "testing/group_maker.h"

namespace scyper::replay {
namespace {

using replication::GroupMaker;
using replication::Parcel;

constexpr replication::ClusterId kCluster{{7, 9}};
constexpr char kData[] = "/data";
constexpr char kAside[] = "/data/cut";

std::unique_ptr<storage::LogAppender> open_log(Disk* disk) {
  storage::LogAppender::Options options;
  options.cluster[0] = kCluster.words[0];
  options.cluster[1] = kCluster.words[1];
  options.segment_bytes = 256 << 10;
  return *storage::LogAppender::create(disk, log_directory(kData), options, {});
}

// Twenty groups of term 1 and twenty of term 2, in several segments.
class LogCutTest : public testing::Test {
 protected:
  LogCutTest() : primary_(kCluster, [](uint64_t) { return std::string(20'000, 'r'); }) {
    EXPECT_TRUE(disk_.make_directory(kData).ok());
    EXPECT_TRUE(disk_.make_directory(log_directory(kData)).ok());
    EXPECT_TRUE(disk_.make_directory(archives_directory(kData)).ok());
    EXPECT_TRUE(disk_.sync_directory("/").ok() && disk_.sync_directory(kData).ok());
    log_ = open_log(&disk_);
    for (int i = 0; i < 40; ++i) append(i < 20 ? 1 : 2);
  }
  void append(uint64_t term) {
    std::vector<storage::StreamPosition> before;
    for (const auto& position : primary_.positions()) before.push_back({position.number, position.hash});
    const Parcel parcel = primary_.make(term, {0, 1}, 2);
    const size_t padded = (parcel.bytes->size() + kDiskBlockBytes - 1) / kDiskBlockBytes * kDiskBlockBytes;
    std::unique_ptr<char, decltype(&std::free)> block(static_cast<char*>(std::aligned_alloc(kDiskBlockBytes, padded)),
                                                      &std::free);
    std::memset(block.get(), 0, padded);
    std::memcpy(block.get(), parcel.bytes->data(), parcel.bytes->size());
    log_->set_term(term);
    ASSERT_TRUE(log_->append({block.get(), padded}, parcel.base_lsn, before, 0).ok());
    ends_.push_back(parcel.complete_lsn);
  }
  void add_archive(uint64_t lsn) {
    const std::string path = storage::archive_path(archives_directory(kData), lsn);
    ASSERT_TRUE(disk_.make_directory(path).ok());
    ASSERT_TRUE(disk_.replace_file(path + "/MANIFEST", "m").ok());
    ASSERT_TRUE(disk_.sync_directory(archives_directory(kData)).ok());
  }
  std::vector<uint64_t> archives() {
    std::vector<uint64_t> lsns;
    const auto entries = storage::list_archives(&disk_, archives_directory(kData));
    for (const auto& entry : *entries) lsns.push_back(entry.lsn);
    return lsns;
  }
  static LogTerms terms(Disk* disk) {
    auto terms = read_log_terms(disk, kData, kCluster);
    EXPECT_TRUE(terms.ok()) << terms.status();
    return terms.ok() ? *terms : LogTerms();
  }

  SimulatedDisk disk_;
  GroupMaker primary_;
  std::unique_ptr<storage::LogAppender> log_;
  std::vector<uint64_t> ends_;  // of the groups
};

TEST_F(LogCutTest, KeepsWhatComesBeforeAndGoesOnBehindIt) {
  ASSERT_GT(log_->segment_count(), 4u);
  const LogTerms before = terms(&disk_);
  EXPECT_EQ(before.starts, (std::vector<TermStart>{{1, 0}, {2, ends_[19]}}));
  EXPECT_EQ(before.lsn, ends_.back());
  log_.reset();
  for (const size_t last : {35u, 30u, 21u, 19u, 3u, 0u}) {
    add_archive(ends_[last]);
    add_archive(ends_[last] + 1);
    const Status status = cut_log(&disk_, kData, kCluster, ends_[last], "");
    ASSERT_TRUE(status.ok()) << status;
    const LogTerms after = terms(&disk_);
    EXPECT_EQ(after.lsn, ends_[last]);
    EXPECT_EQ(after.starts.size(), last > 19 ? 2u : 1u);
    EXPECT_EQ(archives(), std::vector<uint64_t>{ends_[last]});
    ASSERT_TRUE(
        storage::remove_archive(&disk_, storage::list_archives(&disk_, archives_directory(kData))->front()).ok());
  }
  EXPECT_TRUE(cut_log(&disk_, kData, kCluster, ends_[0], "").ok());  // nothing to do
  EXPECT_EQ(terms(&disk_).lsn, ends_[0]);
}

TEST_F(LogCutTest, NothingIsRemovedWhereItCannotBeCut) {
  EXPECT_TRUE(absl::IsOutOfRange(cut_log(&disk_, kData, kCluster, ends_[7] + 1, "")));  // within a group
  EXPECT_TRUE(absl::IsOutOfRange(cut_log(&disk_, kData, kCluster, 0, "")));
  ASSERT_GT(*log_->drop_before(ends_[9]), 0u);
  log_.reset();
  add_archive(ends_[25]);
  EXPECT_TRUE(absl::IsOutOfRange(cut_log(&disk_, kData, kCluster, ends_[20], "")));  // the archive has more
  EXPECT_EQ(archives(), std::vector<uint64_t>{ends_[25]});
  EXPECT_EQ(terms(&disk_).lsn, ends_.back());
  add_archive(ends_[15]);
  EXPECT_TRUE(cut_log(&disk_, kData, kCluster, ends_[20], "").ok());
  EXPECT_EQ(archives(), std::vector<uint64_t>{ends_[15]});
  EXPECT_EQ(terms(&disk_).lsn, ends_[20]);
}

TEST_F(LogCutTest, CopiesOfWhatIsCutAreKept) {
  log_.reset();
  ASSERT_TRUE(cut_log(&disk_, kData, kCluster, ends_[30], kAside).ok());
  auto scan = LogScan::open(&disk_, log_directory(kAside), kCluster);
  ASSERT_TRUE(scan.ok()) << scan.status();
  ScannedSegment segment;
  while (*(*scan)->next(&segment)) continue;
  EXPECT_LE((*scan)->start_lsn(), ends_[30]);
  EXPECT_EQ((*scan)->complete_lsn(), ends_.back());
  // the next ones take their place
  ASSERT_TRUE(cut_log(&disk_, kData, kCluster, ends_[10], kAside).ok());
  scan = LogScan::open(&disk_, log_directory(kAside), kCluster);
  ASSERT_TRUE(scan.ok()) << scan.status();
  while (*(*scan)->next(&segment)) continue;
  EXPECT_EQ((*scan)->complete_lsn(), ends_[30]);
}

// Whenever the power goes: a log that ends at a group's border, with an archive that it goes on from.
TEST_F(LogCutTest, ACrashLeavesALogThatIsCutAgain) {
  ASSERT_GT(*log_->drop_before(ends_[5]), 0u);
  log_.reset();
  add_archive(ends_[8]);
  add_archive(ends_[25]);
  add_archive(ends_[33]);
  std::vector<std::unique_ptr<SimulatedDisk>> crashed;
  disk_.set_observer([&] {
    crashed.push_back(disk_.after_kill());
    for (uint64_t seed = 1; seed <= 4; ++seed) crashed.push_back(disk_.after_power_loss(seed));
  });
  ASSERT_TRUE(cut_log(&disk_, kData, kCluster, ends_[12], "").ok());
  disk_.set_observer(nullptr);
  ASSERT_GT(crashed.size(), 20u);
  for (const auto& disk : crashed) {
    const LogTerms found = terms(disk.get());
    EXPECT_TRUE(std::find(ends_.begin() + 12, ends_.end(), found.lsn) != ends_.end()) << found.lsn;
    const Status again = cut_log(disk.get(), kData, kCluster, ends_[12], "");
    EXPECT_TRUE(again.ok()) << again;
    EXPECT_EQ(terms(disk.get()).lsn, ends_[12]);
    const auto left = storage::list_archives(disk.get(), archives_directory(kData));
    ASSERT_FALSE(left->empty());
    EXPECT_TRUE(left->front().is_complete && left->front().lsn == ends_[8]);
  }
}

}  // namespace
}  // namespace scyper::replay
