#include "runtime/function_body.h"
#include "storage/time_modifier.h"
#include "types/format_datetime.h"
#include "types/format_number.h"
#include "types/timezone.h"

namespace scyper::query {

namespace {

int32_t give_formatted(ExecContext* c, const Status& status, const std::string& text, Datum* out) {
  return status.ok() ? give_copy(c, out, text) : c->fail(status);
}

extern "C" {

SCYPER_FUNCTION(to_char_timestamp) {
  if (args[1].size() == 0 || !is_finite_timestamp(args[0].lo)) return give_null(out);
  std::string text;
  Status status = format_timestamp(args[0].lo, text_of(args[1]), "", 0, &text);
  return give_formatted(c, status, text, out);
}
SCYPER_FUNCTION(to_char_interval) {
  if (args[1].size() == 0) return give_null(out);
  std::string text;
  Status status = format_interval(interval_of(args[0]), text_of(args[1]), &text);
  return give_formatted(c, status, text, out);
}
SCYPER_FUNCTION(to_char_number) {
  std::string text;
  constexpr int kRealDigits = 6, kDoubleDigits = 15;
  const TypeId type = types[0].id;
  const std::string_view pattern = text_of(args[1]);
  if (pattern.empty()) return give(out, std::string_view());
  Status status =
      is_float(type)
          ? format_number(float8(args[0]), type == TypeId::kFloat4 ? kRealDigits : kDoubleDigits, pattern, &text)
          : format_number(type == TypeId::kNumeric ? decimal_of(args[0]) : decimal_of_int(args[0].lo), type, pattern,
                          &text);
  return give_formatted(c, status, text, out);
}
SCYPER_FUNCTION(to_timestamp) {
  ParsedMoment moment;
  const Status status = parse_moment(text_of(args[0]), text_of(args[1]), &moment);
  if (!status.ok()) return c->fail(status);
  __int128 clock = static_cast<__int128>(moment.julian - kEpochJulian) * kMicrosPerDay + moment.time;
  if (moment.has_zone) clock -= moment.east * kMicrosPerSecond;
  if (clock < kTimestampMin || clock > kTimestampMax) return done(c, ValueError::kTimestampRange);
  auto value = static_cast<int64_t>(clock);
  const ValueError error = moment.has_zone ? ValueError::kNone : session_clock_to_utc(value, &value);
  *out = int_datum(value);
  if (moment.digits > 0) apply_time_modifier(make_string(TypeId::kTimestamptz, moment.digits), out);
  return done(c, error);
}
SCYPER_FUNCTION(to_date) {
  ParsedMoment moment;
  const std::string_view text = text_of(args[0]);
  const Status status = parse_moment(text, text_of(args[1]), &moment);
  if (!status.ok()) return c->fail(status);
  const int64_t day = moment.julian - kEpochJulian;
  if (day < kDateMin || day > kDateMax) return c->fail("22008", "date out of range: \"" + std::string(text) + "\"");
  return give(out, day);
}
SCYPER_FUNCTION(to_number) {
  if (args[1].size() == 0) return give_null(out);
  Decimal value;
  Status status = parse_number(text_of(args[0]), text_of(args[1]), &value);
  *out = datum_of(value);
  return status.ok() ? 0 : c->fail(status);
}

}  // extern "C"

}  // namespace

SCYPER_FORMAT_FUNCTIONS(SCYPER_DEFINE_FUNCTION)

}  // namespace scyper::query
