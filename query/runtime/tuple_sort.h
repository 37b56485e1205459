#pragma once

#include "ir/ir.h"
#include "runtime/tuples.h"

namespace scyper::query {

#define SCYPER_SORT_FUNCTIONS(X)                                                                                 \
  X(rt_tuples_sort, kI32, 6, false) /* context, store, TupleSortKey[], count, offset, limit or -1 ->             \
                                       value[0] = array of tuples, value[1] = count */                           \
  X(rt_tuples_more, kI32, 2, false) /* context, store: what follows them, 0 at the end; those before are gone -> \
                                       the same */

#define SCYPER_DECLARE_RUNTIME(name, result, words, pure) extern const ir::External k_##name;
SCYPER_SORT_FUNCTIONS(SCYPER_DECLARE_RUNTIME)
#undef SCYPER_DECLARE_RUNTIME

// Whether the first `count` of the keys say the same of both tuples; NULLs are alike.
bool same_keys(const TupleSortKey* keys, int64_t count, const char* a, const char* b);

}  // namespace scyper::query
