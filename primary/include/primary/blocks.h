#pragma once

#include <memory>

#include "primary/engine.h"
#include "primary/open_transaction.h"

namespace scyper::primary {

// A transaction of several statements that stops nobody: others run between its statements, and each statement sees
// what was committed before it (READ COMMITTED). Engine::begin() waits until it has the engine for itself.
StatusOr<std::unique_ptr<OpenTransaction>> begin_block(Engine* engine);

}  // namespace scyper::primary
