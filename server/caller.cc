#include "caller.h"

#include <grpcpp/security/auth_context.h>
#include <grpcpp/server_context.h>

#include "node_parts.h"

namespace scyper::server {

std::string certificate_name(const grpc::AuthContext& context) {
  const auto names = context.FindPropertyValues("x509_common_name");
  return names.empty() ? std::string() : std::string(names[0].data(), names[0].size());
}

Authorization::Caller caller_of(const NodeParts& node, const grpc::ServerContextBase& context) {
  if (!node.authorization.is_on()) return {};
  return node.authorization.caller(certificate_name(*context.auth_context()));
}

}  // namespace scyper::server
