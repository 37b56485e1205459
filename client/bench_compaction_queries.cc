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
#include "thread_times.h"

namespace scyper::client {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr int kForksBefore = 5;
constexpr int kForks = 20;
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

// Milliseconds of some forks, each of a state of its own. Before them some that are not counted: what forks split they
// have split then.
StatusOr<std::vector<double>> time_forks(LocalNode* node) {
  auto session = local_session(node->engine.get());
  query::Queries* queries = node->engine->queries();
  std::vector<double> times;
  for (int i = 0; i < kForksBefore + kForks; ++i) {
    SCYPER_RETURN_IF_ERROR(
        session->execute("UPDATE region SET r_name = r_name WHERE r_regionkey = 1", [](const query::ResultSet&) {}));
    const auto before = queries->counters().snapshots;
    SCYPER_ASSIGN_OR_RETURN(const uint64_t opened, queries->open_session({}, nullptr));
    const auto after = queries->counters().snapshots;
    SCYPER_RETURN_IF_ERROR(queries->close_session(opened));
    if (after.forks != before.forks + 1) return sql_error("XX000", "a snapshot was not forked");
    if (i >= kForksBefore) times.push_back(static_cast<double>(after.fork_ns - before.fork_ns) / 1e6);
  }
  return times;
}

// As chunks would fill it, and read, as queries would.
StatusOr<std::unique_ptr<storage::FrozenMemory>> fill_frozen_memory(uint64_t mb) {
  SCYPER_ASSIGN_OR_RETURN(auto memory, storage::FrozenMemory::create(mb << 20));
  for (uint64_t i = 0; i < mb; ++i) {
    const char* block = memory->allocate(kFrozenBlockBytes);
    if (block == nullptr) return sql_error("53200", "not so much frozen memory on this machine");
    std::fill_n(memory->writable(block), kFrozenBlockBytes, '\1');
    if (std::count(block, block + kFrozenBlockBytes, '\1') != kFrozenBlockBytes)
      return sql_error("XX000", "lost bytes");
  }
  return memory;
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

// Wall-clock time, and what this process computed meanwhile: what other programs on the machine disturb less.
struct Elapsed {
  double ms = 0;
  double cpu_ms = 0;
};

StatusOr<Elapsed> time_updates(LocalNode* node, const CompactionBenchOptions& options, uint32_t round) {
  auto session = local_session(node->engine.get());
  const std::string call = "CALL bench_update(" + std::to_string(round + 1) + ", ";
  const std::string behind = ", " + std::to_string(options.orders) + ")";
  SCYPER_RETURN_IF_ERROR(run_all(session.get(), call + "0" + behind));  // compiles
  const auto start = Clock::now();
  const double cpu_start_s = process_cpu_s();
  SCYPER_RETURN_IF_ERROR(run_all(session.get(), call + std::to_string(options.updated_orders) + behind));
  return Elapsed{elapsed_ms(start), (process_cpu_s() - cpu_start_s) * 1e3};
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
  std::vector<double> hot_ms, frozen_ms, hot_cpu_ms, frozen_cpu_ms;
  for (uint32_t round = 0; round < options.rounds; ++round) {
    SCYPER_RETURN_IF_ERROR(wait_until_frozen(frozen->engine.get()));
    SCYPER_ASSIGN_OR_RETURN(const Elapsed on_frozen, time_updates(frozen.get(), options, round));
    SCYPER_ASSIGN_OR_RETURN(const Elapsed on_hot, time_updates(hot.get(), options, round));
    frozen_ms.push_back(on_frozen.ms);
    frozen_cpu_ms.push_back(on_frozen.cpu_ms);
    hot_ms.push_back(on_hot.ms);
    hot_cpu_ms.push_back(on_hot.cpu_ms);
  }
  return Json{{"updated_tuples", options.updated_orders * 10},
              {"of_tuples", options.orders * 10},
              {"hot_ms", median_of(hot_ms)},
              {"frozen_ms", median_of(frozen_ms)},
              {"frozen_to_hot", median_of(frozen_ms) / median_of(hot_ms)},
              {"hot_cpu_ms", median_of(hot_cpu_ms)},
              {"frozen_cpu_ms", median_of(frozen_cpu_ms)},
              {"frozen_to_hot_cpu", median_of(frozen_cpu_ms) / median_of(hot_cpu_ms)}};
}

// What so much more frozen memory in the process adds to a fork: the same node with it and without, in turns.
CompactionReport measure_compaction_forks(const CommonOptions& common, const CompactionBenchOptions& options) {
  ch::Generator generator(generator_options(options.ch));
  SCYPER_ASSIGN_OR_RETURN(auto node, start_compacting(common, options.ch, {}));
  SCYPER_RETURN_IF_ERROR(
      create_ch_database(local_session(node->engine.get()).get(), generator, database_options(options.ch)).status());
  std::vector<double> without, with;
  Json pages = Json::object();
  for (uint32_t round = 0; round < options.rounds; ++round) {
    SCYPER_ASSIGN_OR_RETURN(const auto alone, time_forks(node.get()));
    without.insert(without.end(), alone.begin(), alone.end());
    SCYPER_ASSIGN_OR_RETURN(auto memory, fill_frozen_memory(options.frozen_mb));
    SCYPER_ASSIGN_OR_RETURN(const auto beside, time_forks(node.get()));
    with.insert(with.end(), beside.begin(), beside.end());
    const auto usage = memory->usage();
    for (uint32_t i = 0; i < storage::kFrozenPageKinds; ++i) {
      pages[storage::pages_name(static_cast<storage::FrozenPages>(i))] = usage.granted_bytes[i] >> 20;
    }
  }
  const double least = *std::min_element(without.begin(), without.end());
  const double least_with = *std::min_element(with.begin(), with.end());
  return Json{{"frozen_mb_by_pages", std::move(pages)},
              {"forks", without.size()},
              {"fork_ms", median_of(without)},
              {"fork_ms_with_frozen", median_of(with)},
              {"fork_ms_added", median_of(with) - median_of(without)},
              {"least_fork_ms", least},
              {"least_fork_ms_with_frozen", least_with},
              {"least_fork_ms_added", least_with - least}};
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
  return out;
}

}  // namespace scyper::client
