#include <utility>

#include "ir/ir.h"

namespace scyper::query::ir {

namespace {

using Bits = std::vector<uint64_t>;

bool is_constant(Op op) { return op == Op::kConst || op == Op::kConstWide || op == Op::kDataAddr; }

// Temporaries that some use finds unassigned along some path.
class Undominated {
 public:
  explicit Undominated(const Function& function) : f_(function), block_of_(f_.registers.size(), kNoBlock) {
    for (Block block = 0; block < f_.blocks.size(); block++)
      for (const Inst& inst : f_.blocks[block])
        if (inst.dst != kNoReg && !f_.mutable_registers[inst.dst]) block_of_[inst.dst] = block;
    number_.assign(f_.registers.size(), kNoReg);
    for (Block block = 0; block < f_.blocks.size(); block++)
      for (const Inst& inst : f_.blocks[block])
        for_each_operand(f_, inst, [&](Reg reg) {
          if (is_global(reg, block) && number_[reg] == kNoReg) number_[reg] = count_++;
        });
    flow();
  }

  std::vector<Reg> find() const {
    std::vector<bool> found(f_.registers.size(), false);
    for (Block block = 0; block < f_.blocks.size(); block++) {
      if (assigned_[block].empty()) continue;
      for (const Inst& inst : f_.blocks[block])
        for_each_operand(f_, inst, [&](Reg reg) {
          if (is_global(reg, block) && !get(assigned_[block], number_[reg])) found[reg] = true;
        });
    }
    std::vector<Reg> result;
    for (Reg reg = 0; reg < found.size(); reg++)
      if (found[reg]) result.push_back(reg);
    return result;
  }

 private:
  static bool get(const Bits& bits, uint32_t i) { return (bits[i / 64] >> (i % 64) & 1) != 0; }
  bool is_global(Reg reg, Block used_in) const {
    return reg >= 3 && !f_.mutable_registers[reg] && block_of_[reg] != used_in;
  }

  void flow() {
    assigned_.resize(f_.blocks.size());
    assigned_[0] = Bits((count_ + 63) / 64 + 1, 0);
    std::vector<Block> work{0};
    while (!work.empty()) {
      Block block = work.back();
      work.pop_back();
      Bits bits = assigned_[block];
      for (const Inst& inst : f_.blocks[block]) {
        for (Block next : {inst.target, inst.other})
          if (next != kNoBlock && meet(next, bits)) work.push_back(next);
        if (inst.dst == kNoReg || f_.mutable_registers[inst.dst] || number_[inst.dst] == kNoReg) continue;
        bits[number_[inst.dst] / 64] |= uint64_t{1} << (number_[inst.dst] % 64);
      }
    }
  }

  bool meet(Block block, const Bits& bits) {
    Bits& in = assigned_[block];
    if (in.empty()) return in = bits, true;
    bool changed = false;
    for (size_t i = 0; i < in.size(); i++) {
      changed |= (in[i] & ~bits[i]) != 0;
      in[i] &= bits[i];
    }
    return changed;
  }

  const Function& f_;
  std::vector<Block> block_of_;
  std::vector<uint32_t> number_;
  uint32_t count_ = 0;
  std::vector<Bits> assigned_;  // at the start of each block; empty: not reached
};

}  // namespace

void demote(Function* function) {
  std::vector<Reg> regs = Undominated(*function).find();
  if (regs.empty()) return;
  std::vector<bool> demoted(function->registers.size(), false);
  for (Reg reg : regs) demoted[reg] = true;
  std::vector<Inst> constants;
  for (auto& block : function->blocks) {
    std::vector<Inst> kept;
    for (const Inst& inst : block) {
      bool moves = inst.dst != kNoReg && demoted[inst.dst] && is_constant(inst.op);
      (moves ? constants : kept).push_back(inst);
    }
    block = std::move(kept);
    for (const Inst& inst : block)
      if (inst.dst != kNoReg && demoted[inst.dst]) function->mutable_registers[inst.dst] = true;
  }
  auto& entry = function->blocks[0];
  entry.insert(entry.begin(), constants.begin(), constants.end());
}

}  // namespace scyper::query::ir
