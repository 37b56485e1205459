#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "base/status.h"
#include "primary/copy_in.h"
#include "primary/fork.h"
#include "primary/log_options.h"
#include "primary/open_transaction.h"
#include "primary/redo_sink.h"
#include "query/database.h"
#include "query/learned_views.h"
#include "query/queries.h"
#include "query/result.h"
#include "query/settings.h"
#include "replay/compaction.h"
#include "replication/publisher.h"
#include "storage/arena.h"
#include "storage/schema.h"
#include "storage/temperature.h"

namespace scyper::primary {

using query::ExecutionMode;

enum class RedoMode : uint8_t {
  kNone,
  kLogical,   // statement and arguments; physically where the outcome is no function of database, arguments and time
  kPhysical,  // row changes by key
};

// Of one record of the log: a bulk load, CREATE TABLE AS, the row changes of a transaction. A batch holds a whole one.
constexpr size_t kRecordBytesMax = size_t{768} << 20;

struct EngineOptions {
  uint32_t partitions = 4;
  uint32_t workers = 2;  // partition p belongs to worker p % workers; at most one per partition is started
  size_t memory_bytes = size_t{8} << 30;  // budget of the arena; over it statements fail with 53200
  storage::PageMode page_mode = storage::PageMode::kTransparentHuge;
  uint64_t copy_ahead_rate = uint64_t{8} << 30;  // reserved pages copied ahead after a fork, bytes per second; 0 = none
  storage::Layout layout = storage::Layout::kColumn;  // where a table does not say WITH (layout = ...)
  uint64_t shared_rows_min = 10'000;                  // query::DatabaseOptions
  ExecutionMode execution = ExecutionMode::kAdaptive;
  RedoMode redo = RedoMode::kLogical;
  // What runs alone is logged physically whatever `redo` says, and definitions are refused (0A000) whose values depend
  // on rows of several partitions: so that nodes which hold some partitions can replay the log (docs/replication.md,
  // Subscriptions). Not with RedoMode::kNone.
  bool physical_crossing = false;
  uint32_t queue_capacity = 4096;  // transactions per worker; a full queue refuses with 53300 and a retry hint
  uint64_t transaction_time_us_max = 10'000'000;  // 57014 beyond
  uint64_t short_read_us_max =
      2'000;  // run time of a query on a worker; beyond, it goes to a snapshot. 0: none runs there
  // Beyond one of these a block of BEGIN ... COMMIT runs alone: its changes in redo, the changes that its statements
  // have applied again, the rows that one of its statements locks.
  size_t block_redo_bytes_max = size_t{1} << 20;
  uint64_t block_applied_bytes_max = uint64_t{4} << 20;
  uint32_t block_locked_rows_max = 100'000;
  // A statement that changes rows and has run alone for so long begins again as a large transaction, whose slices
  // others run between. 0: at once, for tests.
  uint64_t large_after_us = 4'000;
  size_t redo_bytes_max = kRecordBytesMax;  // row changes in redo per transaction; 53400 beyond
  size_t scratch_bytes_max = 0;             // intermediate results per transaction; 53200 beyond.
                                            // 0: a quarter of memory_bytes
  size_t copy_bytes_max = size_t{1} << 30;  // rows of all COPYs that have not ended; 53200 beyond
  ForkMode fork_mode = ForkMode::kActionConsistent;
  query::QueriesOptions queries;
  replay::CompactionOptions compaction;
  LogOptions log;  // without a directory there is no log
  ReplicationOptions replication;
  std::shared_ptr<RedoSink> redo_sink;  // without a log; null: redo is encoded, counted and dropped
};

// A prepared CALL or statement: compiled, with $1..$n parameters. Immutable and shared; survives DDL (it is bound anew
// when what it uses has changed). Threads: any.
class Statement {
 public:
  virtual ~Statement() = default;
  virtual const std::vector<SqlType>& parameter_types() const = 0;
  virtual const std::vector<query::ResultColumn>& columns() const = 0;
  virtual std::string_view text() const = 0;
};

// Of the session that a statement runs for. What ends it from outside, with 57014 and without a trace, while it waits
// or runs; not while its commit is made durable.
struct StatementLimits {
  int64_t time_us = 0;      // now(), of a block that began earlier; 0 = the moment at which it is submitted
  int64_t deadline_ns = 0;  // monotonic; 0 = none
  const std::atomic<bool>* cancelled =
      nullptr;  // set by any thread, looked at every few milliseconds; outlives the call
  const query::SettingValues* settings = nullptr;  // for current_setting(); null = there is no session
  // What set_config() has given to the session: names and values; null = it is not kept.
  std::vector<query::ChangedSetting>* changed_settings = nullptr;
  // Types of the parameters, as the caller knows them; null = as the statement says. Another node needs them, for it
  // may know the statement otherwise.
  const std::vector<SqlType>* parameter_types = nullptr;
  uint64_t client_id = 0;  // as in Transaction, for one statement
  uint64_t request_id = 0;
};

// 57014 once the statement was cancelled, or its deadline (monotonic; 0: none) is over.
Status why_over(const std::atomic<bool>* cancelled, int64_t deadline_ns, int64_t now_ns);

// Outcome of Engine::execute_short().
enum class ShortRead : uint8_t {
  kDone,    // it ran on a worker
  kLong,    // it is for a snapshot; nothing has happened
  kWrites,  // it calls a function that writes: it is for execute(); nothing has happened
};

// A statement has waited in vain for a block.
struct EndedWait {
  uint64_t block = 0;
  bool is_circle = false;  // 40P01; else lock_timeout, 55P03
};

class Claim;

// A transaction on its way: the caller fills it, a worker executes it, and `done` answers it. The caller owns it and
// what its arguments point to until `done` was called; it may be reused then.
struct Transaction {
  std::shared_ptr<const Statement> statement;
  std::vector<Datum> arguments;                    // by parameter_types()
  uint64_t request_id = 0;                         // made by the client; 0 = none
  uint64_t client_id = 0;                          // drawn by a client that may send its requests again; 0 = none
  int64_t deadline_ns = 0;                         // monotonic; 0 = none
  const std::atomic<bool>* cancelled = nullptr;    // as in StatementLimits; null = none
  const query::SettingValues* settings = nullptr;  // as there
  std::vector<query::ChangedSetting>* changed_settings = nullptr;
  uint64_t run_us_max = 0;    // 57014 beyond; 0 = EngineOptions::transaction_time_us_max
  int64_t block_time_us = 0;  // StatementLimits::time_us
  // What the client sent, where constants of that text have become arguments; empty: the statement's text.
  std::string_view request_text;
  // Called once, by a worker thread (or by submit's caller when it is refused): must be quick and must not block.
  void (*done)(Transaction*) = nullptr;
  void* owner = nullptr;

  // The answer, valid in and after `done`.
  Status status;
  query::ResultSet result;
  bool retried_as_crossing = false;
  bool was_repeated = false;  // had committed before: the answer of that time
  // Of a query with run_us_max: what it has read is the state after this transaction, and no later one.
  uint64_t seen_lsn = 0;

  // --- the engine's own, from here on ---
  Transaction* next = nullptr;
  Claim* claim = nullptr;   // of a caller that may leave it in a queue; null: the caller waits for its answer
  int64_t time_us = 0;      // now(): drawn when it was submitted
  uint64_t columns_of = 0;  // whose columns `result` has: nothing to copy when the same statement runs again
  uint32_t partition = 0;
  bool crossing = false;
  std::vector<EndedWait> ended_waits;  // it runs again, and these blocks' rows are errors, which handlers may catch
  bool has_logged = false;             // it has changed something; set where there are elections
  uint32_t request_role = 0;           // whose request it is: the session's role, by number
  uint64_t request_fingerprint = 0;    // of what it asks for
};

// Why a transaction did not run.
enum class Refusal : uint8_t {
  kQueueFull,   // of its worker, or of those that run alone
  kStopping,    // the node
  kNoPrimary,   // it is not primary any more, or not yet
  kLog,         // its disk is full, or it has failed
  kTimeout,     // its deadline came while it waited
  kCancelled,   // while it waited
  kRequest,     // sent again, and whether it was done is not known any more
  kParameters,  // other ones than the statement's
};
constexpr size_t kRefusals = 8;

// committed, rolled_back: transactions that ran; crossing: those of them that ran alone; misclassified: undone and run
// again as crossing; refused: never ran; refused_by: by Refusal.
struct EngineCounters {
  std::atomic<uint64_t> committed{0};
  std::atomic<uint64_t> rolled_back{0};
  std::atomic<uint64_t> crossing{0};
  std::atomic<uint64_t> misclassified{0};
  std::atomic<uint64_t> blocks_alone{0};  // blocks of BEGIN ... COMMIT that have begun to run alone
  std::atomic<uint64_t> refused{0};
  std::array<std::atomic<uint64_t>, kRefusals> refused_by{};
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
  // Hands the transactions to their workers' queues. Never blocks: those that find a full queue are answered at once
  // with 53300, those that come after the engine has begun to stop with 57P03. Transactions of one partition run in the
  // order in which one thread submitted them; those of different partitions, and partition-crossing ones against all
  // others, in any order: who needs one after the other waits for the first one's answer.
  virtual void submit(std::span<Transaction* const> transactions) = 0;
  // prepare + submit + wait for one statement. Runs any statement, DDL included.
  virtual Status execute(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                         const StatementLimits& limits = {}) = 0;
  // Runs a text of several statements separated by semicolons, each its own transaction; `each` sees every result.
  // Stops at the first error.
  virtual Status execute_script(std::string_view sql, const std::function<void(const query::ResultSet&)>& each,
                                const StatementLimits& limits = {}) = 0;

  // A query that asks for rows, as a read-only transaction on a worker if it is short: it accesses few rows by index.
  // The answer holds every commit that was acknowledged before. A query that runs for longer than short_read_us_max is
  // ended there and is kLong; so are queries of its shape for some seconds. *receipt says of which state the answer is.
  virtual StatusOr<ShortRead> execute_short(std::string_view sql, std::span<const Datum> parameters,
                                            query::ResultSet* result, const StatementLimits& limits,
                                            query::Receipt* receipt);

  // A transaction of several statements, which come while it is open. Waits until it has the engine for itself.
  virtual StatusOr<std::unique_ptr<OpenTransaction>> begin();

  // Temporary tables of a session, by the schema that its settings name (query/search_path.h). What it has left is
  // dropped when it ends.
  virtual bool has_temporary_tables(std::string_view) const { return false; }
  virtual void drop_temporary_tables(const std::string&) {}
  virtual query::AdvisoryLocks* advisory_locks() { return nullptr; }  // null: sessions take none on this node
  virtual void leave_session(const std::string&) {}                   // query::Database
  // The locks that sessions hold and wait for: a row of pg_locks each. Any thread.
  virtual std::vector<query::SessionLock> session_locks() { return {}; }

  // Forks a child with a transaction-consistent copy of all tables and runs a function in it: the primitive under
  // snapshots and archives. Waits for the fork; the caller then owns the child. The engine must outlive it: the child
  // ends with the engine's fork gate.
  virtual StatusOr<Forked> fork(ForkRequest request);
  // Reading statements on snapshots; nullptr where the engine has none.
  virtual query::Queries* queries() { return nullptr; }

  // A caller of execute(), execute_script(), load(), open_copy() and fork() must not be a worker, as in `done`.

  // Bulk load: rows of one table, row after row, in table column order. All or nothing per call. Runs beside no
  // transaction.
  virtual Status load(std::string_view table, std::span<const Datum> values) = 0;
  // COPY ... FROM STDIN. Errors of the statement, with position.
  virtual StatusOr<std::unique_ptr<CopyIn>> open_copy(std::string_view sql);
  // Columns of a table (42P01 when absent), for loaders.
  virtual StatusOr<std::vector<query::ResultColumn>> describe(std::string_view table) = 0;

  struct TableInfo {
    std::string name;
    std::string partitioning;  // "shared", "hash (w_id)"
    uint64_t rows = 0;
    size_t bytes = 0;
    std::string layout;
    std::vector<query::ResultColumn> columns;
    std::vector<std::string> indexes;
    std::vector<std::string> constraints;  // "CONSTRAINT t_a_check CHECK ((a > 0))", foreign keys; "TRIGGER ..."
    storage::TableTemperature temperature;
    std::vector<query::LearnedViewInfo> learned_views;  // docs/tiering.md
  };
  virtual std::vector<TableInfo> tables() = 0;
  struct RoutineInfo {
    std::string signature;
    std::string kind;            // "procedure", "function"
    std::string classification;  // "partition-constrained by p_w_id", ...
  };
  virtual std::vector<RoutineInfo> routines() = 0;
  // What is defined now; null where the engine does not say.
  virtual std::shared_ptr<const query::Catalog> catalog() const { return nullptr; }

  struct ArchiveInfo {
    uint64_t lsn = 0;
    std::string path;
    uint64_t rows = 0;
    uint64_t raw_bytes = 0;
    uint64_t stored_bytes = 0;
    double seconds = 0;
  };
  // Writes an archive beside the transactions (HyPer IV.B); archives: the directory that gets it, empty = the data
  // directory's. 55000 without a data directory. The caller must not be a worker.
  virtual StatusOr<ArchiveInfo> write_archive(const std::string& archives,
                                              const std::function<void(uint64_t raw_bytes)>& on_progress);
  // The node stops: no archive is written any more, who waits for one gets 57P03. Any thread.
  virtual void stop_archives() {}
  struct LogInfo {
    bool is_on = false;
    CommitMode mode = CommitMode::kAsync;
    bool is_full = false;
    uint64_t last_lsn = 0;
    uint64_t durable_lsn = 0;
    uint64_t confirmed_lsn = 0;  // the commit point
    uint64_t groups = 0;
    uint64_t bytes_written = 0;
    uint64_t archive_bytes = 0;     // raw bytes of the archive that is being written
    uint64_t damaged_archives = 0;  // found since the start, and by it
    uint64_t archive_lsn = 0;       // of the newest of the data directory's own archives; 0: there is none
    int64_t archive_time_us = 0;    // when its state was taken, since 1970
    bool is_failed = false;         // it cannot be written: nothing is acknowledged any more
    uint64_t recovered_transactions = 0;
    double recovery_seconds = 0;
  };
  virtual LogInfo log_info() const { return {}; }
  // What a primary offers to its secondaries; nullptr: it takes none. Valid as long as the engine.
  virtual const replication::PublisherOptions* publisher() { return nullptr; }

  // `done` is called once all that runs or waits alone now has ended: what was queued before is over when the queues
  // are empty and this has come. By a worker: must be quick. False: never, the engine stops.
  virtual bool when_quiet(std::function<void()>) { return false; }

  // The node stops and has waited long enough: transactions whose commit is not confirmed yet, or will be asked for
  // later, are answered with 08007. Any thread.
  virtual void give_up() {}

  // Sums over the workers, made by this call and several times a second.
  virtual const EngineCounters& counters() const = 0;
  virtual const EngineOptions& options() const = 0;
  virtual size_t memory_used_bytes() const = 0;
  virtual uint64_t pages_copied_ahead() const { return 0; }
  virtual const replay::Compaction* compaction() const { return nullptr; }  // null: there is none
  virtual uint64_t queue_depth() const = 0;

  // What is done for whom. Nobody waits for who asks.
  struct Activity {
    std::vector<uint64_t> queue_depths;  // by worker
    // One procedure; "": all statements that call none, "(others)": procedures beyond the first hundred.
    struct Procedure {
      std::string name;
      uint64_t committed = 0, rolled_back = 0;
      Timer::Reading waits, runs;  // of some of them: from submit() to the run, and the run itself
    };
    std::vector<Procedure> procedures;
    struct Copies {
      uint64_t open = 0;  // text is coming, or rows go in
      uint64_t done = 0, failed = 0;
      uint64_t rows = 0;
      uint64_t memory_bytes = 0;  // of those that are open
    };
    Copies copies;  // COPY ... FROM STDIN
  };
  virtual Activity activity() const { return {}; }
};

}  // namespace scyper::primary
