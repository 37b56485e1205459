#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/disk.h"
#include "base/status.h"

// Files of the paged tier: images of frozen data, immutable once they have their name (docs/tiering.md has the format).
namespace scyper::storage {

constexpr size_t kTierPageBytesMin = 4096;  // what O_DIRECT needs
constexpr size_t kTierPageBytesMax = size_t{1} << 20;

// What the footer of a file says, and the checksums of its pages.
struct TierFileInfo {
  uint32_t page_bytes = 0;
  uint64_t stamp = 0;       // of whoever wrote it; in every page's checksum, so that no page passes for another file's
  uint64_t data_bytes = 0;  // of images; the last page is filled with zeros
  std::vector<uint64_t> checksums;  // by page
  uint64_t pages() const { return checksums.size(); }
};

// Of one page, whose place in the file it depends on.
uint64_t page_checksum(const char* page, size_t page_bytes, uint64_t stamp, uint64_t number);

// Reads and checks footer and checksums. XX001: not a whole file of this kind, or damaged; 0A000: of a later version.
StatusOr<TierFileInfo> read_tier_file_info(Disk* disk, const std::string& path);

// Makes one file. It is written as `path`.tmp; seal() gives it its name when everything is on the disk, so that what
// has the name is whole. After an error nothing but the destructor may be called; it removes an unsealed file.
// Threads: one at a time. Errors: those of Disk; absl::IsResourceExhausted = disk full.
class TierFileWriter {
 public:
  // page_bytes: a power of two, kTierPageBytesMin to kTierPageBytesMax.
  static StatusOr<std::unique_ptr<TierFileWriter>> create(Disk* disk, const std::string& path, uint32_t page_bytes,
                                                          uint64_t stamp);
  ~TierFileWriter();
  TierFileWriter(const TierFileWriter&) = delete;
  TierFileWriter& operator=(const TierFileWriter&) = delete;

  // Where the image begins in the file: a multiple of `alignment` (a power of two, a page at most).
  StatusOr<uint64_t> append(std::string_view image, size_t alignment = 8);
  Status seal();

 private:
  TierFileWriter(Disk* disk, std::string path, uint32_t page_bytes, uint64_t stamp);
  Status write(std::string_view bytes);
  Status flush(bool is_last);

  Disk* const disk_;
  const std::string path_;
  const uint32_t page_bytes_;
  const uint64_t stamp_;
  std::unique_ptr<File> file_;
  std::string buffer_;          // what is not written yet; begins at a page
  uint64_t written_bytes_ = 0;  // of the file
  uint64_t data_bytes_ = 0;
  std::vector<uint64_t> checksums_;
  bool is_sealed_ = false;
};

// Where one is written until it gets its name.
std::string unsealed_tier_path(const std::string& path);
// After a crash: removes files that were never sealed.
Status remove_unsealed_tier_files(Disk* disk, const std::string& directory);

}  // namespace scyper::storage
