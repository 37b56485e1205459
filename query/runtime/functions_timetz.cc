#include "runtime/function_body.h"
#include "types/datetime.h"
#include "types/interval.h"
#include "types/timezone.h"
#include "types/zoned_time.h"

// time with time zone. Declared where the builtins are listed (bind/builtins_timetz.cc).
namespace scyper::query {

// clang-format off: as in runtime/functions.h
#define SCYPER_TIMETZ_FUNCTIONS(X) \
  X(timetz_add) X(timetz_add_reversed) X(timetz_subtract) X(timetz_on_date) X(date_with_timetz) X(timetz_extract) \
  X(timetz_part) X(timetz_at_zone) X(timetz_at_interval)
// clang-format on
#define SCYPER_DECLARE_FUNCTION(name) extern const ir::External k_fn_##name;
SCYPER_TIMETZ_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
#undef SCYPER_DECLARE_FUNCTION

namespace {

ZonedTime time_of(const Datum& datum) { return zoned_time_of_bytes(text_of(datum)); }
int32_t give_time(ExecContext* c, Datum* out, const ZonedTime& time) {
  return give_copy(c, out, bytes_of_zoned_time(time));
}

// Days and months do not count.
int32_t give_moved(ExecContext* c, const Datum& given, const Datum& by, int sign, Datum* out) {
  ZonedTime time = time_of(given);
  const int64_t moved = time.time + sign * (interval_of(by).micros % kMicrosPerDay);
  time.time = ((moved % kMicrosPerDay) + kMicrosPerDay) % kMicrosPerDay;
  return give_time(c, out, time);
}

int32_t give_moment(ExecContext* c, const Datum& date, const Datum& given, Datum* out) {
  const ZonedTime time = time_of(given);
  int64_t midnight = 0;
  ValueError error = date_to_timestamp(int4(date), &midnight);
  if (error != ValueError::kNone) return done(c, error);
  if (!is_finite_timestamp(midnight)) return give(out, midnight);
  const int64_t moment = midnight + time.time + time.west * kMicrosPerSecond;
  if (moment < kTimestampMin || moment > kTimestampMax) return done(c, ValueError::kTimestampRange);
  return give(out, moment);
}

int32_t give_part(ExecContext* c, const Datum* args, bool as_float, Datum* out) {
  const ZonedTime time = time_of(args[1]);
  const std::string_view name = text_of(args[0]);
  DatetimeUnit unit;
  Decimal value;
  ValueError error = unit_parse(name, &unit);
  if (error == ValueError::kNone && unit == DatetimeUnit::kTimezone) {
    const int64_t east = -int64_t{time.west};
    const char part = name.size() > 9 ? name[9] : ' ';  // behind timezone_
    value = decimal_of_int(part == ' ' ? east : part == 'h' || part == 'H' ? east / 3600 : east / 60 % 60);
  } else if (error == ValueError::kNone && unit == DatetimeUnit::kEpoch) {
    value = {time.time + time.west * kMicrosPerSecond, 6};
  } else if (error == ValueError::kNone) {
    error = time_extract(unit, time.time, &value);
  }
  *out = as_float ? float_datum(decimal_to_float8(value)) : datum_of(value);
  return done(c, error, name, make_type(TypeId::kTimetz));
}

extern "C" {

SCYPER_FUNCTION(timetz_add) { return give_moved(c, args[0], args[1], 1, out); }
SCYPER_FUNCTION(timetz_add_reversed) { return give_moved(c, args[1], args[0], 1, out); }
SCYPER_FUNCTION(timetz_subtract) { return give_moved(c, args[0], args[1], -1, out); }
SCYPER_FUNCTION(timetz_on_date) { return give_moment(c, args[1], args[0], out); }
SCYPER_FUNCTION(date_with_timetz) { return give_moment(c, args[0], args[1], out); }
SCYPER_FUNCTION(timetz_extract) { return give_part(c, args, false, out); }
SCYPER_FUNCTION(timetz_part) { return give_part(c, args, true, out); }
SCYPER_FUNCTION(timetz_at_zone) {
  int64_t local = 0;
  const ValueError error = zone_to_local(text_of(args[0]), c->transaction_time_us, &local);
  if (error != ValueError::kNone) return done(c, error, text_of(args[0]));
  const auto west = static_cast<int32_t>((c->transaction_time_us - local) / kMicrosPerSecond);
  return give_time(c, out, zoned_time_in(time_of(args[1]), west));
}
SCYPER_FUNCTION(timetz_at_interval) {
  const Interval zone = interval_of(args[0]);
  if (zone.months != 0 || zone.days != 0) {
    std::string text;
    append_datum(&text, make_type(TypeId::kInterval), args[0]);
    return c->fail("22023", "interval time zone \"" + text + "\" must not include months or days");
  }
  return give_time(c, out, zoned_time_in(time_of(args[1]), static_cast<int32_t>(-zone.micros / kMicrosPerSecond)));
}

}  // extern "C"

}  // namespace

SCYPER_TIMETZ_FUNCTIONS(SCYPER_DEFINE_FUNCTION)

}  // namespace scyper::query
