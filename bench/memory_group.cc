#include "memory_group.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace scyper::bench {
namespace {

bool write_text(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool is_written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  return is_written;
}

}  // namespace

std::unique_ptr<MemoryGroup> MemoryGroup::create(uint64_t limit_bytes, std::string* why) {
  const std::string name = "/scyper-bench-" + std::to_string(getpid());
  const std::pair<const char*, const char*> versions[] = {{"/sys/fs/cgroup/memory", "/memory.limit_in_bytes"},
                                                          {"/sys/fs/cgroup", "/memory.max"}};
  for (const auto& [root, limit] : versions) {
    const std::string path = root + name;
    if (mkdir(path.c_str(), 0755) != 0) continue;
    auto group = std::unique_ptr<MemoryGroup>(new MemoryGroup(path));
    if (write_text(path + limit, std::to_string(limit_bytes))) return group;
  }
  *why = std::string("no memory cgroup can be made: ") + std::strerror(errno);
  return nullptr;
}

MemoryGroup::~MemoryGroup() {
  // a process that was reaped may be listed for a moment
  for (int i = 0; i < 100 && rmdir(path_.c_str()) != 0 && errno == EBUSY; ++i) usleep(10'000);
}

bool MemoryGroup::enter() const { return write_text(path_ + "/cgroup.procs", std::to_string(getpid())); }

namespace {

// Waits until nobody has the pipe's other end any more.
[[noreturn]] void guard_swap(int end, const std::string& path) {
  setsid();  // what the terminal interrupts is not this
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_IGN);
  char none;
  while (read(end, &none, 1) < 0 && errno == EINTR) {
  }
  if (swapoff(path.c_str()) == 0 || errno == EINVAL) unlink(path.c_str());  // EINVAL: it has not been switched on
  _exit(0);
}

bool make_swap(const std::string& path, uint64_t bytes) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return false;
  bool is_made = true;
  const std::vector<char> zeros(size_t{1} << 20);
  for (uint64_t at = 0; is_made && at < bytes; at += zeros.size()) {
    is_made = pwrite(file, zeros.data(), zeros.size(), static_cast<off_t>(at)) == static_cast<ssize_t>(zeros.size());
  }
  is_made = is_made && fsync(file) == 0;
  close(file);
  return is_made && std::system(("mkswap -q '" + path + "' >/dev/null 2>&1").c_str()) == 0 &&
         swapon(path.c_str(), 0) == 0;
}

}  // namespace

std::unique_ptr<SwapFile> SwapFile::create(const std::string& path, uint64_t bytes, std::string* why) {
  *why = "no swap can be had: ";
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    *why += std::strerror(errno);
    return nullptr;
  }
  const pid_t guard = fork();
  if (guard == 0) {
    close(ends[1]);
    guard_swap(ends[0], path);
  }
  const int error = errno;
  close(ends[0]);
  if (guard < 0) {
    close(ends[1]);
    *why += std::strerror(error);
    return nullptr;
  }
  auto swap = std::unique_ptr<SwapFile>(new SwapFile(ends[1], guard));
  if (make_swap(path, bytes)) return swap;
  *why += std::strerror(errno);
  return nullptr;
}

SwapFile::~SwapFile() {
  close(end_);
  waitpid(guard_, nullptr, 0);
}

}  // namespace scyper::bench
