#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace scyper::ch {

// Draws US census last names with their frequencies, in constant time (Vose's alias method).
// The file gives percent with three digits: a name below 0.0005 % reads 0.000 and gets its share of the rest.
class NameSampler {
 public:
  NameSampler();

  std::string_view draw(Random& random) const {
    const uint64_t bits = random.next();
    const size_t slot = static_cast<size_t>((static_cast<unsigned __int128>(bits) * slots_.size()) >> 64);
    const Slot& entry = slots_[slot];
    return names_[static_cast<uint32_t>(bits) < entry.threshold ? slot : entry.alias];
  }

  size_t size() const { return names_.size(); }

 private:
  struct Slot {
    uint32_t threshold = ~uint32_t{0};  // keep the slot's own name below it, of 2^32
    uint32_t alias = 0;
  };
  void build_slots(const std::vector<double>& weights);

  std::vector<std::string_view> names_;  // in the file that the program carries
  std::vector<Slot> slots_;
};

}  // namespace scyper::ch
