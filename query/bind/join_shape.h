#pragma once

#include "parse/ast.h"

namespace scyper::query {

// A join whose relations are seen outside: one without a name of its own.
bool is_open_join(const ast::FromItem& item);
// A full join, or an outer join with a join on its other side.
bool needs_tree(const ast::FromItem& item);
// The same of what is inside of a join, whatever its name.
bool needs_tree_inside(const ast::FromJoin& join);

}  // namespace scyper::query
