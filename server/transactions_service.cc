#include "transactions_service.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "call_batch.h"
#include "errors.h"
#include "stream_session.h"
#include "typed_values.h"

namespace scyper::server {

namespace {

int64_t deadline_ns_of(const grpc::CallbackServerContext& context, uint32_t timeout_ms) {
  int64_t now_ns = monotonic_ns();
  int64_t deadline_ns = timeout_ms == 0 ? 0 : now_ns + int64_t{timeout_ms} * 1'000'000;
  auto remaining = context.deadline() - std::chrono::system_clock::now();
  // A client without deadline is given the end of time, whose distance would overflow when added.
  if (remaining < std::chrono::hours(24 * 365)) {
    int64_t at_ns = now_ns + std::chrono::duration_cast<std::chrono::nanoseconds>(remaining).count();
    deadline_ns = deadline_ns == 0 ? at_ns : std::min(deadline_ns, at_ns);
  }
  return deadline_ns;
}

// A call that came alone. Made by the RPC's thread, run by a worker, answered and deleted by a loop's thread.
struct UnaryCall : Completion, primary::Transaction {
  UnaryCall(NodeParts* n, CompletionLoop* l, grpc::ServerUnaryReactor* r, const v1::Call* c, v1::CallResult* out)
      : node(n), loop(l), reactor(r), call(c), result_message(out) {}

  void fail(Status error) {
    status = std::move(error);
    answer();
  }
  void answer() {
    auto& counter = status.ok() ? node->counters.calls_ok : node->counters.calls_failed;
    counter.add(1);
    node->counters.message_duration.record_ns(static_cast<uint64_t>(monotonic_ns() - received_ns));
    node->counters.calls_open.add(-1);
    if (status.ok()) encode_typed_result(*this, result_message);
    reactor->Finish(grpc_status_of(status));
    delete this;
  }
  // May block for a compilation.
  void start(bool is_compiled) {
    if (!is_compiled) {
      auto compiled = node->statements.prepare(call->sql());
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
  grpc::ServerUnaryReactor* reactor;
  const v1::Call* call;
  v1::CallResult* result_message;
  RowArena arena;
  int64_t received_ns = monotonic_ns();
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
  auto* reactor = context->DefaultReactor();
  if (node_->stopping) {
    reactor->Finish(grpc_status_of(stopping_error()));
    return reactor;
  }
  node_->counters.unary_calls.add(1);
  node_->counters.calls_open.add(1);
  const v1::Call& call = request->call();
  auto* unary = new UnaryCall(node_, &loops_[0]->loop(), reactor, &call, response->mutable_result());
  unary->request_id = call.request_id();
  unary->deadline_ns = deadline_ns_of(*context, call.timeout_ms());
  bool is_text = call.statement_id() == 0;
  uint64_t id = is_text ? Statements::id_of(call.sql()) : call.statement_id();
  unary->statement = node_->statements.find(id);
  if (is_text && (unary->statement == nullptr || unary->statement->text() != call.sql())) {
    if (!node_->pool.try_run([unary] { unary->start(/*is_compiled=*/false); })) unary->fail(pool_full_error());
  } else if (unary->statement == nullptr) {
    unary->fail(unknown_statement(id));
  } else {
    unary->start(/*is_compiled=*/true);
  }
  return reactor;
}

grpc::ServerUnaryReactor* TransactionsService::Prepare(grpc::CallbackServerContext* context,
                                                       const v1::PrepareRequest* request,
                                                       v1::PrepareResponse* response) {
  auto* reactor = context->DefaultReactor();
  bool accepted = !node_->stopping && node_->pool.try_run([this, reactor, request, response] {
    auto statement = node_->statements.prepare(request->sql());
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
