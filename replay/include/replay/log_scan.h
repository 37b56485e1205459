#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/disk.h"
#include "base/status.h"
#include "replication/batch.h"
#include "storage/log_segment.h"

namespace scyper::replay {

class SegmentBytes;

struct ScannedBatch {
  replication::BatchHeader header;
  std::string_view body;  // as stored, checked
  uint64_t offset = 0;    // in its segment
};

struct ScannedGroup {
  uint64_t complete_lsn = 0;
  uint64_t offset = 0;
  uint64_t end = 0;  // a multiple of kDiskBlockBytes
  std::vector<ScannedBatch> batches;
};

struct ScannedSegment {
  uint64_t number = 0;
  std::string path;
  storage::SegmentHeader header;
  uint64_t file_bytes = 0;
  uint64_t end = 0;                  // of its last group, or of the header
  std::vector<ScannedGroup> groups;  // valid until the next segment is read
};

// Reads a log directory by the recovery rule of docs/log_format.md: every group that next() hands out is whole, valid
// and goes on where the one before ended. Changes nothing but by cut(). Threads: one.
class LogScan {
 public:
  ~LogScan();
  enum class Care : uint8_t {
    kBelieves,  // each segment is synced before
    kLooks,
    kFollows,  // of a log that is being appended to: what lies behind its last group is nobody's business yet
  };
  // A log that does not belong to this cluster is refused, unless it is zero.
  static StatusOr<std::unique_ptr<LogScan>> open(Disk* disk, std::string directory, replication::ClusterId cluster,
                                                 Care care = Care::kBelieves);

  // Before the first next(): leaves out the segments that hold nothing behind this LSN. By their headers only.
  Status skip_to(uint64_t lsn);
  // The next segment with its groups; false: that was the last. XX001 with place and advice when there is damage, after
  // the groups before it have been handed out.
  StatusOr<bool> next(ScannedSegment* segment);

  // After the last segment: whether something torn lies behind its last group, and why it does not count.
  bool is_torn() const { return is_torn_; }
  const std::string& torn_reason() const { return torn_reason_; }
  // Removes what is torn, so that nobody takes it for damage later.
  Status cut();
  // After the last segment, where nothing is torn: removes the zeros behind its last group. Who appends begins another.
  Status trim();

  uint64_t start_lsn() const { return start_lsn_; }  // what comes before is in no segment
  uint64_t complete_lsn() const { return complete_lsn_; }
  uint64_t term() const { return term_; }
  const replication::ClusterId& cluster() const { return cluster_; }
  const std::vector<storage::StreamPosition>& positions() const { return positions_; }
  // Streams with number 0 may have batches in segments that this log never had: it began behind an archive.
  bool lacks_positions() const { return lacks_positions_; }
  const std::vector<storage::LogAppender::Existing>& segments() const { return segments_; }

 private:
  LogScan(Disk* disk, std::string directory, replication::ClusterId cluster, Care care);
  Status begin(ScannedSegment* segment, bool is_first);
  Status read_group(ScannedSegment* segment, uint64_t offset, ScannedGroup* group);
  Status check_chain(const ScannedBatch& batch);
  std::string evidence_behind(const ScannedSegment& segment);
  Status judge(const ScannedSegment& segment, const Status& problem, bool is_last);
  Status damage(const ScannedSegment& segment, const Status& problem, std::string_view evidence) const;

  Disk* const disk_;
  const std::string directory_;
  const Care care_;
  replication::ClusterId cluster_;
  Status damage_;  // behind the groups of the last segment
  std::vector<storage::SegmentFile> files_;
  size_t next_file_ = 0;
  size_t first_file_ = 0;
  const std::unique_ptr<SegmentBytes> bytes_;  // of the segment at hand

  uint64_t start_lsn_ = 0;
  uint64_t complete_lsn_ = 0;
  uint64_t term_ = 0;
  std::vector<storage::StreamPosition> positions_;
  bool lacks_positions_ = false;
  std::vector<storage::LogAppender::Existing> segments_;
  bool is_torn_ = false;
  std::string torn_reason_;
  std::string torn_path_;
  uint64_t torn_offset_ = 0;
  std::string last_path_;
  uint64_t last_end_ = 0, last_bytes_ = 0;
};

// By hand, of a log that nobody writes to: removes what is torn behind its last group. XX001 when the log is damaged,
// which a cut does not mend.
struct TornTail {
  uint64_t complete_lsn = 0;  // of what stays
  std::string reason;         // where it was and why it did not count; empty: there was none
};
StatusOr<TornTail> cut_torn_tail(Disk* disk, const std::string& log);

}  // namespace scyper::replay
