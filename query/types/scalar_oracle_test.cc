#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "types/oracle.h"
#include "types/scalar.h"

namespace scyper::query {
namespace {

std::string float_text(double value) {
  char text[kFloat8TextMax];
  return {text, float8_format(value, text)};
}

std::string int_outcome(ValueError error, TypeId type, const std::string& input, int64_t value) {
  if (error != ValueError::kNone) return error_outcome(error, make_type(type), input);
  char text[kInt8TextMax];
  return value_outcome({text, int8_format(value, text)});
}

TEST(ScalarOracle, ParseIntegers) {
  std::string texts[] = {"",
                         " ",
                         "0",
                         "-0",
                         "+5",
                         "- 5",
                         " 42 ",
                         "\t7\n",
                         "4 2",
                         "1e3",
                         "1.0",
                         "0x1",
                         "abc",
                         "--1",
                         "32767",
                         "32768",
                         "-32768",
                         "-32769",
                         "2147483647",
                         "2147483648",
                         "-2147483648",
                         "-2147483649",
                         "9223372036854775807",
                         "9223372036854775808",
                         "-9223372036854775808",
                         "-9223372036854775809",
                         "99999999999999999999999999",
                         "99999999999999999999999999abc",
                         "12abc",
                         "00000000000000000000000000001",
                         "+",
                         "-",
                         "1\xc3\xa9"};
  Comparison comparison;
  for (const std::string& text : texts) {
    int16_t small = 0;
    ValueError error = int2_parse(text, &small);
    comparison.expect(sql_quote(text) + "::int2", int_outcome(error, TypeId::kInt2, text, small));
    int32_t integer = 0;
    error = int4_parse(text, &integer);
    comparison.expect(sql_quote(text) + "::int4", int_outcome(error, TypeId::kInt4, text, integer));
    int64_t big = 0;
    error = int8_parse(text, &big);
    comparison.expect(sql_quote(text) + "::int8", int_outcome(error, TypeId::kInt8, text, big));
  }
  comparison.check();
}

TEST(ScalarOracle, ParseBooleans) {
  Comparison comparison;
  for (std::string text :
       {"t", "tr", "TRUE", "true ", " truee", "f", "fAlse", "y",  "ye", "yes", "yess", "n",     "no", "nope",
        "o", "on", "of",   "off",   "offf",   "1", "0",     "01", "2",  "",    " ",    "\tT\n", "onn"}) {
    bool value = false;
    ValueError error = bool_parse(text, &value);
    comparison.expect(sql_quote(text) + "::bool", error != ValueError::kNone
                                                      ? error_outcome(error, make_type(TypeId::kBool), text)
                                                      : value_outcome(value ? "t" : "f"));
    if (error == ValueError::kNone)
      comparison.expect(sql_quote(text) + "::bool::text", value_outcome(bool_text(value)));
  }
  comparison.check();
}

TEST(ScalarOracle, ParseFloats) {
  Comparison comparison;
  for (std::string text : {"",
                           " ",
                           "0",
                           "-0",
                           "+1.5",
                           "1.",
                           ".5",
                           ".",
                           "1e5",
                           "1e",
                           "1e+",
                           "1e400",
                           "-1e400",
                           "1e-400",
                           "1e-320",
                           "5e-324",
                           "2e-324",
                           "NaN",
                           "nan",
                           "-nan",
                           "inf",
                           "-Inf",
                           "+inf",
                           "infinity",
                           "Infinit",
                           "-INFINITY",
                           "infinityx",
                           " 1 ",
                           "1 2",
                           "abc",
                           "1x",
                           "0x10",
                           "0x1p3",
                           "0x",
                           "0x1.8p1",
                           "1.7976931348623157e308",
                           "1.7976931348623159e308",
                           "1e23",
                           "9007199254740993",
                           "++1",
                           "+-1",
                           "-0x1p1",
                           "1e400 x",
                           "123456789012345678901234567890",
                           "0.1e1",
                           "1d5",
                           "\xc3\xa9",
                           "  1e999  ",
                           "0x-1"}) {
    double value = 0;
    std::string_view number;
    ValueError error = float8_parse(text, &value, &number);
    std::string_view shown = error == ValueError::kTextOutOfRange ? number : std::string_view(text);
    comparison.expect(sql_quote(text) + "::float8", error != ValueError::kNone
                                                        ? error_outcome(error, make_type(TypeId::kFloat8), shown)
                                                        : value_outcome(float_text(value)));
  }
  comparison.check();
}

double random_double() {
  switch (random_below(6)) {
    case 0:
      return static_cast<double>(random_below(1000000)) / 100;
    case 1:
      return std::ldexp(1.0, static_cast<int>(random_below(2000)) - 1000);
    case 2:
      return static_cast<double>(random_source()());
    case 3:
      return static_cast<double>(random_below(1u << 20)) * std::pow(10.0, static_cast<double>(random_below(23)));
    case 4:
      return std::ldexp(static_cast<double>(random_below(uint64_t{1} << 53)), static_cast<int>(random_below(60)));
    default:
      break;
  }
  double value = std::bit_cast<double>(random_source()());
  return std::isfinite(value) ? value : 0.1;
}

TEST(ScalarOracle, FormatFloats) {
  Comparison comparison;
  for (int i = 0; i < 12000; ++i) {
    double value = random_below(2) == 0 ? random_double() : -random_double();
    char exact[64];
    std::snprintf(exact, sizeof(exact), "%.17g", value);
    comparison.expect("'" + std::string(exact) + "'::float8", value_outcome(float_text(value)));
  }
  for (int power = -30; power < 40; ++power) {  // 1e23 is a midpoint of two doubles
    for (const char* digits : {"1", "5", "9", "1.2345", "9.9999999999999"}) {
      std::string text = std::string(digits) + "e" + std::to_string(power);
      comparison.expect("'" + text + "'::float8", value_outcome(float_text(std::strtod(text.c_str(), nullptr))));
    }
  }
  comparison.check();
}

TEST(ScalarOracle, FloatArithmeticAndCasts) {
  using Operation = ValueError (*)(double, double, double*) noexcept;
  const std::pair<std::string, Operation> operations[] = {
      {"+", float8_add}, {"-", float8_subtract}, {"*", float8_multiply}, {"/", float8_divide}};
  const double edges[] = {0,
                          -0.0,
                          1,
                          -1,
                          1e308,
                          -1e308,
                          1e-308,
                          INFINITY,
                          -INFINITY,
                          NAN,
                          0.5,
                          1.5,
                          2.5,
                          -2.5,
                          32767.5,
                          32767.4,
                          -32768.5,
                          -32768.6,
                          2147483647.5,
                          2147483647.4,
                          -2147483648.5,
                          9223372036854775807.0,
                          9223372036854774784.0,
                          -9223372036854775808.0};
  Comparison comparison;
  auto literal = [](double value) { return "'" + float_text(value) + "'::float8"; };
  auto outcome = [](ValueError error, double value) {
    return error == ValueError::kNone ? value_outcome(float_text(value)) : error_outcome(error);
  };
  for (int i = 0; i < 1500; ++i) {
    double a = random_below(2) == 0 ? edges[random_below(std::size(edges))] : random_double();
    double b = random_below(2) == 0 ? edges[random_below(std::size(edges))] : random_double();
    for (const auto& [symbol, operation] : operations) {
      double result = 0;
      ValueError error = operation(a, b, &result);
      comparison.expect(literal(a) + " " + symbol + " " + literal(b), outcome(error, result));
    }
    comparison.expect(literal(a) + " < " + literal(b), float8_compare(a, b) < 0 ? "=t" : "=f");
    comparison.expect(literal(a) + " = " + literal(b), float8_compare(a, b) == 0 ? "=t" : "=f");
    int16_t small = 0;
    ValueError error = float8_to_int2(a, &small);
    comparison.expect(literal(a) + "::int2", int_outcome(error, TypeId::kInt2, "", small));
    int32_t integer = 0;
    error = float8_to_int4(a, &integer);
    comparison.expect(literal(a) + "::int4", int_outcome(error, TypeId::kInt4, "", integer));
    int64_t big = 0;
    error = float8_to_int8(a, &big);
    comparison.expect(literal(a) + "::int8", int_outcome(error, TypeId::kInt8, "", big));
  }
  comparison.check();
}

TEST(ScalarOracle, IntegerDivision) {
  const int32_t edges[] = {0, 1, -1, 2, -2, 7, -7, INT32_MIN, INT32_MAX};
  Comparison comparison;
  for (int32_t a : edges) {
    for (int32_t b : edges) {
      int32_t result = 0;
      std::string operands[] = {"(" + std::to_string(a) + ")::int4 ", " (" + std::to_string(b) + ")::int4"};
      ValueError error = int_divide<int32_t>(a, b, ValueError::kInt4Range, &result);
      comparison.expect(operands[0] + "/" + operands[1], int_outcome(error, TypeId::kInt4, "", result));
      error = int_modulo<int32_t>(a, b, &result);
      comparison.expect(operands[0] + "%" + operands[1], int_outcome(error, TypeId::kInt4, "", result));
    }
  }
  comparison.check();
}

}  // namespace
}  // namespace scyper::query
