#include "compile/catalog_tables.h"

#include "plan/hot_view.h"
#include "storage/frozen_chunk.h"
#include "storage/frozen_slot.h"
#include "storage/hot_view_learner.h"
#include "storage/hot_views.h"

namespace scyper::query {

StatusOr<std::unique_ptr<storage::FrozenMemory>> make_frozen_memory(size_t bytes_max) {
  if (bytes_max == 0) return std::unique_ptr<storage::FrozenMemory>();
  return storage::FrozenMemory::create(bytes_max);
}

void note_tables(Catalog* catalog, storage::FrozenMemory* frozen, storage::FrozenTier* tier) {
  catalog->schemas.clear();
  for (const auto& [name, table] : catalog->tables) {
    catalog->schemas[table.get()] = &table->schema();
    if (frozen == nullptr || table->frozen_store() != nullptr) continue;
    if (!storage::can_freeze(table->schema())) continue;
    table->allow_freezing(frozen);
    table->frozen_store()->tier = tier;
    if (tier != nullptr && tier->learns())
      table->frozen_store()->learner = std::make_unique<storage::HotViewLearner>(table->schema());
  }
  note_placement(*catalog);
}

void note_placement(const Catalog& catalog) {
  for (const auto& [name, table] : catalog.tables) {
    storage::FrozenStore* store = table->frozen_store();
    if (store == nullptr) continue;
    const auto rules = catalog.rules.find(table->schema().id);
    if (store->tier != nullptr && rules != catalog.rules.end())
      store->tier_cache = store->tier->caches().number_of(rules->second.tier_cache);
    const std::shared_ptr<const storage::HotViews> now = store->hot_views();
    const std::string wanted = hot_views_text(catalog, table->schema().id);
    if ((now == nullptr ? std::string() : now->made_of) == wanted) continue;
    store->set_hot_views(make_hot_views(catalog, table, wanted));
  }
}

}  // namespace scyper::query
