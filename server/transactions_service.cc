#include "transactions_service.h"

#include <atomic>
#include <utility>

#include "call_batch.h"
#include "caller.h"
#include "changed_settings.h"
#include "deadline.h"
#include "errors.h"
#include "forwarding.h"
#include "server/messages.h"
#include "stream_session.h"
#include "typed_values.h"

namespace scyper::server {

namespace {

// A call that came alone: an RPC of the loop's thread, run by a worker.
struct UnaryCall final : UnaryRpc<v1::CallRequest, v1::CallResponse>, Completion, primary::Transaction {
  explicit UnaryCall(NodeParts* n) : node(n) {}

  void start() override {
    if (node->stopping) return finish(grpc_status_of(stopping_error()));
    node->counters.unary_calls.add(1);
    node->counters.calls_open.add(1);
    received_ns = monotonic_ns();
    request_id = call().request_id();
    client_id = call().client_id();
    cancelled = &is_cancelled;
    mark = caller_of(*node, context()).mark;
    deadline_ns = deadline_ns_of(context(), call().timeout_ms());
    take_settings();
    const bool is_text = call().statement_id() == 0;
    const uint64_t id = is_text ? Statements::id_of(call().sql()) : call().statement_id();
    statement = node->statements.find(id, mark);
    if (is_text && (statement == nullptr || !is_of(*statement, mark, call().sql()))) {
      if (!node->pool.try_run([this] { submit(/*is_compiled=*/false); })) fail(pool_full_error());
    } else if (statement == nullptr) {
      fail(unknown_statement(id));
    } else {
      submit(/*is_compiled=*/true);
    }
  }
  void on_cancel() override { is_cancelled = true; }

  const v1::Call& call() const { return request().call(); }
  void take_settings() {
    if (!call().has_settings()) return;
    session_settings = settings_of(call().settings());
    settings = &session_settings;
    changed_settings = &changed;
  }
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
      v1::CallResult* result = response().mutable_result();
      encode_typed_result(*this, result);
      write_changed_settings(changed, result);
    }
    finish(grpc_status_of(status));  // it may be gone from here on
  }
  // May block for a compilation.
  void submit(bool is_compiled) {
    if (!is_compiled) {
      auto compiled = node->statements.prepare(call().sql(), mark);
      if (!compiled.ok()) return fail(compiled.status());
      statement = *compiled;
    }
    const std::vector<SqlType>& types = statement->parameter_types();
    arguments.resize(types.size());
    std::string_view packed = call().packed_arguments();
    Status decoded = packed.empty() ? decode_arguments(types, call().arguments(), arguments.data(), &arena)
                                    : decode_row(types, &packed, arguments.data(), &arena);
    if (decoded.ok() && !packed.empty())
      decoded = sql_error("08P01", "malformed packed row: bytes are left after its last value");
    if (!decoded.ok()) return fail(std::move(decoded));
    run = [](Completion* completion) { static_cast<UnaryCall*>(completion)->answer(); };
    done = [](primary::Transaction* transaction) {
      auto* self = static_cast<UnaryCall*>(transaction);
      self->loop()->post(self);
    };
    primary::Transaction* self = this;
    node->engine->submit({&self, 1});
  }

  NodeParts* node;
  std::string mark;
  RowArena arena;
  query::SettingValues session_settings;
  std::vector<query::ChangedSetting> changed;
  int64_t received_ns = 0;
  std::atomic<bool> is_cancelled{false};  // the client has gone or lost patience
};

}  // namespace

TransactionsService::TransactionsService(NodeParts* node) : node_(node), interactions_(node) {}
TransactionsService::~TransactionsService() = default;

void TransactionsService::add_queue(std::unique_ptr<grpc::ServerCompletionQueue> queue) {
  loops_.push_back(std::make_unique<StreamLoop>(this, node_, std::move(queue)));
}
std::vector<CompletionLoop*> TransactionsService::loops() const {
  std::vector<CompletionLoop*> loops;
  for (const auto& loop : loops_) loops.push_back(&loop->loop());
  return loops;
}
void TransactionsService::start() {
  for (auto& loop : loops_) {
    serve(&loop->loop());
    loop->start();
  }
}
void TransactionsService::drain() {
  interactions_.begin_stop();
  for (auto& loop : loops_) loop->drain();
}
void TransactionsService::stop() {
  for (auto& loop : loops_) loop->stop();
}

void TransactionsService::serve(CompletionLoop* loop) {
  methods_.serve(loop, [this](auto... call) { RequestCall(call...); }, [this] { return new UnaryCall(node_); });
  methods_.serve(loop, [this](auto... call) { RequestInteract(call...); }, [this] { return interactions_.make(); });
  methods_.serve_unary<v1::PrepareRequest, v1::PrepareResponse>(
      loop, [this](auto... call) { RequestPrepare(call...); }, [this](PrepareRpc* rpc) { prepare(rpc); });
}

void TransactionsService::prepare(PrepareRpc* rpc) {
  std::string mark = caller_of(*node_, rpc->context()).mark;
  bool accepted = !node_->stopping && node_->pool.try_run([this, rpc, mark = std::move(mark)] {
    const std::string& sql = rpc->request().sql();
    auto statement = node_->statements.prepare(sql, mark);
    if (statement.ok()) {
      v1::PrepareResponse& response = rpc->response();
      response.set_statement_id(Statements::id_of(sql));
      for (const SqlType& type : (*statement)->parameter_types()) encode_type(type, response.add_parameters());
      encode_columns((*statement)->columns(), response.mutable_columns());
    }
    rpc->finish(grpc_status_of(statement.status()));
  });
  if (!accepted) rpc->finish(grpc_status_of(node_->stopping ? stopping_error() : pool_full_error()));
}

}  // namespace scyper::server
