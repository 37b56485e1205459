#include <algorithm>
#include <cstring>
#include <string>

#include "types/datetime_pattern.h"
#include "types/digits.h"
#include "types/format_datetime.h"

namespace scyper::query {

namespace {

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
    Status status = take_field(node);
    if (status.ok() && node.ordinal != 0) at_ = std::min(at_ + 2, text_.size());
    return status;
  }

  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

  // At most `width` digits, all there are where no field follows.
  Status take_number(const Node& node, size_t width, int64_t* value) {
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
    int64_t value = 0;
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
      case Field::kMicro:
      case Field::kFraction: {
        size_t width = node.field == Field::kMilli   ? 3
                       : node.field == Field::kMicro ? 6
                                                     : static_cast<size_t>(node.text[2] - '0');
        SCYPER_RETURN_IF_ERROR(take_number(node, width, &value));
        for (size_t i = digits_; i < 6; i++) value *= 10;
        return micro_ += value, absl::OkStatus();
      }
      case Field::kSecondOfDay:
        SCYPER_RETURN_IF_ERROR(take_number(node, 5, &value));
        hour_ = value / 3600, minute_ = value / 60 % 60, second_ = value % 60;
        return absl::OkStatus();
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
        half_ = index + 1, twelve_ = true;
        return absl::OkStatus();
      }
      case Field::kEra:
      case Field::kEraDots: {
        static constexpr const char* kPlain[] = {"AD", "BC"};
        static constexpr const char* kDots[] = {"A.D.", "B.C."};
        SCYPER_RETURN_IF_ERROR(take_name(node, node.field == Field::kEra ? kPlain : kDots, 2, true, &index));
        return before_christ_ = index == 1, absl::OkStatus();
      }
      case Field::kMonthName:
      case Field::kMonthShort:
        SCYPER_RETURN_IF_ERROR(take_name(node, kMonths, 12, node.field == Field::kMonthName, &index));
        return month_ = index + 1, absl::OkStatus();
      default:
        return take_name(node, kDays, 7, node.field == Field::kDayName, &index);
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
      case Field::kIsoWeek:
        return take_number(node, 2, &iso_week_);
      case Field::kIsoDayOfWeek:
        return take_number(node, 1, &iso_day_);
      case Field::kQuarter:
      case Field::kDayOfWeek:
        return take_number(node, 1, &value);
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
        SCYPER_RETURN_IF_ERROR(take_number(node, 1, &thousands));
        if (at_ < text_.size() && text_[at_] == ',') at_++;
        SCYPER_RETURN_IF_ERROR(take_number(node, 3, &value));
        return year_ = thousands * 1000 + value, absl::OkStatus();
      }
      default:
        return sql_error("0A000", "the template pattern \"" + std::string(node.text) + "\" is not supported for input");
    }
  }

  Status finish(int64_t* out) {
    if (twelve_) {
      if (hour_ < 1 || hour_ > 12)
        return with_hint(sql_error("22007", "hour \"" + std::to_string(hour_) + "\" is invalid for the 12-hour clock"),
                         "Use the 24-hour clock, or give an hour between 1 and 12.");
      if (half_ == 2 && hour_ < 12) hour_ += 12;
      if (half_ == 1 && hour_ == 12) hour_ = 0;
    }
    if (hour_ < 0 || hour_ > 24 || minute_ < 0 || minute_ > 59 || second_ < 0 || second_ > 59) return out_of_range();
    int64_t year = before_christ_ && year_ > 0 ? 1 - year_ : year_ < 0 ? year_ + 1 : year_;
    int64_t day = julian_;
    if (iso_week_ > 0) {
      int64_t fourth = julian_of(year, 1, 4);
      int64_t weekday = ((fourth % 7) + 7) % 7;
      day = fourth - weekday + (iso_week_ - 1) * 7 + (iso_day_ > 0 ? iso_day_ - 1 : 0);
    } else if (julian_ < 0) {
      if (month_ < 1 || month_ > 12 || day_ < 1 || day_ > 31) return out_of_range();
      day = julian_of(year, static_cast<int32_t>(month_), 1) + day_ - 1;
      int64_t next = month_ == 12 ? julian_of(year + 1, 1, 1) : julian_of(year, static_cast<int32_t>(month_) + 1, 1);
      if (day >= next) return out_of_range();
      if (day_of_year_ > 0) {
        if (day_of_year_ > 366) return out_of_range();
        day = julian_of(year, 1, 1) + day_of_year_ - 1;
      }
    }
    int128 micros = static_cast<int128>(day - kEpochJulian) * kMicrosPerDay +
                    ((hour_ * 60 + minute_) * 60 + second_) * kMicrosPerSecond + micro_;
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
  int64_t year_ = 0, month_ = 1, day_ = 1, day_of_year_ = 0, julian_ = -1, iso_week_ = 0, iso_day_ = 0;
  int64_t hour_ = 0, minute_ = 0, second_ = 0, micro_ = 0;
  int half_ = 0;
  bool twelve_ = false, before_christ_ = false;
};

}  // namespace

Status parse_timestamp(std::string_view text, std::string_view pattern, int64_t* out) {
  return Reader(text, pattern).run(out);
}

}  // namespace scyper::query
