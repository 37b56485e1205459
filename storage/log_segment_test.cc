#include "storage/log_segment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "base/simulated_disk.h"

namespace scyper::storage {
namespace {

constexpr char kDirectory[] = "/log";
constexpr uint64_t kSegmentBytes = 64 << 10;

LogAppender::Options options_of(uint64_t segment_bytes) {
  LogAppender::Options options;
  options.cluster[0] = 7;
  options.segment_bytes = segment_bytes;
  return options;
}

std::string left_over(Disk* disk) {
  const auto names = disk->list(kDirectory);
  for (const std::string& name : *names) {
    if (name.ends_with(".new")) return std::string(kDirectory) + "/" + name;
  }
  return "";
}

// Another life, with a group in its first segment.
StatusOr<std::unique_ptr<LogAppender>> begin(Disk* disk, uint64_t segment_bytes) {
  auto log = LogAppender::create(disk, kDirectory, options_of(segment_bytes), {});
  if (!log.ok()) return log;
  EXPECT_TRUE((*log)->has_next());

  const std::string group(kDiskBlockBytes, 'g');
  char* aligned = static_cast<char*>(std::aligned_alloc(kDiskBlockBytes, kDiskBlockBytes));
  std::copy(group.begin(), group.end(), aligned);
  const Status appended = (*log)->append({aligned, kDiskBlockBytes}, 0, {}, 1);
  std::free(aligned);
  if (!appended.ok()) return appended;
  return log;
}

std::string tail_of(Disk* disk) {
  const auto segments = list_segments(disk, kDirectory);
  EXPECT_TRUE(segments.ok() && segments->size() == 1);
  const auto bytes = disk->read_file(segments->front().path);
  EXPECT_TRUE(bytes.ok());
  const size_t group = bytes->find(std::string(kDiskBlockBytes, 'g'));
  EXPECT_NE(group, std::string::npos);
  return bytes->substr(group + kDiskBlockBytes);
}

class LeftOver : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(disk_.make_directory(kDirectory).ok());
    ASSERT_TRUE(LogAppender::create(&disk_, kDirectory, options_of(kSegmentBytes), {}).ok());
    ASSERT_NE(left_over(&disk_), "");
  }
  SimulatedDisk disk_;
};

TEST_F(LeftOver, ASegmentThatWasNotBegunIsTaken) {
  auto log = begin(&disk_, kSegmentBytes);
  ASSERT_TRUE(log.ok());
  const std::string tail = tail_of(&disk_);
  EXPECT_GT(tail.size(), kSegmentBytes / 2);
  EXPECT_EQ(tail, std::string(tail.size(), '\0'));
  auto again = disk_.after_power_loss(1);
  EXPECT_EQ(tail_of(again.get()), tail);
  log->reset();  // nothing comes behind it
  EXPECT_EQ(tail_of(&disk_), "");
}

TEST_F(LeftOver, OneOfAnotherSizeIsMadeAnew) {
  const auto log = begin(&disk_, 2 * kSegmentBytes);
  ASSERT_TRUE(log.ok());
  EXPECT_GT(tail_of(&disk_).size(), kSegmentBytes);
}

// A crash between the header and the new name, or anything else.
TEST_F(LeftOver, OneThatWasWrittenToIsMadeAnew) {
  for (const uint64_t offset : {uint64_t{0}, uint64_t{5000}, kSegmentBytes - 1}) {
    SimulatedDisk disk;
    ASSERT_TRUE(disk.make_directory(kDirectory).ok());
    ASSERT_TRUE(LogAppender::create(&disk, kDirectory, options_of(kSegmentBytes), {}).ok());
    auto file = disk.open(left_over(&disk), OpenMode::kWrite);
    ASSERT_TRUE(file.ok() && (*file)->write(offset, "x").ok() && (*file)->sync().ok());
    const auto log = begin(&disk, kSegmentBytes);
    ASSERT_TRUE(log.ok());
    const std::string tail = tail_of(&disk);
    EXPECT_EQ(tail, std::string(tail.size(), '\0')) << offset;
  }
}

class Segments : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(disk_.make_directory(kDirectory).ok());
    std::fill_n(group_.get(), kDiskBlockBytes, 'g');
  }
  std::unique_ptr<LogAppender> make(const LogAppender::Options& options) {
    auto log = LogAppender::create(&disk_, kDirectory, options, {});
    EXPECT_TRUE(log.ok()) << log.status();
    return *std::move(log);
  }
  std::string_view group() const { return {group_.get(), kDiskBlockBytes}; }
  uint64_t bytes_of(uint64_t number) { return disk_.read_file(segment_path(kDirectory, number))->size(); }

  SimulatedDisk disk_;

 private:
  const std::unique_ptr<char, decltype(&std::free)> group_{
      static_cast<char*>(std::aligned_alloc(kDiskBlockBytes, kDiskBlockBytes)), &std::free};
};

TEST_F(Segments, TheNextOneBeginsWhenItIsWanted) {
  auto log = make(options_of(kSegmentBytes));
  const std::vector<StreamPosition> streams = {{3, 99}};
  ASSERT_TRUE(log->begin_next(0, {}, 1).ok());  // the first one
  ASSERT_TRUE(log->append(group(), 0, {}, 1).ok());
  ASSERT_TRUE(log->begin_next(5, streams, 2).ok());
  EXPECT_EQ(log->segment_number(), 2u);
  EXPECT_EQ(bytes_of(1), 2 * kDiskBlockBytes);       // no zeros behind its groups
  ASSERT_TRUE(log->begin_next(5, streams, 2).ok());  // that has no groups
  EXPECT_EQ(log->segment_number(), 2u);
  const auto header = decode_segment_header(*disk_.read_file(segment_path(kDirectory, 2)));
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->start_lsn, 5u);
  EXPECT_EQ(header->streams, streams);
  ASSERT_TRUE(log->append(group(), 5, streams, 2).ok());
  EXPECT_EQ(log->segment_number(), 2u);
  // without room nothing has happened
  ASSERT_FALSE(log->has_next());
  disk_.set_capacity(0);
  EXPECT_TRUE(is_disk_full(log->begin_next(6, streams, 3)));
  ASSERT_TRUE(log->append(group(), 6, streams, 3).ok());
  EXPECT_EQ(log->segment_number(), 2u);
}

TEST_F(Segments, ByTheirBytesAsManyAreKeptAsWereWanted) {
  LogAppender::Options options = options_of(kSegmentBytes);
  options.retention_bytes = 7 * kDiskBlockBytes;
  auto log = make(options);
  for (uint64_t lsn = 0; lsn < 6; ++lsn) {
    ASSERT_TRUE(log->begin_next(lsn, {}, 1).ok());
    ASSERT_TRUE(log->append(group(), lsn, {}, 1).ok());
  }
  const auto dropped = log->drop_before(5);  // five have ended, two blocks each
  ASSERT_TRUE(dropped.ok()) << dropped.status();
  EXPECT_EQ(*dropped, 1u);
  EXPECT_EQ(log->segment_count(), 5u);
}

// A disk without room is no failure: nothing was written, and what comes next is written when there is room.
TEST(FullDisk, GroupsAreAppendedWhenThereIsRoomAgain) {
  const std::unique_ptr<char, decltype(&std::free)> group(
      static_cast<char*>(std::aligned_alloc(kDiskBlockBytes, kDiskBlockBytes)), &std::free);
  std::fill_n(group.get(), kDiskBlockBytes, 'g');
  const std::string_view bytes(group.get(), kDiskBlockBytes);
  for (const bool is_prepared : {false, true}) {
    SimulatedDisk disk;
    ASSERT_TRUE(disk.make_directory(kDirectory).ok());
    if (!is_prepared) disk.set_capacity(kSegmentBytes / 2);
    auto log = LogAppender::create(&disk, kDirectory, options_of(kSegmentBytes), {});
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_EQ((*log)->has_next(), is_prepared);
    disk.set_capacity(kSegmentBytes / 2);
    for (int i = 0; i < 2; ++i) {
      if (!is_prepared) EXPECT_TRUE(is_disk_full((*log)->append(bytes, 0, {}, 1)));
      EXPECT_TRUE(is_disk_full((*log)->append_segment(std::string(kSegmentBytes, 'g'), 0, {}, 1)));
      EXPECT_EQ((*log)->has_next(), is_prepared);
      EXPECT_TRUE(list_segments(&disk, kDirectory)->empty());
    }
    disk.set_capacity(~uint64_t{0});
    ASSERT_TRUE((*log)->append_segment(std::string(kDiskBlockBytes, 'g'), 0, {}, 1).ok());
    ASSERT_TRUE((*log)->append(bytes, 1, {}, 1).ok());
    EXPECT_EQ(list_segments(&disk, kDirectory)->size(), 2u);
  }
}

}  // namespace
}  // namespace scyper::storage
