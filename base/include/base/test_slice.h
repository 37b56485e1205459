#pragma once

#include <cstddef>
#include <cstdlib>
#include <utility>
#include <vector>

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

// The same for a list of tests: under a sanitizer every n-th of them.
template <typename T>
std::vector<T> every_in_slice(std::vector<T> all, size_t n) {
  std::vector<T> kept;
  for (size_t i = 0; i < all.size(); i += test_slice<size_t>(1, n)) kept.push_back(std::move(all[i]));
  return kept;
}

}  // namespace scyper
