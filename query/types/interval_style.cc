#include "types/interval_style.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "types/digits.h"

// Intervals in the styles postgres_verbose, sql_standard and iso_8601: PostgreSQL's EncodeInterval().
namespace scyper::query {

namespace {

// Each with its own sign.
struct IntervalFields {
  int64_t year, month, day, hour, minute, second, micros;

  explicit IntervalFields(const Interval& interval) noexcept
      : year(interval.months / 12),
        month(interval.months % 12),
        day(interval.days),
        hour(interval.micros / (3600 * kMicrosPerSecond)),
        minute(interval.micros / (60 * kMicrosPerSecond) % 60),
        second(interval.micros / kMicrosPerSecond % 60),
        micros(interval.micros % kMicrosPerSecond) {}

  bool has_year_month() const { return year != 0 || month != 0; }
  bool has_time() const { return hour != 0 || minute != 0 || has_seconds(); }
  bool has_seconds() const { return second != 0 || micros != 0; }
  bool is_time_negative() const { return hour < 0 || minute < 0 || second < 0 || micros < 0; }
  bool is_time_positive() const { return hour > 0 || minute > 0 || second > 0 || micros > 0; }
};

char* append_text(char* out, const char* text) noexcept {
  const size_t size = std::strlen(text);
  std::memcpy(out, text, size);
  return out + size;
}

// Without their sign.
char* append_seconds(char* out, const IntervalFields& f, bool fills) noexcept {
  const auto second = static_cast<uint64_t>(std::abs(f.second));
  out = fills ? write_fixed(out, second, 2) : write_unsigned(out, second);
  if (f.micros == 0) return out;
  *out++ = '.';
  out = write_fixed(out, static_cast<uint64_t>(std::abs(f.micros)), 6);
  while (out[-1] == '0') --out;
  return out;
}

char* append_clock(char* out, const IntervalFields& f) noexcept {
  out = write_unsigned(out, static_cast<uint64_t>(std::abs(f.hour)));
  *out++ = ':';
  out = write_fixed(out, static_cast<uint64_t>(std::abs(f.minute)), 2);
  *out++ = ':';
  return append_seconds(out, f, /*fills=*/true);
}

char* append_year_month(char* out, const IntervalFields& f) noexcept {
  out = write_unsigned(out, static_cast<uint64_t>(std::abs(f.year)));
  *out++ = '-';
  return write_unsigned(out, static_cast<uint64_t>(std::abs(f.month)));
}

// One sign before all of it, or one before each of its three parts.
char* format_standard(const IntervalFields& f, char* out) noexcept {
  const bool is_negative = f.year < 0 || f.month < 0 || f.day < 0 || f.is_time_negative();
  const bool is_positive = f.year > 0 || f.month > 0 || f.day > 0 || f.is_time_positive();
  if (!is_negative && !is_positive) return append_text(out, "0");
  const bool is_mixed = (is_negative && is_positive) || (f.has_year_month() && (f.day != 0 || f.has_time()));
  if (is_mixed) {
    *out++ = f.year < 0 || f.month < 0 ? '-' : '+';
    out = append_year_month(out, f);
    *out++ = ' ';
    *out++ = f.day < 0 ? '-' : '+';
    out = write_unsigned(out, static_cast<uint64_t>(std::abs(f.day)));
    *out++ = ' ';
    *out++ = f.is_time_negative() ? '-' : '+';
    return append_clock(out, f);
  }
  if (is_negative) *out++ = '-';
  if (f.has_year_month()) return append_year_month(out, f);
  if (f.day != 0) {
    out = write_unsigned(out, static_cast<uint64_t>(std::abs(f.day)));
    *out++ = ' ';
  }
  return append_clock(out, f);
}

char* append_designated(char* out, int64_t value, char unit) noexcept {
  if (value == 0) return out;
  out = write_signed(out, value);
  *out++ = unit;
  return out;
}

char* format_iso(const IntervalFields& f, char* out) noexcept {
  if (!f.has_year_month() && f.day == 0 && !f.has_time()) return append_text(out, "PT0S");
  *out++ = 'P';
  out = append_designated(out, f.year, 'Y');
  out = append_designated(out, f.month, 'M');
  out = append_designated(out, f.day, 'D');
  if (f.has_time()) *out++ = 'T';
  out = append_designated(out, f.hour, 'H');
  out = append_designated(out, f.minute, 'M');
  if (!f.has_seconds()) return out;
  if (f.second < 0 || f.micros < 0) *out++ = '-';
  out = append_seconds(out, f, /*fills=*/false);
  *out++ = 'S';
  return out;
}

// The first part that is not 0 says whether all of it is "ago".
char* append_named(char* out, int64_t value, const char* unit, bool* is_zero, bool* is_before) noexcept {
  if (value == 0) return out;
  if (*is_zero) *is_before = value < 0;
  if (*is_before) value = -value;
  *out++ = ' ';
  out = write_signed(out, value);
  *out++ = ' ';
  out = append_text(out, unit);
  if (value != 1) *out++ = 's';
  *is_zero = false;
  return out;
}

char* format_verbose(const IntervalFields& f, char* out) noexcept {
  bool is_zero = true, is_before = false;
  *out++ = '@';
  out = append_named(out, f.year, "year", &is_zero, &is_before);
  out = append_named(out, f.month, "mon", &is_zero, &is_before);
  out = append_named(out, f.day, "day", &is_zero, &is_before);
  out = append_named(out, f.hour, "hour", &is_zero, &is_before);
  out = append_named(out, f.minute, "min", &is_zero, &is_before);
  if (f.has_seconds()) {
    *out++ = ' ';
    const bool is_negative = f.second < 0 || f.micros < 0;
    if (is_zero) {
      is_before = is_negative;
    } else if (is_negative != is_before) {
      *out++ = '-';
    }
    out = append_seconds(out, f, /*fills=*/false);
    out = append_text(out, std::abs(f.second) != 1 || f.micros != 0 ? " secs" : " sec");
    is_zero = false;
  }
  if (is_zero) out = append_text(out, " 0");
  return is_before ? append_text(out, " ago") : out;
}

}  // namespace

char* interval_format_styled(const Interval& interval, IntervalStyle style, char* out) noexcept {
  const IntervalFields fields(interval);
  switch (style) {
    case IntervalStyle::kPostgres:
      break;
    case IntervalStyle::kPostgresVerbose:
      return format_verbose(fields, out);
    case IntervalStyle::kSqlStandard:
      return format_standard(fields, out);
    case IntervalStyle::kIso8601:
      return format_iso(fields, out);
  }
  return out;
}

}  // namespace scyper::query
