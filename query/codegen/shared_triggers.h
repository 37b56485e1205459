#pragma once

#include "bind/bound.h"

// Changes of one statement that fire triggers per statement together, as in PostgreSQL: those of a table by one kind of
// change. They share the transition tables too.
namespace scyper::query {

bool shares_triggers(const BoundDml& a, const BoundDml& b);

// The first and the last of the changes of a WITH that share triggers with `change`. main_dml: the main statement, null
// for a query.
const BoundDml& first_change(const BoundWith& with, const BoundDml* main_dml, const BoundDml& change);
const BoundDml& last_change(const BoundWith& with, const BoundDml* main_dml, const BoundDml& change);

}  // namespace scyper::query
