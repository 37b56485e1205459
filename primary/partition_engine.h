#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ticker.h"
#include "durability.h"
#include "engine_copy.h"
#include "executor.h"
#include "fork_gate.h"
#include "large_transactions.h"
#include "primary/blocks.h"
#include "primary/engine.h"
#include "primary/read_verdicts.h"
#include "query/normalise.h"
#include "rendezvous.h"
#include "shared_statements.h"
#include "statement_cache.h"
#include "tentative_block.h"
#include "worker.h"

namespace scyper::primary {

constexpr uint32_t kWorkersMax = 64;

// The engine: admission in front of the workers, and what runs beside no transaction.
// Threads: any for the public functions; owns the workers' threads and the watchdog's.
class PartitionEngine final : public Engine {
 public:
  static StatusOr<std::unique_ptr<PartitionEngine>> create(const EngineOptions& options,
                                                           std::shared_ptr<replay::WarmState> warm = nullptr);
  ~PartitionEngine() override;

  StatusOr<std::shared_ptr<const Statement>> prepare(std::string_view sql) override;
  void submit(std::span<Transaction* const> transactions) override;
  Status execute(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                 const StatementLimits& limits = {}) override;
  StatusOr<ShortRead> execute_short(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                                    const StatementLimits& limits, query::Receipt* receipt) override;
  Status execute_script(std::string_view sql, const std::function<void(const query::ResultSet&)>& each,
                        const StatementLimits& limits = {}) override;
  Status load(std::string_view table, std::span<const Datum> values) override;
  StatusOr<std::unique_ptr<CopyIn>> open_copy(std::string_view sql) override;
  StatusOr<Forked> fork(ForkRequest request) override { return fork_gate_->fork(std::move(request)); }
  query::Queries* queries() override { return queries_.get(); }
  StatusOr<std::vector<query::ResultColumn>> describe(std::string_view table) override;
  std::vector<TableInfo> tables() override;
  std::vector<RoutineInfo> routines() override;
  std::shared_ptr<const query::Catalog> catalog() const override { return database_->catalog(); }
  StatusOr<ArchiveInfo> write_archive(const std::string& archives,
                                      const std::function<void(uint64_t)>& on_progress) override;
  bool when_quiet(std::function<void()> done) override;
  void stop_archives() override { durability_->stop_archives(); }
  LogInfo log_info() const override;
  void give_up() override {
    if (environment_.log != nullptr) environment_.log->give_up();
  }
  const replication::PublisherOptions* publisher() override {
    Publication* publication = durability_->publication();
    return publication == nullptr ? nullptr : &publication->publisher();
  }
  const EngineCounters& counters() const override;
  const EngineOptions& options() const override { return options_; }
  size_t memory_used_bytes() const override { return database_->arena()->used_bytes(); }
  uint64_t pages_copied_ahead() const override { return database_->arena()->pages_copied_ahead(); }
  const replay::Compaction* compaction() const override { return compaction_.get(); }
  uint64_t queue_depth() const override;
  Activity activity() const override;

  StatusOr<std::unique_ptr<OpenTransaction>> begin() override;
  bool has_temporary_tables(std::string_view schema) const override { return database_->has_temporary_tables(schema); }
  void drop_temporary_tables(const std::string& schema) override;
  query::AdvisoryLocks* advisory_locks() override { return database_->advisory_locks(); }
  void leave_session(const std::string& schema) override { database_->leave_session(schema); }
  std::vector<query::SessionLock> session_locks() override;

  query::Database& database() { return *database_; }  // for tests
  ForkGate& fork_gate() { return *fork_gate_; }       // for tests and benchmarks
  uint64_t last_lsn() const { return environment_.lsns.last.load(); }
  Durability& durability() { return *durability_; }
  // Refuses from now on with 57P03; what is queued is finished.
  void stop_admission();
  // Runs a function while no transaction does. 57P03 when the engine stops.
  // beside_large: it touches nothing that a large transaction holds.
  // limits: of a statement that may be ended while it waits for its turn (57014).
  Status run_exclusively(std::function<Status()> work, bool beside_large = false, const StatementLimits& limits = {});
  // A program of the published catalog for a statement of an open transaction, from the cache or new. `*values` gets
  // its arguments, which lie in *arena. nullptr: the transaction has to compile the text itself.
  std::shared_ptr<const PreparedStatement> find_for_open(std::string_view sql, std::span<const Datum> parameters,
                                                         std::vector<Datum>* values, query::ValueArena* arena);
  // The same for a tentative block (tentative_block.h), whose errors are told.
  StatusOr<std::shared_ptr<const PreparedStatement>> find_for_block(std::string_view sql,
                                                                    std::span<const Datum> parameters,
                                                                    std::vector<Datum>* values,
                                                                    query::ValueArena* arena);
  // Whether the query may run on a worker, between two transactions.
  StatusOr<ShortRead> judge(std::string_view sql, std::span<const Datum> parameters);
  StatusOr<std::unique_ptr<OpenTransaction>> begin_tentative(BlockLevel level);
  // Whether the statement's session has temporary tables.
  bool has_temporary_tables_of(const StatementLimits& limits) const;
  // Hands a block's statement or COMMIT to the worker that it belongs to.
  void submit_job(TentativeJob* job);
  TableVersions& versions() { return environment_.versions; }
  Reservations& reservations() { return environment_.reservations; }
  BlockWaits& waits() { return waits_; }
  LargeTransactions& large() { return *large_; }
  QueueWaits& queue_waits() { return queue_waits_; }
  // Until the answer is there. 57014: the caller has left the transaction in its queue (claim.h).
  Status await(const Transaction& transaction, Completion* completion);
  // The job waits for that block to end.
  BlockWaits::Parked park_job(TentativeJob* job, BlockId holder);
  int64_t now_ns() { return environment_.clock.monotonic_ns(); }
  // A block that runs alone next, but finds that others have reserved its rows again and again; 0: none.
  std::atomic<BlockId>& starved_block() { return starved_block_; }
  void note_block_alone() { counters_.blocks_alone.fetch_add(1, std::memory_order_relaxed); }
  // For an open transaction, which waits in it. Errors: this node takes no changes.
  Status push_open(ExclusiveWork* work);
  bool is_stopping() const { return rendezvous_.is_closing(); }
  // The rows of a COPY into its table, beside no transaction.
  Status copy(query::CopyRows* rows, const StatementLimits& limits, query::ResultSet* result);
  std::unique_ptr<CopyIn> make_copy(EngineCopy::Filler fill, std::unique_ptr<query::CopyRows> rows);

 private:
  explicit PartitionEngine(const EngineOptions& options);
  Status start(replay::WarmState* warm);

  Status admit_any(Refusal* why) const;
  uint32_t lane_of(const Transaction& transaction) const;
  Status admit(Transaction* transaction, int64_t time_us, uint32_t* lane, Refusal* why);
  TransactionQueue& queue_of(uint32_t lane);
  bool push(uint32_t lane, const Chain& chain);
  void hand_over(uint32_t lane, Chain* chain);
  bool run_here(Transaction* transaction, uint32_t lane);
  void submit_here(Transaction* transaction);
  void refuse(Chain* chain, const Status& status, Refusal why);
  // Hash companions that a program wants: who may wait builds them first; an open transaction, which holds the engine,
  // asks for them.
  enum class Companions : uint8_t { kBuild, kRequest };
  StatusOr<std::shared_ptr<const PreparedStatement>> prepare_statement(std::string_view sql,
                                                                       Companions companions = Companions::kBuild);
  StatusOr<std::shared_ptr<const PreparedStatement>> prepare_anew(std::string_view sql,
                                                                  const std::shared_ptr<const PreparedStatement>& known,
                                                                  Companions companions);
  // A text without parameters and what its literals became; nothing is shared where `values` stays empty.
  struct AdHoc {
    std::shared_ptr<const PreparedStatement> statement;
    std::vector<Datum> values;
    query::ValueArena arena;  // of the values
    query::NormalisedText text;
  };
  Status prepare_ad_hoc(std::string_view sql, AdHoc* ad_hoc, Companions companions = Companions::kBuild);
  // Of a text with parameters or without; a text without them has its literals in ad_hoc->values.
  Status prepare_for(std::string_view sql, std::span<const Datum> parameters, AdHoc* ad_hoc,
                     Companions companions = Companions::kBuild);
  bool find_shared(std::string_view sql, uint64_t catalog_version, AdHoc* ad_hoc,
                   Companions companions = Companions::kBuild);
  bool searches_alike(const PreparedStatement& a, const PreparedStatement& b);
  void share(const PreparedStatement& seen, uint64_t catalog_version, AdHoc* ad_hoc, Companions companions);
  bool make_ready(const PreparedStatement& statement, Companions companions);
  Status add_companions(const query::Program& program);
  bool may_write(const PreparedStatement& statement) const;
  Durability::Runner archive_runner();
  void request_companions(std::shared_ptr<const query::Program> program);
  bool push_exclusive(ExclusiveWork* work);
  void queue_again(Transaction* transaction);
  void refuse_one(Transaction* transaction, const Status& status, Refusal why);
  Status admit_job(TentativeJob* job);
  Status admit_changes() const;
  void log_alone(std::string_view redo);
  Status run_and_wait(std::shared_ptr<const PreparedStatement> statement, std::span<const Datum> parameters,
                      const StatementLimits& limits, query::ResultSet* result, uint64_t run_us_max = 0,
                      std::string_view request_text = {}, uint64_t* seen_lsn = nullptr);
  static std::string_view shape_of(std::string_view sql, const AdHoc& ad_hoc) {
    return ad_hoc.text.text.empty() ? sql : std::string_view(ad_hoc.text.text);
  }
  ShortRead verdict_of(const PreparedStatement& statement) const;
  StatusOr<ShortRead> judge(std::string_view sql, std::span<const Datum> parameters, AdHoc* ad_hoc);
  void start_queries();
  Status start_large();
  Status start_compaction(bool is_warm);
  void make_steps_due(storage::Compactor::Due due);
  void request_shared_steps();
  Status take_shared_steps();
  void tick();
  void sum_counters() const;
  RoutineInfo describe_routine(const query::Routine& routine);

  const EngineOptions options_;
  std::shared_ptr<query::Database> database_;       // shared with statements: it outlives their programs
  std::unique_ptr<replay::Compaction> compaction_;  // null: there is none
  replay::Compaction::Share shared_tables_;         // of compaction: whose turn it is alone
  std::atomic<bool> awaits_shared_steps_{false};
  std::atomic<uint64_t> steps_waiting_{0};  // in the queue of what runs alone: nobody's transactions
  ExecutorEnvironment environment_;
  std::unique_ptr<Durability> durability_;  // ends after the workers
  StatementCache statements_;
  SharedStatements shared_;
  ReadVerdicts verdicts_;
  BlockWaits waits_{[this](Transaction* transaction) { queue_again(transaction); }};
  QueueWaits queue_waits_;
  std::atomic<BlockId> last_block_{0};
  std::atomic<BlockId> starved_block_{0};
  Rendezvous rendezvous_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<LargeTransactions> large_;  // ends after the workers
  std::unique_ptr<ForkGate> fork_gate_;
  std::unique_ptr<query::Queries> queries_;
  // The COPY whose rows go in.
  struct RunningCopy {
    const StatementLimits limits;
    query::AloneInterruption interruption;
  };
  void set_running_copy(RunningCopy* copy);
  void check_copy(int64_t now_ns);

  CopyMemory copy_memory_;
  Mutex copy_mutex_;
  RunningCopy* running_copy_ ABSL_GUARDED_BY(copy_mutex_) = nullptr;
  std::array<std::atomic<uint64_t>, kRefusals> refused_{};  // in submit(), by Refusal
  mutable EngineCounters counters_;
  uint32_t ticks_ = 0;  // the watchdog's
  std::unique_ptr<Ticker> watchdog_;
};

}  // namespace scyper::primary
