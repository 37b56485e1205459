#include "queries_service.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "audit_log.h"
#include "base/bounded_work.h"
#include "base/internal_error.h"
#include "caller.h"
#include "copy_in.h"
#include "deadline.h"
#include "errors.h"
#include "postgres/scram.h"
#include "query/column_batch.h"
#include "query/queries.h"
#include "query/role.h"
#include "query/search_path.h"
#include "row_messages.h"
#include "server/messages.h"
#include "server/packed.h"
#include "typed_values.h"

namespace scyper::server {

namespace {

// A client that is alive but takes nothing for so long loses its answer, and the node its waiting thread back.
constexpr absl::Duration kWritePatience = absl::Seconds(60);
constexpr uint64_t kStalenessMsMax = uint64_t{365} * 86'400'000;
constexpr uint32_t kQueryThreadsMax = 256;

query::Freshness freshness_of(const v1::Freshness& from) {
  query::Freshness freshness;
  if (from.wish_case() == v1::Freshness::kStalenessMs) {
    freshness.kind = query::Freshness::Kind::kStaleness;
    freshness.staleness_us = static_cast<int64_t>(std::min<uint64_t>(from.staleness_ms(), kStalenessMsMax) * 1000);
  } else if (from.wish_case() == v1::Freshness::kAtLeastLsn) {
    freshness.kind = query::Freshness::Kind::kAtLeast;
    freshness.lsn = from.at_least_lsn();
  }
  return freshness;
}

query::Freshness freshness_of(const v1::GlobalSnapshot& from) {
  query::Freshness freshness;
  freshness.kind = query::Freshness::Kind::kGlobal;
  freshness.term = from.term();
  freshness.snapshot = from.snapshot();
  freshness.is_exact = from.exact();
  return freshness;
}

// Whose a session is: of who shows the certificate. Sessions of PostgreSQL's protocol have owners of another form.
std::string session_owner(const grpc::ServerContextBase& context) {
  return "grpc " + certificate_name(*context.auth_context());
}

query::QueryOptions query_options_of(const v1::QueryOptions& from, const grpc::ServerContextBase& context) {
  query::QueryOptions options;
  options.owner = session_owner(context);
  options.client = context.peer();
  options.session = from.session();
  options.freshness = freshness_of(from.freshness());
  if (from.has_ticket()) options.freshness = freshness_of(from.ticket());
  options.timeout_us = int64_t{from.timeout_ms()} * 1000;
  options.threads = std::clamp<uint32_t>(from.threads(), 1, kQueryThreadsMax);
  options.reuses_code = !from.fresh_code();
  return options;
}

// Runs one Execute on a pool thread, which waits for every message to be taken: back-pressure ends at the engine's
// result. Threads: run() on a pool thread; start() and on_...() on the loop's.
class Execution final : public WritingRpc<v1::ExecuteRequest, v1::ExecuteResponse> {
 public:
  explicit Execution(NodeParts* node) : node_(node) {}
  ~Execution() override {  // the answer has left
    if (!is_open_) return;
    set_waiting(false);
    node_->queries_open -= 1;
  }

 private:
  void start() override {
    caller_ = caller_of(*node_, context());
    limits_.deadline_ns = deadline_ns_of(context(), 0);
    limits_.cancelled = &cancelled_;
    limits_.client_id = request().client_id();
    limits_.request_id = request().request_id();
    is_open_ = true;
    node_->queries_open += 1;
    set_waiting(true);
    node_->counters.statements.add(1);
    ThreadPool& pool = request().has_query() ? node_->query_pool : node_->pool;
    if (node_->stopping) {
      finish(grpc_status_of(stopping_error()));
    } else if (!pool.try_run([this] { finish(grpc_status_of(run_shown())); })) {
      finish(grpc_status_of(pool_full_error()));
    }
  }
  void on_written(bool ok) override {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    if (!ok) break_off();
  }
  void on_cancel() override {
    absl::MutexLock lock(&mutex_);
    break_off();
    if (stream_ != nullptr) stream_->cancel();
  }

  // As one of the node's sessions.
  Status run_shown() {
    query::SessionActivity first;
    first.pid = ActivityList::new_statement_number();
    first.user = certificate_name(*context().auth_context());
    const auto catalog = node_->engine->catalog();
    const query::Role* role = catalog == nullptr ? nullptr : catalog->roles.find(first.user);
    if (role != nullptr) first.role_id = role->id;
    first.application = "grpc";
    first.address = context().peer();
    ActivityList::Session shown(&node_->activity, std::move(first), [this](ActivityList::Signal) { on_cancel(); });
    // Its client may have gone while it waited for a thread.
    return is_broken() ? sql_error("57014", "canceling statement due to user request") : execute(&shown);
  }

  // For its turn, its snapshot or its thread; and, where it gets none, until it is answered.
  void set_waiting(bool is_waiting) {
    if (std::exchange(is_waiting_, is_waiting) == is_waiting) return;
    node_->queries_waiting += is_waiting ? 1 : -1;
  }

  Status execute(ActivityList::Session* shown) {
    std::string sql = request().sql();
    if (request().statement_id() != 0) {
      sql = node_->query_texts.find(request().statement_id(), caller_.mark);
      if (sql.empty()) return unknown_statement(request().statement_id());
    }
    SCYPER_RETURN_IF_ERROR(check_text(sql));
    SCYPER_ASSIGN_OR_RETURN(sql, query::without_passwords(sql, postgres::scram_verifier_of));
    shown->begin(sql);
    sql.insert(0, caller_.mark);
    if (request().arguments_size() == 0 && request().packed_arguments().empty()) return execute_texts(sql);
    query::Queries* queries = node_->engine->queries();
    std::vector<Datum> arguments;
    RowArena arena;
    if (request().has_query() && queries != nullptr && queries->is_query(sql)) {
      SCYPER_ASSIGN_OR_RETURN(auto description, bounded(sql, [&] {
                                return queries->describe(sql, request().query().session(), session_owner(context()));
                              }));
      SCYPER_RETURN_IF_ERROR(decode(description.parameters, &arguments, &arena));
      Status status = run_query(queries, sql, arguments, &description.parameters);
      if (!is_for_transactions(status)) return status;
    }
    if (caller_.reads_only) return Authorization::read_only_error();
    SCYPER_RETURN_IF_ERROR(check_writes());
    SCYPER_ASSIGN_OR_RETURN(Statements::Pointer statement,
                            bounded(sql, [&] { return node_->statements.prepare(sql); }));
    SCYPER_RETURN_IF_ERROR(decode(statement->parameter_types(), &arguments, &arena));
    query::ResultSet result;
    set_waiting(false);
    SCYPER_RETURN_IF_ERROR(node_->counters.count_call(
        RequestProtocol::kExecute, sql, [&] { return node_->engine->execute(sql, arguments, &result, limits_); }));
    send(result);
    return {};
  }

  // Plans and waits for a turn, too, end once the call is cancelled or its time is over.
  template <class Work>
  auto bounded(const std::string& sql, const Work& work) -> decltype(work()) {
    const WorkLimits limits{&cancelled_, limits_.deadline_ns};
    return contained(Phase::kPlanning, sql, [&] {
      const BoundedWork bounded_work(limits.bounds());
      return work();
    });
  }

  // Whether what is no query of a snapshot may run.
  Status check_writes() const {
    if (!request().query().read_only()) return Status();
    return sql_error("25006", "cannot execute statements that write in a read-only transaction");
  }

  // Without parameters: one statement after the other.
  Status execute_texts(const std::string& sql) {
    query::Queries* queries = node_->engine->queries();
    const bool may_query = request().has_query() || caller_.reads_only;
    const bool is_plain = sql.find(';') == std::string::npos && !query::is_about_roles(query::without_search_path(sql));
    if (queries == nullptr || (!may_query && is_plain)) {
      if (caller_.reads_only) return Authorization::read_only_error();
      set_waiting(false);
      return run_script(sql);
    }
    SCYPER_ASSIGN_OR_RETURN(auto texts, queries->split(sql));
    if (limits_.client_id != 0 && texts.size() > 1) {
      return sql_error("08P01", "a request id is for one statement, and the text has several");
    }
    for (const std::string& text : texts) {
      if (is_broken()) return {};
      if (may_query && queries->is_query(text)) {
        Status status = run_query(queries, text, {}, nullptr);
        if (status.ok()) continue;
        if (!is_for_transactions(status)) return status;
      }
      SCYPER_RETURN_IF_ERROR(check_writes());
      set_waiting(false);
      if (caller_.reads_only) return Authorization::read_only_error();
      const Status status = run_script(text);
      note_act(text, status);
      SCYPER_RETURN_IF_ERROR(status);
    }
    return {};
  }

  Status run_script(const std::string& sql) {
    return node_->counters.count_call(RequestProtocol::kExecute, sql, [&] {
      return node_->engine->execute_script(sql, [this](const query::ResultSet& result) { send(result); }, limits_);
    });
  }

  // What is about roles and rights goes to the audit log.
  void note_act(std::string_view text, const Status& status) {
    const std::string_view sql = query::without_search_path(text);
    if (!query::is_about_roles(sql)) return;
    write_audit(
        {certificate_name(*context().auth_context()), context().peer(), "grpc", query::shown_role_statement(sql)},
        status);
  }

  Status decode(const std::vector<SqlType>& types, std::vector<Datum>* arguments, RowArena* arena) {
    arguments->resize(types.size());
    std::string_view packed = request().packed_arguments();
    return packed.empty() ? decode_arguments(types, request().arguments(), arguments->data(), arena)
                          : decode_row(types, &packed, arguments->data(), arena);
  }

  // types: of the arguments.
  Status run_query(query::Queries* queries, const std::string& sql, std::span<const Datum> arguments,
                   const std::vector<SqlType>* types) {
    const int64_t began_ns = monotonic_ns();
    StatusOr<bool> is_done = run_short(sql, arguments);
    Status status = is_done.status();
    if (is_done.ok() && !*is_done) status = run_routed(queries, sql, arguments, types);
    if (!is_for_transactions(status)) {
      node_->counters.requests.note(RequestProtocol::kExecute, RequestKind::kQuery, status.ok(), began_ns);
    }
    return status;
  }

  // On the primary's worker, if the query is short and wants the newest state. True: it has been answered.
  StatusOr<bool> run_short(const std::string& sql, std::span<const Datum> arguments) {
    const v1::QueryOptions& query = request().query();
    const bool is_fresh = freshness_of(query.freshness()).kind == query::Freshness::Kind::kFresh;
    if (query.session() != 0 || query.has_ticket() || !is_fresh || query::mentions_activity(sql)) return false;
    primary::StatementLimits limits = limits_;
    limits.client_id = limits.request_id = 0;
    const int64_t timeout_ns = int64_t{query.timeout_ms()} * 1'000'000;
    if (timeout_ns != 0 && (limits.deadline_ns == 0 || monotonic_ns() + timeout_ns < limits.deadline_ns))
      limits.deadline_ns = monotonic_ns() + timeout_ns;
    query::ResultSet result;
    query::Receipt receipt;
    SCYPER_ASSIGN_OR_RETURN(const primary::ShortRead done, bounded(sql, [&] {
                              return node_->engine->execute_short(sql, arguments, &result, limits, &receipt);
                            }));
    if (done == primary::ShortRead::kDone) send(result, &receipt);
    if (done != primary::ShortRead::kLong || !query.only_short()) return done == primary::ShortRead::kDone;
    return sql_error("0A000", "the query is no short read");
  }

  Status run_routed(query::Queries* queries, const std::string& sql, std::span<const Datum> arguments,
                    const std::vector<SqlType>* types) {
    query::QueryOptions options = query_options_of(request().query(), context());
    options.argument_types = types;
    const bool is_here = request().query().here() || request().query().has_ticket() || query::mentions_activity(sql);
    SCYPER_ASSIGN_OR_RETURN(QueryRouter::Route route, node_->router.route(is_here, sql, arguments, &options));
    while (true) {
      bool has_begun = false;
      Status status = route.address.empty() ? run_here(queries, sql, arguments, options, route.notice, &has_begun)
                                            : pass_on(route, sql, &has_begun);
      if (status.ok() || has_begun) return status;
      SCYPER_ASSIGN_OR_RETURN(route, node_->router.instead(route, status, sql, arguments, &options));
    }
  }

  Status run_here(query::Queries* queries, const std::string& sql, std::span<const Datum> arguments,
                  const query::QueryOptions& options, const std::string& notice, bool* has_begun) {
    stale_notice_ = notice;
    set_waiting(true);
    SCYPER_ASSIGN_OR_RETURN(std::unique_ptr<query::QueryStream> stream,
                            bounded(sql, [&] { return queries->run(sql, arguments, options); }));
    *has_begun = true;
    set_waiting(false);
    set_stream(stream.get());
    Status status = send_stream(stream.get());
    set_stream(nullptr);
    return status;
  }

  // Another node answers; its messages go on as they are.
  Status pass_on(const QueryRouter::Route& route, const std::string& sql, bool* has_begun) {
    auto stub = v1::Queries::NewStub(node_->router.channel(route.address));
    // with this call's deadline; ends when this call is cancelled
    const auto passed = grpc::ClientContext::FromServerContext(context());
    v1::ExecuteRequest passed_request = request();
    passed_request.set_sql(sql);  // with its mark: for whom it runs
    passed_request.clear_statement_id();
    QueryRouter::address(route, passed_request.mutable_query());
    node_->router.note(route, 1);
    set_waiting(false);
    auto reader = stub->Execute(passed.get(), passed_request);
    while (reader->Read(&message_)) {
      *has_begun = true;
      send_message();
      if (is_broken()) passed->TryCancel();
    }
    node_->router.note(route, -1);
    return status_of_grpc(reader->Finish());
  }

  // From here on a client that goes away ends the query.
  void set_stream(query::QueryStream* stream) {
    absl::MutexLock lock(&mutex_);
    stream_ = stream;
    if (stream != nullptr && broken_) stream->cancel();
  }

  Status send_stream(query::QueryStream* stream) {
    message_.Clear();
    encode_columns(stream->columns(), message_.mutable_header()->mutable_columns());
    send_message();
    query::ResultSet rows;
    rows.columns = stream->columns();
    std::vector<SqlType> types;
    for (const query::ResultColumn& column : rows.columns) types.push_back(column.type);
    std::string batch;
    while (true) {
      SCYPER_ASSIGN_OR_RETURN(bool has_rows, stream->next(&batch));
      if (!has_rows) break;
      if (request().columnar_rows()) {
        message_.Clear();
        message_.mutable_rows()->set_row_count(query::row_count_of_columns(batch));
        message_.mutable_rows()->set_columns(std::move(batch));
        send_message();
      } else {
        rows.clear_rows();
        SCYPER_RETURN_IF_ERROR(query::decode_columns(types, batch, &rows));
        send_rows(rows);
      }
    }
    message_.Clear();
    auto* complete = message_.mutable_complete();
    complete->set_command_tag(stream->command_tag());
    complete->set_affected_rows(stream->rows());
    for (const std::string& notice : stream->notices()) complete->add_notices(notice);
    if (!stale_notice_.empty()) complete->add_notices(stale_notice_);
    encode_receipt(stream->receipt(), complete->mutable_receipt());
    node_->counters.query_stage.record_ns(static_cast<uint64_t>(stream->receipt().run_ms * 1e6));
    send_message();
    return {};
  }

  // receipt: of a query; null = none.
  void send(const query::ResultSet& result, const query::Receipt* receipt = nullptr) {
    message_.Clear();
    encode_columns(result.columns, message_.mutable_header()->mutable_columns());
    send_message();
    send_rows(result);
    message_.Clear();
    message_.mutable_complete()->set_command_tag(result.command_tag);
    message_.mutable_complete()->set_affected_rows(result.affected_rows);
    for (const std::string& notice : result.notices) message_.mutable_complete()->add_notices(notice);
    if (receipt != nullptr) encode_receipt(*receipt, message_.mutable_complete()->mutable_receipt());
    send_message();
  }

  void send_rows(const query::ResultSet& result) {
    encode_rows(result, row_form_of(request()), [this](v1::ExecuteResponse::Rows* rows) {
      message_.Clear();
      message_.mutable_rows()->Swap(rows);
      send_message();
      return !is_broken();
    });
  }

  // Waits until message_ was taken and may be reused.
  void send_message() {
    {
      absl::MutexLock lock(&mutex_);
      if (broken_) return;
      writing_ = true;
    }
    write(message_);
    absl::MutexLock lock(&mutex_);
    auto is_written = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !writing_; };
    if (mutex_.AwaitWithTimeout(absl::Condition(&is_written), kWritePatience)) return;
    context().TryCancel();
    mutex_.Await(absl::Condition(&is_written));
  }

  void break_off() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    broken_ = true;
    cancelled_ = true;
  }

  bool is_broken() {
    absl::MutexLock lock(&mutex_);
    return broken_;
  }

  NodeParts* const node_;
  Authorization::Caller caller_;
  v1::ExecuteResponse message_;
  std::string stale_notice_;  // of the query that runs; see QueryRouter::Route
  primary::StatementLimits limits_;
  bool is_open_ = false;                // it has come
  bool is_waiting_ = false;             // of the thread that runs it
  std::atomic<bool> cancelled_{false};  // = broken_, for the engine
  absl::Mutex mutex_;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  query::QueryStream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace

void QueriesService::serve(CompletionLoop* loop) {
  methods_.serve(loop, [this](auto... call) { RequestExecute(call...); }, [this] { return new Execution(node_); });
  methods_.serve(loop, [this](auto... call) { RequestCopyIn(call...); }, [this] { return make_copy_in(node_); });
  methods_.serve_unary<v1::OpenSessionRequest, v1::OpenSessionResponse>(
      loop, [this](auto... call) { RequestOpenSession(call...); }, answered_by(&QueriesService::open_session));
  methods_.serve_unary<v1::CloseSessionRequest, v1::CloseSessionResponse>(
      loop, [this](auto... call) { RequestCloseSession(call...); }, answered_by(&QueriesService::close_session));
  methods_.serve_unary<v1::PrepareQueryRequest, v1::PrepareResponse>(
      loop, [this](auto... call) { RequestPrepare(call...); }, answered_by(&QueriesService::prepare));
}

template <typename R>
std::function<void(R*)> QueriesService::answered_by(Status (QueriesService::*work)(R*)) {
  return [this, work](R* rpc) {
    auto count = [node = node_](int change) {
      node->queries_open += change;
      node->queries_waiting += change;
    };
    count(1);
    const bool accepted = !node_->stopping && node_->query_pool.try_run([this, rpc, count, work] {
      Status status = node_->engine->queries() == nullptr
                          ? sql_error("0A000", "this node does not answer queries on snapshots")
                          : (this->*work)(rpc);
      rpc->finish(grpc_status_of(status));
      count(-1);
    });
    if (!accepted) count(-1);
    if (!accepted) rpc->finish(grpc_status_of(node_->stopping ? stopping_error() : pool_full_error()));
  };
}

Status QueriesService::open_session(OpenRpc* rpc) {
  query::Receipt receipt;
  query::Freshness freshness = freshness_of(rpc->request().freshness());
  if (rpc->request().has_ticket()) freshness = freshness_of(rpc->request().ticket());
  SCYPER_RETURN_IF_ERROR(node_->router.pin(&freshness));
  SCYPER_ASSIGN_OR_RETURN(uint64_t session,
                          node_->engine->queries()->open_session(freshness, &receipt, session_owner(rpc->context())));
  rpc->response().set_session(session);
  encode_receipt(receipt, rpc->response().mutable_receipt());
  return Status();
}

Status QueriesService::close_session(CloseRpc* rpc) {
  return node_->engine->queries()->close_session(rpc->request().session(), session_owner(rpc->context()));
}

Status QueriesService::prepare(PrepareRpc* rpc) {
  const v1::PrepareQueryRequest& request = rpc->request();
  SCYPER_RETURN_IF_ERROR(check_text(request.sql()));
  if (!node_->engine->queries()->is_query(request.sql())) {
    return sql_error("0A000", "only statements that ask for rows can be prepared as queries");
  }
  const std::string mark = caller_of(*node_, rpc->context()).mark;
  SCYPER_ASSIGN_OR_RETURN(auto description, node_->engine->queries()->describe(mark + request.sql(), request.session(),
                                                                               session_owner(rpc->context())));
  v1::PrepareResponse& response = rpc->response();
  SCYPER_ASSIGN_OR_RETURN(const uint64_t id, node_->query_texts.add(request.sql(), mark));
  response.set_statement_id(id);
  for (const SqlType& type : description.parameters) encode_type(type, response.add_parameters());
  encode_columns(description.columns, response.mutable_columns());
  return Status();
}

}  // namespace scyper::server
