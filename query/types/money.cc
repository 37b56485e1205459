#include "types/money.h"

#include "types/big_endian.h"
#include "types/digits.h"

namespace scyper::query {

namespace {

Status wrong_text(std::string_view text) {
  return sql_error("22P02", "invalid input syntax for type money: \"" + std::string(text) + "\"");
}
Status too_large(std::string_view text) {
  return sql_error("22003", "value \"" + std::string(text) + "\" is out of range for type money");
}

struct Reader {
  std::string_view rest;

  char first() const { return rest.empty() ? '\0' : rest.front(); }
  bool take(char c) {
    if (first() != c) return false;
    rest.remove_prefix(1);
    return true;
  }
  void skip_blanks() {
    while (is_space(first())) rest.remove_prefix(1);
  }
  // Blanks, a currency symbol, blanks.
  void skip_symbol() {
    skip_blanks();
    take('$');
    skip_blanks();
  }
};

// The digits, as cents below zero: the range has one more of them. false: out of range.
bool take_cents(Reader* in, int64_t* cents) {
  constexpr int kDecimals = 2;
  int decimals = 0;
  bool has_point = false;
  for (; !in->rest.empty(); in->rest.remove_prefix(1)) {
    const char c = in->first();
    if (is_digit(c) && (!has_point || decimals < kDecimals)) {
      if (__builtin_mul_overflow(*cents, 10, cents) || __builtin_sub_overflow(*cents, c - '0', cents)) return false;
      decimals += has_point ? 1 : 0;
    } else if (c == '.' && !has_point) {
      has_point = true;
    } else if (c != ',') {
      break;
    }
  }
  if (is_digit(in->first()) && in->first() >= '5' && __builtin_sub_overflow(*cents, 1, cents)) return false;
  for (; decimals < kDecimals; ++decimals)
    if (__builtin_mul_overflow(*cents, 10, cents)) return false;
  return true;
}

constexpr std::string_view kSmall[] = {
    "zero",   "one",    "two",    "three",    "four",     "five",    "six",     "seven",     "eight",    "nine",
    "ten",    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
    "twenty", "thirty", "forty",  "fifty",    "sixty",    "seventy", "eighty",  "ninety"};

std::string tens_words(uint64_t value) {
  if (value <= 20) return std::string(kSmall[value]);
  std::string words(kSmall[18 + value / 10]);
  return value % 10 == 0 ? words : words + " " + std::string(kSmall[value % 10]);
}

// Of a number below a thousand, as PostgreSQL's num_word().
std::string group_words(uint64_t value) {
  const uint64_t rest = value % 100;
  if (value <= 20) return std::string(kSmall[value]);
  if (rest == 0) return std::string(kSmall[value / 100]) + " hundred";
  std::string words = value > 99 ? std::string(kSmall[value / 100]) + " hundred " : "";
  if (value > 99 && rest < 10) return words + "and " + std::string(kSmall[rest]);
  if (value > 99 && rest <= 20) return words + "and " + tens_words(rest);
  return words + tens_words(rest);
}

}  // namespace

int64_t cents_of_bytes(std::string_view bytes) { return ordered_integer_of(bytes); }

std::string bytes_of_cents(int64_t cents) {
  std::string bytes;
  append_ordered_integer(&bytes, cents, sizeof cents);
  return bytes;
}

Status money_parse(std::string_view text, int64_t* cents) {
  Reader in{text};
  in.skip_symbol();
  bool is_negative = in.take('-');
  if (!is_negative) is_negative = in.take('(');
  if (!is_negative) in.take('+');
  in.skip_symbol();
  int64_t value = 0;
  if (!take_cents(&in, &value)) return too_large(text);
  while (is_digit(in.first())) in.rest.remove_prefix(1);
  while (!in.rest.empty()) {
    const char c = in.first();
    is_negative = is_negative || c == '-';
    if (!is_space(c) && c != ')' && c != '-' && c != '+' && c != '$') return wrong_text(text);
    in.rest.remove_prefix(1);
  }
  if (!is_negative && value == INT64_MIN) return too_large(text);
  *cents = is_negative ? value : -value;
  return absl::OkStatus();
}

std::string money_text(int64_t cents) {
  const uint64_t value = cents < 0 ? 0 - static_cast<uint64_t>(cents) : static_cast<uint64_t>(cents);
  std::string digits = std::to_string(value / kCentsPerUnit);
  for (size_t place = digits.size(); place > 3;) digits.insert(place -= 3, ",");
  char decimals[2];
  write_fixed(decimals, value % kCentsPerUnit, 2);
  return (cents < 0 ? "-$" : "$") + digits + "." + std::string(decimals, 2);
}

std::string money_words(int64_t cents) {
  const uint64_t value = cents < 0 ? 0 - static_cast<uint64_t>(cents) : static_cast<uint64_t>(cents);
  uint64_t units = value / kCentsPerUnit;
  const uint64_t rest = value % kCentsPerUnit;
  std::string words = cents < 0 ? "minus " : "";
  static constexpr struct {
    uint64_t size;
    std::string_view name;
  } kGroups[] = {{1'000'000'000'000'000, " quadrillion "},
                 {1'000'000'000'000, " trillion "},
                 {1'000'000'000, " billion "},
                 {1'000'000, " million "},
                 {1'000, " thousand "}};
  const bool is_zero = units == 0;
  for (const auto& group : kGroups) {
    if (units / group.size > 0) words += group_words(units / group.size) + std::string(group.name);
    units %= group.size;
  }
  if (is_zero) words += "zero";
  if (units > 0) words += group_words(units);
  words += value / kCentsPerUnit == 1 ? " dollar and " : " dollars and ";
  words += group_words(rest) + (rest == 1 ? " cent" : " cents");
  words.front() = to_upper(words.front());
  return words;
}

}  // namespace scyper::query
