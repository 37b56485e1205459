#include "node_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace scyper::client {

namespace {

// 0 and below would name groups of processes.
void send(pid_t pid, int signal_number) {
  if (pid > 0) ::kill(pid, signal_number);
}

void wait_for(pid_t pid) {
  while (pid > 0 && ::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace

std::string program_beside_this(const std::string& name) {
  // Once: in a mount namespace of its own (DrillDisks) a process no longer sees where a mounted file system is.
  static const std::filesystem::path directory = [] {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  }();
  return (directory / name).string();
}

pid_t launch(const std::vector<std::string>& arguments, const std::string& log) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::setsid();
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ::dup2(file, STDOUT_FILENO);
  ::dup2(file, STDERR_FILENO);
  std::vector<char*> raw;
  for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  ::execvp(raw[0], raw.data());
  ::_exit(127);
}

void end_process(pid_t pid, int signal_number) {
  send(pid, signal_number);
  wait_for(pid);
}

void stop_processes(std::span<const pid_t> pids) {
  for (pid_t pid : pids) send(pid, SIGTERM);
  for (pid_t pid : pids) wait_for(pid);
}

}  // namespace scyper::client
