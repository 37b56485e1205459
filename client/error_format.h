#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace scyper::client {

// An error as psql prints it: the message, the line of the statement with a caret under the position, detail and hint.
// is_verbose: with the SQLSTATE before the message.
std::string format_error(const Status& status, std::string_view statement, bool is_verbose);
// {"error": {"sqlstate": ..., "message": ..., ...}}
std::string format_error_json(const Status& status);

}  // namespace scyper::client
