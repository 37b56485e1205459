// Linked in ThreadSanitizer builds only. Debian's Abseil is built without ThreadSanitizer, which therefore sees no
// order between two threads that use the same absl::Mutex and reports races that are none. The linker sends our calls
// here
// (--wrap, base/CMakeLists.txt); each one is passed on and told to ThreadSanitizer.
// Conditions of Await() and LockWhen() may run inside the library in another thread that holds the mutex, so reads in
// there are not looked at.

#include <cstdint>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
}

namespace {

using absl::Condition;
using absl::CondVar;
using absl::Duration;
using absl::Mutex;
using absl::Notification;
using absl::Time;

// The mutex is held, or was let go, in the body of the call.
class Ignored {
 public:
  Ignored() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
  ~Ignored() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
};

}  // namespace

#define REAL(symbol) asm("__real_" symbol)
#define WRAP(symbol) asm("__wrap_" symbol)
#define MUTEX "_ZN4absl7debian35Mutex"
#define COND_VAR "_ZN4absl7debian37CondVar"

// A call that ends with the mutex held: everything before the last release has happened.
#define ACQUIRES(name, symbol)           \
  void real_##name(Mutex*) REAL(symbol); \
  void wrap_##name(Mutex*) WRAP(symbol); \
  void wrap_##name(Mutex* mutex) {       \
    {                                    \
      Ignored ignored;                   \
      real_##name(mutex);                \
    }                                    \
    __tsan_acquire(mutex);               \
  }
#define RELEASES(name, symbol)           \
  void real_##name(Mutex*) REAL(symbol); \
  void wrap_##name(Mutex*) WRAP(symbol); \
  void wrap_##name(Mutex* mutex) {       \
    __tsan_release(mutex);               \
    Ignored ignored;                     \
    real_##name(mutex);                  \
  }
// Tries: held only when it says so.
#define TRIES(name, symbol)               \
  bool real_##name(Mutex*) REAL(symbol);  \
  bool wrap_##name(Mutex*) WRAP(symbol);  \
  bool wrap_##name(Mutex* mutex) {        \
    const bool held = real_##name(mutex); \
    if (held) __tsan_acquire(mutex);      \
    return held;                          \
  }
// Waits for a condition: lets go and takes again (Await), or takes (LockWhen).
#define WAITS(name, symbol)                                    \
  void real_##name(Mutex*, const Condition&) REAL(symbol);     \
  void wrap_##name(Mutex*, const Condition&) WRAP(symbol);     \
  void wrap_##name(Mutex* mutex, const Condition& condition) { \
    __tsan_release(mutex);                                     \
    {                                                          \
      Ignored ignored;                                         \
      real_##name(mutex, condition);                           \
    }                                                          \
    __tsan_acquire(mutex);                                     \
  }
#define WAITS_UNTIL(name, symbol, Limit)                                    \
  bool real_##name(Mutex*, const Condition&, Limit) REAL(symbol);           \
  bool wrap_##name(Mutex*, const Condition&, Limit) WRAP(symbol);           \
  bool wrap_##name(Mutex* mutex, const Condition& condition, Limit limit) { \
    __tsan_release(mutex);                                                  \
    bool result;                                                            \
    {                                                                       \
      Ignored ignored;                                                      \
      result = real_##name(mutex, condition, limit);                        \
    }                                                                       \
    __tsan_acquire(mutex);                                                  \
    return result;                                                          \
  }
#define SLEEPS(name, symbol, Limit)                                \
  bool real_##name(CondVar*, Mutex*, Limit) REAL(symbol);          \
  bool wrap_##name(CondVar*, Mutex*, Limit) WRAP(symbol);          \
  bool wrap_##name(CondVar* cond_var, Mutex* mutex, Limit limit) { \
    __tsan_release(mutex);                                         \
    bool result;                                                   \
    {                                                              \
      Ignored ignored;                                             \
      result = real_##name(cond_var, mutex, limit);                \
    }                                                              \
    __tsan_acquire(mutex);                                         \
    return result;                                                 \
  }

ACQUIRES(lock, MUTEX "4LockEv")
ACQUIRES(reader_lock, MUTEX "10ReaderLockEv")
RELEASES(unlock, MUTEX "6UnlockEv")
RELEASES(reader_unlock, MUTEX "12ReaderUnlockEv")
TRIES(try_lock, MUTEX "7TryLockEv")
TRIES(reader_try_lock, MUTEX "13ReaderTryLockEv")
WAITS(await, MUTEX "5AwaitERKNS0_9ConditionE")
WAITS(lock_when, MUTEX "8LockWhenERKNS0_9ConditionE")
WAITS(reader_lock_when, MUTEX "14ReaderLockWhenERKNS0_9ConditionE")
WAITS_UNTIL(await_with_timeout, MUTEX "16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE", Duration)
WAITS_UNTIL(await_with_deadline, MUTEX "17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE", Time)
WAITS_UNTIL(lock_when_with_timeout, MUTEX "19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE", Duration)
WAITS_UNTIL(lock_when_with_deadline, MUTEX "20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE", Time)
SLEEPS(wait_with_timeout, COND_VAR "15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE", Duration)
SLEEPS(wait_with_deadline, COND_VAR "16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE", Time)

void real_wait(CondVar*, Mutex*) REAL(COND_VAR "4WaitEPNS0_5MutexE");
void wrap_wait(CondVar*, Mutex*) WRAP(COND_VAR "4WaitEPNS0_5MutexE");
void wrap_wait(CondVar* cond_var, Mutex* mutex) {
  __tsan_release(mutex);
  {
    Ignored ignored;
    real_wait(cond_var, mutex);
  }
  __tsan_acquire(mutex);
}

void real_notify(Notification*) REAL("_ZN4absl7debian312Notification6NotifyEv");
void wrap_notify(Notification*) WRAP("_ZN4absl7debian312Notification6NotifyEv");
void wrap_notify(Notification* notification) {
  __tsan_release(notification);
  real_notify(notification);
}

void real_wait_for(const Notification*) REAL("_ZNK4absl7debian312Notification19WaitForNotificationEv");
void wrap_wait_for(const Notification*) WRAP("_ZNK4absl7debian312Notification19WaitForNotificationEv");
void wrap_wait_for(const Notification* notification) {
  real_wait_for(notification);
  __tsan_acquire(const_cast<Notification*>(notification));
}
