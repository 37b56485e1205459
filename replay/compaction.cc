#include "replay/compaction.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "storage/change_log.h"

namespace scyper::replay {

namespace {

storage::Compactor::Options compactor_options(storage::AccessObserver* observer, storage::FrozenTier* tier,
                                              std::function<void()> at_window_end) {
  storage::Compactor::Options options;
  options.tier = tier;
  options.is_forced = observer == nullptr;
  options.observer = observer;
  options.at_window_end = std::move(at_window_end);
  return options;
}

StatusOr<std::unique_ptr<storage::AccessObserver>> observer_of(const CompactionOptions& options) {
  if (options.mode == CompactionMode::kForced) return std::unique_ptr<storage::AccessObserver>();
  auto observer = storage::choose_observer(options.observer);
  if (observer.ok()) return observer;
  return with_hint(sql_error("0A000", absl::StrCat("no access observer for compaction works here: ",
                                                   std::string(observer.status().message()))),
                   "Set access_observer = auto, which takes one that works.");
}

}  // namespace

StatusOr<std::unique_ptr<Compaction>> Compaction::start(query::Database* database, const CompactionOptions& options) {
  if (options.mode == CompactionMode::kOff) return std::unique_ptr<Compaction>();
  CHECK(database->frozen_memory() != nullptr);  // options.frozen_bytes()
  SCYPER_ASSIGN_OR_RETURN(auto observer, observer_of(options));
  SCYPER_ASSIGN_OR_RETURN(auto log, storage::ChangeLog::create(database->arena(), {}));
  log->record_redo(false);
  std::unique_ptr<Compaction> made(new Compaction(database, std::move(observer), std::move(log)));
  made->compactor_.start(options.window_us, [compaction = made.get()](storage::Compactor::Due due) {
    MutexLock lock(&compaction->due_mutex_);
    if (compaction->when_due_) compaction->when_due_(due);
  });
  return made;
}

Compaction::Compaction(query::Database* database, std::unique_ptr<storage::AccessObserver> observer,
                       std::unique_ptr<storage::ChangeLog> log)
    : database_(database),
      observer_(std::move(observer)),
      log_(std::move(log)),
      compactor_(compactor_options(observer_.get(), database->tier(), [this] { learn(); })) {}

Compaction::~Compaction() = default;

// By the compactor's thread.
void Compaction::learn() {
  const query::LearningChanges changes = query::learn_hot_views(*database_->catalog());
  views_adopted_.fetch_add(changes.adopted, std::memory_order_relaxed);
  views_given_up_.fetch_add(changes.given_up, std::memory_order_relaxed);
}

// Data of the tier that was in memory before a restart comes back at once.
void Compaction::set_when_due(WhenDue when_due) {
  MutexLock lock(&due_mutex_);
  when_due_ = std::move(when_due);
  if (when_due_ && database_->tier() != nullptr) when_due_(storage::Compactor::Due::kAll);
}

bool Compaction::take_step(Share* share, storage::ChangeLog* log) {
  const auto start = std::chrono::steady_clock::now();
  // held until the step is over: its tables stay
  const std::shared_ptr<const query::Catalog> catalog = database_->catalog();
  if (share->catalog_version != catalog->version) {
    share->partitions.clear();
    for (const auto& [name, table] : catalog->tables) {
      if (table->frozen_store() == nullptr) continue;
      const bool is_shared = table->schema().scheme == storage::PartitionScheme::kShared;
      if (!(is_shared ? share->has_shared : share->has_partitions)) continue;
      for (uint32_t p = is_shared ? 0 : share->number; p < table->partition_count(); p += share->count) {
        share->partitions.push_back(table->partition(p));
      }
    }
    share->catalog_version = catalog->version;
  }
  const bool has_done = compactor_.take_step(share->partitions, log != nullptr ? log : log_.get());
  const auto taken = std::chrono::steady_clock::now() - start;
  steps_.fetch_add(has_done ? 1 : 0, std::memory_order_relaxed);
  step_ns_.fetch_add(static_cast<uint64_t>(taken / std::chrono::nanoseconds(1)), std::memory_order_relaxed);
  return has_done;
}

std::string_view Compaction::observer() const {
  return observer_ == nullptr ? "forced" : storage::name_of(observer_->kind());
}

}  // namespace scyper::replay
