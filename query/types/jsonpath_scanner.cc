#include "types/jsonpath_scanner.h"

#include <algorithm>

#include "types/digits.h"
#include "types/jsonb.h"
#include "types/text.h"

namespace scyper::query {

namespace {

constexpr std::string_view kSpecial = "?%$.[]{}()|&!=<>@#,*:-+/";
constexpr std::string_view kBlanks = " \t\n\r\f";

bool is_special(char c) { return kSpecial.find(c) != std::string_view::npos; }
bool is_blank(char c) { return kBlanks.find(c) != std::string_view::npos; }
// Neither special nor a blank, a quote or a backslash.
bool is_other(char c) { return !is_special(c) && !is_blank(c) && c != '"' && c != '\\'; }

struct Keyword {
  std::string_view text;
  PathToken token;
  bool lowercase_only;
};
constexpr Keyword kKeywords[] = {
    {"is", PathToken::kIs, false},
    {"to", PathToken::kTo, false},
    {"abs", PathToken::kAbs, false},
    {"lax", PathToken::kLax, false},
    {"flag", PathToken::kFlag, false},
    {"last", PathToken::kLast, false},
    {"null", PathToken::kNull, true},
    {"size", PathToken::kSize, false},
    {"true", PathToken::kTrue, true},
    {"type", PathToken::kType, false},
    {"with", PathToken::kWith, false},
    {"false", PathToken::kFalse, true},
    {"floor", PathToken::kFloor, false},
    {"double", PathToken::kDouble, false},
    {"exists", PathToken::kExists, false},
    {"starts", PathToken::kStarts, false},
    {"strict", PathToken::kStrict, false},
    {"ceiling", PathToken::kCeiling, false},
    {"unknown", PathToken::kUnknown, false},
    {"datetime", PathToken::kDatetime, false},
    {"keyvalue", PathToken::kKeyValue, false},
    {"like_regex", PathToken::kLikeRegex, false},
};

struct Operator {
  std::string_view text;
  PathToken token;
};
constexpr Operator kOperators[] = {
    // the longest first
    {"&&", PathToken::kAnd},      {"||", PathToken::kOr},
    {"**", PathToken::kAnyPath},  {"<=", PathToken::kLessOrEqual},
    {"==", PathToken::kEqual},    {"<>", PathToken::kNotEqual},
    {"!=", PathToken::kNotEqual}, {">=", PathToken::kGreaterOrEqual},
    {"<", PathToken::kLess},      {">", PathToken::kGreater},
    {"!", PathToken::kNot},
};

Status surrogate_error(const char* detail) {
  return with_detail(sql_error("22P02", "invalid input syntax for type jsonpath"), detail);
}
constexpr const char* kLowMustFollow = "Unicode low surrogate must follow a high surrogate.";

}  // namespace

Status PathScanner::error(std::string_view message) const {
  const std::string text(message);
  if (shown_.empty()) return sql_error("42601", text + " at end of jsonpath input");
  return sql_error("42601", text + " at or near \"" + std::string(shown_) + "\" of jsonpath input");
}

void PathScanner::take(PathToken token, size_t size) {
  token_ = token;
  shown_ = text_.substr(at_, size);
  at_ += size;
}

Status PathScanner::skip_comment() {
  const size_t end = text_.find("*/", at_ + 2);
  if (end == std::string_view::npos) {
    shown_ = {};
    return error("unexpected end of comment");
  }
  at_ = end + 2;
  return absl::OkStatus();
}

Status PathScanner::advance() {
  for (;;) {
    while (has() && is_blank(peek())) at_++;
    if (!rest().starts_with("/*")) break;
    SCYPER_RETURN_IF_ERROR(skip_comment());
  }
  value_.clear();
  if (!has()) return take(PathToken::kEnd, 0), absl::OkStatus();
  if (take_operator()) return absl::OkStatus();
  const char c = peek();
  if (c == '"') return at_++, take_quoted(PathToken::kString);
  if (c == '$' && peek(1) == '"') return at_ += 2, take_quoted(PathToken::kVariable);
  if (c == '$' && has(1) && is_other(peek(1))) {
    size_t size = 1;
    while (has(size) && is_other(peek(size))) size++;
    value_ = text_.substr(at_ + 1, size - 1);
    return take(PathToken::kVariable, size), absl::OkStatus();
  }
  if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return take_number();
  if (!is_special(c)) return take_word();
  character_ = c;
  return take(PathToken::kCharacter, 1), absl::OkStatus();
}

bool PathScanner::take_operator() {
  const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                   [&](const Operator& op) { return rest().starts_with(op.text); });
  if (found == std::end(kOperators)) return false;
  take(found->token, found->text.size());
  return true;
}

size_t PathScanner::word_size() const {
  size_t size = 0;
  while (has(size) && is_other(peek(size))) size++;
  return size;
}

// The longest token wins, as in PostgreSQL's scanner: 1ab is a name, 1a a wrong number.
Status PathScanner::take_number() {
  size_t size = 0;
  const auto digits = [&] {
    const size_t start = size;
    while (is_digit(peek(size))) size++;
    return size > start;
  };
  bool is_integer = true;
  if (peek() == '0')
    size = 1;
  else
    digits();
  if (peek(size) == '.') {
    is_integer = false;
    size++;
    digits();
  }
  const size_t before_exponent = size;
  if (to_lower(peek(size)) == 'e') {
    size++;
    const bool is_signed = peek(size) == '+' || peek(size) == '-';
    if (is_signed) size++;
    if (!digits()) {
      const size_t wrong = before_exponent + (is_signed ? 2 : 1);
      if (word_size() > wrong) return take_word();
      shown_ = text_.substr(at_, wrong);
      return error(is_signed ? "invalid numeric literal" : "trailing junk after numeric literal");
    }
    is_integer = false;
  }
  if (has(size) && is_other(peek(size))) {
    if (word_size() > size + 1) return take_word();
    shown_ = text_.substr(at_, size + 1);
    return error("trailing junk after numeric literal");
  }
  value_ = text_.substr(at_, size);
  return take(is_integer ? PathToken::kInteger : PathToken::kNumeric, size), absl::OkStatus();
}

// Behind the quote.
Status PathScanner::take_quoted(PathToken token) {
  while (has() && peek() != '"') {
    if (peek() == '\\') {
      SCYPER_RETURN_IF_ERROR(take_escape());
    } else {
      value_.push_back(text_[at_++]);
    }
  }
  if (!has()) {
    shown_ = {};
    return error("unexpected end of quoted string");
  }
  return take(token, 1), absl::OkStatus();
}

// A name. What ends it is what messages show, as PostgreSQL does: blanks, or nothing.
Status PathScanner::take_word() {
  while (has()) {
    if (peek() == '\\') {
      SCYPER_RETURN_IF_ERROR(take_escape());
    } else if (is_other(peek())) {
      value_.push_back(text_[at_++]);
    } else {
      break;
    }
  }
  size_t blanks = 0;
  while (has(blanks) && is_blank(peek(blanks))) blanks++;
  return take(keyword(), blanks), absl::OkStatus();
}

PathToken PathScanner::keyword() const {
  for (const Keyword& known : kKeywords) {
    if (known.text.size() != value_.size()) continue;
    const bool fits = std::equal(value_.begin(), value_.end(), known.text.begin(),
                                 [&](char a, char b) { return (known.lowercase_only ? a : to_lower(a)) == b; });
    if (fits) return known.token;
  }
  return PathToken::kIdentifier;
}

Status PathScanner::append_character(uint32_t code) {
  if (code == 0)
    return with_detail(sql_error("22P05", "unsupported Unicode escape sequence"),
                       "\\u0000 cannot be converted to text.");
  constexpr uint32_t kLastCharacter = 0x10ffff;
  if (code > kLastCharacter) return sql_error("42601", "invalid Unicode code point");
  json_append_utf8(&value_, code);
  return absl::OkStatus();
}

Status PathScanner::take_escape() {
  static constexpr std::string_view kLetters = "bfnrtv", kMeanings = "\b\f\n\r\t\v";
  const char c = peek(1);
  if (!has(1) || c == '\n') {
    shown_ = text_.substr(at_, 1);
    return error("unexpected end after backslash");
  }
  if (c == 'u') return take_unicode();
  if (c == 'x') {
    const int high = has(2) ? hex_value_of(peek(2)) : -1, low = has(3) ? hex_value_of(peek(3)) : -1;
    if (high < 0 || low < 0) {
      shown_ = text_.substr(at_, high < 0 ? 2 : 3);
      return error("invalid hex character sequence");
    }
    at_ += 4;
    return append_character(static_cast<uint32_t>(high * 16 + low));
  }
  const size_t letter = kLetters.find(c);
  value_.push_back(letter == std::string_view::npos ? c : kMeanings[letter]);
  at_ += 2;
  return absl::OkStatus();
}

// A run of \uXXXX and \u{X...}: surrogates come in pairs.
Status PathScanner::take_unicode() {
  constexpr uint32_t kHigh = 0xd800, kLow = 0xdc00, kEnd = 0xe000;
  const size_t start = at_;
  uint32_t high = 0;
  while (rest().starts_with("\\u")) {
    size_t size = 2;
    uint32_t code = 0;
    const bool braces = peek(2) == '{';
    const size_t digits_max = braces ? 6 : 4, first = braces ? 3 : 2;
    for (size = first; size < first + digits_max && has(size) && hex_value_of(peek(size)) >= 0; size++)
      code = code * 16 + static_cast<uint32_t>(hex_value_of(peek(size)));
    if (braces ? size == first || peek(size) != '}' : size < first + digits_max) {
      shown_ = text_.substr(start, at_ + size - start);
      return error("invalid unicode sequence");
    }
    at_ += size + (braces ? 1 : 0);
    if (code >= kHigh && code < kLow) {
      if (high != 0) return surrogate_error("Unicode high surrogate must not follow a high surrogate.");
      high = code;
      continue;
    }
    const bool is_low = code >= kLow && code < kEnd;
    if (is_low != (high != 0)) return surrogate_error(kLowMustFollow);
    if (is_low) code = 0x10000 + ((high - kHigh) << 10) + (code - kLow);
    high = 0;
    SCYPER_RETURN_IF_ERROR(append_character(code));
  }
  return high != 0 ? surrogate_error(kLowMustFollow) : absl::OkStatus();
}

}  // namespace scyper::query
