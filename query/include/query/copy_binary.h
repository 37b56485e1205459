#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "query/copy_text.h"
#include "query/result.h"

// The binary format of COPY, as PostgreSQL 15 reads and writes it (copyfromparse.c, copyto.c): a header, rows of a
// count and fields with their lengths, a count of -1.
namespace scyper::query {

// Cuts what comes in pieces into rows and fields.
// Errors: 22P04 with PostgreSQL's message. None of them can be gone on from.
// Threads: one.
class CopyBinaryReader {
 public:
  struct Field {
    std::string_view bytes;  // valid until the next add()
    bool is_null = false;
  };

  explicit CopyBinaryReader(size_t columns) : columns_(columns) {}
  void add(std::string_view bytes);
  // There is no more.
  void finish() { is_finished_ = true; }
  // The next row; kMore: it is not whole yet.
  StatusOr<CopyReader::Step> next();
  // Of that row; behind its fields comes what is wrong with it.
  StatusOr<Field> field(size_t column) const;
  uint64_t row() const { return row_; }  // from 1; 0: the header has not been read
  size_t buffered_bytes() const { return buffer_.capacity(); }

 private:
  StatusOr<bool> read_header();
  bool read_fields();
  std::string_view rest() const { return std::string_view(buffer_).substr(begin_); }

  const size_t columns_;
  std::string buffer_;
  size_t begin_ = 0;   // of what was not read yet
  size_t needed_ = 0;  // bytes from there on, without which nothing can be read
  uint64_t row_ = 0;
  bool has_header_ = false;
  bool is_in_row_ = false;  // row_ is the row that is awaited
  bool is_finished_ = false;
  bool is_at_end_ = false;  // -1 was there
  std::vector<Field> fields_;
  Status broken_;  // of the field behind fields_
};

void append_binary_begin(std::string* out);
Status append_binary_row(const std::vector<ResultColumn>& columns, const Datum* row, std::string* out);
void append_binary_end(std::string* out);

}  // namespace scyper::query
