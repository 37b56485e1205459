#include <algorithm>

#include "base/check.h"
#include "row_index.h"
#include "storage/string_heap.h"
#include "tuple_place.h"

namespace scyper::storage {
namespace {

// How many tuples a chunk that is not hot has.
uint32_t check_slot(const TablePartition* partition, uint32_t number) {
  CHECK(partition->frozen != nullptr);
  const FrozenSlot& slot = partition->frozen[number];
  if (slot.state == ChunkState::kEmpty) return 0;
  if (slot.state == ChunkState::kFrozen) {
    const FrozenChunk chunk(slot.image, &partition->table->frozen_store()->dictionaries);
    CHECK(chunk.header().count == kChunkTuples && slot.chunk == nullptr);
    CHECK(slot.invalid.positions() >= kChunkTuples - chunk.header().live);
    return kChunkTuples - slot.invalid.positions();
  }
  CHECK(slot.chunk != nullptr && slot.live_before != nullptr);
  CHECK(slot.state == (slot.cooling != nullptr ? ChunkState::kCooling : ChunkState::kCold));
  uint32_t live = 0;
  for (uint32_t i = 0; i < kChunkTuples; ++i) {
    const char byte = slot.chunk[partition->plan->live_offset + i];
    CHECK(byte == 0 || (byte == 1 && slot.live_before[i] == 1));
    live += static_cast<uint32_t>(byte);
  }
  CHECK(live == reinterpret_cast<const ChunkHeader*>(slot.chunk)->live);
  return live;
}

void check_positions(const TablePartition* partition) {
  uint64_t live = 0;
  uint64_t free = 0;
  uint64_t unused = 0;
  for (uint32_t number = 0; number < partition->chunk_count; ++number) {
    char* chunk = partition->chunks[number];
    if (chunk == nullptr) {
      const uint32_t tuples = check_slot(partition, number);
      live += tuples;
      unused += kChunkTuples - tuples;
      continue;
    }
    const auto* header = reinterpret_cast<const ChunkHeader*>(chunk);
    const uint64_t first = uint64_t{number} << kChunkShift;
    CHECK(first < partition->tuple_limit);
    CHECK(header->used == std::min<uint64_t>(kChunkTuples, partition->tuple_limit - first));
    uint32_t chunk_live = 0;
    for (uint32_t i = 0; i < kChunkTuples; ++i) {
      const char byte = *live_byte(partition, first + i);
      CHECK(byte == 0 || (byte == 1 && i < header->used));
      chunk_live += static_cast<uint32_t>(byte);
    }
    CHECK(chunk_live == header->live);
    live += chunk_live;
    uint32_t chunk_free = 0;
    for (uint32_t next = header->free_head; next != 0; next = free_links(partition, chunk)[next - 1]) {
      CHECK(next <= header->used && *live_byte(partition, first + next - 1) == 0);
      CHECK(++chunk_free <= kChunkTuples);
    }
    CHECK(chunk_live + chunk_free == header->used);
    free += chunk_free;
  }
  CHECK(live == partition->live_tuples && live + free + unused == partition->tuple_limit);
  uint64_t listed = 0;
  for (uint32_t next = partition->free_chunk; next != 0;) {
    const auto* header = reinterpret_cast<const ChunkHeader*>(partition->chunks[next - 1]);
    CHECK(header->free_head != 0 && ++listed <= partition->chunk_count);
    for (uint32_t i = header->free_head; i != 0; i = free_links(partition, partition->chunks[next - 1])[i - 1]) --free;
    next = header->next_free_chunk;
  }
  CHECK(free == 0);
}

void check_index(const TablePartition* partition, uint32_t number) {
  const PartitionIndex& index = partition->indexes[number];
  index.ordered->check_structure();
  uint64_t hashed = 0, outside = 0;
  char key[kMaxIndexKeyBytes];
  const IndexPlan& plan = partition->plan->indexes[number];
  ChunkReader reader(partition, plan.columns);
  const bool is_whole = reader.for_each([&](Tid tid, const char* chunk, uint32_t offset) {
    const RowKey info = encode_row_key(plan, chunk, offset, tid, key);
    CHECK(!info.too_large);
    outside += info.size == 0 ? 1 : 0;
    if (info.size == 0) return true;
    CHECK(index.ordered->find(key, info.size) == tid);
    if (info.with_tid) return true;
    ++hashed;
    CHECK(find_unique(partition, number, key, info.size) == tid);
    return true;
  });
  CHECK(is_whole);
  CHECK(index.ordered->size() == partition->live_tuples - outside);
  OrderedCursor cursor;
  index.ordered->seek(&cursor, nullptr, 0, nullptr, 0, false);
  uint64_t visited = 0;
  for (Tid tid = index.ordered->next(&cursor); tid != kNoTid; tid = index.ordered->next(&cursor)) {
    CHECK(is_live(partition, tid));
    ++visited;
  }
  CHECK(visited == index.ordered->size());
  if (index.hash == nullptr) return;
  index.hash->check_structure();
  CHECK(index.hash->size() == hashed);
}

void count_payloads(const TablePartition* partition, const char* chunk, uint32_t offset, uint64_t* pieces,
                    uint64_t* bytes) {
  for (const ColumnPlan& column : partition->plan->payloads) {
    const StringRef payload = payload_of(column.access.kind, cell_of(column.access, chunk, offset));
    CHECK(payload.size == 0 || !is_null(column.access, chunk, offset));
    if (payload.size == 0) continue;
    ++*pieces;
    *bytes += StringHeap::piece_bytes(payload.size);
  }
}

void check_heap(const TablePartition* partition) {
  uint64_t pieces = 0;
  uint64_t bytes = 0;
  for (uint32_t number = 0; number < partition->chunk_count; ++number) {
    const char* chunk = partition->chunks[number];
    const char* live = nullptr;
    if (chunk == nullptr) {
      const FrozenSlot& slot = partition->frozen[number];
      if (slot.chunk == nullptr) continue;
      chunk = slot.chunk;
      live = slot.live_before.get();  // what these refer to is freed with the chunk
    } else {
      live = chunk + partition->plan->live_offset;
    }
    for (uint32_t offset = 0; offset < kChunkTuples; ++offset) {
      if (live[offset] != 0) count_payloads(partition, chunk, offset, &pieces, &bytes);
    }
  }
  CHECK(pieces == partition->heap->in_use_pieces());
  CHECK(bytes == partition->heap->in_use_bytes());
}

}  // namespace

void check_table(const Table& table) {
  for (uint32_t i = 0; i < table.partition_count(); ++i) {
    const TablePartition* partition = table.partition(i);
    check_positions(partition);
    check_heap(partition);
    for (uint32_t j = 0; j < partition->plan->indexes.size(); ++j) check_index(partition, j);
    for (uint32_t j = static_cast<uint32_t>(partition->plan->indexes.size()); j < kMaxIndexesPerTable; ++j) {
      CHECK(partition->indexes[j].ordered == nullptr && partition->indexes[j].hash == nullptr);
    }
  }
}

}  // namespace scyper::storage
