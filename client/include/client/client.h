#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "query/queries.h"
#include "query/result.h"
#include "storage/temperature.h"
#include "storage/type.h"

// The C++ client of a node. Errors carry what PostgreSQL's carry (base/status.h); a connection that fails is 08006.
namespace scyper::client {

// For programs whose threads call at the same time, each by a Client of its own: every thread then waits for its own
// connections. By gRPC's default the threads of a process share one epoll and wake up for each other's answers. Sets
// GRPC_POLL_STRATEGY unless it is set: first thing in main(), before there are other threads and before gRPC is used.
// Not where one thread has many connections.
void wait_by_thread();

struct ConnectOptions {
  std::string target = "127.0.0.1:7400";
  std::string tls_ca;    // PEM file; given = TLS
  std::string tls_cert;  // PEM files, where the node asks clients for a certificate
  std::string tls_key;
  int connect_timeout_ms = 5000;
  // Where nobody listens, the connection fails at once; else it is tried again until connect_timeout_ms: for nodes that
  // are being started.
  bool fails_when_refused = false;
  int call_timeout_ms = 0;  // of call(), prepare and describe; 0 = 60 s
  // call() keeps streams, which cost less than an RPC per call; false: each call is a unary RPC.
  bool keeps_streams = true;
};

// A statement with parameters, as the node compiled it. Immutable. The id depends on the text only.
struct Prepared {
  uint64_t id = 0;
  std::string sql;
  std::vector<SqlType> parameters;
  std::vector<query::ResultColumn> columns;
};

// How long to wait before the same request may succeed; 0 = it would fail again.
uint32_t retry_after_ms_of(const Status& status);

// One result within a received message; valid while its handler runs.
struct StreamResult {
  uint64_t request_id = 0;
  bool failed = false;
  bool retried_as_crossing = false;
  uint64_t affected_rows = 0;
  uint32_t row_count = 0;
  std::string_view body;  // packed rows, or an Error message

  Status status() const;
  // Appends the rows; `result` gets the statement's columns.
  Status decode_rows(const Prepared& prepared, query::ResultSet* result) const;
};

// A transaction stream: batches of calls out, results in as they come (proto/scyper.proto, Transactions.Stream).
// Caveats: (1) send() can block until the node reads; the node stops reading while too many calls are unanswered. So
// keep fewer than NodeStatus::stream_calls_max outstanding, or receive in a second thread. (2) One message may answer
// several batches, and a batch may be answered by several messages: count results, not messages. Threads: one that adds
// and sends, one (perhaps the same) that receives.
class Stream {
 public:
  using Handler = std::function<void(const StreamResult&)>;

  ~Stream();  // cancels what is open
  // Adds a call to the batch that send() sends. timeout_ms: 0 = none.
  void add(const Prepared& prepared, std::span<const Datum> arguments, uint64_t request_id, uint32_t timeout_ms = 0);
  size_t pending() const { return pending_; }
  // Ok also with nothing to send. On failure finish() tells why.
  Status send();
  // The next message; `handler` sees its results. kOutOfRange when the node has ended the stream in good order.
  Status receive(const Handler& handler);
  // No more calls: what is outstanding can still be received.
  void close_sending();
  // After the last receive(): why the stream ended.
  Status finish();

 private:
  friend class Client;
  struct Parts;
  explicit Stream(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
  size_t pending_ = 0;
};

// Rows into one table, message by message.
class Loading {
 public:
  ~Loading();
  // All rows or none.
  Status load(std::span<const Datum> values);
  const std::vector<query::ResultColumn>& columns() const;

 private:
  friend class Client;
  struct Parts;
  explicit Loading(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

// One COPY ... FROM STDIN: its text, in pieces. Nothing has happened before finish() has said so. The client outlives
// it.
class Copying {
 public:
  ~Copying();
  size_t column_count() const;
  // An error is the last word: the node has forgotten what it was sent. It may be about what an earlier call wrote.
  Status write(std::string_view text);
  Status finish(query::ResultSet* tag_and_notices);

 private:
  friend class Client;
  struct Parts;
  explicit Copying(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

// Names a call, so that one that is sent again after a failure is answered and not repeated, by another primary, too.
// Of a client the ids grow; client ids grow with time (docs/transaction_redo.md). 0: none.
struct CallIdentity {
  uint64_t client_id = 0;
  uint64_t request_id = 0;
};

// How a query is to be run. The default: fresh, on a snapshot of its own choice.
struct QueryWish {
  uint64_t session = 0;  // from open_session(); 0 = none, then:
  query::Freshness freshness;
  uint32_t timeout_ms = 0;
  uint32_t threads = 1;
  bool is_compiled_anew = false;
  CallIdentity identity;  // of one statement, in case that it runs as a transaction; definitions do not look at it
};

// A query or statement, as it is answered.
class QueryHandler {
 public:
  virtual ~QueryHandler() = default;
  virtual void on_columns(const std::vector<query::ResultColumn>& /*columns*/) {}
  // Some rows, as they come; the next call clears them.
  virtual void on_rows(const query::ResultSet& rows) = 0;
  // receipt: nullptr of statements that ran as transactions.
  virtual void on_complete(const query::ResultSet& /*tag_and_notices*/, const query::Receipt* /*receipt*/) {}
};

struct SecondaryStatus {  // as the primary sees it
  std::string node, address, transport;
  bool voter = false, serves = false;
  uint64_t received_lsn = 0, durable_lsn = 0, applied_lsn = 0;
  uint32_t snapshot = 0, queries = 0;
  uint64_t repaired = 0, resets = 0;
  double silent_ms = 0, lag_ms = 0;
  uint64_t lag_bytes = 0, digests_equal = 0, digests_different = 0, digest_lsn = 0;
  std::string difference;       // of digests, the newest
  bool has_room = true;         // for snapshots
  std::string partitions = {};  // that it subscribes to, as 0-3,7; empty: all
};

// Of fresh answers: group, send, repair, replay, fork, query.
struct StageStatus {
  std::string name;
  uint64_t count = 0;
  double mean_ms = 0, p50_ms = 0, p99_ms = 0;
};

struct VoterStatus {
  std::string node;
  bool is_there = false;  // it says so in etcd
};
// Transactions that call one procedure; "": all that call none.
struct ProcedureStatus {
  std::string name;
  uint64_t committed = 0, rolled_back = 0;
  double wait_p50_ms = 0, wait_p99_ms = 0, run_p50_ms = 0, run_p99_ms = 0;
};
// Queries on snapshots.
struct QueryActivity {
  uint64_t started = 0, answered = 0, broken = 0, refused = 0;
  uint32_t running = 0, waiting = 0, sessions = 0, snapshots = 0;
  uint64_t snapshots_made = 0, snapshots_lost = 0, snapshot_bytes = 0, spilled_bytes = 0;
  double snapshot_oldest_ms = 0, snapshot_stall_ms_max = 0;
};

// As in pg_stat_activity. pid: below 0 by gRPC.
struct RunningStatement {
  int32_t pid = 0;
  std::string user, application, client, state;
  std::string text;  // without its constants
  double ms = 0, transaction_ms = 0;
};

struct NodeStatus {
  std::string version, role, execution, redo, layout;
  uint64_t uptime_seconds = 0;
  uint32_t partitions = 0, workers = 0, streams = 0, stream_calls_max = 0;
  uint64_t memory_used_bytes = 0, memory_budget_bytes = 0, queue_depth = 0;
  uint64_t committed = 0, rolled_back = 0, crossing = 0, misclassified = 0, refused = 0;
  uint64_t redo_bytes = 0, statements_compiled = 0;
  bool stopping = false;
  std::string commit_mode;  // empty: no log
  uint64_t last_lsn = 0, durable_lsn = 0, log_bytes = 0, archive_bytes = 0, damaged_archives = 0;
  bool log_full = false;
  std::string node, transport, transport_note, primary, not_serving;
  uint32_t multicast_channels = 0;     // that a primary sends by, or a secondary has joined; 0: by unicast
  std::string election, etcd, paused;  // of a node whose role is elected; paused: since when
  uint64_t term = 0, commit_lsn = 0, received_lsn = 0, applied_lsn = 0, inbox_bytes = 0, snapshots_global = 0;
  uint64_t repairs = 0, repaired_groups = 0, resets = 0, malformed_datagrams = 0;
  uint64_t forged_datagrams = 0, replayed_datagrams = 0, datagrams_sent = 0, replication_bytes = 0;
  uint64_t digests = 0, digest_lsn = 0;
  std::string subscribed;         // of a secondary: its partitions, as 0-3,7; empty: all
  std::string seeded_from, peer;  // of a secondary: its first state's source; who gave groups last
  uint64_t peer_groups = 0, peer_failures = 0;
  std::vector<StageStatus> stages;
  bool is_encrypted = false;  // multicast
  double lag_ms = 0;
  std::vector<SecondaryStatus> secondaries;
  std::string leader;  // of a node whose role is elected, from here on; empty: nobody
  std::vector<VoterStatus> voters;
  bool etcd_answers = false;
  double lease_left_ms = 0;
  uint64_t leader_changes = 0;
  std::vector<uint64_t> queue_depths;  // by worker
  std::vector<ProcedureStatus> procedures;
  QueryActivity queries;
  std::vector<query::SlowQuery> slow_queries;  // the slowest first
  std::vector<query::SlowQuery> slow_transactions;
  std::vector<RunningStatement> running;  // the longest first
};

struct BackupResult {
  uint64_t lsn = 0, rows = 0, raw_bytes = 0, stored_bytes = 0;
  std::string path;
  double seconds = 0;
};

struct TableDescription {
  std::string name, partitioning, layout;
  uint64_t rows = 0, bytes = 0;
  std::vector<query::ResultColumn> columns;
  std::vector<std::string> indexes;
  std::vector<std::string> constraints;  // checks, foreign keys, triggers
};
struct RoutineDescription {
  std::string signature, kind, classification;
};
struct Description {
  std::vector<TableDescription> tables;
  std::vector<RoutineDescription> routines;
};

// A hot data view that the node has made of what statements ask (docs/tiering.md).
struct LearnedView {
  std::string name, workload, condition;
  std::vector<std::string> columns;
  double statements = 0;     // share of the workload's sampled ones that it contains
  double rows_left_out = 0;  // share of the rows in chunks that those need not read
};
struct TableStorage {
  std::string name;
  storage::TableTemperature temperature;
  std::vector<LearnedView> learned_views;
};
struct TierCacheStatus {
  std::string name, policy;
  uint64_t bytes = 0, used_bytes = 0;
  uint64_t hits = 0, faults = 0, pages_read = 0, read_errors = 0;  // pages
};
struct TierStatus {
  uint64_t memory_bytes = 0, memory_budget_bytes = 0;  // of frozen chunks' images
  uint64_t vectors = 0, vector_bytes = 0;              // whose data is in files
  uint64_t files = 0, evictions = 0, failed_evictions = 0;
  uint64_t cache_bytes = 0, cache_used_bytes = 0;                              // of all caches, as the next
  uint64_t cache_hits = 0, cache_faults = 0, pages_read = 0, read_errors = 0;  // pages
  std::vector<TierCacheStatus> caches;
};
struct CompactionStatus {
  std::string observer;
  uint64_t windows = 0, failed_windows = 0;
  double observer_seconds = 0;  // of the compactor's thread in ending windows,
  double freeze_seconds = 0;    // in making images;
  double step_seconds = 0;      // of transactions' threads in steps
  uint64_t steps = 0, watched_chunks = 0, waiting_chunks = 0;
  uint64_t cooled = 0, frozen = 0, returned = 0, emptied = 0, without_memory = 0;  // chunks
  uint64_t moved_tuples = 0;
  uint64_t cooling = 0, reheated = 0;  // chunks
  uint64_t relocated_tuples = 0;
  uint64_t memory_used_bytes = 0, memory_retired_bytes = 0, memory_budget_bytes = 0;
  std::optional<TierStatus> tier;
};
struct StorageStatus {
  std::vector<TableStorage> tables;
  std::optional<CompactionStatus> compaction;  // of a node that compacts
};

class Transaction;
struct TransactionOptions;

// Threads: every function from any thread.
class Client {
 public:
  using ResultHandler = std::function<void(const query::ResultSet&)>;

  static StatusOr<std::unique_ptr<Client>> connect(const ConnectOptions& options);
  ~Client();
  // As far as it is known here: a call may find that the node has gone.
  bool is_connected() const;

  StatusOr<std::shared_ptr<const Prepared>> prepare(std::string_view sql);
  // One transaction. Prepares again by itself when the node has forgotten the statement.
  Status call(const Prepared& prepared, std::span<const Datum> arguments, query::ResultSet* result,
              uint32_t timeout_ms = 0, const CallIdentity& identity = {});
  // Statements separated by semicolons; `each` sees every result, in order.
  Status execute(std::string_view sql, const ResultHandler& each);
  // The same with reading statements on snapshots; `each` also sees their receipts (nullptr of all others).
  using ReceiptHandler = std::function<void(const query::ResultSet&, const query::Receipt*)>;
  Status query(std::string_view sql, const QueryWish& wish, const ReceiptHandler& each);
  // Rows one batch after the other, as fast as the handler takes them.
  Status stream_query(std::string_view sql, const QueryWish& wish, QueryHandler* handler);
  // A prepared query with arguments.
  StatusOr<std::shared_ptr<const Prepared>> prepare_query(std::string_view sql, uint64_t session = 0);
  Status query(const Prepared& prepared, std::span<const Datum> arguments, const QueryWish& wish,
               const ReceiptHandler& each);
  // Ends the query or script that runs, with 57014. Any thread; not from a signal handler.
  void cancel();
  // Pins a snapshot for all queries of the session.
  StatusOr<uint64_t> open_session(const query::Freshness& freshness, query::Receipt* receipt);
  Status close_session(uint64_t session);
  StatusOr<std::unique_ptr<Stream>> open_stream();
  // A transaction of several statements (client/transaction.h), on a stream of its own.
  StatusOr<std::unique_ptr<Transaction>> begin(const TransactionOptions& options);
  StatusOr<std::unique_ptr<Loading>> open_load(const std::string& table);
  // cancel() ends it. Errors of the statement, with position.
  StatusOr<std::unique_ptr<Copying>> open_copy(std::string_view sql);
  StatusOr<NodeStatus> status(int timeout_ms = 2000);
  // Where tables lie: hot, cooling, cold and frozen chunks. Transactions wait while the node counts.
  StatusOr<StorageStatus> storage();
  // Writes an archive on the node's machine; directory: empty = the data directory's own. Returns when it is done.
  StatusOr<BackupResult> backup(const std::string& directory);
  StatusOr<Description> describe();

 private:
  friend class Copying;
  struct Parts;
  explicit Client(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace scyper::client
