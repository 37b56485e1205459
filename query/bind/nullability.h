#pragma once

#include "bind/bound.h"

namespace scyper::query {

// Marks expressions as nullable that have become so because of what stands in them now: from the arguments up, those of
// subqueries not included. Never the other way round.
void raise_nullable(BoundExpr* expr);

// The same for one expression whose arguments are right.
void raise_nullable_here(BoundExpr* expr);

}  // namespace scyper::query
