#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

#include "primary/engine.h"

// Engines that compact all the time, and ones that never do.
namespace scyper::primary {

inline EngineOptions frozen(EngineOptions options, uint64_t window_us = 1000) {
  options.compaction.mode = replay::CompactionMode::kForced;
  options.compaction.frozen_bytes_max = size_t{1} << 30;
  options.compaction.window_us = window_us;
  return options;
}

inline EngineOptions hot(EngineOptions options) {
  options.compaction.mode = replay::CompactionMode::kOff;
  return options;
}

// Within a minute.
inline bool comes_true(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

inline uint64_t frozen_chunks(Engine* engine) { return engine->compaction()->counts().frozen; }

}  // namespace scyper::primary
