#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "bench_compaction.h"
#include "client/ch/sql.h"
#include "query/queries.h"
#include "result_format.h"
#include "storage/frozen_memory.h"

namespace scyper::client {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr int kForks = 10;
constexpr size_t kFrozenBlockBytes = size_t{1} << 20;

double elapsed_ms(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Side {
  std::unique_ptr<LocalNode> node;
  uint64_t session = 0;  // a snapshot
};

StatusOr<double> time_query(const Side& side, int number, std::string* answer) {
  query::QueryOptions options;
  options.session = side.session;
  query::ResultSet result;
  const auto start = Clock::now();
  SCYPER_RETURN_IF_ERROR(side.node->engine->queries()->execute(ch::query_sql(number), {}, options, &result, nullptr));
  const double ms = elapsed_ms(start);
  FormatOptions format;
  format.format = OutputFormat::kCsv;
  *answer = format_result(result, format);
  return ms;
}

// Code is reused: planning and compiling are the same on both.
StatusOr<Json> time_queries(const std::map<std::string, Side>& sides, const CompactionBenchOptions& options) {
  Json queries = Json::array();
  double logs = 0;
  int different = 0;
  for (int number = 1; number <= ch::kQueryCount; ++number) {
    std::map<std::string, std::vector<double>> times;
    std::map<std::string, std::string> answers;
    for (uint32_t i = 0; i <= options.repeat; ++i) {
      for (const auto& [name, side] : sides) {
        SCYPER_ASSIGN_OR_RETURN(const double ms, time_query(side, number, &answers[name]));
        if (i > 0) times[name].push_back(ms);  // the first one compiles
      }
    }
    const bool are_equal = answers["frozen"] == answers["hot"];
    different += are_equal ? 0 : 1;
    const double hot = median_of(times["hot"]), frozen = median_of(times["frozen"]);
    logs += std::log(frozen / hot);
    queries.push_back({{"name", "Q" + std::to_string(number)},
                       {"hot_ms", hot},
                       {"frozen_ms", frozen},
                       {"ratio", frozen / hot},
                       {"equal", are_equal}});
    if (!options.ch.is_quiet) {
      std::printf("  Q%-3d %10.2f ms hot, %10.2f ms frozen: %.2f\n", number, hot, frozen, frozen / hot);
      std::fflush(stdout);
    }
  }
  return Json{{"queries_ratio_geomean", std::exp(logs / ch::kQueryCount)},
              {"queries_with_other_answers", different},
              {"queries", std::move(queries)}};
}

// Mean of some forks, each of a state of its own.
StatusOr<double> fork_ms(LocalNode* node) {
  auto session = local_session(node->engine.get());
  query::Queries* queries = node->engine->queries();
  const auto before = queries->counters().snapshots;
  for (int i = 0; i < kForks; ++i) {
    SCYPER_RETURN_IF_ERROR(
        session->execute("UPDATE region SET r_name = r_name WHERE r_regionkey = 1", [](const query::ResultSet&) {}));
    SCYPER_ASSIGN_OR_RETURN(const uint64_t opened, queries->open_session({}, nullptr));
    SCYPER_RETURN_IF_ERROR(queries->close_session(opened));
  }
  const auto after = queries->counters().snapshots;
  return static_cast<double>(after.fork_ns - before.fork_ns) / 1e6 /
         static_cast<double>(std::max<uint64_t>(after.forks - before.forks, 1));
}

// What so much more frozen memory in the process adds to a fork. It is filled, as chunks would fill it.
StatusOr<Json> time_forks(LocalNode* node, const CompactionBenchOptions& options) {
  std::vector<double> without, with;
  size_t bytes = 0;
  for (uint32_t round = 0; round < options.rounds; ++round) {
    SCYPER_ASSIGN_OR_RETURN(const double alone, fork_ms(node));
    without.push_back(alone);
    SCYPER_ASSIGN_OR_RETURN(auto memory, storage::FrozenMemory::create(options.frozen_mb << 20));
    bytes = 0;
    for (uint64_t i = 0; i < options.frozen_mb; ++i) {
      const char* block = memory->allocate(kFrozenBlockBytes);
      if (block == nullptr) break;
      std::fill_n(memory->writable(block), kFrozenBlockBytes, '\1');
      bytes += std::count(block, block + kFrozenBlockBytes, '\1');
    }
    SCYPER_ASSIGN_OR_RETURN(const double beside, fork_ms(node));
    with.push_back(beside);
  }
  return Json{{"frozen_bytes", bytes},
              {"fork_ms", median_of(without)},
              {"fork_ms_with_frozen", median_of(with)},
              {"fork_ms_added", median_of(with) - median_of(without)}};
}

constexpr char kUpdateTables[] = R"(
CREATE TABLE bench_line (w integer, o integer, n integer, v integer NOT NULL, info char(24), PRIMARY KEY (w, o, n))
  PARTITION BY HASH (w);
CREATE PROCEDURE bench_fill(first integer, behind integer) LANGUAGE plpgsql AS $$
BEGIN
  FOR o IN first .. behind - 1 LOOP
    FOR n IN 1 .. 10 LOOP INSERT INTO bench_line VALUES (1, o, n, o % 100, 'info ' || o % 1000); END LOOP;
  END LOOP;
END $$;
CREATE PROCEDURE bench_update(seed integer, orders integer, orders_in_all integer) LANGUAGE plpgsql AS $$
DECLARE drawn bigint := seed;
BEGIN
  FOR i IN 1 .. orders LOOP
    drawn := (drawn * 1103515245 + 12345) % 2147483648;
    UPDATE bench_line SET v = v + 1 WHERE w = 1 AND o = drawn / 16 % orders_in_all;
  END LOOP;
END $$)";

Status run_all(Session* session, const std::string& sql) {
  return session->execute(sql, [](const query::ResultSet&) {});
}

StatusOr<double> time_updates(LocalNode* node, const CompactionBenchOptions& options, uint32_t round) {
  auto session = local_session(node->engine.get());
  const std::string call = "CALL bench_update(" + std::to_string(round + 1) + ", ";
  const std::string behind = ", " + std::to_string(options.orders) + ")";
  SCYPER_RETURN_IF_ERROR(run_all(session.get(), call + "0" + behind));  // compiles
  const auto start = Clock::now();
  SCYPER_RETURN_IF_ERROR(run_all(session.get(), call + std::to_string(options.updated_orders) + behind));
  return elapsed_ms(start);
}

Status fill_lines(Session* session, uint32_t orders) {
  constexpr uint32_t kOrdersAtOnce = 10'000;
  SCYPER_RETURN_IF_ERROR(run_all(session, kUpdateTables));
  for (uint32_t first = 0; first < orders; first += kOrdersAtOnce) {
    SCYPER_RETURN_IF_ERROR(run_all(session, "CALL bench_fill(" + std::to_string(first) + ", " +
                                                std::to_string(std::min(first + kOrdersAtOnce, orders)) + ")"));
  }
  return Status();
}

}  // namespace

CompactionReport measure_compaction_updates(const CommonOptions& common, const CompactionBenchOptions& options) {
  SCYPER_ASSIGN_OR_RETURN(auto hot, start_compacting(common, options.ch, {}));
  SCYPER_ASSIGN_OR_RETURN(auto frozen, start_freezing(common, options.ch));
  for (LocalNode* node : {hot.get(), frozen.get()}) {
    SCYPER_RETURN_IF_ERROR(fill_lines(local_session(node->engine.get()).get(), options.orders));
  }
  std::vector<double> hot_ms, frozen_ms;
  for (uint32_t round = 0; round < options.rounds; ++round) {
    SCYPER_RETURN_IF_ERROR(wait_until_frozen(frozen->engine.get()));
    SCYPER_ASSIGN_OR_RETURN(const double on_frozen, time_updates(frozen.get(), options, round));
    SCYPER_ASSIGN_OR_RETURN(const double on_hot, time_updates(hot.get(), options, round));
    frozen_ms.push_back(on_frozen);
    hot_ms.push_back(on_hot);
  }
  return Json{{"updated_tuples", options.updated_orders * 10},
              {"of_tuples", options.orders * 10},
              {"hot_ms", median_of(hot_ms)},
              {"frozen_ms", median_of(frozen_ms)},
              {"frozen_to_hot", median_of(frozen_ms) / median_of(hot_ms)}};
}

CompactionReport measure_compaction_queries(const CommonOptions& common, const CompactionBenchOptions& options) {
  ch::Generator generator(generator_options(options.ch));
  std::map<std::string, Side> sides;
  SCYPER_ASSIGN_OR_RETURN(sides["hot"].node, start_compacting(common, options.ch, {}));
  SCYPER_ASSIGN_OR_RETURN(sides["frozen"].node, start_freezing(common, options.ch));
  for (auto& [name, side] : sides) {
    auto session = local_session(side.node->engine.get());
    SCYPER_RETURN_IF_ERROR(create_ch_database(session.get(), generator, database_options(options.ch)).status());
  }
  LocalNode* frozen = sides["frozen"].node.get();
  SCYPER_RETURN_IF_ERROR(wait_until_frozen(frozen->engine.get()));
  for (auto& [name, side] : sides) {
    SCYPER_ASSIGN_OR_RETURN(side.session, side.node->engine->queries()->open_session({}, nullptr));
  }
  SCYPER_ASSIGN_OR_RETURN(Json out, time_queries(sides, options));
  for (auto& [name, side] : sides) {
    SCYPER_RETURN_IF_ERROR(side.node->engine->queries()->close_session(side.session));
  }
  out["sizes"] = compaction_sizes(frozen->engine.get());
  SCYPER_ASSIGN_OR_RETURN(out["forks"], time_forks(frozen, options));
  return out;
}

}  // namespace scyper::client
