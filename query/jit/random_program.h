#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"
#include "ir/ir.h"

namespace scyper::query::jit {

// For tests and benchmarks: a function of about `size` instructions that always ends, defined for every input. It reads
// kInputBytes of arguments, writes at most kOutputBytes of results and returns 0 (end) or 1 (an overflow exit).
// Not-a-numbers are replaced by 0, since their bits differ between modes.
constexpr size_t kProgramInputBytes = 256;
constexpr size_t kProgramOutputBytes = 1024;
ir::Function random_program(Random& random, uint32_t size);

}  // namespace scyper::query::jit
