#include "replay/replayer.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "arguments.h"
#include "base/check.h"
#include "base/deep_stack.h"
#include "base/failpoint.h"
#include "base/object_name.h"
#include "query/deferred_checks.h"
#include "query/program.h"
#include "query/repeated_definition.h"
#include "query/rows_elsewhere.h"
#include "replay/request_window.h"
#include "replication/parcel.h"
#include "storage/change_log.h"
#include "storage/freeze_now.h"
#include "storage/row_apply.h"
#include "team.h"

namespace scyper::replay {

using query::ExecContext;
using query::Outcome;
using query::Prepared;
using query::Program;

namespace {

Failpoint before_record("recovery.before_record");
Failpoint before_alone("recovery.before_alone");

constexpr uint64_t kWindowBytes = 4 << 20;

// Class 53: no memory or disk left here; 58: the machine. Elsewhere, or with more room, the same record fits.
std::string state_of_failure(std::string cause) {
  return cause.starts_with("53") || cause.starts_with("58") ? cause : "XX001";
}

Status failed(const RedoHeader& header, const Status& cause) {
  const std::string state = state_of_failure(sqlstate_of(cause));
  const Status status = sql_error(state, absl::StrCat("replay of the transaction with LSN ", header.lsn,
                                                      " failed: ", std::string(cause.message())));
  if (state != "XX001") return status;
  return with_hint(status, absl::StrCat("`scyper log inspect --lsn ", header.lsn,
                                        " DIRECTORY` shows what it is. `scyper restore "
                                        "--from DIRECTORY --to NEW --skip-lsn ",
                                        header.lsn,
                                        "` makes a new data directory of all "
                                        "but this transaction, `--to-lsn ",
                                        header.lsn - 1, "` one of what was before it."));
}
Status diverged(const RedoHeader& header, const char* what) { return failed(header, sql_error("XX001", what)); }

// What ran alone may have read or written any partition: on some of them it does not run.
Status needs_all(const RedoHeader& header) {
  return with_hint(sql_error("55000", absl::StrCat("the partition-crossing transaction with LSN ", header.lsn,
                                                   " is logged as a statement, which a node that has some partitions "
                                                   "only cannot replay")),
                   "Set partial_secondaries = on at the primary, and let this node begin from an archive of later.");
}

bool skip_client(const RedoHeader& header, std::string_view* body) {
  if ((header.flags & kRedoHasClient) == 0) return true;
  RedoClient client;
  std::string_view rows;
  return take_client(body, &client, &rows);
}

// Statements by text, with the program for the catalog as it is. Threads: find() any; prepare() while the team rests.
class Statements {
 public:
  struct Entry {
    std::shared_ptr<const Prepared> prepared;
    std::shared_ptr<const Program> program;
    const std::vector<SqlType>* types = nullptr;  // of the parameters
  };
  explicit Statements(query::Database* database) : database_(database) {}

  // Makes everything ready that needs to run alone, and code as good as `uses` of it are worth.
  void prepare(std::string_view text, uint64_t uses) {
    auto entry = find(text);
    if (!entry.ok()) return;  // of a procedure that a later definition makes
    if (uses >= kUsesForNative) {
      // without it the statement is interpreted at first, nothing else
      static_cast<void>(database_->make_native(*(*entry)->program));
      database_->request_better(*(*entry)->program);
    }
    if ((*entry)->program != nullptr && database_->wants_companions(*(*entry)->program)) {
      // without it lookups are slower, nothing else
      static_cast<void>(database_->add_companions(*(*entry)->program));
    }
  }
  StatusOr<const Entry*> find(std::string_view text) {
    std::lock_guard<std::mutex> lock(mutex_);
    const uint64_t version = database_->catalog()->version;
    auto found = entries_.find(std::string(text));
    if (found == entries_.end()) {
      Entry entry;
      SCYPER_ASSIGN_OR_RETURN(entry.prepared, database_->prepare(text));
      if (entry.prepared->kind() != Prepared::Kind::kProgram) {
        return sql_error("XX001", "damaged redo record: no statement that runs");
      }
      entry.types = &entry.prepared->parameter_types();
      found = entries_.emplace(std::string(text), std::move(entry)).first;
    }
    Entry& entry = found->second;
    if (entry.program == nullptr || entry.program->catalog_version() != version) {
      if (entry.program != nullptr) retired_.push_back(std::move(entry.program));
      SCYPER_ASSIGN_OR_RETURN(entry.program, database_->program_of(*entry.prepared));
    }
    return &entry;
  }
  // While the team rests and nobody holds an entry.
  void forget() {
    std::lock_guard<std::mutex> lock(mutex_);
    retired_.clear();
    if (entries_.size() > kEntriesMax) entries_.clear();
  }

  // Uses that pay for native code.
  static constexpr uint64_t kUsesForNative = 200;

 private:
  static constexpr size_t kEntriesMax = 4096;  // texts without parameters are many

  query::Database* const database_;
  std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;  // entries never move
  std::vector<std::shared_ptr<const Program>> retired_;
};

// A statement that a batch has explained; what runs it is found at its first record.
struct Explained {
  std::string_view text;
  const Statements::Entry* entry = nullptr;
};

// The records of one stream in a window, unpacked.
struct StreamWindow {
  std::vector<std::string> buffers;  // kept from window to window
  std::vector<std::string_view> raws;
  std::vector<uint64_t> first_lsns;
  size_t raw = 0;                                     // in hand
  std::string_view rest;                              // of it
  std::unordered_map<uint64_t, Explained> explained;  // in it

  void clear() {
    raws.clear();
    first_lsns.clear();
    raw = 0;
    rest = {};
    explained.clear();
  }
};

// What one thread needs to apply records. Threads: one at a time.
class Lane {
 public:
  static StatusOr<std::unique_ptr<Lane>> create(query::Database* database, Statements* statements,
                                                const Replayer::Options& options) {
    storage::ChangeLog::Options log;
    log.undo_limit_bytes = SIZE_MAX / 4;
    log.redo_limit_bytes = options.redo_bytes_max;
    SCYPER_ASSIGN_OR_RETURN(auto change_log, storage::ChangeLog::create(database->arena(), log));
    return std::unique_ptr<Lane>(new Lane(database, statements, options, std::move(change_log)));
  }

  Status apply(const RecordView& record, StreamWindow* window) {
    const bool is_statement = record.header.kind == RedoKind::kLogical || record.header.kind == RedoKind::kLogicalText;
    if (is_statement && is_partial_ && record.header.partition == kNoPartition) return needs_all(record.header);
    const query::RowsElsewhereScope rows(is_partial_ ? query::RowsElsewhere::kLacking : query::RowsElsewhere::kNone);
    std::string_view body = record.body;
    if (!skip_client(record.header, &body)) return diverged(record.header, "its client is missing");
    switch (record.header.kind) {
      case RedoKind::kPhysical:
        ++physical_;
        return note(record.header, in_table(applier_.apply(body, record.header.partition == kNoPartition
                                                                     ? storage::RowApplier::kAnyPartition
                                                                     : record.header.partition)));
      case RedoKind::kLogicalText: {
        auto entry = statements_->find(body);
        return note(record.header, entry.ok() ? run(record.header, **entry, {}) : entry.status());
      }
      case RedoKind::kLogical: {
        uint64_t number;
        if (!take_varint(&body, &number)) return diverged(record.header, "its statement is missing");
        const auto found = window->explained.find(number);
        if (found == window->explained.end()) return diverged(record.header, "its statement is not explained");
        const Statements::Entry*& entry = found->second.entry;
        if (entry == nullptr) {
          auto made = statements_->find(found->second.text);
          if (!made.ok()) return note(record.header, made.status());
          entry = *made;
        }
        return note(record.header, run(record.header, *entry, body));
      }
      default:
        return diverged(record.header, "its kind is not known");
    }
  }
  // Of a definition that made rows or drew from sequences.
  Status apply_rows(const RedoHeader& header, std::string_view rows) {
    return note(header, applier_.apply(rows, storage::RowApplier::kAnyPartition));
  }
  void forget() { applier_.forget(); }
  // Between two transactions, where memory gets tight: of the stream's partition, of all where it is stream 0. What was
  // frozen in the node that wrote the log does not fit otherwise.
  void make_room(size_t stream) {
    const storage::Arena* arena = database_->arena();
    if (!makes_room_ || arena->used_bytes() <= arena->budget_bytes() / 100 * storage::kTightPercent) return;
    if (rest_ > 0 && --rest_ > 0) return;
    uint64_t frozen = 0;
    for (const auto& [name, table] : database_->catalog()->tables) {
      const bool is_shared = table->schema().scheme == storage::PartitionScheme::kShared;
      for (uint32_t p = 0; p < table->partition_count(); ++p) {
        if (stream == 0 || (!is_shared && p + 1 == stream))
          frozen += storage::freeze_while_tight(table->partition(p), false);
      }
    }
    rest_ = frozen == 0 ? kRecordsBetweenTries : 0;
  }
  // Definitions among row changes since the last call.
  bool take_defined() { return std::exchange(has_defined_, false); }
  uint64_t physical() const { return physical_; }

 private:
  Lane(query::Database* database, Statements* statements, const Replayer::Options& options,
       std::unique_ptr<storage::ChangeLog> log)
      : database_(database),
        statements_(statements),
        makes_room_(options.makes_room),
        log_(std::move(log)),
        is_partial_(!options.partitions.is_all()),
        scratch_(options.scratch_bytes_max),
        applier_(
            [database](TableId id) -> storage::Table* {
              auto catalog = database->catalog();
              for (const auto& [name, table] : catalog->tables) {
                if (table->schema().id == id) return table.get();
              }
              return nullptr;
            },
            [database](SequenceId id) { return database->catalog()->find_sequence(id); },
            [this, database](std::string_view text) { return define(database, text); }) {
    applier_.set_held(options.partitions);
    log_->record_redo(false);
    context_.set_log(log_.get());
    context_.scratch = &scratch_;
    context_.partitions = database->options().partitions;
    context_.deferred = &deferred_;
  }

  Status define(query::Database* database, std::string_view text) {
    has_defined_ = true;
    std::string_view rows;
    Status status = query::repeat_definition(database, text, &rows);
    return !status.ok() || rows.empty() ? status : sql_error("XX001", "damaged redo record: definition");
  }

  // Names the table whose change does not fit.
  Status in_table(const Status& status) const {
    const std::string table = status.ok() ? "" : applier_.last_table();
    if (table.empty() || sqlstate_of(status) != "XX001") return status;
    return sql_error("XX001", absl::StrCat(std::string(status.message()), ", at a row of table \"",
                                           std::string(bare_name(table)), "\""));
  }

  static Status note(const RedoHeader& header, const Status& status) {
    return status.ok() ? status : failed(header, status);
  }

  // As it ran before, without what only a client sees, and without redo.
  Status run(const RedoHeader& header, const Statements::Entry& statement, std::string_view arguments) {
    SCYPER_RETURN_IF_ERROR(arguments_.read(*statement.types, arguments));
    context_.transaction_time_us = header.time_us;
    context_.crossing = header.partition == kNoPartition ? 1 : 0;
    context_.partition = header.partition == kNoPartition ? ~uint32_t{0} : header.partition;
    context_.error.set = false;
    const Outcome outcome = statement.program->run(&context_, arguments_.arguments());
    if (outcome != Outcome::kOk) {
      log_->rollback_all();
      scratch_.reset();
      if (outcome == Outcome::kMisclassified) return sql_error("XX001", "it touches another partition now");
      return sql_error(state_of_failure(context_.error.sqlstate),
                       absl::StrCat(context_.error.sqlstate, ": ", context_.error.message));
    }
    log_->commit();
    scratch_.reset();
    return Status();
  }

  static constexpr uint32_t kRecordsBetweenTries = 1000;

  query::Database* const database_;
  Statements* const statements_;
  const bool makes_room_;
  uint32_t rest_ = 0;  // records until there may be something to freeze again
  const std::unique_ptr<storage::ChangeLog> log_;
  const bool is_partial_;
  query::ScratchArena scratch_;
  storage::RowApplier applier_;
  ExecContext context_;
  query::DeferredChecks deferred_{query::DeferredChecks::Mode::kForgets};
  ArgumentReader arguments_;
  uint64_t physical_ = 0;
  bool has_defined_ = false;
};

class ReplayerImpl final : public Replayer {
 public:
  ReplayerImpl(query::Database* database, const Options& options)
      : database_(database), held_(options.partitions), statements_(database), team_(options.threads) {}

  Status start(const Options& options) {
    for (uint32_t i = 0; i < team_.size(); ++i) {
      SCYPER_ASSIGN_OR_RETURN(auto lane, Lane::create(database_, &statements_, options));
      lanes_.push_back(std::move(lane));
    }
    return Status();
  }

  void prepare(std::span<const std::string> texts) override {
    on_deep_stack([&] {
      for (const std::string& text : texts) statements_.prepare(text, Statements::kUsesForNative);
    });
  }
  Status apply(const std::vector<ScannedGroup>& groups, const Range& range) override;
  void forget_indexes() override {
    for (auto& lane : lanes_) lane->forget();
    statements_.forget();
  }
  void set_observer(Observer observer) override { observer_ = std::move(observer); }
  uint64_t transactions() const override { return transactions_; }
  uint64_t physical() const override {
    uint64_t sum = 0;
    for (const auto& lane : lanes_) sum += lane->physical();
    return sum;
  }
  uint64_t last_lsn() const override { return last_lsn_; }
  int64_t last_time_us() const override { return last_time_us_; }

 private:
  Status apply_all(const std::vector<ScannedGroup>& groups, const Range& range);
  Status unpack(std::span<const ScannedGroup> groups);
  Status apply_window(std::span<const ScannedGroup> groups, const Range& range, bool* is_over);
  uint64_t limit_of(const Range& range);
  void explain_all();
  Status run_partitions(uint64_t before_lsn, uint64_t from_lsn);
  Status run_stream(Lane* lane, size_t stream, uint64_t before_lsn, uint64_t from_lsn, uint64_t* count);
  Status run_alone(uint64_t from_lsn, uint64_t limit_lsn);
  Status apply_alone(const RecordView& record);
  void forget_definitions();
  bool is_skipped(const RecordView& record) const {
    return !skipped_.empty() && std::find(skipped_.begin(), skipped_.end(), record.header.lsn) != skipped_.end();
  }
  static bool next_record(StreamWindow* window, uint64_t before_lsn, RecordView* record, Status* status);

  query::Database* const database_;
  const PartitionSet held_;
  Statements statements_;
  Team team_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<StreamWindow> windows_;  // by stream
  Observer observer_;
  std::vector<uint64_t> skipped_;  // of the range in hand
  std::atomic<uint64_t> transactions_{0};
  uint64_t last_lsn_ = 0;
  int64_t last_time_us_ = 0;
};

Status ReplayerImpl::unpack(std::span<const ScannedGroup> groups) {
  for (StreamWindow& window : windows_) window.clear();
  std::vector<std::vector<const ScannedBatch*>> batches(windows_.size());
  for (const ScannedGroup& group : groups) {
    for (const ScannedBatch& batch : group.batches) {
      const uint32_t stream = batch.header.stream;
      if (stream > database_->options().partitions) {
        return sql_error("XX001", absl::StrCat("the log has stream ", stream, ", the database ",
                                               database_->options().partitions, " partitions"));
      }
      if (!replication::has_stream(held_, stream)) continue;
      if (stream >= windows_.size()) {
        windows_.resize(stream + 1);
        batches.resize(stream + 1);
      }
      batches[stream].push_back(&batch);
    }
  }
  return team_.run([&](uint32_t member) -> Status {
    for (size_t s = 0; s < windows_.size(); ++s) {
      if (s % team_.size() != member) continue;
      StreamWindow& window = windows_[s];
      if (window.buffers.size() < batches[s].size()) window.buffers.resize(batches[s].size());
      for (size_t i = 0; i < batches[s].size(); ++i) {
        const ScannedBatch& batch = *batches[s][i];
        SCYPER_RETURN_IF_ERROR(replication::unpack_batch(batch.header, batch.body, &window.buffers[i]));
        window.raws.push_back(window.buffers[i]);
        window.first_lsns.push_back(batch.header.first_lsn);
      }
    }
    return Status();
  });
}

// Finds records in order; keeps what explains statements.
bool ReplayerImpl::next_record(StreamWindow* window, uint64_t before_lsn, RecordView* record, Status* status) {
  while (true) {
    if (window->rest.empty()) {
      if (window->raw == window->raws.size() || window->first_lsns[window->raw] >= before_lsn) return false;
      window->rest = window->raws[window->raw++];
      window->explained.clear();
      continue;
    }
    std::string_view rest = window->rest;
    if (!take_record(&rest, record)) {
      *status = sql_error("XX001", absl::StrCat("a batch ends within a record, behind LSN ", record->header.lsn));
      return false;
    }
    if (record->header.kind == RedoKind::kStatement) {
      std::string_view text = record->body;
      uint64_t number;
      if (!take_varint(&text, &number)) {
        *status = sql_error("XX001", "a batch has a damaged explanation");
        return false;
      }
      window->explained[number] = {text, nullptr};
    } else if (record->header.lsn >= before_lsn) {
      return false;
    }
    window->rest = rest;
    if (record->header.kind != RedoKind::kStatement) return true;
  }
}

// The first LSN that does not count any more.
uint64_t ReplayerImpl::limit_of(const Range& range) {
  uint64_t limit = range.to_lsn == ~uint64_t{0} ? range.to_lsn : range.to_lsn + 1;
  if (range.to_time_us == INT64_MAX) return limit;
  for (const StreamWindow& window : windows_) {
    for (std::string_view raw : window.raws) {
      RecordView record;
      while (take_record(&raw, &record)) {
        if (record.header.kind != RedoKind::kStatement && record.header.time_us > range.to_time_us) {
          limit = std::min(limit, record.header.lsn);
        }
      }
    }
  }
  return limit;
}

void ReplayerImpl::explain_all() {
  std::unordered_map<std::string_view, uint64_t> uses;  // by text
  for (const StreamWindow& window : windows_) {
    for (std::string_view raw : window.raws) {
      RecordView record;
      std::unordered_map<uint64_t, uint64_t*> explained;
      while (take_record(&raw, &record)) {
        std::string_view body = record.body;
        uint64_t number;
        if (record.header.kind == RedoKind::kStatement && take_varint(&body, &number)) {
          explained[number] = &uses[body];
        } else if (record.header.kind == RedoKind::kLogical && skip_client(record.header, &body) &&
                   take_varint(&body, &number)) {
          const auto found = explained.find(number);
          if (found != explained.end()) ++*found->second;
        }
      }
    }
  }
  for (const auto& [text, count] : uses) statements_.prepare(text, count);
}

Status ReplayerImpl::run_stream(Lane* lane, size_t stream, uint64_t before_lsn, uint64_t from_lsn, uint64_t* count) {
  StreamWindow* const window = &windows_[stream];
  RecordView record;
  Status status;
  while (next_record(window, before_lsn, &record, &status)) {
    if (record.header.lsn <= from_lsn || is_skipped(record)) continue;
    if (before_record.fires()) return absl::InternalError("failpoint recovery.before_record");
    if (observer_) observer_(record);
    SCYPER_RETURN_IF_ERROR(lane->apply(record, window));
    lane->make_room(stream);
    ++*count;
  }
  return status;
}

Status ReplayerImpl::run_partitions(uint64_t before_lsn, uint64_t from_lsn) {
  return team_.run([&](uint32_t member) -> Status {
    uint64_t count = 0;
    for (size_t s = 1; s < windows_.size(); ++s) {
      if ((s - 1) % team_.size() != member) continue;
      SCYPER_RETURN_IF_ERROR(run_stream(lanes_[member].get(), s, before_lsn, from_lsn, &count));
    }
    if (count > 0) transactions_.fetch_add(count, std::memory_order_relaxed);
    return Status();
  });
}

Status ReplayerImpl::apply_alone(const RecordView& record) {
  before_alone.fires();
  if (observer_) observer_(record);
  transactions_.fetch_add(1, std::memory_order_relaxed);
  if (record.header.kind != RedoKind::kDefinition) {
    SCYPER_RETURN_IF_ERROR(lanes_[0]->apply(record, &windows_[0]));
    if (lanes_[0]->take_defined()) forget_definitions();
    return Status();
  }
  std::string_view text = record.body;
  if (!skip_client(record.header, &text)) return diverged(record.header, "its client is missing");
  std::string_view rows;
  const query::RowsElsewhereScope elsewhere(held_.is_all() ? query::RowsElsewhere::kNone
                                                           : query::RowsElsewhere::kLacking);
  if (Status status = query::repeat_definition(database_, text, &rows); !status.ok())
    return failed(record.header, status);
  for (auto& lane : lanes_) lane->forget();
  if (!rows.empty()) SCYPER_RETURN_IF_ERROR(lanes_[0]->apply_rows(record.header, rows));
  forget_definitions();
  return Status();
}

// What was made ready for the catalog as it was.
void ReplayerImpl::forget_definitions() {
  for (auto& lane : lanes_) lane->forget();
  for (StreamWindow& window : windows_) {
    for (auto& [number, explained] : window.explained) explained.entry = nullptr;
  }
  statements_.forget();
  explain_all();
}

Status ReplayerImpl::apply_window(std::span<const ScannedGroup> groups, const Range& range, bool* is_over) {
  SCYPER_RETURN_IF_ERROR(unpack(groups));
  statements_.forget();
  explain_all();
  const uint64_t limit = limit_of(range);
  uint64_t complete = range.from_lsn;
  for (const ScannedGroup& group : groups) complete = std::max(complete, group.complete_lsn);
  StreamWindow& alone = windows_[0];
  RecordView record;
  Status status;
  while (next_record(&alone, limit, &record, &status)) {
    if (record.header.lsn <= range.from_lsn || record.header.kind == RedoKind::kMarker || is_skipped(record)) continue;
    SCYPER_RETURN_IF_ERROR(run_partitions(record.header.lsn, range.from_lsn));
    SCYPER_RETURN_IF_ERROR(apply_alone(record));
    lanes_[0]->make_room(0);
    last_time_us_ = std::max(last_time_us_, record.header.time_us);
  }
  SCYPER_RETURN_IF_ERROR(status);
  SCYPER_RETURN_IF_ERROR(run_partitions(limit, range.from_lsn));
  last_lsn_ = std::max({last_lsn_, range.from_lsn, std::min(complete, limit == ~uint64_t{0} ? limit : limit - 1)});
  *is_over = limit <= complete;
  return Status();
}

// What ran on a worker's stack runs here, too, though the code and so its frames may be others.
Status ReplayerImpl::apply(const std::vector<ScannedGroup>& groups, const Range& range) {
  Status status;
  on_deep_stack([&] { status = apply_all(groups, range); });
  return status;
}

// In windows of a few megabytes, which stay in the cache between unpacking and applying, and whose memory is used
// again.
Status ReplayerImpl::apply_all(const std::vector<ScannedGroup>& groups, const Range& range) {
  if (windows_.empty()) windows_.resize(1);
  skipped_ = range.skipped;
  bool is_over = false;
  for (size_t i = 0; i < groups.size() && !is_over;) {
    const size_t first = i;
    uint64_t bytes = 0;
    for (; i < groups.size() && bytes < kWindowBytes; ++i) {
      for (const ScannedBatch& batch : groups[i].batches) bytes += batch.header.raw_bytes;
    }
    SCYPER_RETURN_IF_ERROR(apply_window(std::span(groups).subspan(first, i - first), range, &is_over));
  }
  return Status();
}

}  // namespace

StatusOr<std::unique_ptr<Replayer>> Replayer::create(query::Database* database, const Options& options) {
  auto replayer = std::make_unique<ReplayerImpl>(database, options);
  SCYPER_RETURN_IF_ERROR(replayer->start(options));
  return std::unique_ptr<Replayer>(std::move(replayer));
}

}  // namespace scyper::replay
