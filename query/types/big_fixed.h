#pragma once

#include "types/decimal.h"

namespace scyper::query {

// A fixed-point number of 72 digits before and 108 behind the point: room to compute 38 right digits. Results beyond
// wrap; callers keep to magnitudes below 10^60. Products and quotients are cut, not rounded.
class BigFixed {
 public:
  BigFixed() = default;
  explicit BigFixed(int64_t value);
  static BigFixed of(const Decimal& value);  // scale at most 108, else cut
  static BigFixed of_double(double value);   // below 10^15: 15 digits behind the point

  friend BigFixed operator+(const BigFixed& a, const BigFixed& b);
  friend BigFixed operator-(const BigFixed& a, const BigFixed& b);
  friend BigFixed operator*(const BigFixed& a, const BigFixed& b);
  BigFixed divided(uint32_t divisor) const;
  BigFixed reciprocal() const;  // of what is between 10^-30 and 10^60
  bool is_zero() const;
  bool is_negative() const { return negative_; }
  double to_double() const;
  // Rounded half away from zero; false: more than 38 digits.
  bool round(int32_t scale, Decimal* out) const;

 private:
  static constexpr int kLimbs = 20;     // base 10^9, least significant first
  static constexpr int kFraction = 12;  // of them behind the point
  static constexpr uint64_t kBase = 1000000000;
  static int compare_magnitude(const BigFixed& a, const BigFixed& b);
  static BigFixed add_magnitude(const BigFixed& a, const BigFixed& b);
  static BigFixed subtract_magnitude(const BigFixed& a, const BigFixed& b);  // a >= b

  uint32_t limbs_[kLimbs] = {};
  bool negative_ = false;
};

}  // namespace scyper::query
