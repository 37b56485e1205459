#include "types/multirange.h"

#include <algorithm>
#include <utility>

#include "base/bounded_work.h"
#include "storage/trailer.h"
#include "types/big_endian.h"
#include "types/digits.h"

namespace scyper::query {

namespace {

constexpr size_t kCountBytes = 4;

Status malformed_multirange(std::string_view text, std::string_view detail) {
  return with_detail(sql_error("22P02", "malformed multirange literal: \"" + std::string(text) + "\""), detail);
}

bool begins_with_empty(std::string_view text) {
  constexpr std::string_view kWord = "empty";
  return text.size() >= kWord.size() &&
         std::equal(kWord.begin(), kWord.end(), text.begin(), [](char a, char b) { return a == to_lower(b); });
}

// Behind the range that `text` begins with; npos: it does not end.
size_t end_of_range(std::string_view text) {
  bool is_quoted = false;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (c == '\\')
      i++;
    else if (c == '"' && is_quoted && i + 1 < text.size() && text[i + 1] == '"')
      i++;
    else if (c == '"')
      is_quoted = !is_quoted;
    else if (!is_quoted && (c == ')' || c == ']'))
      return i + 1;
  }
  return std::string_view::npos;
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return text;
}

// The ranges up to the closing brace, which is the first of `rest` then.
Status parse_ranges(const SqlType& range, std::string_view whole, std::string_view* rest, std::vector<Range>* ranges) {
  for (bool is_first = true;; is_first = false) {
    *rest = without_blanks(*rest);
    if (rest->empty()) return malformed_multirange(whole, "Unexpected end of input.");
    if (is_first && rest->front() == '}') return absl::OkStatus();
    if (rest->front() == '[' || rest->front() == '(') {
      const size_t end = end_of_range(*rest);
      if (end == std::string_view::npos) return malformed_multirange(whole, "Unexpected end of input.");
      std::string bytes;
      SCYPER_RETURN_IF_ERROR(range_parse(range, rest->substr(0, end), &bytes));
      ranges->push_back(range_of_bytes(bytes));
      rest->remove_prefix(end);
    } else if (begins_with_empty(*rest)) {
      rest->remove_prefix(std::string_view("empty").size());
    } else {
      return malformed_multirange(whole, "Expected range start.");
    }
    *rest = without_blanks(*rest);
    if (rest->empty()) return malformed_multirange(whole, "Unexpected end of input.");
    if (rest->front() == '}') return absl::OkStatus();
    if (rest->front() != ',') return malformed_multirange(whole, "Expected comma or end of multirange.");
    rest->remove_prefix(1);
  }
}

}  // namespace

Multirange multirange_of_bytes(std::string_view bytes) {
  std::string_view trailer = trailer_of(bytes), rest = ordered_part(bytes);
  Multirange multirange;
  while (!rest.empty()) {
    poll_work();
    multirange.push_back(take_ordered_range(&rest, &trailer));
  }
  return multirange;
}

std::string bytes_of_multirange(const Multirange& multirange) {
  std::string bytes, trailer;
  for (const Range& range : multirange) {
    append_ordered_range(&bytes, range);
    append_scales(&trailer, range);
  }
  append_trailer(&bytes, trailer);
  return bytes;
}

Multirange make_multirange(std::vector<Range> ranges) {
  std::erase_if(ranges, [](const Range& range) { return range.is_empty; });
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return compare_ranges(a, b) < 0; });
  Multirange multirange;
  for (Range& range : ranges) {
    poll_work();
    if (!multirange.empty() &&
        (!range_is_before(multirange.back(), range) || range_is_adjacent(multirange.back(), range)))
      multirange.back() = range_span(multirange.back(), range);
    else
      multirange.push_back(std::move(range));
  }
  return multirange;
}

Range multirange_span(const Multirange& multirange) {
  if (multirange.empty()) return empty_range();
  return {false, multirange.front().lower, multirange.back().upper};
}

Status multirange_parse(const SqlType& type, std::string_view text, std::string* bytes) {
  std::string_view rest = without_blanks(text);
  if (rest.empty() || rest.front() != '{') return malformed_multirange(text, "Missing left brace.");
  rest.remove_prefix(1);
  std::vector<Range> ranges;
  SCYPER_RETURN_IF_ERROR(parse_ranges(make_type(range_of_multirange(type.id)), text, &rest, &ranges));
  rest.remove_prefix(1);
  if (!without_blanks(rest).empty()) return malformed_multirange(text, "Junk after closing right brace.");
  *bytes = bytes_of_multirange(make_multirange(std::move(ranges)));
  return absl::OkStatus();
}

void multirange_append(std::string* out, const SqlType& type, const Multirange& multirange) {
  *out += '{';
  for (size_t i = 0; i < multirange.size(); i++) {
    if (i > 0) *out += ',';
    range_append(out, make_type(range_of_multirange(type.id)), multirange[i]);
  }
  *out += '}';
}

Status multirange_receive(const SqlType& type, std::string_view sent, std::string* bytes) {
  const auto take = [&](uint64_t* number) {
    if (sent.size() < kCountBytes) return false;
    *number = big_endian_of(sent.substr(0, kCountBytes));
    sent.remove_prefix(kCountBytes);
    return true;
  };
  const Status too_short = sql_error("08P01", "insufficient data left in message");
  uint64_t count = 0, size = 0;
  if (!take(&count)) return too_short;
  std::vector<Range> ranges;
  for (uint64_t i = 0; i < count; i++) {
    if (!take(&size) || size > sent.size()) return too_short;
    std::string range;
    SCYPER_RETURN_IF_ERROR(range_receive(make_type(range_of_multirange(type.id)), sent.substr(0, size), &range));
    ranges.push_back(range_of_bytes(range));
    sent.remove_prefix(size);
  }
  if (!sent.empty()) return sql_error("22P03", "incorrect binary data format for type " + type_name(type));
  *bytes = bytes_of_multirange(make_multirange(std::move(ranges)));
  return absl::OkStatus();
}

void multirange_send(std::string* out, const SqlType& type, const Multirange& multirange) {
  append_big_endian(out, multirange.size(), kCountBytes);
  for (const Range& range : multirange) {
    std::string sent;
    range_send(&sent, make_type(range_of_multirange(type.id)), range);
    append_big_endian(out, sent.size(), kCountBytes);
    *out += sent;
  }
}

bool multirange_has(const Multirange& multirange, const RangeBound& value) {
  return std::any_of(multirange.begin(), multirange.end(), [&](const Range& range) { return range_has(range, value); });
}

bool multirange_contains(const Multirange& a, const Multirange& b) {
  size_t i = 0;
  return std::all_of(b.begin(), b.end(), [&](const Range& range) {
    while (i < a.size() && range_is_before(a[i], range)) i++;
    return i < a.size() && range_contains(a[i], range);
  });
}

bool multirange_overlaps(const Multirange& a, const Multirange& b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (range_overlaps(a[i], b[j])) return true;
    range_is_before(a[i], b[j]) ? i++ : j++;
  }
  return false;
}

Multirange multirange_union(const Multirange& a, const Multirange& b) {
  std::vector<Range> ranges = a;
  ranges.insert(ranges.end(), b.begin(), b.end());
  return make_multirange(std::move(ranges));
}

Multirange multirange_intersection(const Multirange& a, const Multirange& b) {
  std::vector<Range> ranges;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (range_overlaps(a[i], b[j])) ranges.push_back(range_intersection(a[i], b[j]));
    compare_bounds(a[i].upper, false, b[j].upper, false) < 0 ? i++ : j++;
  }
  return make_multirange(std::move(ranges));
}

Multirange multirange_difference(const Multirange& a, const Multirange& b) {
  std::vector<Range> ranges;
  size_t j = 0;
  for (Range rest : a) {
    poll_work();
    while (j < b.size() && range_is_before(b[j], rest)) j++;
    for (size_t k = j; k < b.size() && !rest.is_empty && range_overlaps(rest, b[k]); k++) {
      const bool keeps_left = compare_bounds(rest.lower, true, b[k].lower, true) < 0;
      const bool keeps_right = compare_bounds(rest.upper, false, b[k].upper, false) > 0;
      RangeBound left_end = b[k].lower, right_begin = b[k].upper;
      left_end.is_inclusive = !left_end.is_inclusive;
      right_begin.is_inclusive = !right_begin.is_inclusive;
      if (keeps_left) ranges.push_back({false, rest.lower, left_end});
      rest = keeps_right ? Range{false, right_begin, rest.upper} : empty_range();
    }
    ranges.push_back(std::move(rest));
  }
  return make_multirange(std::move(ranges));
}

}  // namespace scyper::query
