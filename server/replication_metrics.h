#pragma once

#include <vector>

#include "base/metrics.h"
#include "primary/engine.h"

namespace scyper::server {

// Replication of this node, and, of a primary, of each secondary that follows it. Nothing without replication.
// Made when somebody looks: secondaries come and go.
void append_replication_metrics(primary::Engine* engine, std::vector<MetricFamily>* families);

}  // namespace scyper::server
