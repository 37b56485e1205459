#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "storage/type.h"
#include "types/value_error.h"

// Ranges of integers, dates, timestamps and numerics.
namespace scyper::query {

struct RangeBound {
  bool is_infinite = true;
  bool is_inclusive = false;
  int64_t value = 0;
  // Of numerics (types/numeric_key.h), which leave `value` 0. `scale` has no part in comparisons.
  std::string key;
  uint32_t scale = 0;
};

struct Range {
  bool is_empty = false;
  RangeBound lower, upper;
};
inline Range empty_range() { return {true, {}, {}}; }

TypeId range_element(TypeId range);
// kUnknown: no range has such elements.
TypeId range_of_element(TypeId element);
// The type of the bounds of a range or multirange; for another type, that type.
TypeId innermost_element(TypeId type);

// As ordered bytes: empty ranges first, then by the lower bound, then by the upper one. Bytes of ranges of numerics
// have a trailer (storage/trailer.h) with the scales of the bounds.
Range range_of_bytes(std::string_view bytes);
std::string bytes_of_range(const Range& range);
// For multiranges: ranges without their trailers, and the trailer of all.
void append_ordered_range(std::string* out, const Range& range);
void append_scales(std::string* trailer, const Range& range);
void append_trailer(std::string* out, std::string_view trailer);
Range take_ordered_range(std::string_view* bytes, std::string_view* trailer);
std::string_view trailer_of(std::string_view bytes);

// The range in PostgreSQL's form: of discrete types the lower bound is in it, and the upper one is not. 22000: the
// bounds are in the wrong order. 22003, 22008: a bound moves out of its type.
Status make_range(TypeId type, Range range, Range* out);

// A bound's value from and to a value of the range's element type. A long numeric's digits live in the arena; false: it
// has no room.
RangeBound bound_of(TypeId element, const Datum& value);
bool value_of_bound(const RangeBound& bound, const TextArena& arena, Datum* out);

// 22P02.
Status range_parse(const SqlType& type, std::string_view text, std::string* bytes);
void range_append(std::string* out, const SqlType& type, const Range& range);
Status range_receive(const SqlType& type, std::string_view sent, std::string* bytes);
void range_send(std::string* out, const SqlType& type, const Range& range);

// -1, 0, 1. The bounds are finite.
int compare_values(const RangeBound& a, const RangeBound& b);
// By the place on a line: -1, 0, 1.
int compare_bounds(const RangeBound& a, bool a_is_lower, const RangeBound& b, bool b_is_lower);
// The order of ranges that are not empty.
int compare_ranges(const Range& a, const Range& b);

bool range_contains(const Range& a, const Range& b);
// `value`: a finite bound.
bool range_has(const Range& range, const RangeBound& value);
bool range_overlaps(const Range& a, const Range& b);
bool range_is_before(const Range& a, const Range& b);
bool range_is_overleft(const Range& a, const Range& b);
bool range_is_overright(const Range& a, const Range& b);
bool range_is_adjacent(const Range& a, const Range& b);
// The smallest range that has both.
Range range_span(const Range& a, const Range& b);
Range range_intersection(const Range& a, const Range& b);
// 22000: what is left is no range.
Status range_difference(const Range& a, const Range& b, Range* out);

}  // namespace scyper::query
