#include "base/pace.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace scyper {

namespace {

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

}  // namespace

Pace::Pace(uint64_t bytes_per_second_max) : bytes_per_second_max_(bytes_per_second_max), start_ns_(now_ns()) {}

void Pace::pass(uint64_t bytes, const std::function<bool()>& is_over) {
  constexpr double kLookUs = 2e5;
  bytes_ += bytes;
  if (bytes_per_second_max_ == 0) return;
  const double wanted_ns = static_cast<double>(bytes_) / static_cast<double>(bytes_per_second_max_) * 1e9;
  while (!is_over || !is_over()) {
    const double left_us = (wanted_ns - static_cast<double>(now_ns() - start_ns_)) / 1e3;
    if (left_us <= 100) return;
    ::usleep(static_cast<useconds_t>(std::min(left_us, kLookUs)));
  }
}

}  // namespace scyper
