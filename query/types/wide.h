#pragma once

#include <bit>
#include <cstdint>

namespace scyper::query {

using uint128 = unsigned __int128;
using int128 = __int128;

// 256 bits, least significant limb first: products of two 38-digit numbers and what is divided by one (10^76 < 2^253).
struct Uint256 {
  uint64_t limb[4] = {};

  uint128 low() const noexcept { return (static_cast<uint128>(limb[1]) << 64) | limb[0]; }
  uint128 high() const noexcept { return (static_cast<uint128>(limb[3]) << 64) | limb[2]; }
};

inline Uint256 make_uint256(uint128 high, uint128 low) noexcept {
  return {{static_cast<uint64_t>(low), static_cast<uint64_t>(low >> 64), static_cast<uint64_t>(high),
           static_cast<uint64_t>(high >> 64)}};
}

inline Uint256 multiply_wide(uint128 a, uint128 b) noexcept {
  uint64_t a0 = static_cast<uint64_t>(a), a1 = static_cast<uint64_t>(a >> 64);
  uint64_t b0 = static_cast<uint64_t>(b), b1 = static_cast<uint64_t>(b >> 64);
  uint128 p00 = static_cast<uint128>(a0) * b0, p01 = static_cast<uint128>(a0) * b1;
  uint128 p10 = static_cast<uint128>(a1) * b0, p11 = static_cast<uint128>(a1) * b1;
  uint128 middle = (p00 >> 64) + static_cast<uint64_t>(p01) + static_cast<uint64_t>(p10);
  uint128 low = (middle << 64) | static_cast<uint64_t>(p00);
  uint128 high = p11 + (p01 >> 64) + (p10 >> 64) + (middle >> 64);
  return make_uint256(high, low);
}

inline bool less(const Uint256& a, const Uint256& b) noexcept {
  return a.high() != b.high() ? a.high() < b.high() : a.low() < b.low();
}

inline Uint256 subtract(const Uint256& a, const Uint256& b) noexcept {
  uint128 low = a.low() - b.low();
  return make_uint256(a.high() - b.high() - (a.low() < b.low() ? 1 : 0), low);
}

// (high:low) / divisor; the quotient must fit in 64 bits (high < divisor).
inline uint64_t divide_128_by_64(uint64_t high, uint64_t low, uint64_t divisor, uint64_t* remainder) noexcept {
#if defined(__x86_64__)
  uint64_t quotient;
  __asm__("divq %4" : "=a"(quotient), "=d"(*remainder) : "a"(low), "d"(high), "r"(divisor) : "cc");
  return quotient;
#else
  uint128 n = (static_cast<uint128>(high) << 64) | low;
  *remainder = static_cast<uint64_t>(n % divisor);
  return static_cast<uint64_t>(n / divisor);
#endif
}

// n / divisor, divisor not 0.
Uint256 divide_wide(const Uint256& n, uint128 divisor, uint128* remainder) noexcept;

// floor(sqrt(n)) for n < 2^254.
uint128 square_root(const Uint256& n) noexcept;

}  // namespace scyper::query
