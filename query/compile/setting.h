#pragma once

#include "base/status.h"
#include "parse/ast.h"
#include "query/result.h"

namespace scyper::query {

// Settings are accepted without effect, but for those that would change what names and times mean: 0A000 for a SET of
// them. Other statements are fine.
Status check_setting(const ast::Statement& statement);
// SHOW outside of sessions.
Status show_setting(const ast::ShowStatement& show, ResultSet* result);

}  // namespace scyper::query
