#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

// The templates of to_char(), to_date() and to_timestamp(), cut into fields as parse_format() of formatting.c does.
namespace scyper::query {

enum class Field : uint8_t {
  kLiteral,    // one character that is copied
  kSeparator,  // one that is neither letter nor digit
  kSpace,
  kFixed,  // FX: the text has the template's widths from here on
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
  kZoneOffset,  // OF
  kZoneHour,
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
  std::string_view text;   // as the template has it
  bool fill = false;       // FM
  char ordinal = 0;        // 'T' or 't'
  bool localized = false;  // TM: names are not padded
};

inline bool is_action(const Node& node) { return node.field > Field::kSpace; }
// Its text consists of digits, as PostgreSQL's table of keywords says.
bool is_digit_field(Field field);
bool is_separator(char c);

std::vector<Node> read_pattern(std::string_view pattern);

}  // namespace scyper::query
