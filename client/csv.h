#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "base/status.h"

namespace scyper::client {

struct CsvField {
  std::string text;
  bool is_quoted = false;
};

// Reads records of CSV (RFC 4180): quotes, doubled quotes, line breaks within quotes, LF or CRLF.
class CsvReader {
 public:
  CsvReader(std::istream* in, char delimiter) : in_(in), delimiter_(delimiter) {}
  // The next record; false at the end. A quote that is never closed: 22P04.
  StatusOr<bool> next(std::vector<CsvField>* record);
  uint64_t line() const { return record_line_; }   // where the last record began, from 1
  const std::string& raw() const { return raw_; }  // its text, with line breaks
  uint64_t bytes_read() const { return bytes_; }

 private:
  std::istream* in_;
  const char delimiter_;
  uint64_t line_ = 0;
  uint64_t record_line_ = 0;
  uint64_t bytes_ = 0;
  std::string raw_;
  std::string buffer_;
};

}  // namespace scyper::client
