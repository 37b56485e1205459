// `scyper bench log`: the redo log against ScyPer (DanaC 2013), Fig. 3 and section 2.1: size of the records, and time
// of replaying transactions against that of running them.

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>

#include "absl/strings/str_format.h"
#include "base/disk.h"
#include "bench_node.h"
#include "error_format.h"
#include "oltp_report.h"
#include "programs.h"
#include "query/database.h"
#include "replay/recovery.h"
#include "thread_times.h"

namespace scyper::client {

namespace {

// One way of running the same transactions.
struct LogRun {
  double execute_s = 0;  // the transactions, in process, one worker
  double execute_cpu_s = 0, recovery_cpu_s = 0;
  uint64_t entries = 0;  // records in the log: transactions that changed something
  uint64_t raw_bytes = 0, stored_bytes = 0;
  double archive_s = 0, archive_load_s = 0, index_s = 0, read_s = 0, replay_s = 0;
  uint64_t archive_raw_bytes = 0, archive_stored_bytes = 0;
};

Status add_log_sizes(const std::string& directory, uint64_t from_lsn, LogRun* run) {
  auto disk = make_real_disk();
  SCYPER_ASSIGN_OR_RETURN(auto scan, replay::LogScan::open(disk.get(), replay::log_directory(directory), {},
                                                           replay::LogScan::Care::kLooks));
  replay::ScannedSegment segment;
  while (true) {
    SCYPER_ASSIGN_OR_RETURN(const bool any, scan->next(&segment));
    if (!any) return Status();
    for (const replay::ScannedGroup& group : segment.groups) {
      for (const replay::ScannedBatch& batch : group.batches) {
        if (batch.header.last_lsn <= from_lsn) continue;
        run->entries += batch.header.count;
        run->raw_bytes += batch.header.raw_bytes;
        run->stored_bytes += batch.header.body_bytes;
      }
    }
  }
}

StatusOr<LogRun> run_once(const CommonOptions& common, const BenchLogOptions& options, primary::RedoMode mode,
                          const std::string& directory) {
  LogRun run;
  std::vector<server::Assignment> settings = {{"workers", "1"}};
  settings.insert(settings.end(), common.node_settings.begin(), common.node_settings.end());
  SCYPER_ASSIGN_OR_RETURN(auto config, server::make_config({}, {}, settings));
  config.engine.workers = 1;
  config.engine.partitions = partitions_for(options.ch.warehouses, 1);
  config.engine.redo = mode;
  if (mode != primary::RedoMode::kNone) config.engine.log.directory = directory;
  config.engine.log.mode = primary::CommitMode::kAsync;
  ch::Generator generator(generator_options(options.ch));
  uint64_t from_lsn = 0;
  {
    SCYPER_ASSIGN_OR_RETURN(auto engine, primary::Engine::create(config.engine));
    auto session = local_session(engine.get());
    ChDatabaseOptions database;
    database.generator = generator_options(options.ch);
    database.is_quiet = true;
    SCYPER_RETURN_IF_ERROR(create_ch_database(session.get(), generator, database).status());
    OltpOptions oltp;
    oltp.transactions = options.transactions / 10 + 1;  // code gets compiled
    oltp.mix.seed = 7;
    SCYPER_RETURN_IF_ERROR(run_oltp_in_process(engine.get(), generator, oltp, 1, nullptr).status());
    if (mode != primary::RedoMode::kNone) {
      SCYPER_ASSIGN_OR_RETURN(auto archive, engine->write_archive("", nullptr));
      from_lsn = archive.lsn;
      run.archive_s = archive.seconds;
      run.archive_raw_bytes = archive.raw_bytes;
      run.archive_stored_bytes = archive.stored_bytes;
    }
    oltp.transactions = options.transactions;
    oltp.mix.seed = 8;
    const double before_s = process_cpu_s();
    SCYPER_ASSIGN_OR_RETURN(auto result, run_oltp_in_process(engine.get(), generator, oltp, 1, nullptr));
    run.execute_cpu_s = process_cpu_s() - before_s;
    run.execute_s = result.seconds;
  }
  if (mode == primary::RedoMode::kNone) return run;
  SCYPER_RETURN_IF_ERROR(add_log_sizes(directory, from_lsn, &run));
  auto disk = make_real_disk();
  SCYPER_ASSIGN_OR_RETURN(auto identity, replay::open_data_directory(disk.get(), directory, 0));
  SCYPER_ASSIGN_OR_RETURN(auto database, query::Database::create(recovered_database(config)));
  replay::RecoveryOptions recovery;
  const double before_s = process_cpu_s();
  SCYPER_ASSIGN_OR_RETURN(auto recovered, replay::recover(disk.get(), directory, identity, database.get(), recovery));
  run.recovery_cpu_s = process_cpu_s() - before_s;
  run.archive_load_s = recovered.archive_s;
  run.index_s = recovered.index_s;
  run.replay_s = recovered.replay_s;
  run.read_s = recovered.read_s;
  return run;
}

std::string run_json(const char* name, const LogRun& run, double transactions) {
  const double entries = static_cast<double>(std::max<uint64_t>(1, run.entries));
  return absl::StrFormat(
      "\"%s\": {\"execute_s\": %.3f, \"execute_cpu_s\": %.3f, \"replay_s\": %.3f, \"recovery_cpu_s\": %.3f, "
      "\"log_read_s\": %.3f, \"saved_percent\": %.1f, "
      "\"replay_rate_ratio\": %.2f, "
      "\"entries\": %d, \"bytes_per_entry\": %.0f, \"bytes_per_entry_lz4\": %.0f, \"lz4_saves_percent\": %.1f, "
      "\"execute_tps\": %.0f, \"archive_write_s\": %.3f, \"archive_raw_mb\": %.1f, \"archive_stored_mb\": %.1f, "
      "\"archive_load_s\": %.3f, \"archive_load_mb_per_s\": %.0f, \"index_build_s\": %.3f}",
      name, run.execute_s, run.execute_cpu_s, run.replay_s, run.recovery_cpu_s, run.read_s,
      100 * (1 - run.replay_s / run.execute_s), run.execute_s / run.replay_s, run.entries,
      static_cast<double>(run.raw_bytes) / entries, static_cast<double>(run.stored_bytes) / entries,
      100 * (1 - static_cast<double>(run.stored_bytes) / static_cast<double>(std::max<uint64_t>(1, run.raw_bytes))),
      transactions / run.execute_s, run.archive_s, static_cast<double>(run.archive_raw_bytes) / 1e6,
      static_cast<double>(run.archive_stored_bytes) / 1e6, run.archive_load_s,
      static_cast<double>(run.archive_raw_bytes) / 1e6 / std::max(run.archive_load_s, 1e-9), run.index_s);
}

StatusOr<std::string> bench_log(const CommonOptions& common, const BenchLogOptions& options) {
  const std::string prefix = options.directory + "/scyper-bench-log-" + std::to_string(::getpid());
  auto run_in = [&](primary::RedoMode mode) {
    const std::string directory = prefix + (mode == primary::RedoMode::kLogical ? "-logical" : "-physical");
    auto run = run_once(common, options, mode, directory);
    std::error_code ignored;
    if (!options.keeps) std::filesystem::remove_all(directory, ignored);
    return run;
  };
  SCYPER_ASSIGN_OR_RETURN(LogRun none, run_in(primary::RedoMode::kNone));
  SCYPER_ASSIGN_OR_RETURN(LogRun logical, run_in(primary::RedoMode::kLogical));
  SCYPER_ASSIGN_OR_RETURN(LogRun physical, run_in(primary::RedoMode::kPhysical));
  const auto transactions = static_cast<double>(options.transactions);
  auto entry = [](uint64_t bytes, const LogRun& run) {
    return static_cast<double>(bytes) / static_cast<double>(std::max<uint64_t>(1, run.entries));
  };
  return absl::StrFormat(
      "{\"transactions\": %d, \"warehouses\": %d, \"execute_s\": %.3f, \"execute_without_redo_s\": %.3f, "
      "\"replay_logical_s\": %.3f, \"replay_physical_s\": %.3f, \"bytes_per_tx\": {\"logical\": %.0f, "
      "\"logical_lz4\": %.0f, \"physical\": %.0f, \"physical_lz4\": %.0f}, %s, %s}\n",
      options.transactions, options.ch.warehouses, physical.execute_s, none.execute_s, logical.replay_s,
      physical.replay_s, entry(logical.raw_bytes, logical), entry(logical.stored_bytes, logical),
      entry(physical.raw_bytes, physical), entry(physical.stored_bytes, physical),
      run_json("logical", logical, transactions), run_json("physical", physical, transactions));
}

}  // namespace

int run_bench_log(const CommonOptions& common, const BenchLogOptions& options) {
  auto json = bench_log(common, options);
  if (!json.ok()) return show_failure(json.status(), common.is_json);
  std::string out = *json;
  if (!common.is_json) {  // one figure per line
    std::string lines;
    for (size_t i = 0; i < out.size(); ++i) {
      lines += out[i];
      if (out[i] == ',') lines += '\n';
    }
    out = lines;
  }
  std::fputs(out.c_str(), stdout);
  return kExitOk;
}

}  // namespace scyper::client
