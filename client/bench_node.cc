#include "bench_node.h"

namespace scyper::client {

StatusOr<std::unique_ptr<LocalNode>> start_node(const CommonOptions& common, const ChOptions& ch, bool has_server) {
  auto node = std::make_unique<LocalNode>();
  std::vector<server::Assignment> settings = {
      {"listen", "127.0.0.1:0"}, {"http_listen", "127.0.0.1:0"}, {"workers", "1"}};
  settings.insert(settings.end(), common.node_settings.begin(), common.node_settings.end());
  SCYPER_ASSIGN_OR_RETURN(node->config, server::make_config({}, {}, settings));
  bool has_partitions = false;
  for (const auto& [key, value] : common.node_settings) has_partitions |= key == "partitions";
  if (!has_partitions) node->config.engine.partitions = partitions_for(ch.warehouses, node->config.engine.workers);
  SCYPER_ASSIGN_OR_RETURN(node->engine, primary::Engine::create(node->config.engine));
  if (has_server) {
    SCYPER_ASSIGN_OR_RETURN(node->server,
                            server::Server::start(node->config.server, node->engine.get(), &node->metrics));
  }
  return node;
}

ChDatabaseOptions database_options(const ChOptions& ch) {
  ChDatabaseOptions options;
  options.generator = generator_options(ch);
  options.layout = ch.layout;
  options.threads = ch.threads;
  options.is_quiet = ch.is_quiet;
  return options;
}

query::DatabaseOptions recovered_database(const server::NodeConfig& config) {
  query::DatabaseOptions options;
  options.partitions = config.engine.partitions;
  options.memory_bytes = config.engine.memory_bytes;
  options.page_mode = config.engine.page_mode;
  options.layout = config.engine.layout;
  options.execution = config.engine.execution;
  return options;
}

}  // namespace scyper::client
