#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace scyper::server::postgres {

// The fields of one message of PostgreSQL's protocol 3.0, front to back; big endian. After a field that was not there
// all others are 0 or empty and is_whole() is false. Views point into the message. Threads: one.
class MessageReader {
 public:
  explicit MessageReader(std::string_view payload) : rest_(payload) {}

  uint8_t read_byte();
  int16_t read_int16();
  size_t read_count();  // of the fields that follow: 0 to 65,535 in two bytes
  int32_t read_int32();
  // Up to its zero byte.
  std::string_view read_string();
  std::string_view read_bytes(size_t size);
  std::string_view rest() const { return rest_; }
  // Nothing was missing so far.
  bool is_whole() const { return is_whole_; }
  // Nothing was missing and nothing is left.
  bool is_at_end() const { return is_whole_ && rest_.empty(); }

 private:
  uint64_t read_number(size_t bytes);

  std::string_view rest_;
  bool is_whole_ = true;
};

// Appends messages to a buffer. begin() and end() enclose one message. Threads: one.
class MessageWriter {
 public:
  explicit MessageWriter(std::string* out) : out_(out) {}

  void begin(char type);
  void end();
  void put_byte(uint8_t value) { out_->push_back(static_cast<char>(value)); }
  void put_int16(int16_t value);
  void put_int32(int32_t value);
  void put_int64(int64_t value);
  void put_string(std::string_view text);  // ends with a zero byte; text after one is left out
  void put_bytes(std::string_view bytes) { out_->append(bytes.data(), bytes.size()); }
  // A length of which the value is not known yet: place_length() leaves room, fill_length() writes what came since.
  size_t place_length();
  void fill_length(size_t place);
  std::string* out() { return out_; }

 private:
  void set_length(size_t place, size_t length);

  std::string* const out_;
  size_t start_ = 0;  // of the message's length
};

// What stands before every message after the start.
constexpr size_t kMessageHeaderBytes = 5;  // type, length with itself
constexpr size_t kLengthBytes = 4;

struct MessageHeader {
  char type = 0;
  uint32_t payload_bytes = 0;
};
// nullopt: a length that cannot be.
std::optional<MessageHeader> read_message_header(std::string_view bytes);

}  // namespace scyper::server::postgres
