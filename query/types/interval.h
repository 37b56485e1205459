#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "types/datetime.h"

// PostgreSQL's interval: months, days and microseconds apart (datetime.h), shown in the session's IntervalStyle.
namespace scyper::query {

inline Interval interval_of(const Datum& datum) noexcept {
  return {datum.lo, static_cast<int32_t>(datum.hi), static_cast<int32_t>(datum.hi >> 32)};
}
inline Datum datum_of(const Interval& interval) noexcept {
  uint64_t high =
      (static_cast<uint64_t>(static_cast<uint32_t>(interval.months)) << 32) | static_cast<uint32_t>(interval.days);
  return Datum{interval.micros, static_cast<int64_t>(high), 0, 0, {}};
}

// Bits of INTERVAL '1' DAY TO SECOND's fields, as PostgreSQL's parser numbers them; kIntervalFull: no fields given.
constexpr int32_t kIntervalMonth = 1 << 1, kIntervalYear = 1 << 2, kIntervalDay = 1 << 3, kIntervalHour = 1 << 10,
                  kIntervalMinute = 1 << 11, kIntervalSecond = 1 << 12;
constexpr int32_t kIntervalFull = 0x7fff;

// PostgreSQL's texts and ISO 8601 with designators: kInvalidDatetimeText, kIntervalFieldRange.
[[nodiscard]] ValueError interval_parse(std::string_view text, int32_t fields, Interval* out) noexcept;
// Cuts off what is below the last of the fields.
void interval_cut(int32_t fields, Interval* interval) noexcept;
// As a cast to a type does: see storage/time_modifier.h.
void apply_time_modifier(const SqlType& type, Datum* value) noexcept;
constexpr size_t kIntervalTextMax = 96;
char* interval_format(const Interval& interval, char* out) noexcept;

// A month has 30 days, a day 24 hours.
int interval_compare(const Interval& a, const Interval& b) noexcept;
uint64_t interval_hash(const Interval& a) noexcept;

// All: kIntervalRange.
[[nodiscard]] ValueError interval_add(const Interval& a, const Interval& b, Interval* out) noexcept;
[[nodiscard]] ValueError interval_negate(const Interval& a, Interval* out) noexcept;
[[nodiscard]] ValueError interval_multiply(const Interval& a, double factor, Interval* out) noexcept;
[[nodiscard]] ValueError interval_divide(const Interval& a, double divisor, Interval* out) noexcept;
[[nodiscard]] ValueError interval_justify_days(const Interval& a, Interval* out) noexcept;
[[nodiscard]] ValueError interval_justify_hours(const Interval& a, Interval* out) noexcept;
[[nodiscard]] ValueError interval_justify(const Interval& a, Interval* out) noexcept;
// extract(), date_trunc(): kUnitNotSupported.
[[nodiscard]] ValueError interval_extract(DatetimeUnit unit, const Interval& a, Decimal* out) noexcept;
[[nodiscard]] ValueError interval_truncate(DatetimeUnit unit, const Interval& a, Interval* out) noexcept;

// a - b in days and time.
[[nodiscard]] ValueError timestamp_difference(int64_t a, int64_t b, Interval* out) noexcept;
// In years, months, days and time. kTimestampRange where one of the two is infinite.
inline ValueError age_error(int64_t a, int64_t b) noexcept {
  return is_finite_timestamp(a) && is_finite_timestamp(b) ? ValueError::kNone : ValueError::kTimestampRange;
}
Interval timestamp_age(int64_t a, int64_t b) noexcept;

}  // namespace scyper::query
