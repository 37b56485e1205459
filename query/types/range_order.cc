#include "types/range.h"

namespace scyper::query {

namespace {

int order_of(int difference) { return difference < 0 ? -1 : difference > 0 ? 1 : 0; }

int compare_lower(const Range& a, const Range& b) { return compare_bounds(a.lower, true, b.lower, true); }
int compare_upper(const Range& a, const Range& b) { return compare_bounds(a.upper, false, b.upper, false); }

RangeBound turned(RangeBound bound) {
  bound.is_inclusive = !bound.is_inclusive;
  return bound;
}

}  // namespace

int compare_values(const RangeBound& a, const RangeBound& b) {
  if (a.value != b.value) return a.value < b.value ? -1 : 1;
  return order_of(a.key.compare(b.key));  // as unsigned bytes
}

int compare_bounds(const RangeBound& a, bool a_is_lower, const RangeBound& b, bool b_is_lower) {
  if (a.is_infinite && b.is_infinite) return a_is_lower == b_is_lower ? 0 : a_is_lower ? -1 : 1;
  if (a.is_infinite) return a_is_lower ? -1 : 1;
  if (b.is_infinite) return b_is_lower ? 1 : -1;
  if (const int order = compare_values(a, b); order != 0) return order;
  if (!a.is_inclusive && !b.is_inclusive) return a_is_lower == b_is_lower ? 0 : a_is_lower ? 1 : -1;
  if (!a.is_inclusive) return a_is_lower ? 1 : -1;
  if (!b.is_inclusive) return b_is_lower ? -1 : 1;
  return 0;
}

int compare_ranges(const Range& a, const Range& b) {
  const int order = compare_lower(a, b);
  return order != 0 ? order : compare_upper(a, b);
}

bool range_contains(const Range& a, const Range& b) {
  if (b.is_empty || a.is_empty) return b.is_empty;
  return compare_lower(a, b) <= 0 && compare_upper(a, b) >= 0;
}

bool range_has(const Range& range, const RangeBound& value) {
  if (range.is_empty) return false;
  const auto lies_inside = [&](const RangeBound& bound, int side) {
    if (bound.is_infinite) return true;
    const int order = compare_values(bound, value) * side;
    return order < 0 || (order == 0 && bound.is_inclusive);
  };
  return lies_inside(range.lower, 1) && lies_inside(range.upper, -1);
}

bool range_is_before(const Range& a, const Range& b) {
  return !a.is_empty && !b.is_empty && compare_bounds(a.upper, false, b.lower, true) < 0;
}
bool range_is_overleft(const Range& a, const Range& b) {
  return !a.is_empty && !b.is_empty && compare_upper(a, b) <= 0;
}
bool range_is_overright(const Range& a, const Range& b) {
  return !a.is_empty && !b.is_empty && compare_lower(a, b) >= 0;
}

bool range_overlaps(const Range& a, const Range& b) {
  return !a.is_empty && !b.is_empty && !range_is_before(a, b) && !range_is_before(b, a);
}

bool range_is_adjacent(const Range& a, const Range& b) {
  const auto meet = [](const RangeBound& upper, const RangeBound& lower) {
    return !upper.is_infinite && !lower.is_infinite && compare_values(upper, lower) == 0 &&
           upper.is_inclusive != lower.is_inclusive;
  };
  return !a.is_empty && !b.is_empty && (meet(a.upper, b.lower) || meet(b.upper, a.lower));
}

Range range_span(const Range& a, const Range& b) {
  if (a.is_empty || b.is_empty) return a.is_empty ? b : a;
  return {false, compare_lower(a, b) < 0 ? a.lower : b.lower, compare_upper(a, b) > 0 ? a.upper : b.upper};
}

Range range_intersection(const Range& a, const Range& b) {
  if (!range_overlaps(a, b)) return empty_range();
  return {false, compare_lower(a, b) >= 0 ? a.lower : b.lower, compare_upper(a, b) <= 0 ? a.upper : b.upper};
}

Status range_difference(const Range& a, const Range& b, Range* out) {
  *out = a;
  if (!range_overlaps(a, b)) return absl::OkStatus();
  const bool keeps_left = compare_lower(a, b) < 0, keeps_right = compare_upper(a, b) > 0;
  if (keeps_left && keeps_right) return sql_error("22000", "result of range difference would not be contiguous");
  if (!keeps_left && !keeps_right) return *out = empty_range(), absl::OkStatus();
  if (keeps_left)
    out->upper = turned(b.lower);
  else
    out->lower = turned(b.upper);
  return absl::OkStatus();
}

}  // namespace scyper::query
