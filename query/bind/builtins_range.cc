#include "bind/builtin_table.h"
#include "runtime/functions_range.h"

namespace scyper::query {

using T = TypeId;

namespace {

struct RangeType {
  T range, element;
  std::string_view constructor, multirange_constructor, variadic_constructor;
  const ir::External& make;
};

struct RangeTest {
  std::string_view op;
  // Of two ranges, a range and a multirange, a multirange and a range, two multiranges.
  std::string_view names[4];
  const ir::External& function;
};
const RangeTest kTests[] = {
    {"@>",
     {"range_contains", "range_contains_multirange", "multirange_contains_range", "multirange_contains_multirange"},
     k_fn_range_contains},
    {"<@",
     {"range_contained_by", "range_contained_by_multirange", "multirange_contained_by_range",
      "multirange_contained_by_multirange"},
     k_fn_range_contained},
    {"&&",
     {"range_overlaps", "range_overlaps_multirange", "multirange_overlaps_range", "multirange_overlaps_multirange"},
     k_fn_range_overlaps},
    {"<<",
     {"range_before", "range_before_multirange", "multirange_before_range", "multirange_before_multirange"},
     k_fn_range_before},
    {">>",
     {"range_after", "range_after_multirange", "multirange_after_range", "multirange_after_multirange"},
     k_fn_range_after},
    {"&<",
     {"range_overleft", "range_overleft_multirange", "multirange_overleft_range", "multirange_overleft_multirange"},
     k_fn_range_overleft},
    {"&>",
     {"range_overright", "range_overright_multirange", "multirange_overright_range", "multirange_overright_multirange"},
     k_fn_range_overright},
    {"-|-",
     {"range_adjacent", "range_adjacent_multirange", "multirange_adjacent_range", "multirange_adjacent_multirange"},
     k_fn_range_adjacent},
};

constexpr std::pair<std::string_view, BuiltinOp> kRangeComparisons[] = {
    {"range_eq", BuiltinOp::kEqual},     {"range_ne", BuiltinOp::kNotEqual}, {"range_lt", BuiltinOp::kLess},
    {"range_le", BuiltinOp::kLessEqual}, {"range_gt", BuiltinOp::kGreater},  {"range_ge", BuiltinOp::kGreaterEqual}};
constexpr std::pair<std::string_view, BuiltinOp> kMultirangeComparisons[] = {
    {"multirange_eq", BuiltinOp::kEqual},   {"multirange_ne", BuiltinOp::kNotEqual},
    {"multirange_lt", BuiltinOp::kLess},    {"multirange_le", BuiltinOp::kLessEqual},
    {"multirange_gt", BuiltinOp::kGreater}, {"multirange_ge", BuiltinOp::kGreaterEqual}};

void add_tests(BuiltinTable* t, T range, T element) {
  const T multirange = multirange_of(range);
  const auto add = [&](std::string_view op, std::string_view name, T left, T right, const ir::External& function) {
    for (const std::string_view known : {op, name})
      t->runtime(known, {left, right}, T::kBool, function).takes_types = true;
  };
  for (const RangeTest& test : kTests)
    for (size_t i = 0; i < 4; i++)
      add(test.op, test.names[i], i < 2 ? range : multirange, i % 2 == 0 ? range : multirange, test.function);
  add("@>", "range_contains_elem", range, element, k_fn_range_has);
  add("<@", "elem_contained_by_range", element, range, k_fn_range_is_in);
  add("@>", "multirange_contains_elem", multirange, element, k_fn_range_has);
  add("<@", "elem_contained_by_multirange", element, multirange, k_fn_range_is_in);
  for (const auto& [name, op] : kRangeComparisons) t->add(name, {range, range}, T::kBool).op = op;
  for (const auto& [name, op] : kMultirangeComparisons) t->add(name, {multirange, multirange}, T::kBool).op = op;
}

void add_arithmetic(BuiltinTable* t, T range) {
  const T multirange = multirange_of(range);
  const auto add = [&](std::string_view op, std::string_view name, T type, const ir::External& function) {
    for (const std::string_view known : {op, name}) t->runtime(known, {type, type}, type, function);
  };
  add("+", "range_union", range, k_fn_range_union);
  add("*", "range_intersect", range, k_fn_range_intersect);
  add("-", "range_minus", range, k_fn_range_minus);
  add("+", "multirange_union", multirange, k_fn_multirange_union);
  add("*", "multirange_intersect", multirange, k_fn_multirange_intersect);
  add("-", "multirange_minus", multirange, k_fn_multirange_minus);
}

// Functions of ranges and of multiranges.
void add_properties(BuiltinTable* t, T type, T element) {
  for (const auto& [name, function] :
       {std::pair<std::string_view, const ir::External*>{"lower", &k_fn_range_lower}, {"upper", &k_fn_range_upper}}) {
    Builtin& bound = t->runtime(name, {type}, element, *function);
    bound.may_return_null = bound.takes_types = true;
  }
  t->runtime("isempty", {type}, T::kBool, k_fn_range_isempty).takes_types = true;
  t->runtime("lower_inc", {type}, T::kBool, k_fn_range_lower_inc).takes_types = true;
  t->runtime("upper_inc", {type}, T::kBool, k_fn_range_upper_inc).takes_types = true;
  t->runtime("lower_inf", {type}, T::kBool, k_fn_range_lower_inf).takes_types = true;
  t->runtime("upper_inf", {type}, T::kBool, k_fn_range_upper_inf).takes_types = true;
  // of aggregates: bind/binder_aggregate.cc
  t->runtime(" range_agg of", {type}, type, k_fn_range_same);
  t->runtime(" range_intersect_agg of", {type}, type, k_fn_range_same);
}

void add_multirange(BuiltinTable* t, const RangeType& type) {
  const T multirange = multirange_of(type.range);
  Builtin& make = t->runtime(type.multirange_constructor, {type.range}, multirange, k_fn_multirange_make);
  make.variadic = true;
  make.strict = false;
  t->runtime(type.variadic_constructor, {T::kArray}, multirange, k_fn_multirange_make_of_array).takes_types = true;
  t->runtime("multirange", {type.range}, multirange, k_fn_multirange_make);
  t->runtime("range_merge", {multirange}, type.range, k_fn_range_merge).takes_types = true;
  Builtin& unnest = t->runtime(" unnest", {multirange}, T::kUnknown, k_fn_multirange_unnest);
  unnest.takes_types = true;
  unnest.result_type = [](const std::vector<SqlType>& arguments) {
    return make_array(make_type(range_of_multirange(arguments[0].id)));
  };
}

}  // namespace

void add_range_functions(BuiltinTable* t) {
  const RangeType types[] = {
      {T::kInt4range, T::kInt4, "int4range", "int4multirange", " variadic int4multirange", k_fn_range_make_int4},
      {T::kInt8range, T::kInt8, "int8range", "int8multirange", " variadic int8multirange", k_fn_range_make_int8},
      {T::kNumrange, T::kNumeric, "numrange", "nummultirange", " variadic nummultirange", k_fn_range_make_numeric},
      {T::kDaterange, T::kDate, "daterange", "datemultirange", " variadic datemultirange", k_fn_range_make_date},
      {T::kTsrange, T::kTimestamp, "tsrange", "tsmultirange", " variadic tsmultirange", k_fn_range_make_timestamp},
      {T::kTstzrange, T::kTimestamptz, "tstzrange", "tstzmultirange", " variadic tstzmultirange",
       k_fn_range_make_timestamptz}};
  for (const RangeType& type : types) {
    const auto& [range, element, constructor, multirange_constructor, variadic_constructor, make] = type;
    t->runtime(constructor, {element, element}, range, make).strict = false;
    t->runtime(constructor, {element, element, T::kText}, range, make).strict = false;
    t->runtime("range_merge", {range, range}, range, k_fn_range_merge);
    add_properties(t, range, element);
    add_properties(t, multirange_of(range), element);
    add_tests(t, range, element);
    add_arithmetic(t, range);
    add_multirange(t, type);
  }
  const auto multirange_of_element = [](const std::vector<SqlType>& arguments) {
    const T element = arguments[0].element;
    return make_type(is_range(element) ? multirange_of(element) : element);
  };
  Builtin& agg = t->runtime(" range_agg", {T::kArray}, T::kUnknown, k_fn_range_agg);
  agg.result_type = multirange_of_element;
  agg.may_return_null = agg.takes_types = true;
  Builtin& intersect = t->runtime(" range_intersect_agg", {T::kArray}, T::kUnknown, k_fn_range_intersect_agg);
  intersect.result_type = [](const std::vector<SqlType>& arguments) { return element_of(arguments[0]); };
  intersect.may_return_null = intersect.takes_types = true;
}

}  // namespace scyper::query
