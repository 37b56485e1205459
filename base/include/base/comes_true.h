#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace scyper {

// For tests. Waits for a condition, not for a time; false: it has not come true within the limit, which is there for
// what never will.
inline bool comes_true(const std::function<bool()>& condition, std::chrono::seconds limit = std::chrono::seconds(300)) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace scyper
