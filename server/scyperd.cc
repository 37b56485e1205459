// scyperd: one node of the database.

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/metrics.h"
#include "base/text_file.h"
#include "failover_node.h"
#include "grpc_messages.h"
#include "memory_return.h"
#include "node_watchdog.h"
#include "primary/engine.h"
#include "primary/warm_engine.h"
#include "replace_process.h"
#include "secondary_engine.h"
#include "server/config.h"
#include "server/node_flags.h"
#include "server/server.h"
#include "service_manager.h"

extern char** environ;

namespace scyper::server {
namespace {

// Stable: scripts and unit files rely on them.
constexpr int kExitConfiguration = 2;
constexpr int kExitStart = 3;
constexpr unsigned kPauseBeforeAnewUs = 500'000;

char** command_line = nullptr;  // main's, for start_anew()

int fail(int code, const Status& status) {
  std::fprintf(stderr, "scyperd: %s\n", std::string(status.message()).c_str());
  if (std::string hint = hint_of(status); !hint.empty()) std::fprintf(stderr, "scyperd: hint: %s\n", hint.c_str());
  return code;
}

StatusOr<NodeConfig> read_config(const NodeFlags& flags) {
  std::vector<Assignment> file;
  if (!flags.config_path.empty()) {
    SCYPER_ASSIGN_OR_RETURN(file, read_config_file(flags.config_path));
  }
  SCYPER_ASSIGN_OR_RETURN(auto environment, read_config_environment(environ));
  return make_config(file, environment, flags.given());
}

// Signals are taken by sigwait() in main, so they are blocked before any thread starts and inherits the mask.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return signals;
}

// With the time, so that what nodes say can be put in order.
void say(const std::string& line) {
  const int64_t now_us = RealClock().now_us();
  const std::time_t seconds = now_us / 1'000'000;
  std::tm parts{};
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", ::gmtime_r(&seconds, &parts));
  std::printf("scyperd: %s.%06dZ %s\n", text, static_cast<int>(now_us % 1'000'000), line.c_str());
  std::fflush(stdout);
}

// Temporary files lie where the log does, unless the settings say otherwise: a system's own place may be memory.
query::QueriesOptions queries_of(const NodeConfig& config) {
  query::QueriesOptions queries = config.engine.queries;
  if (queries.snapshots.spill_directory.empty()) queries.snapshots.spill_directory = config.engine.log.directory;
  return queries;
}

StatusOr<std::unique_ptr<primary::Engine>> make_engine(const NodeConfig& config, MetricsRegistry* metrics,
                                                       std::shared_ptr<replay::WarmState> warm) {
  if (config.role == Role::kPrimary) {
    primary::EngineOptions options = config.engine;
    options.queries = queries_of(config);
    options.log.on_progress = say;
    options.replication.metrics = metrics;
    options.log.metrics = metrics;
    return primary::create_engine(options, std::move(warm));
  }
  secondary::NodeOptions options = config.secondary;
  options.on_progress = say;
  options.metrics = metrics;
  options.data_directory = config.engine.log.directory;
  options.archive_log_bytes = config.engine.log.archive_log_bytes;
  options.archive_rate = config.engine.log.archive_rate;
  options.archives_kept = config.engine.log.archives_kept;
  options.log_retention_bytes = config.engine.log.retention_bytes;
  options.segment_bytes = config.engine.log.segment_bytes;
  options.request_window = config.engine.log.request_window;
  options.queries = queries_of(config);
  options.interface = config.engine.replication.multicast_interface;
  options.rdma = config.engine.replication.rdma;
  options.multicast_key_file = config.engine.replication.multicast_key_file;
  options.link.node = config.engine.queries.node;
  options.link.tls = config.server.tls;  // what the node shows to others it shows to its primary, too
  if (options.link.address.empty()) options.link.address = config.server.listen;
  options.database.memory_bytes = config.engine.memory_bytes;
  options.database.page_mode = config.engine.page_mode;
  options.database.copy_ahead_rate = config.engine.copy_ahead_rate;
  options.database.layout = config.engine.layout;
  options.database.execution = config.engine.execution;
  options.database.spill_from_bytes = options.queries.spill_from_bytes();
  options.database.foreign_files_directory = options.queries.foreign_files_directory;
  options.compaction = config.engine.compaction;
  options.database.frozen_bytes = options.compaction.frozen_bytes();
  options.database.tier = options.compaction.tier;
  SCYPER_ASSIGN_OR_RETURN(auto node, secondary::Node::start(options));
  return std::unique_ptr<primary::Engine>(
      std::make_unique<SecondaryEngine>(std::move(node), config.engine, options.link.target));
}

// A signal's number; 0: a secondary cannot go on and has to start anew.
int wait_for_end(const sigset_t& signals, primary::Engine* engine, TlsFiles* tls) {
  auto* secondary = dynamic_cast<SecondaryEngine*>(engine);
  while (true) {
    const timespec period{0, 200'000'000};
    const int signal_number = sigtimedwait(&signals, nullptr, &period);
    if (signal_number == SIGHUP) {
      if (tls != nullptr) tls->reload();
      continue;
    }
    if (signal_number > 0) return signal_number;
    bool is_empty = false;
    if (secondary != nullptr && !secondary->node().failure(&is_empty).ok()) return 0;
  }
}

// The process begins again from its command line, as if it had just been started: nothing of the wrong state is left.
int start_anew(const NodeConfig& config, std::unique_ptr<primary::Engine> engine, std::unique_ptr<Server> server) {
  server->stop();
  bool is_empty = false;
  static_cast<void>(static_cast<SecondaryEngine*>(engine.get())->node().failure(&is_empty));
  // its threads and processes end: they would write to the directory, and a process outlives exec
  server.reset();
  engine.reset();
  if (is_empty && !config.engine.log.directory.empty()) {
    auto disk = make_real_disk();
    if (Status status = secondary::remove_history(disk.get(), config.engine.log.directory); !status.ok()) {
      return fail(kExitStart, status);
    }
  }
  say("starting anew");
  ::unsetenv("SCYPER_FAILPOINTS");  // planted failures are for one life
  ::usleep(kPauseBeforeAnewUs);
  replace_process(command_line);
  return kExitStart;
}

int become_again() {
  say("starting anew");
  ::unsetenv("SCYPER_FAILPOINTS");  // planted failures are for one life
  replace_process(command_line);
  return kExitStart;
}

// A node whose role is elected.
int run_elected(const NodeConfig& config, const sigset_t& signals) {
  MetricsRegistry metrics;
  NodeWatchdog watchdog;
  FailoverNode node(config, &metrics, make_engine, say, &watchdog);
  if (Status status = node.start(); !status.ok()) return fail(kExitStart, status);
  tell_service_manager("READY=1\nSTATUS=takes part in elections");
  watchdog.start();
  const MemoryReturn memory_return;
  auto end = node.run(signals);
  if (!end.ok()) return fail(kExitStart, end.status());
  if (end->signal_number == 0) {
    // a primary answers nothing any more: it is gone with the process, as if it had died
    if (end->was_handed_over) node.stop_serving();
    if (!end->removes_log) return become_again();
    node.stop();
    if (Status status = node.remove_log(); !status.ok()) return fail(kExitStart, status);
    return become_again();
  }
  say(end->signal_number == SIGTERM ? "SIGTERM, stopping" : "SIGINT, stopping");
  tell_service_manager("STOPPING=1");
  signal(end->signal_number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  node.stop();
  say("stopped");
  return 0;
}

int run(NodeConfig config) {
  sigset_t signals = block_signals();
  if (!config.failpoints.empty()) {
    if (Status status = arm_failpoints(config.failpoints); !status.ok()) return fail(kExitConfiguration, status);
  }
  if (const ServerOptions& server = config.server; !server.tls_cert.empty()) {
    auto tls = TlsFiles::open({server.tls_cert, server.tls_key, server.tls_client_ca}, say);
    if (!tls.ok()) return fail(kExitStart, tls.status());
    config.server.tls = *std::move(tls);
  }
  if (!config.cluster.name.empty()) return run_elected(config, signals);
  MetricsRegistry metrics;
  auto engine = make_engine(config, &metrics, nullptr);
  if (!engine.ok()) return fail(kExitStart, engine.status());
  auto server = Server::start(config.server, engine->get(), &metrics);
  if (!server.ok()) return fail(kExitStart, server.status());
  std::printf("scyperd %s: %u partitions, %u workers, gRPC on port %u%s", kVersion, config.engine.partitions,
              config.engine.workers, (*server)->port(), config.server.tls_cert.empty() ? "" : " (TLS)");
  if ((*server)->http_port() != 0) std::printf(", http://localhost:%u/metrics", (*server)->http_port());
  if ((*server)->postgres_port() != 0) std::printf(", PostgreSQL clients on port %u", (*server)->postgres_port());
  std::printf("\n");
  std::fflush(stdout);
  // a secondary that joins takes no queries yet: /readyz says when it does
  tell_service_manager(config.role == Role::kPrimary ? "READY=1\nSTATUS=primary" : "READY=1\nSTATUS=secondary");
  NodeWatchdog watchdog;
  if (config.role == Role::kPrimary) watchdog.watch(engine->get());
  watchdog.start();
  const MemoryReturn memory_return;

  const int signal_number = wait_for_end(signals, engine->get(), config.server.tls.get());
  if (signal_number == 0) return start_anew(config, *std::move(engine), *std::move(server));
  say(signal_number == SIGTERM ? "SIGTERM, stopping" : "SIGINT, stopping");
  tell_service_manager("STOPPING=1");
  watchdog.unwatch();
  // A second signal ends the process at once.
  signal(signal_number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  (*server)->stop();
  server->reset();
  engine->reset();
  std::printf("scyperd: stopped\n");
  return 0;
}

int scyperd_main(int argc, char** argv) {
  command_line = argv;
  take_grpc_messages(say);
  CLI::App app(kNodeDescription);
  NodeFlags flags(&app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitConfiguration;
  }
  auto config = read_config(flags);
  if (!config.ok()) return fail(kExitConfiguration, config.status());
  if (flags.prints_config) {
    std::fputs(print_config(*config).c_str(), stdout);
    return 0;
  }
  return run(*std::move(config));
}

}  // namespace
}  // namespace scyper::server

int main(int argc, char** argv) { return scyper::server::scyperd_main(argc, argv); }
