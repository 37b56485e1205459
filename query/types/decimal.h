#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "storage/big_numeric.h"
#include "storage/type.h"
#include "types/value_error.h"
#include "types/wide.h"

// PostgreSQL's numeric: same results, same result scales. Up to 38 significant digits and 255 digits behind the point
// it is a scaled 128-bit integer, and all fast code is for that; what is longer, NaN and the infinities go to
// types/big_number.h from here. Where a thread has no NumberMemory, longer results are kNumericOverflow.
namespace scyper::query {

// value / 10^scale, |value| < 10^38, 0 <= scale <= kMaxScale; or, with a scale below 0, what storage/big_numeric.h
// says: never the 64 bits of a small number. Of equal value and shown scale there is one form: the short one where it
// fits.
struct Decimal {
  int128 value = 0;
  int32_t scale = 0;
};

constexpr int32_t kMaxScale = 255;
constexpr size_t kDecimalTextMax = 304;  // of a short number: sign, 38 digits, point, kMaxScale zeros, rounded up

constexpr std::array<uint128, kMaxPrecision + 1> kPowersOfTen = [] {
  std::array<uint128, kMaxPrecision + 1> powers{};
  uint128 power = 1;
  for (auto& p : powers) {
    p = power;
    power *= 10;
  }
  return powers;
}();
constexpr int128 kDecimalLimit = static_cast<int128>(kPowersOfTen[kMaxPrecision]);

inline bool is_int64(int128 value) noexcept { return value == static_cast<int64_t>(value); }
inline uint128 magnitude(int128 value) noexcept {
  return value < 0 ? 0 - static_cast<uint128>(value) : static_cast<uint128>(value);
}
inline bool is_decimal_range(int128 value) noexcept { return value < kDecimalLimit && value > -kDecimalLimit; }

inline bool is_short(const Decimal& a) noexcept { return a.scale >= 0; }
inline Decimal decimal_of(const Datum& datum) noexcept { return {datum.int128(), datum.scale}; }
inline Datum datum_of(const Decimal& decimal) noexcept { return int128_datum(decimal.value, decimal.scale); }
inline Decimal decimal_of_int(int64_t value) noexcept { return {value, 0}; }

// Arithmetic of integers whose scales the caller knows, checked against 38 digits. out may be an operand.
[[nodiscard]] inline ValueError int128_add(int128 a, int128 b, int128* out) noexcept {
  *out =
      static_cast<int128>(static_cast<uint128>(a) + static_cast<uint128>(b));  // |a|, |b| < 10^38: wraps at most once
  // A wrapped sum of two values below 10^38 has the wrong sign.
  bool wrapped = (a < 0) == (b < 0) && (*out < 0) != (a < 0);
  return wrapped || !is_decimal_range(*out) ? ValueError::kNumericOverflow : ValueError::kNone;
}
[[nodiscard]] inline ValueError int128_subtract(int128 a, int128 b, int128* out) noexcept {
  return int128_add(a, -b, out);
}
[[nodiscard]] ValueError int128_multiply_slow(int128 a, int128 b, int128* out) noexcept;
[[nodiscard]] inline ValueError int128_multiply(int128 a, int128 b, int128* out) noexcept {
  if (is_int64(a) && is_int64(b)) [[likely]] {  // below 2^126 < 10^38
    *out = static_cast<int128>(static_cast<int64_t>(a)) * static_cast<int64_t>(b);
    return ValueError::kNone;
  }
  return int128_multiply_slow(a, b, out);
}
// value * 10^digits, digits >= 0.
[[nodiscard]] ValueError int128_scale_up(int128 value, int32_t digits, int128* out) noexcept;
// value / 10^digits rounded half away from zero, or truncated; digits >= 0.
int128 int128_scale_down(int128 value, int32_t digits) noexcept;
int128 int128_truncate(int128 value, int32_t digits) noexcept;

[[nodiscard]] ValueError decimal_multiply_slow(const Decimal& a, const Decimal& b, Decimal* out) noexcept;
[[nodiscard]] ValueError decimal_add_slow(const Decimal& a, const Decimal& b, bool negate_b, Decimal* out) noexcept;
int decimal_compare_slow(const Decimal& a, const Decimal& b) noexcept;

[[nodiscard]] inline ValueError decimal_add(const Decimal& a, const Decimal& b, Decimal* out) noexcept {
  if (a.scale == b.scale && is_int64(a.value) && is_int64(b.value)) [[likely]] {
    *out = {a.value + b.value, a.scale};
    return ValueError::kNone;
  }
  return decimal_add_slow(a, b, false, out);
}

[[nodiscard]] inline ValueError decimal_subtract(const Decimal& a, const Decimal& b, Decimal* out) noexcept {
  if (a.scale == b.scale && is_int64(a.value) && is_int64(b.value)) [[likely]] {
    *out = {a.value - b.value, a.scale};
    return ValueError::kNone;
  }
  return decimal_add_slow(a, b, true, out);
}

// The exact product, its scale the sum of the scales.
[[nodiscard]] inline ValueError decimal_multiply(const Decimal& a, const Decimal& b, Decimal* out) noexcept {
  int32_t scale = a.scale + b.scale;
  if (is_int64(a.value) && is_int64(b.value) && scale <= kMaxScale) [[likely]] {  // below 2^126 < 10^38
    *out = {static_cast<int128>(static_cast<int64_t>(a.value)) * static_cast<int64_t>(b.value), scale};
    return ValueError::kNone;
  }
  return decimal_multiply_slow(a, b, out);
}

// The product rounded once to `scale`: what numeric(p,scale) = a * b stores, also where the exact product is too long.
[[nodiscard]] ValueError decimal_multiply_rounded(const Decimal& a, const Decimal& b, int32_t scale,
                                                  Decimal* out) noexcept;

// PostgreSQL chooses the scale so that at least 16 significant digits result, counted in groups of four. Of short
// numbers.
int32_t decimal_divide_scale(const Decimal& a, const Decimal& b) noexcept;
[[nodiscard]] ValueError decimal_divide(const Decimal& a, const Decimal& b, Decimal* out) noexcept;
// avg(): the sum over the count, as PostgreSQL divides them. count > 0.
[[nodiscard]] inline ValueError decimal_average(const Decimal& sum, int64_t count, Decimal* out) noexcept {
  return decimal_divide(sum, decimal_of_int(count), out);
}
// div(a, b): the quotient truncated to an integer.
[[nodiscard]] ValueError decimal_divide_truncated(const Decimal& a, const Decimal& b, Decimal* out) noexcept;
// a % b, with a's sign and the larger scale.
[[nodiscard]] ValueError decimal_modulo(const Decimal& a, const Decimal& b, Decimal* out) noexcept;
[[nodiscard]] ValueError decimal_sqrt(const Decimal& a, Decimal* out) noexcept;

// -1, 0, 1: by value, so 1.0 equals 1.00.
inline int decimal_compare(const Decimal& a, const Decimal& b) noexcept {
  if (a.scale == b.scale && a.scale >= 0) [[likely]]
    return a.value < b.value ? -1 : a.value > b.value ? 1 : 0;
  return decimal_compare_slow(a, b);
}
// Equal values of different scales hash alike.
uint64_t decimal_hash(const Decimal& a) noexcept;

Decimal decimal_negate_special(const Decimal& a) noexcept;
Decimal decimal_sign_special(const Decimal& a) noexcept;
inline Decimal decimal_negate(const Decimal& a) noexcept {
  if (!is_short(a)) [[unlikely]]
    return decimal_negate_special(a);
  return {-a.value, a.scale};
}
inline Decimal decimal_sign(const Decimal& a) noexcept {
  if (!is_short(a)) [[unlikely]]
    return decimal_sign_special(a);
  return {a.value < 0 ? -1 : a.value > 0 ? 1 : 0, 0};
}
inline Decimal decimal_abs(const Decimal& a) noexcept {
  const Decimal sign = decimal_sign(a);
  return is_short(sign) && sign.value < 0 ? decimal_negate(a) : a;
}
// round(a, digits) and trunc(a, digits): digits may be negative; more digits than a has pad with zeros.
[[nodiscard]] ValueError decimal_round(const Decimal& a, int32_t digits, Decimal* out) noexcept;
[[nodiscard]] ValueError decimal_truncate(const Decimal& a, int32_t digits, Decimal* out) noexcept;
[[nodiscard]] ValueError decimal_ceil(const Decimal& a, Decimal* out) noexcept;
[[nodiscard]] ValueError decimal_floor(const Decimal& a, Decimal* out) noexcept;
// The value with exactly this scale, rounded where digits are lost. 0 <= scale <= kBigScaleMax.
[[nodiscard]] ValueError decimal_rescale(const Decimal& a, int32_t scale, Decimal* out) noexcept;

// Cast to numeric(precision, scale) of up to 38 digits: kNumericFieldOverflow when it has more.
[[nodiscard]] ValueError decimal_cast(const Decimal& a, int32_t precision, int32_t scale, Decimal* out) noexcept;
// To integers, rounded half away from zero.
[[nodiscard]] ValueError decimal_to_int2(const Decimal& a, int16_t* out) noexcept;
[[nodiscard]] ValueError decimal_to_int4(const Decimal& a, int32_t* out) noexcept;
[[nodiscard]] ValueError decimal_to_int8(const Decimal& a, int64_t* out) noexcept;
// The nearest double, infinite beyond the range; and back by way of 15 significant digits, as PostgreSQL does.
double decimal_to_float8(const Decimal& a) noexcept;
[[nodiscard]] ValueError decimal_of_float8(double value, Decimal* out) noexcept;
[[nodiscard]] ValueError decimal_of_float4(double value, Decimal* out) noexcept;  // 6 digits

// PostgreSQL's input syntax, blanks around it allowed: kInvalidText, kNumericOverflow.
[[nodiscard]] ValueError decimal_parse(std::string_view text, Decimal* out) noexcept;
// As numeric(precision, scale): rounds the text once, so it may have any number of digits behind the point.
[[nodiscard]] ValueError decimal_parse_as(std::string_view text, int32_t precision, int32_t scale,
                                          Decimal* out) noexcept;
// All digits of the scale. decimal_format writes at most decimal_text_bound() characters and returns the end.
size_t decimal_text_bound(const Decimal& a) noexcept;
char* decimal_format(const Decimal& a, char* out) noexcept;
std::string decimal_text(const Decimal& a);

}  // namespace scyper::query
