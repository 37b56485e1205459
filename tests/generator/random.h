#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace scyper::generator {

// The same choices from the same seed, with one compiler (the order of arguments is its own). Threads: one.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  uint64_t next() { return engine_(); }
  int pick(int n) { return static_cast<int>(engine_() % static_cast<uint64_t>(n)); }  // 0 <= result < n
  bool chance(int percent) { return pick(100) < percent; }
  std::string one_of(std::initializer_list<const char*> items) {
    return *(items.begin() + pick(static_cast<int>(items.size())));
  }
  template <typename T>
  const T& element(const std::vector<T>& items) {
    return items[static_cast<size_t>(pick(static_cast<int>(items.size())))];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace scyper::generator
