#include "engine_transaction.h"

#include <chrono>
#include <optional>
#include <utility>

#include "block_waits.h"
#include "partition_engine.h"
#include "storage/enum_transaction.h"
#include "worker.h"

namespace scyper::primary {

namespace {
constexpr auto kLook = std::chrono::milliseconds(20);         // how often a waiting worker looks at the clock
constexpr auto kLookAtLimits = std::chrono::milliseconds(5);  // how often a client that waits for its turn does

Status over_time() {
  return with_hint(
      sql_error(
          "25P03",
          "the transaction was rolled back: its client was idle for longer than transaction_time_max while it ran "
          "alone"),
      "A transaction block that defines something, or is large (block_changes_max, block_repeated_max, "
      "block_locked_rows_max), runs alone, and all others wait for its client. Raise transaction_time_max, send the "
      "block's statements without pauses, or do its work in one call of a procedure.");
}
}  // namespace

EngineTransaction::EngineTransaction(PartitionEngine* engine) : engine_(engine) {}

EngineTransaction::~EngineTransaction() {
  if (!is_pushed_ || has_ended_) return;
  static_cast<void>(ask([](Executor*) { return Status(); }, /*is_last=*/true));
  wait_for_end();
}

Status EngineTransaction::begin(const StatementLimits& limits) {
  pid_ = query::session_number_of(limits.settings);
  work_->run_on = [this](Worker* worker) { return serve(worker); };
  work_->own_claim.keep(work_);
  if (Status status = engine_->push_open(work_.get()); !status.ok()) {
    work_->own_claim.release();
    return status;
  }
  is_pushed_ = true;
  std::optional<QueueWaits::Entry> entry;
  if (pid_ != 0) entry.emplace(&engine_->queue_waits(), pid_, &work_->own_claim);
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, kLookAtLimits, [this] { return is_served_; })) {
    Status why = why_over(limits.cancelled, limits.deadline_ns, engine_->now_ns());
    if (why.ok() || !work_->own_claim.leave()) continue;
    is_pushed_ = false;
    return why;
  }
  return Status();
}

// --- the client's side ---

Status EngineTransaction::adopt(TentativeBlock* block) {
  return ask([block](Executor* executor) { return executor->adopt(block); });
}

Status EngineTransaction::ask(std::function<Status(Executor*)> work, bool is_last) {
  Request request;
  request.work = std::move(work);
  request.is_last = is_last;
  std::unique_lock<std::mutex> lock(mutex_);
  if (is_over_) return why_over_;
  request_ = &request;
  changed_.notify_all();
  changed_.wait(lock, [&] { return request.is_done || is_over_; });
  if (request.is_done) {
    see_enum_trial(request.enum_trial);  // this thread shows the rows
    return std::move(request.status);
  }
  request_ = nullptr;
  return why_over_;
}

Status EngineTransaction::execute(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                                  const StatementLimits& limits) {
  std::vector<Datum> values;
  query::ValueArena arena;
  const auto statement = engine_->find_for_open(sql, parameters, &values, &arena);
  holder_ = 0;
  return ask([&](Executor* executor) {
    const bool fits = statement != nullptr && executor->fits_open(*statement);
    Status status = fits ? executor->execute_open(statement, values, result, limits)
                         : executor->execute_open(sql, parameters, result, limits);
    holder_ = executor->take_holder();
    return status;
  });
}

Status EngineTransaction::copy(query::CopyRows* rows, const StatementLimits& limits, query::ResultSet* result) {
  return ask([&](Executor* executor) -> Status {
    if (rows->program()->catalog_version() != engine_->catalog()->version)
      return sql_error("40001", "table \"" + rows->target().table + "\" has changed while COPY read its input");
    return executor->copy_open(rows, result, limits);
  });
}

StatusOr<std::unique_ptr<CopyIn>> EngineTransaction::open_copy(std::string_view sql, const StatementLimits&) {
  std::unique_ptr<query::CopyRows> rows;
  SCYPER_RETURN_IF_ERROR(ask([&](Executor* executor) { return executor->open_copy(sql, &rows); }));
  auto fill = [this](query::CopyRows* all, const StatementLimits& limits, query::ResultSet* result) {
    return ask([&](Executor* executor) { return executor->copy_open(all, result, limits); });
  };
  return engine_->make_copy(std::move(fill), std::move(rows));
}

Status EngineTransaction::describe(std::string_view sql, const StatementLimits& limits,
                                   std::vector<SqlType>* parameters, std::vector<query::ResultColumn>* columns) {
  return ask([&](Executor* executor) { return executor->describe_open(sql, limits, parameters, columns); });
}

Status EngineTransaction::set_savepoint() {
  return ask([](Executor* executor) { return executor->set_savepoint(); });
}

Status EngineTransaction::roll_back_to(size_t savepoint) {
  return ask([savepoint](Executor* executor) { return executor->roll_back_to(savepoint); });
}

Status EngineTransaction::release(size_t savepoint) {
  return ask([savepoint](Executor* executor) { return executor->release_savepoint(savepoint); });
}

std::vector<query::OpenCursor> EngineTransaction::take_cursors() {
  std::vector<query::OpenCursor> cursors;
  const Status status = ask([&cursors](Executor* executor) {
    cursors = executor->take_cursors();
    return Status();
  });
  if (!status.ok()) cursors.clear();
  return cursors;
}

// The answer comes when the log holds what was written.
Status EngineTransaction::commit(const StatementLimits&) {
  const Status status = ask([](Executor* executor) { return executor->commit_open(); }, /*is_last=*/true);
  wait_for_end();
  return status.ok() ? work_->status : status;
}

void EngineTransaction::wait_for_end() {
  if (std::exchange(has_ended_, true)) return;
  work_->completion.wait();
}

// --- the worker's side ---

Status EngineTransaction::serve(Worker* worker) {
  Executor& executor = worker->executor();
  executor.begin_open();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    lsn_ = engine_->last_lsn();
    is_served_ = true;
    engine_->queue_waits().set_alone(pid_);
  }
  changed_.notify_all();
  Status status;
  bool is_last = false;
  while (!is_last) {
    Request* request = next_request(worker);
    if (request == nullptr) break;
    is_last = request->is_last;
    status = request->work(&executor);
    std::lock_guard<std::mutex> lock(mutex_);
    request->status = status;
    request->enum_trial = enum_trial();
    request->is_done = true;
    request_ = nullptr;
    changed_.notify_all();
  }
  executor.end_open();
  leave(is_last ? sql_error("25P01", "the transaction is over") : Status());
  return is_last ? status : Status();
}

// nullptr: it is over, and leave() knows why.
EngineTransaction::Request* EngineTransaction::next_request(Worker* worker) {
  const auto limit_ns = static_cast<int64_t>(engine_->options().transaction_time_us_max * 1000);
  const bool may_pause = engine_->options().fork_mode == ForkMode::kActionConsistent;
  const int64_t begin_ns = worker->executor().now_ns();
  if (may_pause) worker->end_work();
  Request* request = nullptr;
  Status why;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    while (request_ == nullptr && why.ok()) {
      changed_.wait_for(lock, kLook, [this] { return request_ != nullptr; });
      if (engine_->is_stopping()) why = sql_error("57P01", "terminating connection due to administrator command");
      const int64_t now_ns = worker->executor().now_ns();
      if (limit_ns != 0 && idle_ns_ + (now_ns - begin_ns) >= limit_ns) why = over_time();
    }
    if (why.ok()) request = request_;
    if (!why.ok()) why_over_ = why;
  }
  idle_ns_ += worker->executor().now_ns() - begin_ns;
  if (may_pause) worker->begin_work();
  return request;
}

void EngineTransaction::leave(const Status& why) {
  engine_->queue_waits().set_alone(QueueWaits::kNobody);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_over_ = true;
    if (!why.ok()) why_over_ = why;
  }
  changed_.notify_all();
}

}  // namespace scyper::primary
