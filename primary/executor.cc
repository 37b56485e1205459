#include "executor.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "large_transactions.h"
#include "query/error_status.h"
#include "query/value_text.h"
#include "storage/pauses.h"

namespace scyper::primary {

using query::ExecContext;
using query::Outcome;

namespace {

std::string value_text(const SqlType& type, const Datum& value) {
  std::string text;
  query::append_value(&text, type, value);
  return text;
}

// Client ids are microseconds since 1970 and random bits behind them.
constexpr uint32_t kClientIdRandomBits = 12;

std::string shown_request(const Transaction& transaction) {
  return absl::StrCat("request ", transaction.request_id, " of client ", transaction.client_id);
}

std::string client_prefix(const Transaction& transaction, const replay::RequestWindow::Outcome& outcome) {
  using replay::RedoClient;
  RedoClient client;
  client.client_id = transaction.client_id;
  client.affected_rows = outcome.affected_rows;
  client.row_bytes = static_cast<uint32_t>(outcome.rows.size());
  client.flags = RedoClient::kHasOrigin;
  if (!outcome.is_part && !outcome.has_rows) client.flags |= RedoClient::kLacksRows;
  if (outcome.is_part) client.flags |= RedoClient::kPartOnly;
  client.role_id = transaction.request_role;
  client.fingerprint = transaction.request_fingerprint;
  std::string prefix(reinterpret_cast<const char*>(&client), sizeof(client));
  prefix += outcome.rows;
  return prefix;
}

}  // namespace

StatusOr<std::unique_ptr<Executor>> Executor::create(uint32_t number, ExecutorEnvironment* environment) {
  storage::ChangeLog::Options options;
  options.undo_limit_bytes = SIZE_MAX / 4;  // it lies in the arena, which has a limit
  options.redo_limit_bytes = environment->options->redo_bytes_max;
  SCYPER_ASSIGN_OR_RETURN(auto log, storage::ChangeLog::create(environment->database->arena(), options));
  return std::unique_ptr<Executor>(new Executor(number, environment, std::move(log)));
}

Executor::Executor(uint32_t number, ExecutorEnvironment* environment, std::unique_ptr<storage::ChangeLog> log)
    : number_(number),
      environment_(environment),
      log_(std::move(log)),
      rows_elsewhere_(environment->options->physical_crossing ? query::RowsElsewhere::kLacked
                                                              : query::RowsElsewhere::kNone),
      definitions_(query::open_definitions(environment->database)),
      scratch_(environment->options->scratch_bytes_max),
      redo_check_(environment->database),
      applier_([this](TableId id) { return applier_catalog_->find_table(id).get(); }, value_text),
      locked_(environment, [this](BlockId own, const storage::UndoEntry* before) { return find_holder(own, before); }) {
  share_.number = number;
  share_.count = environment->options->workers;
  share_.has_shared = false;
  context_.set_log(log_.get());
  context_.scratch = &scratch_;
  context_.partitions = environment->options->partitions;
  context_.end_transaction = &Executor::end_transaction;
  context_.end_transaction_owner = this;
  context_.deferred = &deferred_;
}

// COMMIT and ROLLBACK inside a procedure. What was committed stays, whatever the rest of the procedure does: a record
// of row changes of its own, which says that the request has been begun. Such procedures run alone.
int32_t Executor::end_transaction(void* owner, query::ExecContext* context, bool commit) noexcept {
  auto* self = static_cast<Executor*>(owner);
  if (!commit) {
    self->take_back();
  } else if (!self->log_->empty()) {
    if (self->meets_block() || !self->may_commit()) return 1;
    self->note_changes();
    self->append_part();
    self->note_changes_again();
    self->log_->commit();
    self->locked_.clear();
    self->publish_definitions();
    self->has_committed_part_ = true;
  }
  self->release_locks();
  self->settings_.end_transaction(commit);
  context->transaction_time_us = self->environment_->clock.now_us() - kPostgresEpochUs;
  return 0;
}

void Executor::append_part() noexcept {
  const Transaction& transaction = *running_;
  replay::RequestWindow::Outcome outcome;
  outcome.is_part = true;
  outcome.has_rows = false;
  const bool has_client = transaction.client_id != 0;
  const uint64_t lsn = environment_->options->redo == RedoMode::kNone
                           ? environment_->lsns.draw()
                           : append_alone(environment_, log_->redo(), transaction.request_id,
                                          has_client ? client_prefix(transaction, outcome) : std::string());
  remember_request(transaction, lsn, std::move(outcome));
}

Executor::Verdict Executor::execute(Transaction* transaction) noexcept {
  if (--until_timed_ != 0) [[likely]]
    return execute_now(transaction);
  return execute_timed(transaction);
}

// Distances that vary: batches have procedures at fixed places.
Executor::Verdict Executor::execute_timed(Transaction* transaction) noexcept {
  random_ = random_ * 1'664'525 + 1'013'904'223;  // Numerical Recipes' generator; its upper bits are the better ones
  until_timed_ = 1 + (random_ >> 16) % (2 * ProcedureTable::kSampleEvery - 1);
  ProcedureTable::Times& times = environment_->procedures.times(prepared_of(*transaction).procedure());
  const int64_t waited_us = environment_->clock.now_us() - kPostgresEpochUs - transaction->time_us;
  const int64_t start_ns = now_ns();
  const Verdict verdict = execute_now(transaction);
  if (verdict == Verdict::kAnswered) {
    times.runs.record_ns(static_cast<uint64_t>(std::max<int64_t>(0, now_ns() - start_ns)));
    times.waits.record_ns(static_cast<uint64_t>(std::max<int64_t>(0, waited_us)) * 1000);
  }
  return verdict;
}

Executor::Verdict Executor::execute_now(Transaction* transaction) noexcept {
  if ((transaction->deadline_ns != 0 || transaction->cancelled != nullptr) && refuse_if_over(transaction))
      [[unlikely]] {
    return Verdict::kAnswered;
  }
  if (TentativeJob* job = TentativeJob::of(*transaction); job != nullptr) [[unlikely]]
    return run_job(job);
  const PreparedStatement& statement = prepared_of(*transaction);
  const Binding* binding = statement.binding();
  if (binding->catalog_version != environment_->catalog_version.load(std::memory_order_relaxed) ||
      binding->program == nullptr) [[unlikely]] {
    bool was_crossing = transaction->crossing;
    binding = bind(statement, transaction);
    if (binding == nullptr) return Verdict::kAnswered;
    if (transaction->crossing && !was_crossing) return Verdict::kMoved;
  }
  if (transaction->client_id != 0 && environment_->requests != nullptr) [[unlikely]] {
    if (answer_request(transaction, statement, *binding)) return Verdict::kAnswered;
  }
  if (is_large_) [[unlikely]]
    hold_tables_of(*binding->program);
  else if (environment_->large != nullptr && environment_->large->is_open() &&
           meets_large(statement, *binding, nullptr)) [[unlikely]]
    return wait_for_large(transaction, 0);
  if (binding->may_be_large && environment_->options->large_after_us == 0 && may_become_large(*transaction, *binding))
      [[unlikely]] {
    environment_->large->submit(transaction);
    return Verdict::kParked;
  }
  enter(transaction, statement, *binding);
  const StatementLimits limits{.deadline_ns = transaction->deadline_ns, .cancelled = transaction->cancelled};
  const uint64_t run_us_max = run_us_max_of(*transaction, *binding);
  if (binding->may_be_large) [[unlikely]]
    keep_sequences_of(*transaction, *binding);
  Outcome outcome = run(*binding->program, transaction->arguments.data(), limits, run_us_max);
  while (context_.is_interrupted()) [[unlikely]] {
    bool is_for_another = was_meant_for_another();
    if (!is_for_another && outcome == Outcome::kError && is_long_one(*transaction, run_us_max))
      return make_large(transaction);
    if (!is_for_another || outcome == Outcome::kOk || has_committed_part_) break;
    take_back();
    scratch_.reset();
    enter(transaction, statement, *binding);
    outcome = run(*binding->program, transaction->arguments.data(), limits, run_us_max);
  }
  Verdict verdict = Verdict::kAnswered;
  if (const BlockId holder = find_obstacle(&outcome); holder != 0 && !has_committed_part_) [[unlikely]]
    return give_way(transaction, holder);
  if (outcome == Outcome::kOk && !may_commit(statement.number())) [[unlikely]]
    outcome = Outcome::kError;
  if (outcome == Outcome::kOk) [[likely]] {
    if (transaction->run_us_max != 0) [[unlikely]]
      transaction->seen_lsn = environment_->lsns.last.load(std::memory_order_acquire);
    commit(transaction, statement, *binding);
  } else if (outcome == Outcome::kMisclassified && !transaction->crossing) {
    take_back();
    transaction->crossing = true;
    transaction->retried_as_crossing = true;
    counters_.misclassified.add();
    verdict = Verdict::kMoved;
  } else {
    if (outcome == Outcome::kMisclassified) context_.fail("XX000", "a transaction that runs alone was misclassified");
    fail(transaction);
  }
  scratch_.reset();
  return verdict;
}

// Before redo is taken: the numbers that were drawn belong to it. False: over a limit, what was written could not be
// read, or the log has no room (it was admitted before the disk was full); the error is in the context.
bool Executor::may_commit(uint64_t statement) noexcept {
  if (!log_->log_sequences()) [[unlikely]] {
    context_.fail(storage::change_status(log_->last_result(), *log_, nullptr), /*catchable=*/false);
    return false;
  }
  if (log_->records_redo() && !log_->redo().empty()) {
    std::function<void()> between;
    if (storage::Pauses::current != nullptr) [[unlikely]]
      between = [] { storage::Pauses::current->step(); };
    const Status status =
        redo_check_.check(log_->redo(), context_.partition,
                          environment_->catalog_version.load(std::memory_order_relaxed), statement, between);
    if (!status.ok()) [[unlikely]] {
      context_.fail(status, /*catchable=*/false);
      return false;
    }
  }
  const GroupCommit* log = environment_->log;
  if (log != nullptr && log->is_full() && !log_->empty()) [[unlikely]] {
    context_.fail(log->refusal(), /*catchable=*/false);
    return false;
  }
  if (storage::Pauses::current != nullptr && !log_->empty()) [[unlikely]]
    storage::Pauses::current->prepare_commit(*log_);
  return true;
}

// After DDL: the statement's program for the catalog as it is now. nullptr: answered with an error. May make the
// transaction a crossing one, when it belongs elsewhere now.
const Binding* Executor::bind(const PreparedStatement& statement, Transaction* transaction) {
  const Binding* binding = statement.bind(environment_->catalog_version.load(std::memory_order_relaxed));
  if (binding->program == nullptr) {
    transaction->result.clear();
    transaction->columns_of = 0;
    transaction->status = binding->failure;
    outcomes_of(statement).rolled_back.add();
    return nullptr;
  }
  if (!statement.is_ready(*binding->program)) {
    statement.set_ready(*binding->program);
    if (environment_->database->wants_companions(*binding->program)) environment_->request_companions(binding->owner);
  }
  if (transaction->crossing) return binding;
  Placement placement = binding->classification->place(transaction->arguments);
  bool stays = placement.kind == Placement::Kind::kAnywhere ||
               (placement.kind == Placement::Kind::kPartition && placement.partition == transaction->partition);
  transaction->crossing = !stays;  // in another worker's partition: alone is always right
  return binding;
}

// Readies context and result for a run from the start.
void Executor::enter(Transaction* transaction, const PreparedStatement& statement, const Binding& binding) noexcept {
  query::ResultSet& result = transaction->result;
  has_committed_part_ = false;
  running_ = transaction;
  result.clear_rows();
  if (!result.notices.empty()) result.notices.clear();
  settings_.begin(transaction->settings);
  const auto& columns = binding.program->columns();
  if (transaction->columns_of != statement.number() || result.columns.size() != columns.size()) {
    result.columns = columns;
    transaction->columns_of = statement.number();
  }
  context_.result = &result;
  context_.notices = &result.notices;
  context_.transaction_time_us = transaction->block_time_us != 0 ? transaction->block_time_us : transaction->time_us;
  context_.partition = transaction->crossing ? ~uint32_t{0} : transaction->partition;
  context_.crossing = transaction->crossing ? 1 : 0;
  context_.error.set = false;
  deferred_.begin(/*is_block=*/false);
  locked_.begin(0, /*keeps=*/false, log_.get(), &transaction->ended_waits);
  RedoMode mode = environment_->options->redo;
  // Rows lie in other places on a node that began from an archive, and tables of other sizes are planned otherwise: a
  // statement that reads them one after the other may give its new rows another order there, and other numbers.
  const bool is_for_some = environment_->options->physical_crossing && transaction->crossing;
  bool is_physical = mode == RedoMode::kPhysical ||
                     (mode == RedoMode::kLogical && (binding.is_volatile || binding.is_planned || is_for_some));
  if (log_->records_redo() != is_physical) log_->record_redo(is_physical);
}

Outcome Executor::run(const query::Program& program, const Datum* arguments, const StatementLimits& limits,
                      uint64_t run_us_max) noexcept {
  uint64_t run = run_number_.load(std::memory_order_relaxed) + 1;
  deadline_ns_.store(limits.deadline_ns, std::memory_order_release);
  run_us_max_.store(run_us_max == 0 && is_large_ ? kNoTimeLimitUs : run_us_max, std::memory_order_release);
  if (limits.cancelled != nullptr) [[unlikely]]
    watch(limits.cancelled);
  run_number_.store(run, std::memory_order_release);
  const query::StatementSettings::Scope scope(&settings_);
  const query::Definitions::Scope definitions(definitions_.get());
  const query::RowsElsewhereScope rows(rows_elsewhere_);
  locked_.clear();
  const query::RowLocks::Scope locks(&locked_);
  Outcome outcome = program.run(&context_, arguments);
  if (outcome == Outcome::kOk) outcome = static_cast<Outcome>(deferred_.check_at_end(&context_));
  run_number_.store(run + 1, std::memory_order_release);
  if (outcome == Outcome::kError) [[unlikely]]
    name_limit(run);
  if (limits.cancelled != nullptr) [[unlikely]]
    watch(nullptr);
  return outcome;
}

// Takes the interrupt flag down. True: the watchdog meant a run that had ended before it raised the flag.
bool Executor::was_meant_for_another() noexcept {
  context_.interrupt.fetch_and(query::kSafepointBit, std::memory_order_acquire);
  return interrupted_run_.load(std::memory_order_acquire) + 1 != run_number_.load(std::memory_order_relaxed);
}

void Executor::commit(Transaction* transaction, const PreparedStatement& statement, const Binding& binding) noexcept {
  if (!log_->empty()) {
    note_changes();
    append_redo(*transaction, statement, binding);
    note_changes_again();
    log_->commit();
    publish_definitions();
  } else if (has_committed_part_ && transaction->client_id != 0) [[unlikely]] {
    append_redo(*transaction, statement, binding);  // nothing changed since COMMIT, but the request has come to its end
  }
  if (!definitions_->empty()) [[unlikely]]
    definitions_->forget();  // nothing changed
  release_locks();
  set_command_tag(binding.tag, binding.program->command(), context_.affected_rows, &transaction->result);
  if (transaction->changed_settings != nullptr) [[unlikely]]
    settings_.give_changed(transaction->changed_settings);
  if (!transaction->status.ok()) transaction->status = Status();
  outcomes_of(statement).committed.add();
  if (transaction->crossing) counters_.crossing.add();
}

void Executor::append_redo(const Transaction& transaction, const PreparedStatement& statement,
                           const Binding& binding) noexcept {
  replay::RequestWindow::Outcome outcome;
  if (transaction.client_id != 0) [[unlikely]]
    outcome = outcome_of(transaction);
  const uint64_t lsn = environment_->options->redo == RedoMode::kNone
                           ? environment_->lsns.draw()  // snapshots are told apart by it
                           : append_record(transaction, statement, binding, outcome);
  remember_request(transaction, lsn, std::move(outcome));
}

// Its LSN.
uint64_t Executor::append_record(const Transaction& transaction, const PreparedStatement& statement,
                                 const Binding& binding, const replay::RequestWindow::Outcome& outcome) noexcept {
  RedoHeader header;
  header.flags = transaction.crossing ? kRedoCrossing : 0;
  header.partition = transaction.crossing ? kNoPartition : static_cast<uint16_t>(transaction.partition);
  header.time_us = transaction.time_us;
  header.request_id = transaction.request_id;
  const bool is_alone = transaction.crossing;
  RedoStream* stream =
      environment_->streams[is_alone ? replay::kAloneStream : replay::stream_of_partition(transaction.partition)].get();
  std::string prefix;
  if (transaction.client_id != 0) [[unlikely]] {
    header.flags |= replay::kRedoHasClient;
    prefix = client_prefix(transaction, outcome);
  }
  uint64_t lsn;
  if (log_->records_redo()) {
    header.kind = RedoKind::kPhysical;
    if (storage::Pauses* const pauses = storage::Pauses::current; pauses != nullptr) [[unlikely]]
      stream->prepare(log_->redo(), prefix.size(), [pauses] { pauses->pause(); });
    lsn = stream->append(header, log_->redo(), prefix);
  } else {
    lsn = stream->append_logical(header, statement.number(), statement.text(), binding.program->parameter_types(),
                                 transaction.arguments.data(), prefix);
  }
  remember(stream, is_alone, lsn);
  return lsn;
}

// Of a client that names its requests.
void Executor::remember_request(const Transaction& transaction, uint64_t lsn,
                                replay::RequestWindow::Outcome outcome) const {
  if (transaction.client_id == 0 || environment_->requests == nullptr) [[likely]]
    return;
  outcome.lsn = lsn;
  outcome.fingerprint = transaction.request_fingerprint;
  environment_->requests->finish({transaction.client_id, transaction.request_id, transaction.request_role},
                                 std::move(outcome));
}

// What a request that is sent again gets to see of its first answer.
replay::RequestWindow::Outcome Executor::outcome_of(const Transaction& transaction) const {
  replay::RequestWindow::Outcome outcome;
  outcome.affected_rows = context_.affected_rows;
  outcome.has_rows = transaction.result.bytes() <= replay::RequestWindow::kRowBytesMax;
  if (outcome.has_rows) outcome.rows = replay::encode_rows(transaction.result);
  if (outcome.rows.size() > replay::RequestWindow::kRowBytesMax) {
    outcome.has_rows = false;
    outcome.rows.clear();
  }
  return outcome;
}

// An id far ahead of the time would, once it is forgotten, make all clients that come until then look forgotten.
Status Executor::check_client_id(const Transaction& transaction) const {
  const int64_t now_us = transaction.time_us + kPostgresEpochUs;
  const auto drawn_us = static_cast<int64_t>(transaction.client_id >> kClientIdRandomBits);
  if (drawn_us - now_us <= environment_->options->log.client_id_ahead_us_max) return Status();
  return with_hint(
      sql_error("22023", absl::StrCat("client id ", transaction.client_id,
                                      " is further ahead of the node's clock than ", "client_id_ahead_max allows")),
      "A client id is the time in microseconds since 1970 when it was drawn, times 4096, and a random number below.");
}

// A transaction that has committed before is answered as it was then; one that may have, but is not remembered, is
// refused, and so is another one with its id. Whose client it is decides the session's role: what other roles have sent
// is not looked at. True: it is answered. Here and not where it was admitted: a first try that is still running, or
// whose commit is not durable yet, stands before this one in the same queue, or runs alone.
bool Executor::answer_request(Transaction* transaction, const PreparedStatement& statement, const Binding& binding) {
  using Answer = replay::RequestWindow::Answer;
  transaction->was_repeated = false;
  transaction->request_role = binding.role_id;
  transaction->request_fingerprint =
      transaction->request_text.empty()
          ? replay::request_fingerprint(statement.text(), binding.program->parameter_types(), transaction->arguments)
          : replay::request_fingerprint(transaction->request_text, {}, {});
  replay::RequestWindow::Outcome known;
  const Answer answer =
      environment_->requests->find({transaction->client_id, transaction->request_id, transaction->request_role},
                                   transaction->request_fingerprint, &known);
  Status status;
  if (answer == Answer::kNew) {
    status = check_client_id(*transaction);
    if (status.ok()) return false;
  } else if (answer == Answer::kForgotten) {
    status = with_hint(sql_error("40003", shown_request(*transaction) + " is older than what is remembered"),
                       "Whether it has committed is not known any more. Draw a new client id for new requests.");
  } else if (answer == Answer::kAnother) {
    status = with_hint(sql_error("22023", shown_request(*transaction) + " was another one when it was sent first"),
                       "Only the same statement with the same arguments is sent again with the same request id.");
  } else if (known.is_part) {
    status = with_hint(sql_error("40003", shown_request(*transaction) + " has not come to its end"),
                       "What it had committed by COMMIT stays. Draw a new request id to run the procedure again.");
  }
  if (!status.ok()) {
    refuse(transaction, std::move(status), Refusal::kRequest);
    return true;
  }
  enter(transaction, statement, binding);
  transaction->was_repeated = true;
  transaction->status = replay::decode_rows(known.rows, &transaction->result);
  if (!transaction->status.ok()) {  // the statement's columns have changed since
    transaction->status =
        sql_error("22023", "the rows of the first answer do not fit the statement's columns any more");
    transaction->result.clear_rows();
    return true;
  }
  set_command_tag(binding.tag, binding.program->command(), known.affected_rows, &transaction->result);
  if (!known.has_rows && !transaction->result.columns.empty()) {
    transaction->result.notices.emplace_back("NOTICE:  the rows of the first answer are not kept any more");
  }
  return true;
}

void Executor::remember(RedoStream* stream, bool is_alone, uint64_t lsn) noexcept {
  last_lsn_ = lsn;
  has_news_ = true;
  if (is_alone) {
    environment_->last_alone_lsn.store(lsn, std::memory_order_relaxed);
    stream->flush();  // the next one to run alone may be another worker's
  } else if (stream->has_unflushed() && std::find(unflushed_.begin(), unflushed_.end(), stream) == unflushed_.end()) {
    unflushed_.push_back(stream);
  }
}

uint64_t append_alone(ExecutorEnvironment* environment, std::string_view row_changes, uint64_t request_id,
                      std::string_view client) {
  RedoHeader header;
  header.kind = RedoKind::kPhysical;
  header.flags = kRedoCrossing;
  if (!client.empty()) header.flags |= replay::kRedoHasClient;
  header.request_id = request_id;
  header.partition = kNoPartition;
  header.time_us = environment->clock.now_us() - kPostgresEpochUs;
  RedoStream* stream = environment->streams[replay::kAloneStream].get();
  if (storage::Pauses* const pauses = storage::Pauses::current; pauses != nullptr)
    stream->prepare(row_changes, client.size(), [pauses] { pauses->pause(); });
  const uint64_t lsn = stream->append(header, row_changes, client);
  environment->last_alone_lsn.store(lsn, std::memory_order_relaxed);
  stream->flush();
  if (environment->log != nullptr) environment->log->idle();
  return lsn;
}

void Executor::answer(Transaction* transaction) {
  GroupCommit* log = environment_->log;
  const TentativeJob* job = TentativeJob::of(*transaction);
  // A block's statement that gives no rows is answered by its COMMIT: that waits for what the statement has read.
  const bool is_early =
      job != nullptr && job->kind == TentativeJob::Kind::kStatement && transaction->result.columns.empty();
  if (log == nullptr || is_early) return transaction->done(transaction);
  // In its partition it has read what this worker wrote before, and anywhere what ran alone before. Running alone it
  // has read what it wanted.
  const bool is_alone = transaction->crossing || transaction->statement == nullptr;
  if (environment_->options->replication.leads && transaction->statement != nullptr) [[unlikely]] {
    transaction->has_logged = std::exchange(answered_lsn_, last_lsn_) != last_lsn_ || has_committed_part_;
    has_committed_part_ = false;
  }
  const uint64_t lsn = is_alone ? environment_->lsns.last.load(std::memory_order_relaxed)
                                : std::max(last_lsn_, environment_->last_alone_lsn.load(std::memory_order_relaxed));
  log->acknowledge(number_, transaction, lsn);
}

void Executor::flush_redo() {
  for (RedoStream* stream : unflushed_) stream->flush();
  unflushed_.clear();
  if (has_news_ && environment_->log != nullptr) environment_->log->idle();
  has_news_ = false;
}

// What it has defined is there for all. It runs alone.
void Executor::publish_definitions() noexcept {
  if (definitions_->empty()) [[likely]]
    return;
  MutexLock lock(&environment_->definition_mutex);
  definitions_->publish();
  environment_->catalog_version.store(environment_->database->catalog()->version, std::memory_order_relaxed);
}

void Executor::take_back() noexcept {
  release_locks();
  log_->rollback_all();
  if (!definitions_->empty()) definitions_->forget();
}

void Executor::fail(Transaction* transaction) noexcept {
  if (!context_.error.set) context_.fail("XX000", "the statement failed without a reason");
  take_back();
  transaction->status = query::with_notices(status_of(context_.error), transaction->result.notices);
  transaction->result.notices.clear();
  transaction->result.clear_rows();
  transaction->result.command_tag.clear();
  context_.error = query::ErrorState();
  outcomes_of(prepared_of(*transaction)).rolled_back.add();
  if (transaction->crossing) counters_.crossing.add();
}

void Executor::define(Transaction* transaction) noexcept {
  const PreparedStatement& statement = prepared_of(*transaction);
  transaction->result.clear();
  transaction->columns_of = 0;
  if (refuse_if_over(transaction)) return;
  const bool is_definition = statement.prepared().kind() == query::Prepared::Kind::kDefinition;
  if (is_definition && environment_->log != nullptr) {  // the disk may have become full since it was admitted
    if (Status status = environment_->log->refusal(); !status.ok())
      return refuse(transaction, std::move(status), Refusal::kLog);
  }
  query::Database* database = environment_->database;
  environment_->versions.note_all();
  const absl::Cleanup noted = [this] { environment_->versions.note_all(); };
  settings_.begin(transaction->settings);
  const query::StatementSettings::Scope settings(&settings_);
  query::DefinitionRun run;
  run.time_us = transaction->time_us;
  run.wants_rows = environment_->options->redo != RedoMode::kNone;
  run.row_bytes_max = kRecordBytesMax;
  {
    const query::RowsElsewhereScope rows(rows_elsewhere_);
    const LargeTransactions::DefinitionScope large(is_large_ ? environment_->large : nullptr);
    MutexLock lock(&environment_->definition_mutex);
    transaction->status = database->define(statement.prepared(), &transaction->result, &run);
    environment_->catalog_version.store(database->catalog()->version, std::memory_order_relaxed);
  }
  ExecutorCounters::Outcomes& outcomes = outcomes_of(statement);
  (transaction->status.ok() ? outcomes.committed : outcomes.rolled_back).add();
  if (!transaction->status.ok() || run.log.empty() || environment_->options->redo == RedoMode::kNone) return;
  RedoHeader header;
  header.kind = RedoKind::kDefinition;
  header.flags = kRedoCrossing;
  header.partition = kNoPartition;
  header.time_us = transaction->time_us;
  header.request_id = transaction->request_id;
  RedoStream* stream = environment_->streams[replay::kAloneStream].get();
  remember(stream, /*is_alone=*/true, stream->append(header, run.log));
}

}  // namespace scyper::primary
