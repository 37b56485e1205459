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
#include "status_format.h"
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
  const std::string text = common.is_json ? status_json(*status) + "\n" : status_table(*status, common.connect.target);
  std::fputs(text.c_str(), stdout);
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
