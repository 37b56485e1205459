#pragma once

#include <grpcpp/server_context.h>

#include <memory>
#include <vector>

#include "completion_loop.h"
#include "node_parts.h"
#include "scyper.grpc.pb.h"

namespace scyper::server {

class StreamLoop;

// scyper.v1.Transactions: streams on completion loops (few threads, most calls), the rest by gRPC's callbacks.
class TransactionsService final
    : public v1::Transactions::WithAsyncMethod_Stream<v1::Transactions::WithCallbackMethod_Call<
          v1::Transactions::WithCallbackMethod_Prepare<v1::Transactions::Service>>> {
 public:
  explicit TransactionsService(NodeParts* node);
  ~TransactionsService() override;

  // In this order: before the server is built, after it was, when it stops, after it was shut down.
  void add_queue(std::unique_ptr<grpc::ServerCompletionQueue> queue);
  void start();
  void drain();
  void stop();

  grpc::ServerUnaryReactor* Call(grpc::CallbackServerContext* context, const v1::CallRequest* request,
                                 v1::CallResponse* response) override;
  grpc::ServerUnaryReactor* Prepare(grpc::CallbackServerContext* context, const v1::PrepareRequest* request,
                                    v1::PrepareResponse* response) override;

 private:
  NodeParts* const node_;
  std::vector<std::unique_ptr<StreamLoop>> loops_;
};

}  // namespace scyper::server
