#pragma once

#include <cstdint>

#include "primary/engine.h"

// Engines that compact all the time, and ones that never do.
namespace scyper::primary {

inline EngineOptions frozen(EngineOptions options, uint64_t window_us = 1000) {
  options.compaction.mode = replay::CompactionMode::kForced;
  options.compaction.frozen_bytes_max = size_t{1} << 30;
  options.compaction.window_us = window_us;
  return options;
}

// All data of frozen rows goes to files of a directory of its own, which one engine at a time may use, and is read
// through a cache of 16 pages. As it was where the system has no io_uring.
EngineOptions tiered(EngineOptions options);

inline EngineOptions hot(EngineOptions options) {
  options.compaction.mode = replay::CompactionMode::kOff;
  return options;
}

inline uint64_t frozen_chunks(Engine* engine) { return engine->compaction()->counts().frozen; }

}  // namespace scyper::primary
