#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.h"
#include "query/result.h"

namespace scyper::primary {

struct StatementLimits;

// One COPY ... FROM STDIN: its text comes in pieces and is checked as it comes, beside the transactions; then its rows
// go into the table as those of one INSERT do, all or none. What is not finished has not happened. Errors have
// PostgreSQL's CONTEXT. Threads: one at a time. The engine outlives it.
class CopyIn {
 public:
  virtual ~CopyIn() = default;
  // That the text has.
  virtual size_t column_count() const = 0;
  // It is COPY's binary format.
  virtual bool is_binary() const = 0;
  // More of the text. 22P04 and what values of the columns' types give; 53200 beyond EngineOptions::copy_bytes_max.
  // After an error nothing more may come.
  virtual Status add(std::string_view text) = 0;
  // The text ends: what it said is committed. Runs beside no transaction; the caller must not be a worker. 53400 for
  // more than one record of the log holds, 40001 when the table was changed meanwhile.
  virtual Status finish(const StatementLimits& limits, query::ResultSet* result) = 0;
  // An error of who sends the text, with the line that is awaited as its CONTEXT.
  virtual Status at_line(Status status) const = 0;
};

}  // namespace scyper::primary
