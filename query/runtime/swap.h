#pragma once

#include "ir/ir.h"
#include "query/exec_context.h"

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

// Who has native code made for a run that began without (jit::TieredCode::is_deferred()), where that cannot be done in
// place: a forked child's way to its parent. Threads: those of the query.
class CodeSource {
 public:
  virtual ~CodeSource() = default;
  // Waits. Null: there will be none, now and later in this run.
  virtual GeneratedCode code_for(ExecContext* context) noexcept = 0;

  // While it lives, what its thread begins to run asks this one. Not nested.
  class Scope {
   public:
    explicit Scope(CodeSource* source) noexcept { current = source; }
    ~Scope() { current = nullptr; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };
  static inline constinit thread_local CodeSource* current = nullptr;
};

// Of the program that the context runs; null: it stays in the interpreter.
GeneratedCode find_native_code(ExecContext* context, CodeSource* source) noexcept;

#define SCYPER_SWAP_FUNCTIONS(X)                                                                                 \
  X(rt_swap, kI32, 5, false)         /* context, arguments, results, state, point -> the better code's */        \
  X(rt_hand_over, kI32, 3, false)    /* context, arguments, results -> native code's; negative: there is none */ \
  X(rt_swap_passed, kVoid, 1, false) /* context; for tests: the next point is one that may be passed */

#define SCYPER_DECLARE_RUNTIME(name, result, words, pure) extern const ir::External k_##name;
SCYPER_SWAP_FUNCTIONS(SCYPER_DECLARE_RUNTIME)
#undef SCYPER_DECLARE_RUNTIME

}  // namespace scyper::query
