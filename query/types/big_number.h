#pragma once

#include <string>
#include <string_view>

#include "types/decimal.h"

// numeric beyond 38 digits: the slow, exact path behind types/decimal.h, by GMP and MPFR. Operands are any numbers,
// NaN and infinities included; results have PostgreSQL's values and scales, and the short form of Decimal wherever they
// fit it. Long ones go to the NumberMemory of the thread; without one they are kNumericOverflow.
namespace scyper::query {

// Where numbers of more than 38 digits lie that this thread makes from now on, until it ends. They nest.
class NumberMemory {
 public:
  explicit NumberMemory(const TextArena& arena) noexcept : arena_(arena), outer_(current_) { current_ = &arena_; }
  ~NumberMemory() { current_ = outer_; }
  NumberMemory(const NumberMemory&) = delete;
  NumberMemory& operator=(const NumberMemory&) = delete;

  static const TextArena* current() noexcept { return current_; }

 private:
  static thread_local const TextArena* current_;
  const TextArena arena_;
  const TextArena* const outer_;
};

constexpr int32_t kBigRoundMax = 2000;      // PostgreSQL's NUMERIC_MAX_RESULT_SCALE: round() and trunc() stop there
constexpr int32_t kDisplayScaleMax = 1000;  // NUMERIC_MAX_DISPLAY_SCALE: the most that operations choose themselves

constexpr Decimal kNan{static_cast<int128>(kSpecialHigh) << 64, kNanScale};
constexpr Decimal kInfinity{static_cast<int128>(kSpecialHigh) << 64, kInfinityScale};
constexpr Decimal kNegativeInfinity{static_cast<int128>(kSpecialHigh) << 64, kNegativeInfinityScale};

inline bool is_nan(const Decimal& a) noexcept { return a.scale == kNanScale; }
inline bool is_infinite(const Decimal& a) noexcept { return a.scale <= kInfinityScale; }
// -1, 0, 1; NaN counts as 1.
int sign_of(const Decimal& a) noexcept;
bool is_integral(const Decimal& a) noexcept;  // infinities are
inline int32_t shown_scale(const Decimal& a) noexcept {
  return a.scale == kBigScale ? static_cast<int32_t>(BigNumeric::of(datum_of(a).hi).scale) : a.scale < 0 ? 0 : a.scale;
}

[[nodiscard]] ValueError big_add(const Decimal& a, const Decimal& b, bool negate_b, Decimal* out) noexcept;
[[nodiscard]] ValueError big_multiply(const Decimal& a, const Decimal& b, Decimal* out) noexcept;
[[nodiscard]] ValueError big_divide(const Decimal& a, const Decimal& b, bool truncated, Decimal* out) noexcept;
[[nodiscard]] ValueError big_modulo(const Decimal& a, const Decimal& b, Decimal* out) noexcept;
[[nodiscard]] ValueError big_sqrt(const Decimal& a, Decimal* out) noexcept;
// Rounded half away from zero or truncated to so many digits behind the point; below 0 to powers of ten.
[[nodiscard]] ValueError big_round(const Decimal& a, int64_t digits, bool truncated, Decimal* out) noexcept;
[[nodiscard]] ValueError big_ceil(const Decimal& a, bool floor, Decimal* out) noexcept;
[[nodiscard]] ValueError big_trim(const Decimal& a, Decimal* out) noexcept;
[[nodiscard]] ValueError big_exp(const Decimal& x, Decimal* out) noexcept;
[[nodiscard]] ValueError big_ln(const Decimal& x, Decimal* out) noexcept;
[[nodiscard]] ValueError big_log(const Decimal& base, const Decimal& x, Decimal* out) noexcept;
[[nodiscard]] ValueError big_power(const Decimal& x, const Decimal& y, Decimal* out) noexcept;
[[nodiscard]] ValueError big_gcd(const Decimal& a, const Decimal& b, Decimal* out) noexcept;
[[nodiscard]] ValueError big_lcm(const Decimal& a, const Decimal& b, Decimal* out) noexcept;
[[nodiscard]] ValueError big_factorial(int64_t n, Decimal* out) noexcept;
// numeric(precision, scale), precision up to 1000 and scale from -1000 to 1000.
[[nodiscard]] ValueError big_cast(const Decimal& a, int32_t precision, int32_t scale, Decimal* out) noexcept;
// Variance or deviation of count values of a sum and a sum of squares (numeric_stddev_internal).
[[nodiscard]] ValueError big_variance(const Decimal& sum, const Decimal& squares, int64_t count, bool sample, bool root,
                                      Decimal* out) noexcept;

int big_compare(const Decimal& a, const Decimal& b) noexcept;
uint64_t big_hash(const Decimal& a) noexcept;
// False: not within [low, high], rounded half away from zero.
bool big_to_integer(const Decimal& a, int64_t low, int64_t high, int64_t* out) noexcept;
std::string big_text(const Decimal& a);
// digits without a point, the value of which is to be divided by 10^scale; below 0: multiplied.
[[nodiscard]] ValueError big_of_digits(std::string_view digits, bool negative, int64_t scale, Decimal* out) noexcept;
// The digits without zeros at either end, and the power of ten of the point before the first one.
std::string big_digits(const Decimal& a, int64_t* exponent);

}  // namespace scyper::query
