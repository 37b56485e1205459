// Restarts of a database of which most is in the tier.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "base/disk.h"
#include "bench_compaction.h"
#include "bench_tiering.h"
#include "query/database.h"
#include "replay/recovery.h"
#include "storage/frozen_tier.h"
#include "thread_times.h"

namespace scyper::client {

namespace {

using Json = nlohmann::ordered_json;

constexpr auto kEvictionPoll = std::chrono::milliseconds(100);
constexpr int kEvictionPollsMax = 6000;
constexpr int kUnchangedPolls = 30;  // some windows in which nothing has changed

double wall_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// One data directory and one tier, of nodes that live one after the other.
class RestartBench {
 public:
  RestartBench(const CommonOptions& common, const TieringBenchOptions& options, const std::string& directory)
      : common_(common), options_(options), directory_(directory) {}

  TieringReport run() {
    // what frozen chunks take is known when nothing has been evicted
    SCYPER_RETURN_IF_ERROR(
        live(config_.engine.compaction.frozen_bytes_max, true, [this](primary::Engine* engine) -> Status {
          frozen_bytes_ = engine->compaction()->tier()->resident_bytes();
          return Status();
        }));
    const auto kept = static_cast<uint64_t>(static_cast<double>(frozen_bytes_) * (1 - options_.cold_pct / 100));
    SCYPER_RETURN_IF_ERROR(live(kept, false, [&](primary::Engine* engine) -> Status {
      const storage::FrozenTier* tier = engine->compaction()->tier();
      for (int i = 0; tier->resident_bytes() > kept && i < kEvictionPollsMax; ++i) {
        std::this_thread::sleep_for(kEvictionPoll);
      }
      wait_until_unchanged([tier] { return tier->counts().copied_bytes; });
      resident_bytes_ = tier->resident_bytes();
      evicted_bytes_ = frozen_bytes_ - std::min(frozen_bytes_, resident_bytes_);
      return engine->write_archive("", nullptr).status();
    }));
    std::map<bool, Json> best;
    for (uint32_t round = 0; round < options_.rounds; ++round) {
      for (const bool has_tier : {false, true}) {
        SCYPER_ASSIGN_OR_RETURN(Json one, restart(has_tier, kept));
        Json& other = best[has_tier];
        if (other.is_null() || one["seconds"] < other["seconds"]) other = std::move(one);
      }
    }
    // a node: what was in memory comes back while it serves
    const double begin_s = wall_s();
    double returned_s = 0;
    uint64_t returned_bytes = 0;
    SCYPER_RETURN_IF_ERROR(live(kept, false, [&](primary::Engine* engine) -> Status {
      const storage::FrozenTier* tier = engine->compaction()->tier();
      wait_until_unchanged([&] {
        if (tier->counts().promoted_bytes != returned_bytes) returned_s = wall_s() - begin_s;
        return returned_bytes = tier->counts().promoted_bytes;
      });
      return Status();
    }));
    Json out;
    out["resident_mb"] = static_cast<double>(resident_bytes_) / 1e6;
    out["returned_mb"] = static_cast<double>(returned_bytes) / 1e6;
    out["returned_seconds"] = returned_s;
    out["evicted_pct"] = 100.0 * static_cast<double>(evicted_bytes_) / static_cast<double>(frozen_bytes_);
    out["frozen_mb"] = static_cast<double>(frozen_bytes_) / 1e6;
    out["restart_times_faster"] = best[false]["seconds"].get<double>() / best[true]["seconds"].get<double>();
    out["without_tiering"] = best[false];
    out["with_tiering"] = best[true];
    return out;
  }

 private:
  static void wait_until_unchanged(const std::function<uint64_t()>& figure) {
    uint64_t before = figure();
    for (int i = 0, quiet = 0; quiet < kUnchangedPolls && i < kEvictionPollsMax; ++i, ++quiet) {
      std::this_thread::sleep_for(kEvictionPoll);
      const uint64_t now = figure();
      if (std::exchange(before, now) != now) quiet = 0;
    }
  }
  // A node that freezes everything, until `work` has been done.
  Status live(uint64_t tier_memory, bool is_first, const std::function<Status(primary::Engine*)>& work) {
    const std::vector<server::Assignment> settings = {{"compaction", "forced"},
                                                      {"compaction_window", "1s"},
                                                      {"archive_rate", "0"},
                                                      {"tier_directory", directory_ + "/tier"},
                                                      {"tier_memory", std::to_string(tier_memory) + "B"},
                                                      {"data_directory", directory_ + "/data"}};
    SCYPER_ASSIGN_OR_RETURN(auto node, start_compacting(common_, options_.ch, settings));
    config_ = node->config;
    if (is_first) {
      ch::Generator generator(generator_options(options_.ch));
      auto session = local_session(node->engine.get());
      SCYPER_RETURN_IF_ERROR(create_ch_database(session.get(), generator, database_options(options_.ch)).status());
    }
    SCYPER_RETURN_IF_ERROR(wait_until_frozen(node->engine.get()));
    return work(node->engine.get());
  }

  // The archive is read from the disk, as after a restart of the machine; the tier is always.
  Status drop_cached(Disk* disk) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_ + "/data")) {
      if (!entry.is_regular_file()) continue;
      SCYPER_ASSIGN_OR_RETURN(auto file, disk->open(entry.path(), OpenMode::kRead));
      file->drop_cached();
    }
    return Status();
  }

  StatusOr<Json> restart(bool has_tier, uint64_t tier_memory) {
    auto disk = make_real_disk();
    const std::string data = directory_ + "/data";
    SCYPER_RETURN_IF_ERROR(drop_cached(disk.get()));
    const double begin_s = wall_s(), begin_cpu_s = process_cpu_s();
    SCYPER_ASSIGN_OR_RETURN(auto identity, replay::open_data_directory(disk.get(), data, 0));
    query::DatabaseOptions options = recovered_database(config_);
    options.frozen_bytes = config_.engine.compaction.frozen_bytes();
    if (has_tier) options.tier = config_.engine.compaction.tier;
    options.tier.memory_bytes = tier_memory;
    SCYPER_ASSIGN_OR_RETURN(auto database, query::Database::create(options));
    replay::RecoveryOptions recovery;
    recovery.threads = options_.ch.threads;
    SCYPER_ASSIGN_OR_RETURN(auto recovered, replay::recover(disk.get(), data, identity, database.get(), recovery));
    Json out;
    out["seconds"] = wall_s() - begin_s;
    out["cpu_seconds"] = process_cpu_s() - begin_cpu_s;
    out["archive_seconds"] = recovered.archive_s;
    out["index_seconds"] = recovered.index_s;
    out["replay_seconds"] = recovered.replay_s + recovered.read_s;
    out["archive_mb_read"] = static_cast<double>(recovered.archive_bytes) / 1e6;
    out["rows_in_place"] = recovered.placed_rows;
    if (has_tier) {
      const auto pages = database->tier()->cache()->statistics().pages_read;
      out["tier_mb_read"] = static_cast<double>(pages * storage::FrozenTier::kPageBytes) / 1e6;
    }
    return out;
  }

  const CommonOptions& common_;
  const TieringBenchOptions& options_;
  const std::string directory_;
  server::NodeConfig config_;
  uint64_t frozen_bytes_ = 0;
  uint64_t evicted_bytes_ = 0;
  uint64_t resident_bytes_ = 0;
};

}  // namespace

TieringReport measure_tiering_restart(const CommonOptions& common, const TieringBenchOptions& options,
                                      const std::string& directory) {
  std::filesystem::create_directories(directory + "/restart");
  return RestartBench(common, options, directory + "/restart").run();
}

}  // namespace scyper::client
