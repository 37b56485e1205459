#include "runtime/function_body.h"
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
  std::string text;
  Status status = format_timestamp(args[0].lo, text_of(args[1]), "", 0, &text);
  return give_formatted(c, status, text, out);
}
SCYPER_FUNCTION(to_char_interval) {
  std::string text;
  Status status = format_interval(interval_of(args[0]), text_of(args[1]), &text);
  return give_formatted(c, status, text, out);
}
SCYPER_FUNCTION(to_char_number) {
  std::string text;
  Status status = is_float(types[0].id) ? format_number(float8(args[0]), text_of(args[1]), &text)
                  : types[0].id == TypeId::kNumeric
                      ? format_number(decimal_of(args[0]), text_of(args[1]), &text)
                      : format_number(decimal_of_int(args[0].lo), text_of(args[1]), &text);
  return give_formatted(c, status, text, out);
}
SCYPER_FUNCTION(to_timestamp) {
  int64_t value = 0;
  Status status = parse_timestamp(text_of(args[0]), text_of(args[1]), &value);
  if (!status.ok()) return c->fail(status);
  const ValueError error = session_clock_to_utc(value, &value);
  return give(out, value), done(c, error);
}
SCYPER_FUNCTION(to_date) {
  int64_t value = 0;
  Status status = parse_timestamp(text_of(args[0]), text_of(args[1]), &value);
  return status.ok() ? give(out, int64_t{timestamp_to_date(value)}) : c->fail(status);
}
SCYPER_FUNCTION(to_number) {
  Decimal value;
  Status status = parse_number(text_of(args[0]), text_of(args[1]), &value);
  *out = datum_of(value);
  return status.ok() ? 0 : c->fail(status);
}

}  // extern "C"

}  // namespace

SCYPER_FORMAT_FUNCTIONS(SCYPER_DEFINE_FUNCTION)

}  // namespace scyper::query
