#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench_node.h"

// `scyper bench tiering`: what the figures of "Efficient Memory Tiering" (ADMS 2015) are on a running engine.
// directory: an empty one, for the nodes' files.
namespace scyper::client {

using TieringReport = StatusOr<nlohmann::ordered_json>;

// Recovery of a database of which so much is in the tier, beside the same without a tier: the best of some rounds.
TieringReport measure_tiering_restart(const CommonOptions& common, const TieringBenchOptions& options,
                                      const std::string& directory);
// 5, Fig. 6: rounds of three analytical and 100 point queries, in memory and tiered, with and without hot data views.
TieringReport measure_tiering_rounds(const CommonOptions& common, const TieringBenchOptions& options,
                                     const std::string& directory);
// CH-benCHmark's transactions beside its queries, with most bytes in the tier and with none.
TieringReport measure_tiering_mixed(const CommonOptions& common, const TieringBenchOptions& options,
                                    const std::string& directory);

// Until some chunks are frozen, the tier has what it is to have and no chunk has moved for some seconds. 57014: that
// takes ten minutes.
Status wait_until_placed(primary::Engine* engine);

}  // namespace scyper::client
