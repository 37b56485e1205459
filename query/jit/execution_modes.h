#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ir/foreign_call.h"
#include "ir/ir.h"
#include "jit/jit.h"
#include "vm/vm.h"

// For tests: one function in every execution mode, and values of every type.
namespace scyper::query::jit {

enum class ExecutionMode { kInterpreter, kQuick, kBetter };
constexpr ExecutionMode kExecutionModes[] = {ExecutionMode::kInterpreter, ExecutionMode::kQuick,
                                             ExecutionMode::kBetter};

class AllModes {
 public:
  explicit AllModes(Jit& jit, const ir::Function& function) : vm_(vm::VmFunction::prepare(function)) {
    for (int tier = 0; tier < kTierCount; ++tier) {
      auto code = jit.compile(function, static_cast<Tier>(tier));
      EXPECT_TRUE(code.ok()) << code.status() << "\n" << ir::to_string(function);
      if (code.ok()) code_[tier] = *code;
    }
  }

  SCYPER_FOREIGN_CALL int32_t run(ExecutionMode mode, void* context, const void* arguments, void* results) const {
    switch (mode) {
      case ExecutionMode::kInterpreter:
        return vm_->run(context, arguments, results);
      case ExecutionMode::kQuick:
        return code_[0]->entry(context, arguments, results);
      case ExecutionMode::kBetter:
        return code_[1]->entry(context, arguments, results);
    }
    return -1;
  }
  const vm::VmFunction& vm() const { return *vm_; }
  const NativeCode& code(Tier tier) const { return *code_[static_cast<size_t>(tier)]; }

 private:
  std::unique_ptr<vm::VmFunction> vm_;
  std::shared_ptr<const NativeCode> code_[kTierCount];
};

inline Jit& shared_jit() {
  static Jit* const jit = [] {
    auto created = Jit::create({});
    EXPECT_TRUE(created.ok()) << created.status();
    return created->release();
  }();
  return *jit;
}

// Values of any type: integers sign-extended.
using Int = __int128;
using UInt = unsigned __int128;

inline int bits_of(ir::Type type) {
  switch (type) {
    case ir::Type::kI8:
      return 8;
    case ir::Type::kI16:
      return 16;
    case ir::Type::kI32:
      return 32;
    case ir::Type::kI128:
      return 128;
    default:
      return 64;
  }
}
inline Int wrap(ir::Type type, UInt value) {
  const int shift = 128 - bits_of(type);
  return static_cast<Int>(value << shift) >> shift;
}
inline UInt zero_extended(ir::Type type, Int value) {
  const int shift = 128 - bits_of(type);
  return static_cast<UInt>(value) << shift >> shift;
}
inline std::string text(Int value) {
  char buffer[64];
  snprintf(buffer, sizeof buffer, "0x%016llx%016llx", static_cast<unsigned long long>(static_cast<UInt>(value) >> 64),
           static_cast<unsigned long long>(value));
  return buffer;
}

inline std::vector<Int> interesting(ir::Type type) {
  const Int max = static_cast<Int>(~UInt{0} >> (129 - bits_of(type)));
  const Int min = -max - 1;
  std::vector<Int> values{0, 1, -1, 2, -2, 3, 7, -7, 10, 63, 100, -100, max, max - 1, max / 2, min, min + 1, min / 2};
  UInt random = 0x9E3779B97F4A7C15u;
  for (int i = 0; i < 6; ++i) {
    random = random * ((UInt{0x2360ED051FC65DA4u} << 64) | 0x4385DF649FCCF645u) + 0xB504F333F9DE6485u;
    values.push_back(wrap(type, random >> 64 | random << 64));
  }
  return values;
}

struct Memory {
  alignas(16) std::byte bytes[256] = {};
  Int get(ir::Type type, size_t offset) const {
    UInt value = 0;
    memcpy(&value, bytes + offset, static_cast<size_t>(bits_of(type)) / 8);
    return wrap(type, value);
  }
  void put(ir::Type type, size_t offset, Int value) {
    memcpy(bytes + offset, &value, static_cast<size_t>(bits_of(type)) / 8);
  }
  double get_f(size_t offset) const {
    double value;
    memcpy(&value, bytes + offset, sizeof value);
    return value;
  }
  void put_f(size_t offset, double value) { memcpy(bytes + offset, &value, sizeof value); }
};

}  // namespace scyper::query::jit
