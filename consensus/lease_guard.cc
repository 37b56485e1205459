#include "consensus/lease_guard.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "consensus/supervisor.h"

namespace scyper::consensus {

namespace {

constexpr int kTickMs = 200;

}  // namespace

struct LeaseGuard::Guard {
  int pipe = -1;
  int node = -1;  // pidfd
  const Shared* shared = nullptr;
  int64_t stuck_us = 0;
  std::function<void(const std::string&)> on_progress;
  int64_t until_us = 0;  // what the node said last
  int64_t ticks_us = 0;  // since it should have ended by that; time in which nobody ran does not count

  void say(const std::string& line) const {
    if (on_progress) on_progress("lease guard: " + line);
  }
  void look() {
    const int64_t said_us = shared->until_us.load(std::memory_order_relaxed);
    const bool is_late =
        said_us != 0 && said_us == until_us && boot_time_us() > until_us;  // who says something goes on
    until_us = said_us;
    ticks_us = is_late ? ticks_us + kTickMs * 1000 : 0;
    if (stuck_us == 0 || ticks_us < stuck_us) return;
    say("the node has not ended with its lease, it is killed");
    static_cast<void>(::syscall(SYS_pidfd_send_signal, node, SIGKILL, nullptr, 0));
    ticks_us = 0;
  }
  // The newest lease from the pipe, until its other end is closed.
  int64_t wait_for_end() {
    int64_t lease = 0, next = 0;
    while (true) {
      pollfd readable{pipe, POLLIN, 0};
      const int ready = ::poll(&readable, 1, lease == 0 ? -1 : kTickMs);
      if (ready == 0) look();
      if (ready <= 0) continue;
      const ssize_t read = ::read(pipe, &next, sizeof(next));
      if (read < 0 && errno == EINTR) continue;
      if (read != sizeof(next)) return lease;
      lease = next;
    }
  }
  [[noreturn]] void run(const EtcdOptions& options) {
    ::prctl(PR_SET_NAME, "scyper-lease");
    ::setsid();  // what is typed at the node's terminal is not for it
    for (int each : {SIGINT, SIGTERM, SIGHUP}) ::signal(each, SIG_IGN);
    auto etcd = Etcd::make(options);
    if (!etcd.ok()) ::_exit(1);
    static_cast<void>((*etcd)->read("/scyper/lease-guard"));  // connected, so that no time is lost later
    const int64_t lease = wait_for_end();
    if (lease == 0) ::_exit(0);
    say("the node's process has ended");
    const Status revoked = (*etcd)->revoke(lease);
    say(revoked.ok() ? "the lease is given back" : "the lease is not given back: " + std::string(revoked.message()));
    ::_exit(0);
  }
};

StatusOr<std::unique_ptr<LeaseGuard>> LeaseGuard::start(const EtcdOptions& options, int64_t stuck_us,
                                                        const std::function<void(const std::string&)>& on_progress) {
  void* const page = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return absl::UnavailableError("no memory can be shared");
  auto* const shared = new (page) Shared();
  Guard guard;
  guard.shared = shared;
  guard.stuck_us = stuck_us;
  guard.on_progress = on_progress;
  guard.node = static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0));
  int ends[2];
  if (guard.node < 0 || ::pipe2(ends, O_CLOEXEC) != 0) {
    ::munmap(page, sizeof(Shared));
    if (guard.node >= 0) ::close(guard.node);
    return absl::UnavailableError("no descriptors for another process");
  }
  guard.pipe = ends[0];
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[1]);
    // nobody's child: who outlives its parent cannot be waited for
    const pid_t inner = ::fork();
    if (inner == 0) guard.run(options);
    ::_exit(inner > 0 ? 0 : 1);
  }
  ::close(ends[0]);
  ::close(guard.node);
  std::unique_ptr<LeaseGuard> made(new LeaseGuard(ends[1], shared));
  int status = -1;
  if (pid > 0) {
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  }
  if (status != 0) return absl::UnavailableError("no process can be made");
  return made;
}

LeaseGuard::~LeaseGuard() {
  ::close(pipe_);
  ::munmap(shared_, sizeof(Shared));
}

// Less than a pipe writes at once: never a part.
void LeaseGuard::set(int64_t lease) { static_cast<void>(!::write(pipe_, &lease, sizeof(lease))); }

void LeaseGuard::watch(int64_t until_us) { shared_->until_us.store(until_us, std::memory_order_relaxed); }

}  // namespace scyper::consensus
