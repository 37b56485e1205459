#pragma once

#include "row_change_format.h"
#include "storage/change_log.h"

// Appending row changes to a log's physical redo (docs/redo_format.md). false: log->last_result() says why.
namespace scyper::storage {

bool log_insert(ChangeLog* log, const TablePartition* partition, Tid tid) noexcept;
bool log_delete(ChangeLog* log, const TablePartition* partition, Tid tid) noexcept;
// Before the cells change: the record up to the key. log_update_values() must follow once they have.
bool log_update_key(ChangeLog* log, const TablePartition* partition, Tid tid,
                    const UpdateDescriptor& descriptor) noexcept;
bool log_update_values(ChangeLog* log, const TablePartition* partition, Tid tid,
                       const UpdateDescriptor& descriptor) noexcept;

}  // namespace scyper::storage
