#pragma once

#include "base/status.h"
#include "client/client.h"
#include "scyper.pb.h"

namespace grpc {
class Status;
}

// From the wire's messages to ours.
namespace scyper::client {

Status status_of(const v1::Error& error);
Status status_of(const grpc::Status& status);
std::shared_ptr<const Prepared> prepared_of(std::string_view sql, const v1::PrepareResponse& response);
// Appends packed rows of the result's columns. Malformed: 08P01.
Status append_rows(std::string_view packed, uint32_t row_count, query::ResultSet* result);

}  // namespace scyper::client
