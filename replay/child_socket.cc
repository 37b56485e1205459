#include "child_socket.h"

#include <sys/socket.h>

#include <cerrno>

namespace scyper::replay {

namespace {

// transfer(position, bytes left): as send() and recv().
template <typename Transfer>
bool transfer_all(size_t size, const Transfer& transfer) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = transfer(done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

bool send_all(int socket, const void* bytes, size_t size) {
  return transfer_all(size, [&](size_t at, size_t left) {
    return ::send(socket, static_cast<const char*>(bytes) + at, left, MSG_NOSIGNAL);
  });
}

bool receive_all(int socket, void* bytes, size_t size) {
  return transfer_all(size,
                      [&](size_t at, size_t left) { return ::recv(socket, static_cast<char*>(bytes) + at, left, 0); });
}

}  // namespace scyper::replay
