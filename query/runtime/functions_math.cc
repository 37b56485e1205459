#include <cmath>
#include <numbers>

#include "runtime/function_body.h"
#include "types/big_number.h"
#include "types/decimal_math.h"
#include "types/scalar.h"

namespace scyper::query {

namespace {

constexpr double kRadiansPerDegree = 0.0174532925199432957692;

int32_t out_of_range(ExecContext* c) { return c->fail("22003", "input is out of range"); }

// A result that finite arguments made infinite.
int32_t checked(ExecContext* c, double value, bool may_be_infinite, Datum* out) {
  if (std::isinf(value) && !may_be_infinite) return done(c, ValueError::kFloatOverflow);
  *out = float_datum(value);
  return 0;
}

int32_t power_of(ExecContext* c, double x, double y, Datum* out) {
  if (std::isnan(x)) return *out = float_datum(y == 0 ? 1.0 : x), 0;
  if (std::isnan(y)) return *out = float_datum(x == 1 ? 1.0 : y), 0;
  if (x == 0 && y < 0) return c->fail("2201F", "zero raised to a negative power is undefined");
  if (x < 0 && !std::isinf(y) && std::floor(y) != y)
    return c->fail("2201F", "a negative number raised to a non-integer power yields a complex result");
  double result = std::pow(x, y);
  bool finite = !std::isinf(x) && !std::isinf(y);
  if (finite && std::isinf(result)) return done(c, ValueError::kFloatOverflow);
  if (finite && result == 0 && x != 0) return done(c, ValueError::kFloatUnderflow);
  *out = float_datum(result);
  return 0;
}

int32_t logarithm(ExecContext* c, double x, double (*log)(double), Datum* out) {
  if (x == 0) return c->fail("2201E", "cannot take logarithm of zero");
  if (x < 0) return c->fail("2201E", "cannot take logarithm of a negative number");
  return *out = float_datum(log(x)), 0;
}

int32_t trigonometric(ExecContext* c, double x, double (*f)(double), bool poles, Datum* out) {
  if (std::isnan(x)) return *out = float_datum(x), 0;
  if (std::isinf(x)) return out_of_range(c);
  return checked(c, f(x), poles, out);
}

double cotangent(double x) { return 1.0 / std::tan(x); }

// --- degrees: exact at the multiples of 30 and 45, in PostgreSQL's way (float.c) ---

double sin_degrees_to_30(double x) {
  static const double kOneHalf = std::sin(30.0 * kRadiansPerDegree);
  return std::sin(x * kRadiansPerDegree) / kOneHalf / 2.0;
}
double cos_degrees_to_60(double x) {
  static const double kOneMinusHalf = 1.0 - std::cos(60.0 * kRadiansPerDegree);
  return 1.0 - (1.0 - std::cos(x * kRadiansPerDegree)) / kOneMinusHalf / 2.0;
}
double sin_degrees_first(double x) { return x <= 30.0 ? sin_degrees_to_30(x) : cos_degrees_to_60(90.0 - x); }
double cos_degrees_first(double x) { return x <= 60.0 ? cos_degrees_to_60(x) : sin_degrees_to_30(90.0 - x); }

double sin_degrees(double x) {
  double sign = 1;
  x = std::fmod(x, 360.0);
  if (x < 0) x = -x, sign = -sign;
  if (x > 180.0) x = 360.0 - x, sign = -sign;
  if (x > 90.0) x = 180.0 - x;
  return sign * sin_degrees_first(x);
}
double cos_degrees(double x) {
  double sign = 1;
  x = std::fabs(std::fmod(x, 360.0));
  if (x > 180.0) x = 360.0 - x;
  if (x > 90.0) x = 180.0 - x, sign = -sign;
  return sign * cos_degrees_first(x);
}
double tan_degrees_of(double x, bool inverse) {
  static const double kTan45 = sin_degrees_first(45.0) / cos_degrees_first(45.0);
  static const double kCot45 = cos_degrees_first(45.0) / sin_degrees_first(45.0);
  double sign = 1;
  x = std::fmod(x, 360.0);
  if (x < 0) x = -x, sign = -sign;
  if (x > 180.0) x = 360.0 - x, sign = -sign;
  if (x > 90.0) x = 180.0 - x, sign = -sign;
  double result = inverse ? sign * ((cos_degrees_first(x) / sin_degrees_first(x)) / kCot45)
                          : sign * ((sin_degrees_first(x) / cos_degrees_first(x)) / kTan45);
  return result == 0 ? 0.0 : result;
}
double tan_degrees(double x) { return tan_degrees_of(x, false); }
double cot_degrees(double x) { return tan_degrees_of(x, true); }
double asin_degrees_first(double x) {
  static const double kHalf = std::asin(0.5);
  static const double kAcosHalf = std::acos(0.5);
  return x <= 0.5 ? std::asin(x) / kHalf * 30.0 : 90.0 - std::acos(x) / kAcosHalf * 60.0;
}
double acos_degrees_first(double x) {
  static const double kHalf = std::asin(0.5);
  static const double kAcosHalf = std::acos(0.5);
  return x <= 0.5 ? 90.0 - std::asin(x) / kHalf * 30.0 : std::acos(x) / kAcosHalf * 60.0;
}
double asin_degrees(double x) { return x >= 0 ? asin_degrees_first(x) : -asin_degrees_first(-x); }
double acos_degrees(double x) { return x >= 0 ? acos_degrees_first(x) : 90.0 + asin_degrees_first(-x); }
double atan_45() {
  static const double kAtan1 = std::atan(1.0);
  return kAtan1;
}

int32_t inverse_trigonometric(ExecContext* c, double x, double (*f)(double), Datum* out) {
  if (std::isnan(x)) return *out = float_datum(x), 0;
  if (x < -1.0 || x > 1.0) return out_of_range(c);
  return checked(c, f(x), false, out);
}

int32_t integer_range(ExecContext* c, const SqlType& type) {
  return done(c, type.id == TypeId::kInt4 ? ValueError::kInt4Range : ValueError::kInt8Range);
}
uint64_t magnitude_of(int64_t value) {
  return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}
uint64_t common_divisor(uint64_t a, uint64_t b) {
  while (b != 0) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
int32_t give_integer(ExecContext* c, uint64_t value, const SqlType& type, Datum* out) {
  if (value > (type.id == TypeId::kInt4 ? uint64_t{INT32_MAX} : uint64_t{INT64_MAX})) return integer_range(c, type);
  return give(out, static_cast<int64_t>(value));
}

int32_t give_decimal(ExecContext* c, ValueError error, const Decimal& value, Datum* out) {
  *out = datum_of(value);
  return done(c, error);
}
int32_t decimal_log_argument(ExecContext* c, const Decimal& x) {
  if (sign_of(x) == 0) return c->fail("2201E", "cannot take logarithm of zero");
  return sign_of(x) < 0 ? c->fail("2201E", "cannot take logarithm of a negative number") : 0;
}

extern "C" {

#define UNARY(name, call) \
  SCYPER_FUNCTION(name) { return call; }
UNARY(exp, std::isinf(float8(args[0])) || std::isnan(float8(args[0]))
               ? (*out = float_datum(std::exp(float8(args[0]))), 0)
               : (std::exp(float8(args[0])) == 0 ? done(c, ValueError::kFloatUnderflow)
                                                 : checked(c, std::exp(float8(args[0])), false, out)))
UNARY(ln, logarithm(c, float8(args[0]), std::log, out))
UNARY(log10, logarithm(c, float8(args[0]), std::log10, out))
UNARY(cbrt, (*out = float_datum(std::cbrt(float8(args[0]))), 0))
UNARY(power, power_of(c, float8(args[0]), float8(args[1]), out))
UNARY(sign_float8, (*out = float_datum(float8(args[0]) > 0 ? 1.0 : float8(args[0]) < 0 ? -1.0 : 0.0), 0))
UNARY(degrees, (checked(c, float8(args[0]) / kRadiansPerDegree, std::isinf(float8(args[0])), out)))
UNARY(radians, (*out = float_datum(float8(args[0]) * kRadiansPerDegree), 0))
UNARY(pi, (*out = float_datum(std::numbers::pi), 0))
UNARY(sin, trigonometric(c, float8(args[0]), std::sin, false, out))
UNARY(cos, trigonometric(c, float8(args[0]), std::cos, false, out))
UNARY(tan, trigonometric(c, float8(args[0]), std::tan, true, out))
UNARY(cot, trigonometric(c, float8(args[0]), cotangent, true, out))
UNARY(sind, trigonometric(c, float8(args[0]), sin_degrees, false, out))
UNARY(cosd, trigonometric(c, float8(args[0]), cos_degrees, false, out))
UNARY(tand, trigonometric(c, float8(args[0]), tan_degrees, true, out))
UNARY(cotd, trigonometric(c, float8(args[0]), cot_degrees, true, out))
UNARY(asin, inverse_trigonometric(c, float8(args[0]), std::asin, out))
UNARY(acos, inverse_trigonometric(c, float8(args[0]), std::acos, out))
UNARY(asind, inverse_trigonometric(c, float8(args[0]), asin_degrees, out))
UNARY(acosd, inverse_trigonometric(c, float8(args[0]), acos_degrees, out))
UNARY(atan, (*out = float_datum(std::atan(float8(args[0]))), 0))
UNARY(atand, (*out = float_datum(std::atan(float8(args[0])) / atan_45() * 45.0), 0))
UNARY(atan2, (*out = float_datum(std::atan2(float8(args[0]), float8(args[1]))), 0))
UNARY(atan2d, (*out = float_datum(std::atan2(float8(args[0]), float8(args[1])) / atan_45() * 45.0), 0))
UNARY(sinh, (*out = float_datum(std::sinh(float8(args[0]))), 0))
UNARY(cosh, (*out = float_datum(std::cosh(float8(args[0]))), 0))
UNARY(tanh, (*out = float_datum(std::tanh(float8(args[0]))), 0))
UNARY(asinh, (*out = float_datum(std::asinh(float8(args[0]))), 0))
#undef UNARY

SCYPER_FUNCTION(acosh) {
  if (float8(args[0]) < 1.0) return out_of_range(c);
  return *out = float_datum(std::acosh(float8(args[0]))), 0;
}
SCYPER_FUNCTION(atanh) {
  double x = float8(args[0]);
  if (x < -1.0 || x > 1.0) return out_of_range(c);
  return *out = float_datum(std::atanh(x)), 0;
}
SCYPER_FUNCTION(gcd) {
  return give_integer(c, common_divisor(magnitude_of(args[0].lo), magnitude_of(args[1].lo)), types[0], out);
}
SCYPER_FUNCTION(lcm) {
  uint64_t a = magnitude_of(args[0].lo), b = magnitude_of(args[1].lo), product;
  if (a == 0 || b == 0) return give(out, int64_t{0});
  if (__builtin_mul_overflow(a / common_divisor(a, b), b, &product)) return integer_range(c, types[0]);
  return give_integer(c, product, types[0], out);
}
SCYPER_FUNCTION(gcd_numeric) {
  Decimal value;
  return give_decimal(c, decimal_gcd(decimal_of(args[0]), decimal_of(args[1]), &value), value, out);
}
SCYPER_FUNCTION(lcm_numeric) {
  Decimal value;
  return give_decimal(c, decimal_lcm(decimal_of(args[0]), decimal_of(args[1]), &value), value, out);
}
SCYPER_FUNCTION(factorial) {
  if (args[0].lo < 0) return c->fail("22003", "factorial of a negative number is undefined");
  Decimal value;
  return give_decimal(c, big_factorial(args[0].lo, &value), value, out);
}
SCYPER_FUNCTION(scale_numeric) {
  const Decimal x = decimal_of(args[0]);
  return is_nan(x) || is_infinite(x) ? give_null(out) : give(out, int64_t{shown_scale(x)});
}
SCYPER_FUNCTION(min_scale) {
  Decimal value;
  if (ValueError error = decimal_trim(decimal_of(args[0]), &value); error != ValueError::kNone) return done(c, error);
  return is_nan(value) || is_infinite(value) ? give_null(out) : give(out, int64_t{shown_scale(value)});
}
SCYPER_FUNCTION(trim_scale) {
  Decimal value;
  return give_decimal(c, decimal_trim(decimal_of(args[0]), &value), value, out);
}
SCYPER_FUNCTION(exp_numeric) {
  Decimal value;
  return give_decimal(c, decimal_exp(decimal_of(args[0]), &value), value, out);
}
SCYPER_FUNCTION(ln_numeric) {
  Decimal value;
  if (int32_t outcome = decimal_log_argument(c, decimal_of(args[0])); outcome != 0) return outcome;
  return give_decimal(c, decimal_ln(decimal_of(args[0]), &value), value, out);
}
SCYPER_FUNCTION(log_numeric) {
  Decimal value;
  Decimal base = count > 1 ? decimal_of(args[0]) : decimal_of_int(10);
  Decimal x = decimal_of(args[count - 1]);
  if (int32_t outcome = decimal_log_argument(c, base); outcome != 0) return outcome;
  if (int32_t outcome = decimal_log_argument(c, x); outcome != 0) return outcome;
  return give_decimal(c, decimal_log(base, x, &value), value, out);
}
SCYPER_FUNCTION(power_numeric) {
  Decimal x = decimal_of(args[0]), y = decimal_of(args[1]), value;
  if (sign_of(x) == 0 && sign_of(y) < 0) return c->fail("2201F", "zero raised to a negative power is undefined");
  if (sign_of(x) < 0 && !is_nan(y) && !is_integral(y))
    return c->fail("2201F", "a negative number raised to a non-integer power yields a complex result");
  return give_decimal(c, decimal_power(x, y, &value), value, out);
}
SCYPER_FUNCTION(width_bucket) {
  double x = float8(args[0]), low = float8(args[1]), high = float8(args[2]);
  int32_t buckets = int4(args[3]);
  if (buckets <= 0) return c->fail("2201G", "count must be greater than zero");
  if (std::isnan(x) || std::isnan(low) || std::isnan(high))
    return c->fail("2201G", "operand, lower bound, and upper bound cannot be NaN");
  if (std::isinf(low) || std::isinf(high)) return c->fail("2201G", "lower and upper bounds must be finite");
  if (low == high) return c->fail("2201G", "lower bound cannot equal upper bound");
  bool above = low < high ? x >= high : x <= high;
  bool below = low < high ? x < low : x > low;
  if (below) return give(out, int64_t{0});
  if (above) return buckets == INT32_MAX ? done(c, ValueError::kInt4Range) : give(out, int64_t{buckets} + 1);
  double share = std::isinf(high - low) ? (x / 2 - low / 2) / (high / 2 - low / 2) : (x - low) / (high - low);
  int32_t bucket = static_cast<int32_t>(share * buckets);
  return give(out, int64_t{std::min(bucket, buckets - 1)} + 1);
}
SCYPER_FUNCTION(width_bucket_numeric) {
  Decimal x = decimal_of(args[0]), low = decimal_of(args[1]), high = decimal_of(args[2]);
  int32_t buckets = int4(args[3]);
  if (buckets <= 0) return c->fail("2201G", "count must be greater than zero");
  if (is_nan(x) || is_nan(low) || is_nan(high))
    return c->fail("2201G", "operand, lower bound, and upper bound cannot be NaN");
  if (is_infinite(low) || is_infinite(high)) return c->fail("2201G", "lower and upper bounds must be finite");
  int direction = decimal_compare(low, high);
  if (direction == 0) return c->fail("2201G", "lower bound cannot equal upper bound");
  if (direction * decimal_compare(x, low) > 0) return give(out, int64_t{0});
  if (direction * decimal_compare(x, high) <= 0)
    return buckets == INT32_MAX ? done(c, ValueError::kInt4Range) : give(out, int64_t{buckets} + 1);
  Decimal offset, width, scaled, quotient;
  ValueError error = decimal_subtract(x, low, &offset);
  if (error == ValueError::kNone) error = decimal_subtract(high, low, &width);
  if (error == ValueError::kNone) error = decimal_multiply(offset, decimal_of_int(buckets), &scaled);
  if (error == ValueError::kNone) error = decimal_divide_truncated(scaled, width, &quotient);
  int64_t bucket = 0;
  if (error == ValueError::kNone) error = decimal_to_int8(quotient, &bucket);
  return error != ValueError::kNone ? done(c, error) : give(out, bucket + 1);
}
// Bits of integers: shifts take the count modulo the width, as PostgreSQL's machine does.
SCYPER_FUNCTION(bit_and) { return give(out, args[0].lo & args[1].lo); }
SCYPER_FUNCTION(bit_or) { return give(out, args[0].lo | args[1].lo); }
SCYPER_FUNCTION(bit_xor) { return give(out, args[0].lo ^ args[1].lo); }
SCYPER_FUNCTION(bit_not) { return give(out, ~args[0].lo); }
SCYPER_FUNCTION(shift_left) {
  if (types[0].id == TypeId::kInt8)
    return give(out, static_cast<int64_t>(static_cast<uint64_t>(args[0].lo) << (args[1].lo & 63)));
  uint32_t shifted = static_cast<uint32_t>(args[0].lo) << (args[1].lo & 31);
  return give(out, types[0].id == TypeId::kInt2 ? int64_t{static_cast<int16_t>(shifted)}
                                                : int64_t{static_cast<int32_t>(shifted)});
}
SCYPER_FUNCTION(shift_right) {
  return give(out, args[0].lo >> (args[1].lo & (types[0].id == TypeId::kInt8 ? 63 : 31)));
}

}  // extern "C"

}  // namespace

SCYPER_MATH_FUNCTIONS(SCYPER_DEFINE_FUNCTION)

}  // namespace scyper::query
