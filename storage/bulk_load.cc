#include <vector>

#include "base/check.h"
#include "change_status.h"
#include "positions.h"
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

}  // namespace

Status append_rows(TablePartition* partition, std::span<const Datum> values, Table::DatumFormatter format) {
  const TableSchema& schema = *partition->plan->schema;
  const size_t width = schema.columns.size() - (schema.has_row_id ? 1 : 0);
  CHECK(width > 0 && values.size() % width == 0);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].null != 0 && schema.columns[i % width].not_null) return null_error(schema, i % width);
  }
  const uint64_t first_row_id = partition->next_row_id;
  std::vector<Tid> tids;
  tids.reserve(values.size() / width);
  for (size_t i = 0; i < values.size(); i += width) {
    const Tid tid = take_position(partition);
    ChangeLog::Conflict conflict;
    ChangeResult result = tid == kNoTid ? ChangeResult::kOutOfMemory : write_row(partition, tid, &values[i], width);
    if (result == ChangeResult::kOk) result = insert_keys(partition, tid, &conflict);
    if (result == ChangeResult::kOk) {
      set_live(partition, tid, true);
      tids.push_back(tid);
      continue;
    }
    const Status status = append_error(result, conflict, schema, format);
    if (tid != kNoTid) {
      free_payloads(partition, tid);
      free_position(partition, tid);
    }
    take_back(partition, tids);
    partition->next_row_id = first_row_id;
    return status;
  }
  return absl::OkStatus();
}

}  // namespace scyper::storage
