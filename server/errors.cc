#include "errors.h"

#include <grpcpp/support/status.h>

#include "base/whole_characters.h"
#include "google/rpc/details.pb.h"
#include "query/error_status.h"
#include "scyper.pb.h"
#include "server/messages.h"
#include "server/packed.h"

namespace scyper::server {

std::string printable(std::string_view text) {
  if (check_text(text).ok()) return std::string(text);
  std::string clean;
  for (char c : text) clean += static_cast<unsigned char>(c) < 0x80 && c != 0 ? c : '?';
  return clean;
}

namespace {
std::string_view message_of(const Status& status) { return {status.message().data(), status.message().size()}; }

// What of an error goes into an RPC's status. gRPC's clients refuse more than 8 KB of trailing metadata: the message is
// in there twice, percent-encoded (up to three bytes each) and in the details, which are in base 64.
constexpr size_t kMessageBytesMax = 400;
constexpr size_t kErrorMessageBytesMax = 1500, kDetailBytesMax = 800, kHintBytesMax = 400, kNoticesBytesMax = 1000;

std::string cut(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  return std::string(beginning_of(text, bytes_max - 3)) + "...";
}

void fit(v1::Error* error) {
  error->set_message(cut(error->message(), kErrorMessageBytesMax));
  error->set_detail(cut(error->detail(), kDetailBytesMax));
  error->set_hint(cut(error->hint(), kHintBytesMax));
  error->set_context(cut(error->context(), kHintBytesMax));
  size_t bytes = 0;
  int first = error->notices_size();
  while (first > 0 && bytes + error->notices(first - 1).size() <= kNoticesBytesMax)
    bytes += error->notices(--first).size() + 4;
  error->mutable_notices()->DeleteSubrange(0, first);
}
}  // namespace

uint32_t retry_after_ms_of(const Status& status) {
  std::string sqlstate = sqlstate_of(status);
  if (sqlstate == "53300" || sqlstate == "55000" || sqlstate == "57P02") return 10;
  if (sqlstate.starts_with("40") && sqlstate != "40003") return 1;  // 40003: whether it has committed is not known
  if (sqlstate == "57P01" || sqlstate == "57P03") return 1000;
  return 0;
}

void encode_error(const Status& status, v1::Error* error) {
  error->set_sqlstate(sqlstate_of(status));
  error->set_message(printable(message_of(status)));
  error->set_detail(printable(detail_of(status)));
  error->set_hint(printable(hint_of(status)));
  error->set_context(printable(query::context_of(status)));
  error->set_position(position_of(status));
  error->set_retry_after_ms(retry_after_ms_of(status));
  error->set_code(static_cast<int32_t>(status.code()));
}

void encode_notices(const Status& status, v1::Error* error) {
  for (const std::string& notice : query::notices_of(status)) error->add_notices(printable(notice));
}

grpc::Status grpc_status_of(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  v1::Error error;
  encode_error(status, &error);
  encode_notices(status, &error);
  const std::string message = cut(error.message(), kMessageBytesMax);
  fit(&error);
  google::rpc::Status details;
  details.set_code(error.code());
  details.set_message(message);
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
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), message, details.SerializeAsString());
}

Status status_of_grpc(const grpc::Status& status) {
  if (status.ok()) return Status();
  if (v1::Error error; find_error(status, &error)) return status_of(error);
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    return absl::UnavailableError("connection to another node failed: " + status.error_message());
  }
  return sql_error("57014", "another node did not finish the query: " + status.error_message());
}

}  // namespace scyper::server
