#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ch_database.h"
#include "client/client.h"
#include "load_csv.h"
#include "oltp.h"
#include "server/config.h"
#include "shell.h"

// The commands of the `scyper` program, apart from their flags (scyper.cc). Each returns an exit code.
namespace scyper::client {

// Stable: scripts rely on them.
constexpr int kExitOk = 0;
constexpr int kExitError = 1;       // a statement, call or row failed
constexpr int kExitUsage = 2;       // wrong flags or settings
constexpr int kExitConnection = 3;  // no node there, or it went away
constexpr int kExitCheck = 4;       // a consistency check failed

struct CommonOptions {
  ConnectOptions connect;
  bool is_json = false;
  std::string output = "table";  // table, json, csv
  // Settings of a node in this process: key and value.
  std::vector<server::Assignment> node_settings;
};

struct SqlOptions {
  bool is_ephemeral = false;
  std::vector<std::string> commands;
  std::vector<std::string> files;
  ShellOptions shell;
};
int run_sql(const CommonOptions& common, const SqlOptions& options);

struct CallOptions {
  std::string procedure;
  std::vector<std::string> arguments;  // as text; NULL by the word
};
int run_call(const CommonOptions& common, const CallOptions& options);

int run_status(const CommonOptions& common);
int run_storage_status(const CommonOptions& common);
int run_load_csv(const CommonOptions& common, const CsvLoadOptions& options);

struct ChOptions {
  int32_t warehouses = 1;
  std::string profile = "spec";
  std::string scale = "full";
  std::string layout;
  uint64_t data_seed = 1;
  unsigned threads = 2;
  bool is_quiet = false;
};
// False: a name that is not known.
ch::GeneratorOptions generator_options(const ChOptions& options);
int run_load_ch(const CommonOptions& common, const ChOptions& options, bool is_checked);

struct BenchOptions {
  enum class Where { kInProcess, kGrpc, kTarget };
  Where where = Where::kInProcess;
  ChOptions ch;
  OltpOptions oltp;
  uint32_t drivers = 1;
  bool is_checked = false;
  bool is_loaded = false;  // over gRPC: the node has the database already
};
int run_bench_oltp(const CommonOptions& common, BenchOptions options);

// `scyper bench olap`: CH-benCHmark's queries.
struct OlapOptions {
  BenchOptions::Where where = BenchOptions::Where::kGrpc;
  ChOptions ch;
  bool is_loaded = false;
  uint32_t repeat = 5;
  uint32_t threads = 1;           // of one query
  std::vector<int> queries;       // 1 to 22; empty = all
  uint32_t timeout_ms = 300'000;  // of one query
  std::string export_path;        // directory: the data as CSV, nothing is run
  std::string results_path;       // directory: answers as CSV
};
int run_bench_olap(const CommonOptions& common, OlapOptions options);

// `scyper bench mixed`: transactions with and without queries beside them.
struct MixedOptions {
  ChOptions ch;
  OltpOptions oltp;
  uint32_t drivers = 1;
  uint32_t rounds = 1;  // of: without queries, with queries
  uint32_t snapshot_period_ms = 1000;
  uint32_t threads = 1;  // of one query
  std::vector<int> queries;
};
int run_bench_mixed(const CommonOptions& common, MixedOptions options);

// `scyper bench compaction`: nodes that compact beside nodes that do not, in this process.
struct CompactionBenchOptions {
  ChOptions ch;
  OltpOptions oltp;                  // seconds: of one slice
  std::vector<std::string> parts;    // oltp, updates, forks, queries; empty = all
  double seconds = 30;               // of transactions after loading
  uint32_t window_ms = 4000;         // of the access observer: loading has to take less than two
  uint32_t rounds = 3;               // of transactions, updates and forks
  uint32_t repeat = 5;               // of each query
  uint32_t orders = 100'000;         // of ten lines each, of which
  uint32_t updated_orders = 10'000;  // are updated
  uint64_t frozen_mb = 4096;         // what a fork is measured with
};
int run_bench_compaction(const CommonOptions& common, CompactionBenchOptions options);

// `scyper bench tiering`: what the tier of frozen chunks costs and saves, in this process.
struct TieringBenchOptions {
  ChOptions ch;
  std::vector<std::string> parts;  // restart, rounds, mixed; empty = all
  std::string directory = "/tmp";  // of the nodes' files, which go at the end
  double cold_pct = 70;            // of all bytes: not in memory
  double cache_pct = 13;           // of the frozen bytes: cache of the tier's pages
  uint32_t rounds = 3;             // of restarts, of nodes with and without a tier
  double warm_seconds = 10;        // of transactions before what is measured
  double seconds = 10;             // of transactions alone, and beside queries
  bool has_spec_skew = false;      // these as TPC-C has them, not as kTieringSkew
  uint64_t lines = 2'000'000;      // of the table of the rounds of queries
  std::vector<double> hot_pct = {10, 20};
  std::vector<double> hot_queries_pct = {50, 65, 80, 95};
  uint32_t query_rounds = 10;
};
int run_bench_tiering(const CommonOptions& common, TieringBenchOptions options);

// `scyper bench replication`: a primary with so many secondaries as processes on this machine.
struct ReplicationBenchOptions {
  ChOptions ch;
  OltpOptions oltp;
  uint32_t light_batch = 16;                  // calls at a time beside queries
  std::vector<std::string> parts = {"cost"};  // of: cost, queries, snapshots, joins, freshness, loss
  std::vector<uint32_t> secondaries = {0, 1, 3};
  std::vector<uint32_t> nodes = {1, 2, 3, 4};          // queries: the primary among them,
  std::vector<uint32_t> query_streams = {1, 2, 3, 4};  // to each of them,
  std::vector<int> queries;                            // 1 to 22; empty = all
  double load_share = 0.5;                             // freshness: of the greatest load
  std::vector<uint32_t> losses = {0, 1, 5};            // percent
  std::string transport = "pgm";                       // or "unicast"
  std::string commit_mode = "local";
  bool is_encrypted = false;
  std::string directory = "/tmp";  // where the nodes' data lie meanwhile
};
int run_bench_replication(const CommonOptions& common, ReplicationBenchOptions options);

struct DemoOptions {
  ChOptions ch;
  double seconds = 10;
  bool is_kept = false;  // the node stays until a signal comes
  bool has_no_failover = false;
};
int run_demo(const CommonOptions& common, const DemoOptions& options);

// Durability: on a node, or offline on files.
struct BackupOptions {
  std::string directory;  // on the node's machine; empty = its own archives
};
int run_backup(const CommonOptions& common, const BackupOptions& options);
int run_backup_verify(const CommonOptions& common, const std::string& path);

struct RestoreOptions {
  std::string from;                    // a data directory, or a directory of archives
  std::string log;                     // segments, when `from` is a directory of archives
  std::string to;                      // the new data directory
  uint64_t to_lsn = 0;                 // 0 = everything
  std::string to_time;                 // "2026-01-31 12:00:00", UTC
  std::vector<uint64_t> skipped_lsns;  // transactions that are left out
  std::string memory = "8GB";
  uint32_t threads = 2;
};
int run_restore(const CommonOptions& common, const RestoreOptions& options);

struct LogToolOptions {
  std::string path;  // a data directory or its log
  bool shows_batches = false;
  bool shows_records = false;
  uint64_t lsn = 0;  // the only record to show, with what it does; 0 = all
  std::FILE* out = stdout;
};
int run_log_inspect(const CommonOptions& common, const LogToolOptions& options);
int run_log_verify(const CommonOptions& common, const LogToolOptions& options);
// Segments and totals, without anything that stands in records; and what is wrong.
std::string summarize_log(const std::string& path);
// Gives up the torn tail of a data directory's log.
int run_log_cut(const CommonOptions& common, const std::string& directory);

struct BenchLogOptions {
  ChOptions ch;
  uint64_t transactions = 100'000;
  std::string directory = "/tmp";  // where the data directories lie meanwhile
  bool keeps = false;              // leaves them there
};
int run_bench_log(const CommonOptions& common, const BenchLogOptions& options);

// Partitions that spread the warehouses evenly over the workers.
uint32_t partitions_for(int32_t warehouses, uint32_t workers);

// Shows an error that belongs to no statement; returns the exit code for it.
int show_failure(const Status& status, bool is_json);

}  // namespace scyper::client
