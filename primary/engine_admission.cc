// Admits transactions, and chooses the thread that runs each.
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

// The worker that runs it; the number of workers where it runs alone. With one worker all have the node for themselves.
uint32_t PartitionEngine::lane_of(const Transaction& transaction) const {
  return transaction.crossing && options_.workers > 1 ? options_.workers : transaction.partition % options_.workers;
}

// Fills in what the engine keeps in a transaction; lane: as lane_of() will be. why: of an error.
Status PartitionEngine::admit(Transaction* transaction, int64_t time_us, uint32_t* lane, Refusal* why) {
  CHECK(transaction->statement != nullptr && transaction->done != nullptr);
  transaction->time_us = time_us;
  transaction->crossing = false;
  transaction->retried_as_crossing = false;
  transaction->ended_waits.clear();
  *lane = options_.workers;
  const PreparedStatement& statement = prepared_of(*transaction);
  size_t expected = statement.parameter_types().size();
  if (transaction->arguments.size() != expected) [[unlikely]] {
    *why = Refusal::kParameters;
    return wrong_parameter_count(transaction->arguments.size(), expected);
  }
  *why = Refusal::kLog;
  if (environment_.log != nullptr && (environment_.log->is_full() || environment_.log->is_failed()) &&
      may_write(statement)) [[unlikely]] {
    return environment_.log->refusal();
  }
  if (!statement.is_program()) return Status();
  Placement placement = statement.classification().place(transaction->arguments);
  transaction->crossing = placement.kind == Placement::Kind::kCrossing;
  const bool is_anywhere = placement.kind == Placement::Kind::kAnywhere;
  if (!transaction->crossing)
    transaction->partition = is_anywhere ? next_partition(options_.partitions) : placement.partition;
  *lane = lane_of(*transaction);
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
    Status status = admit(transaction, time_us, &lane, &why);
    if (status.ok()) [[likely]] {
      chains[lane].add(transaction);
    } else {
      refused.add(transaction);
      refuse(&refused, status, why);
    }
  }
  for (uint32_t i = 0; i <= options_.workers; ++i) {
    if (chains[i].count > 0) hand_over(i, &chains[i]);
  }
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

// Takes a transaction whose caller waits for it. The answer comes as for submit().
void PartitionEngine::submit_here(Transaction* transaction) {
  Refusal why;
  uint32_t lane = 0;
  Status status = admit_any(&why);
  if (status.ok()) status = admit(transaction, environment_.clock.now_us() - kPostgresEpochUs, &lane, &why);
  if (!status.ok()) return refuse_one(transaction, status, why);
  if (run_here(transaction, lane)) return;
  Chain chain;
  chain.add(transaction);
  hand_over(lane, &chain);
}

// Of the worker, or of those that run alone.
TransactionQueue& PartitionEngine::queue_of(uint32_t lane) {
  return lane == options_.workers ? rendezvous_.queue() : workers_[lane]->queue();
}

// After a reservation in that queue. False: closed.
bool PartitionEngine::push(uint32_t lane, const Chain& chain) {
  if (lane == options_.workers) return rendezvous_.push(chain);
  if (!workers_[lane]->queue().push(chain)) return false;
  workers_[lane]->wake();
  return true;
}

// Those for whom there is no room are refused, the newest first.
void PartitionEngine::hand_over(uint32_t lane, Chain* chain) {
  uint32_t granted = queue_of(lane).reserve(chain->count);
  Chain refused;
  while (chain->count > granted) refused.add(chain->remove_newest());
  if (refused.count > 0) refuse(&refused, queue_full_error(), Refusal::kQueueFull);
  if (chain->count == 0) return;
  if (push(lane, *chain)) return;
  queue_of(lane).cancel(chain->count);
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
