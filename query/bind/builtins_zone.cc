#include "bind/builtin_table.h"

namespace scyper::query {

using T = TypeId;

// runtime/functions_clock.cc
extern const ir::External k_fn_clock_timestamp;
extern const ir::External k_fn_timeofday;
extern const ir::External k_fn_pg_sleep;
extern const ir::External k_fn_pg_sleep_for;

namespace {

void add_timestamptz(BuiltinTable* t) {
  t->runtime("+", {T::kTimestamptz, T::kInterval}, T::kTimestamptz, k_fn_timestamptz_add_interval);
  t->runtime("-", {T::kTimestamptz, T::kInterval}, T::kTimestamptz, k_fn_timestamptz_subtract_interval);
  t->runtime("+", {T::kInterval, T::kTimestamptz}, T::kTimestamptz, k_fn_interval_add_timestamptz);
  t->runtime("-", {T::kTimestamptz, T::kTimestamptz}, T::kInterval, k_fn_timestamp_difference);
  t->runtime(" extract", {T::kInt4, T::kTimestamptz}, T::kNumeric, k_fn_extract_timestamptz_unit).may_return_null =
      true;
  t->runtime("extract", {T::kText, T::kTimestamptz}, T::kNumeric, k_fn_extract_timestamptz).may_return_null = true;
  t->runtime("date_part", {T::kText, T::kTimestamptz}, T::kFloat8, k_fn_date_part_timestamptz).may_return_null = true;
  t->runtime("date_trunc", {T::kText, T::kTimestamptz}, T::kTimestamptz, k_fn_date_trunc_zone);
  t->runtime("date_trunc", {T::kText, T::kTimestamptz, T::kText}, T::kTimestamptz, k_fn_date_trunc_zone);
  t->runtime("date_bin", {T::kInterval, T::kTimestamptz, T::kTimestamptz}, T::kTimestamptz, k_fn_date_bin);
  t->runtime("age", {T::kTimestamptz, T::kTimestamptz}, T::kInterval, k_fn_age_timestamptz);
  t->runtime("age", {T::kTimestamptz}, T::kInterval, k_fn_age_timestamptz_now);
  t->runtime("to_char", {T::kTimestamptz, T::kText}, T::kText, k_fn_to_char_timestamptz).may_return_null = true;
  t->runtime("to_timestamp", {T::kFloat8}, T::kTimestamptz, k_fn_to_timestamp_unix);
  std::vector<T> fields{T::kInt4, T::kInt4, T::kInt4, T::kInt4, T::kInt4, T::kFloat8};
  t->runtime("make_timestamptz", fields, T::kTimestamptz, k_fn_make_timestamptz);
  fields.push_back(T::kText);
  t->runtime("make_timestamptz", fields, T::kTimestamptz, k_fn_make_timestamptz_zone);
  // AT TIME ZONE
  t->runtime("timezone", {T::kText, T::kTimestamptz}, T::kTimestamp, k_fn_zone_of_timestamptz);
  t->runtime("timezone", {T::kText, T::kTimestamp}, T::kTimestamptz, k_fn_zone_of_timestamp);
  t->runtime("timezone", {T::kInterval, T::kTimestamptz}, T::kTimestamp, k_fn_interval_zone_of_timestamptz);
  t->runtime("timezone", {T::kInterval, T::kTimestamp}, T::kTimestamptz, k_fn_interval_zone_of_timestamp);
}

}  // namespace

void add_zone_functions(BuiltinTable* t) {
  add_timestamptz(t);
  t->runtime("clock_timestamp", {}, T::kTimestamptz, k_fn_clock_timestamp).is_volatile = true;
  t->runtime("timeofday", {}, T::kText, k_fn_timeofday).is_volatile = true;
  t->runtime("pg_sleep", {T::kFloat8}, T::kVoid, k_fn_pg_sleep).is_volatile = true;
  t->runtime("pg_sleep_for", {T::kInterval}, T::kVoid, k_fn_pg_sleep_for).is_volatile = true;
  t->runtime("+", {T::kTime, T::kInterval}, T::kTime, k_fn_time_add_interval);
  t->runtime("+", {T::kInterval, T::kTime}, T::kTime, k_fn_interval_add_time);
  t->runtime("-", {T::kTime, T::kInterval}, T::kTime, k_fn_time_subtract_interval);
  t->runtime("-", {T::kTime, T::kTime}, T::kInterval, k_fn_time_difference);
  t->runtime("+", {T::kDate, T::kTime}, T::kTimestamp, k_fn_date_add_time);
  t->runtime("+", {T::kTime, T::kDate}, T::kTimestamp, k_fn_time_add_date);
  t->runtime("extract", {T::kText, T::kTime}, T::kNumeric, k_fn_extract_time);
  t->runtime("date_part", {T::kText, T::kTime}, T::kFloat8, k_fn_date_part_time);
  t->runtime("timestamptz", {T::kDate, T::kTime}, T::kTimestamptz, k_fn_zoned_date_add_time);
  t->runtime("make_time", {T::kInt4, T::kInt4, T::kFloat8}, T::kTime, k_fn_make_time);
}

}  // namespace scyper::query
