#include "storage/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "copy_ahead.h"
#include "storage/arena.h"
#include "storage/frozen_memory.h"
#include "storage/page_cache.h"

namespace scyper::storage {
namespace {

// The low descriptor of the child's end: the range behind it is closed in one call.
constexpr int kChildSocket = 3;
// A child is the first to go when memory runs out: it is only a copy.
constexpr char kOomScore[] = "500";

Status system_error(const char* what) { return sql_error("58030", std::string(what) + ": " + std::strerror(errno)); }

void close_all_but_socket(int socket) {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd : {0, 1}) {
    if (null >= 0) dup2(null, fd);
  }
  if (socket != kChildSocket) dup2(socket, kChildSocket);
  syscall(SYS_close_range, kChildSocket + 1, ~0U, 0);
}

// The first steps of the child; returns its socket.
int become_child(const ChildOptions& options, pid_t parent, int socket) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);  // it ended before it could be watched
  sigset_t all;
  sigfillset(&all);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&all, fault);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  close_all_but_socket(socket);
  prctl(PR_SET_NAME, options.name.substr(0, 15).c_str());
  if (options.nice != 0) setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + options.nice);
  const int oom = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (oom >= 0) {
    const ssize_t written = write(oom, kOomScore, sizeof(kOomScore) - 1);
    static_cast<void>(written);  // only advice
    close(oom);
  }
  return kChildSocket;
}

}  // namespace

StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::fork(const ChildOptions& options, const Body& body) {
  PagesPlaces places;
  const Status taken = take_places(options.pages, &places);
  auto child = taken.ok() ? fork(options, places, body) : taken;
  if (!child.ok()) leave_places(places);
  return child;
}

Status ChildProcess::take_places(std::span<PageCache* const> pages, PagesPlaces* places) {
  for (PageCache* one : pages) {
    SCYPER_ASSIGN_OR_RETURN(const uint32_t number, one->add_process());
    places->push_back({one, number});
  }
  return Status();
}

void ChildProcess::leave_places(const PagesPlaces& places) noexcept {
  for (const PagesPlace& place : places) place.pages->remove_process(place.number);
}

StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::fork(const ChildOptions& options, const PagesPlaces& places,
                                                           const Body& body) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return system_error("socketpair");
  int watched[2];
  if (pipe2(watched, O_CLOEXEC) != 0) {
    close(sockets[0]);
    close(sockets[1]);
    return system_error("pipe");
  }
  const pid_t parent = getpid();
  const FrozenPin pin = options.frozen != nullptr ? options.frozen->pin() : 0;
  if (options.arena != nullptr) options.arena->begin_fork();
  if (options.frozen != nullptr) options.frozen->begin_fork();
  const pid_t pid = ::fork();
  const int error = errno;
  if (options.frozen != nullptr) options.frozen->end_fork();
  if (options.arena != nullptr) options.arena->end_fork();
  if (pid == 0) {
    for (const PagesPlace& place : places) place.pages->enter_process(place.number);
    _exit(body(become_child(options, parent, sockets[1])));
  }
  close(sockets[1]);
  close(watched[1]);
  if (pid < 0) {
    close(sockets[0]);
    close(watched[0]);
    if (options.frozen != nullptr) options.frozen->unpin(pin);
    errno = error;
    return with_hint(system_error("could not fork a snapshot"), "Retry after 1000 ms.");
  }
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid, sockets[0], watched[0], options, pin, places));
}

ChildProcess::~ChildProcess() {
  kill();
  wait();
  close(socket_);
  if (watched_ >= 0) close(watched_);
}

void ChildProcess::wait_until_watched() noexcept {
  char nothing;
  while (read(watched_, &nothing, 1) < 0 && errno == EINTR) {
  }
  close(watched_);
  watched_ = -1;
}

bool ChildProcess::is_over() const {
  absl::MutexLock lock(&mutex_);
  return is_over_;
}

void ChildProcess::kill() noexcept {
  absl::MutexLock lock(&mutex_);  // else the number could be another process's by now
  if (!is_over_) ::kill(pid_, SIGKILL);
}

int ChildProcess::wait() noexcept {
  // Not reaped while waiting, so that kill() need not wait for a child that does not end by itself.
  siginfo_t info;
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  absl::MutexLock lock(&mutex_);
  if (is_over_) return status_;
  while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  is_over_ = true;
  if (frozen_ != nullptr) frozen_->unpin(pin_);
  leave_places(places_);
  return status_;
}

StatusOr<ProcessMemory> ChildProcess::memory() const {
  if (is_over()) return sql_error("58030", "the child process has ended");
  return memory_of_process(pid_);
}

StatusOr<ProcessMemory> memory_of_process(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/smaps_rollup");
  if (!file) return sql_error("58030", "cannot read the memory use of process " + std::to_string(pid));
  ProcessMemory memory;
  std::string line;
  while (std::getline(file, line)) {
    const auto value = [&](const char* name, uint64_t* out) {
      if (line.starts_with(name)) *out += std::strtoull(line.c_str() + std::strlen(name), nullptr, 10) * 1024;
    };
    value("Rss:", &memory.resident_bytes);
    value("Pss:", &memory.proportional_bytes);
    value("Private_Clean:", &memory.copied_bytes);
    value("Private_Dirty:", &memory.copied_bytes);
    value("AnonHugePages:", &memory.huge_bytes);
    // reserved pages (hugetlbfs) are in none of the above
    for (const char* shared_or_not : {"Private_Hugetlb:", "Shared_Hugetlb:"}) {
      value(shared_or_not, &memory.resident_bytes);
      value(shared_or_not, &memory.huge_bytes);
    }
    value("Private_Hugetlb:", &memory.proportional_bytes);
    value("Private_Hugetlb:", &memory.copied_bytes);
    value("Private_Hugetlb:", &memory.reserved_copied_bytes);
  }
  return memory;
}

std::string describe_wait_status(int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS && has_reserved_pages()) {
    return "lost a page of its memory (signal " + std::to_string(SIGBUS) +
           "): no reserved huge page was left to copy to, vm.nr_hugepages is too small";
  }
  if (WIFSIGNALED(status)) return "was killed by signal " + std::to_string(WTERMSIG(status));
  return "exited with code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace scyper::storage
