// Statements that are about sessions only: signals, settings, advisory locks, what others do.
#include <utility>

#include "base/bounded_work.h"
#include "base/ignoring_case.h"
#include "query/advisory_locks.h"
#include "query/session_run.h"
#include "session/block_session.h"

namespace scyper::server {

namespace {

// In a block that has changed something a query of tables, those of the system included, sees what the block has
// defined. Only its transaction can answer such a query.
bool may_read_tables(std::string_view sql) { return find_ignoring_case(sql, "from") != sql.npos; }

}  // namespace

// Of a run on the session's own thread, under these limits, which outlive it.
query::SessionRun::Options BlockSession::session_run(const primary::StatementLimits& limits) const {
  query::SessionRun::Options options;
  options.settings = limits.settings;
  options.interruption = [this, &limits] {
    return primary::why_over(&is_cancelled_, limits.deadline_ns, monotonic_ns());
  };
  options.is_in_circle = [this] { return query::waits_in_circle(node_->engine->session_locks(), identity_.pid); };
  return options;
}

// On the session's own thread. It waits for no worker, so it can end what occupies the node.
StatusOr<std::unique_ptr<Answer>> BlockSession::run_for_session(const SessionStatement& statement,
                                                                std::span<const Datum> arguments) {
  const std::string& sql = statement.command.text;
  query::Queries* queries = node_->engine->queries();
  const bool is_of_activity = query::mentions_activity(sql);
  if (queries == nullptr || statement.command.kind != query::CommandKind::kQuery ||
      (!is_of_activity && !query::mentions_session_function(sql)))
    return std::unique_ptr<Answer>();
  if (open_ != nullptr && !is_of_activity && may_read_tables(sql)) return std::unique_ptr<Answer>();
  const int64_t began_ns = monotonic_ns();
  const primary::StatementLimits own = limits(sql);
  query::SessionRun::Options options = session_run(own);
  options.time_us = block_time_us_ != 0 ? block_time_us_ : ActivityList::now_us();
  options.changed = own.changed_settings;
  options.keeps_transaction_locks = block_ != Block::kNone;
  query::SessionRun run(options);
  query::ResultSet result;
  const bool takes_locks = node_->engine->advisory_locks() != nullptr;
  may_hold_locks_ |= takes_locks && options.keeps_transaction_locks;
  const auto has_run = queries->run_for_session(with_path(sql), arguments, identity_.pid, takes_locks, &run, &result);
  if (has_run.ok() && !*has_run) return std::unique_ptr<Answer>();
  node_->counters.requests.note(identity_.counted_as, RequestKind::kQuery, has_run.ok(), began_ns);
  SCYPER_RETURN_IF_ERROR(has_run.status());
  SCYPER_RETURN_IF_ERROR(take_changed_settings());
  return make_answer(std::move(result));
}

StatusOr<bool> BlockSession::wait_for_advisory_lock() {
  query::AdvisoryLocks* locks = node_->engine->advisory_locks();
  if (locks == nullptr || block_ != Block::kNone) return false;
  auto missed = locks->take_missed(settings_->temporary_schema());
  if (!missed.has_value()) return false;
  const BoundedWork::Pause pause;  // the wait has bounds of its own
  const primary::StatementLimits own = limits("");
  query::SessionRun run(session_run(own));
  missed->is_of_transaction = true;
  const Status waited = run.wait([&] { return locks->wait(*missed, [&run] { return run.interruption(); }); });
  if (waited.ok()) return true;
  return waited;
}

// Those of the block's transaction, but for the first `kept`.
void BlockSession::release_advisory_locks(size_t kept) {
  query::AdvisoryLocks* locks = node_->engine->advisory_locks();
  if (locks != nullptr && settings_.has_value()) locks->release_of_transaction(settings_->temporary_schema(), kept);
}

}  // namespace scyper::server
