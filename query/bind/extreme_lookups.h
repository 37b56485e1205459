#pragma once

#include <cstdint>

#include "bind/bound.h"

namespace scyper::query {

// SELECT min(c), max(c) FROM t becomes subqueries for the first row in the order of an index of c, as PostgreSQL plans
// it. Nothing happens where no index has the rows that WHERE leaves in this order. The counters give numbers to the
// subqueries and to their relations.
void use_extreme_lookups(BoundQuery* query, uint32_t* query_count, uint32_t* relation_count);

}  // namespace scyper::query
