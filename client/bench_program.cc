// `scyper load ch`, `scyper bench oltp`, `scyper demo`.

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <cstdio>
#include <thread>
#include <utility>

#include "bench_node.h"
#include "drill.h"
#include "elected_nodes.h"
#include "oltp_report.h"
#include "programs.h"
#include "progress.h"
#include "server/server.h"

namespace scyper::client {

namespace {

void record_settings(const BenchOptions& options, const server::NodeConfig* config, OltpReport* report) {
  auto& out = report->settings;
  out["warehouses"] = std::to_string(options.ch.warehouses);
  out["profile"] = options.ch.profile;
  out["scale"] = options.ch.scale;
  out["batch"] = std::to_string(options.oltp.batch);
  out["outstanding"] = std::to_string(options.oltp.outstanding);
  out["streams"] = std::to_string(options.oltp.streams);
  out["seed"] = std::to_string(options.oltp.mix.seed);
  out["crossing"] = options.oltp.mix.spec_remote ? "spec" : std::to_string(options.oltp.mix.crossing_percent);
  if (config == nullptr) return;
  for (const char* key : {"workers", "partitions", "layout", "redo", "execution", "pages"}) {
    out[key] = server::find_setting(key)->get(*config);
    std::erase(out[key], '"');
  }
}

// The run itself, on a loaded database. `admin` reads counters and runs the checks.
Status measure(const BenchOptions& options, const ch::Generator& generator, LocalNode* node,
               const ConnectOptions& target, Session* admin, const OltpRun::Live& live, OltpReport* report) {
  SCYPER_ASSIGN_OR_RETURN(report->before, admin->status());
  if (options.where == BenchOptions::Where::kInProcess) {
    SCYPER_ASSIGN_OR_RETURN(report->result,
                            run_oltp_in_process(node->engine.get(), generator, options.oltp, options.drivers, live));
  } else {
    SCYPER_ASSIGN_OR_RETURN(report->result, run_oltp_remote(target, generator, options.oltp, live));
  }
  SCYPER_ASSIGN_OR_RETURN(report->after, admin->status());
  if (options.oltp.wants_digest) {
    SCYPER_ASSIGN_OR_RETURN(report->table_digests, digest_tables(admin, generator.scale()));
  }
  report->is_checked = options.is_checked;
  if (options.is_checked) report->check = check_consistency(admin, generator.scale(), /*after_load=*/false);
  return {};
}

void print_live(double seconds, const OltpStats& interval) {
  Histogram latency = interval.latency();
  double tps = static_cast<double>(interval.completed()) / seconds;
  double new_order = static_cast<double>(interval.procedures[0].completed) / seconds;
  std::printf("  %10s tps  %9s new-order/s   p50 %8.1f us   p99 %8.1f us\n",
              grouped(static_cast<uint64_t>(tps)).c_str(), grouped(static_cast<uint64_t>(new_order)).c_str(),
              static_cast<double>(latency.percentile(50)) / 1000, static_cast<double>(latency.percentile(99)) / 1000);
  std::fflush(stdout);
}

StatusOr<OltpReport> bench(const CommonOptions& common, const BenchOptions& options) {
  OltpReport report;
  ch::Generator generator(generator_options(options.ch));
  std::unique_ptr<LocalNode> node;
  ConnectOptions target = common.connect;
  if (options.where != BenchOptions::Where::kTarget) {
    bool has_server = options.where == BenchOptions::Where::kGrpc;
    SCYPER_ASSIGN_OR_RETURN(node, start_node(common, options.ch, has_server));
    if (has_server) target.target = "127.0.0.1:" + std::to_string(node->server->port());
  }
  std::unique_ptr<Session> session;
  if (node != nullptr) {
    session = local_session(node->engine.get());
  } else {
    SCYPER_ASSIGN_OR_RETURN(auto client, Client::connect(target));
    session = remote_session(std::move(client), target.target);
  }
  if (!options.is_loaded) {
    SCYPER_ASSIGN_OR_RETURN(report.load, create_ch_database(session.get(), generator, database_options(options.ch)));
  }
  report.mode = options.where == BenchOptions::Where::kInProcess ? "in-process"
                : options.oltp.is_unary                          ? "grpc-unary"
                                                                 : "grpc";
  record_settings(options, node == nullptr ? nullptr : &node->config, &report);
  SCYPER_RETURN_IF_ERROR(measure(options, generator, node.get(), target, session.get(),
                                 common.is_json ? OltpRun::Live() : print_live, &report));
  return report;
}

// A demonstration's steps, told as they happen.
Status demonstrate(const CommonOptions& common, const DemoOptions& options, OltpReport* report,
                   std::unique_ptr<LocalNode>* kept) {
  BenchOptions bench;
  bench.where = BenchOptions::Where::kGrpc;
  bench.ch = options.ch;
  bench.oltp.seconds = options.seconds;
  bench.is_checked = true;
  SCYPER_ASSIGN_OR_RETURN(*kept, start_node(common, options.ch, /*has_server=*/true));
  LocalNode& node = **kept;
  ConnectOptions target;
  target.target = "127.0.0.1:" + std::to_string(node.server->port());
  std::printf("ScyPer %s: a node in this process, gRPC at %s, http://127.0.0.1:%u/metrics\n", server::kVersion,
              target.target.c_str(), node.server->http_port());
  std::printf("%u partitions, %u worker%s\n\n", node.config.engine.partitions, node.config.engine.workers,
              node.config.engine.workers == 1 ? "" : "s");
  std::fflush(stdout);
  ch::Generator generator(generator_options(options.ch));
  auto local = local_session(node.engine.get());
  SCYPER_ASSIGN_OR_RETURN(report->load, create_ch_database(local.get(), generator, database_options(options.ch)));
  std::printf("CH-benCHmark: %d warehouse(s), %s rows, %.0f MB, loaded in %.1f s\n", options.ch.warehouses,
              grouped(report->load.rows).c_str(), static_cast<double>(node.engine->memory_used_bytes()) / (1 << 20),
              report->load.seconds);
  ConsistencyReport after_load = check_consistency(local.get(), generator.scale(), /*after_load=*/true);
  std::fputs(check_text(after_load).c_str(), stdout);
  std::printf("\nThe TPC-C mix over gRPC for %.0f s:\n", options.seconds);
  std::fflush(stdout);
  report->mode = "grpc";
  SCYPER_ASSIGN_OR_RETURN(auto client, Client::connect(target));
  auto session = remote_session(std::move(client), target.target);
  SCYPER_RETURN_IF_ERROR(measure(bench, generator, &node, target, session.get(), print_live, report));
  for (auto& violation : after_load.violations) report->check.violations.push_back(std::move(violation));
  return {};
}

// Three nodes that elect their primary, which is killed under load: what every acknowledged transaction has become.
int show_failover(const CommonOptions& common) {
  if (!ElectedNodes::is_possible()) {
    std::printf("\nWithout etcd on this machine no failover is shown (Debian's package is etcd-server).\n");
    return kExitOk;
  }
  std::printf("\nA cluster, and the end of its primary:\n");
  std::fflush(stdout);
  DrillOptions drill;
  drill.kind = "kill-primary";
  drill.repeat = 1;
  drill.writers = 2;
  drill.floor = 200;
  drill.is_told = true;
  return run_drill(common, drill);
}

// With --keep the node goes on until it is told to stop; the signals are blocked before any of its threads starts.
void wait_for_signal(const sigset_t& signals) {
  int number = 0;
  sigwait(&signals, &number);
}

// With the program's name as it was called, so that the lines can be copied.
void print_next_steps(const DemoOptions& options, const LocalNode& node) {
  const std::string self = program_invocation_name;
  const std::string directory = self.substr(0, self.rfind('/') + 1);  // empty: found by PATH
  auto print = [&](const std::string& arguments, const char* why) {
    std::printf("  %s %s\n      %s\n", self.c_str(), arguments.c_str(), why);
  };
  std::printf("\nWhat to try next:\n");
  if (options.is_kept) {
    const std::string target = "--target 127.0.0.1:" + std::to_string(node.server->port());
    print("sql " + target + " -c 'SELECT count(*) FROM order_line'", "a query on a snapshot, beside transactions");
    print("call " + target + " tpcc_stock_level 1 1 15", "a stored procedure");
    print("status " + target, "what the node is doing");
    std::printf("  curl http://127.0.0.1:%u/metrics\n\nThe node runs until Ctrl-C.\n", node.server->http_port());
  } else {
    print("demo --keep", "leave the node running and look into it");
    print("sql --ephemeral", "a database in this terminal, gone with it");
    std::printf("  %sscyperd & %s load ch --warehouses 2 && %s sql\n      a node of your own\n", directory.c_str(),
                self.c_str(), self.c_str());
    print("bench oltp --in-process --warehouses 5", "without the network in between");
    print("drill all-in-turn", "more faults, and what they do to a cluster");
    print("bench oltp --in-process --workers 2 --crossing none", "two workers");
  }
  std::fflush(stdout);
}

}  // namespace

int run_load_ch(const CommonOptions& common, const ChOptions& options, bool is_checked) {
  auto client = Client::connect(common.connect);
  if (!client.ok()) return show_failure(client.status(), common.is_json);
  auto session = remote_session(*std::move(client), common.connect.target);
  ch::Generator generator(generator_options(options));
  auto loaded = create_ch_database(session.get(), generator, database_options(options));
  if (!loaded.ok()) return show_failure(loaded.status(), common.is_json);
  if (common.is_json) {
    std::printf("{\"rows\": %llu, \"seconds\": %.3f}\n", static_cast<unsigned long long>(loaded->rows),
                loaded->seconds);
  } else {
    std::printf("%s rows in %.1f s\n", grouped(loaded->rows).c_str(), loaded->seconds);
  }
  if (!is_checked) return kExitOk;
  ConsistencyReport report = check_consistency(session.get(), generator.scale(), /*after_load=*/true);
  std::fputs(check_text(report).c_str(), common.is_json ? stderr : stdout);
  return report.violations.empty() ? kExitOk : kExitCheck;
}

int run_bench_oltp(const CommonOptions& common, BenchOptions options) {
  options.ch.is_quiet = options.ch.is_quiet || common.is_json;
  if (!options.oltp.dump_path.empty()) options.oltp.wants_digest = true;
  auto report = bench(common, options);
  if (!report.ok()) return show_failure(report.status(), common.is_json);
  std::fputs(common.is_json ? oltp_json(*report).c_str() : ("\n" + oltp_text(*report)).c_str(), stdout);
  return report->check.violations.empty() ? kExitOk : kExitCheck;
}

int run_demo(const CommonOptions& common, const DemoOptions& options) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  if (options.is_kept) pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  OltpReport report;
  std::unique_ptr<LocalNode> node;
  Status status = demonstrate(common, options, &report, &node);
  if (!status.ok()) return show_failure(status, common.is_json);
  std::fputs(common.is_json ? oltp_json(report).c_str() : ("\n" + oltp_text(report)).c_str(), stdout);
  const int drill = common.is_json || options.has_no_failover ? kExitOk : show_failover(common);
  if (!common.is_json) print_next_steps(options, *node);
  if (options.is_kept) wait_for_signal(signals);
  return report.check.violations.empty() ? drill : kExitCheck;
}

}  // namespace scyper::client
