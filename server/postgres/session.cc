#include "postgres/session.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/internal_error.h"
#include "query/error_status.h"
#include "query/refused_in_blocks.h"
#include "server/packed.h"
#include "session/running.h"

namespace scyper::server::postgres {

namespace {

// Whether one of the commands from `first` on changes something, not only the last one, before their transaction ends.
bool writes_before_last(const std::vector<query::SessionCommand>& commands, size_t first) {
  using Kind = query::CommandKind;
  for (size_t i = first; i + 1 < commands.size(); ++i) {
    if (commands[i].kind == Kind::kOther || commands[i].kind == Kind::kCopyIn) return true;
    if (commands[i].kind == Kind::kCommit || commands[i].kind == Kind::kRollback) return false;
  }
  return false;
}

int32_t random_key() {
  const std::string bytes = random_bytes(sizeof(int32_t));
  int32_t key = 0;
  std::memcpy(&key, bytes.data(), sizeof key);
  return key;
}

}  // namespace

Session::Session(const SessionContext* context, int descriptor, Start start)
    : CursorSession(context->node, {.pid = start.process,
                                    .owner = "postgres " + std::to_string(start.process),
                                    .address = start.address,
                                    .protocol = "postgres"}),
      context_(context),
      start_(start),
      key_(random_key()),
      stream_(descriptor) {
  statements_run_ = context->statements;
  deadline_ns_ = monotonic_ns() + int64_t{context->node->options.postgres_authentication_timeout_ms} * 1'000'000;
}

Session::~Session() {
  activity_.reset();
  leave_block();
  if (counted_role_ != 0) context_->sessions.remove(counted_role_);
  if (is_admitted_) context_->slots.give();
}

void Session::end() {
  is_ending_ = true;
  stream_.transport().end_reading();
}

void Session::cut_off() {
  hang_up();
  stream_.transport().close_down();
}

void Session::run() {
  if (!start()) return;
  deadline_ns_ = 0;
  serve();
  portals_.clear();
  leave_session();
}

void Session::serve() {
  char type = 0;
  std::string_view payload;
  while (read_message(&type, &payload) && handle(type, payload)) continue;
}

bool Session::read_message(char* type, std::string_view* payload) {
  if (!stream_.has_message()) before_waiting();
  const MessageStream::Got got = stream_.read(context_->node->options.postgres_message_bytes_max, type, payload);
  const bool was_late = deadline_ns_.exchange(0) != 0 && is_ending_ && !context_->node->stopping;
  if (got == MessageStream::Got::kMessage) return true;
  if (got == MessageStream::Got::kMalformed) {
    end_with(with_hint(sql_error("08P01", "invalid message length"),
                       "A message may have postgres_message_bytes_max bytes."));
  } else if (was_late) {
    end_with(sql_error("25P03", "terminating connection due to idle-in-transaction timeout"));
  } else if (is_ending_) {
    end_with(sql_error("57P01", "terminating connection due to administrator command"));
  }
  is_over_ = true;
  stream_.flush();
  return false;
}

void Session::end_with(const Status& status) {
  append_error("FATAL", status, &writer());
  is_over_ = true;
}

void Session::before_waiting() {
  const int64_t idle_ns = thinking_ns(hold_results());
  if (idle_ns != 0) deadline_ns_ = monotonic_ns() + idle_ns;
}

bool Session::handle(char type, std::string_view payload) {
  MessageReader reader(payload);
  switch (type) {
    case 'X':
      return false;
    case 'S':
      sync();
      return stream_.flush();
    case 'H':
      return stream_.flush();
    case 'd':
    case 'c':
    case 'f':
      return true;  // of a COPY that has failed
    case 'Q': {
      const std::string sql(reader.read_string());  // a COPY reads more messages
      if (!reader.is_at_end()) break;
      if (skips_) return true;
      simple_query(sql);
      if (!is_over_) send_ready();
      return stream_.flush() && !is_over_;
    }
    case 'F':
      if (!skips_) {
        fail(sql_error("0A000", "function calls by message are not supported"));
        send_ready();
      }
      return stream_.flush();
    case 'P':
    case 'B':
    case 'D':
    case 'E':
    case 'C':
      if (skips_) return true;
      return handle_extended(type, &reader);
    default:
      append_error(
          "FATAL",
          sql_error("08P01", "invalid frontend message type " + std::to_string(static_cast<unsigned char>(type))),
          &writer());
      stream_.flush();
      return false;
  }
  append_error("FATAL", sql_error("08P01", "invalid message format"), &writer());
  stream_.flush();
  return false;
}

bool Session::handle_extended(char type, MessageReader* reader) {
  follow_encoding();
  const Status status = contained(Phase::kAnswering, "", [&] {
    switch (type) {
      case 'P':
        return parse(reader);
      case 'B':
        return bind(reader);
      case 'D':
        return describe(reader);
      case 'E':
        return execute(reader);
      default:
        return close(reader);
    }
  });
  if (!status.ok()) {
    fail(status);
    skips_ = true;
  }
  return is_over_ ? (stream_.flush(), false) : stream_.flush_if_large();
}

void Session::fail(const Status& status, int offset) {
  if (is_over_) return;
  for (const std::string& notice : query::notices_of(status)) send_engine_notice(notice);
  // what has been cancelled because the session is to end
  if (is_ending_ && sqlstate_of(status) == "57014")
    return end_with(sql_error("57P01", "terminating connection due to administrator command"));
  append_error("ERROR", status, &writer(), offset);
  fail_block();
}

void Session::send_engine_notice(std::string_view notice) {
  const auto level = settings_.has_value() ? settings_->show("client_min_messages") : StatusOr<std::string>("notice");
  const std::string_view severity = notice.substr(0, notice.find(':'));
  if (!level.ok() || query::shows_message(*level, severity)) append_engine_notice(notice, &writer());
}

void Session::follow_encoding() {
  texts_.use(settings_->client_encoding());
  writer().set_converter(texts_.to_client());
}

void Session::send_ready() {
  follow_encoding();
  for (const auto& [name, value] : settings_->take_reports()) {
    writer().begin('S');
    writer().put_string(name);
    writer().put_text(value);
    writer().end();
    if (name == "application_name") activity_->set_application(value);
  }
  show_idle();
  writer().begin('Z');
  writer().put_byte(block_ == Block::kNone ? 'I' : block_ == Block::kOpen ? 'T' : 'E');
  writer().end();
}

void Session::warn(const char* sqlstate, const std::string& message) {
  append_notice("WARNING", sql_error(sqlstate, message), &writer());
}

// All Executes before one Sync are one transaction. It begins with the first that writes: what only reads before it
// has nothing to undo. One that Sync follows is a transaction of its own, as are those that no block may have. To wait
// for what follows holds nobody up: a client that wants its answer before sends Flush.
Status Session::enter_pipeline(std::string_view sql) {
  if (!is_pipelined_ || block_ != Block::kNone || !query::command_refused_in_block(sql).empty()) return {};
  if (stream_.next_type() == 'S') return {};
  return begin_implicit_block(/*writes=*/true);
}

// --- simple query ---

void Session::simple_query(std::string_view sql) {
  portals_.erase("");
  statements_.erase("");
  int offset = 0;
  const Status status = contained(Phase::kAnswering, sql, [&] { return run_message(sql, &offset); });
  if (!status.ok()) fail(status, offset);
  if (is_implicit_) end_message();
}

// offset: of the statement that failed, in characters.
Status Session::run_message(std::string_view sql, int* offset) {
  SCYPER_ASSIGN_OR_RETURN(const std::string text, texts_.received(sql));
  SCYPER_ASSIGN_OR_RETURN(const std::string kept, query::without_passwords(text, scram_verifier_of));
  SCYPER_ASSIGN_OR_RETURN(auto commands, query::read_commands(kept));
  if (commands.empty()) {
    writer().begin('I');
    writer().end();
  }
  size_t left = commands.size();
  source_ = kept;
  for (query::SessionCommand& command : commands) {
    is_last_ = --left == 0;
    if (commands.size() > 1 && block_ == Block::kNone)
      SCYPER_RETURN_IF_ERROR(begin_implicit_block(writes_before_last(commands, commands.size() - left - 1)));
    *offset = 0;
    for (char c : std::string_view(kept).substr(0, command.offset)) *offset += (c & 0xC0) != 0x80 ? 1 : 0;
    SCYPER_RETURN_IF_ERROR(run_command(std::move(command)));
    follow_encoding();
  }
  return {};
}

void Session::end_message() {
  query::SessionCommand commit;
  commit.kind = query::CommandKind::kCommit;
  const auto ended = close_block(commit);
  if (!ended.ok()) fail(ended.status());
  settings_->begin_transaction();  // the next one
}

Status Session::run_command(query::SessionCommand command) {
  Statement statement;
  statement.command = std::move(command);
  Portal portal;
  const Running running(this);
  SCYPER_ASSIGN_OR_RETURN(portal.at_row, at_current_row(statement));
  SCYPER_ASSIGN_OR_RETURN(portal.answer, run_statement(portal.at_row != nullptr ? *portal.at_row : statement, {}));
  running.watch(portal.answer.get());
  portal.rows.columns = portal.answer->columns();
  if (statement.command.kind == query::CommandKind::kCopyOut) return send_copy(statement.command.text, &portal);
  portal.formats.assign(portal.rows.columns.size(), Format::kText);
  if (!portal.rows.columns.empty()) append_row_description(portal.rows.columns, portal.formats, &writer());
  return send_rows(&portal, 0);
}

}  // namespace scyper::server::postgres
