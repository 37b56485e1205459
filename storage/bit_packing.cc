#include "bit_packing.h"

#include <algorithm>
#include <array>
#include <utility>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace scyper::storage {
namespace {

// Eight values take Bits bytes; all shifts are constants. Source: Zukowski et al., Super-Scalar RAM-CPU Cache
// Compression, ICDE 2006, section 4 (loops without branches).
template <typename Value, uint32_t kBits>
void unpack_all_eights(const char* codes, uint64_t eights, Value* values) {
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
  return {unpack_all_eights<Value, kBits>...};
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
  uint64_t word = 0;
  uint32_t filled = 0;  // bits of it
  for (uint64_t i = 0; i < count; ++i) {
    DCHECK(values[i] >> bits == 0);
    word |= values[i] << filled;
    filled += bits;
    if (filled < 64) continue;
    std::memcpy(codes, &word, sizeof(word));
    codes += sizeof(word);
    filled -= 64;
    word = filled == 0 ? 0 : values[i] >> (bits - filled);
  }
  if (filled > 0) std::memcpy(codes, &word, sizeof(word));
}

void unpack(const char* codes, uint64_t first, uint64_t count, uint32_t bits, uint32_t* values) noexcept {
  unpack_range(codes, first, count, bits, values);
}
void unpack(const char* codes, uint64_t first, uint64_t count, uint32_t bits, uint64_t* values) noexcept {
  unpack_range(codes, first, count, bits, values);
}

namespace {

#ifdef __x86_64__
constexpr uint32_t kLoadBytes = 16;  // four values are spread from

// How many values from `first` on, a multiple of 8, can be read by two loads for each eight.
uint32_t readable(const PackedCodes& packed, uint64_t first, uint64_t count) {
  const uint32_t bits = packed.bits;
  const uint64_t bytes = packed_bytes(packed.count, bits);
  const uint64_t needed = kLoadBytes + bits / 2;
  if (bits == 0 || bits > kMaxEightsBits || bytes < needed) return 0;
  const uint64_t begin = first / 8, end = (bytes - needed) / bits + 1;
  return begin >= end ? 0 : static_cast<uint32_t>(std::min(end - begin, count / 8) * 8);
}

// Where the bytes of eight values go, four of each half, and what is before each in its bytes.
struct alignas(32) Spread {
  uint8_t bytes[32];
  uint32_t shifts[8];
};

constexpr std::array<Spread, kMaxEightsBits + 1> make_spreads() {
  std::array<Spread, kMaxEightsBits + 1> spreads{};
  for (uint32_t bits = 0; bits <= kMaxEightsBits; ++bits) {
    for (uint32_t i = 0; i < 8; ++i) {
      const uint32_t bit = i * bits - (i < 4 ? 0 : bits / 2 * 8);  // from where its half is loaded
      for (uint32_t j = 0; j < 4; ++j) spreads[bits].bytes[i * 4 + j] = static_cast<uint8_t>(bit / 8 + j);
      spreads[bits].shifts[i] = bit % 8;
    }
  }
  return spreads;
}
constexpr std::array<Spread, kMaxEightsBits + 1> kSpreads = make_spreads();

#define SCYPER_AVX2 __attribute__((target("avx2")))

struct EightReader {
  SCYPER_AVX2 explicit EightReader(const PackedCodes& packed, uint64_t first)
      : eight(packed.codes + first / 8 * packed.bits),
        bits(packed.bits),
        bytes(_mm256_load_si256(reinterpret_cast<const __m256i*>(kSpreads[packed.bits].bytes))),
        shifts(_mm256_load_si256(reinterpret_cast<const __m256i*>(kSpreads[packed.bits].shifts))),
        mask(_mm256_set1_epi32(static_cast<int>((1u << packed.bits) - 1))) {}
  SCYPER_AVX2 inline __m256i next() {
    const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(eight));
    const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(eight + bits / 2));
    eight += bits;
    const __m256i spread = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), bytes);
    return _mm256_and_si256(_mm256_srlv_epi32(spread, shifts), mask);
  }
  const char* eight;
  const uint32_t bits;
  const __m256i bytes, shifts, mask;
};

SCYPER_AVX2 inline void put_eight(__m256i codes, int16_t reference, int16_t* values) {
  const __m256i sums = _mm256_add_epi32(codes, _mm256_set1_epi32(reference));
  const __m256i low_halves = _mm256_set1_epi64x(0x0d0c090805040100);
  const __m256i halves = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(sums, low_halves), 0b1000);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(values), _mm256_castsi256_si128(halves));
}
SCYPER_AVX2 inline void put_eight(__m256i codes, int32_t reference, int32_t* values) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(values), _mm256_add_epi32(codes, _mm256_set1_epi32(reference)));
}
SCYPER_AVX2 inline void put_eight(__m256i codes, int64_t reference, int64_t* values) {
  const __m256i all = _mm256_set1_epi64x(reference);
  const __m256i low = _mm256_cvtepu32_epi64(_mm256_castsi256_si128(codes));
  const __m256i high = _mm256_cvtepu32_epi64(_mm256_extracti128_si256(codes, 1));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(values), _mm256_add_epi64(low, all));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(values + 4), _mm256_add_epi64(high, all));
}

template <typename T>
SCYPER_AVX2 void unpack_avx2(const PackedCodes& packed, uint64_t first, uint32_t count, T reference, T* values) {
  EightReader reader(packed, first);
  for (uint32_t i = 0; i < count; i += 8) put_eight(reader.next(), reference, values + i);
}

SCYPER_AVX2 void select_avx2(const PackedCodes& packed, uint64_t first, uint32_t count, uint32_t low, uint32_t span,
                             uint64_t* words) {
  const __m256i lows = _mm256_set1_epi32(static_cast<int>(low)), spans = _mm256_set1_epi32(static_cast<int>(span));
  EightReader reader(packed, first);
  for (uint32_t i = 0; i < count; i += 64) {
    uint64_t word = 0;
    for (uint32_t j = 0; j < 64; j += 8) {
      const __m256i above = _mm256_sub_epi32(reader.next(), lows);
      const __m256i found = _mm256_cmpeq_epi32(_mm256_min_epu32(above, spans), above);
      word |= uint64_t{static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(found)))} << j;
    }
    words[i / 64] = word;
  }
}

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

template <typename T>
uint32_t unpack_some(const PackedCodes& packed, uint64_t first, uint32_t count, T reference, T* values) {
  if (!has_avx2()) return 0;
  uint32_t begin = 0;  // of an eight
  for (; begin < count && (first + begin) % 8 != 0; ++begin) {
    values[begin] =
        static_cast<T>(static_cast<uint64_t>(reference) + unpack_one(packed.codes, first + begin, packed.bits));
  }
  const uint32_t done = readable(packed, first + begin, count - begin);
  if (done > 0) unpack_avx2(packed, first + begin, done, reference, values + begin);
  return begin + done;
}

uint32_t select_some(const PackedCodes& packed, uint64_t first, uint32_t count, uint32_t low, uint32_t span,
                     uint64_t* words) {
  const uint32_t done = has_avx2() ? readable(packed, first, count) / 64 * 64 : 0;
  if (done > 0) select_avx2(packed, first, done, low, span, words);
  return done;
}

#else
template <typename T>
uint32_t unpack_some(const PackedCodes&, uint64_t, uint32_t, T, T*) {
  return 0;
}
uint32_t select_some(const PackedCodes&, uint64_t, uint32_t, uint32_t, uint32_t, uint64_t*) { return 0; }
#endif

}  // namespace

uint32_t unpack_eights(const PackedCodes& packed, uint64_t first, uint32_t count, int16_t reference,
                       int16_t* values) noexcept {
  return unpack_some(packed, first, count, reference, values);
}
uint32_t unpack_eights(const PackedCodes& packed, uint64_t first, uint32_t count, int32_t reference,
                       int32_t* values) noexcept {
  return unpack_some(packed, first, count, reference, values);
}
uint32_t unpack_eights(const PackedCodes& packed, uint64_t first, uint32_t count, int64_t reference,
                       int64_t* values) noexcept {
  return unpack_some(packed, first, count, reference, values);
}
uint32_t select_eights(const PackedCodes& packed, uint64_t first, uint32_t count, uint32_t low, uint32_t span,
                       uint64_t* words) noexcept {
  DCHECK(first % 64 == 0);
  return select_some(packed, first, count, low, span, words);
}

}  // namespace scyper::storage
