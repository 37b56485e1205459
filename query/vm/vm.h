#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/ir.h"

namespace scyper::query::vm {

struct Code;

// An ir::Function as linear bytecode: what runs statements that run once, and the reference that native code is tested
// against. Invariants: immutable after prepare(); refers to nothing of the ir::Function but its externals' addresses.
// Units: a slot is 8 bytes; a kI128 takes two. Operands are byte offsets into the frame of one run:
//   [3 parameters | constants | variables | temporaries | frame memory]. Temporaries that live inside one block share
//   slots.
// A slot holds integers sign-extended to 64 bits, kI8 zero-extended: just as calls pass them.
// Threads: any number may run() the same function at once, and functions may call each other recursively through
// externals. Fork: a child may run() everything here; run() takes no lock and allocates only when a frame exceeds
// kStackFrameBytes. Caveats: the stack is the only bound on recursion; that is the caller's business.
class VmFunction {
 public:
  // A run's frame lies on the C stack up to this size, else on the heap: recursion through some hundred frames must fit
  // 8 MB.
  static constexpr size_t kStackFrameBytes = 32 << 10;

  ~VmFunction();
  VmFunction(const VmFunction&) = delete;
  VmFunction& operator=(const VmFunction&) = delete;

  // `function` must pass ir::verify().
  static std::unique_ptr<VmFunction> prepare(const ir::Function& function);
  int32_t run(void* context, const void* arguments, void* results) const noexcept;

  size_t code_count() const;
  size_t frame_bytes() const { return frame_bytes_; }
  // Memory of this object, for the budget.
  size_t size_bytes() const;

 private:
  friend class Lowering;
  VmFunction();

  std::vector<Code> code_;
  std::vector<uint32_t> call_slots_;  // the argument words of calls, as frame offsets
  std::vector<uint64_t> constants_;   // copied into each frame
  std::vector<uint64_t> data_;        // the function's constant data, 8-byte aligned
  uint32_t variable_bytes_ = 0;       // behind the constants, zeroed
  uint32_t frame_bytes_ = 0;
};

}  // namespace scyper::query::vm
