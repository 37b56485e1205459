#include "admin_service.h"

#include <chrono>
#include <utility>
#include <vector>

#include "audit_log.h"
#include "caller.h"
#include "commit_modes.h"
#include "errors.h"
#include "server/messages.h"
#include "server/packed.h"
#include "typed_values.h"

namespace scyper::server {

namespace {

// One Load: read a message, load it on a pool thread, answer, read the next.
class Loading final : public StreamRpc<v1::LoadBatch, v1::LoadResult> {
 public:
  explicit Loading(NodeParts* node) : node_(node) {}

 private:
  void start() override {
    name_ = certificate_name(*context().auth_context());
    read(&batch_);
  }
  void on_read(bool ok) override {
    if (!ok) return finish(grpc::Status::OK);
    if (node_->stopping) return finish(grpc_status_of(stopping_error()));
    bool accepted = node_->pool.try_run([this] { answer(load()); });
    if (!accepted) answer(pool_full_error());
  }
  void on_written(bool ok) override {
    if (!ok) return finish(grpc::Status::CANCELLED);
    read(&batch_);
  }

  Status load() {
    if (!batch_.table().empty() && batch_.table() != table_) {
      SCYPER_RETURN_IF_ERROR(check_text(batch_.table()));
      SCYPER_RETURN_IF_ERROR(node_->authorization.check_load(name_, batch_.table()));
      SCYPER_ASSIGN_OR_RETURN(auto columns, node_->engine->describe(batch_.table()));
      table_ = batch_.table();
      types_.clear();
      for (const query::ResultColumn& column : columns) types_.push_back(column.type);
    }
    if (table_.empty()) return sql_error("08P01", "the first message of a load names no table");
    std::string_view bytes = batch_.packed_rows();
    // Every row takes a byte at least: bounds what a short message can make us allocate.
    if (batch_.row_count() > bytes.size()) return sql_error("08P01", "malformed packed row: it ends too early");
    values_.resize(types_.size() * batch_.row_count());
    arena_.clear();
    for (uint32_t row = 0; row < batch_.row_count(); ++row) {
      SCYPER_RETURN_IF_ERROR(decode_row(types_, &bytes, values_.data() + row * types_.size(), &arena_));
    }
    if (!bytes.empty()) return sql_error("08P01", "malformed packed row: bytes are left after its last value");
    return node_->engine->load(table_, values_);
  }

  void answer(const Status& status) {
    result_.Clear();
    if (status.ok()) {
      result_.set_rows(batch_.row_count());
      node_->counters.rows_loaded.add(batch_.row_count());
    } else {
      encode_error(status, result_.mutable_error());
    }
    write(result_);
  }

  NodeParts* const node_;
  std::string name_;  // the certificate's
  v1::LoadBatch batch_;
  v1::LoadResult result_;
  std::string table_;
  std::vector<SqlType> types_;
  std::vector<Datum> values_;
  RowArena arena_;
};

void fill_tables(NodeParts* node, v1::DescribeResponse* out) {
  for (const auto& table : node->engine->tables()) {
    v1::Table* made = out->add_tables();
    made->set_name(table.name);
    made->set_partitioning(table.partitioning);
    made->set_rows(table.rows);
    made->set_bytes(table.bytes);
    made->set_layout(table.layout);
    encode_columns(table.columns, made->mutable_columns());
    for (const std::string& index : table.indexes) made->add_indexes(index);
    for (const std::string& constraint : table.constraints) made->add_constraints(constraint);
  }
  for (const auto& routine : node->engine->routines()) {
    v1::Routine* made = out->add_routines();
    made->set_signature(routine.signature);
    made->set_kind(routine.kind);
    made->set_classification(routine.classification);
  }
}

}  // namespace

void fill_status(NodeParts* node, v1::StatusResponse* out) {
  const primary::EngineOptions& options = node->engine->options();
  const primary::EngineCounters& counters = node->engine->counters();
  auto uptime = std::chrono::steady_clock::now() - node->started;
  out->set_version(kVersion);
  out->set_uptime_seconds(static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(uptime).count()));
  out->set_partitions(options.partitions);
  out->set_workers(options.workers);
  out->set_execution(execution_name(options.execution));
  out->set_redo(redo_name(options.redo));
  out->set_layout(layout_name(options.layout));
  out->set_memory_used_bytes(node->engine->memory_used_bytes());
  out->set_memory_budget_bytes(options.memory_bytes);
  out->set_queue_depth(node->engine->queue_depth());
  out->set_committed(counters.committed);
  out->set_rolled_back(counters.rolled_back);
  out->set_crossing(counters.crossing);
  out->set_misclassified(counters.misclassified);
  out->set_refused(counters.refused);
  out->set_redo_bytes(counters.redo_bytes);
  out->set_statements_compiled(counters.statements_compiled);
  out->set_streams(static_cast<uint32_t>(node->counters.streams_open.value()));
  out->set_stream_calls_max(node->options.stream_calls_max);
  out->set_message_bytes_max(node->options.message_bytes_max);
  out->set_stopping(node->stopping);
  const primary::Engine::LogInfo log = node->engine->log_info();
  if (log.is_on) out->set_commit_mode(commit_mode_name(log.mode));
  out->set_last_lsn(log.last_lsn);
  out->set_durable_lsn(log.durable_lsn);
  out->set_log_bytes(log.bytes_written);
  out->set_log_full(log.is_full);
  out->set_archive_bytes(log.archive_bytes);
  out->set_damaged_archives(log.damaged_archives);
  out->set_commit_lsn(log.confirmed_lsn);
  out->set_node(options.queries.node);
  fill_replication_status(node, out);
  fill_activity(node, out);
}

const char* execution_name(primary::ExecutionMode mode) {
  switch (mode) {
    case primary::ExecutionMode::kAdaptive:
      return "adaptive";
    case primary::ExecutionMode::kInterpreted:
      return "interpreted";
    case primary::ExecutionMode::kQuick:
      return "quick";
    case primary::ExecutionMode::kBetter:
      return "better";
    case primary::ExecutionMode::kSwapping:
    case primary::ExecutionMode::kSwappingInterpreted:
      return "swapping";
  }
  return "unknown";
}

const char* redo_name(primary::RedoMode mode) {
  switch (mode) {
    case primary::RedoMode::kNone:
      return "none";
    case primary::RedoMode::kLogical:
      return "logical";
    case primary::RedoMode::kPhysical:
      return "physical";
  }
  return "unknown";
}

const char* layout_name(storage::Layout layout) { return layout == storage::Layout::kRow ? "row" : "column"; }

void AdminService::serve(CompletionLoop* loop) {
  // Answered also while the node stops: that is when operators ask.
  methods_.serve_unary<v1::StatusRequest, v1::StatusResponse>(
      loop, [this](auto... call) { RequestStatus(call...); },
      [this](auto* rpc) {
        fill_status(node_, &rpc->response());
        rpc->finish(grpc::Status::OK);
      });
  // fill(node, out) on a thread of the pool
  const auto filled_by = [this](auto fill) {
    return [this, fill](auto* rpc) {
      bool accepted = node_->pool.try_run([this, fill, rpc] {
        fill(node_, &rpc->response());
        rpc->finish(grpc::Status::OK);
      });
      if (!accepted) rpc->finish(grpc_status_of(pool_full_error()));
    };
  };
  methods_.serve_unary<v1::DescribeRequest, v1::DescribeResponse>(
      loop, [this](auto... call) { RequestDescribe(call...); }, filled_by(fill_tables));
  methods_.serve_unary<v1::StorageRequest, v1::StorageResponse>(
      loop, [this](auto... call) { RequestStorage(call...); }, filled_by(fill_storage));
  methods_.serve_unary<v1::BackupRequest, v1::BackupResponse>(
      loop, [this](auto... call) { RequestBackup(call...); }, [this](BackupRpc* rpc) { back_up(rpc); });
  methods_.serve(loop, [this](auto... call) { RequestLoad(call...); }, [this] { return new Loading(node_); });
}

void AdminService::back_up(BackupRpc* rpc) {
  AuditRecord record{certificate_name(*rpc->context().auth_context()), rpc->context().peer(), "grpc",
                     "Backup " + rpc->request().directory()};
  bool accepted = node_->pool.try_run([this, rpc, record = std::move(record)] {
    auto made = node_->engine->write_archive(rpc->request().directory(), nullptr);
    write_audit(record, made.status());
    if (made.ok()) {
      v1::BackupResponse& response = rpc->response();
      response.set_lsn(made->lsn);
      response.set_path(made->path);
      response.set_rows(made->rows);
      response.set_raw_bytes(made->raw_bytes);
      response.set_stored_bytes(made->stored_bytes);
      response.set_seconds(made->seconds);
    }
    rpc->finish(grpc_status_of(made.status()));
  });
  if (!accepted) rpc->finish(grpc_status_of(pool_full_error()));
}

}  // namespace scyper::server
