#pragma once

#include <string>

#include "authorization.h"

namespace grpc {
class AuthContext;
class ServerContextBase;
}  // namespace grpc

namespace scyper::server {

struct NodeParts;

// The name (CN) of the certificate that a call came with; empty: none.
std::string certificate_name(const grpc::AuthContext& context);
Authorization::Caller caller_of(const NodeParts& node, const grpc::ServerContextBase& context);

}  // namespace scyper::server
