#include <algorithm>
#include <utility>
#include <vector>

#include "admin_service.h"
#include "base/clock.h"
#include "query/queries.h"
#include "timer_percentile.h"

namespace scyper::server {

namespace {

void fill_queries(const query::Queries::Counters& counters, v1::QueryActivity* out) {
  out->set_started(counters.started);
  out->set_answered(counters.answered);
  out->set_broken(counters.broken);
  out->set_refused(counters.refused);
  out->set_running(counters.running);
  out->set_waiting(counters.waiting);
  out->set_sessions(counters.sessions);
  out->set_snapshots(counters.snapshots.live);
  out->set_snapshots_made(counters.snapshots.forks);
  out->set_snapshots_lost(counters.snapshots.lost);
  out->set_snapshot_bytes(counters.snapshots.copied_bytes);
  out->set_snapshot_oldest_ms(static_cast<double>(counters.snapshots.oldest_age_us) / 1e3);
  out->set_snapshot_stall_ms_max(static_cast<double>(counters.snapshots.stall_ns_max) / 1e6);
  out->set_spilled_bytes(counters.spilled_bytes);
}

void fill_slow_query(const query::SlowQuery& query, v1::SlowQuery* out) {
  out->set_text(query.text);
  out->set_ended_us(query.time_us);
  out->set_total_ms(query.total_ms);
  out->set_wait_ms(query.wait_ms);
  out->set_compile_ms(query.compile_ms);
  out->set_run_ms(query.run_ms);
  out->set_rows(query.rows);
  out->set_memory_bytes(query.memory_bytes);
  out->set_spilled_bytes(query.spilled_bytes);
  out->set_times(query.times);
  out->set_answered(query.is_answered);
}

// What takes time: idle sessions do not.
void fill_running(const ActivityList& activity, google::protobuf::RepeatedPtrField<v1::RunningStatement>* out) {
  constexpr size_t kShownMax = 20;
  std::vector<query::SessionActivity> sessions = activity.sessions();
  std::erase_if(sessions, [](const query::SessionActivity& one) { return one.state == "idle" || one.text.empty(); });
  std::sort(sessions.begin(), sessions.end(), [](const auto& a, const auto& b) {
    return a.transaction_us != b.transaction_us ? a.transaction_us < b.transaction_us : a.pid < b.pid;
  });
  if (sessions.size() > kShownMax) sessions.resize(kShownMax);
  const int64_t now_us = ActivityList::now_us();
  for (const query::SessionActivity& one : sessions) {
    v1::RunningStatement* made = out->Add();
    made->set_pid(one.pid);
    made->set_user(one.user);
    made->set_application(one.application);
    made->set_client(one.address);
    made->set_state(one.state);
    made->set_text(query::shown_text(one.text));
    made->set_ms(static_cast<double>(now_us - one.statement_us) / 1e3);
    made->set_transaction_ms(static_cast<double>(now_us - one.transaction_us) / 1e3);
  }
}

}  // namespace

void fill_activity(NodeParts* node, v1::StatusResponse* out) {
  const primary::Engine::Activity activity = node->engine->activity();
  for (uint64_t depth : activity.queue_depths) out->add_queue_depths(depth);
  for (const auto& procedure : activity.procedures) {
    v1::Procedure* made = out->add_procedures();
    made->set_name(procedure.name);
    made->set_committed(procedure.committed);
    made->set_rolled_back(procedure.rolled_back);
    made->set_wait_p50_ms(percentile_ms(procedure.waits, 0.5));
    made->set_wait_p99_ms(percentile_ms(procedure.waits, 0.99));
    made->set_run_p50_ms(percentile_ms(procedure.runs, 0.5));
    made->set_run_p99_ms(percentile_ms(procedure.runs, 0.99));
  }
  fill_running(node->activity, out->mutable_running());
  for (const query::SlowQuery& one : node->counters.slow_transactions.list(RealClock().now_us()))
    fill_slow_query(one, out->add_slow_transactions());
  query::Queries* queries = node->engine->queries();
  if (queries == nullptr) return;
  fill_queries(queries->counters(), out->mutable_queries());
  for (const query::SlowQuery& query : queries->slow_queries()) fill_slow_query(query, out->add_slow_queries());
}

}  // namespace scyper::server
