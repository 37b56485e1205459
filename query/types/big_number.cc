#include "types/big_number.h"

#include <gmpxx.h>
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

// GMP's and MPFR's one file. Their memory is the heap's, freed when an operation ends; results are copied out.
namespace scyper::query {

thread_local const TextArena* NumberMemory::current_ = nullptr;

namespace {

constexpr int64_t kMinSignificantDigits = 16;  // PostgreSQL's numeric.c
constexpr int64_t kGroupDigits = 4;
constexpr int64_t kIntegerDigitsMax = 131072;
constexpr int64_t kResultScaleMax = 2000;  // NUMERIC_MAX_RESULT_SCALE
constexpr double kLog10OfE = 0.434294481903252;
constexpr double kBitsPerDigit = 3.3219280948873626;
constexpr int64_t kGuardDigits = 30;

// value / 10^scale; a negative scale stands for zeros behind.
struct Number {
  mpz_class value;
  int64_t scale = 0;
};

mpz_class power_of_ten(int64_t exponent) {
  mpz_class out;
  mpz_ui_pow_ui(out.get_mpz_t(), 10, static_cast<unsigned long>(exponent));
  return out;
}

Number number_of(const Decimal& a) {
  Number out;
  if (a.scale >= 0) {
    const uint128 absolute = magnitude(a.value);
    const uint64_t limbs[2] = {static_cast<uint64_t>(absolute), static_cast<uint64_t>(absolute >> 64)};
    mpz_import(out.value.get_mpz_t(), 2, -1, sizeof(uint64_t), 0, 0, limbs);
    out.scale = a.scale;
    if (a.value < 0) out.value = -out.value;
    return out;
  }
  const Datum datum = datum_of(a);
  const BigNumeric big = BigNumeric::of(datum.hi);
  mpz_import(out.value.get_mpz_t(), big.limbs, -1, sizeof(uint64_t), 0, 0, datum.data());
  out.scale = big.scale;
  if (big.negative) out.value = -out.value;
  return out;
}

bool is_zero(const Number& n) { return sgn(n.value) == 0; }
std::string digits_of(const mpz_class& value) { return mpz_class(abs(value)).get_str(); }
int compare_magnitudes(const mpz_class& a, const mpz_class& b) { return mpz_cmpabs(a.get_mpz_t(), b.get_mpz_t()); }
int64_t digit_count(const mpz_class& value) {
  if (sgn(value) == 0) return 0;
  const auto guess = static_cast<int64_t>(mpz_sizeinbase(value.get_mpz_t(), 10));  // exact or one too big
  return compare_magnitudes(value, power_of_ten(guess - 1)) < 0 ? guess - 1 : guess;
}
// The power of ten of the first digit; the number is not 0.
int64_t first_power(const Number& n) { return digit_count(n.value) - 1 - n.scale; }

int64_t floor_divide(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

struct Group {
  int64_t weight = 0;
  int first = 0;
};
// Weight and value of the first digit to the base 10000; zeros for 0.
Group first_group(const Number& n) {
  if (is_zero(n)) return {};
  const std::string digits = digits_of(n.value);
  const int64_t power = static_cast<int64_t>(digits.size()) - 1 - n.scale;
  Group out;
  out.weight = floor_divide(power, kGroupDigits);
  int64_t count = power - kGroupDigits * out.weight + 1;  // digits of the group that stand in front
  for (int64_t i = 0; i < count; ++i)
    out.first = out.first * 10 + (i < static_cast<int64_t>(digits.size()) ? digits[static_cast<size_t>(i)] - '0' : 0);
  return out;
}

// With exactly this scale, rounded half away from zero or truncated where digits are lost.
void rescale(Number* n, int64_t scale, bool truncated = false) {
  const int64_t drop = n->scale - scale;
  n->scale = scale;
  if (drop <= 0) {
    n->value *= power_of_ten(-drop);
    return;
  }
  if (drop > digit_count(n->value) + 1) {  // below half
    n->value = 0;
    return;
  }
  const mpz_class power = power_of_ten(drop);
  if (!truncated) n->value += sgn(n->value) * mpz_class(power / 2);
  mpz_tdiv_q(n->value.get_mpz_t(), n->value.get_mpz_t(), power.get_mpz_t());
}

void align(Number* a, Number* b) {
  const int64_t scale = std::max(a->scale, b->scale);
  rescale(a, scale);
  rescale(b, scale);
}

ValueError give(Number n, Decimal* out) {
  if (n.scale < 0) rescale(&n, 0);
  if (n.scale > kBigScaleMax) rescale(&n, kBigScaleMax);
  const int64_t digits = digit_count(n.value);
  if (digits - n.scale > kIntegerDigitsMax) return ValueError::kNumericOverflow;
  if (digits <= kMaxPrecision && n.scale <= kMaxScale) {
    uint64_t limbs[2] = {};
    mpz_export(limbs, nullptr, -1, sizeof(uint64_t), 0, 0, n.value.get_mpz_t());
    const auto value = static_cast<int128>(static_cast<uint128>(limbs[1]) << 64 | limbs[0]);
    *out = {sgn(n.value) < 0 ? -value : value, static_cast<int32_t>(n.scale)};
    return ValueError::kNone;
  }
  const TextArena* arena = NumberMemory::current();
  if (arena == nullptr) return ValueError::kNumericOverflow;
  BigNumeric big;
  big.limbs = std::max<uint32_t>(1, static_cast<uint32_t>(mpz_size(n.value.get_mpz_t())));
  big.scale = static_cast<uint32_t>(n.scale);
  big.negative = sgn(n.value) < 0;
  if (big.limbs > kBigLimbsMax) return ValueError::kNumericOverflow;
  char* bytes = arena->allocate(big.bytes());
  if (bytes == nullptr) return ValueError::kOutOfMemory;
  std::memset(bytes, 0, sizeof(uint64_t));
  mpz_export(bytes, nullptr, -1, sizeof(uint64_t), 0, 0, n.value.get_mpz_t());
  *out = decimal_of(Datum{reinterpret_cast<int64_t>(bytes), big.hi(), kBigScale, 0, {}});
  return ValueError::kNone;
}

ValueError give(const Decimal& value, Decimal* out) { return *out = value, ValueError::kNone; }
ValueError give_infinity(bool negative, Decimal* out) { return give(negative ? kNegativeInfinity : kInfinity, out); }

bool has_special(const Decimal& a, const Decimal& b) { return a.scale < kBigScale || b.scale < kBigScale; }
bool has_nan(const Decimal& a, const Decimal& b) { return is_nan(a) || is_nan(b); }

// a / b with so many digits behind the point; b is not 0.
Number quotient(const Number& a, const Number& b, int64_t scale, bool truncated) {
  Number out;
  out.scale = scale;
  mpz_class dividend = a.value, divisor = b.value;
  const int64_t shift = scale + b.scale - a.scale;
  if (shift >= 0)
    dividend *= power_of_ten(shift);
  else
    divisor *= power_of_ten(-shift);
  mpz_class rest;
  mpz_tdiv_qr(out.value.get_mpz_t(), rest.get_mpz_t(), dividend.get_mpz_t(), divisor.get_mpz_t());
  if (!truncated && compare_magnitudes(mpz_class(rest * 2), divisor) >= 0) out.value += sgn(dividend) * sgn(divisor);
  return out;
}

// The square root to so many digits behind the point.
Number root_of(Number n, int64_t scale) {
  rescale(&n, 2 * scale);
  mpz_class root, rest;
  mpz_sqrtrem(root.get_mpz_t(), rest.get_mpz_t(), n.value.get_mpz_t());
  if (rest > root) root += 1;
  return {root, scale};
}

int64_t shown(int64_t scale) { return std::clamp<int64_t>(scale, 0, kDisplayScaleMax); }

// select_div_scale()
int64_t division_scale(const Number& a, const Number& b) {
  const Group x = first_group(a), y = first_group(b);
  const int64_t weight = x.weight - y.weight - (x.first <= y.first ? 1 : 0);
  return shown(std::max({kMinSignificantDigits - weight * kGroupDigits, a.scale, b.scale}));
}

// --- MPFR ---

class Real {
 public:
  explicit Real(int64_t digits) { mpfr_init2(value_, bits_of(digits)); }
  Real(const Number& n, int64_t digits) : Real(digits) {
    mpfr_set_z(value_, n.value.get_mpz_t(), MPFR_RNDN);
    const mpz_class power = power_of_ten(std::abs(n.scale));
    if (n.scale > 0) mpfr_div_z(value_, value_, power.get_mpz_t(), MPFR_RNDN);
    if (n.scale < 0) mpfr_mul_z(value_, value_, power.get_mpz_t(), MPFR_RNDN);
  }
  ~Real() { mpfr_clear(value_); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;

  mpfr_ptr get() { return value_; }
  // Rounded half away from zero.
  Number rounded(int64_t scale) {
    Number out;
    out.scale = scale;
    mpfr_mul_z(value_, value_, power_of_ten(scale).get_mpz_t(), MPFR_RNDN);
    mpfr_round(value_, value_);
    mpfr_get_z(out.value.get_mpz_t(), value_, MPFR_RNDN);
    return out;
  }

 private:
  static mpfr_prec_t bits_of(int64_t digits) {
    return static_cast<mpfr_prec_t>(kBitsPerDigit * static_cast<double>(std::max<int64_t>(digits, 1))) + 64;
  }
  mpfr_t value_;
};

// Infinite beyond a double's range.
double double_of(const Number& n) { return mpfr_get_d(Real(n, 20).get(), MPFR_RNDN); }

// estimate_ln_dweight(): the decimal weight of ln(n).
int64_t ln_weight(const Number& n) {
  if (sgn(n.value) <= 0) return 0;
  Number low{9, 1}, high{11, 1}, x = n;
  align(&low, &x);
  const bool above = cmp(x.value, low.value) >= 0;
  x = n;
  align(&high, &x);
  if (above && cmp(x.value, high.value) <= 0) {
    Number one{1, 0};
    align(&one, &x);
    x.value -= one.value;
    if (is_zero(x)) return 0;
    return first_power(x);
  }
  const std::string digits = digits_of(n.value);
  const Group group = first_group(n);
  // its first two digits to the base 10000, as far as there are two
  const int64_t power = static_cast<int64_t>(digits.size()) - 1 - n.scale;
  const auto first = static_cast<size_t>(power - kGroupDigits * group.weight + 1);
  double value = group.first;
  int64_t weight = group.weight * kGroupDigits;
  if (digits.find_first_not_of('0', std::min(first, digits.size())) != std::string::npos) {
    std::string more = digits.substr(std::min(first, digits.size()), kGroupDigits);
    more.resize(kGroupDigits, '0');
    value = value * 10000 + std::stoi(more);
    weight -= kGroupDigits;
  }
  const double ln = std::log(value) + static_cast<double>(weight) * 2.302585092994046;
  return static_cast<int64_t>(std::log10(std::fabs(ln)));
}

// power_var_int()
ValueError integer_power(const Number& base, int64_t exponent, int64_t scale, Decimal* out) {
  if (exponent == 0) {
    Number one{1, 0};
    rescale(&one, scale);
    return give(one, out);
  }
  if (is_zero(base)) return exponent < 0 ? ValueError::kDivisionByZero : give(Number{0, scale}, out);
  Real log(Number{abs(base.value), base.scale}, 20);
  mpfr_log10(log.get(), log.get(), MPFR_RNDN);
  const double weight = mpfr_get_d(log.get(), MPFR_RNDN) * static_cast<double>(exponent);
  if (weight > 32768.0 * 4) return ValueError::kNumericOverflow;
  if (weight + 1 < -static_cast<double>(scale) || weight + 1 < -static_cast<double>(kDisplayScaleMax))
    return give(Number{0, scale}, out);
  const int64_t needed = std::max<int64_t>(0, 1 + scale + static_cast<int64_t>(weight)) + kGuardDigits + 10;
  Real real(base, needed);
  mpfr_pow_si(real.get(), real.get(), static_cast<long>(exponent), MPFR_RNDN);
  return give(real.rounded(scale), out);
}

// Both are numbers; x to the power of y, which is no small integer.
ValueError real_power(const Number& x, const Number& y, bool negative, Decimal* out) {
  const int64_t weight_of_ln = ln_weight(x);
  const int64_t first_digits = 8 + std::abs(weight_of_ln) + kGuardDigits;
  Real ln(x, first_digits + std::abs(first_power(x)));
  mpfr_log(ln.get(), ln.get(), MPFR_RNDN);
  Real factor(y, first_digits);
  mpfr_mul(ln.get(), ln.get(), factor.get(), MPFR_RNDN);
  double value = mpfr_get_d(ln.get(), MPFR_RNDN);
  if (std::fabs(value) > static_cast<double>(kResultScaleMax) * 3.01) {
    if (value > 0) return ValueError::kNumericOverflow;
    return give(Number{0, kDisplayScaleMax}, out);
  }
  value *= kLog10OfE;
  const auto weight = static_cast<int64_t>(value);
  const int64_t scale = shown(std::max({kMinSignificantDigits - weight, x.scale, y.scale}));
  // the result's digits, and those that a large exponent of a base close to 1 costs
  const int64_t digits = std::max<int64_t>(0, scale + weight) + std::max<int64_t>(0, -weight_of_ln) + kGuardDigits + 10;
  Real base(x, digits), exponent(y, digits);
  mpfr_pow(base.get(), base.get(), exponent.get(), MPFR_RNDN);
  Number result = base.rounded(scale);
  if (negative) result.value = -result.value;
  return give(std::move(result), out);
}

bool is_odd(const Decimal& a) {
  Number n = number_of(a);
  rescale(&n, 0);
  return mpz_odd_p(n.value.get_mpz_t()) != 0;
}

bool equals(const Decimal& a, int64_t value) { return decimal_compare(a, decimal_of_int(value)) == 0; }

// pow(3) of POSIX, as numeric_power follows it; errors are the caller's.
ValueError special_power(const Decimal& x, const Decimal& y, Decimal* out) {
  const Decimal zero{0, 0}, one{1, 0};
  if (is_nan(x)) return give(!is_nan(y) && sign_of(y) == 0 ? one : kNan, out);
  if (is_nan(y)) return give(equals(x, 1) ? one : kNan, out);
  if (equals(x, 1) || sign_of(y) == 0) return give(one, out);
  if (sign_of(x) == 0) return give(zero, out);
  if (is_infinite(y)) {
    if (equals(x, -1)) return give(one, out);
    const bool above_one = decimal_compare(decimal_abs(x), one) > 0;
    return give(above_one == (sign_of(y) > 0) ? kInfinity : zero, out);
  }
  if (sign_of(y) < 0) return give(zero, out);
  return give_infinity(sign_of(x) < 0 && is_odd(y), out);
}

}  // namespace

int sign_of(const Decimal& a) noexcept {
  if (a.scale >= 0) return a.value < 0 ? -1 : a.value > 0 ? 1 : 0;
  if (a.scale == kNegativeInfinityScale) return -1;
  if (a.scale != kBigScale) return 1;
  const Number n = number_of(a);
  return sgn(n.value);
}

bool is_integral(const Decimal& a) noexcept {
  if (is_infinite(a)) return true;
  if (is_nan(a)) return false;
  Number n = number_of(a), whole = n;
  rescale(&whole, 0, true);
  align(&n, &whole);
  return n.value == whole.value;
}

ValueError big_add(const Decimal& a, const Decimal& b, bool negate_b, Decimal* out) noexcept {
  if (has_special(a, b)) {
    if (has_nan(a, b)) return give(kNan, out);
    const Decimal other = negate_b ? decimal_negate(b) : b;
    if (is_infinite(a) && is_infinite(other)) return give(a.scale == other.scale ? a : kNan, out);
    return give(is_infinite(a) ? a : other, out);
  }
  Number x = number_of(a), y = number_of(b);
  align(&x, &y);
  if (negate_b)
    x.value -= y.value;
  else
    x.value += y.value;
  return give(std::move(x), out);
}

ValueError big_multiply(const Decimal& a, const Decimal& b, Decimal* out) noexcept {
  if (has_special(a, b)) {
    const int sign = sign_of(a) * sign_of(b);
    if (has_nan(a, b) || sign == 0) return give(kNan, out);
    return give_infinity(sign < 0, out);
  }
  Number x = number_of(a), y = number_of(b);
  x.value *= y.value;
  x.scale += y.scale;
  return give(std::move(x), out);
}

ValueError big_divide(const Decimal& a, const Decimal& b, bool truncated, Decimal* out) noexcept {
  if (has_special(a, b)) {
    if (has_nan(a, b) || (is_infinite(a) && is_infinite(b))) return give(kNan, out);
    if (is_infinite(b)) return give(Decimal{0, 0}, out);
    if (sign_of(b) == 0) return ValueError::kDivisionByZero;
    return give_infinity(sign_of(a) * sign_of(b) < 0, out);
  }
  const Number x = number_of(a), y = number_of(b);
  if (is_zero(y)) return ValueError::kDivisionByZero;
  return give(quotient(x, y, truncated ? 0 : division_scale(x, y), truncated), out);
}

ValueError big_modulo(const Decimal& a, const Decimal& b, Decimal* out) noexcept {
  if (has_special(a, b)) {
    if (has_nan(a, b)) return give(kNan, out);
    if (!is_infinite(a)) return give(a, out);
    return sign_of(b) == 0 ? ValueError::kDivisionByZero : give(kNan, out);
  }
  Number x = number_of(a), y = number_of(b);
  if (is_zero(y)) return ValueError::kDivisionByZero;
  align(&x, &y);
  mpz_tdiv_r(x.value.get_mpz_t(), x.value.get_mpz_t(), y.value.get_mpz_t());
  return give(std::move(x), out);
}

ValueError big_sqrt(const Decimal& a, Decimal* out) noexcept {
  if (is_nan(a) || a.scale == kInfinityScale) return give(a, out);
  if (sign_of(a) < 0) return ValueError::kSquareRootOfNegative;
  const Number n = number_of(a);
  const int64_t weight = (first_group(n).weight + 1) * kGroupDigits / 2 - 1;
  const int64_t scale = shown(std::max(kMinSignificantDigits - weight, n.scale));
  return give(root_of(n, scale), out);
}

ValueError big_round(const Decimal& a, int64_t digits, bool truncated, Decimal* out) noexcept {
  if (a.scale < kBigScale) return give(a, out);
  Number n = number_of(a);
  rescale(&n, std::clamp<int64_t>(digits, -kBigRoundMax, kBigRoundMax), truncated);
  return give(std::move(n), out);
}

ValueError big_ceil(const Decimal& a, bool floor, Decimal* out) noexcept {
  if (a.scale < kBigScale) return give(a, out);
  const Number n = number_of(a);
  Number whole = n;
  const mpz_class power = power_of_ten(n.scale);
  if (floor)
    mpz_fdiv_q(whole.value.get_mpz_t(), n.value.get_mpz_t(), power.get_mpz_t());
  else
    mpz_cdiv_q(whole.value.get_mpz_t(), n.value.get_mpz_t(), power.get_mpz_t());
  whole.scale = 0;
  return give(std::move(whole), out);
}

ValueError big_trim(const Decimal& a, Decimal* out) noexcept {
  if (a.scale < kBigScale) return give(a, out);
  Number n = number_of(a);
  const std::string digits = digits_of(n.value);
  const size_t last = digits.find_last_not_of('0');
  const int64_t zeros = last == std::string::npos ? n.scale : static_cast<int64_t>(digits.size() - 1 - last);
  rescale(&n, n.scale - std::min(zeros, n.scale));
  return give(std::move(n), out);
}

ValueError big_exp(const Decimal& a, Decimal* out) noexcept {
  if (a.scale == kNegativeInfinityScale) return give(Decimal{0, 0}, out);
  if (a.scale < kBigScale) return give(a, out);
  constexpr auto kMost = static_cast<double>(kResultScaleMax);
  const Number x = number_of(a);
  const double value = double_of(x);
  const auto guess = static_cast<int64_t>(std::clamp(value * kLog10OfE, -kMost, kMost));
  const int64_t scale = shown(std::max(kMinSignificantDigits - guess, x.scale));
  if (std::fabs(value) >= kMost * 3) return value > 0 ? ValueError::kNumericOverflow : give(Number{0, scale}, out);
  const auto weight = static_cast<int64_t>(value * kLog10OfE);
  Real real(x, std::max<int64_t>(0, weight + scale) + kGuardDigits + 5);  // the exponent's digits in front count
  mpfr_exp(real.get(), real.get(), MPFR_RNDN);
  return give(real.rounded(scale), out);
}

ValueError big_ln(const Decimal& a, Decimal* out) noexcept {
  if (a.scale < kBigScale) return give(a, out);
  const Number x = number_of(a);
  const int64_t weight = ln_weight(x);
  const int64_t scale = shown(std::max(kMinSignificantDigits - weight, x.scale));
  Real real(x, scale + std::max<int64_t>(weight, 0) + kGuardDigits);
  mpfr_log(real.get(), real.get(), MPFR_RNDN);
  return give(real.rounded(scale), out);
}

ValueError big_log(const Decimal& base, const Decimal& a, Decimal* out) noexcept {
  if (has_special(base, a)) {
    if (has_nan(base, a)) return give(kNan, out);
    if (!is_infinite(base)) return give(kInfinity, out);
    return give(is_infinite(a) ? kNan : Decimal{0, 0}, out);
  }
  const Number b = number_of(base), x = number_of(a);
  const int64_t base_weight = ln_weight(b), weight = ln_weight(x) - base_weight;
  const int64_t scale = shown(std::max({kMinSignificantDigits - weight, b.scale, x.scale}));
  const int64_t digits = scale + 2 * (std::abs(base_weight) + std::abs(weight)) + 2 * kGuardDigits;
  Real divisor(b, digits), real(x, digits);
  mpfr_log(divisor.get(), divisor.get(), MPFR_RNDN);
  if (mpfr_zero_p(divisor.get()) != 0) return ValueError::kDivisionByZero;
  mpfr_log(real.get(), real.get(), MPFR_RNDN);
  mpfr_div(real.get(), real.get(), divisor.get(), MPFR_RNDN);
  return give(real.rounded(scale), out);
}

ValueError big_power(const Decimal& a, const Decimal& b, Decimal* out) noexcept {
  if (has_special(a, b)) return special_power(a, b, out);
  Number x = number_of(a);
  const Number y = number_of(b);
  int64_t exponent = 0;
  if (is_integral(b) && big_to_integer(b, INT32_MIN, INT32_MAX, &exponent))
    return integer_power(x, exponent, shown(std::max({kMinSignificantDigits, x.scale, y.scale})), out);
  if (is_zero(x)) return give(Number{0, kMinSignificantDigits}, out);
  const bool negative = sgn(x.value) < 0 && is_odd(b);
  x.value = abs(x.value);
  return real_power(x, y, negative, out);
}

ValueError big_gcd(const Decimal& a, const Decimal& b, Decimal* out) noexcept {
  if (has_special(a, b)) return give(kNan, out);
  Number x = number_of(a), y = number_of(b);
  align(&x, &y);
  x.value = gcd(x.value, y.value);
  return give(std::move(x), out);
}

ValueError big_lcm(const Decimal& a, const Decimal& b, Decimal* out) noexcept {
  if (has_special(a, b)) return give(kNan, out);
  Number x = number_of(a), y = number_of(b);
  align(&x, &y);
  x.value = lcm(x.value, y.value);
  return give(std::move(x), out);
}

ValueError big_factorial(int64_t n, Decimal* out) noexcept {
  if (n > 32177) return ValueError::kNumericOverflow;  // as PostgreSQL
  Number product;
  mpz_fac_ui(product.value.get_mpz_t(), static_cast<unsigned long>(n));
  return give(std::move(product), out);
}

ValueError big_cast(const Decimal& a, int32_t precision, int32_t scale, Decimal* out) noexcept {
  if (is_nan(a)) return give(a, out);
  if (is_infinite(a)) return ValueError::kNumericFieldInfinite;
  Number n = number_of(a);
  rescale(&n, scale);
  if (digit_count(n.value) > precision) return ValueError::kNumericFieldOverflow;
  return give(std::move(n), out);
}

ValueError big_variance(const Decimal& sum, const Decimal& squares, int64_t count, bool sample, bool root,
                        Decimal* out) noexcept {
  if (has_special(sum, squares)) return give(kNan, out);
  const Number s = number_of(sum);
  Number total = number_of(squares), square{s.value * s.value, 2 * s.scale};
  const Number n = number_of(decimal_of_int(count));
  total.value *= n.value;
  align(&total, &square);
  total.value -= square.value;
  if (sgn(total.value) <= 0) return give(Decimal{0, 0}, out);
  Number divisor;
  divisor.value = n.value * mpz_class(sample ? n.value - 1 : n.value);
  const int64_t scale = division_scale(total, divisor);
  Number result = quotient(total, divisor, scale, false);
  if (root) result = root_of(std::move(result), scale);
  return give(std::move(result), out);
}

int big_compare(const Decimal& a, const Decimal& b) noexcept {
  if (a.scale < kBigScale || b.scale < kBigScale) {
    auto rank = [](const Decimal& x) {  // NaN is above all and equal to itself
      return is_nan(x) ? 2 : x.scale == kInfinityScale ? 1 : x.scale == kNegativeInfinityScale ? -1 : 0;
    };
    return (rank(a) > rank(b)) - (rank(a) < rank(b));
  }
  Number x = number_of(a), y = number_of(b);
  align(&x, &y);
  const int order = cmp(x.value, y.value);
  return (order > 0) - (order < 0);
}

uint64_t big_hash(const Decimal& a) noexcept {
  constexpr uint64_t kFactor = 0xD6E8FEB86659FD93u;
  if (a.scale < kBigScale) return static_cast<uint64_t>(-a.scale) * kFactor;
  int64_t exponent = 0;
  const std::string digits = big_digits(a, &exponent);
  // what may be equal to a short number hashes as that does: without zeros at the end of the fraction
  const auto count = static_cast<int64_t>(digits.size());
  if (std::max(count, exponent) <= kMaxPrecision && std::max<int64_t>(count - exponent, 0) <= kMaxScale) {
    Decimal small;
    if (big_trim(a, &small) == ValueError::kNone && small.scale >= 0) return decimal_hash(small);
  }
  uint64_t hash = static_cast<uint64_t>(exponent) * kFactor + static_cast<uint64_t>(sign_of(a));
  for (char c : digits) hash = (hash ^ static_cast<uint8_t>(c)) * kFactor;
  return hash ^ (hash >> 32);
}

bool big_to_integer(const Decimal& a, int64_t low, int64_t high, int64_t* out) noexcept {
  Number n = number_of(a);
  rescale(&n, 0);
  if (n.value < low || n.value > high) return false;
  *out = n.value.get_si();
  return true;
}

std::string big_text(const Decimal& a) {
  if (is_nan(a)) return "NaN";
  if (is_infinite(a)) return a.scale == kInfinityScale ? "Infinity" : "-Infinity";
  const Number n = number_of(a);
  std::string text = digits_of(n.value);
  const auto scale = static_cast<size_t>(n.scale);
  if (text.size() <= scale) text.insert(0, scale + 1 - text.size(), '0');
  if (scale > 0) text.insert(text.size() - scale, ".");
  return sgn(n.value) < 0 ? "-" + text : text;
}

ValueError big_of_digits(std::string_view digits, bool negative, int64_t scale, Decimal* out) noexcept {
  Number n;
  const std::string text(digits.empty() ? "0" : digits);
  if (n.value.set_str(text, 10) != 0) return ValueError::kInvalidText;
  if (negative) n.value = -n.value;
  n.scale = scale;
  if (is_zero(n)) n.scale = std::max<int64_t>(scale, 0);
  return give(std::move(n), out);
}

std::string big_digits(const Decimal& a, int64_t* exponent) {
  const Number n = number_of(a);
  std::string digits = digits_of(n.value);
  *exponent = static_cast<int64_t>(digits.size()) - n.scale;
  const size_t last = digits.find_last_not_of('0');
  if (last == std::string::npos) return *exponent = 0, "";
  digits.resize(last + 1);
  return digits;
}

}  // namespace scyper::query
