#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace scyper::query {

// Descriptors that one frame can take along.
constexpr size_t kDescriptorsMax = 16;

// Frames on a local stream socket, with descriptors.
struct Frame {
  uint32_t type = 0;
  uint64_t id = 0;  // of the query or program that it is about
  std::string body;
  std::vector<int> descriptors;  // received: the taker closes them
};

// Both ends of the socket between a snapshot and its parent. Owns no descriptor.
// Threads: send() any, receive() one. Fork: made anew in the child.
class Channel {
 public:
  explicit Channel(int socket) : socket_(socket) {}

  // Blocks until the other side has room; false when it is gone.
  bool send(uint32_t type, uint64_t id, std::string_view body = {}, const std::vector<int>& descriptors = {});
  enum class Received : uint8_t { kFrame, kTimeout, kEnd };
  // timeout_ms below 0: none.
  Received receive(Frame* frame, int timeout_ms);

  int socket() const { return socket_; }

 private:
  struct Header {
    uint32_t type;
    uint32_t descriptors;
    uint64_t id;
    uint64_t body_bytes;
  };
  bool read_all(char* to, size_t bytes);

  const int socket_;
  std::mutex sending_;
  std::vector<int> received_;  // descriptors that came with bytes, not yet taken by a frame
};

}  // namespace scyper::query
