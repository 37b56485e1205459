#pragma once

#include "runtime/window.h"

namespace scyper::query {

// Fills frame_begin and frame_end for the partition at hand. Status in the context.
int32_t find_frames(ExecContext* context, WindowRun* run, const WindowSpec& spec) noexcept;
// The rows of a row's frame, without those that EXCLUDE takes out, in order.
WindowRun::Ranges frame_ranges(const WindowRun& run, const WindowSpec& spec, int64_t row) noexcept;

inline bool is_null(const WindowField& field, const char* tuple) noexcept {
  return field.null_offset >= 0 && tuple[field.null_offset] != 0;
}
Datum load_window_field(const WindowField& field, const char* tuple) noexcept;  // not NULL
}  // namespace scyper::query
