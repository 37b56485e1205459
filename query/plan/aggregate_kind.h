#pragma once

#include "bind/bound.h"

namespace scyper::query {

// Aggregates with small states: of one argument at most, all its values.
bool is_plain(const Aggregate& aggregate);
bool is_plain_sum(const Aggregate& aggregate);      // sums and averages whose state is a number
bool is_plain_extreme(const Aggregate& aggregate);  // min and max of numbers and moments
// Has the aggregate a state that two of its kind can be added up in?
bool has_small_state(const Aggregate& aggregate);
// Is its value the same, digits and all, in whatever order the rows come?
bool ignores_order(const Aggregate& aggregate);

}  // namespace scyper::query
