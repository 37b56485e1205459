#include <algorithm>
#include <utility>

#include "ir/ir.h"

namespace scyper::query::ir {
namespace {

using Bits = std::vector<uint64_t>;

void set(Bits& bits, uint32_t i) { bits[i / 64] |= uint64_t{1} << (i % 64); }

bool is_checked(Op op) { return op >= Op::kAddChecked && op <= Op::kMulChecked; }

class Verifier {
 public:
  explicit Verifier(const Function& function) : f_(function), place_(function.registers.size()) {}

  std::string verify() {
    if (check_shape() && check_instructions()) check_definitions();
    return std::move(error_);
  }

 private:
  struct Place {
    Block block = kNoBlock;  // where a temporary is assigned
    uint32_t position = 0;
    uint32_t global = kNoReg;  // its bit, when another block uses it
  };

  bool fail(std::string_view rule) {
    if (!error_.empty()) return false;
    error_ = "function " + f_.name;
    if (block_ != kNoBlock) {
      error_ += ", block " + std::to_string(block_) + ", instruction " + std::to_string(position_);
      if (position_ < f_.blocks[block_].size()) {
        error_ += " (" + std::string(name_of(f_.blocks[block_][position_].op)) + ")";
      }
    }
    error_ += ": ";
    error_ += rule;
    return false;
  }
  bool expect(bool condition, std::string_view rule) { return condition || fail(rule); }

  bool check_shape() {
    if (f_.registers.size() < 3 || f_.registers.size() != f_.mutable_registers.size()) return fail("registers missing");
    for (Reg reg = 0; reg < 3; ++reg) {
      if (f_.registers[reg] != Type::kPtr || f_.mutable_registers[reg]) return fail("parameters are pointers");
      place_[reg] = {.block = 0, .position = 0};
    }
    for (Type type : f_.registers) {
      if (type == Type::kVoid || type > Type::kPtr) return fail("register without type");
    }
    if (f_.blocks.empty()) return fail("no block");
    for (const External* external : f_.externals) {
      if (external == nullptr || external->address == nullptr) return fail("external without address");
      if (external->words > 12 || external->result == Type::kI128 || external->result == Type::kF64) {
        return fail("external with a signature that cannot be called");
      }
    }
    return true;
  }

  template <typename Visit>
  bool for_each_instruction(Visit&& visit) {
    for (block_ = 0; block_ < f_.blocks.size(); ++block_) {
      const auto& block = f_.blocks[block_];
      for (position_ = 0; position_ < block.size(); ++position_) {
        if (!visit(block[position_])) return false;
      }
    }
    block_ = kNoBlock;
    return true;
  }

  bool check_instructions() {
    for (block_ = 0; block_ < f_.blocks.size(); ++block_) {
      position_ = 0;
      if (f_.blocks[block_].empty() || f_.blocks[block_].back().op < Op::kJump) return fail("no terminator");
    }
    return for_each_instruction([&](const Inst& inst) {
      const bool last = position_ + 1 == f_.blocks[block_].size();
      return expect(inst.op <= Op::kReturn, "unknown operation") &&
             expect(last || inst.op < Op::kJump, "instructions behind a terminator") && check_registers(inst) &&
             check_types(inst) && check_targets(inst) && check_result(inst);
    });
  }

  bool check_registers(const Inst& inst) {
    if (inst.op == Op::kCall) {
      const size_t end = size_t{inst.args} + inst.arg_count;
      if (inst.imm < 0 || static_cast<size_t>(inst.imm) >= f_.externals.size()) return fail("unknown external");
      if (end > f_.call_args.size()) return fail("call arguments missing");
    } else if (inst.arg_count != 0) {
      return fail("arguments without call");
    }
    bool known = inst.dst == kNoReg || inst.dst < f_.registers.size();
    for_each_operand(f_, inst, [&](Reg reg) { known = known && reg < f_.registers.size(); });
    return expect(known, "unknown register");
  }

  bool check_targets(const Inst& inst) {
    const bool wants_target = is_checked(inst.op) || inst.op == Op::kJump || inst.op == Op::kBranch;
    const bool wants_other = inst.op == Op::kBranch;
    return expect(wants_target ? inst.target < f_.blocks.size() : inst.target == kNoBlock, "wrong target") &&
           expect(wants_other ? inst.other < f_.blocks.size() : inst.other == kNoBlock, "wrong other target");
  }

  Type type(Reg reg) const { return reg == kNoReg ? Type::kVoid : f_.registers[reg]; }
  // Types of dst, a, b and c; kVoid = not there.
  bool signature(const Inst& inst, Type dst, Type a = Type::kVoid, Type b = Type::kVoid, Type c = Type::kVoid) {
    return expect(type(inst.dst) == dst, "type of the result") && expect(type(inst.a) == a, "type of operand a") &&
           expect(type(inst.b) == b, "type of operand b") && expect(type(inst.c) == c, "type of operand c");
  }
  bool is_any(const Inst& inst) { return expect(inst.type != Type::kVoid && inst.type <= Type::kPtr, "type"); }
  bool in(Type value, std::initializer_list<Type> set) {
    return expect(std::find(set.begin(), set.end(), value) != set.end(), "operation undefined for this type");
  }

  bool check_types(const Inst& inst) {
    using enum Type;
    const Type t = inst.type;
    switch (inst.op) {
      case Op::kConst:
        return is_any(inst) && expect(t != kPtr || inst.imm == 0, "pointer constant") && signature(inst, t);
      case Op::kConstWide:
        return data_range(inst, 16) && in(t, {kI128}) && signature(inst, t);
      case Op::kDataAddr:
        return data_range(inst, 0) && in(t, {kPtr}) && signature(inst, t);
      case Op::kFrameAddr:
        return expect(inst.imm >= 0 && inst.imm <= f_.frame_bytes, "outside the frame") && in(t, {kPtr}) &&
               signature(inst, t);
      case Op::kMove:
        return is_any(inst) && signature(inst, t, t);
      case Op::kSelect:
        return is_any(inst) && signature(inst, t, kI8, t, t);
      case Op::kBswap:
        return in(t, {kI16, kI32, kI64}) && signature(inst, t, t);
      case Op::kLoad:
        return is_any(inst) && signature(inst, t, kPtr);
      case Op::kStore:
        return is_any(inst) && signature(inst, kVoid, kPtr, t);
      case Op::kIndex:
        return in(t, {kPtr}) && signature(inst, t, kPtr, kI64);
      case Op::kPrefetch:
        return signature(inst, kVoid, kPtr);
      case Op::kCall:
        return check_call(inst);
      case Op::kJump:
        return signature(inst, kVoid);
      case Op::kBranch:
        return signature(inst, kVoid, kI8);
      case Op::kReturn:
        return signature(inst, kVoid, kI32);
      default:
        return inst.op >= Op::kSExt ? check_conversion(inst) : check_arithmetic(inst);
    }
  }

  bool check_arithmetic(const Inst& inst) {
    using enum Type;
    const Type t = inst.type;
    if (inst.op >= Op::kFEq) return in(t, {kF64}) && signature(inst, kI8, t, t);
    if (inst.op >= Op::kEq) return in(t, {kI8, kI16, kI32, kI64, kI128, kPtr}) && signature(inst, kI8, t, t);
    if (inst.op >= Op::kAddChecked) return in(t, {kI16, kI32, kI64, kI128}) && signature(inst, t, t, t);
    if (inst.op >= Op::kFAdd) return in(t, {kF64}) && signature(inst, t, t, t);
    return in(t, {kI8, kI16, kI32, kI64, kI128}) && signature(inst, t, t, t);
  }

  bool check_conversion(const Inst& inst) {
    using enum Type;
    const auto pair = std::pair(inst.from, inst.type);
    bool allowed = false;
    switch (inst.op) {
      case Op::kSExt:
      case Op::kZExt:
        allowed = is_integer(inst.from) && is_integer(inst.type) && inst.from < inst.type;
        break;
      case Op::kTrunc:
        allowed = is_integer(inst.from) && is_integer(inst.type) && inst.from > inst.type;
        break;
      case Op::kIntToF:
        allowed = pair == std::pair(kI32, kF64) || pair == std::pair(kI64, kF64);
        break;
      case Op::kFToInt:
        allowed = pair == std::pair(kF64, kI64);
        break;
      default:
        allowed = inst.from != inst.type && (inst.from == kI64 || inst.type == kI64) &&
                  (inst.from == kF64 || inst.from == kPtr || inst.type == kF64 || inst.type == kPtr);
    }
    return expect(allowed, "no such conversion") && signature(inst, inst.type, inst.from);
  }

  bool check_call(const Inst& inst) {
    const External& external = *f_.externals[static_cast<size_t>(inst.imm)];
    uint32_t words = 0;
    for (uint32_t i = 0; i < inst.arg_count; ++i) words += words_of(type(f_.call_args[inst.args + i]));
    return expect(words == external.words, "number of argument words") &&
           expect(inst.type == external.result, "type of the call") && signature(inst, external.result);
  }

  bool data_range(const Inst& inst, size_t bytes) {
    const bool fits = inst.imm >= 0 && static_cast<uint64_t>(inst.imm) + bytes <= f_.data.size();
    return expect(fits, "outside the constant data");
  }

  // Temporaries are assigned once; notes where.
  bool check_result(const Inst& inst) {
    if (inst.dst == kNoReg) return true;
    if (f_.mutable_registers[inst.dst]) {
      return expect(inst.op != Op::kConst && inst.op != Op::kConstWide && inst.op != Op::kDataAddr,
                    "constant in a variable");
    }
    if (place_[inst.dst].block != kNoBlock) return fail("temporary assigned twice");
    place_[inst.dst] = {.block = block_, .position = position_};
    return true;
  }

  // Uses in the block of the definition: by order. Others: by which temporaries are assigned along every path.
  bool check_definitions() {
    uint32_t global_count = 0;
    const bool local_order = for_each_instruction([&](const Inst& inst) {
      bool defined = true;
      for_each_operand(f_, inst, [&](Reg reg) {
        if (f_.mutable_registers[reg]) return;
        Place& place = place_[reg];
        if (place.block == block_) {
          defined = defined && (reg < 3 || place.position < position_);
        } else if (place.block == kNoBlock) {
          defined = false;
        } else if (place.global == kNoReg && reg >= 3) {
          place.global = global_count++;
        }
      });
      return expect(defined, "temporary used before its assignment");
    });
    return local_order && (global_count == 0 || check_paths(global_count));
  }

  // What paths have to know of a block, in its order: temporaries of other blocks' uses that it assigns, and edges.
  struct Event {
    bool is_edge = false;
    uint32_t number = 0;  // of the block that follows, or the temporary's bit
  };

  // Events of block i: from first[i] to first[i + 1].
  std::vector<Event> events_of_blocks(std::vector<size_t>* first) const {
    std::vector<Event> events;
    for (const auto& block : f_.blocks) {
      first->push_back(events.size());
      for (const Inst& inst : block) {
        if (inst.target != kNoBlock) events.push_back({true, inst.target});
        if (inst.other != kNoBlock) events.push_back({true, inst.other});
        if (inst.dst != kNoReg && place_[inst.dst].global != kNoReg) events.push_back({false, place_[inst.dst].global});
      }
    }
    first->push_back(events.size());
    return events;
  }

  // Which temporaries are assigned at the start of each block, `words` words each, and which blocks are reached.
  // Blocks are mostly in the order of control: sweeps over them settle in two or three rounds.
  void follow_paths(size_t words, Bits* assigned, std::vector<uint8_t>* reached) const {
    std::vector<size_t> first;
    const std::vector<Event> events = events_of_blocks(&first);
    std::vector<uint8_t> waits(f_.blocks.size());
    size_t waiting = 1;
    waits[0] = (*reached)[0] = 1;
    Bits bits(words);
    const auto flow = [&](Block to) {
      uint64_t* in = &(*assigned)[to * words];
      bool changed = (*reached)[to] == 0;
      if (changed) std::copy(bits.begin(), bits.end(), in);
      (*reached)[to] = 1;
      for (size_t i = 0; i < words; ++i) {
        changed = changed || (in[i] & ~bits[i]) != 0;
        in[i] &= bits[i];
      }
      if (changed && std::exchange(waits[to], uint8_t{1}) == 0) ++waiting;
    };
    while (waiting != 0) {
      for (size_t block = 0; block < f_.blocks.size(); ++block) {
        if (std::exchange(waits[block], uint8_t{0}) == 0) continue;
        --waiting;
        std::copy_n(assigned->begin() + static_cast<ptrdiff_t>(block * words), words, bits.begin());
        for (size_t i = first[block]; i < first[block + 1]; ++i)
          events[i].is_edge ? flow(events[i].number) : set(bits, events[i].number);
      }
    }
  }

  bool check_paths(uint32_t global_count) {
    const size_t words = (global_count + 63) / 64;
    Bits assigned(f_.blocks.size() * words);
    std::vector<uint8_t> reached(f_.blocks.size());
    follow_paths(words, &assigned, &reached);
    return for_each_instruction([&](const Inst& inst) {
      bool defined = true;
      if (reached[block_] == 0) return true;
      for_each_operand(f_, inst, [&](Reg reg) {
        const Place& place = place_[reg];
        if (place.global == kNoReg || place.block == block_) return;
        defined = defined && (assigned[block_ * words + place.global / 64] >> (place.global % 64) & 1) != 0;
      });
      return expect(defined, "temporary not assigned along every path");
    });
  }

  const Function& f_;
  std::vector<Place> place_;
  Block block_ = kNoBlock;
  uint32_t position_ = 0;
  std::string error_;
};

}  // namespace

std::string verify(const Function& function) { return Verifier(function).verify(); }

}  // namespace scyper::query::ir
