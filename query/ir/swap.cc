#include <algorithm>
#include <utility>

#include "ir/ir.h"

// A run changes to better code of its function where it stands (on-stack replacement): at a swap point the code at hand
// writes down what is live and calls the better one, which reads it and jumps to the same place.
namespace scyper::query::ir {

namespace {

using Bits = std::vector<uint64_t>;

bool get(const Bits& bits, uint32_t i) { return (bits[i / 64] >> (i % 64) & 1) != 0; }
void set(Bits& bits, uint32_t i) { bits[i / 64] |= uint64_t{1} << (i % 64); }
void clear(Bits& bits, uint32_t i) { bits[i / 64] &= ~(uint64_t{1} << (i % 64)); }

bool is_constant(Op op) { return op == Op::kConst || op == Op::kConstWide || op == Op::kDataAddr; }
constexpr uint32_t kSlotBytes = 16;  // of a kI128; others take 8

// Which registers hold a value at the beginning of a block that somebody reads later. Parameters and constants are at
// hand everywhere and do not count.
class Liveness {
 public:
  explicit Liveness(const Function& function) : f_(function), number_(function.registers.size(), kNoReg) {
    number_registers();
    const size_t words = (regs_.size() + 63) / 64 + 1;
    live_.assign(f_.blocks.size(), Bits(words, 0));
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t block = f_.blocks.size(); block-- > 0;) changed |= flow(block);
    }
  }

  std::vector<Reg> at(Block block) const {
    std::vector<Reg> result;
    for (uint32_t i = 0; i < regs_.size(); i++)
      if (get(live_[block], i)) result.push_back(regs_[i]);
    return result;
  }

 private:
  void number_registers() {
    std::vector<Block> home(f_.registers.size(), kNoBlock);
    std::vector<bool> skipped(f_.registers.size(), false);
    for (Block block = 0; block < f_.blocks.size(); block++)
      for (const Inst& inst : f_.blocks[block]) {
        if (inst.dst == kNoReg) continue;
        home[inst.dst] = block;
        skipped[inst.dst] = is_constant(inst.op);
      }
    for (Block block = 0; block < f_.blocks.size(); block++)
      for (const Inst& inst : f_.blocks[block])
        for_each_operand(f_, inst, [&](Reg reg) {
          const bool is_global =
              reg >= 3 && reg != f_.form && !skipped[reg] && (f_.mutable_registers[reg] || home[reg] != block);
          if (!is_global || number_[reg] != kNoReg) return;
          number_[reg] = static_cast<uint32_t>(regs_.size());
          regs_.push_back(reg);
        });
  }

  bool flow(size_t block) {
    Bits bits(live_[block].size(), 0);
    auto add = [&](Block from) {
      if (from == kNoBlock) return;
      for (size_t i = 0; i < bits.size(); i++) bits[i] |= live_[from][i];
    };
    const auto& insts = f_.blocks[block];
    for (size_t i = insts.size(); i-- > 0;) {
      const Inst& inst = insts[i];
      if (inst.dst != kNoReg && number_[inst.dst] != kNoReg) clear(bits, number_[inst.dst]);
      add(inst.target);
      add(inst.other);
      for_each_operand(f_, inst, [&](Reg reg) {
        if (number_[reg] != kNoReg) set(bits, number_[reg]);
      });
    }
    if (bits == live_[block]) return false;
    live_[block] = std::move(bits);
    return true;
  }

  const Function& f_;
  std::vector<uint32_t> number_;
  std::vector<Reg> regs_;
  std::vector<Bits> live_;  // at the start of each block
};

class Swapper {
 public:
  Swapper(const Function& function, CodeForm form) : f_(function), form_(form) {
    state_at_ = (f_.frame_bytes + 15) / 16 * 16;
    if (f_.swaps.blocks.empty()) return;
    const Liveness liveness(f_);
    for (Block block : f_.swaps.blocks) places_.push_back({block, lay_out(liveness.at(block))});
  }

  Function exits() {
    set_form(0);
    if (places_.empty()) return std::move(f_);
    f_.frame_bytes = state_at_ + state_bytes_;
    const auto continues = static_cast<int64_t>(f_.externals.size());
    f_.externals.push_back(f_.swaps.continue_);
    for (size_t i = 0; i < places_.size(); i++) {
      const Block stay = new_block(), leave = new_block();
      auto& block = f_.blocks[places_[i].block];
      f_.blocks[stay] = std::exchange(block, {});
      const Reg code = load(block, Type::kPtr, load(block, Type::kPtr, kContextReg, f_.swaps.code_at), 0);
      const Reg none = emit(block, Type::kI8, {.op = Op::kEq, .type = Type::kPtr, .a = code, .b = null(block)});
      block.push_back({.op = Op::kBranch, .likely = 1, .a = none, .target = stay, .other = leave});
      fill_exit(places_[i], static_cast<int64_t>(i) + 1, continues, f_.blocks[leave]);
    }
    return std::move(f_);
  }

  Function entries() {
    const Block begin = new_block();
    f_.blocks[begin] = std::exchange(f_.blocks[0], {});
    set_form(0);
    if (places_.empty()) {
      f_.blocks[0].push_back({.op = Op::kJump, .target = begin});
      return std::move(f_);
    }
    const Reg frame = rebase_frame();
    const Block fresh = new_block(), dispatch = new_block();
    auto& entry = f_.blocks[0];
    const Reg point = load(entry, Type::kI64, kContextReg, f_.swaps.point_at);
    branch_on(entry, point, 0, fresh, dispatch);
    entry.back().likely = 1;
    if (frame != kNoReg) {
      auto& block = f_.blocks[fresh];
      const Reg own = emit(block, Type::kPtr, {.op = Op::kFrameAddr, .type = Type::kPtr});
      block.push_back({.op = Op::kMove, .type = Type::kPtr, .dst = frame, .a = own});
    }
    f_.blocks[fresh].push_back({.op = Op::kJump, .target = begin});
    fill_dispatch(dispatch, point, frame);
    demote(&f_);
    return std::move(f_);
  }

 private:
  struct Place {
    Block block;
    std::vector<std::pair<Reg, int64_t>> live;  // and where in the state
  };

  std::vector<std::pair<Reg, int64_t>> lay_out(const std::vector<Reg>& live) {
    std::vector<std::pair<Reg, int64_t>> places;
    uint32_t at = 0;
    for (Reg reg : live) {
      places.emplace_back(reg, at);
      at += f_.registers[reg] == Type::kI128 ? kSlotBytes : 8;
    }
    state_bytes_ = std::max(state_bytes_, (at + 15) / 16 * 16);
    return places;
  }

  Block new_block() {
    f_.blocks.emplace_back();
    return static_cast<Block>(f_.blocks.size() - 1);
  }
  Reg new_register(Type type, bool is_mutable) {
    f_.registers.push_back(type);
    f_.mutable_registers.push_back(is_mutable);
    return static_cast<Reg>(f_.registers.size() - 1);
  }
  Reg emit(std::vector<Inst>& block, Type result, Inst inst) {
    inst.dst = new_register(result, false);
    block.push_back(inst);
    return inst.dst;
  }
  Reg constant(std::vector<Inst>& block, int64_t value) {
    return emit(block, Type::kI64, {.op = Op::kConst, .type = Type::kI64, .imm = value});
  }
  Reg null(std::vector<Inst>& block) { return emit(block, Type::kPtr, {.op = Op::kConst, .type = Type::kPtr}); }
  Reg load(std::vector<Inst>& block, Type type, Reg base, int64_t at) {
    return emit(block, type, {.op = Op::kLoad, .type = type, .a = base, .imm = at});
  }
  void branch_on(std::vector<Inst>& block, Reg value, int64_t equals, Block yes, Block no) {
    const Reg other = constant(block, equals);
    const Reg is_equal = emit(block, Type::kI8, {.op = Op::kEq, .type = Type::kI64, .a = value, .b = other});
    block.push_back({.op = Op::kBranch, .a = is_equal, .target = yes, .other = no});
  }

  void set_form(Block block) {
    if (f_.form == kNoReg) return;
    std::vector<Inst> first;
    const Reg value = constant(first, static_cast<int64_t>(form_));
    first.push_back({.op = Op::kMove, .type = Type::kI64, .dst = f_.form, .a = value});
    auto& insts = f_.blocks[block];
    insts.insert(insts.begin(), first.begin(), first.end());
  }

  void fill_exit(const Place& place, int64_t number, int64_t external, std::vector<Inst>& block) {
    const Reg state = emit(block, Type::kPtr, {.op = Op::kFrameAddr, .type = Type::kPtr, .imm = state_at_});
    for (const auto& [reg, at] : place.live)
      block.push_back({.op = Op::kStore, .type = f_.registers[reg], .a = state, .b = reg, .imm = at});
    const Reg point = constant(block, number);
    const auto args = static_cast<uint32_t>(f_.call_args.size());
    for (Reg arg : {kContextReg, kArgumentsReg, kResultsReg, state, point}) f_.call_args.push_back(arg);
    const Reg status =
        emit(block, Type::kI32, {.op = Op::kCall, .type = Type::kI32, .args = args, .arg_count = 5, .imm = external});
    block.push_back({.op = Op::kReturn, .a = status});
  }

  // Frame memory of a run that came from other code is that code's: its address becomes a variable.
  Reg rebase_frame() {
    if (f_.frame_bytes == 0) return kNoReg;
    const Reg frame = new_register(Type::kPtr, true);
    for (auto& block : f_.blocks) {
      std::vector<Inst> changed;
      for (const Inst& inst : block) {
        if (inst.op != Op::kFrameAddr) {
          changed.push_back(inst);
          continue;
        }
        const Reg one = constant(changed, 1);
        changed.push_back(
            {.op = Op::kIndex, .type = Type::kPtr, .dst = inst.dst, .a = frame, .b = one, .imm = inst.imm});
      }
      block = std::move(changed);
    }
    return frame;
  }

  void fill_dispatch(Block from, Reg point, Reg frame) {
    auto* block = &f_.blocks[from];
    const Reg state = load(*block, Type::kPtr, kContextReg, f_.swaps.state_at);
    const Reg zero = constant(*block, 0);
    block->push_back({.op = Op::kStore, .type = Type::kI64, .a = kContextReg, .b = zero, .imm = f_.swaps.point_at});
    if (frame != kNoReg) {
      const Reg one = constant(*block, 1);
      const int64_t back = -static_cast<int64_t>(state_at_);
      block->push_back({.op = Op::kIndex, .type = Type::kPtr, .dst = frame, .a = state, .b = one, .imm = back});
    }
    for (size_t i = 0; i < places_.size(); i++) {
      const Block restore = new_block();
      const bool is_last = i + 1 == places_.size();
      const Block next = is_last ? kNoBlock : new_block();
      if (is_last)
        f_.blocks[from].push_back({.op = Op::kJump, .target = restore});
      else
        branch_on(f_.blocks[from], point, static_cast<int64_t>(i) + 1, restore, next);
      for (const auto& [reg, at] : places_[i].live) {
        f_.mutable_registers[reg] = true;
        f_.blocks[restore].push_back({.op = Op::kLoad, .type = f_.registers[reg], .dst = reg, .a = state, .imm = at});
      }
      f_.blocks[restore].push_back({.op = Op::kJump, .target = places_[i].block});
      from = next;
    }
  }

  Function f_;
  const CodeForm form_;
  std::vector<Place> places_;
  uint32_t state_at_ = 0;
  uint32_t state_bytes_ = 0;
};

}  // namespace

Function with_swaps(const Function& function, CodeForm form) {
  Swapper swapper(function, form);
  return form == CodeForm::kBetter ? swapper.entries() : swapper.exits();
}

}  // namespace scyper::query::ir
