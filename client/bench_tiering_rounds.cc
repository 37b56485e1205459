// Rounds of analytical and of point queries on one table of order lines (ADMS 2015, 5, Fig. 6).

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "bench_compaction.h"
#include "bench_tiering.h"
#include "query/queries.h"
#include "storage/frozen_tier.h"

namespace scyper::client {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// Orders of ten lines arrive one after the other in all districts, their lines are delivered in that order.
constexpr int kWarehouses = 4;
constexpr int kDistricts = 10;
constexpr int kLines = 10;
constexpr int kItems = 10'000;
constexpr int kPointQueries = 100;  // of a round
constexpr double kMemoryOfHot = 2;  // the views' rows are not the same ones, and heads stay
constexpr uint64_t kSeed = 2015;

constexpr char kTable[] = R"(
CREATE TABLE tier_line (ol_o_id integer, ol_d_id integer, ol_w_id integer, ol_number integer, ol_i_id integer NOT NULL,
  ol_delivery_d timestamp NOT NULL, ol_quantity integer NOT NULL, ol_amount numeric(6,2) NOT NULL,
  ol_dist_info char(24) NOT NULL, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)) PARTITION BY HASH (ol_w_id);
CREATE PROCEDURE tier_order(w integer, d integer, o integer, OUT lines integer, OUT amount numeric) LANGUAGE plpgsql AS $$
DECLARE line tier_line%ROWTYPE;
BEGIN
  lines := 0;
  amount := 0;
  FOR line IN SELECT * FROM tier_line WHERE ol_o_id = o AND ol_d_id = d AND ol_w_id = w LOOP
    lines := lines + 1;
    amount := amount + line.ol_amount;
  END LOOP;
END $$)";

struct Configuration {
  const char* name;
  bool is_tiered;
  bool prunes;
};
constexpr Configuration kConfigurations[] = {
    {"memory", false, false}, {"memory_pruning", false, true}, {"tiered", true, false}, {"tiered_pruning", true, true}};

class Rounds {
 public:
  Rounds(const CommonOptions& common, const TieringBenchOptions& options, std::string directory)
      : common_(common), options_(options), directory_(std::move(directory)) {
    orders_ = std::max<int64_t>(static_cast<int64_t>(options.lines) / (kWarehouses * kDistricts * kLines), 100);
  }

  TieringReport run() {
    Json out = Json::array();
    for (const double hot_pct : options_.hot_pct) {
      Json one;
      one["hot_data_pct"] = hot_pct;
      for (const Configuration& configuration : kConfigurations) {
        SCYPER_ASSIGN_OR_RETURN(one[configuration.name], run_configuration(configuration, hot_pct));
      }
      add_ratios(&one);
      out.push_back(std::move(one));
    }
    return out;
  }

 private:
  int64_t hot_orders(double hot_pct) const {
    return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(orders_) * hot_pct / 100));
  }
  // The first of the orders, and so of the days, that are hot.
  int64_t first_hot(double hot_pct) const { return orders_ - hot_orders(hot_pct) + 1; }
  // A day for each order, as insert_sql() has it.
  static std::string delivered(int64_t order) {
    const std::chrono::year_month_day day(std::chrono::sys_days(std::chrono::year(2000) / 1 / 1) +
                                          std::chrono::days(order));
    return absl::StrFormat("timestamp '%04d-%02d-%02d'", int{day.year()}, unsigned{day.month()}, unsigned{day.day()});
  }

  StatusOr<Json> run_configuration(const Configuration& configuration, double hot_pct) {
    std::vector<server::Assignment> settings = {{"compaction", "forced"}, {"compaction_window", "200ms"}};
    const std::string directory = directory_ + "/" + configuration.name;
    if (configuration.is_tiered) {
      SCYPER_RETURN_IF_ERROR(measure_bytes());
      std::filesystem::create_directories(directory);
      const auto hot = static_cast<uint64_t>(static_cast<double>(frozen_bytes_) * kMemoryOfHot * hot_pct / 100);
      const auto cache = static_cast<uint64_t>(static_cast<double>(frozen_bytes_) * options_.cache_pct / 100);
      settings.push_back({"tier_directory", directory});
      settings.push_back({"tier_memory", std::to_string(hot) + "B"});
      settings.push_back({"tier_cache", std::to_string(std::max<uint64_t>(cache, 1 << 20)) + "B"});
    }
    SCYPER_ASSIGN_OR_RETURN(auto node, start_compacting(common_, options_.ch, settings));
    SCYPER_RETURN_IF_ERROR(fill(node.get(), configuration.prunes ? hot_pct : 0));
    Json out;
    if (const storage::FrozenTier* tier = node->engine->compaction()->tier(); tier != nullptr) {
      const auto counts = tier->counts();
      out["evicted_pct"] = 100.0 * static_cast<double>(counts.tiered_bytes) /
                           static_cast<double>(counts.tiered_bytes + tier->resident_bytes());
    }
    Json times = Json::array();
    for (const double hot_queries_pct : options_.hot_queries_pct) {
      SCYPER_ASSIGN_OR_RETURN(Json time, time_rounds(node.get(), hot_pct, hot_queries_pct));
      times.push_back(std::move(time));
    }
    out["times"] = std::move(times);
    return out;
  }

  // What the table takes when it is frozen.
  Status measure_bytes() {
    if (frozen_bytes_ != 0) return Status();
    SCYPER_ASSIGN_OR_RETURN(auto node, start_freezing(common_, options_.ch));
    SCYPER_RETURN_IF_ERROR(fill(node.get(), 0));
    frozen_bytes_ = compaction_sizes(node->engine.get())["bytes_frozen"].get<uint64_t>();
    return Status();
  }

  // view_pct: of the orders, in hot data views; 0: there are none. Waits until all is where it belongs.
  Status fill(LocalNode* node, double view_pct) {
    auto session = local_session(node->engine.get());
    const auto run = [&](const std::string& sql) { return session->execute(sql, [](const query::ResultSet&) {}); };
    SCYPER_RETURN_IF_ERROR(run(kTable));
    if (view_pct > 0) {
      const std::string first = std::to_string(first_hot(view_pct));
      const std::string of_table = " FROM tier_line WHERE ";
      SCYPER_RETURN_IF_ERROR(run("CREATE HOT DATA VIEW recent_lines AS SELECT *" + of_table + "ol_o_id >= " + first));
      SCYPER_RETURN_IF_ERROR(run("CREATE HOT DATA VIEW delivered_lines AS SELECT ol_w_id, ol_number, ol_quantity, " +
                                 std::string("ol_amount, ol_delivery_d") + of_table +
                                 "ol_delivery_d >= " + delivered(first_hot(view_pct))));
      SCYPER_RETURN_IF_ERROR(run("CREATE HOT DATA VIEW wanted_items AS SELECT ol_i_id, ol_amount" + of_table +
                                 "ol_i_id < " + std::to_string(hot_items(view_pct))));
    }
    constexpr int64_t kOrdersAtOnce = 1000;
    for (int64_t first = 1; first <= orders_; first += kOrdersAtOnce) {
      SCYPER_RETURN_IF_ERROR(run(insert_sql(first, std::min(first + kOrdersAtOnce - 1, orders_))));
    }
    SCYPER_RETURN_IF_ERROR(wait_until_frozen(node->engine.get()));
    return wait_until_placed(node->engine.get());
  }
  static int64_t hot_items(double hot_pct) { return static_cast<int64_t>(kItems * hot_pct / 100); }
  static std::string insert_sql(int64_t first, int64_t last) {
    return "INSERT INTO tier_line SELECT o, d, w, n, (o * 7919 + d * 104729 + w * 1299709 + n * 15485863) % " +
           std::to_string(kItems) + ", timestamp '2000-01-01' + o * interval '1 day', 1 + (o + n) % 10, " +
           "((o * 31 + d * 7 + n) % 1000000) / 100.0, 'dist ' || (o * 13 + n) % 5000 FROM generate_series(" +
           std::to_string(first) + ", " + std::to_string(last) + ") o, generate_series(1, " +
           std::to_string(kDistricts) + ") d, generate_series(1, " + std::to_string(kWarehouses) +
           ") w, generate_series(1, " + std::to_string(kLines) + ") n";
  }

  // Until the tier has what it is to have, and no chunk has moved for some seconds.
  StatusOr<Json> time_rounds(LocalNode* node, double hot_pct, double hot_queries_pct) {
    auto session = local_session(node->engine.get());
    query::Queries* queries = node->engine->queries();
    storage::FrozenTier* tier = node->engine->compaction()->tier();
    const auto cache = [&] { return tier == nullptr ? storage::PageCacheStatistics() : tier->cache()->statistics(); };
    SCYPER_ASSIGN_OR_RETURN(const uint64_t snapshot, queries->open_session({}, nullptr));
    std::mt19937_64 random(kSeed);  // the same questions to all
    double analytical_ms = 0, point_ms = 0;
    storage::PageCacheStatistics before;
    for (uint32_t round = 0; round <= options_.query_rounds; ++round) {
      if (round == 1) {  // the first one compiles
        analytical_ms = point_ms = 0;
        before = cache();
      }
      auto start = Clock::now();
      for (const std::string& sql : analytical_queries(hot_pct, hot_queries_pct, &random)) {
        query::QueryOptions how;
        how.session = snapshot;
        query::ResultSet result;
        SCYPER_RETURN_IF_ERROR(queries->execute(sql, {}, how, &result, nullptr));
      }
      analytical_ms += ms_since(&start);
      for (int i = 0; i < kPointQueries; ++i) {
        const std::string sql = point_query(hot_pct, hot_queries_pct, &random);
        SCYPER_RETURN_IF_ERROR(session->execute(sql, [](const query::ResultSet&) {}));
      }
      point_ms += ms_since(&start);
    }
    SCYPER_RETURN_IF_ERROR(queries->close_session(snapshot));
    const storage::PageCacheStatistics after = cache();
    const double rounds = options_.query_rounds;
    return Json{{"hot_queries_pct", hot_queries_pct},
                {"ms_per_round", (analytical_ms + point_ms) / rounds},
                {"analytical_ms", analytical_ms / rounds},
                {"point_ms", point_ms / rounds},
                {"pages_read", static_cast<double>(after.pages_read - before.pages_read) / rounds},
                {"pages_waited_for", static_cast<double>(after.faults - before.faults) / rounds}};
  }
  // Since *start, which is now then.
  static double ms_since(Clock::time_point* start) {
    const auto now = Clock::now();
    return std::chrono::duration<double, std::milli>(now - std::exchange(*start, now)).count();
  }

  static int64_t draw(int64_t from, int64_t to, std::mt19937_64* random) {
    return std::uniform_int_distribution<int64_t>(from, to)(*random);
  }
  static bool is_hot(double hot_queries_pct, std::mt19937_64* random) {
    return std::uniform_real_distribution<double>(0, 100)(*random) < hot_queries_pct;
  }

  // Listing 3.
  std::vector<std::string> analytical_queries(double hot_pct, double hot_queries_pct, std::mt19937_64* random) const {
    const auto day = [&] {
      const int64_t first = first_hot(hot_pct);
      return delivered(is_hot(hot_queries_pct, random) ? draw(first, orders_, random) : draw(1, first - 1, random));
    };
    const int64_t items = hot_items(hot_pct);
    const int64_t item = is_hot(hot_queries_pct, random) ? draw(0, items - 1, random) : draw(items, kItems - 1, random);
    return {
        "SELECT ol_number, sum(ol_quantity), sum(ol_amount), avg(ol_quantity), avg(ol_amount), count(*) FROM tier_line "
        "WHERE ol_delivery_d > " +
            day() + " GROUP BY ol_number ORDER BY ol_number",
        "SELECT sum(ol_amount) FROM tier_line WHERE ol_w_id = " + std::to_string(draw(1, kWarehouses, random)) +
            " AND ol_delivery_d >= " + day(),
        "SELECT sum(ol_amount) FROM tier_line WHERE ol_i_id = " + std::to_string(item)};
  }
  // Listing 4, a transaction.
  std::string point_query(double hot_pct, double hot_queries_pct, std::mt19937_64* random) const {
    const int64_t first = first_hot(hot_pct);
    const int64_t order = is_hot(hot_queries_pct, random) ? draw(first, orders_, random) : draw(1, first - 1, random);
    return absl::StrFormat("CALL tier_order(%d, %d, %d, NULL, NULL)", draw(1, kWarehouses, random),
                           draw(1, kDistricts, random), order);
  }

  static void add_ratios(Json* one) {
    const auto ms = [&](const char* name, size_t i) { return (*one)[name]["times"][i]["ms_per_round"].get<double>(); };
    for (size_t i = 0; i < (*one)["tiered_pruning"]["times"].size(); ++i) {
      Json& own = (*one)["tiered_pruning"]["times"][i];
      own["to_memory_pruning"] = ms("tiered_pruning", i) / ms("memory_pruning", i);
      own["to_memory"] = ms("tiered_pruning", i) / ms("memory", i);
    }
  }

  const CommonOptions& common_;
  const TieringBenchOptions& options_;
  const std::string directory_;
  int64_t orders_ = 0;  // of a district
  uint64_t frozen_bytes_ = 0;
};

}  // namespace

TieringReport measure_tiering_rounds(const CommonOptions& common, const TieringBenchOptions& options,
                                     const std::string& directory) {
  return Rounds(common, options, directory).run();
}

}  // namespace scyper::client
