#pragma once

#include <atomic>
#include <cstdint>

namespace scyper::primary {

// Tells the processor that this is a waiting loop.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Where one thread sleeps until others have something for it. No wake-up is lost when both sides keep to this order,
// all of it sequentially consistent:
//   sleeper: prepare(); look once more for something to do; if there is nothing sleep(), else cancel()
//   others:  publish what there is to do; wake()
// wake() costs one load while the thread is awake. sleep() may return for no reason.
// Threads: one sleeps, any wake.
class Sleeper {
 public:
  void prepare() { state_.store(kAsleep, std::memory_order_seq_cst); }
  void cancel() { state_.store(kAwake, std::memory_order_relaxed); }
  void sleep();
  void sleep_for(int64_t ns);  // or until it is woken
  void wake() {
    if (state_.load(std::memory_order_seq_cst) == kAsleep) wake_slow();
  }

 private:
  static constexpr uint32_t kAwake = 0;
  static constexpr uint32_t kAsleep = 1;
  void wake_slow();

  std::atomic<uint32_t> state_{kAwake};
};

// One thread waits once for one event; the waiter may destroy it as soon as wait() has returned.
class Completion {
 public:
  void wait();
  bool has_come() const { return state_.load(std::memory_order_acquire) == kSignalled; }
  // False: it has not come so far. May be called again.
  bool wait_for(int64_t ns);
  void signal();

 private:
  bool begin_wait();  // true: it has come
  static constexpr uint32_t kOpen = 0, kAwaited = 1, kSignalled = 2;
  std::atomic<uint32_t> state_{kOpen};
};

}  // namespace scyper::primary
