#include "storage/tier_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace scyper::storage {
namespace {

constexpr char kTierMagic[8] = {'S', 'C', 'Y', 'T', 'I', 'E', 'R', '1'};
constexpr uint32_t kTierVersion = 1;
constexpr std::string_view kUnsealed = ".tmp";
// What is gathered before it is written: large enough for the disk's full rate (findings: 2 GB/s at 1 MB).
constexpr size_t kWriteBytes = size_t{1} << 20;

struct TierFooter {
  char magic[8];
  uint32_t version;
  uint32_t page_bytes;
  uint64_t stamp;
  uint64_t data_bytes;
  uint64_t pages;
  uint64_t table_checksum;   // XXH3 of the table of checksums
  uint64_t footer_checksum;  // XXH3 of the fields before it
};
static_assert(sizeof(TierFooter) == 56 && sizeof(TierFooter) <= kDiskBlockBytes);

uint64_t footer_checksum(const TierFooter& footer) {
  return XXH3_64bits(&footer, offsetof(TierFooter, footer_checksum));
}
uint64_t table_bytes(uint64_t pages) {
  return (pages * sizeof(uint64_t) + kDiskBlockBytes - 1) / kDiskBlockBytes * kDiskBlockBytes;
}
bool is_page_size(uint64_t bytes) {
  return bytes >= kTierPageBytesMin && bytes <= kTierPageBytesMax && (bytes & (bytes - 1)) == 0;
}
Status damaged(const std::string& path, const char* what) { return sql_error("XX001", absl::StrCat(path, ": ", what)); }

}  // namespace

std::string unsealed_tier_path(const std::string& path) { return path + std::string(kUnsealed); }

uint64_t page_checksum(const char* page, size_t page_bytes, uint64_t stamp, uint64_t number) {
  return XXH3_64bits_withSeed(page, page_bytes, stamp + number * 0x9e3779b97f4a7c15);
}

StatusOr<TierFileInfo> read_tier_file_info(Disk* disk, const std::string& path) {
  SCYPER_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, disk->open(path, OpenMode::kRead));
  SCYPER_ASSIGN_OR_RETURN(const uint64_t size, file->size());
  if (size < kDiskBlockBytes || size % kDiskBlockBytes != 0) return damaged(path, "is not a whole file of the tier");
  TierFooter footer;
  SCYPER_ASSIGN_OR_RETURN(const size_t got,
                          file->read(size - kDiskBlockBytes, reinterpret_cast<char*>(&footer), sizeof footer));
  if (got != sizeof footer || std::memcmp(footer.magic, kTierMagic, sizeof kTierMagic) != 0) {
    return damaged(path, "is not a whole file of the tier");
  }
  if (footer.footer_checksum != footer_checksum(footer)) return damaged(path, "the footer's checksum does not match");
  if (footer.version != kTierVersion) {
    return sql_error("0A000", absl::StrCat(path, ": version ", footer.version, " of the tier's files is not known"));
  }
  // compared by division, so that no value of a forged footer overflows
  if (!is_page_size(footer.page_bytes) || footer.pages > size / footer.page_bytes ||
      footer.data_bytes > footer.pages * footer.page_bytes ||
      size != footer.pages * footer.page_bytes + table_bytes(footer.pages) + kDiskBlockBytes) {
    return damaged(path, "the footer does not fit the file's size");
  }
  TierFileInfo info{footer.page_bytes, footer.stamp, footer.data_bytes, {}};
  info.checksums.resize(footer.pages);
  const size_t bytes = footer.pages * sizeof(uint64_t);
  size_t table = 0;
  if (bytes > 0) {
    char* out = reinterpret_cast<char*>(info.checksums.data());
    SCYPER_ASSIGN_OR_RETURN(table, file->read(footer.pages * footer.page_bytes, out, bytes));
  }
  if (table != bytes || XXH3_64bits(info.checksums.data(), bytes) != footer.table_checksum) {
    return damaged(path, "the table of checksums does not match its own");
  }
  return info;
}

TierFileWriter::TierFileWriter(Disk* disk, std::string path, uint32_t page_bytes, uint64_t stamp)
    : disk_(disk), path_(std::move(path)), page_bytes_(page_bytes), stamp_(stamp) {}

TierFileWriter::~TierFileWriter() {
  file_.reset();
  // one that stays is removed at the next start
  if (!is_sealed_) disk_->remove(unsealed_tier_path(path_)).IgnoreError();
}

StatusOr<std::unique_ptr<TierFileWriter>> TierFileWriter::create(Disk* disk, const std::string& path,
                                                                 uint32_t page_bytes, uint64_t stamp) {
  CHECK(is_page_size(page_bytes));
  auto writer = std::unique_ptr<TierFileWriter>(new TierFileWriter(disk, path, page_bytes, stamp));
  SCYPER_ASSIGN_OR_RETURN(writer->file_, disk->open(unsealed_tier_path(path), OpenMode::kCreate));
  return writer;
}

StatusOr<uint64_t> TierFileWriter::append(std::string_view image, size_t alignment) {
  CHECK(!is_sealed_ && alignment > 0 && (alignment & (alignment - 1)) == 0 && alignment <= page_bytes_);
  const uint64_t begin = (data_bytes_ + alignment - 1) / alignment * alignment;
  buffer_.append(begin - data_bytes_, '\0');
  buffer_.append(image);
  data_bytes_ = begin + image.size();
  if (buffer_.size() >= std::max<size_t>(kWriteBytes, page_bytes_)) SCYPER_RETURN_IF_ERROR(flush(false));
  return begin;
}

Status TierFileWriter::write(std::string_view bytes) {
  SCYPER_RETURN_IF_ERROR(file_->write(written_bytes_, bytes));
  written_bytes_ += bytes.size();
  return Status();
}

// Writes the whole pages of the buffer; of the last one what there is, filled up.
Status TierFileWriter::flush(bool is_last) {
  if (is_last) buffer_.append((page_bytes_ - buffer_.size() % page_bytes_) % page_bytes_, '\0');
  const size_t pages = buffer_.size() / page_bytes_;
  for (size_t i = 0; i < pages; ++i) {
    checksums_.push_back(page_checksum(buffer_.data() + i * page_bytes_, page_bytes_, stamp_, checksums_.size()));
  }
  SCYPER_RETURN_IF_ERROR(write(std::string_view(buffer_).substr(0, pages * page_bytes_)));
  buffer_.erase(0, pages * page_bytes_);
  return Status();
}

Status TierFileWriter::seal() {
  CHECK(!is_sealed_);
  SCYPER_RETURN_IF_ERROR(flush(true));
  const size_t bytes = checksums_.size() * sizeof(uint64_t);
  TierFooter footer{};
  std::memcpy(footer.magic, kTierMagic, sizeof kTierMagic);
  footer.version = kTierVersion;
  footer.page_bytes = page_bytes_;
  footer.stamp = stamp_;
  footer.data_bytes = data_bytes_;
  footer.pages = checksums_.size();
  footer.table_checksum = XXH3_64bits(checksums_.data(), bytes);
  footer.footer_checksum = footer_checksum(footer);
  std::string end(table_bytes(checksums_.size()) + kDiskBlockBytes, '\0');
  std::copy_n(reinterpret_cast<const char*>(checksums_.data()), bytes, end.data());
  std::memcpy(end.data() + end.size() - kDiskBlockBytes, &footer, sizeof footer);
  SCYPER_RETURN_IF_ERROR(write(end));
  SCYPER_RETURN_IF_ERROR(file_->sync());
  file_->drop_cached();  // the tier has a cache of its own
  file_.reset();
  SCYPER_RETURN_IF_ERROR(disk_->rename(unsealed_tier_path(path_), path_));
  is_sealed_ = true;
  return disk_->sync_directory(directory_of(path_));
}

Status remove_unsealed_tier_files(Disk* disk, const std::string& directory) {
  SCYPER_ASSIGN_OR_RETURN(const std::vector<std::string> names, disk->list(directory));
  for (const std::string& name : names) {
    if (name.ends_with(kUnsealed)) SCYPER_RETURN_IF_ERROR(disk->remove(absl::StrCat(directory, "/", name)));
  }
  return Status();
}

}  // namespace scyper::storage
