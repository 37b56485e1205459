#pragma once

#include "compile/image_io.h"
#include "query/catalog.h"

// Partitions by range and list in the catalog's image: keys of tables in the order of the map, then what makes views
// partitions.
namespace scyper::query {

void encode_partitions(ImageWriter* out, const Catalog& catalog);
// False: the image is damaged.
bool decode_partitions(ImageReader* in, Catalog* catalog);

}  // namespace scyper::query
