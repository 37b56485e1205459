#include "compile/catalog_tables.h"

#include "storage/frozen_chunk.h"

namespace scyper::query {

StatusOr<std::unique_ptr<storage::FrozenMemory>> make_frozen_memory(size_t bytes_max) {
  if (bytes_max == 0) return std::unique_ptr<storage::FrozenMemory>();
  return storage::FrozenMemory::create(bytes_max);
}

void note_tables(Catalog* catalog, storage::FrozenMemory* frozen) {
  catalog->schemas.clear();
  for (const auto& [name, table] : catalog->tables) {
    catalog->schemas[table.get()] = &table->schema();
    if (frozen == nullptr || table->frozen_store() != nullptr) continue;
    if (storage::can_freeze(table->schema())) table->allow_freezing(frozen);
  }
}

}  // namespace scyper::query
