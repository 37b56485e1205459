#pragma once

#include <string_view>
#include <vector>

namespace scyper::query {

// The SQLSTATEs of one of PostgreSQL's condition names ("unique_violation" -> 23505); several for a few names, none for
// an unknown one. The name is folded to lower case.
std::vector<std::string_view> sqlstates_of_condition(std::string_view name);
// The condition name of a SQLSTATE ("" = none).
std::string_view condition_of_sqlstate(std::string_view sqlstate);

}  // namespace scyper::query
