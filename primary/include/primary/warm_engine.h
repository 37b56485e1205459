#pragma once

#include <memory>

#include "primary/engine.h"
#include "replay/warm_state.h"

namespace scyper::primary {

// As Engine::create(), with what a secondary had of options.log.directory instead of recovering it. warm: null, or used
// up, also on error.
StatusOr<std::unique_ptr<Engine>> create_engine(const EngineOptions& options, std::shared_ptr<replay::WarmState> warm);

}  // namespace scyper::primary
