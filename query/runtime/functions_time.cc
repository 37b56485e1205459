#include <cmath>

#include "runtime/function_body.h"
#include "types/datetime.h"
#include "types/interval.h"
#include "types/timezone.h"

namespace scyper::query {

namespace {

int32_t give_interval(ExecContext* c, ValueError error, const Interval& value, Datum* out) {
  *out = datum_of(value);
  return done(c, error);
}
int32_t give_time(ExecContext* c, ValueError error, int64_t value, Datum* out) {
  *out = int_datum(value);
  return done(c, error);
}

ValueError negated(const Datum& datum, Interval* out) {
  *out = interval_of(datum);
  return interval_negate(*out, out);
}

int32_t shift(ExecContext* c, int64_t timestamp, const Datum& by, bool subtract, Datum* out) {
  Interval interval = interval_of(by);
  if (subtract && negated(by, &interval) != ValueError::kNone) return done(c, ValueError::kTimestampRange);
  int64_t result = 0;
  ValueError error = timestamp_add(timestamp, interval, &result);
  return give_time(c, error, result, out);
}

int32_t shift_date(ExecContext* c, const Datum& date, const Datum& by, bool subtract, Datum* out) {
  int64_t timestamp = 0;
  if (ValueError error = date_to_timestamp(int4(date), &timestamp); error != ValueError::kNone) return done(c, error);
  return shift(c, timestamp, by, subtract, out);
}

// extract() and date_part() differ in the type of the result alone.
int32_t give_part(ExecContext* c, ValueError error, const Decimal& value, bool is_null, bool as_float,
                  const Datum& unit, TypeId type, Datum* out) {
  *out = is_null ? null_datum() : as_float ? float_datum(decimal_to_float8(value)) : datum_of(value);
  return done(c, error, text_of(unit), make_type(type));
}

int32_t give_unit(ExecContext* c, ValueError error, const Decimal& value, bool is_null, Datum* out) {
  if (is_special_numeric(datum_of(value)))
    return c->fail("0A000", "the year of an infinite value in a column is not supported");
  *out = is_null ? null_datum() : datum_of(value);
  return done(c, error);
}

bool is_leap(int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }
bool is_date(int64_t year, int32_t month, int32_t day) {
  static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (month < 1 || month > 12 || day < 1) return false;
  return day <= kDays[month - 1] + (month == 2 && is_leap(year) ? 1 : 0);
}

// make_date()'s and make_timestamp()'s day; years before Christ are negative. false: the error is in the context.
bool make_day(ExecContext* c, const Datum* args, const char* kind, int32_t* out) {
  int64_t year = int4(args[0]);
  auto text = [&] {
    return std::to_string(args[0].lo) + "-" + (args[1].lo < 10 && args[1].lo >= 0 ? "0" : "") +
           std::to_string(args[1].lo) + "-" + (args[2].lo < 10 && args[2].lo >= 0 ? "0" : "") +
           std::to_string(args[2].lo);
  };
  if (year == 0 || !is_date(year < 0 ? year + 1 : year, int4(args[1]), int4(args[2]))) {
    c->fail("22008", std::string(kind) + " field value out of range: " + text());
    return false;
  }
  if (year < 0) year++;
  int64_t date = julian_of(year, int4(args[1]), int4(args[2])) - kEpochJulian;
  if (date < kDateMin || date > kDateMax) {
    c->fail("22008", std::string(kind) + " out of range: " + text());
    return false;
  }
  *out = static_cast<int32_t>(date);
  return true;
}

extern "C" {

SCYPER_FUNCTION(interval_add) {
  Interval sum;
  ValueError error = interval_add(interval_of(args[0]), interval_of(args[1]), &sum);
  return give_interval(c, error, sum, out);
}
SCYPER_FUNCTION(interval_subtract) {
  Interval a = interval_of(args[0]), b = interval_of(args[1]), difference;
  bool wraps = __builtin_sub_overflow(a.months, b.months, &difference.months) ||
               __builtin_sub_overflow(a.days, b.days, &difference.days) ||
               __builtin_sub_overflow(a.micros, b.micros, &difference.micros);
  return give_interval(c, wraps ? ValueError::kIntervalRange : ValueError::kNone, difference, out);
}
SCYPER_FUNCTION(interval_negate) {
  Interval value;
  ValueError error = negated(args[0], &value);
  return give_interval(c, error, value, out);
}
SCYPER_FUNCTION(interval_multiply) {
  Interval product;
  ValueError error = interval_multiply(interval_of(args[0]), float8(args[1]), &product);
  return give_interval(c, error, product, out);
}
SCYPER_FUNCTION(multiply_interval) {
  Interval product;
  ValueError error = interval_multiply(interval_of(args[1]), float8(args[0]), &product);
  return give_interval(c, error, product, out);
}
SCYPER_FUNCTION(interval_divide) {
  Interval quotient;
  ValueError error = interval_divide(interval_of(args[0]), float8(args[1]), &quotient);
  return give_interval(c, error, quotient, out);
}
SCYPER_FUNCTION(date_add_interval) { return shift_date(c, args[0], args[1], false, out); }
SCYPER_FUNCTION(date_subtract_interval) { return shift_date(c, args[0], args[1], true, out); }
SCYPER_FUNCTION(interval_add_date) { return shift_date(c, args[1], args[0], false, out); }
SCYPER_FUNCTION(timestamp_add_interval) { return shift(c, args[0].lo, args[1], false, out); }
SCYPER_FUNCTION(timestamp_subtract_interval) { return shift(c, args[0].lo, args[1], true, out); }
SCYPER_FUNCTION(interval_add_timestamp) { return shift(c, args[1].lo, args[0], false, out); }
SCYPER_FUNCTION(timestamp_difference) {
  Interval value;
  ValueError error = timestamp_difference(args[0].lo, args[1].lo, &value);
  return give_interval(c, error, value, out);
}
SCYPER_FUNCTION(age) {
  return give_interval(c, age_error(args[0].lo, args[1].lo), timestamp_age(args[0].lo, args[1].lo), out);
}
SCYPER_FUNCTION(age_now) {
  int64_t time = 0;
  int64_t midnight = split_timestamp(session_clock(c->transaction_time_us), &time) * kMicrosPerDay;
  return give_interval(c, age_error(midnight, args[0].lo), timestamp_age(midnight, args[0].lo), out);
}
SCYPER_FUNCTION(extract_interval) {
  DatetimeUnit unit;
  Decimal value;
  ValueError error = unit_parse(text_of(args[0]), &unit);
  if (error == ValueError::kNone) error = interval_extract(unit, interval_of(args[1]), &value);
  return give_part(c, error, value, false, false, args[0], TypeId::kInterval, out);
}
// extract() of a unit that the binder has read already.
SCYPER_FUNCTION(extract_date_unit) {
  Decimal value;
  bool is_null = false;
  ValueError error = date_extract(static_cast<DatetimeUnit>(args[0].lo), int4(args[1]), &value, &is_null);
  return give_unit(c, error, value, is_null, out);
}
SCYPER_FUNCTION(extract_timestamp_unit) {
  Decimal value;
  bool is_null = false;
  ValueError error = timestamp_extract(static_cast<DatetimeUnit>(args[0].lo), args[1].lo, &value, &is_null);
  return give_unit(c, error, value, is_null, out);
}
SCYPER_FUNCTION(date_part_interval) {
  DatetimeUnit unit;
  Decimal value;
  ValueError error = unit_parse(text_of(args[0]), &unit);
  if (error == ValueError::kNone) error = interval_extract(unit, interval_of(args[1]), &value);
  return give_part(c, error, value, false, true, args[0], TypeId::kInterval, out);
}
SCYPER_FUNCTION(date_part_timestamp) {
  DatetimeUnit unit;
  Decimal value;
  ValueError error = unit_parse(text_of(args[0]), &unit);
  bool is_null = false;
  if (error == ValueError::kNone) error = timestamp_extract(unit, args[1].lo, &value, &is_null);
  return give_part(c, error, value, is_null, true, args[0], TypeId::kTimestamp, out);
}
SCYPER_FUNCTION(date_part_date) {
  int64_t timestamp = 0;
  if (ValueError error = date_to_timestamp(int4(args[1]), &timestamp); error != ValueError::kNone)
    return done(c, error);
  Datum as_timestamp[] = {args[0], int_datum(timestamp)};
  return fn_date_part_timestamp(c, as_timestamp, 2, out, types);
}
SCYPER_FUNCTION(trunc_interval) {
  DatetimeUnit unit;
  Interval value;
  ValueError error = unit_parse(text_of(args[0]), &unit);
  if (error == ValueError::kNone) error = interval_truncate(unit, interval_of(args[1]), &value);
  *out = datum_of(value);
  if (error == ValueError::kUnitNotSupported && unit == DatetimeUnit::kWeek)
    return c->fail(with_detail(error_status(error, make_type(TypeId::kInterval), text_of(args[0])),
                               "Months usually have fractional weeks."));
  return done(c, error, text_of(args[0]), make_type(TypeId::kInterval));
}
SCYPER_FUNCTION(justify_days) {
  Interval value;
  ValueError error = interval_justify_days(interval_of(args[0]), &value);
  return give_interval(c, error, value, out);
}
SCYPER_FUNCTION(justify_hours) {
  Interval value;
  ValueError error = interval_justify_hours(interval_of(args[0]), &value);
  return give_interval(c, error, value, out);
}
SCYPER_FUNCTION(justify_interval) {
  Interval value;
  ValueError error = interval_justify(interval_of(args[0]), &value);
  return give_interval(c, error, value, out);
}
SCYPER_FUNCTION(make_date) {
  int32_t date = 0;
  if (!make_day(c, args, "date", &date)) return static_cast<int32_t>(Outcome::kError);
  return give(out, int64_t{date});
}
SCYPER_FUNCTION(make_timestamp) {
  int32_t date = 0;
  if (!make_day(c, args, "date", &date)) return static_cast<int32_t>(Outcome::kError);
  int64_t hour = args[3].lo, minute = args[4].lo;
  double second = float8(args[5]);
  bool in_range = hour >= 0 && hour <= 24 && minute >= 0 && minute <= 59 && second >= 0 && second <= 60 &&
                  !(hour == 24 && (minute > 0 || second > 0));
  if (!in_range) {
    char text[80];
    std::snprintf(text, sizeof(text), "time field value out of range: %d:%02d:%02g", static_cast<int>(hour),
                  static_cast<int>(minute), second);
    return c->fail("22008", text);
  }
  int64_t timestamp = 0;
  if (ValueError error = date_to_timestamp(date, &timestamp); error != ValueError::kNone) return done(c, error);
  timestamp += (hour * 60 + minute) * 60 * kMicrosPerSecond + static_cast<int64_t>(std::rint(second * 1e6));
  if (timestamp < kTimestampMin || timestamp > kTimestampMax) return done(c, ValueError::kTimestampRange);
  return give(out, timestamp);
}
// make_interval(years, months, weeks, days, hours, mins, secs): what is absent is 0.
SCYPER_FUNCTION(make_interval) {
  auto part = [&](int64_t i) { return i < count ? args[i].lo : 0; };
  double seconds = count > 6 ? float8(args[6]) : 0;
  int64_t months = part(0) * 12 + part(1);
  int64_t days = part(2) * 7 + part(3);
  double micros = std::rint(seconds * 1e6);
  int64_t time = 0;
  bool fits =
      !std::isinf(seconds) && !std::isnan(seconds) && months >= INT32_MIN && months <= INT32_MAX && days >= INT32_MIN &&
      days <= INT32_MAX && std::fabs(micros) < 9.2e18 &&
      !__builtin_add_overflow((part(4) * 60 + part(5)) * 60 * kMicrosPerSecond, static_cast<int64_t>(micros), &time);
  Interval value{time, static_cast<int32_t>(days), static_cast<int32_t>(months)};
  return give_interval(c, fits ? ValueError::kNone : ValueError::kIntervalRange, value, out);
}
SCYPER_FUNCTION(isfinite_date) { return give_bool(out, is_finite_date(int4(args[0]))); }
SCYPER_FUNCTION(isfinite_timestamp) { return give_bool(out, is_finite_timestamp(args[0].lo)); }
SCYPER_FUNCTION(isfinite) { return give_bool(out, true); }
SCYPER_FUNCTION(date_bin) {
  if (!is_finite_timestamp(args[1].lo)) return give(out, args[1].lo);
  if (!is_finite_timestamp(args[2].lo)) return c->fail("22008", "origin out of range");
  Interval stride = interval_of(args[0]);
  if (stride.months != 0)
    return c->fail("0A000", "timestamps cannot be binned into intervals containing months or years");
  int64_t step = 0;
  if (__builtin_mul_overflow(int64_t{stride.days}, kMicrosPerDay, &step) ||
      __builtin_add_overflow(step, stride.micros, &step))
    return done(c, ValueError::kIntervalRange);
  if (step <= 0) return c->fail("22008", "stride must be greater than zero");
  int64_t difference = 0, result = 0;
  if (__builtin_sub_overflow(args[1].lo, args[2].lo, &difference)) return done(c, ValueError::kIntervalRange);
  const int64_t begun = difference < 0 && difference % step != 0 ? step : 0;
  if (__builtin_sub_overflow(difference - difference % step, begun, &result) ||
      __builtin_add_overflow(args[2].lo, result, &result) || result < kTimestampMin || result > kTimestampMax)
    return done(c, ValueError::kTimestampRange);
  return give(out, result);
}
// (a, b) OVERLAPS (c, d); an interval as second part counts from the first. A missing end of two is NULL: what the
// other one decides alone is known.
SCYPER_FUNCTION(overlaps) {
  int64_t ends[4] = {};
  bool known[4];
  for (int i = 0; i < 4; i++) {
    const bool is_length = i % 2 == 1 && types[i].id == TypeId::kInterval;
    known[i] = !args[i].null && (!is_length || known[i - 1]);
    if (!known[i]) continue;
    ends[i] = args[i].lo;
    if (!is_length) continue;
    if (types[i - 1].id == TypeId::kTime) {
      ends[i] = time_of_interval({ends[i - 1] + time_of_interval(interval_of(args[i])), 0, 0});
      continue;
    }
    const bool is_zoned = types[i - 1].id == TypeId::kTimestamptz;
    ValueError error = is_zoned ? timestamptz_add(ends[i - 1], interval_of(args[i]), &ends[i])
                                : timestamp_add(ends[i - 1], interval_of(args[i]), &ends[i]);
    if (error != ValueError::kNone) return done(c, error);
  }
  for (int i : {0, 2}) {
    if (!known[i] && !known[i + 1]) return give_null(out);
    if (!known[i] || (known[i + 1] && ends[i] > ends[i + 1]))
      std::swap(ends[i], ends[i + 1]), std::swap(known[i], known[i + 1]);
  }
  if (ends[0] == ends[2]) return known[1] && known[3] ? give_bool(out, true) : give_null(out);
  // the period that begins first, and the other one
  const int first = ends[0] < ends[2] ? 0 : 2, second = 2 - first;
  if (!known[first + 1]) return give_null(out);
  if (ends[second] < ends[first + 1]) return give_bool(out, true);
  return known[second + 1] ? give_bool(out, false) : give_null(out);
}

}  // extern "C"

}  // namespace

SCYPER_TIME_FUNCTIONS(SCYPER_DEFINE_FUNCTION)

}  // namespace scyper::query
