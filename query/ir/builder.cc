#include "ir/ir.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/invariant.h"

namespace scyper::query::ir {
namespace {

// The 64 bits that stand for an integer of `type`: sign-extended, kI8 zero-extended (as in calls, see External).
int64_t canonical(Type type, int64_t value) {
  switch (type) {
    case Type::kI8:
      return static_cast<uint8_t>(value);
    case Type::kI16:
      return static_cast<int16_t>(value);
    case Type::kI32:
      return static_cast<int32_t>(value);
    default:
      return value;
  }
}

// Of a register that exists: code that takes a value from where none is gives kNoReg.
Type checked_type(const Function& function, Reg reg) {
  INVARIANT(reg < function.registers.size());
  return function.registers[reg];
}

int64_t as_signed(Type type, int64_t value) { return type == Type::kI8 ? static_cast<int8_t>(value) : value; }

bool compare_constants(Op op, int64_t a, int64_t b) {
  switch (op) {
    case Op::kEq:
      return a == b;
    case Op::kNe:
      return a != b;
    case Op::kLt:
      return a < b;
    case Op::kLe:
      return a <= b;
    case Op::kGt:
      return a > b;
    default:
      return a >= b;
  }
}

// The result in more bits than any operand has, so that overflow shows. Nothing for operations that are not folded.
std::optional<__int128> fold(Op op, int64_t a, int64_t b) {
  switch (op) {
    case Op::kAdd:
    case Op::kAddChecked:
      return static_cast<__int128>(a) + b;
    case Op::kSub:
    case Op::kSubChecked:
      return static_cast<__int128>(a) - b;
    case Op::kMul:
    case Op::kMulChecked:
      return static_cast<__int128>(a) * b;
    case Op::kAnd:
      return a & b;
    case Op::kOr:
      return a | b;
    case Op::kXor:
      return a ^ b;
    default:
      return std::nullopt;
  }
}

bool is_comparison(Op op) { return op >= Op::kEq && op <= Op::kFGe; }

}  // namespace

Builder::Builder(std::string name) {
  function_.name = std::move(name);
  for (int i = 0; i < 3; ++i) new_register(Type::kPtr, false);
  new_block();
}

Reg Builder::new_register(Type type, bool is_mutable) {
  INVARIANT(type != Type::kVoid);
  function_.registers.push_back(type);
  function_.mutable_registers.push_back(is_mutable);
  constants_.push_back(0);
  is_constant_.push_back(false);
  return static_cast<Reg>(function_.registers.size() - 1);
}

Inst& Builder::emit(Inst inst) {
  INVARIANT(!terminated());
  auto& block = function_.blocks[current_];
  block.push_back(inst);
  return block.back();
}

Reg Builder::emit_value(Inst inst, Type result) {
  inst.dst = new_register(result, false);
  return emit(inst).dst;
}

void Builder::assign(Reg variable, Reg value) {
  INVARIANT(variable < function_.registers.size() && function_.mutable_registers[variable]);
  INVARIANT(checked_type(function_, variable) == checked_type(function_, value));
  emit({.op = Op::kMove, .type = checked_type(function_, value), .dst = variable, .a = value});
}

Reg Builder::constant(Type type, int64_t value) {
  INVARIANT(type != Type::kPtr || value == 0);
  value = canonical(type, value);
  const Reg reg = emit_value({.op = Op::kConst, .type = type, .imm = value}, type);
  constants_[reg] = value;
  is_constant_[reg] = is_integer(type);
  return reg;
}

Reg Builder::constant_f64(double value) { return constant(Type::kF64, std::bit_cast<int64_t>(value)); }

Reg Builder::constant_i128(__int128 value) {
  if (value == static_cast<int64_t>(value)) return constant(Type::kI128, static_cast<int64_t>(value));
  const int64_t offset = add_data({reinterpret_cast<const char*>(&value), sizeof value});
  return emit_value({.op = Op::kConstWide, .type = Type::kI128, .imm = offset}, Type::kI128);
}

int64_t Builder::add_data(std::string_view bytes) {
  const size_t offset = (function_.data.size() + 7) / 8 * 8;
  function_.data.resize(offset);
  function_.data.append(bytes);
  if (bytes.empty()) function_.data.push_back('\0');  // so that it has an address
  return static_cast<int64_t>(offset);
}

Reg Builder::data_address(int64_t offset) {
  return emit_value({.op = Op::kDataAddr, .type = Type::kPtr, .imm = offset}, Type::kPtr);
}

int64_t Builder::reserve_frame(uint32_t bytes) {
  const uint32_t offset = (function_.frame_bytes + 15) / 16 * 16;
  INVARIANT(bytes <= UINT32_MAX - 16 - offset);
  function_.frame_bytes = offset + bytes;
  return offset;
}

Reg Builder::frame_address(int64_t offset) {
  return emit_value({.op = Op::kFrameAddr, .type = Type::kPtr, .imm = offset}, Type::kPtr);
}

bool Builder::is_neutral(Op op, Reg b) const {
  switch (op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kAddChecked:
    case Op::kSubChecked:
    case Op::kOr:
    case Op::kXor:
    case Op::kShl:
    case Op::kLShr:
    case Op::kAShr:
      return is_value(b, 0);
    case Op::kMul:
    case Op::kMulChecked:
    case Op::kSDiv:
      return is_value(b, 1);
    default:
      return false;
  }
}

std::optional<Reg> Builder::fold_binary(Op op, Reg a, Reg b) {
  // a variable's value may change later, so only temporaries are handed back
  if (is_neutral(op, b) && !function_.mutable_registers[a]) return a;
  const Type type = checked_type(function_, a);
  if (!is_constant_[a] || !is_constant_[b]) return std::nullopt;
  const auto value = fold(op, as_signed(type, constants_[a]), as_signed(type, constants_[b]));
  if (!value) return std::nullopt;
  if (type == Type::kI128) return constant_i128(*value);
  const int64_t folded = canonical(type, static_cast<int64_t>(*value));
  const bool checked = op == Op::kAddChecked || op == Op::kSubChecked || op == Op::kMulChecked;
  if (checked && folded != *value) return std::nullopt;
  return constant(type, folded);
}

Reg Builder::binary(Op op, Reg a, Reg b) {
  INVARIANT(op >= Op::kAdd && op <= Op::kFDiv);
  INVARIANT(checked_type(function_, a) == checked_type(function_, b));
  if (auto folded = fold_binary(op, a, b)) return *folded;
  return emit_value({.op = op, .type = checked_type(function_, a), .a = a, .b = b}, checked_type(function_, a));
}

Reg Builder::binary_checked(Op op, Reg a, Reg b, Block on_overflow) {
  INVARIANT(op >= Op::kAddChecked && op <= Op::kMulChecked);
  INVARIANT(checked_type(function_, a) == checked_type(function_, b));
  if (auto folded = fold_binary(op, a, b)) return *folded;
  return emit_value({.op = op, .type = checked_type(function_, a), .a = a, .b = b, .target = on_overflow},
                    checked_type(function_, a));
}

Reg Builder::compare(Op op, Reg a, Reg b) {
  INVARIANT(is_comparison(op));
  const Type type = checked_type(function_, a);
  INVARIANT(type == checked_type(function_, b));
  if (is_constant_[a] && is_constant_[b] && op < Op::kULt) {
    return constant(Type::kI8, compare_constants(op, as_signed(type, constants_[a]), as_signed(type, constants_[b])));
  }
  return emit_value({.op = op, .type = type, .a = a, .b = b}, Type::kI8);
}

Reg Builder::select(Reg condition, Reg a, Reg b) {
  INVARIANT(checked_type(function_, condition) == Type::kI8);
  INVARIANT(checked_type(function_, a) == checked_type(function_, b));
  if (is_constant_[condition]) {
    const Reg chosen = constants_[condition] != 0 ? a : b;
    if (!function_.mutable_registers[chosen]) return chosen;
  }
  return emit_value({.op = Op::kSelect, .type = checked_type(function_, a), .a = condition, .b = a, .c = b},
                    checked_type(function_, a));
}

Reg Builder::convert(Op op, Reg a, Type to) {
  INVARIANT(op >= Op::kSExt && op <= Op::kBitcast);
  const Type from = checked_type(function_, a);
  if (from == to && !function_.mutable_registers[a]) return a;
  if (from == to) return emit_value({.op = Op::kMove, .type = to, .a = a}, to);
  if (is_constant_[a] && op <= Op::kTrunc) {
    const int64_t value = constants_[a];
    if (op == Op::kTrunc) return constant(to, value);
    if (op == Op::kSExt) return constant(to, as_signed(from, value));
    if (from == Type::kI8) return constant(to, value);
    if (from == Type::kI16) return constant(to, static_cast<uint16_t>(value));
    if (from == Type::kI32) return constant(to, static_cast<uint32_t>(value));
  }
  return emit_value({.op = op, .type = to, .from = from, .a = a}, to);
}

Reg Builder::bswap(Reg a) {
  return emit_value({.op = Op::kBswap, .type = checked_type(function_, a), .a = a}, checked_type(function_, a));
}

Reg Builder::load(Type type, Reg base, int64_t offset) {
  INVARIANT(checked_type(function_, base) == Type::kPtr);
  return emit_value({.op = Op::kLoad, .type = type, .a = base, .imm = offset}, type);
}

Reg Builder::load_invariant(Type type, Reg base, int64_t offset) {
  Reg value = load(type, base, offset);
  function_.blocks[current_].back().invariant = true;
  return value;
}

void Builder::store(Reg base, int64_t offset, Reg value) {
  INVARIANT(checked_type(function_, base) == Type::kPtr);
  emit({.op = Op::kStore, .type = checked_type(function_, value), .a = base, .b = value, .imm = offset});
}

Reg Builder::index(Reg base, Reg index, int64_t scale) {
  INVARIANT(checked_type(function_, base) == Type::kPtr && checked_type(function_, index) == Type::kI64);
  if (is_value(index, 0) && !function_.mutable_registers[base]) return base;
  return emit_value({.op = Op::kIndex, .type = Type::kPtr, .a = base, .b = index, .imm = scale}, Type::kPtr);
}

Reg Builder::offset(Reg base, int64_t bytes) {
  INVARIANT(checked_type(function_, base) == Type::kPtr);
  if (bytes == 0 && !function_.mutable_registers[base]) return base;
  return index(base, constant(Type::kI64, 1), bytes);
}

void Builder::prefetch(Reg base, int64_t offset) {
  INVARIANT(checked_type(function_, base) == Type::kPtr);
  emit({.op = Op::kPrefetch, .type = Type::kPtr, .a = base, .imm = offset});
}

Reg Builder::call(const External& function, std::span<const Reg> args) {
  uint32_t words = 0;
  for (Reg arg : args) words += words_of(checked_type(function_, arg));
  INVARIANT(words == function.words);
  INVARIANT(words <= 12);
  auto& externals = function_.externals;
  const auto known = std::find(externals.begin(), externals.end(), &function);
  Inst inst{.op = Op::kCall, .type = function.result, .imm = known - externals.begin()};
  if (known == externals.end()) externals.push_back(&function);
  inst.args = static_cast<uint32_t>(function_.call_args.size());
  inst.arg_count = static_cast<uint32_t>(args.size());
  function_.call_args.insert(function_.call_args.end(), args.begin(), args.end());
  if (function.result != Type::kVoid) return emit_value(inst, function.result);
  emit(inst);
  return kNoReg;
}

void Builder::jump(Block target) { emit({.op = Op::kJump, .target = target}); }

void Builder::branch(Reg condition, Block if_true, Block if_false, int likely) {
  INVARIANT(checked_type(function_, condition) == Type::kI8);
  if (is_constant_[condition]) return jump(constants_[condition] != 0 ? if_true : if_false);
  if (if_true == if_false) return jump(if_true);
  emit({.op = Op::kBranch,
        .type = Type::kI8,
        .likely = static_cast<uint8_t>(likely),
        .a = condition,
        .target = if_true,
        .other = if_false});
}

void Builder::ret(Reg status) {
  INVARIANT(checked_type(function_, status) == Type::kI32);
  emit({.op = Op::kReturn, .type = Type::kI32, .a = status});
}

void Builder::swap_point() {
  const Block block = new_block();
  jump(block);
  set_block(block);
  function_.swaps.blocks.push_back(block);
}

void Builder::set_swaps(const SwapPoints& how) {
  std::vector<Block> blocks = std::move(function_.swaps.blocks);
  function_.swaps = how;
  function_.swaps.blocks = std::move(blocks);
}

Reg Builder::form() {
  if (function_.form == kNoReg) function_.form = new_variable(Type::kI64);
  return function_.form;
}

Function Builder::finish() {
  auto& blocks = function_.blocks;
  std::vector<Block> number(blocks.size(), kNoBlock);
  std::vector<Block> work{0};
  number[0] = 0;
  while (!work.empty()) {
    const Block block = work.back();
    work.pop_back();
    for (const Inst& inst : blocks[block]) {
      for (Block next : {inst.target, inst.other}) {
        if (next == kNoBlock || number[next] != kNoBlock) continue;
        number[next] = 0;
        work.push_back(next);
      }
    }
  }
  Block count = 0;
  for (Block block = 0; block < blocks.size(); ++block) {
    if (number[block] == kNoBlock) continue;
    number[block] = count;
    if (count != block) blocks[count] = std::move(blocks[block]);
    ++count;
  }
  blocks.resize(count);
  for (auto& block : blocks) {
    for (Inst& inst : block) {
      if (inst.target != kNoBlock) inst.target = number[inst.target];
      if (inst.other != kNoBlock) inst.other = number[inst.other];
    }
  }
  std::vector<Block> swaps;
  for (Block block : function_.swaps.blocks) {
    if (number[block] != kNoBlock) swaps.push_back(number[block]);
  }
  function_.swaps.blocks = std::move(swaps);
  constants_.clear();
  is_constant_.clear();
  return std::exchange(function_, Function{});
}

}  // namespace scyper::query::ir
