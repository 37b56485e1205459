#pragma once

#include <cstdint>

#include "bit_packing.h"
#include "frozen_format.h"

// Single entries of an image.
namespace scyper::storage {

// Where each of some vectors was asked last. Who reads single tuples reads neighbours next (the lines of an order), so
// the run is mostly the same one or the next. Only guesses: any number does, of whatever vector it is.
inline uint16_t* run_guess(const FrozenHeader& head) {
  constexpr uint32_t kGuessBits = 7;
  thread_local uint16_t guesses[1u << kGuessBits];
  const uint64_t number = reinterpret_cast<uint64_t>(&head) / sizeof(uint64_t);  // images are aligned to that
  return &guesses[(number * 0x9e3779b97f4a7c15) >> (64 - kGuessBits)];
}

// The entry of a position.
inline uint32_t find_entry(const FrozenHeader& head, uint32_t position) {
  if (head.has_runs == 0) return position;
  const auto* ends = reinterpret_cast<const uint16_t*>(reinterpret_cast<const char*>(&head) + head.run_ends_at);
  uint16_t* const guess = run_guess(head);
  const auto is_run = [&](uint32_t run) {
    return run < head.entries && position < ends[run] && (run == 0 || ends[run - 1] <= position);
  };
  if (is_run(*guess)) return *guess;
  if (is_run(*guess + 1u)) return ++*guess;
  // the first run that ends behind the position, of which there is one; no branch that could be predicted wrongly
  uint32_t begin = 0;
  for (uint32_t left = head.entries; left > 1;) {
    const uint32_t half = left / 2;
    begin += half & -static_cast<uint32_t>(ends[begin + half - 1] <= position);
    left -= half;
  }
  *guess = static_cast<uint16_t>(begin);
  return begin;
}

// Of numbers: the value as it lies in the image; doubles as keys where holds_float_keys().
template <typename T>
T cell_of_entry(const FrozenHeader& head, uint32_t entry) {
  const char* image = reinterpret_cast<const char*>(&head);
  switch (head.scheme) {
    case FrozenScheme::kConstant:
      return to_cell<T>(to_int128(head.reference));
    case FrozenScheme::kPacked:
      return add_code(to_cell<T>(to_int128(head.reference)), unpack_one(image + head.codes_at, entry, head.code_bits));
    case FrozenScheme::kDictionary:
      entry = static_cast<uint32_t>(unpack_one(image + head.codes_at, entry, head.code_bits));
      [[fallthrough]];
    default:
      return load_cell<T>(image + head.values_at + uint64_t{entry} * sizeof(T));
  }
}

// Asks for the memory that reading an entry begins with.
inline void prefetch_entry(const FrozenHeader& head, uint32_t entry) {
  const char* image = reinterpret_cast<const char*>(&head);
  if (has_codes(head)) {
    __builtin_prefetch(image + head.codes_at + uint64_t{entry} * head.code_bits / 8);
  } else if (head.scheme == FrozenScheme::kPlain) {
    __builtin_prefetch(image + head.values_at + entry * value_bytes(head));
  }
}

}  // namespace scyper::storage
