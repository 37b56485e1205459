#pragma once

#include "parse/ast.h"

namespace scyper::query {

// Whether compiling the query as a transaction is worth the try: it may turn out to be a few accesses to user tables by
// index, or to call a function that writes. Looks at the text's tree only; the program's Footprint decides. False for
// what is surely for snapshots: groups, windows, set operations, common tables, totals of whole tables, system views.
bool may_be_short(const ast::Statement& statement);

}  // namespace scyper::query
