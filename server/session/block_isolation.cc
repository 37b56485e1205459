// Queries of blocks in REPEATABLE READ and SERIALIZABLE, before the block writes.
#include <utility>

#include "primary/blocks.h"
#include "primary/snapshot_read.h"
#include "session/block_session.h"

namespace scyper::server {

namespace {

// Notes what the client gets to see.
class WatchedAnswer final : public Answer {
 public:
  WatchedAnswer(std::unique_ptr<Answer> inner, std::shared_ptr<primary::SnapshotRead> read)
      : inner_(std::move(inner)), read_(std::move(read)) {
    columns_ = inner_->columns();
    take_end();
  }
  StatusOr<bool> next(query::ResultSet* rows) override {
    const size_t before = rows->row_count();
    auto has_more = inner_->next(rows);
    take_end();
    if (!has_more.ok()) return has_more;
    read_->rows.add(*rows, before);
    read_->is_whole = !*has_more;
    return has_more;
  }
  void cancel() override { inner_->cancel(); }

 private:
  void take_end() {
    tag_ = inner_->tag();
    affected_rows_ = inner_->affected_rows();
    notices_ = inner_->notices();
    receipt_ = inner_->receipt();
    if (receipt_.has_value()) read_->lsn = receipt_->lsn;
  }

  const std::unique_ptr<Answer> inner_;
  const std::shared_ptr<primary::SnapshotRead> read_;
};

}  // namespace

// Before a snapshot is pinned. A node that takes no changes cannot watch: then the block only reads.
void BlockSession::watch_reads() {
  if (settings_->is_read_only()) return;
  if (watcher_ == nullptr) {
    auto block = make_block(primary::BlockLevel::kSerializable);
    if (!block.ok()) return;
    watcher_ = *std::move(block);
  }
  watcher_->begin_snapshot();
}

StatusOr<std::unique_ptr<Answer>> BlockSession::watch_answer(std::unique_ptr<Answer> answer,
                                                             const SessionStatement& statement,
                                                             std::span<const Datum> arguments) {
  if (query::mentions_activity(statement.command.text)) return answer;  // of no table
  auto read = std::make_shared<primary::SnapshotRead>();
  read->text = with_path(statement.command.text);
  if (!arguments.empty()) read->types = statement.parameters;
  for (size_t i = 0; i < arguments.size(); ++i) read->arguments.append(read->types[i], arguments[i]);
  read->settings = settings_for(statement.command.text);
  if (receipt_.has_value()) read->lsn = receipt_->lsn;
  watcher_->add_read(read);
  return std::unique_ptr<Answer>(std::make_unique<WatchedAnswer>(std::move(answer), std::move(read)));
}

// A block that may write needs no snapshot for short reads: they run on a worker, and again where others have changed
// what they have read. If that has failed, the next try reads on a snapshot, where nothing changes.
bool BlockSession::may_read_serially(const SessionStatement& statement) const {
  return statement.command.kind == query::CommandKind::kQuery && block_ != Block::kNone &&
         settings_->is_serializable() && !settings_->is_read_only() && pinned_ == 0 && !prefers_snapshot_ &&
         !settings_->reports_receipts() && !node_->forwarding.is_needed() &&
         !query::mentions_activity(statement.command.text);
}

void BlockSession::note_conflict(const Status& status) {
  if (settings_->is_serializable() && has_only_read_ && sqlstate_of(status) == "40001") prefers_snapshot_ = true;
}

// nullptr: the query is for a snapshot.
StatusOr<std::unique_ptr<Answer>> BlockSession::read_serially(const SessionStatement& statement,
                                                              std::span<const Datum> arguments) {
  SCYPER_RETURN_IF_ERROR(open_block());
  query::ResultSet result;
  SCYPER_ASSIGN_OR_RETURN(const primary::ShortRead done, run_short(statement, arguments, &result));
  if (done == primary::ShortRead::kDone) return make_answer(std::move(result));
  if (done == primary::ShortRead::kWrites) return run_transaction(statement, arguments);
  open_.reset();
  return std::unique_ptr<Answer>();
}

StatusOr<primary::ShortRead> BlockSession::run_short(const SessionStatement& statement,
                                                     std::span<const Datum> arguments, query::ResultSet* result) {
  primary::Engine* engine = node_->engine;
  const int64_t began_ns = monotonic_ns();
  primary::StatementLimits own = limits(statement.command.text);
  own.parameter_types = &statement.parameters;
  const auto done = open_->execute_short(with_path(statement.command.text), arguments, result, own);
  if (done.ok() && *done != primary::ShortRead::kDone) return done;
  node_->counters.requests.note(identity_.counted_as, RequestKind::kQuery, done.ok(), began_ns);
  note_conflict(done.status());
  SCYPER_RETURN_IF_ERROR(done.status());
  SCYPER_RETURN_IF_ERROR(take_changed_settings());
  receipt_.emplace();
  receipt_->lsn = engine->log_info().last_lsn;
  receipt_->node = engine->options().queries.node;
  return done;
}

// --- from workers to a snapshot ---

// A block that has only read so far need not stop a worker for a long query.
bool BlockSession::may_leave_worker(const SessionStatement& statement) const {
  return statement.command.kind == query::CommandKind::kQuery && settings_->is_serializable() && has_only_read_ &&
         pinned_ == 0 && node_->engine->queries() != nullptr;
}

StatusOr<std::unique_ptr<Answer>> BlockSession::read_in_block(const SessionStatement& statement,
                                                              std::span<const Datum> arguments) {
  query::ResultSet result;
  SCYPER_ASSIGN_OR_RETURN(const primary::ShortRead done, run_short(statement, arguments, &result));
  if (done == primary::ShortRead::kDone) return make_answer(std::move(result));
  if (done == primary::ShortRead::kWrites) return run_transaction(statement, arguments);
  return go_on_with_snapshot(statement, arguments);
}

// What the block has read has to be on the snapshot as well: all that it sees is of one state.
StatusOr<std::unique_ptr<Answer>> BlockSession::go_on_with_snapshot(const SessionStatement& statement,
                                                                    std::span<const Datum> arguments) {
  std::vector<std::shared_ptr<primary::SnapshotRead>> reads;
  if (!open_->give_reads(&reads)) return run_transaction(statement, arguments);
  open_.reset();
  SCYPER_RETURN_IF_ERROR(query_options().status());
  for (const auto& read : reads) {
    const Status status = find_on_snapshot(read);
    note_conflict(status);
    SCYPER_RETURN_IF_ERROR(status);
  }
  return query_snapshot(statement, arguments);
}

Status BlockSession::find_on_snapshot(const std::shared_ptr<primary::SnapshotRead>& read) {
  QueryRun run;
  SCYPER_ASSIGN_OR_RETURN(run.options, query_options());
  run.sql = read->text;
  run.parameters = read->types;
  run.arguments = read->arguments.values();
  run.options.argument_types = &read->types;
  run.protocol = identity_.counted_as;
  run.is_here = true;
  SCYPER_ASSIGN_OR_RETURN(const auto answer, run_query(node_, run));
  query::ResultSet rows;
  rows.columns = answer->columns();
  for (bool has_more = true; has_more;) {
    SCYPER_ASSIGN_OR_RETURN(has_more, answer->next(&rows));
  }
  primary::RowsDigest digest;
  digest.add(rows);
  if (digest != read->rows) return primary::unlike_before();
  if (receipt_.has_value()) read->lsn = receipt_->lsn;
  if (watcher_ != nullptr) watcher_->add_read(read);
  return {};
}

}  // namespace scyper::server
