// Open blocks that stop nobody: their jobs, and who waits for them.
#include <string>
#include <utility>

#include "block_catalog.h"
#include "engine_transaction.h"
#include "partition_engine.h"
#include "query/search_path.h"
#include "query/stopping.h"
#include "tentative_transaction.h"

namespace scyper::primary {

namespace {
// The placement of work that has to fit both.
Placement together(const Placement& a, const Placement& b) {
  if (a.kind == Placement::Kind::kAnywhere) return b;
  if (b.kind == Placement::Kind::kAnywhere || a == b) return a;
  return {Placement::Kind::kCrossing, 0};
}
}  // namespace

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

StatusOr<std::unique_ptr<OpenTransaction>> PartitionEngine::begin_tentative() {
  SCYPER_RETURN_IF_ERROR(admit_changes());
  return std::unique_ptr<OpenTransaction>(std::make_unique<TentativeTransaction>(this, last_block_.fetch_add(1) + 1));
}

bool PartitionEngine::has_temporary_tables_of(const StatementLimits& limits) const {
  if (limits.settings == nullptr) return false;
  const auto schema = limits.settings->find(query::kTemporarySchemaSetting);
  return schema != limits.settings->end() && database_->has_temporary_tables(schema->second);
}

// Fills in what the engine keeps in a transaction. Whether this node takes changes is asked each time: it may have
// changed since the block began.
Status PartitionEngine::admit_job(TentativeJob* job) {
  if (rendezvous_.is_closing()) return query::stopping_error();
  SCYPER_RETURN_IF_ERROR(admit_changes());
  Placement place = job->block->placement;
  if (job->kind == TentativeJob::Kind::kStatement)
    place = together(place, prepared_of(*job).classification().place(job->arguments));
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
  if (const Status status = admit_job(job); !status.ok())
    return refuse_one(job, status, rendezvous_.is_closing() ? Refusal::kStopping : Refusal::kNoPrimary);
  queue_again(job);
}

// Queues a transaction that was admitted before, so there is room.
void PartitionEngine::queue_again(Transaction* transaction) {
  if (rendezvous_.is_closing()) return refuse_one(transaction, query::stopping_error(), Refusal::kStopping);
  if (options_.replication.admits) {
    if (const Status status = options_.replication.admits(); !status.ok())
      return refuse_one(transaction, status, Refusal::kNoPrimary);
  }
  const bool is_alone = transaction->crossing && options_.workers > 1;
  Worker& worker = *workers_[transaction->partition % options_.workers];
  TransactionQueue& queue = is_alone ? rendezvous_.queue() : worker.queue();
  Chain chain;
  chain.add(transaction);
  queue.reserve_always(1);
  if (is_alone ? rendezvous_.push(chain) : queue.push(chain)) {
    if (!is_alone) worker.wake();
    return;
  }
  queue.cancel(1);
  refuse_one(transaction, query::stopping_error(), Refusal::kStopping);
}

void PartitionEngine::refuse_one(Transaction* transaction, const Status& status, Refusal why) {
  Chain chain;
  chain.add(transaction);
  refuse(&chain, status, why);
}

}  // namespace scyper::primary
