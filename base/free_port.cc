#include "base/free_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>

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

}  // namespace

uint16_t free_port() {
  std::random_device random;
  std::uniform_int_distribution<int> ports(kFirst, kLast);
  for (int i = 0; i < kTries; ++i) {
    if (const auto port = static_cast<uint16_t>(ports(random)); is_free(port)) return port;
  }
  return 0;
}

}  // namespace scyper
