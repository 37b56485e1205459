#pragma once

#include <cstdlib>

namespace scyper {

// How much of a long test runs: the whole, but under a sanitizer (SCYPER_SANITIZED) without SCYPER_TEST_FULL only the
// fixed slice of it. For tests that do the same over and over: what the sanitizer looks for shows in a part of the
// rounds. Any thread.
template <typename T>
T test_slice(T whole, [[maybe_unused]] T sanitized) {
#ifdef SCYPER_SANITIZED
  if (std::getenv("SCYPER_TEST_FULL") == nullptr) return sanitized;
#endif
  return whole;
}

}  // namespace scyper
