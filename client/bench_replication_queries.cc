// `scyper bench replication --parts queries`.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "bench_replication.h"
#include "client/ch/sql.h"

namespace scyper::client {

namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// As the paper's global snapshots, one a second: a node forks no more often, whatever the number of its streams.
constexpr int64_t kStalenessUs = 1'000'000;

// A stream of queries to one node, which answers them itself. Whole rounds of all queries, so that streams that end at
// different times have had the same work.
class NodeStream {
 public:
  NodeStream(std::unique_ptr<Session> session, std::vector<int> queries) : session_(std::move(session)) {
    queries_ = std::move(queries);
    session_->wish().freshness.kind = query::Freshness::Kind::kStaleness;
    session_->wish().freshness.staleness_us = kStalenessUs;
  }
  ~NodeStream() {
    if (thread_.joinable()) thread_.join();
  }
  void start(double seconds) {
    thread_ = std::thread([this, seconds] { run(seconds); });
  }
  void wait() { thread_.join(); }
  // Of all rounds.
  void run(double seconds) {
    const Clock::time_point start = Clock::now();
    do {
      for (const int number : queries_) {
        Status status = session_->execute(ch::query_sql(number), [](const query::ResultSet&) {});
        ++(status.ok() ? answered_ : failed_);
        if (!status.ok() && first_failure_.ok()) first_failure_ = status;
      }
    } while (seconds_since(start) < seconds);
    seconds_ = seconds_since(start);
  }
  uint64_t answered() const { return answered_; }
  uint64_t failed() const { return failed_; }
  double seconds() const { return seconds_; }
  const Status& first_failure() const { return first_failure_; }

 private:
  const std::unique_ptr<Session> session_;
  std::vector<int> queries_;
  uint64_t answered_ = 0, failed_ = 0;
  double seconds_ = 0;
  Status first_failure_;
  std::thread thread_;
};

struct QueryRate {
  uint64_t answered = 0, failed = 0;
  double per_second = 0;      // the sum over the streams
  double querying_s = 0;      // CPU: of the children in which queries run
  double nodes_s = 0;         // and of the nodes: replay, compilation, gRPC
  std::optional<double> tps;  // beside them
  double per_cpu_s() const { return querying_s == 0 ? 0 : static_cast<double>(answered) / querying_s; }
};

std::vector<int> numbers_of(const ReplicationBenchOptions& options, size_t first) {
  std::vector<int> numbers = options.queries;
  for (int i = 1; options.queries.empty() && i <= ch::kQueryCount; ++i) numbers.push_back(i);
  std::rotate(numbers.begin(), numbers.begin() + static_cast<ptrdiff_t>(first % numbers.size()), numbers.end());
  return numbers;
}

// The code of each query, on each node.
Status warm_up(const BenchCluster& cluster, const ReplicationBenchOptions& options) {
  for (uint32_t node = 0; node <= cluster.secondaries(); ++node) {
    SCYPER_ASSIGN_OR_RETURN(auto session, cluster.session(node));
    NodeStream stream(std::move(session), numbers_of(options, 0));
    stream.run(0);
    SCYPER_RETURN_IF_ERROR(stream.first_failure());
  }
  return Status();
}

StatusOr<QueryRate> measure_queries(const BenchCluster& cluster, const ReplicationBenchOptions& options,
                                    const ch::Generator& generator, uint32_t streams, bool has_load) {
  std::vector<std::unique_ptr<NodeStream>> all;
  for (uint32_t node = 0; node <= cluster.secondaries(); ++node) {
    for (uint32_t i = 0; i < streams; ++i) {
      SCYPER_ASSIGN_OR_RETURN(auto session, cluster.session(node));
      all.push_back(std::make_unique<NodeStream>(std::move(session), numbers_of(options, all.size() * 5)));
    }
  }
  std::unique_ptr<BackgroundLoad> load;
  if (has_load) load = std::make_unique<BackgroundLoad>(cluster.connection(0), generator, light_load(options));
  std::vector<NodeCpu> before;
  for (uint32_t node = 0; node <= cluster.secondaries(); ++node) before.push_back(cluster.cpu(node));
  for (auto& stream : all) stream->start(options.oltp.seconds);
  for (auto& stream : all) stream->wait();
  QueryRate rate;
  for (uint32_t node = 0; node <= cluster.secondaries(); ++node) {
    const NodeCpu after = cluster.cpu(node);
    rate.querying_s += (after.children_us - before[node].children_us) / 1e6;
    rate.nodes_s += (after.own_us - before[node].own_us) / 1e6;
  }
  if (load != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(rate.tps, load->stop());
  }
  for (const auto& stream : all) {
    rate.answered += stream->answered();
    rate.failed += stream->failed();
    rate.per_second += static_cast<double>(stream->answered()) / stream->seconds();
  }
  return rate;
}

}  // namespace

StatusOr<ordered_json> bench_cluster_queries(const CommonOptions& common, const ReplicationBenchOptions& options) {
  const ch::Generator generator(generator_options(options.ch));
  ordered_json rows = ordered_json::array();
  double one_node[2] = {0, 0};  // queries per CPU-second of one node and stream, without and with transactions
  for (const uint32_t nodes : options.nodes) {
    BenchCluster cluster(common, options, nodes - 1);
    SCYPER_RETURN_IF_ERROR(cluster.start(/*digest_period_s=*/0, generator));
    SCYPER_RETURN_IF_ERROR(warm_up(cluster, options));
    SCYPER_ASSIGN_OR_RETURN(auto admin, cluster.session(0));
    for (const bool has_load : {false, true}) {
      for (const uint32_t streams : options.query_streams) {
        SCYPER_ASSIGN_OR_RETURN(const QueryRate rate, measure_queries(cluster, options, generator, streams, has_load));
        const Clock::time_point end = Clock::now();
        SCYPER_RETURN_IF_ERROR(cluster.wait_until_level(admin.get()).status());
        const double catch_up_s = seconds_since(end);
        double& first = one_node[has_load ? 1 : 0];
        if (first == 0) first = rate.per_cpu_s();
        ordered_json row = {{"nodes", nodes},
                            {"streams_per_node", streams},
                            {"with_transactions", has_load},
                            {"queries", rate.answered},
                            {"failed", rate.failed},
                            {"queries_per_s", rate.per_second},
                            {"querying_cpu_s", rate.querying_s},
                            {"nodes_cpu_s", rate.nodes_s},
                            {"queries_per_cpu_s", rate.per_cpu_s()},
                            {"of_linear", first == 0 ? 0 : rate.per_cpu_s() / first},
                            {"catch_up_s", catch_up_s}};
        if (rate.tps.has_value()) row["tps"] = *rate.tps;
        if (!common.is_json) {
          std::printf("%u nodes, %u streams each, %s: %.1f queries/s, %.1f per CPU-second (%.2f of linear)%s\n", nodes,
                      streams, has_load ? "beside transactions" : "alone", rate.per_second, rate.per_cpu_s(),
                      row["of_linear"].get<double>(), rate.failed > 0 ? ", some failed" : "");
          std::fflush(stdout);
        }
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

}  // namespace scyper::client
