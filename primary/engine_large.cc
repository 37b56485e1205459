#include <utility>

#include "block_catalog.h"
#include "engine_transaction.h"
#include "partition_engine.h"

// COPY, and what large transactions (large_transactions.h) need of the engine.
namespace scyper::primary {

namespace {
// A COPY of so many rows stops others in slices only: fewer are done in some milliseconds.
constexpr uint64_t kLargeCopyRows = 2'000;
}  // namespace

Status PartitionEngine::start_large() {
  LargeTransactions::Host host;
  host.refuse = [this](Transaction* transaction, const Status& why) {
    refuse_one(transaction, why, sqlstate_of(why) == "57014" ? Refusal::kCancelled : Refusal::kStopping);
  };
  host.next_id = [this] { return last_block_.fetch_add(1) + 1; };
  host.ended = [this] {
    if (compaction_ == nullptr) return;
    for (auto& worker : workers_) worker->make_step_due();
  };
  large_ = std::make_unique<LargeTransactions>(&environment_, &rendezvous_, std::move(host));
  SCYPER_RETURN_IF_ERROR(large_->start());
  environment_.large = large_.get();
  rendezvous_.set_large(large_.get());
  return {};
}

StatusOr<std::unique_ptr<CopyIn>> PartitionEngine::open_copy(std::string_view sql) {
  SCYPER_ASSIGN_OR_RETURN(auto rows, database_->open_copy(sql));
  SCYPER_RETURN_IF_ERROR(admit_changes());
  auto fill = [this](query::CopyRows* all, const StatementLimits& limits, query::ResultSet* result) {
    return copy(all, limits, result);
  };
  return make_copy(std::move(fill), std::move(rows));
}

// One whose memory counts among all others'.
std::unique_ptr<CopyIn> PartitionEngine::make_copy(EngineCopy::Filler fill, std::unique_ptr<query::CopyRows> rows) {
  return std::make_unique<EngineCopy>(std::move(fill), &copy_memory_, std::move(rows));
}

void PartitionEngine::set_running_copy(RunningCopy* copy) {
  MutexLock lock(&copy_mutex_);
  running_copy_ = copy;
}

void PartitionEngine::check_copy(int64_t now_ns) {
  MutexLock lock(&copy_mutex_);
  if (running_copy_ == nullptr) return;
  const StatementLimits& limits = running_copy_->limits;
  if (limits.cancelled != nullptr && limits.cancelled->load(std::memory_order_relaxed)) {
    running_copy_->interruption.raise(query::Interrupt::kCancel);
  } else if (limits.deadline_ns != 0 && now_ns >= limits.deadline_ns) {
    running_copy_->interruption.raise(query::Interrupt::kTimeout);
  }
}

Status PartitionEngine::copy(query::CopyRows* rows, const StatementLimits& limits, query::ResultSet* result) {
  SCYPER_RETURN_IF_ERROR(admit_changes());
  if (rows->row_count() >= kLargeCopyRows) return large_->copy(rows, limits, result);
  RunningCopy running{limits, {}};
  bool meets_blocks = false;
  const Status status = run_exclusively(
      [&]() -> Status {
        if (environment_.log != nullptr) SCYPER_RETURN_IF_ERROR(environment_.log->refusal());
        meets_blocks = environment_.reservations.any() && has_references(*database_->catalog(), rows->target().key);
        if (meets_blocks) return {};
        query::DefinitionRun run;
        run.time_us = environment_.clock.now_us() - kPostgresEpochUs;
        run.wants_rows = options_.redo != RedoMode::kNone;
        run.interruption = &running.interruption;
        set_running_copy(&running);
        const Status copied = database_->copy(rows, result, &run);
        set_running_copy(nullptr);
        if (copied.ok()) log_alone(run.log);
        return copied;
      },
      /*beside_large=*/false, limits);
  if (!meets_blocks || !status.ok()) return status;
  // rows that they refer to may be an open block's: where changes can be taken back, this is looked at
  EngineTransaction transaction(this);
  SCYPER_RETURN_IF_ERROR(transaction.begin(limits));
  SCYPER_RETURN_IF_ERROR(transaction.copy(rows, limits, result));
  return transaction.commit(limits);
}

}  // namespace scyper::primary
