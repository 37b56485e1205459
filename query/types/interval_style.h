#pragma once

#include "types/datetime.h"
#include "types/timezone.h"

namespace scyper::query {

// The text of an interval in a style that is not PostgreSQL's own: at most kIntervalTextMax characters. Returns its
// end.
char* interval_format_styled(const Interval& interval, IntervalStyle style, char* out) noexcept;

}  // namespace scyper::query
