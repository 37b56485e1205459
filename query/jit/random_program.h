#pragma once

#include <atomic>
#include <cstdint>

#include "base/random.h"
#include "ir/ir.h"
#include "jit/jit.h"

namespace scyper::query::jit {

// For tests and benchmarks: a function of about `size` instructions that always ends, defined for every input. It reads
// kInputBytes of arguments, writes at most kOutputBytes of results and returns 0 (end) or 1 (an overflow exit).
// Not-a-numbers are replaced by 0, since their bits differ between modes.
constexpr size_t kProgramInputBytes = 256;
constexpr size_t kProgramOutputBytes = 1024;
ir::Function random_program(Random& random, uint32_t size);

// The context of one that may change its code on the way: it does so where it has passed `passes` swap points.
struct SwapContext {
  const std::atomic<NativeCode::Entry>* code = nullptr;  // what the program reads
  int64_t point = 0;
  void* state = nullptr;
  int64_t passes = 0;
  NativeCode::Entry better = nullptr;  // becomes *code
  std::atomic<NativeCode::Entry> now = nullptr;
  int64_t swaps = 0;  // out
};
ir::Function random_swapping_program(Random& random, uint32_t size);

}  // namespace scyper::query::jit
