#include "types/regular_expression.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/bounded_work.h"
#include "types/digits.h"
#include "types/regex_tree.h"
#include "types/text.h"

namespace scyper::query {

namespace {

// PostgreSQL's syntax as RE2's, as far as RE2 has the same. Otherwise needs_tree() is true, and the rest is not
// translated.
class Translation {
 public:
  Translation(std::string_view pattern, RegexFlags flags) : in_(pattern), flags_(flags) {}

  Status run() {
    SCYPER_RETURN_IF_ERROR(take_director());
    if (flags_.literal) {
      out_ = re2::RE2::QuoteMeta(re2::StringPiece(in_.data() + at_, in_.size() - at_));
      return absl::OkStatus();
    }
    begin_ = at_;
    while (at_ < in_.size() && !needs_tree_) SCYPER_RETURN_IF_ERROR(take());
    return absl::OkStatus();
  }
  const std::string& text() const { return out_; }
  const RegexFlags& flags() const { return flags_; }
  // Which text a group has depends on rules that RE2 does not have: it finds the match only.
  bool needs_groups() const { return has_group_ && (has_choice_ || repeats_group_); }
  bool needs_tree() const { return needs_tree_; }
  std::string_view pattern() const { return in_.substr(begin_); }  // behind director and options

 private:
  // ***: and ***=, then (?flags).
  Status take_director() {
    if (in_.substr(0, 4) == "***=") return at_ = 4, flags_.literal = true, absl::OkStatus();
    if (in_.substr(0, 4) == "***:") at_ = 4;
    if (in_.substr(at_, 2) != "(?" || at_ + 2 >= in_.size() ||
        !(to_lower(in_[at_ + 2]) >= 'a' && to_lower(in_[at_ + 2]) <= 'z'))
      return absl::OkStatus();
    size_t end = in_.find(')', at_);
    if (end == std::string_view::npos) return invalid_regex("invalid embedded option");
    Status status = parse_regex_flags(in_.substr(at_ + 2, end - at_ - 2), &flags_);
    if (!status.ok()) return invalid_regex("invalid embedded option");
    at_ = end + 1;
    return absl::OkStatus();
  }

  Status take() {
    char c = in_[at_];
    const bool behind_constraint = std::exchange(is_constraint_, false);
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
      is_constraint_ = true;
      return at_++, absl::OkStatus();
    }
    has_group_ |= c == '(';
    has_choice_ |= c == '|';
    bool quantifier = c == '*' || c == '+' || c == '?' || c == '{';
    if (c == '{' && (at_ + 1 >= in_.size() || !is_digit(in_[at_ + 1]))) {
      out_ += "\\{";
      return at_++, absl::OkStatus();
    }
    if (quantifier && behind_constraint) return invalid_regex("quantifier operand invalid");
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
    repeats_group_ |= flags_.expanded || (at_ > 0 && in_[at_ - 1] == ')');
    size_t end = at_ + 1;
    if (in_[at_] == '{') {
      end = in_.find('}', at_);
      if (end == std::string_view::npos) return invalid_regex("braces {} not balanced");
      if (!are_bounds(in_.substr(at_ + 1, end - at_ - 1))) return invalid_regex("invalid repetition count(s)");
      end++;
    }
    out_.append(in_.substr(at_, end - at_));
    at_ = end;
    if (at_ < in_.size() && in_[at_] == '?') {
      return leave();
    } else if (at_ < in_.size() && (in_[at_] == '*' || in_[at_] == '+')) {
      return invalid_regex("quantifier operand invalid");
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
      if (end == std::string_view::npos) return invalid_regex("parentheses () not balanced");
      at_ = end + 1;
      return absl::OkStatus();
    }
    for (std::string_view look : {"=", "!", "<=", "<!"})
      if (rest.starts_with(look)) return leave();
    return invalid_regex("quantifier operand invalid");
  }

  // A code point of `digits` hexadecimal digits; more where `open`.
  Status take_hexadecimal(size_t digits, bool open) {
    size_t start = at_;
    while (at_ < in_.size() && std::isxdigit(static_cast<unsigned char>(in_[at_])) && (open || at_ - start < digits))
      at_++;
    if (at_ - start < digits) return invalid_regex("invalid escape \\ sequence");
    out_ += "\\x{" + std::string(in_.substr(start, at_ - start)) + "}";
    return absl::OkStatus();
  }

  Status take_escape(bool in_bracket) {
    if (at_ + 1 >= in_.size()) return invalid_regex("invalid escape \\ sequence");
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
        if (in_bracket) return invalid_regex("invalid escape \\ sequence");
        is_constraint_ = true;
        out_ += c == 'y' ? "\\b" : "\\B";
        return absl::OkStatus();
      case 'A':
      case 'Z':
        if (in_bracket) return invalid_regex("invalid escape \\ sequence");
        is_constraint_ = true;
        out_ += c == 'A' ? "\\A" : "\\z";
        return absl::OkStatus();
      case 'm':
      case 'M':
        if (in_bracket) return invalid_regex("invalid escape \\ sequence");
        return leave();
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
        if (at_ >= in_.size()) return invalid_regex("invalid escape \\ sequence");
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
    if (is_digit(c)) return leave();
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return invalid_regex("invalid escape \\ sequence");
    if (static_cast<unsigned char>(c) < 128) out_ += '\\';
    out_ += c;
    return absl::OkStatus();
  }

  Status take_bracket() {
    if (in_.substr(at_, 7) == "[[:<:]]" || in_.substr(at_, 7) == "[[:>:]]") return leave();
    out_ += '[';
    at_++;
    bool negated = at_ < in_.size() && in_[at_] == '^';
    if (negated) {
      out_ += '^';
      if (!flags_.dot_newline) out_ += "\\n";
      at_++;
    }
    bool first = true;
    for (; at_ < in_.size() && !needs_tree_; first = false) {
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
        if (kind == '.' || kind == '=') return leave();
        if (kind == ':') {
          size_t end = in_.find(":]", at_ + 2);
          if (end == std::string_view::npos) return invalid_regex("brackets [] not balanced");
          out_.append(in_.substr(at_, end + 2 - at_));
          at_ = end + 2;
          continue;
        }
      }
      if (c == '[' || c == ']') out_ += '\\';
      out_ += c;
      at_++;
    }
    return needs_tree_ ? Status() : invalid_regex("brackets [] not balanced");
  }

  Status leave() { return needs_tree_ = true, absl::OkStatus(); }

  std::string_view in_;
  RegexFlags flags_;
  size_t at_ = 0;
  std::string out_;
  size_t begin_ = 0;
  bool needs_tree_ = false;
  bool has_group_ = false, has_choice_ = false, repeats_group_ = false;
  bool is_constraint_ = false;  // the last thing was an anchor or a word boundary, which takes no quantifier
};

Status error_of(const re2::RE2& regex) {
  switch (regex.error_code()) {
    case re2::RE2::ErrorMissingParen:
    case re2::RE2::ErrorUnexpectedParen:
      return invalid_regex("parentheses () not balanced");
    case re2::RE2::ErrorMissingBracket:
      return invalid_regex("brackets [] not balanced");
    case re2::RE2::ErrorBadCharRange:
      return invalid_regex("invalid character range");
    case re2::RE2::ErrorBadCharClass:
      return invalid_regex("invalid character class");
    case re2::RE2::ErrorRepeatSize:
      return invalid_regex("invalid repetition count(s)");
    case re2::RE2::ErrorRepeatArgument:
    case re2::RE2::ErrorRepeatOp:
      return invalid_regex("quantifier operand invalid");
    case re2::RE2::ErrorBadEscape:
    case re2::RE2::ErrorTrailingBackslash:
      return invalid_regex("invalid escape \\ sequence");
    case re2::RE2::ErrorPatternTooLarge:
      return invalid_regex("regular expression is too complex");
    default:
      return invalid_regex(regex.error());
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

Status invalid_regex(std::string_view what) {
  return sql_error("2201B", "invalid regular expression: " + std::string(what));
}

struct Regex::Impl {
  std::unique_ptr<re2::RE2> regex;        // null: `matcher` finds the matches
  std::unique_ptr<RegexMatcher> matcher;  // with `regex`: it takes apart what that finds
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
  const auto is_there = [&](const Entry& entry) {
    return entry.regex != nullptr && same_key(entry.key, pattern, flags);
  };
  for (size_t i = 0; i <= kEntries; i++) {
    const size_t entry = i == 0 ? last : i - 1;
    if (!is_there(cache[entry])) continue;
    Impl& impl = *cache[last = entry].regex->impl_;
    if (impl.matcher != nullptr) impl.matcher->forget_text();
    return cache[entry].regex.get();
  }
  Translation translation(pattern, flags);
  SCYPER_RETURN_IF_ERROR(translation.run());
  auto impl = std::make_unique<Impl>();
  if (translation.needs_tree() || translation.needs_groups()) {
    SCYPER_ASSIGN_OR_RETURN(auto tree, parse_regex_tree(translation.pattern(), translation.flags()));
    impl->matcher = std::make_unique<RegexMatcher>(std::move(tree));
  }
  if (!translation.needs_tree()) {
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_case_sensitive(!translation.flags().ignore_case);
    options.set_dot_nl(translation.flags().dot_newline);
    options.set_longest_match(true);  // as POSIX wants it
    options.set_max_mem(int64_t{4} << 20);
    const BoundedWork::Pause pause;  // RE2 has a bound of its own, and is not to be left by an exception
    impl->regex = std::make_unique<re2::RE2>(translation.text(), options);
    if (!impl->regex->ok()) return error_of(*impl->regex);
  }
  last = next;
  next = (next + 1) % kEntries;
  cache[last] = {key_of(pattern, flags), std::unique_ptr<Regex>(new Regex(std::move(impl)))};
  return cache[last].regex.get();
}

bool Regex::matches(std::string_view text) const {
  if (impl_->regex == nullptr) return impl_->matcher->matches(text);
  const BoundedWork::Pause pause;
  return impl_->regex->Match(re2::StringPiece(text.data(), text.size()), 0, text.size(), re2::RE2::UNANCHORED, nullptr,
                             0);
}

int Regex::group_count() const {
  return impl_->matcher != nullptr ? impl_->matcher->group_count() : impl_->regex->NumberOfCapturingGroups();
}

bool Regex::find(std::string_view text, size_t start, std::vector<std::string_view>* groups) const {
  poll_work();
  if (impl_->regex == nullptr) return impl_->matcher->find(text, start, groups);
  std::vector<re2::StringPiece> pieces(impl_->matcher != nullptr ? 1 : static_cast<size_t>(group_count()) + 1);
  const auto match = [&] {
    const BoundedWork::Pause pause;
    return impl_->regex->Match(re2::StringPiece(text.data(), text.size()), start, text.size(), re2::RE2::UNANCHORED,
                               pieces.data(), static_cast<int>(pieces.size()));
  };
  if (!match()) return false;
  if (impl_->matcher != nullptr)
    return impl_->matcher->take_apart(text, {pieces[0].data(), pieces[0].size()}, groups), true;
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
