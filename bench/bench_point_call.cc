// One prepared CALL that changes a row, again and again: by gRPC (unary, or one at a time on a stream) or by
// PostgreSQL's protocol (libpq, so PostgreSQL and a node alike). Each client is a thread with a connection and one call
// under way; the procedure is peers/postgres_protocol.py's, which runs this beside PostgreSQL.

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/histogram.h"
#include "client/client.h"
#include "postgres_session.h"

namespace scyper::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct PointFlags {
  std::string grpc, postgres;
  bool is_unary = false;
  uint32_t clients = 1;
  uint32_t keys = 10'000;
  double seconds = 3;
  double warmup_seconds = 0.3;
  std::string output = "table";
};

// Runs one call and waits for its answer.
using OneCall = std::function<Status(int32_t key)>;

constexpr const char* kCall = "CALL add($1, $2, $3)";

StatusOr<OneCall> open_grpc(const PointFlags& flags) {
  client::ConnectOptions options;
  options.target = flags.grpc;
  options.keeps_streams = !flags.is_unary;
  SCYPER_ASSIGN_OR_RETURN(std::shared_ptr<client::Client> client, client::Client::connect(options));
  SCYPER_ASSIGN_OR_RETURN(auto prepared, client->prepare(kCall));
  auto result = std::make_shared<query::ResultSet>();
  return OneCall([client, prepared, result](int32_t key) {
    const Datum arguments[] = {int_datum(key), int_datum(1), int_datum(0)};
    return client->call(*prepared, arguments, result.get());
  });
}

StatusOr<OneCall> open_postgres(const std::string& connection) {
  SCYPER_ASSIGN_OR_RETURN(std::shared_ptr<PostgresSession> session, PostgresSession::open(connection));
  SCYPER_RETURN_IF_ERROR(session->prepare("add", "CALL add($1::integer, $2::integer, $3::bigint)"));
  return OneCall([session](int32_t key) {
    const std::string text = std::to_string(key);
    const char* const parameters[] = {text.c_str(), "1", "0"};
    return session->run_prepared("add", parameters);
  });
}

struct Lane {
  OneCall call;
  Histogram latency;
  uint64_t calls = 0;
  Status status;
};

struct Shared {
  std::atomic<bool> counts{false}, stops{false};
};

void drive(Lane* lane, const Shared& shared, uint32_t keys, uint64_t seed) {
  std::minstd_rand random(static_cast<uint32_t>(seed));
  while (!shared.stops.load(std::memory_order_relaxed) && lane->status.ok()) {
    const int32_t key = static_cast<int32_t>(random() % keys) + 1;
    const auto start = SteadyClock::now();
    lane->status = lane->call(key);
    const auto took = SteadyClock::now() - start;
    if (!shared.counts.load(std::memory_order_relaxed)) continue;
    lane->latency.record(static_cast<uint64_t>(std::chrono::nanoseconds(took).count()));
    ++lane->calls;
  }
}

StatusOr<nlohmann::json> measure(const PointFlags& flags) {
  std::vector<Lane> lanes(flags.clients);
  for (Lane& lane : lanes) {
    auto opened = flags.grpc.empty() ? open_postgres(flags.postgres) : open_grpc(flags);
    if (!opened.ok()) return opened.status();
    lane.call = *std::move(opened);
  }
  Shared shared;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < lanes.size(); ++i)
    threads.emplace_back([&, i] { drive(&lanes[i], shared, flags.keys, i + 1); });
  std::this_thread::sleep_for(std::chrono::duration<double>(flags.warmup_seconds));
  shared.counts = true;
  const auto start = SteadyClock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(flags.seconds));
  shared.stops = true;
  const double seconds = std::chrono::duration<double>(SteadyClock::now() - start).count();
  for (std::thread& thread : threads) thread.join();
  Histogram all;
  uint64_t calls = 0;
  for (Lane& lane : lanes) {
    SCYPER_RETURN_IF_ERROR(lane.status);
    all.merge(lane.latency);
    calls += lane.calls;
  }
  const auto us = [&all](double share) { return static_cast<double>(all.percentile(share)) / 1e3; };
  return nlohmann::json{{"clients", flags.clients},
                        {"calls", calls},
                        {"calls_per_second", static_cast<double>(calls) / seconds},
                        {"p50_us", us(50)},
                        {"p99_us", us(99)}};
}

int run(int argc, char** argv) {
  PointFlags flags;
  CLI::App app("Round trips of one prepared CALL, by gRPC or by PostgreSQL's protocol.");
  auto* grpc = app.add_option("--grpc", flags.grpc, "host:port or unix:FILE of a node");
  auto* postgres = app.add_option("--postgres", flags.postgres, "connection string of libpq");
  grpc->excludes(postgres);
  app.add_flag("--unary", flags.is_unary, "by gRPC: an RPC for each call")->needs(grpc);
  app.add_option("--clients", flags.clients, "threads, each with a connection")->check(CLI::Range(1, 1024));
  app.add_option("--keys", flags.keys, "rows of the table")->check(CLI::Range(1, 1'000'000'000));
  app.add_option("--seconds", flags.seconds, "measured time")->check(CLI::PositiveNumber);
  app.add_option("--warmup-seconds", flags.warmup_seconds, "time before it")->check(CLI::NonNegativeNumber);
  app.add_option("-o,--output", flags.output, "how results look")->check(CLI::IsMember({"table", "json"}));
  CLI11_PARSE(app, argc, argv);
  if (flags.grpc.empty() == flags.postgres.empty()) {
    std::fprintf(stderr, "one of --grpc and --postgres is needed\n");
    return 2;
  }
  const auto found = measure(flags);
  if (!found.ok()) {
    std::fprintf(stderr, "%s\n", std::string(found.status().message()).c_str());
    return 1;
  }
  if (flags.output == "json") {
    std::printf("%s\n", found->dump().c_str());
  } else {
    std::printf("%u clients: p50 %.1f us, p99 %.1f us, %.0f calls per second\n", flags.clients,
                (*found)["p50_us"].get<double>(), (*found)["p99_us"].get<double>(),
                (*found)["calls_per_second"].get<double>());
  }
  return 0;
}

}  // namespace
}  // namespace scyper::bench

int main(int argc, char** argv) {
  scyper::client::wait_by_thread();
  return scyper::bench::run(argc, argv);
}
