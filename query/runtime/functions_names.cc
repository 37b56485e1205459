#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "query/value_wire.h"
#include "runtime/function_body.h"
#include "types/decimal.h"

// Functions that read texts of PostgreSQL's own: qualified names and sizes; and the send functions of types.
namespace scyper::query {

// Declared where the builtins are listed (bind/builtins_text.cc and bind/builtins_binary.cc).
extern const ir::External k_fn_parse_ident;
extern const ir::External k_fn_size_bytes;
extern const ir::External k_fn_send;

namespace {

bool starts_identifier(char c) {
  return c == '_' || absl::ascii_isalpha(static_cast<unsigned char>(c)) || (c & 0x80) != 0;
}
bool continues_identifier(char c) {
  return starts_identifier(c) || c == '$' || absl::ascii_isdigit(static_cast<unsigned char>(c));
}
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

// Takes the parts of a qualified name.
class NameReader {
 public:
  explicit NameReader(std::string_view text) : text_(text), rest_(text) {}

  Status run(bool is_strict, std::vector<std::string>* parts) {
    skip_blanks();
    for (bool is_behind_dot = false;; is_behind_dot = true) {
      std::string part;
      SCYPER_RETURN_IF_ERROR(rest_.starts_with('"') ? take_quoted(&part) : take_plain(is_behind_dot, &part));
      parts->push_back(std::move(part));
      skip_blanks();
      if (!rest_.starts_with('.')) break;
      rest_.remove_prefix(1);
      skip_blanks();
    }
    return is_strict && !rest_.empty() ? wrong("") : Status();
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() && is_blank(rest_[0])) rest_.remove_prefix(1);
  }

  Status wrong(std::string_view detail) const {
    Status status = sql_error("22023", absl::StrCat("string is not a valid identifier: \"", std::string(text_), "\""));
    return detail.empty() ? status : with_detail(std::move(status), std::string(detail));
  }

  Status take_quoted(std::string* part) {
    size_t at = 1;
    for (; at < rest_.size(); at++) {
      if (rest_[at] == '"' && rest_.substr(at + 1, 1) != "\"") break;
      if (rest_[at] == '"') at++;
      part->push_back(rest_[at]);
    }
    if (at >= rest_.size()) return wrong("String has unclosed double quotes.");
    if (part->empty()) return wrong("Quoted identifier must not be empty.");
    rest_.remove_prefix(at + 1);
    return Status();
  }

  Status take_plain(bool is_behind_dot, std::string* part) {
    size_t size = 0;
    if (!rest_.empty() && starts_identifier(rest_[0]))
      for (size = 1; size < rest_.size() && continues_identifier(rest_[size]);) size++;
    if (size == 0)
      return wrong(rest_.starts_with('.') ? "No valid identifier before \".\"."
                   : is_behind_dot        ? "No valid identifier after \".\"."
                                          : "");
    *part = absl::AsciiStrToLower(std::string(rest_.substr(0, size)));
    rest_.remove_prefix(size);
    return Status();
  }

  const std::string_view text_;
  std::string_view rest_;
};

size_t digits_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[end]))) end++;
  return end - at;
}
bool is_sign(std::string_view text, size_t at) { return at < text.size() && (text[at] == '-' || text[at] == '+'); }

// The size of the number that the text starts with; 0: it does not. What is behind E may be a unit.
size_t number_size(std::string_view text) {
  size_t at = is_sign(text, 0) ? 1 : 0;
  const size_t whole = digits_at(text, at);
  at += whole;
  size_t fraction = 0;
  if (at < text.size() && text[at] == '.') {
    fraction = digits_at(text, ++at);
    at += fraction;
  }
  if (whole + fraction == 0) return 0;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    const size_t digits = at + 1 + (is_sign(text, at + 1) ? 1 : 0);
    if (const size_t count = digits_at(text, digits); count > 0) at = digits + count;
  }
  return at;
}

std::string_view without_blanks(std::string_view text) {
  const auto is_space = [](char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); };
  while (!text.empty() && is_space(text[0])) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

extern "C" {

// (text [, strict])
SCYPER_FUNCTION(parse_ident) {
  std::vector<std::string> parts;
  if (Status status = NameReader(text_of(args[0])).run(count < 2 || args[1].lo != 0, &parts); !status.ok())
    return c->fail(status);
  const auto size = static_cast<int32_t>(parts.size());
  auto* array = reinterpret_cast<ArrayValue*>(c->scratch->allocate(sizeof(ArrayValue)));
  auto* elements = reinterpret_cast<Datum*>(c->scratch->allocate(parts.size() * sizeof(Datum)));
  if (array == nullptr || elements == nullptr) return fail_memory(c);
  *array = ArrayValue{size, size, 1, TypeId::kText, elements};
  for (size_t i = 0; i < parts.size(); i++)
    if (const int32_t failed = give_copy(c, &elements[i], parts[i]); failed != 0) return failed;
  *out = Datum{reinterpret_cast<int64_t>(array), 0, 0, 0, {}};
  return 0;
}

SCYPER_FUNCTION(size_bytes) {
  constexpr std::array<std::pair<std::string_view, int>, 6> kUnits = {
      {{"bytes", 0}, {"kB", 10}, {"MB", 20}, {"GB", 30}, {"TB", 40}, {"PB", 50}}};
  const std::string_view given = text_of(args[0]), text = without_blanks(given);
  const Status wrong = sql_error("22023", absl::StrCat("invalid size: \"", std::string(given), "\""));
  const size_t size = number_size(text);
  if (size == 0) return c->fail(wrong);
  Decimal number;
  const std::string_view digits = text.substr(0, size);
  if (const ValueError error = decimal_parse(digits, &number); error != ValueError::kNone)
    return done(c, error, digits, make_numeric(0, 0));
  const std::string_view unit = without_blanks(text.substr(size));
  if (!unit.empty()) {
    const auto* known = std::find_if(kUnits.begin(), kUnits.end(), [&](const auto& entry) {
      return absl::EqualsIgnoreCase(std::string(entry.first), std::string(unit));
    });
    if (known == kUnits.end())
      return c->fail(with_hint(with_detail(wrong, absl::StrCat("Invalid size unit: \"", std::string(unit), "\".")),
                               "Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\"."));
    const Decimal factor{static_cast<int128>(int64_t{1} << known->second), 0};
    if (const ValueError error = decimal_multiply(number, factor, &number); error != ValueError::kNone)
      return done(c, error);
  }
  int64_t bytes = 0;
  if (const ValueError error = decimal_to_int8(number, &bytes); error != ValueError::kNone)
    return done(c, error, {}, make_type(TypeId::kInt8));
  return give(out, bytes);
}

// The value in the type's binary format.
SCYPER_FUNCTION(send) {
  std::string bytes;
  WireWriter wire(&bytes);
  append_sent(types[0], args[0], &wire);
  return give_copy(c, out, std::string_view(bytes).substr(kLengthBytes));
}

}  // extern "C"
}  // namespace

SCYPER_DEFINE_FUNCTION(parse_ident)
SCYPER_DEFINE_FUNCTION(size_bytes)
SCYPER_DEFINE_FUNCTION(send)

}  // namespace scyper::query
