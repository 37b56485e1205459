#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "query/copy_lines.h"
#include "query/exec_context.h"
#include "query/result.h"
#include "query/text_converter.h"

// COPY: rows from text and to text.
namespace scyper::query {

class SessionZone;

struct CopyCommand {
  bool is_from = false;
  bool is_program = false;
  std::string file;           // empty: STDIN or STDOUT
  bool has_encoding = false;  // it says what its text is in
};
// What the text is, if it is one COPY. Errors of its syntax are reported by whoever runs it (nullopt).
std::optional<CopyCommand> copy_command_of(std::string_view sql);

// How a COPY ... TO is to write rows of these columns. Errors of its options.
StatusOr<CopyFormat> copy_format_of(std::string_view sql, const std::vector<ResultColumn>& columns);

// The rows of a COPY TO: what comes before them, each, what comes after them.
void append_copy_begin(const CopyFormat& format, const std::vector<ResultColumn>& columns, std::string* out);
Status append_copy_row(const CopyFormat& format, const std::vector<ResultColumn>& columns, const Datum* row,
                       std::string* out);
void append_copy_end(const CopyFormat& format, std::string* out);
// From UTF-8 or to it as the COPY says by ENCODING; null: nothing has to be done. 0A000: not of the binary format.
StatusOr<std::unique_ptr<TextConverter>> copy_converter(const CopyFormat& format, TextConverter::Direction direction);

// What a COPY FROM is about, for one version of the catalog.
struct CopyTarget : CopyShape {
  std::string sql;  // the statement
  std::string key;  // of the table (base/object_name.h)
  TableId id{};

  bool is_like(const CopyTarget& other) const {
    return id == other.id &&
           std::equal(columns.begin(), columns.end(), other.columns.begin(), other.columns.end(),
                      [](const auto& a, const auto& b) { return a.name == b.name && a.type == b.type; });
  }
};

// The rows of a COPY FROM: text in pieces, checked and kept as values, in about as much memory as the text had. Then
// the statement reads them. Errors: see CopyLines. Threads: one.
class CopyRows final : public RowFeed {
 public:
  explicit CopyRows(CopyTarget target);

  // More of the text. After an error no more may come. 0A000: ENCODING of the binary format.
  Status add(std::string_view bytes);
  // The text ends.
  Status finish();
  const CopyTarget& target() const { return target_; }
  uint64_t row_count() const { return row_count_; }
  size_t memory_bytes() const;

  // The INSERT that reads them, for one version of the catalog.
  const std::shared_ptr<const Program>& program() const { return program_; }
  void set_program(std::shared_ptr<const Program> program) { program_ = std::move(program); }
  // The rows, one after the other; nullptr at the end. They stay where they are until the next call.
  const Datum* next() noexcept override;
  void rewind();
  Status at_line(Status status) const { return lines_.at_line(std::move(status)); }
  // An error of the statement that reads the rows, with the line of the one that was read last.
  Status with_line(Status status) const;

 private:
  Status add_converted(std::string_view bytes);
  Status read_lines();
  Status read_row();
  void append_value(size_t column, const Datum& value);
  void append_number(uint64_t number);
  void append_bytes(const void* bytes, size_t size) { row_.append(static_cast<const char*>(bytes), size); }
  void keep_row();

  const CopyTarget target_;
  std::shared_ptr<const Program> program_;
  CopyLines lines_;
  std::unique_ptr<TextConverter> converter_;
  std::string row_;  // the row at hand, as blocks_ have it
  ValueArena scratch_;
  ValueArena kept_;  // arrays
  size_t kept_bytes_ = 0;
  // Rows one behind the other, each in one block: its line less that of the row before, then the values.
  struct Block {
    std::unique_ptr<char[]> bytes;
    size_t capacity = 0;
    size_t used = 0;
  };
  std::vector<Block> blocks_;
  size_t block_bytes_ = 0;
  uint64_t row_count_ = 0;
  uint64_t last_line_ = 0;
  // reading
  size_t block_ = 0, at_ = 0;
  uint64_t current_line_ = 0;
  std::vector<Datum> current_;
  const std::shared_ptr<const SessionZone> zone_;  // the session's: what times without one mean
};

}  // namespace scyper::query
