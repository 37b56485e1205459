#include <memory>
#include <utility>

#include "partition_engine.h"

// Who takes the steps of compaction, and when (docs/compaction.md, In a node).
namespace scyper::primary {

namespace {
// Of compaction in shared tables, while all workers stand still: about what one transaction takes.
constexpr int64_t kSharedStepsNs = 200'000;
}  // namespace

// After recovery: from here on the workers take its steps. is_warm: a secondary has started it.
Status PartitionEngine::start_compaction(bool is_warm) {
  if (!is_warm) {
    SCYPER_ASSIGN_OR_RETURN(compaction_, replay::Compaction::start(database_.get(), options_.compaction));
  }
  environment_.compaction = compaction_.get();
  shared_tables_.has_partitions = false;
  return Status();
}

// By the compactor's thread.
void PartitionEngine::make_steps_due(storage::Compactor::Due due) {
  for (auto& worker : workers_) worker->make_step_due();
  if (due != storage::Compactor::Due::kPartition) request_shared_steps();
}

void PartitionEngine::request_shared_steps() {
  if (rendezvous_.is_closing() || awaits_shared_steps_.exchange(true)) return;
  struct SharedSteps : ExclusiveWork {
    PartitionEngine* engine = nullptr;
  };
  auto exclusive = std::make_unique<SharedSteps>();
  exclusive->engine = this;
  exclusive->run = [this] { return take_shared_steps(); };
  exclusive->done = [](Transaction* transaction) {
    const std::unique_ptr<SharedSteps> ended(static_cast<SharedSteps*>(transaction));
    --ended->engine->steps_waiting_;
  };
  ++steps_waiting_;
  if (push_exclusive(exclusive.get())) {
    static_cast<void>(exclusive.release());
  } else {
    --steps_waiting_;
  }
}

// While all workers stand still, so that nobody reads the tables.
Status PartitionEngine::take_shared_steps() {
  awaits_shared_steps_ = false;
  const int64_t end_ns = environment_.clock.monotonic_ns() + kSharedStepsNs;
  while (compaction_->take_step(&shared_tables_, nullptr)) {
    if (environment_.clock.monotonic_ns() < end_ns) continue;
    request_shared_steps();
    break;
  }
  return Status();
}

}  // namespace scyper::primary
