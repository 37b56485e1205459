#pragma once

#include <memory>

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace scyper::replication {

// One service without TLS. port: 0 picks a free one; what it is in the end. Null: it is taken.
std::unique_ptr<grpc::Server> serve_on_loopback(grpc::Service* service, int* port);

}  // namespace scyper::replication
