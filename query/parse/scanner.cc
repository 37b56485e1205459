#include "parse/scanner.h"

#include <algorithm>

#include "parse/text.h"

namespace scyper::query {
namespace {

constexpr std::string_view kOperatorChars = "~!@#^&|`?+-*/%<>=";

bool is_word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_word_start(c) || is_digit(c) || c == '$'; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_operator_char(char c) { return kOperatorChars.find(c) != std::string_view::npos; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  StatusOr<std::vector<Token>> run(size_t tokens_max) {
    std::vector<Token> tokens;
    tokens.reserve(std::min(text_.size() / 5 + 1, tokens_max));
    while (tokens.size() < tokens_max) {
      SCYPER_RETURN_IF_ERROR(skip_blanks());
      const size_t begin = at_;
      if (at_ >= text_.size()) {
        tokens.push_back(token(TokenKind::kEnd, begin));
        return tokens;
      }
      SCYPER_ASSIGN_OR_RETURN(const TokenKind kind, scan_one());
      tokens.push_back(token(kind, begin));
    }
    return tokens;
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  Token token(TokenKind kind, size_t begin) const {
    return Token{kind, static_cast<int32_t>(begin), static_cast<int32_t>(at_), text_.substr(begin, at_ - begin)};
  }

  Status unterminated(std::string_view what, size_t begin) const {
    std::string message = "unterminated ";
    message += what;
    message += " at or near \"";
    message += text_.substr(begin);
    message += "\"";
    return error_at("42601", message, text_, static_cast<int32_t>(begin));
  }

  Status skip_blanks() {
    while (at_ < text_.size()) {
      if (is_space(peek())) {
        ++at_;
      } else if (peek() == '-' && peek(1) == '-') {
        while (at_ < text_.size() && peek() != '\n' && peek() != '\r') ++at_;
      } else if (peek() == '/' && peek(1) == '*') {
        SCYPER_RETURN_IF_ERROR(skip_comment());
      } else {
        break;
      }
    }
    return {};
  }

  Status skip_comment() {
    const size_t begin = at_;
    int depth = 0;
    do {
      if (at_ >= text_.size()) return unterminated("/* comment", begin);
      if (peek() == '/' && peek(1) == '*') {
        ++depth;
        at_ += 2;
      } else if (peek() == '*' && peek(1) == '/') {
        --depth;
        at_ += 2;
      } else {
        ++at_;
      }
    } while (depth > 0);
    return {};
  }

  StatusOr<TokenKind> scan_one() {
    const char c = peek();
    if (c == '\'') return scan_string(false);
    if (c == '"') return scan_quoted_identifier();
    if (c == '$') return scan_dollar();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return scan_number();
    if (is_word_start(c)) return scan_word();
    scan_operator();
    return TokenKind::kOperator;
  }

  StatusOr<TokenKind> scan_word() {
    const char c = lower(peek());
    if (peek(1) == '\'' && (c == 'e' || c == 'b' || c == 'x' || c == 'n')) {
      ++at_;
      return scan_string(c == 'e');
    }
    if (c == 'u' && peek(1) == '&' && (peek(2) == '\'' || peek(2) == '"')) {
      at_ += 2;
      return peek() == '"' ? scan_quoted_identifier() : scan_string(false);
    }
    while (at_ < text_.size() && is_word(peek())) ++at_;
    return TokenKind::kWord;
  }

  StatusOr<TokenKind> scan_string(bool backslashes) {
    const size_t begin = at_;
    ++at_;
    while (at_ < text_.size()) {
      if (backslashes && peek() == '\\') {
        at_ += 2;
      } else if (peek() == '\'' && peek(1) == '\'') {
        at_ += 2;
      } else if (peek() == '\'') {
        ++at_;
        return TokenKind::kString;
      } else {
        ++at_;
      }
    }
    at_ = text_.size();
    return unterminated("quoted string", begin);
  }

  StatusOr<TokenKind> scan_quoted_identifier() {
    const size_t begin = at_;
    ++at_;
    while (at_ < text_.size()) {
      if (peek() == '"' && peek(1) == '"') {
        at_ += 2;
      } else if (peek() == '"') {
        ++at_;
        return TokenKind::kQuotedIdentifier;
      } else {
        ++at_;
      }
    }
    return unterminated("quoted identifier", begin);
  }

  StatusOr<TokenKind> scan_dollar() {
    const size_t begin = at_;
    if (is_digit(peek(1))) {
      ++at_;
      while (is_digit(peek())) ++at_;
      return TokenKind::kParameter;
    }
    size_t tag_end = at_ + 1;
    if (tag_end < text_.size() && is_word_start(text_[tag_end])) {
      while (tag_end < text_.size() && is_word(text_[tag_end]) && text_[tag_end] != '$') ++tag_end;
    }
    if (tag_end >= text_.size() || text_[tag_end] != '$') {
      ++at_;
      return TokenKind::kOperator;  // a lone dollar: the grammar will refuse it
    }
    const std::string_view tag = text_.substr(begin, tag_end + 1 - begin);
    const size_t close = text_.find(tag, tag_end + 1);
    if (close == std::string_view::npos) {
      return unterminated("dollar-quoted string", begin);
    }
    at_ = close + tag.size();
    return TokenKind::kDollarString;
  }

  TokenKind scan_number() {
    while (is_digit(peek())) ++at_;
    if (peek() == '.' && peek(1) != '.') {  // 1..10 is 1 and then ..
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    if (lower(peek()) == 'e') {
      const size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (is_digit(peek(1 + sign))) {
        at_ += 1 + sign;
        while (is_digit(peek())) ++at_;
      }
    }
    return TokenKind::kNumber;
  }

  // PostgreSQL's rule: the longest run of operator characters that starts no comment; + and - do not end a longer one
  // unless it holds a character that SQL's own operators do not have.
  void scan_operator() {
    const size_t begin = at_;
    const char next = peek(1);
    if ((peek() == ':' && (next == '=' || next == ':')) || (peek() == '.' && next == '.')) {
      at_ += 2;
      return;
    }
    if (!is_operator_char(peek())) {
      ++at_;
      return;
    }
    while (is_operator_char(peek())) {
      if (at_ > begin && ((peek() == '-' && peek(1) == '-') || (peek() == '/' && peek(1) == '*'))) break;
      ++at_;
    }
    const auto is_special = [this](size_t from, size_t to) {
      return text_.substr(from, to - from).find_first_of("~!@#^&|`?%") != std::string_view::npos;
    };
    while (at_ > begin + 1 && (text_[at_ - 1] == '+' || text_[at_ - 1] == '-') && !is_special(begin, at_)) --at_;
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::string undo_doubled(std::string_view inner, char quote) {
  std::string value;
  value.reserve(inner.size());
  for (size_t i = 0; i < inner.size(); ++i) {
    value += inner[i];
    if (inner[i] == quote) ++i;
  }
  return value;
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  const char l = lower(c);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

// Reads up to `digits_max` digits of `base` at inner[i], moves i behind them.
uint32_t read_digits(std::string_view inner, size_t& i, uint32_t base, int digits_max) {
  uint32_t value = 0;
  for (int n = 0; n < digits_max && i < inner.size(); ++n, ++i) {
    const int digit = hex_digit(inner[i]);
    if (digit < 0 || static_cast<uint32_t>(digit) >= base) break;
    value = value * base + static_cast<uint32_t>(digit);
  }
  return value;
}

void append_utf8(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += {static_cast<char>(0xC0 | (c >> 6)), static_cast<char>(0x80 | (c & 0x3F))};
  } else if (c < 0x10000) {
    out += {static_cast<char>(0xE0 | (c >> 12)), static_cast<char>(0x80 | ((c >> 6) & 0x3F)),
            static_cast<char>(0x80 | (c & 0x3F))};
  } else {
    out += {static_cast<char>(0xF0 | ((c >> 18) & 7)), static_cast<char>(0x80 | ((c >> 12) & 0x3F)),
            static_cast<char>(0x80 | ((c >> 6) & 0x3F)), static_cast<char>(0x80 | (c & 0x3F))};
  }
}

std::string undo_backslashes(std::string_view inner) {
  std::string value;
  size_t i = 0;
  while (i < inner.size()) {
    const char c = inner[i++];
    if (c == '\'' && i < inner.size()) ++i;  // doubled
    if (c != '\\' || i >= inner.size()) {
      value += c;
      continue;
    }
    const char escaped = inner[i++];
    switch (escaped) {
      case 'b':
        value += '\b';
        break;
      case 'f':
        value += '\f';
        break;
      case 'n':
        value += '\n';
        break;
      case 'r':
        value += '\r';
        break;
      case 't':
        value += '\t';
        break;
      case 'x':
        value += static_cast<char>(read_digits(inner, i, 16, 2));
        break;
      case 'u':
        append_utf8(value, read_digits(inner, i, 16, 4));
        break;
      case 'U':
        append_utf8(value, read_digits(inner, i, 16, 8));
        break;
      default:
        if (escaped >= '0' && escaped <= '7') {
          value += static_cast<char>(read_digits(inner, --i, 8, 3));
        } else {
          value += escaped;
        }
    }
  }
  return value;
}

}  // namespace

StatusOr<std::vector<Token>> scan(std::string_view text, size_t tokens_max) { return Scanner(text).run(tokens_max); }

std::string value_of(const Token& token) {
  const std::string_view text = token.text;
  if (token.kind == TokenKind::kWord) return fold_identifier(text);
  if (token.kind == TokenKind::kQuotedIdentifier) {
    const size_t quote = text.find('"');
    return truncate_identifier(undo_doubled(text.substr(quote + 1, text.size() - quote - 2), '"'));
  }
  if (token.kind == TokenKind::kDollarString) {
    const size_t tag = text.find('$', 1) + 1;
    return std::string(text.substr(tag, text.size() - 2 * tag));
  }
  if (token.kind == TokenKind::kString) {
    const size_t quote = text.find('\'');
    const std::string_view inner = text.substr(quote + 1, text.size() - quote - 2);
    return quote == 1 && lower(text[0]) == 'e' ? undo_backslashes(inner) : undo_doubled(inner, '\'');
  }
  return std::string(text);
}

int32_t verbatim_begin(const Token& token) {
  if (token.kind == TokenKind::kDollarString) return token.begin + static_cast<int32_t>(token.text.find('$', 1)) + 1;
  if (token.kind == TokenKind::kString && token.text[0] == '\'' &&
      token.text.substr(1, token.text.size() - 2).find('\'') == std::string_view::npos) {
    return token.begin + 1;
  }
  return -1;
}

}  // namespace scyper::query
