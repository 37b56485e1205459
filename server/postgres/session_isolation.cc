// Queries of blocks in REPEATABLE READ and SERIALIZABLE, before the block writes.
#include <utility>

#include "postgres/session.h"
#include "primary/blocks.h"
#include "primary/snapshot_read.h"

namespace scyper::server::postgres {

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
    notices_ = inner_->notices();
    receipt_ = inner_->receipt();
    if (receipt_.has_value()) read_->lsn = receipt_->lsn;
  }

  const std::unique_ptr<Answer> inner_;
  const std::shared_ptr<primary::SnapshotRead> read_;
};

}  // namespace

// Before a snapshot is pinned. A node that takes no changes cannot watch: then the block only reads.
void Session::watch_reads() {
  if (settings_->is_read_only()) return;
  if (watcher_ == nullptr) {
    auto block = primary::begin_block(context_->node->engine, primary::BlockLevel::kSerializable);
    if (!block.ok()) return;
    watcher_ = *std::move(block);
  }
  watcher_->begin_snapshot();
}

StatusOr<std::unique_ptr<Answer>> Session::watch_answer(std::unique_ptr<Answer> answer, const Statement& statement,
                                                        std::span<const Datum> arguments) {
  if (query::mentions_activity(statement.command.text)) return answer;  // of no table
  auto read = std::make_shared<primary::SnapshotRead>();
  read->text = with_path(statement.command.text);
  for (size_t i = 0; i < arguments.size(); ++i) read->arguments.append(statement.parameters[i], arguments[i]);
  read->settings = settings_for(statement.command.text);
  if (receipt_.has_value()) read->lsn = receipt_->lsn;
  watcher_->add_read(read);
  return std::unique_ptr<Answer>(std::make_unique<WatchedAnswer>(std::move(answer), std::move(read)));
}

// A block that may write needs no snapshot for short reads: they run on a worker, and again where others have changed
// what they have read.
bool Session::may_read_serially(const Statement& statement) const {
  return statement.command.kind == query::CommandKind::kQuery && block_ != Block::kNone &&
         settings_->is_serializable() && !settings_->is_read_only() && pinned_ == 0 && !settings_->reports_receipts() &&
         !context_->node->forwarding.is_needed() && !query::mentions_activity(statement.command.text);
}

// nullptr: the query is for a snapshot.
StatusOr<std::unique_ptr<Answer>> Session::read_serially(const Statement& statement, std::span<const Datum> arguments) {
  SCYPER_RETURN_IF_ERROR(open_block());
  primary::Engine* engine = context_->node->engine;
  const int64_t began_ns = monotonic_ns();
  query::ResultSet result;
  const auto done =
      open_->execute_short(with_path(statement.command.text), arguments, &result, limits(statement.command.text));
  if (done.ok() && *done == primary::ShortRead::kLong) {
    open_.reset();
    return std::unique_ptr<Answer>();
  }
  if (done.ok() && *done == primary::ShortRead::kWrites) return run_transaction(statement, arguments);
  context_->node->counters.requests.note(RequestProtocol::kPostgres, RequestKind::kQuery, done.ok(), began_ns);
  SCYPER_RETURN_IF_ERROR(done.status());
  for (const auto& [name, value] : std::exchange(changed_settings_, {}))
    SCYPER_RETURN_IF_ERROR(settings_->set(name, {value}));
  receipt_.emplace();
  receipt_->lsn = engine->log_info().last_lsn;
  receipt_->node = engine->options().queries.node;
  return make_answer(std::move(result));
}

}  // namespace scyper::server::postgres
