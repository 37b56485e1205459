#pragma once

#include "node_parts.h"
#include "rpc.h"
#include "scyper.grpc.pb.h"

namespace scyper::server {

// scyper.v1.Admin, by the completion loops and the node's pool.
class AdminService final : public v1::Admin::AsyncService {
 public:
  explicit AdminService(NodeParts* node) : node_(node) {}
  // For each loop, once the server was built.
  void serve(CompletionLoop* loop);

 private:
  using BackupRpc = UnaryRpc<v1::BackupRequest, v1::BackupResponse>;

  void back_up(BackupRpc* rpc);

  NodeParts* const node_;
  RpcMethods methods_;
};

// Names of the engine's settings, as in configuration files and metrics.
const char* execution_name(primary::ExecutionMode mode);
const char* redo_name(primary::RedoMode mode);
const char* layout_name(storage::Layout layout);
void fill_status(NodeParts* node, v1::StatusResponse* out);
// What replication and elections add to a status; what is done for whom.
void fill_replication_status(NodeParts* node, v1::StatusResponse* out);
void fill_activity(NodeParts* node, v1::StatusResponse* out);
void fill_storage(NodeParts* node, v1::StorageResponse* out);

}  // namespace scyper::server
