#include "unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace scyper::server {

namespace {

constexpr mode_t kPermissionsMax = 0777;
constexpr mode_t kOwnerOnly = 0077;  // what a new file does not get

Status socket_error(const std::string& path, const std::string& what) {
  return absl::UnavailableError("cannot listen on the Unix socket \"" + path + "\": " + what);
}

enum class Listener { kThere, kGone, kUnknown };

Listener find_listener(const sockaddr_un& address) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return Listener::kUnknown;
  const int result = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const int error = errno;
  close(fd);
  if (result == 0 || error == EAGAIN) return Listener::kThere;  // EAGAIN: whoever listens has no room for more
  return error == ECONNREFUSED || error == ENOENT ? Listener::kGone : Listener::kUnknown;
}

}  // namespace

StatusOr<mode_t> parse_permissions(const std::string& text) {
  mode_t mode = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (error != std::errc() || end != text.data() + text.size() || mode > kPermissionsMax)
    return absl::InvalidArgumentError("unix_socket_permissions: \"" + text + "\" is not a file's mode, as 0770");
  return mode;
}

Status clear_unix_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError("the path of a Unix socket, \"" + path + "\", is too long (maximum " +
                                      std::to_string(sizeof(address.sun_path) - 1) + " bytes)");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  struct stat found;
  if (lstat(path.c_str(), &found) != 0) {
    return errno == ENOENT ? Status() : socket_error(path, std::strerror(errno));
  }
  if (!S_ISSOCK(found.st_mode)) return socket_error(path, "there is a file that is no socket");
  switch (find_listener(address)) {
    case Listener::kThere:
      return socket_error(path, "another process listens there");
    case Listener::kUnknown:
      return socket_error(path, "whether another process listens there cannot be told");
    case Listener::kGone:
      break;
  }
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return socket_error(path, std::strerror(errno));
  return {};
}

NarrowFiles::NarrowFiles() : before_(umask(kOwnerOnly)) {}
NarrowFiles::~NarrowFiles() { umask(before_); }

Status set_permissions(const std::string& path, mode_t mode) {
  return chmod(path.c_str(), mode) == 0 ? Status() : socket_error(path, std::strerror(errno));
}

}  // namespace scyper::server
