#include "row_redo.h"

#include "tuple_place.h"

namespace scyper::storage {
namespace {

char* put_prefix(char* out, const std::string& prefix, const TablePartition* partition) {
  std::memcpy(out, prefix.data(), prefix.size());
  save_cell(out + prefix.size(), static_cast<uint16_t>(partition->partition));
  return out + prefix.size() + sizeof(uint16_t);
}

TuplePlace hot_place(const TablePartition* partition, Tid tid) { return {chunk_of(partition, tid), offset_of(tid)}; }

bool log_row(ChangeLog* log, const TablePartition* partition, TuplePlace place, const std::string& prefix,
             const RowValues& values) noexcept {
  const auto [chunk, offset] = place;
  char* out = log->redo_reserve(prefix.size() + sizeof(uint16_t) + row_values_bytes_max(values, chunk, offset));
  if (out == nullptr) return false;
  log->redo_advance(put_row_values(put_prefix(out, prefix, partition), values, chunk, offset));
  return true;
}

}  // namespace

bool log_insert(ChangeLog* log, const TablePartition* partition, Tid tid) noexcept {
  return log_row(log, partition, hot_place(partition, tid), partition->plan->insert_prefix, partition->plan->row);
}

bool log_delete(ChangeLog* log, const TablePartition* partition, Tid tid) noexcept {
  const TuplePlace place = place_of(partition, tid, partition->plan->key_columns);
  return log_row(log, partition, place, partition->plan->delete_prefix, partition->plan->key);
}

bool log_update_key(ChangeLog* log, const TablePartition* partition, Tid tid,
                    const UpdateDescriptor& descriptor) noexcept {
  return log_row(log, partition, hot_place(partition, tid), descriptor.redo_prefix, partition->plan->key);
}

bool log_update_values(ChangeLog* log, const TablePartition* partition, Tid tid,
                       const UpdateDescriptor& descriptor) noexcept {
  const char* chunk = chunk_of(partition, tid);
  const uint32_t offset = offset_of(tid);
  char* out = log->redo_reserve(row_values_bytes_max(descriptor.values, chunk, offset));
  if (out == nullptr) return false;
  log->redo_advance(put_row_values(out, descriptor.values, chunk, offset));
  return true;
}

}  // namespace scyper::storage
