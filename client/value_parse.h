#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "base/status.h"
#include "storage/type.h"

namespace scyper::client {

// A value of a file from its text, in PostgreSQL's input syntax as far as files have it (ISO dates, no special dates,
// no arrays). Strings point into `text`; char(n) is padded into `strings`.
StatusOr<Datum> parse_value(const SqlType& type, std::string_view text, std::deque<std::string>* strings);

}  // namespace scyper::client
