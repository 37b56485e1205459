#include "base/bounded_work.h"

#include <malloc.h>

#include <cstdlib>
#include <utility>

#include "base/clock.h"

namespace scyper {

namespace {
thread_local BoundedWork* innermost = nullptr;
}  // namespace

// Counts the work's memory for operator new and delete. Nothing here may allocate, because it runs within these two.
struct WorkAccount {
  static void take(size_t bytes) {
    BoundedWork* const work = innermost;
    work->used_bytes_ += static_cast<ptrdiff_t>(bytes);
    if (bytes < BoundedWork::kSmallBytes || work->used_bytes_ <= work->look_at_bytes_) [[likely]]
      return;
    try {
      work->look();
    } catch (...) {
      work->used_bytes_ -= static_cast<ptrdiff_t>(bytes);
      throw;
    }
  }
  static void give(size_t bytes) noexcept { innermost->used_bytes_ -= static_cast<ptrdiff_t>(bytes); }
};

BoundedWork::BoundedWork(const Bounds& bounds) noexcept : bounds_(bounds), outer_(innermost) { innermost = this; }

BoundedWork::~BoundedWork() { innermost = outer_; }

void BoundedWork::look() {
  constexpr size_t kNoBound = size_t{1} << 62;
  if (const WorkEnd end = must_end(); end != WorkEnd::kNone) throw WorkInterrupted(end);
  if (used_bytes_ <= static_cast<ptrdiff_t>(kFreeBytes)) return;
  const size_t bytes_max = bounds_.bytes_max == nullptr ? kNoBound : bounds_.bytes_max(bounds_.owner);
  if (bytes_max < kNoBound && used_bytes_ > static_cast<ptrdiff_t>(bytes_max + kFreeBytes)) throw std::bad_alloc();
}

BoundedWork::Pause::Pause() noexcept : work_(std::exchange(innermost, nullptr)) {}
BoundedWork::Pause::~Pause() { innermost = work_; }

void poll_work() {
  if (innermost != nullptr) innermost->look();
}

bool work_must_end() noexcept { return innermost != nullptr && innermost->must_end() != WorkEnd::kNone; }

BoundedWork::Bounds WorkLimits::bounds() const noexcept {
  return {this, [](const void* owner) noexcept { return static_cast<const WorkLimits*>(owner)->bytes_max; },
          [](const void* owner) noexcept {
            const auto* limits = static_cast<const WorkLimits*>(owner);
            if (limits->cancelled != nullptr && limits->cancelled->load(std::memory_order_relaxed))
              return WorkEnd::kCancel;
            const bool is_over = limits->deadline_ns != 0 && RealClock().monotonic_ns() >= limits->deadline_ns;
            return is_over ? WorkEnd::kTimeout : WorkEnd::kNone;
          }};
}

namespace {

// operator new's loop, with malloc.
[[maybe_unused]] void* take_memory(size_t bytes) {
  if (innermost != nullptr) [[unlikely]]
    WorkAccount::take(bytes);
  while (true) {
    if (void* memory = std::malloc(bytes == 0 ? 1 : bytes); memory != nullptr) [[likely]]
      return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

[[maybe_unused]] void give_memory(void* memory) noexcept {
  if (innermost != nullptr && memory != nullptr) [[unlikely]]
    WorkAccount::give(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

}  // namespace scyper

#ifndef SCYPER_SANITIZED
// The others of the standard library call these.
void* operator new(size_t bytes) { return scyper::take_memory(bytes); }
void operator delete(void* memory) noexcept { scyper::give_memory(memory); }
void operator delete(void* memory, size_t) noexcept { scyper::give_memory(memory); }
#endif
