#pragma once

#include "node_parts.h"
#include "rpc.h"
#include "scyper.grpc.pb.h"

namespace scyper::server {

// One Queries.CopyIn.
StreamRpc<v1::CopyInRequest, v1::CopyInResponse>* make_copy_in(NodeParts* node);

}  // namespace scyper::server
