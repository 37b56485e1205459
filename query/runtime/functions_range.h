#pragma once

#include "ir/ir.h"

// Builtin functions on ranges and multiranges.
namespace scyper::query {

// clang-format off: as in runtime/functions.h
#define SCYPER_RANGE_FUNCTIONS(X) \
  X(range_make_int4) X(range_make_int8) X(range_make_date) X(range_make_timestamp) X(range_make_timestamptz) \
  X(range_make_numeric) X(range_lower) X(range_upper) X(range_isempty) X(range_lower_inc) X(range_upper_inc) \
  X(range_lower_inf) X(range_upper_inf) X(range_contains) X(range_contained) X(range_has) X(range_is_in) \
  X(range_overlaps) X(range_before) X(range_after) X(range_overleft) X(range_overright) X(range_adjacent) X(range_union) \
  X(range_intersect) X(range_minus) X(range_merge) X(range_same) X(multirange_make) X(multirange_make_of_array) \
  X(multirange_union) X(multirange_intersect) X(multirange_minus) X(multirange_unnest) X(range_agg) \
  X(range_intersect_agg)
// clang-format on

#define SCYPER_DECLARE_FUNCTION(name) extern const ir::External k_fn_##name;
SCYPER_RANGE_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
#undef SCYPER_DECLARE_FUNCTION
// Of values with a trailer: bytes, size, bytes, size -> <0, 0, >0.
extern const ir::External k_rt_compare_ranges;

}  // namespace scyper::query
