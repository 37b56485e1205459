#include "sleeper.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace scyper::primary {

namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

void futex_wait(std::atomic<uint32_t>* word, uint32_t expected) {
  // returns at once when the word differs; errors (EAGAIN, EINTR) are spurious wake-ups
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
void futex_wake(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

// A round trip to a running worker takes a few microseconds; a futex costs several times that. Short, because on few
// cores the one who spins keeps from running the one it waits for.
constexpr int kCompletionSpins = 100;

}  // namespace

void Sleeper::sleep() {
  futex_wait(&state_, kAsleep);
  state_.store(kAwake, std::memory_order_relaxed);
}

void Sleeper::sleep_for(int64_t ns) {
  timespec timeout{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, kAsleep, &timeout, nullptr, 0);
  state_.store(kAwake, std::memory_order_relaxed);
}

void Sleeper::wake_slow() {
  uint32_t expected = kAsleep;
  if (state_.compare_exchange_strong(expected, kAwake)) futex_wake(&state_);
}

bool Completion::begin_wait() {
  for (int i = 0; i < kCompletionSpins; ++i) {
    if (has_come()) return true;
    spin_pause();
  }
  uint32_t expected = kOpen;
  state_.compare_exchange_strong(expected, kAwaited, std::memory_order_acquire);
  return expected == kSignalled;
}

void Completion::wait() {
  if (begin_wait()) return;
  while (!has_come()) futex_wait(&state_, kAwaited);
}

bool Completion::wait_for(int64_t ns) {
  if (begin_wait()) return true;
  timespec timeout{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, kAwaited, &timeout, nullptr, 0);
  return has_come();
}

void Completion::signal() {
  std::atomic<uint32_t>* word = &state_;
  if (word->exchange(kSignalled, std::memory_order_acq_rel) != kAwaited) return;
  futex_wake(word);  // the address only: the waiter may be gone
}

}  // namespace scyper::primary
