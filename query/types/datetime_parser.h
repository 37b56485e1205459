#pragma once

#include <cstdint>
#include <string_view>

#include "types/datetime.h"
#include "types/datetime_words.h"
#include "types/timezone.h"

// Reads dates as PostgreSQL does: the text is cut into fields by the look of their characters, then each field is given
// a meaning from what is known so far. The rules, and which of them fails with which error, are PostgreSQL's.
namespace scyper::query {

constexpr int kDatetimeFieldsMax = 25;

class DatetimeParser {
 public:
  ValueError parse(std::string_view text) noexcept;

  // Valid after parse(): the day as proleptic Gregorian date, the time of day, the zone left out.
  int64_t year = 0;
  int32_t month = 0;
  int32_t day = 0;
  int64_t time = 0;
  bool time_only = false;      // set before parse(): the day may be missing
  int64_t zone_east = 0;       // seconds
  std::string_view zone_name;  // empty: zone_east counts
  // A moment of its own: epoch, infinity or -infinity.
  bool is_special() const noexcept { return moment_ != SpecialWord::kMidnight; }
  SpecialWord moment() const noexcept { return moment_; }
  bool has_zone() const noexcept { return (known_ & kZone) != 0; }
  std::string_view word;  // what a message names

 private:
  enum class FieldKind : uint8_t { kNumber, kDate, kTime, kZone, kWord };

  struct Field {
    FieldKind kind;
    std::string_view text;
  };

  // What the fields have told so far.
  enum Known : uint32_t {
    kYear = 1,
    kMonth = 2,
    kDay = 4,
    kDayOfYear = 8,
    kClock = 16,
    kZone = 32,
    kEra = 64,
    kHalfDay = 128,
    kWeekday = 256,
    kHour = 512,  // these three by labelled numbers, all of them in kClock
    kMinute = 1024,
    kSecond = 2048,
    kDateParts = kYear | kMonth | kDay,
  };

  enum class Label : uint8_t { kNone, kTime, kJulian, kUnit };

  ValueError split(std::string_view text) noexcept;
  const char* split_number(const char* p, const char* end, FieldKind* kind) noexcept;
  const char* split_word(const char* p, const char* end, FieldKind* kind) noexcept;
  ValueError take_field(int index) noexcept;
  ValueError take_word(int index) noexcept;
  ValueError take_special(SpecialWord special) noexcept;
  ValueError take_date_field(std::string_view text) noexcept;
  ValueError take_date(std::string_view text) noexcept;
  ValueError take_time(std::string_view text) noexcept;
  ValueError take_number_field(std::string_view text) noexcept;
  ValueError take_labelled_number(std::string_view text) noexcept;
  ValueError take_unit(char unit, int32_t value, std::string_view fraction) noexcept;
  ValueError take_number(std::string_view text, bool in_date) noexcept;
  ValueError take_run_together(std::string_view text, bool date_known) noexcept;
  ValueError take_zone(std::string_view text) noexcept;
  ValueError take_zone_name(std::string_view text) noexcept;
  ValueError take_fraction(const char* p, const char* end) noexcept;
  ValueError finish() noexcept;
  ValueError mark(uint32_t parts) noexcept {
    ValueError error = (known_ & parts) != 0 ? ValueError::kInvalidDatetimeText : ValueError::kNone;
    known_ |= parts;
    return error;
  }
  ValueError set_part(uint32_t part, int32_t value, size_t digits) noexcept;

  Field fields_[kDatetimeFieldsMax];
  int field_count_ = 0;
  uint32_t known_ = 0;
  Label label_ = Label::kNone;
  char unit_ = ' ';                              // of Label::kUnit
  SpecialWord moment_ = SpecialWord::kMidnight;  // kMidnight: none
  const DateOrder order_ = session_date_style().order;
  int32_t day_of_year_ = 0;
  int32_t hour_ = 0, minute_ = 0, second_ = 0;
  int64_t micros_ = 0;
  bool two_digit_year_ = false;
  bool text_month_ = false;
  bool text_month_in_date_ = false;
  bool before_christ_ = false;
  bool is_julian_ = false;
  bool leading_date_ = false;  // of a time: the first field is the day
  enum { kHour24, kAm, kPm } half_ = kHour24;
};

}  // namespace scyper::query
