#include "tentative_transaction.h"

#include <utility>

#include "engine_transaction.h"
#include "partition_engine.h"
#include "primary/blocks.h"
#include "query/stopping.h"

namespace scyper::primary {

namespace {
// A block that would run alone has met reserved rows so often: new blocks give way to it,
constexpr int kPatience = 2;
// for so long at most, because it may wait for a client that thinks for ever.
constexpr int64_t kWayNs = 1'000'000'000;
}  // namespace

TentativeTransaction::TentativeTransaction(PartitionEngine* engine, BlockId id)
    : engine_(engine), lsn_(engine->last_lsn()), block_(id) {
  engine_->waits().open(id);
}

TentativeTransaction::~TentativeTransaction() {
  exclusive_.reset();
  end();
}

// Whoever waits for the block goes on.
void TentativeTransaction::end() {
  if (std::exchange(has_ended_, true)) return;
  BlockId own = block_.id;
  engine_->starved_block().compare_exchange_strong(own, 0);
  engine_->reservations().release(block_.id, 0, &block_.held);
  engine_->waits().end(block_.id);
}

// Returns when it has been answered, and no worker looks at it any more.
Status TentativeTransaction::run_job(TentativeJob* job) {
  engine_->submit_job(job);
  job->completion.wait();
  return std::move(job->status);
}

Status TentativeTransaction::execute(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                                     const StatementLimits& limits) {
  if (exclusive_ != nullptr) return exclusive_->execute(sql, parameters, result, limits);
  TentativeJob job(&block_, TentativeJob::Kind::kStatement);
  query::ValueArena arena;
  SCYPER_ASSIGN_OR_RETURN(auto statement, engine_->find_for_block(sql, parameters, &job.arguments, &arena));
  if (statement->prepared().kind() == query::Prepared::Kind::kRows)
    return engine_->execute(sql, parameters, result, limits);
  if (block_.held.empty()) SCYPER_RETURN_IF_ERROR(give_way(statement, limits));
  // a block whose statements have applied so much again is faster where nothing is taken back
  const bool is_small = block_.applied_bytes <= engine_->options().block_applied_bytes_max;
  const bool is_tentative = statement->is_program() && is_small && !engine_->has_temporary_tables_of(limits);
  if (block_.time_us == 0) block_.time_us = limits.time_us;
  if (is_tentative) {
    job.statement = last_statement_ = statement;
    job.deadline_ns = limits.deadline_ns;
    job.cancelled = limits.cancelled;
    job.settings = limits.settings;
    job.changed_settings = limits.changed_settings;
    std::swap(job.result, *result);
    Status status = run_job(&job);
    std::swap(job.result, *result);
    cursors_.insert(cursors_.end(), std::make_move_iterator(job.cursors.begin()),
                    std::make_move_iterator(job.cursors.end()));
    if (!job.needs_exclusive) return status;
  }
  return execute_alone(sql, parameters, result, limits, statement);
}

// The first statement of the block that runs alone. If it meets a row that another block has reserved, it has left no
// trace. Then the block gives the node up, waits and tries again. Later statements cannot do so: the first one may not
// be repeated.
Status TentativeTransaction::execute_alone(std::string_view sql, std::span<const Datum> parameters,
                                           query::ResultSet* result, const StatementLimits& limits,
                                           const std::shared_ptr<const Statement>& statement) {
  for (int tries = 1;; ++tries) {
    SCYPER_RETURN_IF_ERROR(become_exclusive());
    Status status = exclusive_->execute(sql, parameters, result, limits);
    const BlockId holder = exclusive_->holder();
    if (holder == 0) return status;
    exclusive_.reset();
    BlockId none = 0;
    if (tries >= kPatience) engine_->starved_block().compare_exchange_strong(none, block_.id);
    SCYPER_RETURN_IF_ERROR(wait_for(holder, statement, limits));
  }
}

Status TentativeTransaction::wait_for(BlockId holder, const std::shared_ptr<const Statement>& statement,
                                      const StatementLimits& limits) {
  TentativeJob job(&block_, TentativeJob::Kind::kWait);
  job.statement = statement;
  job.deadline_ns = limits.deadline_ns;
  job.cancelled = limits.cancelled;
  job.settings = limits.settings;
  switch (engine_->park_job(&job, holder)) {
    case BlockWaits::Parked::kYes:
      job.completion.wait();
      return std::move(job.status);
    case BlockWaits::Parked::kHasEnded:
      return {};
    case BlockWaits::Parked::kCycle:
      return deadlock_error();
    case BlockWaits::Parked::kClosed:
      break;
  }
  return query::stopping_error();
}

// A block that holds nothing lets a starved one go first, once.
Status TentativeTransaction::give_way(const std::shared_ptr<const Statement>& statement,
                                      const StatementLimits& limits) {
  const BlockId starved = engine_->starved_block().load();
  if (starved == 0 || starved == block_.id || std::exchange(has_given_way_, true)) return {};
  const int64_t patience_ns = engine_->now_ns() + kWayNs;
  StatementLimits bounded = limits;
  const bool ends_sooner = limits.deadline_ns != 0 && limits.deadline_ns < patience_ns;
  if (!ends_sooner) bounded.deadline_ns = patience_ns;
  bounded.settings = nullptr;  // no lock_timeout: the block waits for no row
  Status status = wait_for(starved, statement, bounded);
  const bool was_cancelled = limits.cancelled != nullptr && limits.cancelled->load();
  return !ends_sooner && !was_cancelled && sqlstate_of(status) == "57014" ? Status() : status;
}

// Its reservations stay until it ends: transactions that wait for it run behind it.
Status TentativeTransaction::become_exclusive() {
  auto exclusive = std::make_unique<EngineTransaction>(engine_);
  SCYPER_RETURN_IF_ERROR(exclusive->begin());
  SCYPER_RETURN_IF_ERROR(exclusive->adopt(&block_));
  exclusive_ = std::move(exclusive);
  engine_->note_block_alone();
  return {};
}

StatusOr<std::unique_ptr<CopyIn>> TentativeTransaction::open_copy(std::string_view sql) {
  if (exclusive_ == nullptr) SCYPER_RETURN_IF_ERROR(become_exclusive());
  return exclusive_->open_copy(sql);
}

Status TentativeTransaction::describe(std::string_view sql, const StatementLimits& limits,
                                      std::vector<SqlType>* parameters, std::vector<query::ResultColumn>* columns) {
  if (exclusive_ != nullptr) return exclusive_->describe(sql, limits, parameters, columns);
  SCYPER_ASSIGN_OR_RETURN(const auto statement, engine_->prepare(sql));
  *parameters = statement->parameter_types();
  *columns = statement->columns();
  return {};
}

Status TentativeTransaction::set_savepoint() {
  if (exclusive_ != nullptr) return exclusive_->set_savepoint();
  block_.savepoints.push_back({block_.redo.size(), block_.held.size()});
  return {};
}

Status TentativeTransaction::roll_back_to(size_t savepoint) {
  if (exclusive_ != nullptr) return exclusive_->roll_back_to(savepoint);
  block_.savepoints.resize(savepoint + 1);
  block_.redo.resize(block_.savepoints.back().redo_bytes);
  engine_->reservations().release(block_.id, block_.savepoints.back().held, &block_.held);
  engine_->waits().wake(block_.id);
  return {};
}

Status TentativeTransaction::release(size_t savepoint) {
  if (exclusive_ != nullptr) return exclusive_->release(savepoint);
  block_.savepoints.resize(savepoint);
  return {};
}

// The answer comes when the log holds what was written.
Status TentativeTransaction::commit() {
  Status status;
  if (exclusive_ != nullptr) {
    status = exclusive_->commit();
  } else if (block_.has_changes()) {
    TentativeJob job(&block_, TentativeJob::Kind::kCommit);
    job.statement = last_statement_;
    status = run_job(&job);
  }
  end();
  return status;
}

std::vector<query::OpenCursor> TentativeTransaction::take_cursors() {
  std::vector<query::OpenCursor> cursors = std::exchange(cursors_, {});
  if (exclusive_ == nullptr) return cursors;
  std::vector<query::OpenCursor> later = exclusive_->take_cursors();
  cursors.insert(cursors.end(), std::make_move_iterator(later.begin()), std::make_move_iterator(later.end()));
  return cursors;
}

StatusOr<std::unique_ptr<OpenTransaction>> begin_block(Engine* engine) {
  auto* node = dynamic_cast<PartitionEngine*>(engine);
  return node == nullptr ? engine->begin() : node->begin_tentative();
}

}  // namespace scyper::primary
