// scyper: the command of people and scripts. Flags here, work in programs.h.

#include <signal.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <string>

#include "certificate_flags.h"
#include "cluster_verbs.h"
#include "compaction_flags.h"
#include "drill_flags.h"
#include "member_verbs.h"
#include "operator_flags.h"
#include "playground.h"
#include "programs.h"
#include "replication_flags.h"

namespace scyper::client {
namespace {

// Everything that flags write to, and the command that is to run.
struct CommandLine {
  CommonOptions common;
  CertificateOptions certificates;
  SqlOptions sql;
  bool is_csv = false, sql_expanded = false;
  CallOptions call;
  CsvLoadOptions csv;
  std::string csv_delimiter = ",";
  ChOptions ch;
  bool is_load_checked = false;
  BenchOptions bench;
  bool is_in_process = false, is_grpc = false;
  bool shows_storage = false;
  std::string crossing = "spec";
  DemoOptions demo;
  PlaygroundOptions playground;
  DrillFlags drill;
  SwitchoverOptions switchover;
  FailoverOptions failover;
  ClusterPlace place;
  MemberOptions member;
  OperatorFlags operators;
  BackupOptions backup;
  std::string verified_backup;
  RestoreOptions restore;
  LogToolOptions log_tool;
  BenchLogOptions bench_log;
  ReplicationBenchOptions bench_replication;
  OlapOptions olap;
  MixedOptions mixed;
  CompactionBenchOptions bench_compaction;
  TieringBenchOptions bench_tiering;
  std::map<std::string, std::string> node_settings;
  std::list<CLI::Option*> node_options;
  CLI::Option* target_option = nullptr;
  std::function<int()> run;
};

void add_output(CLI::App* command, CommandLine* line, std::vector<std::string> formats) {
  command->add_option("-o,--output", line->common.output, "how results look")
      ->check(CLI::IsMember(std::move(formats)))
      ->capture_default_str();
}

// Settings of a node in this process, from the server's table of them.
void add_node_settings(CLI::App* command, CommandLine* line, std::vector<const char*> keys) {
  for (const char* key : keys) {
    const server::Setting* setting = server::find_setting(key);
    std::string flag = std::string("--") + key;
    for (char& c : flag) c = c == '_' ? '-' : c;
    line->node_options.push_back(command->add_option(flag, line->node_settings[key], setting->help)->group("Node"));
  }
}
const std::vector<const char*> kEngineKeys = {"partitions",
                                              "workers",
                                              "memory",
                                              "pages",
                                              "layout",
                                              "execution",
                                              "redo",
                                              "queue_capacity",
                                              "transaction_time_max",
                                              "short_read_time_max",
                                              "block_changes_max",
                                              "block_repeated_max",
                                              "block_locked_rows_max",
                                              "data_directory",
                                              "commit_mode",
                                              "commit_delay",
                                              "async_delay",
                                              "archive_after",
                                              "archive_rate",
                                              "copy_ahead_rate",
                                              "partial_secondaries"};

const std::vector<const char*> kQueryKeys = {
    "partitions",        "workers",      "memory",        "pages",      "layout", "execution",      "redo",
    "query_concurrency", "query_memory", "snapshots_max", "query_nice", "fork",   "copy_ahead_rate"};

void add_sql(CLI::App* app, CommandLine* line) {
  CLI::App* command = app->add_subcommand("sql", "SQL: interactive, from files, or from the command line");
  SqlOptions& sql = line->sql;
  command->add_flag("--ephemeral", sql.is_ephemeral, "a throwaway database in this process");
  command->add_option("-c,--command", sql.commands, "run this and end; may be given several times")
      ->allow_extra_args(false);
  command->add_option("-f,--file", sql.files, "run a file and end (- = standard input); may be given several times")
      ->allow_extra_args(false);
  command->add_flag("-x,--expanded", sql.shell.format.is_expanded, "one line per value");
  command->add_flag("-t,--tuples-only", sql.shell.format.tuples_only, "rows without header and footer");
  command->add_flag("-v,--verbose", sql.shell.is_verbose, "SQLSTATE in errors");
  command->add_flag("-q,--quiet", sql.shell.is_quiet, "no banner");
  command->add_flag("--receipts", sql.shell.shows_receipts, "show what queries' answers were computed from");
  command->add_flag("--timing", sql.shell.is_timing, "show how long statements take");
  command->add_flag("--on-error-stop", sql.shell.stops_on_error, "files: stop at the first error");
  command->add_option("--null", sql.shell.format.null_text, "how NULL looks");
  add_output(command, line, {"table", "csv", "json"});
  add_node_settings(command, line, kEngineKeys);
  command->callback([line] {
    line->run = [line] {
      auto& format = line->sql.shell.format.format;
      format = line->common.output == "csv"    ? OutputFormat::kCsv
               : line->common.output == "json" ? OutputFormat::kJson
                                               : OutputFormat::kTable;
      return run_sql(line->common, line->sql);
    };
  });
}

void add_call(CLI::App* app, CommandLine* line) {
  CLI::App* command = app->add_subcommand("call", "call a procedure; arguments as text, NULL by that word");
  command->add_option("procedure", line->call.procedure, "its name")->required();
  command->add_option("arguments", line->call.arguments,
                      "its arguments; arrays as {1,2,3}; after -- also negative numbers");
  add_output(command, line, {"table", "json"});
  command->callback([line] { line->run = [line] { return run_call(line->common, line->call); }; });
}

CLI::Validator more_than_zero() {
  auto check = [](const std::string& text) {
    double value = 0;
    const bool is_right = CLI::detail::lexical_cast(text, value) && value > 0;
    return is_right ? std::string() : "\"" + text + "\" is not a number above 0";
  };
  return CLI::Validator(check, "> 0");
}

void add_ch_flags(CLI::App* command, ChOptions* ch) {
  command->add_option("--warehouses", ch->warehouses, "size of the database")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command->add_option("--profile", ch->profile, "the data")
      ->check(CLI::IsMember({"spec", "varied", "census"}))
      ->capture_default_str();
  command->add_option("--scale", ch->scale, "full, or tiny: 1,000 items, 120 customers and orders per district")
      ->check(CLI::IsMember({"full", "tiny"}))
      ->capture_default_str();
  command->add_option("--load-threads", ch->threads, "threads that generate and load")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
}

void add_load(CLI::App* app, CommandLine* line) {
  CLI::App* command = app->add_subcommand("load",
                                          "load a CSV file into a table: scyper load TABLE FILE; or the benchmark's "
                                          "data: scyper load ch");
  CsvLoadOptions& csv = line->csv;
  CLI::Option* table = command->add_option("table", csv.table, "table");
  CLI::Option* file = command->add_option("file", csv.path, "CSV file, - = standard input");
  command->add_option("--delimiter", line->csv_delimiter, "between fields")->capture_default_str();
  command->add_flag("--header", csv.has_header, "the first line names the columns, in any order");
  command->add_option("--null", csv.null_text, "an unquoted field with this text is NULL (default: empty)");
  command->add_option("--batch", csv.batch_rows, "rows per message")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command->add_option("--errors-max", csv.errors_max, "bad rows before it gives up")->capture_default_str();
  command->add_option("--reject", csv.reject_path, "file for bad rows");
  add_output(command, line, {"table", "json"});
  CLI::App* ch = command->add_subcommand("ch", "CH-benCHmark: tables, procedures and data");
  add_ch_flags(ch, &line->ch);
  ch->add_option("--layout", line->ch.layout, "of the tables")->check(CLI::IsMember({"row", "column"}));
  ch->add_option("--seed", line->ch.data_seed, "of the data")->capture_default_str();
  ch->add_flag("--check", line->is_load_checked, "check TPC-C's consistency conditions afterwards");
  ch->callback([line] { line->run = [line] { return run_load_ch(line->common, line->ch, line->is_load_checked); }; });
  command->callback([line, ch, table, file] {
    if (ch->parsed()) return;
    if (table->count() == 0 || file->count() == 0) throw CLI::RequiredError("TABLE and FILE, or ch");
    if (line->csv_delimiter == "\\t") line->csv_delimiter = "\t";
    if (line->csv_delimiter.size() != 1) throw CLI::ValidationError("--delimiter", "one character");
    line->csv.delimiter = line->csv_delimiter[0];
    line->csv.is_quiet = line->common.output == "json";
    line->run = [line] { return run_load_csv(line->common, line->csv); };
  });
}

void add_status(CLI::App* app, CommandLine* line) {
  CLI::App* command = app->add_subcommand("status", "what a node is doing");
  add_output(command, line, {"table", "json"});
  command->add_flag(
      "--storage", line->shows_storage,
      "instead: what of each table is hot, cooling, cold and frozen, how much smaller it is, what compaction does");
  command->callback([line] {
    line->run = [line] { return line->shows_storage ? run_storage_status(line->common) : run_status(line->common); };
  });
}

int run_bench(CommandLine* line) {
  BenchOptions& bench = line->bench;
  bench.where = line->is_grpc         ? BenchOptions::Where::kGrpc
                : line->is_in_process ? BenchOptions::Where::kInProcess
                                      : BenchOptions::Where::kTarget;
  bench.oltp.mix.spec_remote = line->crossing == "spec";
  bool is_percentage = line->crossing != "spec" && line->crossing != "none";
  if (is_percentage) bench.oltp.mix.crossing_percent = std::stod(line->crossing);
  if (bench.where == BenchOptions::Where::kTarget) bench.ch.layout = line->node_settings["layout"];
  return run_bench_oltp(line->common, bench);
}

void add_bench_olap(CLI::App* group, CommandLine* line) {
  CLI::App* command = group->add_subcommand(
      "olap",
      "CH-benCHmark's 22 queries from one session on one snapshot: each planned and compiled anew, and with its code "
      "reused. On a node in this process over gRPC, on one without network (--in-process), or on another (--target).");
  OlapOptions& olap = line->olap;
  command->add_flag("--in-process", line->is_in_process, "an engine in this process, without network");
  add_ch_flags(command, &olap.ch);
  command->add_option("--repeat", olap.repeat, "runs of each query")->check(CLI::Range(1, 1000))->capture_default_str();
  command->add_option("--threads", olap.threads, "of one query")->check(CLI::Range(1, 256))->capture_default_str();
  command->add_option("--queries", olap.queries, "1 to 22, separated by commas; default: all")
      ->delimiter(',')
      ->check(CLI::Range(1, 22));
  command->add_option("--timeout-ms", olap.timeout_ms, "of one query")->capture_default_str();
  command->add_flag("--loaded", olap.is_loaded, "the node has the database already");
  command->add_option("--results", olap.results_path, "directory for the answers as CSV")
      ->check(CLI::ExistingDirectory);
  command->add_option("--export", olap.export_path, "directory: write the data as CSV there and end")
      ->check(CLI::ExistingDirectory);
  add_output(command, line, {"table", "json"});
  add_node_settings(command, line, kQueryKeys);
  command->callback([line] {
    line->run = [line] {
      const bool is_elsewhere = line->target_option->count() > 0;
      line->olap.where = line->is_in_process ? BenchOptions::Where::kInProcess
                         : is_elsewhere      ? BenchOptions::Where::kTarget
                                             : BenchOptions::Where::kGrpc;
      return run_bench_olap(line->common, line->olap);
    };
  });
}

void add_bench_mixed(CLI::App* group, CommandLine* line) {
  CLI::App* command = group->add_subcommand(
      "mixed", "transactions alone, then beside a session that runs the 22 queries on a fresh snapshot every second");
  MixedOptions& mixed = line->mixed;
  mixed.oltp.seconds = 10;
  add_ch_flags(command, &mixed.ch);
  command->add_option("--seconds", mixed.oltp.seconds, "measured time of each part")
      ->check(more_than_zero())
      ->capture_default_str();
  command->add_option("--rounds", mixed.rounds, "of both parts")->check(CLI::Range(1, 1000))->capture_default_str();
  command->add_option("--snapshot-period-ms", mixed.snapshot_period_ms, "age at which the session takes a new snapshot")
      ->capture_default_str();
  command->add_option("--threads", mixed.threads, "of one query")->check(CLI::Range(1, 256))->capture_default_str();
  command->add_option("--queries", mixed.queries, "1 to 22, separated by commas; default: all")
      ->delimiter(',')
      ->check(CLI::Range(1, 22));
  command->add_option("--drivers", mixed.drivers, "threads that submit")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  add_output(command, line, {"table", "json"});
  add_node_settings(command, line, kQueryKeys);
  command->callback([line] { line->run = [line] { return run_bench_mixed(line->common, line->mixed); }; });
}

void add_bench_compaction(CLI::App* group, CommandLine* line) {
  CLI::App* command = add_compaction_flags(group, &line->bench_compaction);
  add_ch_flags(command, &line->bench_compaction.ch);
  add_output(command, line, {"table", "json"});
  add_node_settings(command, line, kQueryKeys);
  command->callback(
      [line] { line->run = [line] { return run_bench_compaction(line->common, line->bench_compaction); }; });
}

void add_bench_tiering(CLI::App* group, CommandLine* line) {
  CLI::App* command = add_tiering_flags(group, &line->bench_tiering);
  add_ch_flags(command, &line->bench_tiering.ch);
  add_output(command, line, {"table", "json"});
  add_node_settings(command, line, kQueryKeys);
  command->callback([line] { line->run = [line] { return run_bench_tiering(line->common, line->bench_tiering); }; });
}

void add_bench(CLI::App* app, CommandLine* line) {
  CLI::App* group = app->add_subcommand("bench", "benchmarks")->require_subcommand(1);
  CLI::App* command = group->add_subcommand(
      "oltp",
      "TPC-C's transactions as procedures. Makes and loads the database, runs the mix, prints figures. On a node "
      "(--target), in this process (--in-process), or in this process over gRPC (--grpc).");
  OltpOptions& oltp = line->bench.oltp;
  command->add_flag("--in-process", line->is_in_process, "an engine in this process, without network");
  command->add_flag("--grpc", line->is_grpc, "a node in this process, over loopback");
  add_ch_flags(command, &line->bench.ch);
  command->add_option("--seconds", oltp.seconds, "measured time")->check(more_than_zero())->capture_default_str();
  command->add_option("--warmup-seconds", oltp.warmup_seconds, "time before it")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--transactions", oltp.transactions, "so many transactions instead of a time");
  command
      ->add_option("--crossing,--remote", line->crossing,
                   "partition-crossing transactions: spec (1 % of the order lines, 15 % of the payments), none, or a "
                   "percentage of New-Orders and Payments")
      ->check([](const std::string& text) {
        if (text == "spec" || text == "none") return std::string();
        std::string number = text;
        return CLI::Range(0.0, 100.0)(number);
      })
      ->capture_default_str();
  command->add_option("--batch", oltp.batch, "calls per submission or message")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--outstanding", oltp.outstanding, "batches at a time, per worker or stream")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--streams", oltp.streams, "connections")->check(CLI::Range(1, 1024))->capture_default_str();
  command->add_option("--drivers", line->bench.drivers, "in process: threads that submit")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command->add_flag("--unary", oltp.is_unary, "over gRPC: one call per message, one at a time per stream");
  command->add_option("--seed", oltp.mix.seed, "of the inputs")->capture_default_str();
  command->add_flag("--loaded", line->bench.is_loaded, "the node has the database already");
  command->add_flag("--check", line->bench.is_checked, "check TPC-C's consistency conditions afterwards");
  command->add_flag("--digest", oltp.wants_digest, "digests of all outcomes and tables; one worker or stream");
  command->add_option("--dump", oltp.dump_path, "write every outcome as a line of this file");
  add_output(command, line, {"table", "json"});
  add_node_settings(command, line, kEngineKeys);
  command->callback([line] { line->run = [line] { return run_bench(line); }; });
  add_bench_olap(group, line);
  add_bench_mixed(group, line);
  add_bench_compaction(group, line);
  add_bench_tiering(group, line);
}

void add_bench_replication(CLI::App* app, CommandLine* line) {
  CLI::App* command = add_replication_flags(app->get_subcommand("bench"), &line->bench_replication);
  add_ch_flags(command, &line->bench_replication.ch);
  add_output(command, line, {"table", "json"});
  add_node_settings(command, line,
                    {"memory", "pages", "layout", "redo", "partitions", "workers", "log_compression", "batch_bytes",
                     "commit_delay", "marker_distance"});
  command->callback(
      [line] { line->run = [line] { return run_bench_replication(line->common, line->bench_replication); }; });
}

void add_demo(CLI::App* app, CommandLine* line) {
  CLI::App* command = app->add_subcommand("demo",
                                          "start a node in this process, load the benchmark, run it over gRPC with a "
                                          "live line, check; kill the primary of a "
                                          "cluster; show what to try");
  line->demo.ch.warehouses = 2;
  add_ch_flags(command, &line->demo.ch);
  command->add_option("--seconds", line->demo.seconds, "of transactions")
      ->check(more_than_zero())
      ->capture_default_str();
  command->add_flag("--no-failover", line->demo.has_no_failover,
                    "without the cluster whose primary is killed at the end");
  command->add_flag("--keep", line->demo.is_kept, "leave the node running until Ctrl-C");
  add_node_settings(command, line, kEngineKeys);
  command->callback([line] { line->run = [line] { return run_demo(line->common, line->demo); }; });
}

void add_bench_log(CLI::App* app, CommandLine* line) {
  CLI::App* command = app->get_subcommand("bench")->add_subcommand(
      "log", "the redo log: bytes per transaction, time of replay against execution, archives; in this process");
  add_ch_flags(command, &line->bench_log.ch);
  command->add_option("--transactions", line->bench_log.transactions, "that are run and replayed")
      ->check(CLI::Range(100, 100'000'000))
      ->capture_default_str();
  command->add_flag("--keep", line->bench_log.keeps, "leave the data directories there");
  command->add_option("--directory", line->bench_log.directory, "where logs and archives lie meanwhile")
      ->capture_default_str();
  add_output(command, line, {"table", "json"});
  add_node_settings(command, line, {"memory", "pages", "layout", "execution", "log_compression", "batch_bytes"});
  command->callback([line] { line->run = [line] { return run_bench_log(line->common, line->bench_log); }; });
}

void add_playground(CLI::App* app, CommandLine* line) {
  CLI::App* command = app->add_subcommand(
      "playground", "a primary and secondaries on this machine, as processes of their own, until Ctrl-C");
  PlaygroundOptions& playground = line->playground;
  command->add_option("--secondaries", playground.secondaries, "how many")
      ->check(CLI::Range(0, 16))
      ->capture_default_str();
  command->add_option("--load", playground.load, "sample data: ch:W is CH-benCHmark with W warehouses");
  command->add_option("--directory", playground.directory, "of data and messages; default: one that goes at the end");
  command->add_option("--port", playground.port, "of the primary; the secondaries' follow")->capture_default_str();
  command->add_option("--memory", playground.memory, "of each node")->capture_default_str();
  command->add_option("--commit-mode", playground.commit_mode, "of the primary")->capture_default_str();
  command->add_flag("--elect", playground.elects, "the nodes elect their primary; starts an etcd as well");
  command->add_flag("--detach", playground.is_detached, "end at once, the nodes go on");
  command->add_flag("--stop", playground.stops, "end the nodes of a detached playground");
  command->add_flag("--dsn", playground.shows_address, "print the primary's address");
  command->callback([line] { line->run = [line] { return run_playground(line->common, line->playground); }; });
}

void add_durability(CLI::App* app, CommandLine* line) {
  CLI::App* backup = app->add_subcommand("backup", "write an archive of a running node's database");
  backup->add_option("--directory", line->backup.directory,
                     "on the node's machine, or s3://bucket/prefix; default: the archives of its data directory");
  add_output(backup, line, {"table", "json"});
  CLI::App* verify = backup->add_subcommand("verify", "check every byte of archives; offline");
  verify
      ->add_option("path", line->verified_backup,
                   "an archive, a directory of archives or a data directory; s3://bucket/prefix")
      ->required();
  verify->callback([line] { line->run = [line] { return run_backup_verify(line->common, line->verified_backup); }; });
  backup->callback([line, verify] {
    if (!verify->parsed()) line->run = [line] { return run_backup(line->common, line->backup); };
  });

  RestoreOptions& restore = line->restore;
  CLI::App* command = app->add_subcommand("restore", "make a data directory of an archive and the log behind it");
  command->add_option("--from", restore.from, "a data directory, a directory of archives, or s3://bucket/prefix")
      ->required();
  command->add_option("--log", restore.log, "directory of log segments, where they are not in --from");
  command->add_option("--to", restore.to, "the new data directory")->required();
  command->add_option("--to-lsn", restore.to_lsn, "up to this transaction");
  command->add_option("--skip-lsn", restore.skipped_lsns,
                      "leave this transaction out, which cannot be replayed; may be repeated");
  command->add_option("--to-time", restore.to_time, "up to this time, UTC: \"2026-01-31 12:00:00\"");
  command->add_option("--memory", restore.memory, "that the database may take meanwhile")->capture_default_str();
  command->add_option("--threads", restore.threads, "of loading and replay")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  add_output(command, line, {"table", "json"});
  command->callback([line] { line->run = [line] { return run_restore(line->common, line->restore); }; });

  CLI::App* log = app->add_subcommand("log", "look at a redo log; offline")->require_subcommand(1);
  CLI::App* inspect = log->add_subcommand("inspect", "segments, and if asked batches and records");
  inspect->add_flag("--batches", line->log_tool.shows_batches, "show batches");
  inspect->add_flag("--records", line->log_tool.shows_records, "show batches and records");
  inspect->add_option("--lsn", line->log_tool.lsn, "show this transaction only, and what it does");
  inspect->callback([line] { line->run = [line] { return run_log_inspect(line->common, line->log_tool); }; });
  CLI::App* log_verify = log->add_subcommand("verify", "check everything that recovery would");
  log_verify->callback([line] { line->run = [line] { return run_log_verify(line->common, line->log_tool); }; });
  CLI::App* log_cut = log->add_subcommand(
      "cut", "give up a torn tail: a primary of the quorum modes does not, as it may have been acknowledged");
  log_cut->callback([line] { line->run = [line] { return run_log_cut(line->common, line->log_tool.path); }; });
  for (CLI::App* tool : {inspect, log_verify, log_cut}) {
    tool->add_option("path", line->log_tool.path, tool == log_cut ? "a data directory" : "a data directory, or its log")
        ->required();
    add_output(tool, line, {"table", "json"});
    tool->fallthrough();
  }
  verify->fallthrough();
}

void add_place(CLI::App* command, ClusterPlace* place) {
  command->add_option("--etcd", place->etcd, "host:port,host:port; default: a node of --target says so");
  command->add_option("--cluster", place->cluster, "its name in etcd; default: likewise");
  command->add_option("--etcd-ca", place->etcd_ca, "PEM file; given: TLS to etcd");
  command->add_option("--etcd-cert", place->etcd_cert, "PEM file with this client's certificate");
  command->add_option("--etcd-key", place->etcd_key, "PEM file with its key");
}

void add_cluster_verbs(CLI::App* app, CommandLine* line) {
  CLI::App* command = app->add_subcommand("switchover", "another node becomes primary, as planned: no commit fails");
  SwitchoverOptions& switchover = line->switchover;
  command->add_option("--to", switchover.to, "node; default: the voter that has most");
  command->add_option("--timeout-ms", switchover.timeout_ms, "for all of it")
      ->check(CLI::Range(100, 3'600'000))
      ->capture_default_str();
  command->add_option("--drain-ms", switchover.drain_ms, "that the primary may be closed for, else it goes on")
      ->check(CLI::Range(10, 60'000))
      ->capture_default_str();
  add_place(command, &switchover.place);
  add_output(command, line, {"table", "json"});
  command->callback([line] { line->run = [line] { return run_switchover(line->common, line->switchover); }; });

  command = app->add_subcommand("failover", "where there is no primary: says who can lead and what may be lost");
  FailoverOptions& failover = line->failover;
  command->add_option("--to", failover.to, "node; default: the voter that has most");
  command->add_flag("--confirm", failover.is_confirmed, "do it, whatever may be lost");
  command->add_option("--timeout-ms", failover.timeout_ms, "until it leads")
      ->check(CLI::Range(100, 3'600'000))
      ->capture_default_str();
  add_place(command, &failover.place);
  add_output(command, line, {"table", "json"});
  command->callback([line] { line->run = [line] { return run_failover(line->common, line->failover); }; });

  command = app->add_subcommand("pause", "no automatic election until scyper resume");
  add_place(command, &line->place);
  command->callback([line] { line->run = [line] { return run_pause(line->common, line->place); }; });
  command = app->add_subcommand("resume", "elections are automatic again");
  add_place(command, &line->place);
  command->callback([line] { line->run = [line] { return run_resume(line->common, line->place); }; });
}

// Whether the members are listed is known when no word follows.
void add_members(CLI::App* app, CommandLine* line) {
  MemberOptions& member = line->member;
  CLI::App* members = app->add_subcommand("members", "the cluster's nodes: who votes, how far their logs are");
  CLI::App* list = members->add_subcommand("list", "the same");
  CLI::App* add = members->add_subcommand("add", "a node that follows votes from now on");
  CLI::App* remove = members->add_subcommand("remove", "a node votes no more; it goes on following");
  for (CLI::App* command : {members, list, add, remove}) {
    add_place(command, &member.place);
    add_output(command, line, {"table", "json"});
  }
  for (CLI::App* command : {add, remove}) {
    command->add_option("NAME", member.node, "node_name of it")->required();
    command->add_option("--timeout-ms", member.timeout_ms, "for all of it")
        ->check(CLI::Range(100, 86'400'000))
        ->capture_default_str();
  }
  add->callback([line] { line->run = [line] { return run_member_add(line->common, line->member); }; });
  remove->callback([line] { line->run = [line] { return run_member_remove(line->common, line->member); }; });
  members->callback([line, add, remove] {
    if (add->parsed() || remove->parsed()) return;
    line->run = [line] { return run_members(line->common, line->member.place); };
  });
  for (CLI::App* command : {list, add, remove}) command->fallthrough();
}

bool is_command(const CLI::App& app, const std::string& word) {
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == word) return true;
  }
  return false;
}

int scyper_main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);  // errors are told in our own words
  CommandLine line;
  CLI::App app(
      "ScyPer: transactions and analytics on one main-memory database.\n"
      "Exit codes: 0 fine, 1 a statement or row failed, 2 wrong flags, 3 no connection, 4 a consistency check failed.");
  app.set_version_flag("--version", std::string(server::kVersion));
  app.require_subcommand(1);
  app.fallthrough();
  ConnectOptions& to = line.common.connect;
  line.target_option = app.add_option("--target", to.target,
                                      "host:port of the node, or unix:FILE; sql, call, load: of several, separated by "
                                      "commas: the primary among them")
                           ->envname("SCYPER_TARGET")
                           ->capture_default_str();
  app.add_option("--ca", to.tls_ca, "PEM file; given: TLS, and the node's certificate must be signed by it")
      ->envname("SCYPER_CA");
  app.add_option("--cert", to.tls_cert, "PEM file with this client's certificate");
  app.add_option("--key", to.tls_key, "PEM file with its key");
  add_sql(&app, &line);
  add_call(&app, &line);
  add_load(&app, &line);
  add_status(&app, &line);
  add_operator_commands(&app, &line.common, &line.operators, &line.run);
  add_bench(&app, &line);
  add_demo(&app, &line);
  add_bench_log(&app, &line);
  add_bench_replication(&app, &line);
  add_durability(&app, &line);
  add_playground(&app, &line);
  add_drill(&app, &line.common, &line.drill, &line.run);
  add_cluster_verbs(&app, &line);
  add_members(&app, &line);
  add_certificates(&app, &line.certificates, &line.run);
  for (CLI::App* command : app.get_subcommands({})) command->fallthrough();
  for (const char* name : {"oltp", "olap", "mixed", "log", "replication"})
    app.get_subcommand("bench")->get_subcommand(name)->fallthrough();
  app.get_subcommand("load")->get_subcommand("ch")->fallthrough();
  if (argc > 1 && argv[1][0] != '-' && !is_command(app, argv[1])) {
    std::fprintf(stderr, "scyper: there is no command \"%s\"\nRun with --help for the list.\n", argv[1]);
    return kExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  line.common.is_json = line.common.output == "json";
  for (const auto& [key, value] : line.node_settings) {
    if (!value.empty()) line.common.node_settings.emplace_back(key, value);
  }
  return line.run();
}

}  // namespace
}  // namespace scyper::client

int main(int argc, char** argv) { return scyper::client::scyper_main(argc, argv); }
