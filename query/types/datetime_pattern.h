#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

// The templates of to_char(), to_date() and to_timestamp(), cut into fields.
namespace scyper::query {

enum class Field : uint8_t {
  kLiteral,
  kHalfDay,
  kHalfDayDots,
  kEra,
  kEraDots,
  kCentury,
  kDayName,
  kDayShort,
  kDayOfYear,
  kDay,
  kDayOfWeek,
  kFraction,
  kHour24,
  kHour12,
  kIsoDayOfYear,
  kIsoDayOfWeek,
  kIsoWeek,
  kIsoYear,
  kIsoYear3,
  kIsoYear2,
  kIsoYear1,
  kJulian,
  kMinute,
  kMonth,
  kMonthName,
  kMonthShort,
  kMilli,
  kQuarter,
  kRoman,
  kSecond,
  kSecondOfDay,
  kZone,
  kZoneOffset,
  kZoneMinute,
  kMicro,
  kWeek,
  kWeekOfMonth,
  kYearComma,
  kYear,
  kYear3,
  kYear2,
  kYear1
};

inline constexpr const char* kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                          "July",    "August",   "September", "October", "November", "December"};
inline constexpr const char* kDays[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
struct Node {
  Field field = Field::kLiteral;
  std::string_view text;  // as the template has it
  bool fill = false;      // FM
  char ordinal = 0;       // 'T' or 't'
};

// `word` is in capitals.
bool starts_with_word(std::string_view text, std::string_view word);
std::vector<Node> read_pattern(std::string_view pattern);

}  // namespace scyper::query
