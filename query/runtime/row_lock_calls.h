#pragma once

#include <cstdint>

#include "ir/ir.h"
#include "query/exec_context.h"

// What changes of rows ask of those who hold rows (query/row_locks.h). Implementation: runtime/functions_row_locks.cc.
namespace scyper::query {

// A row has a key already (ChangeLog::conflict()). Not 0: another transaction has changed that row, so that nobody
// knows yet whether it stays.
int32_t meet_duplicate(ExecContext* context) noexcept;

extern const ir::External k_rt_meet_row;  // context, TablePartition*, Tid: its change decides whether it is there
extern const ir::External k_rt_lock_row;  // context, TablePartition*, Tid, storage::RowLock
// context, ChangeLog::Mark*: an error of a wait that has ended is raised where handlers see it, once the statement that
// would wait has run.
extern const ir::External k_rt_check_claims;

}  // namespace scyper::query
