#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace scyper::query {

// The fields of one message of PostgreSQL's protocol 3.0, front to back; big endian. After a field that was not there
// all others are 0 or empty and is_whole() is false. Views point into the message. Threads: one.
class WireReader {
 public:
  explicit WireReader(std::string_view payload) : rest_(payload) {}

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

// Appends such fields. Threads: one.
class WireWriter {
 public:
  explicit WireWriter(std::string* out) : out_(out) {}

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

 protected:
  void set_length(size_t place, size_t length);

 private:
  std::string* const out_;
};

constexpr size_t kLengthBytes = 4;

}  // namespace scyper::query
