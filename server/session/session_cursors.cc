// PREPARE, EXECUTE, DECLARE, FETCH, MOVE, CLOSE and DISCARD.
#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/object_name.h"
#include "query/declared_parameters.h"
#include "query/type_numbers.h"
#include "server/packed.h"
#include "session/cursor_session.h"
#include "session/running.h"

namespace scyper::server {

using query::CommandKind;
using query::SessionCommand;

namespace {

// The type of a parameter as CAST() takes it: bit alone would be of one bit, and labels are read where they are used.
std::string name_in_cast(const SqlType& type) {
  if (type.id == TypeId::kEnum) return "text";
  return type.id == TypeId::kBit && type.length < 0 ? "\"bit\"" : type_name(type);
}

Status unknown_cursor(const std::string& name) { return sql_error("34000", "cursor \"" + name + "\" does not exist"); }

Status forward_only() {
  return with_hint(sql_error("55000", "cursor can only scan forward"),
                   "Declare it with SCROLL option to enable backward scan.");
}

Status check_count(const SessionCommand& execute, size_t count) {
  if (execute.values.size() == count) return {};
  return with_detail(
      sql_error("42601", "wrong number of parameters for prepared statement \"" + execute.name + "\""),
      "Expected " + std::to_string(count) + " parameters but got " + std::to_string(execute.values.size()) + ".");
}

// The locking clause of a query that has one.
std::string lock_of(std::string_view query) {
  std::string text;
  for (const char c : query) text += absl::ascii_toupper(static_cast<unsigned char>(c));
  for (const char* clause : {"FOR NO KEY UPDATE", "FOR KEY SHARE", "FOR SHARE"})
    if (text.find(clause) != std::string::npos) return clause;
  return "FOR UPDATE";
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out.append(c == '\'' ? 2 : 1, c);
  return out + "'";
}

// An answer that reads what else has to live as long as it.
template <class Owned>
class OwningAnswer final : public Answer {
 public:
  OwningAnswer(std::unique_ptr<Answer> inner, Owned owned) : owned_(std::move(owned)), inner_(std::move(inner)) {
    columns_ = inner_->columns();
    take_end();
  }
  StatusOr<bool> next(query::ResultSet* rows) override {
    auto has_rows = inner_->next(rows);
    take_end();
    return has_rows;
  }
  void cancel() override { inner_->cancel(); }

 private:
  void take_end() {
    tag_ = inner_->tag();
    notices_ = inner_->notices();
    receipt_ = inner_->receipt();
  }

  Owned owned_;
  std::unique_ptr<Answer> inner_;
};

// Which rows a FETCH gives, and where it leaves the cursor.
struct Range {
  int64_t first = 1, last = 0;  // none
  int64_t position = 0;
  bool is_backward = false;
};

Range forward(int64_t position, int64_t count, int64_t size) {
  Range range;
  range.first = position + 1;
  range.last = count > size - position ? size : position + count;
  range.position = count > size - position ? size + 1 : position + count;
  return range;
}

Range backward(int64_t position, int64_t count) {
  Range range;
  range.last = position - 1;
  range.first = count >= position ? 1 : position - count;
  range.position = count >= position ? 0 : position - count;
  range.is_backward = true;
  return range;
}

// The one row at `row`, or none where there is none.
Range at(int64_t row, int64_t size) {
  Range range;
  range.position = std::clamp<int64_t>(row, 0, size + 1);
  if (row >= 1 && row <= size) range.first = range.last = row;
  return range;
}

// size: of the result, INT64_MAX - 1 where it is not known yet.
Range range_of(query::FetchCommand fetch, int64_t position, int64_t size) {
  using Direction = query::FetchCommand::Direction;
  const bool is_moving = fetch.direction == Direction::kForward || fetch.direction == Direction::kBackward;
  if (is_moving && fetch.count < 0) {
    fetch.direction = fetch.direction == Direction::kForward ? Direction::kBackward : Direction::kForward;
    fetch.count = fetch.count == INT64_MIN ? INT64_MAX : -fetch.count;
  }
  if (is_moving && fetch.count == 0) return at(position, size);
  const auto sum = [](int64_t a, int64_t b) { return b > 0 && a > INT64_MAX - 1 - b ? INT64_MAX - 1 : a + b; };
  switch (fetch.direction) {
    case Direction::kForward:
      return forward(std::min(position, size), fetch.count, size);
    case Direction::kBackward:
      return backward(position, fetch.count);
    case Direction::kAbsolute:
      return at(fetch.count >= 0 ? fetch.count : std::max<int64_t>(0, sum(size + 1, fetch.count)), size);
    case Direction::kRelative:
      return at(std::max<int64_t>(0, sum(position, fetch.count)), size);
  }
  return {};
}

}  // namespace

Status CursorSession::prepare_by_name(const SessionCommand& command) {
  if (statements_.contains(command.name)) {
    return sql_error("42P05", "prepared statement \"" + command.name + "\" already exists");
  }
  if (statements_.size() >= node_->options.postgres_statements_max) {
    return with_hint(sql_error("53400", "too many prepared statements in this session"),
                     "DEALLOCATE some, or raise postgres_statements_max.");
  }
  SCYPER_RETURN_IF_ERROR(check_kept_bytes(command.body.size()));
  const std::string text = query::with_declared_parameters(command.body, command.parameter_types);
  SCYPER_ASSIGN_OR_RETURN(const StatementPointer statement, prepare(text, {}));
  auto named = std::make_shared<Statement>(*statement);
  named->shown = source_;
  named->is_by_sql = true;
  statements_[command.name] = std::move(named);
  return {};
}

// The values of EXECUTE's expressions, as the statement's parameters are assigned them.
Status CursorSession::convert_arguments(const SessionCommand& command, const Statement& statement,
                                        query::ResultSet* values) {
  if (command.values.empty()) return {};
  Statement expressions;
  expressions.command.kind = CommandKind::kQuery;
  std::string& text = expressions.command.text;
  for (size_t i = 0; i < command.values.size(); ++i) {
    const SqlType& type = statement.parameters[i];
    text += (i == 0 ? "SELECT CAST(" : ", CAST(") + command.values[i] + " AS " + name_in_cast(type) + ")";
  }
  SCYPER_ASSIGN_OR_RETURN(auto answer, run_for_rows(expressions, {}));
  const Running running(this);
  running.watch(answer.get());
  values->columns = answer->columns();
  while (true) {
    SCYPER_ASSIGN_OR_RETURN(const bool has_rows, answer->next(values));
    if (!has_rows) return {};
  }
}

StatusOr<std::unique_ptr<Answer>> CursorSession::execute_by_name(const SessionCommand& command) {
  const auto found = statements_.find(command.name);
  if (found == statements_.end()) {
    return sql_error("26000", "prepared statement \"" + command.name + "\" does not exist");
  }
  SCYPER_RETURN_IF_ERROR(check_count(command, found->second->parameters.size()));
  SCYPER_ASSIGN_OR_RETURN(StatementPointer statement, at_current_row(*found->second));
  if (statement == nullptr) statement = found->second;
  struct Owned {
    StatementPointer statement;
    query::ResultSet given;
    query::ValueArena memory;
    std::vector<Datum> arguments;
  };
  auto owned = std::make_unique<Owned>();
  owned->statement = statement;
  SCYPER_RETURN_IF_ERROR(convert_arguments(command, *statement, &owned->given));
  owned->arguments = owned->given.values();
  for (size_t i = 0; i < owned->arguments.size(); ++i) {
    // types that clients see as texts
    const SqlType& given = owned->given.columns[i].type;
    if (given.id == statement->parameters[i].id || owned->arguments[i].null != 0 || !is_string(given.id)) continue;
    const Datum text = owned->arguments[i];
    SCYPER_RETURN_IF_ERROR(
        query::parse_value(statement->parameters[i], {text.data(), text.size()}, &owned->memory, &owned->arguments[i]));
  }
  const std::span<const Datum> arguments(owned->arguments);
  SCYPER_ASSIGN_OR_RETURN(auto answer, run_statement(*statement, arguments));
  const auto is_same = [](const query::ResultColumn& a, const query::ResultColumn& b) {
    return a.name == b.name && query::type_oid(a.type) == query::type_oid(b.type);
  };
  if (statement->command.kind == CommandKind::kQuery &&
      !std::ranges::equal(answer->columns(), statement->columns, is_same))
    return sql_error("0A000", "cached plan must not change result type");
  return std::unique_ptr<Answer>(
      std::make_unique<OwningAnswer<std::unique_ptr<Owned>>>(std::move(answer), std::move(owned)));
}

// CREATE TABLE ... AS EXECUTE: with the prepared statement in place of EXECUTE, and the values in place of parameters.
StatusOr<std::unique_ptr<Answer>> CursorSession::create_by_execute(const SessionCommand& command) {
  const auto found = statements_.find(command.name);
  if (found == statements_.end())
    return sql_error("26000", "prepared statement \"" + command.name + "\" does not exist");
  const StatementPointer prepared = found->second;
  if (prepared->command.kind != CommandKind::kQuery) return sql_error("42809", "prepared statement is not a SELECT");
  SCYPER_RETURN_IF_ERROR(check_count(command, prepared->parameters.size()));
  std::vector<std::string> values = command.values;
  for (size_t i = 0; i < values.size(); ++i) {
    const SqlType& type = prepared->parameters[i];
    values[i] = "(CAST((" + values[i] + ") AS " + name_in_cast(type) + "))";
  }
  SCYPER_ASSIGN_OR_RETURN(std::string query, query::with_parameter_values(prepared->command.text, values));
  query.resize(query.find_last_not_of(" \t\r\n;") + 1);
  const auto [begin, end] = *command.execute;
  Statement create;
  create.command.text = command.text.substr(0, begin) + query + "\n" + command.text.substr(end);
  SCYPER_ASSIGN_OR_RETURN(auto answer, run_transaction(create, {}));
  if (answer->tag() != "CREATE TABLE AS") return answer;
  return make_answer("SELECT 0");  // WITH NO DATA, as PostgreSQL says it here
}

Status CursorSession::declare(const SessionCommand& command) {
  if (block_ == Block::kNone && !command.is_held)
    return sql_error("25P01", "DECLARE CURSOR can only be used in transaction blocks");
  if (find_cursor(command.name) != nullptr) {
    return sql_error("42P03", "cursor \"" + command.name + "\" already exists");
  }
  if (portals_.size() >= node_->options.postgres_statements_max) {
    return sql_error("53400", "too many portals in this session");
  }
  SCYPER_RETURN_IF_ERROR(check_kept_bytes(command.body.size()));
  auto portal = std::make_shared<Portal>();
  portal->savepoints = savepoint_count();
  SCYPER_ASSIGN_OR_RETURN(StatementPointer statement, prepare_tracked(command, portal.get()));
  if (!statement->parameters.empty()) return sql_error("42P02", "there is no parameter $1");
  if (statement->command.locks_rows && (command.is_scrolling || command.is_held)) {
    const std::string kind = command.is_held ? "CURSOR WITH HOLD ... " : "SCROLL CURSOR ... ";
    return with_detail(
        sql_error("0A000", "DECLARE " + kind + lock_of(command.body) + " is not supported"),
        command.is_held ? "Holdable cursors must be READ ONLY." : "Scrollable cursors must be READ ONLY.");
  }
  portal->is_cursor = true;
  portal->locks_rows = statement->command.locks_rows;
  portal->is_scrolling = command.is_scrolling;
  portal->is_held = command.is_held;
  portal->is_kept = command.is_held && block_ == Block::kNone;
  portal->text = source_;
  portal->opened_us = now_us();
  SCYPER_ASSIGN_OR_RETURN(portal->answer, run_statement(*statement, {}));
  portal->rows.columns = portal->answer->columns();
  portal->formats.assign(statement->columns.size(), Format::kText);
  portal->statement = std::move(statement);
  if (portal->is_scrolling || portal->is_held) SCYPER_RETURN_IF_ERROR(read_cursor(portal.get()));
  portals_[command.name] = std::move(portal);
  return {};
}

// The cursor's query, with what WHERE CURRENT OF has to know where its rows are those of tables.
StatusOr<CursorSession::StatementPointer> CursorSession::prepare_tracked(const SessionCommand& command,
                                                                         Portal* portal) {
  const auto catalog = node_->engine->catalog();
  query::TrackedQuery tracked;
  if (catalog != nullptr) tracked = query::track_rows(*catalog, with_path(command.body));
  if (tracked.tables.empty()) return prepare(command.body, {});
  const auto more = prepare(tracked.sql, {});
  if (!more.ok() || (*more)->columns.size() < tracked.added) return prepare(command.body, {});
  auto statement = std::make_shared<Statement>(**more);
  statement->columns.resize(statement->columns.size() - tracked.added);
  portal->tracked = std::move(tracked.tables);
  return StatementPointer(std::move(statement));
}

// UPDATE and DELETE ... WHERE CURRENT OF, at the row that the cursor stands on now; nullptr: another statement.
StatusOr<CursorSession::StatementPointer> CursorSession::at_current_row(const Statement& statement) {
  const auto catalog = statement.command.kind == CommandKind::kOther ? node_->engine->catalog() : nullptr;
  if (catalog == nullptr || !query::mentions_current(statement.command.text)) return StatementPointer();
  const auto current = query::find_current_of(*catalog, with_path(statement.command.text));
  if (!current.has_value()) return StatementPointer();
  SCYPER_ASSIGN_OR_RETURN(const std::string row, current_row(*current));
  auto placed = std::make_shared<Statement>(statement);
  placed->command.text.replace(current->begin, current->end - current->begin, row);
  return StatementPointer(std::move(placed));
}

// A condition that the cursor's row alone fulfils.
StatusOr<std::string> CursorSession::current_row(const query::CurrentOf& current) {
  const std::shared_ptr<Portal> portal = find_cursor(current.cursor);
  if (portal == nullptr || !portal->is_cursor) return unknown_cursor(current.cursor);
  const std::string cursor = "cursor \"" + current.cursor + "\" ";
  if (portal->is_kept) return sql_error("24000", cursor + "is held from a previous transaction");
  if (portal->statement == nullptr)
    return sql_error("0A000", "WHERE CURRENT OF a cursor that a routine has opened is not supported");
  const auto table = std::ranges::find(portal->tracked, current.table, &query::TrackedTable::name);
  if (table == portal->tracked.end() || table->is_ambiguous) {
    const char* what = !portal->locks_rows              ? "is not a simply updatable scan of"
                       : table == portal->tracked.end() ? "does not have a FOR UPDATE/SHARE reference to"
                                                        : "has multiple FOR UPDATE/SHARE references to";
    return sql_error("24000", cursor + what + " table \"" + std::string(bare_name(current.table)) + "\"");
  }
  const query::ResultSet& rows = portal->rows;
  const size_t behind = portal->is_scrolling ? static_cast<size_t>(portal->position) : portal->next_row;
  if (behind == 0 || behind > rows.row_count()) return sql_error("24000", cursor + "is not positioned on a row");
  std::string condition;
  for (size_t i = 0; i < table->columns.size(); ++i) {
    const size_t column = portal->formats.size() + table->first + i;
    const Datum& value = rows.value(behind - 1, column);
    if (value.null != 0) return std::string("FALSE");  // the missing side of an outer join
    std::string text;
    query::append_value(&text, rows.columns[column].type, value);
    condition += (i == 0 ? "(" : " AND ") + current.alias + "." + table->columns[i] + " = ";
    condition += quoted(text);
  }
  return condition + ")";
}

std::vector<query::ResultColumn> CursorSession::shown_columns(const Portal& portal) {
  std::vector<query::ResultColumn> columns = portal.rows.columns;
  columns.resize(std::min(columns.size(), portal.formats.size()));
  return columns;
}

// All rows of a cursor with SCROLL or WITH HOLD. They lie in the session's memory.
Status CursorSession::read_cursor(Portal* portal) {
  const Running running(this);
  running.watch(portal->answer.get());
  size_t others = 0;
  for (const auto& [name, other] : portals_) {
    if (other->is_scrolling || other->is_held) others += other->rows.bytes();
  }
  while (!portal->is_drained) {
    SCYPER_RETURN_IF_ERROR(take_rows(portal));
    if (others + portal->rows.bytes() > node_->options.cursor_memory) {
      return with_hint(sql_error("53400", "the rows of cursors with SCROLL or WITH HOLD need more than cursor_memory"),
                       "Declare the cursor without SCROLL and WITH HOLD, CLOSE others, or raise cursor_memory.");
    }
  }
  return {};
}

StatusOr<std::unique_ptr<Answer>> CursorSession::fetch(const SessionCommand& command) {
  const std::shared_ptr<Portal> portal = find_cursor(command.name);
  if (portal == nullptr) return unknown_cursor(command.name);
  if (!portal->is_cursor) return sql_error("0A000", "FETCH of portals of the protocol is not supported");
  SCYPER_RETURN_IF_ERROR(portal->failure);
  const bool is_scrolling = portal->is_scrolling;
  const auto held = static_cast<int64_t>(portal->rows.row_count());
  const Range range = range_of(command.fetch, portal->position, is_scrolling ? held : INT64_MAX - 1);
  if (!is_scrolling && (range.is_backward || range.position <= portal->position)) return forward_only();
  query::ResultSet result;
  if (!command.fetch.is_move) result.columns = shown_columns(*portal);
  int64_t count = 0;
  const auto give = [&](size_t row) {
    ++count;
    for (size_t i = 0; i < result.columns.size(); ++i)
      result.append(result.columns[i].type, portal->rows.value(row, i));
  };
  if (is_scrolling) {
    for (int64_t i = range.first; i <= range.last; ++i) {
      give(static_cast<size_t>(range.is_backward ? range.first + range.last - i : i) - 1);
    }
    portal->position = range.position;
  } else {
    const Running running(this);
    running.watch(portal->answer.get());
    while (portal->position < range.position) {
      if (portal->next_row < portal->rows.row_count()) {
        ++portal->position;
        if (portal->position >= range.first && portal->position <= range.last) give(portal->next_row);
        ++portal->next_row;
        continue;
      }
      portal->rows.clear_rows();
      portal->next_row = 0;
      if (portal->is_drained) break;
      SCYPER_RETURN_IF_ERROR(take_rows(portal.get()));
    }
  }
  result.command_tag = command.tag + " " + std::to_string(count);
  return make_answer(std::move(result));
}

Status CursorSession::close_cursor(const std::string& name) {
  if (name.empty()) {
    take_open_cursors();
    std::erase_if(portals_, [](const auto& entry) { return entry.second->is_cursor; });
    return {};
  }
  if (find_cursor(name) == nullptr) return unknown_cursor(name);
  portals_.erase(name);
  return {};
}

// What a command of the session gives, before it runs.
StatusOr<std::vector<query::ResultColumn>> CursorSession::columns_of(const SessionCommand& command) {
  if (command.kind == CommandKind::kShow) {
    SCYPER_ASSIGN_OR_RETURN(auto answer, show(command));
    return answer->columns();
  }
  if (command.kind == CommandKind::kExecute) {
    const auto found = statements_.find(command.name);
    if (found != statements_.end()) return found->second->columns;
    return sql_error("26000", "prepared statement \"" + command.name + "\" does not exist");
  }
  if (command.kind == CommandKind::kFetch && !command.fetch.is_move) {
    const std::shared_ptr<Portal> portal = find_cursor(command.name);
    if (portal == nullptr) return unknown_cursor(command.name);
    return shown_columns(*portal);
  }
  return std::vector<query::ResultColumn>();
}

StatusOr<std::unique_ptr<Answer>> CursorSession::run_own_command(const SessionCommand& command) {
  Status status;
  switch (command.kind) {
    case CommandKind::kExecute:
      return execute_by_name(command);
    case CommandKind::kFetch:
      return fetch(command);
    case CommandKind::kDeallocate:
      status = deallocate(command.name);
      break;
    case CommandKind::kPrepare:
      status = prepare_by_name(command);
      break;
    case CommandKind::kDeclare:
      status = declare(command);
      break;
    case CommandKind::kClose:
      status = close_cursor(command.name);
      break;
    default:
      status = discard(command);
      break;
  }
  SCYPER_RETURN_IF_ERROR(status);
  return make_answer(command.tag);
}

Status CursorSession::deallocate(const std::string& name) {
  if (name.empty()) {
    statements_.clear();
    return {};
  }
  if (statements_.erase(name) == 0) return sql_error("26000", "prepared statement \"" + name + "\" does not exist");
  return {};
}

// DISCARD ALL forgets everything; its parts and the like name what there is nothing of here, but for PLANS.
Status CursorSession::discard(const SessionCommand& command) {
  if (command.tag == "DISCARD TEMP") {
    if (block_ != Block::kNone) return sql_error("0A000", "DISCARD TEMP in a transaction block is not supported");
    drop_temporary_tables();
  }
  if (command.tag != "DISCARD ALL") return {};
  if (block_ != Block::kNone) return sql_error("25001", "DISCARD ALL cannot run inside a transaction block");
  portals_.clear();
  statements_.clear();
  drop_temporary_tables();
  node_->engine->leave_session(settings_->temporary_schema());
  for (const char* role : {"session_authorization", "role"}) SCYPER_RETURN_IF_ERROR(settings_->reset(role));
  return settings_->reset("all");
}

}  // namespace scyper::server
