#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "types/digits.h"
#include "types/interval.h"
#include "types/timezone.h"

// Reads intervals as PostgreSQL does: fields from the last to the first, so that units stand before their numbers.
namespace scyper::query {

namespace {

constexpr int kFieldsMax = 25;
constexpr uint32_t kMicrosecondBit = 1u << 16, kMillisecondBit = 1u << 17;
constexpr uint32_t kAllSeconds = kIntervalSecond | kMicrosecondBit | kMillisecondBit;

enum class FieldKind : uint8_t { kNumber, kTime, kSigned, kWord };
struct Field {
  FieldKind kind;
  std::string_view text;
};

bool is_alpha(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// A sum of parts, each checked.
class Sum {
 public:
  bool add_micros(int64_t count, double fraction, int64_t unit) noexcept {
    int64_t product;
    if (__builtin_mul_overflow(count, unit, &product) || __builtin_add_overflow(micros_, product, &micros_))
      return false;
    return add_fraction(fraction, unit);
  }
  // fraction < 1 of a unit of that many microseconds
  bool add_fraction(double fraction, int64_t unit) noexcept {
    if (fraction == 0) return true;
    fraction *= static_cast<double>(unit);
    int64_t whole = static_cast<int64_t>(fraction);
    if (__builtin_add_overflow(micros_, whole, &micros_)) return false;
    fraction -= static_cast<double>(whole);
    int64_t rest = fraction > 0.5 ? 1 : fraction < -0.5 ? -1 : 0;
    return !__builtin_add_overflow(micros_, rest, &micros_);
  }
  bool add_days(int64_t count, int32_t unit) noexcept {
    int32_t days;
    if (count < INT32_MIN || count > INT32_MAX) return false;
    return !__builtin_mul_overflow(static_cast<int32_t>(count), unit, &days) &&
           !__builtin_add_overflow(days_, days, &days_);
  }
  bool add_fraction_days(double fraction, int32_t unit) noexcept {
    if (fraction == 0) return true;
    fraction *= unit;
    int32_t whole = static_cast<int32_t>(fraction);
    if (__builtin_add_overflow(days_, whole, &days_)) return false;
    return add_fraction(fraction - whole, kMicrosPerDay);
  }
  bool add_months(int64_t count) noexcept {
    return count >= INT32_MIN && count <= INT32_MAX &&
           !__builtin_add_overflow(months_, static_cast<int32_t>(count), &months_);
  }
  bool add_years(int64_t count, double fraction, int32_t unit) noexcept {
    int32_t years;
    if (count < INT32_MIN || count > INT32_MAX) return false;
    if (__builtin_mul_overflow(static_cast<int32_t>(count), unit, &years)) return false;
    if (__builtin_add_overflow(years_, years, &years_)) return false;
    return add_months(static_cast<int32_t>(std::rint(fraction * unit * 12)));
  }
  ValueError finish(bool ago, Interval* out) const noexcept {
    int64_t months = int64_t{years_} * 12 + months_;
    Interval sum{micros_, days_, static_cast<int32_t>(months)};
    if (months < INT32_MIN || months > INT32_MAX) return ValueError::kIntervalRange;
    *out = sum;
    if (!ago) return ValueError::kNone;
    return interval_negate(sum, out) == ValueError::kNone ? ValueError::kNone : ValueError::kIntervalFieldRange;
  }

 private:
  int32_t years_ = 0, months_ = 0, days_ = 0;
  int64_t micros_ = 0;
};

class IntervalParser {
 public:
  explicit IntervalParser(int32_t fields) : given_(fields) {}
  ValueError parse(std::string_view text, Interval* out) noexcept;
  ValueError parse_iso(std::string_view text, Interval* out) noexcept;

 private:
  // A number of ISO 8601, and where it is written.
  struct IsoNumber {
    std::string_view text;
    int64_t whole = 0;
    double fraction = 0;
    bool is_digits(size_t count) const noexcept;  // so many of them, whatever follows
  };
  ValueError read_iso(const char** p, const char* end, IsoNumber* out) noexcept;
  ValueError take_iso_date(const char** p, const char* end, bool* has_field, bool* in_time) noexcept;
  ValueError take_iso_time(const char** p, const char* end, bool has_field) noexcept;
  ValueError add_iso(DatetimeUnit unit, int64_t count, double fraction) noexcept {
    known_ = 0;  // a unit may come again
    return add(unit, count, fraction);
  }
  bool split(std::string_view text) noexcept;
  ValueError take_time(std::string_view text, bool negative) noexcept;
  ValueError take_number(std::string_view text) noexcept;
  ValueError take_word(std::string_view text) noexcept;
  ValueError add(DatetimeUnit unit, int64_t count, double fraction) noexcept;
  DatetimeUnit last_unit() const noexcept;
  ValueError mark(uint32_t bits) noexcept {
    if ((known_ & bits) != 0) return ValueError::kInvalidDatetimeText;
    known_ |= bits;
    return ValueError::kNone;
  }

  const int32_t given_;
  Field fields_[kFieldsMax];
  int count_ = 0;
  bool has_unit_ = false;
  DatetimeUnit unit_ = DatetimeUnit::kSecond;
  bool ago_ = false;
  bool is_all_negative_ = false;
  uint32_t known_ = 0;
  Sum sum_;
};

bool IntervalParser::split(std::string_view text) noexcept {
  const char* p = text.data();
  const char* end = p + text.size();
  while (p < end) {
    if (is_space(*p) || (!is_digit(*p) && !is_alpha(*p) && *p != '.' && *p != '+' && *p != '-')) {
      if (!is_space(*p) && (*p <= ' ' || *p >= 127)) return false;
      ++p;
      continue;
    }
    if (count_ == kFieldsMax) return false;
    const char* start = p;
    FieldKind kind = FieldKind::kNumber;
    if (is_alpha(*p)) {
      kind = FieldKind::kWord;
      while (p < end && is_alpha(*p)) ++p;
    } else if (is_digit(*p) || *p == '.') {
      while (p < end && (is_digit(*p) || *p == '.')) ++p;
      if (p < end && *p == ':') kind = FieldKind::kTime;
      while (p < end && (is_digit(*p) || *p == ':' || *p == '.' || *p == '-')) ++p;
    } else {
      kind = FieldKind::kSigned;
      for (++p; p < end && is_space(*p);) ++p;
      if (p == end || (!is_digit(*p) && *p != '.')) return false;
      while (p < end && (is_digit(*p) || *p == ':' || *p == '.' || *p == '-')) ++p;
    }
    fields_[count_++] = {kind, {start, static_cast<size_t>(p - start)}};
  }
  return true;
}

// hh:mm, hh:mm:ss, mm:ss.fff
ValueError IntervalParser::take_time(std::string_view text, bool negative) noexcept {
  int64_t parts[3] = {};
  int count = 0;
  const char* p = text.data();
  const char* end = p + text.size();
  double fraction = 0;
  bool has_fraction = false;
  while (count < 3) {
    auto result = std::from_chars(p, end, parts[count++]);
    if (result.ec != std::errc()) return ValueError::kInvalidDatetimeText;
    p = result.ptr;
    if (p == end || *p != ':') break;
    ++p;
  }
  if (p < end && *p == '.') {
    has_fraction = true;
    auto result = std::from_chars(p, end, fraction, std::chars_format::fixed);
    p = end - p == 1 ? end : result.ptr;
  }
  if (p != end || count < 2) return ValueError::kInvalidDatetimeText;
  bool minutes_first = count == 2 && (has_fraction || given_ == (kIntervalMinute | kIntervalSecond));
  int64_t hours = minutes_first ? 0 : parts[0];
  int64_t minutes = minutes_first ? parts[0] : parts[1];
  int64_t seconds = minutes_first ? parts[1] : parts[2];
  if (minutes < 0 || minutes > 59 || seconds < 0 || seconds > 60) return ValueError::kIntervalFieldRange;
  int64_t sign = negative ? -1 : 1;
  bool fits = sum_.add_micros(sign * hours, 0, 3600 * kMicrosPerSecond) &&
              sum_.add_micros(sign * (minutes * 60 + seconds), 0, kMicrosPerSecond) &&
              sum_.add_micros(sign * static_cast<int64_t>(std::rint(fraction * 1e6)), 0, 1);
  if (!fits) return ValueError::kIntervalFieldRange;
  has_unit_ = true;
  unit_ = DatetimeUnit::kDay;
  return mark(kIntervalHour | kIntervalMinute | kAllSeconds);
}

// What the rightmost number without a unit counts.
DatetimeUnit IntervalParser::last_unit() const noexcept {
  if (given_ == kIntervalFull || (given_ & kIntervalSecond) != 0) return DatetimeUnit::kSecond;
  if ((given_ & kIntervalMinute) != 0) return DatetimeUnit::kMinute;
  if ((given_ & kIntervalHour) != 0) return DatetimeUnit::kHour;
  if ((given_ & kIntervalDay) != 0) return DatetimeUnit::kDay;
  return (given_ & kIntervalMonth) != 0 ? DatetimeUnit::kMonth : DatetimeUnit::kYear;
}

ValueError IntervalParser::add(DatetimeUnit unit, int64_t count, double fraction) noexcept {
  bool fits = true;
  uint32_t bits = 0;
  switch (unit) {
    case DatetimeUnit::kMicroseconds:
      fits = sum_.add_micros(count, fraction, 1), bits = kMicrosecondBit;
      break;
    case DatetimeUnit::kMilliseconds:
      fits = sum_.add_micros(count, fraction, 1000), bits = kMillisecondBit;
      break;
    case DatetimeUnit::kSecond:
      fits = sum_.add_micros(count, fraction, kMicrosPerSecond);
      bits = fraction == 0 ? static_cast<uint32_t>(kIntervalSecond) : kAllSeconds;
      break;
    case DatetimeUnit::kMinute:
      fits = sum_.add_micros(count, fraction, 60 * kMicrosPerSecond), bits = kIntervalMinute;
      break;
    case DatetimeUnit::kHour:
      fits = sum_.add_micros(count, fraction, 3600 * kMicrosPerSecond), bits = kIntervalHour;
      has_unit_ = true, unit_ = DatetimeUnit::kDay;  // a number before the hours counts days
      break;
    case DatetimeUnit::kDay:
      fits = sum_.add_days(count, 1) && sum_.add_fraction(fraction, kMicrosPerDay), bits = kIntervalDay;
      break;
    case DatetimeUnit::kWeek:
      fits = sum_.add_days(count, 7) && sum_.add_fraction_days(fraction, 7), bits = 1u << 18;
      break;
    case DatetimeUnit::kMonth:
      fits = sum_.add_months(count) && sum_.add_fraction_days(fraction, 30), bits = kIntervalMonth;
      break;
    case DatetimeUnit::kYear:
      fits = sum_.add_years(count, fraction, 1), bits = kIntervalYear;
      break;
    case DatetimeUnit::kDecade:
      fits = sum_.add_years(count, fraction, 10), bits = 1u << 19;
      break;
    case DatetimeUnit::kCentury:
      fits = sum_.add_years(count, fraction, 100), bits = 1u << 20;
      break;
    case DatetimeUnit::kMillennium:
      fits = sum_.add_years(count, fraction, 1000), bits = 1u << 21;
      break;
    default:
      return ValueError::kInvalidDatetimeText;
  }
  return fits ? mark(bits) : ValueError::kIntervalFieldRange;
}

ValueError IntervalParser::take_number(std::string_view text) noexcept {
  const char* p = text.data();
  const char* end = p + text.size();
  const bool negative = *p == '-' || is_all_negative_;
  if (*p == '+' || *p == '-') {
    for (++p; p < end && is_space(*p);) ++p;
  }
  DatetimeUnit unit = has_unit_ ? unit_ : last_unit();
  uint64_t size = 0;
  double fraction = 0;
  const auto result = std::from_chars(p, end, size);
  const uint64_t most = uint64_t{INT64_MAX} + (negative ? 1 : 0);
  if (result.ec == std::errc::result_out_of_range || size > most) return ValueError::kIntervalFieldRange;
  auto value = static_cast<int64_t>(negative ? 0 - size : size);
  p = result.ptr;
  if (p < end && *p == '-') {  // years-months
    int32_t months = 0;
    auto second = std::from_chars(p + 1, end, months);
    if (second.ec == std::errc::result_out_of_range || months < 0 || months >= 12)
      return ValueError::kIntervalFieldRange;
    if (second.ptr != end || second.ptr == p + 1) return ValueError::kInvalidDatetimeText;
    if (__builtin_mul_overflow(value, 12, &value) || __builtin_add_overflow(value, negative ? -months : months, &value))
      return ValueError::kIntervalFieldRange;
    unit = DatetimeUnit::kMonth;
    p = end;
  } else if (p < end && *p == '.') {
    if (end - p > 1)
      p = std::from_chars(p, end, fraction, std::chars_format::fixed).ptr;
    else
      p = end;
  }
  if (p != end) return ValueError::kInvalidDatetimeText;
  return add(unit, value, negative ? -fraction : fraction);
}

ValueError IntervalParser::take_word(std::string_view text) noexcept {
  if (text.size() == 3 && to_lower(text[0]) == 'a' && to_lower(text[1]) == 'g' && to_lower(text[2]) == 'o') {
    ago_ = true;
    return ValueError::kNone;
  }
  if (unit_parse(text, &unit_) != ValueError::kNone) return ValueError::kInvalidDatetimeText;
  has_unit_ = true;
  return ValueError::kNone;
}

ValueError IntervalParser::parse(std::string_view text, Interval* out) noexcept {
  if (!split(text)) return ValueError::kInvalidDatetimeText;
  // the SQL standard's "-1 1:00:00": the first sign is that of all fields where no other one is written
  const auto has_sign = [](const Field& field) { return field.kind == FieldKind::kSigned; };
  is_all_negative_ = session_interval_style() == IntervalStyle::kSqlStandard && count_ > 0 &&
                     fields_[0].text[0] == '-' && std::none_of(fields_ + 1, fields_ + count_, has_sign);
  for (int i = count_ - 1; i >= 0; --i) {
    const Field& field = fields_[i];
    bool is_signed = field.kind == FieldKind::kSigned;
    ValueError error = ValueError::kNone;
    if (field.kind == FieldKind::kWord)
      error = take_word(field.text);
    else if (field.kind == FieldKind::kTime || (is_signed && field.text.find(':') != std::string_view::npos))
      error = take_time(field.text.substr(is_signed ? field.text.find_first_not_of("+- \t\n\v\f\r") : 0),
                        field.text[0] == '-' || is_all_negative_);
    else
      error = take_number(field.text);
    if (error != ValueError::kNone) return error;
  }
  return known_ == 0 ? ValueError::kInvalidDatetimeText : sum_.finish(ago_, out);
}

bool IntervalParser::IsoNumber::is_digits(size_t count) const noexcept {
  size_t digits = text.find_first_not_of("0123456789");
  if (digits == text.npos) digits = text.size();
  return digits == count;
}

ValueError IntervalParser::read_iso(const char** p, const char* end, IsoNumber* out) noexcept {
  constexpr double kMost = 1e15;
  const char* start = *p;
  if (start == end || !(is_digit(*start) || *start == '-' || *start == '.')) return ValueError::kInvalidDatetimeText;
  double value = 0;
  const auto result = std::from_chars(start, end, value);
  if (result.ec != std::errc()) return ValueError::kInvalidDatetimeText;
  if (!(value > -kMost && value < kMost)) return ValueError::kIntervalFieldRange;
  out->text = {start, static_cast<size_t>(result.ptr - start)};
  out->whole = static_cast<int64_t>(value);
  out->fraction = value - static_cast<double>(out->whole);
  *p = result.ptr;
  return ValueError::kNone;
}

// A number of the days and what follows: 1Y, 20000102, 2000-01-02.
ValueError IntervalParser::take_iso_date(const char** p, const char* end, bool* has_field, bool* in_time) noexcept {
  IsoNumber number;
  if (ValueError error = read_iso(p, end, &number); error != ValueError::kNone) return error;
  const char unit = *p < end ? *(*p)++ : '\0';
  static constexpr char kLetters[] = "YMWD";
  static constexpr DatetimeUnit kUnits[] = {DatetimeUnit::kYear, DatetimeUnit::kMonth, DatetimeUnit::kWeek,
                                            DatetimeUnit::kDay};
  if (const char* letter = std::strchr(kLetters, unit); unit != '\0' && letter != nullptr) {
    *has_field = true;
    return add_iso(kUnits[letter - kLetters], number.whole, number.fraction);
  }
  if ((unit != '\0' && unit != 'T' && unit != '-') || *has_field) return ValueError::kInvalidDatetimeText;
  *has_field = true;
  *in_time = unit == 'T';
  if (unit != '-' && number.is_digits(8)) {
    ValueError error = add_iso(DatetimeUnit::kYear, number.whole / 10000, 0);
    if (error == ValueError::kNone) error = add_iso(DatetimeUnit::kMonth, number.whole / 100 % 100, 0);
    return error != ValueError::kNone ? error : add_iso(DatetimeUnit::kDay, number.whole % 100, number.fraction);
  }
  ValueError error = add_iso(DatetimeUnit::kYear, number.whole, number.fraction);
  char next = unit;
  for (const DatetimeUnit part : {DatetimeUnit::kMonth, DatetimeUnit::kDay}) {
    if (error != ValueError::kNone || next != '-') return error;
    if (error = read_iso(p, end, &number); error != ValueError::kNone) return error;
    error = add_iso(part, number.whole, number.fraction);
    next = *p < end ? *(*p)++ : '\0';
    *in_time = next == 'T';
  }
  return error != ValueError::kNone || next == '\0' || next == 'T' ? error : ValueError::kInvalidDatetimeText;
}

// A number of the time and what follows: 1H, 101112, 10:11:12.
ValueError IntervalParser::take_iso_time(const char** p, const char* end, bool has_field) noexcept {
  IsoNumber number;
  if (ValueError error = read_iso(p, end, &number); error != ValueError::kNone) return error;
  const char unit = *p < end ? *(*p)++ : '\0';
  static constexpr char kLetters[] = "HMS";
  static constexpr DatetimeUnit kUnits[] = {DatetimeUnit::kHour, DatetimeUnit::kMinute, DatetimeUnit::kSecond};
  if (const char* letter = std::strchr(kLetters, unit); unit != '\0' && letter != nullptr)
    return add_iso(kUnits[letter - kLetters], number.whole, number.fraction);
  if ((unit != '\0' && unit != ':') || has_field) return ValueError::kInvalidDatetimeText;
  if (unit == '\0' && number.is_digits(6)) {
    ValueError error = add_iso(DatetimeUnit::kHour, number.whole / 10000, 0);
    if (error == ValueError::kNone) error = add_iso(DatetimeUnit::kMinute, number.whole / 100 % 100, 0);
    if (error == ValueError::kNone) error = add_iso(DatetimeUnit::kSecond, number.whole % 100, 0);
    // a fraction is one of microseconds, as PostgreSQL takes it
    return error != ValueError::kNone ? error : add_iso(DatetimeUnit::kMicroseconds, 0, number.fraction);
  }
  ValueError error = add_iso(DatetimeUnit::kHour, number.whole, number.fraction);
  char next = unit;
  for (const DatetimeUnit part : {DatetimeUnit::kMinute, DatetimeUnit::kSecond}) {
    if (error != ValueError::kNone || next != ':') return error;
    if (error = read_iso(p, end, &number); error != ValueError::kNone) return error;
    error = add_iso(part, number.whole, number.fraction);
    next = *p < end ? *(*p)++ : '\0';
  }
  return error != ValueError::kNone || next == '\0' ? error : ValueError::kInvalidDatetimeText;
}

// P1Y2M3W4DT5H6M7.8S, and ISO 8601's alternative formats.
ValueError IntervalParser::parse_iso(std::string_view text, Interval* out) noexcept {
  const char* p = text.data() + 1;
  const char* end = text.data() + text.size();
  bool in_time = false, has_field = false;
  while (p < end) {
    if (*p == 'T' && !in_time) {
      in_time = true;
      has_field = false;
      ++p;
      continue;
    }
    const bool was_time = in_time;
    const ValueError error = in_time ? take_iso_time(&p, end, has_field) : take_iso_date(&p, end, &has_field, &in_time);
    if (error != ValueError::kNone) return error;
    has_field = was_time == in_time;
  }
  return sum_.finish(false, out);
}

}  // namespace

ValueError interval_parse(std::string_view text, int32_t fields, Interval* out) noexcept {
  IntervalParser parser(fields);
  const bool is_iso = text.size() > 1 && text[0] == 'P';
  const ValueError error = is_iso ? parser.parse_iso(text, out) : parser.parse(text, out);
  if (error != ValueError::kNone) return error;
  interval_cut(fields, out);
  return ValueError::kNone;
}

}  // namespace scyper::query
