// Statements to rows: transactions on the engine, queries on snapshots.
#include <algorithm>
#include <utility>

#include "audit_log.h"
#include "base/bounded_work.h"
#include "base/internal_error.h"
#include "postgres/running.h"
#include "postgres/session.h"
#include "primary/blocks.h"
#include "query/refused_in_blocks.h"
#include "query/shown_columns.h"

namespace scyper::server::postgres {

StatusOr<std::unique_ptr<Answer>> Session::run_statement(const Statement& statement, std::span<const Datum> arguments) {
  if (context_->statements != nullptr) context_->statements->add(1);
  if (activity_ != nullptr) activity_->begin(statement.command.text);
  SCYPER_RETURN_IF_ERROR(check_block(statement.command));
  switch (statement.command.kind) {
    case query::CommandKind::kQuery:
    case query::CommandKind::kCopyOut:
      return run_bounded(statement, [&] { return run_for_rows(statement, arguments); });
    case query::CommandKind::kOther:
      if (statement.command.name == "constraints" && block_ == Block::kNone)
        warn("25P01", "SET CONSTRAINTS can only be used in transaction blocks");
      if (is_read_lock(statement.command)) return lock_for_reading(statement);
      if (statement.command.execute.has_value()) return create_by_execute(statement.command);
      return run_bounded(statement, [&] { return run_transaction(statement, arguments); });
    case query::CommandKind::kCopyIn:
      return run_copy_in(statement.command.text);
    default:
      return run_session_command(statement.command);
  }
}

bool Session::is_read_lock(const query::SessionCommand& command) const {
  const bool reads = !command.values.empty() || settings_->is_read_only();
  return command.name == "LOCK TABLE" && !command.body.empty() && reads && open_ == nullptr;
}

StatusOr<std::unique_ptr<Answer>> Session::lock_for_reading(const Statement& statement) {
  Statement query;
  query.command.kind = query::CommandKind::kQuery;
  query.command.text = statement.command.body;
  auto found = run_for_rows(query, {});
  if (!found.ok()) return sql_error(sqlstate_of(found.status()), std::string(found.status().message()));
  const std::unique_ptr<Answer> answer = *std::move(found);
  query::ResultSet rows;
  rows.columns = answer->columns();
  for (bool has_more = true; has_more;) {
    SCYPER_ASSIGN_OR_RETURN(has_more, answer->next(&rows));
  }
  return make_answer(statement.command.name);
}

StatusOr<query::QueryOptions> Session::query_options() {
  query::QueryOptions options;
  options.freshness = settings_->freshness();
  options.timeout_us = settings_->statement_timeout_us();
  options.threads = settings_->threads();
  options.client = options.owner = session_owner();
  options.pid = start_.process;
  options.time_us = block_time_us_;
  if (block_ == Block::kNone || !settings_->is_isolated()) return options;
  if (pinned_ == 0) {
    watch_reads();
    query::Freshness freshness = options.freshness;
    SCYPER_RETURN_IF_ERROR(context_->node->router.pin(&freshness));
    query::Receipt receipt;
    SCYPER_ASSIGN_OR_RETURN(pinned_,
                            context_->node->engine->queries()->open_session(freshness, &receipt, session_owner()));
    receipt_ = receipt;
  }
  options.session = pinned_;
  return options;
}

// Plans, too, end once the statement is cancelled or its time is over.
StatusOr<std::unique_ptr<Answer>> Session::run_bounded(const Statement& statement,
                                                       const std::function<StatusOr<std::unique_ptr<Answer>>()>& run) {
  const int64_t timeout_us = settings_->statement_timeout_us();
  const WorkLimits limits{&is_cancelled_, timeout_us == 0 ? 0 : monotonic_ns() + timeout_us * kNsPerUs};
  return contained(Phase::kPlanning, statement.command.text, [&] {
    const BoundedWork work(limits.bounds());
    return run();
  });
}

StatusOr<std::unique_ptr<Answer>> Session::run_for_rows(const Statement& statement, std::span<const Datum> arguments) {
  // snapshots have no temporary tables that this session can rely on, nor what its block has written
  const bool has_temporary = context_->node->engine->has_temporary_tables(settings_->temporary_schema());
  if (open_ == nullptr && context_->node->engine->queries() == nullptr) return run_by_itself(statement, arguments);
  // rows that a block locks stay as they are until its end
  const bool locks = statement.command.locks_rows && block_ != Block::kNone;
  if (locks && settings_->is_read_only()) return read_only_error();
  if (open_ != nullptr && !has_temporary && !locks && may_leave_worker(statement))
    return read_in_block(statement, arguments);
  if (open_ != nullptr || has_temporary || locks) return run_transaction(statement, arguments);
  if (may_run_on_worker(statement)) {
    SCYPER_ASSIGN_OR_RETURN(auto answer, run_on_worker(statement, arguments));
    if (answer != nullptr) return answer;
  }
  if (may_read_serially(statement)) {
    SCYPER_ASSIGN_OR_RETURN(auto answer, read_serially(statement, arguments));
    if (answer != nullptr) return answer;
  }
  return query_snapshot(statement, arguments);
}

StatusOr<std::unique_ptr<Answer>> Session::query_snapshot(const Statement& statement,
                                                          std::span<const Datum> arguments) {
  QueryRun run;
  SCYPER_ASSIGN_OR_RETURN(run.options, query_options());
  const std::string text = with_path(statement.command.text);
  run.sql = text;
  run.parameters = statement.parameters;
  run.arguments = arguments;
  run.options.argument_types = &statement.parameters;
  run.is_here = block_ != Block::kNone || query::mentions_activity(statement.command.text);
  auto answer = run_query(context_->node, run);
  if (answer.ok() && watcher_ != nullptr) return watch_answer(*std::move(answer), statement, arguments);
  if (answer.ok() || !is_for_transactions(answer.status())) return answer;
  if (!settings_->is_read_only()) return run_transaction(statement, arguments);
  const auto catalog = context_->node->engine->catalog();
  if (catalog != nullptr && query::reads_sequence(*catalog, statement.command.text))
    return run_by_itself(statement, arguments);
  return read_only_error();
}

// In READ COMMITTED each statement of a block sees what was committed before it, so it may run anywhere.
bool Session::may_run_on_worker(const Statement& statement) const {
  return statement.command.kind == query::CommandKind::kQuery &&
         (block_ == Block::kNone || !settings_->is_isolated()) && !query::mentions_activity(statement.command.text);
}

// nullptr: the query is for a snapshot.
StatusOr<std::unique_ptr<Answer>> Session::run_on_worker(const Statement& statement, std::span<const Datum> arguments) {
  primary::Engine* engine = context_->node->engine;
  const int64_t began_ns = monotonic_ns();
  query::ResultSet result;
  query::Receipt receipt;
  const auto done = engine->execute_short(with_path(statement.command.text), arguments, &result,
                                          limits(statement.command.text), &receipt);
  const bool has_ended = !done.ok() || *done == primary::ShortRead::kDone;
  if (has_ended) {
    context_->node->counters.requests.note(RequestProtocol::kPostgres, RequestKind::kQuery, done.ok(), began_ns);
  }
  SCYPER_RETURN_IF_ERROR(done.status());
  if (*done == primary::ShortRead::kLong) return std::unique_ptr<Answer>();
  if (*done == primary::ShortRead::kWrites) {
    if (settings_->is_read_only()) return read_only_error();
    return run_transaction(statement, arguments);
  }
  SCYPER_RETURN_IF_ERROR(take_changed_settings());
  return make_answer(std::move(result), std::move(receipt));
}

std::string Session::with_path(std::string_view sql) const {
  return settings_->with_path(sql, context_->node->engine->has_temporary_tables(settings_->temporary_schema()));
}

// What the block has read before it writes is still so, where its isolation promises that.
Status Session::open_block() {
  const bool is_isolated = settings_->is_isolated();
  if (is_isolated && pinned_ != 0 && watcher_ == nullptr) {
    return with_hint(sql_error("40001", "could not serialize access due to concurrent update"),
                     "The block has read before this node took changes. The transaction might succeed if retried.");
  }
  if (is_isolated && watcher_ != nullptr) {
    open_ = std::move(watcher_);
  } else {
    const auto level = is_isolated ? primary::BlockLevel::kSerializable : primary::BlockLevel::kReadCommitted;
    SCYPER_ASSIGN_OR_RETURN(open_, primary::begin_block(context_->node->engine, level));
  }
  for (size_t i = 0; i < savepoints_.size(); ++i) SCYPER_RETURN_IF_ERROR(open_->set_savepoint());
  return {};
}

// What is about roles and rights goes to the audit log, also where its block is taken back.
void Session::note_act(const Statement& statement, const Status& status) {
  if (!query::is_about_roles(statement.command.text)) return;
  write_audit({user_, start_.address, "postgres", query::shown_role_statement(statement.command.text)}, status);
}

StatusOr<std::unique_ptr<Answer>> Session::run_in_block(const Statement& statement, std::span<const Datum> arguments) {
  if (open_ == nullptr) SCYPER_RETURN_IF_ERROR(open_block());
  has_only_read_ = has_only_read_ && statement.command.kind == query::CommandKind::kQuery;
  return run_counted(statement.command.text, [&](query::ResultSet* result) {
    const Status status =
        open_->execute(with_path(statement.command.text), arguments, result, limits(statement.command.text));
    note_act(statement, status);
    note_conflict(status);
    return status;
  });
}

// All Executes before one Sync are one transaction. It begins with the first that writes: what only reads before it
// has nothing to undo. One that Sync follows is a transaction of its own, as are those that no block may have. To wait
// for what follows holds nobody up: a client that wants its answer before sends Flush.
Status Session::enter_pipeline(std::string_view sql) {
  if (!is_pipelined_ || block_ != Block::kNone || !query::command_refused_in_block(sql).empty()) return {};
  if (stream_.next_type() == 'S') return {};
  return begin_implicit_block(/*writes=*/true);
}

StatusOr<std::unique_ptr<Answer>> Session::run_transaction(const Statement& statement,
                                                           std::span<const Datum> arguments) {
  SCYPER_RETURN_IF_ERROR(enter_pipeline(statement.command.text));
  // the last statement of a message whose others have only read needs no transaction that waits for its client
  const bool is_alone = is_implicit_ && is_last_ && open_ == nullptr && watcher_ == nullptr;
  return block_ == Block::kNone || is_alone ? run_by_itself(statement, arguments) : run_in_block(statement, arguments);
}

StatusOr<std::unique_ptr<Answer>> Session::run_by_itself(const Statement& statement, std::span<const Datum> arguments) {
  NodeParts* node = context_->node;
  return run_counted(statement.command.text, [&](query::ResultSet* result) {
    const std::string text = with_path(statement.command.text);
    const Status status = node->forwarding.is_needed()
                              ? forward(text, statement, arguments, result)
                              : node->engine->execute(text, arguments, result, limits(statement.command.text));
    note_act(statement, status);
    return status;
  });
}

Status Session::forward(const std::string& text, const Statement& statement, std::span<const Datum> arguments,
                        query::ResultSet* result) {
  const BoundedWork::Pause pause;  // a call to another node
  return context_->node->forwarding.execute(text, statement.parameters, arguments, limits(statement.command.text),
                                            result);
}

StatusOr<std::unique_ptr<Answer>> Session::run_counted(std::string_view sql,
                                                       const std::function<Status(query::ResultSet*)>& run) {
  NodeParts* node = context_->node;
  query::ResultSet result;
  SCYPER_RETURN_IF_ERROR(node->counters.count_call(RequestProtocol::kPostgres, sql, [&] { return run(&result); }));
  SCYPER_RETURN_IF_ERROR(take_changed_settings());
  return make_answer(std::move(result));
}

// What the statement has set by set_config().
Status Session::take_changed_settings() {
  for (const auto& [name, value] : std::exchange(changed_settings_, {}))
    SCYPER_RETURN_IF_ERROR(settings_->set(name, {value}));
  return {};
}

// Of a statement that begins now.
primary::StatementLimits Session::limits(std::string_view sql) {
  primary::StatementLimits limits;
  limits.cancelled = &is_cancelled_;
  limits.time_us = block_time_us_;
  given_settings_ = settings_for(sql);
  limits.settings = given_settings_.get();
  changed_settings_.clear();
  limits.changed_settings = &changed_settings_;
  if (settings_->statement_timeout_us() != 0) {
    limits.deadline_ns = monotonic_ns() + settings_->statement_timeout_us() * kNsPerUs;
  }
  return limits;
}

Status Session::take_rows(Portal* portal) {
  SCYPER_RETURN_IF_ERROR(portal->failure);
  const StatusOr<bool> has_rows = portal->answer->next(&portal->rows);
  if (!has_rows.ok()) return portal->failure = has_rows.status();
  portal->is_drained = !*has_rows;
  if (portal->is_drained && portal->answer->receipt().has_value()) receipt_ = portal->answer->receipt();
  return {};
}

Status Session::append_row(const Portal& portal) {
  const auto& columns = portal.rows.columns;
  const size_t width = query::shown_columns(columns);
  row_.resize(width);
  row_values_.clear();
  for (size_t i = 0; i < width; ++i) {
    const Datum& value = portal.rows.value(portal.next_row, i);
    SCYPER_ASSIGN_OR_RETURN(row_[i],
                            query::sent_value(columns[i], portal.formats[i] == Format::kBinary, value, &row_values_));
  }
  writer().begin('D');
  writer().put_int16(static_cast<int16_t>(width));
  for (size_t i = 0; i < width; ++i) {
    append_field(query::sent_type(columns[i], portal.formats[i] == Format::kBinary), portal.formats[i], row_[i],
                 &writer());
  }
  writer().end();
  return {};
}

Status Session::send_rows(Portal* portal, uint64_t rows_max) {
  const uint64_t before = portal->row_count;
  while (rows_max == 0 || portal->row_count - before < rows_max) {
    if (portal->next_row < portal->rows.row_count()) {
      SCYPER_RETURN_IF_ERROR(append_row(*portal));
      ++portal->next_row;
      ++portal->row_count;
      if (!stream_.flush_if_large()) return sql_error("08006", "the client has gone");
      continue;
    }
    portal->rows.clear_rows();
    portal->next_row = 0;
    if (portal->is_drained) {
      send_complete(portal, portal->answer->tag());
      return {};
    }
    SCYPER_RETURN_IF_ERROR(take_rows(portal));
  }
  writer().begin('s');  // PortalSuspended
  writer().end();
  return {};
}

void Session::send_complete(Portal* portal, const std::string& tag) {
  portal->is_done = true;
  for (const std::string& notice : portal->answer->notices()) send_engine_notice(notice);
  if (portal->answer->receipt().has_value() && settings_->reports_receipts()) {
    append_notice("INFO", sql_error("00000", receipt_text()), &writer());
  }
  if (tag.empty()) {
    writer().begin('I');  // EmptyQueryResponse
    return writer().end();
  }
  writer().begin('C');
  writer().put_string(tag);
  writer().end();
}

}  // namespace scyper::server::postgres
