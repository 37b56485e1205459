#include "types/range.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/bounded_work.h"
#include "storage/trailer.h"
#include "types/big_endian.h"
#include "types/datetime.h"
#include "types/datum_text.h"
#include "types/digits.h"
#include "types/numeric_key.h"

namespace scyper::query {

namespace {

// The first byte: what kind of bounds come.
constexpr char kEmpty = 0, kOfIntegers = 1, kOfKeys = kTrailerMark;
constexpr char kMinusInfinity = 0, kFinite = 1, kInfinity = 2;
constexpr size_t kValueBytes = 8, kScaleBytes = 2;
constexpr char kKeyZero = static_cast<char>(0xff);  // behind a zero within a key; a key ends with two zeros
// Of PostgreSQL's binary format.
constexpr int kEmptyFlag = 1, kLowerInclusive = 2, kUpperInclusive = 4, kLowerInfinite = 8, kUpperInfinite = 16;

bool is_discrete(TypeId type) {
  return type == TypeId::kInt4range || type == TypeId::kInt8range || type == TypeId::kDaterange;
}
bool is_short(TypeId element) { return element == TypeId::kInt4 || element == TypeId::kDate; }
bool has_keys(const Range& range) { return !range.lower.key.empty() || !range.upper.key.empty(); }

void put_bound(std::string* out, const RangeBound& bound, bool is_lower) {
  if (bound.is_infinite) {
    *out += is_lower ? kMinusInfinity : kInfinity;
    return;
  }
  *out += kFinite;
  if (bound.key.empty()) {
    append_ordered_integer(out, bound.value, kValueBytes);
  } else {
    for (const char byte : bound.key) {
      *out += byte;
      if (byte == 0) *out += kKeyZero;
    }
    *out += std::string(2, '\0');
  }
  *out += static_cast<char>(bound.is_inclusive == is_lower ? 0 : 1);
}

void take_key(std::string_view* bytes, std::string* key) {
  while (bytes->front() != 0 || (*bytes)[1] != 0) {
    *key += bytes->front();
    bytes->remove_prefix(bytes->front() == 0 ? 2 : 1);
  }
  bytes->remove_prefix(2);
}

RangeBound take_bound(std::string_view* bytes, bool is_lower, bool is_key, std::string_view* trailer) {
  RangeBound bound;
  bound.is_infinite = bytes->front() != kFinite;
  bytes->remove_prefix(1);
  if (bound.is_infinite) return bound;
  if (is_key) {
    take_key(bytes, &bound.key);
    bound.scale = static_cast<uint32_t>(big_endian_of(trailer->substr(0, kScaleBytes)));
    trailer->remove_prefix(kScaleBytes);
  } else {
    bound.value = ordered_integer_of(bytes->substr(0, kValueBytes));
    bytes->remove_prefix(kValueBytes);
  }
  bound.is_inclusive = (bytes->front() == 0) == is_lower;
  bytes->remove_prefix(1);
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

// What a numeric's digits need while its text becomes a bound.
void* take_from_blocks(void* arg, size_t size) noexcept {
  const BoundedWork::Pause pause;  // nothing may be thrown from here
  auto* blocks = static_cast<std::vector<std::unique_ptr<char[]>>*>(arg);
  std::unique_ptr<char[]> block(new (std::nothrow) char[size]);
  if (block == nullptr) return nullptr;
  blocks->push_back(std::move(block));
  return blocks->back().get();
}

Status parse_bound(const SqlType& type, const std::string& text, RangeBound* out) {
  if (out->is_infinite) return absl::OkStatus();
  Datum value;
  std::vector<std::unique_ptr<char[]>> blocks;
  const TypeId element = range_element(type.id);
  SCYPER_RETURN_IF_ERROR(parse_datum(make_type(element), text, TextArena{take_from_blocks, &blocks}, &value));
  const bool is_inclusive = out->is_inclusive;
  *out = bound_of(element, value);
  out->is_inclusive = is_inclusive;
  return absl::OkStatus();
}

std::string text_of_bound(TypeId element, const RangeBound& bound) {
  if (!bound.key.empty()) return text_of_numeric_key({bound.key, bound.scale});
  std::string text;
  append_datum(&text, make_type(element), int_datum(bound.value));
  return text;
}

void append_bound(std::string* out, TypeId element, const RangeBound& bound) {
  if (bound.is_infinite) return;
  const std::string text = text_of_bound(element, bound);
  const bool is_quoted = text.empty() || text.find_first_of("\"\\()[], \t\n") != std::string::npos;
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
  if (element == TypeId::kNumeric) {
    const size_t bytes = sent->size() < 4 ? 0 : number(4);
    if (bytes == 0 || bytes > sent->size()) return sql_error("08P01", "insufficient data left in message");
    NumericKey key;
    SCYPER_RETURN_IF_ERROR(receive_numeric_key(sent->substr(0, bytes), &key));
    sent->remove_prefix(bytes);
    *out = RangeBound{false, false, 0, std::move(key.bytes), key.scale};
    return absl::OkStatus();
  }
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
  if (!bound.key.empty()) return send_numeric_key(out, {bound.key, bound.scale});
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
    case TypeId::kNumrange:
      return TypeId::kNumeric;
    default:
      return TypeId::kUnknown;
  }
}

TypeId range_of_element(TypeId element) {
  for (auto id = static_cast<int>(TypeId::kInt4range); id <= static_cast<int>(TypeId::kNumrange); id++)
    if (range_element(static_cast<TypeId>(id)) == element) return static_cast<TypeId>(id);
  return TypeId::kUnknown;
}

TypeId innermost_element(TypeId type) {
  if (is_multirange(type)) return range_element(range_of_multirange(type));
  return is_range(type) ? range_element(type) : type;
}

std::string_view trailer_of(std::string_view bytes) {
  if (bytes.empty() || bytes.front() != kOfKeys) return {};
  const size_t size = big_endian_of(bytes.substr(bytes.size() - kTrailerSizeBytes));
  return bytes.substr(bytes.size() - size, size - kTrailerSizeBytes);
}

void append_trailer(std::string* out, std::string_view trailer) {
  if (out->empty() || out->front() != kOfKeys) return;
  *out += trailer;
  append_big_endian(out, trailer.size() + kTrailerSizeBytes, kTrailerSizeBytes);
}

void append_scales(std::string* trailer, const Range& range) {
  for (const RangeBound* bound : {&range.lower, &range.upper})
    if (!bound->key.empty()) append_big_endian(trailer, bound->scale, kScaleBytes);
}

Range take_ordered_range(std::string_view* bytes, std::string_view* trailer) {
  Range range;
  const char kind = bytes->front();
  bytes->remove_prefix(1);
  if (kind == kEmpty) return empty_range();
  range.lower = take_bound(bytes, true, kind == kOfKeys, trailer);
  range.upper = take_bound(bytes, false, kind == kOfKeys, trailer);
  return range;
}

void append_ordered_range(std::string* out, const Range& range) {
  *out += range.is_empty ? kEmpty : has_keys(range) ? kOfKeys : kOfIntegers;
  if (range.is_empty) return;
  put_bound(out, range.lower, true);
  put_bound(out, range.upper, false);
}

Range range_of_bytes(std::string_view bytes) {
  std::string_view trailer = trailer_of(bytes), part = ordered_part(bytes);
  return take_ordered_range(&part, &trailer);
}

std::string bytes_of_range(const Range& range) {
  std::string bytes, trailer;
  append_ordered_range(&bytes, range);
  append_scales(&trailer, range);
  append_trailer(&bytes, trailer);
  return bytes;
}

RangeBound bound_of(TypeId element, const Datum& value) {
  RangeBound bound;
  bound.is_infinite = value.null != 0;
  if (bound.is_infinite) return bound;
  if (element != TypeId::kNumeric) return bound.value = value.lo, bound;
  NumericKey key = numeric_key_of(value);
  bound.key = std::move(key.bytes);
  bound.scale = key.scale;
  return bound;
}

bool value_of_bound(const RangeBound& bound, const TextArena& arena, Datum* out) {
  if (bound.key.empty()) return *out = int_datum(bound.value), true;
  return parse_datum(make_type(TypeId::kNumeric), text_of_numeric_key({bound.key, bound.scale}), arena, out).ok();
}

Status make_range(TypeId type, Range range, Range* out) {
  if (range.is_empty) return *out = empty_range(), absl::OkStatus();
  for (RangeBound* bound : {&range.lower, &range.upper}) bound->is_inclusive &= !bound->is_infinite;
  const bool is_finite = !range.lower.is_infinite && !range.upper.is_infinite;
  const auto is_nothing = [&] {
    return is_finite && compare_values(range.lower, range.upper) == 0 &&
           !(range.lower.is_inclusive && range.upper.is_inclusive);
  };
  if (is_finite && compare_values(range.lower, range.upper) > 0)
    return sql_error("22000", "range lower bound must be less than or equal to range upper bound");
  if (is_nothing()) return *out = empty_range(), absl::OkStatus();
  if (is_discrete(type)) {
    if (!range.lower.is_infinite && !range.lower.is_inclusive) SCYPER_RETURN_IF_ERROR(move_bound(type, &range.lower));
    if (!range.upper.is_infinite && range.upper.is_inclusive) SCYPER_RETURN_IF_ERROR(move_bound(type, &range.upper));
    if (is_nothing()) return *out = empty_range(), absl::OkStatus();
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

}  // namespace scyper::query
