#pragma once

#include <cstdint>
#include <memory>

#include "primary/engine.h"
#include "primary/open_transaction.h"

namespace scyper::primary {

enum class BlockLevel : uint8_t {
  kReadCommitted,  // each statement sees what was committed before it
  kSerializable,   // all statements see one state, which is still there at COMMIT; else 40001
};

// A transaction of several statements that stops nobody: others run between its statements. Engine::begin() waits until
// it has the engine for itself.
StatusOr<std::unique_ptr<OpenTransaction>> begin_block(Engine* engine, BlockLevel level = BlockLevel::kReadCommitted);

}  // namespace scyper::primary
