#include "query/queries.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "base/postgres_epoch.h"
#include "compile/program_parts.h"
#include "query/column_batch.h"
#include "query/local_indexes.h"
#include "query/partitions_read.h"
#include "query/program.h"
#include "query/query_threads.h"
#include "query/statement_weight.h"
#include "runtime/foreign_files.h"
#include "snapshot/query_gate.h"
#include "snapshot/query_records.h"
#include "snapshot/snapshot.h"

namespace scyper::query {

namespace {

constexpr size_t kStatementsMax = 512;
constexpr uint64_t kStatementsShare = 16;  // of query_memory, for what is kept of statements
// Below this many rows the interpreter is done before a compiler would be: some 10 ns a row against milliseconds.
constexpr uint64_t kRowsInterpretedMax = 20'000;
constexpr int64_t kNsPerUs = 1000;

double ms_of(int64_t ns) { return static_cast<double>(ns) / 1e6; }

uint64_t draw_secret() {
  std::random_device random;  // the machine's, not a generator that can be continued
  return uint64_t{random()} << 32 | random();
}

Status unknown_session() {
  return with_hint(sql_error("25P03", "the session does not exist, or was idle for too long"), "Open a new session.");
}

template <typename Action>
void for_each_table(const Program& program, const Action& action) {
  for (const auto& table : program.parts().resources.tables) action(*table);
  for (const Program* callee : program.parts().callees) {
    for (const auto& table : callee->parts().resources.tables) action(*table);
  }
}

// Of the largest table that it reads; as it is now, which is near enough.
uint64_t rows_of(const Program& program) {
  uint64_t rows = 0;
  for_each_table(program, [&](const storage::Table& table) { rows = std::max(rows, table.live_tuples()); });
  return rows;
}

// Grows when a table that the program reads gets new statistics.
uint64_t statistics_number_of(const Program& program) {
  uint64_t number = 0;
  for_each_table(program, [&](const storage::Table& table) { number += table.statistics_number(); });
  return number;
}

uint64_t statistics_number_of(const Catalog& catalog) {
  uint64_t number = 0;
  for (const auto& [name, table] : catalog.tables) number += table->statistics_number();
  return number;
}
constexpr uint64_t kNeverPlanned = ~uint64_t{0};  // no statistics have this number

// The child gets what its query may read.
Status open_files(const Program& program, const std::string& directory, ForeignFiles* files) {
  const std::vector<const ForeignTable*> tables = foreign_tables_of(program);
  if (tables.size() > kDescriptorsMax)
    return sql_error("54000", "a query reads at most " + std::to_string(kDescriptorsMax) + " foreign tables");
  for (const ForeignTable* table : tables) {
    SCYPER_ASSIGN_OR_RETURN(int file, open_foreign_file(directory, table->file));
    files->add(*table, file);
  }
  return Status();
}

// Idle sessions must not keep single queries from their snapshots: a quarter of all is not for sessions.
size_t pinned_max(const QueriesOptions& options) {
  const uint32_t most = std::max<uint32_t>(options.snapshots.count_max, 1);
  return most == 1 ? 1 : most - std::max<uint32_t>(1, most / 4);
}

}  // namespace

// --- QueryStream ---

// Not to its last row: failed, cancelled, or its reader has gone.
QueryStream::~QueryStream() {
  if (query_ == nullptr || is_noted_) return;
  const RealClock clock;
  receipt_.run_ms = ms_of(clock.monotonic_ns() - run_ns_);
  records_->note(text_, receipt_, rows_, /*is_answered=*/false, clock.now_us());
}

StatusOr<bool> QueryStream::next(std::string* columns) {
  if (query_ == nullptr) {
    if (!std::exchange(is_ready_, false)) return false;
    *columns = std::move(ready_);
    return true;
  }
  // what was read must not be lost when the answer is out (design section 5, rule 1)
  SCYPER_ASSIGN_OR_RETURN(bool has_rows, query_->next(columns));
  if (auto wait = std::exchange(wait_durable_, nullptr)) {
    SCYPER_RETURN_IF_ERROR(wait(receipt_.lsn, [this] { return interruption(); }));
  }
  if (has_rows) return true;
  rows_ = query_->costs().rows;
  receipt_.run_ms = ms_of(query_->costs().run_ns - query_->code_ns());
  receipt_.compile_ms += ms_of(query_->code_ns());
  receipt_.memory_bytes = query_->costs().scratch_bytes;
  receipt_.spilled_bytes = query_->costs().spilled_bytes;
  receipt_.swaps = query_->costs().swaps;
  if (!std::exchange(is_noted_, true)) {
    records_->note(text_, receipt_, rows_, /*is_answered=*/true, RealClock().now_us());
  }
  notices_ = query_->notices();
  command_tag_ = "SELECT " + std::to_string(rows_);
  turn_.reset();
  return false;
}

// Why it is not to wait any longer.
Status QueryStream::interruption() const {
  if (is_cancelled_.load()) return sql_error("57014", "canceling statement due to user request");
  if (deadline_ns_ == 0 || RealClock().monotonic_ns() < deadline_ns_) return Status();
  return sql_error("57014", "canceling statement due to statement timeout");
}

void QueryStream::cancel() {
  is_cancelled_.store(true);
  if (query_ != nullptr) query_->cancel();
}

// --- Queries ---

Queries::Queries(std::shared_ptr<Database> database, Snapshots::Environment environment, const QueriesOptions& options)
    : database_(std::move(database)),
      options_(options),
      records_(std::make_shared<QueryRecords>()),
      gate_(std::make_shared<QueryGate>(std::max<uint32_t>(options.running_max, 1), options.waiting_max)),
      activity_gate_(std::make_shared<QueryGate>(1, options.waiting_max)),
      wait_durable_(environment.wait_durable),
      snapshots_(std::make_unique<Snapshots>(std::move(environment), options.snapshots)) {}

void Queries::stop() {
  gate_->stop();
  activity_gate_->stop();
  snapshots_->stop();
}

Queries::~Queries() {
  gate_->stop();
  activity_gate_->stop();
  std::lock_guard<std::mutex> lock(mutex_);
  sessions_.clear();
}

bool Queries::is_query(std::string_view sql) { return database_->is_query(sql); }

StatusOr<Queries::PreparedPointer> Queries::prepare(std::string_view sql, const std::shared_ptr<const Catalog>& catalog,
                                                    bool reuses) {
  const LocalIndexUse use;
  if (!reuses) return database_->prepare_for(sql, catalog);
  std::pair<std::string, uint64_t> key(sql, catalog->version);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto known = statements_.find(key);
    if (known != statements_.end() && is_planned_well(known->second)) {
      known->second.last_use = ++uses_;
      return known->second.prepared;
    }
  }
  const uint64_t before = statistics_number_of(*catalog);
  SCYPER_ASSIGN_OR_RETURN(PreparedPointer prepared, database_->prepare_for(sql, catalog));
  const bool is_settled = statistics_number_of(*catalog) == before;
  keep(std::move(key), prepared, is_settled);
  return prepared;
}

void Queries::set_activity(ReadActivity read) {
  std::lock_guard<std::mutex> lock(mutex_);
  read_activity_ = std::move(read);
}

// What sessions do now is in the program, which is not kept.
StatusOr<Queries::PreparedPointer> Queries::prepare_activity(std::string_view sql,
                                                             const std::shared_ptr<const Catalog>& catalog,
                                                             int32_t pid) {
  ReadActivity read;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    read = read_activity_;
  }
  const LocalIndexUse use;
  if (!read) return database_->prepare_for(sql, catalog);
  const NodeActivity activity = read();
  const ActivityScope scope(&activity, pid);
  return database_->prepare_for(sql, catalog);
}

// With what is known of its tables now.
bool Queries::is_planned_well(const Statement& statement) const {
  if (statement.prepared->kind() != Prepared::Kind::kProgram) return true;
  return statement.planned_for == statistics_number_of(*database_->first_program_of(*statement.prepared));
}

// Statements keep their catalog's tables: those of old catalogs go first. One that was planned while statistics changed
// is planned again when it comes again.
void Queries::keep(std::pair<std::string, uint64_t> key, PreparedPointer prepared, bool is_settled) {
  std::vector<PreparedPointer> freed;  // without the lock
  const uint64_t current = database_->catalog()->version;
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = statements_.begin(); it != statements_.end();) {
    if (it->first.second != current && it->first.second != key.second) {
      freed.push_back(std::move(it->second.prepared));
      it = statements_.erase(it);
    } else {
      ++it;
    }
  }
  const uint64_t bytes_max = options_.query_bytes_max / kStatementsShare;
  uint64_t bytes = statement_weight(key.first);
  if (bytes > bytes_max) return;
  for (const auto& [known, statement] : statements_) bytes += statement_weight(known.first);
  while (!statements_.empty() && (statements_.size() >= kStatementsMax || bytes > bytes_max)) {
    auto oldest = std::min_element(statements_.begin(), statements_.end(),
                                   [](const auto& a, const auto& b) { return a.second.last_use < b.second.last_use; });
    bytes -= statement_weight(oldest->first.first);
    freed.push_back(std::move(oldest->second.prepared));
    statements_.erase(oldest);
  }
  const bool is_program = prepared->kind() == Prepared::Kind::kProgram;
  uint64_t number = 0;
  if (is_program) number = is_settled ? statistics_number_of(*database_->first_program_of(*prepared)) : kNeverPlanned;
  statements_[std::move(key)] = Statement{std::move(prepared), ++uses_, number};
}

StatusOr<Snapshots::Use> Queries::snapshot_of(const QueryOptions& options, int64_t deadline_ns) {
  if (options.session == 0) return snapshots_->acquire(options.freshness, deadline_ns);
  std::lock_guard<std::mutex> lock(mutex_);
  auto session = find_session(options.session, options.owner);
  if (session == sessions_.end()) return unknown_session();
  session->second.used_ns = clock_.monotonic_ns();
  return session->second.snapshot;
}

void Queries::fill(const Snapshot& snapshot, Receipt* receipt) const {
  receipt->lsn = snapshot.point().lsn;
  const ForkPoint& point = snapshot.point();
  receipt->snapshot = point.snapshot != 0 ? point.snapshot : point.number;
  receipt->term = point.term;
  receipt->age_ms = ms_of(std::max<int64_t>(0, clock_.monotonic_ns() - snapshots_->as_of_ns(snapshot)));
  receipt->node = options_.node;
}

StatusOr<std::unique_ptr<QueryStream>> Queries::run(std::string_view sql, std::span<const Datum> arguments,
                                                    const QueryOptions& options) {
  const int64_t start_ns = clock_.monotonic_ns();
  const int64_t deadline_ns = options.timeout_us == 0 ? 0 : start_ns + options.timeout_us * kNsPerUs;
  drop_idle_sessions(start_ns);
  const std::string client = options.session == 0 ? options.client : "session " + std::to_string(options.session);
  const bool is_of_activity = mentions_activity(sql);
  auto turn = (is_of_activity ? activity_gate_ : gate_)->enter(client, deadline_ns);
  if (!turn.ok()) {
    std::lock_guard<std::mutex> lock(mutex_);
    ++counters_.refused;
    return turn.status();
  }
  std::unique_ptr<QueryStream> stream(new QueryStream);
  stream->database_ = database_;
  stream->records_ = records_;
  if (sql.size() <= SlowQuery::kTextBytesMax) stream->text_ = sql;
  stream->turn_ = *std::move(turn);
  SCYPER_ASSIGN_OR_RETURN(Snapshots::Use snapshot, snapshot_of(options, deadline_ns));
  const int64_t compile_ns = clock_.monotonic_ns();
  stream->receipt_.wait_ms = ms_of(compile_ns - start_ns);
  const std::shared_ptr<const Catalog>& catalog = snapshot->point().catalog;
  const QueryThreads threads(options.threads);
  SCYPER_ASSIGN_OR_RETURN(PreparedPointer prepared, is_of_activity ? prepare_activity(sql, catalog, options.pid)
                                                                   : prepare(sql, catalog, options.reuses_code));
  if (prepared->kind() == Prepared::Kind::kRows) {
    SCYPER_ASSIGN_OR_RETURN(auto answer, answer_at_once(*prepared));
    fill(*snapshot, &answer->receipt_);
    return answer;
  }
  Status status = start(*prepared, snapshot, arguments, options, deadline_ns, stream.get());
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ++(status.ok() ? counters_.started : counters_.failed);
  }
  SCYPER_RETURN_IF_ERROR(status);
  return stream;
}

StatusOr<bool> Queries::run_for_session(std::string_view sql, std::span<const Datum> arguments, int32_t pid,
                                        bool takes_locks, SessionRun* run, ResultSet* result) {
  const bool is_of_activity = mentions_activity(sql);
  if (!is_of_activity && !mentions_session_function(sql)) return false;
  const auto catalog = database_->catalog();
  const auto prepared = is_of_activity ? prepare_activity(sql, catalog, pid) : prepare(sql, catalog, /*reuses=*/true);
  if (!prepared.ok() || (*prepared)->kind() != Prepared::Kind::kProgram) return false;  // who runs it says why
  const auto program = database_->first_program_of(**prepared);
  if (!SessionRun::fits(*program) || (SessionRun::takes_locks(*program) && !takes_locks)) return false;
  SCYPER_RETURN_IF_ERROR(run->run(*program, arguments, result));
  return true;
}

PartitionSet Queries::read_by(const Program& program, std::span<const Datum> arguments) const {
  return partitions_read(program.footprint(), arguments, database_->options().partitions);
}

PartitionSet Queries::partitions_of(std::string_view sql, std::span<const Datum> arguments,
                                    const std::vector<SqlType>* argument_types) {
  if (mentions_activity(sql)) return PartitionSet();
  const auto prepared = prepare(sql, database_->catalog(), /*reuses_code=*/true);
  if (!prepared.ok()) return PartitionSet::all();
  if ((*prepared)->kind() == Prepared::Kind::kRows) return PartitionSet();
  if ((*prepared)->kind() != Prepared::Kind::kProgram) return PartitionSet::all();
  const auto program = database_->first_program_of(**prepared);
  const std::vector<SqlType>& wanted = program->parameter_types();
  if (arguments.size() != wanted.size()) return PartitionSet::all();
  if (!wanted.empty() && (argument_types == nullptr || *argument_types != wanted)) return PartitionSet::all();
  return read_by(*program, arguments);
}

Status Queries::start(const Prepared& prepared, const Snapshots::Use& snapshot, std::span<const Datum> arguments,
                      const QueryOptions& options, int64_t deadline_ns, QueryStream* stream) {
  if (prepared.kind() != Prepared::Kind::kProgram) return sql_error("0A000", "only queries run on snapshots");
  const int64_t compile_ns = clock_.monotonic_ns();
  auto program = database_->first_program_of(prepared);
  if (program->footprint().writes) {
    return sql_error("25006", "cannot run a statement that writes on a snapshot");
  }
  if (arguments.size() != program->parameter_types().size()) {
    return sql_error("08P01", "bind message supplies " + std::to_string(arguments.size()) +
                                  " parameters, but prepared statement \"\" requires " +
                                  std::to_string(program->parameter_types().size()));
  }
  if (options.argument_types != nullptr && *options.argument_types != program->parameter_types()) {
    return with_hint(sql_error("0A000", "cached plan must not change types of parameters"),
                     "Prepare the statement again.");
  }
  if (!options_.partitions.is_all() && !options_.partitions.covers(read_by(*program, arguments))) {
    return with_hint(sql_error("55000", "this node has not all partitions that the query reads"),
                     "It has " + options_.partitions.to_string() + ". Ask the primary.");
  }
  if (rows_of(*program) > kRowsInterpretedMax) {
    SCYPER_RETURN_IF_ERROR(make_code(*program, options));
  }
  const int64_t run_ns = clock_.monotonic_ns();
  stream->receipt_.compile_ms = ms_of(run_ns - compile_ns);
  stream->run_ns_ = run_ns;
  stream->columns_ = program->columns();
  Snapshot::RunOptions run;
  run.time_us = options.time_us != 0 ? options.time_us : clock_.now_us() - kPostgresEpochUs;
  run.deadline_ns = deadline_ns;
  run.silence_us_max = options_.silence_us_max;
  run.memory_bytes = options_.query_bytes_max;
  run.threads = options.threads;
  run.make_code = [database = database_, reuses = options.reuses_code](const Program& wanting) {
    SCYPER_RETURN_IF_ERROR(wanting.parts().code->begin_native());
    if (reuses) database->request_better(wanting);
    return Status();
  };
  ForeignFiles files;
  SCYPER_RETURN_IF_ERROR(open_files(*program, options_.foreign_files_directory, &files));
  run.files = files.descriptors();
  fill(*snapshot, &stream->receipt_);
  stream->wait_durable_ = wait_durable_;
  stream->deadline_ns_ = deadline_ns;
  SCYPER_ASSIGN_OR_RETURN(stream->query_, snapshot->run(std::move(program), arguments, run));
  return Status();
}

// Quick code before the first run; better code in the background for a statement that may come again.
Status Queries::make_code(const Program& program, const QueryOptions& options) {
  Status status = database_->make_native(program);
  // without room for code it is interpreted
  if (!status.ok() && sqlstate_of(status) != "53200") return status;
  if (options.reuses_code) database_->request_better(program);
  return Status();
}

// EXPLAIN and SHOW.
StatusOr<std::unique_ptr<QueryStream>> Queries::answer_at_once(const Prepared& prepared) {
  std::unique_ptr<QueryStream> stream(new QueryStream);
  stream->database_ = database_;
  ResultSet result;
  const LocalIndexUse use;  // plans are made here
  SCYPER_RETURN_IF_ERROR(database_->define(prepared, &result));
  std::vector<SqlType> types;
  for (const ResultColumn& column : result.columns) types.push_back(column.type);
  stream->rows_ = result.row_count();
  if (stream->rows_ > 0) encode_columns(types, result.values().data(), stream->rows_, &stream->ready_);
  stream->is_ready_ = stream->rows_ > 0;
  stream->columns_ = std::move(result.columns);
  stream->command_tag_ = std::move(result.command_tag);
  stream->notices_ = std::move(result.notices);
  return stream;
}

Status Queries::execute(std::string_view sql, std::span<const Datum> arguments, const QueryOptions& options,
                        ResultSet* result, Receipt* receipt) {
  result->clear();
  SCYPER_ASSIGN_OR_RETURN(auto stream, run(sql, arguments, options));
  result->columns = stream->columns();
  std::vector<SqlType> types;
  for (const ResultColumn& column : result->columns) types.push_back(column.type);
  std::string batch;
  while (true) {
    SCYPER_ASSIGN_OR_RETURN(bool has_rows, stream->next(&batch));
    if (!has_rows) break;
    SCYPER_RETURN_IF_ERROR(decode_columns(types, batch, result));
  }
  result->command_tag = stream->command_tag();
  result->affected_rows = stream->rows();
  result->notices = stream->notices();
  if (receipt != nullptr) *receipt = stream->receipt();
  return Status();
}

StatusOr<Queries::Description> Queries::describe(std::string_view sql, uint64_t session, const std::string& owner) {
  std::shared_ptr<const Catalog> catalog = database_->catalog();
  if (session != 0) {
    QueryOptions options;
    options.session = session;
    options.owner = owner;
    SCYPER_ASSIGN_OR_RETURN(Snapshots::Use snapshot, snapshot_of(options, 0));
    catalog = snapshot->point().catalog;
  }
  SCYPER_ASSIGN_OR_RETURN(PreparedPointer prepared, mentions_activity(sql) ? prepare_activity(sql, catalog, /*pid=*/0)
                                                                           : prepare(sql, catalog, /*reuses=*/true));
  return Description{prepared->parameter_types(), prepared->columns()};
}

// --- sessions ---

// A session of somebody else is answered as one that does not exist: nobody learns which numbers are taken.
std::map<uint64_t, Queries::Session>::iterator Queries::find_session(uint64_t session, const std::string& owner) {
  auto found = sessions_.find(session);
  return found != sessions_.end() && found->second.owner != owner ? sessions_.end() : found;
}

StatusOr<uint64_t> Queries::open_session(const Freshness& freshness, Receipt* receipt, const std::string& owner) {
  drop_idle_sessions(clock_.monotonic_ns());
  SCYPER_ASSIGN_OR_RETURN(Snapshots::Use snapshot, snapshots_->acquire(freshness, 0));
  if (receipt != nullptr) fill(*snapshot, receipt);
  std::lock_guard<std::mutex> lock(mutex_);
  if (sessions_.size() >= options_.sessions_max) return sql_error("53300", "too many sessions");
  std::set<const Snapshot*> pinned = {snapshot.get()};
  for (const auto& [id, session] : sessions_) pinned.insert(session.snapshot.get());
  if (pinned.size() > pinned_max(options_)) {
    return with_hint(sql_error("53300", "too many snapshots are held by transactions and sessions"),
                     "End some of them, set idle_in_transaction_session_timeout, or raise snapshots_max.");
  }
  uint64_t number = 0;
  while (number == 0 || sessions_.contains(number)) number = draw_secret();
  sessions_.emplace(number, Session{owner, std::move(snapshot), clock_.monotonic_ns()});
  return number;
}

Status Queries::close_session(uint64_t session, const std::string& owner) {
  Snapshots::Use freed;  // without the lock
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = find_session(session, owner);
  if (found == sessions_.end()) return unknown_session();
  freed = std::move(found->second.snapshot);
  sessions_.erase(found);
  return Status();
}

void Queries::drop_idle_sessions(int64_t now_ns) {
  std::vector<Snapshots::Use> freed;
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = sessions_.begin(); it != sessions_.end();) {
    if (now_ns - it->second.used_ns >= options_.session_idle_us_max * kNsPerUs) {
      freed.push_back(std::move(it->second.snapshot));
      it = sessions_.erase(it);
    } else {
      ++it;
    }
  }
}

std::vector<SlowQuery> Queries::slow_queries() const { return records_->slow(clock_.now_us()); }

Queries::Counters Queries::counters() {
  drop_idle_sessions(clock_.monotonic_ns());
  Counters counters;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    counters = counters_;
    counters.sessions = static_cast<uint32_t>(sessions_.size());
  }
  records_->add_to(&counters);
  counters.snapshots = snapshots_->counters();
  counters.running = gate_->running();
  counters.waiting = gate_->waiting();
  return counters;
}

}  // namespace scyper::query
