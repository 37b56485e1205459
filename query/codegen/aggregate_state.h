#pragma once

#include <cstdint>

#include "bind/bound.h"
#include "storage/type.h"

// What aggregates ask of whoever keeps their states (plain, hash and window aggregation). Every aggregate has a state
// of kAggregateStateBytes that starts as zeros (init), wherever it lies (frame, hash table), 8-byte aligned, movable by
// copy. Generator::step_aggregate() takes one input row: after FILTER, after DISTINCT unless the aggregate collects(),
// and without NULL in its first strict_arguments(). finish_aggregate() gives the result. What does not fit in the state
// lies in the transaction's memory.
namespace scyper::query {

constexpr int64_t kAggregateStateBytes = 2 * sizeof(Datum);  // the running value, then the count of its inputs
constexpr int64_t kAggregateCount = sizeof(Datum);           // int64: inputs so far

// How many leading arguments a row must have not NULL to count.
size_t strict_arguments(const Aggregate& aggregate);

// Percentiles and modes of values that are 64 bits (runtime/ordered_values.cc). Their state is the address of these. A
// row has the value only.
bool keeps_values(const Aggregate& aggregate);

}  // namespace scyper::query
