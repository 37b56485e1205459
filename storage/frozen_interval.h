#pragma once

#include <limits>

#include "frozen_format.h"

// Ranges of numbers as frozen vectors are asked for them: of doubles by order_key().
namespace scyper::storage {

struct Interval {
  __int128 low;
  __int128 high;  // included
  bool is_empty() const { return low > high; }
};

constexpr __int128 kMaxNumber = static_cast<__int128>(~static_cast<unsigned __int128>(0) >> 1);
constexpr __int128 kMinNumber = -kMaxNumber - 1;

inline int64_t key_of_double(double value) { return order_key(__builtin_bit_cast(int64_t, value)); }

// SQL's order of doubles: all NaNs are equal and above all else, both zeros are equal.
inline __int128 float_low(const FrozenPredicate& range) {
  const auto value = __builtin_bit_cast(double, range.low.lo);
  const __int128 above_infinity = __int128{key_of_double(std::numeric_limits<double>::infinity())} + 1;
  if (value != value) return range.low_included ? above_infinity : kMaxNumber;
  if (range.low_included) return key_of_double(value == 0 ? -0.0 : value);
  return __int128{key_of_double(value == 0 ? 0.0 : value)} + 1;
}
inline __int128 float_high(const FrozenPredicate& range) {
  const auto value = __builtin_bit_cast(double, range.high.lo);
  if (value != value) {
    return range.high_included ? kMaxNumber : __int128{key_of_double(std::numeric_limits<double>::infinity())};
  }
  if (range.high_included) return key_of_double(value == 0 ? 0.0 : value);
  return __int128{key_of_double(value == 0 ? -0.0 : value)} - 1;
}

// Of a kRange of numbers.
inline Interval interval_of(bool is_float, const FrozenPredicate& range) {
  Interval interval{kMinNumber, kMaxNumber};
  if (range.low.null == 0) {
    if (!is_float && !range.low_included && range.low.int128() == kMaxNumber) return {1, 0};
    interval.low = is_float ? float_low(range) : range.low.int128() + (range.low_included ? 0 : 1);
  }
  if (range.high.null == 0) {
    if (!is_float && !range.high_included && range.high.int128() == kMinNumber) return {1, 0};
    interval.high = is_float ? float_high(range) : range.high.int128() - (range.high_included ? 0 : 1);
  }
  return interval;
}

// A text as a bound; empty where there is none.
inline StringRef bytes_of(const Datum& bound) {
  return bound.null != 0 ? StringRef{"", 0} : StringRef{bound.data(), bound.size()};
}

}  // namespace scyper::storage
