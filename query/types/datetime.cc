#include "types/datetime.h"

#include <algorithm>

#include "types/big_number.h"

namespace scyper::query {

namespace {

constexpr int64_t kSecondsPerDay = 86400;
constexpr int32_t kUnixEpoch = -10957;  // 1970-01-01

bool is_timestamp_range(int64_t timestamp) noexcept { return timestamp >= kTimestampMin && timestamp <= kTimestampMax; }

// Monday = 0.
int32_t weekday(int64_t julian) noexcept { return static_cast<int32_t>(((julian % 7) + 7) % 7); }

// Julian day of the Monday of an ISO year's first week: the one with January 4.
int64_t iso_year_start(int64_t year) noexcept {
  int64_t fourth = julian_of(year, 1, 4);
  return fourth - weekday(fourth);
}

int64_t iso_year_of(const CivilDate& civil, int64_t julian) noexcept {
  if (julian < iso_year_start(civil.year)) return civil.year - 1;
  return julian >= iso_year_start(int64_t{civil.year} + 1) ? civil.year + 1 : civil.year;
}

// Without a year 0: 1 BC is -1.
int64_t shown_year(int64_t year) noexcept { return year > 0 ? year : year - 1; }

// Centuries and millennia begin with a year 1, decades with a year 0.
int64_t century_of(int64_t year, int64_t length) noexcept {
  return year > 0 ? (year + length - 1) / length : -((length - 1 - (year - 1)) / length);
}
int64_t decade_of(int64_t year) noexcept { return year >= 0 ? year / 10 : -((8 - (year - 1)) / 10); }

// The units of whole days; kUnitNotSupported for the others.
ValueError extract_day_unit(DatetimeUnit unit, int64_t julian, int64_t* out) noexcept {
  CivilDate civil = civil_of_julian(julian);
  switch (unit) {
    case DatetimeUnit::kDay:
      *out = civil.day;
      break;
    case DatetimeUnit::kWeek:
      *out = (julian - iso_year_start(iso_year_of(civil, julian))) / 7 + 1;
      break;
    case DatetimeUnit::kMonth:
      *out = civil.month;
      break;
    case DatetimeUnit::kQuarter:
      *out = (civil.month - 1) / 3 + 1;
      break;
    case DatetimeUnit::kYear:
      *out = shown_year(civil.year);
      break;
    case DatetimeUnit::kDecade:
      *out = decade_of(civil.year);
      break;
    case DatetimeUnit::kCentury:
      *out = century_of(civil.year, 100);
      break;
    case DatetimeUnit::kMillennium:
      *out = century_of(civil.year, 1000);
      break;
    case DatetimeUnit::kIsoYear:
      *out = shown_year(iso_year_of(civil, julian));
      break;
    case DatetimeUnit::kDayOfWeek:
      *out = (weekday(julian) + 1) % 7;
      break;
    case DatetimeUnit::kIsoDayOfWeek:
      *out = weekday(julian) + 1;
      break;
    case DatetimeUnit::kDayOfYear:
      *out = julian - julian_of(civil.year, 1, 1) + 1;
      break;
    default:
      return ValueError::kUnitNotSupported;
  }
  return ValueError::kNone;
}

ValueError extract_epoch(int64_t timestamp, Decimal* out) noexcept {
  int128 micros = int128{timestamp} - kUnixEpoch * kMicrosPerDay;
  *out = {micros, 6};
  if (is_int64(micros)) return ValueError::kNone;
  // PostgreSQL divides here, and so has the scale of a quotient: the last microseconds of its range are rounded
  ValueError error = decimal_divide({micros, 0}, {kMicrosPerSecond, 0}, out);
  return error != ValueError::kNone ? error : decimal_rescale(*out, 6, out);
}

// The first day of the unit that the day lies in; date_trunc() does not even know the units that only
// extract() takes.
ValueError truncate_day(DatetimeUnit unit, int64_t julian, int64_t* out) noexcept {
  CivilDate civil = civil_of_julian(julian);
  int64_t year = civil.year;
  int32_t month = 1;
  switch (unit) {
    case DatetimeUnit::kDay:
      *out = julian;
      return ValueError::kNone;
    case DatetimeUnit::kWeek:
      *out = julian - weekday(julian);
      return ValueError::kNone;
    case DatetimeUnit::kMonth:
      month = civil.month;
      break;
    case DatetimeUnit::kQuarter:
      month = (civil.month - 1) / 3 * 3 + 1;
      break;
    case DatetimeUnit::kYear:
      break;
    case DatetimeUnit::kDecade:
      year = year > 0 ? year / 10 * 10 : -((8 - (year - 1)) / 10) * 10;
      break;
    case DatetimeUnit::kCentury:
      year = year > 0 ? (year + 99) / 100 * 100 - 99 : -((99 - (year - 1)) / 100) * 100 + 1;
      break;
    case DatetimeUnit::kMillennium:
      year = year > 0 ? (year + 999) / 1000 * 1000 - 999 : -((999 - (year - 1)) / 1000) * 1000 + 1;
      break;
    default:
      return unit == DatetimeUnit::kTimezone ? ValueError::kUnitNotSupported : ValueError::kUnitUnknown;
  }
  *out = julian_of(year, month, 1);
  return ValueError::kNone;
}

}  // namespace

// Days from the civil calendar by eras of 400 years (146097 days), years beginning in March.
int64_t julian_of(int64_t year, int32_t month, int32_t day) noexcept {
  constexpr int64_t kMarchOfYear0 = 1721120;  // Julian day of 0000-03-01
  if (month <= 2) --year;
  int64_t era = (year >= 0 ? year : year - 399) / 400;
  int64_t year_of_era = year - era * 400;
  int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return kMarchOfYear0 + era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
}

CivilDate civil_of_julian(int64_t julian) noexcept {
  int64_t days = julian - 1721120;
  int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  int64_t day_of_era = days - era * 146097;
  int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  int64_t shifted_month = (5 * day_of_year + 2) / 153;
  int32_t month = static_cast<int32_t>(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
  int64_t year = era * 400 + year_of_era + (month <= 2 ? 1 : 0);
  return {static_cast<int32_t>(year), month, static_cast<int32_t>(day_of_year - (153 * shifted_month + 2) / 5 + 1)};
}

ValueError date_to_timestamp(int32_t date, int64_t* out) noexcept {
  if (!is_finite_date(date)) return *out = date > 0 ? kTimestampInfinity : kTimestampMinusInfinity, ValueError::kNone;
  if (date > kTimestampMax / kMicrosPerDay) return ValueError::kDateTimestampRange;
  *out = date * kMicrosPerDay;
  return ValueError::kNone;
}

ValueError date_add_days(int32_t date, int32_t days, int32_t* out) noexcept {
  if (!is_finite_date(date)) return *out = date, ValueError::kNone;
  int64_t result = int64_t{date} + days;
  if (result < kDateMin || result > kDateMax) return ValueError::kDateRange;
  *out = static_cast<int32_t>(result);
  return ValueError::kNone;
}

ValueError date_subtract_days(int32_t date, int32_t days, int32_t* out) noexcept {
  if (!is_finite_date(date)) return *out = date, ValueError::kNone;
  int64_t result = int64_t{date} - days;
  if (result < kDateMin || result > kDateMax) return ValueError::kDateRange;
  *out = static_cast<int32_t>(result);
  return ValueError::kNone;
}

int date_compare_timestamp(int32_t date, int64_t timestamp) noexcept {
  int64_t midnight;
  if (date_to_timestamp(date, &midnight) != ValueError::kNone) return 1;
  return midnight < timestamp ? -1 : midnight > timestamp ? 1 : 0;
}

ValueError date_difference(int32_t a, int32_t b, int32_t* out) noexcept {
  if (!is_finite_date(a) || !is_finite_date(b)) return ValueError::kInfiniteDates;
  *out = a - b;
  return ValueError::kNone;
}

ValueError timestamp_add(int64_t timestamp, const Interval& interval, int64_t* out) noexcept {
  if (!is_finite_timestamp(timestamp)) return *out = timestamp, ValueError::kNone;
  int64_t time;
  int64_t julian = split_timestamp(timestamp, &time) + kEpochJulian;
  // each step has to stay in the range, as in PostgreSQL
  auto in_range = [&julian, &time](int64_t micros) {
    int128 value = static_cast<int128>(julian - kEpochJulian) * kMicrosPerDay + time + micros;
    return value >= kTimestampMin && value <= kTimestampMax;
  };
  if (interval.months != 0) {
    CivilDate civil = civil_of_julian(julian);
    int64_t months = int64_t{civil.year} * 12 + (civil.month - 1) + interval.months;
    int64_t year = (months >= 0 ? months : months - 11) / 12;
    int32_t month = static_cast<int32_t>(months - year * 12) + 1;
    int64_t first = julian_of(year, month, 1);
    int64_t next = month == 12 ? julian_of(year + 1, 1, 1) : julian_of(year, month + 1, 1);
    julian = std::min(first + civil.day - 1, next - 1);
    if (!in_range(0)) return ValueError::kTimestampRange;
  }
  julian += interval.days;
  if (!in_range(0) || !in_range(interval.micros)) return ValueError::kTimestampRange;
  *out = (julian - kEpochJulian) * kMicrosPerDay + time + interval.micros;
  return ValueError::kNone;
}

namespace {

// extract() of infinity or -infinity: infinite where the unit grows for ever, NULL where it comes round again.
ValueError extract_infinite(DatetimeUnit unit, bool is_negative, Decimal* out, bool* is_null) noexcept {
  switch (unit) {
    case DatetimeUnit::kYear:
    case DatetimeUnit::kDecade:
    case DatetimeUnit::kCentury:
    case DatetimeUnit::kMillennium:
    case DatetimeUnit::kIsoYear:
    case DatetimeUnit::kJulian:
    case DatetimeUnit::kEpoch:
      *out = is_negative ? kNegativeInfinity : kInfinity;
      return ValueError::kNone;
    default:
      *is_null = true;
      return ValueError::kNone;
  }
}

}  // namespace

ValueError date_extract(DatetimeUnit unit, int32_t date, Decimal* out, bool* is_null) noexcept {
  if (!is_finite_date(date)) {
    const bool is_known = unit >= DatetimeUnit::kDay && unit != DatetimeUnit::kTimezone;
    return is_known ? extract_infinite(unit, date < 0, out, is_null) : ValueError::kUnitNotSupported;
  }
  int64_t value = 0;
  ValueError error = ValueError::kNone;
  if (unit == DatetimeUnit::kEpoch) {
    value = (int64_t{date} - kUnixEpoch) * kSecondsPerDay;
  } else if (unit == DatetimeUnit::kJulian) {
    value = int64_t{date} + kEpochJulian;
  } else {
    error = extract_day_unit(unit, int64_t{date} + kEpochJulian, &value);
  }
  *out = decimal_of_int(value);
  return error;
}

ValueError time_extract(DatetimeUnit unit, int64_t time, Decimal* out) noexcept {
  if (unit == DatetimeUnit::kEpoch) return *out = {time, 6}, ValueError::kNone;
  if (unit == DatetimeUnit::kHour) return *out = {time / (3600 * kMicrosPerSecond), 0}, ValueError::kNone;
  if (unit > DatetimeUnit::kMinute) return ValueError::kUnitNotSupported;
  bool is_null = false;
  return timestamp_extract(unit, time, out, &is_null);
}

ValueError timestamp_extract(DatetimeUnit unit, int64_t timestamp, Decimal* out, bool* is_null) noexcept {
  if (!is_finite_timestamp(timestamp)) return extract_infinite(unit, timestamp < 0, out, is_null);
  int64_t time, value = 0;
  int64_t julian = split_timestamp(timestamp, &time) + kEpochJulian;
  switch (unit) {
    case DatetimeUnit::kMicroseconds:
      *out = {time % (60 * kMicrosPerSecond), 0};
      return ValueError::kNone;
    case DatetimeUnit::kMilliseconds:
      *out = {time % (60 * kMicrosPerSecond), 3};
      return ValueError::kNone;
    case DatetimeUnit::kSecond:
      *out = {time % (60 * kMicrosPerSecond), 6};
      return ValueError::kNone;
    case DatetimeUnit::kMinute:
      *out = {time / (60 * kMicrosPerSecond) % 60, 0};
      return ValueError::kNone;
    case DatetimeUnit::kHour:
      *out = {time / (3600 * kMicrosPerSecond), 0};
      return ValueError::kNone;
    case DatetimeUnit::kEpoch:
      return extract_epoch(timestamp, out);
    case DatetimeUnit::kJulian: {
      Decimal fraction;
      ValueError error = decimal_divide({time, 0}, {kMicrosPerDay, 0}, &fraction);
      return error != ValueError::kNone ? error : decimal_add({julian, 0}, fraction, out);
    }
    default:
      break;
  }
  ValueError error = extract_day_unit(unit, julian, &value);
  *out = decimal_of_int(value);
  return error;
}

ValueError timestamp_truncate(DatetimeUnit unit, int64_t timestamp, int64_t* out) noexcept {
  if (!is_finite_timestamp(timestamp)) return *out = timestamp, ValueError::kNone;
  int64_t time, step = 0;
  int64_t day = split_timestamp(timestamp, &time);
  switch (unit) {
    case DatetimeUnit::kMicroseconds:
      step = 1;
      break;
    case DatetimeUnit::kMilliseconds:
      step = 1000;
      break;
    case DatetimeUnit::kSecond:
      step = kMicrosPerSecond;
      break;
    case DatetimeUnit::kMinute:
      step = 60 * kMicrosPerSecond;
      break;
    case DatetimeUnit::kHour:
      step = 3600 * kMicrosPerSecond;
      break;
    default:
      break;
  }
  if (step > 0) {
    *out = timestamp - time % step;
    return ValueError::kNone;
  }
  int64_t julian = 0;
  if (ValueError error = truncate_day(unit, day + kEpochJulian, &julian); error != ValueError::kNone) return error;
  int128 result = static_cast<int128>(julian - kEpochJulian) * kMicrosPerDay;
  if (result < kTimestampMin || !is_timestamp_range(static_cast<int64_t>(result))) return ValueError::kTimestampRange;
  *out = static_cast<int64_t>(result);
  return ValueError::kNone;
}

}  // namespace scyper::query
