#include "storage/freeze_now.h"

#include <cstring>

#include "row_plan.h"
#include "slots.h"
#include "storage/frozen_chunk.h"
#include "storage/frozen_memory.h"
#include "storage/frozen_slot.h"

namespace scyper::storage {

namespace {

bool has_all_rows(const TablePartition& partition, uint64_t chunk) {
  const char* live = partition.chunks[chunk] + partition.plan->live_offset;
  return std::memchr(live, 0, kChunkTuples) == nullptr;
}

bool uses_more(const Table& table, uint64_t percent) {
  const Arena* arena = table.arena();
  return arena->used_bytes() > arena->budget_bytes() / 100 * percent;
}

}  // namespace

bool freeze_now(TablePartition* partition, uint64_t chunk, bool needs_all_rows) {
  FrozenStore* store = partition->table->frozen_store();
  if (store == nullptr || partition->chunks[chunk] == nullptr || !can_cool(partition, chunk)) return false;
  if (needs_all_rows && !has_all_rows(*partition, chunk)) return false;
  if (!make_cold(partition, chunk)) return false;
  const FrozenSlot& slot = partition->frozen[chunk];
  const FrozenImage image = freeze_chunk(*partition->table, slot.chunk, slot.live_before.get(), store->dictionaries);
  const char* published = publish_image(image, store->memory);
  if (published == nullptr) {
    release_image(image.bytes.data(), store->dictionaries);
    return_to_hot(partition, chunk);
    return false;
  }
  make_frozen(partition, chunk, published);
  return true;
}

uint64_t freeze_while_tight(TablePartition* partition, bool needs_all_rows) {
  const Table& table = *partition->table;
  if (table.frozen_store() == nullptr || !uses_more(table, kTightPercent)) return 0;
  uint64_t frozen = 0;
  for (uint64_t chunk = 0; chunk + 1 < partition->chunk_count && uses_more(table, kRoomyPercent); ++chunk) {
    frozen += freeze_now(partition, chunk, needs_all_rows) ? 1 : 0;
  }
  return frozen;
}

}  // namespace scyper::storage
