#include "admin_service.h"
#include "replay/compaction.h"
#include "storage/frozen_tier.h"

namespace scyper::server {

namespace {

void fill_part(const storage::TableTemperature::Part& part, v1::TableStorage::Part* out) {
  out->set_chunks(part.chunks);
  out->set_tuples(part.tuples);
}

void fill_view(const query::LearnedViewInfo& view, v1::TableStorage::LearnedView* out) {
  out->set_name(view.name);
  out->set_workload(view.workload);
  out->set_condition(view.condition);
  for (const std::string& column : view.columns) out->add_columns(column);
  out->set_statements(view.statements);
  out->set_rows_left_out(view.rows_left_out);
}

void fill_table(const primary::Engine::TableInfo& info, v1::TableStorage* out) {
  const storage::TableTemperature& table = info.temperature;
  out->set_name(info.name);
  fill_part(table.hot, out->mutable_hot());
  fill_part(table.cooling, out->mutable_cooling());
  fill_part(table.cold, out->mutable_cold());
  fill_part(table.frozen, out->mutable_frozen());
  out->set_hot_bytes(table.hot_bytes);
  out->set_frozen_bytes(table.frozen_bytes);
  out->set_dictionary_bytes(table.dictionary_bytes);
  out->set_thawed_bytes(table.thawed_bytes);
  out->set_invalid_tuples(table.invalid_tuples);
  out->set_invalid_ranges(table.invalid_ranges);
  out->set_tiered_bytes(table.tiered_bytes);
  out->set_relevant_tuples(table.relevant_tuples);
  out->set_irrelevant_tuples(table.irrelevant_tuples);
  for (const query::LearnedViewInfo& view : info.learned_views) fill_view(view, out->add_learned_views());
  for (const auto& attribute : table.attributes) {
    v1::TableStorage::Attribute* made = out->add_attributes();
    made->set_name(attribute.name);
    made->set_frozen_bytes(attribute.frozen_bytes);
    made->set_thawed_bytes(attribute.thawed_bytes);
    made->set_dictionary_bytes(attribute.dictionary_bytes);
    made->set_dictionary_values(attribute.dictionary_values);
  }
}

double seconds(uint64_t ns) { return static_cast<double>(ns) / 1e9; }

void fill_cache(const std::string& name, storage::PageCache* cache, v1::TierCache* out) {
  const storage::PageCacheStatistics now = cache->statistics();
  out->set_name(name);
  out->set_policy(storage::policy_name(cache->options().policy));
  out->set_bytes(now.pages * storage::FrozenTier::kPageBytes);
  out->set_used_bytes(now.resident_pages * storage::FrozenTier::kPageBytes);
  out->set_hits(now.hits);
  out->set_faults(now.faults);
  out->set_pages_read(now.pages_read);
  out->set_read_errors(now.read_errors + now.short_reads + now.checksum_errors);
}

void fill_tier(storage::FrozenTier* tier, v1::Tier* out) {
  const storage::FrozenTier::Counts counts = tier->counts();
  out->set_memory_bytes(tier->resident_bytes());
  out->set_memory_budget_bytes(tier->memory_budget_bytes());
  out->set_vectors(counts.tiered_vectors);
  out->set_vector_bytes(counts.tiered_bytes);
  out->set_files(counts.files);
  out->set_evictions(counts.evictions);
  out->set_failed_evictions(counts.failed_evictions);
  const storage::TierCaches& caches = tier->caches();
  for (uint32_t i = 0; i < caches.count(); ++i) {
    v1::TierCache* cache = out->add_caches();
    fill_cache(caches.name(i), caches.cache(i), cache);
    out->set_cache_bytes(out->cache_bytes() + cache->bytes());
    out->set_cache_used_bytes(out->cache_used_bytes() + cache->used_bytes());
    out->set_cache_hits(out->cache_hits() + cache->hits());
    out->set_cache_faults(out->cache_faults() + cache->faults());
    out->set_pages_read(out->pages_read() + cache->pages_read());
    out->set_read_errors(out->read_errors() + cache->read_errors());
  }
}

void fill_compaction(const replay::Compaction& compaction, v1::Compaction* out) {
  const storage::Compactor::Counts counts = compaction.counts();
  const storage::FrozenMemory::Usage memory = compaction.memory();
  out->set_observer(std::string(compaction.observer()));
  out->set_windows(counts.windows);
  out->set_failed_windows(counts.failed_windows);
  out->set_observer_seconds(seconds(counts.observe_ns));
  out->set_freeze_seconds(seconds(counts.freeze_ns));
  out->set_step_seconds(seconds(compaction.step_ns()));
  out->set_steps(compaction.steps());
  out->set_watched_chunks(counts.watched);
  out->set_waiting_chunks(counts.waiting);
  out->set_cooled(counts.cooled);
  out->set_frozen(counts.frozen);
  out->set_returned(counts.returned);
  out->set_cooling(counts.cooling);
  out->set_reheated(counts.reheated);
  out->set_relocated_tuples(counts.relocated);
  out->set_emptied(counts.emptied);
  out->set_without_memory(counts.without_memory);
  out->set_moved_tuples(counts.moved);
  out->set_memory_used_bytes(memory.used_bytes);
  out->set_memory_retired_bytes(memory.retired_bytes);
  out->set_memory_budget_bytes(compaction.memory_budget_bytes());
  if (compaction.tier() != nullptr) fill_tier(compaction.tier(), out->mutable_tier());
}

}  // namespace

void fill_storage(NodeParts* node, v1::StorageResponse* out) {
  for (const auto& table : node->engine->tables()) fill_table(table, out->add_tables());
  const replay::Compaction* compaction = node->engine->compaction();
  if (compaction != nullptr) fill_compaction(*compaction, out->mutable_compaction());
}

}  // namespace scyper::server
