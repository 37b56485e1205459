#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "session.h"

namespace scyper::client {

struct CsvLoadOptions {
  std::string table;
  std::string path;  // "-" = standard input
  char delimiter = ',';
  bool has_header = false;     // the first record names the columns, in any order; others are NULL
  std::string null_text;       // an unquoted field with this text is NULL
  uint32_t batch_rows = 2000;  // rows per message; a batch that fails is cut in halves until the bad rows are found
  uint64_t errors_max = 100;   // bad rows before it stops
  std::string reject_path;     // where bad rows are copied; empty = nowhere
  bool is_quiet = false;
};

struct CsvLoadResult {
  uint64_t rows = 0;
  uint64_t rejected = 0;
};

// Loads a CSV file; bad rows are reported on standard error with their line, and left out. Rows before an error that
// ends the load are loaded; `result` counts them in any case.
Status load_csv(Session* session, const CsvLoadOptions& options, CsvLoadResult* result);

}  // namespace scyper::client
