#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "query/copy_lines.h"

namespace scyper::query {

constexpr std::string_view kFileWrapper = "file_fdw";  // the extension, and what it brings

// CREATE FOREIGN TABLE of file_fdw: a file that queries read as rows (docs/foreign_files.md). Immutable.
struct ForeignTable {
  std::string server;
  std::vector<std::pair<std::string, std::string>> options;  // as they were given
  // what follows from them and the columns
  std::string file;
  CopyShape shape;
};

// A foreign file as it is opened where a query is planned or run: regular, and below `directory`, whatever symbolic
// links say. 55000 where no directory is set, 42501 for files elsewhere, else PostgreSQL's errors. The caller closes
// it.
StatusOr<int> open_foreign_file(const std::string& directory, const std::string& file);

}  // namespace scyper::query
