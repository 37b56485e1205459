#pragma once

#include "types/decimal.h"

// Logarithms, exponentials and powers of numerics, to the scales that PostgreSQL's numeric.c chooses. Domains
// (logarithms of what is not positive, 0 to a negative power) are the caller's.
namespace scyper::query {

[[nodiscard]] ValueError decimal_exp(const Decimal& x, Decimal* out) noexcept;
[[nodiscard]] ValueError decimal_ln(const Decimal& x, Decimal* out) noexcept;
[[nodiscard]] ValueError decimal_log(const Decimal& base, const Decimal& x, Decimal* out) noexcept;
[[nodiscard]] ValueError decimal_power(const Decimal& x, const Decimal& y, Decimal* out) noexcept;
[[nodiscard]] ValueError decimal_gcd(const Decimal& a, const Decimal& b, Decimal* out) noexcept;
[[nodiscard]] ValueError decimal_lcm(const Decimal& a, const Decimal& b, Decimal* out) noexcept;
// Without zeros at the end of its fraction.
[[nodiscard]] ValueError decimal_trim(const Decimal& a, Decimal* out) noexcept;

}  // namespace scyper::query
