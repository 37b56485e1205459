#pragma once

#include <string_view>

namespace scyper {

// Prints the failed condition with its place and ends the process by abort(). Never returns, never allocates.
[[noreturn]] void check_failed(const char* file, int line, const char* condition) noexcept;

}  // namespace scyper

// CHECK: a programmer error stops the process, in release too. Never on user input, bytes from outside or system calls.
#define CHECK(condition) \
  (static_cast<bool>(condition) ? static_cast<void>(0) : ::scyper::check_failed(__FILE__, __LINE__, #condition))

// DCHECK: only where a profile shows what CHECK costs.
#ifdef NDEBUG
#define DCHECK(condition) static_cast<void>(sizeof(condition))
#else
#define DCHECK(condition) CHECK(condition)
#endif
