#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// Integers as bytes, the most significant one first: PostgreSQL's binary formats and the normal forms of types.
namespace scyper::query {

// The last `bytes` bytes of the value.
inline void append_big_endian(std::string* out, uint64_t value, size_t bytes) {
  for (size_t i = bytes; i-- > 0;) out->push_back(static_cast<char>(value >> (i * 8)));
}

// bytes: 8 at most.
inline uint64_t big_endian_of(std::string_view bytes) {
  uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

// With the sign turned around, so that the order of the bytes is the order of the integers.
inline void append_ordered_integer(std::string* out, int64_t value, size_t bytes) {
  append_big_endian(out, static_cast<uint64_t>(value) ^ uint64_t{1} << (bytes * 8 - 1), bytes);
}

inline int64_t ordered_integer_of(std::string_view bytes) {
  return static_cast<int64_t>(big_endian_of(bytes) - (uint64_t{1} << (bytes.size() * 8 - 1)));
}

}  // namespace scyper::query
