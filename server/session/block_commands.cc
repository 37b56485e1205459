// Statements about the session itself: transaction blocks and settings.
#include <algorithm>
#include <cstdio>
#include <utility>

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
  if (kind == CommandKind::kCopyIn && settings_->is_read_only()) {
    return sql_error("25006", "cannot execute COPY FROM in a read-only transaction");
  }
  const bool is_lock = command.name == "LOCK TABLE" && !command.body.empty();
  return kind == CommandKind::kOther && !is_lock && settings_->is_read_only() ? read_only_error() : Status();
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
        status = set_local(command.name, command.values);
        break;
      }
      status = settings_->set(command.name, command.values);
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

// Until the end of the block.
Status BlockSession::set_local(std::string_view name, const std::vector<std::string>& values) {
  SCYPER_ASSIGN_OR_RETURN(std::string before, settings_->show(name));
  SCYPER_RETURN_IF_ERROR(settings_->set(name, values));
  local_settings_.emplace(SessionSettings::name_of(name), std::move(before));
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
  const bool is_undone = block_ == Block::kFailed || command.kind == CommandKind::kRollback;
  if (is_undone) {
    settings_->take_back(0);
  } else {
    for (const auto& [name, before] : local_settings_) SCYPER_RETURN_IF_ERROR(settings_->set(name, {before}));
  }
  const Status committed = open != nullptr && !is_undone ? open->commit() : Status();
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
    savepoints_.push_back({command.name, settings_->mark(), local_settings_});
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
  if (!command.isolation.empty()) {
    SCYPER_RETURN_IF_ERROR(settings_->set(prefix + "isolation", {command.isolation}));
  }
  if (!command.is_read_only.has_value()) return {};
  return settings_->set(prefix + "read_only", {*command.is_read_only ? "on" : "off"});
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
  if (savepoints_.empty()) open_.reset();  // others need not wait for its ROLLBACK
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
  if (settings_.has_value()) node_->engine->release_locks(settings_->temporary_schema());
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

StatusOr<std::unique_ptr<Answer>> BlockSession::run_own_command(const SessionCommand& command) {
  const std::string name = command.tag.empty() ? "this command" : command.tag;
  return with_hint(sql_error("0A000", name + " is not supported in transactions by gRPC"),
                   "Send the statement itself, with its arguments.");
}

StatusOr<std::unique_ptr<Answer>> BlockSession::create_by_execute(const SessionCommand& command) {
  return sql_error("26000", "prepared statement \"" + command.name + "\" does not exist");
}

StatusOr<std::unique_ptr<Answer>> BlockSession::run_copy_in(const std::string&) {
  return with_hint(sql_error("0A000", "COPY FROM STDIN is not supported in transactions by gRPC"),
                   "Queries.CopyIn copies in a transaction of its own; INSERT takes rows in this one.");
}

std::shared_ptr<const query::SettingValues> BlockSession::settings_for(std::string_view) { return settings_->given(); }

}  // namespace scyper::server
