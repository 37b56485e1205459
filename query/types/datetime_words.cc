#include "types/datetime_words.h"

#include <algorithm>
#include <iterator>

#include "types/datetime.h"
#include "types/digits.h"

namespace scyper::query {

namespace {

constexpr size_t kWordLetters = 10;  // what PostgreSQL compares of a word

struct WordEntry {
  std::string_view word;
  DatetimeWord meaning;
};

constexpr DatetimeWord kEpochWord{WordKind::kReserved, static_cast<uint8_t>(SpecialWord::kEpoch)};
constexpr DatetimeWord kMidnightWord{WordKind::kReserved, static_cast<uint8_t>(SpecialWord::kMidnight)};
constexpr DatetimeWord kUnsupportedWord{WordKind::kReserved, static_cast<uint8_t>(SpecialWord::kUnsupported)};
constexpr DatetimeWord kZoneWord{WordKind::kZone, 0};
constexpr DatetimeWord kIgnoredWord{WordKind::kIgnored, 0};
constexpr DatetimeWord kWeekdayWord{WordKind::kWeekday, 0};
constexpr DatetimeWord kJulianWord{WordKind::kJulian, 0};
constexpr DatetimeWord month_word(uint8_t month) { return {WordKind::kMonth, month}; }

constexpr WordEntry kWords[] = {
    {"-infinity", kUnsupportedWord},
    {"ad", {WordKind::kEra, 0}},
    {"acst", kZoneWord},
    {"adt", kZoneWord},
    {"aedt", kZoneWord},
    {"aest", kZoneWord},
    {"akdt", kZoneWord},
    {"akst", kZoneWord},
    {"allballs", kMidnightWord},
    {"am", {WordKind::kHalfDay, 0}},
    {"amt", kZoneWord},
    {"apr", month_word(4)},
    {"april", month_word(4)},
    {"ast", kZoneWord},
    {"at", kIgnoredWord},
    {"aug", month_word(8)},
    {"august", month_word(8)},
    {"awst", kZoneWord},
    {"bc", {WordKind::kEra, 1}},
    {"bst", kZoneWord},
    {"cdt", kZoneWord},
    {"cest", kZoneWord},
    {"cet", kZoneWord},
    {"cst", kZoneWord},
    {"dec", month_word(12)},
    {"december", month_word(12)},
    {"edt", kZoneWord},
    {"eest", kZoneWord},
    {"eet", kZoneWord},
    {"epoch", kEpochWord},
    {"est", kZoneWord},
    {"feb", month_word(2)},
    {"february", month_word(2)},
    {"fri", kWeekdayWord},
    {"friday", kWeekdayWord},
    {"gmt", kZoneWord},
    {"hst", kZoneWord},
    {"infinity", kUnsupportedWord},
    {"ist", kZoneWord},
    {"j", kJulianWord},
    {"jan", month_word(1)},
    {"january", month_word(1)},
    {"jd", kJulianWord},
    {"jst", kZoneWord},
    {"jul", month_word(7)},
    {"julian", kJulianWord},
    {"july", month_word(7)},
    {"jun", month_word(6)},
    {"june", month_word(6)},
    {"kst", kZoneWord},
    {"mar", month_word(3)},
    {"march", month_word(3)},
    {"may", month_word(5)},
    {"mdt", kZoneWord},
    {"mon", kWeekdayWord},
    {"monday", kWeekdayWord},
    {"msk", kZoneWord},
    {"mst", kZoneWord},
    {"nov", month_word(11)},
    {"november", month_word(11)},
    {"now", kUnsupportedWord},
    {"nzdt", kZoneWord},
    {"nzst", kZoneWord},
    {"oct", month_word(10)},
    {"october", month_word(10)},
    {"on", kIgnoredWord},
    {"pdt", kZoneWord},
    {"pm", {WordKind::kHalfDay, 1}},
    {"pst", kZoneWord},
    {"sat", kWeekdayWord},
    {"saturday", kWeekdayWord},
    {"sep", month_word(9)},
    {"sept", month_word(9)},
    {"september", month_word(9)},
    {"sgt", kZoneWord},
    {"sun", kWeekdayWord},
    {"sunday", kWeekdayWord},
    {"t", {WordKind::kTime, 0}},
    {"thu", kWeekdayWord},
    {"thur", kWeekdayWord},
    {"thurs", kWeekdayWord},
    {"thursday", kWeekdayWord},
    {"today", kUnsupportedWord},
    {"tomorrow", kUnsupportedWord},
    {"tue", kWeekdayWord},
    {"tues", kWeekdayWord},
    {"tuesday", kWeekdayWord},
    {"uct", kZoneWord},
    {"ut", kZoneWord},
    {"utc", kZoneWord},
    {"wed", kWeekdayWord},
    {"wednesday", kWeekdayWord},
    {"weds", kWeekdayWord},
    {"west", kZoneWord},
    {"wet", kZoneWord},
    {"yesterday", kUnsupportedWord},
    {"z", kZoneWord},
    {"zulu", kZoneWord},
};

struct UnitEntry {
  std::string_view word;
  DatetimeUnit unit;
};

constexpr UnitEntry kUnits[] = {
    {"c", DatetimeUnit::kCentury},
    {"cent", DatetimeUnit::kCentury},
    {"centuries", DatetimeUnit::kCentury},
    {"century", DatetimeUnit::kCentury},
    {"d", DatetimeUnit::kDay},
    {"day", DatetimeUnit::kDay},
    {"days", DatetimeUnit::kDay},
    {"dec", DatetimeUnit::kDecade},
    {"decade", DatetimeUnit::kDecade},
    {"decades", DatetimeUnit::kDecade},
    {"decs", DatetimeUnit::kDecade},
    {"dow", DatetimeUnit::kDayOfWeek},
    {"doy", DatetimeUnit::kDayOfYear},
    {"epoch", DatetimeUnit::kEpoch},
    {"h", DatetimeUnit::kHour},
    {"hour", DatetimeUnit::kHour},
    {"hours", DatetimeUnit::kHour},
    {"hr", DatetimeUnit::kHour},
    {"hrs", DatetimeUnit::kHour},
    {"isodow", DatetimeUnit::kIsoDayOfWeek},
    {"isoyear", DatetimeUnit::kIsoYear},
    {"j", DatetimeUnit::kJulian},
    {"jd", DatetimeUnit::kJulian},
    {"julian", DatetimeUnit::kJulian},
    {"m", DatetimeUnit::kMinute},
    {"microsecon", DatetimeUnit::kMicroseconds},
    {"mil", DatetimeUnit::kMillennium},
    {"millennia", DatetimeUnit::kMillennium},
    {"millennium", DatetimeUnit::kMillennium},
    {"millisecon", DatetimeUnit::kMilliseconds},
    {"mils", DatetimeUnit::kMillennium},
    {"min", DatetimeUnit::kMinute},
    {"mins", DatetimeUnit::kMinute},
    {"minute", DatetimeUnit::kMinute},
    {"minutes", DatetimeUnit::kMinute},
    {"mon", DatetimeUnit::kMonth},
    {"mons", DatetimeUnit::kMonth},
    {"month", DatetimeUnit::kMonth},
    {"months", DatetimeUnit::kMonth},
    {"ms", DatetimeUnit::kMilliseconds},
    {"msec", DatetimeUnit::kMilliseconds},
    {"msecond", DatetimeUnit::kMilliseconds},
    {"mseconds", DatetimeUnit::kMilliseconds},
    {"msecs", DatetimeUnit::kMilliseconds},
    {"qtr", DatetimeUnit::kQuarter},
    {"quarter", DatetimeUnit::kQuarter},
    {"s", DatetimeUnit::kSecond},
    {"sec", DatetimeUnit::kSecond},
    {"second", DatetimeUnit::kSecond},
    {"seconds", DatetimeUnit::kSecond},
    {"secs", DatetimeUnit::kSecond},
    {"timezone", DatetimeUnit::kTimezone},
    {"timezone_h", DatetimeUnit::kTimezone},
    {"timezone_m", DatetimeUnit::kTimezone},
    {"us", DatetimeUnit::kMicroseconds},
    {"usec", DatetimeUnit::kMicroseconds},
    {"usecond", DatetimeUnit::kMicroseconds},
    {"useconds", DatetimeUnit::kMicroseconds},
    {"usecs", DatetimeUnit::kMicroseconds},
    {"w", DatetimeUnit::kWeek},
    {"week", DatetimeUnit::kWeek},
    {"weeks", DatetimeUnit::kWeek},
    {"y", DatetimeUnit::kYear},
    {"year", DatetimeUnit::kYear},
    {"years", DatetimeUnit::kYear},
    {"yr", DatetimeUnit::kYear},
    {"yrs", DatetimeUnit::kYear},
};

// Finds text, lower-cased and cut to ten letters, in a table.
template <typename Entry, size_t N>
const Entry* find_entry(const Entry (&table)[N], std::string_view text) noexcept {
  char lower[kWordLetters];
  size_t size = std::min(text.size(), kWordLetters);
  for (size_t i = 0; i < size; ++i) lower[i] = to_lower(text[i]);
  std::string_view key(lower, size);
  auto found = std::find_if(std::begin(table), std::end(table), [key](const Entry& e) { return e.word == key; });
  return found == std::end(table) ? nullptr : found;
}

}  // namespace

DatetimeWord find_datetime_word(std::string_view text) noexcept {
  const WordEntry* entry = find_entry(kWords, text);
  return entry == nullptr ? DatetimeWord{} : entry->meaning;
}

ValueError unit_parse(std::string_view name, DatetimeUnit* out) noexcept {
  const UnitEntry* entry = find_entry(kUnits, name);
  if (entry == nullptr) return ValueError::kUnitUnknown;
  *out = entry->unit;
  return ValueError::kNone;
}

}  // namespace scyper::query
