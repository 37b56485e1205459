#include "replay/log_scan.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "segment_bytes.h"
#include "storage/log_end.h"

namespace scyper::replay {

using replication::BatchHeader;
using storage::LogEnd;
using storage::SegmentHeader;
using storage::StreamPosition;

namespace {

Failpoint before_cut("recovery.before_cut");
Failpoint after_cut("recovery.after_cut");

constexpr size_t kHeaderBytesMax = 2 << 20;  // of 65,536 streams
constexpr uint64_t kSegmentBytesMax = uint64_t{8} << 30;
constexpr uint32_t kStreamsMax = 1 << 16;

// By two reads at most: few have many streams.
StatusOr<SegmentHeader> read_segment_header(Disk* disk, const std::string& path) {
  SCYPER_ASSIGN_OR_RETURN(auto file, disk->open(path, OpenMode::kRead));
  std::string front(kDiskBlockBytes, '\0');
  StatusOr<SegmentHeader> header = absl::DataLossError("no header");
  for (const size_t wanted : {size_t{kDiskBlockBytes}, kHeaderBytesMax}) {
    front.resize(wanted);
    SCYPER_ASSIGN_OR_RETURN(const size_t bytes, file->read(0, front.data(), front.size()));
    header = storage::decode_segment_header(std::string_view(front).substr(0, bytes));
    if (header.ok() || bytes < wanted) break;
  }
  return header;
}

// What the last segment, as it was found, lacks of what the log has had; empty: nothing. A crash leaves the segment
// that was written last, and as long as it was: a tail is torn only within it. Another may have been begun meanwhile.
std::string lacks_end(Disk* disk, const std::string& directory, const ScannedSegment& last) {
  const LogEnd end = storage::read_log_end(disk, directory);
  const std::string path = storage::segment_path(directory, end.number);
  if (end.number > last.number && !disk->exists(path)) return absl::StrCat(path, " was there, and is missing");
  if (end.number != last.number || last.file_bytes >= end.bytes) return "";
  return absl::StrCat("the file had ", end.bytes, " bytes, and was cut off at ", last.file_bytes);
}

uint64_t round_up(uint64_t offset) { return (offset + kDiskBlockBytes - 1) / kDiskBlockBytes * kDiskBlockBytes; }

}  // namespace

LogScan::LogScan(Disk* disk, std::string directory, replication::ClusterId cluster, Care care)
    : disk_(disk),
      directory_(std::move(directory)),
      care_(care),
      cluster_(cluster),
      bytes_(std::make_unique<SegmentBytes>()) {}

LogScan::~LogScan() = default;

StatusOr<std::unique_ptr<LogScan>> LogScan::open(Disk* disk, std::string directory, replication::ClusterId cluster,
                                                 Care care) {
  std::unique_ptr<LogScan> scan(new LogScan(disk, std::move(directory), cluster, care));
  const LogEnd end = care == Care::kFollows ? LogEnd() : storage::read_log_end(disk, scan->directory_);
  SCYPER_ASSIGN_OR_RETURN(scan->files_, storage::list_segments(disk, scan->directory_));
  if (scan->files_.empty() && end.number != 0) {
    return with_hint(
        sql_error("XX001", absl::StrCat("the log is damaged: ", scan->directory_, " has no segments, but ",
                                        storage::segment_path(scan->directory_, end.number), " was there")),
        "Put back the log from a copy; or restore the newest archive into a new directory: scyper restore.");
  }
  return scan;
}

Status LogScan::damage(const ScannedSegment& segment, const Status& problem, std::string_view evidence) const {
  Status status = sql_error("XX001", absl::StrCat("the log is damaged: ", segment.path, " at offset ", segment.end,
                                                  ": ", std::string(problem.message()), ", but ", std::string(evidence),
                                                  "; the last transaction before the damage has LSN ", complete_lsn_));
  return with_hint(std::move(status),
                   absl::StrCat("Acknowledged transactions are behind the damage. Put back this file from a copy, or "
                                "give up what is behind: scyper restore --to-lsn ",
                                complete_lsn_, "."));
}

// The header fits what came before.
Status LogScan::begin(ScannedSegment* segment, bool is_first) {
  auto decoded = storage::decode_segment_header(bytes_->from(0, kDiskBlockBytes));
  if (!decoded.ok()) decoded = storage::decode_segment_header(bytes_->from(0, kHeaderBytesMax));  // of many streams
  SCYPER_RETURN_IF_ERROR(decoded.status());
  segment->header = *std::move(decoded);
  const SegmentHeader& header = segment->header;
  const replication::ClusterId cluster{{header.cluster[0], header.cluster[1]}};
  if (cluster_ == replication::ClusterId()) cluster_ = cluster;
  if (!(cluster == cluster_)) {
    return absl::DataLossError(absl::StrCat("the segment belongs to cluster ", replication::to_string(cluster),
                                            ", not to ", replication::to_string(cluster_)));
  }
  if (header.number != segment->number) return absl::DataLossError("the segment has another number than its name");
  if (header.term < term_) return absl::DataLossError("the segment's term is lower than the one before");
  if (is_first) {
    start_lsn_ = complete_lsn_ = header.start_lsn;
    positions_ = header.streams;
  } else if (header.start_lsn != complete_lsn_) {
    return absl::DataLossError(
        absl::StrCat("the segment starts after LSN ", header.start_lsn, ", the one before ends at ", complete_lsn_));
  } else {
    positions_.resize(std::max(positions_.size(), header.streams.size()));
    std::vector<StreamPosition> expected = header.streams;
    expected.resize(positions_.size());
    if (expected != positions_) return absl::DataLossError("the segment does not go on where the one before ends");
  }
  term_ = header.term;
  lacks_positions_ = header.lacks_positions;
  return Status();
}

Status LogScan::check_chain(const ScannedBatch& batch) {
  const BatchHeader& header = batch.header;
  if (!(header.cluster == cluster_)) return absl::DataLossError("the batch belongs to another cluster");
  if (header.term < term_) return absl::DataLossError("the batch's term is lower than the one before");
  if (header.stream >= kStreamsMax) return absl::DataLossError("the batch is of an impossible stream");
  if (header.stream >= positions_.size()) positions_.resize(header.stream + 1);
  const StreamPosition& before = positions_[header.stream];
  const bool is_unknown = lacks_positions_ && before.number == 0;
  if (!is_unknown && (header.number != before.number + 1 || header.previous_hash != before.hash)) {
    return absl::DataLossError(
        absl::StrCat("batch ", header.number, " of stream ", header.stream, " does not follow batch ", before.number));
  }
  if (header.first_lsn <= complete_lsn_) return absl::DataLossError("the batch has LSNs of a group before");
  return Status();
}

// On error nothing has changed.
Status LogScan::read_group(ScannedSegment* segment, uint64_t offset, ScannedGroup* group) {
  const std::vector<StreamPosition> positions = positions_;
  auto read = [&]() -> Status {
    group->offset = offset;
    group->batches.clear();
    uint16_t expected = 1;
    for (uint16_t i = 0; i < expected; ++i) {
      ScannedBatch batch;
      batch.offset = offset;
      SCYPER_ASSIGN_OR_RETURN(batch.header, replication::read_batch_header(bytes_->from(offset, sizeof(BatchHeader))));
      SCYPER_ASSIGN_OR_RETURN(
          batch.body, replication::read_batch_body(batch.header, bytes_->from(offset, batch.header.total_bytes())));
      if (i == 0) {
        expected = batch.header.group_batches;
        group->complete_lsn = batch.header.complete_lsn;
      }
      if (batch.header.group_index != i || batch.header.group_batches != expected ||
          batch.header.complete_lsn != group->complete_lsn) {
        return absl::DataLossError("the batch belongs to another group");
      }
      SCYPER_RETURN_IF_ERROR(check_chain(batch));
      positions_[batch.header.stream] = {batch.header.number, batch.header.header_hash};
      offset += batch.header.total_bytes();
      group->batches.push_back(batch);
    }
    group->end = round_up(offset);
    const uint64_t padding = group->end - offset;
    if (group->end > bytes_->file_bytes() || !is_zero(bytes_->from(offset, padding).substr(0, padding))) {
      return absl::DataLossError("the padding of the group is not zero");
    }
    return Status();
  };
  Status status = read();
  if (!status.ok()) {
    positions_ = positions;
    return status;
  }
  complete_lsn_ = group->complete_lsn;
  term_ = group->batches.back().header.term;
  segment->end = group->end;
  return Status();
}

// One group is in flight: what a later one has written proves that the one at `end` was on the disk, and may have been
// acknowledged. Of several batches with different complete points one is of a later group, as is one that begins a
// group behind the first; the commit point shows it in any other. Empty: no such batch.
std::string LogScan::evidence_behind(const ScannedSegment& segment) {
  const std::string_view bytes = bytes_->all();
  uint64_t complete_lsn = 0;  // of the first that is found
  for (uint64_t at = segment.end; at + sizeof(BatchHeader) <= bytes.size(); at += replication::kBatchAlignment) {
    uint32_t magic;
    std::memcpy(&magic, bytes.data() + at, sizeof(magic));
    if (magic != replication::kBatchMagic) continue;
    auto header = replication::read_batch_header(bytes.substr(at));
    if (!header.ok() || !(header->cluster == cluster_)) continue;
    if (header->commit_lsn > complete_lsn_) {
      return absl::StrCat("a batch of stream ", header->stream, " at offset ", at, " says that everything up to LSN ",
                          header->commit_lsn, " was confirmed");
    }
    if (header->complete_lsn <= complete_lsn_) continue;  // no batch of this log's: a row may hold the bytes of one
    const bool begins = header->group_index == 0 && at > segment.end && at % kDiskBlockBytes == 0;
    if (begins || (complete_lsn != 0 && header->complete_lsn != complete_lsn)) {
      return absl::StrCat("a batch of stream ", header->stream, " at offset ", at, " is of a group behind it");
    }
    complete_lsn = header->complete_lsn;
  }
  return "";
}

// A group does not count, and something other than zeros is there: torn, or damaged?
Status LogScan::judge(const ScannedSegment& segment, const Status& problem, bool is_last) {
  if (absl::IsUnimplemented(problem)) return sql_error("0A000", absl::StrCat(segment.path, ": ", problem.message()));
  if (!is_last) return damage(segment, problem, "another segment follows");
  if (std::string evidence = evidence_behind(segment); !evidence.empty()) return damage(segment, problem, evidence);
  is_torn_ = true;
  torn_path_ = segment.path;
  torn_offset_ = segment.end;
  torn_reason_ = absl::StrCat(segment.path, " at offset ", segment.end, ": ", problem.message());
  return Status();
}

Status LogScan::skip_to(uint64_t lsn) {
  while (next_file_ + 1 < files_.size()) {
    const auto header = read_segment_header(disk_, files_[next_file_ + 1].path);
    if (!header.ok() || header->start_lsn > lsn) break;  // next() will say what is wrong with it
    const auto before = read_segment_header(disk_, files_[next_file_].path);
    segments_.push_back({files_[next_file_].number, before.ok() ? before->start_lsn : header->start_lsn});
    first_file_ = ++next_file_;
  }
  return Status();
}

StatusOr<bool> LogScan::next(ScannedSegment* segment) {
  if (!damage_.ok()) return damage_;
  if (next_file_ == files_.size()) return false;
  const bool is_first = next_file_ == first_file_;
  const bool is_last = next_file_ + 1 == files_.size();
  const storage::SegmentFile& file = files_[next_file_++];
  segment->number = file.number;
  segment->path = file.path;
  segment->groups.clear();
  segment->end = 0;
  if (care_ == Care::kBelieves) {
    // what was written but not synced before a crash must not be believed and then be lost
    SCYPER_ASSIGN_OR_RETURN(auto opened, disk_->open(file.path, OpenMode::kWrite));
    SCYPER_RETURN_IF_ERROR(opened->sync());
  }
  SCYPER_RETURN_IF_ERROR(bytes_->open(disk_, file.path, kSegmentBytesMax));
  segment->file_bytes = bytes_->file_bytes();
  const Status begun = begin(segment, is_first);
  SCYPER_RETURN_IF_ERROR(bytes_->failure());
  if (!begun.ok()) return damage(*segment, begun, "the file is there");
  segment->end = segment->header.header_bytes;
  segments_.push_back({segment->number, segment->header.start_lsn});
  Status ended;  // why the last group is the last
  while (ended.ok() && segment->end + sizeof(BatchHeader) <= bytes_->file_bytes()) {
    ScannedGroup group;
    ended = read_group(segment, segment->end, &group);
    if (ended.ok()) segment->groups.push_back(std::move(group));
  }
  if (!ended.ok() && !(care_ == Care::kFollows && is_last) && !bytes_->is_zero_from(segment->end)) {
    damage_ = judge(*segment, ended, is_last);
  }
  SCYPER_RETURN_IF_ERROR(bytes_->failure());
  if (damage_.ok() && is_last && care_ != Care::kFollows) {
    const std::string lacks = lacks_end(disk_, directory_, *segment);
    if (!lacks.empty()) damage_ = damage(*segment, absl::DataLossError("the log ends"), lacks);
  }
  if (!damage_.ok() && segment->groups.empty()) return damage_;
  last_path_ = segment->path;
  last_end_ = segment->end;
  last_bytes_ = segment->file_bytes;
  return true;
}

Status LogScan::cut() {
  if (!is_torn_) return Status();
  before_cut.fires();
  SCYPER_RETURN_IF_ERROR(storage::write_log_end(disk_, directory_, {segments_.back().number, torn_offset_}));
  SCYPER_ASSIGN_OR_RETURN(auto file, disk_->open(torn_path_, OpenMode::kWrite));
  SCYPER_RETURN_IF_ERROR(file->resize(torn_offset_));
  SCYPER_RETURN_IF_ERROR(file->sync());
  after_cut.fires();
  is_torn_ = false;
  return Status();
}

Status LogScan::trim() {
  if (is_torn_ || last_end_ >= last_bytes_) return Status();
  SCYPER_RETURN_IF_ERROR(storage::write_log_end(disk_, directory_, {segments_.back().number, last_end_}));
  SCYPER_ASSIGN_OR_RETURN(auto file, disk_->open(last_path_, OpenMode::kWrite));
  SCYPER_RETURN_IF_ERROR(file->resize(last_end_));
  return file->sync();
}

StatusOr<TornTail> cut_torn_tail(Disk* disk, const std::string& log) {
  SCYPER_ASSIGN_OR_RETURN(auto scan, LogScan::open(disk, log, {}));
  ScannedSegment segment;
  bool any = true;
  while (any) {
    SCYPER_ASSIGN_OR_RETURN(any, scan->next(&segment));
  }
  TornTail tail;
  tail.complete_lsn = scan->complete_lsn();
  tail.reason = scan->torn_reason();
  SCYPER_RETURN_IF_ERROR(scan->cut());
  return tail;
}

}  // namespace scyper::replay
