#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "testing/term.h"

namespace scyper::generator {

// Statements that run one after the other in a database of their own; the last ones show what is in its tables.
using Script = std::vector<query::Term>;

// A schema, its rows, about `count` queries and changes.
Script statement_script(uint64_t seed, int count);
// A schema, its rows, `count` routines in PL/pgSQL, calls of them.
Script routine_script(uint64_t seed, int count);
// As a user would type it.
std::string to_string(const Script& script);

}  // namespace scyper::generator
