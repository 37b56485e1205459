#pragma once

#include "bind/bound.h"

// Which subqueries of a statement run once for all of its rows, and which of a change have to run before it.
namespace scyper::query {

// Does nothing around a subquery decide its result?
bool is_independent(const BoundQuery& query);

// Does a subquery give one result for the whole statement, though it would give another each time it runs? As
// PostgreSQL's InitPlans: nothing around it decides its result.
bool computes_once(const BoundQuery& query);

// Makes parts of `with` that run before everything else:
// - of subqueries for which computes_once() holds,
// - of subqueries beside the changes (RETURNING, DO UPDATE) that read the changed table: they see it as it was. What
//   they read becomes a copy of the table where they depend on the row at hand,
// - of queries of WITH that are volatile and read at several places.
void keep_reads(BoundProgram* program, BoundDml* dml, BoundWith* with);

// The same for a statement without changes in its WITH: null where it needs no parts.
std::shared_ptr<const BoundWith> keep_reads(BoundProgram* program, BoundDml* dml);

}  // namespace scyper::query
