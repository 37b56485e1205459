#include "ir/hand_over.h"

#include <utility>

namespace scyper::query::ir {

namespace {

class Reach {
 public:
  explicit Reach(const Function& function) : f_(function), is_place_(function.blocks.size(), false) {
    for (Block block : f_.swaps.blocks) is_place_[block] = true;
  }

  // The blocks that control comes to from one without passing a place; *place: does it come to one?
  std::vector<Block> before_places(Block from, bool* place) const {
    *place = is_place_[from];
    std::vector<bool> seen(f_.blocks.size(), false);
    std::vector<Block> found;
    if (*place) return found;
    found.push_back(from);
    seen[from] = true;
    for (size_t i = 0; i < found.size(); i++)
      for (const Inst& inst : f_.blocks[found[i]])
        for (Block next : {inst.target, inst.other}) {
          if (next == kNoBlock || seen[next]) continue;
          seen[next] = true;
          if (is_place_[next])
            *place = true;
          else
            found.push_back(next);
        }
    return found;
  }

  bool calls(Block block, const External& external) const {
    for (const Inst& inst : f_.blocks[block])
      if (inst.op == Op::kCall && f_.externals[static_cast<size_t>(inst.imm)] == &external) return true;
    return false;
  }

 private:
  const Function& f_;
  std::vector<bool> is_place_;
};

}  // namespace

bool may_end_before_work(const Function& function, const External& test, const External& output) {
  const Reach reach(function);
  bool finds_place = false, asks = false;
  for (Block block : reach.before_places(0, &finds_place)) {
    asks |= reach.calls(block, test);
    bool goes_on = false;
    if (reach.calls(block, output)) reach.before_places(block, &goes_on);
    if (goes_on) return false;
  }
  return asks && finds_place;
}

Function with_hand_over(Function function, const External& hand_over) {
  auto new_register = [&](Type type) {
    function.registers.push_back(type);
    function.mutable_registers.push_back(false);
    return static_cast<Reg>(function.registers.size() - 1);
  };
  auto new_block = [&] {
    function.blocks.emplace_back();
    return static_cast<Block>(function.blocks.size() - 1);
  };
  const auto external = static_cast<int64_t>(function.externals.size());
  function.externals.push_back(&hand_over);
  for (Block place : std::exchange(function.swaps.blocks, {})) {
    const Block stay = new_block(), leave = new_block();
    auto& block = function.blocks[place];
    function.blocks[stay] = std::exchange(block, {});
    const auto args = static_cast<uint32_t>(function.call_args.size());
    for (Reg arg : {kContextReg, kArgumentsReg, kResultsReg}) function.call_args.push_back(arg);
    const Reg status = new_register(Type::kI32), zero = new_register(Type::kI32), stays = new_register(Type::kI8);
    block.push_back(
        {.op = Op::kCall, .type = Type::kI32, .dst = status, .args = args, .arg_count = 3, .imm = external});
    block.push_back({.op = Op::kConst, .type = Type::kI32, .dst = zero});
    block.push_back({.op = Op::kLt, .type = Type::kI32, .dst = stays, .a = status, .b = zero});
    block.push_back({.op = Op::kBranch, .a = stays, .target = stay, .other = leave});
    function.blocks[leave].push_back({.op = Op::kReturn, .a = status});
  }
  return function;
}

}  // namespace scyper::query::ir
