#pragma once

#include <cstdint>

namespace scyper {

// Keeps work to a rate: whoever has passed some bytes sleeps until that is no more than the rate allows, a second at
// most, so that it can be asked to stop. Threads: one.
class Pace {
 public:
  explicit Pace(uint64_t bytes_per_second_max);  // 0 = no bound
  void pass(uint64_t bytes);
  uint64_t bytes() const { return bytes_; }

 private:
  const uint64_t bytes_per_second_max_;
  const int64_t start_ns_;
  uint64_t bytes_ = 0;
};

}  // namespace scyper
