#pragma once

#include "plan/plan.h"

namespace scyper::query {

// Drops what changes no answer of a simplified plan: left joins whose right side nobody reads and that has one partner
// at most, DISTINCT and DISTINCT ON of rows that differ anyway, sorts whose order nobody can see (below aggregates that
// ignore it, set operations that remove duplicates, other sorts, the right sides of semi joins).
void eliminate(Plan* plan);

}  // namespace scyper::query
