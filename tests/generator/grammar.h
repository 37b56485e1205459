#pragma once

#include <vector>

#include "generator/kind.h"

namespace scyper::generator {

// Ways to make a value of a kind: SQL in which `@` and a Kind's letter stand for a value of that kind, `@@` for `@`.
const std::vector<const char*>& productions(Kind kind);
// Those that fail for some values. May be empty.
const std::vector<const char*>& failing_productions(Kind kind);
// Those that no statement may contain, of any kind.
const std::vector<const char*>& wrong_productions();

}  // namespace scyper::generator
