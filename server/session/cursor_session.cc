// Statements with a name, and results that are read bit by bit.
#include "session/cursor_session.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "query/type_numbers.h"
#include "server/packed.h"
#include "session/running.h"

namespace scyper::server {

namespace {

constexpr int64_t kUnknownOid = 705;
// Longer than this an unfinished result may not hold its place among the queries while its client thinks.
constexpr int64_t kHeldRowsIdleNs = 60'000'000'000;
constexpr size_t kHeldBytesMax = size_t{16} << 20;  // of all portals
constexpr size_t kKeptMessages = 4;  // of the largest size: what statements and portals of a session may take

// Every value of the one type is one of the other, or says itself that it is not when it is converted.
bool converts(const SqlType& given, const SqlType& wanted) {
  if (given.id == wanted.id || is_string(given.id) || given.id == TypeId::kUnknown) return true;
  if (is_integer(given.id)) return is_number(wanted.id);
  if (is_moment(given.id)) return is_moment(wanted.id);
  if (is_number(given.id)) return is_number(wanted.id) && !is_integer(wanted.id);
  return false;
}

bool is_session_command(query::CommandKind kind) {
  return kind != query::CommandKind::kQuery && kind != query::CommandKind::kOther;
}

// A statement fails so that could do with the types of its parameters.
bool is_about_types(const Status& status) {
  constexpr std::string_view kStates[] = {"42P18", "42P08", "42725", "42883", "42804"};
  return std::ranges::find(kStates, sqlstate_of(status)) != std::end(kStates);
}

}  // namespace

// Before `more` bytes of statements or arguments are kept.
Status CursorSession::check_kept_bytes(size_t more) const {
  size_t bytes = more;
  for (const auto& [name, statement] : statements_) bytes += statement->command.text.size() + statement->shown.size();
  for (const auto& [name, portal] : portals_) bytes += portal->bytes + portal->text.size();
  if (bytes <= kKeptMessages * node_->options.postgres_message_bytes_max) return {};
  return with_hint(sql_error("53400", "prepared statements and portals of this session are too large"),
                   "DEALLOCATE and close some, or raise postgres_message_bytes_max.");
}

StatusOr<CursorSession::StatementPointer> CursorSession::prepare(std::string_view sql, std::vector<int32_t> oids) {
  SCYPER_RETURN_IF_ERROR(check_text(sql));
  SCYPER_ASSIGN_OR_RETURN(auto commands, query::read_commands(sql));
  if (commands.size() > 1) {
    return sql_error("42601", "cannot insert multiple commands into a prepared statement");
  }
  auto statement = std::make_shared<Statement>();
  statement->oids = std::move(oids);
  if (commands.empty()) {
    statement->command.kind = query::CommandKind::kDiscard;  // does nothing, with an empty tag
    return statement;
  }
  statement->command = std::move(commands[0]);
  statement->command.text = sql;  // positions count from its beginning
  statement->shown = sql;
  statement->prepared_us = now_us();
  SCYPER_RETURN_IF_ERROR(check_block(statement->command));
  if (!is_session_command(statement->command.kind) && !statement->command.execute.has_value()) {
    const Running running(this);
    SCYPER_RETURN_IF_ERROR(describe_parameters(statement.get()));
  } else {
    SCYPER_ASSIGN_OR_RETURN(statement->columns, columns_of(statement->command));
  }
  return statement;
}

// The statement says what types its parameters have. What the client says counts where the statement does not tell, or
// tells something that values of the client's type need not be. It also counts where it makes another result: of
// abs($1) an integer, say.
Status CursorSession::describe_parameters(Statement* statement) {
  const std::string text = statement->command.text;
  const Status status = describe_anywhere(text, statement);
  std::vector<std::string> all(statement->oids.size()), needed(statement->oids.size());
  bool has_any = false, has_needed = false;
  for (size_t i = 0; i < statement->oids.size(); ++i) {
    const int32_t oid = statement->oids[i];
    const auto type = oid == 0 || oid == kUnknownOid ? std::nullopt : query::type_of_oid(oid);
    const bool is_known = status.ok() && i < statement->parameters.size();
    if (!type.has_value() || (is_known && *type == statement->parameters[i])) continue;
    all[i] = type_name(*type);
    has_any = true;
    if (status.ok() && (!is_known || converts(*type, statement->parameters[i]))) continue;
    needed[i] = all[i];
    has_needed = true;
  }
  if (!has_any || (!status.ok() && !is_about_types(status))) return status;
  if (has_needed) return describe_typed(text, needed, statement);
  if (statement->columns.empty()) return status;
  Statement typed = *statement;
  const bool is_other = describe_typed(text, all, &typed).ok() &&
                        !std::ranges::equal(typed.columns, statement->columns, {}, &query::ResultColumn::type,
                                            &query::ResultColumn::type);
  if (is_other) *statement = std::move(typed);
  return status;
}

// The statement whose parameters have these types; empty: any.
Status CursorSession::describe_typed(const std::string& text, const std::vector<std::string>& types,
                                     Statement* statement) {
  SCYPER_ASSIGN_OR_RETURN(statement->command.text, query::with_parameter_types(text, types));
  return describe_anywhere(statement->command.text, statement);
}

// WHERE CURRENT OF means a row when the statement runs; any condition in its place has the same types.
Status CursorSession::describe_anywhere(const std::string& text, Statement* statement) {
  const auto catalog = query::mentions_current(text) ? node_->engine->catalog() : nullptr;
  const auto current = catalog == nullptr ? std::nullopt : query::find_current_of(*catalog, with_path(text));
  if (!current.has_value()) return describe_parameters_of(text, statement);
  return describe_parameters_of(std::string(text).replace(current->begin, current->end - current->begin, "FALSE"),
                                statement);
}

Status CursorSession::take_rows(Portal* portal) {
  SCYPER_RETURN_IF_ERROR(portal->failure);
  const StatusOr<bool> has_rows = portal->answer->next(&portal->rows);
  if (!has_rows.ok()) return portal->failure = has_rows.status();
  portal->is_drained = !*has_rows;
  if (portal->is_drained && portal->answer->receipt().has_value()) receipt_ = portal->answer->receipt();
  return {};
}

bool CursorSession::hold_results() {
  size_t held_bytes = 0;
  for (const auto& [name, portal] : portals_) held_bytes += portal->rows.bytes();
  bool holds_rows = false;
  for (auto& [name, portal] : portals_) {
    if (portal->answer == nullptr || portal->is_drained) continue;
    drain(portal.get(), kHeldBytesMax, &held_bytes);
    // its error comes when its rows are asked for
    if (!portal->failure.ok()) portal->answer.reset();
    holds_rows |= portal->answer != nullptr && !portal->is_drained;
  }
  return holds_rows;
}

int64_t CursorSession::thinking_ns(bool holds_rows) const {
  const int64_t idle_ns = block_ == Block::kNone ? 0 : settings_->idle_timeout_us() * kNsPerUs;
  if (!holds_rows) return idle_ns;
  return idle_ns == 0 ? kHeldRowsIdleNs : std::min(idle_ns, kHeldRowsIdleNs);
}

// A client that goes away ends it.
void CursorSession::drain(Portal* portal, size_t held_bytes_max, size_t* held_bytes) {
  const Running running(this);
  running.watch(portal->answer.get());
  while (!portal->is_drained && *held_bytes < held_bytes_max) {
    const size_t before = portal->rows.bytes();
    if (!take_rows(portal).ok()) return;
    *held_bytes += portal->rows.bytes() - before;
  }
}

void CursorSession::leave_savepoint(size_t number, bool is_undone) {
  std::erase_if(portals_, [&](const auto& entry) {
    Portal& portal = *entry.second;
    if (portal.is_kept || portal.savepoints <= number) return false;
    portal.savepoints = number;  // as if the outer block had made it
    return is_undone;
  });
}

void CursorSession::drop_portals(bool is_committed) {
  std::erase_if(portals_, [is_committed](const auto& entry) {
    Portal& portal = *entry.second;
    portal.is_kept |= portal.is_held && is_committed;
    return !portal.is_kept;
  });
}

}  // namespace scyper::server
