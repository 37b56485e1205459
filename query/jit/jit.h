#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ir/ir.h"
#include "jit/fork_priority_mutex.h"

namespace scyper::query::jit {

class CodeArena;
class InlineLibrary;

// kQuick: no optimisation, FastISel: about 1 ms per 200 instructions, code half as fast as kBetter's.
// kBetter: few passes and a real register allocation, 5 to 10 times as long; for the background.
enum class Tier : uint8_t { kQuick, kBetter };
constexpr int kTierCount = 2;
std::string_view name_of(Tier tier);

struct CompileTimes {
  uint32_t translate_us = 0;
  uint32_t optimize_us = 0;
  uint32_t generate_us = 0;
  uint32_t link_us = 0;
  uint32_t total_us() const { return translate_us + optimize_us + generate_us + link_us; }
};

// One compiled function. Its memory is given back when the last reference goes; it keeps the Jit's engine alive.
// Threads: any thread may call entry(). Fork: a child may call it, but must neither compile nor drop the last reference
// (it leaves by _exit).
class NativeCode {
 public:
  using Entry = int32_t (*)(void* context, const void* arguments, void* results);

  virtual ~NativeCode() = default;
  NativeCode(const NativeCode&) = delete;
  NativeCode& operator=(const NativeCode&) = delete;

  Entry entry = nullptr;
  size_t code_bytes = 0;  // code and constants in the arena
  Tier tier = Tier::kQuick;
  CompileTimes times;

 protected:
  NativeCode() = default;
};

struct JitOptions {
  // Where code goes; must outlive the Jit and all its code. nullptr: an arena of the Jit's own of arena_bytes.
  CodeArena* arena = nullptr;
  size_t arena_bytes = size_t{64} << 20;
  // Functions that kBetter may inline; nullptr: none. Must outlive the Jit.
  const InlineLibrary* inline_library = nullptr;
};

// Turns ir::Functions into native code: LLVM for code generation, ORC and JITLink for linking.
// Threads: compile() from any thread. Code generation is serialised per tier, so a quick compile never waits for a
// background
//   one; linking is serialised by a mutex that gives a fork priority.
// Fork: hold hold_for_fork() around fork(). Only linking (below 1 ms) delays it: a child never touches LLVM, so a code
//   generation of another thread may be cut anywhere.
// Source: the numbers behind tiers, passes and arena are in docs/ (findings of the probe); ORC: LLVM 19.
class Jit {
 public:
  static StatusOr<std::unique_ptr<Jit>> create(const JitOptions& options);
  virtual ~Jit() = default;
  Jit(const Jit&) = delete;
  Jit& operator=(const Jit&) = delete;

  // `function` must pass ir::verify(). 53200 when the arena is full.
  virtual StatusOr<std::shared_ptr<const NativeCode>> compile(const ir::Function& function, Tier tier) = 0;
  // The assembler text of what compile() would make, for EXPLAIN (COMPILED); nothing is linked.
  virtual StatusOr<std::string> assembly(const ir::Function& function, Tier tier) = 0;
  // While the result lives no code is linked or freed. Waiting compiles let it pass first.
  virtual ForkHold hold_for_fork() = 0;
  virtual size_t live_code_bytes() const = 0;

 protected:
  Jit() = default;
};

}  // namespace scyper::query::jit
