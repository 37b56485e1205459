#include "ch_database.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "client/ch/consistency.h"
#include "client/ch/sql.h"
#include "progress.h"

namespace scyper::client {

namespace {

struct LoadTask {
  const ch::TableInfo* table;
  int32_t warehouse;  // 0 = a shared table
};

// Takes tasks off one list until it is empty or one of the threads has failed. Threads: run() by any number.
class ChLoader {
 public:
  ChLoader(Session* session, const ch::Generator& generator, Progress* progress)
      : session_(session), generator_(generator), progress_(progress) {
    for (const ch::TableInfo& table : ch::all_tables()) {
      int32_t warehouses = table.warehouse_column < 0 ? 1 : generator.scale().warehouses;
      for (int32_t w = 1; w <= warehouses; ++w) tasks_.push_back({&table, table.warehouse_column < 0 ? 0 : w});
    }
  }

  void run() {
    while (!has_failed_) {
      size_t index = next_.fetch_add(1);
      if (index >= tasks_.size()) return;
      Status status = load(tasks_[index]);
      if (status.ok()) continue;
      has_failed_ = true;
      absl::MutexLock lock(&mutex_);
      if (status_.ok()) status_ = std::move(status);
    }
  }
  Status status() {
    absl::MutexLock lock(&mutex_);
    return status_;
  }
  uint64_t rows() const { return rows_; }

 private:
  Status load(const LoadTask& task) {
    SCYPER_ASSIGN_OR_RETURN(Session::Loader loader, session_->open_load(std::string(task.table->name)));
    ch::RowCursor cursor(generator_, task.table->table, task.warehouse);
    for (ch::RowBatch batch = cursor.next(); batch.rows > 0; batch = cursor.next()) {
      SCYPER_RETURN_IF_ERROR(loader({batch.values, batch.rows * batch.columns}));
      rows_ += batch.rows;
      progress_->add(batch.rows);
    }
    return {};
  }

  Session* const session_;
  const ch::Generator& generator_;
  Progress* const progress_;
  std::vector<LoadTask> tasks_;
  std::atomic<size_t> next_{0};
  std::atomic<uint64_t> rows_{0};
  std::atomic<bool> has_failed_{false};
  absl::Mutex mutex_;
  Status status_ ABSL_GUARDED_BY(mutex_);
};

uint64_t expected_rows(const ch::Generator& generator) {
  int64_t rows = 0;
  for (const ch::TableInfo& table : ch::all_tables()) {
    int64_t times = table.warehouse_column < 0 ? 1 : generator.scale().warehouses;
    rows += times * generator.row_count(table.table, table.warehouse_column < 0 ? 0 : 1);
  }
  return static_cast<uint64_t>(rows);
}

}  // namespace

StatusOr<ChLoadResult> create_ch_database(Session* session, const ch::Generator& generator,
                                          const ChDatabaseOptions& options) {
  auto start = std::chrono::steady_clock::now();
  ch::SchemaOptions schema;
  schema.partition_by = "HASH";
  if (!options.layout.empty()) schema.with = "layout = " + options.layout;
  auto ignore = [](const query::ResultSet&) {};
  SCYPER_RETURN_IF_ERROR(session->execute(ch::schema_sql(schema), ignore));
  SCYPER_RETURN_IF_ERROR(session->execute(ch::procedures_sql(), ignore));
  Progress progress("loading " + std::to_string(generator.scale().warehouses) + " warehouses", expected_rows(generator),
                    !options.is_quiet);
  ChLoader loader(session, generator, &progress);
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < options.threads; ++i) threads.emplace_back([&loader] { loader.run(); });
  loader.run();
  for (std::thread& thread : threads) thread.join();
  SCYPER_RETURN_IF_ERROR(loader.status());
  progress.finish();
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return ChLoadResult{loader.rows(), took.count()};
}

ConsistencyReport check_consistency(Session* session, const ch::Scale& scale, bool after_load) {
  ConsistencyReport report;
  for (const ch::ConsistencyCheck& check : ch::consistency_checks(scale)) {
    if (check.after_load_only && !after_load) continue;
    ++report.checked;
    uint64_t rows = 0;
    Status status = session->execute(check.sql, [&](const query::ResultSet& result) { rows = result.row_count(); });
    if (status.ok() && rows == 0) continue;
    std::string error = status.ok() ? "" : sqlstate_of(status) + ": " + std::string(status.message());
    report.violations.push_back({check.name, check.meaning, rows, std::move(error)});
  }
  return report;
}

}  // namespace scyper::client
