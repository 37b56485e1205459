#include "wire.h"

#include <grpcpp/support/status.h>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "google/rpc/details.pb.h"
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
  std::string_view sqlstate = error.sqlstate().size() == 5 ? std::string_view(error.sqlstate()) : "XX000";
  Status status = sql_error(sqlstate, error.message(), error.position());
  if (!error.detail().empty()) status = with_detail(std::move(status), error.detail());
  if (!error.hint().empty()) status = with_hint(std::move(status), error.hint());
  if (error.retry_after_ms() > 0) {
    std::string ms = std::to_string(error.retry_after_ms());
    status.SetPayload(kRetryUrl, absl::Cord(absl::string_view(ms)));
  }
  return status;
}

Status status_of(const grpc::Status& status) {
  if (status.ok()) return {};
  google::rpc::Status details;
  v1::Error error;
  if (details.ParseFromString(status.error_details())) {
    for (const auto& any : details.details()) {
      if (any.Is<v1::Error>() && any.UnpackTo(&error)) return status_of(error);
    }
  }
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      return sql_error("08006", "connection to the node failed: " + status.error_message());
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return sql_error("57014", "canceling statement due to the client's timeout");
    case grpc::StatusCode::CANCELLED:
      return sql_error("57014", "canceling statement due to user request");
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return sql_error("54000", status.error_message());
    case grpc::StatusCode::UNIMPLEMENTED:
      return sql_error("0A000", "the node does not know this request: " + status.error_message());
    default:
      return sql_error("08P01", status.error_message());
  }
}

SqlType type_of(const v1::Type& type) {
  return SqlType{static_cast<TypeId>(type.id()), static_cast<TypeId>(type.element()),
                 static_cast<uint8_t>(type.precision()), static_cast<uint8_t>(type.scale()), type.length()};
}

std::vector<query::ResultColumn> columns_of(const google::protobuf::RepeatedPtrField<v1::Column>& columns) {
  std::vector<query::ResultColumn> out;
  for (const v1::Column& column : columns) out.push_back({column.name(), type_of(column.type())});
  return out;
}

std::shared_ptr<const Prepared> prepared_of(std::string_view sql, const v1::PrepareResponse& response) {
  auto prepared = std::make_shared<Prepared>();
  prepared->id = response.statement_id();
  prepared->sql = sql;
  for (const v1::Type& type : response.parameters()) prepared->parameters.push_back(type_of(type));
  prepared->columns = columns_of(response.columns());
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
