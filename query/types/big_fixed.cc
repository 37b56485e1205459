#include "types/big_fixed.h"

#include <cmath>

namespace scyper::query {

BigFixed::BigFixed(int64_t value) : negative_(value < 0) {
  uint64_t rest = negative_ ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  for (int i = kFraction; rest != 0; ++i, rest /= kBase) limbs_[i] = static_cast<uint32_t>(rest % kBase);
}

BigFixed BigFixed::of(const Decimal& value) {
  BigFixed out;
  out.negative_ = value.value < 0;
  int32_t scale = value.scale;
  uint128 rest = magnitude(value.value);
  for (; scale > kFraction * 9; --scale) rest /= 10;
  // the lowest digit lies `at` digits above the lowest limb's
  int32_t at = kFraction * 9 - scale;
  for (; rest != 0; rest /= 10, ++at) {
    uint32_t digit = static_cast<uint32_t>(rest % 10);
    out.limbs_[at / 9] += digit * static_cast<uint32_t>(kPowersOfTen[at % 9]);
  }
  return out;
}

BigFixed BigFixed::of_double(double value) {
  double whole = std::trunc(value);
  int64_t fraction = static_cast<int64_t>((value - whole) * 1e15);
  return BigFixed(static_cast<int64_t>(whole)) + of({fraction, 15});
}

int BigFixed::compare_magnitude(const BigFixed& a, const BigFixed& b) {
  for (int i = kLimbs - 1; i >= 0; --i)
    if (a.limbs_[i] != b.limbs_[i]) return a.limbs_[i] < b.limbs_[i] ? -1 : 1;
  return 0;
}

BigFixed BigFixed::add_magnitude(const BigFixed& a, const BigFixed& b) {
  BigFixed out;
  uint64_t carry = 0;
  for (int i = 0; i < kLimbs; ++i) {
    uint64_t sum = carry + a.limbs_[i] + b.limbs_[i];
    out.limbs_[i] = static_cast<uint32_t>(sum % kBase);
    carry = sum / kBase;
  }
  return out;
}

BigFixed BigFixed::subtract_magnitude(const BigFixed& a, const BigFixed& b) {
  BigFixed out;
  int64_t borrow = 0;
  for (int i = 0; i < kLimbs; ++i) {
    int64_t difference = int64_t{a.limbs_[i]} - b.limbs_[i] - borrow;
    borrow = difference < 0 ? 1 : 0;
    out.limbs_[i] = static_cast<uint32_t>(difference + borrow * static_cast<int64_t>(kBase));
  }
  return out;
}

BigFixed operator+(const BigFixed& a, const BigFixed& b) {
  BigFixed out;
  if (a.negative_ == b.negative_) {
    out = BigFixed::add_magnitude(a, b);
    out.negative_ = a.negative_;
  } else if (BigFixed::compare_magnitude(a, b) >= 0) {
    out = BigFixed::subtract_magnitude(a, b);
    out.negative_ = a.negative_;
  } else {
    out = BigFixed::subtract_magnitude(b, a);
    out.negative_ = b.negative_;
  }
  return out;
}

BigFixed operator-(const BigFixed& a, const BigFixed& b) {
  BigFixed negated = b;
  negated.negative_ = !b.negative_;
  return a + negated;
}

BigFixed operator*(const BigFixed& a, const BigFixed& b) {
  constexpr int kLimbs = BigFixed::kLimbs;
  uint64_t product[2 * kLimbs + 1] = {};
  for (int i = 0; i < kLimbs; ++i) {
    if (a.limbs_[i] == 0) continue;
    uint64_t carry = 0;
    for (int j = 0; j < kLimbs; ++j) {
      uint64_t sum = product[i + j] + uint64_t{a.limbs_[i]} * b.limbs_[j] + carry;
      product[i + j] = sum % BigFixed::kBase;
      carry = sum / BigFixed::kBase;
    }
    product[i + kLimbs] += carry;
  }
  BigFixed out;
  for (int i = 0; i < kLimbs; ++i) out.limbs_[i] = static_cast<uint32_t>(product[i + BigFixed::kFraction]);
  out.negative_ = a.negative_ != b.negative_;
  return out;
}

BigFixed BigFixed::divided(uint32_t divisor) const {
  BigFixed out;
  out.negative_ = negative_;
  uint64_t rest = 0;
  for (int i = kLimbs - 1; i >= 0; --i) {
    uint64_t part = rest * kBase + limbs_[i];
    out.limbs_[i] = static_cast<uint32_t>(part / divisor);
    rest = part % divisor;
  }
  return out;
}

// Newton's iteration from a double's start: each step doubles the right digits.
BigFixed BigFixed::reciprocal() const {
  BigFixed divisor = *this;
  divisor.negative_ = false;
  double start = 1.0 / divisor.to_double();
  BigFixed x;
  if (start < 1e15 && start > 1e-12) {
    x = of_double(start);
  } else {
    int exponent = static_cast<int>(std::floor(std::log10(start)));
    double mantissa = start / std::pow(10.0, exponent);
    x = of({static_cast<int128>(mantissa * 1e15), 15});
    for (; exponent > 0; --exponent) x = x * BigFixed(10);
    for (; exponent < 0; ++exponent) x = x.divided(10);
  }
  const BigFixed two(2);
  for (int i = 0; i < 9; ++i) x = x * (two - divisor * x);
  x.negative_ = negative_;
  return x;
}

bool BigFixed::is_zero() const {
  for (uint32_t limb : limbs_)
    if (limb != 0) return false;
  return true;
}

double BigFixed::to_double() const {
  double value = 0;
  for (int i = kLimbs - 1; i >= 0; --i) value += limbs_[i] * std::pow(1e9, i - kFraction);
  return negative_ ? -value : value;
}

bool BigFixed::round(int32_t scale, Decimal* out) const {
  int32_t cut = kFraction * 9 - scale;  // digits that go
  auto digit = [this](int32_t at) { return limbs_[at / 9] / static_cast<uint32_t>(kPowersOfTen[at % 9]) % 10; };
  uint128 value = 0;
  int32_t missing = cut < 0 ? -cut : 0;
  for (int32_t at = kLimbs * 9 - 1; at >= (cut < 0 ? 0 : cut); --at) {
    if (value >= kPowersOfTen[kMaxPrecision - 1] && (value > kPowersOfTen[kMaxPrecision - 1] || digit(at) != 0))
      if (value >= kPowersOfTen[kMaxPrecision] / 10) return false;
    value = value * 10 + digit(at);
  }
  for (; missing > 0; --missing) {
    if (value >= kPowersOfTen[kMaxPrecision - 1]) return false;
    value *= 10;
  }
  if (cut > 0 && digit(cut - 1) >= 5) ++value;
  if (value >= kPowersOfTen[kMaxPrecision]) return false;
  *out = {negative_ ? -static_cast<int128>(value) : static_cast<int128>(value), scale};
  return true;
}

}  // namespace scyper::query
