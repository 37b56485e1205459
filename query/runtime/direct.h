#pragma once

#include <cstdint>

#include "ir/ir.h"
#include "runtime/tuples.h"

// Joins by keys that are few integers, close together: tuples lie in an array at the place that their keys compute,
// instead of in chains behind a hash directory; and sets of keys as bits, which scans ask before their rows meet the
// join. Rows that come in the order of their keys find their partners in that order. Sources: Schuh, Chen, Dittrich: An
// Experimental Comparison of Thirteen Relational Equi-Joins (SIGMOD 2016; array joins); Bloom filters in scans: Zhu et
// al., Looking Ahead Makes Query Plans Robust (VLDB 2017). We differ: several keys make one place (mixed radix).
namespace scyper::query {

constexpr size_t kDirectKeysMax = 4;

// place = (sum of word[i] * factor[i] + offset) >> shift; there is nothing at `size` and beyond. Where the keys lie
// close the sum is exact (shift 0): no two combinations of keys within their ranges share a place. Else it is a hash.
struct KeyPlaces {
  uint64_t size = 0;
  uint64_t shift = 0;
  uint64_t offset = 0;
  uint64_t factor[kDirectKeysMax] = {};
};

// Tuples with different keys. An exact place holds its keys' tuple or none; a hashed one is where to look first: the
// tuple is there or in the run of used places behind it.
struct DirectTable {
  KeyPlaces places;
  char* tuples = nullptr;  // one at each place; zeros: none
  int64_t capacity = 0;    // in tuples: a run may go on behind the last place, which is followed by an empty one
  int64_t step = 0;        // bytes to the next one of a run; 0: exact
};

// Keys of a join's table: a bit for each place. Rows whose bit is not set have no partner.
struct JoinFilter {
  KeyPlaces places;
  uint64_t* bits = nullptr;
};

// In the constant data: where a store's tuples have their keys.
struct DirectLayout {
  int64_t count = 0;           // of keys; 0: filters go by the tuples' hash
  int64_t present_offset = 0;  // of a byte that is 1 in every tuple
  int64_t offset[kDirectKeysMax] = {};
  int64_t bytes[kDirectKeysMax] = {};  // 1, 2, 4 or 8
};

#define SCYPER_DIRECT_FUNCTIONS(X)                                                                                  \
  X(rt_direct_build, kI32, 3, false)  /* context, store, DirectLayout* -> value[0] = DirectTable*, value[1] = store \
                                         of all */                                                                  \
  X(rt_filter_build, kI32, 3, false)  /* context, store (built), DirectLayout* -> value[0] = JoinFilter* */         \
  X(rt_direct_states, kI32, 3, false) /* context, DirectTable*, bytes -> value[0] = zeros, so many for each place */

#define SCYPER_DECLARE_RUNTIME(name, result, words, pure) extern const ir::External k_##name;
SCYPER_DIRECT_FUNCTIONS(SCYPER_DECLARE_RUNTIME)
#undef SCYPER_DECLARE_RUNTIME

}  // namespace scyper::query
