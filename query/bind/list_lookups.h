#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "bind/bound.h"

namespace scyper::query {

enum class ListUse : uint8_t {
  kQuery,
  kChange  // finds the rows of UPDATE and DELETE: a scan asks the condition itself
};
using NewRelation = std::function<std::unique_ptr<Relation>(RelationKind)>;

// Conjuncts `column IN (a, b, c)` and `column = ANY (array)` of the query become joins with the list's distinct values
// where an index finds the rows of each value. So few rows are looked up one by one, and an array is computed once.
// Otherwise the condition stays. new_relation: makes a relation with a number of its own.
void use_list_lookups(BoundQuery* query, ListUse use, const NewRelation& new_relation);

}  // namespace scyper::query
