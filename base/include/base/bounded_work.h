#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace scyper {

// Why a piece of work has to end.
enum class WorkEnd : uint8_t { kNone, kTimeout, kCancel };

// Thrown within a BoundedWork that has to end. It derives from bad_alloc because operator new may throw it, too.
struct WorkInterrupted : std::bad_alloc {
  explicit WorkInterrupted(WorkEnd end) noexcept : why(end) {}
  const char* what() const noexcept override {
    return why == WorkEnd::kTimeout ? "canceling statement due to statement timeout"
                                    : "canceling statement due to user request";
  }
  WorkEnd why;
};

// Bounds a piece of work that a statement makes this thread do in C++.
// (1) Memory by operator new, as far as the work has not freed it. Beyond the bound, operator new throws std::bad_alloc
//     for large pieces, and poll_work() throws it. Small pieces never fail: code without a way to fail may
//     allocate them.
// (2) Time: poll_work(), and operator new for large pieces, throw WorkInterrupted once the work has to end.
// Whoever opens one catches both. Works may lie in each other; the innermost counts. Builds with a sanitizer keep the
// sanitizer's operator new: their works take as much as they like.
class BoundedWork {
 public:
  struct Bounds {
    const void* owner = nullptr;
    size_t (*bytes_max)(const void* owner) noexcept = nullptr;  // asked beyond kFreeBytes; null: no bound
    WorkEnd (*must_end)(const void* owner) noexcept = nullptr;
  };
  static constexpr size_t kFreeBytes = size_t{1} << 20;
  static constexpr size_t kSmallBytes = size_t{64} << 10;

  explicit BoundedWork(const Bounds& bounds) noexcept;
  ~BoundedWork();
  BoundedWork(const BoundedWork&) = delete;
  BoundedWork& operator=(const BoundedWork&) = delete;

  WorkEnd must_end() const noexcept { return bounds_.must_end(bounds_.owner); }
  void look();  // throws when the work is beyond a bound

  // For code that must not be left by an exception, such as a noexcept function or a foreign library.
  class Pause {
   public:
    Pause() noexcept;
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    BoundedWork* const work_;
  };

 private:
  friend struct WorkAccount;

  const Bounds bounds_;
  BoundedWork* const outer_;
  ptrdiff_t used_bytes_ = 0;
  const ptrdiff_t look_at_bytes_ = static_cast<ptrdiff_t>(kFreeBytes);
};

// Bounds of a statement; its session says when it has to end.
struct WorkLimits {
  const std::atomic<bool>* cancelled = nullptr;  // null: nobody cancels it
  int64_t deadline_ns = 0;                       // monotonic; 0 = none
  size_t bytes_max = size_t{1} << 30;

  // The limits outlive the work.
  BoundedWork::Bounds bounds() const noexcept;
};

// For loops that may take long: throws if the innermost work of this thread is beyond a bound.
void poll_work();
// Whether that work has to end. false where there is none.
bool work_must_end() noexcept;

}  // namespace scyper
