#pragma once

#include <cstdint>
#include <string_view>

// The words in dates: PostgreSQL's token table, with its usual zone abbreviations.
namespace scyper::query {

enum class WordKind : uint8_t {
  kUnknown,
  kIgnored,
  kReserved,  // value: SpecialWord
  kMonth,     // 1..12
  kWeekday,
  kHalfDay,  // 0 = am, 1 = pm
  kEra,      // 1 = before Christ
  kZone,     // quarters of an hour east of Greenwich, as int8
  kTime,     // the T between date and time
  kJulian,   // the next number is a Julian day
  kUnit,     // the next number is one of those, by letter: y, m, d, h, s; n: minutes
};

enum class SpecialWord : uint8_t { kEpoch, kMidnight, kInfinity, kMinusInfinity, kNow, kToday, kTomorrow, kYesterday };

struct DatetimeWord {
  WordKind kind = WordKind::kUnknown;
  uint8_t value = 0;
};

constexpr int64_t zone_seconds(DatetimeWord zone) { return int64_t{static_cast<int8_t>(zone.value)} * 900; }

// Of an abbreviation whose meaning has changed: the zone whose history says what it means when (MSK: Europe/Moscow).
// Empty: it means the same always. In any case.
std::string_view zone_of_abbreviation(std::string_view name) noexcept;

// In any case; only the first ten letters count.
DatetimeWord find_datetime_word(std::string_view text) noexcept;

}  // namespace scyper::query
