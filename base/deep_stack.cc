#include "base/deep_stack.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <exception>

#include "base/check.h"
#include "base/invariant.h"
#include "stack_limit.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SCYPER_ASAN_FIBERS
#include <sanitizer/common_interface_defs.h>
#endif
#if __has_feature(thread_sanitizer)
#define SCYPER_TSAN_FIBERS
#include <sanitizer/tsan_interface.h>
#endif
#endif

namespace scyper {

namespace {

constexpr size_t kStackBytesMin = size_t{16} << 20;  // less is not worth the change

thread_local unsigned stacks_of_thread = 0;  // that are in use in each other

// Address space with a page at its lower end that nothing may touch: a runaway recursion ends there.
class Mapping {
 public:
  explicit Mapping(size_t bytes) {
    const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    for (size_ = bytes; size_ >= kStackBytesMin; size_ /= 2) {
      start_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK,
                      -1, 0);
      if (start_ != MAP_FAILED) break;
    }
    if (start_ == MAP_FAILED) return;
    static_cast<void>(::mprotect(start_, page, PROT_NONE));
    static_cast<void>(::madvise(start_, size_, MADV_NOHUGEPAGE));  // a shallow stack takes a page or two
  }
  ~Mapping() {
    if (start_ != MAP_FAILED) ::munmap(start_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  bool is_there() const { return start_ != MAP_FAILED; }
  void* start() const { return start_; }
  size_t size() const { return size_; }

 private:
  void* start_ = MAP_FAILED;
  size_t size_ = 0;
};

// A call from this stack to another one and back.
struct Crossing {
  const std::function<void()>* work = nullptr;
  std::exception_ptr thrown;
  ucontext_t here;
  ucontext_t there;
#ifdef SCYPER_ASAN_FIBERS
  void* fake_stack = nullptr;
  const void* old_bottom = nullptr;
  size_t old_bytes = 0;
#endif
#ifdef SCYPER_TSAN_FIBERS
  void* old_fiber = nullptr;
  void* fiber = nullptr;
#endif
};

// makecontext() passes ints alone.
void enter(unsigned low, unsigned high) {
  auto* crossing = reinterpret_cast<Crossing*>(uintptr_t{high} << 32 | low);
#ifdef SCYPER_ASAN_FIBERS
  __sanitizer_finish_switch_fiber(nullptr, &crossing->old_bottom, &crossing->old_bytes);
#endif
  try {
    (*crossing->work)();
  } catch (...) {
    crossing->thrown = std::current_exception();
  }
#ifdef SCYPER_ASAN_FIBERS
  __sanitizer_start_switch_fiber(nullptr, crossing->old_bottom, crossing->old_bytes);  // this stack is over
#endif
#ifdef SCYPER_TSAN_FIBERS
  __tsan_switch_to_fiber(crossing->old_fiber, 0);
#endif
  CHECK(::setcontext(&crossing->here) == 0);
}

void cross(Crossing* crossing, const Mapping& stack) {
  CHECK(::getcontext(&crossing->there) == 0);
  crossing->there.uc_stack.ss_sp = stack.start();
  crossing->there.uc_stack.ss_size = stack.size();
  crossing->there.uc_link = nullptr;
  const auto address = reinterpret_cast<uintptr_t>(crossing);
  ::makecontext(&crossing->there, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(address),
                static_cast<unsigned>(address >> 32));
#ifdef SCYPER_ASAN_FIBERS
  __sanitizer_start_switch_fiber(&crossing->fake_stack, stack.start(), stack.size());
#endif
#ifdef SCYPER_TSAN_FIBERS
  crossing->old_fiber = __tsan_get_current_fiber();
  crossing->fiber = __tsan_create_fiber(0);
  __tsan_switch_to_fiber(crossing->fiber, 0);
#endif
  CHECK(::swapcontext(&crossing->here, &crossing->there) == 0);
#ifdef SCYPER_ASAN_FIBERS
  __sanitizer_finish_switch_fiber(crossing->fake_stack, nullptr, nullptr);
#endif
#ifdef SCYPER_TSAN_FIBERS
  __tsan_destroy_fiber(crossing->fiber);
#endif
}

}  // namespace

void on_deep_stack(const std::function<void()>& work, size_t bytes) {
  const Mapping stack(bytes);
  if (!stack.is_there()) return work();
  Crossing crossing;
  crossing.work = &work;
  {
    const StackLimitScope limit(reinterpret_cast<uintptr_t>(stack.start()), stack.size());
    ++stacks_of_thread;
    cross(&crossing, stack);
    --stacks_of_thread;
  }
  if (crossing.thrown) std::rethrow_exception(crossing.thrown);
}

void with_more_stack(const std::function<void()>& work) {
  is_stack_low() && stacks_of_thread < kDeepStacksMax ? on_deep_stack(work) : work();
}

}  // namespace scyper
