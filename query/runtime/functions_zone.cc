#include <cmath>
#include <cstdio>

#include "runtime/function_body.h"
#include "types/datetime.h"
#include "types/format_datetime.h"
#include "types/interval.h"
#include "types/timezone.h"

// timestamp with time zone, in the zone of the statement's session, and time.
namespace scyper::query {

namespace {

constexpr int64_t kUnixEpochMicros = -10957 * kMicrosPerDay;

int32_t give_zoned(ExecContext* c, ValueError error, const Datum& zone, int64_t value, Datum* out) {
  if (error == ValueError::kTimezoneUnknown)
    return c->fail("22023", "time zone \"" + std::string(text_of(zone)) + "\" not recognized");
  *out = int_datum(value);
  return done(c, error);
}

// The displacement that an interval names. false: the error is in the context.
bool zone_micros(ExecContext* c, const Datum& zone, int64_t* micros) {
  Interval interval = interval_of(zone);
  if (interval.months != 0 || interval.days != 0) {
    std::string text;
    append_datum(&text, make_type(TypeId::kInterval), zone);
    c->fail("22023", "interval time zone \"" + text + "\" must not include months or days");
    return false;
  }
  *micros = interval.micros / kMicrosPerSecond * kMicrosPerSecond;
  return true;
}

int32_t give_moved(ExecContext* c, int64_t at, int64_t micros, Datum* out) {
  int64_t value = 0;
  if (!is_finite_timestamp(at)) return give(out, at);
  bool fits = !__builtin_add_overflow(at, micros, &value) && value >= kTimestampMin && value <= kTimestampMax;
  *out = int_datum(value);
  return done(c, fits ? ValueError::kNone : ValueError::kTimestampRange);
}

// timezone, timezone_hour or timezone_minute of the session's zone.
Decimal zone_part(std::string_view unit, int64_t at) {
  const int64_t east = session_zone_east(at);
  const char part = unit.size() > 9 ? unit[9] : ' ';  // behind timezone_
  return decimal_of_int(part == ' ' ? east : part == 'h' || part == 'H' ? east / 3600 : east / 60 % 60);
}

int32_t give_part(ExecContext* c, TypeId type, bool as_float, const Datum* args, Datum* out) {
  DatetimeUnit unit;
  Decimal value;
  bool is_null = false;
  ValueError error = unit_parse(text_of(args[0]), &unit);
  if (error == ValueError::kNone && type == TypeId::kTime)
    error = time_extract(unit, args[1].lo, &value);
  else if (error == ValueError::kNone && unit == DatetimeUnit::kTimezone && is_finite_timestamp(args[1].lo))
    value = zone_part(text_of(args[0]), args[1].lo);
  else if (error == ValueError::kNone)
    error = timestamp_extract(unit, unit == DatetimeUnit::kEpoch ? args[1].lo : session_clock(args[1].lo), &value,
                              &is_null);
  *out = is_null ? null_datum() : as_float ? float_datum(decimal_to_float8(value)) : datum_of(value);
  return done(c, error, text_of(args[0]), make_type(type));
}

int32_t wrong_time(ExecContext* c, int64_t hour, int64_t minute, double second) {
  char text[80];
  std::snprintf(text, sizeof(text), "time field value out of range: %d:%02d:%02g", static_cast<int>(hour),
                static_cast<int>(minute), second);
  return c->fail("22008", text);
}

// +2, -05:30, +023015: ISO 8601 displacements, which make_timestamptz() reads before names. false: none of them.
bool read_displacement(std::string_view text, int64_t* seconds, bool* in_range) {
  if (text.size() < 2 || (text[0] != '+' && text[0] != '-')) return false;
  int64_t parts[3] = {0, 0, 0};
  size_t at = 1;
  int part = 0;
  for (; part < 3; ++part) {
    const size_t start = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9' && at - start < 9)
      parts[part] = parts[part] * 10 + (text[at++] - '0');
    if (at == start) return false;
    if (at == text.size() || text[at] != ':') break;
    ++at;
  }
  if (at != text.size()) return false;
  if (part == 0 && text.size() > 3) parts[1] = parts[0] % 100, parts[0] /= 100;
  *in_range = parts[0] <= 15 && parts[1] < 60 && parts[2] < 60;
  *seconds = ((parts[0] * 60 + parts[1]) * 60 + parts[2]) * (text[0] == '-' ? -1 : 1);
  return true;
}

// The local time that make_timestamptz() has the fields of.
int32_t make_local(ExecContext* c, const Datum* args, int64_t* out) {
  Datum made;
  auto* make = reinterpret_cast<int32_t (*)(ExecContext*, const Datum*, int64_t, Datum*, const SqlType*) noexcept>(
      k_fn_make_timestamp.address);
  int32_t outcome = make(c, args, 6, &made, nullptr);
  *out = made.lo;
  return outcome;
}

int32_t shift_zoned(ExecContext* c, const Datum& at, const Datum& by, bool subtract, Datum* out) {
  Interval interval = interval_of(by);
  ValueError error = subtract ? interval_negate(interval, &interval) : ValueError::kNone;
  if (error != ValueError::kNone) return done(c, ValueError::kTimestampRange);
  int64_t value = 0;
  error = timestamptz_add(at.lo, interval, &value);
  return give(out, value), done(c, error);
}

extern "C" {

// timezone(zone, timestamptz): the zone's clock.
SCYPER_FUNCTION(zone_of_timestamptz) {
  int64_t value = 0;
  ValueError error = zone_to_local(text_of(args[0]), args[1].lo, &value);
  return give_zoned(c, error, args[0], value, out);
}
// timezone(zone, timestamp): when the zone's clock shows it.
SCYPER_FUNCTION(zone_of_timestamp) {
  int64_t value = 0;
  ValueError error = zone_to_utc(text_of(args[0]), args[1].lo, &value);
  return give_zoned(c, error, args[0], value, out);
}
SCYPER_FUNCTION(interval_zone_of_timestamptz) {
  if (!is_finite_timestamp(args[1].lo)) return give(out, args[1].lo);
  int64_t micros = 0;
  if (!zone_micros(c, args[0], &micros)) return static_cast<int32_t>(Outcome::kError);
  return give_moved(c, args[1].lo, micros, out);
}
SCYPER_FUNCTION(interval_zone_of_timestamp) {
  if (!is_finite_timestamp(args[1].lo)) return give(out, args[1].lo);
  int64_t micros = 0;
  if (!zone_micros(c, args[0], &micros)) return static_cast<int32_t>(Outcome::kError);
  return give_moved(c, args[1].lo, -micros, out);
}
SCYPER_FUNCTION(timestamptz_add_interval) { return shift_zoned(c, args[0], args[1], false, out); }
SCYPER_FUNCTION(timestamptz_subtract_interval) { return shift_zoned(c, args[0], args[1], true, out); }
SCYPER_FUNCTION(interval_add_timestamptz) { return shift_zoned(c, args[1], args[0], false, out); }
SCYPER_FUNCTION(age_timestamptz) {
  *out = datum_of(timestamp_age(session_clock(args[0].lo), session_clock(args[1].lo)));
  return done(c, age_error(args[0].lo, args[1].lo));
}
// Until today's midnight.
SCYPER_FUNCTION(age_timestamptz_now) {
  const int64_t midnight = timestamp_to_date(session_clock(c->transaction_time_us)) * kMicrosPerDay;
  *out = datum_of(timestamp_age(midnight, session_clock(args[0].lo)));
  return done(c, age_error(midnight, args[0].lo));
}
// extract() of a unit that the binder has read already.
SCYPER_FUNCTION(extract_timestamptz_unit) {
  Decimal value;
  bool is_null = false;
  const auto unit = static_cast<DatetimeUnit>(args[0].lo);
  ValueError error = timestamp_extract(unit, session_clock(args[1].lo), &value, &is_null);
  if (is_special_numeric(datum_of(value)))
    return c->fail("0A000", "the year of an infinite value in a column is not supported");
  return *out = is_null ? null_datum() : datum_of(value), done(c, error);
}
SCYPER_FUNCTION(extract_timestamptz) { return give_part(c, TypeId::kTimestamptz, false, args, out); }
SCYPER_FUNCTION(date_part_timestamptz) { return give_part(c, TypeId::kTimestamptz, true, args, out); }
SCYPER_FUNCTION(extract_time) { return give_part(c, TypeId::kTime, false, args, out); }
SCYPER_FUNCTION(date_part_time) { return give_part(c, TypeId::kTime, true, args, out); }
// date_trunc(unit, timestamptz [, zone])
SCYPER_FUNCTION(date_trunc_zone) {
  if (!is_finite_timestamp(args[1].lo)) return give(out, args[1].lo);
  DatetimeUnit unit;
  ValueError error = unit_parse(text_of(args[0]), &unit);
  int64_t value = args[1].lo;
  if (error == ValueError::kNone && count > 2) {
    if (ValueError zone = zone_to_local(text_of(args[2]), value, &value); zone != ValueError::kNone)
      return give_zoned(c, zone, args[2], 0, out);
  } else if (error == ValueError::kNone) {
    value = session_clock(value);
  }
  const int64_t east = value - args[1].lo;
  if (error == ValueError::kNone) error = timestamp_truncate(unit, value, &value);
  if (error != ValueError::kNone) return done(c, error, text_of(args[0]), make_type(TypeId::kTimestamptz));
  if (unit <= DatetimeUnit::kHour) return give_moved(c, value, -east, out);  // also in an hour that comes twice
  error = count > 2 ? zone_to_utc(text_of(args[2]), value, &value) : session_clock_to_utc(value, &value);
  return give_zoned(c, error, count > 2 ? args[2] : args[0], value, out);
}
SCYPER_FUNCTION(to_char_timestamptz) {
  if (args[1].size() == 0 || !is_finite_timestamp(args[0].lo)) return give_null(out);
  std::string text;
  const int64_t at = args[0].lo;
  Status status = format_timestamp(session_clock(at), text_of(args[1]), session_zone_abbreviation(at),
                                   session_zone_east(at), &text);
  return status.ok() ? give_copy(c, out, text) : c->fail(status);
}
// to_timestamp(seconds since 1970)
SCYPER_FUNCTION(to_timestamp_unix) {
  double seconds = float8(args[0]);
  if (std::isnan(seconds)) return c->fail("22008", "timestamp cannot be NaN");
  if (std::isinf(seconds)) return give(out, seconds < 0 ? kTimestampMinusInfinity : kTimestampInfinity);
  double micros = std::rint((seconds + static_cast<double>(kUnixEpochMicros / kMicrosPerSecond)) * 1e6);
  if (!(micros >= static_cast<double>(kTimestampMin) && micros < static_cast<double>(kTimestampMax))) {
    char text[64];
    std::snprintf(text, sizeof(text), "timestamp out of range: \"%g\"", seconds);
    return c->fail("22008", text);
  }
  return give(out, static_cast<int64_t>(micros));
}
SCYPER_FUNCTION(make_timestamptz) {
  int64_t local = 0;
  if (int32_t outcome = make_local(c, args, &local); outcome != 0) return outcome;
  const ValueError error = session_clock_to_utc(local, &local);
  return give(out, local), done(c, error);
}
SCYPER_FUNCTION(make_timestamptz_zone) {
  int64_t local = 0, value = 0;
  if (int32_t outcome = make_local(c, args, &local); outcome != 0) return outcome;
  const std::string_view zone = text_of(args[6]);
  if (!zone.empty() && zone[0] >= '0' && zone[0] <= '9')
    return c->fail(
        with_hint(sql_error("22023", "invalid input syntax for type numeric time zone: \"" + std::string(zone) + "\""),
                  "Numeric time zones must have \"-\" or \"+\" as first character."));
  int64_t seconds = 0;
  bool in_range = false;
  if (read_displacement(zone, &seconds, &in_range)) {
    if (!in_range) return c->fail("22023", "numeric time zone \"" + std::string(zone) + "\" out of range");
    return give_moved(c, local, -seconds * kMicrosPerSecond, out);
  }
  ValueError error = zone_to_utc(zone, local, &value);
  return give_zoned(c, error, args[6], value, out);
}
SCYPER_FUNCTION(time_add_interval) {
  return give(out, time_of_interval({args[0].lo + time_of_interval(interval_of(args[1])), 0, 0}));
}
SCYPER_FUNCTION(interval_add_time) {
  return give(out, time_of_interval({args[1].lo + time_of_interval(interval_of(args[0])), 0, 0}));
}
SCYPER_FUNCTION(time_subtract_interval) {
  return give(out, time_of_interval({args[0].lo - time_of_interval(interval_of(args[1])), 0, 0}));
}
SCYPER_FUNCTION(time_difference) { return *out = datum_of(Interval{args[0].lo - args[1].lo, 0, 0}), 0; }
SCYPER_FUNCTION(date_add_time) {
  int64_t midnight = 0;
  ValueError error = date_to_timestamp(int4(args[0]), &midnight);
  return error == ValueError::kNone ? give_moved(c, midnight, args[1].lo, out) : done(c, error);
}
// timestamptz(date, time)
SCYPER_FUNCTION(zoned_date_add_time) {
  if (int32_t outcome = fn_date_add_time(c, args, 2, out, types); outcome != 0) return outcome;
  int64_t value = 0;
  const ValueError error = session_clock_to_utc(out->lo, &value);
  return give(out, value), done(c, error);
}
SCYPER_FUNCTION(time_add_date) {
  Datum swapped[] = {args[1], args[0]};
  return fn_date_add_time(c, swapped, 2, out, types);
}
SCYPER_FUNCTION(make_time) {
  int64_t hour = args[0].lo, minute = args[1].lo;
  double second = float8(args[2]);
  bool in_range = hour >= 0 && hour <= 24 && minute >= 0 && minute <= 59 && second >= 0 && second <= 60;
  int64_t micros = in_range ? static_cast<int64_t>(std::rint(second * 1e6)) : 0;
  int64_t time = (hour * 60 + minute) * 60 * kMicrosPerSecond + micros;
  if (!in_range || time > kMicrosPerDay) return wrong_time(c, hour, minute, second);
  return give(out, time);
}

}  // extern "C"

}  // namespace

SCYPER_ZONE_FUNCTIONS(SCYPER_DEFINE_FUNCTION)

}  // namespace scyper::query
