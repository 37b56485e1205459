#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bench_node.h"

// `scyper bench compaction`: what the figures of "Compacting Transactional Data" (VLDB 2012) are on a running engine.
namespace scyper::client {

using CompactionReport = StatusOr<nlohmann::ordered_json>;

// 5.1: transactions while order lines are compressed, beside those on a node that does not compress; 5.5: sizes then.
CompactionReport measure_compaction_oltp(const CommonOptions& common, const CompactionBenchOptions& options);
// 5.2: updates of frozen tuples, beside those of hot ones.
CompactionReport measure_compaction_updates(const CommonOptions& common, const CompactionBenchOptions& options);
// 5.6.1: forks with frozen data in the process, beside those without.
CompactionReport measure_compaction_forks(const CommonOptions& common, const CompactionBenchOptions& options);
// 5.5, 5.6: the 22 queries on everything frozen, beside those on everything hot; sizes.
CompactionReport measure_compaction_queries(const CommonOptions& common, const CompactionBenchOptions& options);

// A node with these settings beside those of `common`.
StatusOr<std::unique_ptr<LocalNode>> start_compacting(const CommonOptions& common, const ChOptions& ch,
                                                      const std::vector<server::Assignment>& settings);
// One that freezes everything. Waits until it has.
StatusOr<std::unique_ptr<LocalNode>> start_freezing(const CommonOptions& common, const ChOptions& ch);
Status wait_until_frozen(primary::Engine* engine);
nlohmann::ordered_json compaction_sizes(primary::Engine* engine);

double median_of(std::vector<double> values);
double quantile_of(std::vector<double> values, double share);  // of some values; share: 0 to 1

// Prints all, or in a table all but "details"; the exit code.
int show_bench_report(const CompactionReport& report, const CommonOptions& common);

}  // namespace scyper::client
