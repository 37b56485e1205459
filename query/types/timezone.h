#pragma once

#include <cstdint>
#include <string_view>

#include "types/value_error.h"

// Time zones by name: PostgreSQL's usual abbreviations, which mean a constant displacement, and the names of the
// system's time zone database (Europe/Berlin), in any case, and POSIX names with a constant displacement (UTC+3, which
// is west). Other POSIX rules (EST5EDT,M3.2.0,...) are not known. Units: microseconds since 2000-01-01 00:00:00; local:
// of the clock in the zone.
namespace scyper::query {

bool zone_exists(std::string_view name) noexcept;
// Is it one by POSIX, with the same displacement always?
bool zone_is_constant(std::string_view name) noexcept;

// kTimezoneUnknown, kTimestampRange.
[[nodiscard]] ValueError zone_to_local(std::string_view name, int64_t utc, int64_t* local) noexcept;
// A time that a clock skips counts as before the change; one that comes twice is the second one, as in PostgreSQL.
[[nodiscard]] ValueError zone_to_utc(std::string_view name, int64_t local, int64_t* utc) noexcept;

}  // namespace scyper::query
