#include "types/format_number.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "types/big_number.h"
#include "types/digits.h"

namespace scyper::query {

namespace {

enum class Part : uint8_t {
  kNine,
  kZero,
  kPoint,
  kComma,
  kSign,
  kMinus,
  kPlus,
  kBothSigns,
  kBracket,
  kCurrency,
  kRoman,
  kOrdinal,
  kShift,
  kExponent,
  kLiteral
};
struct Node {
  Part part;
  std::string_view text;
  bool upper = true;
};

enum class SignPlace : uint8_t { kNone, kBefore, kBehind };

// What a template says as a whole.
struct Pattern {
  std::vector<Node> nodes;
  int before = 0, behind = 0, shift = 0;
  int zero_start = 0, zero_end = 0, sign_digits = 0;
  SignPlace sign = SignPlace::kNone;
  bool fill = false, blank = false, zero = false, decimal = false, bracket = false, minus = false, plus = false;
  bool roman = false, roman_upper = true, multiply = false, exponent = false;
};

Status syntax(const char* message) { return sql_error("42601", message); }

struct Keyword {
  std::string_view text;
  Part part;
};
constexpr Keyword kKeywords[] = {
    {"EEEE", Part::kExponent}, {"MI", Part::kMinus},     {"PL", Part::kPlus},    {"PR", Part::kBracket},
    {"RN", Part::kRoman},      {"SG", Part::kBothSigns}, {"TH", Part::kOrdinal}, {"S", Part::kSign},
    {"L", Part::kCurrency},    {"V", Part::kShift},      {"D", Part::kPoint},    {"G", Part::kComma},
    {".", Part::kPoint},       {",", Part::kComma},      {"9", Part::kNine},     {"0", Part::kZero}};

bool starts_with_word(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  for (size_t i = 0; i < word.size(); i++)
    if (to_upper(text[i]) != word[i]) return false;
  return true;
}

Status take_digit(Part part, Pattern* p) {
  if (p->bracket) return syntax("\"9\" must be ahead of \"PR\"");
  if (p->multiply) return p->shift++, absl::OkStatus();
  if (p->decimal) {
    p->behind++;
  } else {
    p->before++;
  }
  if (part == Part::kZero) {
    if (!p->zero) p->zero_start = p->decimal ? 0 : p->before;
    p->zero |= !p->decimal;
    p->zero_end = p->before + p->behind;
  }
  return absl::OkStatus();
}

Status take_part(Part part, bool upper, Pattern* p) {
  if (p->exponent && part != Part::kLiteral) return syntax("\"EEEE\" must be the last pattern used");
  switch (part) {
    case Part::kNine:
    case Part::kZero:
      return take_digit(part, p);
    case Part::kPoint:
      if (p->decimal) return syntax("multiple decimal points");
      if (p->multiply) return syntax("cannot use \"V\" and decimal point together");
      p->decimal = true;
      return absl::OkStatus();
    case Part::kSign:
      if (p->sign != SignPlace::kNone) return syntax("cannot use \"S\" twice");
      if (p->plus || p->minus || p->bracket) return syntax("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together");
      p->sign = p->decimal ? SignPlace::kBehind : SignPlace::kBefore;
      p->sign_digits = p->before;
      return absl::OkStatus();
    case Part::kMinus:
    case Part::kPlus:
    case Part::kBothSigns:
      if (p->sign != SignPlace::kNone) return syntax("cannot use \"S\" and \"MI\" together");
      p->minus |= part != Part::kPlus;
      p->plus |= part != Part::kMinus;
      return absl::OkStatus();
    case Part::kBracket:
      if (p->sign != SignPlace::kNone || p->plus || p->minus)
        return syntax("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together");
      p->bracket = true;
      return absl::OkStatus();
    case Part::kRoman:
      p->roman = true;
      p->roman_upper = upper;
      return absl::OkStatus();
    case Part::kShift:
      if (p->decimal) return syntax("cannot use \"V\" and decimal point together");
      p->multiply = true;
      return absl::OkStatus();
    case Part::kExponent:
      if (p->fill || p->sign != SignPlace::kNone || p->bracket || p->minus || p->plus || p->roman || p->multiply)
        return syntax("\"EEEE\" is incompatible with other formats");
      p->exponent = true;
      return absl::OkStatus();
    default:
      return absl::OkStatus();
  }
}

Status read_pattern(std::string_view text, Pattern* p) {
  for (size_t at = 0; at < text.size();) {
    std::string_view rest = text.substr(at);
    if (starts_with_word(rest, "FM")) {
      p->fill = true;
      at += 2;
      continue;
    }
    if (rest[0] == '"') {
      size_t end = std::min(text.find('"', at + 1), text.size());
      p->nodes.push_back({Part::kLiteral, text.substr(at + 1, end - at - 1)});
      at = end + 1;
      continue;
    }
    if (rest[0] == 'B' || rest[0] == 'b') {
      p->blank = true;
      at++;
      continue;
    }
    const auto* known = std::find_if(std::begin(kKeywords), std::end(kKeywords),
                                     [&](const Keyword& k) { return starts_with_word(rest, k.text); });
    if (known == std::end(kKeywords)) {
      if (rest[0] == '\\' && rest.size() > 1 && rest[1] == '"') at++;
      p->nodes.push_back({Part::kLiteral, text.substr(at, 1)});
      at++;
      continue;
    }
    bool upper = rest[0] >= 'A' && rest[0] <= 'Z';
    SCYPER_RETURN_IF_ERROR(take_part(known->part, upper, p));
    p->nodes.push_back({known->part, rest.substr(0, known->text.size()), upper});
    at += known->text.size();
  }
  return absl::OkStatus();
}

const char* ordinal_of(std::string_view number, bool upper) {
  char last = number.empty() ? '0' : number.back();
  bool teen = number.size() > 1 && number[number.size() - 2] == '1';
  if (teen || last < '1' || last > '3') return upper ? "TH" : "th";
  static constexpr const char* kUpper[] = {"ST", "ND", "RD"};
  static constexpr const char* kLower[] = {"st", "nd", "rd"};
  return (upper ? kUpper : kLower)[last - '1'];
}

std::string roman_of(int64_t number) {
  static constexpr struct {
    int value;
    const char* text;
  } kParts[] = {{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"},
                {40, "XL"},  {10, "X"},   {9, "IX"},  {5, "V"},    {4, "IV"},  {1, "I"}};
  if (number < 1 || number > 3999) return std::string(15, '#');
  std::string out;
  for (const auto& part : kParts)
    for (; number >= part.value; number -= part.value) out += part.text;
  return out;
}

// Writes one number, position by position, as NUM_processor() of formatting.c does.
class Writer {
 public:
  Writer(Pattern* pattern, std::string number, bool negative, int blanks)
      : p_(*pattern), number_(std::move(number)), negative_(negative), blanks_(blanks) {}

  void run(std::string* out) {
    out_ = out;
    prepare();
    for (const Node& node : p_.nodes) write(node);
  }

 private:
  void prepare() {
    if (p_.plus || p_.minus) {
      sign_written_ = !(p_.plus && !p_.minus);
    } else {
      if (!negative_ && p_.fill) p_.bracket = false;
      sign_written_ = !negative_ && p_.fill && p_.sign == SignPlace::kNone;
      if (p_.sign == SignPlace::kBefore && p_.before == p_.sign_digits) p_.sign = SignPlace::kBehind;
    }
    count_ = p_.behind + p_.before - 1;
    if (p_.fill && p_.decimal) {
      size_t point = number_.find('.');
      if (point != std::string::npos) {
        relevant_ = static_cast<int>(point);
        for (size_t i = point + 1; i < number_.size(); i++)
          if (number_[i] != '0') relevant_ = static_cast<int>(i);
        if (p_.zero_end > blanks_)
          relevant_ = std::max(relevant_, std::min(static_cast<int>(number_.size()) - 1, p_.zero_end - blanks_));
      }
    }
    if (!sign_written_ && blanks_ == 0) count_++;
  }

  bool at_relevant_point() const { return relevant_ >= 0 && number_[static_cast<size_t>(relevant_)] == '.'; }
  // "9.9" shows 0.1 as " .1"
  bool is_leading_zero() const { return !p_.zero && at_ == 0 && number_[0] == '0' && p_.behind != 0; }

  void write_sign() {
    bool reached = current_ >= blanks_ || (p_.zero && p_.zero_start == current_ + 1);
    if (sign_written_ || !reached || (is_leading_zero() && !at_relevant_point())) return;
    if (p_.sign != SignPlace::kNone) {
      if (p_.sign != SignPlace::kBefore) return;
      out_->push_back(negative_ ? '-' : '+');
    } else if (p_.bracket) {
      out_->push_back(negative_ ? '<' : ' ');
    } else if (negative_) {
      out_->push_back('-');
    } else if (!p_.fill) {
      out_->push_back(' ');
    }
    sign_written_ = true;
  }

  void write_digit(Part part) {
    write_sign();
    bool zeros_reached = p_.zero && p_.zero_start <= current_ + 1;
    if (current_ < blanks_ && !zeros_reached) {
      if (!p_.fill) out_->push_back(' ');
    } else if (current_ < blanks_) {
      out_->push_back('0');
      inside_ = true;
    } else {
      write_real(part);
      if (at_ < number_.size()) at_++;
    }
    int end = count_ + (blanks_ > 0 ? 1 : 0) + (p_.decimal ? 1 : 0);
    if (relevant_ >= 0 && static_cast<size_t>(relevant_) == at_) end = current_;
    if (current_ + 1 == end) {
      if (sign_written_ && p_.bracket)
        out_->push_back(negative_ ? '>' : ' ');
      else if (p_.sign == SignPlace::kBehind)
        out_->push_back(negative_ ? '-' : '+');
    }
    current_++;
  }

  void write_real(Part part) {
    char c = at_ < number_.size() ? number_[at_] : '\0';
    if (c == '.') {
      if (!at_relevant_point() || p_.fill) out_->push_back('.');
      return;
    }
    if (relevant_ >= 0 && static_cast<int>(at_) > relevant_ && part != Part::kZero) return;
    if (is_leading_zero()) {
      if (!p_.fill)
        out_->push_back(' ');
      else if (at_relevant_point())
        out_->push_back('0');
    } else if (c != '\0') {
      out_->push_back(c);
      inside_ = true;
    }
  }

  void write(const Node& node) {
    switch (node.part) {
      case Part::kNine:
      case Part::kZero:
      case Part::kPoint:
        return write_digit(node.part);
      case Part::kComma:
        if (inside_)
          out_->push_back(',');
        else if (!p_.fill)
          out_->push_back(' ');
        return;
      case Part::kCurrency:
        out_->push_back(' ');
        return;
      case Part::kMinus:
        if (negative_)
          out_->push_back('-');
        else if (!p_.fill)
          out_->push_back(' ');
        return;
      case Part::kPlus:
        if (!negative_)
          out_->push_back('+');
        else if (!p_.fill)
          out_->push_back(' ');
        return;
      case Part::kBothSigns:
        out_->push_back(negative_ ? '-' : '+');
        return;
      case Part::kOrdinal:
        if (number_[0] != '#' && !negative_ && !p_.decimal) out_->append(ordinal_of(number_, node.upper));
        return;
      case Part::kLiteral:
        out_->append(node.text);
        return;
      default:
        return;
    }
  }

  Pattern& p_;
  const std::string number_;
  const bool negative_;
  const int blanks_;
  std::string* out_ = nullptr;
  int count_ = 0;
  int current_ = 0;
  size_t at_ = 0;
  int relevant_ = -1;
  bool sign_written_ = false;
  bool inside_ = false;
};

// text: the rounded number.
void write_number(Pattern* pattern, std::string text, std::string* out) {
  bool negative = text[0] == '-';
  if (negative) text.erase(0, 1);
  int length = static_cast<int>(std::min(text.find('.'), text.size()));
  int blanks = std::max(0, pattern->before - length);
  if (length > pattern->before) {
    text = std::string(static_cast<size_t>(pattern->before + pattern->behind + 1), '#');
    text[static_cast<size_t>(pattern->before)] = '.';
    if (!pattern->decimal) text.resize(static_cast<size_t>(pattern->before));
    if (text.empty()) text = "#";
  }
  Writer(pattern, std::move(text), negative, blanks).run(out);
}

void write_roman(const Pattern& pattern, int64_t number, std::string* out) {
  std::string roman = roman_of(number);
  if (!pattern.roman_upper) std::transform(roman.begin(), roman.end(), roman.begin(), to_lower);
  if (!pattern.fill && roman.size() < 15) out->append(15 - roman.size(), ' ');
  out->append(roman);
}

void write_exponent(const Pattern& pattern, double value, std::string* out) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*e", pattern.behind, value);
  if (text[0] != '-') out->push_back(' ');
  out->append(text);
}

}  // namespace

Status format_number(const Decimal& value, std::string_view text, std::string* out) {
  if (is_nan(value) || is_infinite(value))
    return sql_error("0A000", "to_char of numeric NaN and infinities is not supported");
  Pattern pattern;
  SCYPER_RETURN_IF_ERROR(read_pattern(text, &pattern));
  auto fail = [](ValueError error) { return error_status(error); };
  Decimal number = value;
  for (int i = 0; i < pattern.shift; i++)
    if (ValueError error = decimal_multiply(number, {10, 0}, &number); error != ValueError::kNone) return fail(error);
  if (pattern.before + pattern.shift > pattern.before) pattern.before += pattern.shift;
  if (pattern.exponent) return write_exponent(pattern, decimal_to_float8(number), out), absl::OkStatus();
  if (ValueError error = decimal_round(number, pattern.behind, &number); error != ValueError::kNone) return fail(error);
  if (pattern.roman) {
    int64_t integer = 0;
    if (decimal_to_int8(number, &integer) != ValueError::kNone) integer = 0;
    return write_roman(pattern, integer, out), absl::OkStatus();
  }
  write_number(&pattern, decimal_text(number), out);
  return absl::OkStatus();
}

Status format_number(double value, std::string_view text, std::string* out) {
  Pattern pattern;
  SCYPER_RETURN_IF_ERROR(read_pattern(text, &pattern));
  if (pattern.shift > 0) value *= std::pow(10.0, pattern.shift), pattern.before += pattern.shift;
  if (pattern.exponent) return write_exponent(pattern, value, out), absl::OkStatus();
  if (pattern.roman) return write_roman(pattern, static_cast<int64_t>(std::rint(value)), out), absl::OkStatus();
  char shown[400];
  constexpr int kDigits = 15;
  int length = std::snprintf(shown, sizeof(shown), "%.0f", std::fabs(value));
  int behind = length >= kDigits ? 0 : std::min(pattern.behind, kDigits - length);
  if (pattern.behind > behind) pattern.behind = behind;
  std::snprintf(shown, sizeof(shown), "%.*f", behind, value);
  write_number(&pattern, shown, out);
  return absl::OkStatus();
}

// Digits, the first point and signs count where the template has room for them.
Status parse_number(std::string_view text, std::string_view pattern_text, Decimal* out) {
  Pattern pattern;
  SCYPER_RETURN_IF_ERROR(read_pattern(pattern_text, &pattern));
  if (pattern.roman) return sql_error("0A000", "\"RN\" not supported for input");
  if (pattern.exponent) return sql_error("0A000", "\"EEEE\" not supported for input");
  std::string digits;
  bool negative = false, point = false;
  int before = 0, behind = 0;
  for (char c : text) {
    if (c == '-' || (c == '<' && pattern.bracket)) negative = true;
    if (c == '.' && pattern.decimal && !point) {
      point = true;
      digits += c;
    }
    if (!is_digit(c)) continue;
    int& seen = point ? behind : before;
    if (seen >= (point ? pattern.behind : pattern.before + pattern.shift)) continue;
    seen++;
    digits += c;
  }
  if (before + behind == 0) return sql_error("22P02", "invalid input syntax for type numeric: \" \"");
  if (!digits.empty() && digits.back() == '.') digits.pop_back();
  ValueError error = decimal_parse((negative ? "-" : "") + digits, out);
  for (int i = 0; i < pattern.shift && error == ValueError::kNone; i++) error = decimal_divide(*out, {10, 0}, out);
  return error_status(error);
}

}  // namespace scyper::query
