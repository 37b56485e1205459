#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/invariant.h"
#include "vm/code.h"

namespace scyper::query::vm {

using ir::Block;
using ir::Inst;
using ir::Op;
using ir::Reg;
using ir::Type;

namespace {

constexpr uint32_t kNoSlot = ~uint32_t{0};
constexpr uint32_t kParameterBytes = 24;

VmOp shifted(VmOp base, uint32_t by) { return static_cast<VmOp>(static_cast<uint32_t>(base) + by); }
bool is_constant(Op op) { return op == Op::kConst || op == Op::kConstWide || op == Op::kDataAddr; }
bool is_compare(Op op) { return op >= Op::kEq && op <= Op::kFGe; }
bool is_checked(Op op) { return op >= Op::kAddChecked && op <= Op::kMulChecked; }
bool is_wide(Type type) { return type == Type::kI128; }

// Operations that may be left out when nobody reads the result.
bool is_droppable(Op op) {
  return !is_checked(op) && op != Op::kStore && op != Op::kPrefetch && op != Op::kCall && op < Op::kJump;
}

VmOp integer_op(const Inst& inst) {
  const uint32_t type = static_cast<uint32_t>(inst.type) - static_cast<uint32_t>(Type::kI8);
  switch (inst.op) {
    case Op::kAdd:
      return shifted(VmOp::kAddI8, type);
    case Op::kSub:
      return shifted(VmOp::kSubI8, type);
    case Op::kMul:
      return shifted(VmOp::kMulI8, type);
    case Op::kSDiv:
      return shifted(VmOp::kSDivI8, type);
    case Op::kSRem:
      return shifted(VmOp::kSRemI8, type);
    case Op::kShl:
      return shifted(VmOp::kShlI8, type);
    case Op::kLShr:
      return shifted(VmOp::kLShrI8, type);
    case Op::kAShr:
      return shifted(VmOp::kAShrI8, type);
    case Op::kAnd:
      return is_wide(inst.type) ? VmOp::kAndI128 : VmOp::kAndI64;
    case Op::kOr:
      return is_wide(inst.type) ? VmOp::kOrI128 : VmOp::kOrI64;
    case Op::kXor:
      return is_wide(inst.type) ? VmOp::kXorI128 : VmOp::kXorI64;
    case Op::kAddChecked:
      return shifted(VmOp::kAddCheckedI16, type - 1);
    case Op::kSubChecked:
      return shifted(VmOp::kSubCheckedI16, type - 1);
    case Op::kMulChecked:
      return shifted(VmOp::kMulCheckedI16, type - 1);
    case Op::kFAdd:
      return VmOp::kFAdd;
    case Op::kFSub:
      return VmOp::kFSub;
    case Op::kFMul:
      return VmOp::kFMul;
    default:
      return VmOp::kFDiv;
  }
}

VmOp compare_op(const Inst& inst, bool branch) {
  const uint32_t index =
      static_cast<uint32_t>(inst.op) - static_cast<uint32_t>(inst.type == Type::kF64 ? Op::kFEq : Op::kEq);
  if (inst.type == Type::kF64) return shifted(branch ? VmOp::kBranchEqF64 : VmOp::kEqF64, index * 2);
  const uint32_t type = inst.type == Type::kI8 ? 0 : is_wide(inst.type) ? 2 : 1;
  return shifted(branch ? VmOp::kBranchEqI8 : VmOp::kEqI8, index * 6 + type);
}

uint32_t size_index(Type type) {
  switch (type) {
    case Type::kI8:
      return 0;
    case Type::kI16:
      return 1;
    case Type::kI32:
      return 2;
    case Type::kI128:
      return 4;
    default:
      return 3;
  }
}

}  // namespace

// Turns one ir::Function into bytecode in two passes: where each register lives, then the code.
class Lowering {
 public:
  explicit Lowering(const ir::Function& function) : f_(function), registers_(function.registers.size()) {}

  std::unique_ptr<VmFunction> lower() {
    vm_.reset(new VmFunction);
    handlers_ = handlers();
    vm_->data_.resize((f_.data.size() + 7) / 8);
    if (!f_.data.empty()) memcpy(vm_->data_.data(), f_.data.data(), f_.data.size());
    scan();
    place_registers();
    vm_->code_.reserve(f_.instruction_count() + 1);
    block_start_.resize(f_.blocks.size());
    for (block_ = 0; block_ < f_.blocks.size(); ++block_) lower_block();
    patch_targets();
    const uint32_t frame_memory = (next_slot_ + 15) / 16 * 16;
    for (uint32_t index : frame_addresses_) vm_->code_[index].imm += frame_memory;
    vm_->frame_bytes_ = (frame_memory + f_.frame_bytes + 15) / 16 * 16;
    return std::move(vm_);
  }

 private:
  struct Place {
    uint32_t slot = kNoSlot;
    uint32_t uses = 0;
    uint32_t last_use = 0;  // number of the instruction
    Block block = ir::kNoBlock;
    bool local = true;  // assigned and read in one block only
    bool constant = false;
  };

  // Uses and homes of the temporaries.
  void scan() {
    uint32_t number = 0;
    for (Block block = 0; block < f_.blocks.size(); ++block) {
      for (const Inst& inst : f_.blocks[block]) {
        ir::for_each_operand(f_, inst, [&](Reg reg) {
          Place& place = registers_[reg];
          ++place.uses;
          place.last_use = number;
          if (place.block == ir::kNoBlock) place.block = block;
          place.local = place.local && place.block == block;
        });
        if (inst.dst != ir::kNoReg) {
          Place& place = registers_[inst.dst];
          place.local = place.local && (place.block == ir::kNoBlock || place.block == block);
          place.block = block;
          place.constant = is_constant(inst.op) && !f_.mutable_registers[inst.dst];
        }
        ++number;
      }
    }
  }

  void place_registers() {
    for (Reg reg = 0; reg < 3; ++reg) registers_[reg] = {.slot = reg * 8, .local = false};
    next_slot_ = kParameterBytes;
    place_constants();
    const uint32_t variables = next_slot_;
    for (Reg reg = 3; reg < f_.registers.size(); ++reg) {
      if (f_.mutable_registers[reg]) take_fixed(reg);
    }
    vm_->variable_bytes_ = next_slot_ - variables;
    for (Reg reg = 3; reg < f_.registers.size(); ++reg) {
      const Place& place = registers_[reg];
      if (!place.local && !place.constant && place.slot == kNoSlot) take_fixed(reg);
    }
    void_slot_ = next_slot_;
    next_slot_ += 8;
  }

  void take_fixed(Reg reg) {
    registers_[reg].slot = next_slot_;
    registers_[reg].local = false;
    next_slot_ += 8 * ir::words_of(f_.registers[reg]);
  }

  // Equal constants share one slot: open addressing over the constants' first word and width.
  void place_constants() {
    uint32_t count = 0;
    for (const Place& place : registers_) count += place.constant;
    if (count == 0) return;
    std::vector<uint32_t> table(std::bit_ceil(size_t{count} * 2), kNoSlot);
    for (const auto& block : f_.blocks) {
      for (const Inst& inst : block) {
        if (!is_constant(inst.op) || !registers_[inst.dst].constant || registers_[inst.dst].uses == 0) continue;
        const auto [low, high] = constant_words(inst);
        const bool wide = is_wide(inst.type);
        size_t at = ((low ^ high) * 0x9E3779B97F4A7C15u) >> 20;
        for (;; ++at) {
          uint32_t& entry = table[at & (table.size() - 1)];
          if (entry == kNoSlot) entry = add_constant(low, high, wide);
          const size_t index = entry / 2;
          const bool same_width = (entry & 1) == static_cast<uint32_t>(wide);
          if (same_width && vm_->constants_[index] == low && (!wide || vm_->constants_[index + 1] == high)) {
            registers_[inst.dst].slot = kParameterBytes + static_cast<uint32_t>(index) * 8;
            registers_[inst.dst].local = false;
            break;
          }
        }
      }
    }
    next_slot_ = kParameterBytes + static_cast<uint32_t>(vm_->constants_.size()) * 8;
  }

  // index * 2 + (1 if two words)
  uint32_t add_constant(uint64_t low, uint64_t high, bool wide) {
    const auto index = static_cast<uint32_t>(vm_->constants_.size());
    vm_->constants_.push_back(low);
    if (wide) vm_->constants_.push_back(high);
    return index * 2 + static_cast<uint32_t>(wide);
  }

  std::pair<uint64_t, uint64_t> constant_words(const Inst& inst) const {
    std::pair<uint64_t, uint64_t> words{inst.imm, 0};
    if (inst.op == Op::kConstWide) {
      memcpy(&words.first, f_.data.data() + inst.imm, 8);
      memcpy(&words.second, f_.data.data() + inst.imm + 8, 8);
    } else if (inst.op == Op::kDataAddr) {
      words.first = reinterpret_cast<uint64_t>(vm_->data_.data()) + static_cast<uint64_t>(inst.imm);
    } else if (is_wide(inst.type)) {
      words.second = static_cast<uint64_t>(inst.imm >> 63);
    } else if (inst.type == Type::kI8) {
      words.first = static_cast<uint8_t>(inst.imm);
    } else if (inst.type == Type::kI16) {
      words.first = static_cast<uint64_t>(static_cast<int16_t>(inst.imm));
    } else if (inst.type == Type::kI32) {
      words.first = static_cast<uint64_t>(static_cast<int32_t>(inst.imm));
    }
    return words;
  }

  void lower_block() {
    const auto& block = f_.blocks[block_];
    block_start_[block_] = static_cast<uint32_t>(vm_->code_.size());
    size_t i = 0;
    while (i < block.size()) {
      const Inst& inst = block[i];
      const Inst* next = i + 1 < block.size() ? &block[i + 1] : nullptr;
      const size_t count = lower_one(inst, next);
      for (size_t done = 0; done < count; ++done, ++i, ++number_) release_operands(block[i]);
    }
  }

  // The number of instructions done: a comparison may take in its branch, an operation the assignment of its result.
  size_t lower_one(const Inst& inst, const Inst* next) {
    if (inst.dst != ir::kNoReg) {
      const Place& place = registers_[inst.dst];
      if (place.constant) return 1;
      if (place.uses == 0 && !f_.mutable_registers[inst.dst] && is_droppable(inst.op)) return 1;
      const bool only_next = next != nullptr && place.uses == 1 && place.local && next->a == inst.dst;
      if (only_next && next->op == Op::kBranch && is_compare(inst.op)) {
        emit_branch(compare_op(inst, true), inst, *next);
        return 2;
      }
      if (only_next && next->op == Op::kMove && f_.mutable_registers[next->dst]) {
        emit(inst, slot(next->dst));
        return 2;
      }
    }
    // all operands are read before a result is written, so the result may take the slot of an operand that dies here
    release_operands(inst);
    const uint32_t dst = inst.dst == ir::kNoReg ? void_slot_ : take(inst.dst);
    emit(inst, dst);
    return 1;
  }

  void release_operands(const Inst& inst) {
    // the slot stays readable until the next take(); a second call does nothing
    ir::for_each_operand(f_, inst, [&](Reg reg) {
      Place& place = registers_[reg];
      if (place.local && place.uses != 0 && place.last_use == number_ && place.slot != kNoSlot) {
        place.uses = 0;
        free_slots_[ir::words_of(f_.registers[reg]) - 1].push_back(place.slot);
      }
    });
  }

  uint32_t take(Reg reg) {
    Place& place = registers_[reg];
    if (place.slot != kNoSlot) return place.slot;
    const uint32_t words = ir::words_of(f_.registers[reg]);
    auto& free_slots = free_slots_[words - 1];
    if (free_slots.empty()) {
      place.slot = next_slot_;
      next_slot_ += 8 * words;
    } else {
      place.slot = free_slots.back();
      free_slots.pop_back();
    }
    if (place.uses == 0) free_slots.push_back(place.slot);  // nobody reads it
    return place.slot;
  }

  uint32_t slot(Reg reg) const {
    INVARIANT(registers_[reg].slot != kNoSlot);
    return registers_[reg].slot;
  }

  Code& append(VmOp op, uint32_t dst, uint32_t a = 0, uint32_t b = 0, int64_t imm = 0) {
    vm_->code_.push_back({.handler = handlers_[static_cast<size_t>(op)], .dst = dst, .a = a, .b = b, .imm = imm});
    return vm_->code_.back();
  }

  void emit(const Inst& inst, uint32_t dst) {
    switch (inst.op) {
      case Op::kConst:
      case Op::kConstWide:
      case Op::kDataAddr:
        INVARIANT(false);  // temporaries only (ir::verify), which are constants of the frame
      case Op::kMove:
        append(is_wide(inst.type) ? VmOp::kMove128 : VmOp::kMove, dst, slot(inst.a));
        return;
      case Op::kFrameAddr:
        frame_addresses_.push_back(static_cast<uint32_t>(vm_->code_.size()));
        append(VmOp::kFrameAddr, dst, 0, 0, inst.imm);
        return;
      case Op::kSelect:
        append(is_wide(inst.type) ? VmOp::kSelect128 : VmOp::kSelect, dst, slot(inst.a), slot(inst.b), slot(inst.c));
        return;
      case Op::kSExt:
      case Op::kZExt:
      case Op::kTrunc:
      case Op::kIntToF:
      case Op::kFToInt:
      case Op::kBitcast:
        return emit_conversion(inst, dst);
      case Op::kBswap:
        append(shifted(VmOp::kBswap16, size_index(inst.type) - 1), dst, slot(inst.a));
        return;
      case Op::kLoad:
      case Op::kStore:
      case Op::kIndex:
      case Op::kPrefetch:
        return emit_memory(inst, dst);
      case Op::kCall:
        return emit_call(inst, dst);
      case Op::kJump:
      case Op::kBranch:
      case Op::kReturn:
        return emit_terminator(inst);
      default:
        break;
    }
    const VmOp op = is_compare(inst.op) ? compare_op(inst, false) : integer_op(inst);
    append(op, dst, slot(inst.a), slot(inst.b), inst.target);
    if (is_checked(inst.op)) overflow_exits_.push_back(static_cast<uint32_t>(vm_->code_.size()) - 1);
  }

  void emit_memory(const Inst& inst, uint32_t dst) {
    const uint32_t a = slot(inst.a);
    if (inst.op == Op::kLoad) {
      append(shifted(VmOp::kLoad8, size_index(inst.type)), dst, a, 0, inst.imm);
    } else if (inst.op == Op::kStore) {
      append(shifted(VmOp::kStore8, size_index(inst.type)), 0, a, slot(inst.b), inst.imm);
    } else if (inst.op == Op::kPrefetch) {
      append(VmOp::kPrefetch, 0, a, 0, inst.imm);
    } else if (registers_[inst.b].constant) {
      const uint64_t index = vm_->constants_[(slot(inst.b) - kParameterBytes) / 8];
      append(VmOp::kOffset, dst, a, 0, static_cast<int64_t>(index * static_cast<uint64_t>(inst.imm)));
    } else {
      append(VmOp::kIndex, dst, a, slot(inst.b), inst.imm);
    }
  }

  void emit_conversion(const Inst& inst, uint32_t dst) {
    uint32_t a = slot(inst.a);
    if (inst.op == Op::kIntToF || inst.op == Op::kFToInt) {
      append(inst.op == Op::kIntToF ? VmOp::kIntToF : VmOp::kFToInt, dst, a);
      return;
    }
    VmOp op = VmOp::kMove;
    if (inst.op == Op::kSExt && inst.from == Type::kI8) op = VmOp::kSignExtend8;
    if (inst.op == Op::kZExt && inst.from == Type::kI16) op = VmOp::kZeroExtend16;
    if (inst.op == Op::kZExt && inst.from == Type::kI32) op = VmOp::kZeroExtend32;
    if (inst.op == Op::kTrunc && inst.type == Type::kI8) op = VmOp::kZeroExtend8;
    if (inst.op == Op::kTrunc && inst.type == Type::kI16) op = VmOp::kSignExtend16;
    if (inst.op == Op::kTrunc && inst.type == Type::kI32) op = VmOp::kSignExtend32;
    if (!is_wide(inst.type)) {
      append(op, dst, a);
      return;
    }
    if (op != VmOp::kMove) {
      append(op, dst, a);
      a = dst;
    }
    append(inst.op == Op::kSExt ? VmOp::kSignExtend128 : VmOp::kZeroExtend128, dst, a);
  }

  void emit_call(const Inst& inst, uint32_t dst) {
    const ir::External& external = *f_.externals[static_cast<size_t>(inst.imm)];
    const auto first = static_cast<uint32_t>(vm_->call_slots_.size());
    for (uint32_t i = 0; i < inst.arg_count; ++i) {
      const Reg reg = f_.call_args[inst.args + i];
      vm_->call_slots_.push_back(slot(reg));
      if (is_wide(f_.registers[reg])) vm_->call_slots_.push_back(slot(reg) + 8);
    }
    uint32_t kind = 0;
    if (inst.type == Type::kI8) kind = 1;
    if (inst.type == Type::kI32) kind = 2;
    append(shifted(VmOp::kCall0, external.words * 3u + kind), dst, first, 0,
           reinterpret_cast<int64_t>(external.address));
    if (inst.type == Type::kI16) append(VmOp::kSignExtend16, dst, dst);
  }

  void emit_terminator(const Inst& inst) {
    if (inst.op == Op::kBranch) {
      emit_branch(VmOp::kBranch, inst, inst);
    } else if (inst.op == Op::kReturn) {
      append(VmOp::kReturn, 0, slot(inst.a));
    } else if (inst.target != block_ + 1) {
      jumps_.push_back(static_cast<uint32_t>(vm_->code_.size()));
      append(VmOp::kJump, inst.target);
    }
  }

  void emit_branch(VmOp op, const Inst& operands, const Inst& branch) {
    jumps_.push_back(static_cast<uint32_t>(vm_->code_.size()));
    overflow_exits_.push_back(static_cast<uint32_t>(vm_->code_.size()));
    const uint32_t b = op == VmOp::kBranch ? 0 : slot(operands.b);
    append(op, branch.target, slot(operands.a), b, branch.other);
  }

  // Block numbers become code indexes.
  void patch_targets() {
    for (uint32_t index : jumps_) vm_->code_[index].dst = block_start_[vm_->code_[index].dst];
    for (uint32_t index : overflow_exits_) {
      vm_->code_[index].imm = block_start_[static_cast<size_t>(vm_->code_[index].imm)];
    }
  }

  const ir::Function& f_;
  std::unique_ptr<VmFunction> vm_;
  const int32_t* handlers_ = nullptr;
  std::vector<Place> registers_;
  std::vector<uint32_t> free_slots_[2];  // of one and of two words
  std::vector<uint32_t> block_start_;
  std::vector<uint32_t> jumps_;           // code whose dst is a block
  std::vector<uint32_t> overflow_exits_;  // code whose imm is a block
  std::vector<uint32_t> frame_addresses_;
  Block block_ = 0;
  uint32_t number_ = 0;  // of the instruction, over all blocks
  uint32_t next_slot_ = 0;
  uint32_t void_slot_ = 0;  // results of void calls
};

std::unique_ptr<VmFunction> VmFunction::prepare(const ir::Function& function) {
  DCHECK(ir::verify(function).empty());
  if (ir::needs_swaps(function)) return Lowering(ir::with_swaps(function, ir::CodeForm::kInterpreted)).lower();
  return Lowering(function).lower();
}

}  // namespace scyper::query::vm
