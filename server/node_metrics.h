#pragma once

#include <vector>

#include "base/metrics.h"
#include "node_parts.h"

namespace scyper::server {

// What is read when somebody looks: the process (by the names that Prometheus' own libraries use), the node's role, its
// log, archives and disk. Threads: any.
void append_node_metrics(const NodeParts& node, std::vector<MetricFamily>* families);

}  // namespace scyper::server
