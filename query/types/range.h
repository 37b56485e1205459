#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "storage/type.h"

// Ranges of types whose values are integers: integers, dates and timestamps.
namespace scyper::query {

struct RangeBound {
  bool is_infinite = true;
  bool is_inclusive = false;
  int64_t value = 0;
};

struct Range {
  bool is_empty = false;
  RangeBound lower, upper;
};

TypeId range_element(TypeId range);

// As ordered bytes: empty ranges first, then by the lower bound, then by the upper one.
Range range_of_bytes(std::string_view bytes);
std::string bytes_of_range(const Range& range);

// The range in PostgreSQL's form: of discrete types the lower bound is in it, and the upper one is not. 22000: the
// bounds are in the wrong order. 22003, 22008: a bound moves out of its type.
Status make_range(TypeId type, Range range, Range* out);

// 22P02.
Status range_parse(const SqlType& type, std::string_view text, std::string* bytes);
void range_append(std::string* out, const SqlType& type, const Range& range);
Status range_receive(const SqlType& type, std::string_view sent, std::string* bytes);
void range_send(std::string* out, const SqlType& type, const Range& range);

// Places of bounds and values on a line.
__int128 lower_place(const Range& range);
__int128 upper_place(const Range& range);
__int128 value_place(int64_t value);

bool range_contains(const Range& a, const Range& b);
bool range_overlaps(const Range& a, const Range& b);
bool range_is_adjacent(const Range& a, const Range& b);
// The smallest range that has both.
Range range_span(const Range& a, const Range& b);
Range range_intersection(const Range& a, const Range& b);
// 22000: what is left is no range.
Status range_difference(const Range& a, const Range& b, Range* out);

}  // namespace scyper::query
