#include "segment_bytes.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace scyper::replay {

namespace {
constexpr uint64_t kPieceBytes = 256 << 10;  // in a core's cache
constexpr uint64_t kLargePageBytes = 2 << 20;
}  // namespace

bool is_zero(std::string_view bytes) {
  return bytes.empty() || (bytes[0] == 0 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

Status SegmentBytes::open(Disk* disk, const std::string& path, uint64_t bytes_max) {
  SCYPER_ASSIGN_OR_RETURN(file_, disk->open(path, OpenMode::kRead));
  SCYPER_ASSIGN_OR_RETURN(file_bytes_, file_->size());
  read_bytes_ = 0;
  failure_ = Status();
  if (file_bytes_ > bytes_max) {
    return absl::DataLossError(absl::StrCat(path, ": has ", file_bytes_, " bytes, too many"));
  }
  if (file_bytes_ > capacity_) {
    // in large pages where the system has them: it clears them sooner than small ones
    capacity_ = (file_bytes_ + kLargePageBytes - 1) / kLargePageBytes * kLargePageBytes;
    bytes_.reset(static_cast<char*>(std::aligned_alloc(kLargePageBytes, capacity_)));
    if (bytes_ == nullptr) {
      capacity_ = 0;
      return sql_error("53200", absl::StrCat(path, ": no memory for ", file_bytes_, " bytes"));
    }
    madvise(bytes_.get(), capacity_, MADV_HUGEPAGE);
  }
  return Status();
}

std::string_view SegmentBytes::from(uint64_t offset, uint64_t wanted) {
  const uint64_t upto = std::min(file_bytes_, offset + std::min(wanted, file_bytes_));
  while (read_bytes_ < upto && failure_.ok()) {
    const uint64_t size = std::min(std::max(kPieceBytes, upto - read_bytes_), file_bytes_ - read_bytes_);
    const auto read = file_->read(read_bytes_, bytes_.get() + read_bytes_, size);
    if (!read.ok()) {
      failure_ = read.status();
      break;
    }
    read_bytes_ += *read;
    if (*read < size) file_bytes_ = read_bytes_;  // it has become shorter
    if (*read < size) break;
  }
  const uint64_t begin = std::min(offset, read_bytes_);
  return {bytes_.get() + begin, read_bytes_ - begin};
}

bool SegmentBytes::is_zero_from(uint64_t offset) {
  if (!is_zero(from(offset, 0))) return false;
  if (passed_ == nullptr) passed_.reset(new char[kPieceBytes]);
  for (uint64_t at = std::max(offset, read_bytes_); at < file_bytes_; at += kPieceBytes) {
    const auto read = file_->read(at, passed_.get(), std::min(kPieceBytes, file_bytes_ - at));
    if (!read.ok()) failure_ = read.status();
    if (!read.ok() || !is_zero({passed_.get(), *read})) return false;
  }
  return true;
}

}  // namespace scyper::replay
