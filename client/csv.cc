#include "csv.h"

namespace scyper::client {

StatusOr<bool> CsvReader::next(std::vector<CsvField>* record) {
  record->clear();
  raw_.clear();
  bool is_open = false;  // within quotes
  size_t fields = 0;
  auto field = [&]() -> CsvField& {
    if (record->size() < fields + 1) record->resize(fields + 1);
    return (*record)[fields];
  };
  record_line_ = line_ + 1;
  while (std::getline(*in_, buffer_)) {
    ++line_;
    bytes_ += buffer_.size() + 1;
    raw_ += buffer_;
    raw_ += '\n';
    field();
    for (size_t i = 0; i < buffer_.size(); ++i) {
      char c = buffer_[i];
      if (is_open) {
        bool is_doubled = c == '"' && i + 1 < buffer_.size() && buffer_[i + 1] == '"';
        if (c != '"' || is_doubled) field().text += c;
        if (is_doubled) ++i;
        if (c == '"' && !is_doubled) is_open = false;
      } else if (c == '"') {
        is_open = true;
        field().is_quoted = true;
      } else if (c == delimiter_) {
        ++fields;
        field();
      } else if (c != '\r' || i + 1 < buffer_.size()) {
        field().text += c;
      }
    }
    if (!is_open) return true;
    field().text += '\n';
  }
  if (is_open)
    return sql_error("22P04", "unterminated CSV quoted field, begun in line " + std::to_string(record_line_));
  return false;
}

}  // namespace scyper::client
