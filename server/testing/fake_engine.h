#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "primary/engine.h"

namespace scyper::server {

// An engine for tests of what stands before it: statements are C++ functions, one worker runs them in order, and the
// test can hold it to fill the queue. It knows:
//   CALL add($1, $2)       (int4, int4) -> sum int4; 22003 when it overflows
//   CALL echo($1..$6)      (int8, text, numeric, float8, timestamp, text[]) -> the same
//   CALL fail($1)          (text) -> fails with that SQLSTATE
//   CALL fail_by_turns($1) (text) -> fails with the next of those SQLSTATEs, separated by blanks; then succeeds
//   CALL slow()            -> waits until open_slow() was called; other calls overtake it
//   SELECT 1               -> 1
//   SELECT * FROM numbers  -> `numbers` rows of (n int4, square int8, word text)
// and scripts of those, separated by semicolons.
class FakeEngine final : public primary::Engine {
 public:
  using Body = std::function<Status(const std::vector<Datum>& arguments, query::ResultSet* result)>;

  FakeEngine();
  ~FakeEngine() override;

  void hold();  // calls wait in the queue
  void release();
  void open_slow();
  uint64_t executed() const { return counters_.committed + counters_.rolled_back; }
  size_t prepares() const { return prepares_; }

  size_t numbers = 3;
  std::deque<std::string> copy_errors;    // SQLSTATEs of the next open_copy(); set while none runs
  std::deque<std::string> script_errors;  // likewise of execute_script(); "" for none
  std::vector<uint64_t> script_requests;  // their request ids
  size_t queue_capacity = 100'000;
  std::vector<Datum> loaded() const;
  void set_log(const LogInfo& log);

  StatusOr<std::shared_ptr<const primary::Statement>> prepare(std::string_view sql) override;
  void submit(std::span<primary::Transaction* const> transactions) override;
  Status execute(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                 const primary::StatementLimits& limits = {}) override;
  Status execute_script(std::string_view sql, const std::function<void(const query::ResultSet&)>& each,
                        const primary::StatementLimits& limits = {}) override;
  StatusOr<std::unique_ptr<primary::CopyIn>> open_copy(std::string_view sql) override;
  Status load(std::string_view table, std::span<const Datum> values) override;
  StatusOr<std::vector<query::ResultColumn>> describe(std::string_view table) override;
  std::vector<TableInfo> tables() override;
  std::vector<RoutineInfo> routines() override;
  const primary::EngineCounters& counters() const override { return counters_; }
  const primary::EngineOptions& options() const override { return options_; }
  size_t memory_used_bytes() const override { return 4096; }
  uint64_t queue_depth() const override;
  LogInfo log_info() const override;

 private:
  struct FakeStatement;
  void add(std::string sql, std::vector<SqlType> parameters, std::vector<query::ResultColumn> columns, Body body);
  void work();
  void run(primary::Transaction* transaction);

  primary::EngineOptions options_;
  primary::EngineCounters counters_;
  std::atomic<size_t> prepares_{0};
  std::map<std::string, std::shared_ptr<const FakeStatement>, std::less<>> statements_;
  std::map<std::string, size_t, std::less<>> turns_;  // the worker's: where fail_by_turns has come to
  mutable absl::Mutex mutex_;
  std::deque<primary::Transaction*> queue_ ABSL_GUARDED_BY(mutex_);
  std::vector<primary::Transaction*> slow_ ABSL_GUARDED_BY(mutex_);
  std::vector<Datum> loaded_ ABSL_GUARDED_BY(mutex_);
  LogInfo log_ ABSL_GUARDED_BY(mutex_);
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  bool slow_open_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread worker_;
};

}  // namespace scyper::server
