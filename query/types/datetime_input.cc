#include "types/datetime.h"
#include "types/datetime_parser.h"
#include "types/timezone.h"

// What the fields of a text mean as a value of a type.
namespace scyper::query {

namespace {

// The years PostgreSQL can count days for.
bool is_countable(int64_t year, int32_t month) noexcept {
  return (year > -4713 || (year == -4713 && month >= 11)) && (year < 5874898 || (year == 5874898 && month < 6));
}

int64_t special_moment(const DatetimeParser& parser) noexcept {
  switch (parser.moment()) {
    case SpecialWord::kInfinity:
      return kTimestampInfinity;
    case SpecialWord::kMinusInfinity:
      return kTimestampMinusInfinity;
    default:
      return -10957 * kMicrosPerDay;  // 1970-01-01
  }
}

}  // namespace

ValueError date_parse(std::string_view text, int32_t* out, std::string_view* word) noexcept {
  DatetimeParser parser;
  ValueError error = parser.parse(text);
  if (word != nullptr) *word = parser.word;
  if (error != ValueError::kNone) return error;
  if (parser.is_special()) return *out = timestamp_to_date(special_moment(parser)), ValueError::kNone;
  if (!is_countable(parser.year, parser.month)) return ValueError::kDateTextRange;
  int64_t date = julian_of(parser.year, parser.month, parser.day) - kEpochJulian;
  if (date < kDateMin || date > kDateMax) return ValueError::kDateTextRange;
  *out = static_cast<int32_t>(date);
  return ValueError::kNone;
}

namespace {

// The clock's time that the text shows; its range is checked where the zone is known.
ValueError local_time(const DatetimeParser& parser, int64_t* out) noexcept {
  if (!is_countable(parser.year, parser.month)) return ValueError::kTimestampTextRange;
  int64_t day = julian_of(parser.year, parser.month, parser.day) - kEpochJulian;
  int128 timestamp = static_cast<int128>(day) * kMicrosPerDay + parser.time;
  if (timestamp < kTimestampMin - kMicrosPerDay || timestamp > int128{kTimestampMax} + kMicrosPerDay)
    return ValueError::kTimestampTextRange;
  *out = static_cast<int64_t>(timestamp);
  return ValueError::kNone;
}

}  // namespace

ValueError timestamp_parse(std::string_view text, int64_t* out, std::string_view* word) noexcept {
  DatetimeParser parser;
  ValueError error = parser.parse(text);
  if (word != nullptr) *word = parser.word;
  if (error != ValueError::kNone) return error;
  if (parser.is_special()) return *out = special_moment(parser), ValueError::kNone;
  error = local_time(parser, out);
  bool in_range = error != ValueError::kNone || (*out >= kTimestampMin && *out <= kTimestampMax);
  return in_range ? error : ValueError::kTimestampTextRange;
}

ValueError timestamptz_parse(std::string_view text, int64_t* out, std::string_view* word) noexcept {
  DatetimeParser parser;
  ValueError error = parser.parse(text);
  if (word != nullptr) *word = parser.word;
  if (error != ValueError::kNone) return error;
  if (parser.is_special()) return *out = special_moment(parser), ValueError::kNone;
  int64_t local = 0;
  if (error = local_time(parser, &local); error != ValueError::kNone) return error;
  if (!parser.zone_name.empty()) {
    error = zone_to_utc(parser.zone_name, local, out);
    return error == ValueError::kTimestampRange ? ValueError::kTimestampTextRange : error;
  }
  if (!parser.has_zone()) {
    error = session_clock_to_utc(local, out);
    return error == ValueError::kTimestampRange ? ValueError::kTimestampTextRange : error;
  }
  *out = local - parser.zone_east * kMicrosPerSecond;  // at most a day: no overflow
  return *out < kTimestampMin || *out > kTimestampMax ? ValueError::kTimestampTextRange : ValueError::kNone;
}

ValueError time_parse(std::string_view text, int64_t* out, std::string_view* word) noexcept {
  DatetimeParser parser;
  parser.time_only = true;
  ValueError error = parser.parse(text);
  if (word != nullptr) *word = parser.word;
  if (error != ValueError::kNone) return error;
  if (parser.time < 0 || parser.time > kMicrosPerDay) return ValueError::kDatetimeFieldRange;
  *out = parser.time;
  return ValueError::kNone;
}

}  // namespace scyper::query
