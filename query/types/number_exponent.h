#pragma once

#include <string>

// EEEE of to_char(): a number with an exponent. before, behind: digits of the template around its point.
namespace scyper::query {

void write_exponent(int behind, double value, std::string* out);
void write_no_exponent(int before, int behind, std::string* out);
// text: the number's digits, without an exponent.
void write_exact_exponent(int behind, std::string text, std::string* out);

}  // namespace scyper::query
