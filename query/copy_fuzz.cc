#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "query/copy.h"
#include "query/error_status.h"

namespace scyper::query {

namespace {

using Line = std::vector<std::string>;

struct Read {
  std::vector<Line> lines;
  std::string error;
};

Read read_in_pieces(const CopyFormat& format, std::string_view text, size_t piece) {
  CopyReader reader(format, 4);
  Read read;
  while (true) {
    auto step = reader.next();
    if (!step.ok()) {
      CHECK(sqlstate_of(step.status()).size() == 5);
      read.error = std::to_string(reader.line()) + " " + std::string(step.status().message());
      return read;
    }
    if (*step == CopyReader::Step::kEnd) return read;
    if (*step == CopyReader::Step::kMore) {
      if (text.empty()) reader.finish();
      reader.add(text.substr(0, piece));
      text.remove_prefix(std::min(piece, text.size()));
      continue;
    }
    read.lines.emplace_back();
    for (const auto& field : reader.fields())
      read.lines.back().push_back(field.is_null ? std::string("\0", 1) : std::string(field.text));
  }
}

CopyFormat format_of(uint8_t choice) {
  CopyFormat format;
  format.is_csv = (choice & 1) != 0;
  format.delimiter = (choice & 2) != 0 ? '|' : format.is_csv ? ',' : '\t';
  format.null_text = (choice & 4) != 0 ? "" : "\\N";
  format.quote = (choice & 8) != 0 ? '\'' : '"';
  format.escape = (choice & 16) != 0 ? '\\' : format.quote;
  return format;
}

// Values of several types: nothing but errors may come of it, the same whatever the pieces.
std::string load(const CopyFormat& format, std::string_view text, size_t piece) {
  CopyTarget target;
  target.table = "t";
  target.format = format;
  target.columns = {{"a", make_type(TypeId::kInt4)},
                    {"b", make_type(TypeId::kText)},
                    {"c", make_numeric(30, 5)},
                    {"d", make_array(make_type(TypeId::kText))}};
  CopyRows rows(target);
  Status status;
  for (; status.ok() && !text.empty(); text.remove_prefix(std::min(piece, text.size())))
    status = rows.add(text.substr(0, piece));
  if (status.ok()) status = rows.finish();
  std::string shown = std::string(status.message()) + context_of(status) + "\n";
  if (!status.ok()) return shown;
  rows.rewind();
  uint64_t count = 0;
  for (const Datum* row = rows.next(); row != nullptr; row = rows.next(), count++)
    CHECK(append_copy_row(format, target.columns, row, &shown).ok());
  CHECK(count == rows.row_count());
  return shown;
}

// However binary rows are cut into pieces, they read the same.
void fuzz_binary(size_t piece, std::string_view rows) {
  CopyFormat format;
  format.is_binary = true;
  CHECK(load(format, rows, SIZE_MAX) == load(format, rows, piece));
  std::string whole;
  append_copy_begin(format, {}, &whole);
  whole.append(rows);
  CHECK(load(format, whole, SIZE_MAX) == load(format, whole, piece));
}

// Two bytes say how it is to be read, the rest is the text of a COPY FROM. However it is cut into pieces, it reads the
// same, and what it says can be written and read again.
void fuzz(const uint8_t* data, size_t size) {
  if (size < 2) return;
  fuzz_binary(data[1] % 16 + 1, {reinterpret_cast<const char*>(data) + 2, size - 2});
  const CopyFormat format = format_of(data[0]);
  const size_t piece = data[1] % 16 + 1;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Read whole = read_in_pieces(format, text, SIZE_MAX);
  const Read pieces = read_in_pieces(format, text, piece);
  CHECK(whole.lines == pieces.lines && whole.error == pieces.error);
  CHECK(load(format, text, SIZE_MAX) == load(format, text, piece));
  if (!format.is_csv && format.null_text.empty()) return;  // NULL and '' look alike
  for (const Line& line : whole.lines) {
    std::vector<ResultColumn> columns(line.size(), {"c", make_type(TypeId::kText)});
    std::vector<Datum> row;
    for (const std::string& field : line)
      row.push_back(field.size() == 1 && field[0] == '\0' ? null_datum() : string_datum(field.data(), field.size()));
    std::string written;
    append_copy_line(format, columns, row.data(), &written);
    const Read again = read_in_pieces(format, written, piece);
    CHECK(again.error.empty() && again.lines.size() == 1 && again.lines[0] == line);
  }
}

}  // namespace

// libFuzzer's entry point: its name and type are given.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz(data, size);
  return 0;
}

}  // namespace scyper::query
