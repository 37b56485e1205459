#include "jit/pair.h"

#include <utility>

#include "llvm/IR/IRBuilder.h"

namespace scyper::query::jit {

llvm::Value* join(llvm::IRBuilderBase& b, Pair value) {
  llvm::Value* high = b.CreateShl(b.CreateZExt(value.high, b.getInt128Ty()), 64);
  return b.CreateOr(high, b.CreateZExt(value.low, b.getInt128Ty()));
}
Pair split(llvm::IRBuilderBase& b, llvm::Value* value) {
  return {b.CreateTrunc(value, b.getInt64Ty()), b.CreateTrunc(b.CreateLShr(value, 64), b.getInt64Ty())};
}

Pair add_pairs(llvm::IRBuilderBase& b, Pair x, Pair y) {
  llvm::Value* low = b.CreateAdd(x.low, y.low);
  llvm::Value* carry = b.CreateZExt(b.CreateICmpULT(low, x.low), b.getInt64Ty());
  return {low, b.CreateAdd(b.CreateAdd(x.high, y.high), carry)};
}
Pair subtract_pairs(llvm::IRBuilderBase& b, Pair x, Pair y) {
  llvm::Value* borrow = b.CreateZExt(b.CreateICmpULT(x.low, y.low), b.getInt64Ty());
  return {b.CreateSub(x.low, y.low), b.CreateSub(b.CreateSub(x.high, y.high), borrow)};
}

llvm::Value* compare_pairs(llvm::IRBuilderBase& b, ir::Op op, Pair x, Pair y) {
  using ir::Op;
  if (op == Op::kEq || op == Op::kNe) {
    llvm::Value* differs = b.CreateOr(b.CreateXor(x.low, y.low), b.CreateXor(x.high, y.high));
    return op == Op::kEq ? b.CreateICmpEQ(differs, b.getInt64(0)) : b.CreateICmpNE(differs, b.getInt64(0));
  }
  if (op == Op::kGt || op == Op::kGe) std::swap(x, y);
  const bool or_equal = op == Op::kLe || op == Op::kGe;
  llvm::Value* low = or_equal ? b.CreateICmpULE(x.low, y.low) : b.CreateICmpULT(x.low, y.low);
  llvm::Value* high = op == Op::kULt ? b.CreateICmpULT(x.high, y.high) : b.CreateICmpSLT(x.high, y.high);
  return b.CreateOr(high, b.CreateAnd(b.CreateICmpEQ(x.high, y.high), low));
}

}  // namespace scyper::query::jit
