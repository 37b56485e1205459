#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "change_status.h"
#include "positions.h"
#include "row_change_format.h"
#include "row_index.h"

namespace scyper::storage {
namespace {

Status null_error(const TableSchema& schema, size_t column) {
  return sql_error("23502", "null value in column \"" + schema.columns[column].name + "\" of relation \"" +
                                schema.name + "\" violates not-null constraint");
}

Status append_error(ChangeResult result, const ChangeLog::Conflict& conflict, const TableSchema& schema,
                    Table::DatumFormatter format) {
  if (result == ChangeResult::kOutOfMemory) return out_of_memory();
  const IndexDef& index = schema.indexes[conflict.index];
  if (result == ChangeResult::kKeyTooLarge) return key_too_large(index, conflict.key_bytes);
  return with_detail(sql_error("23505", "duplicate key value violates unique constraint \"" + index.name + "\""),
                     key_text(conflict.partition, index, conflict.tid, format) + " already exists.");
}

// Writes the cells of a new tuple. When it fails, what was written is empty or owned by the tuple.
ChangeResult write_row(TablePartition* partition, Tid tid, const Datum* values, size_t width) {
  for (const ColumnPlan& column : partition->plan->payloads) {
    write_empty_cell(column.access.kind, cell_of(column.access, chunk_of(partition, tid), offset_of(tid)),
                     column.access.cell_bytes);
  }
  write_row_id(partition, tid);
  for (uint32_t i = 0; i < width; ++i) {
    const ChangeResult result = store_datum(partition, nullptr, tid, i, values[i]);
    if (result != ChangeResult::kOk) return result;
  }
  return ChangeResult::kOk;
}

void take_back(TablePartition* partition, const std::vector<Tid>& tids) {
  for (size_t i = tids.size(); i-- > 0;) {
    erase_keys(partition, tids[i]);
    set_live(partition, tids[i], false);
    free_payloads(partition, tids[i]);
    free_position(partition, tids[i]);
  }
}

void write_redo(TablePartition* partition, const std::vector<Tid>& tids, std::string* redo) {
  const RowPlan& plan = *partition->plan;
  for (Tid tid : tids) {
    const char* chunk = chunk_of(partition, tid);
    const size_t size = redo->size();
    const size_t prefix = plan.insert_prefix.size();
    redo->resize(size + prefix + sizeof(uint16_t) + row_values_bytes_max(plan.row, chunk, offset_of(tid)));
    char* out = redo->data() + size;
    std::memcpy(out, plan.insert_prefix.data(), prefix);
    save_cell(out + prefix, static_cast<uint16_t>(partition->partition));
    out = put_row_values(out + prefix + sizeof(uint16_t), plan.row, chunk, offset_of(tid));
    redo->resize(static_cast<size_t>(out - redo->data()));
  }
}

// Appends; on error none, and what was appended before is the caller's to take back.
Status append(TablePartition* partition, std::span<const Datum> values, Table::DatumFormatter format,
              std::vector<Tid>* tids) {
  const TableSchema& schema = *partition->plan->schema;
  const size_t width = schema.columns.size() - (schema.has_row_id ? 1 : 0);
  CHECK(width > 0 && values.size() % width == 0);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].null != 0 && schema.columns[i % width].not_null) return null_error(schema, i % width);
  }
  const uint64_t first_row_id = partition->next_row_id;
  tids->reserve(values.size() / width);
  for (size_t i = 0; i < values.size(); i += width) {
    const Tid tid = take_position(partition);
    if (tid != kNoTid) mark_changed(partition, tid);
    ChangeLog::Conflict conflict;
    ChangeResult result = tid == kNoTid ? ChangeResult::kOutOfMemory : write_row(partition, tid, &values[i], width);
    if (result == ChangeResult::kOk) result = insert_keys(partition, tid, &conflict);
    if (result == ChangeResult::kOk) {
      set_live(partition, tid, true);
      tids->push_back(tid);
      continue;
    }
    const Status status = append_error(result, conflict, schema, format);
    if (tid != kNoTid) {
      free_payloads(partition, tid);
      free_position(partition, tid);
    }
    take_back(partition, *tids);
    tids->clear();
    partition->next_row_id = first_row_id;
    return status;
  }
  return absl::OkStatus();
}

}  // namespace

Status append_rows(TablePartition* partition, std::span<const Datum> values, Table::DatumFormatter format) {
  std::vector<Tid> tids;
  return append(partition, values, format, &tids);
}

Status append_rows(Table* table, std::span<const std::vector<Datum>> parts, Table::DatumFormatter format,
                   std::string* redo) {
  CHECK(parts.size() <= table->partition_count());
  std::vector<std::vector<Tid>> tids(parts.size());
  std::vector<uint64_t> row_ids(parts.size());
  for (uint32_t i = 0; i < parts.size(); ++i) {
    row_ids[i] = table->partition(i)->next_row_id;
    Status status = append(table->partition(i), parts[i], format, &tids[i]);
    if (status.ok()) continue;
    for (uint32_t before = i; before-- > 0;) {
      take_back(table->partition(before), tids[before]);
      table->partition(before)->next_row_id = row_ids[before];
    }
    return status;
  }
  if (redo != nullptr) {
    for (uint32_t i = 0; i < parts.size(); ++i) write_redo(table->partition(i), tids[i], redo);
  }
  return absl::OkStatus();
}

}  // namespace scyper::storage
