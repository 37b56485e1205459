#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

namespace scyper::client {

// A program of ours, by its name.
std::string program_beside_this(const std::string& name);
// A process with its output in a file, in a session of its own. Its pid.
pid_t launch(const std::vector<std::string>& arguments, const std::string& log);
// Sends the signal to a child and waits for its end. -1: does nothing.
void end_process(pid_t pid, int signal_number);
// Children in good order: one SIGTERM each (a second one would end a node at once), then waits for all of them.
void stop_processes(std::span<const pid_t> pids);

}  // namespace scyper::client
