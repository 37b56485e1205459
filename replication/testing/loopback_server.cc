#include "testing/loopback_server.h"

#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"

namespace scyper::replication {

std::unique_ptr<grpc::Server> serve_on_loopback(grpc::Service* service, int* port) {
  grpc::ServerBuilder builder;
  const std::string address = absl::StrCat("127.0.0.1:", *port);
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), port);
  builder.RegisterService(service);
  return builder.BuildAndStart();
}

}  // namespace scyper::replication
