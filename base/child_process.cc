#include "base/child_process.h"

#include <signal.h>
#include <sys/wait.h>

namespace scyper {

void signal_child(pid_t pid, int signal_number) {
  if (::kill(pid, signal_number) != 0 || signal_number != SIGSTOP) return;
  siginfo_t ignored;
  ::waitid(P_PID, static_cast<id_t>(pid), &ignored, WSTOPPED | WEXITED | WNOWAIT);
}

}  // namespace scyper
