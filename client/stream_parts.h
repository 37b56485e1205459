#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "client/client.h"
#include "scyper.grpc.pb.h"

namespace scyper::client {

struct Stream::Parts {
  std::shared_ptr<grpc::Channel> channel;  // keeps the connection beyond its Client
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::CallBatch, v1::ResultBatch>> stream;
  v1::CallBatch outgoing;
  v1::ResultBatch incoming;
  bool is_sending_closed = false;
  bool is_finished = false;
  Status final_status;
};

struct Loading::Parts {
  std::shared_ptr<grpc::Channel> channel;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::LoadBatch, v1::LoadResult>> stream;
  std::string table;
  std::vector<query::ResultColumn> columns;
};

}  // namespace scyper::client
