#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "partition_engine.h"
#include "procedures.h"

// What the engine counts, as others read it.
namespace scyper::primary {

void PartitionEngine::sum_counters() const {
  uint64_t committed = 0, rolled_back = 0, crossing = 0, misclassified = 0, redo_bytes = 0;
  std::array<uint64_t, kRefusals> refused_by{};
  for (size_t why = 0; why < kRefusals; ++why) refused_by[why] = refused_[why].load(std::memory_order_relaxed);
  std::vector<const ExecutorCounters*> all{&large_->executor().counters()};
  for (const auto& worker : workers_) all.push_back(&worker->executor().counters());
  for (const ExecutorCounters* each : all) {
    const ExecutorCounters& own = *each;
    for (const auto& outcomes : own.by_procedure) {
      committed += outcomes.committed.value();
      rolled_back += outcomes.rolled_back.value();
    }
    crossing += own.crossing.value();
    misclassified += own.misclassified.value();
    for (size_t why = 0; why < kRefusals; ++why) refused_by[why] += own.refused[why].value();
  }
  for (const auto& stream : environment_.streams) redo_bytes += stream->bytes();
  counters_.committed.store(committed, std::memory_order_relaxed);
  counters_.rolled_back.store(rolled_back, std::memory_order_relaxed);
  counters_.crossing.store(crossing, std::memory_order_relaxed);
  counters_.misclassified.store(misclassified, std::memory_order_relaxed);
  uint64_t refused = 0;
  for (size_t why = 0; why < kRefusals; ++why) {
    counters_.refused_by[why].store(refused_by[why], std::memory_order_relaxed);
    refused += refused_by[why];
  }
  counters_.refused.store(refused, std::memory_order_relaxed);
  counters_.redo_bytes.store(redo_bytes, std::memory_order_relaxed);
  counters_.statements_compiled.store(database_->programs_compiled(), std::memory_order_relaxed);
}

const EngineCounters& PartitionEngine::counters() const {
  sum_counters();
  return counters_;
}

uint64_t PartitionEngine::queue_depth() const {
  const uint64_t own = steps_waiting_.load(), waiting = rendezvous_.depth();
  uint64_t depth = waiting - std::min(waiting, own);
  for (const auto& worker : workers_) depth += worker->queue().depth();
  return depth;
}

Engine::Activity PartitionEngine::activity() const {
  Activity activity;
  for (const auto& worker : workers_) activity.queue_depths.push_back(worker->queue().depth());
  const std::vector<std::string> names = environment_.procedures.names();
  for (uint32_t slot = 0; slot < names.size(); ++slot) {
    Activity::Procedure procedure;
    procedure.name = names[slot];
    const auto add = [&](const Executor& executor) {
      const ExecutorCounters::Outcomes& outcomes = executor.counters().by_procedure[slot];
      procedure.committed += outcomes.committed.value();
      procedure.rolled_back += outcomes.rolled_back.value();
    };
    for (const auto& worker : workers_) add(worker->executor());
    add(large_->executor());
    const ProcedureTable::Times& times = environment_.procedures.times(slot);
    procedure.waits = times.waits.read();
    procedure.runs = times.runs.read();
    if (slot != ProcedureTable::kOthers || procedure.committed + procedure.rolled_back > 0)
      activity.procedures.push_back(std::move(procedure));
  }
  const CopyMemory& copies = copy_memory_;
  activity.copies = {.open = copies.open,
                     .done = copies.done,
                     .failed = copies.failed,
                     .rows = copies.rows,
                     .memory_bytes = copies.bytes};
  return activity;
}

}  // namespace scyper::primary
