#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "types/decimal.h"
#include "types/value_error.h"

// date (days since 2000-01-01) and timestamp (microseconds since then), in PostgreSQL's ranges and with its texts in
// the thread's DateStyle (types/timezone.h). infinity and -infinity are the ends of the integers' ranges. 'now',
// 'today' and the like have a meaning where a NowScope lives (types/date_style.h). timestamptz is the same in UTC; time
// is microseconds since midnight.
namespace scyper::query {

// Astronomical years: 0 is 1 BC.
struct CivilDate {
  int32_t year;
  int32_t month;  // 1..12
  int32_t day;    // 1..31
};

constexpr int64_t kMicrosPerSecond = 1000000;
constexpr int64_t kMicrosPerDay = 86400 * kMicrosPerSecond;
constexpr int32_t kEpochJulian = 2451545;  // 2000-01-01 as a Julian day
constexpr int32_t kDateMin = -kEpochJulian;
constexpr int32_t kDateMax = 2147483494 - kEpochJulian - 1;
constexpr int64_t kTimestampMin = -211813488000000000;
constexpr int64_t kTimestampMax = 9223371331200000000 - 1;
constexpr int32_t kDateInfinity = INT32_MAX, kDateMinusInfinity = INT32_MIN;
constexpr int64_t kTimestampInfinity = INT64_MAX, kTimestampMinusInfinity = INT64_MIN;

constexpr bool is_finite_date(int32_t date) noexcept { return date != kDateInfinity && date != kDateMinusInfinity; }
constexpr bool is_finite_timestamp(int64_t timestamp) noexcept {
  return timestamp != kTimestampInfinity && timestamp != kTimestampMinusInfinity;
}

int64_t julian_of(int64_t year, int32_t month, int32_t day) noexcept;
CivilDate civil_of_julian(int64_t julian) noexcept;
// The day a timestamp lies in, and the microseconds since its midnight.
inline int64_t split_timestamp(int64_t timestamp, int64_t* time) noexcept {
  int64_t day = timestamp / kMicrosPerDay;
  *time = timestamp - day * kMicrosPerDay;
  if (*time >= 0) return day;
  *time += kMicrosPerDay;
  return day - 1;
}

// Text input. A time zone in the text is checked and ignored. kInvalidDatetimeText, kDatetimeField..., kDateTextRange,
// kTimestampTextRange, kTimezone..., kDatetimeSpecial ('now' and the like outside of a NowScope); word: for the last
// two, what the message names.
[[nodiscard]] ValueError date_parse(std::string_view text, int32_t* out, std::string_view* word) noexcept;
[[nodiscard]] ValueError timestamp_parse(std::string_view text, int64_t* out, std::string_view* word) noexcept;

// Without a zone: the thread's (types/timezone.h).
[[nodiscard]] ValueError timestamptz_parse(std::string_view text, int64_t* out, std::string_view* word) noexcept;
// Microseconds since midnight, at most 24:00:00. A zone is checked and ignored.
[[nodiscard]] ValueError time_parse(std::string_view text, int64_t* out, std::string_view* word) noexcept;

// Output: at most kTimestampTextMax characters; return the end.
constexpr size_t kTimestampTextMax = 48;
char* date_format(int32_t date, char* out) noexcept;
char* timestamp_format(int64_t timestamp, char* out) noexcept;
char* timestamptz_format(int64_t timestamp, char* out) noexcept;  // in the thread's zone (types/timezone.h)
char* time_format(int64_t time, char* out) noexcept;

inline int32_t timestamp_to_date(int64_t timestamp) noexcept {
  if (!is_finite_timestamp(timestamp)) return timestamp < 0 ? kDateMinusInfinity : kDateInfinity;
  int64_t time;
  return static_cast<int32_t>(split_timestamp(timestamp, &time));
}
[[nodiscard]] ValueError date_to_timestamp(int32_t date, int64_t* out) noexcept;
[[nodiscard]] ValueError date_add_days(int32_t date, int32_t days, int32_t* out) noexcept;
[[nodiscard]] ValueError date_subtract_days(int32_t date, int32_t days, int32_t* out) noexcept;
[[nodiscard]] ValueError date_difference(int32_t a, int32_t b, int32_t* out) noexcept;  // kInfiniteDates
// As PostgreSQL compares a date with a timestamp: dates beyond the timestamps are above all of them.
int date_compare_timestamp(int32_t date, int64_t timestamp) noexcept;

// The place of intervals: months, days and time apart, as PostgreSQL has them. Only what a constant in a query needs.
struct Interval {
  int64_t micros = 0;
  int32_t days = 0;
  int32_t months = 0;
};
// Months first (the day is cut to the month's length), then days, then time.
[[nodiscard]] ValueError timestamp_add(int64_t timestamp, const Interval& interval, int64_t* out) noexcept;

// What is left of an interval in a day; a time moved by an interval.
inline int64_t time_of_interval(const Interval& interval) noexcept {
  int64_t time = interval.micros % kMicrosPerDay;
  return time < 0 ? time + kMicrosPerDay : time;
}

enum class DatetimeUnit : uint8_t {
  kMicroseconds,
  kMilliseconds,
  kSecond,
  kMinute,
  kHour,
  kDay,
  kWeek,
  kMonth,
  kQuarter,
  kYear,
  kDecade,
  kCentury,
  kMillennium,
  kIsoYear,
  kJulian,
  kDayOfWeek,     // Sunday = 0
  kIsoDayOfWeek,  // Monday = 1, Sunday = 7
  kDayOfYear,
  kEpoch,
  kTimezone,  // known, but no part of our types
};

// Any of PostgreSQL's names, in any case: kUnitUnknown.
[[nodiscard]] ValueError unit_parse(std::string_view name, DatetimeUnit* out) noexcept;
// extract(): kUnitNotSupported. *is_null is set where infinity has no such part.
[[nodiscard]] ValueError date_extract(DatetimeUnit unit, int32_t date, Decimal* out, bool* is_null) noexcept;
[[nodiscard]] ValueError time_extract(DatetimeUnit unit, int64_t time, Decimal* out) noexcept;
[[nodiscard]] ValueError timestamp_extract(DatetimeUnit unit, int64_t timestamp, Decimal* out, bool* is_null) noexcept;
// date_trunc(): kUnitUnknown, kUnitNotSupported, kTimestampRange.
[[nodiscard]] ValueError timestamp_truncate(DatetimeUnit unit, int64_t timestamp, int64_t* out) noexcept;

}  // namespace scyper::query
