#pragma once

#include <functional>

#include "node_parts.h"
#include "rpc.h"
#include "scyper.grpc.pb.h"

namespace scyper::server {

// scyper.v1.Queries, by the completion loops and the node's pools.
class QueriesService final : public v1::Queries::AsyncService {
 public:
  explicit QueriesService(NodeParts* node) : node_(node) {}
  // For each loop, once the server was built.
  void serve(CompletionLoop* loop);

 private:
  // A handler that runs work(rpc), which may wait, on the pool of queries and answers with what it returns.
  template <typename R>
  std::function<void(R*)> answered_by(Status (QueriesService::*work)(R*));
  using OpenRpc = UnaryRpc<v1::OpenSessionRequest, v1::OpenSessionResponse>;
  using CloseRpc = UnaryRpc<v1::CloseSessionRequest, v1::CloseSessionResponse>;
  using PrepareRpc = UnaryRpc<v1::PrepareQueryRequest, v1::PrepareResponse>;
  Status open_session(OpenRpc* rpc);
  Status close_session(CloseRpc* rpc);
  Status prepare(PrepareRpc* rpc);

  NodeParts* const node_;
  RpcMethods methods_;
};

}  // namespace scyper::server
