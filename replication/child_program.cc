#include "child_program.h"

#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <utility>

extern char** environ;

namespace scyper::replication {

std::string program_beside_this(const char* name) {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof(path));
  if (size <= 0) return "";
  const std::string self(path, static_cast<size_t>(size));
  return self.substr(0, self.rfind('/') + 1) + name;
}

StatusOr<int> start_program(const std::string& path, std::vector<std::string> arguments, const std::vector<int>& fds) {
  std::vector<char*> pointers;
  for (std::string& text : arguments) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (int fd : fds) ::posix_spawn_file_actions_adddup2(&actions, fd, fd);  // keeps it open there
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, path.c_str(), &actions, &attributes, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error == 0) return static_cast<int>(pid);
  return absl::UnavailableError(path + " cannot be started");
}

std::string plain_text(const char* bytes, size_t size_max) {
  std::string text;
  for (size_t i = 0; i < size_max && bytes[i] != 0; ++i) text += bytes[i] >= ' ' && bytes[i] <= '~' ? bytes[i] : '?';
  return text;
}

}  // namespace scyper::replication
