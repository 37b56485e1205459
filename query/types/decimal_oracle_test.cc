#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <deque>
#include <string>

#include "types/big_number.h"
#include "types/decimal.h"
#include "types/decimal_math.h"
#include "types/oracle.h"

namespace scyper::query {
namespace {

std::string outcome_of(ValueError error, const Decimal& value) {
  if (error != ValueError::kNone) return error_outcome(error);
  return value_outcome(decimal_text(value));
}

// Room for long numbers while a test runs.
class LongNumbers {
 public:
  LongNumbers() : numbers_(TextArena{allocate, &pieces_}) {}

 private:
  static void* allocate(void* pieces, size_t size) noexcept {
    return static_cast<std::deque<std::string>*>(pieces)->emplace_back(size, '\0').data();
  }
  std::deque<std::string> pieces_;
  const NumberMemory numbers_;
};

std::string random_digits(size_t count) {
  std::string out;
  switch (random_below(6)) {
    case 0:
      return std::string(count, '9');
    case 1:
      return "1" + std::string(count - 1, '0');
    case 2:
      return std::string(count, '5');
    case 3:
      return "5" + std::string(count - 1, '0');
    default:
      for (size_t i = 0; i < count; ++i) out += static_cast<char>('0' + random_below(10));
      return out;
  }
}

// Mostly short, sometimes up to the limits of our format.
std::string random_decimal_text() {
  bool is_long = random_below(4) == 0;
  size_t digits = 1 + random_below(is_long ? 38 : 12);
  std::string text = random_digits(digits);
  size_t scale = random_below(3) == 0 ? 0 : random_below(is_long ? 45 : 8);
  if (scale >= text.size()) text.insert(0, scale + 1 - text.size(), '0');
  if (scale > 0) text.insert(text.size() - scale, ".");
  if (random_below(20) == 0) text = "0";
  if (random_below(40) == 0) text = "0.000";
  return (random_below(2) == 0 ? "-" : "") + text;
}

Decimal parsed(const std::string& text) {
  Decimal value;
  EXPECT_EQ(decimal_parse(text, &value), ValueError::kNone) << text;
  return value;
}

std::string literal(const std::string& text) { return "'" + text + "'::numeric"; }

TEST(DecimalOracle, Arithmetic) {
  using Operation = ValueError (*)(const Decimal&, const Decimal&, Decimal*) noexcept;
  const std::pair<std::string, Operation> operations[] = {
      {"+", [](const Decimal& a, const Decimal& b, Decimal* r) noexcept { return decimal_add(a, b, r); }},
      {"-", [](const Decimal& a, const Decimal& b, Decimal* r) noexcept { return decimal_subtract(a, b, r); }},
      {"*", [](const Decimal& a, const Decimal& b, Decimal* r) noexcept { return decimal_multiply(a, b, r); }},
      {"/", decimal_divide},
      {"%", decimal_modulo},
  };
  const LongNumbers memory;
  Comparison comparison;
  for (int i = 0; i < 3000; ++i) {
    std::string a = random_decimal_text(), b = random_below(10) == 0 ? a : random_decimal_text();
    for (const auto& [symbol, operation] : operations) {
      Decimal result;
      ValueError error = operation(parsed(a), parsed(b), &result);
      comparison.expect(literal(a) + " " + symbol + " " + literal(b), outcome_of(error, result));
    }
    int order = decimal_compare(parsed(a), parsed(b));
    comparison.expect(literal(a) + " < " + literal(b), order < 0 ? "=t" : "=f");
    comparison.expect(literal(a) + " = " + literal(b), order == 0 ? "=t" : "=f");
    if (order == 0) {
      EXPECT_EQ(decimal_hash(parsed(a)), decimal_hash(parsed(b)));
    }
    Decimal result;
    ValueError error = decimal_divide_truncated(parsed(a), parsed(b), &result);
    comparison.expect("div(" + literal(a) + ", " + literal(b) + ")", outcome_of(error, result));
  }
  comparison.check();
}

// Of one number; digits: of round() and trunc().
void expect_functions(Comparison* comparison, const std::string& a, int digits) {
  const Decimal x = parsed(a);
  Decimal result;
  comparison->expect("-" + literal(a), outcome_of(ValueError::kNone, decimal_negate(x)));
  comparison->expect("abs(" + literal(a) + ")", outcome_of(ValueError::kNone, decimal_abs(x)));
  comparison->expect("sign(" + literal(a) + ")", outcome_of(ValueError::kNone, decimal_sign(x)));
  ValueError error = decimal_ceil(x, &result);
  comparison->expect("ceil(" + literal(a) + ")", outcome_of(error, result));
  error = decimal_floor(x, &result);
  comparison->expect("floor(" + literal(a) + ")", outcome_of(error, result));
  error = decimal_sqrt(x, &result);
  comparison->expect("sqrt(" + literal(a) + ")", outcome_of(error, result));
  const std::string argument = ", " + std::to_string(digits) + ")";
  error = decimal_round(x, digits, &result);
  comparison->expect("round(" + literal(a) + argument, outcome_of(error, result));
  error = decimal_truncate(x, digits, &result);
  comparison->expect("trunc(" + literal(a) + argument, outcome_of(error, result));
}

TEST(DecimalOracle, Unary) {
  const LongNumbers memory;
  Comparison comparison;
  for (int i = 0; i < 1500; ++i) {
    std::string a = random_decimal_text();
    Decimal x = parsed(a), result;
    expect_functions(&comparison, a, static_cast<int>(random_below(60)) - 25);
    uint64_t count = 1 + random_below(1000000);
    ValueError error = decimal_average(x, static_cast<int64_t>(count), &result);
    comparison.expect(literal(a) + " / " + std::to_string(count), outcome_of(error, result));
  }
  comparison.check();
}

TEST(DecimalOracle, Casts) {
  const LongNumbers memory;
  Comparison comparison;
  for (int i = 0; i < 2000; ++i) {
    std::string a = random_decimal_text();
    Decimal x = parsed(a), result;
    int precision = 1 + static_cast<int>(random_below(38)), scale = static_cast<int>(random_below(precision + 1));
    std::string type = "numeric(" + std::to_string(precision) + "," + std::to_string(scale) + ")";
    SqlType numeric = make_numeric(static_cast<uint8_t>(precision), static_cast<uint8_t>(scale));
    ValueError error = decimal_cast(x, precision, scale, &result);
    std::string outcome = error == ValueError::kNone ? outcome_of(error, result) : error_outcome(error, numeric);
    comparison.expect(literal(a) + "::" + type, outcome);
    error = decimal_parse_as(a, precision, scale, &result);
    outcome = error == ValueError::kNone ? outcome_of(error, result) : error_outcome(error, numeric);
    comparison.expect("'" + a + "'::" + type, outcome);
    int16_t small = 0;
    error = decimal_to_int2(x, &small);
    comparison.expect(literal(a) + "::int2", outcome_of(error, decimal_of_int(small)));
    int32_t integer = 0;
    error = decimal_to_int4(x, &integer);
    comparison.expect(literal(a) + "::int4", outcome_of(error, decimal_of_int(integer)));
    int64_t big = 0;
    error = decimal_to_int8(x, &big);
    comparison.expect(literal(a) + "::int8", outcome_of(error, decimal_of_int(big)));
    char text[64];
    double value = decimal_to_float8(x);
    char* end = std::to_chars(text, text + sizeof(text), value).ptr;
    comparison.expect(literal(a) + "::float8 = '" + std::string(text, end) + "'::float8", "=t");
    error = decimal_of_float8(value, &result);
    comparison.expect("'" + std::string(text, end) + "'::float8::numeric", outcome_of(error, result));
  }
  comparison.check();
}

TEST(DecimalOracle, RoundedProduct) {
  const LongNumbers memory;
  Comparison comparison;
  for (int i = 0; i < 2000; ++i) {
    std::string a = random_decimal_text(), b = random_decimal_text();
    int scale = static_cast<int>(random_below(30));
    Decimal result;
    ValueError error = decimal_multiply_rounded(parsed(a), parsed(b), scale, &result);
    comparison.expect("round(" + literal(a) + " * " + literal(b) + ", " + std::to_string(scale) + ")",
                      outcome_of(error, result));
  }
  comparison.check();
}

TEST(DecimalOracle, Parse) {
  const std::string texts[] = {"",
                               " ",
                               "abc",
                               ".",
                               "-",
                               "+",
                               "1",
                               "+1",
                               "-1",
                               "1.",
                               ".5",
                               "-.5",
                               "1e5",
                               "1E5",
                               "1e+5",
                               "1e-5",
                               "1e",
                               "1e+",
                               "1.5e3",
                               "1.5e1",
                               "1e 5",
                               "1 e5",
                               " 1 ",
                               "1\t",
                               "\v1\f",
                               "1 2",
                               "1..2",
                               "1.2.3",
                               "--1",
                               "+-1",
                               "0x10",
                               "1_000",
                               "0e50",
                               "00",
                               "000.10",
                               "-0",
                               "-0.00",
                               "1e37",
                               "1e-37",
                               "1e-200",
                               "1.e5",
                               ".e5",
                               ".5e0",
                               "1e0x",
                               "0e-10",
                               "12e-1",
                               "1.50e1",
                               "1e-0",
                               "1 .5",
                               "1.5 ",
                               "1e1073741822",
                               "1e1073741823",
                               "1e131071",
                               "1e131072",
                               "0.1e131072",
                               "0e131072",
                               "0e131071",
                               "1e-16383",
                               "1e-16384",
                               "1e99999999999999999999",
                               "1e-99999999999999999999",
                               "99999999999999999999999999999999999999",
                               "-0.00000000000000000000000000000000000001",
                               "123456789012345678901234567890.12345678",
                               "1e-5.5",
                               "\xc3\xa9",
                               "1,5",
                               "$1",
                               "1f",
                               "null"};
  const LongNumbers memory;
  Comparison comparison;
  for (const std::string& text : texts) {
    Decimal result;
    ValueError error = decimal_parse(text, &result);
    std::string outcome = error == ValueError::kNone ? outcome_of(error, result)
                                                     : error_outcome(error, make_type(TypeId::kNumeric), text);
    comparison.expect(sql_quote(text) + "::numeric", outcome);
    error = decimal_parse_as(text, 12, 2, &result);
    outcome = error == ValueError::kNone                   ? outcome_of(error, result)
              : error == ValueError::kNumericFieldOverflow ? error_outcome(error, make_numeric(12, 2))
                                                           : error_outcome(error, make_type(TypeId::kNumeric), text);
    comparison.expect(sql_quote(text) + "::numeric(12,2)", outcome);
  }
  comparison.check();
  for (const char* special : {"NaN", "nan ", " Infinity", "-infinity", "+inf", "inf", "-INF "}) {
    Decimal result;
    ValueError error = decimal_parse(special, &result);
    comparison.expect(sql_quote(special) + "::numeric", outcome_of(error, result));
  }
  comparison.check();
  Decimal result;
  EXPECT_EQ(decimal_parse("infinit", &result), ValueError::kInvalidText);
}

// Any number: often longer than 38 digits, now and then very long, NaN or infinite.
std::string random_number_text() {
  if (random_below(25) == 0) {
    static constexpr const char* kSpecial[] = {"NaN", "Infinity", "-Infinity"};
    return kSpecial[random_below(3)];
  }
  if (random_below(3) == 0) return random_decimal_text();
  const size_t digits = 1 + random_below(random_below(30) == 0 ? 3000 : 120);
  std::string text = random_digits(digits);
  const size_t scale = random_below(3) == 0 ? 0 : random_below(random_below(4) == 0 ? 600 : 60);
  if (scale >= text.size()) text.insert(0, scale + 1 - text.size(), '0');
  if (scale > 0) text.insert(text.size() - scale, ".");
  return (random_below(2) == 0 ? "-" : "") + text;
}

TEST(LongDecimalOracle, Operators) {
  using Operation = ValueError (*)(const Decimal&, const Decimal&, Decimal*) noexcept;
  const std::pair<std::string, Operation> operations[] = {
      {"+", [](const Decimal& a, const Decimal& b, Decimal* r) noexcept { return decimal_add(a, b, r); }},
      {"-", [](const Decimal& a, const Decimal& b, Decimal* r) noexcept { return decimal_subtract(a, b, r); }},
      {"*", [](const Decimal& a, const Decimal& b, Decimal* r) noexcept { return decimal_multiply(a, b, r); }},
      {"/", decimal_divide},
      {"%", decimal_modulo},
  };
  const std::pair<std::string, Operation> functions[] = {
      {"div", decimal_divide_truncated}, {"gcd", decimal_gcd}, {"lcm", decimal_lcm}};
  const LongNumbers memory;
  Comparison comparison;
  for (int i = 0; i < 1500; ++i) {
    const std::string a = random_number_text(),
                      b = random_below(10) == 0 ? a + (a.find('.') != a.npos ? "00" : "") : random_number_text();
    const Decimal x = parsed(a), y = parsed(b);
    Decimal result;
    for (const auto& [symbol, operation] : operations) {
      ValueError error = operation(x, y, &result);
      comparison.expect(literal(a) + " " + symbol + " " + literal(b), outcome_of(error, result));
    }
    for (const auto& [name, function] : functions) {
      if (a.size() + b.size() > 400) continue;  // PostgreSQL's gcd takes long
      ValueError error = function(x, y, &result);
      comparison.expect(name + "(" + literal(a) + ", " + literal(b) + ")", outcome_of(error, result));
    }
    const int order = decimal_compare(x, y);
    comparison.expect(literal(a) + " < " + literal(b), order < 0 ? "=t" : "=f");
    comparison.expect(literal(a) + " = " + literal(b), order == 0 ? "=t" : "=f");
    if (order == 0) {
      EXPECT_EQ(decimal_hash(x), decimal_hash(y)) << a << " " << b;
    }
  }
  comparison.check();
}

TEST(LongDecimalOracle, Functions) {
  const LongNumbers memory;
  Comparison comparison;
  for (int i = 0; i < 1500; ++i) {
    const std::string a = random_number_text();
    const Decimal x = parsed(a);
    Decimal result;
    expect_functions(&comparison, a, static_cast<int>(random_below(200)) - 80);
    ValueError error = decimal_trim(x, &result);
    comparison.expect("trim_scale(" + literal(a) + ")", outcome_of(error, result));
    int64_t integer = 0;
    const SqlType bigint = make_type(TypeId::kInt8);
    error = decimal_to_int8(x, &integer);
    comparison.expect(literal(a) + "::int8", error == ValueError::kNone ? outcome_of(error, decimal_of_int(integer))
                                                                        : error_outcome(error, bigint));
    const int32_t precision = 1 + static_cast<int32_t>(random_below(200));
    const int32_t scale = static_cast<int32_t>(random_below(200)) - 40;
    const SqlType type = make_modified_numeric(precision, scale);
    error = big_cast(x, precision, scale, &result);
    comparison.expect(literal(a) + "::numeric(" + std::to_string(precision) + "," + std::to_string(scale) + ")",
                      error == ValueError::kNone ? outcome_of(error, result) : error_outcome(error, type));
  }
  comparison.check();
}

std::string random_small_text(int64_t whole, size_t scale_max) {
  std::string text = std::to_string(random_below(static_cast<uint64_t>(whole)));
  const size_t scale = random_below(scale_max);
  return scale > 0 ? text + "." + random_digits(scale) : text;
}

TEST(LongDecimalOracle, Transcendental) {
  const LongNumbers memory;
  Comparison comparison;
  for (int i = 0; i < 500; ++i) {
    const std::string a = random_small_text(random_below(8) == 0 ? 6100 : 60, random_below(4) == 0 ? 60 : 6);
    const std::string b = random_small_text(random_below(4) == 0 ? 3000 : 30, random_below(4) == 0 ? 40 : 4);
    const std::string sign = random_below(3) == 0 ? "-" : "";
    const Decimal x = parsed(a), y = parsed(sign + b);
    Decimal result;
    ValueError error = decimal_exp(parsed(sign + a), &result);
    comparison.expect("exp(" + literal(sign + a) + ")", outcome_of(error, result));
    if (sign_of(x) > 0) {
      error = decimal_ln(x, &result);
      comparison.expect("ln(" + literal(a) + ")", outcome_of(error, result));
      error = decimal_log(decimal_of_int(10), x, &result);
      comparison.expect("log(" + literal(a) + ")", outcome_of(error, result));
      if (decimal_compare(x, decimal_of_int(1)) != 0 && sign_of(decimal_abs(y)) > 0) {
        error = decimal_log(x, decimal_abs(y), &result);
        comparison.expect("log(" + literal(a) + ", " + literal(b) + ")", outcome_of(error, result));
      }
    }
    if (sign_of(x) > 0) {
      error = decimal_power(x, y, &result);
      comparison.expect("power(" + literal(a) + ", " + literal(sign + b) + ")", outcome_of(error, result));
    }
    const std::string wide = random_digits(1 + random_below(80));
    if (wide != "1" && parsed(wide).value != 0) {
      error = decimal_ln(parsed(wide), &result);
      comparison.expect("ln(" + literal(wide) + ")", outcome_of(error, result));
    }
  }
  for (const int64_t n : {0, 1, 20, 33, 34, 100, 1000}) {
    Decimal result;
    ValueError error = big_factorial(n, &result);
    comparison.expect("factorial(" + std::to_string(n) + ")", outcome_of(error, result));
  }
  comparison.check();
}

}  // namespace
}  // namespace scyper::query
