#pragma once

#include "runtime/spill_space.h"
#include "runtime/window.h"

namespace scyper::query {

constexpr int64_t kWindowRowsPerPoll = 1 << 14;  // below a millisecond
// Every few rows of a loop: the error of an interrupt.
inline int32_t poll_at(ExecContext* context, int64_t row) noexcept {
  return row % kWindowRowsPerPoll == 0 ? poll_interrupt(context) : 0;
}

// Fills frame_begin and frame_end for the partition at hand. Status in the context.
int32_t find_frames(ExecContext* context, WindowRun* run, const WindowSpec& spec) noexcept;
// The rows of a row's frame, without those that EXCLUDE takes out, in order.
WindowRun::Ranges frame_ranges(const WindowRun& run, const WindowSpec& spec, int64_t row) noexcept;

inline bool is_null(const WindowField& field, const char* tuple) noexcept {
  return field.null_offset >= 0 && tuple[field.null_offset] != 0;
}
Datum load_window_field(const WindowField& field, const char* tuple) noexcept;  // not NULL
}  // namespace scyper::query
