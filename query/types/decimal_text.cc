#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "types/big_number.h"
#include "types/decimal.h"
#include "types/digits.h"

namespace scyper::query {

namespace {

// A number's text taken apart: digits (with at most one point in between) and the power of ten of the
// first one, leading zeros gone.
struct Scanned {
  const char* digits = nullptr;
  const char* digits_end = nullptr;
  int64_t first_power = 0;
  int64_t fraction_digits = 0;  // PostgreSQL's display scale; may be negative after a positive exponent
  bool negative = false;
};

constexpr int64_t kExponentLimit = INT32_MAX / 2;  // as PostgreSQL: from here on the value overflows

// Where PostgreSQL gives up on a text before it looks at the digits or at a precision.
constexpr int64_t kIntegerDigitsMax = 131072;
constexpr int64_t kFractionDigitsMax = 16383;

// What strtol takes: blanks, a sign, digits. Saturates. False without digits.
bool scan_exponent(const char** p, const char* end, int64_t* out) noexcept {
  const char* c = *p;
  while (c < end && is_space(*c)) ++c;
  bool negative = c < end && *c == '-';
  if (c < end && (*c == '-' || *c == '+')) ++c;
  if (c == end || !is_digit(*c)) return false;
  int64_t value = 0;
  for (; c < end && is_digit(*c); ++c) {
    if (value < kExponentLimit) value = value * 10 + (*c - '0');
  }
  *out = negative ? -value : value;
  *p = c;
  return true;
}

ValueError scan_number(const char* p, const char* end, Scanned* out) noexcept {
  if (p < end && (*p == '-' || *p == '+')) out->negative = *p++ == '-';
  out->digits = p;
  bool point = false;
  if (p < end && *p == '.') {
    point = true;
    ++p;
  }
  if (p == end || !is_digit(*p)) return ValueError::kInvalidText;
  int64_t integer_digits = 0;
  for (; p < end; ++p) {
    if (is_digit(*p)) {
      ++(point ? out->fraction_digits : integer_digits);
    } else if (*p == '.' && !point) {
      point = true;
    } else {
      break;
    }
  }
  out->digits_end = p;
  int64_t exponent = 0;
  if (p < end && (*p == 'e' || *p == 'E')) {
    ++p;
    if (!scan_exponent(&p, end, &exponent)) return ValueError::kInvalidText;
    if (exponent >= kExponentLimit || exponent <= -kExponentLimit) return ValueError::kNumericOverflow;
  }
  while (p < end && is_space(*p)) ++p;
  if (p != end) return ValueError::kInvalidText;
  out->first_power = integer_digits - 1 + exponent;
  out->fraction_digits -= exponent;
  for (; out->digits < out->digits_end && (*out->digits == '0' || *out->digits == '.'); ++out->digits) {
    if (*out->digits == '0') --out->first_power;
  }
  bool zero = out->digits == out->digits_end;
  bool fits = (zero || out->first_power < kIntegerDigitsMax) && out->fraction_digits <= kFractionDigitsMax;
  return fits ? ValueError::kNone : ValueError::kNumericOverflow;
}

// The number with `scale` digits behind the point, rounded half away from zero; false above 38 digits.
bool evaluate(const Scanned& number, int64_t scale, int128* out) noexcept {
  int64_t kept = number.first_power + scale + 1;  // how many digits to take
  uint128 value = 0;
  const char* p = number.digits;
  for (; p < number.digits_end && kept > 0; ++p) {
    if (*p == '.') continue;
    if (value >= kPowersOfTen[kMaxPrecision - 1]) return false;
    value = value * 10 + static_cast<uint8_t>(*p - '0');
    --kept;
  }
  if (kept > 0 && value != 0) {
    if (kept > kMaxPrecision || value >= kPowersOfTen[kMaxPrecision - kept]) return false;
    value *= kPowersOfTen[kept];
  }
  if (p < number.digits_end && *p == '.') ++p;
  if (kept == 0 && p < number.digits_end && *p >= '5') ++value;
  if (value >= kPowersOfTen[kMaxPrecision]) return false;
  *out = number.negative ? -static_cast<int128>(value) : static_cast<int128>(value);
  return true;
}

bool starts_with_word(std::string_view text, std::string_view lower_word) noexcept {
  if (text.size() < lower_word.size()) return false;
  for (size_t i = 0; i < lower_word.size(); ++i) {
    if (to_lower(text[i]) != lower_word[i]) return false;
  }
  return true;
}

// NaN, [+-]Infinity, [+-]inf with blanks behind: words PostgreSQL takes.
bool is_special(std::string_view text) noexcept {
  for (std::string_view word : {"nan", "infinity", "+infinity", "-infinity", "inf", "+inf", "-inf"}) {
    if (!starts_with_word(text, word)) continue;
    text.remove_prefix(word.size());
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    return text.empty();
  }
  return false;
}

// kNumericSpecial: one of the words, in `special`.
ValueError scan(std::string_view text, Scanned* out, Decimal* special) noexcept {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  ValueError error = scan_number(text.data(), text.data() + text.size(), out);
  if (error != ValueError::kInvalidText || !is_special(text)) return error;
  *special = text[0] == '-' ? kNegativeInfinity : to_lower(text[0]) == 'n' ? kNan : kInfinity;
  return ValueError::kNumericSpecial;
}

ValueError evaluate_big(const Scanned& number, Decimal* out) noexcept {
  std::string digits(number.digits, number.digits_end);
  std::erase(digits, '.');
  return big_of_digits(digits, number.negative, number.fraction_digits, out);
}

}  // namespace

ValueError decimal_parse(std::string_view text, Decimal* out) noexcept {
  Scanned number;
  ValueError error = scan(text, &number, out);
  if (error != ValueError::kNone) return error == ValueError::kNumericSpecial ? ValueError::kNone : error;
  int64_t scale = number.fraction_digits > 0 ? number.fraction_digits : 0;
  int128 value;
  if (scale > kMaxScale || !evaluate(number, scale, &value)) return evaluate_big(number, out);
  *out = {value, static_cast<int32_t>(scale)};
  return ValueError::kNone;
}

ValueError decimal_parse_as(std::string_view text, int32_t precision, int32_t scale, Decimal* out) noexcept {
  Scanned number;
  Decimal special;
  if (ValueError error = scan(text, &number, &special); error != ValueError::kNone)
    return error == ValueError::kNumericSpecial && is_infinite(special) ? ValueError::kNumericFieldInfinite : error;
  int128 value;
  if (!evaluate(number, scale, &value) || magnitude(value) >= kPowersOfTen[precision]) {
    return ValueError::kNumericFieldOverflow;
  }
  *out = {value, scale};
  return ValueError::kNone;
}

size_t decimal_text_bound(const Decimal& a) noexcept {
  constexpr size_t kLimbDigits = 20;  // of 64 bits, rounded up
  if (a.scale != kBigScale) return kDecimalTextMax;
  const BigNumeric big = BigNumeric::of(datum_of(a).hi);
  return std::max<size_t>(big.limbs * kLimbDigits, big.scale) + 4;
}

std::string decimal_text(const Decimal& a) {
  if (!is_short(a)) return big_text(a);
  char text[kDecimalTextMax];
  return {text, static_cast<size_t>(decimal_format(a, text) - text)};
}

char* decimal_format(const Decimal& a, char* out) noexcept {
  if (!is_short(a)) [[unlikely]] {
    const std::string text = big_text(a);
    return std::copy(text.begin(), text.end(), out);
  }
  if (a.value < 0) *out++ = '-';
  uint128 value = magnitude(a.value);
  if (a.scale == 0 && (value >> 64) == 0) return write_unsigned(out, static_cast<uint64_t>(value));
  if (a.scale <= 18 && (value >> 64) == 0) [[likely]] {
    uint64_t power = kPowersOfTen64[a.scale];
    out = write_unsigned(out, static_cast<uint64_t>(value) / power);
    *out++ = '.';
    return write_fixed(out, static_cast<uint64_t>(value) % power, a.scale);
  }
  constexpr int kHalf = 19;
  char digits[2 * kHalf];
  uint128 high = value / kPowersOfTen64[kHalf];  // below 10^19: fits in 64 bits
  write_fixed(digits, static_cast<uint64_t>(high), kHalf);
  write_fixed(digits + kHalf, static_cast<uint64_t>(value - high * kPowersOfTen64[kHalf]), kHalf);
  const char* first = digits;
  const char* end = digits + sizeof(digits);
  const char* point = a.scale >= static_cast<int32_t>(sizeof(digits)) ? digits : end - a.scale;
  while (first < point && *first == '0') ++first;
  if (first == point) *out++ = '0';
  std::memcpy(out, first, point - first);
  out += point - first;
  if (a.scale == 0) return out;
  *out++ = '.';
  for (int32_t i = a.scale; i > static_cast<int32_t>(sizeof(digits)); --i) *out++ = '0';
  std::memcpy(out, point, end - point);
  return out + (end - point);
}

double decimal_to_float8(const Decimal& a) noexcept {
  constexpr int128 kExactInteger = int128{1} << 53;
  static constexpr double kExactPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                            1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (!is_short(a)) {
    if (is_nan(a)) return std::nan("");
    if (is_infinite(a)) return a.scale == kInfinityScale ? HUGE_VAL : -HUGE_VAL;
    return std::strtod(big_text(a).c_str(), nullptr);
  }
  // both sides exact, so the division rounds once
  if (a.value <= kExactInteger && a.value >= -kExactInteger && a.scale <= 22) {
    return static_cast<double>(static_cast<int64_t>(a.value)) / kExactPowers[a.scale];
  }
  char text[kDecimalTextMax];
  char* end = decimal_format(a, text);
  double value = 0;
  std::from_chars(text, end, value);  // cannot overflow; digits vanish below 10^-255 only with the value
  return value;
}

namespace {
ValueError decimal_of_digits(double value, int digits, Decimal* out) noexcept {
  if (std::isnan(value)) return *out = kNan, ValueError::kNone;
  if (std::isinf(value)) return *out = value > 0 ? kInfinity : kNegativeInfinity, ValueError::kNone;
  char text[32];
  auto result = std::to_chars(text, text + sizeof(text), value, std::chars_format::general, digits);
  return decimal_parse({text, static_cast<size_t>(result.ptr - text)}, out);
}
}  // namespace

ValueError decimal_of_float8(double value, Decimal* out) noexcept { return decimal_of_digits(value, 15, out); }
ValueError decimal_of_float4(double value, Decimal* out) noexcept { return decimal_of_digits(value, 6, out); }

}  // namespace scyper::query
