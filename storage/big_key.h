#pragma once

#include <cstdint>
#include <cstring>

#include "key_load.h"

namespace scyper::storage {

// A key of up to 8 * kWords bytes as a left-justified big-endian number: integer order = memcmp order.
template <uint32_t kWords>
struct BigKey {
  uint64_t words[kWords];

  // size: 8 * kWords - 7 to 8 * kWords, the same for all keys of an index.
  static BigKey load(const char* bytes, uint32_t size) {
    BigKey key;
    constexpr uint32_t kLast = kWords - 1;
    for (uint32_t i = 0; i < kLast; ++i) key.words[i] = __builtin_bswap64(load64_by_halves(bytes + 8 * i));
    key.words[kLast] = load_big(bytes + 8 * kLast, size - 8 * kLast);
    return key;
  }

  // The first `size` bytes (any number up to 8 * kWords), the rest filled up.
  static BigKey load_prefix(const char* bytes, uint32_t size, uint8_t filler) {
    char padded[8 * kWords];
    std::memset(padded, filler, sizeof(padded));
    std::memcpy(padded, bytes, size);
    return load(padded, sizeof(padded));
  }
  // The next larger number; this one is not the largest.
  BigKey successor() const {
    BigKey next = *this;
    for (uint32_t i = kWords; i-- > 0 && ++next.words[i] == 0;) {
    }
    return next;
  }
  // The next smaller number; this one is not 0.
  BigKey predecessor() const {
    BigKey before = *this;
    for (uint32_t i = kWords; i-- > 0 && before.words[i]-- == 0;) {
    }
    return before;
  }
  static BigKey filled(uint8_t filler) { return load_prefix("", 0, filler); }
};

inline bool operator<(const BigKey<1>& a, const BigKey<1>& b) { return a.words[0] < b.words[0]; }
inline unsigned __int128 high_words(const uint64_t* words) {
  return (static_cast<unsigned __int128>(words[0]) << 64) | words[1];
}
inline bool operator<(const BigKey<2>& a, const BigKey<2>& b) { return high_words(a.words) < high_words(b.words); }
inline bool operator<(const BigKey<3>& a, const BigKey<3>& b) {
  const unsigned __int128 x = high_words(a.words);
  const unsigned __int128 y = high_words(b.words);
  return (x < y) | ((x == y) & (a.words[2] < b.words[2]));  // no branch: the search relies on it
}
template <uint32_t kWords>
bool operator==(const BigKey<kWords>& a, const BigKey<kWords>& b) {
  uint64_t difference = 0;
  for (uint32_t i = 0; i < kWords; ++i) difference |= a.words[i] ^ b.words[i];
  return difference == 0;
}

}  // namespace scyper::storage
