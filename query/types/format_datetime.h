#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "types/interval.h"

// to_char() of timestamps and intervals, to_date() and to_timestamp(): PostgreSQL's templates (formatting.c), English
// names.
namespace scyper::query {

// zone: what TZ shows, empty for a timestamp without one; east: its seconds east of Greenwich.
Status format_timestamp(int64_t timestamp, std::string_view pattern, std::string_view zone, int64_t east,
                        std::string* out);
Status format_interval(const Interval& interval, std::string_view pattern, std::string* out);

struct ParsedMoment {
  int64_t julian = 0;  // the day
  int64_t time = 0;    // microseconds since midnight
  bool has_zone = false;
  int32_t east = 0;    // seconds
  int32_t digits = 0;  // of FF1 to FF6; 0: not given
};
// Missing parts: year 1 BC, January, the first, midnight.
Status parse_moment(std::string_view text, std::string_view pattern, ParsedMoment* out);

// What a template reads.
struct StandardParts {
  bool has_date = false;
  bool has_time = false;
  bool has_zone = false;
};
// As SQL's standard and jsonpath's datetime() want it: separators are those of the template, nothing may be left out
// or left over. 22007.
Status parse_standard_moment(std::string_view text, std::string_view pattern, ParsedMoment* out, StandardParts* parts);

}  // namespace scyper::query
