#include "types/format_datetime.h"

#include <algorithm>
#include <cstdio>

#include "types/datetime_pattern.h"
#include "types/digits.h"

namespace scyper::query {

namespace {

constexpr const char* kRoman[] = {"I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"};

}  // namespace

namespace {

// A moment or an interval, in the parts that templates ask for.
struct Parts {
  bool is_interval = false;
  std::string_view zone;
  int64_t east = 0;                                          // of Greenwich, in seconds
  int64_t year = 0;                                          // astronomical
  int32_t month = 0, day = 0, day_of_year = 0, weekday = 0;  // Sunday = 0
  int64_t iso_year = 0, iso_week = 0, iso_day_of_year = 0, julian = 0;
  int64_t hour = 0;
  int32_t minute = 0, second = 0, micro = 0;
};

int64_t shown_year(int64_t year) { return year > 0 ? year : 1 - year; }

class Writer {
 public:
  Writer(const Parts& parts, std::string* out) : p_(parts), out_(out) {}

  void write(const Node& node) {
    size_t start = out_->size();
    write_field(node);
    if (node.ordinal == 0 || !takes_ordinal(node.field) || out_->size() == start) return;
    std::string_view number(out_->data() + start, out_->size() - start);
    char last = number.empty() ? '0' : number.back();
    bool teen = number.size() > 1 && number[number.size() - 2] == '1';
    const char* suffix = teen || last < '1' || last > '3' ? "th" : last == '1' ? "st" : last == '2' ? "nd" : "rd";
    for (const char* c = suffix; *c != 0; c++) out_->push_back(node.ordinal == 'T' ? to_upper(*c) : *c);
  }

 private:
  // Names, zones and Roman numbers do not.
  static bool takes_ordinal(Field field) { return is_digit_field(field) && field != Field::kZoneMinute; }
  void number(const Node& node, int64_t value, int width) {
    char text[192];  // gcc reckons with any width
    int minimum = node.fill ? 0 : value < 0 ? width + 1 : width;
    std::snprintf(text, sizeof(text), "%0*lld", minimum, static_cast<long long>(value));
    out_->append(text);
  }
  // In the letters of the keyword: DAY, Day, day.
  void name(const Node& node, std::string_view name, size_t width) {
    bool first_upper = node.text[0] >= 'A' && node.text[0] <= 'Z';
    bool all_upper = first_upper && node.text[1] >= 'A' && node.text[1] <= 'Z';
    for (size_t i = 0; i < name.size(); i++)
      out_->push_back(all_upper || (first_upper && i == 0) ? to_upper(name[i]) : to_lower(name[i]));
    if (!node.fill && !node.localized && name.size() < width) out_->append(width - name.size(), ' ');
  }
  void word(const Node& node, const char* upper) {
    for (const char* c = upper; *c != 0; c++) out_->push_back(node.text[0] >= 'a' ? to_lower(*c) : *c);
  }

  void write_field(const Node& node) {
    switch (node.field) {
      case Field::kLiteral:
      case Field::kSeparator:
      case Field::kSpace:
        out_->append(node.text);
        break;
      case Field::kFixed:
        break;
      case Field::kHalfDay:
        word(node, p_.hour % 24 >= 12 ? "PM" : "AM");
        break;
      case Field::kHalfDayDots:
        word(node, p_.hour % 24 >= 12 ? "P.M." : "A.M.");
        break;
      case Field::kHour12:
        number(node, p_.hour % 12 == 0 ? 12 : p_.hour % 12, 2);
        break;
      case Field::kHour24:
        number(node, p_.hour, 2);
        break;
      case Field::kMinute:
        number(node, p_.minute, 2);
        break;
      case Field::kSecond:
        number(node, p_.second, 2);
        break;
      case Field::kFraction: {
        int digits = node.text[2] - '0';
        int32_t divisor = 1;
        for (int i = digits; i < 6; i++) divisor *= 10;
        number({node.field, node.text, false, 0}, p_.micro / divisor, digits);
        break;
      }
      case Field::kMilli:
        number({node.field, node.text, false, 0}, p_.micro / 1000, 3);
        break;
      case Field::kMicro:
        number({node.field, node.text, false, 0}, p_.micro, 6);
        break;
      case Field::kSecondOfDay:
        number({node.field, node.text, true, 0}, p_.hour * 3600 + p_.minute * 60 + p_.second, 1);
        break;
      case Field::kZone:
        for (char c : p_.zone) out_->push_back(node.text[0] == 't' ? to_lower(c) : c);
        break;
      case Field::kZoneOffset:
      case Field::kZoneHour: {
        const bool has_minutes = node.field == Field::kZoneOffset && std::abs(p_.east) % 3600 != 0;
        const bool is_open = node.field == Field::kZoneOffset && node.fill;
        out_->push_back(p_.east < 0 ? '-' : '+');
        number({node.field, node.text, is_open, 0}, std::abs(p_.east) / 3600, 2);
        if (!has_minutes) break;
        out_->push_back(':');
        number({node.field, node.text, false, 0}, std::abs(p_.east) / 60 % 60, 2);
        break;
      }
      case Field::kZoneMinute:
        number({node.field, node.text, false, 0}, std::abs(p_.east) / 60 % 60, 2);
        break;
      default:
        write_date(node);
    }
  }

  void write_date(const Node& node) {
    switch (node.field) {
      case Field::kEra:
        word(node, p_.year <= 0 ? "BC" : "AD");
        break;
      case Field::kEraDots:
        word(node, p_.year <= 0 ? "B.C." : "A.D.");
        break;
      case Field::kMonthName:
        if (p_.month > 0) name(node, kMonths[p_.month - 1], 9);
        break;
      case Field::kMonthShort:
        if (p_.month > 0) name(node, std::string_view(kMonths[p_.month - 1], 3), 3);
        break;
      case Field::kMonth:
        number(node, p_.month, 2);
        break;
      case Field::kDayName:
        name(node, kDays[p_.weekday], 9);
        break;
      case Field::kDayShort:
        name(node, std::string_view(kDays[p_.weekday], 3), 3);
        break;
      case Field::kDay:  // a sign takes room of the width
        number(node, p_.day, p_.day < 0 ? 1 : 2);
        break;
      case Field::kDayOfYear:
        number(node, p_.day_of_year, p_.day_of_year < 0 ? 2 : 3);
        break;
      case Field::kIsoDayOfYear:
        number(node, p_.iso_day_of_year, 3);
        break;
      case Field::kDayOfWeek:
        number({node.field, node.text, true, 0}, p_.weekday + 1, 1);
        break;
      case Field::kIsoDayOfWeek:
        number({node.field, node.text, true, 0}, p_.weekday == 0 ? 7 : p_.weekday, 1);
        break;
      case Field::kWeek:
        number(node, (p_.day_of_year - 1) / 7 + 1, p_.day_of_year < -6 ? 1 : 2);
        break;
      case Field::kIsoWeek:
        number(node, p_.iso_week, 2);
        break;
      case Field::kWeekOfMonth:
        number({node.field, node.text, true, 0}, (p_.day - 1) / 7 + 1, 1);
        break;
      case Field::kQuarter:
        if (p_.month != 0) number({node.field, node.text, true, 0}, (p_.month - 1) / 3 + 1, 1);
        break;
      case Field::kJulian:
        number({node.field, node.text, true, 0}, p_.julian, 1);
        break;
      case Field::kRoman: {
        if (p_.month == 0 && p_.year == 0) break;
        // of an interval: whole years are December, months below 0 count from the end
        const int32_t month = p_.month > 0 ? p_.month : p_.month < 0 ? p_.month + 13 : p_.year > 0 ? 12 : 1;
        std::string_view roman = kRoman[month - 1];
        for (char c : roman) out_->push_back(node.text[0] >= 'a' ? to_lower(c) : c);
        if (!node.fill) out_->append(4 - roman.size(), ' ');
        break;
      }
      default:
        write_year(node);
    }
  }

  void write_year(const Node& node) {
    int64_t year = p_.is_interval ? p_.year : shown_year(p_.year);
    int64_t iso = p_.is_interval ? p_.iso_year : shown_year(p_.iso_year);
    const int sign_room = iso < 0 && year >= 0 ? 1 : 0;  // the calendar's year decides the width
    switch (node.field) {
      case Field::kCentury: {
        const int64_t century = p_.is_interval ? p_.year / 100
                                : p_.year > 0  ? (p_.year - 1) / 100 + 1
                                               : p_.year / 100 - 1;
        const bool is_long = century > 99 || century < -99;
        number({node.field, node.text, node.fill || is_long, 0}, century, 2);
        break;
      }
      case Field::kYearComma: {
        char text[48];
        std::snprintf(text, sizeof(text), "%lld,%03lld", static_cast<long long>(year / 1000),
                      static_cast<long long>(year % 1000));
        out_->append(text);
        break;
      }
      case Field::kYear:
        number(node, year, 4);
        break;
      case Field::kYear3:
        number(node, year % 1000, 3);
        break;
      case Field::kYear2:
        number(node, year % 100, 2);
        break;
      case Field::kYear1:
        number(node, year % 10, 1);
        break;
      case Field::kIsoYear:
        number(node, iso, 4 - sign_room);
        break;
      case Field::kIsoYear3:
        number(node, iso % 1000, 3 - sign_room);
        break;
      case Field::kIsoYear2:
        number(node, iso % 100, 2 - sign_room);
        break;
      default:
        number(node, iso % 10, 1);
    }
  }

  const Parts& p_;
  std::string* out_;
};

int64_t integer_part(DatetimeUnit unit, int64_t timestamp) {
  Decimal value;
  bool is_null = false;
  if (timestamp_extract(unit, timestamp, &value, &is_null) != ValueError::kNone) return 0;
  return static_cast<int64_t>(value.value);
}

}  // namespace

Status format_timestamp(int64_t timestamp, std::string_view pattern, std::string_view zone, int64_t east,
                        std::string* out) {
  Parts parts;
  parts.zone = zone;
  parts.east = east;
  int64_t time;
  parts.julian = split_timestamp(timestamp, &time) + kEpochJulian;
  CivilDate civil = civil_of_julian(parts.julian);
  parts.year = civil.year;
  parts.month = civil.month;
  parts.day = civil.day;
  parts.day_of_year = static_cast<int32_t>(parts.julian - julian_of(civil.year, 1, 1)) + 1;
  parts.weekday = static_cast<int32_t>(integer_part(DatetimeUnit::kDayOfWeek, timestamp));
  parts.iso_year = integer_part(DatetimeUnit::kIsoYear, timestamp);
  if (parts.iso_year < 0) parts.iso_year++;
  parts.iso_week = integer_part(DatetimeUnit::kWeek, timestamp);
  parts.iso_day_of_year = (parts.iso_week - 1) * 7 + (parts.weekday == 0 ? 7 : parts.weekday);
  parts.hour = time / (3600 * kMicrosPerSecond);
  parts.minute = static_cast<int32_t>(time / (60 * kMicrosPerSecond) % 60);
  parts.second = static_cast<int32_t>(time / kMicrosPerSecond % 60);
  parts.micro = static_cast<int32_t>(time % kMicrosPerSecond);
  Writer writer(parts, out);
  for (const Node& node : read_pattern(pattern)) writer.write(node);
  return absl::OkStatus();
}

namespace {
// PostgreSQL's formula, also for months and days that no calendar has.
int64_t julian_of_parts(int64_t year, int64_t month, int64_t day) {
  const int64_t y = month > 2 ? year + 4800 : year + 4799, m = month > 2 ? month + 1 : month + 13;
  const int64_t century = y / 100;
  return y * 365 - 32167 + y / 4 - century + century / 4 + 7834 * m / 256 + day;
}

int64_t first_iso_day(int64_t year) {
  const int64_t fourth = julian_of_parts(year, 1, 4);
  return fourth - ((fourth % 7) + 7) % 7;
}

// Weeks of an interval, as if it were a date.
void take_iso_parts(Parts* parts) {
  const int64_t day = julian_of_parts(parts->year, parts->month, parts->day);
  int64_t year = parts->year;
  if (day < first_iso_day(year)) --year;
  int64_t week = (day - first_iso_day(year)) / 7 + 1;
  if (week >= 52 && day >= first_iso_day(parts->year + 1)) {
    year = parts->year + 1;
    week = (day - first_iso_day(year)) / 7 + 1;
  }
  parts->julian = day;
  parts->iso_year = year;
  parts->iso_week = week;
  parts->iso_day_of_year = day - first_iso_day(year) + 1;
}

bool is_of_dates(Field field) {
  return field == Field::kDayName || field == Field::kDayShort || field == Field::kEra || field == Field::kEraDots ||
         field == Field::kMonthName || field == Field::kMonthShort || field == Field::kDayOfWeek ||
         field == Field::kIsoDayOfWeek || field == Field::kZone || field == Field::kZoneOffset ||
         field == Field::kZoneHour || field == Field::kZoneMinute;
}
}  // namespace

Status format_interval(const Interval& interval, std::string_view pattern, std::string* out) {
  Parts parts;
  parts.is_interval = true;
  parts.year = interval.months / 12;
  parts.month = interval.months % 12;
  parts.day = interval.days;
  parts.hour = interval.micros / (3600 * kMicrosPerSecond);
  parts.minute = static_cast<int32_t>(interval.micros / (60 * kMicrosPerSecond) % 60);
  parts.second = static_cast<int32_t>(interval.micros / kMicrosPerSecond % 60);
  parts.micro = static_cast<int32_t>(interval.micros % kMicrosPerSecond);
  parts.day_of_year = interval.months / 12 * 360 + interval.months % 12 * 30 + interval.days;
  take_iso_parts(&parts);
  Writer writer(parts, out);
  for (const Node& node : read_pattern(pattern)) {
    if (is_of_dates(node.field))
      return with_hint(sql_error("22007", "invalid format specification for an interval value"),
                       "Intervals are not tied to specific calendar dates.");
    writer.write(node);
  }
  return absl::OkStatus();
}

}  // namespace scyper::query
