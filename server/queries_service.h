#pragma once

#include <functional>

#include "copy_in.h"
#include "node_parts.h"
#include "scyper.grpc.pb.h"

namespace scyper::server {

// scyper.v1.Queries, by gRPC's callbacks and the node's pools.
class QueriesService final
    : public v1::Queries::WithCallbackMethod_Execute<
          v1::Queries::WithCallbackMethod_OpenSession<v1::Queries::WithCallbackMethod_CloseSession<
              v1::Queries::WithCallbackMethod_Prepare<v1::Queries::WithCallbackMethod_CopyIn<v1::Queries::Service>>>>> {
 public:
  explicit QueriesService(NodeParts* node) : node_(node) {}
  grpc::ServerWriteReactor<v1::ExecuteResponse>* Execute(grpc::CallbackServerContext* context,
                                                         const v1::ExecuteRequest* request) override;
  grpc::ServerBidiReactor<v1::CopyInRequest, v1::CopyInResponse>* CopyIn(
      grpc::CallbackServerContext* context) override {
    return serve_copy_in(node_, context);
  }
  grpc::ServerUnaryReactor* OpenSession(grpc::CallbackServerContext* context, const v1::OpenSessionRequest* request,
                                        v1::OpenSessionResponse* response) override;
  grpc::ServerUnaryReactor* CloseSession(grpc::CallbackServerContext* context, const v1::CloseSessionRequest* request,
                                         v1::CloseSessionResponse* response) override;
  grpc::ServerUnaryReactor* Prepare(grpc::CallbackServerContext* context, const v1::PrepareQueryRequest* request,
                                    v1::PrepareResponse* response) override;

 private:
  // Runs work that may wait on the pool of queries and answers.
  grpc::ServerUnaryReactor* answer(grpc::CallbackServerContext* context, std::function<Status()> work);

  NodeParts* const node_;
};

}  // namespace scyper::server
