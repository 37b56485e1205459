#pragma once

#include <memory>
#include <vector>

#include "completion_loop.h"
#include "interaction.h"
#include "node_parts.h"
#include "rpc.h"
#include "scyper.grpc.pb.h"

namespace scyper::server {

class StreamLoop;

// scyper.v1.Transactions. Has the node's completion loops (few threads, most calls): its streams live on them, its
// other methods and the other services are served there.
class TransactionsService final : public v1::Transactions::AsyncService {
 public:
  explicit TransactionsService(NodeParts* node);
  ~TransactionsService() override;

  // In this order: before the server is built, twice after it was, when it stops, after it was shut down.
  void add_queue(std::unique_ptr<grpc::ServerCompletionQueue> queue);
  std::vector<CompletionLoop*> loops() const;
  void start();
  void drain();
  void stop();
  bool is_busy() { return interactions_.is_busy(); }  // an open transaction runs a statement

 private:
  using PrepareRpc = UnaryRpc<v1::PrepareRequest, v1::PrepareResponse>;

  void serve(CompletionLoop* loop);
  void prepare(PrepareRpc* rpc);

  NodeParts* const node_;
  Interactions interactions_;
  RpcMethods methods_;
  std::vector<std::unique_ptr<StreamLoop>> loops_;
};

}  // namespace scyper::server
