#pragma once

#include <vector>

#include "base/metrics.h"
#include "node_parts.h"

namespace scyper::server {

// What is read when somebody looks: procedures, workers' queues and COPYs of a primary; the election of a node that
// takes part in one. Threads: any.
void append_activity_metrics(const NodeParts& node, std::vector<MetricFamily>* families);

}  // namespace scyper::server
