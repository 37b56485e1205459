#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "row_index.h"
#include "row_redo.h"
#include "tuple_place.h"

namespace scyper::storage {
namespace {

bool records(const ChangeLog* log, const TablePartition* partition) {
  return log->records_redo() && partition->plan->is_logged;
}

// An update that names no column changes nothing, and a record of it would say so.
bool records(const ChangeLog* log, const TablePartition* partition, const UpdateDescriptor& descriptor) {
  return records(log, partition) && !descriptor.cells.empty();
}

void save_image(const UpdateDescriptor& descriptor, const char* chunk, uint32_t offset, char* image) {
  for (const UpdateDescriptor::Cell& cell : descriptor.cells) {
    const char* from = cell_of(cell.access, chunk, offset);
    switch (cell.access.cell_bytes) {  // constant sizes become single moves
      case 4:
        std::memcpy(image, from, 4);
        break;
      case 8:
        std::memcpy(image, from, 8);
        break;
      default:
        std::memcpy(image, from, cell.access.cell_bytes);
    }
    image += cell.access.cell_bytes;
    if (cell.access.null_offset == 0) continue;
    *image++ = chunk[cell.access.null_offset + uint64_t{offset} * cell.access.null_stride];
  }
}

void save_keys(TablePartition* partition, Tid tid, uint32_t affected, ChangeLog* log) {
  for (; affected != 0; affected &= affected - 1) {
    const auto index = static_cast<uint32_t>(__builtin_ctz(affected));
    const RowKey info = encode_row_key(partition->plan->indexes[index], chunk_of(partition, tid), offset_of(tid), tid,
                                       log->key_scratch(index));
    log->saved_keys()[index] = {info.size, info.with_tid};
  }
}

ChangeResult fail_key(ChangeResult result, const ChangeLog::Conflict& conflict, ChangeLog* log) {
  log->set_conflict(conflict);
  return log->fail_row(result);
}

// Entries whose bytes have changed move; entry->moved_indexes says which, so that the entry's undo knows.
ChangeResult move_keys(TablePartition* partition, Tid tid, uint32_t affected, UndoEntry* entry, ChangeLog* log) {
  char key[kMaxIndexKeyBytes];
  for (; affected != 0; affected &= affected - 1) {
    const auto index = static_cast<uint32_t>(__builtin_ctz(affected));
    const char* old_key = log->key_scratch(index);
    const RowKey old_info{log->saved_keys()[index].size, log->saved_keys()[index].with_tid, false};
    const RowKey info =
        encode_row_key(partition->plan->indexes[index], chunk_of(partition, tid), offset_of(tid), tid, key);
    if (info.size == old_info.size && std::memcmp(key, old_key, info.size) == 0) continue;
    if (!log->will_erase_keys(1)) return log->last_result();
    erase_key(partition, index, old_key, old_info);
    ChangeLog::Conflict conflict;
    const ChangeResult result = insert_key(partition, index, key, info, tid, &conflict);
    if (result != ChangeResult::kOk) {
      log->set_conflict(conflict);
      restore_key(partition, index, old_key, old_info, tid, log);
      return result;
    }
    entry->moved_indexes |= 1u << index;
  }
  return ChangeResult::kOk;
}

}  // namespace

Tid insert_begin(TablePartition* partition, ChangeLog* log) noexcept {
  log->open_row();
  UndoEntry* entry = log->push(UndoEntry::Kind::kInsert, partition, 0);
  if (entry == nullptr) return kNoTid;
  entry->old_row_id = partition->next_row_id;
  entry->tid = kNoTid;
  const Tid tid = take_position(partition);
  if (tid == kNoTid) {
    log->fail_row(ChangeResult::kOutOfMemory);
    return kNoTid;
  }
  entry->tid = tid;
  write_row_id(partition, tid);
  return tid;
}

ChangeResult insert_finish(TablePartition* partition, Tid tid, ChangeLog* log) noexcept {
  DCHECK(*live_byte(partition, tid) == 0);
  if (records(log, partition) && !log_insert(log, partition, tid)) return log->fail_row(log->last_result());
  ChangeLog::Conflict conflict;
  const ChangeResult result = insert_keys(partition, tid, &conflict);
  if (result != ChangeResult::kOk) [[unlikely]]
    return fail_key(result, conflict, log);
  set_live(partition, tid, true);
  return ChangeResult::kOk;
}

Tid find_conflict(const TablePartition* partition, Tid tid, uint32_t indexes) noexcept {
  char key[kMaxIndexKeyBytes];
  for (; indexes != 0; indexes &= indexes - 1) {
    const auto index = static_cast<uint32_t>(__builtin_ctz(indexes));
    const RowKey info =
        encode_row_key(partition->plan->indexes[index], chunk_of(partition, tid), offset_of(tid), tid, key);
    if (info.with_tid || info.too_large) continue;
    const Tid found = find_unique(partition, index, key, info.size);
    if (found != kNoTid) return found;
  }
  return kNoTid;
}

ChangeResult insert_one_key(TablePartition* partition, uint32_t index, Tid tid, ChangeLog* log) noexcept {
  ChangeLog::Conflict conflict;
  const ChangeResult result = insert_index_key(partition, index, tid, &conflict);
  return result == ChangeResult::kOk ? result : fail_key(result, conflict, log);
}

ChangeResult insert_one_key(TablePartition* partition, uint32_t index, uint64_t first, uint64_t second, Tid tid,
                            ChangeLog* log) noexcept {
  ChangeLog::Conflict conflict;
  const ChangeResult result = insert_index_words(partition, index, first, second, tid, &conflict);
  return result == ChangeResult::kOk ? result : fail_key(result, conflict, log);
}

void insert_abandon([[maybe_unused]] TablePartition* partition, [[maybe_unused]] Tid tid, ChangeLog* log) noexcept {
  DCHECK(*live_byte(partition, tid) == 0);
  log->fail_row(ChangeResult::kOk);
}

ChangeResult update_begin(TablePartition* partition, Tid tid, const UpdateDescriptor* descriptor,
                          ChangeLog* log) noexcept {
  DCHECK(*live_byte(partition, tid) != 0);
  log->open_row();
  UndoEntry* entry = log->push(UndoEntry::Kind::kUpdate, partition, descriptor->image_bytes);
  if (entry == nullptr) return log->last_result();
  entry->tid = tid;
  entry->descriptor = descriptor;
  save_image(*descriptor, chunk_of(partition, tid), offset_of(tid), entry->image());
  if (!descriptor->payloads.empty()) log->defer(entry);
  if (descriptor->affected_indexes != 0) save_keys(partition, tid, descriptor->affected_indexes, log);
  if (records(log, partition, *descriptor) && !log_update_key(log, partition, tid, *descriptor)) {
    return log->fail_row(log->last_result());
  }
  return ChangeResult::kOk;
}

ChangeResult update_finish(TablePartition* partition, Tid tid, const UpdateDescriptor* descriptor,
                           ChangeLog* log) noexcept {
  if (records(log, partition, *descriptor) && !log_update_values(log, partition, tid, *descriptor)) {
    return log->fail_row(log->last_result());
  }
  if (descriptor->affected_indexes == 0) return ChangeResult::kOk;
  UndoEntry* entry = log->top();
  while (entry->kind == UndoEntry::Kind::kPayload) entry = entry->previous;
  CHECK(entry->kind == UndoEntry::Kind::kUpdate && entry->tid == tid && entry->partition == partition);
  const ChangeResult result = move_keys(partition, tid, descriptor->affected_indexes, entry, log);
  return result == ChangeResult::kOk ? result : log->fail_row(result);
}

ChangeResult delete_tuple(TablePartition* partition, Tid tid, ChangeLog* log) noexcept {
  CHECK(has_tuple(partition, tid));
  log->open_row();
  if (records(log, partition) && !log_delete(log, partition, tid)) return log->last_result();
  if (!log->will_erase_keys(partition->plan->indexes.size())) return log->fail_row(log->last_result());
  UndoEntry* entry = log->push(UndoEntry::Kind::kDelete, partition, 0);
  if (entry == nullptr) return log->fail_row(log->last_result());
  entry->tid = tid;
  erase_keys(partition, tid);
  set_live_anywhere(partition, tid, false);
  log->defer(entry);
  return ChangeResult::kOk;
}

bool is_live(const TablePartition* partition, Tid tid) noexcept {
  return tid < partition->tuple_limit && has_tuple(partition, tid);
}

UpdateDescriptor make_update_descriptor(const Table& table, std::span<const uint32_t> columns) {
  UpdateDescriptor descriptor;
  std::vector<uint32_t> sorted(columns.begin(), columns.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (uint32_t column : sorted) {
    const ColumnAccess& access = table.layout().columns[column];
    if (may_have_payload(access.kind)) descriptor.payloads.push_back(static_cast<uint32_t>(descriptor.cells.size()));
    descriptor.cells.push_back({access, column});
    descriptor.image_bytes += access.cell_bytes + (access.null_offset != 0 ? 1 : 0);
  }
  const TableSchema& schema = table.schema();
  descriptor.values = make_row_values(schema, table.layout(), sorted);
  for (size_t i = 0; i < schema.indexes.size(); ++i) {
    for (uint32_t column : schema.indexes[i].columns) {
      if (std::binary_search(sorted.begin(), sorted.end(), column)) descriptor.affected_indexes |= 1u << i;
    }
  }
  descriptor.redo_prefix = row_change_prefix(RowChangeKind::kUpdate, schema.id, sorted);
  return descriptor;
}

}  // namespace scyper::storage
