#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace scyper::replication {

// Waits for a condition, not for a time; false: it has not come true in a minute.
inline bool comes_true(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace scyper::replication
