#pragma once

#include <grpcpp/grpcpp.h>

#include "node_parts.h"
#include "scyper.grpc.pb.h"

namespace scyper::server {

// One Queries.CopyIn; deletes itself when it has ended.
grpc::ServerBidiReactor<v1::CopyInRequest, v1::CopyInResponse>* serve_copy_in(NodeParts* node,
                                                                              grpc::CallbackServerContext* context);

}  // namespace scyper::server
