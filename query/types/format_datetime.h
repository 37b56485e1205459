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
// Missing parts: year 1 BC, January, the first, midnight.
Status parse_timestamp(std::string_view text, std::string_view pattern, int64_t* out);

}  // namespace scyper::query
