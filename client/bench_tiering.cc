#include "bench_tiering.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench_compaction.h"
#include "storage/frozen_tier.h"

namespace scyper::client {

namespace {

using Json = nlohmann::ordered_json;

constexpr auto kTieringPoll = std::chrono::milliseconds(100);
constexpr int kTieringPollsMax = 6000;
constexpr int kQuietPolls = 30;

TieringReport measure_tiering(const CommonOptions& common, const TieringBenchOptions& options,
                              const std::string& directory) {
  const auto is_wanted = [&](std::string_view part) {
    return options.parts.empty() || std::find(options.parts.begin(), options.parts.end(), part) != options.parts.end();
  };
  Json out, details;
  if (is_wanted("restart")) {
    SCYPER_ASSIGN_OR_RETURN(Json restart, measure_tiering_restart(common, options, directory));
    out["restart_times_faster"] = restart["restart_times_faster"];
    out["restart_evicted_pct"] = restart["evicted_pct"];
    details["restart"] = std::move(restart);
  }
  if (is_wanted("rounds")) {
    SCYPER_ASSIGN_OR_RETURN(details["rounds"], measure_tiering_rounds(common, options, directory));
    double worst = 0;
    for (const Json& one : details["rounds"]) {
      for (const Json& time : one["tiered_pruning"]["times"]) {
        worst = std::max(worst, time["to_memory_pruning"].get<double>());
      }
    }
    out["rounds_to_memory_worst"] = worst;
  }
  if (is_wanted("mixed")) {
    SCYPER_ASSIGN_OR_RETURN(Json mixed, measure_tiering_mixed(common, options, directory));
    out["mixed_loss_pct"] = mixed["mixed_loss_pct"];
    out["evicted_pct"] = mixed["evicted_pct"];
    details["mixed"] = std::move(mixed);
  }
  out["warehouses"] = options.ch.warehouses;
  out["details"] = std::move(details);
  return out;
}

}  // namespace

Status wait_until_placed(primary::Engine* engine) {
  const storage::FrozenTier* tier = engine->compaction()->tier();
  const auto state = [&] {
    const auto counts = engine->compaction()->counts();
    return counts.frozen + counts.emptied + counts.moved + counts.placed + counts.relevant_moved +
           (tier == nullptr ? 0 : tier->counts().evictions);
  };
  uint64_t before = state();
  for (int i = 0, quiet = 0; i < kTieringPollsMax; ++i) {
    std::this_thread::sleep_for(kTieringPoll);
    const uint64_t now = state();
    quiet = now > 0 && now == before && (tier == nullptr || tier->excess_bytes() == 0) ? quiet + 1 : 0;
    if (quiet == kQuietPolls) return Status();
    before = now;
  }
  return sql_error("57014", "chunks are still moved after ten minutes");
}

int run_bench_tiering(const CommonOptions& common, TieringBenchOptions options) {
  options.ch.is_quiet = options.ch.is_quiet || common.is_json;
  const std::string directory = options.directory + "/scyper-bench-tiering-" + std::to_string(::getpid());
  std::filesystem::create_directories(directory);
  auto report = measure_tiering(common, options, directory);
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  return show_bench_report(report, common);
}

}  // namespace scyper::client
