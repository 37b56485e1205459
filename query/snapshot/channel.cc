#include "snapshot/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

namespace scyper::query {

bool Channel::send(uint32_t type, uint64_t id, std::string_view body, const std::vector<int>& descriptors) {
  if (descriptors.size() > kDescriptorsMax) return false;
  Header header{type, static_cast<uint32_t>(descriptors.size()), id, body.size()};
  iovec parts[2] = {{&header, sizeof header}, {const_cast<char*>(body.data()), body.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kDescriptorsMax)];
  if (!descriptors.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), sizeof(int) * descriptors.size());
  }
  std::lock_guard<std::mutex> lock(sending_);
  while (message.msg_iovlen > 0) {
    const ssize_t sent = sendmsg(socket_, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    message.msg_control = nullptr;  // went with the first bytes
    message.msg_controllen = 0;
    auto left = static_cast<size_t>(sent);
    while (message.msg_iovlen > 0 && left >= message.msg_iov->iov_len) {
      left -= message.msg_iov->iov_len;
      ++message.msg_iov;
      --message.msg_iovlen;
    }
    if (message.msg_iovlen == 0) break;
    message.msg_iov->iov_base = static_cast<char*>(message.msg_iov->iov_base) + left;
    message.msg_iov->iov_len -= left;
  }
  return true;
}

bool Channel::read_all(char* to, size_t bytes) {
  while (bytes > 0) {
    iovec part{to, bytes};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kDescriptorsMax)];
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t received = recvmsg(socket_, &message, MSG_CMSG_CLOEXEC);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    for (cmsghdr* one = CMSG_FIRSTHDR(&message); one != nullptr; one = CMSG_NXTHDR(&message, one)) {
      if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS) continue;
      const size_t count = (one->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      const size_t had = received_.size();
      received_.resize(had + count);
      std::memcpy(received_.data() + had, CMSG_DATA(one), count * sizeof(int));
    }
    to += received;
    bytes -= static_cast<size_t>(received);
  }
  return true;
}

Channel::Received Channel::receive(Frame* frame, int timeout_ms) {
  pollfd ready{socket_, POLLIN, 0};
  int polled;
  do {
    polled = poll(&ready, 1, timeout_ms);
  } while (polled < 0 && errno == EINTR);
  if (polled == 0) return Received::kTimeout;
  Header header;
  if (polled < 0 || !read_all(reinterpret_cast<char*>(&header), sizeof header)) return Received::kEnd;
  frame->type = header.type;
  frame->id = header.id;
  frame->body.resize(header.body_bytes);
  if (!read_all(frame->body.data(), header.body_bytes) || received_.size() < header.descriptors) return Received::kEnd;
  frame->descriptors.assign(received_.begin(), received_.begin() + header.descriptors);
  received_.erase(received_.begin(), received_.begin() + header.descriptors);
  return Received::kFrame;
}

}  // namespace scyper::query
