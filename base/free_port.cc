#include "base/free_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>

namespace scyper {

namespace {

// Below Linux's ports for outgoing connections, one of which could take the port before its listener does.
constexpr int kFirst = 10'000, kLast = 31'999;
constexpr int kTries = 200;

bool is_free(uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool is_bound = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  ::close(socket);
  return is_bound;
}

// Others that draw before the listener has come must not get the same one: a name in Linux's abstract namespace, which
// ends with this process.
bool claim(uint16_t port) {
  const std::string name = "scyper-port-" + std::to_string(port);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const bool is_claimed = ::bind(socket, reinterpret_cast<sockaddr*>(&address), bytes) == 0 && is_free(port);
  if (!is_claimed) ::close(socket);
  return is_claimed;
}

}  // namespace

uint16_t free_port() {
  std::random_device random;
  std::uniform_int_distribution<int> ports(kFirst, kLast);
  for (int i = 0; i < kTries; ++i) {
    if (const auto port = static_cast<uint16_t>(ports(random)); claim(port)) return port;
  }
  return 0;
}

}  // namespace scyper
