#include <gtest/gtest.h>

#include <string>

#include "types/date_style.h"
#include "types/datetime.h"
#include "types/oracle.h"
#include "types/timezone.h"

namespace scyper::query {
namespace {

// PostgreSQL's messages for the two types differ in the name only.
std::string date_outcome(ValueError error, std::string_view text, std::string_view word, int32_t date) {
  if (error == ValueError::kTimezoneUnknown) text = word;
  if (error != ValueError::kNone) return error_outcome(error, make_type(TypeId::kDate), text);
  char out[kTimestampTextMax];
  return value_outcome({out, static_cast<size_t>(date_format(date, out) - out)});
}

std::string timestamp_outcome(ValueError error, std::string_view text, std::string_view word, int64_t timestamp) {
  if (error == ValueError::kTimezoneUnknown) text = word;
  if (error != ValueError::kNone) return error_outcome(error, make_type(TypeId::kTimestamp), text);
  char out[kTimestampTextMax];
  return value_outcome({out, static_cast<size_t>(timestamp_format(timestamp, out) - out)});
}

void expect_parse(Comparison* comparison, const std::string& text) {
  int32_t date = 0;
  int64_t timestamp = 0;
  std::string_view word;
  ValueError error = date_parse(text, &date, &word);
  if (error == ValueError::kDatetimeSpecial) return;
  comparison->expect(sql_quote(text) + "::date", date_outcome(error, text, word, date));
  error = timestamp_parse(text, &timestamp, &word);
  comparison->expect(sql_quote(text) + "::timestamp", timestamp_outcome(error, text, word, timestamp));
}

TEST(DatetimeOracle, ParseKnownForms) {
  Comparison comparison;
  for (const char* text : {"",
                           " ",
                           "abc",
                           "2020-01-02",
                           " 2020-1-2 ",
                           "2020-13-01",
                           "2020-02-30",
                           "2020-00-10",
                           "2020-01-00",
                           "2020-01-32",
                           "0000-01-01",
                           "0001-01-01",
                           "0001-01-01 BC",
                           "4713-11-24 BC",
                           "4713-11-23 BC",
                           "4714-11-24 BC",
                           "4714-11-23 BC",
                           "4715-01-01 BC",
                           "5874897-12-31",
                           "5874898-01-01",
                           "294276-12-31 23:59:59.999999",
                           "294277-01-01",
                           "99-01-02",
                           "01-02-99",
                           "1/2/99",
                           "12/31/2020",
                           "31/12/2020",
                           "2020/3/4",
                           "2020.03.04",
                           "2020.123",
                           "2020-123",
                           "20200102",
                           "200102",
                           "20201301",
                           "2001021",
                           "12345",
                           "2020",
                           "20200102 030405",
                           "20200102T030405",
                           "20200102T030405.6",
                           "20200102 0304",
                           "2020-01-02 03:04",
                           "2020-01-02 03:04:05",
                           "2020-01-02T03:04:05",
                           "2020-01-02t03:04:05Z",
                           "2020-01-02 03:04:05.1234567",
                           "2020-01-02 03:04:05.9999999",
                           "2020-01-02 03:04:05.",
                           "2020-01-02 24:00:00",
                           "2020-01-02 24:00:01",
                           "2020-01-02 23:59:60",
                           "2020-01-02 23:60:00",
                           "2020-01-02 25:00",
                           "2020-01-02 3:4:5",
                           "2020-01-02 03:04:05+02",
                           "2020-01-02 03:04:05+02:30",
                           "2020-01-02 03:04:05-1130",
                           "2020-01-02 03:04:05+16",
                           "2020-01-02 03:04:05 UTC",
                           "2020-01-02 03:04:05 EST",
                           "2020-01-02 03:04:05 foo",
                           "2020-01-02 +2",
                           "2020-01-02 + 2",
                           "2020-01-02 03:04:05 PM",
                           "2020-01-02 12:00 am",
                           "2020-01-02 12:00 pm",
                           "2020-01-02 13:00 pm",
                           "2020-01-02 1pm",
                           "Jan 8, 1999",
                           "January 8 1999",
                           "8 Jan 1999",
                           "8-Jan-1999",
                           "1999-Jan-08",
                           "Jan-08-1999",
                           "Jan-08-99",
                           "99-Jan-08",
                           "08-Jan-99",
                           "Mon Jan 8 1999",
                           "Jan 8",
                           "1999 Jan 8",
                           "8 January 1999 10:20",
                           "J2451187",
                           "julian 2451187",
                           "epoch",
                           "2020-01-02 allballs",
                           "2020-01-02 03:04:05 2020-01-02",
                           "2020-01-02 2020-01-02",
                           "2020-01-02 03:04 05:06",
                           "2020--01-02",
                           "2020-01-02-",
                           "2020-01-02 T",
                           "T03:04:05",
                           "03:04:05",
                           "2020-01-02 03",
                           "2020-01-02 xx/yy",
                           "2020-01-02 foo/Bar",
                           "2020-01-02 :",
                           "2020-01-02 03:04:05.5.5",
                           "2020-01-02 03:04:05:06",
                           "2020-01-02 03:",
                           "2020-01-02,03:04:05",
                           "2020-01-02!",
                           "2020-01-02\xc3\xa9",
                           "99999999999-01-01",
                           "2020-01-99999999999",
                           "2020-1",
                           "2020-366",
                           "2019-366",
                           "2020-367",
                           "2020-000",
                           "1-2-3",
                           "01-02-03 BC",
                           "0-1-1",
                           "00-01-01",
                           "10000-01-01",
                           "2020-01-02 00:00:59.9999995",
                           "2020-01-02 99:00",
                           "20200102 256070",
                           "2020-02-29",
                           "2019-02-29",
                           "1900-02-29",
                           "2000-02-29",
                           "2020-04-31",
                           "2020-01-02 am",
                           "2020-01-02 BC",
                           "BC 2020-01-02",
                           "2020-01-02 at 03:04",
                           "on 2020-01-02",
                           "2020-01-02 03:04:05 +",
                           "2020-01-02 03:04:05 -foo",
                           "-2020-01-02",
                           "+2020-01-02",
                           "2020-01-02 .5",
                           ".5",
                           "1.5",
                           "2020-01-02 030405-08",
                           "2020-01-02 0304-08",
                           "2020-01-02T030405-08",
                           "4713-01-01 BC 00:00",
                           "20000000-01-01",
                           "2020-03-04 2020123199924:00.:"}) {
    expect_parse(&comparison, text);
  }
  comparison.check();
}

TEST(DatetimeOracle, ParseRandomTexts) {
  const char* pieces[] = {
      "2020",       "1999",       "99",       "01",  "1",   "02",      "12",       "13",    "31",    "32",
      "123",        "366",        "20200102", "-",   "-",   "-",       "/",        ".",     ":",     ":",
      " ",          " ",          " ",        "T",   "jan", "Feb",     "december", "mon",   "am",    "PM",
      "bc",         "ad",         "Z",        "utc", "+02", "-08:30",  "03:04:05", "23:59", "24:00", "10:20:30.25",
      "2020-01-02", "1999-12-31", "1/2/03",   "0",   "00",  "5000000", "at",       ",",     "0304",  "030405.5"};
  Comparison comparison;
  for (int i = 0; i < 8000; ++i) {
    std::string text;
    if (random_below(2) == 0) text = "2020-03-04 ";
    for (uint64_t n = 1 + random_below(6); n > 0; --n) text += pieces[random_below(std::size(pieces))];
    // Whatever PostgreSQL can read as a POSIX zone ("pm2") we refuse; its day count wraps for the 366th day of a year
    // far beyond its range.
    int32_t date;
    ValueError error = date_parse(text, &date, nullptr);
    if (error != ValueError::kTimezoneUnknown && error != ValueError::kDateTextRange) expect_parse(&comparison, text);
  }
  comparison.check();
}

TEST(DatetimeOracle, WordsOfTheMoment) {
  for (const char* text : {"now", "today", " Tomorrow ", "yesterday"}) {
    int32_t date;
    int64_t timestamp;
    EXPECT_EQ(date_parse(text, &date, nullptr), ValueError::kDatetimeSpecial) << text;
    const NowScope now(5 * kMicrosPerDay + 7);
    EXPECT_EQ(date_parse(text, &date, nullptr), ValueError::kNone) << text;
    EXPECT_EQ(timestamp_parse(text, &timestamp, nullptr), ValueError::kNone) << text;
    EXPECT_NEAR(date, 5, 1) << text;
    EXPECT_EQ(timestamp_to_date(timestamp), date) << text;
  }
  Comparison comparison;
  for (const char* text :
       {"infinity", "-infinity", " Infinity ", "+infinity", "inf", "2020-01-01 infinity", "infinity allballs"})
    expect_parse(&comparison, text);
  comparison.check();
}

// Numbers in each order of DateStyle, and every form of output.
TEST(DatetimeOracle, DateStyles) {
  for (const char* style : {"ISO, MDY", "ISO, DMY", "ISO, YMD", "SQL, MDY", "SQL, DMY", "Postgres, MDY",
                            "Postgres, DMY", "Postgres, YMD", "German, DMY", "German, MDY"}) {
    const auto zone = make_session_zone(make_zone_mark({"UTC", "", style, ""}));
    const ZoneScope scope(zone.get());
    oracle().execute("SET datestyle = '" + std::string(style) + "'");
    Comparison comparison;
    for (const char* text : {"01/02/03", "1-2-2003", "13/02/2003", "02/13/2003", "2003-02-01", "03-feb-01", "feb-03-01",
                             "feb-03-2001", "01.02.2003 10:00", "99-01-08", "08-Jan-99", "jan 8, 99 BC", "20030201",
                             "infinity", "294276-12-31", "0044-03-15 BC"})
      expect_parse(&comparison, text);
    comparison.check();
  }
  oracle().execute("RESET datestyle");
}

int32_t random_date() {
  switch (random_below(8)) {
    case 0:
      return kDateMin + static_cast<int32_t>(random_below(2000));
    case 1:
      return kDateMax - static_cast<int32_t>(random_below(2000));
    case 2:
      return static_cast<int32_t>(random_below(4000000)) - 2400000;
    default:
      return static_cast<int32_t>(random_below(80000)) - 40000;
  }
}

int64_t random_timestamp() {
  switch (random_below(8)) {
    case 0:
      return kTimestampMin + static_cast<int64_t>(random_below(uint64_t{1} << 46));
    case 1:
      return kTimestampMax - static_cast<int64_t>(random_below(uint64_t{1} << 46));
    case 2:
      return static_cast<int64_t>(random_below(uint64_t{1} << 58)) - (int64_t{1} << 57);
    case 3:
      return (static_cast<int64_t>(random_below(80000)) - 40000) * kMicrosPerDay;
    default:
      return static_cast<int64_t>(random_below(uint64_t{1} << 52)) - (int64_t{1} << 51);
  }
}

std::string date_literal(int32_t date) {
  char out[kTimestampTextMax];
  return "'" + std::string(out, date_format(date, out)) + "'::date";
}

std::string timestamp_literal(int64_t timestamp) {
  char out[kTimestampTextMax];
  return "'" + std::string(out, timestamp_format(timestamp, out)) + "'::timestamp";
}

TEST(DatetimeOracle, DateOperations) {
  Comparison comparison;
  for (int i = 0; i < 2500; ++i) {
    int32_t a = random_date(), b = random_date();
    int32_t days = static_cast<int32_t>(random_source()()) >> random_below(32);
    std::string operand = date_literal(a);
    comparison.expect(operand, date_outcome(ValueError::kNone, "", "", a));
    int32_t result = 0;
    ValueError error = date_add_days(a, days, &result);
    comparison.expect(operand + " + (" + std::to_string(days) + ")", date_outcome(error, "", "", result));
    error = date_subtract_days(a, days, &result);
    comparison.expect(operand + " - (" + std::to_string(days) + ")", date_outcome(error, "", "", result));
    int32_t difference = 0;
    ASSERT_EQ(date_difference(a, b, &difference), ValueError::kNone);
    comparison.expect(operand + " - " + date_literal(b), value_outcome(std::to_string(difference)));
    int64_t timestamp = 0;
    error = date_to_timestamp(a, &timestamp);
    comparison.expect(operand + "::timestamp", timestamp_outcome(error, "", "", timestamp));
    int64_t other = error == ValueError::kNone && random_below(4) == 0 ? timestamp : random_timestamp();
    if (other < kTimestampMin || other > kTimestampMax) continue;
    comparison.expect(operand + " < " + timestamp_literal(other), date_compare_timestamp(a, other) < 0 ? "=t" : "=f");
    comparison.expect(timestamp_literal(other) + "::date",
                      date_outcome(ValueError::kNone, "", "", timestamp_to_date(other)));
  }
  comparison.check();
}

TEST(DatetimeOracle, ExtractAndTruncate) {
  const char* units[] = {"microseconds", "milliseconds", "second",        "minute",    "HOUR",   "day",
                         "week",         "month",        "quarter",       "year",      "decade", "century",
                         "millennium",   "isoyear",      "julian",        "dow",       "isodow", "doy",
                         "epoch",        "timezone",     "timezone_hour", "fortnight", "yrs",    "ms"};
  SqlType date_type = make_type(TypeId::kDate), timestamp_type = make_type(TypeId::kTimestamp);
  auto outcome = [](ValueError error, const SqlType& type, const char* unit, const Decimal& value) {
    std::string lower(unit);
    for (char& c : lower) c = static_cast<char>(std::tolower(c));
    if (error != ValueError::kNone) return error_outcome(error, type, lower);
    char out[kDecimalTextMax];
    return value_outcome({out, static_cast<size_t>(decimal_format(value, out) - out)});
  };
  Comparison comparison;
  for (int i = 0; i < 600; ++i) {
    int32_t date = random_date();
    int64_t timestamp = random_timestamp(), truncated = 0;
    for (const char* name : units) {
      DatetimeUnit unit = DatetimeUnit::kEpoch;
      Decimal value;
      bool is_null = false;
      ValueError error = unit_parse(name, &unit);
      if (error == ValueError::kNone) error = date_extract(unit, date, &value, &is_null);
      std::string argument = std::string("('") + name + "', ";
      comparison.expect("extract" + argument.substr(0, 0) + "(" + name + " FROM " + date_literal(date) + ")",
                        outcome(error, date_type, name, value));
      error = unit_parse(name, &unit);
      if (error == ValueError::kNone) error = timestamp_extract(unit, timestamp, &value, &is_null);
      comparison.expect(std::string("extract(") + name + " FROM " + timestamp_literal(timestamp) + ")",
                        outcome(error, timestamp_type, name, value));
      error = unit_parse(name, &unit);
      if (error == ValueError::kNone) error = timestamp_truncate(unit, timestamp, &truncated);
      comparison.expect("date_trunc" + argument + timestamp_literal(timestamp) + ")",
                        error == ValueError::kNone || error == ValueError::kTimestampRange
                            ? timestamp_outcome(error, "", "", truncated)
                            : outcome(error, timestamp_type, name, value));
    }
  }
  comparison.check();
}

TEST(DatetimeOracle, AddInterval) {
  Comparison comparison;
  for (int i = 0; i < 3000; ++i) {
    int64_t timestamp = random_timestamp(), result = 0;
    Interval interval;
    interval.months = static_cast<int32_t>(random_below(400)) - 200;
    interval.days = static_cast<int32_t>(random_below(800)) - 400;
    interval.micros = static_cast<int64_t>(random_below(uint64_t{1} << 40)) - (int64_t{1} << 39);
    if (random_below(3) == 0) interval.months *= 10000;
    ValueError error = timestamp_add(timestamp, interval, &result);
    comparison.expect(timestamp_literal(timestamp) + " + '" + std::to_string(interval.months) + " months " +
                          std::to_string(interval.days) + " days " + std::to_string(interval.micros) + " us'::interval",
                      timestamp_outcome(error, "", "", result));
  }
  comparison.check();
}

}  // namespace
}  // namespace scyper::query
