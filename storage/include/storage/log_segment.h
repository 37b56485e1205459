#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/disk.h"
#include "base/status.h"

// The files of the redo log: docs/log_format.md, "Segment". What lies in them is bytes here.
namespace scyper::storage {

// The last batch of a stream.
struct StreamPosition {
  uint64_t number = 0;
  uint64_t hash = 0;
  friend bool operator==(const StreamPosition&, const StreamPosition&) = default;
};

struct SegmentHeader {
  uint64_t cluster[2] = {0, 0};
  uint64_t number = 0;
  uint64_t term = 0;
  uint64_t start_lsn = 0;
  int64_t time_us = 0;
  std::vector<StreamPosition> streams;
  bool lacks_positions = false;  // number 0 in streams: not known; else none before
  uint32_t header_bytes = 0;     // set by encode and decode
};
std::string encode_segment_header(SegmentHeader* header);
// `bytes`: the front of a segment. DataLoss: damaged; NotFound: nothing but zeros, it was never begun.
StatusOr<SegmentHeader> decode_segment_header(std::string_view bytes);

std::string segment_path(const std::string& directory, uint64_t number);
struct SegmentFile {
  uint64_t number;
  std::string path;
};
// The segments of a log directory by number; DataLoss when one in the middle is missing.
StatusOr<std::vector<SegmentFile>> list_segments(Disk* disk, const std::string& directory);

// Appends groups to segments, one after the other, each on the disk when append() returns.
// Invariants: (1) nothing is written where something was written before; (2) groups never span segments; (3) after an
//   error of append() other than disk full nothing more is written: nobody knows what the disk holds.
// Threads: append(), begin_next() and drop_before() one; prepare_next() another one beside it.
class LogAppender {
 public:
  struct Options {
    uint64_t cluster[2] = {0, 0};
    uint64_t term = 1;
    uint64_t segment_bytes = uint64_t{64} << 20;
    uint64_t retention_bytes = 0;  // that drop_before() leaves at least, beside the current segment
    bool lacks_positions = false;  // of the segments that begin: see SegmentHeader
    uint64_t made_segment = 0;     // number of one that this process has made ahead and not begun; 0: none is known
  };
  // Segments that exist, oldest first: number and start_lsn. Appends to a new one behind them.
  struct Existing {
    uint64_t number;
    uint64_t start_lsn;
    uint64_t bytes = 0;  // of one that has ended; 0: nobody has looked yet
  };
  static StatusOr<std::unique_ptr<LogAppender>> create(Disk* disk, std::string directory, const Options& options,
                                                       std::vector<Existing> existing);
  ~LogAppender();

  // Makes the next segment ahead of use: creates, fills with zeros and syncs it. Nothing to do when it is there.
  // Disk full: nothing has happened, try again later.
  Status prepare_next();
  bool has_next() const;

  // A group: address and size are multiples of kDiskBlockBytes. start_lsn, streams, time: for the header of a new
  // segment, as they are before this group. Disk full: nothing was written, try again.
  Status append(std::string_view group, uint64_t start_lsn, std::span<const StreamPosition> streams, int64_t time_us);

  // Ends the current segment, so that whoever reads from here on need not read it; nothing to do when it has no groups.
  // As append(), but for the group.
  Status begin_next(uint64_t start_lsn, std::span<const StreamPosition> streams, int64_t time_us);

  // Several groups as a segment of their own, which is there as a whole or not at all: for who has fallen behind, and
  // must not wait for the disk once for each of them. The next group begins another segment. Errors are final.
  Status append_segment(std::string_view groups, uint64_t start_lsn, std::span<const StreamPosition> streams,
                        int64_t time_us);

  // Removes segments whose records all have LSNs up to `lsn`. Returns how many.
  StatusOr<uint64_t> drop_before(uint64_t lsn);

  // Of the segments that begin from now on; never falls. The appending thread.
  void set_term(uint64_t term) { options_.term = term; }

  uint64_t segment_number() const { return number_; }
  // See Options. 0: there is none.
  uint64_t made_segment() const { return has_next() ? number_ + 1 : 0; }
  uint64_t segment_count() const { return segments_.size(); }
  uint64_t bytes_written() const { return bytes_written_; }

 private:
  LogAppender(Disk* disk, std::string directory, const Options& options, std::vector<Existing> existing);
  StatusOr<std::unique_ptr<File>> make_segment(uint64_t number, uint64_t bytes);
  SegmentHeader next_header(uint64_t start_lsn, std::span<const StreamPosition> streams, int64_t time_us) const;
  Status take_back_segment(uint64_t number);
  void drop_tail();
  Status begin_segment(uint64_t group_bytes, uint64_t start_lsn, std::span<const StreamPosition> streams,
                       int64_t time_us);
  Status make_current(uint64_t group_bytes, uint64_t start_lsn, std::span<const StreamPosition> streams,
                      int64_t time_us);
  StatusOr<uint64_t> ended_bytes();

  Disk* const disk_;
  const std::string directory_;
  Options options_;  // term: the appending thread's, all else constant

  // the appending thread's
  std::vector<Existing> segments_;  // the current one is the last
  std::unique_ptr<File> file_;
  uint64_t number_ = 0;
  uint64_t offset_ = 0;
  uint64_t size_bytes_ = 0;
  uint64_t bytes_written_ = 0;
  bool is_broken_ = false;

  mutable absl::Mutex mutex_;
  absl::Mutex making_;  // held while a segment is made
  std::unique_ptr<File> next_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_number_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace scyper::storage
