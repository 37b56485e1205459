#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bounded_work.h"
#include "base/check.h"
#include "base/internal_error.h"
#include "executor.h"
#include "query/error_status.h"
#include "query/program.h"
#include "query/search_path.h"
#include "query/transaction_number.h"

// Statements of open transactions: compiled for the catalog as the transaction sees it, one after the other, in the one
// change log. They are compiled each time: what such a block is for are definitions and a few changes around them.
namespace scyper::primary {

using query::Outcome;

void Executor::begin_open() {
  CHECK(log_->empty() && definitions_->empty());
  savepoints_.clear();
  has_committed_part_ = false;
  running_ = nullptr;
  open_block_ = 0;
  waits_for_ = 0;
  context_.transaction_time_us = environment_->clock.now_us() - kPostgresEpochUs;
  const bool records = environment_->options->redo != RedoMode::kNone;
  if (log_->records_redo() != records) log_->record_redo(records);
  query::TransactionNumber::begin_open();
  cursors_.clear();
  deferred_.begin(/*is_block=*/true);
  context_.end_transaction = nullptr;  // COMMIT in a procedure: 2D000
}

// Advisory locks that what ends now has taken for its transaction.
void Executor::release_locks() noexcept {
  if (!deferred_.has_taken_locks()) [[likely]]
    return;
  const std::string* session = settings_.find(std::string(query::kTemporarySchemaSetting));
  environment_->database->advisory_locks()->release_newest(session == nullptr ? std::string() : *session,
                                                           deferred_.take_locks());
}

void Executor::end_open() {
  take_back();
  kept_programs_.clear();
  cursors_.clear();
  scratch_.reset();
  query::TransactionNumber::end_open();
  context_.error = query::ErrorState();
  context_.result = nullptr;
  context_.notices = nullptr;
  context_.end_transaction = &Executor::end_transaction;
  deferred_.begin(/*is_block=*/false);
}

Status Executor::set_savepoint() {
  savepoints_.push_back({log_->mark(), deferred_.mark()});
  return Status();
}

Status Executor::roll_back_to(size_t savepoint) {
  CHECK(savepoint < savepoints_.size());
  savepoints_.resize(savepoint + 1);
  log_->rollback_to(savepoints_.back().changes);
  deferred_.roll_back_to(*savepoints_.back().checks);
  return Status();
}

Status Executor::release_savepoint(size_t savepoint) {
  CHECK(savepoint < savepoints_.size());
  savepoints_.resize(savepoint);
  return Status();
}

Status Executor::execute_open(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                              const StatementLimits& limits) {
  return run_statement_open(result, limits, [&] { return run_open(sql, parameters, result, limits); });
}

bool Executor::fits_open(const PreparedStatement& statement) const {
  const Binding* binding = statement.binding();
  return definitions_->empty() && binding->program != nullptr &&
         binding->catalog_version == environment_->catalog_version.load(std::memory_order_relaxed);
}

Status Executor::execute_open(const std::shared_ptr<const PreparedStatement>& statement,
                              std::span<const Datum> parameters, query::ResultSet* result,
                              const StatementLimits& limits) {
  kept_programs_.push_back(statement->binding()->owner);
  return run_statement_open(
      result, limits, [&] { return run_open_program(*statement->binding()->program, parameters, result, limits); });
}

// One statement, of which an error leaves nothing.
Status Executor::run_statement_open(query::ResultSet* result, const StatementLimits& limits,
                                    const std::function<Status()>& run) {
  const storage::ChangeLog::Mark before = log_->mark();
  const auto checks_before = deferred_.mark();
  result->clear();
  settings_.begin(limits.settings);
  if (limits.time_us != 0) context_.transaction_time_us = limits.time_us;
  context_.result = result;
  context_.notices = &result->notices;
  context_.partition = ~uint32_t{0};
  context_.crossing = 1;
  context_.affected_rows = 0;
  context_.error = query::ErrorState();
  const query::StatementSettings::Scope settings(&settings_);
  locked_.begin(open_block_, /*keeps=*/false, log_.get(), nullptr);
  waits_for_ = 0;
  Status status = run();
  kept_programs_.insert(kept_programs_.end(), context_.pins.begin(), context_.pins.end());  // of dynamic SQL
  context_.pins.clear();
  if (locked_.holder() != 0 || (status.ok() && environment_->reservations.any())) status = check_reserved(before);
  if (status.ok()) query::keep_open_cursors(context_, &cursors_);
  context_.portals = nullptr;
  scratch_.reset();
  if (status.ok()) {
    if (limits.changed_settings != nullptr) settings_.give_changed(limits.changed_settings);
    return status;
  }
  log_->rollback_to(before);
  deferred_.roll_back_to(*checks_before);
  result->clear_rows();
  return query::with_notices(std::move(status), std::exchange(result->notices, {}));
}

Status Executor::open_copy(std::string_view sql, std::unique_ptr<query::CopyRows>* rows) {
  const std::string text = definitions_->with_temporary(sql);
  SCYPER_ASSIGN_OR_RETURN(*rows, environment_->database->open_copy_for(text, definitions_->catalog()));
  return Status();
}

Status Executor::copy_open(query::CopyRows* rows, query::ResultSet* result, const StatementLimits& limits) {
  return run_statement_open(result, limits, [&]() -> Status {
    kept_programs_.push_back(rows->program());
    context_.feed = rows;
    Status status = run_open_program(*rows->program(), {}, result, limits, rows);
    context_.feed = nullptr;
    if (!status.ok()) return rows->with_line(std::move(status));
    result->affected_rows = context_.affected_rows;
    result->command_tag = absl::StrCat("COPY ", context_.affected_rows);
    return status;
  });
}

Status Executor::run_open(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                          const StatementLimits& limits) {
  query::Database* database = environment_->database;
  const std::string text = definitions_->with_temporary(sql);
  const WorkLimits bounds{limits.cancelled, limits.deadline_ns};
  const auto plan = [&] {
    const BoundedWork work(bounds.bounds());
    return database->prepare_for(text, definitions_->catalog());
  };
  SCYPER_ASSIGN_OR_RETURN(auto prepared, contained(Phase::kPlanning, text, plan));
  switch (prepared->kind()) {
    case query::Prepared::Kind::kProgram: {
      const auto program = database->first_program_of(*prepared);
      kept_programs_.push_back(program);
      return run_open_program(*program, parameters, result, limits);
    }
    case query::Prepared::Kind::kDefinition: {
      const query::Definitions::Scope definitions(definitions_.get());
      const query::RowsElsewhereScope rows(rows_elsewhere_);
      MutexLock lock(&environment_->definition_mutex);
      SCYPER_RETURN_IF_ERROR(definitions_->define(&context_, text, nullptr, {}));
      result->command_tag = definitions_->command_tag();
      return Status();
    }
    case query::Prepared::Kind::kRows:
    case query::Prepared::Kind::kNothing:
      return database->define(*prepared, result);
  }
  return Status();
}

Status Executor::run_open_program(const query::Program& program, std::span<const Datum> parameters,
                                  query::ResultSet* result, const StatementLimits& limits, query::CopyRows* rows) {
  if (parameters.size() != program.parameter_types().size())
    return sql_error(
        "08P01", absl::StrCat("bind message supplies ", parameters.size(),
                              " parameters, but prepared statement \"\" requires ", program.parameter_types().size()));
  const storage::ChangeLog::Mark before = log_->mark();
  result->columns = program.columns();
  const auto run_once = [&] {
    if (rows != nullptr) rows->rewind();
    return run(program, parameters.data(), limits);
  };
  Outcome outcome = run_once();
  while (context_.is_interrupted()) [[unlikely]] {
    if (!was_meant_for_another() || outcome == Outcome::kOk) break;
    log_->rollback_to(before);
    scratch_.reset();
    result->clear_rows();
    context_.error = query::ErrorState();
    outcome = run_once();
  }
  if (outcome == Outcome::kOk) {
    set_command_tag(tag_of(program.command()), program.command(), context_.affected_rows, result);
    return Status();
  }
  if (!context_.error.set) context_.fail("XX000", "the statement failed without a reason");
  return status_of(context_.error);
}

Status Executor::describe_open(std::string_view sql, const StatementLimits& limits, std::vector<SqlType>* parameters,
                               std::vector<query::ResultColumn>* columns) {
  settings_.begin(limits.settings);
  const query::StatementSettings::Scope settings(&settings_);
  SCYPER_ASSIGN_OR_RETURN(
      auto prepared, environment_->database->prepare_for(definitions_->with_temporary(sql), definitions_->catalog()));
  *parameters = prepared->parameter_types();
  *columns = prepared->columns();
  return Status();
}

// A record of its own: row changes and definitions in the order in which they were made.
Status Executor::commit_open() {
  if (log_->empty()) return Status();
  if (!deferred_.empty()) {
    const query::Definitions::Scope definitions(definitions_.get());
    context_.error = query::ErrorState();
    const int32_t outcome = deferred_.check(&context_);
    kept_programs_.insert(kept_programs_.end(), context_.pins.begin(), context_.pins.end());
    context_.pins.clear();
    if (outcome != 0) return status_of(context_.error);
  }
  if (!may_commit()) return status_of(context_.error);
  note_changes();
  if (environment_->options->redo == RedoMode::kNone) {
    environment_->lsns.draw();
  } else if (!log_->redo().empty()) {
    append_alone(environment_, log_->redo());
  }
  note_changes_again();
  log_->commit();
  publish_definitions();
  return Status();
}

}  // namespace scyper::primary
