#include "storage/table_rebuild.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "change_status.h"
#include "row_index.h"
#include "storage/pauses.h"
#include "tuple_place.h"

namespace scyper::storage {
namespace {

// Between two rows, where nobody changes the table meanwhile.
void pause_between() {
  if (Pauses::current != nullptr) Pauses::current->step();
}

// The live tuples of a partition, as they lie or by primary key or row id.
StatusOr<std::vector<Tid>> tuples_of(const TablePartition* partition, bool by_identity) {
  std::vector<Tid> tids;
  tids.reserve(partition->live_tuples);
  for (Tid tid = 0; tid < partition->tuple_limit; ++tid) {
    if (is_live(partition, tid)) tids.push_back(tid);
    pause_between();
  }
  if (!by_identity) return tids;
  const TableSchema& schema = *partition->plan->schema;
  std::vector<std::pair<std::string, Tid>> keys;
  keys.reserve(tids.size());
  size_t primary = 0;
  while (primary < schema.indexes.size() && !schema.indexes[primary].primary) ++primary;
  for (Tid tid : tids) {
    pause_between();
    if (primary == schema.indexes.size()) {
      char id[sizeof(uint64_t)];
      const auto column = static_cast<uint32_t>(partition->plan->row_id_column);
      SCYPER_RETURN_IF_ERROR(bring_tuple(partition, tid, {&column, 1}));
      put_key_integer(id, static_cast<uint64_t>(read_column(partition, tid, column).lo));
      keys.emplace_back(std::string(id, sizeof(id)), tid);
      continue;
    }
    char key[kMaxIndexKeyBytes];
    const IndexPlan& plan = partition->plan->indexes[primary];
    SCYPER_RETURN_IF_ERROR(bring_tuple(partition, tid, plan.columns));
    const TuplePlace place = place_of(partition, tid, plan.columns);
    const RowKey info = encode_row_key(plan, place.chunk, place.offset, tid, key);
    keys.emplace_back(std::string(key, info.size), tid);
  }
  std::sort(keys.begin(), keys.end());
  for (size_t i = 0; i < keys.size(); ++i) tids[i] = keys[i].second;
  return tids;
}

Status failure(ChangeResult result, const ChangeLog::Conflict& conflict, const TableSchema& schema,
               Table::DatumFormatter format) {
  if (result == ChangeResult::kOutOfMemory) return out_of_memory();
  const IndexDef& index = schema.indexes[conflict.index];
  if (result == ChangeResult::kKeyTooLarge) return key_too_large(index, conflict.key_bytes);
  return with_detail(sql_error("23505", "could not create unique index \"" + index.name + "\""),
                     key_text(conflict.partition, index, conflict.tid, format) + " is duplicated.");
}

class Rebuild {
 public:
  Rebuild(const Table& old, Table* table, const std::vector<RebuiltColumn>& columns, Table::DatumFormatter format)
      : old_(old), table_(table), columns_(columns), format_(format), width_(columns.size()) {}

  Status copy_partition(uint32_t number, bool by_identity) {
    const TablePartition* from = old_.partition(number);
    TablePartition* to = table_->partition(number);
    const bool keeps_row_ids = old_.schema().has_row_id && table_->schema().has_row_id;
    SCYPER_ASSIGN_OR_RETURN(const std::vector<Tid> tids, tuples_of(from, by_identity));
    for (Tid tid : tids) {
      pause_between();
      SCYPER_RETURN_IF_ERROR(copy_row(from, tid, to, keeps_row_ids));
    }
    if (keeps_row_ids) to->next_row_id = from->next_row_id;
    return absl::OkStatus();
  }

 private:
  Status copy_row(const TablePartition* from, Tid old_tid, TablePartition* to, bool keeps_row_id) {
    const TableSchema& schema = table_->schema();
    SCYPER_RETURN_IF_ERROR(bring_tuple(from, old_tid));
    const Tid tid = take_position(to);
    if (tid == kNoTid) return out_of_memory();
    for (const ColumnPlan& column : to->plan->payloads)
      write_empty_cell(column.access.kind, cell_of(column.access, chunk_of(to, tid), offset_of(tid)),
                       column.access.cell_bytes);
    write_row_id(to, tid);
    ChangeResult result = ChangeResult::kOk;
    for (uint32_t c = 0; c < width_ && result == ChangeResult::kOk; ++c) {
      const RebuiltColumn& column = columns_[c];
      const Datum value = column.from >= 0 ? read_column(from, old_tid, static_cast<uint32_t>(column.from))
                                           : column.values[column.values.size() == 1 ? 0 : row_];
      if (value.null != 0 && schema.columns[c].not_null) {
        free_payloads(to, tid);
        free_position(to, tid);
        return sql_error("23502", "column \"" + schema.columns[c].name + "\" of relation \"" + schema.name +
                                      "\" contains null values");
      }
      result = store_datum(to, nullptr, tid, c, value);
    }
    if (keeps_row_id) {
      const auto old_column = static_cast<uint32_t>(from->plan->row_id_column);
      const auto new_column = static_cast<uint32_t>(to->plan->row_id_column);
      if (result == ChangeResult::kOk)
        result = store_datum(to, nullptr, tid, new_column, read_column(from, old_tid, old_column));
    }
    ChangeLog::Conflict conflict;
    if (result == ChangeResult::kOk) result = insert_keys(to, tid, &conflict);
    if (result != ChangeResult::kOk) {
      const Status status = failure(result, conflict, schema, format_);
      free_payloads(to, tid);
      free_position(to, tid);
      return status;
    }
    set_live(to, tid, true);
    ++row_;
    return absl::OkStatus();
  }

  const Table& old_;
  Table* const table_;
  const std::vector<RebuiltColumn>& columns_;
  const Table::DatumFormatter format_;
  const size_t width_;
  size_t row_ = 0;
};

}  // namespace

StatusOr<std::unique_ptr<Table>> rebuild_table(const Table& old, TableSchema schema, uint32_t partitions, Arena* arena,
                                               const std::vector<RebuiltColumn>& columns, bool by_identity,
                                               Table::DatumFormatter format) {
  CHECK(columns.size() == schema.columns.size() - (schema.has_row_id ? 1 : 0));
  const uint64_t rows = old.live_tuples();
  for (const RebuiltColumn& column : columns)
    CHECK(column.from >= 0 || column.values.size() == 1 || column.values.size() == rows);
  by_identity |= schema.has_row_id && !old.schema().has_row_id;
  SCYPER_ASSIGN_OR_RETURN(auto table, Table::create(std::move(schema), partitions, arena));
  CHECK(table->partition_count() == old.partition_count());
  Rebuild rebuild(old, table.get(), columns, format);
  for (uint32_t i = 0; i < old.partition_count(); ++i) SCYPER_RETURN_IF_ERROR(rebuild.copy_partition(i, by_identity));
  return table;
}

}  // namespace scyper::storage
