#include "wire.h"

#include <grpcpp/support/status.h>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "server/messages.h"
#include "server/packed.h"

namespace scyper::client {

namespace {
constexpr char kRetryUrl[] = "scyper/retry_after_ms";
}

uint32_t retry_after_ms_of(const Status& status) {
  auto payload = status.GetPayload(kRetryUrl);
  uint32_t ms = 0;
  return payload.has_value() && absl::SimpleAtoi(std::string(*payload), &ms) ? ms : 0;
}

Status status_of(const v1::Error& error) {
  Status status = server::status_of(error);
  if (error.retry_after_ms() > 0) {
    std::string ms = std::to_string(error.retry_after_ms());
    status.SetPayload(kRetryUrl, absl::Cord(absl::string_view(ms)));
  }
  return status;
}

Status status_of(const grpc::Status& status) {
  if (status.ok()) return {};
  if (v1::Error error; server::find_error(status, &error)) return status_of(error);
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      return sql_error("08006", "connection to the node failed: " + status.error_message());
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return sql_error("57014", "canceling statement due to the client's timeout");
    case grpc::StatusCode::CANCELLED:  // by the node, which stops; what this client cancels has its own error
      return sql_error("08006", "the node has given up the call");
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return sql_error("54000", status.error_message());
    case grpc::StatusCode::UNIMPLEMENTED:
      return sql_error("0A000", "the node does not know this request: " + status.error_message());
    default:
      return sql_error("08P01", status.error_message());
  }
}

std::shared_ptr<const Prepared> prepared_of(std::string_view sql, const v1::PrepareResponse& response) {
  auto prepared = std::make_shared<Prepared>();
  prepared->id = response.statement_id();
  prepared->sql = sql;
  for (const v1::Type& type : response.parameters()) prepared->parameters.push_back(server::type_of(type));
  prepared->columns = server::columns_of(response.columns());
  return prepared;
}

Status append_rows(std::string_view packed, uint32_t row_count, query::ResultSet* result) {
  std::vector<SqlType> types;
  for (const query::ResultColumn& column : result->columns) types.push_back(column.type);
  std::vector<Datum> row(types.size());
  server::RowArena arena;
  for (uint32_t i = 0; i < row_count; ++i) {
    arena.clear();
    SCYPER_RETURN_IF_ERROR(server::decode_row(types, &packed, row.data(), &arena));
    for (size_t c = 0; c < types.size(); ++c) result->append(types[c], row[c]);
  }
  return packed.empty() ? Status() : sql_error("08P01", "malformed rows: bytes are left after the last one");
}

}  // namespace scyper::client
