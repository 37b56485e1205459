#include "bind/builtin_table.h"

namespace scyper::query {

using T = TypeId;

void add_time_functions(BuiltinTable* t) {
  t->runtime("+", {T::kInterval, T::kInterval}, T::kInterval, k_fn_interval_add);
  t->runtime("-", {T::kInterval, T::kInterval}, T::kInterval, k_fn_interval_subtract);
  t->runtime("-", {T::kInterval}, T::kInterval, k_fn_interval_negate);
  t->runtime("*", {T::kInterval, T::kFloat8}, T::kInterval, k_fn_interval_multiply);
  t->runtime("*", {T::kFloat8, T::kInterval}, T::kInterval, k_fn_multiply_interval);
  t->runtime("/", {T::kInterval, T::kFloat8}, T::kInterval, k_fn_interval_divide);
  t->runtime("+", {T::kDate, T::kInterval}, T::kTimestamp, k_fn_date_add_interval);
  t->runtime("-", {T::kDate, T::kInterval}, T::kTimestamp, k_fn_date_subtract_interval);
  t->runtime("+", {T::kInterval, T::kDate}, T::kTimestamp, k_fn_interval_add_date);
  t->runtime("+", {T::kTimestamp, T::kInterval}, T::kTimestamp, k_fn_timestamp_add_interval);
  t->runtime("-", {T::kTimestamp, T::kInterval}, T::kTimestamp, k_fn_timestamp_subtract_interval);
  t->runtime("+", {T::kInterval, T::kTimestamp}, T::kTimestamp, k_fn_interval_add_timestamp);
  t->runtime("-", {T::kTimestamp, T::kTimestamp}, T::kInterval, k_fn_timestamp_difference);
  t->runtime(" extract", {T::kInt4, T::kDate}, T::kNumeric, k_fn_extract_date_unit).may_return_null = true;
  t->runtime(" extract", {T::kInt4, T::kTimestamp}, T::kNumeric, k_fn_extract_timestamp_unit).may_return_null = true;
  t->runtime("age", {T::kTimestamp, T::kTimestamp}, T::kInterval, k_fn_age);
  t->runtime("age", {T::kTimestamp}, T::kInterval, k_fn_age_now);
  t->runtime("extract", {T::kText, T::kInterval}, T::kNumeric, k_fn_extract_interval);
  t->runtime("date_part", {T::kText, T::kDate}, T::kFloat8, k_fn_date_part_date).may_return_null = true;
  t->runtime("date_part", {T::kText, T::kTimestamp}, T::kFloat8, k_fn_date_part_timestamp).may_return_null = true;
  t->runtime("date_part", {T::kText, T::kInterval}, T::kFloat8, k_fn_date_part_interval);
  t->runtime("date_trunc", {T::kText, T::kInterval}, T::kInterval, k_fn_trunc_interval);
  t->runtime("date_bin", {T::kInterval, T::kTimestamp, T::kTimestamp}, T::kTimestamp, k_fn_date_bin);
  t->runtime("justify_days", {T::kInterval}, T::kInterval, k_fn_justify_days);
  t->runtime("justify_hours", {T::kInterval}, T::kInterval, k_fn_justify_hours);
  t->runtime("justify_interval", {T::kInterval}, T::kInterval, k_fn_justify_interval);
  t->runtime("make_date", {T::kInt4, T::kInt4, T::kInt4}, T::kDate, k_fn_make_date);
  t->runtime("make_timestamp", {T::kInt4, T::kInt4, T::kInt4, T::kInt4, T::kInt4, T::kFloat8}, T::kTimestamp,
             k_fn_make_timestamp);
  for (size_t given = 0; given <= 7; given++) {
    std::vector<T> parameters(given, T::kInt4);
    if (given == 7) parameters.back() = T::kFloat8;
    t->runtime("make_interval", parameters, T::kInterval, k_fn_make_interval);
  }
  t->runtime("isfinite", {T::kDate}, T::kBool, k_fn_isfinite_date);
  for (T type : {T::kTimestamp, T::kTimestamptz}) t->runtime("isfinite", {type}, T::kBool, k_fn_isfinite_timestamp);
  t->runtime("isfinite", {T::kInterval}, T::kBool, k_fn_isfinite);
  for (T moment : {T::kTimestamp, T::kTimestamptz, T::kTime}) {
    for (T second : {moment, T::kInterval}) {
      for (T fourth : {moment, T::kInterval}) {
        Builtin& overlaps = t->runtime("overlaps", {moment, second, moment, fourth}, T::kBool, k_fn_overlaps);
        overlaps.strict = false;
        overlaps.takes_types = true;
      }
    }
  }
  t->runtime("to_char", {T::kTimestamp, T::kText}, T::kText, k_fn_to_char_timestamp).may_return_null = true;
  t->runtime("to_char", {T::kInterval, T::kText}, T::kText, k_fn_to_char_interval).may_return_null = true;
  t->runtime("to_date", {T::kText, T::kText}, T::kDate, k_fn_to_date);
  t->runtime("to_timestamp", {T::kText, T::kText}, T::kTimestamptz, k_fn_to_timestamp);
}

void add_array_functions(BuiltinTable* t) {
  auto same_as_first = [](const std::vector<SqlType>& args) { return args[0]; };
  auto texts = [](const std::vector<SqlType>&) { return make_array(make_type(T::kText)); };
  auto integers = [](const std::vector<SqlType>&) { return make_array(make_type(T::kInt4)); };
  auto add = [&](std::string_view name, std::vector<T> parameters, T result, const ir::External& function,
                 SqlType (*type)(const std::vector<SqlType>&)) {
    Builtin& builtin = t->runtime(name, std::move(parameters), result, function);
    builtin.strict = false;
    builtin.takes_types = builtin.elements_meet = true;
    if (type != nullptr) builtin.result_type = type;
  };
  add("array_cat", {T::kArray, T::kArray}, T::kArray, k_fn_array_cat, same_as_first);
  add("array_prepend", {T::kUnknown, T::kArray}, T::kArray, k_fn_array_prepend,
      [](const std::vector<SqlType>& args) { return args[1]; });
  add("array_position", {T::kArray, T::kUnknown}, T::kInt4, k_fn_array_position, nullptr);
  add("array_position", {T::kArray, T::kUnknown, T::kInt4}, T::kInt4, k_fn_array_position, nullptr);
  add("array_positions", {T::kArray, T::kUnknown}, T::kArray, k_fn_array_positions, integers);
  auto array_of_first = [](const std::vector<SqlType>& args) { return make_array(args[0]); };
  add("enum_range", {T::kEnum}, T::kArray, k_fn_enum_range, array_of_first);
  add("enum_range", {T::kEnum, T::kEnum}, T::kArray, k_fn_enum_range, array_of_first);
  add("enum_first", {T::kEnum}, T::kEnum, k_fn_enum_first, same_as_first);
  add("enum_last", {T::kEnum}, T::kEnum, k_fn_enum_last, same_as_first);
  for (size_t arrays : {1, 2}) {
    std::vector<T> parameters(1 + arrays, T::kArray);
    parameters[0] = T::kUnknown;
    Builtin& fill = t->runtime("array_fill", std::move(parameters), T::kArray, k_fn_array_fill);
    fill.strict = false;
    fill.takes_types = fill.takes_dimensions = true;
    fill.result_type = array_of_first;
  }
  add("array_remove", {T::kArray, T::kUnknown}, T::kArray, k_fn_array_remove, same_as_first);
  add(" distinct elements", {T::kArray}, T::kArray, k_fn_array_distinct, same_as_first);
  add("array_replace", {T::kArray, T::kUnknown, T::kUnknown}, T::kArray, k_fn_array_replace, same_as_first);
  add("array_to_string", {T::kArray, T::kText}, T::kText, k_fn_array_to_string, nullptr);
  add("array_to_string", {T::kArray, T::kText, T::kText}, T::kText, k_fn_array_to_string, nullptr);
  add("string_to_array", {T::kText, T::kText}, T::kArray, k_fn_string_to_array, texts);
  add("string_to_array", {T::kText, T::kText, T::kText}, T::kArray, k_fn_string_to_array, texts);
  t->runtime("array_ndims", {T::kArray}, T::kInt4, k_fn_array_ndims).may_return_null = true;
  t->runtime("array_dims", {T::kArray}, T::kText, k_fn_array_dims).may_return_null = true;
  const std::pair<std::string_view, const ir::External&> comparisons[] = {
      {"@>", k_fn_array_contains}, {"<@", k_fn_array_contained}, {"&&", k_fn_array_overlaps}};
  for (const auto& [name, function] : comparisons)
    t->runtime(name, {T::kArray, T::kArray}, T::kBool, function).takes_types = true;
  auto of_first = [](const std::vector<SqlType>& args) {
    return make_array(args[0].id == T::kNumeric ? make_numeric(0, 0) : args[0]);
  };
  for (T type : {T::kInt4, T::kInt8, T::kNumeric, T::kTimestamp, T::kTimestamptz}) {
    Builtin& series =
        t->runtime(" series", {type, type, is_moment(type) ? T::kInterval : type}, T::kArray, k_fn_series);
    series.takes_types = true;
    series.result_type = of_first;
  }
  Builtin& trim = t->runtime("trim_array", {T::kArray, T::kInt4}, T::kArray, k_fn_trim_array);
  trim.result_type = same_as_first;
  t->runtime(" slice", {T::kArray, T::kInt4, T::kInt4}, T::kArray, k_fn_array_slice).result_type = same_as_first;
  // array, index, element; array, bounds, which of them are given, array: SET a[1] = ...
  Builtin& element = t->runtime(" set element", {T::kArray, T::kInt4, T::kUnknown}, T::kArray, k_fn_array_set_element);
  Builtin& slice =
      t->runtime(" set slice", {T::kArray, T::kInt4, T::kInt4, T::kInt4, T::kArray}, T::kArray, k_fn_array_set_slice);
  for (Builtin* part : {&element, &slice}) {
    part->result_type = same_as_first;
    part->strict = false;
    part->takes_types = true;
  }
}

}  // namespace scyper::query
