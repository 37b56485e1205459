#include "tentative_transaction.h"

#include <utility>

#include "engine_transaction.h"
#include "partition_engine.h"
#include "primary/blocks.h"
#include "query/program_tables.h"
#include "query/stopping.h"

namespace scyper::primary {

namespace {
// A block of many statements, each of which may run again before each later one.
constexpr size_t kStepsMax = 1000;
constexpr size_t kHistoryBytesMax = size_t{16} << 20;
// A block that would run alone has met reserved rows so often: new blocks give way to it,
constexpr int kPatience = 2;
// for so long at most, because it may wait for a client that thinks for ever.
constexpr int64_t kWayNs = 1'000'000'000;
}  // namespace

TentativeTransaction::TentativeTransaction(PartitionEngine* engine, BlockId id, BlockLevel level)
    : engine_(engine), lsn_(engine->last_lsn()), block_(id) {
  engine_->waits().open(id);
  if (level == BlockLevel::kReadCommitted) return;
  block_.history = std::make_unique<BlockHistory>();
  engine_->versions().watch();
}

TentativeTransaction::~TentativeTransaction() {
  exclusive_.reset();
  end();
}

// Whoever waits for the block goes on.
void TentativeTransaction::end() {
  if (std::exchange(has_ended_, true)) return;
  if (block_.history != nullptr) engine_->versions().unwatch();
  if (image_ != nullptr) engine_->versions().release_image();
  BlockId own = block_.id;
  engine_->starved_block().compare_exchange_strong(own, 0);
  engine_->reservations().release(block_.id, 0, &block_.held);
  engine_->waits().end(block_.id);
}

// Returns when it has been answered, or was left in its queue. No worker looks at the block then.
Status TentativeTransaction::run_job(const std::shared_ptr<TentativeJob>& job) {
  job->own_claim.keep(job);
  engine_->submit_job(job.get());
  SCYPER_RETURN_IF_ERROR(engine_->await(*job, &job->completion));
  return std::move(job->status);
}

Status TentativeTransaction::execute(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                                     const StatementLimits& limits) {
  if (exclusive_ != nullptr) return exclusive_->execute(sql, parameters, result, limits);
  if (!std::exchange(is_noted_, true))
    engine_->waits().note_session(block_.id, query::session_number_of(limits.settings));
  SCYPER_RETURN_IF_ERROR(take_reads());
  const auto job = std::make_shared<TentativeJob>(&block_, TentativeJob::Kind::kStatement);
  query::ValueArena arena;
  SCYPER_ASSIGN_OR_RETURN(auto statement, engine_->find_for_block(sql, parameters, &job->arguments, &arena));
  if (statement->prepared().kind() == query::Prepared::Kind::kRows)
    return engine_->execute(sql, parameters, result, limits);
  if (block_.held.empty()) SCYPER_RETURN_IF_ERROR(give_way(statement, limits));
  const bool is_tentative = statement->is_program() && !is_too_long() && !engine_->has_temporary_tables_of(limits);
  if (block_.time_us == 0) block_.time_us = limits.time_us;
  if (is_tentative) {
    job->statement = last_statement_ = statement;
    job->deadline_ns = limits.deadline_ns;
    job->cancelled = limits.cancelled;
    job->settings = limits.settings;
    job->changed_settings = limits.changed_settings;
    if (block_.history != nullptr) job->step = make_step(statement, job->arguments, limits);
    std::swap(job->result, *result);
    Status status = run_job(job);
    std::swap(job->result, *result);
    cursors_.insert(cursors_.end(), std::make_move_iterator(job->cursors.begin()),
                    std::make_move_iterator(job->cursors.end()));
    if (!job->needs_exclusive) return status;
  }
  return execute_alone(sql, parameters, result, limits, statement);
}

StatusOr<ShortRead> TentativeTransaction::execute_short(std::string_view sql, std::span<const Datum> parameters,
                                                        query::ResultSet* result, const StatementLimits& limits) {
  if (exclusive_ == nullptr) {
    SCYPER_ASSIGN_OR_RETURN(const ShortRead verdict, engine_->judge(sql, parameters));
    if (verdict != ShortRead::kDone) return verdict;
  }
  SCYPER_RETURN_IF_ERROR(execute(sql, parameters, result, limits));
  return ShortRead::kDone;
}

// --- queries on a snapshot ---

// A snapshot with all LSNs up to the one read here has all that the image counts in full. What it counts in part
// changes once more (table_versions.h).
void TentativeTransaction::begin_snapshot() {
  BlockHistory* history = block_.history.get();
  if (history == nullptr || image_ != nullptr) return;
  TableVersions& versions = engine_->versions();
  versions.hold_image();
  image_ = std::make_unique<TableVersions::Image>(versions.image());
  history->changes_of_all = (*image_)[TableVersions::kAll];
  history->catalog_version = engine_->catalog()->version;
  history->lsn = engine_->last_lsn();
}

// The queries become statements that ran before all others, but for plans and other rows that are of no table.
Status TentativeTransaction::take_reads() {
  for (const auto& read : std::exchange(reads_, {})) {
    auto step = step_of(*read);
    // its tables are others now, or it cannot run beside changes
    if (!step.ok()) return unlike_before();
    if (*step == nullptr) continue;
    block_.history->is_checked =
        (block_.history->steps.empty() || block_.history->is_checked) && read->lsn == block_.history->lsn;
    block_.history->add(*std::move(step));
  }
  return {};
}

StatusOr<std::unique_ptr<BlockStep>> TentativeTransaction::step_of(const SnapshotRead& read) const {
  std::vector<Datum> arguments;
  query::ValueArena arena;
  SCYPER_ASSIGN_OR_RETURN(auto statement,
                          engine_->find_for_block(read.text, read.arguments.values(), &arguments, &arena));
  if (statement->prepared().kind() == query::Prepared::Kind::kRows) return std::unique_ptr<BlockStep>();
  if (!statement->is_program()) return sql_error("0A000", "the query cannot run beside changes");
  StatementLimits limits;
  limits.settings = read.settings.get();
  auto step = make_step(statement, arguments, limits);
  step->rows = read.rows;
  step->is_part = !read.is_whole;
  step->place = statement->classification().place(arguments);
  SCYPER_ASSIGN_OR_RETURN(const auto program, engine_->database().program_of(statement->prepared()));
  if (query::shows_plan(*program)) return std::unique_ptr<BlockStep>();
  step->note_tables(*program, ReferencedRows::kAnyPartition);
  step->is_unsure = image_ == nullptr || read.lsn < block_.history->lsn;
  for (const TableVersions::Slot slot : step->slots) step->versions += image_ == nullptr ? 0 : (*image_)[slot];
  return step;
}

bool TentativeTransaction::give_reads(std::vector<std::shared_ptr<SnapshotRead>>* reads) const {
  if (block_.history == nullptr || exclusive_ != nullptr || block_.has_changes() || !block_.held.empty()) return false;
  for (const auto& step : block_.history->steps) {
    if (step->kind != BlockStep::Kind::kStatement) continue;
    const auto& statement = static_cast<const PreparedStatement&>(*step->statement);
    if (!step->failure.empty() || step->drawn.has_values() || !statement.classification().is_read_only()) return false;
    auto read = std::make_shared<SnapshotRead>();
    read->text = statement.text();
    read->types = statement.parameter_types();
    for (size_t i = 0; i < read->types.size(); ++i) read->arguments.append(read->types[i], step->arguments.values()[i]);
    read->settings = step->settings;
    read->rows = step->rows;
    read->is_whole = true;
    reads->push_back(std::move(read));
  }
  return true;
}

bool TentativeTransaction::is_too_long() const {
  if (block_.applied_bytes > engine_->options().block_applied_bytes_max) return true;
  const BlockHistory* history = block_.history.get();
  return history != nullptr && (history->steps.size() > kStepsMax || history->bytes > kHistoryBytesMax);
}

// What the statement needs to run again.
std::unique_ptr<BlockStep> TentativeTransaction::make_step(const std::shared_ptr<const Statement>& statement,
                                                           std::span<const Datum> arguments,
                                                           const StatementLimits& limits) const {
  auto step = std::make_unique<BlockStep>();
  step->statement = statement;
  for (size_t i = 0; i < arguments.size(); ++i) step->arguments.append(statement->parameter_types()[i], arguments[i]);
  if (limits.settings == nullptr) return step;
  const auto& steps = block_.history->steps;
  const bool is_as_before =
      !steps.empty() && steps.back()->settings != nullptr && *steps.back()->settings == *limits.settings;
  step->settings =
      is_as_before ? steps.back()->settings : std::make_shared<const query::SettingValues>(*limits.settings);
  return step;
}

// The first statement of the block that runs alone. If it meets a row that another block has reserved, it has left no
// trace. Then the block gives the node up, waits and tries again. Later statements cannot do so: the first one may not
// be repeated.
Status TentativeTransaction::execute_alone(std::string_view sql, std::span<const Datum> parameters,
                                           query::ResultSet* result, const StatementLimits& limits,
                                           const std::shared_ptr<const Statement>& statement) {
  for (int tries = 1;; ++tries) {
    SCYPER_RETURN_IF_ERROR(become_exclusive(limits));
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
  const auto job = std::make_shared<TentativeJob>(&block_, TentativeJob::Kind::kWait);
  job->statement = statement;
  job->deadline_ns = limits.deadline_ns;
  job->cancelled = limits.cancelled;
  job->settings = limits.settings;
  job->own_claim.take();  // it begins with its wait, which the watchdog ends
  job->own_claim.keep(job);
  const BlockWaits::Parked parked = engine_->park_job(job.get(), holder);
  if (parked == BlockWaits::Parked::kYes) {
    SCYPER_RETURN_IF_ERROR(engine_->await(*job, &job->completion));
    return std::move(job->status);
  }
  job->own_claim.release();
  if (parked == BlockWaits::Parked::kHasEnded) return {};
  return parked == BlockWaits::Parked::kCycle ? deadlock_error() : query::stopping_error();
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
Status TentativeTransaction::become_exclusive(const StatementLimits& limits) {
  auto exclusive = std::make_unique<EngineTransaction>(engine_);
  SCYPER_RETURN_IF_ERROR(exclusive->begin(limits));
  SCYPER_RETURN_IF_ERROR(exclusive->adopt(&block_));
  exclusive_ = std::move(exclusive);
  engine_->note_block_alone();
  return {};
}

StatusOr<std::unique_ptr<CopyIn>> TentativeTransaction::open_copy(std::string_view sql, const StatementLimits& limits) {
  SCYPER_RETURN_IF_ERROR(take_reads());
  if (exclusive_ == nullptr) SCYPER_RETURN_IF_ERROR(become_exclusive(limits));
  return exclusive_->open_copy(sql, limits);
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
  if (block_.history != nullptr) block_.history->set_savepoint();
  return {};
}

Status TentativeTransaction::roll_back_to(size_t savepoint) {
  if (exclusive_ != nullptr) return exclusive_->roll_back_to(savepoint);
  block_.savepoints.resize(savepoint + 1);
  block_.redo.resize(block_.savepoints.back().redo_bytes);
  if (block_.history != nullptr) block_.history->roll_back_to(savepoint);
  engine_->reservations().release(block_.id, block_.savepoints.back().held, &block_.held);
  engine_->waits().wake(block_.id);
  return {};
}

Status TentativeTransaction::release(size_t savepoint) {
  if (exclusive_ != nullptr) return exclusive_->release(savepoint);
  block_.savepoints.resize(savepoint);
  if (block_.history != nullptr) block_.history->release(savepoint);
  return {};
}

// The answer comes when the log holds what was written.
Status TentativeTransaction::commit(const StatementLimits& limits) {
  Status status;
  if (exclusive_ != nullptr) {
    status = exclusive_->commit(limits);
  } else if (block_.has_changes()) {
    const auto job = std::make_shared<TentativeJob>(&block_, TentativeJob::Kind::kCommit);
    job->statement = last_statement_;
    job->cancelled = limits.cancelled;
    job->deadline_ns = limits.deadline_ns;
    status = run_job(job);
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

StatusOr<std::unique_ptr<OpenTransaction>> begin_block(Engine* engine, BlockLevel level) {
  auto* node = dynamic_cast<PartitionEngine*>(engine);
  return node == nullptr ? engine->begin() : node->begin_tentative(level);
}

}  // namespace scyper::primary
