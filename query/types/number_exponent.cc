#include "types/number_exponent.h"

#include <algorithm>
#include <cstdio>

namespace scyper::query {

void write_exponent(int behind, double value, std::string* out) {
  char text[512];
  std::snprintf(text, sizeof(text), "%.*e", std::min(behind, 400), value);
  if (text[0] != '-') out->push_back(' ');
  out->append(text);
}

// What is no number has no digits.
void write_no_exponent(int before, int behind, std::string* out) {
  std::string text(static_cast<size_t>(before + behind + 6), '#');
  text[0] = ' ';
  if (static_cast<size_t>(before) + 1 < text.size()) text[static_cast<size_t>(before) + 1] = '.';
  out->append(text);
}

// Of an exact number, as PostgreSQL's numeric_out_sci(): the digits are rounded without a new exponent.
void write_exact_exponent(int behind, std::string text, std::string* out) {
  const bool is_negative = text[0] == '-';
  if (is_negative) text.erase(0, 1);
  const size_t point = std::min(text.find('.'), text.size());
  std::string digits = text;
  digits.erase(std::min(point, digits.size()), 1);
  const size_t first = digits.find_first_not_of('0');
  const int exponent = first == std::string::npos ? 0 : static_cast<int>(point) - static_cast<int>(first) - 1;
  digits.erase(0, first == std::string::npos ? digits.size() : first);
  const auto wanted = static_cast<size_t>(behind) + 1;
  const bool rounds_up = digits.size() > wanted && digits[wanted] >= '5';
  digits.resize(wanted, '0');
  size_t i = rounds_up ? digits.size() : 0;
  for (; i > 0; --i) {
    if (digits[i - 1] != '9') {
      ++digits[i - 1];
      break;
    }
    digits[i - 1] = '0';
  }
  if (rounds_up && i == 0) digits.insert(0, "1");
  if (behind > 0) digits.insert(digits.size() - static_cast<size_t>(behind), ".");
  char shown[32];
  std::snprintf(shown, sizeof(shown), "e%+03d", exponent);
  out->append(is_negative ? "-" : " ").append(digits).append(shown);
}

}  // namespace scyper::query
