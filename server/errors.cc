#include "errors.h"

#include <grpcpp/support/status.h>

#include "google/rpc/details.pb.h"
#include "scyper.pb.h"
#include "server/packed.h"

namespace scyper::server {

namespace {
// A `string` field refuses to be serialised when it is not UTF-8; error texts may quote what the client sent.
std::string printable(std::string_view text) {
  if (check_text(text).ok()) return std::string(text);
  std::string clean;
  for (char c : text) clean += static_cast<unsigned char>(c) < 0x80 && c != 0 ? c : '?';
  return clean;
}
std::string_view message_of(const Status& status) { return {status.message().data(), status.message().size()}; }
}  // namespace

uint32_t retry_after_ms_of(const Status& status) {
  std::string sqlstate = sqlstate_of(status);
  if (sqlstate == "53300" || sqlstate == "55000" || sqlstate == "57P02") return 10;
  if (sqlstate.starts_with("40")) return 1;
  if (sqlstate == "57P01" || sqlstate == "57P03") return 1000;
  return 0;
}

void encode_error(const Status& status, v1::Error* error) {
  error->set_sqlstate(sqlstate_of(status));
  error->set_message(printable(message_of(status)));
  error->set_detail(printable(detail_of(status)));
  error->set_hint(printable(hint_of(status)));
  error->set_position(position_of(status));
  error->set_retry_after_ms(retry_after_ms_of(status));
  error->set_code(static_cast<int32_t>(status.code()));
}

grpc::Status grpc_status_of(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  v1::Error error;
  encode_error(status, &error);
  google::rpc::Status details;
  details.set_code(error.code());
  details.set_message(error.message());
  details.add_details()->PackFrom(error);
  google::rpc::ErrorInfo info;
  info.set_reason(error.sqlstate());
  info.set_domain("scyper");
  details.add_details()->PackFrom(info);
  if (error.retry_after_ms() > 0) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(error.retry_after_ms() / 1000);
    retry.mutable_retry_delay()->set_nanos(static_cast<int32_t>(error.retry_after_ms() % 1000) * 1'000'000);
    details.add_details()->PackFrom(retry);
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), error.message(), details.SerializeAsString());
}

Status status_of_grpc(const grpc::Status& status) {
  if (status.ok()) return Status();
  google::rpc::Status details;
  v1::Error error;
  if (details.ParseFromString(status.error_details())) {
    for (const auto& any : details.details()) {
      if (!any.Is<v1::Error>() || !any.UnpackTo(&error)) continue;
      const std::string sqlstate = error.sqlstate().size() == 5 ? error.sqlstate() : "XX000";
      Status made = sql_error(sqlstate, error.message(), error.position());
      if (!error.detail().empty()) made = with_detail(std::move(made), error.detail());
      return error.hint().empty() ? made : with_hint(std::move(made), error.hint());
    }
  }
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    return absl::UnavailableError("connection to another node failed: " + status.error_message());
  }
  return sql_error("57014", "another node did not finish the query: " + status.error_message());
}

}  // namespace scyper::server
