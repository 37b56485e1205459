#pragma once

#include <cstddef>
#include <cstdint>

namespace scyper {

// While it lives, is_stack_low() goes by another stack than the thread's own.
class StackLimitScope {
 public:
  StackLimitScope(uintptr_t lowest, size_t bytes);
  ~StackLimitScope();
  StackLimitScope(const StackLimitScope&) = delete;
  StackLimitScope& operator=(const StackLimitScope&) = delete;

 private:
  const uintptr_t before_;
};

}  // namespace scyper
