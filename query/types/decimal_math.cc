#include "types/decimal_math.h"

#include <algorithm>
#include <cmath>

#include "types/big_fixed.h"
#include "types/big_number.h"

namespace scyper::query {

namespace {

constexpr int32_t kMinSignificantDigits = 16;  // PostgreSQL's NUMERIC_MIN_SIG_DIGITS

// e^x by Taylor's series of x / 2^k, then k squarings.
BigFixed exponential(BigFixed x) {
  int halvings = 0;
  for (double size = std::fabs(x.to_double()); size > 0.01; size /= 2) {
    x = x.divided(2);
    ++halvings;
  }
  BigFixed sum(1), term(1);
  for (uint32_t i = 1; i < 60 && !term.is_zero(); ++i) {
    term = (term * x).divided(i);
    sum = sum + term;
  }
  for (; halvings > 0; --halvings) sum = sum * sum;
  return sum;
}

// Halley's iteration from a double's start; x between 1 and 10.
BigFixed logarithm_near_one(const BigFixed& x) {
  BigFixed y = BigFixed::of_double(std::log(x.to_double()));
  for (int i = 0; i < 3; ++i) {
    BigFixed power = exponential(y);
    y = y + BigFixed(2) * (x - power) * (x + power).reciprocal();
  }
  return y;
}

// floor(log10(|x|)); x is not 0.
int32_t decimal_exponent(const Decimal& x) {
  int32_t digits = 1;
  while (digits < kMaxPrecision && magnitude(x.value) >= kPowersOfTen[digits]) ++digits;
  return digits - 1 - x.scale;
}

BigFixed logarithm(const Decimal& x) {
  static const BigFixed kLn10 = logarithm_near_one(BigFixed(10));
  int32_t exponent = decimal_exponent(x);
  Decimal mantissa{x.value, x.scale + exponent};
  while (mantissa.scale < 0) mantissa = {mantissa.value * 10, mantissa.scale + 1};
  return logarithm_near_one(BigFixed::of(mantissa)) + BigFixed(exponent) * kLn10;
}

// As PostgreSQL guesses the weight of ln(x), truncation towards zero included.
int32_t estimate_ln_weight(const Decimal& x) {
  if (x.value <= 0) return 0;
  if (decimal_compare(x, {9, 1}) >= 0 && decimal_compare(x, {11, 1}) <= 0) {
    Decimal rest;
    if (decimal_subtract(x, {1, 0}, &rest) != ValueError::kNone || rest.value == 0) return 0;
    return decimal_exponent(rest);
  }
  double ln = std::log(static_cast<double>(x.value)) - x.scale * 2.302585092994046;
  return static_cast<int32_t>(std::log10(std::fabs(ln)));
}

Decimal trimmed(const Decimal& a) {
  Decimal out = a;
  while (out.scale > 0 && out.value % 10 == 0) out = {out.value / 10, out.scale - 1};
  return out;
}

ValueError rounded(const BigFixed& value, int32_t scale, Decimal* out) {
  if (scale > kMaxScale) return ValueError::kNumericOverflow;
  return value.round(scale, out) ? ValueError::kNone : ValueError::kNumericOverflow;
}

// base^exponent, |exponent| > 2, by squaring; the working numbers keep to BigFixed's range where the result fits.
ValueError integer_power(const Decimal& base, int64_t exponent, int32_t scale, Decimal* out) {
  if (base.value == 0) return *out = {0, scale}, ValueError::kNone;
  bool invert = exponent < 0;
  BigFixed square = BigFixed::of(base), result(1);
  for (uint64_t rest = invert ? 0 - static_cast<uint64_t>(exponent) : static_cast<uint64_t>(exponent); rest != 0;) {
    if ((rest & 1) != 0) result = result * square;
    rest >>= 1;
    if (rest != 0) square = square * square;
  }
  return rounded(invert ? result.reciprocal() : result, scale, out);
}

ValueError short_exp(const Decimal& x, Decimal* out) {
  double weight = std::clamp(decimal_to_float8(x) * 0.434294481903252, -2000.0, 2000.0);
  if (weight > kMaxPrecision + 1) return ValueError::kNumericOverflow;
  int32_t scale = std::max({kMinSignificantDigits - static_cast<int32_t>(weight), x.scale, 0});
  if (scale > kMaxScale) return ValueError::kNumericOverflow;
  if (weight < -100) {  // below BigFixed's fraction
    *out = {0, scale};
    return weight < -scale ? ValueError::kNone : ValueError::kNumericOverflow;
  }
  return rounded(exponential(BigFixed::of(x)), scale, out);
}

ValueError short_ln(const Decimal& x, Decimal* out) {
  int32_t scale = std::max({kMinSignificantDigits - estimate_ln_weight(x), x.scale, 0});
  return rounded(logarithm(x), scale, out);
}

ValueError short_log(const Decimal& base, const Decimal& x, Decimal* out) {
  int32_t weight = estimate_ln_weight(x) - estimate_ln_weight(base);
  int32_t scale = std::max({kMinSignificantDigits - weight, base.scale, x.scale, 0});
  BigFixed divisor = logarithm(base);
  if (divisor.is_zero()) return ValueError::kDivisionByZero;
  return rounded(logarithm(x) * divisor.reciprocal(), scale, out);
}

ValueError short_power(const Decimal& x, const Decimal& y, Decimal* out) {
  Decimal exponent = trimmed(y);
  if (exponent.scale == 0 && exponent.value >= INT32_MIN && exponent.value <= INT32_MAX) {
    int64_t n = static_cast<int64_t>(exponent.value);
    double weight = 0;
    if (x.value != 0) weight = static_cast<double>(n) * (std::log10(std::fabs(static_cast<double>(x.value))) - x.scale);
    if (weight > kMaxPrecision + 1) return ValueError::kNumericOverflow;
    if (weight + 1 < -1000) return ValueError::kNumericOverflow;
    int32_t scale = std::max({kMinSignificantDigits, x.scale, y.scale});
    if (scale > kMaxScale) return ValueError::kNumericOverflow;
    if (n == 0) return decimal_rescale({1, 0}, scale, out);
    if (n == 1) return decimal_rescale(x, scale, out);
    if (weight < -60 || weight > 60) return ValueError::kNumericOverflow;
    return integer_power(x, n, scale, out);
  }
  if (x.value == 0) return *out = {0, kMinSignificantDigits}, ValueError::kNone;
  Decimal base = decimal_abs(x);
  BigFixed product = logarithm(base) * BigFixed::of(y);
  double weight = product.to_double() * 0.434294481903252;
  if (weight > kMaxPrecision + 1 || weight < -60) return ValueError::kNumericOverflow;
  int32_t scale = std::max({kMinSignificantDigits - static_cast<int32_t>(weight), x.scale, y.scale, 0});
  ValueError error = rounded(exponential(product), scale, out);
  bool odd = exponent.scale == 0 && exponent.value % 2 != 0;
  if (x.value < 0 && odd) out->value = -out->value;
  return error;
}

bool is_too_long(ValueError error) { return error == ValueError::kNumericOverflow; }

}  // namespace

ValueError decimal_exp(const Decimal& x, Decimal* out) noexcept {
  ValueError error = is_short(x) ? short_exp(x, out) : ValueError::kNumericOverflow;
  return is_too_long(error) ? big_exp(x, out) : error;
}

ValueError decimal_ln(const Decimal& x, Decimal* out) noexcept {
  ValueError error = is_short(x) ? short_ln(x, out) : ValueError::kNumericOverflow;
  return is_too_long(error) ? big_ln(x, out) : error;
}

ValueError decimal_log(const Decimal& base, const Decimal& x, Decimal* out) noexcept {
  ValueError error = is_short(base) && is_short(x) ? short_log(base, x, out) : ValueError::kNumericOverflow;
  return is_too_long(error) ? big_log(base, x, out) : error;
}

ValueError decimal_power(const Decimal& x, const Decimal& y, Decimal* out) noexcept {
  ValueError error = is_short(x) && is_short(y) ? short_power(x, y, out) : ValueError::kNumericOverflow;
  return is_too_long(error) ? big_power(x, y, out) : error;
}

ValueError decimal_gcd(const Decimal& a, const Decimal& b, Decimal* out) noexcept {
  if (!is_short(a) || !is_short(b)) return big_gcd(a, b, out);
  Decimal x = decimal_abs(a), y = decimal_abs(b);
  int32_t scale = std::max(a.scale, b.scale);
  while (y.value != 0) {
    Decimal rest;
    if (ValueError error = decimal_modulo(x, y, &rest); error != ValueError::kNone) return error;
    x = y;
    y = rest;
  }
  return decimal_rescale(x, scale, out);
}

ValueError decimal_lcm(const Decimal& a, const Decimal& b, Decimal* out) noexcept {
  if (!is_short(a) || !is_short(b)) return big_lcm(a, b, out);
  int32_t scale = std::max(a.scale, b.scale);
  if (a.value == 0 || b.value == 0) return *out = {0, scale}, ValueError::kNone;
  Decimal divisor, quotient, product;
  ValueError error = decimal_gcd(a, b, &divisor);
  if (error == ValueError::kNone) error = decimal_divide_truncated(a, divisor, &quotient);
  if (error == ValueError::kNone) error = decimal_multiply(quotient, b, &product);
  if (error != ValueError::kNone || !is_short(product)) return big_lcm(a, b, out);
  return decimal_rescale(decimal_abs(product), scale, out);
}

ValueError decimal_trim(const Decimal& a, Decimal* out) noexcept {
  if (!is_short(a)) return big_trim(a, out);
  *out = trimmed(a);
  return ValueError::kNone;
}

}  // namespace scyper::query
