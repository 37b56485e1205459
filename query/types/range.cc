#include "types/range.h"

#include <algorithm>
#include <limits>

#include "types/big_endian.h"
#include "types/datetime.h"
#include "types/datum_text.h"
#include "types/digits.h"

namespace scyper::query {

namespace {

constexpr char kEmpty = 0, kFilled = 1;
constexpr char kMinusInfinity = 0, kFinite = 1, kInfinity = 2;
constexpr size_t kValueBytes = 8;
// Of PostgreSQL's binary format.
constexpr int kEmptyFlag = 1, kLowerInclusive = 2, kUpperInclusive = 4, kLowerInfinite = 8, kUpperInfinite = 16;

bool is_discrete(TypeId type) {
  return type == TypeId::kInt4range || type == TypeId::kInt8range || type == TypeId::kDaterange;
}
bool is_short(TypeId element) { return element == TypeId::kInt4 || element == TypeId::kDate; }

void put_bound(std::string* out, const RangeBound& bound, bool is_lower) {
  if (bound.is_infinite) {
    *out += is_lower ? kMinusInfinity : kInfinity;
    return;
  }
  *out += kFinite;
  append_ordered_integer(out, bound.value, kValueBytes);
  *out += static_cast<char>(bound.is_inclusive == is_lower ? 0 : 1);
}

RangeBound take_bound(std::string_view* bytes, bool is_lower) {
  RangeBound bound;
  bound.is_infinite = bytes->front() != kFinite;
  bytes->remove_prefix(1);
  if (bound.is_infinite) return bound;
  bound.value = ordered_integer_of(bytes->substr(0, kValueBytes));
  bound.is_inclusive = ((*bytes)[kValueBytes] == 0) == is_lower;
  bytes->remove_prefix(kValueBytes + 1);
  return bound;
}

// The bound of a discrete type on the other side of its value.
Status move_bound(TypeId type, RangeBound* bound) {
  const TypeId element = range_element(type);
  const bool is_date = element == TypeId::kDate;
  if (is_date && !is_finite_date(static_cast<int32_t>(bound->value))) return absl::OkStatus();
  const int64_t most = is_date                    ? kDateMax
                       : element == TypeId::kInt4 ? std::numeric_limits<int32_t>::max()
                                                  : std::numeric_limits<int64_t>::max();
  if (bound->value >= most)
    return is_date ? sql_error("22008", "date out of range")
                   : sql_error("22003", element == TypeId::kInt4 ? "integer out of range" : "bigint out of range");
  ++bound->value;
  bound->is_inclusive = !bound->is_inclusive;
  return absl::OkStatus();
}

Status malformed(std::string_view text, std::string_view detail) {
  return with_detail(sql_error("22P02", "malformed range literal: \"" + std::string(text) + "\""), detail);
}

bool ends_bound(char c) { return c == ',' || c == ')' || c == ']'; }

struct RangeReader {
  std::string_view whole, rest;

  char first() const { return rest.empty() ? '\0' : rest.front(); }
  void skip_blanks() {
    while (is_space(first())) rest.remove_prefix(1);
  }
  char take() {
    const char c = first();
    if (!rest.empty()) rest.remove_prefix(1);
    return c;
  }
  // The text of a bound without its quotes.
  Status take_bound(std::string* text, bool* is_infinite) {
    *is_infinite = ends_bound(first());
    for (bool is_quoted = false; is_quoted || !ends_bound(first());) {
      if (rest.empty()) return malformed(whole, "Unexpected end of input.");
      const char c = take();
      if (c == '\\') {
        if (rest.empty()) return malformed(whole, "Unexpected end of input.");
        *text += take();
      } else if (c != '"') {
        *text += c;
      } else if (is_quoted && first() == '"') {
        *text += take();
      } else {
        is_quoted = !is_quoted;
      }
    }
    return absl::OkStatus();
  }
};

// Elements of ranges are integers: nothing is allocated.
void* allocate_nothing(void*, size_t) noexcept { return nullptr; }

Status parse_bound(const SqlType& type, const std::string& text, RangeBound* out) {
  if (out->is_infinite) return absl::OkStatus();
  Datum value;
  SCYPER_RETURN_IF_ERROR(
      parse_datum(make_type(range_element(type.id)), text, TextArena{allocate_nothing, nullptr}, &value));
  out->value = value.lo;
  return absl::OkStatus();
}

void append_bound(std::string* out, TypeId element, const RangeBound& bound) {
  if (bound.is_infinite) return;
  std::string text;
  append_datum(&text, make_type(element), int_datum(bound.value));
  const bool is_quoted = text.find_first_of("\"\\()[], \t\n") != std::string::npos;
  if (is_quoted) *out += '"';
  for (const char c : text) *out += c == '"' || c == '\\' ? std::string(2, c) : std::string(1, c);
  if (is_quoted) *out += '"';
}

Status receive_bound(TypeId element, std::string_view* sent, RangeBound* out) {
  const auto number = [&](size_t bytes) {
    const uint64_t value = big_endian_of(sent->substr(0, bytes));
    sent->remove_prefix(bytes);
    return value;
  };
  const size_t size = is_short(element) ? 4 : 8;
  if (sent->size() < 4 + size || number(4) != size) return sql_error("22P03", "incorrect binary data format");
  const uint64_t value = number(size);
  out->is_infinite = false;
  out->value = size == 4 ? int64_t{static_cast<int32_t>(value)} : static_cast<int64_t>(value);
  if (is_moment(element) && element != TypeId::kDate && is_finite_timestamp(out->value) &&
      (out->value < kTimestampMin || out->value > kTimestampMax))
    return sql_error("22008", "timestamp out of range");
  if (element == TypeId::kDate && is_finite_date(static_cast<int32_t>(out->value)) &&
      (out->value < kDateMin || out->value > kDateMax))
    return sql_error("22008", "date out of range");
  return absl::OkStatus();
}

void send_bound(std::string* out, TypeId element, const RangeBound& bound) {
  if (bound.is_infinite) return;
  const size_t size = is_short(element) ? 4 : 8;
  append_big_endian(out, size, 4);
  append_big_endian(out, static_cast<uint64_t>(bound.value), size);
}

}  // namespace

TypeId range_element(TypeId range) {
  switch (range) {
    case TypeId::kInt4range:
      return TypeId::kInt4;
    case TypeId::kInt8range:
      return TypeId::kInt8;
    case TypeId::kDaterange:
      return TypeId::kDate;
    case TypeId::kTsrange:
      return TypeId::kTimestamp;
    case TypeId::kTstzrange:
      return TypeId::kTimestamptz;
    default:
      return TypeId::kUnknown;
  }
}

Range range_of_bytes(std::string_view bytes) {
  Range range;
  range.is_empty = bytes.front() == kEmpty;
  if (range.is_empty) return range;
  bytes.remove_prefix(1);
  range.lower = take_bound(&bytes, true);
  range.upper = take_bound(&bytes, false);
  return range;
}

std::string bytes_of_range(const Range& range) {
  if (range.is_empty) return std::string(1, kEmpty);
  std::string bytes(1, kFilled);
  put_bound(&bytes, range.lower, true);
  put_bound(&bytes, range.upper, false);
  return bytes;
}

Status make_range(TypeId type, Range range, Range* out) {
  if (range.is_empty) return *out = Range{true, {}, {}}, absl::OkStatus();
  for (RangeBound* bound : {&range.lower, &range.upper}) bound->is_inclusive &= !bound->is_infinite;
  const bool is_finite = !range.lower.is_infinite && !range.upper.is_infinite;
  const auto is_nothing = [&] {
    return is_finite && range.lower.value == range.upper.value &&
           !(range.lower.is_inclusive && range.upper.is_inclusive);
  };
  if (is_finite && range.lower.value > range.upper.value)
    return sql_error("22000", "range lower bound must be less than or equal to range upper bound");
  if (is_nothing()) return *out = Range{true, {}, {}}, absl::OkStatus();
  if (is_discrete(type)) {
    if (!range.lower.is_infinite && !range.lower.is_inclusive) SCYPER_RETURN_IF_ERROR(move_bound(type, &range.lower));
    if (!range.upper.is_infinite && range.upper.is_inclusive) SCYPER_RETURN_IF_ERROR(move_bound(type, &range.upper));
    if (is_nothing()) return *out = Range{true, {}, {}}, absl::OkStatus();
  }
  *out = range;
  return absl::OkStatus();
}

Status range_parse(const SqlType& type, std::string_view text, std::string* bytes) {
  RangeReader in{text, text};
  Range range;
  in.skip_blanks();
  constexpr std::string_view kWord = "empty";
  range.is_empty = in.rest.size() >= kWord.size() && std::equal(kWord.begin(), kWord.end(), in.rest.begin(),
                                                                [](char a, char b) { return a == to_lower(b); });
  if (range.is_empty) {
    in.rest.remove_prefix(kWord.size());
    in.skip_blanks();
    if (!in.rest.empty()) return malformed(text, "Junk after \"empty\" key word.");
  } else {
    const char opening = in.take();
    if (opening != '[' && opening != '(') return malformed(text, "Missing left parenthesis or bracket.");
    std::string lower, upper;
    SCYPER_RETURN_IF_ERROR(in.take_bound(&lower, &range.lower.is_infinite));
    if (in.take() != ',') return malformed(text, "Missing comma after lower bound.");
    SCYPER_RETURN_IF_ERROR(in.take_bound(&upper, &range.upper.is_infinite));
    const char closing = in.take();
    if (closing != ']' && closing != ')') return malformed(text, "Too many commas.");
    range.lower.is_inclusive = opening == '[';
    range.upper.is_inclusive = closing == ']';
    in.skip_blanks();
    if (!in.rest.empty()) return malformed(text, "Junk after right parenthesis or bracket.");
    SCYPER_RETURN_IF_ERROR(parse_bound(type, lower, &range.lower));
    SCYPER_RETURN_IF_ERROR(parse_bound(type, upper, &range.upper));
  }
  SCYPER_RETURN_IF_ERROR(make_range(type.id, range, &range));
  *bytes = bytes_of_range(range);
  return absl::OkStatus();
}

void range_append(std::string* out, const SqlType& type, const Range& range) {
  if (range.is_empty) {
    *out += "empty";
    return;
  }
  *out += range.lower.is_inclusive ? '[' : '(';
  append_bound(out, range_element(type.id), range.lower);
  *out += ',';
  append_bound(out, range_element(type.id), range.upper);
  *out += range.upper.is_inclusive ? ']' : ')';
}

Status range_receive(const SqlType& type, std::string_view sent, std::string* bytes) {
  if (sent.empty()) return sql_error("08P01", "no data left in message");
  const int flags = static_cast<unsigned char>(sent.front());
  sent.remove_prefix(1);
  Range range;
  range.is_empty = (flags & kEmptyFlag) != 0;
  const TypeId element = range_element(type.id);
  if (!range.is_empty && (flags & kLowerInfinite) == 0)
    SCYPER_RETURN_IF_ERROR(receive_bound(element, &sent, &range.lower));
  if (!range.is_empty && (flags & kUpperInfinite) == 0)
    SCYPER_RETURN_IF_ERROR(receive_bound(element, &sent, &range.upper));
  if (!sent.empty()) return sql_error("22P03", "incorrect binary data format for type " + type_name(type));
  range.lower.is_inclusive = (flags & kLowerInclusive) != 0;
  range.upper.is_inclusive = (flags & kUpperInclusive) != 0;
  SCYPER_RETURN_IF_ERROR(make_range(type.id, range, &range));
  *bytes = bytes_of_range(range);
  return absl::OkStatus();
}

void range_send(std::string* out, const SqlType& type, const Range& range) {
  int flags = range.is_empty ? kEmptyFlag : 0;
  if (!range.is_empty) {
    flags |= (range.lower.is_inclusive ? kLowerInclusive : 0) | (range.upper.is_inclusive ? kUpperInclusive : 0);
    flags |= (range.lower.is_infinite ? kLowerInfinite : 0) | (range.upper.is_infinite ? kUpperInfinite : 0);
  }
  *out += static_cast<char>(flags);
  if (range.is_empty) return;
  send_bound(out, range_element(type.id), range.lower);
  send_bound(out, range_element(type.id), range.upper);
}

namespace {
constexpr __int128 kFarthest = static_cast<__int128>(1) << 100;
}  // namespace

__int128 value_place(int64_t value) { return static_cast<__int128>(value) * 4; }
__int128 lower_place(const Range& range) {
  if (range.lower.is_infinite) return -kFarthest;
  return value_place(range.lower.value) + (range.lower.is_inclusive ? 0 : 1);
}
__int128 upper_place(const Range& range) {
  if (range.upper.is_infinite) return kFarthest;
  return value_place(range.upper.value) - (range.upper.is_inclusive ? 0 : 1);
}

bool range_contains(const Range& a, const Range& b) {
  if (b.is_empty || a.is_empty) return b.is_empty;
  return lower_place(a) <= lower_place(b) && upper_place(a) >= upper_place(b);
}

bool range_overlaps(const Range& a, const Range& b) {
  return !a.is_empty && !b.is_empty && lower_place(a) <= upper_place(b) && lower_place(b) <= upper_place(a);
}

bool range_is_adjacent(const Range& a, const Range& b) {
  const auto meet = [](const RangeBound& upper, const RangeBound& lower) {
    return !upper.is_infinite && !lower.is_infinite && upper.value == lower.value &&
           upper.is_inclusive != lower.is_inclusive;
  };
  return !a.is_empty && !b.is_empty && (meet(a.upper, b.lower) || meet(b.upper, a.lower));
}

Range range_span(const Range& a, const Range& b) {
  if (a.is_empty || b.is_empty) return a.is_empty ? b : a;
  return {false, lower_place(a) <= lower_place(b) ? a.lower : b.lower,
          upper_place(a) >= upper_place(b) ? a.upper : b.upper};
}

Range range_intersection(const Range& a, const Range& b) {
  if (!range_overlaps(a, b)) return {true, {}, {}};
  return {false, lower_place(a) >= lower_place(b) ? a.lower : b.lower,
          upper_place(a) <= upper_place(b) ? a.upper : b.upper};
}

Status range_difference(const Range& a, const Range& b, Range* out) {
  *out = a;
  if (!range_overlaps(a, b)) return absl::OkStatus();
  const bool keeps_left = lower_place(a)<lower_place(b), keeps_right = upper_place(a)> upper_place(b);
  if (keeps_left && keeps_right) return sql_error("22000", "result of range difference would not be contiguous");
  if (!keeps_left && !keeps_right) return *out = Range{true, {}, {}}, absl::OkStatus();
  RangeBound& cut = keeps_left ? out->upper : out->lower;
  cut = keeps_left ? b.lower : b.upper;
  cut.is_inclusive = !cut.is_inclusive;
  return absl::OkStatus();
}

}  // namespace scyper::query
