#pragma once

#include <cstddef>
#include <cstring>

namespace scyper {

// memcpy for short texts, the usual case of what a transaction moves: inline, two overlapping moves instead of a call
// that looks at the size several times. The ranges do not overlap; either may have no address when size is 0.
inline void copy_bytes(char* to, const char* from, size_t size) noexcept {
  struct alignas(1) Block {
    char bytes[16];
  };
  if (size > 64) [[unlikely]] {
    std::memcpy(to, from, size);
  } else if (size >= 16) {
    Block first, last;
    std::memcpy(&first, from, 16);
    std::memcpy(&last, from + size - 16, 16);
    if (size > 32) {
      Block second, third;
      std::memcpy(&second, from + 16, 16);
      std::memcpy(&third, from + size - 32, 16);
      std::memcpy(to + 16, &second, 16);
      std::memcpy(to + size - 32, &third, 16);
    }
    std::memcpy(to, &first, 16);
    std::memcpy(to + size - 16, &last, 16);
  } else if (size >= 8) {
    unsigned long first, last;
    std::memcpy(&first, from, 8);
    std::memcpy(&last, from + size - 8, 8);
    std::memcpy(to, &first, 8);
    std::memcpy(to + size - 8, &last, 8);
  } else if (size >= 4) {
    unsigned first, last;
    std::memcpy(&first, from, 4);
    std::memcpy(&last, from + size - 4, 4);
    std::memcpy(to, &first, 4);
    std::memcpy(to + size - 4, &last, 4);
  } else if (size > 0) {
    const char middle = from[size / 2];
    const char last = from[size - 1];
    to[0] = from[0];
    to[size / 2] = middle;
    to[size - 1] = last;
  }
}

}  // namespace scyper
