#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"

// The intermediate representation between ScyPer's code generator and its two execution modes. One code generator
// (query/codegen) writes it; query/vm interprets it and query/jit turns it into native code with LLVM, so both modes
// run the same operators by construction (the idea: Kohn, Leis, Neumann: Adaptive Execution of Compiled Queries, ICDE
// 2018). A function is a graph of basic blocks over typed registers. Temporaries are assigned once and their definition
// dominates every use (they become SSA values); variables may be assigned many times (stack slots that LLVM promotes)
// and start as zero.
namespace scyper::query::ir {

enum class Type : uint8_t { kVoid, kI8, kI16, kI32, kI64, kI128, kF64, kPtr };  // kI8 also carries booleans, 0 or 1

using Reg = uint32_t;
using Block = uint32_t;
constexpr Reg kNoReg = ~Reg{0};
constexpr Block kNoBlock = ~Block{0};

// `type` of an instruction is the type of its operands (comparisons give kI8; conversions name the source in `from`).
// clang-format off
enum class Op : uint8_t {
  kConst,      // dst = imm (sign-extended to kI128); kF64: the bits of imm; kPtr: only null
  kConstWide,  // dst (kI128) = the 16 bytes, low half first, at byte imm of the function's constant data
  kMove,       // dst = a
  kDataAddr,   // dst = address of byte imm in the function's constant data (8-byte aligned, read-only)
  kFrameAddr,  // dst = address of byte imm in the function's frame memory (16-byte aligned)
  kAdd, kSub, kMul,                       // integers, wrapping
  kSDiv, kSRem,                           // integers; the divisor is never 0 and the quotient never overflows
  kAnd, kOr, kXor, kShl, kLShr, kAShr,    // integers; shift counts are below the width
  kFAdd, kFSub, kFMul, kFDiv,
  kAddChecked, kSubChecked, kMulChecked,  // kI16..kI128 signed; on overflow go to block `target`, else fall through
  kEq, kNe, kLt, kLe, kGt, kGe, kULt,     // integers and pointers, signed but kULt; dst kI8
  kFEq, kFNe, kFLt, kFLe, kFGt, kFGe,     // IEEE: comparisons with NaN are false but kFNe
  kSelect,     // dst = a (kI8) ? b : c
  kSExt, kZExt, kTrunc,  // from -> type, integers
  kIntToF,     // signed kI32/kI64 -> kF64
  kFToInt,     // kF64 -> kI64, truncating; the value is known to fit
  kBitcast,    // kI64 <-> kF64, kI64 <-> kPtr
  kBswap,      // kI16, kI32, kI64
  kLoad,       // dst = *(type*)(a + imm), any alignment
  kStore,      // *(type*)(a + imm) = b, any alignment
  kIndex,      // dst (kPtr) = a + b * imm, b kI64
  kPrefetch,   // hint: a + imm will be read
  kCall,       // dst = externals[imm](args...)
  kJump,       // goto target
  kBranch,     // if (a) goto target else goto other; `likely`: 0 unknown, 1 target is likely, 2 other is likely
  kReturn,     // return a (kI32)
};
// clang-format on

struct Inst {
  Op op;
  Type type = Type::kVoid;
  Type from = Type::kVoid;
  uint8_t likely = 0;
  bool invariant = false;  // kLoad: the memory does not change while the function runs
  Reg dst = kNoReg;
  Reg a = kNoReg;
  Reg b = kNoReg;
  Reg c = kNoReg;
  Block target = kNoBlock;
  Block other = kNoBlock;
  uint32_t args = 0;  // kCall: first argument in Function::call_args
  uint32_t arg_count = 0;
  int64_t imm = 0;
};

// A C++ function that generated code calls. It must be noexcept with C linkage conventions; parameters are integers,
// pointers or doubles of at most 8 bytes; a narrow integer is passed sign-extended to 64 bits (kI8: zero-extended), a
// kI128 as two parameters (low, high), a kF64 as its 64 bits in an integer parameter; so every parameter is one 64-bit
// integer register or stack slot, which lets the interpreter call any of them. At most 12 such words. Returns void or
// one integer/pointer of `result` type. Bigger results go through memory.
struct External {
  std::string_view name;  // static storage
  void* address = nullptr;
  Type result = Type::kVoid;
  uint8_t words = 0;
  bool pure = false;  // reads memory only, no side effect, always returns: calls may be merged or dropped
};

// Places where a run may go on in better code of the same function (swap.cc), which has been made meanwhile. Offsets
// are in the object at the context.
struct SwapPoints {
  std::vector<Block> blocks;            // a place is the beginning of a block
  int64_t code_at = 0;                  // Ptr: address of a pointer to the better code, null while there is none
  int64_t point_at = 0;                 // I64: where the better code is to go on; 0 = at its beginning
  int64_t state_at = 0;                 // Ptr: the values that it needs then
  const External* continue_ = nullptr;  // context, arguments, results, state, point -> status: runs the better code
};

// The signature of every generated function: int32_t f(void* context, const void* arguments, void* results). 0 =
// success.
struct Function {
  std::string name;
  std::vector<Type> registers;            // type of each; registers 0..2 are the three parameters (kPtr)
  std::vector<bool> mutable_registers;    // true = variable
  std::vector<std::vector<Inst>> blocks;  // block 0 is the entry; each ends with a terminator
  std::vector<Reg> call_args;
  std::vector<const External*> externals;
  std::string data;  // constants, addressed by kDataAddr
  uint32_t frame_bytes = 0;
  SwapPoints swaps;
  Reg form = kNoReg;  // I64 variable: in which form the function runs (CodeForm); kNoReg: it does not ask

  size_t instruction_count() const {
    size_t n = 0;
    for (const auto& block : blocks) n += block.size();
    return n;
  }
};

constexpr Reg kContextReg = 0;
constexpr Reg kArgumentsReg = 1;
constexpr Reg kResultsReg = 2;

// Throws nothing, returns the first rule that `function` breaks, or an empty text: types agree, blocks end in exactly
// one terminator, temporaries are assigned once and before use along every path, targets exist.
std::string verify(const Function& function);
// Makes variables of the temporaries that are not assigned along every path to their uses (constants move to the
// entry): what the writer knows to be assigned whenever control comes there.
void demote(Function* function);
// In which form a function runs.
enum class CodeForm : int64_t { kInterpreted = 0, kQuick = 1, kBetter = 2 };
// The function as it is executed: with exits at its swap points where better code may come (`form` below kBetter), with
// entries there where it is what comes. Both from the same function, so that they agree on what is live where. A run
// that leaves keeps its frame until the better code returns: addresses in it stay good.
Function with_swaps(const Function& function, CodeForm form);
inline bool needs_swaps(const Function& function) { return !function.swaps.blocks.empty() || function.form != kNoReg; }
// Readable text, for EXPLAIN (COMPILED) and tests.
std::string to_string(const Function& function);

// Words that a value of `type` takes as an argument of a call or in the interpreter's frame.
constexpr uint32_t words_of(Type type) { return type == Type::kVoid ? 0 : type == Type::kI128 ? 2 : 1; }
constexpr bool is_integer(Type type) { return type >= Type::kI8 && type <= Type::kI128; }
std::string_view name_of(Op op);
std::string_view name_of(Type type);
// Calls visit(Reg) for every register that `inst` reads.
template <typename Visit>
void for_each_operand(const Function& function, const Inst& inst, Visit&& visit) {
  if (inst.a != kNoReg) visit(inst.a);
  if (inst.b != kNoReg) visit(inst.b);
  if (inst.c != kNoReg) visit(inst.c);
  for (uint32_t i = 0; i < inst.arg_count; ++i) visit(function.call_args[inst.args + i]);
}

// Writes one Function. Instructions go to the current block; emitting after a terminator is a CHECK failure
// (use terminated()). Constants are folded as they are written: an operation on constants gives a constant, one with a
// neutral element (x + 0) gives back its temporary, a branch on a constant becomes a jump.
class Builder {
 public:
  explicit Builder(std::string name);

  Block new_block() {
    function_.blocks.emplace_back();
    return static_cast<Block>(function_.blocks.size() - 1);
  }
  void set_block(Block block) { current_ = block; }
  Block current_block() const { return current_; }
  bool terminated() const {
    const auto& block = function_.blocks[current_];
    return !block.empty() && block.back().op >= Op::kJump;
  }

  // A place where a run may go on in better code: begins a new block. set_swaps() says how.
  void swap_point();
  void set_swaps(const SwapPoints& how);  // its blocks are not read
  // Variable that tells the CodeForm at hand.
  Reg form();

  Reg new_variable(Type type) { return new_register(type, true); }
  Type type_of(Reg reg) const { return function_.registers[reg]; }
  // The value of a constant() of an integer type; kI8: 0 to 255.
  std::optional<int64_t> constant_value(Reg reg) const {
    if (!is_constant_[reg]) return std::nullopt;
    return constants_[reg];
  }
  bool is_variable(Reg reg) const { return function_.mutable_registers[reg]; }
  void assign(Reg variable, Reg value);

  Reg constant(Type type, int64_t value);
  Reg constant_f64(double value);
  Reg constant_i128(__int128 value);
  Reg null_pointer() { return constant(Type::kPtr, 0); }
  // Adds bytes to the constant data; 8-byte aligned. Returns the offset.
  int64_t add_data(std::string_view bytes);
  Reg data_address(int64_t offset);
  Reg data(std::string_view bytes) { return data_address(add_data(bytes)); }
  // Reserves frame memory, 16-byte aligned. Returns the offset.
  int64_t reserve_frame(uint32_t bytes);
  Reg frame_address(int64_t offset);

  Reg binary(Op op, Reg a, Reg b);
  Reg binary_checked(Op op, Reg a, Reg b, Block on_overflow);
  Reg compare(Op op, Reg a, Reg b);
  Reg select(Reg condition, Reg a, Reg b);
  Reg convert(Op op, Reg a, Type to);
  Reg bswap(Reg a);
  Reg load(Type type, Reg base, int64_t offset = 0);
  // The memory does not change while the function runs: one load may serve many, also across calls.
  Reg load_invariant(Type type, Reg base, int64_t offset = 0);
  void store(Reg base, int64_t offset, Reg value);
  Reg index(Reg base, Reg index, int64_t scale);
  Reg offset(Reg base, int64_t bytes);  // base + constant
  void prefetch(Reg base, int64_t offset);
  Reg call(const External& function, std::span<const Reg> args);
  Reg call(const External& function, std::initializer_list<Reg> args) {
    return call(function, std::span<const Reg>(args.begin(), args.size()));
  }

  Reg logical_not(Reg a) { return binary(Op::kXor, a, constant(Type::kI8, 1)); }

  void jump(Block target);
  void branch(Reg condition, Block if_true, Block if_false, int likely = 0);
  void ret(Reg status);
  void ret_constant(int32_t status) { ret(constant(Type::kI32, status)); }

  // Drops the blocks that cannot be reached (block numbers change). The builder is empty afterwards.
  Function finish();

 private:
  Reg new_register(Type type, bool is_mutable);
  Inst& emit(Inst inst);
  Reg emit_value(Inst inst, Type result);
  bool is_value(Reg reg, int64_t value) const { return is_constant_[reg] && constants_[reg] == value; }
  std::optional<Reg> fold_binary(Op op, Reg a, Reg b);
  bool is_neutral(Op op, Reg b) const;

  Function function_;
  std::vector<int64_t> constants_;  // by register
  std::vector<bool> is_constant_;   // by register: an integer constant
  Block current_ = 0;
};

}  // namespace scyper::query::ir
