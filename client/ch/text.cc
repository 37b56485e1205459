#include "client/ch/text.h"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/check.h"

namespace scyper::ch {
namespace {

void append_int(std::string& out, int64_t value) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

void append_padded(std::string& out, int64_t value, int digits) {
  char text[24];
  for (int i = digits - 1; i >= 0; --i) {
    text[i] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
  out.append(text, static_cast<size_t>(digits));
}

void append_numeric(std::string& out, __int128 value, int32_t scale) {
  char text[64];
  char* begin = text + sizeof(text);
  unsigned __int128 rest = value < 0 ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
  for (int32_t digits = 0; rest != 0 || digits <= scale; ++digits) {
    if (digits == scale && scale > 0) *--begin = '.';
    *--begin = static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  }
  if (value < 0) *--begin = '-';
  out.append(begin, static_cast<size_t>(text + sizeof(text) - begin));
}

void append_date(std::string& out, int64_t days) {
  using namespace std::chrono;
  const year_month_day date{sys_days{year{2000} / January / 1} + std::chrono::days{days}};
  append_padded(out, static_cast<int>(date.year()), 4);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.month()), 2);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.day()), 2);
}

void append_timestamp(std::string& out, int64_t micros) {
  constexpr int64_t kDay = int64_t{86'400} * 1'000'000;
  int64_t days = micros / kDay, rest = micros % kDay;
  if (rest < 0) {
    rest += kDay;
    --days;
  }
  append_date(out, days);
  const int64_t seconds = rest / 1'000'000;
  int64_t fraction = rest % 1'000'000;
  out += ' ';
  append_padded(out, seconds / 3600, 2);
  out += ':';
  append_padded(out, seconds / 60 % 60, 2);
  out += ':';
  append_padded(out, seconds % 60, 2);
  if (fraction == 0) return;
  int digits = 6;
  for (; fraction % 10 == 0; fraction /= 10) --digits;
  out += '.';
  append_padded(out, fraction, digits);
}

// The element as array_out writes it: quoted when it is empty, says NULL or has a special character.
void append_array_element(std::string& out, std::string_view text) {
  const bool is_null_word = text.size() == 4 && strncasecmp(text.data(), "null", 4) == 0;
  if (!text.empty() && !is_null_word && text.find_first_of("{},\"\\ \t\n\r\v\f") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

void append_array(std::string& out, const ArrayValue& array, const SqlType& element) {
  if (array.lower_bound != 1 && array.size > 0) {
    out += '[';
    append_int(out, array.lower_bound);
    out += ':';
    append_int(out, array.lower_bound + array.size - 1);
    out += "]=";
  }
  out += '{';
  std::string text;
  for (int32_t i = 0; i < array.size; ++i) {
    if (i > 0) out += ',';
    if (array.elements[i].null) {
      out += "NULL";
      continue;
    }
    text.clear();
    append_text(text, array.elements[i], element);
    append_array_element(out, text);
  }
  out += '}';
}

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        out += c;
    }
  }
}

}  // namespace

void append_text(std::string& out, const Datum& value, const SqlType& type) {
  switch (type.id) {
    case TypeId::kBool:
      out += value.lo != 0 ? 't' : 'f';
      return;
    case TypeId::kInt2:
    case TypeId::kInt4:
    case TypeId::kInt8:
      return append_int(out, value.lo);
    case TypeId::kNumeric:
      return append_numeric(out, value.int128(), value.scale);
    case TypeId::kFloat8: {
      char text[40];
      out.append(text, std::to_chars(text, text + sizeof(text), __builtin_bit_cast(double, value.lo)).ptr);
      return;
    }
    case TypeId::kDate:
      return append_date(out, value.lo);
    case TypeId::kTimestamp:
      return append_timestamp(out, value.lo);
    case TypeId::kArray:
      return append_array(out, *reinterpret_cast<const ArrayValue*>(value.lo), element_of(type));
    default:
      CHECK(is_string(type.id) || type.id == TypeId::kUnknown);
      out.append(value.data(), value.size());
  }
}

void append_csv_row(std::string& out, std::span<const Datum> row, std::span<const Column> columns) {
  CHECK(row.size() == columns.size());
  for (size_t i = 0; i < row.size(); ++i) {
    if (i > 0) out += ',';
    if (row[i].null) continue;
    if (!is_string(columns[i].type.id)) {
      append_text(out, row[i], columns[i].type);
      continue;
    }
    const std::string_view text(row[i].data(), row[i].size());
    if (!text.empty() && text.find_first_of(",\"\n\r") == std::string_view::npos && text != "\\.") {
      out += text;
      continue;
    }
    out += '"';
    for (const char c : text) {
      if (c == '"') out += '"';
      out += c;
    }
    out += '"';
  }
  out += '\n';
}

void append_copy_row(std::string& out, std::span<const Datum> row, std::span<const Column> columns) {
  CHECK(row.size() == columns.size());
  for (size_t i = 0; i < row.size(); ++i) {
    if (i > 0) out += '\t';
    if (row[i].null) {
      out += "\\N";
    } else if (is_string(columns[i].type.id)) {
      append_escaped(out, {row[i].data(), row[i].size()});
    } else {
      append_text(out, row[i], columns[i].type);
    }
  }
  out += '\n';
}

}  // namespace scyper::ch
