#pragma once

#include <cstddef>
#include <memory>

#include "base/status.h"
#include "query/catalog.h"
#include "storage/frozen_memory.h"
#include "storage/frozen_tier.h"

namespace scyper::query {

// Where frozen chunks lie; null where there are to be none.
StatusOr<std::unique_ptr<storage::FrozenMemory>> make_frozen_memory(size_t bytes_max);

// Before a catalog is published or used: what its tables look like with this version, and where their frozen chunks go
// (null: no chunk is ever frozen) and their data when it is too much (null: it stays in memory).
void note_tables(Catalog* catalog, storage::FrozenMemory* frozen, storage::FrozenTier* tier);
// By which hot data views the frozen chunks of its tables are placed, and through which caches they are read: a part of
// that, for a catalog that is back.
void note_placement(const Catalog& catalog);

}  // namespace scyper::query
