#include "compile/alone.h"

#include <atomic>
#include <unordered_set>
#include <utility>

#include "query/error_status.h"
#include "query/program.h"
#include "storage/pauses.h"
#include "storage/statistics.h"

namespace scyper::query {

void enter_alone(const DatabaseOptions& options, storage::ChangeLog* log, ScratchArena* scratch, ResultSet* result,
                 ExecContext* context) {
  context->set_log(log);
  context->scratch = scratch;
  context->partitions = options.partitions;
  context->partition = ~uint32_t{0};
  context->crossing = 1;
  context->result = result;
}

namespace {

// At each poll of the program others have their turn, where its thread runs in slices.
void pause_at_polls(ExecContext* context) {
  if (storage::Pauses::current == nullptr) return;
  context->safepoint_owner = context;
  context->safepoint = [](void* owner) {
    storage::Pauses::current->pause();
    static_cast<ExecContext*>(owner)->interrupt.fetch_or(kSafepointBit, std::memory_order_relaxed);
  };
  context->interrupt.store(kSafepointBit, std::memory_order_relaxed);
}

}  // namespace

StatusOr<ResultSet> query_alone(const DatabaseOptions& options, storage::Arena* arena, const Program& program,
                                int64_t time_us, bool* has_changed) {
  SCYPER_ASSIGN_OR_RETURN(auto log, storage::ChangeLog::create(arena, {}));
  ScratchArena scratch(size_t{4} << 30);
  ResultSet result;
  result.columns = program.columns();
  ExecContext context;
  enter_alone(options, log.get(), &scratch, &result, &context);
  context.result_bytes_max = SIZE_MAX;
  context.transaction_time_us = time_us;
  pause_at_polls(&context);
  const Outcome outcome = program.run(&context, nullptr);
  *has_changed = log->undo_bytes() > 0;
  log->rollback_all();
  if (outcome == Outcome::kOk) return result;
  return status_of(context.error);
}

void AloneInterruption::begin(ExecContext* context) {
  std::lock_guard<std::mutex> lock(mutex_);
  context_ = context;
}

void AloneInterruption::end() { begin(nullptr); }

// A function of its own for tools/tsan.supp: generated code reads the flag by plain loads.
[[gnu::noinline]] void AloneInterruption::raise(Interrupt why) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (context_ != nullptr) context_->interrupt.store(static_cast<uint32_t>(why), std::memory_order_release);
}

Status change_alone(const DatabaseOptions& options, storage::Arena* arena, const Program& program, const AloneRun& run,
                    ResultSet* result) {
  storage::ChangeLog::Options limits;
  limits.undo_limit_bytes = SIZE_MAX / 4;
  limits.redo_limit_bytes = run.redo_bytes_max;
  SCYPER_ASSIGN_OR_RETURN(auto log, storage::ChangeLog::create(arena, limits));
  log->record_redo(run.redo != nullptr);
  ScratchArena scratch(size_t{4} << 30);
  ResultSet ignored;
  ExecContext context;
  enter_alone(options, log.get(), &scratch, &ignored, &context);
  context.notices = &result->notices;
  context.transaction_time_us = run.time_us;
  context.feed = run.feed;
  if (run.interruption != nullptr) run.interruption->begin(&context);
  const Outcome outcome = program.run(&context, run.arguments);
  if (run.interruption != nullptr) run.interruption->end();
  Status status = outcome == Outcome::kOk ? Status() : status_of(context.error);
  if (status.ok() && !log->log_sequences()) status = storage::change_status(log->last_result(), *log, nullptr);
  if (!status.ok()) {
    log->rollback_all();
    return with_notices(std::move(status), std::exchange(result->notices, {}));
  }
  if (run.redo != nullptr) *run.redo = log->redo();
  log->commit();
  result->affected_rows = context.affected_rows;
  return Status();
}

namespace {
constexpr uint64_t kFirstTrial = uint64_t{3} << 61;
}

bool is_trial(uint64_t catalog_version) { return catalog_version >= kFirstTrial; }

uint64_t trial_version() {
  static std::atomic<uint64_t> trials{kFirstTrial};
  return trials.fetch_add(1);
}

void release_dropped(const Catalog& before, const Catalog& now) {
  std::unordered_set<const storage::Table*> kept;
  for (const auto& [name, table] : now.tables) kept.insert(table.get());
  for (const auto& [name, table] : before.tables)
    if (!kept.contains(table.get())) table->release();
}

void note_growth(storage::Table* table) {
  if (storage::needs_statistics(*table)) table->set_statistics(storage::collect_statistics(*table));
}

}  // namespace scyper::query
