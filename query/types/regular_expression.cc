#include "types/regular_expression.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/bounded_work.h"
#include "types/digits.h"
#include "types/text.h"

namespace scyper::query {

namespace {

Status invalid(std::string_view what) { return sql_error("2201B", "invalid regular expression: " + std::string(what)); }
Status unsupported(std::string_view what) {
  return sql_error("0A000", std::string(what) + " in regular expressions is not supported");
}

// PostgreSQL's syntax as RE2's.
class Translation {
 public:
  Translation(std::string_view pattern, RegexFlags flags) : in_(pattern), flags_(flags) {}

  Status run() {
    SCYPER_RETURN_IF_ERROR(take_director());
    if (flags_.literal) {
      out_ = re2::RE2::QuoteMeta(re2::StringPiece(in_.data() + at_, in_.size() - at_));
      return absl::OkStatus();
    }
    while (at_ < in_.size()) SCYPER_RETURN_IF_ERROR(take());
    return absl::OkStatus();
  }
  const std::string& text() const { return out_; }
  const RegexFlags& flags() const { return flags_; }
  bool has_lazy() const { return lazy_; }

 private:
  // ***: and ***=, then (?flags).
  Status take_director() {
    if (in_.substr(0, 4) == "***=") return at_ = 4, flags_.literal = true, absl::OkStatus();
    if (in_.substr(0, 4) == "***:") at_ = 4;
    if (in_.substr(at_, 2) != "(?" || at_ + 2 >= in_.size() ||
        !(to_lower(in_[at_ + 2]) >= 'a' && to_lower(in_[at_ + 2]) <= 'z'))
      return absl::OkStatus();
    size_t end = in_.find(')', at_);
    if (end == std::string_view::npos) return invalid("invalid embedded option");
    Status status = parse_regex_flags(in_.substr(at_ + 2, end - at_ - 2), &flags_);
    if (!status.ok()) return invalid("invalid embedded option");
    at_ = end + 1;
    return absl::OkStatus();
  }

  Status take() {
    char c = in_[at_];
    if (c == '\\') return take_escape(false);
    if (c == '[') return take_bracket();
    if (c == '(' && in_.substr(at_, 2) == "(?") return take_special_group();
    if (flags_.expanded && is_space(c)) return at_++, absl::OkStatus();
    if (flags_.expanded && c == '#') {
      while (at_ < in_.size() && in_[at_] != '\n') at_++;
      return absl::OkStatus();
    }
    if (c == '^' || c == '$') {
      out_ += flags_.line_anchors ? (c == '^' ? "(?m:^)" : "(?m:$)") : (c == '^' ? "\\A" : "\\z");
      return at_++, absl::OkStatus();
    }
    bool quantifier = c == '*' || c == '+' || c == '?' || c == '{';
    if (c == '{' && (at_ + 1 >= in_.size() || !is_digit(in_[at_ + 1]))) {
      out_ += "\\{";
      return at_++, absl::OkStatus();
    }
    if (quantifier) return take_quantifier();
    out_ += c;
    at_++;
    return absl::OkStatus();
  }

  // m | m, | m,n
  static bool are_bounds(std::string_view text) {
    constexpr int kRepeatsMax = 255;  // PostgreSQL's
    int bounds[2] = {0, kRepeatsMax};
    size_t count = 0;
    while (count < 2) {
      const size_t size = std::min(text.find(','), text.size());
      const std::string_view number = text.substr(0, size);
      const auto [end, failure] = std::from_chars(number.data(), number.data() + number.size(), bounds[count]);
      const bool is_open = number.empty() && count == 1;
      if (!is_open && (failure != std::errc() || end != number.data() + number.size())) return false;
      count++;
      if (size == text.size()) return bounds[0] <= (count == 1 ? kRepeatsMax : bounds[1]) && bounds[1] <= kRepeatsMax;
      text.remove_prefix(size + 1);
    }
    return false;
  }

  Status take_quantifier() {
    size_t end = at_ + 1;
    if (in_[at_] == '{') {
      end = in_.find('}', at_);
      if (end == std::string_view::npos) return invalid("braces {} not balanced");
      if (!are_bounds(in_.substr(at_ + 1, end - at_ - 1))) return invalid("invalid repetition count(s)");
      end++;
    }
    out_.append(in_.substr(at_, end - at_));
    at_ = end;
    if (at_ < in_.size() && in_[at_] == '?') {
      lazy_ = true;
      out_ += '?';
      at_++;
    } else if (at_ < in_.size() && (in_[at_] == '*' || in_[at_] == '+')) {
      return invalid("quantifier operand invalid");
    }
    return absl::OkStatus();
  }

  Status take_special_group() {
    std::string_view rest = in_.substr(at_ + 2);
    if (rest.substr(0, 1) == ":") {
      out_ += "(?:";
      at_ += 3;
      return absl::OkStatus();
    }
    if (rest.substr(0, 1) == "#") {  // a comment
      size_t end = in_.find(')', at_);
      if (end == std::string_view::npos) return invalid("parentheses () not balanced");
      at_ = end + 1;
      return absl::OkStatus();
    }
    if (rest.substr(0, 1) == "=" || rest.substr(0, 1) == "!") return unsupported("lookahead");
    if (rest.substr(0, 2) == "<=" || rest.substr(0, 2) == "<!") return unsupported("lookbehind");
    return invalid("quantifier operand invalid");
  }

  // A code point of `digits` hexadecimal digits; more where `open`.
  Status take_hexadecimal(size_t digits, bool open) {
    size_t start = at_;
    while (at_ < in_.size() && std::isxdigit(static_cast<unsigned char>(in_[at_])) && (open || at_ - start < digits))
      at_++;
    if (at_ - start < digits) return invalid("invalid escape \\ sequence");
    out_ += "\\x{" + std::string(in_.substr(start, at_ - start)) + "}";
    return absl::OkStatus();
  }

  Status take_escape(bool in_bracket) {
    if (at_ + 1 >= in_.size()) return invalid("invalid escape \\ sequence");
    char c = in_[at_ + 1];
    at_ += 2;
    switch (c) {
      case 'd':
      case 'D':
      case 'w':
      case 'W':
      case 's':
      case 'S':
        if (c == 's' || c == 'S')
          out_ += in_bracket ? (c == 's' ? "[:space:]" : "[:^space:]") : (c == 's' ? "[[:space:]]" : "[[:^space:]]");
        else
          out_ += std::string("\\") + c;
        return absl::OkStatus();
      case 'y':
      case 'Y':
        if (in_bracket) return invalid("invalid escape \\ sequence");
        out_ += c == 'y' ? "\\b" : "\\B";
        return absl::OkStatus();
      case 'A':
      case 'Z':
        if (in_bracket) return invalid("invalid escape \\ sequence");
        out_ += c == 'A' ? "\\A" : "\\z";
        return absl::OkStatus();
      case 'm':
      case 'M':
        return unsupported("a word boundary \\m or \\M");
      case 'a':
        return out_ += "\\x07", absl::OkStatus();
      case 'b':
        return out_ += "\\x08", absl::OkStatus();
      case 'B':
        return out_ += "\\\\", absl::OkStatus();
      case 'e':
        return out_ += "\\x1b", absl::OkStatus();
      case 'f':
      case 'n':
      case 'r':
      case 't':
      case 'v':
        return out_ += std::string("\\") + c, absl::OkStatus();
      case 'c':
        if (at_ >= in_.size()) return invalid("invalid escape \\ sequence");
        out_ += "\\x" + std::string(1, "01"[in_[at_] >> 4 & 1]) + "0123456789abcdef"[in_[at_] & 15];
        return at_++, absl::OkStatus();
      case 'u':
        return take_hexadecimal(4, false);
      case 'U':
        return take_hexadecimal(8, false);
      case 'x':
        return take_hexadecimal(1, true);
      case '0':
        return out_ += "\\x00", absl::OkStatus();
      default:
        break;
    }
    if (is_digit(c)) return unsupported("a back reference");
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return invalid("invalid escape \\ sequence");
    if (static_cast<unsigned char>(c) < 128) out_ += '\\';
    out_ += c;
    return absl::OkStatus();
  }

  Status take_bracket() {
    if (in_.substr(at_, 7) == "[[:<:]]" || in_.substr(at_, 7) == "[[:>:]]")
      return unsupported("a word boundary [[:<:]]");
    out_ += '[';
    at_++;
    bool negated = at_ < in_.size() && in_[at_] == '^';
    if (negated) {
      out_ += '^';
      if (!flags_.dot_newline) out_ += "\\n";
      at_++;
    }
    bool first = true;
    for (; at_ < in_.size(); first = false) {
      char c = in_[at_];
      if (c == ']' && !first) {
        out_ += ']';
        return at_++, absl::OkStatus();
      }
      if (c == '\\') {
        SCYPER_RETURN_IF_ERROR(take_escape(true));
        continue;
      }
      if (c == '[' && at_ + 1 < in_.size()) {
        char kind = in_[at_ + 1];
        if (kind == '.' || kind == '=') return unsupported("a collating element");
        if (kind == ':') {
          size_t end = in_.find(":]", at_ + 2);
          if (end == std::string_view::npos) return invalid("brackets [] not balanced");
          out_.append(in_.substr(at_, end + 2 - at_));
          at_ = end + 2;
          continue;
        }
      }
      if (c == '[' || c == ']') out_ += '\\';
      out_ += c;
      at_++;
    }
    return invalid("brackets [] not balanced");
  }

  std::string_view in_;
  RegexFlags flags_;
  size_t at_ = 0;
  std::string out_;
  bool lazy_ = false;
};

Status error_of(const re2::RE2& regex) {
  switch (regex.error_code()) {
    case re2::RE2::ErrorMissingParen:
    case re2::RE2::ErrorUnexpectedParen:
      return invalid("parentheses () not balanced");
    case re2::RE2::ErrorMissingBracket:
      return invalid("brackets [] not balanced");
    case re2::RE2::ErrorBadCharRange:
      return invalid("invalid character range");
    case re2::RE2::ErrorBadCharClass:
      return invalid("invalid character class");
    case re2::RE2::ErrorRepeatSize:
      return invalid("invalid repetition count(s)");
    case re2::RE2::ErrorRepeatArgument:
    case re2::RE2::ErrorRepeatOp:
      return invalid("quantifier operand invalid");
    case re2::RE2::ErrorBadEscape:
    case re2::RE2::ErrorTrailingBackslash:
      return invalid("invalid escape \\ sequence");
    case re2::RE2::ErrorPatternTooLarge:
      return invalid("regular expression is too complex");
    default:
      return invalid(regex.error());
  }
}

std::string key_of(std::string_view pattern, const RegexFlags& flags) {
  std::string key(pattern);
  key += '\0';
  key += static_cast<char>('0' + (flags.ignore_case ? 1 : 0) + (flags.literal ? 2 : 0) + (flags.expanded ? 4 : 0) +
                           (flags.dot_newline ? 8 : 0) + (flags.line_anchors ? 16 : 0));
  return key;
}

bool same_key(std::string_view key, std::string_view pattern, const RegexFlags& flags) {
  if (key.size() != pattern.size() + 2 || std::memcmp(key.data(), pattern.data(), pattern.size()) != 0) return false;
  int bits = key.back() - '0';
  return bits == (flags.ignore_case ? 1 : 0) + (flags.literal ? 2 : 0) + (flags.expanded ? 4 : 0) +
                     (flags.dot_newline ? 8 : 0) + (flags.line_anchors ? 16 : 0);
}

}  // namespace

struct Regex::Impl {
  std::unique_ptr<re2::RE2> regex;
};

Regex::Regex(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Regex::~Regex() = default;

Status parse_regex_flags(std::string_view text, RegexFlags* flags) {
  for (char c : text) {
    switch (c) {
      case 'g':
        flags->global = true;
        break;
      case 'i':
        flags->ignore_case = true;
        break;
      case 'c':
        flags->ignore_case = false;
        break;
      case 'm':
      case 'n':
        flags->dot_newline = false;
        flags->line_anchors = true;
        break;
      case 'p':
        flags->dot_newline = false;
        flags->line_anchors = false;
        break;
      case 's':
        flags->dot_newline = true;
        flags->line_anchors = false;
        break;
      case 'w':
        flags->dot_newline = true;
        flags->line_anchors = true;
        break;
      case 'q':
        flags->literal = true;
        break;
      case 'x':
        flags->expanded = true;
        break;
      case 't':
        flags->expanded = false;
        break;
      case 'e':
        break;
      case 'b':
        return sql_error("0A000", "basic regular expressions are not supported");
      default: {
        std::string option(1, c);
        return sql_error("22023", "invalid regular expression option: \"" + option + "\"");
      }
    }
  }
  return absl::OkStatus();
}

StatusOr<const Regex*> Regex::compile(std::string_view pattern, const RegexFlags& flags) {
  struct Entry {
    std::string key;
    std::unique_ptr<Regex> regex;
  };
  constexpr size_t kEntries = 16;  // per thread; a query rarely has more patterns
  thread_local std::array<Entry, kEntries> cache;
  thread_local size_t last = 0, next = 0;
  if (cache[last].regex != nullptr && same_key(cache[last].key, pattern, flags)) return cache[last].regex.get();
  for (size_t i = 0; i < kEntries; i++)
    if (cache[i].regex != nullptr && same_key(cache[i].key, pattern, flags)) return cache[last = i].regex.get();
  Translation translation(pattern, flags);
  SCYPER_RETURN_IF_ERROR(translation.run());
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_case_sensitive(!translation.flags().ignore_case);
  options.set_dot_nl(translation.flags().dot_newline);
  options.set_longest_match(!translation.has_lazy());  // as POSIX wants it; lazy quantifiers know no longest match
  options.set_max_mem(int64_t{4} << 20);
  const BoundedWork::Pause pause;  // RE2 has a bound of its own, and is not to be left by an exception
  auto impl = std::make_unique<Impl>();
  impl->regex = std::make_unique<re2::RE2>(translation.text(), options);
  if (!impl->regex->ok()) return error_of(*impl->regex);
  last = next;
  next = (next + 1) % kEntries;
  cache[last] = {key_of(pattern, flags), std::unique_ptr<Regex>(new Regex(std::move(impl)))};
  return cache[last].regex.get();
}

bool Regex::matches(std::string_view text) const {
  const BoundedWork::Pause pause;
  return impl_->regex->Match(re2::StringPiece(text.data(), text.size()), 0, text.size(), re2::RE2::UNANCHORED, nullptr,
                             0);
}

int Regex::group_count() const { return impl_->regex->NumberOfCapturingGroups(); }

bool Regex::find(std::string_view text, size_t start, std::vector<std::string_view>* groups) const {
  poll_work();
  std::vector<re2::StringPiece> pieces(static_cast<size_t>(group_count()) + 1);
  const auto match = [&] {
    const BoundedWork::Pause pause;
    return impl_->regex->Match(re2::StringPiece(text.data(), text.size()), start, text.size(), re2::RE2::UNANCHORED,
                               pieces.data(), static_cast<int>(pieces.size()));
  };
  if (!match()) return false;
  groups->clear();
  for (const auto& piece : pieces) groups->emplace_back(piece.data(), piece.size());
  return true;
}

// PostgreSQL's similar_escape_internal(): % and _ become .* and ., what only regular expressions know is escaped, two
// escape-double-quotes cut out the part that SUBSTRING returns.
StatusOr<std::string> similar_to_regex(std::string_view pattern, std::string_view escape) {
  if (character_count(escape) > 1)
    return with_hint(sql_error("22025", "invalid escape string"), "Escape string must be empty or one character.");
  std::string out = "^(?:";
  int separators = 0;
  bool after_escape = false, in_bracket = false;
  bool lazy = escape.empty() ? false : pattern.find(std::string(escape) + "\"") != std::string_view::npos;
  for (size_t i = 0; i < pattern.size();) {
    std::string_view character = pattern.substr(i, character_size(pattern[i]));
    i += character.size();
    char c = character[0];
    if (after_escape) {
      after_escape = false;
      if (c == '"' && !in_bracket) {
        if (separators == 0)
          out += ")(";
        else if (separators == 1)
          out += ")(?:";
        else
          return sql_error("2200C",
                           "SQL regular expression may not contain more than two escape-double-quote separators");
        separators++;
        lazy = false;
      } else {
        if (static_cast<unsigned char>(c) < 128) out += '\\';
        out += character;
      }
    } else if (!escape.empty() && character == escape) {
      after_escape = true;
    } else if (in_bracket) {
      if (c == '\\') out += '\\';
      out += character;
      in_bracket = c != ']';
    } else if (c == '[') {
      out += c;
      in_bracket = true;
    } else if (c == '%') {
      out += lazy ? ".*?" : ".*";
    } else if (c == '_') {
      out += '.';
    } else if (c == '(') {
      out += "(?:";
    } else {
      if (c == '\\' || c == '.' || c == '^' || c == '$') out += '\\';
      out += character;
    }
  }
  return out + ")$";
}

}  // namespace scyper::query
