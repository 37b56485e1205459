#include "types/jsonpath_moment.h"

#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "types/datetime.h"
#include "types/format_datetime.h"
#include "types/timezone.h"

namespace scyper::query {

namespace {

constexpr int kSecondsOfHour = 3600;

// As PostgreSQL tries them: date, timetz, time, timestamptz, timestamp.
constexpr const char* kPatterns[] = {"yyyy-mm-dd",
                                     "HH24:MI:SS.USTZH:TZM",
                                     "HH24:MI:SS.USTZH",
                                     "HH24:MI:SSTZH:TZM",
                                     "HH24:MI:SSTZH",
                                     "HH24:MI:SS.US",
                                     "HH24:MI:SS",
                                     "yyyy-mm-dd HH24:MI:SS.USTZH:TZM",
                                     "yyyy-mm-dd HH24:MI:SS.USTZH",
                                     "yyyy-mm-dd HH24:MI:SSTZH:TZM",
                                     "yyyy-mm-dd HH24:MI:SSTZH",
                                     "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH:TZM",
                                     "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH",
                                     "yyyy-mm-dd\"T\"HH24:MI:SSTZH:TZM",
                                     "yyyy-mm-dd\"T\"HH24:MI:SSTZH",
                                     "yyyy-mm-dd HH24:MI:SS.US",
                                     "yyyy-mm-dd HH24:MI:SS",
                                     "yyyy-mm-dd\"T\"HH24:MI:SS.US",
                                     "yyyy-mm-dd\"T\"HH24:MI:SS"};

int64_t rounded(int64_t micros, int32_t digits) {
  if (digits == 0) return micros;
  int64_t unit = 1;
  for (int32_t i = digits; i < 6; i++) unit *= 10;
  return (micros + unit / 2) / unit * unit;
}

Status set_day(int64_t julian, int32_t* day) {
  if (julian - kEpochJulian < kDateMin || julian - kEpochJulian > kDateMax)
    return sql_error("22008", "date out of range");
  *day = static_cast<int32_t>(julian - kEpochJulian);
  return absl::OkStatus();
}

Status parse_one(std::string_view text, std::string_view pattern, PathMoment* out) {
  ParsedMoment parsed;
  StandardParts parts;
  SCYPER_RETURN_IF_ERROR(parse_standard_moment(text, pattern, &parsed, &parts));
  if (parts.has_zone && parts.has_date && !parts.has_time)
    return sql_error("22007", "datetime format is zoned but not timed");
  if (!parts.has_date && !parts.has_time) return sql_error("22007", "datetime format is not dated and not timed");
  out->kind = !parts.has_time   ? MomentKind::kDate
              : !parts.has_date ? (parts.has_zone ? MomentKind::kTimeWithZone : MomentKind::kTime)
              : parts.has_zone  ? MomentKind::kTimestampWithZone
                                : MomentKind::kTimestamp;
  if (parts.has_zone && !parsed.has_zone)
    return sql_error("22007", std::string("missing time zone in input string for type ") +
                                  (parts.has_date ? "timestamptz" : "timetz"));
  out->east = parts.has_zone ? parsed.east : 0;
  out->value = rounded(parsed.time, parsed.digits);
  if (!parts.has_date) return absl::OkStatus();
  int32_t day = 0;
  SCYPER_RETURN_IF_ERROR(set_day(parsed.julian, &day));
  if (!parts.has_time) return out->value = day, absl::OkStatus();
  int64_t midnight = 0;
  const char* type = parts.has_zone ? "timestamptz" : "timestamp";
  if (date_to_timestamp(day, &midnight) != ValueError::kNone)
    return sql_error("22008", std::string(type) + " out of range");
  out->value += midnight - int64_t{out->east} * kMicrosPerSecond;
  if (out->value < kTimestampMin || out->value > kTimestampMax)
    return sql_error("22008", std::string(type) + " out of range");
  return absl::OkStatus();
}

std::string zone_text(int32_t east) {
  char text[16];
  const int32_t size = std::abs(east), minute = size % kSecondsOfHour / 60, second = size % 60;
  std::snprintf(text, sizeof(text), "%c%02d:%02d", east < 0 ? '-' : '+', size / kSecondsOfHour, minute);
  std::string zone = text;
  if (second == 0) return zone;
  std::snprintf(text, sizeof(text), ":%02d", second);
  return zone + text;
}

bool is_of_day(MomentKind kind) { return kind == MomentKind::kTime || kind == MomentKind::kTimeWithZone; }

const char* short_name(MomentKind kind) {
  static constexpr const char* kNames[] = {"date", "time", "timetz", "timestamp", "timestamptz"};
  return kNames[static_cast<size_t>(kind)];
}

int sign(int64_t a, int64_t b) { return a < b ? -1 : a > b ? 1 : 0; }

// Of a date, a timestamp, or one with a zone, none after the other in that order.
Status compare_moments(const PathMoment& a, const PathMoment& b, bool with_zone, int* order) {
  if (a.kind == b.kind) return *order = sign(a.value, b.value), absl::OkStatus();
  if (b.kind == MomentKind::kTimestamp)
    return *order = date_compare_timestamp(static_cast<int32_t>(a.value), b.value), absl::OkStatus();
  if (!with_zone)
    return with_hint(sql_error("0A000", std::string("cannot convert value from ") + short_name(a.kind) + " to " +
                                            short_name(b.kind) + " without time zone usage"),
                     "Use *_tz() function for time zone support.");
  int64_t local = a.value, utc = 0;
  const bool is_beyond =
      a.kind == MomentKind::kDate && date_to_timestamp(static_cast<int32_t>(a.value), &local) != ValueError::kNone;
  if (is_beyond || session_clock_to_utc(local, &utc) != ValueError::kNone) return *order = 1, absl::OkStatus();
  *order = sign(utc, b.value);
  return absl::OkStatus();
}

// By the moment, then by the zone, the western one last.
int compare_zoned_times(const PathMoment& a, const PathMoment& b) {
  const int64_t x = a.value - int64_t{a.east} * kMicrosPerSecond, y = b.value - int64_t{b.east} * kMicrosPerSecond;
  return x != y ? sign(x, y) : sign(b.east, a.east);
}

}  // namespace

Status path_moment_parse(std::string_view text, const std::string* pattern, PathMoment* out) {
  if (pattern != nullptr) return parse_one(text, *pattern, out);
  for (const char* known : kPatterns)
    if (parse_one(text, known, out).ok()) return absl::OkStatus();
  return with_hint(sql_error("22031", "datetime format is not recognized: \"" + std::string(text) + "\""),
                   "Use a datetime template argument to specify the input data format.");
}

std::string path_moment_text(const PathMoment& moment) {
  char text[kTimestampTextMax];
  const int64_t clock = moment.value + int64_t{moment.east} * kMicrosPerSecond;
  switch (moment.kind) {
    case MomentKind::kDate:
      return {text, date_format(static_cast<int32_t>(moment.value), text)};
    case MomentKind::kTime:
    case MomentKind::kTimeWithZone:
      return std::string(text, time_format(moment.value, text)) +
             (moment.kind == MomentKind::kTimeWithZone ? zone_text(moment.east) : "");
    default:
      break;
  }
  std::string shown(text, timestamp_format(clock, text));
  const size_t era = shown.find(" BC");
  const std::string tail = era == std::string::npos ? "" : shown.substr(era);
  shown.resize(shown.size() - tail.size());
  if (const size_t blank = shown.find(' '); blank != std::string::npos) shown[blank] = 'T';
  if (moment.kind == MomentKind::kTimestampWithZone) shown += zone_text(moment.east);
  return shown + tail;
}

const char* path_moment_type(MomentKind kind) {
  static constexpr const char* kNames[] = {"date", "time without time zone", "time with time zone",
                                           "timestamp without time zone", "timestamp with time zone"};
  return kNames[static_cast<size_t>(kind)];
}

Status path_moment_compare(const PathMoment& a, const PathMoment& b, bool with_zone, bool* comparable, int* order) {
  *comparable = is_of_day(a.kind) == is_of_day(b.kind);
  if (!*comparable) return absl::OkStatus();
  if (!is_of_day(a.kind)) {
    if (a.kind <= b.kind) return compare_moments(a, b, with_zone, order);
    SCYPER_RETURN_IF_ERROR(compare_moments(b, a, with_zone, order));
    return *order = -*order, absl::OkStatus();
  }
  if (a.kind == MomentKind::kTime && b.kind == MomentKind::kTime)
    return *order = sign(a.value, b.value), absl::OkStatus();
  PathMoment x = a, y = b;
  for (PathMoment* side : {&x, &y}) {
    if (side->kind != MomentKind::kTime) continue;
    if (!with_zone)
      return with_hint(sql_error("0A000", "cannot convert value from time to timetz without time zone usage"),
                       "Use *_tz() function for time zone support.");
    side->east = static_cast<int32_t>(session_zone_east(0));
  }
  *order = compare_zoned_times(x, y);
  return absl::OkStatus();
}

}  // namespace scyper::query
