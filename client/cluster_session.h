#pragma once

#include <memory>

#include "session.h"

namespace scyper::client {

// A session on a cluster whose primary is elected: connects to whoever is primary among the targets (host:port,
// separated by commas), and to the next one when that has gone. What was refused is sent there again; of what was under
// way when a node died the error says that it may have committed. A pinned snapshot goes with its node.
StatusOr<std::unique_ptr<Session>> cluster_session(const ConnectOptions& options);

}  // namespace scyper::client
