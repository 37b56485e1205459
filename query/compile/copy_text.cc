#include "query/copy_text.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/whole_characters.h"
#include "parse/text.h"
#include "query/value_text.h"
#include "types/digits.h"

namespace scyper::query {

namespace {

constexpr size_t kContextBytesMax = 100;

Status bad_format(std::string_view message) { return sql_error("22P04", message); }

bool is_octal(char c) { return c >= '0' && c <= '7'; }

// The character that a backslash and `c` stand for, where that is not `c`; else '\0'.
char control_of(char c) {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    default:
      return '\0';
  }
}

// The byte that stands in `text` behind a backslash at *at, which moves behind it.
char decode_escape(std::string_view text, size_t* at) {
  char c = text[(*at)++];
  if (is_octal(c)) {
    int value = c - '0';
    for (int digits = 1; digits < 3 && *at < text.size() && is_octal(text[*at]); digits++)
      value = value * 8 + (text[(*at)++] - '0');
    return static_cast<char>(value & 0xFF);
  }
  if (c == 'x' && *at < text.size() && hex_value_of(text[*at]) >= 0) {
    int value = hex_value_of(text[(*at)++]);
    if (*at < text.size() && hex_value_of(text[*at]) >= 0) value = value * 16 + hex_value_of(text[(*at)++]);
    return static_cast<char>(value);
  }
  const char control = control_of(c);
  return control != '\0' ? control : c;
}

}  // namespace

// --- lines ---

void CopyReader::add(std::string_view bytes) {
  if (is_at_end_) return;
  if (begin_ > 0) {  // what was read goes
    buffer_.erase(0, begin_);
    scanned_ -= begin_;
    begin_ = 0;
  }
  buffer_.append(bytes);
}

StatusOr<CopyReader::Step> CopyReader::next() {
  fields_.clear();
  field_count_ = 0;
  text_ = {};
  SCYPER_ASSIGN_OR_RETURN(Step found, find_line());
  if (found != Step::kLine) return found;
  if (Status valid = check_utf8(text_); !valid.ok()) {
    text_ = {};
    return valid;
  }
  SCYPER_RETURN_IF_ERROR(format_.is_csv ? cut_csv() : cut_text());
  return Step::kLine;
}

// The next line becomes text_. What comes before \. or the end of the input counts as a line if it is not empty.
StatusOr<CopyReader::Step> CopyReader::find_line() {
  if (is_at_end_) return Step::kEnd;
  if (!has_begun_) {
    has_begun_ = true;
    line_++;
  }
  while (scanned_ < buffer_.size()) {
    SCYPER_ASSIGN_OR_RETURN(Stop stop, step());
    if (is_waiting_) return Step::kMore;
    if (stop == Stop::kNone) continue;
    is_at_end_ = stop == Stop::kEndMarker;
    if (is_at_end_ && scanned_ == begin_) return Step::kEnd;
    text_ = std::string_view(buffer_).substr(begin_, scanned_ - begin_);
    begin_ = scanned_ = next_;
    has_begun_ = in_quotes_ = was_escape_ = false;
    return Step::kLine;
  }
  if (!is_finished_) return Step::kMore;
  is_at_end_ = true;
  if (scanned_ == begin_) return Step::kEnd;
  text_ = std::string_view(buffer_).substr(begin_);
  return Step::kLine;
}

// Looks at one character and moves on, or stays where a line ends.
StatusOr<CopyReader::Stop> CopyReader::step() {
  const char c = buffer_[scanned_];
  is_waiting_ = (c == '\\' || c == '\r') && needs_more(1);
  if (is_waiting_) return Stop::kNone;
  if (format_.is_csv) {
    const bool has_escape = format_.escape != format_.quote;
    if (c == '\\' && scanned_ == begin_) {
      SCYPER_ASSIGN_OR_RETURN(Stop stop, backslash());
      if (is_waiting_ || stop != Stop::kNone) return stop;
    }
    if (has_escape && in_quotes_ && c == format_.escape) was_escape_ = !was_escape_;
    if (c == format_.quote && !was_escape_) in_quotes_ = !in_quotes_;
    if (!has_escape || c != format_.escape) was_escape_ = false;
    if (in_quotes_) {
      const bool has_newlines = line_end_ == LineEnd::kNewline;
      if (c == (has_newlines ? '\n' : '\r')) line_++;
      scanned_++;
      return Stop::kNone;
    }
  }
  if (c == '\r') return carriage_return();
  if (c == '\n') {
    if (line_end_ == LineEnd::kReturn || line_end_ == LineEnd::kBoth) return wrong_line_break(/*is_return=*/false);
    line_end_ = LineEnd::kNewline;
    next_ = scanned_ + 1;
    return Stop::kLineEnd;
  }
  if (c == '\\' && !format_.is_csv) return backslash();
  scanned_++;
  return Stop::kNone;
}

StatusOr<CopyReader::Stop> CopyReader::carriage_return() {
  if (line_end_ == LineEnd::kNewline) return wrong_line_break(/*is_return=*/true);
  next_ = scanned_ + 1;
  if (line_end_ == LineEnd::kReturn) return Stop::kLineEnd;
  if (at(scanned_ + 1) == '\n') {
    line_end_ = LineEnd::kBoth;
    next_++;
  } else if (line_end_ == LineEnd::kBoth) {
    return wrong_line_break(/*is_return=*/true);
  } else {
    line_end_ = LineEnd::kReturn;
  }
  return Stop::kLineEnd;
}

// In text format the character behind a backslash is data, whatever it is; \. ends the input, in CSV on a line of its
// own.
StatusOr<CopyReader::Stop> CopyReader::backslash() {
  const size_t line_end_bytes = line_end_ == LineEnd::kBoth ? 2 : 1;
  if (at(scanned_ + 1) != '.') {
    if (!format_.is_csv) scanned_ = std::min(scanned_ + 2, buffer_.size());
    return Stop::kNone;
  }
  is_waiting_ = needs_more(1 + line_end_bytes);
  if (is_waiting_) return Stop::kNone;
  const char first = at(scanned_ + 2);
  const char last = at(scanned_ + 1 + line_end_bytes);
  auto refuse = [&](std::string_view message) -> StatusOr<Stop> {
    if (format_.is_csv) return Stop::kNone;
    return bad_format(message);
  };
  constexpr std::string_view kCorrupt = "end-of-copy marker corrupt";
  constexpr std::string_view kMismatch = "end-of-copy marker does not match previous newline style";
  if (line_end_ == LineEnd::kBoth && first == '\n') return refuse(kMismatch);
  if (line_end_ == LineEnd::kBoth && first != '\r') return refuse(kCorrupt);
  if (last != '\r' && last != '\n') return refuse(kCorrupt);
  const bool is_return = line_end_ == LineEnd::kReturn;
  if (line_end_ != LineEnd::kUnknown && last != (is_return ? '\r' : '\n')) return bad_format(kMismatch);
  return Stop::kEndMarker;
}

Status CopyReader::wrong_line_break(bool is_return) const {
  const std::string name = is_return ? "carriage return" : "newline";
  Status status = format_.is_csv ? bad_format(absl::StrCat("unquoted ", name, " found in data"))
                                 : bad_format(absl::StrCat("literal ", name, " found in data"));
  return with_hint(status, format_.is_csv
                               ? absl::StrCat("Use quoted CSV field to represent ", name, ".")
                               : absl::StrCat("Use \"\\", is_return ? "r" : "n", "\" to represent ", name, "."));
}

// --- fields ---

// What was decoded since `from`. decoded_ does not move: it has room for the whole line.
void CopyReader::add_field(size_t from, bool is_null, bool is_quoted) {
  if (field_count_++ < fields_max_) fields_.push_back({std::string_view(decoded_).substr(from), is_null, is_quoted});
}

Status CopyReader::cut_text() {
  decoded_.clear();
  decoded_.reserve(text_.size() + 1);
  size_t at = 0;
  while (true) {
    const size_t raw = at, from = decoded_.size();
    bool has_bytes = false, has_more = false;
    size_t end = text_.size();
    while (at < text_.size()) {
      const char c = text_[at++];
      if (c == format_.delimiter) {
        end = at - 1;
        has_more = true;
        break;
      }
      if (c != '\\') {
        decoded_ += c;
        continue;
      }
      if (at == text_.size()) break;
      const char byte = decode_escape(text_, &at);
      has_bytes |= byte == '\0' || (byte & 0x80) != 0;
      decoded_ += byte;
    }
    const bool is_null = text_.substr(raw, end - raw) == format_.null_text;
    if (is_null) decoded_.resize(from);
    if (has_bytes && !is_null) SCYPER_RETURN_IF_ERROR(check_utf8(std::string_view(decoded_).substr(from)));
    add_field(from, is_null, false);
    if (!has_more) return Status();
  }
}

Status CopyReader::cut_csv() {
  decoded_.clear();
  decoded_.reserve(text_.size() + 1);
  size_t at = 0;
  while (true) {
    const size_t raw = at, from = decoded_.size();
    bool is_quoted = false, in_quotes = false, has_more = false;
    size_t end = text_.size();
    while (at < text_.size()) {
      const char c = text_[at++];
      const bool is_escaping = in_quotes && c == format_.escape && at < text_.size() &&
                               (text_[at] == format_.escape || text_[at] == format_.quote);
      if (is_escaping) {
        decoded_ += text_[at++];
      } else if (c == format_.quote) {
        in_quotes = !in_quotes;
        is_quoted = true;
      } else if (c == format_.delimiter && !in_quotes) {
        end = at - 1;
        has_more = true;
        break;
      } else {
        decoded_ += c;
      }
    }
    if (in_quotes) return bad_format("unterminated CSV quoted field");
    add_field(from, !is_quoted && text_.substr(raw, end - raw) == format_.null_text, is_quoted);
    if (!has_more) return Status();
  }
}

// --- writing ---

namespace {

void append_text_field(const CopyFormat& format, std::string_view text, std::string* out) {
  for (const char c : text) {
    constexpr std::string_view kControls = "\b\f\n\r\t\v", kLetters = "bfnrtv";
    const size_t control = kControls.find(c);
    if (control != std::string_view::npos) {
      *out += '\\';
      *out += kLetters[control];
      continue;
    }
    if (c == '\\' || c == format.delimiter) *out += '\\';
    *out += c;
  }
}

void append_csv_field(const CopyFormat& format, std::string_view text, bool is_forced, bool is_alone,
                      std::string* out) {
  bool is_quoted = is_forced || text == format.null_text || (is_alone && text == "\\.");
  for (const char c : text) is_quoted |= c == format.delimiter || c == format.quote || c == '\n' || c == '\r';
  if (!is_quoted) {
    out->append(text);
    return;
  }
  *out += format.quote;
  for (const char c : text) {
    if (c == format.quote || c == format.escape) *out += format.escape;
    *out += c;
  }
  *out += format.quote;
}

}  // namespace

void append_copy_names(const CopyFormat& format, const std::vector<ResultColumn>& columns, std::string* out) {
  for (size_t i = 0; i < columns.size(); i++) {
    if (i > 0) *out += format.delimiter;
    if (format.is_csv)
      append_csv_field(format, columns[i].name, false, columns.size() == 1, out);
    else
      append_text_field(format, columns[i].name, out);
  }
  *out += '\n';
}

void append_copy_line(const CopyFormat& format, const std::vector<ResultColumn>& columns, const Datum* row,
                      std::string* out) {
  std::string text;
  for (size_t i = 0; i < columns.size(); i++) {
    if (i > 0) *out += format.delimiter;
    if (row[i].null) {
      *out += format.null_text;
      continue;
    }
    text.clear();
    append_value(&text, columns[i].type, row[i]);
    if (format.is_csv)
      append_csv_field(format, text, !format.force_quote.empty() && format.force_quote[i], columns.size() == 1, out);
    else
      append_text_field(format, text, out);
  }
  *out += '\n';
}

std::string cut_for_context(std::string_view text) {
  if (text.size() <= kContextBytesMax) return std::string(text);
  return std::string(beginning_of(text, kContextBytesMax)) + "...";
}

}  // namespace scyper::query
