#pragma once

#include <cstdint>
#include <vector>

#include "bind/bound.h"

namespace scyper::query {

// An argument of AND or OR, or several of an OR that compare one integer expression, args[0] of `expr`, with constants:
// then `members` are those, in order and each once.
struct LogicTest {
  const BoundExpr* expr = nullptr;
  std::vector<int64_t> members;
};

std::vector<LogicTest> find_tests(const BoundExpr& logic);

}  // namespace scyper::query
