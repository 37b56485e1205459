// CH-benCHmark's transactions beside its queries where most frozen data is in the tier, beside a node without one.

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench_compaction.h"
#include "bench_mixed.h"
#include "bench_tiering.h"
#include "storage/frozen_tier.h"

namespace scyper::client {
namespace {

using Json = nlohmann::ordered_json;

// Transactions read items and never change one, so that none becomes hot: what is wanted of them has to be said.
constexpr char kWantedItems[] =
    "CREATE HOT DATA VIEW wanted_items AS SELECT i_id, i_name, i_price, i_data FROM item WHERE i_id >= 1";

struct Side {
  MixedRound round;
  double evicted_pct = 0;       // of all bytes of tables, before what is measured
  double evicted_pct_then = 0;  // when they have ended
  uint64_t pages_read = 0;
  uint64_t evicted_bytes = 0;   // since the start
  uint64_t promoted_bytes = 0;  // of these, back in memory, maybe several times
};

double evicted_pct_of(primary::Engine* engine) {
  const storage::FrozenTier* tier = engine->compaction()->tier();
  if (tier == nullptr) return 0;
  const auto tiered = static_cast<double>(tier->counts().tiered_bytes);
  return 100 * tiered / (tiered + compaction_sizes(engine)["bytes"].get<double>());
}

// All that nobody uses is cold, and so is everything after loading.
StatusOr<Side> run_side(const CommonOptions& common, const TieringBenchOptions& options,
                        const std::vector<server::Assignment>& tier_settings) {
  std::vector<server::Assignment> settings = {{"compaction", "on"}, {"compaction_window", "300ms"}};
  settings.insert(settings.end(), tier_settings.begin(), tier_settings.end());
  SCYPER_ASSIGN_OR_RETURN(auto node, start_compacting(common, options.ch, settings));
  ch::Generator generator(generator_options(options.ch));
  {
    auto session = local_session(node->engine.get());
    SCYPER_RETURN_IF_ERROR(create_ch_database(session.get(), generator, database_options(options.ch)).status());
    SCYPER_RETURN_IF_ERROR(session->execute(kWantedItems, [](const query::ResultSet&) {}));
  }
  SCYPER_RETURN_IF_ERROR(wait_until_placed(node->engine.get()));
  MixedOptions mixed;
  mixed.ch = options.ch;
  if (!options.has_spec_skew) mixed.oltp.mix.skew = ch::kTieringSkew;
  mixed.oltp.seconds = options.warm_seconds;
  mixed.oltp.busy_cores = mixed.threads;
  // what the transactions use becomes hot again
  SCYPER_RETURN_IF_ERROR(run_oltp_in_process(node->engine.get(), generator, mixed.oltp, mixed.drivers, {}).status());
  Side side;
  side.evicted_pct = evicted_pct_of(node->engine.get());
  mixed.oltp.seconds = options.seconds;
  SCYPER_ASSIGN_OR_RETURN(side.round, run_mixed_round(node->engine.get(), generator, mixed));
  side.evicted_pct_then = evicted_pct_of(node->engine.get());
  storage::FrozenTier* tier = node->engine->compaction()->tier();
  if (tier == nullptr) return side;
  side.pages_read = tier->cache()->statistics().pages_read;
  side.evicted_bytes = tier->counts().evicted_bytes;
  side.promoted_bytes = tier->counts().promoted_bytes;
  return side;
}

Json json_of(const Side& side) {
  return {{"evicted_pct", side.evicted_pct},
          {"evicted_pct_then", side.evicted_pct_then},
          {"tps_alone", side.round.tps_alone},
          {"tps_beside_queries", side.round.tps_beside},
          {"queries_per_second", static_cast<double>(side.round.answered) / side.round.seconds_beside},
          {"queries_failed", side.round.failed},
          {"pages_read", side.pages_read},
          {"evicted_bytes", side.evicted_bytes},
          {"promoted_bytes", side.promoted_bytes}};
}

double loss_pct(double with, double without) { return without == 0 ? 0 : 100 * (1 - with / without); }

}  // namespace

TieringReport measure_tiering_mixed(const CommonOptions& common, const TieringBenchOptions& options,
                                    const std::string& directory) {
  std::filesystem::create_directories(directory + "/mixed");
  uint64_t bytes = 0;
  {
    SCYPER_ASSIGN_OR_RETURN(auto node, start_freezing(common, options.ch));
    ch::Generator generator(generator_options(options.ch));
    auto session = local_session(node->engine.get());
    SCYPER_RETURN_IF_ERROR(create_ch_database(session.get(), generator, database_options(options.ch)).status());
    SCYPER_RETURN_IF_ERROR(wait_until_frozen(node->engine.get()));
    bytes = compaction_sizes(node->engine.get())["bytes"].get<uint64_t>();
  }
  // the cache is memory, too
  const double kept_pct = std::max(100 - options.cold_pct - options.cache_pct, 0.0);
  const auto of_bytes = [&](double pct) {
    return std::to_string(std::max<uint64_t>(static_cast<uint64_t>(static_cast<double>(bytes) * pct / 100), 1 << 20));
  };
  const std::vector<server::Assignment> tier = {{"tier_directory", directory + "/mixed"},
                                                {"tier_memory", of_bytes(kept_pct) + "B"},
                                                {"tier_cache", of_bytes(options.cache_pct) + "B"}};
  Json out, rounds = Json::array();
  std::vector<double> transactions, queries, evicted;
  for (uint32_t i = 0; i < options.rounds; ++i) {
    Side sides[2];
    for (const bool is_tiered : {i % 2 == 0, i % 2 != 0}) {
      SCYPER_ASSIGN_OR_RETURN(sides[is_tiered],
                              run_side(common, options, is_tiered ? tier : std::vector<server::Assignment>()));
    }
    const auto rate = [](const Side& side) {
      return static_cast<double>(side.round.answered) / side.round.seconds_beside;
    };
    transactions.push_back(loss_pct(sides[1].round.tps_beside, sides[0].round.tps_beside));
    queries.push_back(loss_pct(rate(sides[1]), rate(sides[0])));
    evicted.push_back(sides[1].evicted_pct);
    rounds.push_back({{"memory", json_of(sides[0])}, {"tiered", json_of(sides[1])}});
  }
  out["mixed_loss_pct"] = {{"transactions", median_of(transactions)}, {"queries", median_of(queries)}};
  out["evicted_pct"] = median_of(evicted);
  out["rounds"] = std::move(rounds);
  return out;
}

}  // namespace scyper::client
