#include "storage/log_segment.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/failpoint.h"
#include "storage/log_end.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace scyper::storage {

namespace {

Failpoint before_segment_fill("log.before_segment_fill");
Failpoint in_segment_fill("log.in_segment_fill");
Failpoint before_segment_header("log.before_segment_header");
Failpoint after_segment_header("log.after_segment_header");
Failpoint after_segment_rename("log.after_segment_rename");
Failpoint before_group_write("log.before_group_write");
Failpoint after_group_write("log.after_group_write");
Failpoint group_write_fails("log.group_write_fails");
Failpoint before_segment_drop("log.before_segment_drop");
Failpoint after_segment_drop("log.after_segment_drop");

constexpr uint64_t kMagic = 0x31676f4c50796353;  // "ScyPLog1"
constexpr uint32_t kVersion = 1;
constexpr uint32_t kStreamsMax = 1 << 16;
constexpr uint32_t kLacksPositions = 1;  // the one flag
constexpr size_t kFillBytes = size_t{1} << 20;

struct FixedHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t header_bytes;
  uint64_t cluster[2];
  uint64_t number;
  uint64_t term;
  uint64_t start_lsn;
  int64_t time_us;
  uint32_t streams;
  uint32_t flags;
};
static_assert(sizeof(FixedHeader) == 72);

size_t round_up(size_t bytes) { return (bytes + kDiskBlockBytes - 1) / kDiskBlockBytes * kDiskBlockBytes; }

// Memory that a kLog file can be written from.
struct AlignedBytes {
  explicit AlignedBytes(size_t bytes) : size(bytes), data(static_cast<char*>(std::aligned_alloc(4096, bytes))) {
    CHECK(data != nullptr);
    std::memset(data, 0, bytes);
  }
  ~AlignedBytes() { std::free(data); }
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  const size_t size;
  char* const data;
};
static_assert(kDiskBlockBytes == 4096);

std::string new_path(const std::string& directory, uint64_t number) {
  char name[40];
  std::snprintf(name, sizeof(name), "/%020llu.new", static_cast<unsigned long long>(number));
  return directory + name;
}

// Whether it can be used as if it had just been made: of that size, and nothing was written to it, which is not looked
// at where it is known.
bool is_unused(Disk* disk, const std::string& path, uint64_t bytes, bool is_known_zero) {
  auto file = disk->open(path, OpenMode::kRead);
  if (!file.ok()) return false;
  const auto size = (*file)->size();
  if (!size.ok() || *size != bytes) return false;
  if (is_known_zero) return true;
  std::string piece(std::min<uint64_t>(kFillBytes, bytes), '\0');
  for (uint64_t at = 0; at < bytes; at += piece.size()) {
    const auto read = (*file)->read(at, piece.data(), std::min<uint64_t>(piece.size(), bytes - at));
    if (!read.ok() || *read != std::min<uint64_t>(piece.size(), bytes - at)) return false;
    if (piece[0] != 0 || std::memcmp(piece.data(), piece.data() + 1, *read - 1) != 0) return false;
  }
  return true;
}

// That a segment was begun is noted when the next one is made: no commit waits for it, and a segment that goes before
// is not missed. An error changes nothing else.
void note_begun(Disk* disk, const std::string& directory, uint64_t number) {
  const std::string path = segment_path(directory, number);
  if (number == 0 || !disk->exists(path) || !disk->sync_directory(directory).ok()) return;
  auto file = disk->open(path, OpenMode::kRead);
  if (!file.ok()) return;
  const auto bytes = (*file)->size();
  if (bytes.ok()) static_cast<void>(write_log_end(disk, directory, {number, *bytes}));
}

}  // namespace

std::string encode_segment_header(SegmentHeader* header) {
  const size_t used = sizeof(FixedHeader) + header->streams.size() * sizeof(StreamPosition) + sizeof(uint64_t);
  header->header_bytes = static_cast<uint32_t>(round_up(used));
  FixedHeader fixed{kMagic,
                    kVersion,
                    header->header_bytes,
                    {header->cluster[0], header->cluster[1]},
                    header->number,
                    header->term,
                    header->start_lsn,
                    header->time_us,
                    static_cast<uint32_t>(header->streams.size()),
                    header->lacks_positions ? kLacksPositions : 0};
  std::string bytes(header->header_bytes, '\0');
  std::memcpy(bytes.data(), &fixed, sizeof(fixed));
  const size_t stream_bytes = header->streams.size() * sizeof(StreamPosition);
  if (stream_bytes > 0) std::memcpy(bytes.data() + sizeof(fixed), header->streams.data(), stream_bytes);
  const uint64_t hash = XXH3_64bits(bytes.data(), sizeof(fixed) + stream_bytes);
  std::memcpy(bytes.data() + sizeof(fixed) + stream_bytes, &hash, sizeof(hash));
  return bytes;
}

StatusOr<SegmentHeader> decode_segment_header(std::string_view bytes) {
  if (bytes.find_first_not_of('\0') == std::string_view::npos) return absl::NotFoundError("the segment is empty");
  if (bytes.size() < sizeof(FixedHeader)) return absl::DataLossError("the segment's header is cut off");
  FixedHeader fixed;
  std::memcpy(&fixed, bytes.data(), sizeof(fixed));
  if (fixed.magic != kMagic) return absl::DataLossError("the file does not begin as a segment");
  const uint64_t stream_bytes = uint64_t{fixed.streams} * sizeof(StreamPosition);
  if (fixed.streams > kStreamsMax || bytes.size() < sizeof(fixed) + stream_bytes + sizeof(uint64_t)) {
    return absl::DataLossError("the segment's header is cut off");
  }
  uint64_t hash;
  std::memcpy(&hash, bytes.data() + sizeof(fixed) + stream_bytes, sizeof(hash));
  if (hash != XXH3_64bits(bytes.data(), sizeof(fixed) + stream_bytes)) {
    return absl::DataLossError("the segment's header does not match its hash");
  }
  if (fixed.version != kVersion) {
    return absl::UnimplementedError(absl::StrCat("the segment has version ", fixed.version, ", known is 1"));
  }
  if ((fixed.flags & ~kLacksPositions) != 0) {
    return absl::UnimplementedError(absl::StrCat("the segment has flags ", fixed.flags, ", known are 0 and 1"));
  }
  if (fixed.header_bytes != round_up(sizeof(fixed) + stream_bytes + sizeof(hash))) {
    return absl::DataLossError("the segment's header contradicts itself");
  }
  SegmentHeader header;
  header.cluster[0] = fixed.cluster[0];
  header.cluster[1] = fixed.cluster[1];
  header.number = fixed.number;
  header.term = fixed.term;
  header.start_lsn = fixed.start_lsn;
  header.time_us = fixed.time_us;
  header.header_bytes = fixed.header_bytes;
  header.lacks_positions = (fixed.flags & kLacksPositions) != 0;
  header.streams.resize(fixed.streams);
  if (stream_bytes > 0) std::memcpy(header.streams.data(), bytes.data() + sizeof(fixed), stream_bytes);
  return header;
}

std::string segment_path(const std::string& directory, uint64_t number) {
  char name[40];
  std::snprintf(name, sizeof(name), "/%020llu.log", static_cast<unsigned long long>(number));
  return directory + name;
}

StatusOr<std::vector<SegmentFile>> list_segments(Disk* disk, const std::string& directory) {
  SCYPER_ASSIGN_OR_RETURN(auto names, disk->list(directory));
  std::vector<SegmentFile> segments;
  for (const std::string& name : names) {
    if (name.size() != 24 || !name.ends_with(".log") || name.find_first_not_of("0123456789") != 20) continue;
    segments.push_back({std::strtoull(name.c_str(), nullptr, 10), directory + "/" + name});
  }
  for (size_t i = 1; i < segments.size(); ++i) {
    if (segments[i].number == segments[i - 1].number + 1) continue;
    return absl::DataLossError(absl::StrCat(directory, ": segment ", segments[i - 1].number + 1, " is missing: after ",
                                            segments[i - 1].path, " comes ", segments[i].path));
  }
  return segments;
}

LogAppender::LogAppender(Disk* disk, std::string directory, const Options& options, std::vector<Existing> existing)
    : disk_(disk), directory_(std::move(directory)), options_(options), segments_(std::move(existing)) {}
// Nothing comes behind its last group.
LogAppender::~LogAppender() {
  const bool has_tail = file_ != nullptr && !is_broken_ && offset_ < size_bytes_;
  if (has_tail && !write_log_end(disk_, directory_, {number_, offset_}).ok()) return;
  drop_tail();
}

// Of the current segment, its zeros: it gets no more groups. They are no harm.
void LogAppender::drop_tail() {
  if (file_ != nullptr && !is_broken_ && offset_ < size_bytes_) static_cast<void>(file_->resize(offset_));
  file_.reset();
}

StatusOr<std::unique_ptr<LogAppender>> LogAppender::create(Disk* disk, std::string directory, const Options& options,
                                                           std::vector<Existing> existing) {
  CHECK(options.segment_bytes % kDiskBlockBytes == 0 && options.segment_bytes >= 4 * kDiskBlockBytes);
  std::unique_ptr<LogAppender> log(new LogAppender(disk, std::move(directory), options, std::move(existing)));
  log->number_ = log->segments_.empty() ? 0 : log->segments_.back().number;
  // left over from a run before, or of a secondary that becomes primary; its size may not fit
  SCYPER_ASSIGN_OR_RETURN(auto names, disk->list(log->directory_));
  for (const std::string& name : names) {
    const std::string path = log->directory_ + "/" + name;
    if (!name.ends_with(".new")) continue;
    const bool is_known_zero = options.made_segment == log->number_ + 1;
    if (path == new_path(log->directory_, log->number_ + 1) &&
        is_unused(disk, path, options.segment_bytes, is_known_zero)) {
      SCYPER_ASSIGN_OR_RETURN(auto file, disk->open(path, OpenMode::kLog));
      SCYPER_RETURN_IF_ERROR(file->sync());
      absl::MutexLock lock(&log->mutex_);
      log->next_ = std::move(file);
      log->next_number_ = log->number_ + 1;
      log->next_bytes_ = options.segment_bytes;
    } else {
      SCYPER_RETURN_IF_ERROR(disk->remove(path));
    }
  }
  // without room: append() says so, and tries again
  if (Status status = log->prepare_next(); !status.ok() && !is_disk_full(status)) return status;
  return log;
}

// Zeros, not just a size: a flush into space that was only allocated has ten times the latency at p99, as it has to
// change the file system's metadata (findings/reliability.md 2).
StatusOr<std::unique_ptr<File>> LogAppender::make_segment(uint64_t number, uint64_t bytes) {
  const std::string path = new_path(directory_, number);
  if (before_segment_fill.fires()) return absl::ResourceExhaustedError("failpoint log.before_segment_fill");
  auto fill = [&]() -> Status {
    SCYPER_ASSIGN_OR_RETURN(auto file, disk_->open(path, OpenMode::kCreate));
    const std::string zeros(std::min<uint64_t>(kFillBytes, bytes), '\0');
    for (uint64_t at = 0; at < bytes; at += zeros.size()) {
      if (in_segment_fill.fires()) return absl::ResourceExhaustedError("failpoint log.in_segment_fill");
      const uint64_t n = std::min<uint64_t>(zeros.size(), bytes - at);
      SCYPER_RETURN_IF_ERROR(file->write(at, std::string_view(zeros).substr(0, n)));
      // piece by piece: the groups that are flushed meanwhile wait for one at most
      SCYPER_RETURN_IF_ERROR(file->sync());
    }
    return file->sync();
  };
  if (Status status = fill(); !status.ok()) {
    if (disk_->exists(path)) static_cast<void>(disk_->remove(path));  // gives the space back
    return status;
  }
  return disk_->open(path, OpenMode::kLog);
}

bool LogAppender::has_next() const {
  absl::MutexLock lock(&mutex_);
  return next_ != nullptr;
}

Status LogAppender::prepare_next() {
  absl::MutexLock making(&making_);
  uint64_t number;
  {
    absl::MutexLock lock(&mutex_);
    if (next_ != nullptr) return Status();
    if (next_number_ == 0) next_number_ = number_ + 1;
    number = next_number_;
  }
  note_begun(disk_, directory_, number - 1);
  SCYPER_ASSIGN_OR_RETURN(auto file, make_segment(number, options_.segment_bytes));
  absl::MutexLock lock(&mutex_);
  next_ = std::move(file);
  next_bytes_ = options_.segment_bytes;
  return Status();
}

SegmentHeader LogAppender::next_header(uint64_t start_lsn, std::span<const StreamPosition> streams,
                                       int64_t time_us) const {
  SegmentHeader header;
  header.cluster[0] = options_.cluster[0];
  header.cluster[1] = options_.cluster[1];
  header.term = options_.term;
  header.start_lsn = start_lsn;
  header.time_us = time_us;
  header.streams.assign(streams.begin(), streams.end());
  header.lacks_positions = options_.lacks_positions;
  header.number = number_ + 1;
  return header;
}

// Disk full: nothing has happened, as long as that can be said; behind the point of no return it is an error as any
// other.
Status LogAppender::begin_segment(uint64_t group_bytes, uint64_t start_lsn, std::span<const StreamPosition> streams,
                                  int64_t time_us) {
  const Status begun = make_current(group_bytes, start_lsn, streams, time_us);
  return is_broken_ && is_disk_full(begun) ? absl::UnavailableError(begun.message()) : begun;
}

Status LogAppender::make_current(uint64_t group_bytes, uint64_t start_lsn, std::span<const StreamPosition> streams,
                                 int64_t time_us) {
  SegmentHeader header = next_header(start_lsn, streams, time_us);
  const std::string bytes = encode_segment_header(&header);
  const uint64_t needed = header.header_bytes + group_bytes;

  SCYPER_RETURN_IF_ERROR(prepare_next());
  std::unique_ptr<File> file;
  uint64_t size_bytes;
  {
    absl::MutexLock making(&making_);
    absl::MutexLock lock(&mutex_);
    CHECK(next_ != nullptr && next_number_ == number_ + 1);
    size_bytes = next_bytes_;
    if (size_bytes >= needed) {
      file = std::move(next_);
      next_number_ = number_ + 2;
    }
  }
  if (file == nullptr) {  // a group larger than a segment gets one of its own size
    absl::MutexLock making(&making_);
    SCYPER_ASSIGN_OR_RETURN(auto larger, make_segment(number_ + 1, round_up(needed)));
    absl::MutexLock lock(&mutex_);
    next_ = nullptr;
    next_number_ = number_ + 2;
    file = std::move(larger);
    size_bytes = round_up(needed);
  }
  // from here on errors are final
  is_broken_ = true;
  before_segment_header.fires();
  AlignedBytes aligned(bytes.size());
  std::memcpy(aligned.data, bytes.data(), bytes.size());
  SCYPER_RETURN_IF_ERROR(file->write_durably(0, {aligned.data, aligned.size}));
  after_segment_header.fires();
  SCYPER_RETURN_IF_ERROR(disk_->rename(new_path(directory_, header.number), segment_path(directory_, header.number)));
  after_segment_rename.fires();
  SCYPER_RETURN_IF_ERROR(disk_->sync_directory(directory_));
  is_broken_ = false;
  drop_tail();
  file_ = std::move(file);
  number_ = header.number;
  offset_ = header.header_bytes;
  size_bytes_ = size_bytes;
  segments_.push_back({number_, start_lsn});
  return Status();
}

Status LogAppender::append(std::string_view group, uint64_t start_lsn, std::span<const StreamPosition> streams,
                           int64_t time_us) {
  CHECK(!group.empty() && group.size() % kDiskBlockBytes == 0);
  if (is_broken_) return absl::UnavailableError("the log has failed before");
  if (file_ == nullptr || size_bytes_ - offset_ < group.size()) {
    SCYPER_RETURN_IF_ERROR(begin_segment(group.size(), start_lsn, streams, time_us));
  }
  is_broken_ = true;
  before_group_write.fires();
  if (group_write_fails.fires()) return absl::UnavailableError("failpoint log.group_write_fails");
  if (Status status = file_->write_durably(offset_, group); !status.ok()) {
    return absl::UnavailableError(status.message());
  }
  after_group_write.fires();
  is_broken_ = false;
  offset_ += group.size();
  bytes_written_ += group.size();
  return Status();
}

Status LogAppender::begin_next(uint64_t start_lsn, std::span<const StreamPosition> streams, int64_t time_us) {
  if (is_broken_) return absl::UnavailableError("the log has failed before");
  if (file_ != nullptr && segments_.back().start_lsn == start_lsn) return Status();
  return begin_segment(0, start_lsn, streams, time_us);
}

// There was no room for it: as if it had never been begun. With making_.
Status LogAppender::take_back_segment(uint64_t number) {
  const std::string path = new_path(directory_, number);
  if (disk_->exists(path)) SCYPER_RETURN_IF_ERROR(disk_->remove(path));
  absl::MutexLock lock(&mutex_);
  if (next_ != nullptr) SCYPER_RETURN_IF_ERROR(disk_->rename(new_path(directory_, number + 1), path));
  next_number_ = number;
  is_broken_ = false;
  return Status();
}

// Written and synced under the name of a segment that is being made: a crash leaves that, which the next start removes.
Status LogAppender::append_segment(std::string_view groups, uint64_t start_lsn, std::span<const StreamPosition> streams,
                                   int64_t time_us) {
  CHECK(!groups.empty() && groups.size() % kDiskBlockBytes == 0);
  if (is_broken_) return absl::UnavailableError("the log has failed before");
  SegmentHeader header = next_header(start_lsn, streams, time_us);
  const std::string bytes = encode_segment_header(&header);
  absl::MutexLock making(&making_);
  is_broken_ = true;
  {
    // zeros, whatever their number
    absl::MutexLock lock(&mutex_);
    if (next_ != nullptr) {
      CHECK(next_number_ == header.number);
      SCYPER_RETURN_IF_ERROR(
          disk_->rename(new_path(directory_, header.number), new_path(directory_, header.number + 1)));
    }
    next_number_ = header.number + 1;
  }
  const std::string path = new_path(directory_, header.number);
  const auto write = [&]() -> Status {
    SCYPER_ASSIGN_OR_RETURN(auto file, disk_->open(path, OpenMode::kCreate));
    SCYPER_RETURN_IF_ERROR(file->write(0, bytes));
    SCYPER_RETURN_IF_ERROR(file->write(bytes.size(), groups));
    return file->sync();
  };
  if (const Status written = write(); !written.ok()) {
    if (!is_disk_full(written)) return written;
    SCYPER_RETURN_IF_ERROR(take_back_segment(header.number));
    return written;
  }
  after_segment_header.fires();
  SCYPER_RETURN_IF_ERROR(disk_->rename(path, segment_path(directory_, header.number)));
  after_segment_rename.fires();
  SCYPER_RETURN_IF_ERROR(disk_->sync_directory(directory_));
  is_broken_ = false;
  drop_tail();
  number_ = header.number;
  offset_ = size_bytes_ = header.header_bytes + groups.size();
  segments_.push_back({number_, start_lsn});
  bytes_written_ += groups.size();
  return Status();
}

// Of all segments but the current one.
StatusOr<uint64_t> LogAppender::ended_bytes() {
  uint64_t bytes = 0;
  for (size_t i = 0; i + 1 < segments_.size(); ++i) {
    if (segments_[i].bytes == 0) {
      SCYPER_ASSIGN_OR_RETURN(auto file, disk_->open(segment_path(directory_, segments_[i].number), OpenMode::kRead));
      SCYPER_ASSIGN_OR_RETURN(segments_[i].bytes, file->size());
    }
    bytes += segments_[i].bytes;
  }
  return bytes;
}

StatusOr<uint64_t> LogAppender::drop_before(uint64_t lsn) {
  uint64_t dropped = 0;
  uint64_t kept_bytes = 0;
  if (options_.retention_bytes > 0) {
    SCYPER_ASSIGN_OR_RETURN(kept_bytes, ended_bytes());
  }
  // a segment ends where the next one starts
  while (segments_.size() > 1 && segments_[1].start_lsn <= lsn &&
         (options_.retention_bytes == 0 || kept_bytes - segments_[0].bytes >= options_.retention_bytes)) {
    before_segment_drop.fires();
    SCYPER_RETURN_IF_ERROR(disk_->remove(segment_path(directory_, segments_[0].number)));
    after_segment_drop.fires();
    kept_bytes -= std::min(kept_bytes, segments_[0].bytes);
    segments_.erase(segments_.begin());  // it is gone, whatever becomes of its name
    SCYPER_RETURN_IF_ERROR(disk_->sync_directory(directory_));
    ++dropped;
  }
  return dropped;
}

}  // namespace scyper::storage
