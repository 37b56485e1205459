#pragma once

#include <cstdint>

#include "row_key.h"
#include "storage/change_log.h"
#include "storage/table.h"

// Keys of tuples in the indexes of their partition. The ordered index and its hash companion change together or not at
// all.
namespace scyper::storage {

ChangeResult insert_key(TablePartition* partition, uint32_t index, const char* key, RowKey info, Tid tid,
                        ChangeLog::Conflict* conflict) noexcept;
void erase_key(TablePartition* partition, uint32_t index, const char* key, RowKey info) noexcept;
// A unique key that does not end with its Tid leads to another position of the tuple from now on.
void replace_key(TablePartition* partition, uint32_t index, const char* key, RowKey info, Tid tid) noexcept;
// Puts back a key whose removal is undone: it cannot fail, but may use up the log's reserve.
void restore_key(TablePartition* partition, uint32_t index, const char* key, RowKey info, Tid tid,
                 ChangeLog* log) noexcept;

// One key of a new tuple, in the order of the indexes; when it cannot be inserted, the earlier ones go too. The second
// form for fixed unique keys of at most HashIndex::kMaxWordKeyBytes in registers.
ChangeResult insert_index_key(TablePartition* partition, uint32_t index, Tid tid,
                              ChangeLog::Conflict* conflict) noexcept;
ChangeResult insert_index_words(TablePartition* partition, uint32_t index, uint64_t first, uint64_t second, Tid tid,
                                ChangeLog::Conflict* conflict) noexcept;
// All keys of a tuple. When one cannot be inserted, none is.
ChangeResult insert_keys(TablePartition* partition, Tid tid, ChangeLog::Conflict* conflict) noexcept;
void erase_keys(TablePartition* partition, Tid tid) noexcept;
void restore_keys(TablePartition* partition, Tid tid, ChangeLog* log) noexcept;

}  // namespace scyper::storage
