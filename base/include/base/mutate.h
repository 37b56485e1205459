#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"

namespace scyper {

// Changes the input of a reader in `changes` places, for tests of what it refuses: bytes set, bits flipped, bytes put
// in, the rest cut off. The first byte stays.
inline void mutate(std::string* input, uint64_t changes, Random* random) {
  for (; changes > 0 && input->size() > 1; --changes) {
    const size_t at = 1 + random->below(input->size() - 1);
    switch (random->below(4)) {
      case 0:
        (*input)[at] = static_cast<char>(random->next());
        break;
      case 1:
        input->resize(at);
        break;
      case 2:
        input->insert(at, 1 + random->below(9), static_cast<char>(random->below(3) * 127));
        break;
      default:
        (*input)[at] = static_cast<char>((*input)[at] ^ (1 << random->below(8)));
    }
  }
}

}  // namespace scyper
