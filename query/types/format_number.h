#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "types/decimal.h"

// to_char() of numbers and to_number(): PostgreSQL's templates (formatting.c) under the C locale.
namespace scyper::query {

// type: int4, int8 or numeric, which PostgreSQL formats by functions of their own.
Status format_number(const Decimal& value, TypeId type, std::string_view pattern, std::string* out);
// digits: of the type, 6 or 15; the number shows no more.
Status format_number(double value, int digits, std::string_view pattern, std::string* out);
Status parse_number(std::string_view text, std::string_view pattern, Decimal* out);

}  // namespace scyper::query
