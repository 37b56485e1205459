// Statements about the session itself: transaction blocks and settings.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "query/advisory_locks.h"
#include "query/refused_in_blocks.h"
#include "query/value_text.h"
#include "session/block_session.h"

namespace scyper::server {

using query::CommandKind;
using query::SessionCommand;

namespace {

Status no_block(const std::string& command) {
  return sql_error("25P01", command + " can only be used in transaction blocks");
}

}  // namespace

Status BlockSession::check_block(const SessionCommand& command) const {
  const CommandKind kind = command.kind;
  if (block_ == Block::kFailed && kind != CommandKind::kCommit && kind != CommandKind::kRollback &&
      kind != CommandKind::kRollbackTo) {
    return sql_error("25P02", "current transaction is aborted, commands ignored until end of transaction block");
  }
  if (block_ != Block::kNone && kind == CommandKind::kOther) {
    const std::string name = query::command_refused_in_block(command.text);
    if (!name.empty()) return sql_error("25001", name + " cannot run inside a transaction block");
  }
  if (kind == CommandKind::kOther && block_ == Block::kNone && command.name == "LOCK TABLE") {
    return no_block(command.name);
  }
  if (kind == CommandKind::kOther && command.name == "DROP DATABASE")
    SCYPER_RETURN_IF_ERROR(check_drop_database(command));
  if (kind == CommandKind::kCopyIn && settings_->is_read_only()) {
    return sql_error("25006", "cannot execute COPY FROM in a read-only transaction");
  }
  const bool is_lock = command.name == "LOCK TABLE" && !command.body.empty();
  return kind == CommandKind::kOther && !is_lock && settings_->is_read_only() ? read_only_error() : Status();
}

// Sessions that have asked for it by that name, of this node, are in its way.
Status BlockSession::check_drop_database(const SessionCommand& command) const {
  const std::string& name = command.values[0];
  if (name == database_) return sql_error("55006", "cannot drop the currently open database");
  const auto sessions = node_->activity.sessions();
  const auto others = std::ranges::count(sessions, name, &query::SessionActivity::database);
  if (others == 0) return {};
  return with_detail(sql_error("55006", "database \"" + name + "\" is being accessed by other users"),
                     others == 1 ? "There is 1 other session using the database."
                                 : "There are " + std::to_string(others) + " other sessions using the database.");
}

Status BlockSession::read_only_error() {
  return sql_error("25006", "cannot execute statements that write in a read-only transaction");
}

StatusOr<std::unique_ptr<Answer>> BlockSession::run_session_command(const SessionCommand& command) {
  auto answer = change_session(command);
  if (block_ == Block::kNone) settings_->begin_transaction();  // the next statement
  return answer;
}

StatusOr<std::unique_ptr<Answer>> BlockSession::change_session(const SessionCommand& command) {
  Status status;
  switch (command.kind) {
    case CommandKind::kBegin:
      return begin_block(command);
    case CommandKind::kCommit:
    case CommandKind::kRollback:
      return end_block(command);
    case CommandKind::kSavepoint:
    case CommandKind::kRelease:
    case CommandKind::kRollbackTo:
      return change_savepoint(command);
    case CommandKind::kShow:
      return show(command);
    case CommandKind::kSet:
      if (command.is_local) {
        if (block_ == Block::kNone) {
          warn("25P01", "SET LOCAL can only be used in transaction blocks");
          break;
        }
        if (!command.values.empty()) status = check_mode(command.name, command.values[0]);
        if (status.ok()) status = set_local(command.name, command.values);
        break;
      }
      if (!command.values.empty()) status = check_mode(command.name, command.values[0]);
      if (status.ok()) status = settings_->set(command.name, command.values);
      if (status.ok()) local_settings_.erase(SessionSettings::name_of(command.name));
      break;
    case CommandKind::kSetModes:
      status = set_modes(command);
      break;
    case CommandKind::kReset:
      status = settings_->reset(command.name);
      if (command.name == "all") local_settings_.clear();
      local_settings_.erase(SessionSettings::name_of(command.name));
      break;
    default:
      return run_own_command(command);
  }
  SCYPER_RETURN_IF_ERROR(status);
  return make_answer(command.tag);
}

StatusOr<std::unique_ptr<Answer>> BlockSession::begin_block(const SessionCommand& command) {
  if (std::exchange(is_implicit_, false)) {
    SCYPER_RETURN_IF_ERROR(set_modes(command));
    return make_answer(command.tag);
  }
  if (block_ == Block::kOpen) {
    warn("25001", "there is already a transaction in progress");
    return make_answer(command.tag);
  }
  enter_block();
  SCYPER_RETURN_IF_ERROR(set_modes(command));
  return make_answer(command.tag);
}

// Until the end of the block. A name of the user's own that is new stays, without a value.
Status BlockSession::set_local(std::string_view name, const std::vector<std::string>& values) {
  const auto before = settings_->show(name);
  SCYPER_RETURN_IF_ERROR(settings_->set(name, values));
  local_settings_.emplace(SessionSettings::name_of(name), before.ok() ? *before : std::string());
  return {};
}

StatusOr<std::unique_ptr<Answer>> BlockSession::end_block(const SessionCommand& command) {
  if (!is_in_explicit_block()) {
    if (command.is_chained) return no_block(command.tag + " AND CHAIN");
    warn("25P01", "there is no transaction in progress");
    if (block_ == Block::kNone) return make_answer(command.tag);
  }
  return close_block(command);
}

StatusOr<std::unique_ptr<Answer>> BlockSession::close_block(const SessionCommand& command) {
  std::optional<SessionSettings> ended;
  if (command.is_chained) ended = *settings_;
  const auto open = std::move(open_);
  const primary::StatementLimits own = limits("");  // by the settings of the block
  const bool is_undone = block_ == Block::kFailed || command.kind == CommandKind::kRollback;
  if (is_undone) {
    settings_->take_back(0);
  } else {
    end_local_settings();
  }
  const Status committed = open != nullptr && !is_undone ? open->commit(own) : Status();
  if (!committed.ok()) settings_->take_back(0);
  if (!is_undone && committed.ok()) prefers_snapshot_ = false;
  end_results(!is_undone && committed.ok());
  leave_block();
  SCYPER_RETURN_IF_ERROR(committed);
  if (command.is_chained) {
    enter_block();
    settings_->begin_transaction(*ended);
  }
  return make_answer(is_undone ? "ROLLBACK" : command.tag);
}

// What SET LOCAL has set goes. A value that cannot be set any more, such as a role that was dropped, becomes that of a
// new session: the COMMIT goes on.
void BlockSession::end_local_settings() {
  for (const auto& [name, before] : local_settings_) {
    if (!settings_->set(name, {before}).ok()) static_cast<void>(settings_->reset(name));
  }
}

// All of its statements have one now().
void BlockSession::enter_block() {
  block_ = Block::kOpen;
  block_time_us_ = ActivityList::now_us();
  query::set_thread_value_time(block_time_us_);
  settings_->begin_block();
}

void BlockSession::leave_block() {
  block_time_us_ = 0;
  query::set_thread_value_time(0);
  block_ = Block::kNone;
  is_implicit_ = false;
  open_.reset();
  watcher_.reset();
  has_only_read_ = true;
  has_queried_ = false;
  if (std::exchange(may_hold_locks_, false)) release_advisory_locks(0);
  savepoints_.clear();
  local_settings_.clear();
  if (settings_.has_value()) settings_->end_block();  // a session that has not begun has none
  // the session may have been idle for too long and be gone
  if (pinned_ != 0)
    static_cast<void>(node_->engine->queries()->close_session(std::exchange(pinned_, 0), identity_.owner));
}

StatusOr<std::unique_ptr<Answer>> BlockSession::change_savepoint(const SessionCommand& command) {
  if (!is_in_explicit_block())
    return no_block(command.kind == CommandKind::kSavepoint
                        ? "SAVEPOINT"
                        : command.tag + (command.kind == CommandKind::kRollbackTo ? " TO SAVEPOINT" : " SAVEPOINT"));
  if (command.kind == CommandKind::kSavepoint) {
    if (open_ != nullptr) SCYPER_RETURN_IF_ERROR(open_->set_savepoint());
    query::AdvisoryLocks* locks = may_hold_locks_ ? node_->engine->advisory_locks() : nullptr;
    const size_t held = locks == nullptr ? 0 : locks->mark(settings_->temporary_schema());
    savepoints_.push_back({command.name, settings_->mark(), local_settings_, held});
    return make_answer(command.tag);
  }
  auto found = std::find_if(savepoints_.rbegin(), savepoints_.rend(),
                            [&](const Savepoint& savepoint) { return savepoint.name == command.name; });
  if (found == savepoints_.rend()) return sql_error("3B001", "savepoint \"" + command.name + "\" does not exist");
  // ROLLBACK TO keeps the savepoint itself
  const auto number = static_cast<size_t>(std::prev(found.base()) - savepoints_.begin());
  const bool is_undone = command.kind == CommandKind::kRollbackTo;
  if (open_ != nullptr) SCYPER_RETURN_IF_ERROR(is_undone ? open_->roll_back_to(number) : open_->release(number));
  leave_savepoint(number, is_undone);
  if (is_undone) {
    settings_->take_back(found->settings);
    local_settings_ = found->local_settings;
    if (may_hold_locks_) release_advisory_locks(found->advisory_locks);
  }
  savepoints_.erase(command.kind == CommandKind::kRelease ? std::prev(found.base()) : found.base(), savepoints_.end());
  if (is_undone) block_ = Block::kOpen;
  return make_answer(command.tag);
}

Status BlockSession::set_modes(const SessionCommand& command) {
  const bool is_session = command.name == "session characteristics";
  if (command.name == "transaction snapshot") return sql_error("0A000", "SET TRANSACTION SNAPSHOT is not supported");
  if (!is_session && block_ == Block::kNone) {
    warn("25P01", "SET TRANSACTION can only be used in transaction blocks");
    return {};
  }
  const std::string prefix = is_session ? "default_transaction_" : "transaction_";
  const auto set = [&](const char* mode, const std::string& value) {
    if (!is_session) SCYPER_RETURN_IF_ERROR(check_mode(prefix + mode, value));
    return settings_->set(prefix + mode, {value});
  };
  if (!command.isolation.empty()) SCYPER_RETURN_IF_ERROR(set("isolation", command.isolation));
  if (command.is_deferrable.has_value())
    SCYPER_RETURN_IF_ERROR(set("deferrable", *command.is_deferrable ? "on" : "off"));
  if (command.is_read_only.has_value()) SCYPER_RETURN_IF_ERROR(set("read_only", *command.is_read_only ? "on" : "off"));
  return {};
}

// A mode of the transaction that has begun, with PostgreSQL's texts.
Status BlockSession::check_mode(std::string_view name, const std::string& value) const {
  const bool is_isolation = name == "transaction_isolation", is_deferrable = name == "transaction_deferrable";
  if (block_ == Block::kNone || (!is_isolation && !is_deferrable && name != "transaction_read_only")) return {};
  SCYPER_ASSIGN_OR_RETURN(const std::string now, settings_->show(name));
  const query::Setting* setting = query::find_setting(name);
  const auto wanted = query::read_setting(*setting, value);
  if (!wanted.ok()) return {};  // who sets it says why
  const bool is_inner = !savepoints_.empty();
  if (is_isolation && *wanted != now) {
    if (has_queried_) return sql_error("25001", "SET TRANSACTION ISOLATION LEVEL must be called before any query");
    if (is_inner) return sql_error("25001", "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction");
  }
  if (is_deferrable && is_inner)
    return sql_error("25001", "SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction");
  if (is_deferrable && has_queried_)
    return sql_error("25001", "SET TRANSACTION [NOT] DEFERRABLE must be called before any query");
  if (name != "transaction_read_only" || *wanted == "on" || now == "off") return {};
  if (is_inner) return sql_error("25001", "cannot set transaction read-write mode inside a read-only transaction");
  if (has_queried_) return sql_error("25001", "transaction read-write mode must be set before any query");
  return {};
}

// The statement makes the block see a state of the database.
void BlockSession::note_query(const SessionCommand& command) {
  if (block_ == Block::kNone) return;
  switch (command.kind) {
    case CommandKind::kOther:
      has_queried_ |= command.name != "constraints" && command.name != "LOCK TABLE";
      break;
    case CommandKind::kQuery:
    case CommandKind::kCopyIn:
    case CommandKind::kCopyOut:
    case CommandKind::kExecute:
    case CommandKind::kDeclare:
      has_queried_ = true;
      break;
    default:
      break;
  }
}

std::string BlockSession::receipt_text() const {
  const std::optional<query::Receipt>& receipt = receipt_;
  if (!receipt.has_value()) return "";
  char text[256];
  std::snprintf(text, sizeof text, "lsn %llu, snapshot %llu, term %llu, age %.3f ms, node %.64s",
                static_cast<unsigned long long>(receipt->lsn), static_cast<unsigned long long>(receipt->snapshot),
                static_cast<unsigned long long>(receipt->term), receipt->age_ms, receipt->node.c_str());
  return text;
}

StatusOr<std::unique_ptr<Answer>> BlockSession::show(const SessionCommand& command) {
  if (command.name == "scyper.receipt") return make_answer(command.tag, command.name, receipt_text());
  if (command.name == "scyper.lsn") {
    const std::optional<query::Receipt>& receipt = receipt_;
    return make_answer(command.tag, command.name, std::to_string(receipt.has_value() ? receipt->lsn : 0));
  }
  if (command.name != "all") {
    SCYPER_ASSIGN_OR_RETURN(const std::string value, settings_->show(command.name));
    return make_answer(command.tag, SessionSettings::name_of(command.name), value);
  }
  query::ResultSet result;
  result.command_tag = command.tag;
  const SqlType text = make_type(TypeId::kText);
  result.columns = {{"name", text}, {"setting", text}, {"description", text}};
  for (const auto& [name, value] : settings_->all()) {
    result.append(text, string_datum(name.data(), name.size()));
    result.append(text, string_datum(value.data(), value.size()));
    result.append(text, string_datum("", 0));
  }
  return make_answer(std::move(result));
}

// --- the session itself ---

void BlockSession::cancel() {
  absl::MutexLock lock(&mutex_);
  if (!is_running_) return;
  is_cancelled_ = true;
  if (answer_ != nullptr) answer_->cancel();
}

void BlockSession::hang_up() {
  is_gone_ = true;
  cancel();
}

void BlockSession::fail_block() {
  if (block_ != Block::kOpen) return;
  block_ = Block::kFailed;
  if (!savepoints_.empty()) return;
  open_.reset();  // others need not wait for its ROLLBACK
  if (may_hold_locks_) release_advisory_locks(0);
}

void BlockSession::show_idle() {
  const char* state = block_ == Block::kNone   ? "idle"
                      : block_ == Block::kOpen ? "idle in transaction"
                                               : "idle in transaction (aborted)";
  activity_->end(state, block_ != Block::kNone);
}

void BlockSession::drop_temporary_tables() {
  primary::Engine* engine = node_->engine;
  if (settings_.has_value() && engine->has_temporary_tables(settings_->temporary_schema()))
    engine->drop_temporary_tables(settings_->temporary_schema());
}

void BlockSession::leave_session() {
  leave_block();
  drop_temporary_tables();
  if (settings_.has_value()) node_->engine->leave_session(settings_->temporary_schema());
}

// Several statements in one message are one transaction, until one of them says otherwise: BEGIN makes it a block that
// outlives the message, COMMIT and ROLLBACK end it, and the next statement begins another.
// writes: it will, so that what it reads before is read in the same transaction.
Status BlockSession::begin_implicit_block(bool writes) {
  enter_block();
  is_implicit_ = true;
  return writes ? open_block() : Status();
}

// --- what only some protocols have ---

Status BlockSession::enter_pipeline(std::string_view) { return {}; }

StatusOr<std::unique_ptr<Answer>> BlockSession::run_copy_in(const std::string&) {
  return with_hint(sql_error("0A000", "COPY FROM STDIN is no step `statement` of transactions by gRPC"),
                   "Send it by steps `copy`: the statement first, then its text.");
}

}  // namespace scyper::server
