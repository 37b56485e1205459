#include "session/passed_block.h"

#include <utility>

#include "base/bounded_work.h"
#include "base/internal_error.h"
#include "changed_settings.h"
#include "forwarding.h"
#include "primary/blocks.h"
#include "query/role_mark.h"
#include "query/search_path.h"
#include "server/messages.h"
#include "server/packed.h"

namespace scyper::server {

namespace {

Status no_block() { return sql_error("08P01", "the stream has no transaction that was passed on"); }

}  // namespace

PassedBlock::PassedBlock(NodeParts* node, std::string address, StepAnswers::Send send,
                         std::function<void()> on_terminate)
    : node_(node),
      address_(std::move(address)),
      on_terminate_(std::move(on_terminate)),
      pid_(ActivityList::new_number()),
      answers_(std::move(send)) {}

PassedBlock::~PassedBlock() { activity_.reset(); }

query::SettingValues PassedBlock::settings_of_session(const v1::Settings& settings) const {
  query::SettingValues values = settings_of(settings);
  values[std::string(query::kSessionNumberSetting)] = std::to_string(pid_);
  return values;
}

// In pg_stat_activity of this node. The session itself is in that of its own node.
void PassedBlock::show_running(const v1::InteractRequest& step) {
  if (step.has_commit() && activity_ != nullptr) activity_->begin("COMMIT");
  if (!step.has_statement()) return;
  const std::string& sql = step.statement().sql();
  if (activity_ == nullptr) {
    const query::SessionRoles roles = query::roles_of(sql);
    query::SessionActivity first;
    first.pid = pid_;
    first.user = roles.empty() ? query::kSuperuser : roles.session;
    first.role_id = query::role_ids_of(sql).session;
    const auto& settings = step.statement().settings().values();
    const auto application = settings.find("application_name");
    first.application = application == settings.end() ? "" : application->second;
    first.address = address_;
    first.state = "idle";
    activity_ = std::make_unique<ActivityList::Session>(&node_->activity, std::move(first),
                                                        [this](ActivityList::Signal signal) {
                                                          if (signal == ActivityList::Signal::kTerminate)
                                                            on_terminate_();
                                                          cancel();
                                                        });
  }
  activity_->begin(query::without_search_path(sql));
}

void PassedBlock::hang_up() {
  is_gone_ = true;
  is_cancelled_ = true;
}

void PassedBlock::run(const v1::InteractRequest& step) {
  is_cancelled_ = is_gone_.load();
  v1::InteractResponse last = answers_.complete("", 0, {});
  show_running(step);
  const Status status = contained(Phase::kAnswering, "", [&] { return run_step(step, &last); });
  if (!status.ok()) last = StepAnswers::error(status);
  if (activity_ != nullptr) activity_->end(open_ == nullptr ? "idle" : "idle in transaction", open_ != nullptr);
  answers_.send_last(&last, open_ == nullptr ? v1::InteractResponse::NONE : v1::InteractResponse::OPEN);
}

Status PassedBlock::run_step(const v1::InteractRequest& step, v1::InteractResponse* last) {
  if (step.has_begin()) return begin(step.begin());
  if (open_ == nullptr) return no_block();
  if (!step.has_copy()) copy_.reset();
  switch (step.step_case()) {
    case v1::InteractRequest::kStatement:
      return execute(step.statement(), last);
    case v1::InteractRequest::kDescribe:
      return describe(step.describe(), last);
    case v1::InteractRequest::kCopy: {
      const Status status = copy(step.copy(), last);
      if (!status.ok()) copy_.reset();
      return status;
    }
    case v1::InteractRequest::kSavepoint:
      return change_savepoint(step.savepoint());
    case v1::InteractRequest::kCommit:
      return commit();
    case v1::InteractRequest::kRollback:
      open_.reset();
      return {};
    default:
      return sql_error("08P01", "the step is none that a transaction has");
  }
}

Status PassedBlock::begin(const v1::InteractRequest::Begin& begin) {
  if (open_ != nullptr || !begin.passed_on()) return no_block();
  const auto level = begin.isolation() == v1::InteractRequest::READ_COMMITTED ? primary::BlockLevel::kReadCommitted
                                                                              : primary::BlockLevel::kSerializable;
  SCYPER_ASSIGN_OR_RETURN(open_, primary::begin_block(node_->engine, level));
  savepoints_ = 0;
  for (const auto& read : begin.reads()) {
    const Status status = add_read(read);
    if (status.ok()) continue;
    open_.reset();
    // what the other node has read is another query by now
    return sqlstate_of(status) == "57014" ? status : primary::unlike_before();
  }
  return {};
}

// Decoded by the types that the statement has here. The other node has packed the row by what it knows of the
// statement, which may have been defined anew.
template <typename Request>
Status PassedBlock::decode(const Request& request, const primary::StatementLimits& limits, Arguments* arguments) {
  if (request.argument_types_size() == 0) return {};
  std::vector<query::ResultColumn> columns;
  SCYPER_RETURN_IF_ERROR(open_->describe(request.sql(), limits, &arguments->types, &columns));
  const std::vector<SqlType>& types = arguments->types;
  bool is_same = types.size() == static_cast<size_t>(request.argument_types_size());
  for (size_t i = 0; is_same && i < types.size(); ++i) {
    const SqlType given = type_of(request.argument_types(static_cast<int>(i)));
    is_same = given.id == types[i].id && given.element == types[i].element;
  }
  if (!is_same)
    return with_hint(sql_error("0A000", "cached plan must not change its parameters' types"), "Prepare it again.");
  arguments->values.resize(types.size());
  std::string_view packed = request.packed_arguments();
  return decode_row(types, &packed, arguments->values.data(), &arguments->arena);
}

Status PassedBlock::add_read(const v1::InteractRequest::SnapshotRead& request) {
  SCYPER_RETURN_IF_ERROR(check_text(request.sql()));
  auto read = std::make_shared<primary::SnapshotRead>();
  read->text = request.sql();
  read->settings = std::make_shared<query::SettingValues>(settings_of(request.settings()));
  primary::StatementLimits limits;
  limits.cancelled = &is_cancelled_;
  limits.settings = read->settings.get();
  Arguments arguments;
  SCYPER_RETURN_IF_ERROR(decode(request, limits, &arguments));
  read->types = arguments.types;
  for (size_t i = 0; i < arguments.values.size(); ++i) read->arguments.append(arguments.types[i], arguments.values[i]);
  read->rows = primary::RowsDigest::of(request.row_count(), request.row_hash());
  read->is_whole = request.whole();
  open_->add_read(std::move(read));
  return {};
}

Status PassedBlock::execute(const v1::InteractRequest::Statement& request, v1::InteractResponse* last) {
  SCYPER_RETURN_IF_ERROR(check_text(request.sql()));
  const query::SettingValues settings = settings_of_session(request.settings());
  std::vector<query::ChangedSetting> changed;
  primary::StatementLimits limits;
  limits.cancelled = &is_cancelled_;
  limits.time_us = request.now_us();
  limits.settings = &settings;
  limits.changed_settings = &changed;
  if (request.timeout_ms() != 0) limits.deadline_ns = monotonic_ns() + int64_t{request.timeout_ms()} * 1'000'000;
  Arguments arguments;
  SCYPER_RETURN_IF_ERROR(decode(request, limits, &arguments));
  query::ResultSet result;
  const WorkLimits bounds{limits.cancelled, limits.deadline_ns};
  SCYPER_RETURN_IF_ERROR(node_->counters.count_call(RequestProtocol::kExecute, request.sql(), [&] {
    const BoundedWork work(bounds.bounds());
    return open_->execute(request.sql(), arguments.values, &result, limits);
  }));
  if (!result.columns.empty() &&
      (!answers_.send_header(result.columns) || !answers_.send_rows(result, RowForm::kColumnar)))
    return sql_error("08006", "the other node has gone");
  *last = answers_.complete(result.command_tag, result.affected_rows, result.notices);
  write_changed_settings(changed, last);
  return {};
}

// The time of the other node's session is that node's to watch: it cancels.
Status PassedBlock::copy(const v1::CopyInRequest& request, v1::InteractResponse* last) {
  primary::StatementLimits limits;
  limits.cancelled = &is_cancelled_;
  limits.settings = &copy_settings_;
  if (!request.sql().empty()) {
    SCYPER_RETURN_IF_ERROR(check_text(request.sql()));
    copy_.reset();
    copy_settings_ = settings_of_session(request.settings());
    SCYPER_ASSIGN_OR_RETURN(copy_, open_->open_copy(request.sql(), limits));
    *last = StepAnswers::copy_header(*copy_);
    return {};
  }
  if (copy_ == nullptr) return StepAnswers::no_copy();
  SCYPER_RETURN_IF_ERROR(copy_->add(request.text()));
  if (!request.done()) return {};
  query::ResultSet result;
  SCYPER_RETURN_IF_ERROR(
      node_->counters.count_call(RequestProtocol::kExecute, "COPY", [&] { return copy_->finish(limits, &result); }));
  copy_.reset();
  *last = answers_.complete(result.command_tag, result.affected_rows, result.notices);
  return {};
}

Status PassedBlock::describe(const v1::InteractRequest::Describe& request, v1::InteractResponse* last) {
  SCYPER_RETURN_IF_ERROR(check_text(request.sql()));
  const query::SettingValues settings = settings_of_session(request.settings());
  primary::StatementLimits limits;
  limits.cancelled = &is_cancelled_;
  limits.settings = &settings;
  std::vector<SqlType> parameters;
  std::vector<query::ResultColumn> columns;
  SCYPER_RETURN_IF_ERROR(open_->describe(request.sql(), limits, &parameters, &columns));
  *last = StepAnswers::description(parameters, columns);
  return {};
}

Status PassedBlock::change_savepoint(const v1::InteractRequest::Savepoint& savepoint) {
  if (savepoint.act() == v1::InteractRequest::Savepoint::SET) {
    SCYPER_RETURN_IF_ERROR(open_->set_savepoint());
    ++savepoints_;
    return {};
  }
  if (savepoint.number() >= savepoints_) return sql_error("3B001", "the transaction has no such savepoint");
  if (savepoint.act() == v1::InteractRequest::Savepoint::ROLL_BACK_TO) {
    SCYPER_RETURN_IF_ERROR(open_->roll_back_to(savepoint.number()));
    savepoints_ = savepoint.number() + 1;
    return {};
  }
  if (savepoint.act() != v1::InteractRequest::Savepoint::RELEASE)
    return sql_error("08P01", "unknown act on a savepoint");
  SCYPER_RETURN_IF_ERROR(open_->release(savepoint.number()));
  savepoints_ = savepoint.number();
  return {};
}

Status PassedBlock::commit() {
  const auto open = std::move(open_);
  return open->commit({});
}

}  // namespace scyper::server
