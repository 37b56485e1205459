#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scyper::query {

struct Catalog;

// WHERE CURRENT OF the cursor of a session. A cursor's rows are those of DECLARE, so its query also reads what
// identifies the rows of its tables, and the statement that changes a row names it by those values.
struct TrackedTable {
  std::string name;                  // as the catalog knows it
  std::vector<std::string> columns;  // as SQL writes them
  size_t first = 0;                  // of the columns that the query has in addition
  bool is_ambiguous = false;         // the query reads it more than once
};

struct TrackedQuery {
  std::string sql;                   // with more columns behind its own
  size_t added = 0;                  // how many
  std::vector<TrackedTable> tables;  // none: `sql` is what was given
};
// text: a statement as a session runs it (query/search_path.h). Threads: any.
TrackedQuery track_rows(const Catalog& catalog, std::string_view text);

// UPDATE or DELETE of a table with WHERE CURRENT OF.
struct CurrentOf {
  std::string cursor;
  std::string table;          // as the catalog knows it
  std::string alias;          // as the statement's columns name it
  size_t begin = 0, end = 0;  // what is to be replaced by a condition: bytes of the statement without marks
};
// Whether it may be one, at a glance.
bool mentions_current(std::string_view text);
std::optional<CurrentOf> find_current_of(const Catalog& catalog, std::string_view text);

}  // namespace scyper::query
