#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "row_plan.h"
#include "storage/cell.h"
#include "storage/change_log.h"
#include "storage/frozen_slot.h"
#include "storage/string_heap.h"
#include "storage/tiered_chunk.h"
#include "tuple_place.h"

namespace scyper::storage {
namespace {

// A piece of the heap that rollback gives back; log == nullptr: the caller sees to that.
char* allocate_payload(TablePartition* partition, ChangeLog* log, uint64_t size) noexcept {
  char* payload = partition->heap->allocate(size);
  if (payload == nullptr) {
    if (log != nullptr) log->fail(ChangeResult::kOutOfMemory);
    return nullptr;
  }
  if (log == nullptr) return payload;
  UndoEntry* entry = log->push(UndoEntry::Kind::kPayload, partition, 0);
  if (entry == nullptr) {
    partition->heap->free(payload, size);
    return nullptr;
  }
  entry->payload = payload;
  entry->payload_bytes = size;
  return payload;
}

ChangeResult failure(const ChangeLog* log) { return log != nullptr ? log->last_result() : ChangeResult::kOutOfMemory; }

uint64_t image_bytes_of(const SqlType& element, const ArrayValue& array) {
  uint64_t bytes = sizeof(ArrayImage) + static_cast<uint64_t>(array.size) * sizeof(Datum);
  if (!holds_bytes(element.id)) return bytes;
  for (int32_t i = 0; i < array.size; ++i) {
    if (array.elements[i].null == 0) bytes += array.elements[i].size();
  }
  return bytes;
}

void write_image(char* piece, uint64_t bytes, const SqlType& type, const ArrayValue& array) {
  auto* image = reinterpret_cast<ArrayImage*>(piece);
  auto* elements = reinterpret_cast<Datum*>(piece + sizeof(ArrayImage));
  image->bytes = bytes;
  image->value = {array.size, array.size, array.lower_bound, type.element, elements};
  char* text = reinterpret_cast<char*>(elements + array.size);
  const bool strings = holds_bytes(type.element);
  for (int32_t i = 0; i < array.size; ++i) {
    const Datum& value = array.elements[i];
    elements[i] = value.null != 0 ? null_datum() : value;
    if (!strings || value.null != 0) continue;
    std::memcpy(text, value.data(), value.size());
    elements[i].lo = reinterpret_cast<int64_t>(text);
    text += value.size();
  }
}

bool same_array(const SqlType& element, const ArrayValue& a, const ArrayValue& b) {
  if (a.size != b.size || a.lower_bound != b.lower_bound) return false;
  return std::equal(a.elements, a.elements + a.size, b.elements,
                    [&](const Datum& x, const Datum& y) { return same_value(element, x, y); });
}

Datum read_frozen(const TablePartition* partition, Tid tid, uint32_t column) noexcept {
  const ColumnPlan& plan = partition->plan->columns[column];
  if (is_tiered(partition, tid)) {
    const TuplePlace place = place_of(partition, tid, {&column, 1});
    return read_datum(plan.access, place.chunk, place.offset, plan.type);
  }
  const FrozenSlot* slot = slot_of(partition, tid);
  CHECK(slot != nullptr && slot->state != ChunkState::kEmpty);
  if (slot->chunk != nullptr) return read_datum(plan.access, slot->chunk, offset_of(tid), plan.type);
  return FrozenChunk(slot->image, &partition->table->frozen_store()->dictionaries).column(column).get(offset_of(tid));
}

}  // namespace

ChangeResult store_string(TablePartition* partition, ChangeLog* log, char* cell, const ColumnAccess* access,
                          const char* data, uint64_t size) noexcept {
  const bool is_short = access->kind == CellKind::kShortString;
  if (data == nullptr) data = "";  // an empty string of row changes
  if (is_short && size < access->cell_bytes) [[likely]] {
    std::memmove(cell + 1, data, size);
    *cell = static_cast<char>(size);
    return ChangeResult::kOk;
  }
  if (!is_short && size <= kLongStringInline) {
    std::memmove(cell + 4, data, size);
    save_cell(cell, static_cast<uint32_t>(size));
    return ChangeResult::kOk;
  }
  char* payload = size <= UINT32_MAX ? allocate_payload(partition, log, size) : nullptr;
  if (payload == nullptr) {
    if (log != nullptr && size > UINT32_MAX) log->fail(ChangeResult::kOutOfMemory);
    write_empty_cell(access->kind, cell, access->cell_bytes);
    return failure(log);
  }
  std::memcpy(payload, data, size);
  if (is_short) {
    CHECK(access->cell_bytes >= 16);
    *cell = static_cast<char>(kShortStringInHeap);
    save_cell(cell + 4, static_cast<uint32_t>(size));
  } else {
    save_cell(cell, static_cast<uint32_t>(size));
    std::memcpy(cell + 4, payload, 4);
  }
  save_cell(cell + 8, payload);
  return ChangeResult::kOk;
}

ChangeResult store_array(TablePartition* partition, ChangeLog* log, char* cell, const ArrayValue* array,
                         const SqlType& type) noexcept {
  const uint64_t bytes = image_bytes_of(element_of(type), *array);
  char* piece = allocate_payload(partition, log, bytes);
  save_cell(cell, piece);
  if (piece == nullptr) return failure(log);
  write_image(piece, bytes, type, *array);
  return ChangeResult::kOk;
}

ChangeResult store_datum(TablePartition* partition, ChangeLog* log, Tid tid, uint32_t column,
                         const Datum& value) noexcept {
  const ColumnPlan& plan = partition->plan->columns[column];
  const ColumnAccess& access = plan.access;
  char* chunk = chunk_of(partition, tid);
  char* cell = cell_of(access, chunk, offset_of(tid));
  if (access.null_offset != 0) {
    chunk[access.null_offset + uint64_t{offset_of(tid)} * access.null_stride] = static_cast<char>(value.null != 0);
  }
  if (value.null != 0) {
    DCHECK(access.null_offset != 0);
    write_empty_cell(access.kind, cell, access.cell_bytes);
    return ChangeResult::kOk;
  }
  switch (access.kind) {
    case CellKind::kShortString:
    case CellKind::kLongString:
      return store_string(partition, log, cell, &access, value.data(), value.size());
    case CellKind::kArray:
      return store_array(partition, log, cell, reinterpret_cast<const ArrayValue*>(value.lo), plan.type);
    default:
      write_plain_cell(access.kind, cell, value);
      return ChangeResult::kOk;
  }
}

Datum read_column(const TablePartition* partition, Tid tid, uint32_t column) noexcept {
  const ColumnPlan& plan = partition->plan->columns[column];
  const char* chunk = chunk_of(partition, tid);
  if (chunk == nullptr) [[unlikely]]
    return read_frozen(partition, tid, column);
  return read_datum(plan.access, chunk, offset_of(tid), plan.type);
}

bool same_value(const SqlType& type, const Datum& a, const Datum& b) {
  if (a.null != 0 || b.null != 0) return a.null != 0 && b.null != 0;
  if (type.id == TypeId::kArray) {
    return same_array(element_of(type), *reinterpret_cast<const ArrayValue*>(a.lo),
                      *reinterpret_cast<const ArrayValue*>(b.lo));
  }
  if (holds_bytes(type.id)) return compare_strings({a.data(), a.size()}, {b.data(), b.size()}) == 0;
  if (type.id == TypeId::kUuid || type.id == TypeId::kInterval) return a.lo == b.lo && a.hi == b.hi;
  if (type.id != TypeId::kNumeric) return a.lo == b.lo;
  return a.lo == b.lo && a.hi == b.hi && a.scale == b.scale;
}

}  // namespace scyper::storage
