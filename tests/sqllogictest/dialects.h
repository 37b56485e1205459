#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "query/result.h"
#include "sqllogictest/records.h"

// What the descendants of sqllogictest have added: DuckDB's loops and modes, rows of values in one line as DuckDB
// (tabs) and CockroachDB (blanks) write them.
namespace scyper::tests {

// Loops unrolled (loop, foreach), skipped passages left out (mode skip); one `halt` where the file asks for what is not
// here (require). Line numbers behind a loop are those of the unrolled text.
std::string unroll(std::string_view text);

// Directives of one line that mean nothing here: load, restart, subtest, user, set, sleep, ...
bool is_ignored(const std::string& word);

// Are the expected lines the result's rows, a row in each line?
bool are_rows(const query::ResultSet& result, const std::vector<std::string>& expected, SortMode sort);

}  // namespace scyper::tests
