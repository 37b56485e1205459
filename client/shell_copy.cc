// COPY in the shell: text from the script, a file or a program to the node, and rows of the node as text.

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "query/copy.h"
#include "shell.h"
#include "slash_copy.h"

namespace scyper::client {

namespace {

constexpr size_t kPieceBytes = 64 << 10;

// Writes rows as a COPY ... TO asks for them.
class CopyWriter final : public QueryHandler {
 public:
  CopyWriter(std::string_view sql, std::FILE* to) : sql_(sql), to_(to) {}

  void on_columns(const std::vector<query::ResultColumn>& columns) override {
    auto format = query::copy_format_of(sql_, columns);
    status_ = format.status();
    if (!status_.ok()) return;
    format_ = *std::move(format);
    auto converter = query::copy_converter(format_, query::TextConverter::Direction::kFromUtf8);
    status_ = converter.status();
    if (!status_.ok()) return;
    converter_ = *std::move(converter);
    query::append_copy_begin(format_, columns, &text_);
  }
  void on_rows(const query::ResultSet& rows) override {
    if (!status_.ok()) return;
    for (size_t row = 0; row < rows.row_count(); ++row) {
      status_ = query::append_copy_row(format_, rows.columns, &rows.value(row, 0), &text_);
      if (!status_.ok()) return;
      if (text_.size() >= kPieceBytes) write();
    }
    row_count_ += rows.row_count();
  }
  void on_complete(const query::ResultSet& end, const query::Receipt*) override {
    notices_ = end.notices;
    if (status_.ok()) query::append_copy_end(format_, &text_);
    write();
  }

  const Status& status() const { return status_; }
  uint64_t row_count() const { return row_count_; }
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  void write() {
    if (std::string converted; status_.ok() && converter_ != nullptr) {
      status_ = converter_->append(text_, &converted);
      text_ = std::move(converted);
    }
    if (status_.ok() && std::fwrite(text_.data(), 1, text_.size(), to_) != text_.size()) {
      status_ = sql_error("58030", std::string("could not write COPY data: ") + std::strerror(errno));
    }
    text_.clear();
  }

  const std::string_view sql_;
  std::FILE* const to_;
  query::CopyFormat format_;
  std::unique_ptr<query::TextConverter> converter_;
  std::string text_;
  Status status_;
  uint64_t row_count_ = 0;
  std::vector<std::string> notices_;
};

// A file of the client or a program that it runs, closed at the end. Writing to a program that has ended is an error,
// not the end of the shell.
class CopyFile {
 public:
  explicit CopyFile(const SlashCopy& copy)
      : name_(copy.file),
        is_program_(copy.place == SlashCopy::Place::kProgram),
        file_(is_program_ ? popen(copy.file.c_str(), copy.is_from ? "r" : "w")
                          : std::fopen(copy.file.c_str(), copy.is_from ? "r" : "w")) {}
  ~CopyFile() {
    static_cast<void>(close());
    std::signal(SIGPIPE, on_broken_pipe_);
  }
  CopyFile(const CopyFile&) = delete;

  std::FILE* get() { return file_; }
  Status open_error() const { return sql_error("58P01", name_ + ": " + std::strerror(errno)); }
  Status close() {
    if (file_ == nullptr) return Status();
    std::FILE* file = std::exchange(file_, nullptr);
    if (!is_program_) {
      return std::fclose(file) == 0 ? Status() : sql_error("58030", name_ + ": " + std::strerror(errno));
    }
    return pclose(file) == 0 ? Status() : sql_error("38000", "program \"" + name_ + "\" failed");
  }

 private:
  using SignalHandler = void (*)(int);
  const std::string name_;
  const bool is_program_;
  std::FILE* file_;
  const SignalHandler on_broken_pipe_ = std::signal(SIGPIPE, SIG_IGN);  // after the program has begun: it keeps its own
};

}  // namespace

bool Shell::run_copy(const std::string& sql, bool is_from) {
  if (!is_from) return copy_out(sql, out_, /*shows_tag=*/false);
  if (!begin_copy(sql)) return false;
  if (!has_lines_) copy_from(stdin);
  return true;
}

bool Shell::begin_copy(const std::string& sql) {
  auto input = session_->open_copy(sql);
  if (!input.ok()) {
    show_error(input.status(), sql);
    return false;
  }
  copy_ = CopyInput{sql, *std::move(input), Status()};
  return true;
}

// One line of the text. After an error the others are read, too: they are no statements.
bool Shell::feed_copy(std::string_view line) {
  if (line == "\\." || line == "\\.\r") return goes_on(finish_copy());
  if (copy_->status.ok()) copy_->status = copy_->sink->write(std::string(line) + "\n");
  return true;
}

bool Shell::finish_copy() {
  CopyInput copy = *std::move(copy_);
  copy_.reset();
  query::ResultSet result;
  if (copy.status.ok()) copy.status = copy.sink->finish(&result);
  if (!copy.status.ok()) {
    show_error(copy.status, copy.sql);
    return false;
  }
  show_result(result);
  return true;
}

void Shell::give_up_copy() {
  copy_.reset();
  std::fprintf(err_, "COPY was given up; nothing was copied.\n");
}

// All that the file has, to the COPY that has begun.
void Shell::copy_from(std::FILE* file) {
  std::string piece(kPieceBytes, '\0');
  while (copy_->status.ok()) {
    const size_t size = std::fread(piece.data(), 1, piece.size(), file);
    if (size == 0) break;
    copy_->status = copy_->sink->write(std::string_view(piece).substr(0, size));
  }
  if (copy_->status.ok() && std::ferror(file) != 0) {
    copy_->status = sql_error("58030", std::string("could not read COPY data: ") + std::strerror(errno));
  }
}

bool Shell::copy_out(const std::string& sql, std::FILE* file, bool shows_tag) {
  CopyWriter writer(sql, file);
  Status status = session_->stream(sql, &writer);
  if (status.ok()) status = writer.status();
  if (!status.ok()) {
    show_error(status, sql);
    return false;
  }
  query::ResultSet result;
  result.notices = writer.notices();
  if (shows_tag) result.command_tag = "COPY " + std::to_string(writer.row_count());
  show_result(result);
  return true;
}

bool Shell::run_slash_copy(std::string_view arguments) {
  auto copy = parse_slash_copy(arguments);
  if (!copy.ok()) {
    show_error(copy.status(), "");
    return false;
  }
  if (copy->place == SlashCopy::Place::kScript || copy->place == SlashCopy::Place::kTerminal) {
    if (!copy->is_from) return copy_out(copy->sql, out_, /*shows_tag=*/false);
    if (!begin_copy(copy->sql)) return false;
    if (has_lines_ && copy->place == SlashCopy::Place::kScript) return true;  // its lines come
    copy_from(stdin);
    return finish_copy();
  }
  CopyFile file(*copy);
  if (file.get() == nullptr) {
    show_error(file.open_error(), "");
    return false;
  }
  if (!copy->is_from) {
    const bool is_written = copy_out(copy->sql, file.get(), /*shows_tag=*/true);
    const Status closed = file.close();
    if (!closed.ok()) show_error(closed, "");
    return is_written && closed.ok();
  }
  if (!begin_copy(copy->sql)) return false;
  copy_from(file.get());
  const Status closed = file.close();
  if (copy_->status.ok()) copy_->status = closed;  // a program that fails copies nothing
  return finish_copy();
}

}  // namespace scyper::client
