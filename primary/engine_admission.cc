// Which transactions the node takes, and on which thread they run.
#include <array>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bounded_work.h"
#include "base/check.h"
#include "partition_engine.h"
#include "query/stopping.h"

namespace scyper::primary {

namespace {

// As long as a short transaction takes: who waits for a worker that one of those keeps spins, and is not put to sleep.
constexpr int kGuestSpins = 50;

Status queue_full_error() {
  return with_hint(sql_error("53300", "too many transactions are waiting"), "Retry after 10 ms.");
}
Status wrong_parameter_count(size_t given, size_t expected) {
  return sql_error("08P01", absl::StrCat("bind message supplies ", given,
                                         " parameters, but prepared statement \"\" requires ", expected));
}

// Transactions that may run anywhere take the partitions in turn, each submitting thread for itself.
uint32_t next_partition(uint32_t partitions) {
  thread_local uint32_t turn = 0;
  return ++turn % partitions;
}

}  // namespace

// Whether the node takes transactions now.
Status PartitionEngine::admit_any(Refusal* why) const {
  *why = Refusal::kStopping;
  if (rendezvous_.is_closing()) return query::stopping_error();
  *why = Refusal::kNoPrimary;
  return options_.replication.admits ? options_.replication.admits() : Status();
}

// Fills in what the engine keeps in a transaction; lane: its worker, or the number of workers when it runs alone.
Status PartitionEngine::admit(Transaction* transaction, int64_t time_us, uint32_t* lane) {
  CHECK(transaction->statement != nullptr && transaction->done != nullptr);
  transaction->time_us = time_us;
  transaction->crossing = false;
  transaction->retried_as_crossing = false;
  transaction->ended_waits.clear();
  *lane = options_.workers;
  const PreparedStatement& statement = prepared_of(*transaction);
  size_t expected = statement.parameter_types().size();
  if (transaction->arguments.size() != expected) [[unlikely]] {
    return wrong_parameter_count(transaction->arguments.size(), expected);
  }
  if (environment_.log != nullptr && (environment_.log->is_full() || environment_.log->is_failed()) &&
      may_write(statement)) [[unlikely]] {
    return environment_.log->refusal();
  }
  if (!statement.is_program()) return Status();
  Placement placement = statement.classification().place(transaction->arguments);
  if (placement.kind == Placement::Kind::kCrossing) {
    transaction->crossing = true;
    if (options_.workers == 1) *lane = 0;  // has the node for itself anyway
    return Status();
  }
  bool is_anywhere = placement.kind == Placement::Kind::kAnywhere;
  transaction->partition = is_anywhere ? next_partition(options_.partitions) : placement.partition;
  *lane = transaction->partition % options_.workers;
  return Status();
}

bool PartitionEngine::may_write(const PreparedStatement& statement) const {
  if (statement.is_program()) return !statement.classification().is_read_only();
  return statement.prepared().kind() == query::Prepared::Kind::kDefinition;
}

void PartitionEngine::submit(std::span<Transaction* const> transactions) {
  std::array<Chain, kWorkersMax + 1> chains;
  Chain refused;
  Refusal why;
  if (const Status status = admit_any(&why); !status.ok()) [[unlikely]] {
    for (Transaction* transaction : transactions) refused.add(transaction);
    return refuse(&refused, status, why);
  }
  int64_t time_us = environment_.clock.now_us() - kPostgresEpochUs;
  for (Transaction* transaction : transactions) {
    uint32_t lane;
    Status status = admit(transaction, time_us, &lane);
    if (status.ok()) [[likely]] {
      chains[lane].add(transaction);
    } else {
      refused.add(transaction);
      refuse(&refused, status, sqlstate_of(status) == "08P01" ? Refusal::kParameters : Refusal::kLog);
    }
  }
  for (uint32_t i = 0; i < options_.workers; ++i) {
    if (chains[i].count > 0) hand_over(&workers_[i]->queue(), &chains[i], /*crossing=*/false);
    if (chains[i].count > 0) workers_[i]->wake();
  }
  Chain& crossing = chains[options_.workers];
  if (crossing.count > 0) hand_over(&rendezvous_.queue(), &crossing, /*crossing=*/true);
}

// The caller waits for the transaction, which was admitted: it runs it as a guest where the workers that it needs rest.
// False: it has not run.
bool PartitionEngine::run_here(Transaction* transaction, uint32_t lane) {
  if (!prepared_of(*transaction).is_program()) return false;
  const BoundedWork::Pause pause;  // the executor has bounds of its own
  const bool is_alone = lane == options_.workers;
  Worker* worker = workers_[is_alone ? 0 : lane].get();
  for (int i = 0; i < kGuestSpins; ++i) {
    if (worker->try_enter()) {
      bool has_run = true;
      if (is_alone) {
        has_run = rendezvous_.try_lead(worker, transaction);
      } else {
        worker->run_one(transaction);
      }
      worker->leave();
      if (has_run) return true;
    }
    spin_pause();
  }
  return false;
}

// One whose caller waits for it. The answer comes as for submit().
void PartitionEngine::submit_here(Transaction* transaction) {
  Refusal why;
  uint32_t lane = 0;
  const int64_t time_us = environment_.clock.now_us() - kPostgresEpochUs;
  const bool is_admitted = admit_any(&why).ok() && admit(transaction, time_us, &lane).ok();
  if (!is_admitted || !run_here(transaction, lane)) submit({&transaction, 1});
}

// Those for whom there is no room are refused, the newest first.
void PartitionEngine::hand_over(TransactionQueue* queue, Chain* chain, bool crossing) {
  uint32_t granted = queue->reserve(chain->count);
  Chain refused;
  while (chain->count > granted) refused.add(chain->remove_newest());
  if (refused.count > 0) refuse(&refused, queue_full_error(), Refusal::kQueueFull);
  if (chain->count == 0) return;
  if (crossing ? rendezvous_.push(*chain) : queue->push(*chain)) return;
  queue->cancel(chain->count);
  refuse(chain, query::stopping_error(), Refusal::kStopping);
}

void PartitionEngine::refuse(Chain* chain, const Status& status, Refusal why) {
  refused_[static_cast<size_t>(why)].fetch_add(chain->count, std::memory_order_relaxed);
  Transaction* transaction = chain->newest;
  *chain = Chain();
  while (transaction != nullptr) {
    Transaction* next = transaction->next;
    transaction->status = status;
    transaction->result.clear_rows();
    transaction->result.command_tag.clear();
    transaction->done(transaction);
    transaction = next;
  }
}

}  // namespace scyper::primary
