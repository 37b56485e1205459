#pragma once

#include <string>

#include "client/client.h"

namespace scyper::client {

// What `scyper status` prints. As one JSON object, without a line break:
std::string status_json(const NodeStatus& status);
// For people:
std::string status_table(const NodeStatus& status, const std::string& target);

}  // namespace scyper::client
