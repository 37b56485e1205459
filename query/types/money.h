#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

// money: cents, as lc_monetary C writes them.
namespace scyper::query {

constexpr int64_t kCentsPerUnit = 100;

// As ordered bytes: a big-endian integer with its sign turned around.
int64_t cents_of_bytes(std::string_view bytes);
std::string bytes_of_cents(int64_t cents);

// 22P02, 22003.
Status money_parse(std::string_view text, int64_t* cents);
std::string money_text(int64_t cents);
// cash_words()
std::string money_words(int64_t cents);

}  // namespace scyper::query
