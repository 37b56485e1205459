#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/disk.h"

namespace scyper {

namespace {

Status error_of(int number, const char* what, const std::string& path) {
  char text[128];
  const std::string message = absl::StrCat(path, ": ", what, ": ", ::strerror_r(number, text, sizeof(text)));
  if (number == ENOSPC || number == EDQUOT) return absl::ResourceExhaustedError(message);
  if (number == ENOENT) return absl::NotFoundError(message);
  if (number == EEXIST) return absl::AlreadyExistsError(message);
  return absl::UnavailableError(message);
}

class RealFile final : public File {
 public:
  RealFile(std::string path, int descriptor, bool writes_through)
      : path_(std::move(path)), descriptor_(descriptor), writes_through_(writes_through) {}
  ~RealFile() override { ::close(descriptor_); }

  StatusOr<size_t> read(uint64_t offset, char* out, size_t size) override {
    size_t done = 0;
    while (done < size) {
      ssize_t n = ::pread(descriptor_, out + done, size - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EIO) return sql_error("XX001", absl::StrCat(path_, ": the disk cannot read it"));
      if (n < 0) return error_of(errno, "read", path_);
      if (n == 0) break;
      done += static_cast<size_t>(n);
    }
    return done;
  }
  Status write(uint64_t offset, std::string_view bytes) override {
    size_t done = 0;
    while (done < bytes.size()) {
      ssize_t n = ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return error_of(errno, "write", path_);
      done += static_cast<size_t>(n);
    }
    return Status();
  }
  Status sync() override {
    if (::fdatasync(descriptor_) != 0) return error_of(errno, "fdatasync", path_);
    return Status();
  }
  Status write_durably(uint64_t offset, std::string_view bytes) override {
    SCYPER_RETURN_IF_ERROR(write(offset, bytes));
    return writes_through_ ? Status() : sync();
  }
  StatusOr<uint64_t> size() override {
    struct stat info;
    if (::fstat(descriptor_, &info) != 0) return error_of(errno, "fstat", path_);
    return static_cast<uint64_t>(info.st_size);
  }
  Status resize(uint64_t bytes) override {
    if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) return error_of(errno, "ftruncate", path_);
    return Status();
  }
  void drop_cached() override { static_cast<void>(::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED)); }

 private:
  const std::string path_;
  const int descriptor_;
  const bool writes_through_;  // O_DIRECT | O_DSYNC
};

class RealDisk final : public Disk {
 public:
  StatusOr<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    int flags = O_CLOEXEC | (mode == OpenMode::kRead ? O_RDONLY : O_RDWR);
    if (mode == OpenMode::kCreate) flags |= O_CREAT | O_TRUNC;
    if (mode == OpenMode::kLog) {
      // p99 of a 4 KiB write: 0.21 ms against 0.29 ms with fdatasync (findings/reliability.md 2). tmpfs cannot.
      int direct = ::open(path.c_str(), flags | O_DIRECT | O_DSYNC, 0640);
      if (direct >= 0) return std::make_unique<RealFile>(path, direct, true);
    }
    int descriptor = ::open(path.c_str(), flags, 0640);
    if (descriptor < 0) return error_of(errno, "open", path);
    return std::make_unique<RealFile>(path, descriptor, false);
  }
  Status rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return error_of(errno, "rename", from);
    return Status();
  }
  Status link(const std::string& from, const std::string& to) override {
    if (::link(from.c_str(), to.c_str()) != 0) return error_of(errno, "link", to);
    return Status();
  }
  Status remove(const std::string& path) override {
    if (std::remove(path.c_str()) != 0) return error_of(errno, "remove", path);
    return Status();
  }
  Status make_directory(const std::string& path) override {
    if (::mkdir(path.c_str(), 0750) != 0 && errno != EEXIST) return error_of(errno, "mkdir", path);
    return Status();
  }
  Status sync_directory(const std::string& path) override {
    int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return error_of(errno, "open", path);
    const int result = ::fsync(descriptor);
    const int number = errno;
    ::close(descriptor);
    return result == 0 ? Status() : error_of(number, "fsync", path);
  }
  StatusOr<std::vector<std::string>> list(const std::string& path) override {
    DIR* directory = ::opendir(path.c_str());
    if (directory == nullptr) return error_of(errno, "opendir", path);
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(directory)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    ::closedir(directory);
    std::sort(names.begin(), names.end());
    return names;
  }
  bool exists(const std::string& path) override { return ::access(path.c_str(), F_OK) == 0; }
  StatusOr<uint64_t> free_bytes(const std::string& path) override {
    struct statvfs info;
    if (::statvfs(path.c_str(), &info) != 0) return error_of(errno, "statvfs", path);
    return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
  }
};

}  // namespace

std::unique_ptr<Disk> make_real_disk() { return std::make_unique<RealDisk>(); }

}  // namespace scyper
