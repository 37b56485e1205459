#include <array>
#include <bit>
#include <cstdio>

#include "ir/ir.h"

namespace scyper::query::ir {

std::string_view name_of(Op op) {
  static constexpr std::array kNames = {
      "const",  "const_wide", "move",        "data_addr",   "frame_addr",  "add",      "sub",     "mul",   "sdiv",
      "srem",   "and",        "or",          "xor",         "shl",         "lshr",     "ashr",    "fadd",  "fsub",
      "fmul",   "fdiv",       "add_checked", "sub_checked", "mul_checked", "eq",       "ne",      "lt",    "le",
      "gt",     "ge",         "ult",         "feq",         "fne",         "flt",      "fle",     "fgt",   "fge",
      "select", "sext",       "zext",        "trunc",       "int_to_f",    "f_to_int", "bitcast", "bswap", "load",
      "store",  "index",      "prefetch",    "call",        "jump",        "branch",   "return"};
  static_assert(kNames.size() == static_cast<size_t>(Op::kReturn) + 1);
  return kNames[static_cast<size_t>(op)];
}

std::string_view name_of(Type type) {
  static constexpr std::array kNames = {"void", "i8", "i16", "i32", "i64", "i128", "f64", "ptr"};
  return kNames[static_cast<size_t>(type)];
}

namespace {

class Printer {
 public:
  explicit Printer(const Function& function) : function_(function) {}

  std::string print() {
    text("function ").text(function_.name).text("(r0, r1, r2)");
    if (function_.frame_bytes != 0) text(" frame ").number(function_.frame_bytes);
    if (!function_.data.empty()) text(" data ").number(static_cast<int64_t>(function_.data.size()));
    text("\n");
    for (size_t block = 0; block < function_.blocks.size(); ++block) {
      text("b").number(static_cast<int64_t>(block)).text(":\n");
      for (const Inst& inst : function_.blocks[block]) print_inst(inst);
    }
    return std::move(out_);
  }

 private:
  Printer& text(std::string_view part) {
    out_ += part;
    return *this;
  }
  Printer& number(int64_t value) { return text(std::to_string(value)); }
  Printer& reg(Reg reg) {
    const bool is_variable = reg < function_.registers.size() && function_.mutable_registers[reg];
    return text(is_variable ? "v" : "r").number(reg);
  }

  void print_inst(const Inst& inst) {
    text("  ");
    if (inst.dst != kNoReg) reg(inst.dst).text(" = ");
    text(name_of(inst.op));
    if (inst.type != Type::kVoid && inst.op != Op::kBranch) text(" ").text(name_of(inst.type));
    if (inst.from != Type::kVoid) text(" from ").text(name_of(inst.from));
    print_operands(inst);
    if (inst.target != kNoBlock) text(inst.op < Op::kJump ? " overflow b" : " b").number(inst.target);
    if (inst.other != kNoBlock) text(" else b").number(inst.other);
    if (inst.likely != 0) text(inst.likely == 1 ? " likely" : " unlikely");
    text("\n");
  }

  void print_operands(const Inst& inst) {
    switch (inst.op) {
      case Op::kConst:
        if (inst.type != Type::kF64) return void(text(" ").number(inst.imm));
        char digits[40];
        snprintf(digits, sizeof digits, " %.17g", std::bit_cast<double>(inst.imm));
        return void(text(digits));
      case Op::kConstWide:
      case Op::kDataAddr:
      case Op::kFrameAddr:
        return void(text(" ").number(inst.imm));
      case Op::kLoad:
      case Op::kPrefetch:
        text(" [").reg(inst.a).text(" + ").number(inst.imm).text("]");
        return void(text(inst.invariant ? " invariant" : ""));
      case Op::kStore:
        return void(text(" [").reg(inst.a).text(" + ").number(inst.imm).text("], ").reg(inst.b));
      case Op::kIndex:
        return void(text(" ").reg(inst.a).text(" + ").reg(inst.b).text(" * ").number(inst.imm));
      case Op::kCall:
        return print_call(inst);
      default:
        break;
    }
    std::string_view separator = " ";
    for (Reg operand : {inst.a, inst.b, inst.c}) {
      if (operand == kNoReg) continue;
      text(separator).reg(operand);
      separator = ", ";
    }
  }

  void print_call(const Inst& inst) {
    text(" ").text(function_.externals[static_cast<size_t>(inst.imm)]->name).text("(");
    for (uint32_t i = 0; i < inst.arg_count; ++i) {
      if (i != 0) text(", ");
      reg(function_.call_args[inst.args + i]);
    }
    text(")");
  }

  const Function& function_;
  std::string out_;
};

}  // namespace

std::string to_string(const Function& function) { return Printer(function).print(); }

}  // namespace scyper::query::ir
