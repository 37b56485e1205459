#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"

// Unsigned integers of `bits` bits each, one after the other, lowest bit first.
namespace scyper::storage {

// A value starts at any bit of a byte and is read by one load of 8 bytes.
constexpr uint32_t kMaxPackedBits = 56;
// With the bytes that the last load reads beyond the last value. A multiple of 8.
constexpr uint64_t packed_bytes(uint64_t count, uint32_t bits) { return ((count * bits + 7) / 8 + 8 + 7) / 8 * 8; }

inline uint64_t unpack_one(const char* codes, uint64_t i, uint32_t bits) {
  DCHECK(bits <= kMaxPackedBits);
  uint64_t word;
  std::memcpy(&word, codes + i * bits / 8, sizeof(word));
  return (word >> (i * bits % 8)) & ((uint64_t{1} << bits) - 1);
}

// `codes`: packed_bytes(count, bits) bytes, zero.
void pack(const uint64_t* values, uint64_t count, uint32_t bits, char* codes) noexcept;
// Values [first, first + count). 32: bits <= 32.
void unpack(const char* codes, uint64_t first, uint64_t count, uint32_t bits, uint32_t* values) noexcept;
void unpack(const char* codes, uint64_t first, uint64_t count, uint32_t bits, uint64_t* values) noexcept;

struct PackedCodes {
  const char* codes;
  uint64_t count;  // of all: packed_bytes(count, bits) can be read
  uint32_t bits;
};
// Eight values at a time where the processor has AVX2, up to so many bits; from more of them fewer follow: how many of
// the values were done, 0 at the worst, the rest is for unpack(). Source: Willhalm et al., SIMD-Scan, VLDB 2009.
constexpr uint32_t kMaxEightsBits = 25;
// values[i] = reference + value [first + i], wrapping.
uint32_t unpack_eights(const PackedCodes& packed, uint64_t first, uint32_t count, int16_t reference,
                       int16_t* values) noexcept;
uint32_t unpack_eights(const PackedCodes& packed, uint64_t first, uint32_t count, int32_t reference,
                       int32_t* values) noexcept;
uint32_t unpack_eights(const PackedCodes& packed, uint64_t first, uint32_t count, int64_t reference,
                       int64_t* values) noexcept;
// A bit for each of the values [first, first + count), `first` a multiple of 64: is it in [low, low + span]? A multiple
// of 64 of them are done.
uint32_t select_eights(const PackedCodes& packed, uint64_t first, uint32_t count, uint32_t low, uint32_t span,
                       uint64_t* words) noexcept;

}  // namespace scyper::storage
