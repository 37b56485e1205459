#include "shared_rows.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "positions.h"
#include "row_plan.h"
#include "slots.h"
#include "storage/string_heap.h"

namespace scyper::storage {
namespace {

bool lies_within(const ColumnAccess& access, const ChunkHeader& header) {
  return access.value_offset + uint64_t{access.value_stride} * kChunkTuples <= header.bytes_used;
}

void free_column(const TablePartition& partition, char* chunk, const ColumnAccess& access) {
  if (!lies_within(access, *header_of(chunk))) return;  // it was not made
  const char* live = chunk + partition.plan->live_offset;
  for (uint32_t i = 0; i < header_of(chunk)->used; ++i) {
    if (live[i] == 0) continue;
    const StringRef payload = payload_of(access.kind, cell_of(access, chunk, i));
    if (payload.size != 0) partition.heap->free(const_cast<char*>(payload.data), payload.size);
  }
}

}  // namespace

void SharedRows::add(Table* table) {
  MutexLock lock(&mutex_);
  others_.push_back(table);
}

void SharedRows::move_chunk(uint32_t partition, uint32_t chunk, const char* from, char* to) {
  MutexLock lock(&mutex_);
  auto follow = [&](Table* table) {
    TablePartition* has = table->partition(partition);
    if (chunk < has->chunk_count && has->chunks[chunk] == from) has->chunks[chunk] = to;
  };
  follow(owner_);
  for (Table* table : others_) follow(table);
}

bool SharedRows::drop_index(Table* table, uint32_t partition, uint32_t index) {
  MutexLock lock(&mutex_);
  if (others_.empty()) return false;
  forget_index(table, partition, index);
  return true;
}

void SharedRows::note_thawed(const Table* table, uint32_t partition, uint32_t chunk) {
  MutexLock lock(&mutex_);
  thawed_.push_back({table, partition, chunk});
}

void SharedRows::note_payload(const Table* table, const ColumnAccess& access) {
  MutexLock lock(&mutex_);
  payloads_.push_back({table, access});
}

bool SharedRows::leave(Table* table) {
  MutexLock lock(&mutex_);
  if (table == owner_) {
    if (others_.empty()) return false;
    hand_over();
    return true;
  }
  const auto at = std::find(others_.begin(), others_.end(), table);
  if (at == others_.end()) return true;  // its rows have gone before
  const Table* next = at + 1 == others_.end() ? nullptr : at[1];
  others_.erase(at);
  if (next == nullptr) {
    take_back(*table, others_.empty() ? *owner_ : *others_.back());
  } else {  // what it has added may be in the next one, too
    for (Thawed& thawed : thawed_)
      if (thawed.table == table) thawed.table = next;
    for (Payload& payload : payloads_)
      if (payload.table == table) payload.table = next;
  }
  forget_rows(table);
  return true;
}

// The table that was made last owns the rows. All others lose them.
void SharedRows::hand_over() {
  others_.insert(others_.begin(), std::exchange(owner_, others_.back()));
  others_.pop_back();
  while (!others_.empty()) {
    Table* table = others_.back();
    others_.pop_back();
    forget_rows(table);
  }
  thawed_.clear();
  payloads_.clear();
}

// The table that was made last goes with what it has added to the one before it.
void SharedRows::take_back(const Table& last, const Table& before) {
  auto is_thawed = [&](uint32_t partition, uint32_t chunk) {
    return std::any_of(thawed_.begin(), thawed_.end(), [&](const Thawed& thawed) {
      return thawed.table == &last && thawed.partition == partition && thawed.chunk == chunk;
    });
  };
  for (uint32_t i = 0; i < last.partition_count(); ++i) {
    const TablePartition& partition = *last.partition(i);
    for (uint32_t c = 0; c < partition.chunk_count; ++c) {
      char* chunk = partition.chunks[c];
      for (const Payload& payload : payloads_)
        if (payload.table == &last) free_column(partition, chunk, payload.access);
      if (is_thawed(i, c)) {
        for (const ColumnPlan& column : before.plan().payloads) free_column(partition, chunk, column.access);
        free_chunk(last.arena(), chunk);
      } else {
        header_of(chunk)->bytes_used = before.layout().chunk_bytes;
      }
    }
  }
  std::erase_if(thawed_, [&](const Thawed& thawed) { return thawed.table == &last; });
  std::erase_if(payloads_, [&](const Payload& payload) { return payload.table == &last; });
}

void SharedRows::forget_rows(Table* table) {
  for (uint32_t i = 0; i < table->partition_count(); ++i) {
    TablePartition* partition = table->partition(i);
    for (uint32_t index = 0; index < kMaxIndexesPerTable; ++index) forget_index(table, i, index);
    free_slots(partition, /*frees_texts=*/true);
    forget_chunks(partition);
    partition->heap = nullptr;
  }
}

// An index that another table has stays. A hash companion that only this one has goes to the owner.
void SharedRows::forget_index(Table* table, uint32_t partition, uint32_t index) {
  const PartitionIndex mine = std::exchange(table->partition(partition)->indexes[index], {});
  if (mine.ordered == nullptr) return;
  bool is_used = false, is_hash_used = mine.hash == nullptr;
  auto look = [&](Table* other) {
    if (other == table) return;
    for (PartitionIndex& entry : other->partition(partition)->indexes) {
      if (entry.ordered != mine.ordered) continue;
      is_used = true;
      if (other == owner_ && entry.hash == nullptr) entry.hash = mine.hash;
      is_hash_used = is_hash_used || entry.hash == mine.hash;
    }
  };
  look(owner_);
  for (Table* other : others_) look(other);
  if (!is_used) delete mine.ordered;
  if (!is_hash_used) delete mine.hash;
}

}  // namespace scyper::storage
