#include "tuple_undo.h"

#include <cstring>

#include "base/check.h"
#include "row_index.h"
#include "storage/string_heap.h"
#include "tuple_place.h"

namespace scyper::storage {
namespace {

void undo_insert(const UndoEntry* entry) noexcept {
  TablePartition* partition = entry->partition;
  partition->next_row_id = entry->old_row_id;
  if (entry->tid == kNoTid) return;  // it got no position
  if (*live_byte(partition, entry->tid) != 0) {
    erase_keys(partition, entry->tid);
    set_live(partition, entry->tid, false);
  }
  free_position(partition, entry->tid);
}

void restore_image(UndoEntry* entry) noexcept {
  char* chunk = chunk_of(entry->partition, entry->tid);
  const uint32_t offset = offset_of(entry->tid);
  const char* image = entry->image();
  for (const UpdateDescriptor::Cell& cell : entry->descriptor->cells) {
    std::memcpy(cell_of(cell.access, chunk, offset), image, cell.access.cell_bytes);
    image += cell.access.cell_bytes;
    if (cell.access.null_offset == 0) continue;
    chunk[cell.access.null_offset + uint64_t{offset} * cell.access.null_stride] = *image++;
  }
}

void undo_update(UndoEntry* entry, ChangeLog* log) noexcept {
  TablePartition* partition = entry->partition;
  const char* chunk = chunk_of(partition, entry->tid);
  const uint32_t offset = offset_of(entry->tid);
  char key[kMaxIndexKeyBytes];
  for (uint32_t moved = entry->moved_indexes; moved != 0; moved &= moved - 1) {
    const auto index = static_cast<uint32_t>(__builtin_ctz(moved));
    erase_key(partition, index, key, encode_row_key(partition->plan->indexes[index], chunk, offset, entry->tid, key));
  }
  restore_image(entry);
  for (uint32_t moved = entry->moved_indexes; moved != 0; moved &= moved - 1) {
    const auto index = static_cast<uint32_t>(__builtin_ctz(moved));
    const RowKey info = encode_row_key(partition->plan->indexes[index], chunk, offset, entry->tid, key);
    restore_key(partition, index, key, info, entry->tid, log);
  }
}

void free_image_payloads(UndoEntry* entry) noexcept {
  const UpdateDescriptor& descriptor = *entry->descriptor;
  size_t next = 0;
  const char* image = entry->image();
  for (size_t i = 0; i < descriptor.cells.size() && next < descriptor.payloads.size(); ++i) {
    const ColumnAccess& access = descriptor.cells[i].access;
    if (descriptor.payloads[next] == i) {
      const StringRef payload = payload_of(access.kind, image);
      if (payload.size != 0) entry->partition->heap->free(const_cast<char*>(payload.data), payload.size);
      ++next;
    }
    image += access.cell_bytes + (access.null_offset != 0 ? 1 : 0);
  }
}

// What a cold or frozen chunk holds of a tuple that has gone is freed with the chunk.
void finish_move_or_delete(const UndoEntry* entry) noexcept {
  if (entry->kind == UndoEntry::Kind::kRelocate) {
    mark_changed(entry->partition, entry->from);
    return;
  }
  CHECK(entry->kind == UndoEntry::Kind::kDelete);
  if (chunk_of(entry->partition, entry->tid) == nullptr) return;
  free_payloads(entry->partition, entry->tid);
  free_position(entry->partition, entry->tid);
}

}  // namespace

void undo_row(UndoEntry* entry, ChangeLog* log) noexcept {
  switch (entry->kind) {
    case UndoEntry::Kind::kInsert:
      undo_insert(entry);
      break;
    case UndoEntry::Kind::kUpdate:
      undo_update(entry, log);
      break;
    case UndoEntry::Kind::kDelete:
      restore_keys(entry->partition, entry->tid, log);
      set_live_anywhere(entry->partition, entry->tid, true);
      break;
    case UndoEntry::Kind::kRelocate:
      undo_relocate(entry, log);
      break;
    case UndoEntry::Kind::kPayload:
    case UndoEntry::Kind::kDefinition:
      CHECK(!"a row change");
  }
}

void free_payload(const UndoEntry* entry) noexcept {
  entry->partition->heap->free(entry->payload, entry->payload_bytes);
}

void finish_deferred(UndoEntry* entry) noexcept {
  if (entry->kind == UndoEntry::Kind::kUpdate) {
    free_image_payloads(entry);
  } else {
    finish_move_or_delete(entry);
  }
}

}  // namespace scyper::storage
