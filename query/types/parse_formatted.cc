#include <algorithm>
#include <cstring>
#include <string>

#include "types/datetime_pattern.h"
#include "types/digits.h"
#include "types/format_datetime.h"

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

// Reads a text by a template.
class Reader {
 public:
  Reader(std::string_view text, std::string_view pattern) : text_(text), nodes_(read_pattern(pattern)) {}

  Status run(int64_t* out) {
    for (size_t i = 0; i < nodes_.size() && at_ < text_.size(); i++) {
      next_is_field_ = i + 1 < nodes_.size() && nodes_[i + 1].field != Field::kLiteral;
      SCYPER_RETURN_IF_ERROR(take(nodes_[i]));
    }
    return finish(out);
  }

 private:
  Status out_of_range() const {
    return sql_error("22008", "date/time field value out of range: \"" + std::string(text_) + "\"");
  }

  Status take(const Node& node) {
    if (node.field == Field::kLiteral) {
      bool letter = !node.text.empty() && ((node.text[0] | 32) >= 'a' && (node.text[0] | 32) <= 'z');
      if (letter || node.text.size() > 1 || (!node.text.empty() && is_digit(node.text[0]))) {
        at_ = std::min(at_ + node.text.size(), text_.size());
        return absl::OkStatus();
      }
      // any separator stands for any other, with blanks around it
      while (at_ < text_.size() && is_space(text_[at_])) at_++;
      if (at_ < text_.size() && !is_digit(text_[at_]) && !is_letter(text_[at_]) && text_[at_] != '+' &&
          !is_space(text_[at_]))
        at_++;
      while (at_ < text_.size() && is_space(text_[at_])) at_++;
      return absl::OkStatus();
    }
    while (at_ < text_.size() && is_space(text_[at_])) at_++;
    SCYPER_RETURN_IF_ERROR(note_convention(node.field));
    Status status = take_field(node);
    if (status.ok() && node.ordinal != 0) at_ = std::min(at_ + 2, text_.size());
    return status;
  }

  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

  // A field that comes twice has to have one value; 0 counts as none.
  static Status set(const Node& node, int64_t value, int64_t* field) {
    if (*field != 0 && *field != value)
      return with_detail(
          sql_error("22007", "conflicting values for \"" + std::string(node.text) + "\" field in formatting string"),
          "This value contradicts a previous setting for the same field type.");
    *field = value;
    return absl::OkStatus();
  }
  Status take_number(const Node& node, size_t width, int64_t* field) {
    int64_t value = 0;
    SCYPER_RETURN_IF_ERROR(read_number(node, width, &value));
    return set(node, value, field);
  }

  // A date is one of months and days or one of ISO weeks.
  Status note_convention(Field field) {
    const Convention found = convention_of(field);
    if (found == Convention::kAny) return absl::OkStatus();
    if (convention_ != Convention::kAny && convention_ != found)
      return with_hint(sql_error("22007", "invalid combination of date conventions"),
                       "Do not mix Gregorian and ISO week date conventions in a formatting template.");
    convention_ = found;
    return absl::OkStatus();
  }

  // At most `width` digits, all there are where no field follows.
  Status read_number(const Node& node, size_t width, int64_t* value) {
    size_t start = at_;
    bool negative = at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+') && at_ + 1 < text_.size() &&
                    is_digit(text_[at_ + 1]);
    bool minus = negative && text_[at_] == '-';
    if (negative) at_++;
    size_t first = at_;
    size_t most = next_is_field_ && !node.fill ? width : size_t{18};
    int64_t sum = 0;
    while (at_ < text_.size() && is_digit(text_[at_]) && at_ - first < most) sum = sum * 10 + (text_[at_++] - '0');
    if (at_ == first) {
      std::string shown(text_.substr(start, width));
      return with_detail(sql_error("22007", "invalid value \"" + shown + "\" for \"" + std::string(node.text) + "\""),
                         "Value must be an integer.");
    }
    digits_ = at_ - first;
    *value = minus ? -sum : sum;
    return absl::OkStatus();
  }

  Status take_name(const Node& node, const char* const* names, int count, bool whole, int32_t* value) {
    for (int i = 0; i < count; i++) {
      size_t size = whole ? std::strlen(names[i]) : 3;
      std::string upper;
      for (size_t j = 0; j < size; j++) upper += to_upper(names[i][j]);
      if (!starts_with_word(text_.substr(at_), upper)) continue;
      at_ += size;
      *value = i;
      return absl::OkStatus();
    }
    size_t end = at_;
    while (end < text_.size() && is_letter(text_[end])) end++;
    if (end == at_) end = std::min(at_ + 1, text_.size());
    return with_detail(sql_error("22007", "invalid value \"" + std::string(text_.substr(at_, end - at_)) + "\" for \"" +
                                              std::string(node.text) + "\""),
                       "The given value did not match any of the allowed values for this field.");
  }

  Status take_field(const Node& node) {
    switch (node.field) {
      case Field::kHour24:
      case Field::kHour12:
        SCYPER_RETURN_IF_ERROR(take_number(node, 2, &hour_));
        if (node.field == Field::kHour12) twelve_ = true;
        return absl::OkStatus();
      case Field::kMinute:
        return take_number(node, 2, &minute_);
      case Field::kSecond:
        return take_number(node, 2, &second_);
      case Field::kMilli:
        SCYPER_RETURN_IF_ERROR(take_number(node, 3, &milli_));
        for (size_t i = digits_; i < 3; i++) milli_ *= 10;
        return absl::OkStatus();
      case Field::kMicro:
      case Field::kFraction:
        SCYPER_RETURN_IF_ERROR(
            take_number(node, node.field == Field::kMicro ? 6 : static_cast<size_t>(node.text[2] - '0'), &micro_));
        for (size_t i = digits_; i < 6; i++) micro_ *= 10;
        return absl::OkStatus();
      case Field::kSecondOfDay:
        return take_number(node, 5, &second_of_day_);
      case Field::kHalfDay:
      case Field::kHalfDayDots:
      case Field::kEra:
      case Field::kEraDots:
      case Field::kMonthName:
      case Field::kMonthShort:
      case Field::kDayName:
      case Field::kDayShort:
        return take_word(node);
      default:
        return take_date(node);
    }
  }

  Status take_word(const Node& node) {
    int32_t index = 0;
    switch (node.field) {
      case Field::kHalfDay:
      case Field::kHalfDayDots: {
        static constexpr const char* kPlain[] = {"AM", "PM"};
        static constexpr const char* kDots[] = {"A.M.", "P.M."};
        SCYPER_RETURN_IF_ERROR(take_name(node, node.field == Field::kHalfDay ? kPlain : kDots, 2, true, &index));
        twelve_ = true;
        return set(node, index, &afternoon_);
      }
      case Field::kEra:
      case Field::kEraDots: {
        static constexpr const char* kPlain[] = {"AD", "BC"};
        static constexpr const char* kDots[] = {"A.D.", "B.C."};
        SCYPER_RETURN_IF_ERROR(take_name(node, node.field == Field::kEra ? kPlain : kDots, 2, true, &index));
        return set(node, index, &before_christ_);
      }
      case Field::kMonthName:
      case Field::kMonthShort:
        SCYPER_RETURN_IF_ERROR(take_name(node, kMonths, 12, node.field == Field::kMonthName, &index));
        return set(node, index + 1, &month_);
      default:
        SCYPER_RETURN_IF_ERROR(take_name(node, kDays, 7, node.field == Field::kDayName, &index));
        SCYPER_RETURN_IF_ERROR(set(node, index, &weekday_));
        return weekday_++, absl::OkStatus();
    }
  }

  Status take_date(const Node& node) {
    int64_t value = 0;
    switch (node.field) {
      case Field::kMonth:
        return take_number(node, 2, &month_);
      case Field::kDay:
        return take_number(node, 2, &day_);
      case Field::kDayOfYear:
        return take_number(node, 3, &day_of_year_);
      case Field::kJulian:
        return take_number(node, 7, &julian_);
      case Field::kWeek:
      case Field::kIsoWeek:
        return take_number(node, 2, &week_);
      case Field::kIsoDayOfWeek:  // kept as 1 = Sunday
        SCYPER_RETURN_IF_ERROR(take_number(node, 1, &weekday_));
        if (++weekday_ > 7) weekday_ = 1;
        return absl::OkStatus();
      case Field::kDayOfWeek:
        return take_number(node, 1, &weekday_);
      case Field::kWeekOfMonth:
        return take_number(node, 1, &week_of_month_);
      case Field::kQuarter:  // says nothing
        return read_number(node, 1, &value);
      case Field::kIsoYear:
      case Field::kYear:
        return take_number(node, 4, &year_);
      case Field::kYear3:
      case Field::kYear2:
      case Field::kYear1:
        SCYPER_RETURN_IF_ERROR(take_number(node, node.text.size(), &year_));
        if (digits_ < 4) year_ += year_ < 70 ? 2000 : year_ < 100 ? 1900 : year_ < 520 ? 2000 : year_ < 1000 ? 1000 : 0;
        return absl::OkStatus();
      case Field::kYearComma: {
        int64_t thousands = 0;
        SCYPER_RETURN_IF_ERROR(read_number(node, 1, &thousands));
        if (at_ < text_.size() && text_[at_] == ',') at_++;
        SCYPER_RETURN_IF_ERROR(read_number(node, 3, &value));
        return set(node, thousands * 1000 + value, &year_);
      }
      default:
        return sql_error("0A000", "the template pattern \"" + std::string(node.text) + "\" is not supported for input");
    }
  }

  // The clock's fields, which win over the second of the day.
  Status finish_time(int64_t* micros) {
    int64_t hour = hour_ != 0 ? hour_ : second_of_day_ / 3600;
    const int64_t minute = minute_ != 0 ? minute_ : second_of_day_ / 60 % 60;
    const int64_t second = second_ != 0 ? second_ : second_of_day_ % 60;
    if (twelve_) {
      if (hour < 1 || hour > 12)
        return with_hint(sql_error("22007", "hour \"" + std::to_string(hour) + "\" is invalid for the 12-hour clock"),
                         "Use the 24-hour clock, or give an hour between 1 and 12.");
      hour = hour % 12 + (afternoon_ != 0 ? 12 : 0);
    }
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return out_of_range();
    if (milli_ < 0 || milli_ >= kMicrosPerSecond || micro_ < 0 || micro_ >= kMicrosPerSecond) return out_of_range();
    const int64_t fraction = milli_ * 1000 + micro_;
    if (fraction >= kMicrosPerSecond) return out_of_range();
    *micros = ((hour * 60 + minute) * 60 + second) * kMicrosPerSecond + fraction;
    return absl::OkStatus();
  }

  // What the day of the year says where month or day are not given, or are 1.
  Status take_day_of_year(int64_t year, int64_t day_of_year, int64_t* month, int64_t* day) const {
    if (day_of_year == 0 || (*month > 1 && *day > 1)) return absl::OkStatus();
    if (year_ == 0 && before_christ_ == 0)
      return sql_error("22007", "cannot calculate day of year without year information");
    const int64_t first = julian_of(year, 1, 1);
    int64_t of_day = 1;
    while (of_day < 12 && julian_of(year, static_cast<int32_t>(of_day) + 1, 1) - first < day_of_year) of_day++;
    const int64_t before = julian_of(year, static_cast<int32_t>(of_day), 1) - first;
    if (*month <= 1) *month = of_day;
    if (*day <= 1) *day = day_of_year - before;
    return absl::OkStatus();
  }

  Status finish_date(int64_t* julian) const {
    const int64_t year = before_christ_ != 0 && year_ > 0 ? 1 - year_ : year_ < 0 ? year_ + 1 : year_;
    if (convention_ == Convention::kIsoWeek && week_ > 0) {
      const int64_t fourth = julian_of(year, 1, 4);
      const int64_t monday = fourth - ((fourth % 7) + 7) % 7;
      const int64_t day = weekday_ == 0 ? 0 : (weekday_ + 5) % 7;  // from Monday
      return *julian = monday + (week_ - 1) * 7 + day, absl::OkStatus();
    }
    if (julian_ != 0) return *julian = julian_, absl::OkStatus();
    int64_t month = month_ != 0 ? month_ : 1;
    int64_t day = week_of_month_ != 0 ? (week_of_month_ - 1) * 7 + 1 : day_ != 0 ? day_ : 1;
    SCYPER_RETURN_IF_ERROR(take_day_of_year(year, week_ != 0 ? (week_ - 1) * 7 + 1 : day_of_year_, &month, &day));
    if (month < 1 || month > 12 || day < 1 || day > 31) return out_of_range();
    *julian = julian_of(year, static_cast<int32_t>(month), 1) + day - 1;
    const int64_t next = month == 12 ? julian_of(year + 1, 1, 1) : julian_of(year, static_cast<int32_t>(month) + 1, 1);
    return *julian < next ? absl::OkStatus() : out_of_range();
  }

  Status finish(int64_t* out) {
    int64_t time = 0, julian = 0;
    SCYPER_RETURN_IF_ERROR(finish_time(&time));
    SCYPER_RETURN_IF_ERROR(finish_date(&julian));
    const int128 micros = static_cast<int128>(julian - kEpochJulian) * kMicrosPerDay + time;
    if (micros < kTimestampMin || micros > kTimestampMax)
      return sql_error("22008", "timestamp out of range: \"" + std::string(text_) + "\"");
    *out = static_cast<int64_t>(micros);
    return absl::OkStatus();
  }

  const std::string_view text_;
  const std::vector<Node> nodes_;
  size_t at_ = 0;
  size_t digits_ = 0;
  bool next_is_field_ = false;
  // 0: not given
  int64_t year_ = 0, month_ = 0, day_ = 0, day_of_year_ = 0, julian_ = 0, week_ = 0, week_of_month_ = 0;
  int64_t weekday_ = 0;  // 1 = Sunday
  int64_t hour_ = 0, minute_ = 0, second_ = 0, second_of_day_ = 0, milli_ = 0, micro_ = 0;
  int64_t afternoon_ = 0, before_christ_ = 0;
  bool twelve_ = false;
  Convention convention_ = Convention::kAny;
};

}  // namespace

Status parse_timestamp(std::string_view text, std::string_view pattern, int64_t* out) {
  return Reader(text, pattern).run(out);
}

}  // namespace scyper::query
