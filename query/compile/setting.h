#pragma once

#include "base/status.h"
#include "parse/ast.h"
#include "query/result.h"

namespace scyper::query {

// SET outside of sessions: accepted without effect, with a warning. 0A000 for settings that would change what names and
// times mean.
Status accept_setting(const ast::Statement& statement, ResultSet* result);
// SHOW outside of sessions.
Status show_setting(const ast::ShowStatement& show, ResultSet* result);

}  // namespace scyper::query
