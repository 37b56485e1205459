#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/partition_set.h"
#include "query/database.h"
#include "query/result.h"
#include "query/session_activity.h"
#include "query/session_run.h"
#include "query/slow_queries.h"
#include "query/snapshots.h"

namespace scyper::query {

class QueryGate;
class QueryRecords;
class SnapshotQuery;

struct QueriesOptions {
  std::string node = "local";   // in receipts
  uint32_t running_max = 2;     // queries at once
  uint32_t waiting_max = 1000;  // over it 53300
  uint32_t sessions_max = 1000;
  int64_t session_idle_us_max = 300'000'000;     // then its snapshot is given back; using it later fails with 25P03
  uint64_t query_bytes_max = uint64_t{1} << 30;  // intermediate results of one query; 53200 beyond
  int64_t silence_us_max = 30'000'000;  // of a child, after the deadline of its query: then it is taken for stuck
  // Of partitioned tables, what this node has: 55000 for queries that read more.
  PartitionSet partitions = PartitionSet::all();
  std::string foreign_files_directory;  // of the files that foreign tables read; empty: none can be read
  SnapshotOptions snapshots;

  // DatabaseOptions::spill_from_bytes: operators that are estimated to need a small part of the memory have no code for
  // the disk.
  size_t spill_from_bytes() const {
    constexpr size_t kEstimatesErr = 32;
    return snapshots.spill_bytes_max == 0 ? 0 : static_cast<size_t>(query_bytes_max) / kEstimatesErr;
  }
};

struct QueryOptions {
  uint64_t session = 0;    // 0 = none
  std::string owner;       // whose session it has to be
  Freshness freshness;     // without a session
  int64_t timeout_us = 0;  // 57014 beyond; counts from the call
  uint32_t threads = 1;
  bool reuses_code = true;  // false: parsed, planned and compiled anew (benchmarks)
  // Of the arguments, when they were made some time ago: 0A000 when the statement now takes others. nullptr: they fit.
  const std::vector<SqlType>* argument_types = nullptr;
  std::string client;   // whose turn it is among those who wait; sessions count for themselves
  int64_t time_us = 0;  // now(), of a block that began earlier; 0 = when it begins to run
  int32_t pid = 0;      // pg_backend_pid() in queries of pg_stat_activity; 0: none
};

// What an answer was computed from, and what it cost.
struct Receipt {
  uint64_t lsn = 0;
  uint64_t snapshot = 0;  // its number: of a global one in its term, else of this node's
  uint64_t term = 0;      // of a global one, 0 = the node's own
  double age_ms = 0;      // of the state when the query began to run: at most so long newer commits were possible
  std::string node;
  double wait_ms = 0;  // for its turn and its snapshot
  double compile_ms = 0;
  double run_ms = 0;  // in the child
  uint64_t memory_bytes = 0;
  uint64_t spilled_bytes = 0;  // written to temporary files
  uint32_t swaps = 0;          // how often it went on in better code, of all its threads
};

// One running query. Threads: next() one, cancel() any.
class QueryStream {
 public:
  ~QueryStream();
  const std::vector<ResultColumn>& columns() const { return columns_; }
  // The next rows (query/column_batch.h); false at the end.
  StatusOr<bool> next(std::string* columns);
  void cancel();
  // After the end; lsn, snapshot, age and node before it too.
  const Receipt& receipt() const { return receipt_; }
  const std::string& command_tag() const { return command_tag_; }
  uint64_t rows() const { return rows_; }
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  friend class Queries;
  QueryStream() = default;
  Status interruption() const;

  std::shared_ptr<Database> database_;  // outlives what follows
  std::shared_ptr<void> turn_;          // given back when the stream goes
  std::shared_ptr<SnapshotQuery> query_;
  Snapshots::WaitDurable wait_durable_;  // before the first row leaves
  int64_t deadline_ns_ = 0;              // of that wait; 0: none
  std::atomic<bool> is_cancelled_{false};
  std::shared_ptr<QueryRecords> records_;
  std::string text_;       // for the records; empty: too long for them
  int64_t run_ns_ = 0;     // since when it runs
  bool is_noted_ = false;  // there
  std::string ready_;      // an answer that needed no snapshot
  bool is_ready_ = false;
  std::vector<ResultColumn> columns_;
  std::vector<std::string> notices_;
  std::string command_tag_;
  Receipt receipt_;
  uint64_t rows_ = 0;
};

// Queries of a node: sessions, statements, admission, and the snapshots they run on.
// Threads: all calls any; run() waits for its turn, its snapshot and its compilation.
class Queries {
 public:
  Queries(std::shared_ptr<Database> database, Snapshots::Environment environment, const QueriesOptions& options);
  ~Queries();

  // What pg_stat_activity and pg_locks show; called by whoever compiles a query of them. Empty: there is none.
  using ReadActivity = std::function<NodeActivity()>;
  void set_activity(ReadActivity read);

  // The node stops: 57P03 for all who wait for their turn or a snapshot, and who come; what runs goes on.
  void stop();

  // Whether run() takes the statement: reads only. Others belong on the transaction path. Errors of its text are
  // reported by whoever runs it (false).
  bool is_query(std::string_view sql);
  // The statements of a text.
  StatusOr<std::vector<std::string>> split(std::string_view sql) { return database_->split(sql); }
  // What of partitioned tables a run could read, as far as its text and arguments say; all where it cannot be prepared,
  // or where it takes arguments of other types than these are.
  PartitionSet partitions_of(std::string_view sql, std::span<const Datum> arguments,
                             const std::vector<SqlType>* argument_types);
  // 0A000 when the statement writes.
  StatusOr<std::unique_ptr<QueryStream>> run(std::string_view sql, std::span<const Datum> arguments,
                                             const QueryOptions& options);
  // Runs a statement on this thread if it is about sessions and touches no table (query/session_run.h). False: it is
  // another one, and nothing has happened. pid: of the session. takes_locks: whether advisory locks may be taken here.
  StatusOr<bool> run_for_session(std::string_view sql, std::span<const Datum> arguments, int32_t pid, bool takes_locks,
                                 SessionRun* run, ResultSet* result);
  // All rows, for callers in this process.
  Status execute(std::string_view sql, std::span<const Datum> arguments, const QueryOptions& options, ResultSet* result,
                 Receipt* receipt);

  struct Description {
    std::vector<SqlType> parameters;
    std::vector<ResultColumn> columns;
  };
  StatusOr<Description> describe(std::string_view sql, uint64_t session, const std::string& owner);

  // A secondary's replay stands at the cut of a global snapshot (query/snapshots.h).
  Status take_global_snapshot(uint64_t term, uint32_t snapshot, const Forker& fork) {
    return snapshots_->take_global(term, snapshot, fork);
  }
  void miss_global_snapshot(uint64_t term, uint32_t snapshot, const Status& why) {
    snapshots_->miss_global(term, snapshot, why);
  }

  // Pins a snapshot: all queries of the session run on it. For others than its owner there is no such session, and
  // its number cannot be guessed.
  StatusOr<uint64_t> open_session(const Freshness& freshness, Receipt* receipt, const std::string& owner = "");
  Status close_session(uint64_t session, const std::string& owner = "");

  struct Counters {
    Snapshots::Counters snapshots;
    uint64_t started = 0;
    uint64_t failed = 0;
    uint64_t refused = 0;
    uint64_t swapped = 0;               // went on in better code while they ran
    uint64_t answered = 0, broken = 0;  // of those started: to the last row; failed, cancelled or left
    uint64_t memory_bytes = 0;          // that ended ones have used at most, each: their sum,
    uint64_t memory_bytes_max = 0;      // and the largest
    uint64_t spilled_bytes = 0;         // that they wrote to temporary files
    uint32_t running = 0;
    uint32_t waiting = 0;
    uint32_t sessions = 0;
  };
  Counters counters();
  std::vector<SlowQuery> slow_queries() const;  // the slowest first
  const QueriesOptions& options() const { return options_; }

 private:
  struct Session {
    std::string owner;
    Snapshots::Use snapshot;
    int64_t used_ns = 0;
  };
  using PreparedPointer = std::shared_ptr<const Prepared>;
  struct Statement {
    PreparedPointer prepared;
    uint64_t last_use = 0;
    uint64_t planned_for = 0;  // number of its tables' statistics
  };

  StatusOr<Snapshots::Use> snapshot_of(const QueryOptions& options, int64_t deadline_ns);
  std::map<uint64_t, Session>::iterator find_session(uint64_t session, const std::string& owner);  // under mutex_
  StatusOr<PreparedPointer> prepare(std::string_view sql, const std::shared_ptr<const Catalog>& catalog, bool reuses);
  StatusOr<PreparedPointer> prepare_activity(std::string_view sql, const std::shared_ptr<const Catalog>& catalog,
                                             int32_t pid);
  bool is_planned_well(const Statement& statement) const;
  StatusOr<std::unique_ptr<QueryStream>> answer_at_once(const Prepared& prepared);
  Status start(const Prepared& prepared, const Snapshots::Use& snapshot, std::span<const Datum> arguments,
               const QueryOptions& options, int64_t deadline_ns, QueryStream* stream);
  PartitionSet read_by(const Program& program, std::span<const Datum> arguments) const;
  Status make_code(const Program& program, const QueryOptions& options);
  void keep(std::pair<std::string, uint64_t> key, PreparedPointer prepared, bool is_settled);
  void drop_idle_sessions(int64_t now_ns);
  void fill(const Snapshot& snapshot, Receipt* receipt) const;

  const std::shared_ptr<Database> database_;
  const QueriesOptions options_;
  const RealClock clock_;
  std::mutex mutex_;  // sessions, statements and counters
  std::map<uint64_t, Session> sessions_;
  std::map<std::pair<std::string, uint64_t>, Statement> statements_;  // by text and catalog version
  uint64_t uses_ = 0;
  Counters counters_;
  ReadActivity read_activity_;  // under mutex_
  const std::shared_ptr<QueryRecords> records_;
  std::shared_ptr<QueryGate> gate_;
  std::shared_ptr<QueryGate> activity_gate_;  // what is asked when all others run too long
  const Snapshots::WaitDurable wait_durable_;
  std::unique_ptr<Snapshots> snapshots_;
};

}  // namespace scyper::query
