// Linked in ThreadSanitizer builds only. Debian's Abseil and gRPC are built without ThreadSanitizer, which therefore
// sees no order between two threads that use the same absl::Mutex, here or inside gRPC, and reports races that are
// none. These functions stand before the library's own, for the program and for its libraries (the loader looks into
// the program first); each passes the call on and tells ThreadSanitizer.
// Conditions of Await() and LockWhen() may run inside the library in another thread that holds the mutex, so reads in
// there are not looked at.

#include <dlfcn.h>

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

// What the library has under this name.
template <typename Function>
Function* in_library(const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, symbol));
}

}  // namespace

#define MUTEX "_ZN4absl7debian35Mutex"
#define COND_VAR "_ZN4absl7debian37CondVar"
#define NOTIFICATION "4absl7debian312Notification"

// A call that ends with the mutex held: everything before the last release has happened.
#define ACQUIRES(name, symbol)                                       \
  void name(Mutex*) asm(symbol);                                     \
  void name(Mutex* mutex) {                                          \
    static auto* const library = in_library<decltype(name)>(symbol); \
    {                                                                \
      Ignored ignored;                                               \
      library(mutex);                                                \
    }                                                                \
    __tsan_acquire(mutex);                                           \
  }
#define RELEASES(name, symbol)                                       \
  void name(Mutex*) asm(symbol);                                     \
  void name(Mutex* mutex) {                                          \
    static auto* const library = in_library<decltype(name)>(symbol); \
    __tsan_release(mutex);                                           \
    Ignored ignored;                                                 \
    library(mutex);                                                  \
  }
// Tries: held only when it says so.
#define TRIES(name, symbol)                                          \
  bool name(Mutex*) asm(symbol);                                     \
  bool name(Mutex* mutex) {                                          \
    static auto* const library = in_library<decltype(name)>(symbol); \
    const bool held = library(mutex);                                \
    if (held) __tsan_acquire(mutex);                                 \
    return held;                                                     \
  }
// Waits for a condition: lets go and takes again (Await), or takes (LockWhen).
#define WAITS(name, symbol)                                          \
  void name(Mutex*, const Condition&) asm(symbol);                   \
  void name(Mutex* mutex, const Condition& condition) {              \
    static auto* const library = in_library<decltype(name)>(symbol); \
    __tsan_release(mutex);                                           \
    {                                                                \
      Ignored ignored;                                               \
      library(mutex, condition);                                     \
    }                                                                \
    __tsan_acquire(mutex);                                           \
  }
#define WAITS_UNTIL(name, symbol, Limit)                             \
  bool name(Mutex*, const Condition&, Limit) asm(symbol);            \
  bool name(Mutex* mutex, const Condition& condition, Limit limit) { \
    static auto* const library = in_library<decltype(name)>(symbol); \
    __tsan_release(mutex);                                           \
    bool result;                                                     \
    {                                                                \
      Ignored ignored;                                               \
      result = library(mutex, condition, limit);                     \
    }                                                                \
    __tsan_acquire(mutex);                                           \
    return result;                                                   \
  }
#define SLEEPS(name, symbol, Limit)                                  \
  bool name(CondVar*, Mutex*, Limit) asm(symbol);                    \
  bool name(CondVar* cond_var, Mutex* mutex, Limit limit) {          \
    static auto* const library = in_library<decltype(name)>(symbol); \
    __tsan_release(mutex);                                           \
    bool result;                                                     \
    {                                                                \
      Ignored ignored;                                               \
      result = library(cond_var, mutex, limit);                      \
    }                                                                \
    __tsan_acquire(mutex);                                           \
    return result;                                                   \
  }

ACQUIRES(tsan_lock, MUTEX "4LockEv")
ACQUIRES(tsan_reader_lock, MUTEX "10ReaderLockEv")
RELEASES(tsan_unlock, MUTEX "6UnlockEv")
RELEASES(tsan_reader_unlock, MUTEX "12ReaderUnlockEv")
TRIES(tsan_try_lock, MUTEX "7TryLockEv")
TRIES(tsan_reader_try_lock, MUTEX "13ReaderTryLockEv")
WAITS(tsan_await, MUTEX "5AwaitERKNS0_9ConditionE")
WAITS(tsan_lock_when, MUTEX "8LockWhenERKNS0_9ConditionE")
WAITS(tsan_reader_lock_when, MUTEX "14ReaderLockWhenERKNS0_9ConditionE")
WAITS_UNTIL(tsan_await_with_timeout, MUTEX "16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE", Duration)
WAITS_UNTIL(tsan_await_with_deadline, MUTEX "17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE", Time)
WAITS_UNTIL(tsan_lock_when_with_timeout, MUTEX "19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE", Duration)
WAITS_UNTIL(tsan_lock_when_with_deadline, MUTEX "20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE", Time)
SLEEPS(tsan_wait_with_timeout, COND_VAR "15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE", Duration)
SLEEPS(tsan_wait_with_deadline, COND_VAR "16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE", Time)

void tsan_wait(CondVar*, Mutex*) asm(COND_VAR "4WaitEPNS0_5MutexE");
void tsan_wait(CondVar* cond_var, Mutex* mutex) {
  static auto* const library = in_library<decltype(tsan_wait)>(COND_VAR "4WaitEPNS0_5MutexE");
  __tsan_release(mutex);
  {
    Ignored ignored;
    library(cond_var, mutex);
  }
  __tsan_acquire(mutex);
}

void tsan_notify(Notification*) asm("_ZN" NOTIFICATION "6NotifyEv");
void tsan_notify(Notification* notification) {
  static auto* const library = in_library<decltype(tsan_notify)>("_ZN" NOTIFICATION "6NotifyEv");
  __tsan_release(notification);
  library(notification);
}

void tsan_wait_for(const Notification*) asm("_ZNK" NOTIFICATION "19WaitForNotificationEv");
void tsan_wait_for(const Notification* notification) {
  static auto* const library = in_library<decltype(tsan_wait_for)>("_ZNK" NOTIFICATION "19WaitForNotificationEv");
  library(notification);
  __tsan_acquire(const_cast<Notification*>(notification));
}
