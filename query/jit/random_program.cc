#include "jit/random_program.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "ir/foreign_call.h"

namespace scyper::query::jit {
namespace {

using namespace ir;

constexpr Type kTypes[] = {Type::kI8, Type::kI16, Type::kI32, Type::kI64, Type::kI128, Type::kF64};
constexpr Type kIntegers[] = {Type::kI8, Type::kI16, Type::kI32, Type::kI64, Type::kI128};
constexpr uint32_t kFrameBytes = 256;
constexpr int kMaxDepth = 4;

// --- what the programs call ---

int64_t add_three(int64_t a, int64_t b, int64_t c) noexcept {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * 3 + static_cast<uint64_t>(b) * 5 + static_cast<uint64_t>(c));
}
int32_t low_bits(uint64_t low, uint64_t high) noexcept { return static_cast<int32_t>(low ^ high >> 7); }
int16_t many(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h) noexcept {
  const int64_t all[] = {a, b, c, d, e, f, g, h};
  uint64_t sum = 0;
  for (int64_t x : all) sum = sum * 31 + static_cast<uint64_t>(x);
  return static_cast<int16_t>(sum);
}
bool is_odd(int64_t value) noexcept { return (value & 1) != 0; }
void add_to(int64_t* counter, int64_t value) noexcept {
  *counter = static_cast<int64_t>(static_cast<uint64_t>(*counter) + static_cast<uint64_t>(value));
}

void pass(SwapContext* context) noexcept {
  if (context->passes-- == 0) context->now.store(context->better);
}
SCYPER_FOREIGN_CALL int32_t continue_better(SwapContext* context, const void* arguments, void* results, void* state,
                                            int64_t point) noexcept {
  context->swaps++;
  context->point = point;
  context->state = state;
  return context->now.load()(context, arguments, results);
}

template <typename F>
void* address_of(F* function) {
  return reinterpret_cast<void*>(function);
}
const External kAddThree{
    .name = "add_three", .address = address_of(&add_three), .result = Type::kI64, .words = 3, .pure = true};
const External kLowBits{
    .name = "low_bits", .address = address_of(&low_bits), .result = Type::kI32, .words = 2, .pure = true};
const External kMany{.name = "many", .address = address_of(&many), .result = Type::kI16, .words = 8};
const External kIsOdd{.name = "is_odd", .address = address_of(&is_odd), .result = Type::kI8, .words = 1};
const External kAddTo{.name = "add_to", .address = address_of(&add_to), .result = Type::kVoid, .words = 2};

const External kPass{.name = "pass", .address = address_of(&pass), .result = Type::kVoid, .words = 1};
const External kContinueBetter{
    .name = "continue_better", .address = address_of(&continue_better), .result = Type::kI32, .words = 5};

SwapPoints swap_points() {
  SwapPoints how;
  how.code_at = offsetof(SwapContext, code);
  how.point_at = offsetof(SwapContext, point);
  how.state_at = offsetof(SwapContext, state);
  how.continue_ = &kContinueBetter;
  return how;
}

class Generator {
 public:
  Generator(Random& random, uint32_t size, bool swaps) : random_(random), b_("random"), budget_(size), swaps_(swaps) {}

  Function generate() {
    b_.set_swaps(swap_points());
    exit_ = b_.new_block();
    frame_ = b_.reserve_frame(kFrameBytes);
    int64_t offset = 0;
    for (Type type : kTypes) {
      for (int i = 0; i < 2; ++i, offset += 16) values_.push_back(defined(b_.load(type, kArgumentsReg, offset)));
      for (int i = 0; i < 2; ++i) variables_.push_back(b_.new_variable(type));
    }
    for (Reg variable : variables_) b_.assign(variable, any(b_.type_of(variable)));
    for (int64_t at = 0; at < kFrameBytes; at += 16) b_.store(b_.frame_address(frame_), at, any(Type::kI128));
    while (budget_ != 0) statement(0);
    write_out(0);
    b_.set_block(exit_);
    write_out(1);
    return b_.finish();
  }

 private:
  uint64_t below(uint64_t n) { return random_.below(n); }
  Reg i64(int64_t value) { return b_.constant(Type::kI64, value); }
  Type any_type() { return kTypes[below(std::size(kTypes))]; }
  Type any_integer() { return kIntegers[below(std::size(kIntegers))]; }

  // A value that is defined here: a variable, an older temporary or a constant.
  Reg any(Type type) {
    if (random_.one_in(8)) return fresh_constant(type);
    if (random_.one_in(4)) return variable(type);
    for (int tries = 0; tries < 8; ++tries) {
      const Reg reg = values_[below(values_.size())];
      if (b_.type_of(reg) == type) return reg;
    }
    return variable(type);
  }
  Reg variable(Type type) {
    return variables_[static_cast<size_t>(&*std::find(std::begin(kTypes), std::end(kTypes), type) - kTypes) * 2 +
                      below(2)];
  }
  Reg fresh_constant(Type type) {
    const auto value = static_cast<int64_t>(random_.one_in(2) ? below(20) : random_.next());
    if (type == Type::kF64) return b_.constant_f64(static_cast<double>(value) / 8);
    if (type != Type::kI128) return b_.constant(type, value);
    return b_.constant_i128(static_cast<__int128>(value) << below(64));
  }
  Reg not_nan(Reg value) { return b_.select(b_.compare(Op::kFEq, value, value), value, b_.constant_f64(0)); }
  Reg defined(Reg value) { return b_.type_of(value) == Type::kF64 ? not_nan(value) : value; }

  Reg condition() {
    switch (below(3)) {
      case 0: {
        const Type type = any_integer();
        return b_.compare(static_cast<Op>(static_cast<uint64_t>(Op::kEq) + below(7)), any(type), any(type));
      }
      case 1:
        return b_.compare(static_cast<Op>(static_cast<uint64_t>(Op::kFEq) + below(6)), any(Type::kF64),
                          any(Type::kF64));
      default:
        return b_.logical_not(condition());
    }
  }

  Reg integer_operation() {
    static constexpr Op kOps[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kAnd, Op::kOr, Op::kXor};
    const Type type = any_integer();
    return b_.binary(kOps[below(std::size(kOps))], any(type), any(type));
  }
  Reg shift() {
    static constexpr Op kOps[] = {Op::kShl, Op::kLShr, Op::kAShr};
    const Type type = any_integer();
    return b_.binary(kOps[below(3)], any(type), b_.binary(Op::kAnd, any(type), b_.constant(type, 7)));
  }
  Reg division() {  // by 1 to 63
    const Type type = any_integer();
    const Reg masked = b_.binary(Op::kAnd, any(type), b_.constant(type, 63));
    const Reg divisor = b_.binary(Op::kOr, masked, b_.constant(type, 1));
    return b_.binary(random_.one_in(2) ? Op::kSDiv : Op::kSRem, any(type), divisor);
  }
  Reg checked() {
    static constexpr Op kOps[] = {Op::kAddChecked, Op::kSubChecked, Op::kMulChecked};
    const Type type = kIntegers[1 + below(4)];
    const Reg small = b_.convert(Op::kSExt, any(Type::kI8), type);  // so that few programs end early
    return b_.binary_checked(kOps[below(3)], random_.one_in(16) ? any(type) : small, small, exit_);
  }
  Reg conversion() {
    const Type from = any_integer();
    const Type to = any_integer();
    switch (below(5)) {
      case 0:
        return b_.convert(Op::kIntToF, any(Type::kI64), Type::kF64);
      case 1: {
        const Reg value = any(Type::kF64);
        const Reg in_range = b_.binary(Op::kAnd, b_.compare(Op::kFLt, value, b_.constant_f64(1e15)),
                                       b_.compare(Op::kFGt, value, b_.constant_f64(-1e15)));
        return b_.convert(Op::kFToInt, b_.select(in_range, value, b_.constant_f64(1)), Type::kI64);
      }
      case 2:
        return b_.convert(Op::kBitcast, any(Type::kF64), Type::kI64);
      case 3:
        return b_.bswap(any(kIntegers[1 + below(3)]));
      default:
        if (from == to) return any(to);
        return b_.convert(from > to ? Op::kTrunc : random_.one_in(2) ? Op::kSExt : Op::kZExt, any(from), to);
    }
  }
  Reg memory_access() {
    const Type type = any_type();
    const Reg index = b_.binary(Op::kAnd, any(Type::kI64), i64(15));
    const Reg base = b_.index(b_.frame_address(frame_), index, static_cast<int64_t>(1 + below(12)));
    const auto offset = static_cast<int64_t>(below(60));
    if (random_.one_in(2)) b_.store(base, offset, any(type));
    return b_.load(type, base, static_cast<int64_t>(below(60)));
  }
  Reg call() {
    switch (below(5)) {
      case 0:
        return b_.call(kAddThree, {any(Type::kI64), any(Type::kI16), any(Type::kF64)});
      case 1:
        return b_.call(kLowBits, {any(Type::kI128)});
      case 2:
        return b_.call(kMany, {any(Type::kI128), any(Type::kI8), any(Type::kI32), any(Type::kF64), any(Type::kI64),
                               any(Type::kI128)});
      case 3:
        return b_.call(kIsOdd, {any(Type::kI64)});
      default:
        b_.call(kAddTo, {b_.frame_address(frame_ + static_cast<int64_t>(below(30)) * 8), any(Type::kI64)});
        return any(Type::kI64);
    }
  }
  Reg value() {
    switch (below(10)) {
      case 0:
      case 1:
        return integer_operation();
      case 2:
        return shift();
      case 3:
        return division();
      case 4:
        return checked();
      case 5:
        return conversion();
      case 6:
        return memory_access();
      case 7:
        return random_.one_in(3) ? call() : condition();
      case 8:
        return b_.binary(static_cast<Op>(static_cast<uint64_t>(Op::kFAdd) + below(4)), any(Type::kF64),
                         any(Type::kF64));
      default: {
        const Type type = any_type();
        return b_.select(random_.one_in(2) ? condition() : any(Type::kI8), any(type), any(type));
      }
    }
  }

  void statement(int depth) {
    if (budget_ != 0) --budget_;
    const uint64_t kind = below(16);
    if (swaps_ && random_.one_in(8)) {
      b_.call(kPass, {kContextReg});
      b_.swap_point();
    }
    if (kind == 0 && depth < kMaxDepth) return branch(depth);
    if (kind == 1 && depth < kMaxDepth) return loop(depth);
    if (kind <= 5) {
      const Type type = any_type();
      return b_.assign(variable(type), any(type));
    }
    const Reg result = defined(value());
    if (random_.one_in(3)) b_.assign(variable(b_.type_of(result)), result);
    values_.push_back(result);
  }

  void statements(int depth) {
    const size_t outside = values_.size();
    for (uint64_t count = 1 + below(8); count != 0 && budget_ != 0; --count) statement(depth + 1);
    values_.resize(outside);  // what was defined inside does not reach the code behind
  }

  void branch(int depth) {
    const Block yes = b_.new_block(), no = b_.new_block(), behind = b_.new_block();
    b_.branch(random_.one_in(2) ? condition() : any(Type::kI8), yes, no, static_cast<int>(below(3)));
    b_.set_block(yes);
    statements(depth);
    b_.jump(random_.one_in(20) ? exit_ : behind);
    b_.set_block(no);
    if (random_.one_in(2)) statements(depth);
    b_.jump(behind);
    b_.set_block(behind);
  }

  void loop(int depth) {
    const Reg counter = b_.new_variable(Type::kI64);
    const Block head = b_.new_block(), body = b_.new_block(), behind = b_.new_block();
    b_.assign(counter, b_.binary(Op::kAnd, any(Type::kI64), i64(depth == 0 ? 15 : 3)));
    b_.jump(head);
    b_.set_block(head);
    b_.branch(b_.compare(Op::kGt, counter, i64(0)), body, behind, static_cast<int>(below(3)));
    b_.set_block(body);
    statements(depth);
    b_.assign(counter, b_.binary(Op::kSub, counter, i64(1)));
    b_.jump(head);
    b_.set_block(behind);
  }

  void write_out(int32_t status) {
    int64_t offset = 0;
    for (Reg variable : variables_) {
      b_.store(kResultsReg, offset, variable);
      offset += 16;
    }
    for (int64_t at = 0; at < kFrameBytes; at += 16, offset += 16) {
      b_.store(kResultsReg, offset, b_.load(Type::kI128, b_.frame_address(frame_), at));
    }
    b_.ret_constant(status);
  }

  Random& random_;
  Builder b_;
  uint32_t budget_;
  const bool swaps_;
  Block exit_ = 0;
  int64_t frame_ = 0;
  std::vector<Reg> values_;     // temporaries defined on every path to here
  std::vector<Reg> variables_;  // two per type
};

}  // namespace

Function random_program(Random& random, uint32_t size) { return Generator(random, size, false).generate(); }
Function random_swapping_program(Random& random, uint32_t size) { return Generator(random, size, true).generate(); }

}  // namespace scyper::query::jit
