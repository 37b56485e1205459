#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "query/copy_binary.h"
#include "query/copy_text.h"
#include "query/result.h"
#include "query/value_text.h"

namespace scyper::query {

// What a text of rows is about.
struct CopyShape {
  std::string table;                  // as CONTEXT names it
  std::vector<ResultColumn> columns;  // that the text has, in its order
  CopyFormat format;
};

// The rows of a text, or what is binary, that comes in pieces, as COPY FROM and file_fdw take them: the header is
// checked, fields are counted, told from NULL and made values. Errors have PostgreSQL's CONTEXT: "COPY t, line 2,
// column a: "x"". Threads: one.
class CopyLines {
 public:
  // shape: outlives it.
  explicit CopyLines(const CopyShape& shape)
      : shape_(shape), reader_(shape.format, shape.columns.size()), binary_(shape.columns.size()) {}

  // More of the text. After an error no more may come.
  void add(std::string_view bytes) { is_binary() ? binary_.add(bytes) : reader_.add(bytes); }
  // The text ends.
  void finish() { is_binary() ? binary_.finish() : reader_.finish(); }
  // The next line that is a row; kMore: it is not whole yet.
  StatusOr<CopyReader::Step> next();
  // Of that row. What the value points to lies in the arena, all of arrays in `arrays`.
  Status read_value(size_t column, ValueArena* arena, ValueArena* arrays, Datum* value) const;

  uint64_t line() const { return is_binary() ? binary_.row() : reader_.line(); }
  size_t buffered_bytes() const { return reader_.buffered_bytes() + binary_.buffered_bytes(); }
  size_t field_bytes(size_t column) const {
    return is_binary() ? binary_.field(column)->bytes.size() : reader_.fields()[column].text.size();
  }
  // An error of who sends the text, with the line that is awaited.
  Status at_line(Status status) const;

 private:
  bool is_binary() const { return shape_.format.is_binary; }
  Status check_header() const;
  Status receive_value(size_t column, ValueArena* arena, Datum* value) const;
  Status with_context(Status status, const std::string& what = "") const;

  const CopyShape& shape_;
  CopyReader reader_;  // of text and CSV
  CopyBinaryReader binary_;
  bool has_header_ = false;  // was read
  bool is_line_whole_ = false;
};

}  // namespace scyper::query
