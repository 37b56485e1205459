#include "runtime/functions_range.h"

#include <algorithm>

#include "runtime/function_body.h"
#include "storage/trailer.h"
#include "types/multirange.h"
#include "types/range.h"
#include "types/text.h"

// Ranges and multiranges. Most bodies take either, by the types of the arguments.
namespace scyper::query {

namespace {

Range range_of(const Datum& datum) { return range_of_bytes(text_of(datum)); }
int32_t give_range(ExecContext* c, Datum* out, const Range& range) { return give_copy(c, out, bytes_of_range(range)); }
int32_t give_multirange(ExecContext* c, Datum* out, const Multirange& multirange) {
  return give_copy(c, out, bytes_of_multirange(multirange));
}

// From the first bound to the last one.
Range span_of(const SqlType& type, const Datum& datum) {
  return is_multirange(type.id) ? multirange_span(multirange_of_bytes(text_of(datum))) : range_of(datum);
}
Multirange ranges_of(const SqlType& type, const Datum& datum) {
  return is_multirange(type.id) ? multirange_of_bytes(text_of(datum)) : make_multirange({range_of(datum)});
}

// NULL bounds are infinite.
int32_t construct(ExecContext* c, TypeId type, const Datum* args, int64_t count, Datum* out) {
  std::string_view flags = "[)";
  if (count > 2 && args[2].null) return c->fail("22000", "range constructor flags argument must not be null");
  if (count > 2) flags = text_of(args[2]);
  const bool are_valid =
      flags.size() == 2 && (flags[0] == '[' || flags[0] == '(') && (flags[1] == ']' || flags[1] == ')');
  if (!are_valid)
    return c->fail(with_hint(sql_error("42601", "invalid range bound flags"),
                             "Valid values are \"[]\", \"[)\", \"(]\", and \"()\"."));
  Range range;
  range.lower = bound_of(range_element(type), args[0]);
  range.upper = bound_of(range_element(type), args[1]);
  range.lower.is_inclusive = flags[0] == '[';
  range.upper.is_inclusive = flags[1] == ']';
  const Status status = make_range(type, range, &range);
  return status.ok() ? give_range(c, out, range) : c->fail(status);
}

int32_t give_bound(ExecContext* c, const Range& range, const RangeBound& bound, Datum* out) {
  if (range.is_empty || bound.is_infinite) return give_null(out);
  return value_of_bound(bound, scratch_arena(c), out) ? 0 : fail_memory(c);
}

int32_t give_contains(const SqlType& a_type, const Datum& a, const SqlType& b_type, const Datum& b, Datum* out) {
  if (is_range(a_type.id) && is_range(b_type.id))
    return give_bool(out, query::range_contains(range_of(a), range_of(b)));
  return give_bool(out, multirange_contains(ranges_of(a_type, a), ranges_of(b_type, b)));
}

int32_t give_has(const SqlType& type, const Datum& given, const Datum& value, Datum* out) {
  const RangeBound bound = bound_of(innermost_element(type.id), value);
  return give_bool(out, is_range(type.id) ? query::range_has(range_of(given), bound)
                                          : multirange_has(multirange_of_bytes(text_of(given)), bound));
}

template <class Test>
int32_t test_spans(const Datum* args, const SqlType* types, Test test, Datum* out) {
  return give_bool(out, test(span_of(types[0], args[0]), span_of(types[1], args[1])));
}

// The ranges of an array of ranges or multiranges, but for NULLs.
std::vector<Range> ranges_of_array(const Datum& array, const SqlType& type) {
  std::vector<Range> ranges;
  const ArrayValue& values = *array_of(array);
  const SqlType element = element_of(type);
  for (int32_t i = 0; i < values.size; i++) {
    if (values.elements[i].null) continue;
    poll_work();
    if (is_range(element.id)) {
      ranges.push_back(range_of(values.elements[i]));
      continue;
    }
    for (Range& range : multirange_of_bytes(text_of(values.elements[i]))) ranges.push_back(std::move(range));
  }
  return ranges;
}

bool has_values(const ArrayValue& array) {
  return std::any_of(array.elements, array.elements + array.size, [](const Datum& value) { return value.null == 0; });
}

int32_t has_null_member(ExecContext* c) { return c->fail("22004", "multirange values cannot contain null members"); }

int32_t rt_compare_ranges(const char* a, int64_t a_size, const char* b, int64_t b_size) noexcept {
  const std::string_view x(a, static_cast<size_t>(a_size)), y(b, static_cast<size_t>(b_size));
  return text_compare(ordered_part(x), ordered_part(y));
}

extern "C" {

SCYPER_FUNCTION(range_make_int4) { return construct(c, TypeId::kInt4range, args, count, out); }
SCYPER_FUNCTION(range_make_int8) { return construct(c, TypeId::kInt8range, args, count, out); }
SCYPER_FUNCTION(range_make_date) { return construct(c, TypeId::kDaterange, args, count, out); }
SCYPER_FUNCTION(range_make_timestamp) { return construct(c, TypeId::kTsrange, args, count, out); }
SCYPER_FUNCTION(range_make_timestamptz) { return construct(c, TypeId::kTstzrange, args, count, out); }
SCYPER_FUNCTION(range_make_numeric) { return construct(c, TypeId::kNumrange, args, count, out); }
SCYPER_FUNCTION(range_lower) {
  const Range range = span_of(types[0], args[0]);
  return give_bound(c, range, range.lower, out);
}
SCYPER_FUNCTION(range_upper) {
  const Range range = span_of(types[0], args[0]);
  return give_bound(c, range, range.upper, out);
}
SCYPER_FUNCTION(range_isempty) { return give_bool(out, span_of(types[0], args[0]).is_empty); }
SCYPER_FUNCTION(range_lower_inc) {
  const Range range = span_of(types[0], args[0]);
  return give_bool(out, !range.is_empty && range.lower.is_inclusive);
}
SCYPER_FUNCTION(range_upper_inc) {
  const Range range = span_of(types[0], args[0]);
  return give_bool(out, !range.is_empty && range.upper.is_inclusive);
}
SCYPER_FUNCTION(range_lower_inf) {
  const Range range = span_of(types[0], args[0]);
  return give_bool(out, !range.is_empty && range.lower.is_infinite);
}
SCYPER_FUNCTION(range_upper_inf) {
  const Range range = span_of(types[0], args[0]);
  return give_bool(out, !range.is_empty && range.upper.is_infinite);
}
SCYPER_FUNCTION(range_contains) { return give_contains(types[0], args[0], types[1], args[1], out); }
SCYPER_FUNCTION(range_contained) { return give_contains(types[1], args[1], types[0], args[0], out); }
SCYPER_FUNCTION(range_has) { return give_has(types[0], args[0], args[1], out); }
SCYPER_FUNCTION(range_is_in) { return give_has(types[1], args[1], args[0], out); }
SCYPER_FUNCTION(range_overlaps) {
  if (is_range(types[0].id) && is_range(types[1].id))
    return give_bool(out, query::range_overlaps(range_of(args[0]), range_of(args[1])));
  return give_bool(out, multirange_overlaps(ranges_of(types[0], args[0]), ranges_of(types[1], args[1])));
}
SCYPER_FUNCTION(range_before) { return test_spans(args, types, range_is_before, out); }
SCYPER_FUNCTION(range_after) {
  return test_spans(args, types, [](const Range& a, const Range& b) { return range_is_before(b, a); }, out);
}
SCYPER_FUNCTION(range_overleft) { return test_spans(args, types, range_is_overleft, out); }
SCYPER_FUNCTION(range_overright) { return test_spans(args, types, range_is_overright, out); }
SCYPER_FUNCTION(range_adjacent) { return test_spans(args, types, range_is_adjacent, out); }
SCYPER_FUNCTION(range_union) {
  const Range a = range_of(args[0]), b = range_of(args[1]);
  const bool is_one = a.is_empty || b.is_empty || query::range_overlaps(a, b) || range_is_adjacent(a, b);
  return is_one ? give_range(c, out, range_span(a, b))
                : c->fail("22000", "result of range union would not be contiguous");
}
SCYPER_FUNCTION(range_intersect) {
  return give_range(c, out, range_intersection(range_of(args[0]), range_of(args[1])));
}
SCYPER_FUNCTION(range_minus) {
  Range rest;
  const Status status = range_difference(range_of(args[0]), range_of(args[1]), &rest);
  return status.ok() ? give_range(c, out, rest) : c->fail(status);
}
SCYPER_FUNCTION(range_merge) {
  return give_range(c, out, count > 1 ? range_span(range_of(args[0]), range_of(args[1])) : span_of(types[0], args[0]));
}
SCYPER_FUNCTION(range_same) { return *out = args[0], 0; }

SCYPER_FUNCTION(multirange_make) {
  if (count == 1 && args[0].null) return give_null(out);
  std::vector<Range> ranges;
  for (int64_t i = 0; i < count; i++) {
    if (args[i].null) return has_null_member(c);
    ranges.push_back(range_of(args[i]));
  }
  return give_multirange(c, out, make_multirange(std::move(ranges)));
}
// The binder knows that it is an array, not of what.
SCYPER_FUNCTION(multirange_make_of_array) {
  if (!is_range(types[0].element))
    return c->fail("42804", "a multirange is made of ranges, not of type " + type_name(element_of(types[0])));
  const ArrayValue& array = *array_of(args[0]);
  if (std::any_of(array.elements, array.elements + array.size, [](const Datum& value) { return value.null != 0; }))
    return has_null_member(c);
  return give_multirange(c, out, make_multirange(ranges_of_array(args[0], types[0])));
}
SCYPER_FUNCTION(multirange_union) {
  return give_multirange(
      c, out, query::multirange_union(multirange_of_bytes(text_of(args[0])), multirange_of_bytes(text_of(args[1]))));
}
SCYPER_FUNCTION(multirange_intersect) {
  return give_multirange(
      c, out, multirange_intersection(multirange_of_bytes(text_of(args[0])), multirange_of_bytes(text_of(args[1]))));
}
SCYPER_FUNCTION(multirange_minus) {
  return give_multirange(
      c, out, multirange_difference(multirange_of_bytes(text_of(args[0])), multirange_of_bytes(text_of(args[1]))));
}
SCYPER_FUNCTION(multirange_unnest) {
  const Multirange multirange = multirange_of_bytes(text_of(args[0]));
  auto* array = reinterpret_cast<ArrayValue*>(c->scratch->allocate(sizeof(ArrayValue)));
  auto* elements = reinterpret_cast<Datum*>(c->scratch->allocate(multirange.size() * sizeof(Datum)));
  if (array == nullptr || elements == nullptr) return fail_memory(c);
  const auto size = static_cast<int32_t>(multirange.size());
  *array = ArrayValue{size, size, 1, range_of_multirange(types[0].id), elements};
  for (size_t i = 0; i < multirange.size(); i++)
    if (const int32_t outcome = give_range(c, &elements[i], multirange[i]); outcome != 0) return outcome;
  *out = Datum{reinterpret_cast<int64_t>(array), 0, 0, 0, {}};
  return 0;
}
SCYPER_FUNCTION(range_agg) {
  if (!has_values(*array_of(args[0]))) return give_null(out);
  return give_multirange(c, out, make_multirange(ranges_of_array(args[0], types[0])));
}
SCYPER_FUNCTION(range_intersect_agg) {
  const ArrayValue& array = *array_of(args[0]);
  const SqlType type = element_of(types[0]);
  if (!has_values(array)) return give_null(out);
  bool is_first = true;
  Multirange common;
  Range range;
  for (int32_t i = 0; i < array.size; i++) {
    const Datum& value = array.elements[i];
    if (value.null) continue;
    poll_work();
    if (is_multirange(type.id)) {
      const Multirange next = multirange_of_bytes(text_of(value));
      common = is_first ? next : multirange_intersection(common, next);
    } else {
      range = is_first ? range_of(value) : range_intersection(range, range_of(value));
    }
    is_first = false;
  }
  return is_multirange(type.id) ? give_multirange(c, out, common) : give_range(c, out, range);
}

}  // extern "C"

}  // namespace

SCYPER_RANGE_FUNCTIONS(SCYPER_DEFINE_FUNCTION)
const ir::External k_rt_compare_ranges{"rt_compare_ranges", reinterpret_cast<void*>(&rt_compare_ranges), ir::Type::kI32,
                                       4, true};

}  // namespace scyper::query
