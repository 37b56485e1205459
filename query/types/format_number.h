#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "types/decimal.h"

// to_char() of numbers and to_number(): PostgreSQL's templates (formatting.c) under the C locale.
namespace scyper::query {

Status format_number(const Decimal& value, std::string_view pattern, std::string* out);
Status format_number(double value, std::string_view pattern, std::string* out);
Status parse_number(std::string_view text, std::string_view pattern, Decimal* out);

}  // namespace scyper::query
