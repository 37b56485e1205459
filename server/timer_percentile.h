#pragma once

#include "base/metrics.h"

namespace scyper::server {

// A bound that so many of the values do not exceed; 0: there are none.
inline double percentile_ms(const Timer::Reading& timer, double share) {
  if (timer.count == 0) return 0;
  const double wanted = share * static_cast<double>(timer.count);
  uint64_t seen = 0;
  for (size_t i = 0; i < Timer::kBoundsNs.size(); ++i) {
    seen += timer.counts[i];
    if (static_cast<double>(seen) >= wanted) return static_cast<double>(Timer::kBoundsNs[i]) / 1e6;
  }
  return static_cast<double>(Timer::kBoundsNs.back()) / 1e6;
}

}  // namespace scyper::server
