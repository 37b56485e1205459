#include "disk_usage.h"

#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <system_error>

namespace scyper::server {

uint64_t disk_usage_bytes(const std::string& directory) {
  constexpr uint64_t kBlockBytes = 512;  // st_blocks', whatever the file system's are
  uint64_t bytes = 0;
  std::set<ino_t> linked;
  std::error_code error;
  std::filesystem::recursive_directory_iterator i(directory, error), end;
  for (; !error && i != end; i.increment(error)) {
    struct stat file{};
    if (::lstat(i->path().c_str(), &file) != 0 || !S_ISREG(file.st_mode)) continue;
    if (file.st_nlink > 1 && !linked.insert(file.st_ino).second) continue;
    bytes += static_cast<uint64_t>(file.st_blocks) * kBlockBytes;
  }
  return bytes;
}

}  // namespace scyper::server
