#include "types/scalar.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>

#include "types/timezone.h"
#include "types/wide.h"

namespace scyper::query {

namespace {

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool equals_word(std::string_view text, std::string_view lower_word) noexcept {
  if (text.size() != lower_word.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (to_lower(text[i]) != lower_word[i]) return false;
  }
  return true;
}

bool is_prefix_of_word(std::string_view text, std::string_view lower_word, size_t least) noexcept {
  return text.size() >= least && text.size() <= lower_word.size() &&
         equals_word(text, lower_word.substr(0, text.size()));
}

// A value that leaves the range while digits are read is out of range whatever follows, as in PostgreSQL.
ValueError parse_integer(std::string_view text, int64_t low, int64_t high, int64_t* out) noexcept {
  const char* p = text.data();
  const char* end = p + text.size();
  while (p < end && is_space(*p)) ++p;
  bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) ++p;
  if (p == end || !is_digit(*p)) return ValueError::kInvalidText;
  uint64_t limit = negative ? 0 - static_cast<uint64_t>(low) : static_cast<uint64_t>(high);
  uint64_t value = 0;
  for (; p < end && is_digit(*p); ++p) {
    uint64_t digit = static_cast<uint64_t>(*p - '0');
    if (value > (limit - digit) / 10) return ValueError::kTextOutOfRange;
    value = value * 10 + digit;
  }
  while (p < end && is_space(*p)) ++p;
  if (p != end) return ValueError::kInvalidText;
  *out = static_cast<int64_t>(negative ? 0 - value : value);
  return ValueError::kNone;
}

template <typename Int>
ValueError parse_as(std::string_view text, Int* out) noexcept {
  int64_t value;
  ValueError error = parse_integer(text, std::numeric_limits<Int>::min(), std::numeric_limits<Int>::max(), &value);
  if (error == ValueError::kNone) *out = static_cast<Int>(value);
  return error;
}

// A double's shortest digits: 0.d1d2... would be the mantissa, exponent is d1's power of ten.
struct ShortestDigits {
  char digits[20];
  int count = 0;
  int exponent = 0;
};

void take_apart(const char* p, const char* end, ShortestDigits* out) noexcept {
  out->count = 0;
  for (; p < end && *p != 'e'; ++p) {
    if (*p != '.') out->digits[out->count++] = *p;
  }
  bool negative = p[1] == '-';
  int exponent = 0;
  for (p += 2; p < end; ++p) exponent = exponent * 10 + (*p - '0');
  out->exponent = negative ? -exponent : exponent;
  while (out->count > 1 && out->digits[out->count - 1] == '0') --out->count;
}

// Whether the digits lie exactly between two doubles. Readers round such a text to the even one; PostgreSQL does not
// rely on that and writes one more digit.
bool is_midpoint(double value, const ShortestDigits& shortest) noexcept {
  int power = shortest.exponent - shortest.count + 1;  // of the last digit
  if (power < -1 || power > 23) return false;          // elsewhere a midpoint needs more than 17 digits
  uint128 odd = 0;
  for (int i = 0; i < shortest.count; ++i) odd = odd * 10 + static_cast<uint8_t>(shortest.digits[i] - '0');
  if (power == -1) {
    if (odd % 5 != 0) return false;
    odd /= 5;
  }
  for (int i = 0; i < power; ++i) odd *= 5;
  while ((odd & 1) == 0) {
    odd >>= 1;
    ++power;
  }
  uint64_t bits = std::bit_cast<uint64_t>(value);
  uint64_t mantissa = (bits & ((uint64_t{1} << 52) - 1)) | (uint64_t{1} << 52);
  int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1075;
  if (power == exponent - 1 && (odd == 2 * mantissa - 1 || odd == 2 * mantissa + 1)) return true;
  bool is_power_of_two = mantissa == uint64_t{1} << 52;
  return is_power_of_two && power == exponent - 2 && odd == 4 * mantissa - 1;
}

// value is positive and finite.
void find_shortest(double value, ShortestDigits* out) noexcept {
  char text[40];
  take_apart(text, std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific).ptr, out);
  if (!is_midpoint(value, *out)) return;
  for (int precision = out->count; precision <= 16; ++precision) {
    char* end = std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific, precision).ptr;
    double back = 0;
    std::from_chars(text, end, back);
    take_apart(text, end, out);
    if (back == value && !is_midpoint(value, *out)) return;
  }
}

char* write_fixed_point(const ShortestDigits& d, char* out) noexcept {
  if (d.exponent < 0) {
    *out++ = '0';
    *out++ = '.';
    for (int i = d.exponent; i < -1; ++i) *out++ = '0';
    std::memcpy(out, d.digits, d.count);
    return out + d.count;
  }
  for (int i = 0; i <= d.exponent; ++i) *out++ = i < d.count ? d.digits[i] : '0';
  if (d.count <= d.exponent + 1) return out;
  *out++ = '.';
  std::memcpy(out, d.digits + d.exponent + 1, d.count - d.exponent - 1);
  return out + (d.count - d.exponent - 1);
}

char* write_scientific(const ShortestDigits& d, char* out) noexcept {
  *out++ = d.digits[0];
  if (d.count > 1) *out++ = '.';
  std::memcpy(out, d.digits + 1, d.count - 1);
  out += d.count - 1;
  *out++ = 'e';
  *out++ = d.exponent < 0 ? '-' : '+';
  uint64_t exponent = static_cast<uint64_t>(d.exponent < 0 ? -d.exponent : d.exponent);
  return write_fixed(out, exponent, exponent < 100 ? 2 : 3);
}

char* write_word(std::string_view word, char* out) noexcept {
  std::memcpy(out, word.data(), word.size());
  return out + word.size();
}

}  // namespace

ValueError bool_parse(std::string_view text, bool* out) noexcept {
  text = trimmed(text);
  struct Word {
    std::string_view word;
    size_t least;
    bool value;
  };
  static constexpr Word kWords[] = {{"true", 1, true}, {"false", 1, false}, {"yes", 1, true}, {"no", 1, false},
                                    {"on", 2, true},   {"off", 2, false},   {"1", 1, true},   {"0", 1, false}};
  for (const Word& word : kWords) {
    if (!is_prefix_of_word(text, word.word, word.least)) continue;
    *out = word.value;
    return ValueError::kNone;
  }
  return ValueError::kInvalidText;
}

ValueError int2_parse(std::string_view text, int16_t* out) noexcept { return parse_as(text, out); }
ValueError int4_parse(std::string_view text, int32_t* out) noexcept { return parse_as(text, out); }
ValueError int8_parse(std::string_view text, int64_t* out) noexcept { return parse_as(text, out); }

ValueError float8_parse(std::string_view text, double* out, std::string_view* number) noexcept {
  text = trimmed(text);
  const char* p = text.data();
  const char* end = p + text.size();
  bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) ++p;
  if (p < end && (*p == '-' || *p == '+')) return ValueError::kInvalidText;
  bool hexadecimal = end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X');  // strtod takes it, so does PostgreSQL
  if (hexadecimal) p += 2;
  if (hexadecimal && (*p == '-' || *p == '+')) return ValueError::kInvalidText;
  double value = 0;
  auto format = hexadecimal ? std::chars_format::hex : std::chars_format::general;
  std::from_chars_result result = std::from_chars(p, end, value, format);
  if (result.ec == std::errc::result_out_of_range) {
    if (number != nullptr) *number = {text.data(), static_cast<size_t>(result.ptr - text.data())};
    return ValueError::kTextOutOfRange;
  }
  if (result.ec != std::errc() || result.ptr != end) return ValueError::kInvalidText;
  *out = negative ? -value : value;
  return ValueError::kNone;
}

namespace {

// With a number of digits that a session asks for: printf's %g.
char* write_rounded(double value, int digits, char* out) noexcept {
  char text[40];
  const int size = std::snprintf(text, sizeof(text), "%.*g", std::max(1, digits), value);
  return write_word({text, static_cast<size_t>(size)}, out);
}

}  // namespace

char* float8_format(double value, char* out) noexcept {
  if (std::isnan(value)) return write_word("NaN", out);
  if (std::signbit(value)) {
    *out++ = '-';
    value = -value;
  }
  if (std::isinf(value)) return write_word("Infinity", out);
  if (value == 0) return write_word("0", out);
  if (const int extra = session_float_digits(); extra <= 0) [[unlikely]]
    return write_rounded(value, std::numeric_limits<double>::digits10 + extra, out);
  ShortestDigits shortest;
  find_shortest(value, &shortest);
  // the thresholds of printf's %.15g
  bool fixed_point = shortest.exponent >= -4 && shortest.exponent < 15;
  return fixed_point ? write_fixed_point(shortest, out) : write_scientific(shortest, out);
}

char* float4_format(double value, char* out) noexcept {
  if (std::isnan(value) || std::isinf(value) || value == 0) return float8_format(value, out);
  if (value < 0) {
    *out++ = '-';
    value = -value;
  }
  if (const int extra = session_float_digits(); extra <= 0) [[unlikely]]
    return write_rounded(value, std::numeric_limits<float>::digits10 + extra, out);
  char text[40];
  ShortestDigits shortest;
  take_apart(text,
             std::to_chars(text, text + sizeof(text), static_cast<float>(value), std::chars_format::scientific).ptr,
             &shortest);
  bool fixed_point = shortest.exponent >= -4 && shortest.exponent < 6;  // printf's %.6g
  return fixed_point ? write_fixed_point(shortest, out) : write_scientific(shortest, out);
}

ValueError float4_parse(std::string_view text, double* out, std::string_view* number) noexcept {
  double value = 0;
  ValueError error = float8_parse(text, &value, number);
  if (error == ValueError::kNone) error = float8_to_float4(value, out);
  if (error != ValueError::kFloatOverflow && error != ValueError::kFloatUnderflow) return error;
  if (number != nullptr) *number = trimmed(text);
  return ValueError::kTextOutOfRange;
}

ValueError float8_to_int2(double value, int16_t* out) noexcept {
  double rounded = std::rint(value);
  if (!(rounded >= -32768.0 && rounded < 32768.0)) return ValueError::kInt2Range;
  *out = static_cast<int16_t>(rounded);
  return ValueError::kNone;
}

ValueError float8_to_int4(double value, int32_t* out) noexcept {
  double rounded = std::rint(value);
  if (!(rounded >= -0x1p31 && rounded < 0x1p31)) return ValueError::kInt4Range;
  *out = static_cast<int32_t>(rounded);
  return ValueError::kNone;
}

ValueError float8_to_int8(double value, int64_t* out) noexcept {
  double rounded = std::rint(value);
  if (!(rounded >= -0x1p63 && rounded < 0x1p63)) return ValueError::kInt8Range;
  *out = static_cast<int64_t>(rounded);
  return ValueError::kNone;
}

}  // namespace scyper::query
