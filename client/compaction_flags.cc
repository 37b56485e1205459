#include "compaction_flags.h"

#include <CLI/CLI.hpp>

namespace scyper::client {

CLI::App* add_compaction_flags(CLI::App* group, CompactionBenchOptions* options) {
  CLI::App* command = group->add_subcommand(
      "compaction",
      "what compaction costs transactions and gains: throughput while order lines are compressed, updates of frozen "
      "tuples, the 22 queries, sizes, forks; beside a node that does not compact");
  options->oltp.seconds = 1;
  options->oltp.warmup_seconds = 0;
  options->oltp.busy_cores = 1;  // the compactor's
  command->add_option("--parts", options->parts, "oltp, updates, forks, queries; default: all")
      ->delimiter(',')
      ->check(CLI::IsMember({"oltp", "updates", "forks", "queries"}));
  command->add_option("--seconds", options->seconds, "of transactions after loading")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  command->add_option("--window-ms", options->window_ms, "compaction_window; loading has to take less than two")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--rounds", options->rounds, "of transactions, updates and forks")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--repeat", options->repeat, "runs of each query")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--orders", options->orders, "of ten lines each, for updates")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  command->add_option("--updated-orders", options->updated_orders, "drawn of them")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  command->add_option("--frozen-mb", options->frozen_mb, "frozen data that a fork is measured with: memory")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  return command;
}

CLI::App* add_tiering_flags(CLI::App* group, TieringBenchOptions* options) {
  CLI::App* command = group->add_subcommand(
      "tiering", "what the tier of frozen chunks costs and saves, on nodes in this process, after ADMS 2015");
  command->add_option("--parts", options->parts, "restart, rounds, mixed; default: all")
      ->delimiter(',')
      ->check(CLI::IsMember({"restart", "rounds", "mixed"}));
  command->add_option("--directory", options->directory, "where the nodes' files are meanwhile")->capture_default_str();
  command->add_option("--cold-pct", options->cold_pct, "of all bytes, what is not in memory")
      ->check(CLI::Range(1.0, 100.0))
      ->capture_default_str();
  command->add_option("--cache-pct", options->cache_pct, "of the frozen bytes, the cache of the tier's pages")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  command->add_option("--rounds", options->rounds, "of restarts, of nodes with and without a tier")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "of transactions alone, and again beside queries")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_option("--warm-seconds", options->warm_seconds, "of transactions before these")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_flag("--spec-skew", options->has_spec_skew,
                    "these want items and customers as TPC-C has it, not 10 and 30 % of them");
  command->add_option("--lines", options->lines, "of the table of the rounds of queries")
      ->check(CLI::Range(uint64_t{40'000}, uint64_t{1} << 40))
      ->capture_default_str();
  command->add_option("--hot-pct", options->hot_pct, "of these lines that are hot")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--hot-queries-pct", options->hot_queries_pct, "of the queries that want hot lines only")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--query-rounds", options->query_rounds, "of three analytical and 100 point queries")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  return command;
}

}  // namespace scyper::client
