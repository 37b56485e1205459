#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "types/digits.h"
#include "types/value_error.h"

// Booleans, integers and double precision: text both ways, casts and the checks of PostgreSQL's arithmetic.
namespace scyper::query {

// Input as PostgreSQL takes it, blanks around it allowed: kInvalidText, .
[[nodiscard]] ValueError bool_parse(std::string_view text, bool* out) noexcept;
[[nodiscard]] ValueError int2_parse(std::string_view text, int16_t* out) noexcept;
[[nodiscard]] ValueError int4_parse(std::string_view text, int32_t* out) noexcept;
[[nodiscard]] ValueError int8_parse(std::string_view text, int64_t* out) noexcept;
// number (may be null): where kTextOutOfRange, the part of the text that PostgreSQL shows.
[[nodiscard]] ValueError float8_parse(std::string_view text, double* out, std::string_view* number) noexcept;

// As double precision, rounded to real.
[[nodiscard]] ValueError float4_parse(std::string_view text, double* out, std::string_view* number) noexcept;

constexpr size_t kInt8TextMax = 20;
constexpr size_t kFloat8TextMax = 26;

// Output; return the end. true is "t"; its cast to text is "true".
inline char* bool_format(bool value, char* out) noexcept {
  *out = value ? 't' : 'f';
  return out + 1;
}
inline std::string_view bool_text(bool value) noexcept { return value ? "true" : "false"; }
inline char* int8_format(int64_t value, char* out) noexcept { return write_signed(out, value); }
// The shortest text that reads back as the same value, or as the session's extra_float_digits asks.
char* float8_format(double value, char* out) noexcept;
char* float4_format(double value, char* out) noexcept;  // of a value that a real can hold

// Casts between integers: fail when the value does not fit.
[[nodiscard]] inline ValueError int8_to_int2(int64_t value, int16_t* out) noexcept {
  *out = static_cast<int16_t>(value);
  return *out == value ? ValueError::kNone : ValueError::kInt2Range;
}
[[nodiscard]] inline ValueError int8_to_int4(int64_t value, int32_t* out) noexcept {
  *out = static_cast<int32_t>(value);
  return *out == value ? ValueError::kNone : ValueError::kInt4Range;
}

// Casts of double precision: to the nearest integer, halves to the even one. NaN and infinities are out of range.
[[nodiscard]] ValueError float8_to_int2(double value, int16_t* out) noexcept;
[[nodiscard]] ValueError float8_to_int4(double value, int32_t* out) noexcept;
[[nodiscard]] ValueError float8_to_int8(double value, int64_t* out) noexcept;

// The nearest real: kFloatOverflow, kFloatUnderflow.
[[nodiscard]] inline ValueError float8_to_float4(double value, double* out) noexcept {
  *out = static_cast<double>(static_cast<float>(value));
  if (std::isinf(*out) && !std::isinf(value)) return ValueError::kFloatOverflow;
  return *out == 0 && value != 0 ? ValueError::kFloatUnderflow : ValueError::kNone;
}

// Integer division: by zero, and the one quotient that does not fit. range: the error of the type.
template <typename Int>
[[nodiscard]] inline ValueError int_divide(Int a, Int b, ValueError range, Int* out) noexcept {
  if (b == 0) return ValueError::kDivisionByZero;
  if (b == -1 && a == std::numeric_limits<Int>::min()) return range;
  *out = static_cast<Int>(a / b);
  return ValueError::kNone;
}
template <typename Int>
[[nodiscard]] inline ValueError int_modulo(Int a, Int b, Int* out) noexcept {
  if (b == 0) return ValueError::kDivisionByZero;
  *out = b == -1 ? Int{0} : static_cast<Int>(a % b);
  return ValueError::kNone;
}

// Double precision arithmetic fails where finite operands give an infinity, or a product or quotient of operands
// that are not zero gives zero.
[[nodiscard]] inline ValueError float8_add(double a, double b, double* out) noexcept {
  *out = a + b;
  return std::isinf(*out) && !std::isinf(a) && !std::isinf(b) ? ValueError::kFloatOverflow : ValueError::kNone;
}
[[nodiscard]] inline ValueError float8_subtract(double a, double b, double* out) noexcept {
  return float8_add(a, -b, out);
}
[[nodiscard]] inline ValueError float8_multiply(double a, double b, double* out) noexcept {
  *out = a * b;
  if (std::isinf(*out) && !std::isinf(a) && !std::isinf(b)) return ValueError::kFloatOverflow;
  return *out == 0 && a != 0 && b != 0 ? ValueError::kFloatUnderflow : ValueError::kNone;
}
[[nodiscard]] inline ValueError float8_divide(double a, double b, double* out) noexcept {
  if (b == 0 && !std::isnan(a)) return ValueError::kDivisionByZero;
  *out = a / b;
  if (std::isinf(*out) && !std::isinf(a)) return ValueError::kFloatOverflow;
  return *out == 0 && a != 0 && !std::isinf(b) ? ValueError::kFloatUnderflow : ValueError::kNone;
}
// PostgreSQL's order: NaN equals NaN and is above everything.
inline int float8_compare(double a, double b) noexcept {
  if (std::isnan(a) || std::isnan(b)) return static_cast<int>(std::isnan(a)) - static_cast<int>(std::isnan(b));
  return a < b ? -1 : a > b ? 1 : 0;
}

}  // namespace scyper::query
