#pragma once

#include <memory>

#include "session.h"

namespace scyper::client {

// A session on a cluster whose primary is elected: connects to whoever is primary among the targets (host:port,
// separated by commas), and to the next one when that has gone. What was refused is sent there again. So is a statement
// that was under way when a node died, under the same request id, until its answer is known: it is done once, or 40003
// says that nobody knows. Of definitions, copies and texts of several statements the error says that they may have
// committed. A pinned snapshot goes with its node.
StatusOr<std::unique_ptr<Session>> cluster_session(const ConnectOptions& options);

}  // namespace scyper::client
