#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>

#include "types/datetime_pattern.h"
#include "types/digits.h"
#include "types/format_datetime.h"
#include "types/text.h"

// to_date() and to_timestamp(): DCH_from_char() and do_to_timestamp() of PostgreSQL's formatting.c.
namespace scyper::query {

namespace {

enum class Convention : uint8_t { kAny, kGregorian, kIsoWeek };

Convention convention_of(Field field) {
  switch (field) {
    case Field::kDayOfYear:
    case Field::kDay:
    case Field::kDayOfWeek:
    case Field::kMonth:
    case Field::kMonthName:
    case Field::kMonthShort:
    case Field::kRoman:
    case Field::kWeek:
    case Field::kWeekOfMonth:
    case Field::kYearComma:
    case Field::kYear:
    case Field::kYear3:
    case Field::kYear2:
    case Field::kYear1:
      return Convention::kGregorian;
    case Field::kIsoDayOfYear:
    case Field::kIsoDayOfWeek:
    case Field::kIsoWeek:
    case Field::kIsoYear:
    case Field::kIsoYear3:
    case Field::kIsoYear2:
    case Field::kIsoYear1:
      return Convention::kIsoWeek;
    default:
      return Convention::kAny;
  }
}

// What the text said; 0: nothing.
struct Given {
  int hour = 0, minute = 0, second = 0, milli = 0, micro = 0, second_of_day = 0, afternoon = 0;
  int year = 0, year_digits = 0, century = 0, before_christ = 0;
  int month = 0, day = 0, day_of_year = 0, julian = 0, week = 0, week_of_month = 0;
  int weekday = 0;  // 1 = Sunday
  int zone_sign = 0, zone_hour = 0, zone_minute = 0;
  int fraction_digits = 0;  // of FF1 to FF6
  bool has_twelve_hours = false;
  Convention convention = Convention::kAny;
};

constexpr const char* kWidthHint = "If your source string is not fixed-width, try using the \"FM\" modifier.";

int full_year(int year) {
  if (year < 70) return year + 2000;
  if (year < 100) return year + 1900;
  if (year < 520) return year + 2000;
  return year < 1000 ? year + 1000 : year;
}

void add_part(Field field, StandardParts* parts) {
  switch (field) {
    case Field::kHalfDay:
    case Field::kHalfDayDots:
    case Field::kFraction:
    case Field::kHour24:
    case Field::kHour12:
    case Field::kMinute:
    case Field::kMilli:
    case Field::kSecond:
    case Field::kSecondOfDay:
    case Field::kMicro:
      parts->has_time = true;
      return;
    case Field::kZone:
    case Field::kZoneOffset:
    case Field::kZoneHour:
    case Field::kZoneMinute:
      parts->has_zone = true;
      return;
    case Field::kLiteral:
    case Field::kSeparator:
    case Field::kSpace:
    case Field::kFixed:
      return;
    default:
      parts->has_date = true;
  }
}

// The template's separators, outside of quotes.
Status check_standard_pattern(std::string_view pattern) {
  constexpr std::string_view kSeparators = "-./,':; ";
  for (const Node& node : read_pattern(pattern)) {
    if (node.field != Field::kLiteral && node.field != Field::kSeparator && node.field != Field::kSpace) continue;
    const size_t at = static_cast<size_t>(node.text.data() - pattern.data());
    const bool is_quoted = std::count(pattern.begin(), pattern.begin() + static_cast<ptrdiff_t>(at), '"') % 2 != 0;
    if (!is_quoted && kSeparators.find(node.text[0]) == std::string_view::npos)
      return sql_error("22007", "invalid datetime format separator: \"" + std::string(node.text) + "\"");
  }
  return absl::OkStatus();
}

// Reads a text by a template.
class Reader {
 public:
  Reader(std::string_view text, std::string_view pattern, bool is_standard = false)
      : text_(text), nodes_(read_pattern(pattern)), is_fixed_(is_standard), is_standard_(is_standard) {}

  Status run(Given* out) {
    size_t i = 0;
    for (; i < nodes_.size() && *at() != 0; ++i) {
      const Node& node = nodes_[i];
      node_ = i;
      if (!is_fixed_ && node.field != Field::kFixed && (is_action(node) || i == 0)) skip_spaces();
      if (is_standard_ && (node.field == Field::kSeparator || node.field == Field::kSpace)) {
        SCYPER_RETURN_IF_ERROR(take_separator(node));
        continue;
      }
      if (!is_action(node)) {
        if (is_standard_ && !text_.substr(at_).starts_with(node.text))
          return sql_error("22007", "unmatched format character \"" + std::string(node.text) + "\"");
        take_character(node);
        continue;
      }
      SCYPER_RETURN_IF_ERROR(note_convention(node.field));
      SCYPER_RETURN_IF_ERROR(take_field(node));
      if (is_fixed_) continue;
      skipped_ = 0;
      skip_spaces();
    }
    *out = given_;
    return is_standard_ ? check_end(i) : absl::OkStatus();
  }

  StandardParts parts() const {
    StandardParts parts;
    for (const Node& node : nodes_) add_part(node.field, &parts);
    return parts;
  }

 private:
  const char* at() const { return text_.c_str() + at_; }
  void skip_spaces() {
    for (; is_space(*at()); ++at_) ++skipped_;
  }
  void skip_character() { at_ = std::min(at_ + (*at() == 0 ? 0 : character_size(*at())), text_.size()); }

  Status take_separator(const Node& node) {
    if (*at() != node.text[0])
      return sql_error("22007", "unmatched format separator \"" + std::string(node.text.substr(0, 1)) + "\"");
    ++at_;
    return absl::OkStatus();
  }
  Status check_end(size_t node) {
    if (node < nodes_.size()) return sql_error("22007", "input string is too short for datetime format");
    skip_spaces();
    if (*at() == 0) return absl::OkStatus();
    return sql_error("22007", "trailing characters remain in input string after datetime format");
  }

  // Which character stands there does not matter.
  void take_character(const Node& node) {
    if (is_fixed_) return skip_character();
    if (node.field == Field::kLiteral) {  // perhaps blanks have been skipped for it
      if (skipped_ > 0) {
        --skipped_;
      } else {
        skip_character();
      }
      return;
    }
    --skipped_;
    if (!is_space(*at()) && !is_separator(*at())) return;
    ++at_;
    ++skipped_;
  }

  // A date is one of months and days or one of ISO weeks.
  Status note_convention(Field field) {
    const Convention found = convention_of(field);
    if (found == Convention::kAny) return absl::OkStatus();
    if (given_.convention != Convention::kAny && given_.convention != found)
      return with_hint(sql_error("22007", "invalid combination of date conventions"),
                       "Do not mix Gregorian and ISO week date conventions in a formatting template.");
    given_.convention = found;
    return absl::OkStatus();
  }

  static Status set(const Node& node, int value, int* field) {
    if (*field != 0 && *field != value)
      return with_detail(
          sql_error("22007", "conflicting values for \"" + std::string(node.text) + "\" field in formatting string"),
          "This value contradicts a previous setting for the same field type.");
    *field = value;
    return absl::OkStatus();
  }

  // Whether a number ends where its digits do.
  bool ends_by_itself() const {
    if (nodes_[node_].ordinal != 0 || node_ + 1 == nodes_.size()) return true;
    const Node& next = nodes_[node_ + 1];
    return is_action(next) ? !is_digit_field(next.field) : !(next.text.size() == 1 && is_digit(next.text[0]));
  }

  // A number, with a width where another one follows it at once. used: the characters it had.
  Status take_number(const Node& node, size_t width, int* field, size_t* used = nullptr) {
    const size_t start = at_;
    while (is_space(*at())) ++at_;
    const std::string piece = text_.substr(at_, width);
    const std::string name(node.text);
    long value = 0;
    errno = 0;
    if (node.fill || ends_by_itself()) {
      char* end = nullptr;
      value = std::strtol(text_.c_str() + start, &end, 10);
      at_ = static_cast<size_t>(end - text_.c_str());
    } else {
      if (piece.size() < width)
        return with_hint(
            with_detail(sql_error("22007", "source string too short for \"" + name + "\" formatting field"),
                        "Field requires " + std::to_string(width) + " characters, but only " +
                            std::to_string(piece.size()) + " remain."),
            kWidthHint);
      char* end = nullptr;
      value = std::strtol(piece.c_str(), &end, 10);
      const auto read = static_cast<size_t>(end - piece.c_str());
      if (read > 0 && read < width)
        return with_hint(with_detail(sql_error("22007", "invalid value \"" + piece + "\" for \"" + name + "\""),
                                     "Field requires " + std::to_string(width) + " characters, but only " +
                                         std::to_string(read) + " could be parsed."),
                         kWidthHint);
      at_ += read;
    }
    if (at_ == start)
      return with_detail(sql_error("22007", "invalid value \"" + piece + "\" for \"" + name + "\""),
                         "Value must be an integer.");
    if (errno == ERANGE || value < INT32_MIN || value > INT32_MAX)
      return with_detail(sql_error("22008", "value for \"" + name + "\" in source string is out of range"),
                         "Value must be in the range -2147483648 to 2147483647.");
    if (used != nullptr) *used = at_ - start;
    return field == nullptr ? absl::OkStatus() : set(node, static_cast<int>(value), field);
  }
  // Of the width of its keyword.
  Status take_number(const Node& node, int* field) { return take_number(node, node.text.size(), field); }

  // Digits behind the point of a second: as many zeros follow as are left out.
  Status take_fraction(const Node& node, size_t width, int* field) {
    size_t used = 0;
    SCYPER_RETURN_IF_ERROR(take_number(node, width, field, &used));
    const size_t digits = node.field == Field::kMilli ? 3 : 6;
    for (size_t i = used; i < digits; ++i) *field *= 10;
    return absl::OkStatus();
  }

  // One of the words; at most `size` letters of each count.
  Status take_word(const Node& node, const char* const* words, int count, size_t size, int* index) {
    for (int i = 0; i < count; ++i) {
      const std::string_view word = std::string_view(words[i]).substr(0, size);
      if (text_.size() - at_ < word.size()) continue;
      const bool fits = std::equal(word.begin(), word.end(), text_.begin() + static_cast<ptrdiff_t>(at_),
                                   [](char a, char b) { return to_lower(a) == to_lower(b); });
      if (!fits) continue;
      at_ += word.size();
      *index = i;
      return absl::OkStatus();
    }
    size_t end = at_;
    while (end < text_.size() && !is_space(text_[end])) ++end;
    return with_detail(sql_error("22007", "invalid value \"" + text_.substr(at_, end - at_) + "\" for \"" +
                                              std::string(node.text) + "\""),
                       "The given value did not match any of the allowed values for this field.");
  }

  Status take_field(const Node& node) {
    SCYPER_RETURN_IF_ERROR(take_time(node));
    if (is_digit_field(node.field) && node.ordinal != 0 && node.field != Field::kZoneMinute) {
      skip_character();
      skip_character();
    }
    return absl::OkStatus();
  }

  Status take_time(const Node& node) {
    switch (node.field) {
      case Field::kFixed:
        is_fixed_ = true;
        return absl::OkStatus();
      case Field::kHour12:
        given_.has_twelve_hours = true;
        return take_number(node, 2, &given_.hour);
      case Field::kHour24:
        return take_number(node, 2, &given_.hour);
      case Field::kMinute:
        return take_number(node, &given_.minute);
      case Field::kSecond:
        return take_number(node, &given_.second);
      case Field::kMilli:
        return take_fraction(node, 3, &given_.milli);
      case Field::kFraction:
        given_.fraction_digits = node.text[2] - '0';
        return take_fraction(node, static_cast<size_t>(given_.fraction_digits), &given_.micro);
      case Field::kMicro:
        return take_fraction(node, 6, &given_.micro);
      case Field::kSecondOfDay:
        return take_number(node, &given_.second_of_day);
      case Field::kZone:
      case Field::kZoneOffset:
        return sql_error("0A000", "formatting field \"" + std::string(node.text) + "\" is only supported in to_char");
      case Field::kZoneHour:
        return take_zone_hour(node);
      case Field::kZoneMinute:
        if (given_.zone_sign == 0) given_.zone_sign = 1;
        return take_number(node, 2, &given_.zone_minute);
      default:
        return take_name(node);
    }
  }

  // A sign before it may have been taken for a separator.
  Status take_zone_hour(const Node& node) {
    if (*at() == '+' || *at() == '-' || *at() == ' ') {
      given_.zone_sign = *at() == '-' ? -1 : 1;
      ++at_;
    } else {
      given_.zone_sign = skipped_ > 0 && at_ > 0 && text_[at_ - 1] == '-' ? -1 : 1;
    }
    return take_number(node, 2, &given_.zone_hour);
  }

  Status take_name(const Node& node) {
    static constexpr const char* kHalves[] = {"AM", "PM"};
    static constexpr const char* kHalvesDots[] = {"A.M.", "P.M."};
    static constexpr const char* kEras[] = {"AD", "BC"};
    static constexpr const char* kErasDots[] = {"A.D.", "B.C."};
    static constexpr const char* kRoman[] = {"xii", "xi", "x", "ix", "viii", "vii", "vi", "v", "iv", "iii", "ii", "i"};
    constexpr size_t kWhole = 16, kShort = 3;
    int index = 0;
    switch (node.field) {
      case Field::kHalfDay:
      case Field::kHalfDayDots:
        SCYPER_RETURN_IF_ERROR(
            take_word(node, node.field == Field::kHalfDay ? kHalves : kHalvesDots, 2, kWhole, &index));
        given_.has_twelve_hours = true;
        return set(node, index, &given_.afternoon);
      case Field::kEra:
      case Field::kEraDots:
        SCYPER_RETURN_IF_ERROR(take_word(node, node.field == Field::kEra ? kEras : kErasDots, 2, kWhole, &index));
        return set(node, index, &given_.before_christ);
      case Field::kMonthName:
      case Field::kMonthShort: {
        const bool is_whole = node.field == Field::kMonthName;
        SCYPER_RETURN_IF_ERROR(take_word(node, kMonths, 12, is_whole ? kWhole : kShort, &index));
        return set(node, index + 1, &given_.month);
      }
      case Field::kDayName:
      case Field::kDayShort:
        SCYPER_RETURN_IF_ERROR(take_word(node, kDays, 7, node.field == Field::kDayName ? kWhole : kShort, &index));
        SCYPER_RETURN_IF_ERROR(set(node, index, &given_.weekday));
        ++given_.weekday;
        return absl::OkStatus();
      case Field::kRoman:
        SCYPER_RETURN_IF_ERROR(take_word(node, kRoman, 12, kWhole, &index));
        return set(node, 12 - index, &given_.month);
      default:
        return take_date(node);
    }
  }

  Status take_date(const Node& node) {
    switch (node.field) {
      case Field::kMonth:
        return take_number(node, &given_.month);
      case Field::kDay:
        return take_number(node, &given_.day);
      case Field::kDayOfYear:
        return take_number(node, &given_.day_of_year);
      case Field::kIsoDayOfYear:
        return take_number(node, 3, &given_.day_of_year);
      case Field::kDayOfWeek:
        return take_number(node, &given_.weekday);
      case Field::kIsoDayOfWeek:  // kept as 1 = Sunday
        SCYPER_RETURN_IF_ERROR(take_number(node, 1, &given_.weekday));
        if (++given_.weekday > 7) given_.weekday = 1;
        return absl::OkStatus();
      case Field::kJulian:
        return take_number(node, &given_.julian);
      case Field::kWeek:
      case Field::kIsoWeek:
        return take_number(node, &given_.week);
      case Field::kWeekOfMonth:
        return take_number(node, &given_.week_of_month);
      case Field::kQuarter:  // says nothing
        return take_number(node, nullptr);
      case Field::kCentury:
        return take_number(node, &given_.century);
      default:
        return take_year(node);
    }
  }

  Status take_year(const Node& node) {
    switch (node.field) {
      case Field::kYearComma: {
        int thousands = 0, years = 0, size = 0;
        if (std::sscanf(at(), "%d,%03d%n", &thousands, &years, &size) < 2)
          return sql_error("22007", "invalid input string for \"Y,YYY\"");
        int year = 0;
        if (__builtin_mul_overflow(thousands, 1000, &year) || __builtin_add_overflow(year, years, &year))
          return sql_error("22008", "value for \"Y,YYY\" in source string is out of range");
        at_ += static_cast<size_t>(size);
        given_.year_digits = 4;
        return set(node, year, &given_.year);
      }
      case Field::kYear:
      case Field::kIsoYear:
        given_.year_digits = 4;
        return take_number(node, &given_.year);
      default: {
        size_t used = 0;
        SCYPER_RETURN_IF_ERROR(take_number(node, node.text.size(), &given_.year, &used));
        if (used < 4) given_.year = full_year(given_.year);
        given_.year_digits = static_cast<int>(node.text.size());
        return absl::OkStatus();
      }
    }
  }

  const std::string text_;
  const std::vector<Node> nodes_;
  size_t node_ = 0;
  size_t at_ = 0;
  int skipped_ = 0;        // blanks and separators that the template does not have
  bool is_fixed_ = false;  // blanks of the text are not skipped
  const bool is_standard_;
  Given given_;
};

// Puts a moment together from what was given.
class Assembler {
 public:
  Assembler(const Given& given, std::string_view text) : g_(given), text_(text) {}

  Status run(ParsedMoment* out) {
    SCYPER_RETURN_IF_ERROR(take_clock());
    take_years();
    SCYPER_RETURN_IF_ERROR(take_days());
    SCYPER_RETURN_IF_ERROR(check_date());
    const int64_t fraction = int64_t{g_.milli} * 1000 + g_.micro;
    if (hour_ < 0 || hour_ >= 24 || minute_ < 0 || minute_ >= 60 || second_ < 0 || second_ >= 60 || fraction < 0 ||
        fraction >= kMicrosPerSecond)
      return out_of_range();
    constexpr int kZoneHoursMax = 15;
    if (g_.zone_sign != 0 &&
        (g_.zone_hour < 0 || g_.zone_hour > kZoneHoursMax || g_.zone_minute < 0 || g_.zone_minute >= 60))
      return sql_error("22009", "time zone displacement out of range: \"" + std::string(text_) + "\"");
    constexpr int kYearMin = -4713, kYearMax = 5874898;
    constexpr int64_t kBeyondAll = int64_t{1} << 40;  // days
    const bool is_beyond = year_ < kYearMin || year_ > kYearMax || g_.julian < 0;
    out->julian = is_beyond ? kBeyondAll : julian_of(year_, month_, 1) + day_ - 1;
    out->time = ((int64_t{hour_} * 60 + minute_) * 60 + second_) * kMicrosPerSecond + fraction;
    out->has_zone = g_.zone_sign != 0;
    out->east = g_.zone_sign * (g_.zone_hour * 3600 + g_.zone_minute * 60);
    out->digits = g_.fraction_digits;
    return absl::OkStatus();
  }

 private:
  Status out_of_range() const {
    return sql_error("22008", "date/time field value out of range: \"" + std::string(text_) + "\"");
  }

  // The clock's fields win over the second of the day.
  Status take_clock() {
    hour_ = g_.hour != 0 ? g_.hour : g_.second_of_day / 3600;
    minute_ = g_.minute != 0 ? g_.minute : g_.second_of_day % 3600 / 60;
    second_ = g_.second != 0 ? g_.second : g_.second_of_day % 60;
    if (!g_.has_twelve_hours) return absl::OkStatus();
    if (hour_ < 1 || hour_ > 12)
      return with_hint(sql_error("22007", "hour \"" + std::to_string(hour_) + "\" is invalid for the 12-hour clock"),
                       "Use the 24-hour clock, or give an hour between 1 and 12.");
    hour_ = hour_ % 12 + (g_.afternoon != 0 ? 12 : 0);
    return absl::OkStatus();
  }

  void take_years() {
    const int century = g_.before_christ != 0 ? -g_.century : g_.century;
    has_year_ = g_.year != 0 || g_.century != 0;
    if (g_.year != 0 && g_.century != 0 && g_.year_digits <= 2) {
      year_ = g_.year % 100;
      if (year_ != 0) {
        year_ = century >= 0 ? year_ + (century - 1) * 100 : (century + 1) * 100 - year_ + 1;
      } else {
        year_ = century * 100 + (century >= 0 ? 0 : 1);
      }
    } else if (g_.year != 0) {
      year_ = g_.before_christ != 0 ? -g_.year : g_.year;
      if (year_ < 0) ++year_;
    } else if (g_.century != 0) {  // its first year
      year_ = century >= 0 ? (century - 1) * 100 + 1 : century * 100 + 1;
    }
  }

  void take_julian(int64_t julian) {
    const CivilDate date = civil_of_julian(julian);
    year_ = date.year;
    month_ = date.month;
    day_ = date.day;
    has_year_ = has_month_ = has_day_ = true;
  }

  // The Julian day of a Monday.
  int64_t monday_of_week(int week) const {
    const int64_t fourth = julian_of(year_, 1, 4);
    return int64_t{week - 1} * 7 + fourth - ((fourth % 7) + 7) % 7;
  }

  Status take_days() {
    int day_of_year = g_.day_of_year;
    int day = g_.day;
    if (g_.julian != 0) take_julian(g_.julian);
    if (g_.week != 0 && g_.convention == Convention::kIsoWeek) {
      const int from_monday = g_.weekday == 0 ? 0 : g_.weekday > 1 ? g_.weekday - 2 : 6;
      take_julian(monday_of_week(g_.week) + from_monday);
    } else if (g_.week != 0) {
      day_of_year = (g_.week - 1) * 7 + 1;
    }
    if (g_.week_of_month != 0) day = (g_.week_of_month - 1) * 7 + 1;
    if (day != 0) day_ = day, has_day_ = true;
    if (g_.month != 0) month_ = g_.month, has_month_ = true;
    if (day_of_year == 0 || (month_ > 1 && day_ > 1)) return absl::OkStatus();
    if (year_ == 0 && g_.before_christ == 0)
      return sql_error("22007", "cannot calculate day of year without year information");
    if (g_.convention == Convention::kIsoWeek)
      return take_julian(monday_of_week(1) - 1 + day_of_year), absl::OkStatus();
    const int64_t first = julian_of(year_, 1, 1);
    int month = 1;
    const auto days_until = [&](int of_month) {  // the end of that month
      return static_cast<int>((of_month == 12 ? julian_of(year_ + 1, 1, 1) : julian_of(year_, of_month + 1, 1)) -
                              first);
    };
    while (month <= 12 && day_of_year > days_until(month)) ++month;
    if (month_ <= 1) month_ = month;
    if (day_ <= 1) day_ = day_of_year - (month == 1 ? 0 : days_until(month - 1));
    has_month_ = has_day_ = true;
    return absl::OkStatus();
  }

  Status check_date() const {
    if (has_month_ && (month_ < 1 || month_ > 12)) return out_of_range();
    if (has_day_ && (day_ < 1 || day_ > 31)) return out_of_range();
    if (!has_year_ || !has_month_ || !has_day_) return absl::OkStatus();
    const int64_t next = month_ == 12 ? julian_of(int64_t{year_} + 1, 1, 1) : julian_of(year_, month_ + 1, 1);
    return day_ > next - julian_of(year_, month_, 1) ? out_of_range() : absl::OkStatus();
  }

  const Given& g_;
  const std::string_view text_;
  int hour_ = 0, minute_ = 0, second_ = 0;
  int year_ = 0, month_ = 1, day_ = 1;
  bool has_year_ = false, has_month_ = false, has_day_ = false;
};

}  // namespace

Status parse_moment(std::string_view text, std::string_view pattern, ParsedMoment* out) {
  Given given;
  SCYPER_RETURN_IF_ERROR(Reader(text, pattern).run(&given));
  return Assembler(given, text).run(out);
}

Status parse_standard_moment(std::string_view text, std::string_view pattern, ParsedMoment* out, StandardParts* parts) {
  SCYPER_RETURN_IF_ERROR(check_standard_pattern(pattern));
  Given given;
  Reader reader(text, pattern, true);
  SCYPER_RETURN_IF_ERROR(reader.run(&given));
  *parts = reader.parts();
  return Assembler(given, text).run(out);
}

}  // namespace scyper::query
