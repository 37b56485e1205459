#include "drill_disks.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace scyper::client {

namespace {

// Archives and the log between two of them, which drills make often (node_options() in drill.cc).
constexpr char kSize[] = "size=512m";
constexpr size_t kPieceBytes = 1 << 20, kLastPieceBytes = 4096;

std::string filler(const std::string& directory) { return directory + "/filler"; }

Status disk_error(const std::string& what) { return sql_error("58030", what + ": " + std::strerror(errno)); }

}  // namespace

DrillDisks::~DrillDisks() {
  for (const std::string& directory : mounted_) ::umount2(directory.c_str(), MNT_DETACH);
}

Status DrillDisks::make(const std::vector<std::string>& directories) {
  const auto refuse = [](const char* what) {
    return with_hint(sql_error("42501", std::string(what) + ": " + std::strerror(errno)),
                     "Disks that can be filled need root.");
  };
  if (::unshare(CLONE_NEWNS) != 0) return refuse("no mounts of its own");
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return refuse("no mounts of its own");
  for (const std::string& directory : directories) {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) return sql_error("58030", directory + ": " + error.message());
    if (::mount("scyper-drill", directory.c_str(), "tmpfs", 0, kSize) != 0) return refuse("no disk in memory");
    mounted_.push_back(directory);
  }
  return Status();
}

Status DrillDisks::fill(const std::string& directory) const {
  const int file = ::open(filler(directory).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return disk_error(filler(directory));
  const std::string zeros(kPieceBytes, '\0');
  size_t piece = kPieceBytes;
  while (true) {
    const ssize_t written = ::write(file, zeros.data(), piece);
    if (written > 0) continue;
    if (written == 0 || errno != ENOSPC) break;
    if (piece == kLastPieceBytes) {
      ::close(file);
      return Status();
    }
    piece = kLastPieceBytes;
  }
  const Status failed = disk_error(filler(directory));
  ::close(file);
  return failed;
}

Status DrillDisks::empty(const std::string& directory) const {
  if (::unlink(filler(directory).c_str()) != 0) return disk_error(filler(directory));
  return Status();
}

}  // namespace scyper::client
