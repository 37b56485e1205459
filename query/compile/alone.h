#pragma once

#include <string>

#include "base/status.h"
#include "query/database.h"
#include "query/exec_context.h"

// Programs that run while nothing else does, in all partitions, each a transaction of its own.
namespace scyper::query {

void enter_alone(const DatabaseOptions& options, storage::ChangeLog* log, ScratchArena* scratch, ResultSet* result,
                 ExecContext* context);

// The rows of a program that has no arguments, with now() as given. Its changes are taken back; has_changed: whether
// there were any. Pauses where its thread's work does (storage/pauses.h).
StatusOr<ResultSet> query_alone(const DatabaseOptions& options, storage::Arena* arena, const Program& program,
                                int64_t time_us, bool* has_changed);

struct AloneRun {
  RowFeed* feed = nullptr;  // what it reads
  int64_t time_us = 0;
  std::string* redo = nullptr;  // gets its row changes, at most so many bytes, else 53400
  size_t redo_bytes_max = SIZE_MAX / 4;
  AloneInterruption* interruption = nullptr;
  const Datum* arguments = nullptr;
};
// Runs one that has no arguments and commits it. result: gets the number of rows and the messages; where it fails they
// are the error's.
Status change_alone(const DatabaseOptions& options, storage::Arena* arena, const Program& program, const AloneRun& run,
                    ResultSet* result);

// For a catalog that is not published, or not yet: what is compiled for it is not taken for another's.
uint64_t trial_version();
bool is_trial(uint64_t catalog_version);

// Gives back the rows of tables that only `before` has: programs in caches keep the catalog they were compiled for.
void release_dropped(const Catalog& before, const Catalog& now);

// After a load: statistics anew, once the table has grown by a quarter.
void note_growth(storage::Table* table);

}  // namespace scyper::query
