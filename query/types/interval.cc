#include "types/interval.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "storage/time_modifier.h"
#include "types/digits.h"
#include "types/interval_style.h"

namespace scyper::query {

namespace {

constexpr int64_t kDaysPerMonth = 30;
constexpr double kSecondsPerDay = 86400.0;

int128 span_of(const Interval& a) noexcept {
  return static_cast<int128>(a.micros) +
         (static_cast<int128>(a.days) + int128{a.months} * kDaysPerMonth) * kMicrosPerDay;
}

double round_micros(double value) noexcept { return std::rint(value * 1e6) / 1e6; }
bool fits_int32(double value) noexcept { return value >= -2147483648.0 && value < 2147483648.0; }
bool fits_int64(double value) noexcept { return value >= -9223372036854775808.0 && value < 9223372036854775808.0; }

ValueError scaled(const Interval& a, double factor, bool divide, Interval* out) noexcept {
  auto times = [&](double value) { return divide ? value / factor : value * factor; };
  double months = times(a.months), days = times(a.days);
  if (!fits_int32(months) || !fits_int32(days)) return ValueError::kIntervalRange;
  out->months = static_cast<int32_t>(months);
  int64_t whole_days = static_cast<int32_t>(days);
  double month_days = round_micros((months - out->months) * static_cast<double>(kDaysPerMonth));
  double seconds =
      (days - static_cast<double>(whole_days) + month_days - static_cast<int>(month_days)) * kSecondsPerDay;
  seconds = round_micros(seconds);
  if (std::fabs(seconds) >= kSecondsPerDay) {
    int carried = static_cast<int>(seconds / kSecondsPerDay);
    whole_days += carried;
    seconds -= carried * kSecondsPerDay;
  }
  whole_days += static_cast<int>(month_days);
  double micros = std::rint(times(static_cast<double>(a.micros)) + seconds * 1e6);
  if (!fits_int64(micros) || !fits_int32(static_cast<double>(whole_days))) return ValueError::kIntervalRange;
  out->days = static_cast<int32_t>(whole_days);
  out->micros = static_cast<int64_t>(micros);
  return ValueError::kNone;
}

char* write_part(char* out, int32_t value, const char* unit, bool* is_first, bool* is_before) noexcept {
  if (value == 0) return out;
  if (!*is_first) *out++ = ' ';
  if (*is_before && value > 0) *out++ = '+';
  out = write_signed(out, value);
  *out++ = ' ';
  size_t size = std::strlen(unit);
  std::memcpy(out, unit, size);
  out += size;
  if (value != 1) *out++ = 's';
  *is_before = value < 0;
  *is_first = false;
  return out;
}

constexpr int32_t day_count(int64_t year, int32_t month) noexcept {
  bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 ? (leap ? 29 : 28) : month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

}  // namespace

int interval_compare(const Interval& a, const Interval& b) noexcept {
  int128 x = span_of(a), y = span_of(b);
  return x < y ? -1 : x > y ? 1 : 0;
}

uint64_t interval_hash(const Interval& a) noexcept {
  uint64_t hash = static_cast<uint64_t>(span_of(a)) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

char* interval_format(const Interval& interval, char* out) noexcept {
  if (const IntervalStyle style = session_interval_style(); style != IntervalStyle::kPostgres) [[unlikely]]
    return interval_format_styled(interval, style, out);
  bool is_first = true, is_before = false;
  out = write_part(out, interval.months / 12, "year", &is_first, &is_before);
  out = write_part(out, interval.months % 12, "mon", &is_first, &is_before);
  out = write_part(out, interval.days, "day", &is_first, &is_before);
  if (!is_first && interval.micros == 0) return out;
  if (!is_first) *out++ = ' ';
  if (interval.micros < 0)
    *out++ = '-';
  else if (is_before)
    *out++ = '+';
  uint64_t micros =
      interval.micros < 0 ? 0 - static_cast<uint64_t>(interval.micros) : static_cast<uint64_t>(interval.micros);
  uint64_t seconds = micros / 1000000;
  uint64_t hours = seconds / 3600;
  out = hours < 100 ? write_fixed(out, hours, 2) : write_unsigned(out, hours);
  *out++ = ':';
  out = write_fixed(out, seconds / 60 % 60, 2);
  *out++ = ':';
  out = write_fixed(out, seconds % 60, 2);
  if (micros % 1000000 == 0) return out;
  *out++ = '.';
  out = write_fixed(out, micros % 1000000, 6);
  while (out[-1] == '0') --out;
  return out;
}

void interval_cut(int32_t fields, Interval* interval) noexcept {
  constexpr int64_t kSecond = kMicrosPerSecond;
  if (fields == kIntervalFull || (fields & kIntervalSecond) != 0) return;
  if ((fields & kIntervalMinute) != 0) {
    interval->micros -= interval->micros % (60 * kSecond);
  } else if ((fields & kIntervalHour) != 0) {
    interval->micros -= interval->micros % (3600 * kSecond);
  } else {
    interval->micros = 0;
    if ((fields & kIntervalDay) != 0) return;
    interval->days = 0;
    if ((fields & kIntervalMonth) == 0) interval->months -= interval->months % 12;
  }
}

namespace {
// Half away from zero.
int64_t round_micros(int64_t micros, int32_t digits) noexcept {
  if (digits >= kMicrosecondDigits) return micros;
  int64_t unit = 1;
  for (int32_t i = digits; i < kMicrosecondDigits; ++i) unit *= 10;
  int64_t raised = 0;
  if (__builtin_add_overflow(micros, micros < 0 ? -(unit / 2) : unit / 2, &raised)) return micros;
  return raised / unit * unit;
}
}  // namespace

void apply_time_modifier(const SqlType& type, Datum* value) noexcept {
  if (type.length < 0 || !has_clock(type.id) || value->null != 0) return;
  const int32_t digits = second_digits(type);
  if (type.id != TypeId::kInterval) {
    *value = int_datum(round_micros(value->lo, digits));
    return;
  }
  Interval interval = interval_of(*value);
  interval_cut(interval_fields(type), &interval);
  interval.micros = round_micros(interval.micros, digits);
  *value = datum_of(interval);
}

ValueError interval_add(const Interval& a, const Interval& b, Interval* out) noexcept {
  Interval sum;
  if (__builtin_add_overflow(a.months, b.months, &sum.months) || __builtin_add_overflow(a.days, b.days, &sum.days) ||
      __builtin_add_overflow(a.micros, b.micros, &sum.micros))
    return ValueError::kIntervalRange;
  *out = sum;
  return ValueError::kNone;
}

ValueError interval_negate(const Interval& a, Interval* out) noexcept {
  Interval zero, result;
  if (__builtin_sub_overflow(zero.months, a.months, &result.months) ||
      __builtin_sub_overflow(zero.days, a.days, &result.days) ||
      __builtin_sub_overflow(zero.micros, a.micros, &result.micros))
    return ValueError::kIntervalRange;
  *out = result;
  return ValueError::kNone;
}

ValueError interval_multiply(const Interval& a, double factor, Interval* out) noexcept {
  return scaled(a, factor, false, out);
}

ValueError interval_divide(const Interval& a, double divisor, Interval* out) noexcept {
  return divisor == 0 ? ValueError::kDivisionByZero : scaled(a, divisor, true, out);
}

// Each step makes the signs of neighbours agree, as PostgreSQL does.
ValueError interval_justify_hours(const Interval& a, Interval* out) noexcept {
  *out = a;
  int64_t whole = a.micros / kMicrosPerDay;
  out->micros -= whole * kMicrosPerDay;
  if (__builtin_add_overflow(a.days, static_cast<int32_t>(whole), &out->days)) return ValueError::kIntervalRange;
  if (out->days > 0 && out->micros < 0) {
    out->micros += kMicrosPerDay;
    out->days--;
  } else if (out->days < 0 && out->micros > 0) {
    out->micros -= kMicrosPerDay;
    out->days++;
  }
  return ValueError::kNone;
}

ValueError interval_justify_days(const Interval& a, Interval* out) noexcept {
  *out = a;
  int32_t whole = a.days / 30;
  out->days -= whole * 30;
  if (__builtin_add_overflow(a.months, whole, &out->months)) return ValueError::kIntervalRange;
  if (out->months > 0 && out->days < 0) {
    out->days += 30;
    out->months--;
  } else if (out->months < 0 && out->days > 0) {
    out->days -= 30;
    out->months++;
  }
  return ValueError::kNone;
}

ValueError interval_justify(const Interval& a, Interval* out) noexcept {
  Interval r = a;
  if ((r.days > 0 && r.micros > 0) || (r.days < 0 && r.micros < 0)) {
    int32_t whole = r.days / 30;
    r.days -= whole * 30;
    if (__builtin_add_overflow(r.months, whole, &r.months)) return ValueError::kIntervalRange;
  }
  int64_t days = r.micros / kMicrosPerDay;
  r.micros -= days * kMicrosPerDay;
  if (__builtin_add_overflow(r.days, static_cast<int32_t>(days), &r.days)) return ValueError::kIntervalRange;
  int32_t months = r.days / 30;
  r.days -= months * 30;
  if (__builtin_add_overflow(r.months, months, &r.months)) return ValueError::kIntervalRange;
  if (r.months > 0 && (r.days < 0 || (r.days == 0 && r.micros < 0))) {
    r.days += 30;
    r.months--;
  } else if (r.months < 0 && (r.days > 0 || (r.days == 0 && r.micros > 0))) {
    r.days -= 30;
    r.months++;
  }
  if (r.days > 0 && r.micros < 0) {
    r.micros += kMicrosPerDay;
    r.days--;
  } else if (r.days < 0 && r.micros > 0) {
    r.micros -= kMicrosPerDay;
    r.days++;
  }
  *out = r;
  return ValueError::kNone;
}

ValueError interval_extract(DatetimeUnit unit, const Interval& a, Decimal* out) noexcept {
  int32_t years = a.months / 12;
  int32_t months = a.months % 12;
  int64_t in_minute = a.micros % (60 * kMicrosPerSecond);
  auto give = [&](int128 value, int32_t scale = 0) { return *out = {value, scale}, ValueError::kNone; };
  switch (unit) {
    case DatetimeUnit::kMicroseconds:
      return give(in_minute);
    case DatetimeUnit::kMilliseconds:
      return give(in_minute, 3);
    case DatetimeUnit::kSecond:
      return give(in_minute, 6);
    case DatetimeUnit::kMinute:
      return give(a.micros / (60 * kMicrosPerSecond) % 60);
    case DatetimeUnit::kHour:
      return give(a.micros / (3600 * kMicrosPerSecond));
    case DatetimeUnit::kDay:
      return give(a.days);
    case DatetimeUnit::kMonth:
      return give(months);
    case DatetimeUnit::kQuarter:
      return give(months / 3 + 1);
    case DatetimeUnit::kYear:
      return give(years);
    case DatetimeUnit::kDecade:
      return give(years / 10);
    case DatetimeUnit::kCentury:
      return give(years / 100);
    case DatetimeUnit::kMillennium:
      return give(years / 1000);
    case DatetimeUnit::kEpoch: {  // a year has 365.25 days
      int128 quarter_days = int128{years} * 1461 + int128{months} * 120 + int128{a.days} * 4;
      return give(quarter_days * (kMicrosPerDay / 4) + a.micros, 6);
    }
    default:
      return ValueError::kUnitNotSupported;
  }
}

ValueError interval_truncate(DatetimeUnit unit, const Interval& a, Interval* out) noexcept {
  *out = a;
  auto cut = [&](int64_t step) { return out->micros -= out->micros % step, ValueError::kNone; };
  auto months = [&](int32_t step) {
    *out = {0, 0, a.months - a.months % step};
    return ValueError::kNone;
  };
  switch (unit) {
    case DatetimeUnit::kMicroseconds:
      return cut(1);
    case DatetimeUnit::kMilliseconds:
      return cut(1000);
    case DatetimeUnit::kSecond:
      return cut(kMicrosPerSecond);
    case DatetimeUnit::kMinute:
      return cut(60 * kMicrosPerSecond);
    case DatetimeUnit::kHour:
      return cut(3600 * kMicrosPerSecond);
    case DatetimeUnit::kDay:
      return out->micros = 0, ValueError::kNone;
    case DatetimeUnit::kMonth:
      return months(1);
    case DatetimeUnit::kQuarter:
      return months(3);
    case DatetimeUnit::kYear:
      return months(12);
    case DatetimeUnit::kDecade:
      return months(120);
    case DatetimeUnit::kCentury:
      return months(1200);
    case DatetimeUnit::kMillennium:
      return months(12000);
    case DatetimeUnit::kWeek:
    case DatetimeUnit::kTimezone:
      return ValueError::kUnitNotSupported;
    default:
      return ValueError::kUnitUnknown;
  }
}

ValueError timestamp_difference(int64_t a, int64_t b, Interval* out) noexcept {
  *out = {};
  if (!is_finite_timestamp(a) || !is_finite_timestamp(b)) return ValueError::kInfiniteTimestamps;
  if (__builtin_sub_overflow(a, b, &out->micros)) return ValueError::kTimestampRange;
  return interval_justify_hours(*out, out);
}

Interval timestamp_age(int64_t a, int64_t b) noexcept {
  int64_t time_a, time_b;
  CivilDate date_a = civil_of_julian(split_timestamp(a, &time_a) + kEpochJulian);
  CivilDate date_b = civil_of_julian(split_timestamp(b, &time_b) + kEpochJulian);
  int64_t years = int64_t{date_a.year} - date_b.year;
  int32_t months = date_a.month - date_b.month;
  int32_t days = date_a.day - date_b.day;
  int64_t micros = time_a - time_b;
  bool flip = a < b;
  if (flip) years = -years, months = -months, days = -days, micros = -micros;
  if (micros < 0) micros += kMicrosPerDay, days--;
  while (days < 0) {
    days += flip ? day_count(date_a.year, date_a.month) : day_count(date_b.year, date_b.month);
    months--;
  }
  if (months < 0) months += 12, years--;
  Interval result{micros, days, static_cast<int32_t>(years * 12 + months)};
  if (flip) result = {-result.micros, -result.days, -result.months};
  return result;
}

}  // namespace scyper::query
