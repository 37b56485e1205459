#include "storage_status.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "progress.h"
#include "result_format.h"

namespace scyper::client {

namespace {

using Json = nlohmann::ordered_json;
using Temperature = storage::TableTemperature;
using Rows = std::vector<std::vector<std::string>>;

// How often what is frozen goes into what it would take if it were hot; 0: nothing is frozen.
double ratio_of(uint64_t thawed_bytes, uint64_t frozen_bytes) {
  return frozen_bytes == 0 ? 0 : static_cast<double>(thawed_bytes) / static_cast<double>(frozen_bytes);
}
double ratio_of(const Temperature::Attribute& attribute) {
  return ratio_of(attribute.thawed_bytes, attribute.frozen_bytes + attribute.dictionary_bytes);
}
double ratio_of(const Temperature& table) {
  return ratio_of(table.thawed_bytes, table.frozen_bytes + table.tiered_bytes + table.dictionary_bytes);
}

std::string ratio_text(double ratio) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", ratio);
  return ratio == 0 ? "" : text;
}
std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f s", seconds);
  return text;
}

Json json_of(const Temperature::Part& part) { return {{"chunks", part.chunks}, {"tuples", part.tuples}}; }

Json json_of(const LearnedView& view) {
  return {{"name", view.name},       {"workload", view.workload},     {"condition", view.condition},
          {"columns", view.columns}, {"statements", view.statements}, {"rows_left_out", view.rows_left_out}};
}

Json json_of(const TableStorage& table) {
  const Temperature& t = table.temperature;
  Json views = Json::array();
  for (const LearnedView& view : table.learned_views) views.push_back(json_of(view));
  Json attributes = Json::array();
  for (const Temperature::Attribute& attribute : t.attributes) {
    attributes.push_back({{"name", attribute.name},
                          {"frozen_bytes", attribute.frozen_bytes},
                          {"thawed_bytes", attribute.thawed_bytes},
                          {"dictionary_bytes", attribute.dictionary_bytes},
                          {"dictionary_values", attribute.dictionary_values},
                          {"ratio", ratio_of(attribute)}});
  }
  return {{"name", table.name},
          {"hot", json_of(t.hot)},
          {"cooling", json_of(t.cooling)},
          {"cold", json_of(t.cold)},
          {"frozen", json_of(t.frozen)},
          {"hot_bytes", t.hot_bytes},
          {"frozen_bytes", t.frozen_bytes},
          {"tiered_bytes", t.tiered_bytes},
          {"dictionary_bytes", t.dictionary_bytes},
          {"thawed_bytes", t.thawed_bytes},
          {"ratio", ratio_of(t)},
          {"invalid_tuples", t.invalid_tuples},
          {"invalid_ranges", t.invalid_ranges},
          {"relevant_tuples", t.relevant_tuples},
          {"irrelevant_tuples", t.irrelevant_tuples},
          {"learned_views", std::move(views)},
          {"attributes", std::move(attributes)}};
}

Json json_of(const TierCacheStatus& c) {
  return {{"name", c.name}, {"policy", c.policy}, {"bytes", c.bytes},           {"used_bytes", c.used_bytes},
          {"hits", c.hits}, {"faults", c.faults}, {"pages_read", c.pages_read}, {"read_errors", c.read_errors}};
}

Json json_of(const TierStatus& t) {
  Json caches = Json::array();
  for (const TierCacheStatus& cache : t.caches) caches.push_back(json_of(cache));
  return {{"memory_bytes", t.memory_bytes},
          {"memory_budget_bytes", t.memory_budget_bytes},
          {"vectors", t.vectors},
          {"vector_bytes", t.vector_bytes},
          {"files", t.files},
          {"evictions", t.evictions},
          {"failed_evictions", t.failed_evictions},
          {"cache_bytes", t.cache_bytes},
          {"cache_used_bytes", t.cache_used_bytes},
          {"cache_hits", t.cache_hits},
          {"cache_faults", t.cache_faults},
          {"pages_read", t.pages_read},
          {"read_errors", t.read_errors},
          {"caches", std::move(caches)}};
}

Json json_of(const CompactionStatus& c) {
  return {{"observer", c.observer},
          {"windows", c.windows},
          {"failed_windows", c.failed_windows},
          {"observer_seconds", c.observer_seconds},
          {"freeze_seconds", c.freeze_seconds},
          {"step_seconds", c.step_seconds},
          {"steps", c.steps},
          {"watched_chunks", c.watched_chunks},
          {"waiting_chunks", c.waiting_chunks},
          {"cooled", c.cooled},
          {"frozen", c.frozen},
          {"returned", c.returned},
          {"emptied", c.emptied},
          {"without_memory", c.without_memory},
          {"moved_tuples", c.moved_tuples},
          {"cooling", c.cooling},
          {"reheated", c.reheated},
          {"relocated_tuples", c.relocated_tuples},
          {"memory_used_bytes", c.memory_used_bytes},
          {"memory_retired_bytes", c.memory_retired_bytes},
          {"memory_budget_bytes", c.memory_budget_bytes},
          {"tier", c.tier.has_value() ? json_of(*c.tier) : Json()}};
}

std::string tables_text(const StorageStatus& status) {
  Rows rows = {{"table", "hot", "cooling", "cold", "frozen", "hot bytes", "frozen bytes", "in files", "dictionaries",
                "ratio", "without tuple", "in ranges"}};
  for (const TableStorage& table : status.tables) {
    const Temperature& t = table.temperature;
    rows.push_back({table.name, grouped(t.hot.tuples), grouped(t.cooling.tuples), grouped(t.cold.tuples),
                    grouped(t.frozen.tuples), grouped(t.hot_bytes), grouped(t.frozen_bytes), grouped(t.tiered_bytes),
                    grouped(t.dictionary_bytes), ratio_text(ratio_of(t)), grouped(t.invalid_tuples),
                    grouped(t.invalid_ranges)});
  }
  return format_cells(rows, {false, true, true, true, true, true, true, true, true, true, true, true});
}

std::string percent_text(double share) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %%", share * 100);
  return text;
}

// Of tables whose frozen chunks were asked for hot data views.
std::string relevance_text(const StorageStatus& status) {
  Rows rows = {
      {"table", "frozen and relevant", "irrelevant", "learned view of", "condition", "statements", "rows left out"}};
  for (const TableStorage& table : status.tables) {
    const Temperature& t = table.temperature;
    if (t.relevant_tuples + t.irrelevant_tuples == 0 && table.learned_views.empty()) continue;
    rows.push_back({table.name, grouped(t.relevant_tuples), grouped(t.irrelevant_tuples), "", "", "", ""});
    for (const LearnedView& view : table.learned_views) {
      rows.push_back(
          {"", "", "", view.workload, view.condition, percent_text(view.statements), percent_text(view.rows_left_out)});
    }
  }
  return rows.size() == 1 ? "" : format_cells(rows, {false, true, true, false, false, true, true});
}

std::string attributes_text(const StorageStatus& status) {
  Rows rows = {{"attribute", "frozen bytes", "thawed bytes", "ratio", "dictionary", "values"}};
  for (const TableStorage& table : status.tables) {
    for (const Temperature::Attribute& attribute : table.temperature.attributes) {
      if (attribute.frozen_bytes == 0) continue;
      rows.push_back({table.name + "." + attribute.name, grouped(attribute.frozen_bytes),
                      grouped(attribute.thawed_bytes), ratio_text(ratio_of(attribute)),
                      grouped(attribute.dictionary_bytes), grouped(attribute.dictionary_values)});
    }
  }
  return rows.size() == 1 ? "" : format_cells(rows, {false, true, true, true, true, true});
}

void add_tier(const TierStatus& t, Rows* rows) {
  rows->push_back({"tier", grouped(t.vector_bytes >> 20) + " MB of " + grouped(t.vectors) + " vectors in " +
                               grouped(t.files) + " files, " + grouped(t.memory_bytes >> 20) + " of " +
                               grouped(t.memory_budget_bytes >> 20) + " MB in memory, " + grouped(t.failed_evictions) +
                               " evictions failed"});
  // a node of before has one, of which it names neither name nor policy
  const TierCacheStatus all = {
      "", "", t.cache_bytes, t.cache_used_bytes, t.cache_hits, t.cache_faults, t.pages_read, t.read_errors};
  for (const TierCacheStatus& c : t.caches.empty() ? std::vector<TierCacheStatus>{all} : t.caches) {
    const std::string policy = c.policy.empty() ? "" : c.policy + ", ";
    rows->push_back({c.name.empty() ? "cache" : "cache " + c.name,
                     grouped(c.used_bytes >> 20) + " of " + grouped(c.bytes >> 20) + " MB, " + policy +
                         grouped(c.hits) + " pages found, " + grouped(c.faults) + " waited for, " +
                         grouped(c.pages_read) + " read, " + grouped(c.read_errors) + " errors"});
  }
}

std::string compaction_text(const CompactionStatus& c) {
  Rows rows = {{"compaction", ""}};
  rows.push_back({"observer", c.observer + ", " + grouped(c.windows) + " windows, " + grouped(c.failed_windows) +
                                  " failed, " + seconds_text(c.observer_seconds)});
  rows.push_back({"chunks", grouped(c.watched_chunks) + " watched, " + grouped(c.cooled) + " became cold, " +
                                grouped(c.waiting_chunks) + " of them wait, " + grouped(c.frozen) + " were frozen, " +
                                grouped(c.returned) + " became hot again, " + grouped(c.emptied) + " were emptied"});
  if (c.without_memory > 0) rows.push_back({"without memory", grouped(c.without_memory) + " chunks"});
  rows.push_back({"cooling", grouped(c.cooling) + " chunks began to, " + grouped(c.reheated) +
                                 " of them became hot again, " + grouped(c.relocated_tuples) +
                                 " tuples were read there and moved"});
  rows.push_back({"tuples moved", grouped(c.moved_tuples)});
  rows.push_back({"compressing", seconds_text(c.freeze_seconds)});
  rows.push_back({"of transactions", seconds_text(c.step_seconds) + " in " + grouped(c.steps) + " steps"});
  rows.push_back({"frozen memory", grouped(c.memory_used_bytes >> 20) + " of " + grouped(c.memory_budget_bytes >> 20) +
                                       " MB, " + grouped(c.memory_retired_bytes >> 20) + " MB only in snapshots"});
  if (c.tier.has_value()) add_tier(*c.tier, &rows);
  return format_cells(rows, {false, false});
}

}  // namespace

std::string storage_json(const StorageStatus& status) {
  Json out;
  out["tables"] = Json::array();
  for (const TableStorage& table : status.tables) out["tables"].push_back(json_of(table));
  out["compaction"] = status.compaction.has_value() ? json_of(*status.compaction) : Json();
  return out.dump() + "\n";
}

std::string storage_table(const StorageStatus& status) {
  std::string out = tables_text(status) + relevance_text(status) + attributes_text(status);
  return out + (status.compaction.has_value() ? compaction_text(*status.compaction) : "compaction: off\n");
}

}  // namespace scyper::client
