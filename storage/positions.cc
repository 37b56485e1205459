#include "positions.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"
#include "slots.h"
#include "storage/string_heap.h"

namespace scyper::storage {

ChunkHeader* new_header(void* memory, const RowPlan& plan) noexcept {
  auto* header = new (memory) ChunkHeader();
  header->bytes = header->bytes_used = plan.chunk_bytes;
  return header;
}

void free_chunk(Arena* arena, char* chunk) noexcept { arena->free(chunk, header_of(chunk)->bytes); }

void forget_chunks(TablePartition* partition) noexcept {
  delete[] std::exchange(partition->chunks, nullptr);
  delete[] std::exchange(partition->changed, nullptr);
  partition->tuple_limit = 0;
  std::atomic_ref(partition->live_tuples).store(0, std::memory_order_relaxed);
  partition->chunk_count = partition->chunk_capacity = partition->free_chunk = 0;
}

bool grow_directory(TablePartition* partition) noexcept {
  const uint32_t capacity = std::max(8u, partition->chunk_capacity * 2);
  char** chunks = new (std::nothrow) char*[capacity];
  auto* changed = new (std::nothrow) uint8_t[capacity];
  if (chunks == nullptr || changed == nullptr || !grow_slots(partition, capacity)) {
    delete[] chunks;
    delete[] changed;
    return false;
  }
  std::copy_n(partition->chunks, partition->chunk_count, chunks);
  std::copy_n(partition->changed, partition->chunk_count, changed);
  delete[] partition->chunks;
  delete[] partition->changed;
  partition->chunks = chunks;
  partition->changed = changed;
  partition->chunk_capacity = capacity;
  return true;
}

Tid take_new_chunk_position(TablePartition* partition) noexcept {
  if (partition->frozen != nullptr && refill_empty(partition)) return take_position(partition);
  if (partition->chunk_count == partition->chunk_capacity && !grow_directory(partition)) return kNoTid;
  void* chunk = partition->table->arena()->allocate(partition->plan->chunk_bytes);
  if (chunk == nullptr) return kNoTid;
  new_header(chunk, *partition->plan)->used = 1;
  partition->chunks[partition->chunk_count] = static_cast<char*>(chunk);
  partition->changed[partition->chunk_count] = kChangedForArchive;
  const Tid tid = uint64_t{partition->chunk_count} << kChunkShift;
  CHECK(tid == partition->tuple_limit);
  ++partition->chunk_count;
  partition->tuple_limit = tid + 1;
  return tid;
}

void free_payloads(TablePartition* partition, Tid tid) noexcept {
  free_payloads(partition, chunk_of(partition, tid), offset_of(tid));
}

void free_payloads(TablePartition* partition, const char* chunk, uint32_t offset) noexcept {
  for (const ColumnPlan& column : partition->plan->payloads) {
    const StringRef payload = payload_of(column.access.kind, cell_of(column.access, chunk, offset));
    if (payload.size != 0) [[unlikely]]
      partition->heap->free(const_cast<char*>(payload.data), payload.size);
  }
}

}  // namespace scyper::storage
