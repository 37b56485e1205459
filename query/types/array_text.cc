#include "types/array_text.h"

#include <charconv>
#include <cstring>

#include "base/check.h"
#include "types/datum_text.h"
#include "types/digits.h"

namespace scyper::query {

namespace {

constexpr int32_t kArraySizeMax = 134217727;  // PostgreSQL's MaxArraySize

Status malformed(std::string_view text, std::string_view detail) {
  return with_detail(error_status(ValueError::kMalformedArray, {}, text), detail);
}

// An array's text while it is read: `at` moves over it.
struct ArrayInput {
  std::string_view text;
  size_t at = 0;

  bool at_end() const { return at == text.size(); }
  char current() const { return at_end() ? '\0' : text[at]; }
  void skip_blanks() {
    while (!at_end() && is_space(text[at])) ++at;
  }
};

struct Bounds {
  bool given = false;
  int32_t lower = 1;
  int32_t upper = 0;
};

// A bound: digits and signs. False when there is none.
bool read_bound(ArrayInput* in, int32_t* out) {
  size_t start = in->at;
  while (is_digit(in->current()) || in->current() == '-' || in->current() == '+') ++in->at;
  const char* p = in->text.data() + start;
  const char* end = in->text.data() + in->at;
  bool negative = p < end && *p == '-';
  if (p < end && *p == '+') ++p;
  *out = 0;
  if (std::from_chars(p, end, *out).ec == std::errc::result_out_of_range) *out = negative ? INT32_MIN : INT32_MAX;
  return in->at > start;
}

// "[m:n]=" or "[n]=" before the brace.
Status read_bounds(ArrayInput* in, Bounds* out) {
  in->skip_blanks();
  while (in->current() == '[') {
    ++in->at;
    int32_t first = 0;
    if (!read_bound(in, &first)) {
      return malformed(in->text, "\"[\" must introduce explicitly-specified array dimensions.");
    }
    bool has_lower = in->current() == ':';
    int32_t upper = first;
    if (has_lower) {
      ++in->at;
      if (!read_bound(in, &upper)) return malformed(in->text, "Missing array dimension value.");
    }
    if (in->current() != ']') return malformed(in->text, "Missing \"]\" after array dimensions.");
    ++in->at;
    int32_t lower = has_lower ? first : 1;
    if (upper < lower) return sql_error("2202E", "upper bound cannot be less than lower bound");
    if (upper == INT32_MAX) {
      return sql_error("54000", "array lower bound is too large: " + std::to_string(lower));
    }
    if (out->given) return error_status(ValueError::kArrayUnsupported);
    *out = {true, lower, upper};
    in->skip_blanks();
  }
  if (!out->given) {
    if (in->current() == '{') return absl::OkStatus();
    return malformed(in->text, "Array value must start with \"{\" or dimension information.");
  }
  if (in->current() != '=') return malformed(in->text, "Missing \"=\" after array dimensions.");
  ++in->at;
  in->skip_blanks();
  if (in->current() == '{') return absl::OkStatus();
  return malformed(in->text, "Array contents must start with \"{\".");
}

enum class Place { kStart, kElement, kQuoted, kQuotedEnd, kDelimited };

// Checks the form from the opening brace to the end and counts the elements, without a look into them.
Status count_elements(ArrayInput in, int32_t* count) {
  Place place = Place::kStart;
  *count = 0;
  bool done = false;
  for (++in.at; !done; ++in.at) {
    if (in.at_end()) return malformed(in.text, "Unexpected end of input.");
    char c = in.current();
    bool quoted = place == Place::kQuoted;
    bool may_end = place == Place::kElement || place == Place::kQuotedEnd;
    if (c == '\\') {
      if (place == Place::kQuotedEnd) return malformed(in.text, "Unexpected \"\\\" character.");
      if (!quoted) place = Place::kElement;
      if (++in.at == in.text.size()) return malformed(in.text, "Unexpected end of input.");
    } else if (c == '"') {
      if (may_end) return malformed(in.text, "Unexpected array element.");
      place = quoted ? Place::kQuotedEnd : Place::kQuoted;
    } else if (quoted) {
      continue;
    } else if (c == '{') {
      if (place != Place::kStart) return malformed(in.text, "Unexpected \"{\" character.");
      return error_status(ValueError::kArrayUnsupported);
    } else if (c == '}') {
      if (!may_end && place != Place::kStart) return malformed(in.text, "Unexpected \"}\" character.");
      *count += may_end ? 1 : 0;
      done = true;
    } else if (c == ',') {
      if (!may_end) return malformed(in.text, "Unexpected \",\" character.");
      if (++*count >= kArraySizeMax) return error_status(ValueError::kArrayTooLarge);
      place = Place::kDelimited;
    } else if (!is_space(c)) {
      if (place == Place::kQuotedEnd) return malformed(in.text, "Unexpected array element.");
      place = Place::kElement;
    }
  }
  in.skip_blanks();
  return in.at_end() ? absl::OkStatus() : malformed(in.text, "Junk after closing right brace.");
}

bool is_null_word(std::string_view text) {
  return text.size() == 4 && to_lower(text[0]) == 'n' && to_lower(text[1]) == 'u' && to_lower(text[2]) == 'l' &&
         to_lower(text[3]) == 'l';
}

// The next element's text without quotes and escapes, into scratch; the form is known to be right. Ends behind the
// element's ',' or at the '}'.
std::string_view read_element(ArrayInput* in, char* scratch, bool* plain) {
  char* end = scratch;
  char* kept = scratch;  // blanks behind are not part of an unquoted element
  *plain = true;
  in->skip_blanks();
  for (bool quoted = false;; ++in->at) {
    char c = in->current();
    if (c == '\\') {
      ++in->at;
      *end++ = in->current();
      kept = end;
      *plain = false;
    } else if (c == '"') {
      quoted = !quoted;
      kept = end;
      *plain = false;
    } else if (!quoted && (c == ',' || c == '}')) {
      break;
    } else {
      *end++ = c;
      if (quoted || !is_space(c)) kept = end;
    }
  }
  if (in->current() == ',') ++in->at;
  return {scratch, static_cast<size_t>(kept - scratch)};
}

bool needs_quotes(std::string_view text) {
  if (text.empty() || is_null_word(text)) return true;
  for (char c : text) {
    if (c == '"' || c == '\\' || c == '{' || c == '}' || c == ',' || is_space(c)) return true;
  }
  return false;
}

void append_quoted(std::string* out, std::string_view text) {
  *out += '"';
  for (char c : text) {
    if (c == '"' || c == '\\') *out += '\\';
    *out += c;
  }
  *out += '"';
}

}  // namespace

Status parse_array(const SqlType& type, std::string_view text, const TextArena& arena, Datum* out) {
  static_assert(alignof(ArrayValue) <= 8 && alignof(Datum) <= 8);
  ArrayInput in{text};
  Bounds bounds;
  int32_t count = 0;
  SCYPER_RETURN_IF_ERROR(read_bounds(&in, &bounds));
  SCYPER_RETURN_IF_ERROR(count_elements(in, &count));
  if (bounds.given && int64_t{bounds.upper} - bounds.lower + 1 != count) {
    return malformed(text, "Specified array dimensions do not match array contents.");
  }
  size_t size = sizeof(ArrayValue) + static_cast<size_t>(count) * sizeof(Datum);
  char* memory = arena.allocate(size);
  char* scratch = arena.allocate(text.size());
  if (memory == nullptr || scratch == nullptr) return error_status(ValueError::kOutOfMemory);
  auto* elements = reinterpret_cast<Datum*>(memory + sizeof(ArrayValue));
  auto* array = new (memory) ArrayValue{count, count, bounds.lower, type.element, elements};
  ++in.at;
  for (int32_t i = 0; i < count; ++i) {
    bool plain;
    std::string_view element = read_element(&in, scratch, &plain);
    Datum* datum = new (elements + i) Datum();
    if (plain && is_null_word(element)) continue;
    SCYPER_RETURN_IF_ERROR(parse_datum(element_of(type), element, arena, datum));
  }
  *out = Datum{reinterpret_cast<int64_t>(array), 0, 0, 0, {}};
  return absl::OkStatus();
}

void append_array(std::string* out, const SqlType& type, const ArrayValue& array) {
  CHECK(type.id == TypeId::kArray);
  if (array.size > 0 && array.lower_bound != 1) {
    int64_t upper = int64_t{array.lower_bound} + array.size - 1;
    *out += "[" + std::to_string(array.lower_bound) + ":" + std::to_string(upper) + "]=";
  }
  SqlType element = element_of(type);
  std::string text;
  *out += '{';
  for (int32_t i = 0; i < array.size; ++i) {
    if (i > 0) *out += ',';
    if (array.elements[i].null != 0) {
      *out += "NULL";
      continue;
    }
    text.clear();
    append_datum(&text, element, array.elements[i]);
    if (needs_quotes(text)) {
      append_quoted(out, text);
    } else {
      *out += text;
    }
  }
  *out += '}';
}

}  // namespace scyper::query
