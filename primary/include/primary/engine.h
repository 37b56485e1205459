#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "query/result.h"
#include "storage/arena.h"
#include "storage/schema.h"

namespace scyper::primary {

enum class ExecutionMode : uint8_t {
  kAdaptive,     // interpreter for statements that run once, quick native code for the rest, better code in the background
  kInterpreted,  // interpreter only
  kQuick,        // native, quick tier only
  kBetter,       // native, better tier, compiled before the first run
};

enum class RedoMode : uint8_t { kNone, kLogical, kPhysical };

struct EngineOptions {
  uint32_t partitions = 4;
  uint32_t workers = 2;               // partition p belongs to worker p % workers
  size_t memory_bytes = size_t{8} << 30;  // budget of the arena; over it statements fail with 53200
  storage::PageMode page_mode = storage::PageMode::kTransparentHuge;
  storage::Layout layout = storage::Layout::kColumn;  // where a table does not say WITH (layout = ...)
  ExecutionMode execution = ExecutionMode::kAdaptive;
  RedoMode redo = RedoMode::kLogical;
  uint32_t queue_capacity = 4096;     // transactions per worker; a full queue refuses with 53300 and a retry hint
  uint64_t transaction_time_us_max = 10'000'000;  // 57014 beyond
  size_t redo_bytes_max = size_t{64} << 20;       // per transaction
};

// A prepared CALL or statement: compiled, with $1..$n parameters. Immutable and shared; survives DDL (it is bound anew when what
// it uses has changed). Threads: any.
class Statement {
 public:
  virtual ~Statement() = default;
  virtual const std::vector<SqlType>& parameter_types() const = 0;
  virtual const std::vector<query::ResultColumn>& columns() const = 0;
  virtual std::string_view text() const = 0;
};

// One transaction on its way: filled by the caller, executed by a worker, answered by `done`. The caller owns it and what its
// arguments point to until `done` was called; it may be reused then.
struct Transaction {
  std::shared_ptr<const Statement> statement;
  std::vector<Datum> arguments;   // by parameter_types()
  uint64_t request_id = 0;        // made by the client; 0 = none
  int64_t deadline_ns = 0;        // monotonic; 0 = none
  // Called once, by a worker thread (or by submit's caller when it is refused): must be quick and must not block.
  void (*done)(Transaction*) = nullptr;
  void* owner = nullptr;

  // The answer, valid in and after `done`.
  Status status;
  query::ResultSet result;
  bool retried_as_crossing = false;

  // --- the engine's own, from here on ---
  uint64_t submitted_ns = 0;
  Transaction* next = nullptr;
  bool crossing = false;
  uint32_t partition = 0;
};

struct EngineCounters {
  std::atomic<uint64_t> committed{0};
  std::atomic<uint64_t> rolled_back{0};
  std::atomic<uint64_t> crossing{0};
  std::atomic<uint64_t> misclassified{0};
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> redo_bytes{0};
  std::atomic<uint64_t> statements_compiled{0};
};

// One node's transaction engine: catalog, tables, partition workers, statement cache.
// Threads: every public function may be called by any thread.
class Engine {
 public:
  static StatusOr<std::unique_ptr<Engine>> create(const EngineOptions& options);
  virtual ~Engine() = default;  // finishes what is queued, stops the workers

  // Parses, binds and compiles one statement; cached by text. Errors carry SQLSTATE and position.
  virtual StatusOr<std::shared_ptr<const Statement>> prepare(std::string_view sql) = 0;
  // Hands the transactions to their workers' queues. Never blocks: those that find a full queue are answered at once with 53300.
  virtual void submit(std::span<Transaction* const> transactions) = 0;
  // prepare + submit + wait for one statement. Runs any statement, DDL included.
  virtual Status execute(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result) = 0;
  // Runs a text of several statements separated by semicolons, each its own transaction; `each` sees every result. Stops at the first error.
  virtual Status execute_script(std::string_view sql, const std::function<void(const query::ResultSet&)>& each) = 0;

  // Bulk load: rows of one table, row after row, in table column order. All or nothing per call. Runs beside no transaction.
  virtual Status load(std::string_view table, std::span<const Datum> values) = 0;
  // Columns of a table (42P01 when absent), for loaders.
  virtual StatusOr<std::vector<query::ResultColumn>> describe(std::string_view table) = 0;

  struct TableInfo {
    std::string name;
    std::string partitioning;   // "shared", "hash (w_id)"
    uint64_t rows = 0;
    size_t bytes = 0;
    std::string layout;
    std::vector<query::ResultColumn> columns;
    std::vector<std::string> indexes;
  };
  virtual std::vector<TableInfo> tables() = 0;
  struct RoutineInfo {
    std::string signature;
    std::string kind;           // "procedure", "function"
    std::string classification; // "partition-constrained by p_w_id", ...
  };
  virtual std::vector<RoutineInfo> routines() = 0;

  virtual const EngineCounters& counters() const = 0;
  virtual const EngineOptions& options() const = 0;
  virtual size_t memory_used_bytes() const = 0;
  virtual uint64_t queue_depth() const = 0;
};

}  // namespace scyper::primary
