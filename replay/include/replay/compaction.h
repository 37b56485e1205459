#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "base/status.h"
#include "query/database.h"
#include "query/learned_views.h"
#include "storage/compactor.h"
#include "storage/tier_options.h"

namespace scyper::replay {

enum class CompactionMode : uint8_t {
  kOff,
  kOn,      // what transactions leave alone
  kForced,  // for tests: everything, at the end of each window
};

struct CompactionOptions {
  CompactionMode mode = CompactionMode::kOff;
  size_t frozen_bytes_max = size_t{8} << 30;  // of frozen chunks; beyond it chunks stay hot
  std::string observer = "auto";              // storage::choose_observer()
  uint64_t window_us = 10'000'000;
  storage::FrozenTierOptions tier;  // query::DatabaseOptions::tier

  // query::DatabaseOptions::frozen_bytes
  size_t frozen_bytes() const { return mode == CompactionMode::kOff ? 0 : frozen_bytes_max; }
};

// Compaction in a running node, primary or secondary: the compactor, what tells it which chunks are cold, and whose
// partitions are whose. Each node compacts for itself; logs and digests do not show it (docs/compaction.md).
// Owner: whoever runs the node's transactions; goes with the database from a secondary to the primary that it becomes,
// and before the database. Threads: the compactor's; take_step() one at a time per share; all else any.
class Compaction {
 public:
  using WhenDue = storage::Compactor::WhenDue;

  // Null where the mode is kOff. 0A000 where no observer works here.
  static StatusOr<std::unique_ptr<Compaction>> start(query::Database* database, const CompactionOptions& options);
  ~Compaction();
  Compaction(const Compaction&) = delete;
  Compaction& operator=(const Compaction&) = delete;

  // Called by the compactor's thread when steps are due: must be quick. Empty: nobody. When it returns, nothing runs in
  // the one before.
  void set_when_due(WhenDue when_due) ABSL_LOCKS_EXCLUDED(due_mutex_);

  // Whose steps: partitions p with p % count == number of partitioned tables, and shared tables.
  struct Share {
    uint32_t number = 0;
    uint32_t count = 1;
    bool has_partitions = true;
    bool has_shared = true;
    // of the catalog that the share has seen last
    uint64_t catalog_version = ~uint64_t{0};
    std::vector<storage::TablePartition*> partitions;
  };
  // Between transactions, by whom the share belongs to. log: empty; null: one that all who pass null take in turn.
  // False: nothing to do until steps are due again.
  bool take_step(Share* share, storage::ChangeLog* log);

  std::string_view observer() const;  // "forced" where nobody is asked
  storage::Compactor::Counts counts() const { return compactor_.counts(); }
  std::map<TableId, storage::Compactor::TableCounts> table_counts() const { return compactor_.table_counts(); }
  storage::FrozenMemory::Usage memory() const { return database_->frozen_memory()->usage(); }
  size_t memory_budget_bytes() const { return database_->frozen_memory()->budget_bytes(); }
  storage::FrozenTier* tier() const { return database_->tier(); }  // null: there is none
  // Hot data views that came into use because of what was asked, and went.
  uint64_t views_adopted() const { return views_adopted_.load(std::memory_order_relaxed); }
  uint64_t views_given_up() const { return views_given_up_.load(std::memory_order_relaxed); }
  query::LearningState learning(storage::Workload workload) const {
    return query::learning_state(*database_->catalog(), workload);
  }
  uint64_t steps() const { return steps_.load(std::memory_order_relaxed); }
  uint64_t step_ns() const { return step_ns_.load(std::memory_order_relaxed); }  // in take_step()

 private:
  Compaction(query::Database* database, std::unique_ptr<storage::AccessObserver> observer,
             std::unique_ptr<storage::ChangeLog> log);
  void learn();

  query::Database* const database_;
  const std::unique_ptr<storage::AccessObserver> observer_;  // null: forced
  const std::unique_ptr<storage::ChangeLog> log_;
  std::atomic<uint64_t> steps_{0};
  std::atomic<uint64_t> step_ns_{0};
  std::atomic<uint64_t> views_adopted_{0};
  std::atomic<uint64_t> views_given_up_{0};
  Mutex due_mutex_;
  WhenDue when_due_ ABSL_GUARDED_BY(due_mutex_);
  storage::Compactor compactor_;  // last: its thread uses the rest
};

}  // namespace scyper::replay
