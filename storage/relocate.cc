#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "base/check.h"
#include "frozen_entry.h"
#include "frozen_gather.h"
#include "row_index.h"
#include "storage/change_log.h"
#include "storage/frozen_slot.h"
#include "tuple_place.h"

namespace scyper::storage {
namespace {

RowKey encode_at(const TablePartition* partition, uint32_t index, Tid place, Tid tid, char* key) {
  return encode_row_key(partition->plan->indexes[index], chunk_of(partition, place), offset_of(place), tid, key);
}

void set_null(const ColumnAccess& access, char* chunk, uint32_t offset, bool null) {
  if (access.null_offset == 0) return;
  chunk[access.null_offset + uint64_t{offset} * access.null_stride] = static_cast<char>(null ? 1 : 0);
}

// Texts into the heap, all else as it is.
bool copy_cells(TablePartition* partition, TuplePlace from, Tid to, ChangeLog* log) noexcept {
  char* chunk = chunk_of(partition, to);
  const uint32_t offset = offset_of(to);
  for (const ColumnPlan& column : partition->plan->columns) {
    const ColumnAccess& access = column.access;
    const char* cell = cell_of(access, from.chunk, from.offset);
    char* copy = cell_of(access, chunk, offset);
    const bool null = is_null(access, from.chunk, from.offset);
    set_null(access, chunk, offset, null);
    if (null) {
      write_empty_cell(access.kind, copy, access.cell_bytes);
      continue;
    }
    std::memcpy(copy, cell, access.cell_bytes);
    const StringRef payload = payload_of(access.kind, cell);
    if (payload.size == 0) continue;
    write_empty_cell(access.kind, copy, access.cell_bytes);
    if (store_string(partition, log, copy, &access, payload.data, payload.size) != ChangeResult::kOk) return false;
  }
  return true;
}

// Columns without payload to a hot chunk; what reading the others begins with is asked for.
void decode_numbers(const FrozenChunk& image, const RowPlan& plan, uint32_t position, char* chunk, uint32_t offset) {
  uint32_t numbers[16];
  size_t count = 0;
  const auto flush = [&] {
    gather_tuple(image, plan.columns, {numbers, count}, position, chunk, offset);
    count = 0;
  };
  for (const uint32_t column : plan.all_columns) {
    if (may_have_payload(plan.columns[column].access.kind)) {
      const FrozenHeader& head = image.header_of(column);
      prefetch_entry(head, find_entry(head, position));
      continue;
    }
    numbers[count++] = column;
    if (count == std::size(numbers)) flush();
  }
  flush();
}

// The same from an image, without a window between.
bool decode_cells(TablePartition* partition, const FrozenSlot& slot, uint32_t position, Tid to,
                  ChangeLog* log) noexcept {
  char* chunk = chunk_of(partition, to);
  const uint32_t offset = offset_of(to);
  const FrozenStore* store = partition->table->frozen_store();
  const FrozenChunk image(slot.image, &store->dictionaries);
  const uint32_t now = slot.marks == nullptr ? 0 : store->tier->now();
  const uint32_t cost = slot.marks == nullptr ? 0 : sampled_cost();
  decode_numbers(image, *partition->plan, position, chunk, offset);
  uint32_t number = 0;
  for (const ColumnPlan& column : partition->plan->columns) {
    const ColumnAccess& access = column.access;
    if (slot.marks != nullptr) mark_use(slot.marks, now, number, cost);
    const FrozenVector vector = image.column(number++);
    char* cell = cell_of(access, chunk, offset);
    const bool has_payload = may_have_payload(access.kind);
    if (has_payload) set_null(access, chunk, offset, access.null_offset != 0 && vector.is_null(position));
    if (is_null(access, chunk, offset)) {
      write_empty_cell(access.kind, cell, access.cell_bytes);
    } else if (has_payload) {
      const Datum text = vector.get(position);
      if (store_string(partition, log, cell, &access, text.data(), text.size()) != ChangeResult::kOk) return false;
    }
  }
  return true;
}

bool copy_tuple(TablePartition* partition, Tid tid, Tid to, ChangeLog* log) noexcept {
  const FrozenSlot& slot = *slot_of(partition, tid);
  if (slot.state == ChunkState::kFrozen && !is_tiered(partition, tid)) {
    return decode_cells(partition, slot, offset_of(tid), to, log);
  }
  return copy_cells(partition, place_of(partition, tid, partition->plan->all_columns), to, log);
}

// Whether entries never end with a Tid, so that they stay where they are and lead elsewhere.
bool stays_in_place(const IndexPlan& index) { return index.unique && !index.nullable; }

uint32_t count_moving_keys(const TablePartition* partition) {
  const std::vector<IndexPlan>& indexes = partition->plan->indexes;
  const auto staying = std::count_if(indexes.begin(), indexes.end(), stays_in_place);
  return static_cast<uint32_t>(indexes.size()) - static_cast<uint32_t>(staying);
}

// The entry's undo moves back what has been moved; without one: what has been moved stays so.
ChangeResult move_entries(TablePartition* partition, Tid from, Tid to, UndoEntry* entry, ChangeLog* log) noexcept {
  for (uint32_t index = 0; index < partition->plan->indexes.size(); ++index) {
    char key[kMaxIndexKeyBytes];
    const RowKey old_key = encode_at(partition, index, to, from, key);
    if (stays_in_place(partition->plan->indexes[index])) {
      replace_key(partition, index, key, old_key, to);
      if (entry != nullptr) entry->moved_indexes |= 1u << index;
      continue;
    }
    erase_key(partition, index, key, old_key);
    char moved[kMaxIndexKeyBytes];
    ChangeLog::Conflict conflict;
    const ChangeResult result =
        insert_key(partition, index, moved, encode_at(partition, index, to, to, moved), to, &conflict);
    if (result != ChangeResult::kOk) {
      CHECK(result == ChangeResult::kOutOfMemory);
      if (entry != nullptr) restore_key(partition, index, key, old_key, from, log);
      return result;
    }
    if (entry != nullptr) entry->moved_indexes |= 1u << index;
  }
  return ChangeResult::kOk;
}

}  // namespace

Tid make_hot(TablePartition* partition, Tid tid, ChangeLog* log) noexcept {
  if (chunk_of(partition, tid) != nullptr) return tid;
  CHECK(has_tuple(partition, tid));
  log->open_row();
  auto fail = [&](ChangeResult result) {
    log->fail_row(result);
    return kNoTid;
  };
  if (!log->will_erase_keys(count_moving_keys(partition))) return fail(log->last_result());
  UndoEntry* entry = log->push(UndoEntry::Kind::kRelocate, partition, 0);
  if (entry == nullptr) return fail(log->last_result());
  entry->from = tid;
  entry->tid = take_position(partition);
  if (entry->tid == kNoTid) return fail(ChangeResult::kOutOfMemory);
  const Tid to = entry->tid;
  if (!copy_tuple(partition, tid, to, log)) {
    return fail(log->last_result());
  }
  const ChangeResult result = move_entries(partition, tid, to, entry, log);
  if (result != ChangeResult::kOk) return fail(result);
  set_live_anywhere(partition, tid, false);
  set_live(partition, to, true);
  log->defer(entry);
  return to;
}

Tid make_hot_for_good(TablePartition* partition, Tid tid) noexcept {
  CHECK(chunk_of(partition, tid) == nullptr && has_tuple(partition, tid));
  const Tid to = take_position(partition);
  if (to == kNoTid) return kNoTid;
  if (!copy_tuple(partition, tid, to, nullptr)) return kNoTid;
  if (move_entries(partition, tid, to, nullptr, nullptr) != ChangeResult::kOk) return kNoTid;
  set_live_anywhere(partition, tid, false);
  set_live(partition, to, true);
  return to;
}

void undo_relocate(UndoEntry* entry, ChangeLog* log) noexcept {
  TablePartition* partition = entry->partition;
  const Tid to = entry->tid;
  if (to == kNoTid) return;
  char key[kMaxIndexKeyBytes];
  for (uint32_t moved = entry->moved_indexes; moved != 0; moved &= moved - 1) {
    const auto index = static_cast<uint32_t>(__builtin_ctz(moved));
    if (stays_in_place(partition->plan->indexes[index])) {
      replace_key(partition, index, key, encode_at(partition, index, to, entry->from, key), entry->from);
      continue;
    }
    erase_key(partition, index, key, encode_at(partition, index, to, to, key));
    restore_key(partition, index, key, encode_at(partition, index, to, entry->from, key), entry->from, log);
  }
  if (*live_byte(partition, to) != 0) {
    set_live(partition, to, false);
    set_live_anywhere(partition, entry->from, true);
  }
  free_position(partition, to);
}

}  // namespace scyper::storage
