#include "readiness.h"

#include "absl/strings/str_cat.h"
#include "secondary_engine.h"

namespace scyper::server {

namespace {
constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kAnswerNs = 2'000 * kNsPerMs;  // that a worker may take; the probes of orchestrators wait for seconds
}  // namespace

Status Readiness::check() {
  if (node_->stopping) return stopping_error();
  if (auto* secondary = dynamic_cast<SecondaryEngine*>(node_->engine)) return secondary->node().readiness();
  return check_primary();
}

Status Readiness::check_role(Role wanted) {
  if (node_->stopping) return stopping_error();
  const bool is_secondary = dynamic_cast<SecondaryEngine*>(node_->engine) != nullptr;
  if (is_secondary != (wanted == Role::kReplica)) {
    return absl::FailedPreconditionError(is_secondary ? "a secondary" : "the primary");
  }
  return is_secondary ? check() : Status();
}

Status Readiness::check_primary() {
  const primary::Engine::LogInfo log = node_->engine->log_info();
  if (log.is_failed) return sql_error("58030", "the log cannot be written");
  if (log.is_full) return sql_error("53100", "the disk of the log is full: the database is read-only");
  SCYPER_RETURN_IF_ERROR(check_commits(log.last_lsn, log.confirmed_lsn));
  primary::StatementLimits limits;
  limits.deadline_ns = monotonic_ns() + kAnswerNs;
  query::ResultSet result;
  return node_->engine->execute("SELECT 1", {}, &result, limits);
}

Status Readiness::check_commits(uint64_t last_lsn, uint64_t confirmed_lsn) {
  const int64_t now_ns = monotonic_ns();
  std::lock_guard<std::mutex> lock(mutex_);
  if (confirmed_lsn >= last_lsn || confirmed_lsn != confirmed_lsn_ || confirmed_seen_ns_ == 0) {
    confirmed_lsn_ = confirmed_lsn;
    confirmed_seen_ns_ = now_ns;
  }
  const int64_t waited_ms = (now_ns - confirmed_seen_ns_) / kNsPerMs;
  if (waited_ms < node_->options.ready_commit_ms) return Status();
  return sql_error("57P03", absl::StrCat("commits have waited for ", waited_ms, " ms: the commit point is ",
                                         confirmed_lsn, " of ", last_lsn));
}

}  // namespace scyper::server
