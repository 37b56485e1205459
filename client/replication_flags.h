#pragma once

#include "programs.h"

namespace CLI {
class App;
}

namespace scyper::client {

// `scyper bench replication` and what it takes, without what benchmarks have in common.
CLI::App* add_replication_flags(CLI::App* group, ReplicationBenchOptions* options);

}  // namespace scyper::client
