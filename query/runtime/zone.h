#pragma once

#include <string_view>

#include "query/exec_context.h"

namespace scyper::query {

// From here to the end of the statement, or of the routine that sets a zone of its own.
void enter_time_setting(ExecContext* c, std::string_view name, const std::string& value);
// Those that the session's settings, as the transaction has changed them, name.
void follow_time_zone(ExecContext* c);

}  // namespace scyper::query
