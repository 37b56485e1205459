#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "query/catalog.h"
#include "storage/arena.h"

namespace scyper::query {

// A catalog as bytes, for archives: all definitions but those of temporary tables, no rows. Whoever adds something to
// Catalog, TableSchema or Routine adds it here, with a new version of the form. Threads: any; a forked child may
// encode.
std::string encode_catalog(const Catalog& catalog);
// With empty tables. XX001 when the bytes are no catalog, 0A000 when their version is not known.
StatusOr<std::shared_ptr<Catalog>> decode_catalog(std::string_view bytes, uint32_t partitions, storage::Arena* arena);

}  // namespace scyper::query
