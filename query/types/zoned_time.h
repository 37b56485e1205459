#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "types/value_error.h"

// time with time zone: a time of day and its zone's displacement.
namespace scyper::query {

struct ZonedTime {
  int64_t time = 0;  // microseconds since midnight, at most 24:00:00
  int32_t west = 0;  // seconds, as PostgreSQL keeps it
};

// As ordered bytes: the time in UTC, which may lie before midnight, then the displacement; both big-endian with the
// sign turned around.
ZonedTime zoned_time_of_bytes(std::string_view bytes);
std::string bytes_of_zoned_time(const ZonedTime& time);

// Without a zone: the session's at `now` (microseconds since 2000-01-01, UTC). digits: of the second that are kept.
// Errors as of time_parse(); word: what the message names.
[[nodiscard]] ValueError zoned_time_parse(std::string_view text, int32_t digits, int64_t now, ZonedTime* out,
                                          std::string_view* word) noexcept;
std::string zoned_time_text(const ZonedTime& time);
int64_t round_time(int64_t time, int32_t digits) noexcept;
// The same moment in a zone `west` seconds west of UTC.
ZonedTime zoned_time_in(const ZonedTime& time, int32_t west) noexcept;

}  // namespace scyper::query
