#include "session.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/synchronization/mutex.h"
#include "query/column_batch.h"
#include "query/queries.h"
#include "query/session_command.h"
#include "row_collector.h"
#include "statement_splitter.h"

namespace scyper::client {

namespace {

class RemoteCopy final : public CopySink {
 public:
  explicit RemoteCopy(std::unique_ptr<Copying> copying) : copying_(std::move(copying)) {}
  Status write(std::string_view text) override { return copying_->write(text); }
  Status finish(query::ResultSet* result) override { return copying_->finish(result); }

 private:
  const std::unique_ptr<Copying> copying_;
};

class BlockCopy final : public CopySink {
 public:
  explicit BlockCopy(std::unique_ptr<TransactionCopying> copying) : copying_(std::move(copying)) {}
  Status write(std::string_view text) override { return copying_->write(text); }
  Status finish(query::ResultSet* result) override { return copying_->finish(result); }

 private:
  const std::unique_ptr<TransactionCopying> copying_;
};

class LocalCopy final : public CopySink {
 public:
  LocalCopy(std::unique_ptr<primary::CopyIn> copy, const std::atomic<bool>* cancelled)
      : copy_(std::move(copy)), cancelled_(cancelled) {}
  Status write(std::string_view text) override { return copy_->add(text); }
  Status finish(query::ResultSet* result) override { return copy_->finish({.cancelled = cancelled_}, result); }

 private:
  const std::unique_ptr<primary::CopyIn> copy_;
  const std::atomic<bool>* const cancelled_;
};

// BEGIN, COMMIT and ROLLBACK with their kin. Other statements are not parsed for it.
std::optional<query::SessionCommand> block_command_of(std::string_view sql) {
  static constexpr std::string_view kWords[] = {"ABORT", "BEGIN", "COMMIT", "END", "ROLLBACK", "START"};
  StatementSplitter splitter;  // takes comments off
  splitter.feed(sql);
  if (const auto whole = splitter.next(); whole.has_value()) {
    if (!splitter.is_empty()) return std::nullopt;
    splitter.feed(*whole);
  }
  const std::string text = splitter.rest();
  const std::string word = absl::AsciiStrToUpper(text.substr(0, text.find_first_of(" \t\r\n;")));
  if (std::ranges::find(kWords, word) == std::end(kWords)) return std::nullopt;
  auto commands = query::read_commands(text);  // what it cannot read is the node's to refuse
  if (!commands.ok() || commands->size() != 1) return std::nullopt;
  return std::move(commands->front());
}

}  // namespace

bool begins_block(std::string_view sql) {
  const auto command = block_command_of(sql);
  return command.has_value() && command->kind == query::CommandKind::kBegin;
}

namespace {

TransactionOptions options_of(const query::SessionCommand& begin) {
  TransactionOptions options;
  if (begin.isolation == "read committed") options.isolation = Isolation::kReadCommitted;
  if (begin.isolation == "repeatable read") options.isolation = Isolation::kRepeatableRead;
  if (begin.isolation == "serializable") options.isolation = Isolation::kSerializable;
  options.is_read_only = begin.is_read_only.value_or(false);
  options.is_deferrable = begin.is_deferrable.value_or(false);
  return options;
}

query::ResultSet tag_of(const std::string& tag, const char* warning = nullptr) {
  query::ResultSet result;
  result.command_tag = tag;
  if (warning != nullptr) result.notices.push_back(std::string("WARNING:  ") + warning);
  return result;
}

class RemoteSession final : public Session {
 public:
  RemoteSession(std::unique_ptr<Client> client, std::string target)
      : client_(std::move(client)), target_(std::move(target)) {}

  ~RemoteSession() override { static_cast<void>(unpin()); }

  Status execute(std::string_view sql, const ResultHandler& each) override {
    receipt_.reset();
    const auto command = block_command_of(sql);
    const bool is_open = transaction_state() != Transaction::State::kNone;
    if (is_lost_ || (command.has_value() && !is_open)) return change_block(command, each);
    const Client::ReceiptHandler take = [&](const query::ResultSet& result, const query::Receipt* receipt) {
      receipt_ = receipt == nullptr ? std::nullopt : std::optional<query::Receipt>(*receipt);
      each(result);
    };
    if (!is_open) return client_->query(sql, wish_, take);
    ResultHandover handover(take);
    return run_in_transaction(sql, command, &handover);
  }
  Status stream(std::string_view sql, QueryHandler* handler) override {
    receipt_.reset();
    if (is_lost_) return aborted();
    if (transaction_state() != Transaction::State::kNone) return run_in_transaction(sql, std::nullopt, handler);
    return client_->stream_query(sql, wish_, handler);
  }
  StatusOr<std::unique_ptr<CopySink>> open_copy(std::string_view sql) override {
    if (is_lost_) return aborted();
    if (transaction_state() != Transaction::State::kNone) {
      SCYPER_ASSIGN_OR_RETURN(auto copying, transaction_->open_copy(sql));
      return std::make_unique<BlockCopy>(std::move(copying));
    }
    SCYPER_ASSIGN_OR_RETURN(auto copying, client_->open_copy(sql));
    return std::make_unique<RemoteCopy>(std::move(copying));
  }
  void cancel() override {
    absl::MutexLock lock(&mutex_);
    if (is_in_transaction_) {
      transaction_->cancel();
    } else {
      client_->cancel();
    }
  }
  Transaction::State transaction_state() const override {
    if (is_lost_) return Transaction::State::kFailed;
    return transaction_ == nullptr ? Transaction::State::kNone : transaction_->state();
  }
  StatusOr<query::Receipt> pin(const query::Freshness& freshness) override {
    SCYPER_RETURN_IF_ERROR(unpin());
    query::Receipt receipt;
    SCYPER_ASSIGN_OR_RETURN(wish_.session, client_->open_session(freshness, &receipt));
    return receipt;
  }
  Status unpin() override {
    const uint64_t session = std::exchange(wish_.session, 0);
    return session == 0 ? Status() : client_->close_session(session);
  }
  StatusOr<Description> describe() override { return client_->describe(); }
  StatusOr<NodeStatus> status() override { return client_->status(); }
  StatusOr<Loader> open_load(const std::string& table) override {
    SCYPER_ASSIGN_OR_RETURN(std::shared_ptr<Loading> loading, client_->open_load(table));
    return Loader([loading](std::span<const Datum> values) { return loading->load(values); });
  }
  std::string name() const override { return target_; }

 private:
  static Status aborted() {
    return sql_error("25P02", "current transaction is aborted, commands ignored until end of transaction block");
  }

  // A command about blocks while there is none, or while one is lost.
  Status change_block(const std::optional<query::SessionCommand>& command, const ResultHandler& each) {
    using Kind = query::CommandKind;
    const Kind kind = command.has_value() ? command->kind : Kind::kOther;
    if (kind == Kind::kCommit || kind == Kind::kRollback) {
      const bool was_lost = std::exchange(is_lost_, false);
      each(was_lost ? tag_of("ROLLBACK") : tag_of(command->tag, "there is no transaction in progress"));
      return {};
    }
    if (is_lost_) return aborted();
    if (kind != Kind::kBegin) return sql_error("25P01", command->tag + " can only be used in transaction blocks");
    {
      absl::MutexLock lock(&mutex_);
      transaction_.reset();
    }
    SCYPER_ASSIGN_OR_RETURN(auto transaction, client_->begin(options_of(*command)));
    {
      absl::MutexLock lock(&mutex_);
      transaction_ = std::move(transaction);
    }
    each(tag_of(command->tag));
    return {};
  }

  Status run_in_transaction(std::string_view sql, const std::optional<query::SessionCommand>& command,
                            QueryHandler* handler) {
    const auto set_running = [this](bool is_running) {
      absl::MutexLock lock(&mutex_);
      is_in_transaction_ = is_running;
    };
    set_running(true);
    const Status status = transaction_->execute(sql, handler, wish_.timeout_ms);
    set_running(false);
    const bool ends = command.has_value() &&
                      (command->kind == query::CommandKind::kCommit || command->kind == query::CommandKind::kRollback);
    // what follows must not run as if there had been no BEGIN
    is_lost_ = !status.ok() && !ends && transaction_->state() == Transaction::State::kNone;
    return status;
  }

  const std::unique_ptr<Client> client_;
  const std::string target_;
  bool is_lost_ = false;  // the transaction, with its connection
  absl::Mutex mutex_;
  std::unique_ptr<Transaction> transaction_;                // changed by the session's thread under the mutex
  bool is_in_transaction_ ABSL_GUARDED_BY(mutex_) = false;  // a statement runs
};

class LocalSession final : public Session {
 public:
  explicit LocalSession(primary::Engine* engine) : engine_(engine) {}
  ~LocalSession() override { static_cast<void>(unpin()); }

  Status execute(std::string_view sql, const ResultHandler& each) override {
    if (begins_block(sql)) {
      return with_hint(sql_error("0A000", "BEGIN is not supported on an engine in this process"),
                       "Connect to a node, or start one with --grpc.");
    }
    query::Queries* queries = engine_->queries();
    is_cancelled_ = false;
    const primary::StatementLimits limits{.cancelled = &is_cancelled_};
    if (queries == nullptr) return engine_->execute_script(sql, each, limits);
    SCYPER_ASSIGN_OR_RETURN(auto texts, queries->split(sql));
    for (const std::string& text : texts) {
      receipt_.reset();
      if (is_cancelled_) return cancelled_error();
      Status status = queries->is_query(text) ? execute_query(queries, text, each) : sql_error("25006", "");
      // what writes runs as a transaction
      if (sqlstate_of(status) == "25006") status = engine_->execute_script(text, each, limits);
      SCYPER_RETURN_IF_ERROR(status);
    }
    return Status();
  }
  // An engine of this process holds its rows anyway.
  Status stream(std::string_view sql, QueryHandler* handler) override {
    return execute(sql, [&](const query::ResultSet& result) {
      handler->on_columns(result.columns);
      handler->on_rows(result);
      handler->on_complete(result, nullptr);
    });
  }
  StatusOr<std::unique_ptr<CopySink>> open_copy(std::string_view sql) override {
    is_cancelled_ = false;
    SCYPER_ASSIGN_OR_RETURN(auto copy, engine_->open_copy(sql));
    return std::make_unique<LocalCopy>(std::move(copy), &is_cancelled_);
  }
  void cancel() override {
    is_cancelled_ = true;
    absl::MutexLock lock(&mutex_);
    if (stream_ != nullptr) stream_->cancel();
  }
  StatusOr<query::Receipt> pin(const query::Freshness& freshness) override {
    SCYPER_RETURN_IF_ERROR(unpin());
    if (engine_->queries() == nullptr) return sql_error("0A000", "this engine has no snapshots");
    query::Receipt receipt;
    SCYPER_ASSIGN_OR_RETURN(wish_.session, engine_->queries()->open_session(freshness, &receipt));
    return receipt;
  }
  Status unpin() override {
    const uint64_t session = std::exchange(wish_.session, 0);
    return session == 0 ? Status() : engine_->queries()->close_session(session);
  }

  StatusOr<Description> describe() override {
    Description out;
    for (auto& t : engine_->tables()) {
      out.tables.push_back({t.name, t.partitioning, t.layout, t.rows, t.bytes, t.columns, t.indexes, t.constraints});
    }
    for (auto& r : engine_->routines()) out.routines.push_back({r.signature, r.kind, r.classification});
    return out;
  }

  StatusOr<NodeStatus> status() override {
    const primary::EngineCounters& counters = engine_->counters();
    NodeStatus out;
    out.role = "ephemeral";
    out.partitions = engine_->options().partitions;
    out.workers = engine_->options().workers;
    out.memory_used_bytes = engine_->memory_used_bytes();
    out.memory_budget_bytes = engine_->options().memory_bytes;
    out.queue_depth = engine_->queue_depth();
    out.committed = counters.committed;
    out.rolled_back = counters.rolled_back;
    out.crossing = counters.crossing;
    out.misclassified = counters.misclassified;
    out.refused = counters.refused;
    out.redo_bytes = counters.redo_bytes;
    out.statements_compiled = counters.statements_compiled;
    return out;
  }

  StatusOr<Loader> open_load(const std::string& table) override {
    SCYPER_RETURN_IF_ERROR(engine_->describe(table).status());
    return Loader([engine = engine_, table](std::span<const Datum> values) { return engine->load(table, values); });
  }
  std::string name() const override { return "in this process"; }

 private:
  Status execute_query(query::Queries* queries, const std::string& sql, const ResultHandler& each) {
    query::QueryOptions options;
    options.session = wish_.session;
    options.freshness = wish_.freshness;
    options.timeout_us = int64_t{wish_.timeout_ms} * 1000;
    options.threads = wish_.threads;
    options.reuses_code = !wish_.is_compiled_anew;
    SCYPER_ASSIGN_OR_RETURN(auto stream, queries->run(sql, {}, options));
    set_stream(stream.get());
    query::ResultSet result;
    Status status = read(stream.get(), &result);
    set_stream(nullptr);
    // a child that was told to stop may have said anything
    if (!status.ok()) return is_cancelled_ ? cancelled_error() : status;
    receipt_ = stream->receipt();
    each(result);
    return Status();
  }

  static Status read(query::QueryStream* stream, query::ResultSet* result) {
    result->columns = stream->columns();
    std::vector<SqlType> types;
    for (const query::ResultColumn& column : result->columns) types.push_back(column.type);
    std::string batch;
    while (true) {
      SCYPER_ASSIGN_OR_RETURN(bool has_rows, stream->next(&batch));
      if (!has_rows) break;
      SCYPER_RETURN_IF_ERROR(query::decode_columns(types, batch, result));
    }
    result->command_tag = stream->command_tag();
    result->affected_rows = stream->rows();
    result->notices = stream->notices();
    return Status();
  }

  void set_stream(query::QueryStream* stream) {
    absl::MutexLock lock(&mutex_);
    stream_ = stream;
    if (stream != nullptr && is_cancelled_) stream->cancel();
  }

  static Status cancelled_error() { return sql_error("57014", "canceling statement due to user request"); }

  primary::Engine* const engine_;
  std::atomic<bool> is_cancelled_{false};
  absl::Mutex mutex_;
  query::QueryStream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace

std::unique_ptr<Session> remote_session(std::unique_ptr<Client> client, std::string target) {
  return std::make_unique<RemoteSession>(std::move(client), std::move(target));
}
std::unique_ptr<Session> local_session(primary::Engine* engine) { return std::make_unique<LocalSession>(engine); }

StatusOr<std::vector<query::ResultColumn>> columns_of_table(Session* session, const std::string& table) {
  SCYPER_ASSIGN_OR_RETURN(Description description, session->describe());
  for (TableDescription& candidate : description.tables) {
    if (candidate.name == table) return std::move(candidate.columns);
  }
  return sql_error("42P01", "relation \"" + table + "\" does not exist");
}

}  // namespace scyper::client
