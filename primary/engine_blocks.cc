// Open blocks that stop nobody: their jobs, and who waits for them.
#include <string>
#include <utility>

#include "block_catalog.h"
#include "claim.h"
#include "engine_transaction.h"
#include "partition_engine.h"
#include "query/search_path.h"
#include "query/stopping.h"
#include "tentative_transaction.h"

namespace scyper::primary {

StatusOr<std::shared_ptr<const PreparedStatement>> PartitionEngine::find_for_block(std::string_view sql,
                                                                                   std::span<const Datum> parameters,
                                                                                   std::vector<Datum>* values,
                                                                                   query::ValueArena* arena) {
  AdHoc ad_hoc;
  SCYPER_RETURN_IF_ERROR(prepare_for(sql, parameters, &ad_hoc));
  *values = parameters.empty() ? std::move(ad_hoc.values) : std::vector<Datum>(parameters.begin(), parameters.end());
  *arena = std::move(ad_hoc.arena);
  const size_t expected = ad_hoc.statement->parameter_types().size();
  if (values->size() != expected && ad_hoc.statement->is_program()) {
    return sql_error("08P01", "bind message supplies " + std::to_string(values->size()) +
                                  " parameters, but prepared statement \"\" requires " + std::to_string(expected));
  }
  return std::move(ad_hoc.statement);
}

std::vector<query::SessionLock> PartitionEngine::session_locks() {
  std::vector<query::SessionLock> all = database_->advisory_locks()->locks();
  for (query::SessionLock& lock : waits_.locks()) all.push_back(std::move(lock));
  for (query::SessionLock& lock : queue_waits_.locks()) all.push_back(std::move(lock));
  return all;
}

StatusOr<std::unique_ptr<OpenTransaction>> PartitionEngine::begin_tentative(BlockLevel level) {
  SCYPER_RETURN_IF_ERROR(admit_changes());
  return std::unique_ptr<OpenTransaction>(
      std::make_unique<TentativeTransaction>(this, last_block_.fetch_add(1) + 1, level));
}

bool PartitionEngine::has_temporary_tables_of(const StatementLimits& limits) const {
  if (limits.settings == nullptr) return false;
  const auto schema = limits.settings->find(query::kTemporarySchemaSetting);
  return schema != limits.settings->end() && database_->has_temporary_tables(schema->second);
}

// Fills in what the engine keeps in a transaction. Whether this node takes changes is asked each time: it may have
// changed since the block began.
Status PartitionEngine::admit_job(TentativeJob* job) {
  if (environment_.log != nullptr) SCYPER_RETURN_IF_ERROR(environment_.log->refusal());
  Placement place = job->block->placement;
  if (job->kind == TentativeJob::Kind::kStatement)
    place = together(place, prepared_of(*job).classification().place(job->arguments));
  if (job->kind == TentativeJob::Kind::kCommit && job->block->history != nullptr)
    place = together(place, job->block->history->reads);  // all of it holds at one moment
  job->time_us = environment_.clock.now_us() - kPostgresEpochUs;
  job->retried_as_crossing = false;
  job->crossing = place.kind == Placement::Kind::kCrossing;
  job->partition = place.partition;
  return {};
}

BlockWaits::Parked PartitionEngine::park_job(TentativeJob* job, BlockId holder) {
  job->time_us = environment_.clock.now_us() - kPostgresEpochUs;
  return waits_.park(job, job->block->id, holder, environment_.clock.monotonic_ns());
}

// There is always room: sessions bound the jobs.
void PartitionEngine::submit_job(TentativeJob* job) {
  Refusal why;
  Status status = admit_any(&why);
  if (status.ok()) {
    status = admit_job(job);
    why = Refusal::kLog;
  }
  if (!status.ok()) return refuse_one(job, status, why);
  if (!run_here(job, lane_of(*job))) queue_again(job);
}

// Queues a transaction that was admitted before, so there is room.
void PartitionEngine::queue_again(Transaction* transaction) {
  Refusal why;
  if (const Status status = admit_any(&why); !status.ok()) return refuse_one(transaction, status, why);
  const uint32_t lane = lane_of(*transaction);
  Chain chain;
  chain.add(transaction);
  queue_of(lane).reserve_always(1);
  queue_claim(transaction);
  if (push(lane, chain)) return;
  queue_of(lane).cancel(1);
  if (!take_claim(transaction)) return transaction->done(transaction);
  refuse_one(transaction, query::stopping_error(), Refusal::kStopping);
}

void PartitionEngine::refuse_one(Transaction* transaction, const Status& status, Refusal why) {
  Chain chain;
  chain.add(transaction);
  refuse(&chain, status, why);
}

}  // namespace scyper::primary
