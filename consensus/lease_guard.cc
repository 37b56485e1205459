#include "consensus/lease_guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace scyper::consensus {

namespace {

// The guard's life: the newest lease from the pipe, until its other end is closed.
[[noreturn]] void guard(int pipe, const EtcdOptions& options,
                        const std::function<void(const std::string&)>& on_progress) {
  ::prctl(PR_SET_NAME, "scyper-lease");
  ::setsid();  // what is typed at the node's terminal is not for it
  for (int each : {SIGINT, SIGTERM, SIGHUP}) ::signal(each, SIG_IGN);
  auto etcd = Etcd::make(options);
  if (!etcd.ok()) ::_exit(1);
  static_cast<void>((*etcd)->read("/scyper/lease-guard"));  // connected, so that no time is lost later
  int64_t lease = 0, next = 0;
  while (true) {
    const ssize_t read = ::read(pipe, &next, sizeof(next));
    if (read < 0 && errno == EINTR) continue;
    if (read != sizeof(next)) break;
    lease = next;
  }
  if (lease == 0) ::_exit(0);
  if (on_progress) on_progress("lease guard: the node's process has ended");
  const Status revoked = (*etcd)->revoke(lease);
  if (on_progress) {
    on_progress(revoked.ok() ? "lease guard: the lease is given back"
                             : "lease guard: the lease is not given back: " + std::string(revoked.message()));
  }
  ::_exit(0);
}

}  // namespace

StatusOr<std::unique_ptr<LeaseGuard>> LeaseGuard::start(const EtcdOptions& options,
                                                        const std::function<void(const std::string&)>& on_progress) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return absl::UnavailableError("no pipe can be made");
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[1]);
    // nobody's child: who outlives its parent cannot be waited for
    const pid_t inner = ::fork();
    if (inner == 0) guard(ends[0], options, on_progress);
    ::_exit(inner > 0 ? 0 : 1);
  }
  ::close(ends[0]);
  std::unique_ptr<LeaseGuard> made(new LeaseGuard(ends[1]));
  int status = -1;
  if (pid > 0) {
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  }
  if (status != 0) return absl::UnavailableError("no process can be made");
  return made;
}

LeaseGuard::~LeaseGuard() { ::close(pipe_); }

// Less than a pipe writes at once: never a part.
void LeaseGuard::set(int64_t lease) { static_cast<void>(!::write(pipe_, &lease, sizeof(lease))); }

}  // namespace scyper::consensus
