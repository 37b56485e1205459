#include "value_parse.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>

#include "server/packed.h"

namespace scyper::client {

namespace {

Status invalid_text(const SqlType& type, std::string_view text) {
  bool is_date = type.id == TypeId::kDate || type.id == TypeId::kTimestamp;
  std::string name = type.id == TypeId::kNumeric ? "numeric" : type_name(type);
  if (type.id == TypeId::kTimestamp) name = "timestamp";
  return sql_error(is_date ? "22007" : "22P02",
                   "invalid input syntax for type " + name + ": \"" + std::string(text) + "\"");
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

StatusOr<Datum> parse_integer(const SqlType& type, std::string_view text) {
  std::string_view digits = trim(text);
  if (digits.starts_with('+')) digits.remove_prefix(1);
  int64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size()) return invalid_text(type, text);
  bool is_in_range = error == std::errc() &&
                     (type.id == TypeId::kInt8 || (type.id == TypeId::kInt4 && value == static_cast<int32_t>(value)) ||
                      (type.id == TypeId::kInt2 && value == static_cast<int16_t>(value)));
  if (!is_in_range) {
    return sql_error("22003", "value \"" + std::string(text) + "\" is out of range for type " + type_name(type));
  }
  return int_datum(value);
}

StatusOr<Datum> parse_numeric(const SqlType& type, std::string_view text) {
  std::string_view rest = trim(text);
  bool is_negative = rest.starts_with('-');
  if (is_negative || rest.starts_with('+')) rest.remove_prefix(1);
  __int128 number = 0;
  int32_t scale = 0, digits = 0;
  bool is_fraction = false, is_any = false;
  for (char c : rest) {
    if (c == '.' && !is_fraction) {
      is_fraction = true;
      continue;
    }
    if (c < '0' || c > '9') return invalid_text(type, text);
    is_any = true;
    digits += number == 0 && c == '0' ? 0 : 1;
    if (digits > kMaxPrecision || scale == kMaxPrecision) return sql_error("22003", "value overflows numeric format");
    number = number * 10 + (c - '0');
    scale += is_fraction ? 1 : 0;
  }
  if (!is_any) return invalid_text(type, text);
  Datum value = int128_datum(is_negative ? -number : number, scale);
  SCYPER_RETURN_IF_ERROR(server::fit_numeric(type, &value));
  return value;
}

StatusOr<Datum> parse_bool(const SqlType& type, std::string_view text) {
  std::string word;
  for (char c : trim(text)) word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char* yes : {"t", "true", "y", "yes", "on", "1"}) {
    if (word == yes) return int_datum(1);
  }
  for (const char* no : {"f", "false", "n", "no", "off", "0"}) {
    if (word == no) return int_datum(0);
  }
  return invalid_text(type, text);
}

StatusOr<Datum> parse_float(const SqlType& type, std::string_view text) {
  std::string_view digits = trim(text);
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) {
    return sql_error("22003", "\"" + std::string(text) + "\" is out of range for type double precision");
  }
  if (error != std::errc() || end != digits.data() + digits.size()) return invalid_text(type, text);
  return float_datum(value);
}

// `digits` digits at the front of *text.
bool take_number(std::string_view* text, size_t digits, int* out) {
  if (text->size() < digits) return false;
  *out = 0;
  for (size_t i = 0; i < digits; ++i) {
    char c = (*text)[i];
    if (c < '0' || c > '9') return false;
    *out = *out * 10 + (c - '0');
  }
  text->remove_prefix(digits);
  return true;
}
bool take_char(std::string_view* text, char c) {
  if (!text->starts_with(c)) return false;
  text->remove_prefix(1);
  return true;
}

// "2024-02-29" and for timestamps "2024-02-29[ T]12:34[:56[.789]]".
StatusOr<Datum> parse_time(const SqlType& type, std::string_view text) {
  using namespace std::chrono;
  std::string_view rest = trim(text);
  int y = 0, m = 0, d = 0, hour = 0, minute = 0, second = 0, micros = 0;
  bool is_valid = take_number(&rest, 4, &y) && take_char(&rest, '-') && take_number(&rest, 2, &m) &&
                  take_char(&rest, '-') && take_number(&rest, 2, &d);
  if (is_valid && type.id == TypeId::kTimestamp && (take_char(&rest, ' ') || take_char(&rest, 'T'))) {
    is_valid = take_number(&rest, 2, &hour) && take_char(&rest, ':') && take_number(&rest, 2, &minute);
    if (is_valid && take_char(&rest, ':')) is_valid = take_number(&rest, 2, &second);
    if (is_valid && take_char(&rest, '.')) {
      int digit = 0;
      is_valid = !rest.empty();
      for (int unit = 100'000; unit > 0 && take_number(&rest, 1, &digit); unit /= 10) micros += digit * unit;
    }
  }
  if (!is_valid || !rest.empty()) return invalid_text(type, text);
  year_month_day date{year{y}, month{static_cast<unsigned>(m)}, day{static_cast<unsigned>(d)}};
  if (!date.ok() || hour > 24 || minute > 59 || second > 60) {
    return sql_error("22008", "date/time field value out of range: \"" + std::string(text) + "\"");
  }
  int64_t days = (sys_days{date} - sys_days{year{2000} / January / 1}).count();
  if (type.id == TypeId::kDate) return int_datum(days);
  return int_datum(((days * 24 + hour) * 60 + minute) * 60'000'000 + int64_t{second} * 1'000'000 + micros);
}

StatusOr<Datum> parse_string(const SqlType& type, std::string_view text, std::deque<std::string>* strings) {
  SCYPER_RETURN_IF_ERROR(server::check_text(text));
  if (type.length < 0) return string_datum(text.data(), text.size());
  int32_t characters = 0;
  size_t fitting = text.size();  // bytes of the first `length` characters
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continue;
    if (characters++ == type.length) fitting = i;
  }
  if (text.find_first_not_of(' ', fitting) != std::string_view::npos) {
    return sql_error("22001", "value too long for type " + type_name(type));
  }
  text = text.substr(0, fitting);
  if (type.id != TypeId::kChar || characters >= type.length) return string_datum(text.data(), text.size());
  std::string& padded = strings->emplace_back(text);
  padded.append(static_cast<size_t>(type.length - characters), ' ');
  return string_datum(padded.data(), padded.size());
}

}  // namespace

StatusOr<Datum> parse_value(const SqlType& type, std::string_view text, std::deque<std::string>* strings) {
  switch (type.id) {
    case TypeId::kBool:
      return parse_bool(type, text);
    case TypeId::kInt2:
    case TypeId::kInt4:
    case TypeId::kInt8:
      return parse_integer(type, text);
    case TypeId::kFloat8:
      return parse_float(type, text);
    case TypeId::kNumeric:
      return parse_numeric(type, text);
    case TypeId::kDate:
    case TypeId::kTimestamp:
      return parse_time(type, text);
    case TypeId::kChar:
    case TypeId::kVarchar:
    case TypeId::kText:
      return parse_string(type, text, strings);
    default:
      return sql_error("0A000", "loading values of type " + type_name(type) + " is not supported");
  }
}

}  // namespace scyper::client
