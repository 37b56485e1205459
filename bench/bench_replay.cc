// Recovery of a data directory, again and again: what a restart costs (issue "durability": archive load, indexes,
// replay). Changes nothing in the directory. `scyper bench log --keep` and any data directory of a stopped node serve.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "base/disk.h"
#include "query/database.h"
#include "replay/recovery.h"

namespace scyper::bench {
namespace {

struct Options {
  std::string directory;
  uint32_t threads = 1;
  uint32_t runs = 1;
  uint64_t memory_bytes = uint64_t{8} << 30;
  bool has_small_pages = false;
};

Status run(const Options& options, nlohmann::json* out) {
  auto disk = make_real_disk();
  SCYPER_ASSIGN_OR_RETURN(auto identity, replay::open_data_directory(disk.get(), options.directory, 0));
  query::DatabaseOptions database_options;
  database_options.partitions = identity.partitions;
  database_options.memory_bytes = options.memory_bytes;
  if (options.has_small_pages) database_options.page_mode = storage::PageMode::kSmall;
  SCYPER_ASSIGN_OR_RETURN(auto database, query::Database::create(database_options));
  replay::RequestWindow requests(1'000'000);
  replay::RecoveryOptions recovery;
  recovery.threads = options.threads;
  recovery.cuts = false;
  recovery.requests = &requests;
  SCYPER_ASSIGN_OR_RETURN(auto done,
                          replay::recover(disk.get(), options.directory, identity, database.get(), recovery));
  const double load_s = done.archive_s > 0 ? done.archive_s : 1e-9;
  const double replay_s = done.replay_s > 0 ? done.replay_s : 1e-9;
  *out = {{"archive_mb", static_cast<double>(done.archive_bytes) / 1e6},
          {"archive_load_s", done.archive_s},
          {"archive_load_mb_per_s", static_cast<double>(done.archive_bytes) / 1e6 / load_s},
          {"index_build_s", done.index_s},
          {"log_mb", static_cast<double>(done.log_bytes) / 1e6},
          {"log_read_s", done.read_s},
          {"transactions", done.transactions},
          {"replay_s", done.replay_s},
          {"replay_cpu_s", done.replay_cpu_s},
          {"replay_tps", static_cast<double>(done.transactions) / replay_s},
          {"total_s", done.archive_s + done.index_s + done.read_s + done.replay_s}};
  return Status();
}

}  // namespace
}  // namespace scyper::bench

int main(int argc, char** argv) {
  scyper::bench::Options options;
  CLI::App app("recovers a data directory without changing it and says how long each part took");
  app.add_option("directory", options.directory, "data directory of a node that does not run")->required();
  app.add_option("--threads", options.threads, "of the recovery");
  app.add_option("--runs", options.runs, "one after the other");
  app.add_option("--memory-bytes", options.memory_bytes, "budget of the database");
  app.add_flag("--small-pages", options.has_small_pages, "4 KB pages instead of huge ones");
  CLI11_PARSE(app, argc, argv);
  for (uint32_t i = 0; i < options.runs; ++i) {
    nlohmann::json out;
    const scyper::Status status = scyper::bench::run(options, &out);
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
      return 1;
    }
    std::printf("%s\n", out.dump().c_str());
  }
  return 0;
}
