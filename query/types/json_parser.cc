#include "types/json_parser.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "types/digits.h"
#include "types/json_text.h"
#include "types/text.h"

namespace scyper::query {

namespace {

constexpr size_t kDepthMax = 1000;
constexpr size_t kWrittenOutMax = size_t{16} << 20;  // by exponents: 1e131071 is 131,072 digits
constexpr int64_t kIntegerDigitsMax = 131072;        // of PostgreSQL's numeric
constexpr int64_t kFractionDigitsMax = 16383;

Status too_deep() { return sql_error("54001", "stack depth limit exceeded"); }

// A JSON number as numeric shows it: no exponent, no leading zeros. false: beyond numeric.
bool number_text(std::string_view token, std::string* out) {
  bool negative = token[0] == '-';
  if (negative) token.remove_prefix(1);
  size_t e = token.find_first_of("eE");
  int64_t exponent = 0;
  if (e != std::string_view::npos) {
    std::string_view digits = token.substr(e + 1);
    if (digits[0] == '+') digits.remove_prefix(1);
    auto read = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (read.ec != std::errc() || exponent > INT32_MAX / 2 || exponent < INT32_MIN / 2) return false;
    token = token.substr(0, e);
  }
  size_t point = std::min(token.find('.'), token.size());
  std::string digits(token.substr(0, point));
  if (point < token.size()) digits += token.substr(point + 1);
  auto after = static_cast<int64_t>(point < token.size() ? token.size() - point - 1 : 0);
  int64_t scale = std::max<int64_t>(0, after - exponent);
  int64_t whole = static_cast<int64_t>(point) + exponent;  // digits before the point
  if (digits.find_first_not_of('0') == std::string::npos) whole = 1, digits.clear(), negative = false;
  if (scale > kFractionDigitsMax || whole > kIntegerDigitsMax) return false;
  if (whole < 1) digits.insert(0, static_cast<size_t>(1 - whole), '0'), whole = 1;
  digits.resize(static_cast<size_t>(whole + scale), '0');
  size_t start = std::min(digits.find_first_not_of('0'), static_cast<size_t>(whole) - 1);
  if (negative) out->push_back('-');
  out->append(digits, start, static_cast<size_t>(whole) - start);
  if (scale > 0) out->append(".").append(digits, static_cast<size_t>(whole));
  return true;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
// What counts as a part of a wrong token.
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_' || static_cast<uint8_t>(c) >= 0x80; }

constexpr const char* kLowMustFollow = "Unicode low surrogate must follow a high surrogate.";

}  // namespace

Status json_parse(std::string_view text, Json* out) {
  return JsonParser(text, JsonParser::Mode::kDocument).document(out);
}

Status json_check(std::string_view text) {
  Json unused;
  return JsonParser(text, JsonParser::Mode::kSyntax).document(&unused);
}

Status json_check_strings(std::string_view text) {
  if (text.find("\\u") == std::string_view::npos) return absl::OkStatus();
  Json unused;
  return JsonParser(text, JsonParser::Mode::kStrings).document(&unused);
}

Status json_check_depth(const Json& json, size_t depth) {
  if (!is_container(json)) return absl::OkStatus();
  if (depth >= kDepthMax) return too_deep();
  for (const Json& item : json.items) SCYPER_RETURN_IF_ERROR(json_check_depth(item, depth + 1));
  return absl::OkStatus();
}

Status JsonParser::wrong(const std::string& detail) const {
  return with_detail(sql_error("22P02", "invalid input syntax for type json"), detail);
}
Status JsonParser::wrong_token() const { return wrong("Token \"" + std::string(shown()) + "\" is invalid."); }
Status JsonParser::expected(const char* what) const {
  if (token_ == Token::kEnd) return wrong("The input string ended unexpectedly.");
  return wrong("Expected " + std::string(what) + ", but found \"" + std::string(shown()) + "\".");
}
Status JsonParser::expect(char c, const char* what) { return is(c) ? advance() : expected(what); }

Status JsonParser::advance() {
  while (has() && is_blank(text_[at_])) at_++;
  start_ = at_;
  token_ = Token::kEnd;
  if (!has()) return absl::OkStatus();
  const char c = text_[at_];
  if (c == '"') return string();
  if (c == '-' || is_digit(c)) return number();
  if (is_word(c)) return word();
  at_++;
  token_ = Token::kCharacter;
  return std::string_view("{}[],:").find(c) != std::string_view::npos ? absl::OkStatus() : wrong_token();
}

Status JsonParser::word() {
  while (has() && is_word(text_[at_])) at_++;
  const std::string_view word = shown();
  token_ = word == "true" ? Token::kTrue : word == "false" ? Token::kFalse : Token::kNull;
  return token_ != Token::kNull || word == "null" ? absl::OkStatus() : wrong_token();
}

Status JsonParser::number() {
  const auto digits = [&] {
    const size_t first = at_;
    while (has() && is_digit(text_[at_])) at_++;
    return at_ > first;
  };
  bool is_right = true;
  if (text_[at_] == '-') at_++;
  if (has() && text_[at_] == '0')
    at_++;
  else
    is_right = digits();
  if (has() && text_[at_] == '.') {
    at_++;
    is_right = digits() && is_right;
  }
  if (has() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    at_++;
    if (has() && (text_[at_] == '+' || text_[at_] == '-')) at_++;
    is_right = digits() && is_right;
  }
  for (; has() && is_word(text_[at_]); at_++) is_right = false;
  token_ = Token::kNumber;
  return is_right ? absl::OkStatus() : wrong_token();
}

Status JsonParser::string() {
  token_ = Token::kString;
  string_.clear();
  high_surrogate_ = 0;
  for (at_++;; at_++) {
    if (!has()) return wrong_token();
    const char c = text_[at_];
    if (static_cast<uint8_t>(c) < ' ') {
      char detail[64];
      std::snprintf(detail, sizeof(detail), "Character with value 0x%02x must be escaped.", static_cast<unsigned>(c));
      return wrong(detail);
    }
    if (c == '\\') {
      SCYPER_RETURN_IF_ERROR(escape());
      continue;
    }
    if (high_surrogate_ != 0) return wrong(kLowMustFollow);
    if (c == '"') break;
    string_.push_back(c);
  }
  at_++;
  return absl::OkStatus();
}

// At the backslash; leaves the last character of the escape.
Status JsonParser::escape() {
  static constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  constexpr size_t kDigits = 4;
  at_++;
  if (!has()) return wrong_token();
  const char c = text_[at_];
  if (c == 'u') {
    uint32_t code = 0;
    for (size_t i = 0; i < kDigits; i++) {
      at_++;
      if (!has()) return wrong_token();
      uint32_t digit = 0;
      const char* at = text_.data() + at_;
      if (std::from_chars(at, at + 1, digit, 16).ptr != at + 1)
        return wrong("\"\\u\" must be followed by four hexadecimal digits.");
      code = code * 16 + digit;
    }
    return mode_ == Mode::kSyntax ? absl::OkStatus() : append_code(code);
  }
  if (high_surrogate_ != 0) return wrong(kLowMustFollow);
  const size_t which = kEscapes.find(c);
  if (which == std::string_view::npos)
    return wrong("Escape sequence \"\\" + std::string(first_character(text_.substr(at_))) + "\" is invalid.");
  string_.push_back(kMeanings[which]);
  return absl::OkStatus();
}

Status JsonParser::append_code(uint32_t code) {
  constexpr uint32_t kHigh = 0xd800, kLow = 0xdc00, kEnd = 0xe000;
  if (code >= kHigh && code < kLow) {
    if (high_surrogate_ != 0) return wrong("Unicode high surrogate must not follow a high surrogate.");
    high_surrogate_ = code;
    return absl::OkStatus();
  }
  const bool is_low = code >= kLow && code < kEnd;
  if (is_low != (high_surrogate_ != 0)) return wrong(kLowMustFollow);
  if (is_low) code = 0x10000 + ((high_surrogate_ - kHigh) << 10) + (code - kLow);
  high_surrogate_ = 0;
  if (code == 0)
    return with_detail(sql_error("22P05", "unsupported Unicode escape sequence"),
                       "\\u0000 cannot be converted to text.");
  json_append_utf8(&string_, code);
  return absl::OkStatus();
}

Status JsonParser::document(Json* out) {
  SCYPER_RETURN_IF_ERROR(advance());
  SCYPER_RETURN_IF_ERROR(value(out, 0));
  return token_ == Token::kEnd ? absl::OkStatus() : expected("end of input");
}

// From the token on to the one behind the value.
Status JsonParser::value(Json* out, size_t depth) {
  switch (token_) {
    case Token::kString:
      *out = json_string(string_);
      break;
    case Token::kNumber:
      SCYPER_RETURN_IF_ERROR(take_number(out));
      break;
    case Token::kTrue:
    case Token::kFalse:
      *out = json_boolean(token_ == Token::kTrue);
      break;
    case Token::kNull:
      *out = Json{};
      break;
    default:
      if (!is('{') && !is('[')) return expected("JSON value");
      if (depth >= kDepthMax) return too_deep();
      return is('{') ? object(out, depth + 1) : array(out, depth + 1);
  }
  return advance();
}

Status JsonParser::object(Json* out, size_t depth) {
  *out = json_object();
  SCYPER_RETURN_IF_ERROR(advance());
  if (is('}')) return advance();
  if (token_ != Token::kString) return expected("string or \"}\"");
  for (;;) {
    if (token_ != Token::kString) return expected("string");
    out->keys.push_back(string_);
    SCYPER_RETURN_IF_ERROR(advance());
    SCYPER_RETURN_IF_ERROR(expect(':', "\":\""));
    SCYPER_RETURN_IF_ERROR(value(&out->items.emplace_back(), depth));
    if (!is(',')) break;
    SCYPER_RETURN_IF_ERROR(advance());
  }
  SCYPER_RETURN_IF_ERROR(expect('}', "\",\" or \"}\""));
  json_normalise(out);
  return absl::OkStatus();
}

Status JsonParser::array(Json* out, size_t depth) {
  *out = json_array();
  SCYPER_RETURN_IF_ERROR(advance());
  if (is(']')) return advance();
  for (;;) {
    SCYPER_RETURN_IF_ERROR(value(&out->items.emplace_back(), depth));
    if (!is(',')) break;
    SCYPER_RETURN_IF_ERROR(advance());
  }
  return expect(']', "\",\" or \"]\"");
}

Status JsonParser::take_number(Json* out) {
  *out = json_number("");
  if (mode_ != Mode::kDocument) return absl::OkStatus();
  const std::string_view token = shown();
  if (!number_text(token, &out->text)) return sql_error("22003", "value overflows numeric format");
  if (out->text.size() > token.size()) written_out_ += out->text.size() - token.size();
  if (written_out_ > kWrittenOutMax)
    return sql_error("54000", "numbers of a jsonb value are longer than 16777216 bytes without their exponents");
  return absl::OkStatus();
}

}  // namespace scyper::query
