#pragma once

#include "base/status.h"
#include "bind/binder.h"
#include "parse/ast.h"

// What FOR UPDATE and the like may stand with. Nothing is locked: transactions run one after the other.
namespace scyper::query {

// Are the rows of the query rows of tables?
Status check_locking(const ast::SelectStatement& select, const BoundQuery& query);
// Rows that an outer join adds NULLs for are not there to be locked. A condition may make it an inner join.
Status check_locked_sides(const ast::SelectStatement& select, const Scope& scope);

}  // namespace scyper::query
