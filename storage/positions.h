#pragma once

#include <atomic>

#include "row_plan.h"
#include "storage/table.h"

// Tuple positions of a partition: freed ones first, then the next new one.
namespace scyper::storage {

Tid take_new_chunk_position(TablePartition* partition) noexcept;
inline ChunkHeader* header_of(char* chunk) { return reinterpret_cast<ChunkHeader*>(chunk); }
inline const ChunkHeader* header_of(const char* chunk) { return reinterpret_cast<const ChunkHeader*>(chunk); }
// Of a chunk that begins at `memory`.
ChunkHeader* new_header(void* memory, const RowPlan& plan) noexcept;
// Frees a chunk that is not frozen.
void free_chunk(Arena* arena, char* chunk) noexcept;
// The partition has no chunks any more, and no room for some. Nothing that they took is freed.
void forget_chunks(TablePartition* partition) noexcept;
// Room for more chunks; false: no memory.
bool grow_directory(TablePartition* partition) noexcept;

inline uint16_t* free_links(const TablePartition* partition, char* chunk) {
  return reinterpret_cast<uint16_t*>(chunk + partition->plan->free_offset);
}

// kNoTid when the memory budget is used up.
inline Tid take_position(TablePartition* partition) noexcept {
  if (partition->free_chunk != 0) {
    const uint64_t number = partition->free_chunk - 1;
    char* chunk = partition->chunks[number];
    ChunkHeader* header = header_of(chunk);
    const uint32_t offset = header->free_head - 1;
    header->free_head = free_links(partition, chunk)[offset];
    if (header->free_head == 0) {
      partition->free_chunk = header->next_free_chunk;
      header->next_free_chunk = 0;
    }
    return number << kChunkShift | offset;
  }
  const Tid tid = partition->tuple_limit;
  if (tid >> kChunkShift == partition->chunk_count) [[unlikely]]
    return take_new_chunk_position(partition);
  ++header_of(chunk_of(partition, tid))->used;
  partition->tuple_limit = tid + 1;
  return tid;
}

inline void free_position(TablePartition* partition, Tid tid) noexcept {
  char* chunk = chunk_of(partition, tid);
  ChunkHeader* header = header_of(chunk);
  const uint32_t offset = offset_of(tid);
  free_links(partition, chunk)[offset] = static_cast<uint16_t>(header->free_head);
  if (header->free_head == 0) {
    header->next_free_chunk = partition->free_chunk;
    partition->free_chunk = static_cast<uint32_t>(tid >> kChunkShift) + 1;
  }
  header->free_head = offset + 1;
}

inline char* live_byte(const TablePartition* partition, Tid tid) {
  return chunk_of(partition, tid) + partition->plan->live_offset + offset_of(tid);
}
inline void set_live(TablePartition* partition, Tid tid, bool live) noexcept {
  *live_byte(partition, tid) = live ? 1 : 0;
  ChunkHeader* header = header_of(chunk_of(partition, tid));
  header->live += live ? 1 : -1;
  // only the partition's worker writes it; others read it for estimates
  std::atomic_ref(partition->live_tuples).store(partition->live_tuples + (live ? 1 : -1), std::memory_order_relaxed);
}

// The hidden row id of a new tuple.
inline void write_row_id(TablePartition* partition, Tid tid) noexcept {
  const RowPlan& plan = *partition->plan;
  if (plan.row_id_column < 0) return;
  const uint64_t id = partition->next_row_id++ * partition->partitions + partition->partition;
  const ColumnAccess& access = plan.columns[static_cast<size_t>(plan.row_id_column)].access;
  save_cell(cell_of(access, chunk_of(partition, tid), offset_of(tid)), id);
}

// Gives back what the cells of a tuple refer to.
void free_payloads(TablePartition* partition, Tid tid) noexcept;
void free_payloads(TablePartition* partition, const char* chunk, uint32_t offset) noexcept;

}  // namespace scyper::storage
