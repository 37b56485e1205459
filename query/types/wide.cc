#include "types/wide.h"

#include <cmath>

namespace scyper::query {

namespace {

Uint256 divide_by_limb(const Uint256& n, uint64_t divisor, uint128* remainder) noexcept {
  Uint256 quotient;
  uint64_t rest = 0;
  for (int i = 3; i >= 0; --i) quotient.limb[i] = divide_128_by_64(rest, n.limb[i], divisor, &rest);
  *remainder = rest;
  return quotient;
}

// One digit of Knuth's algorithm D (TAOCP 4.3.1): n[0..2] / (d1:d0), d1's top bit set, quotient below 2^64.
uint64_t divide_step(uint64_t* n, uint64_t d1, uint64_t d0) noexcept {
  uint128 divisor = (static_cast<uint128>(d1) << 64) | d0;
  uint128 top = (static_cast<uint128>(n[2]) << 64) | n[1];
  uint128 estimate = n[2] >= d1 ? ~uint64_t{0} : static_cast<uint64_t>(top / d1);
  uint128 rest = top - estimate * d1;
  while ((rest >> 64) == 0 && estimate * d0 > ((rest << 64) | n[0])) {
    --estimate;
    rest += d1;
  }
  // estimate is exact or, rarely, one too large; the three-limb difference tells
  uint128 low = estimate * d0;
  uint128 high = estimate * d1 + (low >> 64);
  uint128 n_low = (static_cast<uint128>(n[1]) << 64) | n[0];
  uint128 product_low = (static_cast<uint128>(static_cast<uint64_t>(high)) << 64) | static_cast<uint64_t>(low);
  uint128 difference = n_low - product_low;
  uint64_t difference_top = n[2] - static_cast<uint64_t>(high >> 64) - (n_low < product_low ? 1 : 0);
  if (difference_top != 0) {
    --estimate;
    difference += divisor;
  }
  n[0] = static_cast<uint64_t>(difference);
  n[1] = static_cast<uint64_t>(difference >> 64);
  n[2] = 0;
  return static_cast<uint64_t>(estimate);
}

}  // namespace

Uint256 divide_wide(const Uint256& n, uint128 divisor, uint128* remainder) noexcept {
  uint64_t d1 = static_cast<uint64_t>(divisor >> 64);
  if (d1 == 0) return divide_by_limb(n, static_cast<uint64_t>(divisor), remainder);
  if (n.high() == 0) {
    *remainder = n.low() % divisor;
    return make_uint256(0, n.low() / divisor);
  }
  int shift = std::countl_zero(d1);
  uint128 d = divisor << shift;
  uint64_t limbs[5];
  limbs[4] = shift == 0 ? 0 : n.limb[3] >> (64 - shift);
  for (int i = 3; i > 0; --i)
    limbs[i] = shift == 0 ? n.limb[i] : (n.limb[i] << shift) | (n.limb[i - 1] >> (64 - shift));
  limbs[0] = n.limb[0] << shift;
  Uint256 quotient;
  for (int i = 2; i >= 0; --i) {
    quotient.limb[i] = divide_step(limbs + i, static_cast<uint64_t>(d >> 64), static_cast<uint64_t>(d));
  }
  *remainder = ((static_cast<uint128>(limbs[1]) << 64) | limbs[0]) >> shift;
  return quotient;
}

uint128 square_root(const Uint256& n) noexcept {
  if (n.high() == 0 && n.low() == 0) return 0;
  // Newton from above: the start must not be below the root, a double's error is below 2^-50.
  double approximate = 0;
  for (int i = 3; i >= 0; --i) approximate = approximate * 0x1p64 + static_cast<double>(n.limb[i]);
  double start = std::sqrt(approximate);
  uint128 root = static_cast<uint128>(start + start * 0x1p-48) + 2;
  while (true) {
    uint128 remainder;
    uint128 quotient = divide_wide(n, root, &remainder).low();
    uint128 next = (root >> 1) + (quotient >> 1) + (root & quotient & 1);
    if (next >= root) return root;
    root = next;
  }
}

}  // namespace scyper::query
