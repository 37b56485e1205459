#pragma once

#include "node_parts.h"
#include "scyper.grpc.pb.h"

namespace scyper::server {

// scyper.v1.Admin, by gRPC's callbacks and the node's pool.
class AdminService final
    : public v1::Admin::WithCallbackMethod_Status<
          v1::Admin::WithCallbackMethod_Describe<v1::Admin::WithCallbackMethod_Load<
              v1::Admin::WithCallbackMethod_Backup<v1::Admin::WithCallbackMethod_Storage<v1::Admin::Service>>>>> {
 public:
  explicit AdminService(NodeParts* node) : node_(node) {}
  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext* context, const v1::StatusRequest* request,
                                   v1::StatusResponse* response) override;
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context, const v1::DescribeRequest* request,
                                     v1::DescribeResponse* response) override;
  grpc::ServerUnaryReactor* Backup(grpc::CallbackServerContext* context, const v1::BackupRequest* request,
                                   v1::BackupResponse* response) override;
  grpc::ServerUnaryReactor* Storage(grpc::CallbackServerContext* context, const v1::StorageRequest* request,
                                    v1::StorageResponse* response) override;
  grpc::ServerBidiReactor<v1::LoadBatch, v1::LoadResult>* Load(grpc::CallbackServerContext* context) override;

 private:
  NodeParts* const node_;
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
