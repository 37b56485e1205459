#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "ir/foreign_call.h"
#include "ir/ir.h"
#include "jit/jit.h"
#include "vm/vm.h"

namespace scyper::query::jit {

class BackgroundCompiler;

// kAdaptive: starts with the interpreter, moves up with the number of runs. The others, for tests and EXPLAIN, stay
// where they are, compiled when made.
enum class TieringMode : uint8_t {
  kAdaptive,
  kInterpreter,
  kQuick,
  kBetter,
  // The n-th run of a function goes on in the better tier where it has passed n swap points (Swapping), from the quick
  // tier or from the interpreter.
  kSwapping,
  kSwappingInterpreter,
};

struct TieringOptions {
  TieringMode mode = TieringMode::kAdaptive;
  // Runs until the next tier is asked for. A quick compile costs some hundred runs of an OLTP statement's
  // interpretation.
  uint32_t quick_after_runs = 8;
  uint32_t better_after_runs = 200;
  // Bigger functions stay in the quick tier: register allocation grows faster than linearly (1 s at about 6000
  // instructions).
  size_t better_instructions_max = 8000;
  size_t queue_length_max = 256;
  // Of the background thread for what may come again. Not the lowest (19): beside busy workers that would leave 1.5 %
  // of a core, and better code would come after half a minute.
  int background_nice = 10;
};

// A function in its best available form. Made by Tiering::add().
// Threads: run() from any; one acquire load picks the form. Every form that ever was current stays alive as long as
// this object, so
//   a run is never overtaken by a free.
// Fork: a child may run(); it asks for no better tier and must not destroy the object.
class TieredCode : public std::enable_shared_from_this<TieredCode> {
 public:
  ~TieredCode();
  TieredCode(const TieredCode&) = delete;
  TieredCode& operator=(const TieredCode&) = delete;

  int32_t run(void* context, const void* arguments, void* results) const noexcept {
    if (runs_left_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      count_run();
    const NativeCode::Entry entry = entry_.load(std::memory_order_acquire);
    return entry != nullptr ? call(entry, context, arguments, results) : vm_->run(context, arguments, results);
  }

  // What to run elsewhere: the best native code, else the function. form_number() changes when there is a better one.
  struct Form {
    std::shared_ptr<const NativeCode> native;
    std::shared_ptr<const ir::Function> function;
  };
  Form form() const;
  uint64_t form_number() const { return form_number_.load(std::memory_order_acquire); }
  // For a run under way: what it goes on in at its next swap point, null until there is better code.
  const std::atomic<NativeCode::Entry>* better_code() const { return &better_code_; }
  // May a run go on in better code that comes while it lasts?
  bool can_swap() const { return can_swap_; }
  // Native code now, which Tiering::add_deferred() has put off until a run comes to where its work is; nothing to do
  // where there is some. Where it failed it is not tried again.
  Status begin_native();
  // Is there no native code, and will be none before begin_native()?
  bool is_deferred() const;
  // What a run begins in that is handed over: null while there is none.
  NativeCode::Entry native_entry() const { return native_entry_.load(std::memory_order_acquire); }
  // Better code may still come (adaptive mode).
  bool may_improve() const { return wants_better_ && better_code_.load(std::memory_order_acquire) == nullptr; }
  // Calls `then` when better code comes, from the thread that made it, without locks, as long as the result is held;
  // never when it is there already or will not come.
  using Listener = std::shared_ptr<const std::function<void()>>;
  Listener when_better(std::function<void()> then);
  // In a forked child: code that its parent has made meanwhile. Runs under way go on in the better tier's; starts:
  // others may begin in it.
  void improve_to(NativeCode::Entry entry, Tier tier, bool starts) {
    if (tier == Tier::kBetter) better_code_.store(entry, std::memory_order_release);
    native_entry_.store(entry, std::memory_order_release);
    if (starts) entry_.store(entry, std::memory_order_release);
  }

  // For tests (the swapping modes): the code that runs go on in, and how many swap points the next one passes before.
  std::shared_ptr<const NativeCode> swap_code() const { return swap_code_; }
  const std::atomic<NativeCode::Entry>* swap_target() const { return &swap_target_; }
  int64_t next_passes() const { return runs_.fetch_add(1, std::memory_order_relaxed); }

  // For a forked child, where only its parent compiles.
  bool compiles() const { return background_ != nullptr; }
  // For a forked child: code of its parent's arena, or for its interpreter. Improved by improve_to() only. swap_target:
  // the entry of swap_code(), or null.
  static std::shared_ptr<TieredCode> of_entry(NativeCode::Entry entry, NativeCode::Entry swap_target);
  static std::shared_ptr<TieredCode> of_function(const ir::Function& function, NativeCode::Entry swap_target);

  // "interpreter", "quick" or "better": what the next run uses.
  std::string_view current_form() const;
  // Memory of bytecode and native code.
  size_t size_bytes() const;

 private:
  friend class Tiering;
  friend class BackgroundCompiler;
  TieredCode() = default;

  SCYPER_FOREIGN_CALL static int32_t call(NativeCode::Entry entry, void* context, const void* arguments,
                                          void* results) noexcept {
    return entry(context, arguments, results);
  }
  void count_run() const noexcept;
  // `tier` is due after so many more runs.
  void expect(Tier tier, uint32_t runs);
  // The first native code of what does not begin in the interpreter.
  Status compile_first(Jit& jit, const ir::Function& function, TieringMode mode, bool starts_better);
  // Compiles and installs `tier` unless it is there already.
  Status improve(Jit& jit, Tier tier);
  void install(std::shared_ptr<const NativeCode> code);
  void fail_better();

  std::atomic<NativeCode::Entry> entry_ = nullptr;
  std::atomic<NativeCode::Entry> better_code_ = nullptr;
  std::atomic<NativeCode::Entry> native_entry_ = nullptr;
  std::atomic<uint64_t> form_number_ = 0;
  // Counted without read-modify-write: a lost count delays the next tier, a doubled request is seen by improve().
  mutable std::atomic<uint32_t> runs_left_ = 0;
  mutable std::atomic<Tier> next_tier_ = Tier::kQuick;
  // Constant after add():
  std::unique_ptr<const vm::VmFunction> vm_;  // nullptr when native code was there first
  bool wants_better_ = false;
  bool can_swap_ = false;
  std::shared_ptr<const ir::Function> deferring_;  // what runs in the interpreter until native code is wanted
  bool starts_better_ = false;                     // of what is deferred
  std::shared_ptr<const NativeCode> swap_code_;
  std::atomic<NativeCode::Entry> swap_target_ = nullptr;
  mutable std::atomic<int64_t> runs_ = 0;  // in the swapping modes
  std::shared_ptr<BackgroundCompiler> background_;
  absl::Mutex beginning_;  // before mutex_
  Status begun_ ABSL_GUARDED_BY(beginning_);
  mutable absl::Mutex mutex_;
  std::shared_ptr<const ir::Function> function_
      ABSL_GUARDED_BY(mutex_);  // until the last compilation; kInterpreter: kept
  std::shared_ptr<const NativeCode> code_[kTierCount] ABSL_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<const std::function<void()>>> when_better_ ABSL_GUARDED_BY(mutex_);
};

// Makes TieredCode and owns the background threads that improve it: one for what runs often, one for what is about to
// run long. Threads: add() from any. Fork: the child has no background thread and never adds.
class Tiering {
 public:
  enum class Start : uint8_t { kInterpreter, kQuick, kBetter };

  Tiering(Jit& jit, const TieringOptions& options);
  // Waits for a compilation in progress; what is queued is dropped.
  ~Tiering();

  // `function` must pass ir::verify(). In adaptive mode `start` is the first form: kQuick for what will run often or
  // long, kBetter where that pays in the first run: a function with swap points starts in the quick tier while the
  // background thread makes the better one.
  StatusOr<std::shared_ptr<TieredCode>> add(ir::Function function, Start start = Start::kInterpreter);
  // For what may be over before it comes to its work: `deferring` (ir::with_hand_over()) runs in the interpreter,
  // native code of `function` is made by begin_native() only. In adaptive mode and for a `start` other than the
  // interpreter.
  std::shared_ptr<TieredCode> add_deferred(ir::Function function, ir::Function deferring, Start start);
  bool may_defer(Start start) const { return options_.mode == TieringMode::kAdaptive && start != Start::kInterpreter; }
  // Native code now, unless there is some or the mode is to interpret: for what runs long the first time.
  Status make_native(TieredCode& code);
  // Better code from the background thread, unless there is some.
  void request_better(TieredCode& code);
  // Blocks until nothing is queued or being compiled: for tests and benchmarks.
  void wait_until_idle();
  uint64_t compiled_count() const;
  uint64_t failed_count() const;  // the code stays in its form, say because the arena is full

 private:
  Jit& jit_;
  const TieringOptions options_;
  std::shared_ptr<BackgroundCompiler> background_;
};

}  // namespace scyper::query::jit
