#include "bind/builtin_table.h"

namespace scyper::query {

using T = TypeId;

// runtime/functions_timetz.cc
#define SCYPER_DECLARE_FUNCTION(name) extern const ir::External k_fn_##name;
SCYPER_DECLARE_FUNCTION(timetz_add)
SCYPER_DECLARE_FUNCTION(timetz_add_reversed)
SCYPER_DECLARE_FUNCTION(timetz_subtract)
SCYPER_DECLARE_FUNCTION(timetz_on_date)
SCYPER_DECLARE_FUNCTION(date_with_timetz)
SCYPER_DECLARE_FUNCTION(timetz_extract)
SCYPER_DECLARE_FUNCTION(timetz_part)
SCYPER_DECLARE_FUNCTION(timetz_at_zone)
SCYPER_DECLARE_FUNCTION(timetz_at_interval)
#undef SCYPER_DECLARE_FUNCTION

void add_timetz_functions(BuiltinTable* t) {
  t->runtime("+", {T::kTimetz, T::kInterval}, T::kTimetz, k_fn_timetz_add);
  t->runtime("+", {T::kInterval, T::kTimetz}, T::kTimetz, k_fn_timetz_add_reversed);
  t->runtime("-", {T::kTimetz, T::kInterval}, T::kTimetz, k_fn_timetz_subtract);
  t->runtime("+", {T::kTimetz, T::kDate}, T::kTimestamptz, k_fn_timetz_on_date);
  t->runtime("+", {T::kDate, T::kTimetz}, T::kTimestamptz, k_fn_date_with_timetz);
  t->runtime("timestamptz", {T::kDate, T::kTimetz}, T::kTimestamptz, k_fn_date_with_timetz);
  t->runtime("extract", {T::kText, T::kTimetz}, T::kNumeric, k_fn_timetz_extract);
  t->runtime("date_part", {T::kText, T::kTimetz}, T::kFloat8, k_fn_timetz_part);
  t->runtime("timezone", {T::kText, T::kTimetz}, T::kTimetz, k_fn_timetz_at_zone);
  t->runtime("timezone", {T::kInterval, T::kTimetz}, T::kTimetz, k_fn_timetz_at_interval);
}

}  // namespace scyper::query
