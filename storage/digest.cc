#define XXH_INLINE_ALL
#include <xxhash.h>

#include <vector>

#include "base/check.h"
#include "row_change_format.h"
#include "storage/partition_digest.h"
#include "tuple_place.h"

namespace scyper::storage {

StatusOr<Digest> partition_digest(const Table& table, uint32_t partition_number) {
  const RowPlan& plan = table.plan();
  const TablePartition* partition = table.partition(partition_number);
  Digest digest;
  std::vector<char> body;
  ChunkReader reader(partition, plan.all_columns);
  reader.for_each([&](Tid, const char* chunk, uint32_t offset) {
    const uint64_t bytes = row_values_bytes_max(plan.row, chunk, offset);
    if (body.size() < bytes) body.resize(bytes);
    const char* end = put_row_values(body.data(), plan.row, chunk, offset);
    const XXH128_hash_t hash =
        XXH3_128bits_withSeed(body.data(), static_cast<size_t>(end - body.data()), plan.schema->id.value());
    digest.add(hash.low64, hash.high64);
    return true;
  });
  SCYPER_RETURN_IF_ERROR(reader.status());
  return digest;
}

Digest table_digest(const Table& table) {
  Digest digest;
  for (uint32_t i = 0; i < table.partition_count(); ++i) {
    const StatusOr<Digest> part = partition_digest(table, i);
    CHECK(part.ok());
    digest.add(part->lo, part->hi);
  }
  return digest;
}

}  // namespace scyper::storage
