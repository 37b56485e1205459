#include "runtime/window_frame.h"

#include <algorithm>
#include <cmath>

#include "runtime/memory.h"
#include "runtime/tuple_fields.h"
#include "types/datum_text.h"
#include "types/decimal.h"
#include "types/interval.h"
#include "types/timezone.h"

// Which rows a frame has.
namespace scyper::query {

namespace {

double float8(const Datum& value) { return __builtin_bit_cast(double, value.lo); }
int sign_of(int64_t difference) { return difference < 0 ? -1 : difference > 0 ? 1 : 0; }

// As PostgreSQL's in_range_float8_float8: NaN is above all; infinities that cancel out leave everything in range.
int compare_moved(double value, double base, double offset, bool subtract) {
  if (std::isnan(value) || std::isnan(base)) return sign_of(std::isnan(value)) - sign_of(std::isnan(base));
  double bound = subtract ? base - offset : base + offset;
  if (std::isnan(bound)) return 0;
  return value < bound ? -1 : value > bound ? 1 : 0;
}

ValueError moment_of(const SqlType& type, const Datum& value, int64_t* out) {
  if (type.id != TypeId::kDate) return *out = value.lo, ValueError::kNone;
  return date_to_timestamp(static_cast<int32_t>(value.lo), out);
}

// Order of `value` and base - offset (subtract) or base + offset.
ValueError compare_moved(const SqlType& type, const Datum& value, const Datum& base, const Datum& offset, bool subtract,
                         int* order) {
  ValueError error = ValueError::kNone;
  switch (type.id) {
    case TypeId::kFloat4:
    case TypeId::kFloat8:
      *order = compare_moved(float8(value), float8(base), float8(offset), subtract);
      return error;
    case TypeId::kNumeric: {
      Decimal bound;
      error = subtract ? decimal_subtract(decimal_of(base), decimal_of(offset), &bound)
                       : decimal_add(decimal_of(base), decimal_of(offset), &bound);
      *order = error == ValueError::kNone ? decimal_compare(decimal_of(value), bound) : 0;
      return error;
    }
    case TypeId::kDate:
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
    case TypeId::kInterval: {
      Interval moved = interval_of(offset);
      if (subtract) error = interval_negate(moved, &moved);
      if (error != ValueError::kNone) return error;
      if (type.id == TypeId::kInterval) {
        Interval bound;
        error = interval_add(interval_of(base), moved, &bound);
        *order = error == ValueError::kNone ? interval_compare(interval_of(value), bound) : 0;
        return error;
      }
      int64_t from = 0, bound = 0, at = 0;
      error = moment_of(type, base, &from);
      if (error == ValueError::kNone)
        error =
            type.id == TypeId::kTimestamptz ? timestamptz_add(from, moved, &bound) : timestamp_add(from, moved, &bound);
      if (error == ValueError::kNone) error = moment_of(type, value, &at);
      *order = at < bound ? -1 : at > bound ? 1 : 0;
      return error;
    }
    default: {
      __int128 bound = static_cast<__int128>(base.lo) + (subtract ? -static_cast<__int128>(offset.lo) : offset.lo);
      *order = value.lo < bound ? -1 : value.lo > bound ? 1 : 0;
      return error;
    }
  }
}

bool is_negative(const SqlType& type, const Datum& offset) {
  switch (type.id) {
    case TypeId::kFloat4:
    case TypeId::kFloat8:
      return !(float8(offset) >= 0);
    case TypeId::kNumeric:
      return decimal_of(offset).value < 0;
    case TypeId::kInterval:
      return interval_compare(interval_of(offset), Interval{}) < 0;
    default:
      return offset.lo < 0;
  }
}

int32_t load_offset(ExecContext* c, const WindowSpec& spec, const WindowField& field, const char* tuple, bool is_start,
                    Datum* out) {
  const char* name = is_start ? "starting" : "ending";
  char message[80];
  if (is_null(field, tuple)) {
    std::snprintf(message, sizeof message, "frame %s offset must not be null", name);
    return c->fail("22004", message);
  }
  *out = load_window_field(field, tuple);
  if (!is_negative(field.type, *out)) return 0;
  if (spec.frame.mode == FrameMode::kRange)
    return c->fail("22013", "invalid preceding or following size in window function");
  std::snprintf(message, sizeof message, "frame %s offset must not be negative", name);
  return c->fail("22013", message);
}

struct RowBound {
  FrameBound bound;
  int64_t offset;
};

// ROWS: positions; `after`: 1 for the end of a frame.
int64_t row_bound(const WindowRun& run, const RowBound& b, int64_t row, int64_t after) {
  switch (b.bound) {
    case FrameBound::kUnboundedPreceding:
      return 0;
    case FrameBound::kPreceding:
      return std::max<int64_t>(0, row - b.offset + after);
    case FrameBound::kCurrentRow:
      return row + after;
    case FrameBound::kFollowing:
      return std::min(run.count, row + b.offset + after);
    case FrameBound::kUnboundedFollowing:
      return run.count;
  }
  return 0;
}

int64_t group_bound(const WindowRun& run, const RowBound& b, int64_t row, int64_t after) {
  if (b.bound == FrameBound::kUnboundedPreceding) return 0;
  if (b.bound == FrameBound::kUnboundedFollowing) return run.count;
  int64_t group = run.group[row] + after;
  if (b.bound == FrameBound::kPreceding) group -= b.offset;
  if (b.bound == FrameBound::kFollowing) group += b.offset;
  if (group <= 0) return 0;
  return group >= run.groups ? run.count : run.group_begin[group];
}

// RANGE with an offset: both ends move forward only, as the bounds do.
int32_t find_range_bound(ExecContext* c, const WindowRun& run, const WindowSpec& spec, FrameBound bound,
                         const Datum& offset, bool is_end, int64_t* out) {
  bool descending = spec.range_descending != 0, nulls_first = spec.range_nulls_first != 0;
  bool subtract = (bound == FrameBound::kPreceding) != descending;
  int64_t at = 0;
  for (int64_t row = 0; row < run.count; row++) {
    if (int32_t outcome = poll_at(c, row); outcome != 0) return outcome;
    const char* tuple = run.partition[row];
    if (is_null(spec.key, tuple)) {
      out[row] = is_end ? run.peer_end[row] : run.peer_begin[row];
      continue;
    }
    if (row > 0 && run.peer_begin[row] != row) {  // a peer of the row before
      out[row] = out[row - 1];
      continue;
    }
    Datum base = load_window_field(spec.key, tuple);
    for (; at < run.count; at++) {
      if (int32_t outcome = poll_at(c, at); outcome != 0) return outcome;
      const char* other = run.partition[at];
      int order = nulls_first ? -1 : 1;
      if (!is_null(spec.key, other)) {
        ValueError error =
            compare_moved(spec.key.type, load_window_field(spec.key, other), base, offset, subtract, &order);
        if (error != ValueError::kNone) return c->fail(error_status(error));
        if (descending) order = -order;
      }
      if (is_end ? order > 0 : order >= 0) break;
    }
    out[row] = at;
  }
  return 0;
}

int32_t find_bounds(ExecContext* c, const WindowRun& run, const WindowSpec& spec, bool is_end, int64_t* out) {
  const WindowField& field = is_end ? spec.end_offset : spec.start_offset;
  RowBound bound{is_end ? spec.frame.end : spec.frame.start, 0};
  int64_t after = is_end ? 1 : 0;
  Datum offset = null_datum();
  if (has_offset(bound.bound)) {
    if (int32_t failed = load_offset(c, spec, field, run.partition[0], !is_end, &offset); failed != 0) return failed;
    if (spec.frame.mode == FrameMode::kRange) return find_range_bound(c, run, spec, bound.bound, offset, is_end, out);
    bound.offset = std::min(offset.lo, run.count);
  }
  for (int64_t row = 0; row < run.count; row++) {
    if (int32_t outcome = poll_at(c, row); outcome != 0) return outcome;
    if (spec.frame.mode == FrameMode::kRows)
      out[row] = row_bound(run, bound, row, after);
    else if (spec.frame.mode == FrameMode::kGroups || bound.bound != FrameBound::kCurrentRow)
      out[row] = group_bound(run, bound, row, after);
    else
      out[row] = is_end ? run.peer_end[row] : run.peer_begin[row];
  }
  return 0;
}

}  // namespace

Datum load_window_field(const WindowField& field, const char* tuple) noexcept {
  return load_tuple_field(field.type, tuple + field.offset);
}

int32_t find_frames(ExecContext* c, WindowRun* run, const WindowSpec& spec) noexcept {
  if (int32_t failed = find_bounds(c, *run, spec, false, run->frame_begin); failed != 0) return failed;
  return find_bounds(c, *run, spec, true, run->frame_end);
}

WindowRun::Ranges frame_ranges(const WindowRun& run, const WindowSpec& spec, int64_t row) noexcept {
  WindowRun::Ranges ranges;
  int64_t begin = run.frame_begin[row], end = run.frame_end[row];
  auto add = [&](int64_t from, int64_t to) {
    if (from >= to) return;
    ranges.begin[ranges.count] = from;
    ranges.end[ranges.count++] = to;
  };
  if (spec.frame.exclusion == FrameExclusion::kNone) return add(begin, end), ranges;
  bool one = spec.frame.exclusion == FrameExclusion::kCurrentRow;
  int64_t hole_begin = one ? row : run.peer_begin[row], hole_end = one ? row + 1 : run.peer_end[row];
  add(begin, std::min(end, hole_begin));
  if (spec.frame.exclusion == FrameExclusion::kTies && begin <= row && row < end) add(row, row + 1);
  add(std::max(begin, hole_end), end);
  return ranges;
}

}  // namespace scyper::query
