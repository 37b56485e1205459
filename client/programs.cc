#include "programs.h"

#include <unistd.h>

#include <algorithm>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "cluster_session.h"
#include "error_format.h"
#include "progress.h"
#include "result_format.h"
#include "storage_status.h"

namespace scyper::client {

namespace {

StatusOr<std::unique_ptr<Session>> connect_session(const CommonOptions& common) {
  if (common.connect.target.find(',') != std::string::npos) return cluster_session(common.connect);
  SCYPER_ASSIGN_OR_RETURN(auto client, Client::connect(common.connect));
  return remote_session(std::move(client), "at " + common.connect.target);
}

// A word that stands for a value in SQL: numbers, NULL and booleans as they are, the rest as a quoted literal, whose
// type the procedure's parameter decides.
std::string argument_literal(const std::string& word) {
  if (word == "NULL" || word == "null") return "NULL";
  std::string out = "'";
  for (char c : word) {
    if (c == '\'') out += '\'';
    out += c;
  }
  return out + "'";
}

std::string history_path() {
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "/tmp" : home) + "/.scyper_history";
}

int run_shell(const SqlOptions& options, Session* session) {
  Shell shell(session, options.shell, stdout, stderr);
  for (const std::string& command : options.commands) {
    shell.run_command(command);
    if (shell.has_failed()) break;
  }
  for (const std::string& file : options.files) {
    shell.run_file(file);
    if (shell.is_disconnected() || (shell.has_failed() && options.shell.stops_on_error)) break;
  }
  if (options.commands.empty() && options.files.empty()) {
    if (isatty(STDIN_FILENO) != 0) {
      if (!options.shell.is_quiet) {
        std::printf("ScyPer %s, %s. Statements end with ; and \\? helps.\n", server::kVersion, session->name().c_str());
      }
      shell.run_interactive(history_path());
      return kExitOk;
    }
    shell.run_file("-");
  }
  if (shell.is_disconnected()) return kExitConnection;
  return shell.has_failed() ? kExitError : kExitOk;
}

std::string secondaries_json(const NodeStatus& s) {
  std::string out;
  for (size_t i = 0; i < s.secondaries.size(); ++i) {
    const SecondaryStatus& n = s.secondaries[i];
    out += std::string(i > 0 ? ", " : "") + "{\"node\": " + json_string(n.node) +
           ", \"voter\": " + (n.voter ? "true" : "false") + ", \"transport\": " + json_string(n.transport) +
           ", \"received_lsn\": " + std::to_string(n.received_lsn) +
           ", \"durable_lsn\": " + std::to_string(n.durable_lsn) +
           ", \"applied_lsn\": " + std::to_string(n.applied_lsn) + ", \"repaired\": " + std::to_string(n.repaired) +
           ", \"lag_ms\": " + std::to_string(n.lag_ms) + ", \"lag_bytes\": " + std::to_string(n.lag_bytes) +
           ", \"digests_equal\": " + std::to_string(n.digests_equal) +
           ", \"digests_different\": " + std::to_string(n.digests_different) +
           ", \"difference\": " + json_string(n.difference) + ", \"serves\": " + (n.serves ? "true" : "false") +
           ", \"has_room\": " + (n.has_room ? "true" : "false") + "}";
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
  text("not_serving", s.not_serving);
  text("election", s.election);
  text("etcd", s.etcd);
  text("paused", s.paused);
  number("term", s.term);
  number("commit_lsn", s.commit_lsn);
  number("received_lsn", s.received_lsn);
  number("applied_lsn", s.applied_lsn);
  number("repaired_groups", s.repaired_groups);
  number("datagrams_sent", s.datagrams_sent);
  number("replication_bytes", s.replication_bytes);
  number("digests", s.digests);
  number("malformed_datagrams", s.malformed_datagrams);
  number("forged_datagrams", s.forged_datagrams);
  number("replayed_datagrams", s.replayed_datagrams);
  out += std::string(", \"encrypted\": ") + (s.is_encrypted ? "true" : "false");
  out += ", \"lag_ms\": " + std::to_string(s.lag_ms) + ", \"secondaries\": [" + secondaries_json(s);
  out += "], \"stages\": [";
  for (size_t i = 0; i < s.stages.size(); ++i) {
    const StageStatus& stage = s.stages[i];
    out += std::string(i > 0 ? ", " : "") + "{\"name\": " + json_string(stage.name) +
           ", \"count\": " + std::to_string(stage.count) + ", \"mean_ms\": " + std::to_string(stage.mean_ms) +
           ", \"p50_ms\": " + std::to_string(stage.p50_ms) + ", \"p99_ms\": " + std::to_string(stage.p99_ms) + "}";
  }
  out += "]";
  out += election_json(s);
  out += std::string(", \"log_full\": ") + (s.log_full ? "true" : "false");
  return out + "}\n";
}

template <typename Add>
void add_replication(const NodeStatus& s, Add add) {
  add("transport", s.transport + (s.is_encrypted ? ", encrypted" : "") +
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
    add("queries", s.not_serving.empty() ? "served" : s.not_serving);
    return;
  }
  add("confirmed", "to LSN " + grouped(s.commit_lsn));
  for (const SecondaryStatus& n : s.secondaries) {
    std::string text = n.address + ", LSN received " + grouped(n.received_lsn);
    if (n.voter) text += ", durable " + grouped(n.durable_lsn);
    text += ", applied " + grouped(n.applied_lsn) + ", snapshot " + grouped(n.snapshot) + ", " + n.transport;
    if (n.repaired > 0) text += ", repaired " + grouped(n.repaired);
    text += ", lag " + grouped(s.last_lsn > n.applied_lsn ? s.last_lsn - n.applied_lsn : 0) + " transactions, " +
            grouped(n.lag_bytes) + " bytes, " + std::to_string(static_cast<int64_t>(n.lag_ms)) + " ms";
    if (n.digest_lsn > 0) text += ", digest compared at LSN " + grouped(n.digest_lsn);
    if (n.digests_different > 0) text += ", DIFFERED " + grouped(n.digests_different) + " times, last " + n.difference;
    if (!n.has_room) text += ", no room for a snapshot";
    add(("secondary " + n.node).c_str(), text + (n.serves ? ", serves" : ", does not serve"));
  }
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

}  // namespace

int show_failure(const Status& status, bool is_json) {
  if (is_json) {
    std::fputs(format_error_json(status).c_str(), stdout);
  } else {
    std::fputs(format_error(status, "", false).c_str(), stderr);
  }
  return sqlstate_of(status).starts_with("08") ? kExitConnection : kExitError;
}

int run_sql(const CommonOptions& common, const SqlOptions& options) {
  if (!options.is_ephemeral) {
    auto session = connect_session(common);
    return session.ok() ? run_shell(options, session->get()) : show_failure(session.status(), common.is_json);
  }
  auto config = server::make_config({}, {}, common.node_settings);
  if (!config.ok()) {
    show_failure(config.status(), common.is_json);
    return kExitUsage;
  }
  auto engine = primary::Engine::create(config->engine);
  if (!engine.ok()) return show_failure(engine.status(), common.is_json);
  return run_shell(options, local_session(engine->get()).get());
}

int run_call(const CommonOptions& common, const CallOptions& options) {
  std::string sql = "CALL " + options.procedure + "(";
  for (size_t i = 0; i < options.arguments.size(); ++i)
    sql += (i == 0 ? "" : ", ") + argument_literal(options.arguments[i]);
  SqlOptions shell;
  shell.commands = {sql + ")"};
  shell.shell.format.format = common.is_json ? OutputFormat::kJson : OutputFormat::kTable;
  shell.shell.format.is_expanded = true;
  return run_sql(common, shell);
}

// Answers within two seconds, also when the node does not.
int run_status(const CommonOptions& common) {
  ConnectOptions connect = common.connect;
  connect.connect_timeout_ms = 1000;
  auto client = Client::connect(connect);
  if (!client.ok()) return show_failure(client.status(), common.is_json);
  auto status = (*client)->status(/*timeout_ms=*/1000);
  if (!status.ok()) return show_failure(status.status(), common.is_json);
  std::fputs(common.is_json ? status_json(*status).c_str() : status_table(*status, common.connect.target).c_str(),
             stdout);
  return kExitOk;
}

int run_storage_status(const CommonOptions& common) {
  ConnectOptions connect = common.connect;
  connect.connect_timeout_ms = 1000;
  auto client = Client::connect(connect);
  if (!client.ok()) return show_failure(client.status(), common.is_json);
  auto status = (*client)->storage();
  if (!status.ok()) return show_failure(status.status(), common.is_json);
  std::fputs((common.is_json ? storage_json(*status) : storage_table(*status)).c_str(), stdout);
  return kExitOk;
}

int run_load_csv(const CommonOptions& common, const CsvLoadOptions& options) {
  auto session = connect_session(common);
  if (!session.ok()) return show_failure(session.status(), common.is_json);
  CsvLoadResult result;
  Status status = load_csv(session->get(), options, &result);
  int code = status.ok() ? kExitOk : show_failure(status, common.is_json);
  if (common.is_json) {
    std::printf("{\"rows\": %llu, \"rejected\": %llu}\n", static_cast<unsigned long long>(result.rows),
                static_cast<unsigned long long>(result.rejected));
  } else {
    std::printf("%s row%s loaded, %s rejected\n", grouped(result.rows).c_str(), result.rows == 1 ? "" : "s",
                grouped(result.rejected).c_str());
  }
  return code == kExitOk && result.rejected > 0 ? kExitError : code;
}

ch::GeneratorOptions generator_options(const ChOptions& options) {
  ch::GeneratorOptions out;
  out.scale.warehouses = options.warehouses;
  if (options.scale == "tiny") out.scale = ch::Scale::tiny(options.warehouses);
  if (options.profile == "varied") out.profile = ch::Profile::kVaried;
  if (options.profile == "census") out.profile = ch::Profile::kCensus;
  out.seed = options.data_seed;
  return out;
}

uint32_t partitions_for(int32_t warehouses, uint32_t workers) {
  auto least = static_cast<uint32_t>(std::max<int32_t>(warehouses, 1));
  least = (least + workers - 1) / workers * workers;
  uint32_t best = least;
  int32_t best_spread = warehouses + 1;
  for (uint32_t partitions = least; partitions < least + 64 && best_spread > 1; partitions += workers) {
    std::vector<int32_t> of_worker(workers, 0);
    for (int32_t w = 1; w <= warehouses; ++w) ++of_worker[storage::partition_of(w, partitions) % workers];
    auto [low, high] = std::minmax_element(of_worker.begin(), of_worker.end());
    if (*high - *low < best_spread) {
      best_spread = *high - *low;
      best = partitions;
    }
  }
  return best;
}

}  // namespace scyper::client
