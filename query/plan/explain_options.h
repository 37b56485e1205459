#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "parse/ast_node.h"

namespace scyper::query {

// A flag of EXPLAIN or ANALYZE: without a value it is on. 42601.
StatusOr<bool> boolean_of(const ast::Option& option);

// EXPLAIN (option, ...), as PostgreSQL's but for COMPILED and MACHINE.
struct ExplainOptions {
  bool analyze = false;
  bool verbose = false;
  bool costs = true;
  bool timing = true;
  bool summary = false;  // of ANALYZE by default
  bool json = false;
  bool compiled = false;  // the code of the statement
  bool machine = false;   // machine code too

  // 42601, 22023; 0A000 for formats that are not there.
  static StatusOr<ExplainOptions> read(const std::vector<ast::Option>& options);
};

}  // namespace scyper::query
