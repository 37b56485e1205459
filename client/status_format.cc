#include "status_format.h"

#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "progress.h"
#include "result_format.h"

namespace scyper::client {

namespace {

std::string secondaries_json(const NodeStatus& s) {
  std::string out;
  for (size_t i = 0; i < s.secondaries.size(); ++i) {
    const SecondaryStatus& n = s.secondaries[i];
    out +=
        std::string(i > 0 ? ", " : "") + "{\"node\": " + json_string(n.node) +
        ", \"voter\": " + (n.voter ? "true" : "false") + ", \"transport\": " + json_string(n.transport) +
        ", \"received_lsn\": " + std::to_string(n.received_lsn) +
        ", \"durable_lsn\": " + std::to_string(n.durable_lsn) + ", \"applied_lsn\": " + std::to_string(n.applied_lsn) +
        ", \"repaired\": " + std::to_string(n.repaired) + ", \"lag_ms\": " + std::to_string(n.lag_ms) +
        ", \"lag_bytes\": " + std::to_string(n.lag_bytes) + ", \"digests_equal\": " + std::to_string(n.digests_equal) +
        ", \"digests_different\": " + std::to_string(n.digests_different) +
        ", \"difference\": " + json_string(n.difference) + ", \"serves\": " + (n.serves ? "true" : "false") +
        ", \"has_room\": " + (n.has_room ? "true" : "false") + ", \"partitions\": " + json_string(n.partitions) + "}";
  }
  return out;
}

std::string voters_text(const NodeStatus& s) {
  std::string text;
  for (const VoterStatus& voter : s.voters)
    text += (text.empty() ? "" : ", ") + voter.node + (voter.is_there ? "" : " (MISSING)");
  return text;
}

std::string election_json(const NodeStatus& s) {
  std::string out = ", \"leader\": " + json_string(s.leader) + ", \"voters\": [";
  for (size_t i = 0; i < s.voters.size(); ++i) {
    out += std::string(i > 0 ? ", " : "") + "{\"node\": " + json_string(s.voters[i].node) +
           ", \"is_there\": " + (s.voters[i].is_there ? "true" : "false") + "}";
  }
  return out + "], \"etcd_answers\": " + (s.etcd_answers ? "true" : "false") +
         ", \"leader_changes\": " + std::to_string(s.leader_changes);
}

template <typename Add>
void add_replication(const NodeStatus& s, Add add) {
  const std::string channels = s.multicast_channels > 1 ? ", " + grouped(s.multicast_channels) + " channels" : "";
  add("transport", s.transport + channels + (s.is_encrypted ? ", encrypted" : "") +
                       (s.transport_note.empty() ? "" : " (" + s.transport_note + ")"));
  add("term", grouped(s.term));
  for (const StageStatus& stage : s.stages) {
    char text[120];
    std::snprintf(text, sizeof(text), "mean %.3f ms, half within %.3g, 99 %% within %.3g", stage.mean_ms, stage.p50_ms,
                  stage.p99_ms);
    add(("stage " + stage.name).c_str(), text);
  }
  if (s.role != "primary") {
    add("primary", s.primary);
    add("LSN received, applied",
        grouped(s.received_lsn) + ", " + grouped(s.applied_lsn) + " of " + grouped(s.last_lsn));
    add("lag", std::to_string(s.lag_ms) + " ms, " + grouped(s.last_lsn - s.applied_lsn) + " transactions, " +
                   grouped(s.inbox_bytes) + " bytes");
    add("global snapshot", grouped(s.snapshots_global));
    add("repairs", grouped(s.repairs) + ", " + grouped(s.repaired_groups) + " groups, " + grouped(s.resets) +
                       " resets, " + grouped(s.malformed_datagrams) + " malformed, " + grouped(s.forged_datagrams) +
                       " forged, " + grouped(s.replayed_datagrams) + " replayed datagrams");
    if (!s.subscribed.empty()) add("subscribes to partitions", s.subscribed);
    add("began from", s.seeded_from);
    if (s.peer_groups + s.peer_failures > 0) {
      add("other secondaries", grouped(s.peer_groups) + " groups" + (s.peer.empty() ? "" : ", last from " + s.peer) +
                                   ", " + grouped(s.peer_failures) + " failures");
    }
    add("queries", s.not_serving.empty() ? "served" : s.not_serving);
    return;
  }
  add("confirmed", "to LSN " + grouped(s.commit_lsn));
  for (const SecondaryStatus& n : s.secondaries) {
    std::string text = n.address + ", LSN received " + grouped(n.received_lsn);
    if (n.voter) text += ", durable " + grouped(n.durable_lsn);
    text += ", applied " + grouped(n.applied_lsn) + ", snapshot " + grouped(n.snapshot) + ", " + n.transport;
    if (!n.partitions.empty()) text += ", partitions " + n.partitions;
    if (n.repaired > 0) text += ", repaired " + grouped(n.repaired);
    text += ", lag " + grouped(s.last_lsn > n.applied_lsn ? s.last_lsn - n.applied_lsn : 0) + " transactions, " +
            grouped(n.lag_bytes) + " bytes, " + std::to_string(static_cast<int64_t>(n.lag_ms)) + " ms";
    if (n.digest_lsn > 0) text += ", digest compared at LSN " + grouped(n.digest_lsn);
    if (n.digests_different > 0) text += ", DIFFERED " + grouped(n.digests_different) + " times, last " + n.difference;
    if (!n.has_room) text += ", no room for a snapshot";
    add(("secondary " + n.node).c_str(), text + (n.serves ? ", serves" : ", does not serve"));
  }
}

std::string stages_json(const NodeStatus& s) {
  std::string out = "[";
  for (const StageStatus& stage : s.stages) {
    if (out.size() > 1) out += ", ";
    out += "{\"name\": " + json_string(stage.name) + ", \"count\": " + std::to_string(stage.count) +
           ", \"mean_ms\": " + std::to_string(stage.mean_ms) + ", \"p50_ms\": " + std::to_string(stage.p50_ms) +
           ", \"p99_ms\": " + std::to_string(stage.p99_ms) + "}";
  }
  return out + "]";
}

void add_slow(const char* key, const std::vector<query::SlowQuery>& slow, std::string* out) {
  absl::StrAppend(out, ", \"", key, "\": [");
  for (const query::SlowQuery& x : slow) {
    absl::StrAppend(out, &x == slow.data() ? "" : ", ", "{\"text\": ", json_string(x.text),
                    ", \"ended_us\": ", x.time_us, ", \"total_ms\": ", x.total_ms, ", \"wait_ms\": ", x.wait_ms,
                    ", \"compile_ms\": ", x.compile_ms, ", \"run_ms\": ", x.run_ms, ", \"rows\": ", x.rows);
    absl::StrAppend(out, ", \"memory_bytes\": ", x.memory_bytes, ", \"spilled_bytes\": ", x.spilled_bytes,
                    ", \"times\": ", x.times, ", \"is_answered\": ", x.is_answered ? "true" : "false", "}");
  }
  *out += "]";
}

// What it does for whom: procedures, queries, the slowest of them.
std::string activity_json(const NodeStatus& s) {
  std::string out = ", \"queue_depths\": [" + absl::StrJoin(s.queue_depths, ", ") + "], \"procedures\": [";
  for (const ProcedureStatus& p : s.procedures) {
    absl::StrAppend(&out, &p == s.procedures.data() ? "" : ", ", "{\"name\": ", json_string(p.name),
                    ", \"committed\": ", p.committed, ", \"rolled_back\": ", p.rolled_back,
                    ", \"run_p50_ms\": ", p.run_p50_ms, ", \"run_p99_ms\": ", p.run_p99_ms,
                    ", \"wait_p50_ms\": ", p.wait_p50_ms, ", \"wait_p99_ms\": ", p.wait_p99_ms, "}");
  }
  const QueryActivity& q = s.queries;
  absl::StrAppend(&out, "], \"queries\": {\"started\": ", q.started, ", \"answered\": ", q.answered,
                  ", \"broken\": ", q.broken, ", \"refused\": ", q.refused, ", \"running\": ", q.running,
                  ", \"waiting\": ", q.waiting, ", \"sessions\": ", q.sessions);
  absl::StrAppend(&out, ", \"snapshots\": ", q.snapshots, ", \"snapshots_made\": ", q.snapshots_made,
                  ", \"snapshots_lost\": ", q.snapshots_lost, ", \"snapshot_bytes\": ", q.snapshot_bytes,
                  ", \"spilled_bytes\": ", q.spilled_bytes, ", \"snapshot_oldest_ms\": ", q.snapshot_oldest_ms,
                  ", \"snapshot_stall_ms_max\": ", q.snapshot_stall_ms_max, "}");
  add_slow("slow_queries", s.slow_queries, &out);
  add_slow("slow_transactions", s.slow_transactions, &out);
  out += ", \"running\": [";
  for (const RunningStatement& x : s.running) {
    absl::StrAppend(&out, &x == s.running.data() ? "" : ", ", "{\"pid\": ", x.pid, ", \"user\": ", json_string(x.user),
                    ", \"application\": ", json_string(x.application), ", \"client\": ", json_string(x.client));
    absl::StrAppend(&out, ", \"state\": ", json_string(x.state), ", \"text\": ", json_string(x.text),
                    ", \"ms\": ", x.ms, ", \"transaction_ms\": ", x.transaction_ms, "}");
  }
  return out + "]";
}

}  // namespace

std::string status_json(const NodeStatus& s) {
  std::string out = "{";
  auto text = [&](const char* key, const std::string& value) {
    out += (out.size() > 1 ? ", " : "") + json_string(key) + ": " + json_string(value);
  };
  auto number = [&](const char* key, uint64_t value) { out += ", " + json_string(key) + ": " + std::to_string(value); };
  text("version", s.version);
  text("role", s.role);
  text("state", s.stopping ? "stopping" : "running");
  text("execution", s.execution);
  text("redo", s.redo);
  text("layout", s.layout);
  number("uptime_seconds", s.uptime_seconds);
  number("partitions", s.partitions);
  number("workers", s.workers);
  number("streams", s.streams);
  number("queue_depth", s.queue_depth);
  number("memory_used_bytes", s.memory_used_bytes);
  number("memory_budget_bytes", s.memory_budget_bytes);
  number("committed", s.committed);
  number("rolled_back", s.rolled_back);
  number("crossing", s.crossing);
  number("misclassified", s.misclassified);
  number("refused", s.refused);
  number("redo_bytes", s.redo_bytes);
  number("statements_compiled", s.statements_compiled);
  text("commit_mode", s.commit_mode);
  number("last_lsn", s.last_lsn);
  number("durable_lsn", s.durable_lsn);
  number("log_bytes", s.log_bytes);
  number("archive_bytes", s.archive_bytes);
  number("damaged_archives", s.damaged_archives);
  text("node", s.node);
  text("transport", s.transport);
  number("multicast_channels", s.multicast_channels);
  text("not_serving", s.not_serving);
  text("election", s.election);
  text("etcd", s.etcd);
  text("paused", s.paused);
  number("term", s.term);
  number("commit_lsn", s.commit_lsn);
  number("received_lsn", s.received_lsn);
  number("applied_lsn", s.applied_lsn);
  number("repaired_groups", s.repaired_groups);
  text("subscribed", s.subscribed);
  text("seeded_from", s.seeded_from);
  text("peer", s.peer);
  number("peer_groups", s.peer_groups);
  number("peer_failures", s.peer_failures);
  number("datagrams_sent", s.datagrams_sent);
  number("replication_bytes", s.replication_bytes);
  number("digests", s.digests);
  number("malformed_datagrams", s.malformed_datagrams);
  number("forged_datagrams", s.forged_datagrams);
  number("replayed_datagrams", s.replayed_datagrams);
  out += std::string(", \"encrypted\": ") + (s.is_encrypted ? "true" : "false");
  out += ", \"lag_ms\": " + std::to_string(s.lag_ms) + ", \"secondaries\": [" + secondaries_json(s);
  out += "], \"stages\": " + stages_json(s) + election_json(s) + activity_json(s);
  out += std::string(", \"log_full\": ") + (s.log_full ? "true" : "false");
  return out + "}";
}

std::string status_table(const NodeStatus& s, const std::string& target) {
  std::vector<std::vector<std::string>> rows = {{"", target}};
  auto add = [&](const char* key, std::string value) { rows.push_back({key, std::move(value)}); };
  add("version", s.version);
  add("role", s.role + (s.stopping ? ", stopping" : ""));
  add("uptime", grouped(s.uptime_seconds) + " s");
  add("partitions, workers", std::to_string(s.partitions) + ", " + std::to_string(s.workers));
  add("execution, redo, layout", s.execution + ", " + s.redo + ", " + s.layout);
  add("memory", grouped(s.memory_used_bytes >> 20) + " of " + grouped(s.memory_budget_bytes >> 20) + " MB");
  add("transactions", grouped(s.committed) + " committed, " + grouped(s.rolled_back) + " rolled back");
  add("partition-crossing", grouped(s.crossing) + ", " + grouped(s.misclassified) + " misclassified first");
  add("waiting", grouped(s.queue_depth) + ", " + grouped(s.refused) + " refused");
  add("redo", grouped(s.redo_bytes >> 20) + " MB");
  add("log", s.commit_mode.empty() ? "none: the database ends with the process"
                                   : s.commit_mode + ", durable to LSN " + grouped(s.durable_lsn) + " of " +
                                         grouped(s.last_lsn) + (s.log_full ? ", DISK FULL: read-only" : ""));
  if (!s.election.empty()) {
    add("cluster", s.election + ", etcd at " + s.etcd);
    add("elections", s.paused.empty() ? "automatic" : "PAUSED since " + s.paused + ": scyper resume");
    add("leader",
        (s.leader.empty() ? "NONE" : s.leader) + (s.etcd_answers ? "" : ", as etcd said, which is SILENT now"));
    add("voters", voters_text(s));
  }
  if (!s.transport.empty()) add_replication(s, add);
  if (s.archive_bytes != 0) add("archive being written", grouped(s.archive_bytes >> 20) + " MB");
  if (s.damaged_archives != 0) add("archives found DAMAGED", grouped(s.damaged_archives) + ": see the node's messages");
  add("streams", std::to_string(s.streams));
  add("compiled statements", grouped(s.statements_compiled));
  return format_cells(rows, {false, false});
}

}  // namespace scyper::client
