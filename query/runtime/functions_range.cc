#include "runtime/function_body.h"
#include "types/range.h"

// Ranges. Declared where the builtins are listed (bind/builtins_range.cc).
namespace scyper::query {

// clang-format off: as in runtime/functions.h
#define SCYPER_RANGE_FUNCTIONS(X) \
  X(range_make_int4) X(range_make_int8) X(range_make_date) X(range_make_timestamp) X(range_make_timestamptz) \
  X(range_lower) X(range_upper) X(range_isempty) X(range_lower_inc) X(range_upper_inc) X(range_lower_inf) \
  X(range_upper_inf) X(range_contains) X(range_contained) X(range_has) X(range_is_in) X(range_overlaps) X(range_before) \
  X(range_after) X(range_overleft) X(range_overright) X(range_adjacent) X(range_union) X(range_intersect) X(range_minus) \
  X(range_merge)
// clang-format on
#define SCYPER_DECLARE_FUNCTION(name) extern const ir::External k_fn_##name;
SCYPER_RANGE_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
#undef SCYPER_DECLARE_FUNCTION

namespace {

Range range_of(const Datum& datum) { return range_of_bytes(text_of(datum)); }
int32_t give_range(ExecContext* c, Datum* out, const Range& range) { return give_copy(c, out, bytes_of_range(range)); }

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
  range.lower = {args[0].null != 0, flags[0] == '[', args[0].lo};
  range.upper = {args[1].null != 0, flags[1] == ']', args[1].lo};
  const Status status = make_range(type, range, &range);
  return status.ok() ? give_range(c, out, range) : c->fail(status);
}

int32_t give_bound(const Range& range, const RangeBound& bound, Datum* out) {
  return range.is_empty || bound.is_infinite ? give_null(out) : give(out, bound.value);
}

int32_t give_has(const Datum& given, const Datum& value, Datum* out) {
  const Range range = range_of(given);
  const __int128 place = value_place(value.lo);
  return give_bool(out, !range.is_empty && lower_place(range) <= place && place <= upper_place(range));
}

// Whether both have values, and their bounds compare so.
template <class Compare>
int32_t compare(const Datum* args, Compare is_so, Datum* out) {
  const Range a = range_of(args[0]), b = range_of(args[1]);
  return give_bool(out, !a.is_empty && !b.is_empty && is_so(a, b));
}

extern "C" {

SCYPER_FUNCTION(range_make_int4) { return construct(c, TypeId::kInt4range, args, count, out); }
SCYPER_FUNCTION(range_make_int8) { return construct(c, TypeId::kInt8range, args, count, out); }
SCYPER_FUNCTION(range_make_date) { return construct(c, TypeId::kDaterange, args, count, out); }
SCYPER_FUNCTION(range_make_timestamp) { return construct(c, TypeId::kTsrange, args, count, out); }
SCYPER_FUNCTION(range_make_timestamptz) { return construct(c, TypeId::kTstzrange, args, count, out); }
SCYPER_FUNCTION(range_lower) { return give_bound(range_of(args[0]), range_of(args[0]).lower, out); }
SCYPER_FUNCTION(range_upper) { return give_bound(range_of(args[0]), range_of(args[0]).upper, out); }
SCYPER_FUNCTION(range_isempty) { return give_bool(out, range_of(args[0]).is_empty); }
SCYPER_FUNCTION(range_lower_inc) {
  const Range range = range_of(args[0]);
  return give_bool(out, !range.is_empty && range.lower.is_inclusive);
}
SCYPER_FUNCTION(range_upper_inc) {
  const Range range = range_of(args[0]);
  return give_bool(out, !range.is_empty && range.upper.is_inclusive);
}
SCYPER_FUNCTION(range_lower_inf) {
  const Range range = range_of(args[0]);
  return give_bool(out, !range.is_empty && range.lower.is_infinite);
}
SCYPER_FUNCTION(range_upper_inf) {
  const Range range = range_of(args[0]);
  return give_bool(out, !range.is_empty && range.upper.is_infinite);
}
SCYPER_FUNCTION(range_contains) { return give_bool(out, query::range_contains(range_of(args[0]), range_of(args[1]))); }
SCYPER_FUNCTION(range_contained) { return give_bool(out, query::range_contains(range_of(args[1]), range_of(args[0]))); }
SCYPER_FUNCTION(range_has) { return give_has(args[0], args[1], out); }
SCYPER_FUNCTION(range_is_in) { return give_has(args[1], args[0], out); }
SCYPER_FUNCTION(range_overlaps) { return give_bool(out, query::range_overlaps(range_of(args[0]), range_of(args[1]))); }
SCYPER_FUNCTION(range_before) {
  return compare(args, [](const Range& a, const Range& b) { return upper_place(a) < lower_place(b); }, out);
}
SCYPER_FUNCTION(range_after) {
  return compare(args, [](const Range& a, const Range& b) { return lower_place(a) > upper_place(b); }, out);
}
SCYPER_FUNCTION(range_overleft) {
  return compare(args, [](const Range& a, const Range& b) { return upper_place(a) <= upper_place(b); }, out);
}
SCYPER_FUNCTION(range_overright) {
  return compare(args, [](const Range& a, const Range& b) { return lower_place(a) >= lower_place(b); }, out);
}
SCYPER_FUNCTION(range_adjacent) { return give_bool(out, range_is_adjacent(range_of(args[0]), range_of(args[1]))); }
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
SCYPER_FUNCTION(range_merge) { return give_range(c, out, range_span(range_of(args[0]), range_of(args[1]))); }

}  // extern "C"

}  // namespace

SCYPER_RANGE_FUNCTIONS(SCYPER_DEFINE_FUNCTION)

}  // namespace scyper::query
