#pragma once

#include <nlohmann/json.hpp>

#include "bench_cluster.h"

// The parts of `scyper bench replication`: each makes clusters of its own and returns the rows of its report. What
// they print meanwhile is for people.
namespace scyper::client {

// Queries per second by nodes and streams, with and without transactions (ScyPer, DanaC 2013, Fig. 5(a) and (c)).
StatusOr<nlohmann::ordered_json> bench_cluster_queries(const CommonOptions& common,
                                                       const ReplicationBenchOptions& options);
// How long a global snapshot takes, to the last of the nodes (2.2: max of RTT + replay + fork).
StatusOr<nlohmann::ordered_json> bench_global_snapshots(const CommonOptions& common,
                                                        const ReplicationBenchOptions& options);
// From the start of a secondary's process until it serves, from the log alone and from an archive.
StatusOr<nlohmann::ordered_json> bench_joins(const CommonOptions& common, const ReplicationBenchOptions& options);
// From a commit to its being seen in a new snapshot, at half of the greatest load.
StatusOr<nlohmann::ordered_json> bench_freshness(const CommonOptions& common, const ReplicationBenchOptions& options);
// Transactions per second that secondaries keep up with where the network loses packets.
StatusOr<nlohmann::ordered_json> bench_loss(const CommonOptions& common, const ReplicationBenchOptions& options);

// Asks for fresh answers again and again. What had been committed when it asked is in the answer, so its time is that
// from a commit to its being seen.
class Prober {
 public:
  explicit Prober(std::vector<std::unique_ptr<Session>> sessions);
  ~Prober() { stop(); }
  void stop();
  const Histogram& times_ns() const { return times_; }  // after stop(), as the next
  uint64_t failed() const { return failed_; }

 private:
  void run();

  std::vector<std::unique_ptr<Session>> sessions_;
  std::atomic<bool> is_over_{false};
  Histogram times_;
  uint64_t failed_ = 0;
  std::thread thread_;
};
// On the nodes that take queries: all secondaries, or the primary alone.
StatusOr<std::vector<std::unique_ptr<Session>>> query_sessions(const BenchCluster& cluster);

}  // namespace scyper::client
