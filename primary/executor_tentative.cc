#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "block_catalog.h"
#include "executor.h"
#include "large_transactions.h"
#include "query/error_status.h"
#include "query/program.h"
#include "query/stopping.h"
#include "query/transaction_number.h"
#include "storage/pauses.h"
#include "storage/row_change.h"
#include "storage/temporary.h"

// Jobs of tentative blocks (tentative_block.h), and transactions that meet what such a block has reserved.
namespace scyper::primary {

using query::Outcome;

// --- conflicts ---

// The block that has reserved what the changes since `before` claim; 0: none.
StatusOr<BlockId> Executor::find_holder(BlockId own, const storage::UndoEntry* before) {
  const Reservations& reservations = environment_->reservations;
  BlockId holder = locked_.holder();
  if (holder != 0 || !reservations.any() || log_->top() == before) return holder;
  const auto visit = [&](const storage::RowClaim& claim) {
    storage::Pauses::step_if_any();
    holder = reservations.find_holder(claim, own);
    return holder == 0;
  };
  if (touches_reserved(before)) {
    SCYPER_ASSIGN_OR_RETURN(const bool all, storage::visit_claims(*log_, before, visit));
    if (!all) return holder;
  }
  referenced_.use(*environment_->database, environment_->catalog_version.load(std::memory_order_relaxed));
  const auto wanted = [&](TableId table) { return reservations.may_hold(table); };
  SCYPER_RETURN_IF_ERROR(referenced_.visit(*log_, before, context_.partition, wanted, visit).status());
  return holder;
}

// Whether a table that has changed since `before` has reserved rows or keys.
bool Executor::touches_reserved(const storage::UndoEntry* before) const {
  bool touches = false;
  storage::visit_changed_partitions(*log_, before, [&](const storage::TablePartition* partition) {
    touches = environment_->reservations.may_hold(partition->table->schema().id);
    return !touches;
  });
  return touches;
}

// The block that a transaction has to wait for, once it has run or commits a part; 0: none.
BlockId Executor::find_obstacle(Outcome* outcome) noexcept {
  const BlockId known = std::exchange(blocked_by_, 0);
  if (locked_.holder() != 0 && *outcome == Outcome::kError) return locked_.holder();
  if (known != 0 || !environment_->reservations.any()) [[likely]]
    return known;
  if (*outcome != Outcome::kOk) return 0;
  const StatusOr<BlockId> holder = find_holder(0, nullptr);
  const bool fails = !holder.ok() || (*holder != 0 && has_committed_part_);
  if (!fails) return *holder;
  context_.fail(
      holder.ok() ? sql_error("55P03", "could not obtain lock on row: an open block has it") : holder.status(),
      /*catchable=*/false);
  *outcome = Outcome::kError;
  return 0;
}

// True: the part that a procedure commits meets a block's reservation. The error is in the context.
bool Executor::meets_block() noexcept {
  Outcome outcome = Outcome::kOk;
  blocked_by_ = find_obstacle(&outcome);
  if (blocked_by_ != 0) context_.fail("55P03", "could not obtain lock on row: an open block has it", false);
  return outcome != Outcome::kOk || blocked_by_ != 0;
}

Executor::Verdict Executor::give_way(Transaction* transaction, BlockId holder) noexcept {
  take_back();
  scratch_.reset();
  return wait_for(transaction, 0, holder);
}

// The transaction has left no trace. If it waits, it is not this worker's any more.
Executor::Verdict Executor::wait_for(Transaction* transaction, BlockId own, BlockId holder) noexcept {
  for (const EndedWait& wait : transaction->ended_waits) {
    if (wait.block != holder) continue;
    transaction->status = ended_wait_error(wait);
    transaction->result.clear_rows();
    return Verdict::kAnswered;
  }
  switch (environment_->waits->park(transaction, own, holder, now_ns())) {
    case BlockWaits::Parked::kYes:
      return Verdict::kParked;
    case BlockWaits::Parked::kHasEnded:
      return execute_now(transaction);
    case BlockWaits::Parked::kCycle:  // again, so that it raises the error itself
      transaction->ended_waits.push_back({holder, /*is_circle=*/true});
      return execute_now(transaction);
    case BlockWaits::Parked::kClosed:
      refuse(transaction, query::stopping_error(), Refusal::kStopping);
      break;
  }
  transaction->result.clear_rows();
  return Verdict::kAnswered;
}

// --- jobs ---

Executor::Verdict Executor::run_job(TentativeJob* job) noexcept {
  if (job->kind == TentativeJob::Kind::kWait) return Verdict::kAnswered;
  const Binding* binding = nullptr;
  if (job->kind == TentativeJob::Kind::kStatement) {
    const PreparedStatement& statement = prepared_of(*job);
    binding = statement.binding();
    if (binding->catalog_version != environment_->catalog_version.load(std::memory_order_relaxed) ||
        binding->program == nullptr) [[unlikely]] {
      const bool was_crossing = job->crossing;
      binding = bind(statement, job);
      if (binding == nullptr) return Verdict::kAnswered;
      if (job->crossing && !was_crossing) return Verdict::kMoved;
    }
  }
  if (environment_->large != nullptr && environment_->large->is_open() &&
      meets_large(prepared_of(*job), binding != nullptr ? *binding : Binding(), job->block)) [[unlikely]]
    return wait_for_large(job, job->block->id);
  BlockId holder = 0;
  enter_job(job);
  const Outcome outcome = binding != nullptr ? run_job_statement(job, *binding, &holder) : commit_block(job);
  leave_job(job->block);
  if (holder != 0) return wait_for(job, job->block->id, holder);
  if (outcome != Outcome::kMisclassified) return Verdict::kAnswered;
  job->crossing = true;
  counters_.misclassified.add();
  return Verdict::kMoved;
}

void Executor::enter_job(TentativeJob* job) noexcept {
  CHECK(log_->empty() && definitions_->empty());
  TentativeBlock* block = job->block;
  query::ResultSet& result = job->result;
  has_committed_part_ = false;
  running_ = job;
  cursors_.clear();
  result.clear();
  job->columns_of = 0;
  job->status = Status();
  settings_.begin(job->settings);
  if (block->time_us == 0) block->time_us = job->time_us;
  context_.result = &result;
  context_.notices = &result.notices;
  context_.transaction_time_us = block->time_us;
  context_.partition = job->crossing ? ~uint32_t{0} : job->partition;
  context_.crossing = job->crossing ? 1 : 0;
  context_.affected_rows = 0;
  context_.error = query::ErrorState();
  context_.end_transaction = nullptr;  // COMMIT in a procedure: 2D000
  deferred_.begin(/*is_block=*/true);
  locked_.begin(block->id, /*keeps=*/true, log_.get(), &job->ended_waits);
  if (!log_->records_redo()) log_->record_redo(true);
  query::TransactionNumber::begin_open(block->number);
}

// Takes back what has not been committed.
void Executor::leave_job(TentativeBlock* block) noexcept {
  take_back();
  kept_programs_.clear();
  block->number = query::TransactionNumber::end_open();
  context_.pins.clear();
  context_.portals = nullptr;
  context_.result = nullptr;
  context_.notices = nullptr;
  context_.error = query::ErrorState();
  context_.end_transaction = &Executor::end_transaction;
  deferred_.begin(/*is_block=*/false);
  scratch_.reset();
}

// Applies the block's changes so far. savepoints: gets their places in the redo of now.
Status Executor::apply_block(TentativeBlock* block, std::vector<size_t>* savepoints,
                             const std::function<void()>& at_savepoint, const StatementLimits& limits) {
  const auto catalog = environment_->database->catalog();
  if (catalog->version != applier_version_) {
    applier_.forget();
    applier_version_ = catalog->version;
  }
  if (block->catalog != nullptr) SCYPER_RETURN_IF_ERROR(check_block_catalog(*block, *catalog));
  block->catalog = catalog;
  applier_catalog_ = catalog.get();
  if (block->history != nullptr) {
    SCYPER_RETURN_IF_ERROR(apply_history(block, savepoints, at_savepoint, limits));
  } else {
    SCYPER_RETURN_IF_ERROR(apply_redo(block, savepoints, at_savepoint));
  }
  for (const TentativeBlock::Drawn& drawn : block->sequences)
    log_->note_sequence(drawn.id, drawn.state, drawn.is_drawn);
  return {};
}

Status Executor::apply_redo(TentativeBlock* block, std::vector<size_t>* savepoints,
                            const std::function<void()>& at_savepoint) {
  const std::string_view redo = block->redo;
  size_t from = 0;
  const auto apply_to = [&](size_t end) {
    const std::string_view part = redo.substr(from, end - from);
    Status status = from == 0 ? applier_.apply(part, log_.get(), &block->places)
                              : applier_.apply_more(part, log_.get(), &block->places);
    from = end;
    return status;
  };
  for (const TentativeBlock::Savepoint& savepoint : block->savepoints) {
    SCYPER_RETURN_IF_ERROR(apply_to(savepoint.redo_bytes));
    savepoints->push_back(log_->redo_bytes());
    if (at_savepoint) at_savepoint();
  }
  SCYPER_RETURN_IF_ERROR(apply_to(redo.size()));
  block->applied_bytes += redo.size();
  return {};
}

// Numbers are not taken back: later statements ask for them, and COMMIT logs them.
Status Executor::keep_sequences(TentativeBlock* block) {
  const size_t before = log_->redo_bytes();
  if (!log_->log_sequences()) return storage::change_status(log_->last_result(), *log_, nullptr);
  storage::RowChangeReader reader(log_->redo().substr(before), [](TableId) { return nullptr; });
  storage::RowChange change;
  std::vector<TentativeBlock::Drawn> sequences;
  while (true) {
    SCYPER_ASSIGN_OR_RETURN(const bool has_more, reader.next(&change));
    if (!has_more) break;
    sequences.push_back({change.sequence, change.state, log_->drawn_from(change.sequence) != nullptr});
  }
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (log_->drawn_from(sequences[i].id) == log_->last_drawn()) std::swap(sequences[i], sequences.back());
  }
  block->sequences = std::move(sequences);
  return {};
}

bool Executor::needs_exclusive(const storage::UndoEntry* before) const {
  if (!definitions_->empty() || definitions_->has_changed() || deferred_.reaches_end()) return true;
  if (locked_.needs_exclusive()) return true;
  // each of its statements would apply all of it, and each row has a name among the reservations
  if (log_->redo_bytes() > environment_->options->block_redo_bytes_max) return true;
  for (const storage::UndoEntry* entry = log_->top(); entry != before; entry = entry->previous) {
    if (entry->kind == storage::UndoEntry::Kind::kDefinition) return true;
    if (entry->kind != storage::UndoEntry::Kind::kPayload &&
        storage::is_temporary(entry->partition->table->schema().id))
      return true;
  }
  return false;
}

Status Executor::reserve(TentativeBlock* block, const storage::UndoEntry* before) {
  const auto visit = [&](const storage::RowClaim& claim) {
    environment_->reservations.add(claim, block->id, &block->held);
    block->tables.insert(claim.partition->table->schema().id);
    return true;
  };
  storage::visit_changed_partitions(*log_, before, [&](const storage::TablePartition* partition) {
    block->tables.insert(partition->table->schema().id);
    return true;
  });
  SCYPER_RETURN_IF_ERROR(storage::visit_claims(*log_, before, visit).status());
  referenced_.use(*environment_->database, environment_->catalog_version.load(std::memory_order_relaxed));
  const Status status = referenced_.visit(*log_, before, context_.partition, nullptr, visit).status();
  for (const LockedRows::Row& row : locked_.kept()) visit(row.claim());
  if (!block->held.empty() && !std::exchange(block->is_noted, true)) environment_->waits->note_holder(block->id);
  return status;
}

// Sets the transaction's status, but for kMisclassified and where it has to wait for *holder.
Outcome Executor::run_job_statement(TentativeJob* job, const Binding& binding, BlockId* holder) noexcept {
  TentativeBlock* block = job->block;
  const auto fail_with = [&](Status status) {
    job->result.clear_rows();
    job->status = query::with_notices(std::move(status), std::exchange(job->result.notices, {}));
    return Outcome::kError;
  };
  if (binding.program->command() == "LOCK TABLE") {  // until the block ends
    job->needs_exclusive = true;
    return Outcome::kError;
  }
  std::vector<size_t> savepoints;
  if (Status status = apply_for_job(job, &savepoints); !status.ok())
    return needs_all_partitions(block) ? Outcome::kMisclassified : fail_with(std::move(status));
  const storage::ChangeLog::Mark mark = log_->mark();
  if (job->step != nullptr) note_reads(*binding.program, job->step.get());
  Outcome outcome = run_marked(*binding.program, job, mark);
  if (outcome == Outcome::kMisclassified && !job->crossing) return outcome;
  if (outcome != Outcome::kOk) {
    *holder = locked_.holder();
    if (*holder != 0) return outcome;
    if (!context_.error.set) context_.fail("XX000", "the statement failed without a reason");
    Status status = status_of(context_.error);
    log_->rollback_to(mark);
    static_cast<void>(keep_sequences(block));
    record_step(job, binding, /*has_changed=*/false, sqlstate_of(status));
    outcomes_of(prepared_of(*job)).rolled_back.add();
    return fail_with(std::move(status));
  }
  if (needs_exclusive(mark.top)) {
    job->needs_exclusive = true;
    return Outcome::kError;
  }
  StatusOr<BlockId> found = find_holder(block->id, mark.top);
  if (!found.ok()) return fail_with(found.status());
  *holder = *found;
  if (*holder != 0) return Outcome::kError;
  if (Status status = reserve(block, mark.top); !status.ok()) return fail_with(std::move(status));
  if (log_->top() != mark.top) note_place(*job, block);
  for (size_t i = 0; i < savepoints.size(); ++i) block->savepoints[i].redo_bytes = savepoints[i];
  keep_redo(block);
  record_step(job, binding, log_->top() != mark.top, {});
  if (Status status = keep_sequences(block); !status.ok()) return fail_with(std::move(status));
  query::keep_open_cursors(context_, &job->cursors);
  if (job->changed_settings != nullptr) settings_.give_changed(job->changed_settings);
  set_command_tag(binding.tag, binding.program->command(), context_.affected_rows, &job->result);
  return outcome;
}

void Executor::keep_redo(TentativeBlock* block) {
  block->redo.assign(log_->redo());
  if (block->history == nullptr) return;
  for (size_t i = 0; i < redo_ends_.size(); ++i) block->history->steps[i]->redo_end = redo_ends_[i];
}

Status Executor::apply_for_job(TentativeJob* job, std::vector<size_t>* savepoints) {
  const StatementLimits limits{.deadline_ns = job->deadline_ns, .cancelled = job->cancelled};
  Status status = apply_block(job->block, savepoints, nullptr, limits);
  settings_.begin(job->settings);  // statements that ran again had others
  return status;
}

// True: the job has to run alone, because the block's earlier statements have read other partitions.
bool Executor::needs_all_partitions(TentativeBlock* block) {
  return block->history != nullptr && std::exchange(block->history->needs_all_partitions, false);
}

// Runs again where the watchdog meant another.
Outcome Executor::run_marked(const query::Program& program, TentativeJob* job,
                             const storage::ChangeLog::Mark& mark) noexcept {
  const StatementLimits limits{.deadline_ns = job->deadline_ns, .cancelled = job->cancelled};
  job->result.columns = program.columns();
  const auto run_once = [&] {
    query::DrawnValues* drawn = job->step == nullptr ? nullptr : &job->step->drawn;
    if (drawn != nullptr) drawn->record();
    const query::DrawnValues::Scope scope(drawn);
    return run(program, job->arguments.data(), limits, job->run_us_max);
  };
  Outcome outcome = run_once();
  while (context_.is_interrupted()) [[unlikely]] {
    if (!was_meant_for_another() || outcome == Outcome::kOk) break;
    log_->rollback_to(mark);
    scratch_.reset();
    job->result.clear_rows();
    context_.error = query::ErrorState();
    outcome = run_once();
  }
  return outcome;
}

void Executor::note_place(const Transaction& transaction, TentativeBlock* block) {
  if (transaction.crossing) {
    block->placement = {Placement::Kind::kCrossing, 0};
  } else if (block->placement.kind == Placement::Kind::kAnywhere) {
    block->placement = {Placement::Kind::kPartition, transaction.partition};
  }
}

// A physical record of the partition that the changes lie in, or of those that run alone.
Outcome Executor::commit_block(TentativeJob* job) noexcept {
  TentativeBlock* block = job->block;
  std::vector<size_t> savepoints;
  Status status = apply_for_job(job, &savepoints);
  if (!status.ok() && needs_all_partitions(block)) return Outcome::kMisclassified;
  if (status.ok() && !may_commit()) status = status_of(context_.error);
  if (!status.ok()) {
    job->status = std::move(status);
    return Outcome::kError;
  }
  note_changes();
  if (environment_->options->redo == RedoMode::kNone) {
    environment_->lsns.draw();
  } else if (job->crossing) {
    last_lsn_ = append_alone(environment_, log_->redo());
    has_news_ = true;
  } else {
    RedoHeader header;
    header.kind = RedoKind::kPhysical;
    header.flags = 0;
    header.partition = static_cast<uint16_t>(job->partition);
    header.time_us = environment_->clock.now_us() - kPostgresEpochUs;
    RedoStream* stream = environment_->streams[replay::stream_of_partition(job->partition)].get();
    remember(stream, /*is_alone=*/false, stream->append(header, log_->redo(), {}));
  }
  note_changes_again();
  log_->commit();
  outcomes_of(prepared_of(*job)).committed.add();
  if (job->crossing) counters_.crossing.add();
  environment_->reservations.release(block->id, 0, &block->held);
  environment_->waits->end(block->id);
  return Outcome::kOk;
}

// For a statement of an exclusive block. It cannot wait here: the block that it would wait for waits for the node.
Status Executor::check_reserved(const storage::ChangeLog::Mark& before) {
  SCYPER_ASSIGN_OR_RETURN(waits_for_, find_holder(open_block_, before.top));
  if (waits_for_ == 0) return {};
  return with_hint(
      sql_error("40001", "could not serialize access due to concurrent update"),
      "Another block has changed or locked the row, and this one runs alone. The transaction might succeed if retried. "
      "Large blocks run alone: see block_changes_max, block_repeated_max and block_locked_rows_max.");
}

// An open transaction goes on with what a block has changed.
Status Executor::adopt(TentativeBlock* block) {
  open_block_ = block->id;
  query::TransactionNumber::begin_open(block->number);
  if (block->time_us != 0) context_.transaction_time_us = block->time_us;
  context_.partition = ~uint32_t{0};
  context_.crossing = 1;
  locked_.begin(block->id, /*keeps=*/false, log_.get(), nullptr);
  if (block->history != nullptr && !log_->records_redo()) log_->record_redo(true);  // runs are compared by it
  std::vector<size_t> savepoints;
  return apply_block(block, &savepoints, [this] { static_cast<void>(set_savepoint()); }, {});
}

}  // namespace scyper::primary
