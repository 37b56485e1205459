// Signals to child processes.
#pragma once

#include <sys/types.h>

namespace scyper {

// Sends a signal to a child of this process. After SIGSTOP it waits until all of the child's threads stand still (or
// it has ended): on a busy machine they go on for a moment, in which the child may still answer. Reaps nothing.
void signal_child(pid_t pid, int signal_number);

}  // namespace scyper
