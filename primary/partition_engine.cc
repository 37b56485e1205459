#include "partition_engine.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "block_catalog.h"
#include "engine_transaction.h"
#include "primary/warm_engine.h"
#include "query/stopping.h"

namespace scyper::primary {

namespace {

constexpr size_t kCachedStatements = 4096;
// All caches of statements take 1/32 of the memory for tables, or enough for small nodes.
constexpr size_t kCacheBytesMin = size_t{64} << 20, kCacheShare = 32;
constexpr uint32_t kPartitionsMax = 4096;
constexpr int kWatchdogPeriodMs = 2;
constexpr uint32_t kTicksPerSum = 25;                // counters are at most 50 ms old
constexpr size_t kLoadBytesMax = size_t{512} << 20;  // becomes one record of the log

size_t cache_bytes(const EngineOptions& options) {
  return std::max(kCacheBytesMin, options.memory_bytes / kCacheShare);
}

constexpr size_t kScratchBytesMin = size_t{256} << 20;  // of a transaction, unless it is set

EngineOptions effective(EngineOptions options) {
  options.partitions = std::clamp<uint32_t>(options.partitions, 1, kPartitionsMax);
  options.workers = std::clamp<uint32_t>(options.workers, 1, std::min(options.partitions, kWorkersMax));
  options.queue_capacity = std::max<uint32_t>(options.queue_capacity, 1);
  options.physical_crossing |= options.replication.takes_partial;
  if (options.scratch_bytes_max == 0) options.scratch_bytes_max = std::max(kScratchBytesMin, options.memory_bytes / 4);
  return options;
}

}  // namespace

StatusOr<std::unique_ptr<Engine>> Engine::create(const EngineOptions& options) {
  SCYPER_ASSIGN_OR_RETURN(auto engine, PartitionEngine::create(options));
  return std::unique_ptr<Engine>(std::move(engine));
}

StatusOr<std::unique_ptr<CopyIn>> Engine::open_copy(std::string_view) {
  return sql_error("0A000", "this engine does not copy");
}

StatusOr<ShortRead> Engine::execute_short(std::string_view, std::span<const Datum>, query::ResultSet*,
                                          const StatementLimits&, query::Receipt*) {
  return ShortRead::kLong;
}

StatusOr<std::unique_ptr<OpenTransaction>> Engine::begin() {
  return sql_error("0A000", "this engine has no open transactions");
}

StatusOr<Forked> Engine::fork(ForkRequest) { return sql_error("0A000", "this engine does not fork"); }

StatusOr<std::unique_ptr<Engine>> create_engine(const EngineOptions& options, std::shared_ptr<replay::WarmState> warm) {
  SCYPER_ASSIGN_OR_RETURN(auto engine, PartitionEngine::create(options, std::move(warm)));
  return std::unique_ptr<Engine>(std::move(engine));
}

StatusOr<std::unique_ptr<PartitionEngine>> PartitionEngine::create(const EngineOptions& options,
                                                                   std::shared_ptr<replay::WarmState> warm) {
  std::unique_ptr<PartitionEngine> engine(new PartitionEngine(effective(options)));
  SCYPER_RETURN_IF_ERROR(engine->start(warm.get()));
  return engine;
}

PartitionEngine::PartitionEngine(const EngineOptions& options)
    : options_(options),
      statements_(kCachedStatements, cache_bytes(options) / 2),
      shared_(kCachedStatements, cache_bytes(options) * 7 / 16),
      verdicts_(kCachedStatements, cache_bytes(options) / 16),
      rendezvous_(options.queue_capacity) {
  copy_memory_.bytes_max = options_.copy_bytes_max;
}

Status PartitionEngine::start(replay::WarmState* warm) {
  if (options_.redo_bytes_max > kRecordBytesMax) {
    return sql_error("22023", absl::StrCat("redo_bytes_max is at most ", kRecordBytesMax, " bytes"));
  }
  query::DatabaseOptions database;
  database.partitions = options_.partitions;
  database.memory_bytes = options_.memory_bytes;
  database.page_mode = options_.page_mode;
  database.copy_ahead_rate = options_.copy_ahead_rate;
  database.layout = options_.layout;
  database.execution = options_.execution;
  database.shared_rows_min = options_.shared_rows_min;
  database.spill_from_bytes = options_.queries.spill_from_bytes();
  database.foreign_files_directory = options_.queries.foreign_files_directory;
  database.frozen_bytes = options_.compaction.frozen_bytes();
  database.tier = options_.compaction.tier;
  if (warm != nullptr) {
    database_ = std::move(warm->database);
    compaction_ = std::move(warm->compaction);
  } else {
    SCYPER_ASSIGN_OR_RETURN(database_, query::Database::create(database));
  }
  environment_.database = database_.get();
  environment_.reservations.begin(options_.partitions);
  environment_.waits = &waits_;
  environment_.options = &options_;
  SCYPER_ASSIGN_OR_RETURN(durability_, Durability::start(options_, &environment_, warm));
  environment_.catalog_version = database_->catalog()->version;
  SCYPER_RETURN_IF_ERROR(start_compaction(warm != nullptr));
  environment_.request_companions = [this](std::shared_ptr<const query::Program> program) {
    request_companions(std::move(program));
  };
  std::vector<Worker*> workers;
  for (uint32_t i = 0; i < options_.workers; ++i) {
    SCYPER_ASSIGN_OR_RETURN(auto executor, Executor::create(i, &environment_));
    workers_.push_back(std::make_unique<Worker>(i, std::move(executor), &rendezvous_, options_));
    workers.push_back(workers_.back().get());
  }
  rendezvous_.set_workers(std::move(workers));
  SCYPER_RETURN_IF_ERROR(start_large());
  for (auto& worker : workers_) worker->start();
  std::vector<Worker*> all;
  for (auto& worker : workers_) all.push_back(worker.get());
  fork_gate_ = std::make_unique<ForkGate>(&environment_, &rendezvous_, std::move(all), options_.fork_mode);
  fork_gate_->set_large(&large_->executor());
  start_queries();
  if (compaction_ != nullptr) compaction_->set_when_due([this](storage::Compactor::Due due) { make_steps_due(due); });
  watchdog_ = std::make_unique<Ticker>("watchdog", kWatchdogPeriodMs, [this] { tick(); });
  durability_->watch(archive_runner());
  return Status();
}

void PartitionEngine::start_queries() {
  query::Snapshots::Environment environment;
  environment.fork = [this](ForkRequest request) { return fork_gate_->fork(std::move(request)); };
  environment.current_lsn = [this] { return environment_.lsns.last.load(std::memory_order_acquire); };
  environment.catalog_version = [this] { return environment_.catalog_version.load(std::memory_order_acquire); };
  environment.wait_durable = [this](uint64_t lsn, const std::function<Status()>& interruption) -> Status {
    if (options_.replication.admits) SCYPER_RETURN_IF_ERROR(options_.replication.admits());
    const GroupCommit* log = environment_.log;
    if (log == nullptr || log->mode() == CommitMode::kAsync || log->confirmed_lsn() >= lsn) return Status();
    SCYPER_RETURN_IF_ERROR(environment_.log->wait_confirmed(lsn, interruption));
    return options_.replication.admits ? options_.replication.admits() : Status();
  };
  environment.partitions = options_.partitions;
  queries_ = std::make_unique<query::Queries>(database_, std::move(environment), options_.queries);
}

PartitionEngine::~PartitionEngine() {
  if (watchdog_ == nullptr) return;  // never started
  if (compaction_ != nullptr) compaction_->set_when_due({});
  if (environment_.log != nullptr) environment_.log->release();
  durability_->stop_archives();
  durability_->stop_watching();  // it forks
  queries_.reset();
  fork_gate_.reset();  // its children end with it
  stop_admission();
  for (auto& worker : workers_) worker->join();
  watchdog_.reset();  // until the end: it stops endless loops
  large_.reset();
}

void PartitionEngine::stop_admission() {
  rendezvous_.begin_closing();
  for (Transaction* transaction : waits_.close()) refuse_one(transaction, query::stopping_error(), Refusal::kStopping);
  for (auto& worker : workers_) worker->wake();
}

// --- statements ---

StatusOr<std::shared_ptr<const Statement>> PartitionEngine::prepare(std::string_view sql) {
  SCYPER_ASSIGN_OR_RETURN(auto statement, prepare_statement(sql));
  return std::shared_ptr<const Statement>(std::move(statement));
}

StatusOr<std::shared_ptr<const PreparedStatement>> PartitionEngine::prepare_statement(std::string_view sql,
                                                                                      Companions companions) {
  auto known = statements_.find(sql);
  if (known != nullptr && make_ready(*known, companions)) return known;
  return prepare_anew(sql, known, companions);
}

// With the types that its parameters have by the catalog of now.
StatusOr<std::shared_ptr<const PreparedStatement>> PartitionEngine::prepare_anew(
    std::string_view sql, const std::shared_ptr<const PreparedStatement>& known, Companions companions) {
  SCYPER_ASSIGN_OR_RETURN(auto prepared, database_->prepare(sql));
  SCYPER_ASSIGN_OR_RETURN(auto statement,
                          PreparedStatement::create(std::move(prepared), database_, &environment_.retired,
                                                    environment_.procedures.slot_of(sql)));
  make_ready(*statement, companions);
  return statements_.insert(std::move(statement), /*replaced=*/known);
}

// True: the normalised text's program, with the literals as arguments.
bool PartitionEngine::find_shared(std::string_view sql, uint64_t catalog_version, AdHoc* ad_hoc,
                                  Companions companions) {
  if (ad_hoc->text.text.empty() && !query::normalise(sql, &ad_hoc->text)) return false;
  auto found = shared_.find(ad_hoc->text.text, catalog_version);
  if (found.state == SharedStatements::State::kSeen) {
    share(*found.statement, catalog_version, ad_hoc, companions);
    found = shared_.find(ad_hoc->text.text, catalog_version);
  }
  if (found.state != SharedStatements::State::kShared || !make_ready(*found.statement, companions)) return false;
  if (!query::literal_values(ad_hoc->text, found.statement->parameter_types(), &ad_hoc->arena, &ad_hoc->values).ok())
    return false;
  ad_hoc->statement = std::move(found.statement);
  return true;
}

// A literal may be what makes the index on an expression, or a partial one, the way to the rows.
bool PartitionEngine::searches_alike(const PreparedStatement& a, const PreparedStatement& b) {
  auto keys = [this](const PreparedStatement& statement) {
    auto program = database_->program_of(statement.prepared());
    return program.ok() ? (*program)->footprint().hidden_keys : 0;
  };
  return !a.is_program() || !b.is_program() || keys(a) == keys(b);
}

// Compiles the normalised text of statements like `seen`.
void PartitionEngine::share(const PreparedStatement& seen, uint64_t catalog_version, AdHoc* ad_hoc,
                            Companions companions) {
  SharedStatements::Found found{SharedStatements::State::kRefused, nullptr};
  // a statement of this text from before a definition reads the literals as other types
  auto statement = prepare_anew(ad_hoc->text.text, statements_.find(ad_hoc->text.text), companions);
  // the next one of this form may have more time or memory
  if (sqlstate_of(statement.status()) == "57014" || sqlstate_of(statement.status()) == "53200") return;
  if (statement.ok()) {
    const auto& columns = (*statement)->columns();
    bool is_same = std::equal(columns.begin(), columns.end(), seen.columns().begin(), seen.columns().end(),
                              [](const auto& a, const auto& b) { return a.name == b.name && a.type == b.type; });
    is_same = is_same && searches_alike(seen, **statement);
    if (is_same) found = {SharedStatements::State::kShared, *std::move(statement)};
  }
  shared_.set(ad_hoc->text.text, catalog_version, std::move(found));
}

Status PartitionEngine::prepare_ad_hoc(std::string_view sql, AdHoc* ad_hoc, Companions companions) {
  uint64_t catalog_version = environment_.catalog_version;
  if (find_shared(sql, catalog_version, ad_hoc, companions)) return Status();
  ad_hoc->values.clear();
  SCYPER_ASSIGN_OR_RETURN(ad_hoc->statement, prepare_statement(sql, companions));
  if (ad_hoc->text.text.empty() || !ad_hoc->statement->is_program()) return Status();
  if (shared_.find(ad_hoc->text.text, catalog_version).state == SharedStatements::State::kNew)
    shared_.set(ad_hoc->text.text, catalog_version, {SharedStatements::State::kSeen, ad_hoc->statement});
  return Status();
}

// Compiles for the current catalog and adds companions here, so that no worker has to. False: the statement does not
// fit the catalog any more; made anew it may.
bool PartitionEngine::make_ready(const PreparedStatement& statement, Companions companions) {
  if (!statement.is_program()) return true;
  auto program = database_->program_of(statement.prepared());
  if (!program.ok()) return false;
  if (statement.is_ready(**program)) return true;
  bool wants_companions;
  {
    MutexLock lock(&environment_.definition_mutex);
    uint64_t version = environment_.catalog_version.load(std::memory_order_relaxed);
    wants_companions = (*program)->catalog_version() == version && database_->wants_companions(**program);
  }
  // behind a block that runs alone they would come late: the statement itself waits, where it can be ended
  const bool requests = companions == Companions::kRequest || queue_waits_.is_anybody_alone();
  if (wants_companions && requests) {
    request_companions(*program);
  } else if (wants_companions) {
    Status added = run_exclusively([this, &program] { return add_companions(**program); }, /*beside_large=*/true);
    if (!added.ok()) return true;  // it runs without them
  }
  statement.set_ready(**program);
  return true;
}

// While all workers stand still.
Status PartitionEngine::add_companions(const query::Program& program) {
  if (program.catalog_version() != environment_.catalog_version.load(std::memory_order_relaxed)) return Status();
  if (large_->is_open() && large_->holds_any_of(query::touched_tables(program, *database_->catalog())))
    return sql_error("55P03", "a large transaction holds the table");
  return database_->add_companions(program);
}

// Asked for by a worker, which cannot wait.
void PartitionEngine::request_companions(std::shared_ptr<const query::Program> program) {
  auto exclusive = std::make_unique<ExclusiveWork>();
  exclusive->may_run_beside_large = true;
  exclusive->run = [this, program = std::move(program)] {
    MutexLock lock(&environment_.definition_mutex);
    return add_companions(*program);
  };
  exclusive->done = [](Transaction* transaction) { delete static_cast<ExclusiveWork*>(transaction); };
  if (push_exclusive(exclusive.get())) static_cast<void>(exclusive.release());
}

Status PartitionEngine::execute(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                                const StatementLimits& limits) {
  query::ResultSet ignored;
  if (result == nullptr) result = &ignored;
  AdHoc ad_hoc;
  SCYPER_RETURN_IF_ERROR(prepare_for(sql, parameters, &ad_hoc));
  if (!parameters.empty()) return run_and_wait(std::move(ad_hoc.statement), parameters, limits, result);
  return run_and_wait(std::move(ad_hoc.statement), ad_hoc.values, limits, result, /*run_us_max=*/0, sql);
}

Status PartitionEngine::execute_script(std::string_view sql, const std::function<void(const query::ResultSet&)>& each,
                                       const StatementLimits& limits) {
  query::ResultSet result;
  AdHoc ad_hoc;
  if (find_shared(sql, environment_.catalog_version, &ad_hoc)) {  // one statement: nothing to split
    SCYPER_RETURN_IF_ERROR(
        run_and_wait(std::move(ad_hoc.statement), ad_hoc.values, limits, &result, /*run_us_max=*/0, sql));
    if (each) each(result);
    return Status();
  }
  SCYPER_ASSIGN_OR_RETURN(auto texts, database_->split(sql));
  if (limits.client_id != 0 && texts.size() > 1)
    return sql_error("08P01", "a request id is for one statement, and the text has several");
  for (const std::string& text : texts) {
    SCYPER_RETURN_IF_ERROR(execute(text, {}, &result, limits));
    if (each) each(result);
  }
  return Status();
}

// --- exclusive work ---

Status PartitionEngine::run_exclusively(std::function<Status()> work, bool beside_large,
                                        const StatementLimits& limits) {
  if (rendezvous_.is_closing()) return query::stopping_error();
  const auto exclusive = std::make_shared<KeptWork>();
  exclusive->may_run_beside_large = beside_large;
  exclusive->run = [this, &work] {
    MutexLock lock(&environment_.definition_mutex);
    return work();
  };
  exclusive->cancelled = limits.cancelled;
  exclusive->deadline_ns = limits.deadline_ns;
  exclusive->own_claim.keep(exclusive);
  if (!push_exclusive(exclusive.get())) {
    exclusive->own_claim.release();
    return query::stopping_error();
  }
  SCYPER_RETURN_IF_ERROR(await(*exclusive, &exclusive->completion));
  return std::move(exclusive->status);
}

bool PartitionEngine::when_quiet(std::function<void()> done) {
  auto exclusive = std::make_unique<ExclusiveWork>();
  exclusive->run = [done = std::move(done)] {
    done();
    return Status();
  };
  exclusive->done = [](Transaction* transaction) { delete static_cast<ExclusiveWork*>(transaction); };
  if (rendezvous_.is_closing() || !push_exclusive(exclusive.get())) return false;
  static_cast<void>(exclusive.release());
  return true;
}

// Needs no room in the queue: bounded by the threads that wait for theirs, and by the statements bound after a DDL.
bool PartitionEngine::push_exclusive(ExclusiveWork* work) {
  Chain chain;
  chain.add(work);
  rendezvous_.queue().reserve_always(1);
  if (rendezvous_.push(chain)) return true;
  rendezvous_.queue().cancel(1);
  return false;
}

Status PartitionEngine::load(std::string_view table, std::span<const Datum> values) {
  SCYPER_RETURN_IF_ERROR(admit_changes());
  size_t bytes = values.size() * 20;  // most that a value takes beside its text
  SCYPER_ASSIGN_OR_RETURN(auto columns, describe(table));
  for (size_t i = 0; i < values.size(); ++i) {
    if (!columns.empty() && holds_bytes(columns[i % columns.size()].type.id) && !values[i].null)
      bytes += values[i].size();
  }
  if (bytes > kLoadBytesMax) return sql_error("54000", "a load has too many bytes: send the rows in several");
  return run_exclusively([&]() -> Status {
    if (environment_.log != nullptr) SCYPER_RETURN_IF_ERROR(environment_.log->refusal());
    if (environment_.reservations.any() && has_references(*database_->catalog(), table))
      return sql_error("55006",
                       "a table with foreign keys or triggers cannot be loaded while blocks are open: use COPY");
    std::string redo;
    const bool logs = options_.redo != RedoMode::kNone;
    SCYPER_RETURN_IF_ERROR(database_->load(table, values, logs ? &redo : nullptr));
    log_alone(redo);
    return Status();
  });
}

Status PartitionEngine::push_open(ExclusiveWork* work) {
  SCYPER_RETURN_IF_ERROR(admit_changes());
  return !rendezvous_.is_closing() && push_exclusive(work) ? Status() : query::stopping_error();
}

StatusOr<std::unique_ptr<OpenTransaction>> PartitionEngine::begin() {
  auto transaction = std::make_unique<EngineTransaction>(this);
  SCYPER_RETURN_IF_ERROR(transaction->begin({}));
  return std::unique_ptr<OpenTransaction>(std::move(transaction));
}

void PartitionEngine::drop_temporary_tables(const std::string& schema) {
  // nobody is left to tell of an error, which is that the engine stops
  static_cast<void>(run_exclusively([&]() -> Status {
    SCYPER_RETURN_IF_ERROR(database_->drop_temporary_tables(schema));
    environment_.catalog_version.store(database_->catalog()->version, std::memory_order_relaxed);
    return Status();
  }));
}

// What changed beside all transactions; empty: nothing.
void PartitionEngine::log_alone(std::string_view redo) {
  environment_.versions.note_all();
  const absl::Cleanup noted = [this] { environment_.versions.note_all(); };
  if (options_.redo == RedoMode::kNone) {
    environment_.lsns.draw();  // snapshots are told apart by it
  } else if (!redo.empty()) {
    append_alone(&environment_, redo);
  }
}

// Whether this node takes changes now.
Status PartitionEngine::admit_changes() const {
  if (options_.replication.admits) SCYPER_RETURN_IF_ERROR(options_.replication.admits());
  return environment_.log == nullptr ? Status() : environment_.log->refusal();
}

// --- durability ---

StatusOr<Engine::ArchiveInfo> Engine::write_archive(const std::string&, const std::function<void(uint64_t)>&) {
  return sql_error("55000", "this engine has no data directory");
}

Durability::Runner PartitionEngine::archive_runner() {
  Durability::Runner runner;
  runner.fork = [this](ForkRequest request) { return fork(std::move(request)); };
  runner.run_exclusively = [this](std::function<Status()> work) { return run_exclusively(std::move(work)); };
  return runner;
}

StatusOr<PartitionEngine::ArchiveInfo> PartitionEngine::write_archive(
    const std::string& archives, const std::function<void(uint64_t)>& on_progress) {
  const int64_t start_ns = environment_.clock.monotonic_ns();
  SCYPER_ASSIGN_OR_RETURN(auto result, durability_->write_archive(archive_runner(), archives, on_progress));
  ArchiveInfo info;
  info.lsn = result.lsn;
  info.path = storage::archive_path(archives.empty() ? replay::archives_directory(options_.log.directory) : archives,
                                    result.lsn);
  info.rows = result.rows;
  info.raw_bytes = result.raw_bytes;
  info.stored_bytes = result.stored_bytes;
  info.seconds = static_cast<double>(environment_.clock.monotonic_ns() - start_ns) / 1e9;
  return info;
}

PartitionEngine::LogInfo PartitionEngine::log_info() const {
  if (environment_.log != nullptr) return durability_->log_info();
  LogInfo info;
  info.last_lsn = info.durable_lsn = info.confirmed_lsn = last_lsn();
  return info;
}

// --- watching and counting ---

void PartitionEngine::tick() {
  int64_t now_ns = environment_.clock.monotonic_ns();
  for (auto& worker : workers_) worker->executor().check_time(now_ns);
  large_->executor().check_time(now_ns);
  large_->refuse_over(now_ns);
  for (const auto& [transaction, why] : waits_.take_over(now_ns)) {
    const bool is_cancelled = transaction->cancelled != nullptr && transaction->cancelled->load();
    refuse_one(transaction, why, is_cancelled ? Refusal::kCancelled : Refusal::kTimeout);
  }
  check_copy(now_ns);
  if (++ticks_ % kTicksPerSum == 0) sum_counters();
}

}  // namespace scyper::primary
