#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "query/encodings.h"
#include "query/result.h"

// The text and CSV formats of COPY (binary: query/copy_binary.h), byte for byte as PostgreSQL 15 reads and writes them
// (copyfromparse.c, copyto.c).
namespace scyper::query {

enum class CopyHeader : uint8_t { kNone, kLine, kMatch };

struct CopyFormat {
  bool is_binary = false;  // then nothing below counts
  bool is_csv = false;
  char delimiter = '\t';
  std::string null_text = "\\N";
  CopyHeader header = CopyHeader::kNone;
  char quote = '"';
  char escape = '"';
  // By column of the COPY; empty: none.
  std::vector<bool> force_quote, force_not_null, force_null;
  const Encoding* encoding = nullptr;  // ENCODING; null: that of whoever sends or takes the text
};

// Cuts the text of a COPY FROM, which comes in pieces, into lines and those into fields.
// Errors: 22P04 with PostgreSQL's message; 22021 for what is not UTF-8. None of them can be gone on from.
// Threads: one.
class CopyReader {
 public:
  struct Field {
    std::string_view text;  // valid until the next next()
    bool is_null = false;
    bool is_quoted = false;
  };
  enum class Step : uint8_t { kLine, kMore, kEnd };

  // fields_max: of a line; further ones are counted, not kept.
  CopyReader(CopyFormat format, size_t fields_max) : format_(std::move(format)), fields_max_(fields_max) {}
  // More of the text.
  void add(std::string_view bytes);
  // There is no more.
  void finish() { is_finished_ = true; }
  // The next line; kMore: it is not whole yet.
  StatusOr<Step> next();
  const std::vector<Field>& fields() const { return fields_; }
  size_t field_count() const { return field_count_; }
  uint64_t line() const { return line_; }          // where it ends, from 1; a quoted line break begins a new one
  std::string_view text() const { return text_; }  // of the line, without its end; empty while it is not whole
  size_t buffered_bytes() const { return buffer_.capacity() + decoded_.capacity(); }

 private:
  // What a scan stopped at.
  enum class Stop : uint8_t { kNone, kLineEnd, kEndMarker };

  StatusOr<Step> find_line();
  StatusOr<Stop> step();
  StatusOr<Stop> carriage_return();
  StatusOr<Stop> backslash();
  Status cut_text();
  Status cut_csv();
  Status wrong_line_break(bool is_return) const;
  bool needs_more(size_t ahead) const { return !is_finished_ && scanned_ + ahead >= buffer_.size(); }
  char at(size_t position) const { return position < buffer_.size() ? buffer_[position] : '\0'; }
  void add_field(size_t from, bool is_null, bool is_quoted);

  enum class LineEnd : uint8_t { kUnknown, kNewline, kReturn, kBoth };

  const CopyFormat format_;
  const size_t fields_max_;
  std::string buffer_;
  size_t begin_ = 0;    // of the line that is being looked for
  size_t scanned_ = 0;  // up to here it has no end
  size_t next_ = 0;     // behind what step() found
  LineEnd line_end_ = LineEnd::kUnknown;
  bool in_quotes_ = false;
  bool was_escape_ = false;
  bool is_waiting_ = false;  // step() has to see more
  bool is_finished_ = false;
  bool is_at_end_ = false;  // \. was there
  uint64_t line_ = 0;
  bool has_begun_ = false;  // line_ counts the line that is being looked for
  std::string_view text_;
  std::string decoded_;
  std::vector<Field> fields_;
  size_t field_count_ = 0;
};

// The rows of a COPY TO, text or CSV: query/copy.h has them for all formats.
void append_copy_names(const CopyFormat& format, const std::vector<ResultColumn>& columns, std::string* out);
void append_copy_line(const CopyFormat& format, const std::vector<ResultColumn>& columns, const Datum* row,
                      std::string* out);

// Of PostgreSQL's CONTEXT: at most 100 bytes of a text, at a character's border, with "..." where it was cut.
std::string cut_for_context(std::string_view text);

}  // namespace scyper::query
