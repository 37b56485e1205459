#pragma once

#include <memory>

#include "replay/warm_state.h"
#include "secondary/node.h"

namespace scyper::secondary {

// Ends a node's work, but for the object: its state with all that its log has, confirmed or not, for a primary in this
// process. After bar() and when nobody asks it anything any more. Error: it cannot be had; the directory has it.
StatusOr<std::shared_ptr<replay::WarmState>> hand_over(Node* node);

}  // namespace scyper::secondary
