#pragma once

#include "node_parts.h"
#include "scyper.grpc.pb.h"

namespace scyper::server {

// scyper.v1.Queries, by gRPC's callbacks and the node's pool.
class QueriesService final : public v1::Queries::WithCallbackMethod_Execute<v1::Queries::Service> {
 public:
  explicit QueriesService(NodeParts* node) : node_(node) {}
  grpc::ServerWriteReactor<v1::ExecuteResponse>* Execute(grpc::CallbackServerContext* context,
                                                         const v1::ExecuteRequest* request) override;

 private:
  NodeParts* const node_;
};

}  // namespace scyper::server
