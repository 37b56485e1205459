#include "queries_service.h"

#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "errors.h"
#include "server/packed.h"
#include "typed_values.h"

namespace scyper::server {

namespace {

// Rows per message aim at this size: large enough that a message's fixed cost vanishes, small against flow-control
// windows.
constexpr size_t kRowsBytesAim = 64 << 10;
// A client that is alive but takes nothing for so long loses its answer, and the node its waiting thread back.
constexpr absl::Duration kWritePatience = absl::Seconds(60);

// Runs one Execute on a pool thread, which waits for every message to be taken: back-pressure ends at the engine's
// result. Threads: run() on a pool thread; On...() on gRPC's.
class Execution final : public grpc::ServerWriteReactor<v1::ExecuteResponse> {
 public:
  Execution(NodeParts* node, grpc::CallbackServerContext* context, const v1::ExecuteRequest* request)
      : node_(node), context_(context), request_(request) {}

  void run() { Finish(grpc_status_of(execute())); }

  void OnWriteDone(bool ok) override {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    broken_ |= !ok;
  }
  void OnCancel() override {
    absl::MutexLock lock(&mutex_);
    broken_ = true;
  }
  void OnDone() override { delete this; }

 private:
  Status execute() {
    SCYPER_RETURN_IF_ERROR(check_text(request_->sql()));
    if (request_->arguments_size() == 0 && request_->packed_arguments().empty()) {
      return node_->engine->execute_script(request_->sql(), [this](const query::ResultSet& result) { send(result); });
    }
    SCYPER_ASSIGN_OR_RETURN(Statements::Pointer statement, node_->statements.prepare(request_->sql()));
    const std::vector<SqlType>& types = statement->parameter_types();
    std::vector<Datum> arguments(types.size());
    RowArena arena;
    std::string_view packed = request_->packed_arguments();
    if (packed.empty()) {
      SCYPER_RETURN_IF_ERROR(decode_arguments(types, request_->arguments(), arguments.data(), &arena));
    } else {
      SCYPER_RETURN_IF_ERROR(decode_row(types, &packed, arguments.data(), &arena));
    }
    query::ResultSet result;
    SCYPER_RETURN_IF_ERROR(node_->engine->execute(request_->sql(), arguments, &result));
    send(result);
    return {};
  }

  void send(const query::ResultSet& result) {
    message_.Clear();
    encode_columns(result.columns, message_.mutable_header()->mutable_columns());
    write();
    send_rows(result);
    message_.Clear();
    message_.mutable_complete()->set_command_tag(result.command_tag);
    message_.mutable_complete()->set_affected_rows(result.affected_rows);
    for (const std::string& notice : result.notices) message_.mutable_complete()->add_notices(notice);
    write();
  }

  void send_rows(const query::ResultSet& result) {
    std::vector<SqlType> types;
    for (const query::ResultColumn& column : result.columns) types.push_back(column.type);
    size_t row_count = result.row_count();
    // Rows of the typed form are of about the same size as in the engine.
    size_t row_bytes_guess = row_count == 0 ? 1 : result.bytes() / row_count + 16 * types.size() + 1;
    size_t typed_rows_max = kRowsBytesAim / row_bytes_guess + 1;
    for (size_t row = 0; row < row_count && !is_broken();) {
      message_.Clear();
      auto* rows = message_.mutable_rows();
      uint32_t count = 0;
      if (request_->packed_rows()) {
        while (row < row_count && rows->packed().size() < kRowsBytesAim) {
          append_row(types, &result.value(row++, 0), rows->mutable_packed());
          ++count;
        }
      } else {
        while (row < row_count && count < typed_rows_max) {
          encode_row(result.columns, &result.value(row++, 0), rows->add_rows());
          ++count;
        }
      }
      rows->set_row_count(count);
      write();
    }
  }

  // Waits until message_ was taken and may be reused.
  void write() {
    {
      absl::MutexLock lock(&mutex_);
      if (broken_) return;
      writing_ = true;
    }
    StartWrite(&message_);
    absl::MutexLock lock(&mutex_);
    auto is_written = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !writing_; };
    if (mutex_.AwaitWithTimeout(absl::Condition(&is_written), kWritePatience)) return;
    context_->TryCancel();
    mutex_.Await(absl::Condition(&is_written));
  }

  bool is_broken() {
    absl::MutexLock lock(&mutex_);
    return broken_;
  }

  NodeParts* const node_;
  grpc::CallbackServerContext* const context_;
  const v1::ExecuteRequest* const request_;
  v1::ExecuteResponse message_;
  absl::Mutex mutex_;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

grpc::ServerWriteReactor<v1::ExecuteResponse>* QueriesService::Execute(grpc::CallbackServerContext* context,
                                                                       const v1::ExecuteRequest* request) {
  auto* execution = new Execution(node_, context, request);
  node_->counters.statements.add(1);
  if (node_->stopping) {
    execution->Finish(grpc_status_of(stopping_error()));
  } else if (!node_->pool.try_run([execution] { execution->run(); })) {
    execution->Finish(grpc_status_of(pool_full_error()));
  }
  return execution;
}

}  // namespace scyper::server
