#include "result_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <vector>

#include "query/shown_columns.h"
#include "query/value_text.h"
#include "storage/big_numeric.h"

namespace scyper::client {

namespace {

using Cells = std::vector<std::vector<std::string>>;

// Columns on a terminal: East Asian wide characters take two, combining marks none.
size_t display_width(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size();) {
    auto c = static_cast<unsigned char>(text[i]);
    size_t bytes = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    uint32_t code = bytes == 1 ? c : c & (0x7Fu >> bytes);
    for (size_t j = 1; j < bytes && i + j < text.size(); ++j) {
      code = (code << 6) | (static_cast<unsigned char>(text[i + j]) & 0x3Fu);
    }
    bool is_wide = (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
                   (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
                   (code >= 0xFF00 && code <= 0xFF60) || (code >= 0x1F300 && code <= 0x1FAFF);
    bool is_combining = code >= 0x300 && code <= 0x36F;
    width += is_wide ? 2 : is_combining ? 0 : 1;
    i += bytes;
  }
  return width;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (true) {
    size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

size_t cell_width(std::string_view text) {
  size_t width = 0;
  for (std::string_view line : lines_of(text)) width = std::max(width, display_width(line));
  return width;
}

std::string row_count_footer(size_t rows) { return "(" + std::to_string(rows) + (rows == 1 ? " row)\n" : " rows)\n"); }

Cells text_cells(const query::ResultSet& result, const std::string& null_text) {
  Cells cells(1);
  for (size_t c = 0; c < query::shown_columns(result.columns); ++c) cells[0].push_back(result.columns[c].name);
  for (size_t row = 0; row < result.row_count(); ++row) {
    auto& made = cells.emplace_back();
    for (size_t c = 0; c < query::shown_columns(result.columns); ++c) {
      const Datum& value = result.value(row, c);
      made.push_back(value.null ? null_text : value_text(result.columns[c].type, value));
    }
  }
  return cells;
}

std::vector<bool> right_aligned(const query::ResultSet& result) {
  std::vector<bool> right;
  for (const query::ResultColumn& column : result.columns) right.push_back(is_number(column.type.id));
  return right;
}

void append_header(const std::vector<std::string>& names, const std::vector<size_t>& widths, std::string* out) {
  if (names.empty()) {
    *out += "--\n";
    return;
  }
  for (size_t c = 0; c < names.size(); ++c) {
    size_t room = widths[c] - display_width(names[c]);
    *out += c == 0 ? " " : "| ";
    *out += std::string(room / 2, ' ') + names[c] + std::string(room - room / 2, ' ') + " ";
  }
  *out += "\n";
  for (size_t c = 0; c < names.size(); ++c) *out += (c == 0 ? "" : "+") + std::string(widths[c] + 2, '-');
  *out += "\n";
}

// Values with line breaks take several lines; '+' marks that one goes on, as in psql.
void append_row(const std::vector<std::string>& row, const std::vector<size_t>& widths, const std::vector<bool>& right,
                std::string* out) {
  std::vector<std::vector<std::string_view>> cells;
  size_t height = 1;
  for (const std::string& cell : row) {
    cells.push_back(lines_of(cell));
    height = std::max(height, cells.back().size());
  }
  for (size_t line = 0; line < height; ++line) {
    for (size_t c = 0; c < row.size(); ++c) {
      std::string_view text = line < cells[c].size() ? cells[c][line] : std::string_view();
      bool goes_on = line + 1 < cells[c].size();
      bool is_last = c + 1 == row.size();
      std::string padding(widths[c] - display_width(text), ' ');
      *out += c == 0 ? " " : "| ";
      if (right[c]) *out += padding;
      *out += text;
      if (!right[c] && (!is_last || goes_on)) *out += padding;
      if (goes_on) {
        *out += "+";
      } else if (!is_last) {
        *out += " ";
      }
    }
    *out += "\n";
  }
}

std::string format_table(const Cells& cells, const std::vector<bool>& right, bool tuples_only) {
  std::vector<size_t> widths(cells[0].size(), 0);
  for (const auto& row : cells) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], cell_width(row[c]));
  }
  std::string out;
  if (!tuples_only) append_header(cells[0], widths, &out);
  if (widths.empty()) return out;
  for (size_t row = 1; row < cells.size(); ++row) append_row(cells[row], widths, right, &out);
  return out;
}

std::string format_expanded(const Cells& cells, bool tuples_only) {
  size_t name_width = 0, value_width = 0;
  for (const std::string& name : cells[0]) name_width = std::max(name_width, display_width(name));
  for (size_t row = 1; row < cells.size(); ++row) {
    for (const std::string& cell : cells[row]) value_width = std::max(value_width, cell_width(cell));
  }
  std::string out;
  for (size_t row = 1; row < cells.size(); ++row) {
    std::string label = "-[ RECORD " + std::to_string(row) + " ]";
    std::string line = std::string(name_width + 1, '-') + "+" + std::string(value_width + 1, '-');
    if (!tuples_only) out += (label.size() < line.size() ? label + line.substr(label.size()) : label) + "\n";
    for (size_t c = 0; c < cells[row].size(); ++c) {
      const std::string& name = cells[0][c];
      std::vector<std::string_view> lines = lines_of(cells[row][c]);
      for (size_t i = 0; i < lines.size(); ++i) {
        out += i == 0 ? name + std::string(name_width - display_width(name), ' ') : std::string(name_width, ' ');
        out += " | ";
        out += lines[i];
        if (i + 1 < lines.size()) out += std::string(value_width - display_width(lines[i]), ' ') + "+";
        out += "\n";
      }
    }
  }
  if (cells.size() == 1 && !tuples_only) out += row_count_footer(0);
  return out;
}

std::string csv_field(std::string_view text, bool is_null) {
  if (is_null) return "";
  bool is_quoted = text.empty() || text.find_first_of(",\"\r\n") != std::string_view::npos;
  if (!is_quoted) return std::string(text);
  std::string out = "\"";
  for (char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string format_csv(const query::ResultSet& result, bool tuples_only) {
  std::string out;
  for (size_t c = 0; c < query::shown_columns(result.columns) && !tuples_only; ++c) {
    out += (c == 0 ? "" : ",") + csv_field(result.columns[c].name, false);
  }
  if (!tuples_only) out += "\n";
  for (size_t row = 0; row < result.row_count(); ++row) {
    for (size_t c = 0; c < query::shown_columns(result.columns); ++c) {
      const Datum& value = result.value(row, c);
      if (c > 0) out += ",";
      if (!value.null) out += csv_field(value_text(result.columns[c].type, value), false);
    }
    out += "\n";
  }
  return out;
}

std::string json_value(const SqlType& type, const Datum& value) {
  if (value.null) return "null";
  if (type.id == TypeId::kBool) return value.lo != 0 ? "true" : "false";
  if (type.id == TypeId::kFloat8 && !std::isfinite(__builtin_bit_cast(double, value.lo))) {
    return json_string(value_text(type, value));
  }
  if (type.id == TypeId::kNumeric && value.scale < kBigScale) return json_string(value_text(type, value));  // NaN
  if (is_number(type.id)) return value_text(type, value);
  if (type.id != TypeId::kArray) return json_string(value_text(type, value));
  auto* array = reinterpret_cast<const ArrayValue*>(value.lo);
  std::string out = "[";
  for (int32_t i = 0; i < array->size; ++i) {
    out += (i == 0 ? "" : ", ") + json_value(element_of(type), array->elements[i]);
  }
  return out + "]";
}

std::string format_json(const query::ResultSet& result) {
  std::string out = "[";
  for (size_t row = 0; row < result.row_count(); ++row) {
    out += row == 0 ? "\n  {" : ",\n  {";
    for (size_t c = 0; c < query::shown_columns(result.columns); ++c) {
      out += (c == 0 ? "" : ", ") + json_string(result.columns[c].name) + ": " +
             json_value(result.columns[c].type, result.value(row, c));
    }
    out += "}";
  }
  return out + (result.row_count() == 0 ? "]\n" : "\n]\n");
}

// The shortest digits that give the same double, laid out as PostgreSQL does: an exponent below 1e-4 and from 1e15 on.
std::string float8_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  char text[64];
  std::to_chars_result end = std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific);
  std::string_view scientific(text, static_cast<size_t>(end.ptr - text));
  int exponent = 0;
  const char* digits = text + scientific.find('e') + (scientific[scientific.find('e') + 1] == '+' ? 2 : 1);
  std::from_chars(digits, end.ptr, exponent);
  if (exponent < -4 || exponent >= 15) return std::string(scientific);
  end = std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed);
  return std::string(text, end.ptr);
}

}  // namespace

std::string value_text(const SqlType& type, const Datum& value) {
  if (type.id == TypeId::kVoid || type.id == TypeId::kRecord) return "";
  std::string out;
  if (type.id == TypeId::kFloat8) return float8_text(__builtin_bit_cast(double, value.lo));
  if (type.id == TypeId::kUnknown) {
    out.assign(value.data(), value.size());
  } else {
    query::append_value(&out, type, value);
  }
  return out;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string format_cells(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right) {
  return format_table(rows, right, /*tuples_only=*/false);
}

std::string format_result(const query::ResultSet& result, const FormatOptions& options) {
  if (result.columns.empty()) {
    return options.format == OutputFormat::kTable && !options.tuples_only && !result.command_tag.empty()
               ? result.command_tag + "\n"
               : "";
  }
  switch (options.format) {
    case OutputFormat::kCsv:
      return format_csv(result, options.tuples_only);
    case OutputFormat::kJson:
      return format_json(result);
    case OutputFormat::kTable:
      break;
  }
  Cells cells = text_cells(result, options.null_text);
  std::string out = options.is_expanded ? format_expanded(cells, options.tuples_only)
                                        : format_table(cells, right_aligned(result), options.tuples_only);
  if (!options.is_expanded && !options.tuples_only) out += row_count_footer(result.row_count());
  return out + "\n";
}

}  // namespace scyper::client
