#include <algorithm>
#include <cstring>
#include <string>

#include "types/datetime.h"
#include "types/digits.h"
#include "types/timezone.h"

// Dates and times as texts, in the forms of DateStyle.
namespace scyper::query {

namespace {

constexpr size_t kZoneLettersMax = 10;  // MAXTZLEN

char* write_word(const char* word, size_t size, char* out) noexcept {
  std::memcpy(out, word, size);
  return out + size;
}

char* write_year(const CivilDate& civil, char* out) noexcept {
  const int64_t year = civil.year > 0 ? civil.year : 1 - int64_t{civil.year};
  return year < 10000 ? write_fixed(out, static_cast<uint64_t>(year), 4)
                      : write_unsigned(out, static_cast<uint64_t>(year));
}

char* write_era(const CivilDate& civil, char* out) noexcept { return civil.year > 0 ? out : write_word(" BC", 3, out); }

// Day and month in the style's order.
char* write_day_month(const CivilDate& civil, DateStyle style, char between, char* out) noexcept {
  const bool day_first = style.form == DateForm::kGerman || style.order == DateOrder::kDayFirst;
  out = write_fixed(out, static_cast<uint64_t>(day_first ? civil.day : civil.month), 2);
  *out++ = between;
  return write_fixed(out, static_cast<uint64_t>(day_first ? civil.month : civil.day), 2);
}

char* write_date(const CivilDate& civil, DateStyle style, char* out) noexcept {
  if (style.form == DateForm::kIso) {
    out = write_year(civil, out);
    *out++ = '-';
    out = write_fixed(out, static_cast<uint64_t>(civil.month), 2);
    *out++ = '-';
    return write_fixed(out, static_cast<uint64_t>(civil.day), 2);
  }
  const char between = style.form == DateForm::kSql ? '/' : style.form == DateForm::kGerman ? '.' : '-';
  out = write_day_month(civil, style, between, out);
  *out++ = between;
  return write_year(civil, out);
}

// +02, -05:30, +00:53:28
char* write_zone(int64_t east, char* out) noexcept {
  const auto seconds = static_cast<uint64_t>(east < 0 ? -east : east);
  *out++ = east < 0 ? '-' : '+';
  out = write_fixed(out, seconds / 3600, seconds >= 100 * 3600 ? 3 : 2);
  if (seconds % 3600 == 0) return out;
  *out++ = ':';
  out = write_fixed(out, seconds / 60 % 60, 2);
  if (seconds % 60 == 0) return out;
  *out++ = ':';
  return write_fixed(out, seconds % 60, 2);
}

char* write_time(int64_t time, char* out) noexcept {
  uint64_t micros = static_cast<uint64_t>(time % kMicrosPerSecond);
  uint64_t seconds = static_cast<uint64_t>(time / kMicrosPerSecond);
  out = write_fixed(out, seconds / 3600, 2);
  *out++ = ':';
  out = write_fixed(out, seconds / 60 % 60, 2);
  *out++ = ':';
  out = write_fixed(out, seconds % 60, 2);
  if (micros == 0) return out;
  *out++ = '.';
  out = write_fixed(out, micros, 6);
  while (out[-1] == '0') --out;
  return out;
}

char* write_infinity(bool is_negative, char* out) noexcept {
  if (is_negative) *out++ = '-';
  return write_word("infinity", 8, out);
}

// Thu Jan 02 10:00:00 2003: the day's name, then day and month in the style's order.
char* write_long_form(int64_t day, const CivilDate& civil, DateStyle style, int64_t time, char* out) noexcept {
  constexpr char kDays[] = "MonTueWedThuFriSatSun", kMonths[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const int64_t weekday = ((day + kEpochJulian) % 7 + 7) % 7;
  out = write_word(kDays + 3 * weekday, 3, out);
  *out++ = ' ';
  const bool day_first = style.order == DateOrder::kDayFirst;
  if (day_first) {
    out = write_fixed(out, static_cast<uint64_t>(civil.day), 2);
    *out++ = ' ';
  }
  out = write_word(kMonths + 3 * (civil.month - 1), 3, out);
  *out++ = ' ';
  if (!day_first) {
    out = write_fixed(out, static_cast<uint64_t>(civil.day), 2);
    *out++ = ' ';
  }
  out = write_time(time, out);
  *out++ = ' ';
  return write_year(civil, out);
}

// The era that follows is in the caller's hand, behind a zone.
char* write_moment(int64_t local, DateStyle style, CivilDate* civil, char* out) noexcept {
  int64_t time;
  const int64_t day = split_timestamp(local, &time);
  *civil = civil_of_julian(day + kEpochJulian);
  if (style.form == DateForm::kPostgres) return write_long_form(day, *civil, style, time, out);
  out = write_date(*civil, style, out);
  *out++ = ' ';
  return write_time(time, out);
}

}  // namespace

char* date_format(int32_t date, char* out) noexcept {
  if (!is_finite_date(date)) return write_infinity(date < 0, out);
  const CivilDate civil = civil_of_julian(int64_t{date} + kEpochJulian);
  return write_era(civil, write_date(civil, session_date_style(), out));
}

char* timestamp_format(int64_t timestamp, char* out) noexcept {
  if (!is_finite_timestamp(timestamp)) return write_infinity(timestamp < 0, out);
  CivilDate civil;
  out = write_moment(timestamp, session_date_style(), &civil, out);
  return write_era(civil, out);
}

char* timestamptz_format(int64_t timestamp, char* out) noexcept {
  if (!is_finite_timestamp(timestamp)) return write_infinity(timestamp < 0, out);
  CivilDate civil;
  const int64_t east = session_zone_east(timestamp);
  const DateStyle style = session_date_style();
  out = write_moment(timestamp + east * kMicrosPerSecond, style, &civil, out);
  if (style.form == DateForm::kIso) return write_era(civil, write_zone(east, out));
  const std::string zone = session_zone_abbreviation(timestamp);
  *out++ = ' ';
  out = write_word(zone.data(), std::min(zone.size(), kZoneLettersMax), out);
  return write_era(civil, out);
}

char* time_format(int64_t time, char* out) noexcept { return write_time(time, out); }

}  // namespace scyper::query
