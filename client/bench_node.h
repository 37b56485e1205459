#pragma once

#include <memory>

#include "base/metrics.h"
#include "ch_database.h"
#include "programs.h"
#include "query/database.h"
#include "server/server.h"

namespace scyper::client {

// A node in this process: an engine, and if asked its server on a free loopback port.
struct LocalNode {
  MetricsRegistry metrics;
  server::NodeConfig config;
  std::unique_ptr<primary::Engine> engine;
  std::unique_ptr<server::Server> server;
};

// has_server: also on gRPC. Without a number of partitions in `common`, one that spreads the warehouses evenly.
StatusOr<std::unique_ptr<LocalNode>> start_node(const CommonOptions& common, const ChOptions& ch, bool has_server);

ChDatabaseOptions database_options(const ChOptions& ch);

// Of a database that is recovered without a node, from what one with this configuration has left.
query::DatabaseOptions recovered_database(const server::NodeConfig& config);

}  // namespace scyper::client
