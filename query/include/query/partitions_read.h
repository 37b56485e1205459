#pragma once

#include <cstdint>
#include <span>

#include "base/partition_set.h"
#include "query/program.h"
#include "storage/type.h"

namespace scyper::query {

// Calls take(int64) with each value that decides a partition (storage::partition_of) when the arguments are these.
template <typename Take>
void for_each_route(std::span<const Route> routes, std::span<const Datum> arguments, Take take) {
  for (const Route& route : routes) {
    if (route.kind == Route::Kind::kConstant) {
      take(route.constant);
      continue;
    }
    const Datum& value = arguments[route.argument];
    if (value.null) continue;  // column = NULL finds nothing
    if (route.kind == Route::Kind::kArgument) {
      take(value.lo);
      continue;
    }
    const auto* array = reinterpret_cast<const ArrayValue*>(value.lo);
    for (int32_t i = 0; i < array->size; ++i) {
      if (!array->elements[i].null) take(array->elements[i].lo);
    }
  }
}

// The partitions of partitioned tables that a run with those arguments can read: perhaps more, never fewer.
PartitionSet partitions_read(const Footprint& footprint, std::span<const Datum> arguments, uint32_t partitions);

}  // namespace scyper::query
