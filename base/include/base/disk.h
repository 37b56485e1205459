#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace scyper {

// What a disk writes at once: smaller unsynced pieces may be torn by a power loss.
constexpr size_t kSectorBytes = 512;
// Alignment of addresses, offsets and sizes in kLog files, and of what lies in them: a later write never touches a
// block that an earlier one has made durable.
constexpr size_t kDiskBlockBytes = 4096;

enum class OpenMode : uint8_t {
  kRead,
  kWrite,   // read and write; the file exists
  kCreate,  // read and write; the file is new, or emptied
  kLog,     // as kWrite; writes past the page cache where the file system can: see write_durably()
};

// An open file. Errors: absl::IsResourceExhausted = no space (is_disk_full()); everything else means that nothing is
// known about what the disk holds: after a failed write or sync nobody may believe a later sync.
// Threads: one at a time. Fork: the child may read and write files that it opens itself.
class File {
 public:
  virtual ~File() = default;
  // Fewer than `size` bytes only at the end of the file. XX001 for what the disk cannot give back.
  virtual StatusOr<size_t> read(uint64_t offset, char* out, size_t size) = 0;
  virtual Status write(uint64_t offset, std::string_view bytes) = 0;
  // All that was written is on the disk when it returns OK.
  virtual Status sync() = 0;
  // write() and sync(), with one system call where the file was opened as kLog. Then address, offset and size are
  // multiples of kDiskBlockBytes.
  virtual Status write_durably(uint64_t offset, std::string_view bytes) = 0;
  virtual StatusOr<uint64_t> size() = 0;
  virtual Status resize(uint64_t bytes) = 0;
  // What has been synced is read from the disk next, not from the memory of the operating system: as far as it does
  // that.
  virtual void drop_cached() {}
};

// Files and directories. Everything that must survive a power loss goes through it, so that tests can own the disk.
// Names become durable by sync_directory() of the directory they are in. Threads: any.
class Disk {
 public:
  virtual ~Disk() = default;
  virtual StatusOr<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
  virtual Status rename(const std::string& from, const std::string& to) = 0;  // replaces `to`; same directory
  // A second name for a file (a hard link). AlreadyExists; Unavailable where the file system has none.
  virtual Status link(const std::string& from, const std::string& to) = 0;
  virtual Status remove(const std::string& path) = 0;          // a file, or an empty directory
  virtual Status make_directory(const std::string& path) = 0;  // fine when it exists
  virtual Status sync_directory(const std::string& path) = 0;
  virtual StatusOr<std::vector<std::string>> list(const std::string& path) = 0;  // names, sorted
  virtual bool exists(const std::string& path) = 0;
  virtual StatusOr<uint64_t> free_bytes(const std::string& path) = 0;

  // The whole of a file; refuses those over `bytes_max`.
  StatusOr<std::string> read_file(const std::string& path, uint64_t bytes_max = uint64_t{1} << 30);
  // Replaces a file by way of `path`.tmp: after a crash it has the old content or the new one.
  Status replace_file(const std::string& path, std::string_view bytes);
};

std::unique_ptr<Disk> make_real_disk();

inline bool is_disk_full(const Status& status) { return absl::IsResourceExhausted(status); }
// Directory of a path: "a/b" of "a/b/c".
std::string directory_of(const std::string& path);

}  // namespace scyper
