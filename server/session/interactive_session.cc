#include "session/interactive_session.h"

#include <utility>

#include "base/internal_error.h"
#include "postgres/scram.h"
#include "query/error_status.h"
#include "query/role.h"
#include "query/search_path.h"
#include "secondary_engine.h"
#include "server/messages.h"
#include "session/running.h"
#include "typed_values.h"

namespace scyper::server {

namespace {

BlockSession::Identity identity_of(const InteractiveSession::Client& client) {
  const int32_t pid = ActivityList::new_number();
  return {.pid = pid,
          .owner = "grpc transaction " + std::to_string(pid),
          .address = client.address,
          .protocol = "grpc",
          .counted_as = RequestProtocol::kExecute};
}

const char* name_of(v1::InteractRequest::Isolation isolation) {
  switch (isolation) {
    case v1::InteractRequest::READ_COMMITTED:
      return "read committed";
    case v1::InteractRequest::REPEATABLE_READ:
      return "repeatable read";
    case v1::InteractRequest::SERIALIZABLE:
      return "serializable";
    default:
      return "";
  }
}

Status no_transaction() {
  return with_hint(sql_error("25P01", "there is no transaction in progress"), "Send a step `begin` first.");
}

}  // namespace

InteractiveSession::InteractiveSession(NodeParts* node, const Client& client, StepAnswers::Send send,
                                       std::function<void()> on_terminate)
    : CursorSession(node, identity_of(client)), answers_(std::move(send)) {
  user_ = client.name.empty() ? query::kSuperuser : client.name;
  settings_.emplace(
      SessionSettings::Owner{user_, client.caller.roles, client.caller.ids, client.caller.is_superuser,
                             [node](const std::string& name, query::SessionRoles* roles, query::RoleIds* ids) {
                               const auto now = node->engine->catalog();
                               return query::set_role(name, now == nullptr ? query::Roles() : now->roles, roles, ids);
                             }},
      dynamic_cast<SecondaryEngine*>(node->engine) != nullptr, "pg_temp_" + std::to_string(identity_.pid));
  if (const auto catalog = node->engine->catalog(); catalog != nullptr)
    settings_->begin_with(catalog->database.of_session(
        query::session_role_id(query::with_roles(client.caller.roles, client.caller.ids, ""), catalog->roles)));
  settings_->begin_transaction();
  query::SessionActivity first;
  first.pid = identity_.pid;
  first.user = user_;
  first.role_id = client.caller.ids.session;
  first.application = "grpc";
  first.address = identity_.address;
  first.state = "idle";
  activity_ = std::make_unique<ActivityList::Session>(
      &node->activity, std::move(first), [this, on_terminate = std::move(on_terminate)](ActivityList::Signal signal) {
        if (signal == ActivityList::Signal::kTerminate) on_terminate();
        cancel();
      });
}

InteractiveSession::~InteractiveSession() {
  activity_.reset();
  portals_.clear();
  leave_session();
}

int64_t InteractiveSession::idle_ns() const { return thinking_ns(holds_rows_); }

v1::InteractResponse::State InteractiveSession::state() const {
  if (block_ == Block::kNone) return v1::InteractResponse::NONE;
  return block_ == Block::kOpen ? v1::InteractResponse::OPEN : v1::InteractResponse::FAILED;
}

void InteractiveSession::warn(const char*, const std::string& message) { warnings_.push_back("WARNING:  " + message); }

void InteractiveSession::run(const v1::InteractRequest& step) {
  warnings_.clear();
  v1::InteractResponse last;
  const Status status = contained(Phase::kAnswering, "", [&] { return run_step(step, &last); });
  arena_.clear();
  if (!status.ok()) {
    copy_.reset();
    fail_block();
    last = StepAnswers::error(status);
  }
  if (block_ == Block::kNone) drop_portals(/*is_committed=*/true);
  show_idle();
  if (!is_broken_) answers_.send_last(&last, state());
  holds_rows_ = hold_results();
}

Status InteractiveSession::run_step(const v1::InteractRequest& step, v1::InteractResponse* last) {
  if (!step.has_copy()) copy_.reset();
  switch (step.step_case()) {
    case v1::InteractRequest::kBegin:
      return begin(step.begin(), last);
    case v1::InteractRequest::kStatement:
      return execute(step.statement(), last);
    case v1::InteractRequest::kDescribe:
      return describe(step.describe().sql(), last);
    case v1::InteractRequest::kCopy:
      return copy(step.copy(), last);
    case v1::InteractRequest::kCommit:
      return end(query::CommandKind::kCommit, "COMMIT", last);
    case v1::InteractRequest::kRollback:
      return end(query::CommandKind::kRollback, "ROLLBACK", last);
    default:
      return sql_error("08P01", "the step is none that a client's transaction has");
  }
}

Status InteractiveSession::begin(const v1::InteractRequest::Begin& begin, v1::InteractResponse* last) {
  if (block_ != Block::kNone) return sql_error("25001", "there is already a transaction in progress");
  if (begin.passed_on()) return sql_error("08P01", "the stream has had a client's transaction");
  if (name_of(begin.isolation())[0] == 0 && begin.isolation() != v1::InteractRequest::DEFAULT)
    return sql_error("22023", "unknown isolation level " + std::to_string(begin.isolation()));
  for (const auto& [name, value] : begin.settings().values()) {
    SCYPER_RETURN_IF_ERROR(check_text(name));
    SCYPER_RETURN_IF_ERROR(check_text(value));
    SCYPER_RETURN_IF_ERROR(settings_->set(name, {value}));
  }
  query::SessionCommand command;
  command.kind = query::CommandKind::kBegin;
  command.text = command.tag = "BEGIN";
  command.isolation = name_of(begin.isolation());
  if (begin.read_only()) command.is_read_only = true;
  settings_->begin_transaction();  // by defaults that its settings may have changed
  SessionStatement statement{.command = command, .parameters = {}, .columns = {}};
  SCYPER_ASSIGN_OR_RETURN(const auto answer, run_statement(statement, {}));
  if (begin.deferrable()) SCYPER_RETURN_IF_ERROR(settings_->set("transaction_deferrable", {"on"}));
  *last = answers_.complete(answer->tag(), 0, warnings_);
  return {};
}

Status InteractiveSession::end(query::CommandKind kind, const char* tag, v1::InteractResponse* last) {
  if (block_ == Block::kNone) return no_transaction();
  SessionStatement statement;
  statement.command.kind = kind;
  statement.command.text = statement.command.tag = tag;
  const Running running(this);
  SCYPER_ASSIGN_OR_RETURN(const auto answer, run_statement(statement, {}));
  *last = answers_.complete(answer->tag(), 0, warnings_);
  return {};
}

StatusOr<CursorSession::Statement> InteractiveSession::read_statement(std::string_view sql) const {
  SCYPER_RETURN_IF_ERROR(check_text(sql));
  if (block_ == Block::kNone) return no_transaction();
  SCYPER_ASSIGN_OR_RETURN(const std::string kept, query::without_passwords(sql, postgres::scram_verifier_of));
  SCYPER_ASSIGN_OR_RETURN(auto commands, query::read_commands(kept));
  if (commands.size() > 1)
    return with_hint(sql_error("42601", "cannot insert multiple commands into one statement"),
                     "Send each as a step of its own.");
  Statement statement;
  if (commands.empty()) {
    statement.command.kind = query::CommandKind::kDiscard;
    return statement;
  }
  statement.command = std::move(commands[0]);
  statement.command.text = kept;  // positions count from its beginning
  statement.shown = kept;
  return statement;
}

Status InteractiveSession::execute(const v1::InteractRequest::Statement& request, v1::InteractResponse* last) {
  SCYPER_ASSIGN_OR_RETURN(Statement statement, read_statement(request.sql()));
  if (statement.command.text.empty()) {  // nothing but blanks and comments
    *last = answers_.complete("", 0, {});
    return {};
  }
  statement_timeout_us_ = int64_t{request.timeout_ms()} * 1000;
  const Running running(this);
  std::vector<Datum> arguments;
  SCYPER_RETURN_IF_ERROR(decode(request, &statement, &arguments));
  source_ = statement.shown;
  SCYPER_ASSIGN_OR_RETURN(const StatementPointer at_row, at_current_row(statement));
  SCYPER_ASSIGN_OR_RETURN(const auto answer, run_statement(at_row != nullptr ? *at_row : statement, arguments));
  running.watch(answer.get());
  return send_answer(answer.get(), row_form_of(request), last);
}

// The types of arguments are those of the statement's parameters.
Status InteractiveSession::decode(const v1::InteractRequest::Statement& request, Statement* statement,
                                  std::vector<Datum>* arguments) {
  if (request.arguments_size() == 0 && request.packed_arguments().empty()) return {};
  SCYPER_RETURN_IF_ERROR(check_block(statement->command));
  SCYPER_RETURN_IF_ERROR(describe_parameters(statement));
  arguments->resize(statement->parameters.size());
  std::string_view packed = request.packed_arguments();
  if (packed.empty()) return decode_arguments(statement->parameters, request.arguments(), arguments->data(), &arena_);
  SCYPER_RETURN_IF_ERROR(decode_row(statement->parameters, &packed, arguments->data(), &arena_));
  return packed.empty() ? Status() : sql_error("08P01", "malformed packed row: bytes are left after its last value");
}

Status InteractiveSession::send_answer(Answer* answer, RowForm form, v1::InteractResponse* last) {
  is_broken_ = !answers_.send_header(answer->columns());
  query::ResultSet rows;
  rows.columns = answer->columns();
  for (bool has_more = true; has_more && !is_broken_;) {
    rows.clear_rows();
    SCYPER_ASSIGN_OR_RETURN(has_more, answer->next(&rows));
    if (!answers_.send_rows(rows, form)) is_broken_ = true;
  }
  if (is_broken_) return sql_error("08006", "the client has gone");
  if (answer->receipt().has_value()) receipt_ = answer->receipt();
  std::vector<std::string> notices = warnings_;
  notices.insert(notices.end(), answer->notices().begin(), answer->notices().end());
  *last = answers_.complete(answer->tag(), answer->affected_rows(), notices);
  if (answer->receipt().has_value()) encode_receipt(*answer->receipt(), last->mutable_complete()->mutable_receipt());
  return {};
}

// The statement opens the copy. Pieces of its text and its end are steps of their own.
Status InteractiveSession::copy(const v1::CopyInRequest& request, v1::InteractResponse* last) {
  const Running running(this);
  if (!request.sql().empty()) {
    copy_.reset();
    SCYPER_ASSIGN_OR_RETURN(copy_statement_, read_statement(request.sql()));
    if (copy_statement_.command.kind != query::CommandKind::kCopyIn)
      return sql_error("42601", "a step `copy` takes COPY ... FROM STDIN");
    activity_->begin(copy_statement_.command.text);
    SCYPER_RETURN_IF_ERROR(check_block(copy_statement_.command));
    note_query(copy_statement_.command);
    statement_timeout_us_ = 0;
    const primary::StatementLimits own = limits(copy_statement_.command.text);
    copy_deadline_ns_ = own.deadline_ns;
    if (open_ == nullptr) SCYPER_RETURN_IF_ERROR(open_block());
    SCYPER_ASSIGN_OR_RETURN(copy_, open_->open_copy(with_path(copy_statement_.command.text), own));
    *last = StepAnswers::copy_header(*copy_);
    return {};
  }
  if (copy_ == nullptr) return StepAnswers::no_copy();
  activity_->begin(copy_statement_.command.text);
  if (Status why = primary::why_over(nullptr, copy_deadline_ns_, monotonic_ns()); !why.ok())
    return copy_->at_line(std::move(why));
  SCYPER_RETURN_IF_ERROR(copy_->add(request.text()));
  *last = answers_.complete("", 0, {});
  return request.done() ? end_copy(last) : Status();
}

Status InteractiveSession::end_copy(v1::InteractResponse* last) {
  const auto copy = std::move(copy_);
  has_only_read_ = false;
  SCYPER_ASSIGN_OR_RETURN(const auto answer, run_counted(copy_statement_.command.text, [&](query::ResultSet* result) {
                            primary::StatementLimits own = limits(copy_statement_.command.text);
                            own.deadline_ns = copy_deadline_ns_;
                            return copy->finish(own, result);
                          }));
  *last = answers_.complete(answer->tag(), answer->affected_rows(), answer->notices());
  return {};
}

Status InteractiveSession::describe(std::string_view sql, v1::InteractResponse* last) {
  SCYPER_ASSIGN_OR_RETURN(Statement statement, read_statement(sql));
  SCYPER_RETURN_IF_ERROR(check_block(statement.command));
  using Kind = query::CommandKind;
  const Running running(this);
  if (statement.command.kind == Kind::kQuery || statement.command.kind == Kind::kOther) {
    SCYPER_RETURN_IF_ERROR(describe_parameters(&statement));
  } else {
    SCYPER_ASSIGN_OR_RETURN(statement.columns, columns_of(statement.command));
  }
  *last = StepAnswers::description(statement.parameters, statement.columns);
  return {};
}

}  // namespace scyper::server
