#pragma once

#include <cstddef>
#include <cstdint>

#include "vm/vm.h"

// The bytecode: operations specialised by type, executed by interpret() with one indirect jump each.
// I16, I32 and pointers share the 64-bit operations wherever their canonical form (see VmFunction) makes that right.
namespace scyper::query::vm {

#define SCYPER_VM_INTEGERS(X, name) X(name##I8) X(name##I16) X(name##I32) X(name##I64) X(name##I128)
#define SCYPER_VM_CHECKED(X, name) X(name##I16) X(name##I32) X(name##I64) X(name##I128)
#define SCYPER_VM_COMPARE(X, name) \
  X(name##I8) X(name##I64) X(name##I128) X(Branch##name##I8) X(Branch##name##I64) X(Branch##name##I128)
#define SCYPER_VM_COMPARE_F(X, name) X(name##F64) X(Branch##name##F64)
#define SCYPER_VM_CALL(X, n) X(Call##n) X(Call##n##I8) X(Call##n##I32)

// clang-format off
#define SCYPER_VM_OPS(X)                                                                                          \
  X(Move) X(Move128) X(FrameAddr)                                                                                 \
  SCYPER_VM_INTEGERS(X, Add) SCYPER_VM_INTEGERS(X, Sub) SCYPER_VM_INTEGERS(X, Mul) SCYPER_VM_INTEGERS(X, SDiv)    \
  SCYPER_VM_INTEGERS(X, SRem) SCYPER_VM_INTEGERS(X, Shl) SCYPER_VM_INTEGERS(X, LShr) SCYPER_VM_INTEGERS(X, AShr)  \
  X(AndI64) X(AndI128) X(OrI64) X(OrI128) X(XorI64) X(XorI128)                                                    \
  X(FAdd) X(FSub) X(FMul) X(FDiv)                                                                                 \
  SCYPER_VM_CHECKED(X, AddChecked) SCYPER_VM_CHECKED(X, SubChecked) SCYPER_VM_CHECKED(X, MulChecked)              \
  SCYPER_VM_COMPARE(X, Eq) SCYPER_VM_COMPARE(X, Ne) SCYPER_VM_COMPARE(X, Lt) SCYPER_VM_COMPARE(X, Le)             \
  SCYPER_VM_COMPARE(X, Gt) SCYPER_VM_COMPARE(X, Ge) SCYPER_VM_COMPARE(X, ULt)                                     \
  SCYPER_VM_COMPARE_F(X, Eq) SCYPER_VM_COMPARE_F(X, Ne) SCYPER_VM_COMPARE_F(X, Lt) SCYPER_VM_COMPARE_F(X, Le)     \
  SCYPER_VM_COMPARE_F(X, Gt) SCYPER_VM_COMPARE_F(X, Ge)                                                           \
  X(Select) X(Select128)                                                                                          \
  X(SignExtend8) X(SignExtend16) X(SignExtend32) X(ZeroExtend8) X(ZeroExtend16) X(ZeroExtend32)                   \
  X(SignExtend128) X(ZeroExtend128) X(IntToF) X(FToInt) X(Bswap16) X(Bswap32) X(Bswap64)                          \
  X(Load8) X(Load16) X(Load32) X(Load64) X(Load128) X(Store8) X(Store16) X(Store32) X(Store64) X(Store128)        \
  X(Offset) X(Index) X(Prefetch) X(Jump) X(Branch) X(Return)                                                      \
  SCYPER_VM_CALL(X, 0) SCYPER_VM_CALL(X, 1) SCYPER_VM_CALL(X, 2) SCYPER_VM_CALL(X, 3) SCYPER_VM_CALL(X, 4)        \
  SCYPER_VM_CALL(X, 5) SCYPER_VM_CALL(X, 6) SCYPER_VM_CALL(X, 7) SCYPER_VM_CALL(X, 8) SCYPER_VM_CALL(X, 9)        \
  SCYPER_VM_CALL(X, 10) SCYPER_VM_CALL(X, 11) SCYPER_VM_CALL(X, 12)
// clang-format on

enum class VmOp : uint16_t {
#define SCYPER_VM_ENUM(name) k##name,
  SCYPER_VM_OPS(SCYPER_VM_ENUM)
#undef SCYPER_VM_ENUM
};

// dst, a, b: frame offsets in bytes, but: branches keep the code index of the taken side in dst and of the other side
// in imm; checked arithmetic keeps that of the overflow exit in imm; calls keep their first entry of call_slots in a
// and the address in imm; Select keeps its third operand in imm.
struct Code {
  int32_t handler = 0;  // distance of the operation's machine code from the interpreter's first operation
  uint32_t dst = 0;
  uint32_t a = 0;
  uint32_t b = 0;
  int64_t imm = 0;
};
static_assert(sizeof(Code) == 24);

int32_t interpret(const Code* code, const uint32_t* call_slots, std::byte* frame) noexcept;
// The handler of each VmOp.
const int32_t* handlers() noexcept;

}  // namespace scyper::query::vm
