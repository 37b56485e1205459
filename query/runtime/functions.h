#pragma once

#include "ir/ir.h"

// Builtin functions that take and give Datums: int32 f(ExecContext*, const Datum* args, int64 count, Datum* result,
// const SqlType* types). Strict ones see no NULL. Results may point into arguments.
namespace scyper::query {

// clang-format off: it does not come to rest on this list
#define SCYPER_BUILTIN_FUNCTIONS(X) \
  X(date_add) X(date_subtract) X(date_difference) X(concat_text) X(like) X(ilike) X(length) X(char_length) \
  X(octet_length) X(substring) X(left) X(right) X(position) X(upper) X(lower) X(trim) X(trim_left) \
  X(trim_right) X(pad_left) X(pad_right) X(replace) X(repeat) X(reverse) X(ascii) X(chr) X(split_part) \
  X(starts_with) X(concat) X(concat_ws) X(abs_integer) X(abs_numeric) X(abs_float8) X(round) X(truncate) \
  X(round_float8) X(trunc_float8) X(ceil) X(ceil_float8) X(floor) X(floor_float8) X(sign) X(sqrt) \
  X(sqrt_float8) X(div) X(extract_date) X(extract_timestamp) X(date_trunc) X(array_length) X(array_upper) \
  X(array_lower) X(cardinality) X(array_append) X(version)
// clang-format on

#define SCYPER_DECLARE_FUNCTION(name) extern const ir::External k_fn_##name;
SCYPER_BUILTIN_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
#undef SCYPER_DECLARE_FUNCTION

}  // namespace scyper::query
