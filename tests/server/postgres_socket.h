#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// A client of PostgreSQL's protocol that sends what a test says, byte for byte.
namespace scyper::server {

inline std::string big_endian(uint64_t value, int bytes) {
  std::string out;
  for (int shift = 8 * bytes - 8; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
  return out;
}
inline std::string int16(int value) { return big_endian(static_cast<uint64_t>(value), 2); }
inline std::string int32(int64_t value) { return big_endian(static_cast<uint64_t>(value), 4); }
inline std::string text(const std::string& value) { return value + std::string(1, '\0'); }
inline std::string message(char type, const std::string& payload) {
  return type + int32(static_cast<int64_t>(payload.size()) + 4) + payload;
}
inline std::string start_packet(const std::string& user = "alice") {
  const std::string payload = int32(196'608) + text("user") + text(user) + text("database") + text("scyper") + text("");
  return int32(static_cast<int64_t>(payload.size()) + 4) + payload;
}
inline std::string query(const std::string& sql) { return message('Q', text(sql)); }
inline std::string parse(const std::string& name, const std::string& sql) {
  return message('P', text(name) + text(sql) + int16(0));
}
// Parameters in text, results in the format.
inline std::string bind(const std::string& name, const std::vector<std::string>& values, int format) {
  std::string payload = text("") + text(name) + int16(0) + int16(static_cast<int>(values.size()));
  for (const std::string& value : values) payload += int32(static_cast<int64_t>(value.size())) + value;
  return message('B', payload + int16(1) + int16(format));
}
inline std::string execute(int rows_max) { return message('E', text("") + int32(rows_max)); }
inline const std::string kSync = message('S', "");

struct Answer {
  char type = 0;
  std::string payload;
  // A field of an error or notice.
  std::string field(char code) const {
    for (size_t at = 0; at < payload.size() && payload[at] != 0; at = payload.find('\0', at) + 1) {
      if (payload[at] == code) return payload.c_str() + at + 1;
    }
    return "";
  }
};

class Socket {
 public:
  explicit Socket(uint16_t port) : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    const timeval patience{60, 0};
    setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  ~Socket() { close(descriptor_); }
  Socket(const Socket&) = delete;

  // The other side may have closed already.
  void send(std::string_view bytes) { ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  void end_sending() { shutdown(descriptor_, SHUT_WR); }
  // Type 0: the connection has ended.
  Answer read() {
    std::string header = read_bytes(5);
    if (header.size() < 5) return {};
    uint32_t size = 0;
    for (int i = 1; i < 5; ++i) size = size << 8 | static_cast<unsigned char>(header[static_cast<size_t>(i)]);
    return {header[0], read_bytes(size - 4)};
  }
  std::string read_bytes(size_t size) {
    std::string bytes(size, '\0');
    size_t have = 0;
    for (ssize_t n = 1; have < size && n > 0; have += n > 0 ? static_cast<size_t>(n) : 0) {
      n = recv(descriptor_, bytes.data() + have, size - have, 0);
    }
    bytes.resize(have);
    return bytes;
  }
  // Types of messages up to ReadyForQuery or the end; the last error is kept.
  std::string types() {
    std::string types;
    while (true) {
      const Answer answer = read();
      if (answer.type == 0) return types;
      types += answer.type;
      if (answer.type == 'E') error = answer;
      if (answer.type == 'D') rows.push_back(answer.payload);
      if (answer.type == 'C') tags.push_back(answer.payload.c_str());
      if (answer.type == 'Z') return types;
    }
  }
  Answer error;
  std::vector<std::string> rows;
  std::vector<std::string> tags;

 private:
  const int descriptor_;
};

}  // namespace scyper::server
