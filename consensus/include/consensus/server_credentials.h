#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/tls_files.h"

namespace grpc {
class ServerCredentials;
}

namespace scyper::consensus {

// Whether a call of that method may run: path "/scyper.v1.Admin/Backup", the name (CN) of the certificate that was
// shown. Quick: it runs on gRPC's threads.
using CallCheck = std::function<Status(std::string_view path, const std::string& certificate_name)>;

// TLS of a gRPC port by the files' newest texts: each handshake asks for them, connections that are there go on. With
// authorities clients have to show a certificate that one of them has signed. check: may be empty.
// gRPC's C++ has this only with a provider that takes files which do not fit; so this uses its C interface.
std::shared_ptr<grpc::ServerCredentials> make_server_credentials(std::shared_ptr<TlsFiles> tls, CallCheck check);

}  // namespace scyper::consensus
