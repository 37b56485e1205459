#include "change_status.h"

#include "base/check.h"
#include "storage/change_log.h"
#include "storage/tiered_chunk.h"

namespace scyper::storage {

std::string key_text(const TablePartition* partition, const IndexDef& index, Tid tid, Table::DatumFormatter format) {
  const bool is_readable = bring_tuple(partition, tid, index.columns).ok();
  const TableSchema& schema = partition->table->schema();
  std::string names;
  std::string values;
  for (size_t i = index.partial ? 1 : 0; i < index.columns.size(); ++i) {
    const uint32_t column = index.columns[i];
    const char* separator = names.empty() ? "" : ", ";
    const Datum value = is_readable ? read_column(partition, tid, column) : null_datum();
    names += separator + schema.columns[column].name;
    if (!is_readable) {
      values += std::string(separator) + "?";
      continue;
    }
    values += separator + (value.null != 0 ? std::string("null") : format(schema.columns[column].type, value));
  }
  return "Key (" + names + ")=(" + values + ")";
}

Status out_of_memory() {
  return with_hint(sql_error("53200", "out of memory"),
                   "Raise the setting memory, or free some: TRUNCATE, DROP, or DELETE fewer rows at once.");
}

Status key_too_large(const IndexDef& index, uint64_t bytes) {
  return sql_error("54000", "index row size " + std::to_string(bytes) + " exceeds maximum " +
                                std::to_string(kMaxKeyBytes) + " for index \"" + index.name + "\"");
}

Status change_status(ChangeResult result, const ChangeLog& log, Table::DatumFormatter format) {
  const ChangeLog::Conflict& conflict = log.conflict();
  switch (result) {
    case ChangeResult::kOk:
      return absl::OkStatus();
    case ChangeResult::kOutOfMemory:
      return out_of_memory();
    case ChangeResult::kRedoLimit:
      return with_hint(sql_error("53400", "transaction writes more than " +
                                              std::to_string(log.options().redo_limit_bytes) + " bytes of redo log"),
                       "Raise the setting redo_bytes_max, or change fewer rows at once.");
    case ChangeResult::kUndoLimit:
      return sql_error("53400", "transaction writes more than " + std::to_string(log.options().undo_limit_bytes) +
                                    " bytes of undo log");
    case ChangeResult::kKeyTooLarge:
      return key_too_large(conflict.partition->table->schema().indexes[conflict.index], conflict.key_bytes);
    case ChangeResult::kDuplicateKey: {
      const IndexDef& index = conflict.partition->table->schema().indexes[conflict.index];
      return with_detail(sql_error("23505", "duplicate key value violates unique constraint \"" + index.name + "\""),
                         key_text(conflict.partition, index, conflict.tid, format) + " already exists.");
    }
  }
  CHECK(!"a change result");
  return absl::OkStatus();
}

}  // namespace scyper::storage
