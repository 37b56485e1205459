#include "types/zoned_time.h"

#include <cstdlib>

#include "types/big_endian.h"
#include "types/datetime.h"
#include "types/datetime_parser.h"
#include "types/digits.h"
#include "types/timezone.h"

namespace scyper::query {

namespace {

constexpr size_t kTimeBytes = 8, kZoneBytes = 4;

// Seconds west of the zone where its clock shows `local`.
ValueError west_of_zone(std::string_view zone, int64_t local, int32_t* west) noexcept {
  int64_t utc = 0;
  const ValueError error = zone_to_utc(zone, local, &utc);
  *west = static_cast<int32_t>((utc - local) / kMicrosPerSecond);
  return error;
}

// Whether the zone's displacement is the same on all days of a year.
bool is_constant(std::string_view zone) noexcept {
  int32_t winter = 0, summer = 0;
  constexpr int64_t kHalfYear = 182 * kMicrosPerDay, kSome = 20 * 365 * kMicrosPerDay;
  return west_of_zone(zone, kSome, &winter) == ValueError::kNone &&
         west_of_zone(zone, kSome + kHalfYear, &summer) == ValueError::kNone && winter == summer;
}

ValueError find_west(const DatetimeParser& parser, int64_t now, int32_t* west) noexcept {
  const bool has_date = parser.month != 0 && parser.day != 0;
  if (!has_date && (parser.month != 0 || parser.day != 0)) return ValueError::kInvalidDatetimeText;
  const int64_t day = has_date ? julian_of(parser.year, parser.month, parser.day) - kEpochJulian : 0;
  const int64_t local = has_date ? day * kMicrosPerDay + parser.time : session_clock(now);
  if (!parser.zone_name.empty()) {
    if (!has_date && zone_exists(parser.zone_name) && !is_constant(parser.zone_name))
      return ValueError::kInvalidDatetimeText;
    return west_of_zone(parser.zone_name, local, west);
  }
  if (parser.has_zone()) return *west = static_cast<int32_t>(-parser.zone_east), ValueError::kNone;
  if (!has_date) return *west = static_cast<int32_t>(-session_zone_east(now)), ValueError::kNone;
  int64_t utc = 0;
  const ValueError error = session_clock_to_utc(local, &utc);
  *west = static_cast<int32_t>((utc - local) / kMicrosPerSecond);
  return error;
}

}  // namespace

ZonedTime zoned_time_of_bytes(std::string_view bytes) {
  ZonedTime out;
  out.west = static_cast<int32_t>(ordered_integer_of(bytes.substr(kTimeBytes, kZoneBytes)));
  out.time = ordered_integer_of(bytes.substr(0, kTimeBytes)) - out.west * kMicrosPerSecond;
  return out;
}

std::string bytes_of_zoned_time(const ZonedTime& time) {
  std::string bytes;
  append_ordered_integer(&bytes, time.time + time.west * kMicrosPerSecond, kTimeBytes);
  append_ordered_integer(&bytes, time.west, kZoneBytes);
  return bytes;
}

int64_t round_time(int64_t time, int32_t digits) noexcept {
  const auto unit = static_cast<int64_t>(kPowersOfTen64[6 - digits]);
  return (time + unit / 2) / unit * unit;
}

ValueError zoned_time_parse(std::string_view text, int32_t digits, int64_t now, ZonedTime* out,
                            std::string_view* word) noexcept {
  DatetimeParser parser;
  parser.time_only = true;
  ValueError error = parser.parse(text);
  *word = parser.word;
  if (error != ValueError::kNone) return error;
  if (parser.time < 0 || parser.time > kMicrosPerDay) return ValueError::kDatetimeFieldRange;
  out->time = round_time(parser.time, digits);
  return find_west(parser, now, &out->west);
}

std::string zoned_time_text(const ZonedTime& time) {
  char text[64];
  char* end = time_format(time.time, text);
  const auto west = static_cast<uint64_t>(std::abs(time.west));
  *end++ = time.west > 0 ? '-' : '+';
  end = write_fixed(end, west / 3600, 2);
  const uint64_t minutes = west / 60 % 60, seconds = west % 60;
  if (minutes != 0 || seconds != 0) {
    *end++ = ':';
    end = write_fixed(end, minutes, 2);
  }
  if (seconds != 0) {
    *end++ = ':';
    end = write_fixed(end, seconds, 2);
  }
  return {text, static_cast<size_t>(end - text)};
}

ZonedTime zoned_time_in(const ZonedTime& time, int32_t west) noexcept {
  int64_t moved = time.time + (int64_t{time.west} - west) * kMicrosPerSecond;
  moved = ((moved % kMicrosPerDay) + kMicrosPerDay) % kMicrosPerDay;
  return {moved, west};
}

}  // namespace scyper::query
