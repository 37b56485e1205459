#pragma once

#include <cstdint>
#include <functional>

namespace scyper {

// Keeps work to a rate: whoever has passed some bytes sleeps until that is no more than the rate allows. Threads: one.
class Pace {
 public:
  explicit Pace(uint64_t bytes_per_second_max);  // 0 = no bound
  // is_over: asked a few times a second whether to go on at once; none: nobody stops it.
  void pass(uint64_t bytes, const std::function<bool()>& is_over = {});
  uint64_t bytes() const { return bytes_; }

 private:
  const uint64_t bytes_per_second_max_;
  const int64_t start_ns_;
  uint64_t bytes_ = 0;
};

}  // namespace scyper
