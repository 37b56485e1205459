#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/postgres_epoch.h"
#include "block_history.h"
#include "block_waits.h"
#include "group_commit.h"
#include "locked_rows.h"
#include "prepared_statement.h"
#include "primary/engine.h"
#include "procedures.h"
#include "query/database.h"
#include "query/deferred_checks.h"
#include "query/definitions.h"
#include "query/open_cursor.h"
#include "query/rows_elsewhere.h"
#include "query/touched_tables.h"
#include "redo_check.h"
#include "redo_stream.h"
#include "referenced_rows.h"
#include "replay/compaction.h"
#include "replay/request_window.h"
#include "reservations.h"
#include "storage/logged_apply.h"
#include "table_versions.h"
#include "tentative_block.h"

namespace scyper::primary {

class LargeTransactions;

// What all executors of a node share. Owner: the engine.
struct ExecutorEnvironment {
  query::Database* database = nullptr;
  const EngineOptions* options = nullptr;
  uint32_t workers = 1;
  LsnCounter lsns;
  std::vector<std::unique_ptr<RedoStream>> streams;  // by stream number (replay/record.h)
  replay::RequestWindow* requests = nullptr;         // null in tests: requests are not remembered
  replay::Compaction* compaction = nullptr;          // null: none
  GroupCommit* log = nullptr;                        // null: none, transactions are answered when they have run
  // Of the last transaction that ran alone: what others have read may come from it.
  std::atomic<uint64_t> last_alone_lsn{0};
  RetiredBindings retired;
  ProcedureTable procedures;
  std::atomic<uint64_t> catalog_version{0};  // changed only while all workers stand still
  // For programs that are bound anew by a worker. Does not wait.
  std::function<void(std::shared_ptr<const query::Program>)> request_companions;
  Reservations reservations;           // of open blocks
  TableVersions versions;              // of what these have read
  BlockWaits* waits = nullptr;         // who waits for these
  LargeTransactions* large = nullptr;  // null: there are none
  Mutex definition_mutex;              // held while DDL, loads and companions change tables or catalog
  RealClock clock;
};

// The redo of work that runs alone and is no statement: bulk loads. Only while all workers stand still.
uint64_t append_alone(ExecutorEnvironment* environment, std::string_view row_changes, uint64_t request_id = 0,
                      std::string_view client = {});

// A counter that one thread writes and others read: no locked instruction.
class OwnCounter {
 public:
  void add(uint64_t n = 1) { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

struct ExecutorCounters {
  OwnCounter crossing, misclassified;
  std::array<OwnCounter, kRefusals> refused;  // by Refusal
  struct Outcomes {
    OwnCounter committed, rolled_back;
  };
  std::array<Outcomes, ProcedureTable::kSlots> by_procedure;  // by slot
};

// Runs transactions one after the other, from the check of the deadline to commit or rollback, and writes their redo.
// Everything that a worker needs for that: context, change log, scratch memory, redo stream.
// Threads: the worker's, but for check_time() (the watchdog) and counters(). Fork: the child may roll back the log.
class Executor {
 public:
  static StatusOr<std::unique_ptr<Executor>> create(uint32_t number, ExecutorEnvironment* environment);
  // The one of large transactions. number: behind those of the workers.
  static StatusOr<std::unique_ptr<Executor>> create_large(uint32_t number, ExecutorEnvironment* environment);

  enum class Verdict : uint8_t {
    kAnswered,  // status and result are set, done() is to be called
    kMoved,     // has left no trace, crossing is set: to be run again, alone
    kParked,    // waits for an open block, and is not the caller's any more (block_waits.h)
  };
  Verdict execute(Transaction* transaction) noexcept;
  // A statement that is no program. Runs alone.
  void define(Transaction* transaction) noexcept;
  // Known to write nothing, by the program that it will run.
  bool is_read_only(const Transaction& transaction) const {
    if (TentativeJob::of(transaction) != nullptr) return false;
    const Binding* binding = prepared_of(transaction).binding();
    return binding->catalog_version == environment_->catalog_version.load(std::memory_order_relaxed) &&
           binding->classification->is_read_only();
  }
  // An open transaction (engine_transaction.h), from begin_open() to end_open(), which takes back what was not
  // committed. A statement that fails leaves no trace.
  void begin_open();
  Status execute_open(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                      const StatementLimits& limits);
  // Whether the open transaction sees the catalog for which the statement's program was made.
  bool fits_open(const PreparedStatement& statement) const;
  // Behind begin_open(): what the block has changed, with its savepoints. An error: end_open() must follow.
  Status adopt(TentativeBlock* block);
  // A statement that fits_open().
  Status execute_open(const std::shared_ptr<const PreparedStatement>& statement, std::span<const Datum> parameters,
                      query::ResultSet* result, const StatementLimits& limits);
  Status open_copy(std::string_view sql, std::unique_ptr<query::CopyRows>* rows);
  Status copy_open(query::CopyRows* rows, query::ResultSet* result, const StatementLimits& limits);
  Status describe_open(std::string_view sql, const StatementLimits& limits, std::vector<SqlType>* parameters,
                       std::vector<query::ResultColumn>* columns);
  Status set_savepoint();
  Status roll_back_to(size_t savepoint);
  Status release_savepoint(size_t savepoint);
  Status commit_open();
  std::vector<query::OpenCursor> take_cursors() { return std::exchange(cursors_, {}); }
  void end_open();
  // The block whose reservation the open transaction's last statement has met; 0: none.
  BlockId take_holder() { return std::exchange(waits_for_, 0); }

  // Large transactions, on the executor that create_large() has made. False: it waits for a block, and is not the
  // caller's any more.
  bool execute_large(Transaction* transaction) noexcept;
  void define_large(Transaction* transaction) noexcept;
  Status copy_large(query::CopyRows* rows, const StatementLimits& limits, query::ResultSet* result);
  // Its own thread: what runs ends with 57P01.
  void stop_run() noexcept;
  // On a worker's executor: what the other has written is answered here.
  void take_news_of(Executor* large);

  // Answers a transaction that has run, when the log holds what it has written and read.
  void answer(Transaction* transaction);
  // Before the worker goes to rest.
  void flush_redo();
  // A step of compaction for the worker's partitions; between transactions, where there is compaction. False: nothing
  // to do until steps are due again.
  bool take_step() { return environment_->compaction->take_step(&share_, log_.get()); }

  // Of what ran alone last, on any worker.
  uint64_t last_alone_lsn() const { return environment_->last_alone_lsn.load(std::memory_order_relaxed); }

  int64_t now_ns() const { return environment_->clock.monotonic_ns(); }
  // Frees programs that DDL has replaced. Only while all workers stand still.
  std::vector<std::unique_ptr<const Binding>> take_retired() { return environment_->retired.take(); }

  const ExecutorCounters& counters() const { return counters_; }

  // For the fork gate: has the transaction that runs pass its safepoint() at the next poll of generated code.
  void raise_safepoint();
  void set_safepoint(void (*safepoint)(void* owner), void* owner) {
    context_.safepoint = safepoint;
    context_.safepoint_owner = owner;
  }
  storage::ChangeLog* log() { return log_.get(); }

  // The watchdog: ends the transaction that runs when it has run for too long or beyond its deadline. Called every few
  // milliseconds.
  void check_time(int64_t now_ns);

 private:
  Executor(uint32_t number, ExecutorEnvironment* environment, std::unique_ptr<storage::ChangeLog> log);
  Verdict execute_timed(Transaction* transaction) noexcept;
  Verdict execute_now(Transaction* transaction) noexcept;
  StatusOr<BlockId> find_holder(BlockId own, const storage::UndoEntry* before);
  bool touches_reserved(const storage::UndoEntry* before) const;
  BlockId find_obstacle(query::Outcome* outcome) noexcept;
  bool meets_block() noexcept;
  Verdict give_way(Transaction* transaction, BlockId holder) noexcept;
  Verdict wait_for(Transaction* transaction, BlockId own, BlockId holder) noexcept;
  uint64_t run_us_max_of(const Transaction& transaction, const Binding& binding) const;
  bool is_long_one(const Transaction& transaction, uint64_t run_us_max) const;
  bool reads_large(const BlockHistory& history);
  bool may_become_large(const Transaction& transaction, const Binding& binding) const;
  bool meets_large(const PreparedStatement& statement, const Binding& binding, const TentativeBlock* block);
  Verdict wait_for_large(Transaction* transaction, BlockId own) noexcept;
  void keep_sequences_of(const Transaction& transaction, const Binding& binding);
  void put_back_sequences();
  Status renew(query::CopyRows* rows);
  void note_growth(TableId id);
  Verdict make_large(Transaction* transaction) noexcept;
  void hold_tables_of(const query::Program& program);
  Verdict run_job(TentativeJob* job) noexcept;
  void enter_job(TentativeJob* job) noexcept;
  void leave_job(TentativeBlock* block) noexcept;
  Status apply_block(TentativeBlock* block, std::vector<size_t>* savepoints, const std::function<void()>& at_savepoint,
                     const StatementLimits& limits);
  // Of a block that has a history (executor_history.cc).
  struct CheckedState {
    uint64_t lsn, catalog_version, changes_of_all;
  };
  struct Replay {
    TentativeBlock* block;
    bool checks;  // statements run again where what they may have read has changed
    const StatementLimits& limits;
    RowIds* ids;
    std::vector<storage::ChangeLog::Mark> marks;  // of savepoints
    size_t from;                                  // of the block's redo: where the next step's begins
  };
  struct Ran {
    query::Outcome outcome = query::Outcome::kOk;
    storage::ChangeLog::Mark before{};
    Status status;
    std::string sqlstate;  // empty: it has not failed
    uint64_t affected_rows = 0;
  };
  void note_reads(const query::Program& program, BlockStep* step);
  bool is_stale(const BlockHistory& history) const;
  CheckedState checked_state() const;
  bool has_to_run_again(const BlockStep& step, const BlockHistory& history) const;
  Status apply_history(TentativeBlock* block, std::vector<size_t>* savepoints,
                       const std::function<void()>& at_savepoint, const StatementLimits& limits);
  Status apply_step(BlockStep* step, Replay* replay);
  Status run_again(BlockStep* step, std::string_view redo, Replay* replay);
  Ran run_step(const query::Program& program, BlockStep* step, const StatementLimits& limits, query::ResultSet* rows);
  void record_step(TentativeJob* job, const Binding& binding, bool has_changed, std::string_view failure);
  void note_changes() {
    if (environment_->versions.is_watched()) [[unlikely]]
      environment_->versions.note(*log_);
  }
  void note_changes_again() {
    if (environment_->versions.has_images()) [[unlikely]]
      environment_->versions.note(*log_);
  }
  Status apply_redo(TentativeBlock* block, std::vector<size_t>* savepoints, const std::function<void()>& at_savepoint);
  Status apply_for_job(TentativeJob* job, std::vector<size_t>* savepoints);
  static bool needs_all_partitions(TentativeBlock* block);
  void keep_redo(TentativeBlock* block);
  Status keep_sequences(TentativeBlock* block);
  bool needs_exclusive(const storage::UndoEntry* before) const;
  Status check_reserved(const storage::ChangeLog::Mark& before);
  Status reserve(TentativeBlock* block, const storage::UndoEntry* before);
  query::Outcome run_job_statement(TentativeJob* job, const Binding& binding, BlockId* holder) noexcept;
  query::Outcome run_marked(const query::Program& program, TentativeJob* job,
                            const storage::ChangeLog::Mark& mark) noexcept;
  static void note_place(const Transaction& transaction, TentativeBlock* block);
  query::Outcome commit_block(TentativeJob* job) noexcept;
  ExecutorCounters::Outcomes& outcomes_of(const PreparedStatement& statement) {
    return counters_.by_procedure[statement.procedure()];
  }
  const Binding* bind(const PreparedStatement& statement, Transaction* transaction);
  void enter(Transaction* transaction, const PreparedStatement& statement, const Binding& binding) noexcept;
  // run_us_max: 0 = EngineOptions::transaction_time_us_max.
  query::Outcome run(const query::Program& program, const Datum* arguments, const StatementLimits& limits,
                     uint64_t run_us_max = 0) noexcept;
  Status run_statement_open(query::ResultSet* result, const StatementLimits& limits,
                            const std::function<Status()>& run);
  Status run_open(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                  const StatementLimits& limits);
  // rows: of a COPY, which the program reads.
  Status run_open_program(const query::Program& program, std::span<const Datum> parameters, query::ResultSet* result,
                          const StatementLimits& limits, query::CopyRows* rows = nullptr);
  bool was_meant_for_another() noexcept;
  bool may_commit(uint64_t statement = 0) noexcept;  // its number; 0: of several, or one that is not over
  void raise_interrupt(query::Interrupt why);
  void name_limit(uint64_t run) noexcept;
  void commit(Transaction* transaction, const PreparedStatement& statement, const Binding& binding) noexcept;
  void remember(RedoStream* stream, bool is_alone, uint64_t lsn) noexcept;
  replay::RequestWindow::Outcome outcome_of(const Transaction& transaction) const;
  void remember_request(const Transaction& transaction, uint64_t lsn, replay::RequestWindow::Outcome outcome) const;
  Status check_client_id(const Transaction& transaction) const;
  bool answer_request(Transaction* transaction, const PreparedStatement& statement, const Binding& binding);
  static int32_t end_transaction(void* owner, query::ExecContext* context, bool commit) noexcept;
  void append_part() noexcept;
  void append_redo(const Transaction& transaction, const PreparedStatement& statement, const Binding& binding) noexcept;
  uint64_t append_record(const Transaction& transaction, const PreparedStatement& statement, const Binding& binding,
                         const replay::RequestWindow::Outcome& outcome) noexcept;
  void publish_definitions() noexcept;
  void take_back() noexcept;
  void release_locks() noexcept;
  void fail(Transaction* transaction) noexcept;
  void refuse(Transaction* transaction, Status status, Refusal why) noexcept;
  bool refuse_if_over(Transaction* transaction) noexcept;
  void watch(const std::atomic<bool>* cancelled) noexcept;
  bool is_cancelled();

  // constant after construction
  const uint32_t number_;
  ExecutorEnvironment* const environment_;
  const std::unique_ptr<storage::ChangeLog> log_;
  const query::RowsElsewhere rows_elsewhere_;
  const std::unique_ptr<query::Definitions> definitions_;

  // the worker's
  replay::Compaction::Share share_;
  query::StatementSettings settings_;
  query::ExecContext context_;
  query::ScratchArena scratch_;
  std::vector<RedoStream*> unflushed_;  // to a sink
  uint64_t last_lsn_ = 0;               // of what it has written
  uint64_t answered_lsn_ = 0;           // last_lsn_ as of the last answer; kept where there are elections
  std::vector<std::shared_ptr<const void>> kept_programs_;  // of an open transaction: its changes refer to them
  struct Savepoint {
    storage::ChangeLog::Mark changes;
    std::shared_ptr<const query::DeferredChecks::Savepoint> checks;
  };
  std::vector<Savepoint> savepoints_;  // of it, too
  bool has_committed_part_ = false;    // by COMMIT inside the procedure that runs
  const Transaction* running_ = nullptr;
  bool has_news_ = false;     // for the log writer
  uint32_t until_timed_ = 1;  // transactions
  uint32_t random_ = 1;       // what decides how many come before the next one that is timed
  ExecutorCounters counters_;

  // Read by the watchdog. run_number_ is odd while a transaction runs and never repeats.
  std::atomic<uint64_t> run_number_{0};
  std::atomic<int64_t> deadline_ns_{0};
  std::atomic<uint64_t> run_us_max_{0};  // 0: as for all
  Mutex cancelled_mutex_;                // the flag is the transaction's and may go when it was answered
  const std::atomic<bool>* cancelled_ ABSL_GUARDED_BY(cancelled_mutex_) = nullptr;
  // Written by the watchdog, before the flag in the context: which run the flag is for, and which one has taken longer
  // than transaction_time_max.
  std::atomic<uint64_t> interrupted_run_{0};
  std::atomic<uint64_t> too_long_run_{0};

  // the watchdog's
  uint64_t seen_run_ = 0;
  int64_t seen_since_ns_ = 0;

  RedoCheck redo_check_;  // the worker's
  // the worker's
  query::DeferredChecks deferred_;
  std::vector<query::OpenCursor> cursors_;  // that statements of an open transaction have left open
  // Of tentative blocks.
  const query::Catalog* applier_catalog_ = nullptr;  // while it applies
  uint64_t applier_version_ = 0;                     // of the catalog that it knows
  storage::LoggedApplier applier_;
  std::vector<size_t> redo_ends_;  // of the steps of the block whose job runs, in the log
  ReferencedRows referenced_;
  LockedRows locked_;
  BlockId open_block_ = 0;  // that the open transaction has been
  BlockId waits_for_ = 0;   // the statement of the open transaction has met what that block has reserved
  BlockId blocked_by_ = 0;  // COMMIT in a procedure has met what that block has reserved
  // Of large transactions.
  static constexpr uint64_t kNoTimeLimitUs = uint64_t{1} << 50;
  bool is_large_ = false;                               // runs them
  BlockId large_id_ = 0;                                // of the verdicts
  absl::flat_hash_map<uint64_t, bool> large_verdicts_;  // by statement: whether it has to wait
  std::vector<std::pair<std::shared_ptr<storage::Sequence>, storage::SequenceState>> sequences_before_;
};

}  // namespace scyper::primary
