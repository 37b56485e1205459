#include "types/datetime_parser.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "types/datetime_words.h"
#include "types/digits.h"
#include "types/timezone.h"

namespace scyper::query {

namespace {

constexpr int kFieldsMax = kDatetimeFieldsMax;
constexpr size_t kTextMax = 128;  // MAXDATELEN: what PostgreSQL's work buffer holds, roughly

bool is_alpha(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_alphanumeric(char c) noexcept { return is_alpha(c) || is_digit(c); }

// Digits at p as an int, like strtol: advances p; false when there are none or they do not fit.
enum class IntResult { kOk, kNone, kRange };
template <typename Int>
IntResult read_int(const char** p, const char* end, Int* out) noexcept {
  std::from_chars_result result = std::from_chars(*p, end, *out);
  if (result.ptr == *p) return IntResult::kNone;
  *p = result.ptr;
  return result.ec == std::errc() ? IntResult::kOk : IntResult::kRange;
}

}  // namespace

const char* DatetimeParser::split_number(const char* p, const char* end, FieldKind* kind) noexcept {
  while (p < end && is_digit(*p)) ++p;
  *kind = FieldKind::kNumber;
  if (p < end && *p == ':') {
    *kind = FieldKind::kTime;
    while (p < end && (is_digit(*p) || *p == ':' || *p == '.')) ++p;
  } else if (p < end && (*p == '-' || *p == '/' || *p == '.')) {
    char delimiter = *p++;
    if (p < end && is_digit(*p)) {
      *kind = delimiter == '.' ? FieldKind::kNumber : FieldKind::kDate;
      while (p < end && is_digit(*p)) ++p;
      if (p < end && *p == delimiter) {
        *kind = FieldKind::kDate;
        while (p < end && (is_digit(*p) || *p == delimiter)) ++p;
      }
    } else {
      *kind = FieldKind::kDate;
      while (p < end && (is_alphanumeric(*p) || *p == delimiter)) ++p;
    }
  }
  return p;
}

const char* DatetimeParser::split_word(const char* p, const char* end, FieldKind* kind) noexcept {
  const char* start = p;
  *kind = FieldKind::kWord;
  while (p < end && is_alpha(*p)) ++p;
  if (p == end) return p;
  bool is_date = *p == '-' || *p == '/' || *p == '.';
  if (*p == '+' || is_digit(*p)) {  // a word we know ends here; others may be the name of a zone
    WordKind word_kind = find_datetime_word({start, static_cast<size_t>(p - start)}).kind;
    is_date = word_kind == WordKind::kUnknown || word_kind == WordKind::kZone;
  }
  if (!is_date) return p;
  *kind = FieldKind::kDate;
  while (p < end && (is_alphanumeric(*p) || std::strchr("+-/_.:", *p) != nullptr)) ++p;
  return p;
}

ValueError DatetimeParser::split(std::string_view text) noexcept {
  const char* p = text.data();
  const char* end = p + text.size();
  while (p < end) {
    if (is_space(*p)) {
      ++p;
      continue;
    }
    const char* start = p;
    FieldKind kind = FieldKind::kWord;
    if (is_digit(*p)) {
      p = split_number(p, end, &kind);
    } else if (*p == '.') {
      kind = FieldKind::kNumber;
      for (++p; p < end && is_digit(*p);) ++p;
    } else if (is_alpha(*p)) {
      p = split_word(p, end, &kind);
    } else if (*p == '+' || *p == '-') {
      for (++p; p < end && is_space(*p);) ++p;
      if (p == end || !is_alphanumeric(*p)) return ValueError::kInvalidDatetimeText;
      kind = is_digit(*p) ? FieldKind::kZone : FieldKind::kWord;
      if (kind == FieldKind::kZone) {
        while (p < end && (is_digit(*p) || *p == ':' || *p == '.' || *p == '-')) ++p;
      } else {
        while (p < end && is_alpha(*p)) ++p;
      }
    } else if (*p > ' ' && *p < 127) {
      ++p;  // punctuation in between means nothing
      continue;
    } else {
      return ValueError::kInvalidDatetimeText;
    }
    if (field_count_ == kFieldsMax) return ValueError::kInvalidDatetimeText;
    fields_[field_count_++] = {kind, {start, static_cast<size_t>(p - start)}};
  }
  return ValueError::kNone;
}

ValueError DatetimeParser::take_fraction(const char* p, const char* end) noexcept {
  if (end - p == 1) {  // a bare point
    micros_ = 0;
    return ValueError::kNone;
  }
  double fraction = 0;
  std::from_chars_result result = std::from_chars(p, end, fraction, std::chars_format::fixed);
  if (result.ptr != end) return ValueError::kInvalidDatetimeText;
  micros_ = static_cast<int64_t>(std::rint(fraction * 1e6));
  return ValueError::kNone;
}

// +hh, +hh:mm, +hh:mm:ss, +hhmm
ValueError DatetimeParser::take_zone(std::string_view text) noexcept {
  const char* p = text.data() + 1;
  const char* end = text.data() + text.size();
  while (p < end && is_space(*p)) ++p;
  size_t size = 1 + static_cast<size_t>(end - p);  // blanks behind the sign do not count
  int32_t hour = 0, minute = 0, second = 0;
  if (read_int(&p, end, &hour) == IntResult::kRange) return ValueError::kTimezoneDisplacement;
  if (p < end && *p == ':') {
    ++p;
    if (read_int(&p, end, &minute) == IntResult::kRange) return ValueError::kTimezoneDisplacement;
    if (p < end && *p == ':') {
      ++p;
      if (read_int(&p, end, &second) == IntResult::kRange) return ValueError::kTimezoneDisplacement;
    }
  } else if (p == end && size > 3) {
    minute = hour % 100;
    hour /= 100;
  }
  if (hour < 0 || hour > 15 || minute < 0 || minute > 59 || second < 0 || second > 59) {
    return ValueError::kTimezoneDisplacement;
  }
  if (p != end) return ValueError::kInvalidDatetimeText;
  zone_east = (int64_t{hour} * 60 + minute) * 60 + second;
  if (text[0] == '-') zone_east = -zone_east;
  return mark(kZone);
}

// Europe/Berlin
ValueError DatetimeParser::take_zone_name(std::string_view text) noexcept {
  if (!zone_exists(text)) return word = text, ValueError::kTimezoneUnknown;
  zone_name = text;
  return mark(kZone);
}

ValueError DatetimeParser::take_time(std::string_view text) noexcept {
  const char* p = text.data();
  const char* end = p + text.size();
  int64_t hour = 0;
  if (read_int(&p, end, &hour) != IntResult::kOk) return ValueError::kDatetimeFieldRange;
  if (p == end || *p != ':') return ValueError::kInvalidDatetimeText;
  ++p;
  minute_ = second_ = 0;
  micros_ = 0;
  if (read_int(&p, end, &minute_) == IntResult::kRange) return ValueError::kDatetimeFieldRange;
  if (p < end && *p == ':') {
    ++p;
    if (read_int(&p, end, &second_) == IntResult::kRange) return ValueError::kDatetimeFieldRange;
  } else if (p < end && *p == '.') {  // mm:ss.fff
    if (ValueError error = take_fraction(p, end); error != ValueError::kNone) return error;
    if (hour > INT32_MAX) return ValueError::kDatetimeFieldRange;
    second_ = minute_;
    minute_ = static_cast<int32_t>(hour);
    hour = 0;
  }
  if (p < end && *p == '.') {
    if (ValueError error = take_fraction(p, end); error != ValueError::kNone) return error;
  } else if (p != end) {
    return ValueError::kInvalidDatetimeText;
  }
  bool in_range = hour <= 24 && minute_ <= 59 && second_ <= 60;
  hour_ = static_cast<int32_t>(hour);
  int64_t total = ((int64_t{hour_} * 60 + minute_) * 60 + second_) * kMicrosPerSecond + micros_;
  if (!in_range || total > kMicrosPerDay) return ValueError::kDatetimeFieldRange;
  return mark(kClock);
}

// yyyymmdd, yymmdd, hhmmss[.fff], hhmm
ValueError DatetimeParser::take_run_together(std::string_view text, bool date_known) noexcept {
  // wraps like PostgreSQL's atoi()
  auto number = [&text](size_t start, size_t size) {
    int64_t value = 0;
    for (char c : text.substr(start, size)) {
      if (!is_digit(c)) break;
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, c - '0', &value)) return -1;
    }
    return static_cast<int32_t>(value);
  };
  size_t point = text.find('.');
  if (point != std::string_view::npos) {
    ValueError error = take_fraction(text.data() + point, text.data() + text.size());
    if (error != ValueError::kNone) return error;
    text = text.substr(0, point);
  } else if (!date_known && text.size() >= 6) {
    size_t size = text.size();
    day = number(size - 2, 2);
    month = number(size - 4, 2);
    year = number(0, size - 4);
    two_digit_year_ = size == 6;
    return mark(kDateParts);
  }
  bool clock_known = (known_ & kClock) != 0;
  if (clock_known || (text.size() != 6 && text.size() != 4)) return ValueError::kInvalidDatetimeText;
  hour_ = number(0, 2);
  minute_ = number(2, 2);
  second_ = text.size() == 6 ? number(4, 2) : 0;
  return mark(kClock);
}

ValueError DatetimeParser::set_part(uint32_t part, int32_t value, size_t digits) noexcept {
  if (part == kYear) {
    year = value;
    two_digit_year_ = digits <= 2;
  } else {
    (part == kMonth ? month : day) = value;
  }
  return mark(part);
}

// A number whose meaning follows from its length and from what is known.
ValueError DatetimeParser::take_number(std::string_view text, bool in_date) noexcept {
  const char* p = text.data();
  const char* end = p + text.size();
  int32_t value = 0;
  IntResult result = read_int(&p, end, &value);
  if (result == IntResult::kRange) return ValueError::kDatetimeFieldRange;
  if (result == IntResult::kNone) return ValueError::kInvalidDatetimeText;
  if (p < end && *p == '.') {
    if (p - text.data() > 2) return take_run_together(text, true);
    if (ValueError error = take_fraction(p, end); error != ValueError::kNone) return error;
  } else if (p != end) {
    return ValueError::kInvalidDatetimeText;
  }
  uint32_t date_parts = known_ & kDateParts;
  bool text_month = in_date ? text_month_in_date_ : text_month_;
  if (text.size() == 3 && date_parts == kYear && value >= 1 && value <= 366) {
    day_of_year_ = value;
    return mark(kDayOfYear | kMonth | kDay);
  }
  switch (date_parts) {
    case 0:
      if (text.size() >= 3 || order_ == DateOrder::kYearFirst) return set_part(kYear, value, text.size());
      return set_part(order_ == DateOrder::kDayFirst ? kDay : kMonth, value, text.size());
    case kYear:
      return set_part(kMonth, value, text.size());
    case kMonth:
      if (text_month && (text.size() >= 3 || order_ == DateOrder::kYearFirst))
        return set_part(kYear, value, text.size());
      return set_part(kDay, value, text.size());
    case kYear | kMonth:
      if (text_month && text.size() >= 3 && two_digit_year_) {  // dd mon yyyy: the first number was the day
        day = static_cast<int32_t>(year);
        year = value;
        two_digit_year_ = false;
        return mark(kDay);
      }
      return set_part(kDay, value, text.size());
    case kDay:
      return set_part(kMonth, value, text.size());
    case kMonth | kDay:
      return set_part(kYear, value, text.size());
    case kDateParts:
      return take_run_together(text, true);
    default:
      return ValueError::kInvalidDatetimeText;
  }
}

// A date in one field: parts between separators, a month possibly by name.
ValueError DatetimeParser::take_date(std::string_view text) noexcept {
  std::string_view parts[kFieldsMax];
  int count = 0;
  const char* p = text.data();
  const char* end = p + text.size();
  while (p < end && count < kFieldsMax) {
    while (p < end && !is_alphanumeric(*p)) ++p;
    if (p == end) return ValueError::kInvalidDatetimeText;
    const char* start = p;
    bool digits = is_digit(*p);
    while (p < end && (digits ? is_digit(*p) : is_alpha(*p))) ++p;
    parts[count++] = {start, static_cast<size_t>(p - start)};
    if (p < end) ++p;
  }
  text_month_in_date_ = false;
  for (int i = 0; i < count; ++i) {
    if (is_digit(parts[i][0])) continue;
    DatetimeWord special = find_datetime_word(parts[i]);
    if (special.kind == WordKind::kIgnored) continue;
    if (special.kind != WordKind::kMonth) return ValueError::kInvalidDatetimeText;
    month = special.value;
    text_month_in_date_ = true;
    if (ValueError error = mark(kMonth); error != ValueError::kNone) return error;
    parts[i] = {};
  }
  for (int i = 0; i < count; ++i) {
    if (parts[i].empty()) continue;
    if (ValueError error = take_number(parts[i], true); error != ValueError::kNone) return error;
  }
  // nothing but a zone may stand before such a date
  bool date_only = (known_ & ~(kDayOfYear | kZone)) == kDateParts;
  return date_only ? ValueError::kNone : ValueError::kInvalidDatetimeText;
}

ValueError DatetimeParser::take_date_field(std::string_view text) noexcept {
  bool date_known = (known_ & (kMonth | kDay)) == (kMonth | kDay);
  if (label_ == Label::kJulian) {  // J2452271-08: a day and a zone
    const size_t end = text.find_first_not_of("0123456789");
    if (end == 0 || end == text.npos || text[end] != '-') return ValueError::kInvalidDatetimeText;
    ValueError error = take_labelled_number(text.substr(0, end));
    if (error == ValueError::kNone) error = take_zone(text.substr(end));
    return error == ValueError::kNone ? mark(kClock) : error;
  }
  if (label_ == Label::kNone && !date_known && (!time_only || leading_date_)) return take_date(text);
  if (!is_digit(text[0])) return label_ == Label::kNone ? take_zone_name(text) : ValueError::kInvalidDatetimeText;
  label_ = Label::kNone;  // hhmmss-zz
  if ((known_ & kClock) != 0) return ValueError::kInvalidDatetimeText;
  size_t dash = text.find('-');
  if (dash == std::string_view::npos) return ValueError::kInvalidDatetimeText;
  if (ValueError error = take_zone(text.substr(dash)); error != ValueError::kNone) return error;
  return take_run_together(text.substr(0, dash), time_only || (known_ & kDateParts) == kDateParts);
}

// Y2001M12D27H04M05S06.789: a number whose unit stands before it. M is the minutes where the hours are known.
ValueError DatetimeParser::take_unit(char unit, int32_t value, std::string_view fraction) noexcept {
  const bool is_clock =
      unit == 'h' || unit == 'n' || unit == 's' || (unit == 'm' && (known_ & (kMonth | kHour)) == (kMonth | kHour));
  if ((!fraction.empty() && unit != 's') || (is_clock && (known_ & kClock) != 0))
    return ValueError::kInvalidDatetimeText;
  switch (unit) {
    case 'y':
      return year = value, mark(kYear);
    case 'd':
      return day = value, mark(kDay);
    case 'h':
      return hour_ = value, mark(kHour);
    case 's':
      second_ = value;
      if (!fraction.empty())
        if (ValueError error = take_fraction(fraction.data(), fraction.data() + fraction.size());
            error != ValueError::kNone)
          return error;
      return mark(kSecond);
    default:
      if (is_clock) return minute_ = value, mark(kMinute);
      return month = value, mark(kMonth);
  }
}

ValueError DatetimeParser::take_labelled_number(std::string_view text) noexcept {
  const char* p = text.data();
  const char* end = p + text.size();
  int32_t value = 0;
  IntResult result = read_int(&p, end, &value);
  if (result == IntResult::kRange) return ValueError::kDatetimeFieldRange;
  if (p != end && *p != '.') return ValueError::kInvalidDatetimeText;
  Label label = label_;
  label_ = Label::kNone;
  if (label == Label::kTime) return take_run_together(text, true);
  if (label == Label::kUnit) return take_unit(unit_, value, {p, static_cast<size_t>(end - p)});
  CivilDate civil = civil_of_julian(value);
  year = civil.year;
  month = civil.month;
  day = civil.day;
  is_julian_ = true;
  if (ValueError error = mark(kDateParts); error != ValueError::kNone) return error;
  if (p == end) return ValueError::kNone;
  double fraction = 0;
  if (end - p > 1) std::from_chars(p, end, fraction, std::chars_format::fixed);
  int64_t rest = static_cast<int64_t>(fraction * static_cast<double>(kMicrosPerDay));
  hour_ = static_cast<int32_t>(rest / (3600 * kMicrosPerSecond));
  minute_ = static_cast<int32_t>(rest / (60 * kMicrosPerSecond) % 60);
  second_ = static_cast<int32_t>(rest / kMicrosPerSecond % 60);
  micros_ = rest % kMicrosPerSecond;
  return mark(kClock);
}

ValueError DatetimeParser::take_number_field(std::string_view text) noexcept {
  if (label_ != Label::kNone) return take_labelled_number(text);
  if (time_only && (known_ & kDateParts) == 0) return take_run_together(text, true);
  size_t point = text.find('.');
  bool date_complete = (known_ & kDateParts) == kDateParts;
  if (point != std::string_view::npos && (known_ & kDateParts) == 0) return take_date(text);
  if (point != std::string_view::npos && point > 2) return take_run_together(text, date_complete);
  bool may_run_together = (known_ & kDateParts) == 0 || (known_ & kClock) == 0;
  if (text.size() >= 6 && may_run_together) return take_run_together(text, date_complete);
  return take_number(text, false);
}

// 'now' is a moment of its own; 'today' and its kin are a day that a time may stand beside.
ValueError DatetimeParser::take_special(SpecialWord special) noexcept {
  if (special == SpecialWord::kMidnight) return moment_ = special, mark(kClock | kZone);
  const bool is_day =
      special == SpecialWord::kToday || special == SpecialWord::kTomorrow || special == SpecialWord::kYesterday;
  if (special != SpecialWord::kNow && !is_day)
    return time_only ? ValueError::kInvalidDatetimeText : (moment_ = special, ValueError::kNone);
  if (time_only && is_day) return ValueError::kInvalidDatetimeText;
  if (NowScope::current == nullptr) return ValueError::kDatetimeSpecial;
  int64_t clock = 0;
  const int64_t julian = split_timestamp(session_clock(*NowScope::current), &clock) + kEpochJulian;
  const int shift = special == SpecialWord::kTomorrow ? 1 : special == SpecialWord::kYesterday ? -1 : 0;
  const CivilDate civil = civil_of_julian(julian + shift);
  year = civil.year;
  month = civil.month;
  day = civil.day;
  moment_ = SpecialWord::kMidnight;
  if (is_day) return mark(kDateParts);
  hour_ = static_cast<int32_t>(clock / (3600 * kMicrosPerSecond));
  minute_ = static_cast<int32_t>(clock / (60 * kMicrosPerSecond) % 60);
  second_ = static_cast<int32_t>(clock / kMicrosPerSecond % 60);
  micros_ = clock % kMicrosPerSecond;
  zone_east = session_zone_east(*NowScope::current);
  return mark(time_only ? static_cast<uint32_t>(kClock) : kDateParts | kClock | kZone);
}

ValueError DatetimeParser::take_word(int index) noexcept {
  DatetimeWord special = find_datetime_word(fields_[index].text);
  switch (special.kind) {
    case WordKind::kIgnored:
      return ValueError::kNone;
    case WordKind::kReserved:
      word = fields_[index].text;
      return take_special(static_cast<SpecialWord>(special.value));
    case WordKind::kMonth:
      if (time_only) break;
      // a number taken for the month was the day
      if ((known_ & kMonth) != 0 && !text_month_ && (known_ & kDay) == 0 && month >= 1 && month <= 31) {
        day = month;
        known_ |= kDay;
        known_ &= ~kMonth;
      }
      text_month_ = true;
      month = special.value;
      return mark(kMonth);
    case WordKind::kHalfDay:
      half_ = special.value == 0 ? kAm : kPm;
      return mark(kHalfDay);
    case WordKind::kEra:
      before_christ_ = special.value != 0;
      return mark(kEra);
    case WordKind::kWeekday:
      if (time_only) break;
      return mark(kWeekday);
    case WordKind::kZone:
      zone_east = zone_seconds(special);
      if (!zone_of_abbreviation(fields_[index].text).empty()) zone_name = fields_[index].text;
      return mark(kZone);
    case WordKind::kJulian:
      label_ = Label::kJulian;
      return ValueError::kNone;
    case WordKind::kUnit:
      label_ = Label::kUnit;
      unit_ = static_cast<char>(special.value);
      return ValueError::kNone;
    case WordKind::kTime: {
      bool sensible = (time_only || (known_ & kDateParts) == kDateParts) && index + 1 < field_count_ &&
                      (fields_[index + 1].kind == FieldKind::kNumber || fields_[index + 1].kind == FieldKind::kTime ||
                       fields_[index + 1].kind == FieldKind::kDate);
      if (!sensible) return ValueError::kInvalidDatetimeText;
      label_ = Label::kTime;
      return ValueError::kNone;
    }
    case WordKind::kUnknown:
      if (!zone_exists(fields_[index].text)) break;
      return take_zone_name(fields_[index].text);
  }
  return ValueError::kInvalidDatetimeText;
}

ValueError DatetimeParser::take_field(int index) noexcept {
  const Field& field = fields_[index];
  switch (field.kind) {
    case FieldKind::kDate:
      leading_date_ = index == 0 && field_count_ >= 2 &&
                      (fields_[field_count_ - 1].kind == FieldKind::kDate || fields_[1].kind == FieldKind::kTime);
      return take_date_field(field.text);
    case FieldKind::kTime:
      if (label_ == Label::kJulian) return ValueError::kInvalidDatetimeText;
      label_ = Label::kNone;
      return take_time(field.text);
    case FieldKind::kZone:
      return take_zone(field.text);
    case FieldKind::kNumber:
      return take_number_field(field.text);
    case FieldKind::kWord:
      return take_word(index);
  }
  return ValueError::kInvalidDatetimeText;
}

// The year's meaning, then the ranges.
ValueError DatetimeParser::finish() noexcept {
  if ((known_ & kYear) != 0 && !is_julian_) {
    if (two_digit_year_ && !before_christ_) {
      year += year < 70 ? 2000 : year < 100 ? 1900 : 0;
    } else if (year <= 0) {
      return ValueError::kDatetimeFieldRange;
    } else if (before_christ_) {
      year = 1 - year;
    }
  }
  if ((known_ & kDayOfYear) != 0) {
    CivilDate civil = civil_of_julian(julian_of(year, 1, 1) + day_of_year_ - 1);
    year = civil.year;
    month = civil.month;
    day = civil.day;
  }
  if ((known_ & kMonth) != 0 && (month < 1 || month > 12)) return ValueError::kDatetimeFieldOrder;
  if ((known_ & kDay) != 0 && (day < 1 || day > 31)) return ValueError::kDatetimeFieldOrder;
  if ((known_ & kDateParts) == kDateParts) {
    int64_t next = month == 12 ? julian_of(year + 1, 1, 1) : julian_of(year, month + 1, 1);
    if (julian_of(year, month, 1) + day > next) return ValueError::kDatetimeFieldRange;
  }
  constexpr uint32_t kClockParts = kHour | kMinute | kSecond;
  if ((known_ & kClockParts) == kClockParts) known_ |= kClock;
  if (half_ != kHour24 && hour_ > 12) return ValueError::kDatetimeFieldRange;
  if (half_ == kAm && hour_ == 12) hour_ = 0;
  if (half_ == kPm && hour_ != 12) hour_ += 12;
  if (is_special()) return ValueError::kNone;
  time = ((int64_t{hour_} * 60 + minute_) * 60 + second_) * kMicrosPerSecond + micros_;
  bool needs_day =
      time_only && !zone_name.empty() && zone_of_abbreviation(zone_name).empty() && (known_ & kDateParts) != kDateParts;
  if (needs_day && !zone_is_constant(zone_name)) return ValueError::kInvalidDatetimeText;
  uint32_t needed = time_only ? static_cast<uint32_t>(kClock) : static_cast<uint32_t>(kDateParts);
  return (known_ & needed) == needed ? ValueError::kNone : ValueError::kInvalidDatetimeText;
}

ValueError DatetimeParser::parse(std::string_view text) noexcept {
  if (text.size() > kTextMax + kFieldsMax) return ValueError::kInvalidDatetimeText;
  ValueError error = split(text);
  for (int i = 0; i < field_count_ && error == ValueError::kNone; ++i) error = take_field(i);
  return error != ValueError::kNone ? error : finish();
}

}  // namespace scyper::query
