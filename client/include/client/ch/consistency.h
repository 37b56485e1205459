#pragma once

#include <string>
#include <vector>

#include "client/ch/generator.h"

namespace scyper::ch {

// One query of TPC-C's consistency conditions (5.11, clause 3.3.2): it selects what violates the condition, with both
// sides that should be equal, so zero rows are good. Runs unchanged on PostgreSQL.
struct ConsistencyCheck {
  int condition;         // 1..12
  std::string name;      // "10a": some conditions need two queries
  std::string meaning;   // for people
  std::string sql;       // without a semicolon
  bool after_load_only;  // 11 holds only until the first transaction
};

// All checks, in the order of the conditions. Every condition has at least one.
std::vector<ConsistencyCheck> consistency_checks(const Scale& scale);

}  // namespace scyper::ch
