#include "types/decimal.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/test_seed.h"
#include "types/digits.h"

namespace scyper::query {
namespace {

Decimal parsed(std::string_view text) {
  Decimal value;
  EXPECT_EQ(decimal_parse(text, &value), ValueError::kNone) << text;
  return value;
}

std::string formatted(const Decimal& value) {
  char text[kDecimalTextMax];
  return {text, decimal_format(value, text)};
}

const std::string kLargest(38, '9');

TEST(Decimal, ScalesOfResults) {
  Decimal r;
  ASSERT_EQ(decimal_add(parsed("1.50"), parsed("2.255"), &r), ValueError::kNone);
  EXPECT_EQ(formatted(r), "3.755");
  ASSERT_EQ(decimal_multiply(parsed("1.50"), parsed("-2.0"), &r), ValueError::kNone);
  EXPECT_EQ(formatted(r), "-3.000");
  ASSERT_EQ(decimal_divide(parsed("1"), parsed("3"), &r), ValueError::kNone);
  EXPECT_EQ(formatted(r), "0.33333333333333333333");
  ASSERT_EQ(decimal_divide(parsed("10"), parsed("4"), &r), ValueError::kNone);
  EXPECT_EQ(formatted(r), "2.5000000000000000");
  ASSERT_EQ(decimal_average(parsed("10.00"), 3, &r), ValueError::kNone);
  EXPECT_EQ(formatted(r), "3.3333333333333333");
}

TEST(Decimal, Errors) {
  Decimal r;
  EXPECT_EQ(decimal_divide(parsed("1"), parsed("0.00"), &r), ValueError::kDivisionByZero);
  EXPECT_EQ(decimal_modulo(parsed("1"), parsed("0"), &r), ValueError::kDivisionByZero);
  EXPECT_EQ(decimal_add(parsed(kLargest), parsed("1"), &r), ValueError::kNumericOverflow);
  EXPECT_EQ(decimal_subtract(parsed("-" + kLargest), parsed("1"), &r), ValueError::kNumericOverflow);
  EXPECT_EQ(decimal_multiply(parsed(kLargest), parsed("2"), &r), ValueError::kNumericOverflow);
  EXPECT_EQ(decimal_parse(kLargest + "0", &r), ValueError::kNumericOverflow);
  EXPECT_EQ(decimal_cast(parsed("1000"), 5, 2, &r), ValueError::kNumericFieldOverflow);
  Status status = error_status(ValueError::kNumericFieldOverflow, make_numeric(5, 2));
  EXPECT_EQ(detail_of(status), "A field with precision 5, scale 2 must round to an absolute value less than 10^3.");
}

TEST(Decimal, WholeRange) {
  Decimal r;
  ASSERT_EQ(decimal_subtract(parsed(kLargest), parsed("-0"), &r), ValueError::kNone);
  EXPECT_EQ(formatted(r), kLargest);
  ASSERT_EQ(decimal_add(parsed(kLargest), parsed("-" + kLargest), &r), ValueError::kNone);
  EXPECT_EQ(formatted(r), "0");
  // an operand that needs more than 38 digits at the common scale
  EXPECT_EQ(decimal_subtract(parsed("1e37"), parsed("0.05"), &r), ValueError::kNumericOverflow);
  ASSERT_EQ(decimal_subtract(parsed("1e36"), parsed("0.5"), &r), ValueError::kNone);
  EXPECT_EQ(formatted(r), std::string(36, '9') + ".5");
  ASSERT_EQ(decimal_subtract(parsed("1e37"), parsed(std::string(37, '9') + ".5"), &r), ValueError::kNone);
  EXPECT_EQ(formatted(r), "0.5");
  EXPECT_LT(decimal_compare(parsed("1e-30"), parsed("1e37")), 0);
  EXPECT_GT(decimal_compare(parsed("-1e-30"), parsed("-1e37")), 0);
  EXPECT_EQ(decimal_hash(parsed("1.000")), decimal_hash(parsed("1")));
}

TEST(Decimal, FormatPadsWithZeros) {
  EXPECT_EQ(formatted({5, 0}), "5");
  EXPECT_EQ(formatted({5, 3}), "0.005");
  EXPECT_EQ(formatted({-1234, 2}), "-12.34");
  EXPECT_EQ(formatted({1, 50}), "0." + std::string(49, '0') + "1");
  EXPECT_EQ(formatted({0, kMaxScale}).size(), 2u + kMaxScale);
}

TEST(Digits, CountAndWidth) {
  uint64_t power = 1;
  EXPECT_EQ(digit_count(0), 1);
  for (int digits = 1; digits <= 19; ++digits, power *= 10) {
    EXPECT_EQ(digit_count(power), digits);
    EXPECT_EQ(digit_count(power * 9 + (power - 1)), digits);
  }
  EXPECT_EQ(digit_count(UINT64_MAX), 20);
  char text[24];
  EXPECT_EQ(std::string(text, write_signed(text, INT64_MIN)), "-9223372036854775808");
  EXPECT_EQ(std::string(text, write_fixed(text, 7, 3)), "007");
}

uint128 random_wide(std::mt19937_64* random) {
  uint128 value = static_cast<uint128>((*random)()) << 64 | (*random)();
  // runs of ones and zeros find the rare corrections of the long division
  if ((*random)() % 3 == 0) value = ~uint128{0} << ((*random)() % 128);
  return value >> ((*random)() % 128);
}

TEST(Wide, QuotientTimesDivisorPlusRemainder) {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < 200000; ++i) {
    uint128 quotient = random_wide(&random), divisor = random_wide(&random), remainder = 0;
    if (divisor == 0) continue;
    uint128 rest = random_wide(&random) % divisor;
    Uint256 product = multiply_wide(quotient, divisor);
    uint128 low = product.low() + rest;
    Uint256 n = make_uint256(product.high() + (low < rest ? 1 : 0), low);
    Uint256 q = divide_wide(n, divisor, &remainder);
    ASSERT_TRUE(q.high() == 0 && q.low() == quotient && remainder == rest) << i;
  }
}

TEST(Wide, SquareRootIsTheFloor) {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < 20000; ++i) {
    uint128 root = random_wide(&random) >> 2;
    Uint256 square = multiply_wide(root, root);
    ASSERT_TRUE(square_root(square) == root);
    if (root == 0) continue;
    ASSERT_TRUE(square_root(subtract(square, make_uint256(0, 1))) == root - 1);
  }
}

}  // namespace
}  // namespace scyper::query
