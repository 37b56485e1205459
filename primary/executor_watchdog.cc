#include "executor.h"

// A transaction ends before it runs, or while it runs, by its time, its client or the fork gate.
namespace scyper::primary {

using query::Interrupt;

void Executor::refuse(Transaction* transaction, Status status, Refusal why) noexcept {
  transaction->status = std::move(status);
  transaction->result.clear_rows();
  transaction->result.command_tag.clear();
  counters_.refused[static_cast<size_t>(why)].add();
}

// Before it runs. Time and cancellation while it runs are check_time()'s.
bool Executor::refuse_if_over(Transaction* transaction) noexcept {
  if (transaction->deadline_ns != 0 && environment_->clock.monotonic_ns() >= transaction->deadline_ns) {
    refuse(transaction, sql_error("57014", "canceling statement due to statement timeout"), Refusal::kTimeout);
    return true;
  }
  if (transaction->cancelled == nullptr || !transaction->cancelled->load(std::memory_order_relaxed)) return false;
  refuse(transaction, sql_error("57014", "canceling statement due to user request"), Refusal::kCancelled);
  return true;
}

void Executor::watch(const std::atomic<bool>* cancelled) noexcept {
  MutexLock lock(&cancelled_mutex_);
  cancelled_ = cancelled;
}

bool Executor::is_cancelled() {
  MutexLock lock(&cancelled_mutex_);
  return cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed);
}

void Executor::check_time(int64_t now_ns) {
  uint64_t run = run_number_.load(std::memory_order_acquire);
  if (run % 2 == 0) return;
  if (run != seen_run_) {
    seen_run_ = run;
    seen_since_ns_ = now_ns;
  }
  int64_t deadline_ns = deadline_ns_.load(std::memory_order_acquire);
  const uint64_t own_us_max = run_us_max_.load(std::memory_order_acquire);
  const bool was_cancelled = is_cancelled();
  if (run_number_.load(std::memory_order_acquire) != run) return;  // deadline and cancellation may be another's
  auto limit_ns =
      static_cast<int64_t>((own_us_max != 0 ? own_us_max : environment_->options->transaction_time_us_max) * 1000);
  const bool is_late = deadline_ns != 0 && now_ns >= deadline_ns;
  bool is_over = (limit_ns != 0 && now_ns - seen_since_ns_ >= limit_ns) || is_late;
  if ((!is_over && !was_cancelled) || interrupted_run_.load(std::memory_order_relaxed) == run) return;
  // The run may end now and the next one begin: it finds that the flag is not for it, and runs again.
  if (is_over && !is_late && !was_cancelled && own_us_max == 0) too_long_run_.store(run, std::memory_order_relaxed);
  interrupted_run_.store(run, std::memory_order_release);
  raise_interrupt(was_cancelled ? Interrupt::kCancel : Interrupt::kTimeout);
}

// The error of a run that the watchdog has ended names the setting that bounds it.
void Executor::name_limit(uint64_t run) noexcept {
  if (too_long_run_.load(std::memory_order_relaxed) != run || context_.error.sqlstate != "57014") return;
  context_.error.message = "canceling statement: it has run for longer than transaction_time_max";
  context_.error.hint =
      "Nobody else can change what a transaction works on. Raise transaction_time_max, or do the work in smaller "
      "steps.";
}

// A function of its own for tools/tsan.supp: generated code reads the flag by plain loads, which ThreadSanitizer
// reports.
[[gnu::noinline]] void Executor::raise_interrupt(Interrupt why) {
  // A reason that came too late for an earlier run may still stand there: it is replaced.
  uint32_t old = context_.interrupt.load(std::memory_order_relaxed);
  while (!context_.interrupt.compare_exchange_weak(old, (old & query::kSafepointBit) | static_cast<uint32_t>(why),
                                                   std::memory_order_release, std::memory_order_relaxed)) {
  }
}

[[gnu::noinline]] void Executor::raise_safepoint() {
  context_.interrupt.fetch_or(query::kSafepointBit, std::memory_order_release);
}

}  // namespace scyper::primary
