#include <algorithm>
#include <utility>

#include "base/check.h"
#include "block_history.h"
#include "executor.h"
#include "large_transactions.h"
#include "storage/pauses.h"
#include "storage/statistics.h"

// Statements that change many rows (large_transactions.h): which they are, who waits for them, and how they run.
namespace scyper::primary {

using query::Outcome;

namespace {

constexpr size_t kVerdictsMax = 4096;
constexpr size_t kSequencesMax = 64;  // of a catalog; where it has more, a statement that begins again leaves a gap

}  // namespace

StatusOr<std::unique_ptr<Executor>> Executor::create_large(uint32_t number, ExecutorEnvironment* environment) {
  SCYPER_ASSIGN_OR_RETURN(auto executor, create(number, environment));
  executor->is_large_ = true;
  return executor;
}

// Statements of one partition keep their order.
bool Executor::may_become_large(const Transaction& transaction, const Binding& binding) const {
  return binding.may_be_large && transaction.crossing && transaction.run_us_max == 0 && !is_large_ &&
         environment_->large != nullptr;
}

// The watchdog looks every two milliseconds.
uint64_t Executor::run_us_max_of(const Transaction& transaction, const Binding& binding) const {
  return may_become_large(transaction, binding) ? environment_->options->large_after_us : transaction.run_us_max;
}

// The watchdog has ended it, not its client or its own time.
bool Executor::is_long_one(const Transaction& transaction, uint64_t run_us_max) const {
  if (is_large_ || run_us_max != environment_->options->large_after_us || transaction.run_us_max != 0) return false;
  if (transaction.cancelled != nullptr && transaction.cancelled->load(std::memory_order_relaxed)) return false;
  return transaction.deadline_ns == 0 || now_ns() < transaction.deadline_ns;
}

// Before a statement runs alone that may begin again: no other draws meanwhile.
void Executor::keep_sequences_of(const Transaction& transaction, const Binding& binding) {
  sequences_before_.clear();
  if (is_large_ || !transaction.crossing || !binding.is_volatile) return;
  const auto catalog = environment_->database->catalog();
  if (catalog->sequences.size() > kSequencesMax) return;
  for (const auto& [name, sequence] : catalog->sequences) sequences_before_.emplace_back(sequence, sequence->state());
}

// The numbers that it has drawn are drawn again.
void Executor::put_back_sequences() {
  for (const auto& [sequence, state] : sequences_before_) {
    if (sequence->state().changes != state.changes) sequence->set(state.value, state.is_called);
  }
  sequences_before_.clear();
}

// --- others ---

// Whether the statement may touch a table that a large transaction holds.
bool Executor::meets_large(const PreparedStatement& statement, const Binding& binding, const TentativeBlock* block) {
  const LargeTransactions& large = *environment_->large;
  if (block != nullptr) {
    for (const TableId table : block->tables) {
      if (large.holds(table)) return true;
    }
    if (block->history != nullptr && reads_large(*block->history)) return true;
  }
  if (binding.program == nullptr) return false;
  if (large_id_ != large.open_id() || large_verdicts_.size() > kVerdictsMax) {
    large_id_ = large.open_id();
    large_verdicts_.clear();
  }
  const auto known = large_verdicts_.find(statement.number());
  if (known != large_verdicts_.end()) return known->second;
  const bool meets = large.holds_any_of(query::touched_tables(*binding.program, *environment_->database->catalog()));
  large_verdicts_.emplace(statement.number(), meets);
  return meets;
}

// Whether a statement that may have to run again has read a table that a large transaction holds.
bool Executor::reads_large(const BlockHistory& history) {
  return std::any_of(history.steps.begin(), history.steps.end(), [this](const auto& step) {
    if (step->kind != BlockStep::Kind::kStatement) return false;
    const auto& statement = static_cast<const PreparedStatement&>(*step->statement);
    const Binding* binding = statement.binding();
    return binding != nullptr && meets_large(statement, *binding, nullptr);
  });
}

// The transaction has left no trace. A short read need not wait: a snapshot can answer it.
Executor::Verdict Executor::wait_for_large(Transaction* transaction, BlockId own) noexcept {
  if (transaction->run_us_max != 0) {
    refuse(transaction, sql_error("57014", "a large transaction holds the table"), Refusal::kTimeout);
    return Verdict::kAnswered;
  }
  return wait_for(transaction, own, environment_->large->open_id());
}

// The statement has run alone for long, and was interrupted. It begins again, as a large one.
Executor::Verdict Executor::make_large(Transaction* transaction) noexcept {
  put_back_sequences();
  take_back();
  scratch_.reset();
  context_.error = query::ErrorState();
  environment_->large->submit(transaction);
  return Verdict::kParked;
}

void Executor::take_news_of(Executor* large) {
  if (std::exchange(large->has_news_, false)) {
    last_lsn_ = std::max(last_lsn_, large->last_lsn_);
    has_news_ = true;
  }
}

// --- the large one itself ---

// False: it waits for a block, and is not the caller's any more.
bool Executor::execute_large(Transaction* transaction) noexcept {
  CHECK(is_large_);
  transaction->crossing = true;
  return execute(transaction) != Verdict::kParked;
}

// Other definitions may have run since it was found to be one: its tables are those of now.
void Executor::define_large(Transaction* transaction) noexcept {
  query::TouchedTables all;
  all.may_be_any = true;
  const auto catalog = environment_->database->catalog();
  environment_->large->open(query::tables_made_anew(transaction->statement->text(), *catalog).value_or(all));
  transaction->crossing = true;  // has seen everything
  define(transaction);
}

void Executor::hold_tables_of(const query::Program& program) {
  environment_->large->open(query::touched_tables(program, *environment_->database->catalog()));
}

// Makes their program one of the current catalog.
Status Executor::renew(query::CopyRows* rows) {
  query::Database* database = environment_->database;
  if (rows->program()->catalog_version() == database->catalog()->version) return {};
  SCYPER_ASSIGN_OR_RETURN(const auto now, database->open_copy(rows->target().sql));
  if (!now->target().is_like(rows->target()))
    return sql_error("40001", "table \"" + rows->target().table + "\" has changed while COPY read its input");
  rows->set_program(now->program());
  return {};
}

void Executor::note_growth(TableId id) {
  const auto table = environment_->database->catalog()->find_table(id);
  storage::Pauses::current->pause();
  if (table != nullptr && storage::needs_statistics(*table)) table->set_statistics(storage::collect_statistics(*table));
}

Status Executor::copy_large(query::CopyRows* rows, const StatementLimits& limits, query::ResultSet* result) {
  if (environment_->log != nullptr) SCYPER_RETURN_IF_ERROR(environment_->log->refusal());
  SCYPER_RETURN_IF_ERROR(renew(rows));
  hold_tables_of(*rows->program());
  begin_open();
  Status status = copy_open(rows, result, limits);
  if (status.ok()) status = commit_open();
  const bool is_done = status.ok();
  end_open();
  if (is_done) note_growth(rows->target().id);
  return status;
}

// Its thread: the engine stops.
void Executor::stop_run() noexcept {
  interrupted_run_.store(run_number_.load(std::memory_order_relaxed), std::memory_order_release);
  raise_interrupt(query::Interrupt::kShutdown);
}

}  // namespace scyper::primary
