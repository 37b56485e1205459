// Statements to rows: transactions on the engine, queries on snapshots.
#include <algorithm>
#include <utility>

#include "audit_log.h"
#include "base/bounded_work.h"
#include "base/internal_error.h"
#include "primary/blocks.h"
#include "session/block_session.h"

namespace scyper::server {

StatusOr<std::unique_ptr<Answer>> BlockSession::run_statement(const SessionStatement& statement,
                                                              std::span<const Datum> arguments) {
  if (statements_run_ != nullptr) statements_run_->add(1);
  if (activity_ != nullptr) activity_->begin(statement.command.text);
  SCYPER_RETURN_IF_ERROR(check_block(statement.command));
  note_query(statement.command);
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

bool BlockSession::is_read_lock(const query::SessionCommand& command) const {
  const bool reads = !command.values.empty() || settings_->is_read_only();
  return command.name == "LOCK TABLE" && !command.body.empty() && reads && open_ == nullptr;
}

StatusOr<std::unique_ptr<Answer>> BlockSession::lock_for_reading(const SessionStatement& statement) {
  SessionStatement query;
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

StatusOr<query::QueryOptions> BlockSession::query_options() {
  query::QueryOptions options;
  options.freshness = settings_->freshness();
  options.timeout_us = timeout_us();
  options.threads = settings_->threads();
  options.client = options.owner = identity_.owner;
  options.pid = identity_.pid;
  options.time_us = block_time_us_;
  if (block_ == Block::kNone || !settings_->is_isolated()) return options;
  if (pinned_ == 0) {
    watch_reads();
    query::Freshness freshness = options.freshness;
    SCYPER_RETURN_IF_ERROR(node_->router.pin(&freshness));
    query::Receipt receipt;
    SCYPER_ASSIGN_OR_RETURN(pinned_, node_->engine->queries()->open_session(freshness, &receipt, identity_.owner));
    receipt_ = receipt;
  }
  options.session = pinned_;
  return options;
}

// Plans, too, end once the statement is cancelled or its time is over.
StatusOr<std::unique_ptr<Answer>> BlockSession::run_bounded(
    const SessionStatement& statement, const std::function<StatusOr<std::unique_ptr<Answer>>()>& run) {
  const int64_t us = timeout_us();
  const WorkLimits limits{&is_cancelled_, us == 0 ? 0 : monotonic_ns() + us * kNsPerUs};
  return contained(Phase::kPlanning, statement.command.text, [&] {
    const BoundedWork work(limits.bounds());
    return run();
  });
}

StatusOr<std::unique_ptr<Answer>> BlockSession::run_for_rows(const SessionStatement& statement,
                                                             std::span<const Datum> arguments) {
  SCYPER_ASSIGN_OR_RETURN(auto about_session, run_for_session(statement, arguments));
  if (about_session != nullptr) return about_session;
  // snapshots have no temporary tables that this session can rely on, nor what its block has written
  const bool has_temporary = node_->engine->has_temporary_tables(settings_->temporary_schema());
  if (open_ == nullptr && node_->engine->queries() == nullptr) return run_by_itself(statement, arguments);
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

StatusOr<std::unique_ptr<Answer>> BlockSession::query_snapshot(const SessionStatement& statement,
                                                               std::span<const Datum> arguments) {
  QueryRun run;
  SCYPER_ASSIGN_OR_RETURN(run.options, query_options());
  const std::string text = with_path(statement.command.text);
  run.sql = text;
  run.parameters = statement.parameters;
  run.arguments = arguments;
  run.options.argument_types = &statement.parameters;
  run.protocol = identity_.counted_as;
  run.is_here = block_ != Block::kNone || query::mentions_activity(statement.command.text);
  auto answer = run_query(node_, run);
  if (answer.ok() && watcher_ != nullptr) return watch_answer(*std::move(answer), statement, arguments);
  if (answer.ok() || !is_for_transactions(answer.status())) return answer;
  if (!settings_->is_read_only()) return run_transaction(statement, arguments);
  const auto catalog = node_->engine->catalog();
  if (catalog != nullptr && query::reads_sequence(*catalog, statement.command.text))
    return run_by_itself(statement, arguments);
  return read_only_error();
}

// In READ COMMITTED each statement of a block sees what was committed before it, so it may run anywhere.
bool BlockSession::may_run_on_worker(const SessionStatement& statement) const {
  return statement.command.kind == query::CommandKind::kQuery &&
         (block_ == Block::kNone || !settings_->is_isolated()) && !query::mentions_activity(statement.command.text);
}

// nullptr: the query is for a snapshot.
StatusOr<std::unique_ptr<Answer>> BlockSession::run_on_worker(const SessionStatement& statement,
                                                              std::span<const Datum> arguments) {
  primary::Engine* engine = node_->engine;
  const int64_t began_ns = monotonic_ns();
  query::ResultSet result;
  query::Receipt receipt;
  const auto done = engine->execute_short(with_path(statement.command.text), arguments, &result,
                                          limits(statement.command.text), &receipt);
  const bool has_ended = !done.ok() || *done == primary::ShortRead::kDone;
  if (has_ended) {
    node_->counters.requests.note(identity_.counted_as, RequestKind::kQuery, done.ok(), began_ns);
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

std::string BlockSession::with_path(std::string_view sql) const {
  return settings_->with_path(sql, node_->engine->has_temporary_tables(settings_->temporary_schema()));
}

// On the primary, wherever this node is.
StatusOr<std::unique_ptr<primary::OpenTransaction>> BlockSession::make_block(primary::BlockLevel level) {
  if (node_->forwarding.is_needed()) return node_->forwarding.make_block(level);
  return primary::begin_block(node_->engine, level);
}

// What the block has read before it writes is still so, where its isolation promises that.
Status BlockSession::open_block() {
  const bool is_isolated = settings_->is_isolated();
  if (is_isolated && pinned_ != 0 && watcher_ == nullptr) {
    return with_hint(sql_error("40001", "could not serialize access due to concurrent update"),
                     "The block has read before this node took changes. The transaction might succeed if retried.");
  }
  if (is_isolated && watcher_ != nullptr) {
    open_ = std::move(watcher_);
  } else {
    const auto level = is_isolated ? primary::BlockLevel::kSerializable : primary::BlockLevel::kReadCommitted;
    SCYPER_ASSIGN_OR_RETURN(open_, make_block(level));
  }
  for (size_t i = 0; i < savepoints_.size(); ++i) SCYPER_RETURN_IF_ERROR(open_->set_savepoint());
  return {};
}

// What is about roles and rights goes to the audit log, also where its block is taken back.
void BlockSession::note_act(const SessionStatement& statement, const Status& status) {
  if (!query::is_about_roles(statement.command.text)) return;
  write_audit({user_, identity_.address, identity_.protocol, query::shown_role_statement(statement.command.text)},
              status);
}

StatusOr<std::unique_ptr<Answer>> BlockSession::run_in_block(const SessionStatement& statement,
                                                             std::span<const Datum> arguments) {
  if (open_ == nullptr) SCYPER_RETURN_IF_ERROR(open_block());
  has_only_read_ = has_only_read_ && statement.command.kind == query::CommandKind::kQuery;
  return run_counted(statement.command.text, [&](query::ResultSet* result) {
    primary::StatementLimits own = limits(statement.command.text);
    own.parameter_types = &statement.parameters;
    const Status status = open_->execute(with_path(statement.command.text), arguments, result, own);
    note_act(statement, status);
    note_conflict(status);
    return status;
  });
}

StatusOr<std::unique_ptr<Answer>> BlockSession::run_transaction(const SessionStatement& statement,
                                                                std::span<const Datum> arguments) {
  SCYPER_RETURN_IF_ERROR(enter_pipeline(statement.command.text));
  // the last statement of a message whose others have only read needs no transaction that waits for its client
  const bool is_alone = is_implicit_ && is_last_ && open_ == nullptr && watcher_ == nullptr;
  return block_ == Block::kNone || is_alone ? run_by_itself(statement, arguments) : run_in_block(statement, arguments);
}

StatusOr<std::unique_ptr<Answer>> BlockSession::run_by_itself(const SessionStatement& statement,
                                                              std::span<const Datum> arguments) {
  return run_counted(statement.command.text, [&](query::ResultSet* result) {
    const std::string text = with_path(statement.command.text);
    const auto run = [&] {
      return node_->forwarding.is_needed()
                 ? forward(text, statement, arguments, result)
                 : node_->engine->execute(text, arguments, result, limits(statement.command.text));
    };
    Status status = run();
    while (sqlstate_of(status) == "55P03") {
      SCYPER_ASSIGN_OR_RETURN(const bool has_waited, wait_for_advisory_lock());
      if (!has_waited) break;
      status = run();
      release_advisory_locks(0);
    }
    note_act(statement, status);
    return status;
  });
}

Status BlockSession::forward(const std::string& text, const SessionStatement& statement,
                             std::span<const Datum> arguments, query::ResultSet* result) {
  const BoundedWork::Pause pause;  // a call to another node
  return node_->forwarding.execute(text, statement.parameters, arguments, limits(statement.command.text), result);
}

StatusOr<std::unique_ptr<Answer>> BlockSession::run_counted(std::string_view sql,
                                                            const std::function<Status(query::ResultSet*)>& run) {
  query::ResultSet result;
  SCYPER_RETURN_IF_ERROR(node_->counters.count_call(identity_.counted_as, sql, [&] { return run(&result); }));
  SCYPER_RETURN_IF_ERROR(take_changed_settings());
  return make_answer(std::move(result));
}

// What the statement has set by set_config(). Outside of blocks, what is local has ended with the statement.
Status BlockSession::take_changed_settings() {
  for (const auto& [name, value, is_local] : std::exchange(changed_settings_, {})) {
    if (is_local && block_ == Block::kNone) continue;
    SCYPER_RETURN_IF_ERROR(check_mode(name, value));
    if (is_local) {
      SCYPER_RETURN_IF_ERROR(set_local(name, {value}));
    } else {
      SCYPER_RETURN_IF_ERROR(settings_->set(name, {value}));
      local_settings_.erase(SessionSettings::name_of(name));
    }
  }
  return {};
}

int64_t BlockSession::timeout_us() const {
  const int64_t session_us = settings_->statement_timeout_us();
  if (session_us == 0 || statement_timeout_us_ == 0) return std::max(session_us, statement_timeout_us_);
  return std::min(session_us, statement_timeout_us_);
}

// Of a statement that begins now.
primary::StatementLimits BlockSession::limits(std::string_view sql) {
  primary::StatementLimits limits;
  limits.cancelled = &is_cancelled_;
  limits.time_us = block_time_us_;
  given_settings_ = settings_for(sql);
  limits.settings = given_settings_.get();
  changed_settings_.clear();
  limits.changed_settings = &changed_settings_;
  if (const int64_t us = timeout_us(); us != 0) limits.deadline_ns = monotonic_ns() + us * kNsPerUs;
  return limits;
}

// Ends once the session's statement is cancelled or its time is over.
Status BlockSession::describe_parameters_of(std::string_view sql, SessionStatement* statement) {
  const std::string text = with_path(sql);
  const primary::StatementLimits own = limits(sql);
  const WorkLimits bounds{own.cancelled, own.deadline_ns};
  return contained(Phase::kPlanning, sql, [&] {
    const BoundedWork work(bounds.bounds());
    return describe_here(sql, text, statement);
  });
}

Status BlockSession::describe_here(std::string_view sql, const std::string& text, SessionStatement* statement) {
  if (open_ != nullptr) return open_->describe(text, limits(sql), &statement->parameters, &statement->columns);
  query::Queries* queries = node_->engine->queries();
  const bool is_for_snapshots =
      queries != nullptr && !node_->engine->has_temporary_tables(settings_->temporary_schema());
  const bool is_query = statement->command.kind == query::CommandKind::kQuery && is_for_snapshots;
  // the newest definitions are the primary's; here they may still be on their way
  const bool is_fresh = pinned_ == 0 && settings_->freshness().kind == query::Freshness::Kind::kFresh;
  if (node_->forwarding.is_needed() && (!is_query || is_fresh)) {
    const BoundedWork::Pause pause;  // a call to another node
    auto description = node_->forwarding.describe(text);
    if (!is_query || sqlstate_of(description.status()) != "57P03") {
      SCYPER_RETURN_IF_ERROR(description.status());
      statement->parameters = std::move(description->parameters);
      statement->columns = std::move(description->columns);
      return {};
    }
  }
  if (is_query) {
    SCYPER_ASSIGN_OR_RETURN(auto description, queries->describe(text, pinned_, identity_.owner));
    statement->parameters = std::move(description.parameters);
    statement->columns = std::move(description.columns);
    return {};
  }
  SCYPER_ASSIGN_OR_RETURN(auto prepared, node_->statements.prepare(text));
  statement->parameters = prepared->parameter_types();
  statement->columns = prepared->columns();
  return {};
}

}  // namespace scyper::server
