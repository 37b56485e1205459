#pragma once

#include <memory>
#include <string_view>

#include "base/status.h"
#include "primary/copy_in.h"
#include "primary/engine.h"

namespace grpc {
class Channel;
}

namespace scyper::server {

// A COPY FROM STDIN of a secondary's session, which the primary behind the channel runs. 57P03: it has gone, nothing
// was copied; 40003: it has gone at the end, nobody tells whether all was copied or nothing.
StatusOr<std::unique_ptr<primary::CopyIn>> open_forwarded_copy(const std::shared_ptr<grpc::Channel>& channel,
                                                               std::string_view sql,
                                                               const primary::StatementLimits& limits);

}  // namespace scyper::server
