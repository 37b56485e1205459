#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace grpc {
class Status;
}
namespace scyper::v1 {
class Error;
}

namespace scyper::server {

// When the same request may succeed later: milliseconds to wait; 0 = it would fail again. Full queues drain within
// milliseconds; a transaction lost to a conflict can run again at once.
uint32_t retry_after_ms_of(const Status& status);

// The text, or without what is not UTF-8: clients and protobuf refuse that, and error texts may quote what was sent.
std::string printable(std::string_view text);

// What a client sees of a failed call: as a message of its own, and as an RPC's status with google.rpc details.
// Texts are cut in the latter: clients refuse trailing metadata of more than 8 KB.
void encode_error(const Status& status, v1::Error* error);
void encode_notices(const Status& status, v1::Error* error);  // what was said before it
grpc::Status grpc_status_of(const Status& status);
// The other way round, for requests that another node has answered.
Status status_of_grpc(const grpc::Status& status);

}  // namespace scyper::server
