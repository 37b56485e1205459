#include "bench_compaction.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

namespace scyper::client {

namespace {

using Json = nlohmann::ordered_json;

constexpr auto kPoll = std::chrono::milliseconds(100);
constexpr int kPollsMax = 3000;  // five minutes

struct Slice {
  double tps = 0;
  uint64_t chunks = 0;  // frozen meanwhile
};

// The slices of a node that compacts beside the same ones of one that does not, of all rounds.
class Slowdown {
 public:
  Json add(const std::vector<Slice>& compacting, const std::vector<Slice>& others) {
    Json series = Json::array();
    for (size_t i = 0; i < std::min(compacting.size(), others.size()); ++i) {
      const double tps = compacting[i].tps, other = others[i].tps;
      series.push_back({{"tps", other}, {"tps_compacting", tps}, {"chunks", compacting[i].chunks}});
      with_ += tps;
      without_ += other;
      if (other > 0) (compacting[i].chunks > 0 ? freezing_ : resting_).push_back(100 * (1 - tps / other));
    }
    return series;
  }
  // Medians of slices: one that something else disturbs does not decide.
  void report(Json* out) const {
    const auto median = [](const std::vector<double>& losses) {
      return losses.empty() ? Json() : Json(median_of(losses));
    };
    (*out)["oltp_slowdown_pct"] = median(freezing_);
    (*out)["oltp_slowdown_quartiles_pct"] =
        freezing_.empty() ? Json() : Json::array({quantile_of(freezing_, 0.25), quantile_of(freezing_, 0.75)});
    (*out)["oltp_slowdown_worst_decile_pct"] = freezing_.empty() ? Json() : Json(quantile_of(freezing_, 0.9));
    (*out)["oltp_slowdown_resting_pct"] = median(resting_);
    (*out)["oltp_slowdown_whole_pct"] = without_ == 0 ? Json() : Json(100 * (1 - with_ / without_));
    (*out)["slices"] = freezing_.size() + resting_.size();
    (*out)["slices_with_freezing"] = freezing_.size();
    if (freezing_.size() >= kSlicesMin) return;
    (*out)["oltp_note"] =
        "chunks were frozen in too few slices to tell how much slower transactions are meanwhile: "
        "more --seconds or --warehouses, or a shorter --window-ms";
  }

 private:
  static constexpr size_t kSlicesMin = 5;
  std::vector<double> freezing_, resting_;  // percent
  double with_ = 0, without_ = 0;           // transactions per second, added up
};

// The transactions of one node, slice by slice, after its database has been loaded.
StatusOr<std::vector<Slice>> run_slices(LocalNode* node, const CompactionBenchOptions& options) {
  ch::Generator generator(generator_options(options.ch));
  auto session = local_session(node->engine.get());
  SCYPER_RETURN_IF_ERROR(create_ch_database(session.get(), generator, database_options(options.ch)).status());
  const replay::Compaction* compaction = node->engine->compaction();
  const auto frozen = [&] { return compaction == nullptr ? 0 : compaction->counts().frozen; };
  std::vector<Slice> slices;
  for (double done = 0; done < options.seconds; done += options.oltp.seconds) {
    const uint64_t before = frozen();
    SCYPER_ASSIGN_OR_RETURN(OltpResult result, run_oltp_in_process(node->engine.get(), generator, options.oltp, 1, {}));
    slices.push_back({result.tps(), frozen() - before});
  }
  return slices;
}

}  // namespace

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double quantile_of(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

StatusOr<std::unique_ptr<LocalNode>> start_compacting(const CommonOptions& common, const ChOptions& ch,
                                                      const std::vector<server::Assignment>& settings) {
  CommonOptions own = common;
  own.node_settings.insert(own.node_settings.end(), settings.begin(), settings.end());
  return start_node(own, ch, /*has_server=*/false);
}

StatusOr<std::unique_ptr<LocalNode>> start_freezing(const CommonOptions& common, const ChOptions& ch) {
  return start_compacting(common, ch, {{"compaction", "forced"}, {"compaction_window", "1s"}});
}

Status wait_until_frozen(primary::Engine* engine) {
  for (int i = 0; i < kPollsMax; ++i) {
    uint64_t others = 0;
    for (const auto& table : engine->tables()) {
      if (!table.temperature.attributes.empty())
        others += table.temperature.hot.tuples + table.temperature.cooling.tuples + table.temperature.cold.tuples;
    }
    if (others == 0) return Status();
    std::this_thread::sleep_for(kPoll);
  }
  return sql_error("57014", "chunks are still hot after five minutes");
}

Json compaction_sizes(primary::Engine* engine) {
  uint64_t hot = 0, frozen = 0, thawed = 0;
  for (const auto& table : engine->tables()) {
    hot += table.temperature.hot_bytes;
    frozen += table.temperature.frozen_bytes + table.temperature.dictionary_bytes;
    thawed += table.temperature.thawed_bytes;
  }
  const double ratio = static_cast<double>(hot + thawed) / static_cast<double>(std::max<uint64_t>(hot + frozen, 1));
  return {{"bytes_uncompressed", hot + thawed},
          {"bytes", hot + frozen},
          {"bytes_hot", hot},
          {"bytes_frozen", frozen},
          {"ratio", ratio}};
}

CompactionReport measure_compaction_oltp(const CommonOptions& common, const CompactionBenchOptions& options) {
  Json rounds = Json::array(), sizes;
  Slowdown slowdown;
  double tuples_per_second = 0;
  for (uint32_t round = 0; round < options.rounds; ++round) {
    std::vector<Slice> slices, others;
    for (const bool compacts : {round % 2 == 0, round % 2 != 0}) {
      const std::string window = std::to_string(options.window_ms) + "ms";
      SCYPER_ASSIGN_OR_RETURN(
          auto node, start_compacting(common, options.ch,
                                      {{"compaction", compacts ? "on" : "off"}, {"compaction_window", window}}));
      SCYPER_ASSIGN_OR_RETURN(auto run, run_slices(node.get(), options));
      (compacts ? slices : others) = std::move(run);
      if (!compacts) continue;
      const auto counts = node->engine->compaction()->counts();
      const double seconds = static_cast<double>(std::max<uint64_t>(counts.freeze_ns, 1)) / 1e9;
      tuples_per_second = static_cast<double>(counts.frozen * storage::kChunkTuples) / seconds;
      sizes = compaction_sizes(node->engine.get());
    }
    rounds.push_back(slowdown.add(slices, others));
  }
  Json out;
  slowdown.report(&out);
  out["compressed_tuples_per_second"] = tuples_per_second;
  out["sizes"] = std::move(sizes);
  out["rounds"] = std::move(rounds);
  return out;
}

namespace {

CompactionReport measure(const CommonOptions& common, const CompactionBenchOptions& options) {
  const auto is_wanted = [&](std::string_view part) {
    return options.parts.empty() || std::find(options.parts.begin(), options.parts.end(), part) != options.parts.end();
  };
  Json out, details;
  if (is_wanted("oltp")) {
    SCYPER_ASSIGN_OR_RETURN(Json oltp, measure_compaction_oltp(common, options));
    for (const auto& [name, value] : oltp.items()) {
      if (name != "sizes" && name != "rounds") out[name] = value;
    }
    details["oltp"] = std::move(oltp);
  }
  if (is_wanted("updates")) {
    SCYPER_ASSIGN_OR_RETURN(Json updates, measure_compaction_updates(common, options));
    out["update_frozen_to_hot"] = updates["frozen_to_hot"];
    details["updates"] = std::move(updates);
  }
  if (is_wanted("forks")) {
    SCYPER_ASSIGN_OR_RETURN(Json forks, measure_compaction_forks(common, options));
    out["fork_ms_added_by_4gb_frozen"] = forks["fork_ms_added"];
    details["forks"] = std::move(forks);
  }
  if (is_wanted("queries")) {
    SCYPER_ASSIGN_OR_RETURN(Json queries, measure_compaction_queries(common, options));
    out["compression_ratio"] = queries["sizes"]["ratio"];
    out["queries_ratio_geomean"] = queries["queries_ratio_geomean"];
    out["queries_with_other_answers"] = queries["queries_with_other_answers"];
    details["queries"] = std::move(queries);
  }
  out["warehouses"] = options.ch.warehouses;
  out["profile"] = options.ch.profile;
  out["details"] = std::move(details);
  return out;
}

}  // namespace

int show_bench_report(const CompactionReport& report, const CommonOptions& common) {
  if (!report.ok()) return show_failure(report.status(), common.is_json);
  if (common.is_json) {
    std::printf("%s\n", report->dump(2).c_str());
    return kExitOk;
  }
  for (const auto& [name, value] : report->items()) {
    if (name != "details") std::printf("%s: %s\n", name.c_str(), value.dump().c_str());
  }
  return kExitOk;
}

int run_bench_compaction(const CommonOptions& common, CompactionBenchOptions options) {
  options.ch.is_quiet = options.ch.is_quiet || common.is_json;
  return show_bench_report(measure(common, options), common);
}

}  // namespace scyper::client
