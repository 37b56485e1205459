#pragma once

#include "ir/ir.h"

namespace scyper::query {

// A run goes on in better code of its program (ir/swap.cc): what generated code calls at swap points, and where it
// finds the rest in its ExecContext.
ir::SwapPoints swap_points();

// Tells the processor at hand that code may have been written since: x86 wants it where code is changed through an
// alias.
void serialise_instructions() noexcept;
// The same for all threads of this process, where the system can (true): code that is published afterwards may be
// called by threads that are running. allow_serialise_all() comes first, once.
bool allow_serialise_all() noexcept;
bool serialise_all() noexcept;

#define SCYPER_SWAP_FUNCTIONS(X)                                                                          \
  X(rt_swap, kI32, 5, false)         /* context, arguments, results, state, point -> the better code's */ \
  X(rt_swap_passed, kVoid, 1, false) /* context; for tests: the next point is one that may be passed */

#define SCYPER_DECLARE_RUNTIME(name, result, words, pure) extern const ir::External k_##name;
SCYPER_SWAP_FUNCTIONS(SCYPER_DECLARE_RUNTIME)
#undef SCYPER_DECLARE_RUNTIME

}  // namespace scyper::query
