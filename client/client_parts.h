#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <utility>

#include "client/client.h"
#include "scyper.grpc.pb.h"

namespace scyper::client {

struct Client::Parts {
  explicit Parts(std::shared_ptr<grpc::Channel> c)
      : channel(std::move(c)),
        transactions(v1::Transactions::NewStub(channel)),
        queries(v1::Queries::NewStub(channel)),
        admin(v1::Admin::NewStub(channel)) {}

  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::Transactions::Stub> transactions;
  std::unique_ptr<v1::Queries::Stub> queries;
  std::unique_ptr<v1::Admin::Stub> admin;
  int call_timeout_ms = 60'000;
};

}  // namespace scyper::client
