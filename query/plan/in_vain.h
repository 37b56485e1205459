#pragma once

#include "bind/bound.h"

namespace scyper::query {

// Would somebody notice that a subquery (scalar, EXISTS, IN) ran though nobody asked for its result? It may fail
// (several rows, a division by zero, a routine), or it has effects. Overflows do not count: they are rare, and nearly
// every sum could have one.
bool shows_in_vain(const BoundExpr& subquery);

// Does an expression call a volatile function whenever it is computed? Routines that are declared stable do not count,
// nor do subqueries that run once for the whole statement.
bool calls_volatile(const BoundExpr& expr);

// Does it read a query of WITH that is volatile? Where it stands it would compute one of its own.
bool reads_drawn_rows(const BoundQuery& query);

}  // namespace scyper::query
