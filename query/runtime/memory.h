#pragma once

#include <string>

#include "base/bounded_work.h"
#include "query/exec_context.h"
#include "types/value_error.h"

// What runtime functions share: the transaction's memory, copies into it, casts.
namespace scyper::query {

int32_t fail_memory(ExecContext* context) noexcept;  // 53200
// The error of ExecContext::interrupt, or 0. No safepoint: for places that may lie inside one change of a row.
int32_t fail_interrupted(ExecContext* context) noexcept;
// For C++ that works for the statement: the rest of its memory, until it is interrupted.
BoundedWork::Bounds work_bounds(ExecContext* context) noexcept;
// The error of a change, before anything is rolled back (it reads the conflicting tuple).
int32_t report_change(ExecContext* context, storage::ChangeResult result) noexcept;
inline int32_t fail_change(ExecContext* context, storage::ChangeResult result) noexcept {
  if (result == storage::ChangeResult::kOk) [[likely]]
    return 0;
  return report_change(context, result);
}

// The transaction's memory for functions of query/types.
TextArena scratch_arena(ExecContext* context) noexcept;

// Makes what a datum points to a copy in the transaction's memory. false: no room.
bool copy_datum(ExecContext* context, const SqlType& type, Datum* datum) noexcept;

// Any cast between the types of the first slice; explicit ones cut strings silently. Status in the context.
int32_t cast_datum(ExecContext* context, const Datum& in, const SqlType& from, const SqlType& to, bool is_explicit,
                   Datum* out) noexcept;

// A row of the result.
int32_t emit_row(ExecContext* context, const Datum* row) noexcept;

// PostgreSQL's text output, for constraint errors.
std::string format_datum(const SqlType& type, const Datum& value);

}  // namespace scyper::query
