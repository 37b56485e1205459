#include "types/format_number.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "types/big_number.h"
#include "types/decimal_math.h"
#include "types/digits.h"
#include "types/number_exponent.h"
#include "types/text.h"

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
  kNothing,  // SP, C
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
constexpr Keyword kKeywords[] = {{"EEEE", Part::kExponent}, {"MI", Part::kMinus},   {"PL", Part::kPlus},
                                 {"PR", Part::kBracket},    {"RN", Part::kRoman},   {"SG", Part::kBothSigns},
                                 {"TH", Part::kOrdinal},    {"SP", Part::kNothing}, {"S", Part::kSign},
                                 {"C", Part::kNothing},     {"L", Part::kCurrency}, {"V", Part::kShift},
                                 {"D", Part::kPoint},       {"G", Part::kComma},    {".", Part::kPoint},
                                 {",", Part::kComma},       {"9", Part::kNine},     {"0", Part::kZero}};

// In capitals or in small letters throughout.
bool has_keyword(std::string_view text, std::string_view word) {
  if (text.starts_with(word)) return true;
  if (text.size() < word.size()) return false;
  for (size_t i = 0; i < word.size(); ++i)
    if (text[i] != to_lower(word[i])) return false;
  return true;
}

Status take_digit(Part part, Pattern* p) {
  if (p->bracket)
    return syntax(part == Part::kZero ? "\"0\" must be ahead of \"PR\"" : "\"9\" must be ahead of \"PR\"");
  if (p->multiply && part == Part::kNine) return p->shift++, absl::OkStatus();
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
  if (p->exponent && part == Part::kExponent) return syntax("cannot use \"EEEE\" twice");
  if (p->exponent) return syntax("\"EEEE\" must be the last pattern used");
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
      if (p->sign != SignPlace::kNone)
        return syntax(part == Part::kMinus  ? "cannot use \"S\" and \"MI\" together"
                      : part == Part::kPlus ? "cannot use \"S\" and \"PL\" together"
                                            : "cannot use \"S\" and \"SG\" together");
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
      if (p->fill || p->blank || p->sign != SignPlace::kNone || p->bracket || p->minus || p->plus || p->roman ||
          p->multiply)
        return syntax("\"EEEE\" is incompatible with other formats");
      p->exponent = true;
      return absl::OkStatus();
    default:
      return absl::OkStatus();
  }
}

// Behind the opening quote; returns what is left behind the closing one.
std::string_view take_quoted(std::string_view text, Pattern* p) {
  while (!text.empty()) {
    if (text[0] == '"') return text.substr(1);
    if (text[0] == '\\' && text.size() > 1) text.remove_prefix(1);
    p->nodes.push_back({Part::kLiteral, text.substr(0, character_size(text[0]))});
    text.remove_prefix(p->nodes.back().text.size());
  }
  return text;
}

Status read_pattern(std::string_view rest, Pattern* p) {
  while (!rest.empty()) {
    const bool is_fill = has_keyword(rest, "FM"), is_blank = has_keyword(rest, "B");
    if (is_fill || is_blank) {
      if (p->exponent) return syntax("\"EEEE\" must be the last pattern used");
      (is_fill ? p->fill : p->blank) = true;
      rest.remove_prefix(is_fill ? 2 : 1);
      continue;
    }
    const auto* known = std::find_if(std::begin(kKeywords), std::end(kKeywords),
                                     [&](const Keyword& k) { return has_keyword(rest, k.text); });
    if (known != std::end(kKeywords)) {
      const bool upper = rest[0] >= 'A' && rest[0] <= 'Z';
      SCYPER_RETURN_IF_ERROR(take_part(known->part, upper, p));
      p->nodes.push_back({known->part, rest.substr(0, known->text.size()), upper});
      rest.remove_prefix(known->text.size());
    } else if (rest[0] == '"') {
      rest = take_quoted(rest.substr(1), p);
    } else {
      if (rest[0] == '\\' && rest.size() > 1 && rest[1] == '"') rest.remove_prefix(1);
      p->nodes.push_back({Part::kLiteral, rest.substr(0, character_size(rest[0]))});
      rest.remove_prefix(p->nodes.back().text.size());
    }
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

constexpr size_t kRomanWidth = 15;

// Writes one number, position by position, as NUM_processor() of formatting.c does.
class Writer {
 public:
  Writer(Pattern* pattern, std::string number, bool negative, int blanks)
      : p_(*pattern), number_(std::move(number)), negative_(negative), blanks_(blanks) {}

  Status run(std::string* out) {
    out_ = out;
    prepare();
    for (const Node& node : p_.nodes) {
      if (node.part == Part::kOrdinal && !p_.roman && number_[0] != '#' && !negative_ && !p_.decimal &&
          !is_digit(number_.back()))
        return sql_error("22P02", "\"" + number_ + "\" is not a number");
      write(node);
      if (is_cut_) break;
    }
    return absl::OkStatus();
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
    inside_ = false;
    write_sign();
    bool zeros_reached = p_.zero && p_.zero_start <= current_ + 1;
    if (current_ < blanks_ && !zeros_reached) {
      if (!p_.fill) out_->push_back(' ');
    } else if (current_ < blanks_) {
      out_->push_back('0');
      inside_ = true;
    } else {
      write_real(part);
      if (is_cut_) return;
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
    } else {
      is_cut_ = true;  // PostgreSQL's text ends here
    }
  }

  void write(const Node& node) {
    switch (node.part) {
      case Part::kNine:
      case Part::kZero:
      case Part::kPoint:
        if (!p_.roman) write_digit(node.part);
        return;
      case Part::kRoman:
        if (!p_.fill && number_.size() < kRomanWidth) out_->append(kRomanWidth - number_.size(), ' ');
        for (char c : number_) out_->push_back(node.upper ? c : to_lower(c));
        return;
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
        if (!negative_ && !p_.roman)
          out_->push_back('+');
        else if (!p_.fill)
          out_->push_back(' ');
        return;
      case Part::kBothSigns:
        out_->push_back(negative_ ? '-' : '+');
        return;
      case Part::kOrdinal:
        if (!p_.roman && number_[0] != '#' && !negative_ && !p_.decimal) out_->append(ordinal_of(number_, node.upper));
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
  bool is_cut_ = false;
};

// text: the rounded number.
Status write_number(Pattern* pattern, std::string text, std::string* out) {
  bool negative = text[0] == '-';
  if (negative) text.erase(0, 1);
  int length = static_cast<int>(std::min(text.find('.'), text.size()));
  int blanks = std::max(0, pattern->before - length);
  if (length > pattern->before) {
    text = std::string(static_cast<size_t>(pattern->before + pattern->behind + 1), '#');
    text[static_cast<size_t>(pattern->before)] = '.';
  }
  return Writer(pattern, std::move(text), negative, blanks).run(out);
}

// Of the other parts of the template only what stands between is left.
Status write_roman(Pattern* pattern, int64_t number, std::string* out) {
  pattern->before = pattern->behind = pattern->shift = pattern->zero_start = pattern->zero_end = 0;
  pattern->sign = SignPlace::kNone;
  pattern->zero = pattern->decimal = pattern->bracket = pattern->minus = pattern->plus = false;
  return Writer(pattern, roman_of(number), false, 0).run(out);
}

}  // namespace

Status format_number(const Decimal& value, TypeId type, std::string_view text, std::string* out) {
  Pattern pattern;
  SCYPER_RETURN_IF_ERROR(read_pattern(text, &pattern));
  const bool is_special = is_nan(value) || is_infinite(value);
  auto fail = [](ValueError error) { return error_status(error); };
  Decimal number = value;
  for (int i = 0; i < pattern.shift && !is_special; i++)
    if (ValueError error = decimal_multiply(number, {10, 0}, &number); error != ValueError::kNone) return fail(error);
  int64_t integer = 0;
  const bool is_integer = type == TypeId::kInt4 || type == TypeId::kInt8;
  const bool fits = is_special || decimal_to_int8(number, &integer) == ValueError::kNone;
  if (pattern.shift > 0 && is_integer && (!fits || (type == TypeId::kInt4 && integer != static_cast<int32_t>(integer))))
    return sql_error("22003", type == TypeId::kInt4 ? "integer out of range" : "bigint out of range");
  pattern.before += pattern.shift;
  if (pattern.exponent && is_special) return write_no_exponent(pattern.before, pattern.behind, out), absl::OkStatus();
  if (pattern.exponent && type == TypeId::kInt4)
    return write_exponent(pattern.behind, decimal_to_float8(number), out), absl::OkStatus();
  if (pattern.exponent) return write_exact_exponent(pattern.behind, decimal_text(number), out), absl::OkStatus();
  if (pattern.roman) {
    if (is_special || decimal_round(number, 0, &number) != ValueError::kNone ||
        decimal_to_int8(number, &integer) != ValueError::kNone || integer != static_cast<int32_t>(integer))
      return is_nan(value)        ? sql_error("0A000", "cannot convert NaN to integer")
             : is_infinite(value) ? sql_error("0A000", "cannot convert infinity to integer")
                                  : sql_error("22003", "integer out of range");
    return write_roman(&pattern, integer, out);
  }
  if (!is_special)
    if (ValueError error = decimal_round(number, pattern.behind, &number); error != ValueError::kNone)
      return fail(error);
  return write_number(&pattern, decimal_text(number), out);
}

Status format_number(double value, int digits, std::string_view text, std::string* out) {
  Pattern pattern;
  SCYPER_RETURN_IF_ERROR(read_pattern(text, &pattern));
  constexpr int kRealDigits = 6;
  if (pattern.roman) return write_roman(&pattern, static_cast<int32_t>(std::rint(value)), out);
  if (pattern.shift > 0) value *= std::pow(10.0, pattern.shift), pattern.before += pattern.shift;
  if (digits == kRealDigits) value = static_cast<double>(static_cast<float>(value));
  if (pattern.exponent && !std::isfinite(value))
    return write_no_exponent(pattern.before, pattern.behind, out), absl::OkStatus();
  if (pattern.exponent) return write_exponent(pattern.behind, value, out), absl::OkStatus();
  const char* special = std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
  char shown[400];
  int length = std::snprintf(shown, sizeof(shown), "%.0f", std::fabs(value));
  if (std::isinf(value)) length = 8;  // PostgreSQL's text
  int behind = length >= digits ? 0 : std::min(pattern.behind, digits - length);
  if (pattern.behind > behind) pattern.behind = behind;
  std::snprintf(shown, sizeof(shown), "%.*f", behind, value);
  return write_number(&pattern, std::isfinite(value) ? shown : special, out);
}

namespace {

// Reads a text by a template, as NUM_processor() of formatting.c does.
class NumberReader {
 public:
  NumberReader(const Pattern& pattern, std::string_view text) : p_(pattern), text_(text) {}

  // What numeric's input function gets.
  std::string run() {
    for (const Node& node : p_.nodes) {
      if (at_ >= text_.size()) break;
      if (take(node)) ++at_;
    }
    if (!number_.empty() && number_.back() == '.') number_.pop_back();
    return std::string(1, sign_) + number_;
  }
  int digits_behind() const { return read_behind_; }

 private:
  bool is_end() const { return at_ >= text_.size(); }
  bool is_at(char c) const { return at_ < text_.size() && text_[at_] == c; }

  void skip_other_characters(int count) {
    for (; count > 0 && !is_end(); --count) {
      if (std::string_view("0123456789.,+-").find(text_[at_]) != std::string_view::npos) return;
      at_ += character_size(text_[at_]);
    }
  }

  // Whether a character has been read.
  bool take(const Node& node) {
    switch (node.part) {
      case Part::kNine:
      case Part::kZero:
      case Part::kPoint:
        take_digit(node.part);
        return true;
      case Part::kComma:
        return is_at(',') && !p_.fill;
      case Part::kCurrency:
        skip_other_characters(1);
        return false;
      case Part::kOrdinal:
        if (sign_ != '-' && !p_.decimal) skip_other_characters(2);
        return false;
      case Part::kMinus:
      case Part::kPlus:
      case Part::kBothSigns:
        if ((is_at('-') && node.part != Part::kPlus) || (is_at('+') && node.part != Part::kMinus)) {
          sign_ = text_[at_];
          return true;
        }
        skip_other_characters(1);
        return false;
      case Part::kLiteral:
        at_ += character_size(text_[at_]);
        return false;
      default:
        return false;
    }
  }

  void take_sign_before() {
    const bool is_locale = p_.sign == SignPlace::kBefore;
    if (is_at('-') || (!is_locale && p_.bracket && is_at('<'))) {
      sign_ = '-';
    } else if (is_at('+')) {
      sign_ = '+';
    } else {
      return;
    }
    ++at_;
  }

  void take_digit(Part part) {
    if (is_at(' ')) ++at_;
    if (is_end()) return;
    const bool is_first = sign_ == ' ' && part != Part::kPoint && read_before_ + read_behind_ == 0;
    if (is_first) take_sign_before();
    if (is_end()) return;
    bool has_read = false;
    if (is_digit(text_[at_])) {
      if (has_point_ && read_behind_ == p_.behind) return;
      number_ += text_[at_];
      ++(has_point_ ? read_behind_ : read_before_);
      has_read = true;
    } else if (p_.decimal && !has_point_ && is_at('.')) {
      number_ += '.';
      has_point_ = has_read = true;
    }
    if (sign_ == ' ' && read_before_ + read_behind_ > 0) take_sign_behind(has_read);
  }

  void take_sign_behind(bool has_read) {
    const bool is_locale = p_.sign != SignPlace::kNone;
    if (is_locale && has_read && at_ + 1 < text_.size() && !is_digit(text_[at_ + 1])) {
      const char next = text_[at_ + 1];
      if (next != '-' && next != '+') return;
      sign_ = next;
      ++at_;
    } else if (!has_read && !is_locale && (p_.plus || p_.minus) && (is_at('-') || is_at('+'))) {
      sign_ = text_[at_];
    }
  }

  const Pattern& p_;
  const std::string_view text_;
  size_t at_ = 0;
  char sign_ = ' ';
  std::string number_;
  int read_before_ = 0, read_behind_ = 0;
  bool has_point_ = false;
};

}  // namespace

Status parse_number(std::string_view text, std::string_view pattern_text, Decimal* out) {
  Pattern pattern;
  SCYPER_RETURN_IF_ERROR(read_pattern(pattern_text, &pattern));
  if (pattern.roman) return sql_error("0A000", "\"RN\" not supported for input");
  if (pattern.exponent) return sql_error("0A000", "\"EEEE\" not supported for input");
  NumberReader reader(pattern, text);
  const std::string number = reader.run();
  ValueError error = decimal_parse(number, out);
  if (error != ValueError::kNone) return error_status(error, make_numeric(0, 0), number);
  const int behind = reader.digits_behind();
  const size_t point = std::min(number.find('.'), number.size());
  const size_t first = std::min(number.find_first_not_of(" +-0"), point);
  const auto precision = static_cast<size_t>(pattern.before + pattern.shift);
  if (point - first > precision)
    return with_detail(sql_error("22003", "numeric field overflow"),
                       "A field with precision " + std::to_string(precision + static_cast<size_t>(behind)) +
                           ", scale " + std::to_string(behind) + " must round to an absolute value less than " +
                           (precision == 0 ? "1" : "10^" + std::to_string(precision)) + ".");
  if (behind > 0 && out->scale < behind) error = decimal_round(*out, behind, out);
  Decimal factor{1, 0};
  if (error == ValueError::kNone && pattern.multiply) error = decimal_power({10, 0}, {-pattern.shift, 0}, &factor);
  if (error == ValueError::kNone && pattern.multiply) error = decimal_multiply(*out, factor, out);
  return error_status(error);
}

}  // namespace scyper::query
