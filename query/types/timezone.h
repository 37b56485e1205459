#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "types/date_style.h"
#include "types/datetime.h"
#include "types/value_error.h"

// Time zones by name: PostgreSQL's usual abbreviations, which mean a constant displacement, and the names of the
// system's time zone database (Europe/Berlin), in any case, and POSIX names with a constant displacement (UTC+3, which
// is west). Other POSIX rules (EST5EDT,M3.2.0,...) are not known. Units: microseconds since 2000-01-01 00:00:00; local:
// of the clock in the zone.
namespace scyper::query {

// Of the system's database, as it is now.
struct KnownZone {
  std::string name, abbreviation;
  int64_t east_seconds = 0;
  bool is_summer = false;
};
std::vector<KnownZone> known_zones();

bool zone_exists(std::string_view name) noexcept;
// Is it one by POSIX, with the same displacement always?
bool zone_is_constant(std::string_view name) noexcept;

// kTimezoneUnknown, kTimestampRange.
[[nodiscard]] ValueError zone_to_local(std::string_view name, int64_t utc, int64_t* local) noexcept;
// A time that a clock skips counts as before the change; one that comes twice is the second one, as in PostgreSQL.
[[nodiscard]] ValueError zone_to_utc(std::string_view name, int64_t local, int64_t* utc) noexcept;

// The zone of a session (SET TimeZone): what timestamptz looks like, and what its texts without a zone mean. Immutable.
class SessionZone;
// The name of a zone as SHOW has it: a value of SET TimeZone is a name in any case, or hours east. Empty: there is
// none.
std::string session_zone_name(std::string_view value);
// How a session's intervals are written (SET IntervalStyle).
enum class IntervalStyle : uint8_t { kPostgres, kPostgresVerbose, kSqlStandard, kIso8601 };
// By such a name, or by a mark: the name, then the other settings if they are not those of a new session. Null: UTC and
// those settings, which need no work.
std::shared_ptr<const SessionZone> make_session_zone(std::string_view mark);
// Values of the settings that a mark holds, in the order of kMarkedSettings; empty: as in a new session.
constexpr size_t kMarkedSettingCount = 6;
constexpr std::string_view kMarkedSettings[kMarkedSettingCount] = {
    "TimeZone", "IntervalStyle", "DateStyle", "extra_float_digits", "bytea_output", "default_text_search_config"};
using MarkedSettings = std::array<std::string, kMarkedSettingCount>;
// Empty: all of them are those of a new session.
std::string make_zone_mark(MarkedSettings values);
MarkedSettings parts_of_zone_mark(std::string_view mark);

// While it lives, the zone of what this thread does; the zone outlives it.
class ZoneScope {
 public:
  explicit ZoneScope(const SessionZone* zone) noexcept : saved_(current) { current = zone; }
  ~ZoneScope() { current = saved_; }
  ZoneScope(const ZoneScope&) = delete;
  ZoneScope& operator=(const ZoneScope&) = delete;
  static inline constinit thread_local const SessionZone* current = nullptr;  // null: UTC

 private:
  const SessionZone* const saved_;
};

// All of the thread's zone.
std::string_view session_zone_name() noexcept;
// Of texts that begin with it (query/search_path.h). Empty: UTC.
std::string_view session_zone_mark() noexcept;
IntervalStyle session_interval_style() noexcept;
std::string_view session_interval_style_name() noexcept;
// Where an IsoDateScope or a DateOrderScope lives, what that says.
DateStyle session_date_style() noexcept;
std::string session_date_style_name();
// extra_float_digits; above 0: the shortest text that reads back as the same value.
int session_float_digits() noexcept;
bool session_escapes_bytes() noexcept;                   // bytea_output is escape
std::string_view session_text_configuration() noexcept;  // default_text_search_config
std::shared_ptr<const SessionZone> session_zone() noexcept;
int64_t session_zone_east(int64_t utc) noexcept;  // seconds
std::string session_zone_abbreviation(int64_t utc);
// What the zone's clock shows, which may lie a little beyond the range of timestamps. Infinity stays.
inline int64_t session_clock(int64_t utc) noexcept {
  const bool is_same = ZoneScope::current == nullptr || !is_finite_timestamp(utc);
  return is_same ? utc : utc + session_zone_east(utc) * kMicrosPerSecond;
}
[[nodiscard]] ValueError session_clock_to_utc(int64_t local, int64_t* utc) noexcept;
// timestamptz + interval: months and days by the zone's calendar. kTimestampRange.
[[nodiscard]] ValueError timestamptz_add(int64_t timestamp, const Interval& interval, int64_t* out) noexcept;

}  // namespace scyper::query
