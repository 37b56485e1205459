#include "replay/log_scan.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/simulated_disk.h"
#include "testing/group_maker.h"

namespace scyper::replay {
namespace {

using replication::GroupMaker;
using replication::Parcel;

constexpr replication::ClusterId kCluster{{7, 9}};
constexpr char kLog[] = "/log";
constexpr uint64_t kSegmentBytes = 2 << 20;

// A log on a disk, and what is read of it.
class LogScanTest : public testing::Test {
 protected:
  LogScanTest()
      : primary_(kCluster, [](uint64_t lsn) { return std::string(20'000, static_cast<char>('a' + lsn % 26)); }) {
    EXPECT_TRUE(disk_.make_directory(kLog).ok());
    storage::LogAppender::Options options;
    options.cluster[0] = kCluster.words[0];
    options.cluster[1] = kCluster.words[1];
    options.segment_bytes = kSegmentBytes;
    log_ = *storage::LogAppender::create(&disk_, kLog, options, {});
  }
  // Of two streams, so that a piece that is read may end anywhere in it.
  void append(int groups) {
    for (int i = 0; i < groups; ++i) {
      std::vector<storage::StreamPosition> before;
      for (const auto& position : primary_.positions()) before.push_back({position.number, position.hash});
      parcels_.push_back(primary_.make(1, {0, 1}, 1 + static_cast<uint32_t>(i % 5)));
      const std::string& bytes = *parcels_.back().bytes;
      const size_t padded = (bytes.size() + kDiskBlockBytes - 1) / kDiskBlockBytes * kDiskBlockBytes;
      std::unique_ptr<char, decltype(&std::free)> block(static_cast<char*>(std::aligned_alloc(kDiskBlockBytes, padded)),
                                                        &std::free);
      std::memset(block.get(), 0, padded);
      std::memcpy(block.get(), bytes.data(), bytes.size());
      ASSERT_TRUE(log_->append({block.get(), padded}, parcels_.back().base_lsn, before, 0).ok());
    }
  }
  Status scan(LogScan::Care care) {
    SCYPER_ASSIGN_OR_RETURN(scan_, LogScan::open(&disk_, kLog, kCluster, care));
    ScannedSegment segment;
    size_t next = 0;
    end_ = segments_ = 0;
    while (true) {
      SCYPER_ASSIGN_OR_RETURN(const bool any, scan_->next(&segment));
      if (!any) break;
      ++segments_;
      end_ = segment.end;
      path_ = segment.path;
      for (const ScannedGroup& group : segment.groups) compare(group, next++);
    }
    EXPECT_EQ(next, parcels_.size());
    return Status();
  }
  void compare(const ScannedGroup& group, size_t index) {
    ASSERT_LT(index, parcels_.size());
    EXPECT_EQ(group.complete_lsn, parcels_[index].complete_lsn);
    Parcel parcel = parcels_[index];
    const auto batches = replication::open_parcel(kCluster, &parcel);
    ASSERT_TRUE(batches.ok() && batches->size() == group.batches.size());
    for (size_t i = 0; i < batches->size(); ++i) EXPECT_EQ((*batches)[i].body, group.batches[i].body);
  }

  SimulatedDisk disk_;
  GroupMaker primary_;
  std::unique_ptr<storage::LogAppender> log_;
  std::vector<Parcel> parcels_;  // what was appended
  std::unique_ptr<LogScan> scan_;
  size_t segments_ = 0;
  uint64_t end_ = 0;  // of the last group, in
  std::string path_;
};

TEST_F(LogScanTest, FindsAllGroupsOfAllSegments) {
  append(100);
  for (const auto care : {LogScan::Care::kBelieves, LogScan::Care::kLooks, LogScan::Care::kFollows}) {
    const Status status = scan(care);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_GT(segments_, 3u);
    EXPECT_FALSE(scan_->is_torn());
  }
}

// However far behind the last group: zeros are looked at, too.
TEST_F(LogScanTest, WhatIsTornIsSeenAnywhereInTheRestButOfALogThatIsWrittenTo) {
  append(3);
  ASSERT_TRUE(scan(LogScan::Care::kLooks).ok());
  for (const uint64_t at : {end_, end_ + 100'000, kSegmentBytes - 1}) {
    disk_.flip(path_, at, 1);
    for (const auto care : {LogScan::Care::kBelieves, LogScan::Care::kLooks, LogScan::Care::kFollows}) {
      const Status status = scan(care);
      EXPECT_TRUE(status.ok()) << status;
      EXPECT_EQ(scan_->is_torn(), care != LogScan::Care::kFollows) << at;
    }
    disk_.flip(path_, at, 1);
  }
}

TEST_F(LogScanTest, ZerosBehindTheLastGroupAreRemoved) {
  append(100);
  ASSERT_TRUE(scan(LogScan::Care::kLooks).ok());
  EXPECT_GT(disk_.read_file(path_)->size(), end_);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(scan_->trim().ok());
    EXPECT_EQ(disk_.read_file(path_)->size(), end_);
    ASSERT_TRUE(scan(LogScan::Care::kLooks).ok());
    EXPECT_FALSE(scan_->is_torn());
  }
}

// A group that others follow was on the disk, whatever it is now.
TEST_F(LogScanTest, DamageIsSeenByTheGroupsBehindIt) {
  append(3);
  ASSERT_TRUE(scan(LogScan::Care::kLooks).ok());
  disk_.flip(path_, kDiskBlockBytes + 200, 1);  // of the first
  parcels_.clear();
  EXPECT_EQ(sqlstate_of(scan(LogScan::Care::kLooks)), "XX001");
}

// What was written last is known beside the log: a crash leaves it, and as long as it was.
TEST_F(LogScanTest, ALastSegmentThatIsMissingOrShorterIsDamage) {
  append(100);
  ASSERT_TRUE(log_->prepare_next().ok());
  ASSERT_TRUE(scan(LogScan::Care::kBelieves).ok());
  const std::string last = path_;
  const uint64_t whole = disk_.read_file(last)->size();
  const auto resize = [&](uint64_t bytes) { ASSERT_TRUE((*disk_.open(last, OpenMode::kWrite))->resize(bytes).ok()); };
  const auto damage = [&](const std::string& what) {
    for (const auto care : {LogScan::Care::kBelieves, LogScan::Care::kLooks}) {
      const Status status = scan(care);
      EXPECT_EQ(sqlstate_of(status), "XX001") << status;
      EXPECT_NE(status.message().find(what), std::string::npos) << status;
      EXPECT_NE(hint_of(status), "");
    }
  };
  ASSERT_TRUE(disk_.rename(last, last + ".away").ok());
  damage(last + " was there, and is missing");
  ASSERT_TRUE(disk_.rename(last + ".away", last).ok());
  resize(whole - kDiskBlockBytes);
  damage("was cut off");
  resize(whole);
  ASSERT_TRUE(scan(LogScan::Care::kBelieves).ok());
  log_.reset();  // the zeros go
  ASSERT_TRUE(scan(LogScan::Care::kBelieves).ok());
  const std::string ended = *disk_.read_file(last);
  EXPECT_LT(ended.size(), whole);
  ASSERT_TRUE(disk_.replace_file(last, ended.substr(0, ended.size() - kDiskBlockBytes)).ok());
  damage("was cut off");
  ASSERT_TRUE(disk_.replace_file(last, ended).ok());
  ASSERT_TRUE(scan(LogScan::Care::kBelieves).ok());
  const auto files = *storage::list_segments(&disk_, kLog);
  for (const auto& file : files) ASSERT_TRUE(disk_.remove(file.path).ok());
  damage("has no segments");
}

}  // namespace
}  // namespace scyper::replay
