#pragma once

#include <string>
#include <string_view>

#include "query/result.h"

namespace scyper::client {

enum class OutputFormat { kTable, kCsv, kJson };

struct FormatOptions {
  OutputFormat format = OutputFormat::kTable;
  bool is_expanded = false;  // \x: one line per value
  bool tuples_only = false;  // no header, no footer
  std::string null_text;     // how NULL looks in tables
};

// A value as PostgreSQL prints it. NULL must be handled by the caller.
std::string value_text(const SqlType& type, const Datum& value);

// A result as psql prints it (aligned, numbers to the right, "(2 rows)"), as CSV with a header, or as one JSON array of
// objects. Results without columns give their command tag (tables) or nothing.
std::string format_result(const query::ResultSet& result, const FormatOptions& options);

// "text" as a JSON string.
std::string json_string(std::string_view text);

// A table of text cells in the same style: rows of equal length, the first is the header.
// right: for each column whether it is aligned to the right.
std::string format_cells(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right);

}  // namespace scyper::client
