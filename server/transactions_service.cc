#include "transactions_service.h"

#include <atomic>
#include <utility>

#include "call_batch.h"
#include "caller.h"
#include "deadline.h"
#include "errors.h"
#include "query/search_path.h"
#include "server/messages.h"
#include "stream_session.h"
#include "typed_values.h"

namespace scyper::server {

namespace {

// A call that came alone. Made by the RPC's thread, run by a worker, answered by a loop's thread, deleted by gRPC's.
struct UnaryCall final : Completion, primary::Transaction, grpc::ServerUnaryReactor {
  UnaryCall(NodeParts* n, CompletionLoop* l, const v1::Call* c, v1::CallResult* out)
      : node(n), loop(l), call(c), result_message(out) {
    cancelled = &is_cancelled;
    if (!c->has_settings()) return;
    session_settings.insert(c->settings().values().begin(), c->settings().values().end());
    session_settings.erase(std::string(query::kTemporarySchemaSetting));  // a node's own
    settings = &session_settings;
    changed_settings = &changed;
  }
  void OnCancel() override { is_cancelled = true; }
  void OnDone() override { delete this; }

  void fail(Status error) {
    status = std::move(error);
    answer();
  }
  void answer() {
    auto& counter = status.ok() ? node->counters.calls_ok : node->counters.calls_failed;
    counter.add(1);
    node->counters.requests.note(RequestProtocol::kCall, RequestKind::kTransaction, status.ok(), received_ns);
    node->counters.calls_open.add(-1);
    if (status.ok()) {
      encode_typed_result(*this, result_message);
      for (const auto& [name, value] : changed)
        (*result_message->mutable_changed_settings()->mutable_values())[name] = value;
    }
    Finish(grpc_status_of(status));  // it may be gone from here on
  }
  // May block for a compilation.
  void start(bool is_compiled) {
    if (!is_compiled) {
      auto compiled = node->statements.prepare(call->sql(), mark);
      if (!compiled.ok()) return fail(compiled.status());
      statement = *compiled;
    }
    const std::vector<SqlType>& types = statement->parameter_types();
    arguments.resize(types.size());
    std::string_view packed = call->packed_arguments();
    Status decoded = packed.empty() ? decode_arguments(types, call->arguments(), arguments.data(), &arena)
                                    : decode_row(types, &packed, arguments.data(), &arena);
    if (decoded.ok() && !packed.empty())
      decoded = sql_error("08P01", "malformed packed row: bytes are left after its last value");
    if (!decoded.ok()) return fail(std::move(decoded));
    run = [](Completion* completion) { static_cast<UnaryCall*>(completion)->answer(); };
    done = [](primary::Transaction* transaction) {
      auto* self = static_cast<UnaryCall*>(transaction);
      self->loop->post(self);
    };
    primary::Transaction* self = this;
    node->engine->submit({&self, 1});
  }

  NodeParts* node;
  CompletionLoop* loop;
  const v1::Call* call;
  std::string mark;
  v1::CallResult* result_message;
  RowArena arena;
  query::SettingValues session_settings;
  std::vector<std::pair<std::string, std::string>> changed;
  int64_t received_ns = monotonic_ns();
  std::atomic<bool> is_cancelled{false};  // the client has gone or lost patience
};

}  // namespace

TransactionsService::TransactionsService(NodeParts* node) : node_(node) {}
TransactionsService::~TransactionsService() = default;

void TransactionsService::add_queue(std::unique_ptr<grpc::ServerCompletionQueue> queue) {
  loops_.push_back(std::make_unique<StreamLoop>(this, node_, std::move(queue)));
}
void TransactionsService::start() {
  for (auto& loop : loops_) loop->start();
}
void TransactionsService::drain() {
  for (auto& loop : loops_) loop->drain();
}
void TransactionsService::stop() {
  for (auto& loop : loops_) loop->stop();
}

grpc::ServerUnaryReactor* TransactionsService::Call(grpc::CallbackServerContext* context,
                                                    const v1::CallRequest* request, v1::CallResponse* response) {
  if (node_->stopping) {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc_status_of(stopping_error()));
    return reactor;
  }
  node_->counters.unary_calls.add(1);
  node_->counters.calls_open.add(1);
  const v1::Call& call = request->call();
  auto* unary = new UnaryCall(node_, &loops_[0]->loop(), &call, response->mutable_result());
  unary->request_id = call.request_id();
  unary->client_id = call.client_id();
  unary->mark = caller_of(*node_, *context).mark;
  unary->deadline_ns = deadline_ns_of(*context, call.timeout_ms());
  bool is_text = call.statement_id() == 0;
  uint64_t id = is_text ? Statements::id_of(call.sql()) : call.statement_id();
  unary->statement = node_->statements.find(id, unary->mark);
  if (is_text && (unary->statement == nullptr || !is_of(*unary->statement, unary->mark, call.sql()))) {
    if (!node_->pool.try_run([unary] { unary->start(/*is_compiled=*/false); })) unary->fail(pool_full_error());
  } else if (unary->statement == nullptr) {
    unary->fail(unknown_statement(id));
  } else {
    unary->start(/*is_compiled=*/true);
  }
  return unary;
}

grpc::ServerUnaryReactor* TransactionsService::Prepare(grpc::CallbackServerContext* context,
                                                       const v1::PrepareRequest* request,
                                                       v1::PrepareResponse* response) {
  auto* reactor = context->DefaultReactor();
  std::string mark = caller_of(*node_, *context).mark;
  bool accepted = !node_->stopping && node_->pool.try_run([this, reactor, request, response, mark = std::move(mark)] {
    auto statement = node_->statements.prepare(request->sql(), mark);
    if (statement.ok()) {
      response->set_statement_id(Statements::id_of(request->sql()));
      for (const SqlType& type : (*statement)->parameter_types()) encode_type(type, response->add_parameters());
      encode_columns((*statement)->columns(), response->mutable_columns());
    }
    reactor->Finish(grpc_status_of(statement.status()));
  });
  if (!accepted) reactor->Finish(grpc_status_of(node_->stopping ? stopping_error() : pool_full_error()));
  return reactor;
}

}  // namespace scyper::server
