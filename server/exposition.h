#pragma once

#include <string>
#include <vector>

#include "base/metrics.h"

namespace scyper::server {

// The text of /metrics, by prometheus-cpp.
std::string render_metrics(const std::vector<MetricFamily>& families);

}  // namespace scyper::server
