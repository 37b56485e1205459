// bench_tpcc_postgres: the same procedures and calls on PostgreSQL 15, for scale and as the oracle.

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/histogram.h"
#include "postgres_tpcc.h"
#include "tpcc_flags.h"

namespace scyper::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Counts {
  uint64_t transactions = 0;
  uint64_t new_orders = 0;
  uint64_t rolled_back = 0;
  Histogram latency_ns;  // from sending to the answer: includes what is under way before it
};

// Keeps `depth` calls under way until the time is over, then takes the remaining answers.
StatusOr<double> run_timed(PostgresTpcc& tpcc, ch::InputStream& stream, double seconds, size_t depth, Counts& counts) {
  ch::Call call;
  std::vector<Clock::time_point> sent_at(depth);
  uint64_t sent = 0;
  const Clock::time_point start = Clock::now();
  while (seconds_since(start) < seconds || counts.transactions < sent) {
    while (sent - counts.transactions < depth && seconds_since(start) < seconds) {
      stream.next(call);
      counts.new_orders += call.procedure == ch::Procedure::kNewOrder;
      sent_at[sent++ % depth] = Clock::now();
      SCYPER_RETURN_IF_ERROR(tpcc.send(call));
    }
    if (counts.transactions == sent) break;
    bool failed = false;
    SCYPER_RETURN_IF_ERROR(tpcc.receive(nullptr, &failed));
    const auto latency = Clock::now() - sent_at[counts.transactions++ % depth];
    counts.latency_ns.record(static_cast<uint64_t>(std::chrono::nanoseconds(latency).count()));
    counts.rolled_back += failed;
  }
  return seconds_since(start);
}

StatusOr<nlohmann::json> run_counted(PostgresTpcc& tpcc, ch::InputStream& stream, const TpccFlags& flags,
                                     size_t depth) {
  OutcomeWriter writer(flags);
  ch::Call call;
  int64_t sent = 0, received = 0, rolled_back = 0;
  while (received < flags.transactions) {
    if (sent < flags.transactions && sent - received < static_cast<int64_t>(depth)) {
      stream.next(call);
      SCYPER_RETURN_IF_ERROR(tpcc.send(call));
      ++sent;
      continue;
    }
    bool failed = false;
    SCYPER_RETURN_IF_ERROR(tpcc.receive(&writer.begin_line(), &failed));
    writer.end_line();
    rolled_back += failed;
    ++received;
  }
  SCYPER_RETURN_IF_ERROR(tpcc.session().end_pipeline());
  SCYPER_ASSIGN_OR_RETURN(const auto tables, tpcc.table_digests());
  return nlohmann::json{{"transactions", flags.transactions},
                        {"rolled_back", rolled_back},
                        {"digest", writer.digest()},
                        {"tables", tables}};
}

StatusOr<nlohmann::json> measure(PostgresTpcc& tpcc, ch::InputStream& stream, const TpccFlags& flags, size_t depth) {
  Counts warm_up, counts;
  SCYPER_RETURN_IF_ERROR(run_timed(tpcc, stream, flags.warm_up_seconds, depth, warm_up).status());
  SCYPER_ASSIGN_OR_RETURN(const double seconds, run_timed(tpcc, stream, flags.seconds, depth, counts));
  SCYPER_RETURN_IF_ERROR(tpcc.session().end_pipeline());
  return nlohmann::json{{"tps", static_cast<double>(counts.transactions) / seconds},
                        {"new_order_tps", static_cast<double>(counts.new_orders) / seconds},
                        {"p50_us", static_cast<double>(counts.latency_ns.percentile(50)) / 1000},
                        {"p99_us", static_cast<double>(counts.latency_ns.percentile(99)) / 1000},
                        {"rolled_back", counts.rolled_back},
                        {"transactions", counts.transactions},
                        {"seconds", seconds}};
}

Status run(const TpccFlags& flags, size_t depth, std::string connection) {
  std::unique_ptr<ThrowawayServer> server;
  if (connection.empty()) {
    SCYPER_ASSIGN_OR_RETURN(server, ThrowawayServer::start());
    connection = server->connection();
  }
  const ch::Generator generator(flags.generator_options());
  const Clock::time_point load_start = Clock::now();
  SCYPER_ASSIGN_OR_RETURN(const auto tpcc, PostgresTpcc::create(connection, generator));
  const double load_seconds = seconds_since(load_start);
  ch::InputStream stream(generator, flags.mix_options());
  SCYPER_RETURN_IF_ERROR(tpcc->session().begin_pipeline());
  nlohmann::json result;
  if (flags.transactions > 0) {
    SCYPER_ASSIGN_OR_RETURN(result, run_counted(*tpcc, stream, flags, depth));
  } else {
    SCYPER_ASSIGN_OR_RETURN(result, measure(*tpcc, stream, flags, depth));
  }
  result["engine"] = "postgresql-15";
  result["warehouses"] = flags.warehouses;
  result["load_seconds"] = load_seconds;
  print_result(result, flags);
  return absl::OkStatus();
}

int main_with(int argc, char** argv) {
  TpccFlags flags;
  size_t depth = 16;
  std::string connection;
  CLI::App app("TPC-C on a throwaway PostgreSQL 15: one connection, prepared calls in a pipeline, no durability");
  flags.add_to(app);
  app.add_option("--pipeline", depth, "Calls under way")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--connect", connection, "A libpq connection string, instead of a server of its own");
  CLI11_PARSE(app, argc, argv);
  const Status status = run(flags, depth, connection);
  if (status.ok()) return 0;
  std::cerr << "bench_tpcc_postgres: " << sqlstate_of(status) << ": " << status.message() << "\n";
  return 1;
}

}  // namespace
}  // namespace scyper::bench

int main(int argc, char** argv) { return scyper::bench::main_with(argc, argv); }
