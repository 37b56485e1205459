#include "query/partitions_read.h"

#include "storage/schema.h"

namespace scyper::query {

PartitionSet partitions_read(const Footprint& footprint, std::span<const Datum> arguments, uint32_t partitions) {
  if (footprint.all_partitions || footprint.is_beyond_routes) return PartitionSet::all();
  PartitionSet read;
  for_each_route(footprint.routes, arguments,
                 [&](int64_t value) { read.add(storage::partition_of(value, partitions)); });
  return read;
}

}  // namespace scyper::query
