#include "bit_packing.h"

#include <algorithm>
#include <array>
#include <utility>

namespace scyper::storage {
namespace {

// Eight values take Bits bytes; all shifts are constants. Source: Zukowski et al., Super-Scalar RAM-CPU Cache
// Compression, ICDE 2006, section 4 (loops without branches).
template <typename Value, uint32_t kBits>
void unpack_eights(const char* codes, uint64_t eights, Value* values) {
  constexpr uint64_t kMask = (uint64_t{1} << kBits) - 1;
  for (uint64_t i = 0; i < eights; ++i, codes += kBits, values += 8) {
#pragma GCC unroll 8
    for (uint32_t j = 0; j < 8; ++j) {
      uint64_t word;
      std::memcpy(&word, codes + j * kBits / 8, sizeof(word));
      values[j] = static_cast<Value>((word >> (j * kBits % 8)) & kMask);
    }
  }
}

template <typename Value>
using UnpackEights = void (*)(const char*, uint64_t, Value*);

template <typename Value, size_t... kBits>
constexpr std::array<UnpackEights<Value>, sizeof...(kBits)> eights_by_bits(std::index_sequence<kBits...>) {
  return {unpack_eights<Value, kBits>...};
}

template <typename Value>
void unpack_range(const char* codes, uint64_t first, uint64_t count, uint32_t bits, Value* values) {
  static constexpr auto kUnpack =
      eights_by_bits<Value>(std::make_index_sequence<std::min<size_t>(sizeof(Value) * 8, kMaxPackedBits) + 1>());
  CHECK(bits < kUnpack.size());
  const uint64_t end = first + count;
  while (first < end && first % 8 != 0) *values++ = static_cast<Value>(unpack_one(codes, first++, bits));
  const uint64_t eights = (end - first) / 8;
  kUnpack[bits](codes + first / 8 * bits, eights, values);
  values += eights * 8;
  for (first += eights * 8; first < end; ++first) *values++ = static_cast<Value>(unpack_one(codes, first, bits));
}

}  // namespace

void pack(const uint64_t* values, uint64_t count, uint32_t bits, char* codes) noexcept {
  CHECK(bits <= kMaxPackedBits);
  for (uint64_t i = 0; i < count; ++i) {
    DCHECK(values[i] >> bits == 0);
    uint64_t word;
    std::memcpy(&word, codes + i * bits / 8, sizeof(word));
    word |= values[i] << (i * bits % 8);
    std::memcpy(codes + i * bits / 8, &word, sizeof(word));
  }
}

void unpack(const char* codes, uint64_t first, uint64_t count, uint32_t bits, uint32_t* values) noexcept {
  unpack_range(codes, first, count, bits, values);
}
void unpack(const char* codes, uint64_t first, uint64_t count, uint32_t bits, uint64_t* values) noexcept {
  unpack_range(codes, first, count, bits, values);
}

}  // namespace scyper::storage
