#include "row_redo.h"

namespace scyper::storage {
namespace {

char* put_prefix(char* out, const std::string& prefix, const TablePartition* partition) {
  std::memcpy(out, prefix.data(), prefix.size());
  return put_varint(out + prefix.size(), partition->partition);
}

bool log_key(ChangeLog* log, const TablePartition* partition, Tid tid, const std::string& prefix) noexcept {
  const RowPlan& plan = *partition->plan;
  const char* chunk = chunk_of(partition, tid);
  const uint32_t offset = offset_of(tid);
  uint64_t bytes = prefix.size() + kVarintBytesMax + kVarintSlackBytes;
  for (uint32_t i : plan.identity) {
    const ColumnPlan& column = plan.columns[i];
    bytes +=
        canonical_bytes_max(column.access) + payload_canonical_bytes(column, cell_of(column.access, chunk, offset));
  }
  char* out = log->redo_reserve(bytes);
  if (out == nullptr) return false;
  out = put_prefix(out, prefix, partition);
  for (uint32_t i : plan.identity) {
    const ColumnPlan& column = plan.columns[i];
    out = put_canonical(out, column.access, column.type, cell_of(column.access, chunk, offset));
  }
  log->redo_advance(out);
  return true;
}

}  // namespace

bool log_insert(ChangeLog* log, const TablePartition* partition, Tid tid) noexcept {
  const RowPlan& plan = *partition->plan;
  const char* chunk = chunk_of(partition, tid);
  const uint32_t offset = offset_of(tid);
  char* out = log->redo_reserve(plan.insert_prefix.size() + kVarintBytesMax + row_body_bytes_max(plan, chunk, offset));
  if (out == nullptr) return false;
  out = put_prefix(out, plan.insert_prefix, partition);
  log->redo_advance(put_row_body(out, plan, chunk, offset));
  return true;
}

bool log_delete(ChangeLog* log, const TablePartition* partition, Tid tid) noexcept {
  return log_key(log, partition, tid, partition->plan->delete_prefix);
}

bool log_update_key(ChangeLog* log, const TablePartition* partition, Tid tid,
                    const UpdateDescriptor& descriptor) noexcept {
  return log_key(log, partition, tid, descriptor.redo_prefix);
}

bool log_update_values(ChangeLog* log, const TablePartition* partition, Tid tid,
                       const UpdateDescriptor& descriptor) noexcept {
  const RowPlan& plan = *partition->plan;
  const char* chunk = chunk_of(partition, tid);
  const uint32_t offset = offset_of(tid);
  uint64_t bytes = descriptor.redo_bytes_max + kVarintSlackBytes;
  for (uint32_t i : descriptor.payloads) {
    const ColumnPlan& column = plan.columns[descriptor.cells[i].column];
    bytes += payload_canonical_bytes(column, cell_of(column.access, chunk, offset));
  }
  char* out = log->redo_reserve(bytes);
  if (out == nullptr) return false;
  char* bitmap = out;
  std::memset(bitmap, 0, descriptor.null_bitmap_bytes);
  out += descriptor.null_bitmap_bytes;
  uint32_t nullable = 0;
  for (const UpdateDescriptor::Cell& cell : descriptor.cells) {
    if (cell.access.null_offset != 0) {
      const uint32_t bit = nullable++;
      if (is_null(cell.access, chunk, offset)) {
        bitmap[bit / 8] = static_cast<char>(bitmap[bit / 8] | (1 << (bit % 8)));
        continue;
      }
    }
    out = put_canonical(out, cell.access, plan.columns[cell.column].type, cell_of(cell.access, chunk, offset));
  }
  log->redo_advance(out);
  return true;
}

}  // namespace scyper::storage
