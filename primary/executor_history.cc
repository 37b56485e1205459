#include <utility>

#include "block_history.h"
#include "executor.h"
#include "query/error_status.h"
#include "query/program.h"
#include "query/program_tables.h"

// Statements of a block in REPEATABLE READ or SERIALIZABLE that run again, because others have changed what they may
// have read (block_history.h).
namespace scyper::primary {

using query::Outcome;

namespace {

// Of failures that say nothing of what was read.
bool is_about_resources(std::string_view sqlstate) {
  for (const std::string_view part : {"40", "53", "54", "55P03", "57", "58", "XX"})
    if (sqlstate.starts_with(part)) return true;
  return false;
}

uint64_t versions_now(const BlockStep& step, const TableVersions& versions) {
  uint64_t sum = 0;
  for (const TableVersions::Slot slot : step.slots) sum += versions.at(slot);
  return sum;
}

}  // namespace

// Before the step runs: what it may read, and the versions of that.
void Executor::note_reads(const query::Program& program, BlockStep* step) {
  step->note_tables(program, context_.partition);
  step->versions = versions_now(*step, environment_->versions);
}

bool Executor::is_stale(const BlockHistory& history) const {
  return !history.is_checked || history.lsn != environment_->lsns.last.load() ||
         history.catalog_version != environment_->catalog_version.load(std::memory_order_relaxed) ||
         history.changes_of_all != environment_->versions.at(TableVersions::kAll);
}

// The job's changes so far and the versions that it has seen are those of one moment: no other transaction runs in its
// partition. In other partitions nothing that it has read had changed when the job began.
Executor::CheckedState Executor::checked_state() const {
  return {environment_->lsns.last.load(), environment_->catalog_version.load(std::memory_order_relaxed),
          environment_->versions.at(TableVersions::kAll)};
}

bool Executor::has_to_run_again(const BlockStep& step, const BlockHistory& history) const {
  return step.is_unsure || step.is_dynamic ||
         history.catalog_version != environment_->catalog_version.load(std::memory_order_relaxed) ||
         step.versions != versions_now(step, environment_->versions);
}

// Applies what the block has changed, and runs its statements again where others have changed what they may have read.
// ends: of the redo behind each step.
Status Executor::apply_history(TentativeBlock* block, std::vector<size_t>* savepoints,
                               const std::function<void()>& at_savepoint, const StatementLimits& limits) {
  BlockHistory* history = block->history.get();
  const CheckedState now = checked_state();
  const bool checks = is_stale(*history);
  RowIds ids(applier_catalog_);
  Replay replay{block, checks, limits, &ids, {}, 0};
  SCYPER_RETURN_IF_ERROR(applier_.apply({}, log_.get(), &block->places));
  redo_ends_.clear();
  size_t savepoint = 0;  // the next one that is there
  for (size_t i = 0; i < history->steps.size(); ++i) {
    SCYPER_RETURN_IF_ERROR(apply_step(history->steps[i].get(), &replay));
    redo_ends_.push_back(log_->redo_bytes());
    if (savepoint == history->savepoints.size() || history->savepoints[savepoint] != i) continue;
    ++savepoint;
    if (at_savepoint) at_savepoint();
  }
  for (const size_t step : history->savepoints) savepoints->push_back(redo_ends_[step]);
  history->lsn = now.lsn;
  history->catalog_version = now.catalog_version;
  history->changes_of_all = now.changes_of_all;
  history->is_checked = true;
  return {};
}

Status Executor::apply_step(BlockStep* step, Replay* replay) {
  switch (step->kind) {
    case BlockStep::Kind::kSavepoint:
      replay->marks.push_back(log_->mark());
      return {};
    case BlockStep::Kind::kRollBack:
      replay->marks.resize(step->savepoint + 1, log_->mark());
      log_->rollback_to(replay->marks.back());
      return {};
    case BlockStep::Kind::kRelease:
      replay->marks.resize(step->savepoint, log_->mark());
      return {};
    case BlockStep::Kind::kStatement:
      break;
  }
  TentativeBlock* block = replay->block;
  // Statements whose changes were taken back later build on each other: all of them run.
  if (step->is_undone) return replay->checks ? run_again(step, {}, replay) : Status();
  const std::string_view redo = std::string_view(block->redo).substr(replay->from, step->redo_end - replay->from);
  if (replay->checks && has_to_run_again(*step, *block->history)) {
    const storage::ChangeLog::Mark mark = log_->mark();
    SCYPER_RETURN_IF_ERROR(run_again(step, redo, replay));
    log_->rollback_to(mark);
  }
  replay->from = step->redo_end;
  if (redo.empty()) return {};
  const size_t before = log_->redo_bytes();
  SCYPER_RETURN_IF_ERROR(applier_.apply_more(redo, log_.get(), &block->places));
  block->applied_bytes += redo.size();
  return replay->checks ? replay->ids->learn(redo, log_->redo().substr(before)) : Status();
}

// Leaves the changes of the statement in the log.
Status Executor::run_again(BlockStep* step, std::string_view redo, Replay* replay) {
  const bool is_within = context_.crossing != 0 || step->place.kind == Placement::Kind::kAnywhere ||
                         step->place == Placement{Placement::Kind::kPartition, context_.partition};
  if (step->is_part) return unlike_before();
  if (!is_within) {
    replay->block->history->needs_all_partitions = true;
    return unlike_before();
  }
  const auto& statement = static_cast<const PreparedStatement&>(*step->statement);
  const Binding* binding = statement.bind(environment_->catalog_version.load(std::memory_order_relaxed));
  if (binding->program == nullptr) return unlike_before();
  query::ResultSet rows;
  rows.columns = binding->program->columns();
  const Ran ran = run_step(*binding->program, step, replay->limits, &rows);
  if (ran.outcome == Outcome::kMisclassified) {
    replay->block->history->needs_all_partitions = true;
    return unlike_before();
  }
  if (locked_.holder() != 0) return unlike_before();  // it meets a row that it has not met before
  if (is_about_resources(ran.sqlstate) && !ran.sqlstate.starts_with("40")) return ran.status;
  RowsDigest digest;
  digest.add(rows);
  const bool gives_same = ran.sqlstate == step->failure && !step->drawn.has_differed() && digest == step->rows &&
                          ran.affected_rows == step->affected_rows.value_or(ran.affected_rows);
  if (!gives_same) return unlike_before();
  step->is_unsure = false;
  if (step->is_undone) return {};
  const std::string_view changes = log_->redo().substr(ran.before.redo_bytes);
  SCYPER_ASSIGN_OR_RETURN(const bool changes_same, replay->ids->is_same(redo, changes));
  return changes_same ? Status() : unlike_before();
}

// One that fails leaves no changes.
Executor::Ran Executor::run_step(const query::Program& program, BlockStep* step, const StatementLimits& limits,
                                 query::ResultSet* rows) {
  Ran ran;
  ran.before = log_->mark();
  query::ResultSet* const result = std::exchange(context_.result, rows);
  auto* const notices = std::exchange(context_.notices, &rows->notices);
  settings_.begin(step->settings.get());
  note_reads(program, step);
  const query::DrawnValues::Scope drawn(&step->drawn);
  while (true) {
    step->drawn.replay();
    context_.error = query::ErrorState();
    ran.outcome = run(program, step->arguments.values().data(), limits);
    if (!context_.is_interrupted() || !was_meant_for_another() || ran.outcome == Outcome::kOk) break;
    log_->rollback_to(ran.before);
    rows->clear_rows();
  }
  ran.affected_rows = context_.affected_rows;
  if (ran.outcome != Outcome::kOk) {
    log_->rollback_to(ran.before);
    if (!context_.error.set) context_.fail("XX000", "the statement failed without a reason");
    ran.status = status_of(context_.error);
    ran.sqlstate = sqlstate_of(ran.status);
    rows->clear_rows();
    ran.affected_rows = 0;
  }
  kept_programs_.insert(kept_programs_.end(), context_.pins.begin(), context_.pins.end());
  context_.pins.clear();
  context_.portals = nullptr;
  context_.error = query::ErrorState();
  context_.result = result;
  context_.notices = notices;
  deferred_.begin(/*is_block=*/true);
  return ran;
}

// The statement has run for the first time.
void Executor::record_step(TentativeJob* job, const Binding& binding, bool has_changed, std::string_view failure) {
  BlockStep* step = job->step.get();
  if (step == nullptr || is_about_resources(failure)) return;
  if (query::shows_plan(*binding.program) && !has_changed) return;
  step->failure = failure;
  step->is_undone = !failure.empty();
  if (failure.empty()) {
    step->rows.add(job->result);
    step->affected_rows = context_.affected_rows;
  }
  step->redo_end = job->block->redo.size();
  const Placement place = binding.classification->place(job->arguments);
  const bool is_anywhere = place.kind == Placement::Kind::kAnywhere && !job->crossing;
  if (!is_anywhere) step->place = {Placement::Kind::kPartition, job->partition};
  if (job->crossing) step->place = {Placement::Kind::kCrossing, 0};
  job->block->history->add(std::move(job->step));
}

}  // namespace scyper::primary
