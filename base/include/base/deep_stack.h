#pragma once

#include <cstddef>
#include <functional>

#include "base/invariant.h"
#include "base/status.h"

namespace scyper {

// The stack that any thread may take, whatever the system gives it: what is_stack_low() goes by (base/invariant.h).
constexpr size_t kStackBytes = size_t{8} << 20;
// Reserved address space, of which the kernel gives what is touched. Enough for what another thread did on kStackBytes
// with frames a hundred times smaller: native code where it is interpreted here, or the other way round.
constexpr size_t kDeepStackBytes = size_t{1} << 30;

// Runs the work on a stack of its own of that size, on this thread; thread-locals stay as they are. A smaller stack
// serves if no such stack can be had, at worst the thread's own. An exception of the work leaves here. May be
// nested. Threads: any. Costs two mappings and some system calls: for work of many microseconds.
void on_deep_stack(const std::function<void()>& work, size_t bytes = kDeepStackBytes);

// For a recursion as deep as the catalog makes it: runs the work here, or, where the stack is low, on another one. A
// thread has kDeepStacksMax in each other at most: then is_stack_low() stays true, and check_stack() ends the
// recursion.
constexpr unsigned kDeepStacksMax = 4;
void with_more_stack(const std::function<void()>& work);

// The same, as a StatusOr: 54001 where there is no more.
template <typename T>
StatusOr<T> with_more_stack(const std::function<StatusOr<T>()>& work) {
  StatusOr<T> made = sql_error("54001", "stack depth limit exceeded");
  with_more_stack([&] {
    if (!is_stack_low()) made = work();
  });
  return made;
}

}  // namespace scyper
