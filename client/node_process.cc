#include "node_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

namespace scyper::client {

std::string program_beside_this(const std::string& name) {
  std::error_code error;
  return (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / name).string();
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

}  // namespace scyper::client
