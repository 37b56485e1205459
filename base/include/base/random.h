#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/check.h"

namespace scyper {

// A small fast generator: the same seed gives the same numbers on every platform. Not for secrets.
// Threads: none; one per owner. Fork: parent and child continue with the same numbers.
// Source: Blackman and Vigna, xoshiro256** and splitmix64 (public domain, prng.di.unimi.it); bounded integers by
// Lemire, "Fast Random Integer Generation in an Interval", TOMACS 2019, section 4.
class Random {
 public:
  explicit constexpr Random(uint64_t seed) {
    for (uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15;
      uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      word = z ^ (z >> 31);
    }
  }
  // Continues from a state() taken earlier; at least one word is not zero.
  explicit constexpr Random(const std::array<uint64_t, 4>& state) : state_(state) {
    CHECK((state[0] | state[1] | state[2] | state[3]) != 0);
  }

  // All 64 bits uniform.
  constexpr uint64_t next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Uniform in [0, n), without modulo bias; n > 0.
  constexpr uint64_t below(uint64_t n) {
    DCHECK(n > 0);
    unsigned __int128 product = static_cast<unsigned __int128>(next()) * n;
    if (static_cast<uint64_t>(product) < n) [[unlikely]] {
      const uint64_t threshold = -n % n;
      while (static_cast<uint64_t>(product) < threshold) product = static_cast<unsigned __int128>(next()) * n;
    }
    return static_cast<uint64_t>(product >> 64);
  }

  // Uniform in [lo, hi], both included; lo <= hi.
  constexpr int64_t between(int64_t lo, int64_t hi) {
    DCHECK(lo <= hi);
    const uint64_t span = static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo) + 1;
    return static_cast<int64_t>(static_cast<uint64_t>(lo) + (span == 0 ? next() : below(span)));
  }

  // Uniform in [0, 1): 53 random bits.
  constexpr double real() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // True once in n times on average; n > 0.
  constexpr bool one_in(uint64_t n) { return below(n) == 0; }

  const std::array<uint64_t, 4>& state() const { return state_; }

  // The interface of std::shuffle and the standard distributions (those differ between libraries: not where the same
  // seed must give the same numbers).
  using result_type = uint64_t;
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~uint64_t{0}; }
  constexpr uint64_t operator()() { return next(); }

 private:
  std::array<uint64_t, 4> state_{};
};

}  // namespace scyper
