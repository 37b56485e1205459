#pragma once

#include <string>

#include "storage/table.h"

namespace scyper::storage {

// `Key (a, b)=(1, 2)` of an index: PostgreSQL's words in the details of constraint errors.
std::string key_text(const TablePartition* partition, const IndexDef& index, Tid tid, Table::DatumFormatter format);
Status out_of_memory();
Status key_too_large(const IndexDef& index, uint64_t bytes);

}  // namespace scyper::storage
