#include "bind/builtin_table.h"

namespace scyper::query {

using T = TypeId;

// runtime/functions_range.cc
#define SCYPER_DECLARE_FUNCTION(name) extern const ir::External k_fn_##name;
SCYPER_DECLARE_FUNCTION(range_make_int4)
SCYPER_DECLARE_FUNCTION(range_make_int8)
SCYPER_DECLARE_FUNCTION(range_make_date)
SCYPER_DECLARE_FUNCTION(range_make_timestamp)
SCYPER_DECLARE_FUNCTION(range_make_timestamptz)
SCYPER_DECLARE_FUNCTION(range_lower)
SCYPER_DECLARE_FUNCTION(range_upper)
SCYPER_DECLARE_FUNCTION(range_isempty)
SCYPER_DECLARE_FUNCTION(range_lower_inc)
SCYPER_DECLARE_FUNCTION(range_upper_inc)
SCYPER_DECLARE_FUNCTION(range_lower_inf)
SCYPER_DECLARE_FUNCTION(range_upper_inf)
SCYPER_DECLARE_FUNCTION(range_contains)
SCYPER_DECLARE_FUNCTION(range_contained)
SCYPER_DECLARE_FUNCTION(range_has)
SCYPER_DECLARE_FUNCTION(range_is_in)
SCYPER_DECLARE_FUNCTION(range_overlaps)
SCYPER_DECLARE_FUNCTION(range_before)
SCYPER_DECLARE_FUNCTION(range_after)
SCYPER_DECLARE_FUNCTION(range_overleft)
SCYPER_DECLARE_FUNCTION(range_overright)
SCYPER_DECLARE_FUNCTION(range_adjacent)
SCYPER_DECLARE_FUNCTION(range_union)
SCYPER_DECLARE_FUNCTION(range_intersect)
SCYPER_DECLARE_FUNCTION(range_minus)
SCYPER_DECLARE_FUNCTION(range_merge)
#undef SCYPER_DECLARE_FUNCTION

namespace {

struct RangeType {
  T range, element;
  std::string_view constructor;
  const ir::External& make;
};

void add_range_operators(BuiltinTable* t, T range, T element) {
  const auto test = [&](std::string_view op, T left, T right, const ir::External& function) {
    t->runtime(op, {left, right}, T::kBool, function);
  };
  test("@>", range, range, k_fn_range_contains);
  test("@>", range, element, k_fn_range_has);
  test("<@", range, range, k_fn_range_contained);
  test("<@", element, range, k_fn_range_is_in);
  test("&&", range, range, k_fn_range_overlaps);
  test("<<", range, range, k_fn_range_before);
  test(">>", range, range, k_fn_range_after);
  test("&<", range, range, k_fn_range_overleft);
  test("&>", range, range, k_fn_range_overright);
  test("-|-", range, range, k_fn_range_adjacent);
  t->runtime("+", {range, range}, range, k_fn_range_union);
  t->runtime("*", {range, range}, range, k_fn_range_intersect);
  t->runtime("-", {range, range}, range, k_fn_range_minus);
}

}  // namespace

void add_range_functions(BuiltinTable* t) {
  const RangeType types[] = {{T::kInt4range, T::kInt4, "int4range", k_fn_range_make_int4},
                             {T::kInt8range, T::kInt8, "int8range", k_fn_range_make_int8},
                             {T::kDaterange, T::kDate, "daterange", k_fn_range_make_date},
                             {T::kTsrange, T::kTimestamp, "tsrange", k_fn_range_make_timestamp},
                             {T::kTstzrange, T::kTimestamptz, "tstzrange", k_fn_range_make_timestamptz}};
  for (const auto& [range, element, constructor, make] : types) {
    t->runtime(constructor, {element, element}, range, make).strict = false;
    t->runtime(constructor, {element, element, T::kText}, range, make).strict = false;
    t->runtime("lower", {range}, element, k_fn_range_lower).may_return_null = true;
    t->runtime("upper", {range}, element, k_fn_range_upper).may_return_null = true;
    t->runtime("isempty", {range}, T::kBool, k_fn_range_isempty);
    t->runtime("lower_inc", {range}, T::kBool, k_fn_range_lower_inc);
    t->runtime("upper_inc", {range}, T::kBool, k_fn_range_upper_inc);
    t->runtime("lower_inf", {range}, T::kBool, k_fn_range_lower_inf);
    t->runtime("upper_inf", {range}, T::kBool, k_fn_range_upper_inf);
    t->runtime("range_merge", {range, range}, range, k_fn_range_merge);
    add_range_operators(t, range, element);
  }
}

}  // namespace scyper::query
