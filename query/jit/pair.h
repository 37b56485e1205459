#pragma once

#include "ir/ir.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

// Integers of 128 bits as two values of 64, for a code generator that knows no more (translate.cc).
namespace scyper::query::jit {

struct Pair {
  llvm::Value* low;
  llvm::Value* high;
};

// A pair as one integer and back: for operations that have no form on halves.
llvm::Value* join(llvm::IRBuilderBase& b, Pair value);
Pair split(llvm::IRBuilderBase& b, llvm::Value* value);

Pair add_pairs(llvm::IRBuilderBase& b, Pair x, Pair y);
Pair subtract_pairs(llvm::IRBuilderBase& b, Pair x, Pair y);
// As one bit. op: kEq to kULt.
llvm::Value* compare_pairs(llvm::IRBuilderBase& b, ir::Op op, Pair x, Pair y);

}  // namespace scyper::query::jit
