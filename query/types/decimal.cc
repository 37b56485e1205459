#include "types/decimal.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "types/big_number.h"
#include "types/digits.h"

namespace scyper::query {

namespace {

constexpr int32_t kMinSignificantDigits = 16;  // NUMERIC_MIN_SIG_DIGITS
constexpr int32_t kGroupDigits = 4;            // PostgreSQL's numeric digits are base 10000

// Number of decimal digits, 0 for 0.
int32_t digits_of(uint128 value) noexcept {
  if (value <= UINT64_MAX) return value == 0 ? 0 : digit_count(static_cast<uint64_t>(value));
  int bits = 128 - std::countl_zero(static_cast<uint64_t>(value >> 64));
  int guess = (bits * 1233) >> 12;
  return guess < kMaxPrecision + 1 && value >= kPowersOfTen[guess] ? guess + 1 : guess;
}

int128 with_sign(uint128 value, bool negative) noexcept {
  return negative ? static_cast<int128>(0 - value) : static_cast<int128>(value);
}

uint128 divide_small(uint128 value, uint128 divisor, uint128* remainder) noexcept {
  if ((value >> 64) == 0 && (divisor >> 64) == 0) {
    uint64_t v = static_cast<uint64_t>(value), d = static_cast<uint64_t>(divisor);
    *remainder = v % d;
    return v / d;
  }
  uint128 quotient = value / divisor;
  *remainder = value - quotient * divisor;
  return quotient;
}

// n / divisor rounded half away from zero, or truncated; false when it has more than 38 digits.
bool divide_rounded(const Uint256& n, uint128 divisor, bool round, uint128* out) noexcept {
  uint128 remainder;
  Uint256 quotient =
      n.high() == 0 ? make_uint256(0, divide_small(n.low(), divisor, &remainder)) : divide_wide(n, divisor, &remainder);
  if (quotient.high() != 0 || quotient.low() >= kPowersOfTen[kMaxPrecision]) return false;
  *out = quotient.low() + (round && remainder >= divisor - remainder ? 1 : 0);
  return *out < kPowersOfTen[kMaxPrecision];
}

// value * 10^digits for 0 <= digits and a product below 10^76; false when it is not.
bool scale_wide(uint128 value, int32_t digits, Uint256* out) noexcept {
  if (value == 0) {
    *out = Uint256{};
    return true;
  }
  if (digits_of(value) + digits > 2 * kMaxPrecision) return false;
  int32_t first =
      std::max(digits - kMaxPrecision, 0);  // the rest then has at most 38 digits and so has value * 10^first
  *out = multiply_wide(value * kPowersOfTen[first], kPowersOfTen[digits - first]);
  return true;
}

struct Group {
  int32_t weight = 0;
  uint32_t first = 0;
};

// Weight and value of the first base-10000 digit; zeros for 0.
Group first_group(const Decimal& a) noexcept {
  uint128 value = magnitude(a.value);
  if (value == 0) return {};
  int32_t position = digits_of(value) - 1 - a.scale;  // power of ten of the first digit
  int32_t weight = position >= 0 ? position / kGroupDigits : -((-position + kGroupDigits - 1) / kGroupDigits);
  int32_t drop = a.scale + kGroupDigits * weight;
  uint128 first = drop >= 0 ? value / kPowersOfTen[drop] : value * kPowersOfTen[-drop];
  return {weight, static_cast<uint32_t>(first)};
}

// a / b with the given result scale, rounded or truncated.
ValueError divide_to_scale(const Decimal& a, const Decimal& b, int32_t scale, bool round, Decimal* out) noexcept {
  if (b.value == 0) return ValueError::kDivisionByZero;
  if (scale > kMaxScale) return ValueError::kNumericOverflow;
  int32_t shift = scale + b.scale - a.scale;
  bool negative = (a.value < 0) != (b.value < 0);
  uint128 dividend = magnitude(a.value), divisor = magnitude(b.value), quotient = 0;
  if (shift >= 0) {
    Uint256 wide;
    if (!scale_wide(dividend, shift, &wide)) return ValueError::kNumericOverflow;
    if (!divide_rounded(wide, divisor, round, &quotient)) return ValueError::kNumericOverflow;
  } else {  // only when truncating to a scale below the dividend's
    Uint256 wide;
    if (scale_wide(divisor, -shift, &wide) && wide.high() == 0) quotient = dividend / wide.low();
  }
  *out = {with_sign(quotient, negative), scale};
  return ValueError::kNone;
}

// |a| - |b| with a's sign at the given scale, where an operand has more than 38 digits but the difference may not.
ValueError subtract_wide(const Decimal& a, const Decimal& b, int32_t scale, int128* out) noexcept {
  Uint256 x, y;
  if (!scale_wide(magnitude(a.value), scale - a.scale, &x) || !scale_wide(magnitude(b.value), scale - b.scale, &y)) {
    return ValueError::kNumericOverflow;  // above 10^75 less something below 10^38
  }
  bool swapped = less(x, y);
  Uint256 difference = swapped ? subtract(y, x) : subtract(x, y);
  if (difference.high() != 0 || difference.low() >= kPowersOfTen[kMaxPrecision]) return ValueError::kNumericOverflow;
  *out = with_sign(difference.low(), (a.value < 0) != swapped);
  return ValueError::kNone;
}

// The value as an integer, rounded; `range` when it is not in [low, high].
ValueError to_integer(const Decimal& a, int64_t low, int64_t high, ValueError range, int64_t* out) noexcept {
  if (!is_short(a)) {
    if (is_nan(a)) return ValueError::kNanToInteger;
    if (is_infinite(a)) return ValueError::kInfinityToInteger;
    return big_to_integer(a, low, high, out) ? ValueError::kNone : range;
  }
  int128 value = int128_scale_down(a.value, a.scale);
  *out = static_cast<int64_t>(value);
  return value >= low && value <= high ? ValueError::kNone : range;
}

}  // namespace

ValueError int128_multiply_slow(int128 a, int128 b, int128* out) noexcept {
  Uint256 product = multiply_wide(magnitude(a), magnitude(b));
  if (product.high() != 0 || product.low() >= kPowersOfTen[kMaxPrecision]) return ValueError::kNumericOverflow;
  *out = with_sign(product.low(), (a < 0) != (b < 0));
  return ValueError::kNone;
}

ValueError int128_scale_up(int128 value, int32_t digits, int128* out) noexcept {
  if (digits <= 18 && is_int64(value)) [[likely]] {  // below 2^63 * 10^18 < 10^38
    *out = value * static_cast<int64_t>(kPowersOfTen64[digits]);
    return ValueError::kNone;
  }
  uint128 absolute = magnitude(value);
  if (absolute != 0 && digits_of(absolute) + digits > kMaxPrecision) return ValueError::kNumericOverflow;
  *out = absolute == 0 ? 0 : with_sign(absolute * kPowersOfTen[digits], value < 0);
  return ValueError::kNone;
}

int128 int128_scale_down(int128 value, int32_t digits) noexcept {
  if (digits == 0) return value;
  if (digits > kMaxPrecision) return 0;  // below 10^38 / 10^39, not half
  uint128 power = kPowersOfTen[digits], remainder;
  uint128 quotient = divide_small(magnitude(value), power, &remainder);
  return with_sign(quotient + (remainder >= power - remainder ? 1 : 0), value < 0);
}

int128 int128_truncate(int128 value, int32_t digits) noexcept {
  if (digits >= kMaxPrecision) return 0;
  uint128 remainder;
  return with_sign(divide_small(magnitude(value), kPowersOfTen[digits], &remainder), value < 0);
}

ValueError decimal_multiply_slow(const Decimal& a, const Decimal& b, Decimal* out) noexcept {
  const int32_t scale = a.scale + b.scale;
  int128 value;
  if (!is_short(a) || !is_short(b) || scale > kMaxScale ||
      int128_multiply(a.value, b.value, &value) != ValueError::kNone)
    return big_multiply(a, b, out);
  *out = {value, scale};
  return ValueError::kNone;
}

ValueError decimal_add_slow(const Decimal& a, const Decimal& b, bool negate_b, Decimal* out) noexcept {
  if (!is_short(a) || !is_short(b)) return big_add(a, b, negate_b, out);
  int128 x = a.value, y = negate_b ? -b.value : b.value;
  int32_t scale = std::max(a.scale, b.scale);
  ValueError error = ValueError::kNone;
  if (a.scale < scale) error = int128_scale_up(x, scale - a.scale, &x);
  if (b.scale < scale && error == ValueError::kNone) error = int128_scale_up(y, scale - b.scale, &y);
  if (error == ValueError::kNone) {
    error = int128_add(x, y, &x);
  } else if ((a.value < 0) != ((b.value < 0) != negate_b)) {
    error = subtract_wide(a, b, scale, &x);
  }
  if (error != ValueError::kNone) return big_add(a, b, negate_b, out);
  *out = {x, scale};
  return error;
}

namespace {
ValueError multiply_rounded_short(const Decimal& a, const Decimal& b, int32_t scale, Decimal* out) noexcept {
  int32_t drop = a.scale + b.scale - scale;
  if (drop <= 0) {
    Decimal product;
    ValueError error = decimal_multiply(a, b, &product);
    return error != ValueError::kNone ? error : decimal_rescale(product, scale, out);
  }
  Uint256 product = multiply_wide(magnitude(a.value), magnitude(b.value));
  uint128 value = 0;
  if (drop > 2 * kMaxPrecision) {  // rounds to 0
  } else if (drop <= kMaxPrecision) {
    if (!divide_rounded(product, kPowersOfTen[drop], true, &value)) return ValueError::kNumericOverflow;
  } else {  // in two steps: half away from zero depends on the first dropped digit alone
    uint128 remainder;
    Uint256 truncated = divide_wide(product, kPowersOfTen[drop - kMaxPrecision], &remainder);
    if (!divide_rounded(truncated, kPowersOfTen[kMaxPrecision], true, &value)) return ValueError::kNumericOverflow;
  }
  *out = {with_sign(value, (a.value < 0) != (b.value < 0)), scale};
  return ValueError::kNone;
}
}  // namespace

ValueError decimal_multiply_rounded(const Decimal& a, const Decimal& b, int32_t scale, Decimal* out) noexcept {
  ValueError error = ValueError::kNumericOverflow;
  if (is_short(a) && is_short(b)) error = multiply_rounded_short(a, b, scale, out);
  if (error != ValueError::kNumericOverflow) return error;
  Decimal product;
  error = decimal_multiply(a, b, &product);
  return error != ValueError::kNone ? error : decimal_rescale(product, scale, out);
}

int32_t decimal_divide_scale(const Decimal& a, const Decimal& b) noexcept {
  Group x = first_group(a), y = first_group(b);
  int32_t quotient_weight = x.weight - y.weight - (x.first <= y.first ? 1 : 0);
  int32_t scale = kMinSignificantDigits - quotient_weight * kGroupDigits;
  return std::max({scale, a.scale, b.scale, 0});
}

ValueError decimal_divide(const Decimal& a, const Decimal& b, Decimal* out) noexcept {
  ValueError error = ValueError::kNumericOverflow;
  if (is_short(a) && is_short(b)) error = divide_to_scale(a, b, decimal_divide_scale(a, b), true, out);
  return error == ValueError::kNumericOverflow ? big_divide(a, b, false, out) : error;
}

ValueError decimal_divide_truncated(const Decimal& a, const Decimal& b, Decimal* out) noexcept {
  ValueError error = ValueError::kNumericOverflow;
  if (is_short(a) && is_short(b)) error = divide_to_scale(a, b, 0, false, out);
  return error == ValueError::kNumericOverflow ? big_divide(a, b, true, out) : error;
}

ValueError decimal_modulo(const Decimal& a, const Decimal& b, Decimal* out) noexcept {
  if (!is_short(a) || !is_short(b)) return big_modulo(a, b, out);
  if (b.value == 0) return ValueError::kDivisionByZero;
  uint128 x = magnitude(a.value), y = magnitude(b.value), remainder = 0;
  int32_t scale = std::max(a.scale, b.scale);
  if (b.scale < scale) {
    Uint256 wide;
    if (!scale_wide(y, scale - b.scale, &wide) || wide.high() != 0) {
      remainder = x;  // b is larger than 10^38 in a's scale
    } else {
      divide_small(x, wide.low(), &remainder);
    }
  } else {  // a's missing digits one power at a time: (x * 10^n) mod y
    int32_t shift = scale - a.scale;
    remainder = x % y;
    while (shift > 0 && remainder != 0) {
      int32_t step = std::min<int32_t>(shift, kMaxPrecision);
      divide_wide(multiply_wide(remainder, kPowersOfTen[step]), y, &remainder);
      shift -= step;
    }
  }
  *out = {with_sign(remainder, a.value < 0), scale};
  return ValueError::kNone;
}

ValueError decimal_sqrt(const Decimal& a, Decimal* out) noexcept {
  if (!is_short(a)) return big_sqrt(a, out);
  if (a.value < 0) return ValueError::kSquareRootOfNegative;
  int32_t weight = (first_group(a).weight + 1) * kGroupDigits / 2 - 1;
  int32_t scale = std::max({kMinSignificantDigits - weight, a.scale, 0});
  Uint256 square;
  if (scale > kMaxScale || !scale_wide(magnitude(a.value), 2 * scale - a.scale, &square)) return big_sqrt(a, out);
  uint128 root = square_root(square);
  if (less(multiply_wide(root, root + 1), square)) ++root;  // above (root + 1/2)^2, which is no integer
  if (root >= kPowersOfTen[kMaxPrecision]) return big_sqrt(a, out);
  *out = {static_cast<int128>(root), scale};
  return ValueError::kNone;
}

int decimal_compare_slow(const Decimal& a, const Decimal& b) noexcept {
  if (!is_short(a) || !is_short(b)) return big_compare(a, b);
  if ((a.value < 0) != (b.value < 0)) return a.value < 0 ? -1 : 1;
  int128 x = a.value, y = b.value;
  // The side that does not fit in 38 digits after scaling is the larger one.
  if (a.scale < b.scale) {
    if (int128_scale_up(x, b.scale - a.scale, &x) != ValueError::kNone) return a.value < 0 ? -1 : 1;
  } else if (int128_scale_up(y, a.scale - b.scale, &y) != ValueError::kNone) {
    return a.value < 0 ? 1 : -1;
  }
  return x < y ? -1 : x > y ? 1 : 0;
}

uint64_t decimal_hash(const Decimal& a) noexcept {
  if (!is_short(a)) return big_hash(a);
  uint128 value = magnitude(a.value);
  int32_t scale = a.scale;
  while (scale > 0 && value != 0) {
    uint128 remainder;
    uint128 quotient = divide_small(value, 10, &remainder);
    if (remainder != 0) break;
    value = quotient;
    --scale;
  }
  if (value == 0) return 0;
  uint64_t hash = static_cast<uint64_t>(value) ^ (static_cast<uint64_t>(value >> 64) * 0x9E3779B97F4A7C15u);
  hash ^= static_cast<uint64_t>(scale) << 56 ^ (a.value < 0 ? 0x5851F42D4C957F2Du : 0);
  hash = (hash ^ (hash >> 32)) * 0xD6E8FEB86659FD93u;
  return hash ^ (hash >> 32);
}

ValueError decimal_rescale(const Decimal& a, int32_t scale, Decimal* out) noexcept {
  if (!is_short(a)) return big_round(a, scale, false, out);
  if (scale <= a.scale) {
    int128 value = int128_scale_down(a.value, a.scale - scale);
    *out = {value, scale};
    return ValueError::kNone;
  }
  int128 value;
  if (scale > kMaxScale || int128_scale_up(a.value, scale - a.scale, &value) != ValueError::kNone)
    return big_round(a, scale, false, out);
  *out = {value, scale};
  return ValueError::kNone;
}

ValueError decimal_round(const Decimal& a, int32_t digits, Decimal* out) noexcept {
  if (digits >= 0) return decimal_rescale(a, std::min(digits, kBigRoundMax), out);
  if (!is_short(a)) return big_round(a, digits, false, out);
  // to a power of ten above 1: fewer than 39 digits are kept, the rest are zeros again
  int64_t drop = int64_t{a.scale} - digits;
  int128 value = drop > kMaxPrecision ? 0 : int128_scale_down(a.value, static_cast<int32_t>(drop));
  if (value == 0) {
    *out = {0, 0};
    return ValueError::kNone;
  }
  if (int128_scale_up(value, -digits, &value) != ValueError::kNone) return big_round(a, digits, false, out);
  *out = {value, 0};
  return ValueError::kNone;
}

ValueError decimal_truncate(const Decimal& a, int32_t digits, Decimal* out) noexcept {
  if (!is_short(a)) return big_round(a, digits, true, out);
  if (digits >= a.scale) return decimal_rescale(a, std::min(digits, kBigRoundMax), out);
  int64_t drop = int64_t{a.scale} - digits;
  int128 value = drop >= kMaxPrecision ? 0 : int128_truncate(a.value, static_cast<int32_t>(drop));
  if (digits < 0 && value != 0) value *= static_cast<int128>(kPowersOfTen[-digits]);
  *out = {value, std::max(digits, 0)};
  return ValueError::kNone;
}

Decimal decimal_negate_special(const Decimal& a) noexcept {
  if (is_nan(a)) return a;
  if (is_infinite(a)) return a.scale == kInfinityScale ? kNegativeInfinity : kInfinity;
  Datum datum = datum_of(a);
  datum.hi ^= kBigNegativeBit;
  return decimal_of(datum);
}

Decimal decimal_sign_special(const Decimal& a) noexcept { return is_nan(a) ? a : decimal_of_int(sign_of(a)); }

ValueError decimal_ceil(const Decimal& a, Decimal* out) noexcept {
  if (!is_short(a)) return big_ceil(a, false, out);
  int128 value = int128_truncate(a.value, a.scale);
  bool exact = decimal_compare({value, 0}, a) == 0;
  *out = {a.value > 0 && !exact ? value + 1 : value, 0};
  return ValueError::kNone;
}

ValueError decimal_floor(const Decimal& a, Decimal* out) noexcept {
  if (!is_short(a)) return big_ceil(a, true, out);
  ValueError error = decimal_ceil(decimal_negate(a), out);
  *out = decimal_negate(*out);
  return error;
}

ValueError decimal_cast(const Decimal& a, int32_t precision, int32_t scale, Decimal* out) noexcept {
  Decimal result = a;
  if (!is_short(a)) {
    if (is_nan(a)) return ValueError::kNumericSpecial;
    if (ValueError error = big_cast(a, precision, scale, &result); error != ValueError::kNone) return error;
  } else if (decimal_rescale(a, scale, &result) != ValueError::kNone || !is_short(result)) {
    return ValueError::kNumericFieldOverflow;
  }
  if (magnitude(result.value) >= kPowersOfTen[precision]) return ValueError::kNumericFieldOverflow;
  *out = result;
  return ValueError::kNone;
}

ValueError decimal_to_int2(const Decimal& a, int16_t* out) noexcept {
  int64_t value = 0;
  ValueError error = to_integer(a, INT16_MIN, INT16_MAX, ValueError::kInt2Range, &value);
  *out = static_cast<int16_t>(value);
  return error;
}

ValueError decimal_to_int4(const Decimal& a, int32_t* out) noexcept {
  int64_t value = 0;
  ValueError error = to_integer(a, INT32_MIN, INT32_MAX, ValueError::kInt4Range, &value);
  *out = static_cast<int32_t>(value);
  return error;
}

ValueError decimal_to_int8(const Decimal& a, int64_t* out) noexcept {
  return to_integer(a, INT64_MIN, INT64_MAX, ValueError::kInt8Range, out);
}

}  // namespace scyper::query
