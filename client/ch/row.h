#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/random.h"
#include "client/ch/generator.h"

namespace scyper::ch {

// Builds one row: appends datums and the bytes of its strings. The cursor gives room for both.
class Generator::Row {
 public:
  Row(Datum* datums, char* bytes) : datums_(datums), bytes_(bytes) {}

  void integer(int64_t value) { *datums_++ = int_datum(value); }
  void numeric(int64_t value, int32_t scale) { *datums_++ = int128_datum(value, scale); }
  void timestamp(int64_t value) { *datums_++ = int_datum(value); }
  void null() { *datums_++ = null_datum(); }

  void text(std::string_view value) {
    std::memcpy(bytes_, value.data(), value.size());
    finish(value.size());
  }
  // char(n): padded with blanks.
  void fixed(std::string_view value, size_t length) {
    std::memcpy(bytes_, value.data(), value.size());
    std::memset(bytes_ + value.size(), ' ', length - value.size());
    finish(length);
  }
  // A string written directly: bytes() is where, finish() how long.
  char* bytes() { return bytes_; }
  void finish(size_t size) {
    *datums_++ = string_datum(bytes_, size);
    bytes_ += size;
  }

  Datum* datums() const { return datums_; }

 private:
  Datum* datums_;
  char* bytes_;
};

// No row is longer: customer and stock have 700 bytes of strings.
constexpr size_t kMaxRowBytes = 1024;

}  // namespace scyper::ch
