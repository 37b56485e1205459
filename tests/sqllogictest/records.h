#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

// The files of SQLite's sqllogictest (https://www.sqlite.org/sqllogictest/doc/trunk/about.wiki), one record after the
// other.
namespace scyper::tests {

enum class RecordKind : uint8_t { kStatementOk, kStatementError, kStatementMaybe, kQuery };
enum class SortMode : uint8_t { kNoSort, kRowSort, kValueSort };

struct Record {
  RecordKind kind = RecordKind::kStatementOk;
  int line = 0;
  std::string sql;
  // queries only
  std::string types;  // one letter per column: T text, I integer, R real
  SortMode sort = SortMode::kNoSort;
  bool has_names = false;             // the first expected line names the columns
  std::string label;                  // queries of one label have one result
  std::vector<std::string> expected;  // one value a line; or "N values hashing to H" alone
};

// The records that are meant for `engine` (skipif, onlyif), up to a halt. Understands text and, by its first bytes,
// gzip.
StatusOr<std::vector<Record>> read_records(const std::string& path, std::string_view engine);
StatusOr<std::vector<Record>> parse_records(std::string_view text, std::string_view engine);

}  // namespace scyper::tests
