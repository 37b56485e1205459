#include "base/bounded_work.h"
#include "types/digits.h"
#include "types/text.h"

namespace scyper::query {

namespace {

struct Cursor {
  const char* p;
  const char* end;
  bool at_end() const noexcept { return p == end; }
};

struct Matcher {
  std::string_view escape;
  bool ignore_case;

  bool at_escape(const Cursor& pattern) const noexcept {
    return !escape.empty() && static_cast<size_t>(pattern.end - pattern.p) >= escape.size() &&
           std::memcmp(pattern.p, escape.data(), escape.size()) == 0;
  }
  bool same(char a, char b) const noexcept { return a == b || (ignore_case && to_lower(a) == to_lower(b)); }
};

void skip_character(Cursor* c) noexcept {
  size_t size = character_size(*c->p);
  c->p = size > static_cast<size_t>(c->end - c->p) ? c->end : c->p + size;
}

// After a '%': skips what belongs to the run of wildcards, one text character for each '_'. False when the text is too
// short for them.
bool skip_wildcards(const Matcher& matcher, Cursor* pattern, Cursor* text) noexcept {
  while (!pattern->at_end() && !matcher.at_escape(*pattern)) {
    if (*pattern->p == '_') {
      if (text->at_end()) return false;
      skip_character(text);
    } else if (*pattern->p != '%') {
      break;
    }
    ++pattern->p;
  }
  return true;
}

// Moves the text to where the pattern's literal start occurs next, as far as it begins with one; false when it does
// not. A literal starts with the first byte of a character, so a hit is never inside one.
bool seek_literal(const Matcher& matcher, const Cursor& pattern, Cursor* text) noexcept {
  if (matcher.ignore_case) return true;
  Cursor literal = pattern;
  while (!literal.at_end() && *literal.p != '%' && *literal.p != '_' && !matcher.at_escape(literal)) ++literal.p;
  size_t size = static_cast<size_t>(literal.p - pattern.p);
  if (size == 0) return true;
  const void* found = memmem(text->p, static_cast<size_t>(text->end - text->p), pattern.p, size);
  if (found == nullptr) return false;
  text->p = static_cast<const char*>(found);
  return true;
}

}  // namespace

// A mismatch goes back to the last '%' only: what stands before it has matched already, and a longer match of an
// earlier '%' could not help. Long texts and patterns may still take long: a result is of no use once the work has to
// end, so the search ends early then.
ValueError like(std::string_view text, std::string_view pattern, std::string_view escape, bool ignore_case,
                bool* out) noexcept {
  if (!escape.empty() && escape.size() != character_size(escape[0])) return ValueError::kInvalidEscape;
  Matcher matcher{escape, ignore_case};
  Cursor t{text.data(), text.data() + text.size()};
  Cursor p{pattern.data(), pattern.data() + pattern.size()};
  Cursor retry_text{nullptr, t.end}, retry_pattern{nullptr, p.end};
  constexpr size_t kComparedPerPoll = size_t{1} << 20;
  size_t compared = 0;
  *out = false;
  while (!t.at_end()) {
    bool literal = matcher.at_escape(p);
    if (literal) {
      p.p += escape.size();
      if (p.at_end()) return ValueError::kPatternEndsInEscape;
    }
    if (!literal && !p.at_end() && *p.p == '%') {
      ++p.p;
      if (!skip_wildcards(matcher, &p, &t)) return ValueError::kNone;
      if (p.at_end()) {
        *out = true;
        return ValueError::kNone;
      }
      if (matcher.at_escape(p) && p.p + escape.size() == p.end) return ValueError::kPatternEndsInEscape;
      if (!seek_literal(matcher, p, &t)) return ValueError::kNone;
      retry_text = t;
      retry_pattern = p;
      continue;
    }
    if (!literal && !p.at_end() && *p.p == '_') {
      ++p.p;
      skip_character(&t);
      continue;
    }
    if (!p.at_end() && matcher.same(*p.p, *t.p)) {
      ++p.p;
      ++t.p;
      continue;
    }
    if (retry_text.p == nullptr) return ValueError::kNone;
    compared += static_cast<size_t>(t.p - retry_text.p);
    if (compared > kComparedPerPoll) {
      if (work_must_end()) return ValueError::kNone;
      compared = 0;
    }
    skip_character(&retry_text);
    p = retry_pattern;
    if (!seek_literal(matcher, p, &retry_text)) return ValueError::kNone;
    t = retry_text;
  }
  while (!p.at_end() && *p.p == '%' && !matcher.at_escape(p)) ++p.p;
  *out = p.at_end();
  return ValueError::kNone;
}

}  // namespace scyper::query
