#pragma once

#include <cstdint>
#include <cstring>

namespace scyper::storage {

inline uint32_t load32(const char* bytes) {
  uint32_t word;
  std::memcpy(&word, bytes, 4);
  return word;
}
inline uint64_t load64(const char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, 8);
  return word;
}

// Eight bytes as two loads that the compiler keeps apart. Keys are usually written just before, column by column, 4
// bytes each: a load over two such stores cannot be forwarded and waits until both have left the core, behind every
// earlier cache miss (measured: lookups one after the other then overlap no more, 180 instead of 50 ns each).
inline uint64_t load64_by_halves(const char* bytes) {
  uint32_t low = load32(bytes);
  asm("" : "+r"(low));
  return low | (static_cast<uint64_t>(load32(bytes + 4)) << 32);
}

// The `size` (1 to 8) bytes as the low bytes of a little-endian word, zeros above; never reads beyond them. Generated
// code puts the same word together in a register.
inline uint64_t load_word(const char* bytes, uint32_t size) {
  if (size == 8) return load64_by_halves(bytes);
  if (size >= 4) {
    const uint64_t tail = static_cast<uint64_t>(load32(bytes + size - 4)) >> (8 * (8 - size));
    return load32(bytes) | (tail << 32);
  }
  const auto* u = reinterpret_cast<const unsigned char*>(bytes);
  uint64_t word = u[0];
  if (size > 1) word |= static_cast<uint64_t>(u[1]) << 8;
  if (size > 2) word |= static_cast<uint64_t>(u[2]) << 16;
  return word;
}

// The `size` (1 to 8) bytes as a big-endian number, left-justified: integer order = memcmp order, and a prefix is the
// same number with zeros behind.
inline uint64_t load_big(const char* bytes, uint32_t size) {
  if (size == 8) return __builtin_bswap64(load64_by_halves(bytes));
  if (size >= 4) {
    const uint64_t head = __builtin_bswap32(load32(bytes));
    const uint64_t tail = __builtin_bswap32(load32(bytes + size - 4));
    return (head << 32) | (tail << (8 * (8 - size)));  // where both cover a byte, it is the same byte
  }
  const auto* u = reinterpret_cast<const unsigned char*>(bytes);
  uint64_t word = static_cast<uint64_t>(u[0]) << 56;
  if (size > 1) word |= static_cast<uint64_t>(u[1]) << 48;
  if (size > 2) word |= static_cast<uint64_t>(u[2]) << 40;
  return word;
}

}  // namespace scyper::storage
