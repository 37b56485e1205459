#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bench_node.h"

// `scyper bench tiering`: what the tier costs and saves on a running engine (docs/tiering.md).
namespace scyper::client {

using TieringReport = StatusOr<nlohmann::ordered_json>;

// Recovery of a database of which so much is in the tier, beside the same without a tier: the best of some rounds.
TieringReport measure_tiering_restart(const CommonOptions& common, const TieringBenchOptions& options);

}  // namespace scyper::client
