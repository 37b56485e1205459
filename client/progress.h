#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace scyper::client {

// A progress bar on standard error: drawn on terminals only, at most ten times a second. Threads: any.
class Progress {
 public:
  // total 0: unknown. is_shown false: never draws.
  Progress(std::string label, uint64_t total, bool is_shown);
  ~Progress() { finish(); }
  void add(uint64_t done);
  // Draws the end; further calls do nothing.
  void finish();

 private:
  void draw(bool is_final) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string label_;
  const uint64_t total_;
  const bool is_shown_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  absl::Mutex mutex_;
  uint64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point drawn_ ABSL_GUARDED_BY(mutex_);
};

// 1234567 as "1,234,567".
std::string grouped(uint64_t number);

}  // namespace scyper::client
