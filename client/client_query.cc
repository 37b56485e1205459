// Queries on snapshots.

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "answer_reader.h"
#include "client/client.h"
#include "client_parts.h"
#include "row_collector.h"
#include "server/messages.h"
#include "server/packed.h"
#include "wire.h"

namespace scyper::client {

namespace {

void encode_freshness(const query::Freshness& from, v1::Freshness* out) {
  switch (from.kind) {
    case query::Freshness::Kind::kFresh:
      out->set_fresh(true);
      break;
    case query::Freshness::Kind::kStaleness:
      out->set_staleness_ms(static_cast<uint64_t>(from.staleness_us) / 1000);
      break;
    case query::Freshness::Kind::kAtLeast:
      out->set_at_least_lsn(from.lsn);
      break;
    case query::Freshness::Kind::kGlobal:  // goes as a ticket
      break;
  }
}

void encode_ticket(const query::Freshness& from, v1::GlobalSnapshot* out) {
  out->set_term(from.term);
  out->set_snapshot(from.snapshot);
  out->set_exact(from.is_exact);
}

void encode_wish(const QueryWish& wish, v1::ExecuteRequest* request) {
  request->set_columnar_rows(true);
  request->set_packed_rows(true);  // of statements that run as transactions
  request->set_client_id(wish.identity.client_id);
  request->set_request_id(wish.identity.request_id);
  v1::QueryOptions& out = *request->mutable_query();
  out.set_session(wish.session);
  encode_freshness(wish.freshness, out.mutable_freshness());
  if (wish.freshness.kind == query::Freshness::Kind::kGlobal) encode_ticket(wish.freshness, out.mutable_ticket());
  out.set_timeout_ms(wish.timeout_ms);
  out.set_threads(wish.threads);
  out.set_fresh_code(wish.is_compiled_anew);
}

template <typename Parts>
Status run(Parts* parts, const v1::ExecuteRequest& request, QueryHandler* handler) {
  grpc::ClientContext context;
  typename Parts::Running running(parts, &context);
  auto reader = parts->queries->Execute(&context, request);
  v1::ExecuteResponse response;
  AnswerReader answers(handler);
  Status malformed;
  while (reader->Read(&response)) {
    if (malformed.ok()) malformed = answers.take(response);
    if (!malformed.ok()) context.TryCancel();
  }
  Status status = running.status_of_end(reader->Finish());
  return malformed.ok() ? status : malformed;
}

auto in_ms(int64_t ms) { return std::chrono::system_clock::now() + std::chrono::milliseconds(ms); }

}  // namespace

Status Client::query(std::string_view sql, const QueryWish& wish, const ReceiptHandler& each) {
  ResultHandover collector(each);
  return stream_query(sql, wish, &collector);
}

Status Client::stream_query(std::string_view sql, const QueryWish& wish, QueryHandler* handler) {
  v1::ExecuteRequest request;
  request.set_sql(std::string(sql));
  encode_wish(wish, &request);
  return run(parts_.get(), request, handler);
}

StatusOr<std::shared_ptr<const Prepared>> Client::prepare_query(std::string_view sql, uint64_t session) {
  grpc::ClientContext context;
  context.set_deadline(in_ms(parts_->call_timeout_ms));
  v1::PrepareQueryRequest request;
  v1::PrepareResponse response;
  request.set_sql(std::string(sql));
  request.set_session(session);
  SCYPER_RETURN_IF_ERROR(status_of(parts_->queries->Prepare(&context, request, &response)));
  return prepared_of(sql, response);
}

Status Client::query(const Prepared& prepared, std::span<const Datum> arguments, const QueryWish& wish,
                     const ReceiptHandler& each) {
  SCYPER_RETURN_IF_ERROR(check_argument_count("query", prepared, arguments.size()));
  v1::ExecuteRequest request;
  request.set_statement_id(prepared.id);
  if (!arguments.empty()) server::append_row(prepared.parameters, arguments.data(), request.mutable_packed_arguments());
  encode_wish(wish, &request);
  ResultHandover collector(each);
  Status status = run(parts_.get(), request, &collector);
  if (sqlstate_of(status) != "26000") return status;
  SCYPER_RETURN_IF_ERROR(prepare_query(prepared.sql, wish.session).status());
  return run(parts_.get(), request, &collector);
}

void Client::cancel() {
  absl::MutexLock lock(&parts_->mutex);
  if (parts_->running == nullptr) return;
  parts_->is_cancelled = true;
  parts_->running->TryCancel();
}

StatusOr<uint64_t> Client::open_session(const query::Freshness& freshness, query::Receipt* receipt) {
  grpc::ClientContext context;
  context.set_deadline(in_ms(parts_->call_timeout_ms));
  v1::OpenSessionRequest request;
  v1::OpenSessionResponse response;
  encode_freshness(freshness, request.mutable_freshness());
  if (freshness.kind == query::Freshness::Kind::kGlobal) encode_ticket(freshness, request.mutable_ticket());
  SCYPER_RETURN_IF_ERROR(status_of(parts_->queries->OpenSession(&context, request, &response)));
  if (receipt != nullptr) *receipt = server::receipt_of(response.receipt());
  return response.session();
}

Status Client::close_session(uint64_t session) {
  grpc::ClientContext context;
  context.set_deadline(in_ms(parts_->call_timeout_ms));
  v1::CloseSessionRequest request;
  v1::CloseSessionResponse response;
  request.set_session(session);
  return status_of(parts_->queries->CloseSession(&context, request, &response));
}

}  // namespace scyper::client
