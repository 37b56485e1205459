#include "storage/table_rebuild.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "change_status.h"
#include "positions.h"
#include "row_index.h"
#include "shared_rows.h"
#include "storage/column_values.h"
#include "storage/pauses.h"
#include "tuple_place.h"

namespace scyper::storage {
namespace {

std::vector<Tid> tuples_by_key(const TablePartition* partition, uint32_t index) {
  std::vector<Tid> tids;
  tids.reserve(partition->live_tuples);
  const OrderedIndex& ordered = *partition->indexes[index].ordered;
  OrderedCursor cursor;
  ordered.seek(&cursor, nullptr, 0, nullptr, 0, false);
  for (Tid tid = ordered.next(&cursor); tid != kNoTid; tid = ordered.next(&cursor)) {
    tids.push_back(tid);
    Pauses::step_if_any();
  }
  return tids;
}

Status sort_by_row_id(const TablePartition* partition, std::vector<Tid>* tids) {
  const auto column = static_cast<uint32_t>(partition->plan->row_id_column);
  std::vector<std::pair<int64_t, Tid>> ids;
  ids.reserve(tids->size());
  for (const Tid tid : *tids) {
    Pauses::step_if_any();
    SCYPER_RETURN_IF_ERROR(bring_tuple(partition, tid, {&column, 1}));
    ids.emplace_back(read_column(partition, tid, column).lo, tid);
  }
  std::sort(ids.begin(), ids.end(), [](const auto& a, const auto& b) {
    Pauses::step_if_any();
    return a < b;
  });
  for (size_t i = 0; i < ids.size(); ++i) (*tids)[i] = ids[i].second;
  return Status();
}

// The live tuples of a partition, as they lie or by primary key or row id.
StatusOr<std::vector<Tid>> tuples_of(const TablePartition* partition, bool by_identity) {
  const auto primary = by_identity ? primary_index(*partition->plan->schema) : std::nullopt;
  if (primary.has_value()) return tuples_by_key(partition, *primary);
  std::vector<Tid> tids;
  tids.reserve(partition->live_tuples);
  for (Tid tid = 0; tid < partition->tuple_limit; ++tid) {
    if (is_live(partition, tid)) tids.push_back(tid);
    Pauses::step_if_any();
  }
  if (by_identity) SCYPER_RETURN_IF_ERROR(sort_by_row_id(partition, &tids));
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

template <uint32_t kBytes>
void copy_strided(const char* from, uint64_t from_stride, char* to, uint64_t to_stride, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, kBytes);
}

// Cells, or NULL bytes, of the first positions of a chunk.
void copy_cells(const char* from, uint64_t from_stride, char* to, uint64_t to_stride, uint32_t bytes, uint32_t count) {
  if (from_stride == bytes && to_stride == bytes) {
    std::memcpy(to, from, uint64_t{bytes} * count);
    return;
  }
  switch (bytes) {
    case 1:
      return copy_strided<1>(from, from_stride, to, to_stride, count);
    case 2:
      return copy_strided<2>(from, from_stride, to, to_stride, count);
    case 4:
      return copy_strided<4>(from, from_stride, to, to_stride, count);
    case 8:
      return copy_strided<8>(from, from_stride, to, to_stride, count);
    case 16:
      return copy_strided<16>(from, from_stride, to, to_stride, count);
    default:
      for (uint32_t i = 0; i < count; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, bytes);
  }
}

// The same value in the first positions.
void fill_cells(const char* cell, char* to, uint64_t to_stride, uint32_t bytes, uint32_t count) {
  copy_cells(cell, 0, to, to_stride, bytes, count);
}

bool fits_in_cell(const ColumnAccess& access, const Datum& value) {
  if (value.null != 0 || !may_have_payload(access.kind)) return true;
  if (access.kind == CellKind::kLongString) return value.size() <= kLongStringInline;
  return access.kind == CellKind::kShortString && value.size() < access.cell_bytes;
}

constexpr int kNumbered = -2;  // in place of a column of the old table: a new row id

// By column of the new table: its position in the old one; -1: its values; kNumbered.
std::vector<int> sources_of(const TableSchema& old, const TableSchema& schema,
                            const std::vector<RebuiltColumn>& columns) {
  std::vector<int> sources;
  for (const RebuiltColumn& column : columns) sources.push_back(column.from);
  if (schema.has_row_id) sources.push_back(old.has_row_id ? static_cast<int>(old.columns.size()) - 1 : kNumbered);
  CHECK(sources.size() == schema.columns.size());
  return sources;
}

// Cells of consecutive tuples.
struct CellRun {
  uint32_t offset;
  uint32_t stride;
};

// What the new table has of the old one without a copy.
struct SharedParts {
  TableLayout layout;
  std::vector<int> columns;            // by column: that of the old table whose cells it has, or -1
  std::vector<int> indexes;            // likewise
  std::vector<CellRun> runs;           // all cells of the old table
  std::vector<ColumnAccess> payloads;  // new columns whose cells may refer to the heap
};

std::vector<CellRun> cell_runs(const TableLayout& layout) {
  std::vector<CellRun> runs = {{layout.live_offset, 1}, {layout.free_offset, sizeof(uint16_t)}};
  CellRun rows{UINT32_MAX, 0};  // the row layout's
  auto add = [&](uint32_t offset, uint32_t stride, uint32_t bytes) {
    if (stride == bytes) return runs.push_back({offset, stride});
    rows = {std::min(rows.offset, offset), stride};
  };
  for (const ColumnAccess& access : layout.columns) {
    add(access.value_offset, access.value_stride, access.cell_bytes);
    if (access.null_offset != 0) add(access.null_offset, access.null_stride, 1);
  }
  if (rows.stride != 0) runs.push_back(rows);
  return runs;
}

bool has_same_cells(const ColumnDef& column, const ColumnDef& old) {
  return column.not_null == old.not_null && cell_kind_of(column.type) == cell_kind_of(old.type) &&
         cell_bytes_of(column.type) == cell_bytes_of(old.type);
}

// The position of the same index in the old table, or -1: its keys have the same bytes.
int kept_index(const IndexDef& index, const TableSchema& schema, const TableSchema& old,
               const std::vector<int>& columns) {
  for (size_t i = 0; i < old.indexes.size(); ++i) {
    IndexDef expected = index;
    for (uint32_t& column : expected.columns) {
      const int from = columns[column];
      if (from < 0 || !(schema.columns[column].type == old.columns[static_cast<size_t>(from)].type)) return -1;
      column = static_cast<uint32_t>(from);
    }
    const IndexDef& at = old.indexes[i];
    if (at.id == expected.id && at.columns == expected.columns && at.descending == expected.descending &&
        at.unique == expected.unique && at.partial == expected.partial)
      return static_cast<int>(i);
  }
  return -1;
}

// nullopt: the new table has to have chunks of its own.
std::optional<SharedParts> shared_parts(const Table& old, const TableSchema& schema, const std::vector<int>& sources) {
  constexpr uint64_t kWasteMax = 4;  // a quarter
  constexpr int kColumnsBesideRowsMax = 8;
  const TableSchema& before = old.schema();
  SharedParts parts;
  std::vector<bool> is_kept(before.columns.size(), false);
  for (size_t c = 0; c < sources.size(); ++c) {
    if (sources[c] == kNumbered) return std::nullopt;
    const auto from = static_cast<size_t>(std::max(sources[c], 0));
    const bool keeps = sources[c] >= 0 && !is_kept[from] && has_same_cells(schema.columns[c], before.columns[from]);
    parts.columns.push_back(keeps ? sources[c] : -1);
    if (keeps) is_kept[from] = true;
  }
  // texts of cells that nobody reads any more would stay
  for (size_t c = 0; c < is_kept.size(); ++c)
    if (!is_kept[c] && may_have_payload(old.layout().columns[c].kind)) return std::nullopt;
  std::optional<TableLayout> layout = extend_layout(old.layout(), schema, parts.columns);
  const uint64_t least = chunk_bytes_of(schema);
  if (!layout.has_value() || layout->chunk_bytes > least + least / kWasteMax + 16384) return std::nullopt;
  const auto beside_rows =
      std::count_if(layout->columns.begin(), layout->columns.end(),
                    [](const ColumnAccess& access) { return access.value_stride == access.cell_bytes; });
  if (schema.layout == Layout::kRow && beside_rows > kColumnsBesideRowsMax) return std::nullopt;
  parts.layout = *std::move(layout);
  for (size_t c = 0; c < parts.columns.size(); ++c) {
    const ColumnAccess& access = parts.layout.columns[c];
    if (parts.columns[c] < 0 && may_have_payload(access.kind)) parts.payloads.push_back(access);
  }
  for (const IndexDef& index : schema.indexes)
    parts.indexes.push_back(kept_index(index, schema, before, parts.columns));
  parts.runs = cell_runs(old.layout());
  return parts;
}

// Rows keep their places, so that chunks are copied column by column, or widened by new columns.
class Rebuild {
 public:
  // shared: null: everything is copied.
  Rebuild(const Table& old, Table* table, const std::vector<RebuiltColumn>& columns, std::vector<int> sources,
          bool by_identity, Table::DatumFormatter format, const SharedParts* shared)
      : old_(old),
        table_(table),
        columns_(columns),
        by_identity_(by_identity),
        format_(format),
        shared_(shared),
        sources_(std::move(sources)) {}

  Status run() {
    const auto indexes = static_cast<uint32_t>(schema().indexes.size());
    for (uint32_t i = 0; i < indexes; ++i)
      if (!keeps_index(i)) SCYPER_RETURN_IF_ERROR(add_companion(i));
    for (uint32_t i = 0; i < old_.partition_count(); ++i) SCYPER_RETURN_IF_ERROR(copy_partition(i));
    for (uint32_t i = 0; i < indexes; ++i)
      for (uint32_t j = 0; j < table_->partition_count() && !keeps_index(i); ++j)
        SCYPER_RETURN_IF_ERROR(fill_index(i, j));
    return Status();
  }

 private:
  const TableSchema& schema() const { return table_->schema(); }
  const ColumnAccess& access_of(uint32_t column) const { return table_->layout().columns[column]; }
  const ColumnAccess& old_access_of(uint32_t column) const {
    return old_.layout().columns[static_cast<size_t>(sources_[column])];
  }
  bool keeps(uint32_t column) const { return shared_ != nullptr && shared_->columns[column] >= 0; }
  bool keeps_index(uint32_t index) const { return shared_ != nullptr && shared_->indexes[index] >= 0; }
  bool has_values(uint32_t column) const { return sources_[column] == -1; }
  bool has_value_per_row(uint32_t column) const { return has_values(column) && columns_[column].values.size() != 1; }
  // Cells of the old table can be copied as bytes.
  bool is_copied(uint32_t column) const {
    if (sources_[column] < 0) return false;
    const ColumnAccess& access = access_of(column);
    const ColumnAccess& old = old_access_of(column);
    return access.kind == old.kind && access.cell_bytes == old.cell_bytes && !may_have_payload(access.kind);
  }

  Status copy_partition(uint32_t number) {
    const TablePartition* from = old_.partition(number);
    TablePartition* to = table_->partition(number);
    while (to->chunk_capacity < from->chunk_count) {
      if (!grow_directory(to)) return out_of_memory();
    }
    for (uint32_t i = 0; i < from->chunk_count; ++i) {
      SCYPER_RETURN_IF_ERROR(from->chunks[i] == nullptr ? thaw_chunk(from, to, i)
                             : shared_ != nullptr       ? widen_chunk(from, to, i)
                                                        : copy_chunk(from, to, i));
    }
    CHECK(to->tuple_limit == from->tuple_limit && to->live_tuples == from->live_tuples);
    SCYPER_RETURN_IF_ERROR(store_values(from, to));
    if (schema().has_row_id && old_.schema().has_row_id) to->next_row_id = from->next_row_id;
    if (!schema().has_row_id || sources_.back() != kNumbered) return Status();
    SCYPER_ASSIGN_OR_RETURN(const std::vector<Tid> tids, tuples_of(from, true));
    for (const Tid tid : tids) write_row_id(to, tid);
    return Status();
  }

  // A chunk without tuples at the end, whose cells refer to nothing.
  char* add_chunk(TablePartition* to, uint32_t used) {
    void* memory = table_->arena()->allocate(to->plan->chunk_bytes);
    if (memory == nullptr) return nullptr;
    char* chunk = static_cast<char*>(memory);
    new_header(memory, *to->plan)->used = used;
    for (const ColumnPlan& column : to->plan->payloads) write_empty_cells(column.access, chunk, used);
    append_chunk(to, chunk);
    return chunk;
  }
  static void append_chunk(TablePartition* to, char* chunk) {
    to->chunks[to->chunk_count] = chunk;
    to->changed[to->chunk_count] = kChangedForArchive;
    to->tuple_limit = (uint64_t{to->chunk_count} << kChunkShift) + header_of(chunk)->used;
    ++to->chunk_count;
  }
  static void write_empty_cells(const ColumnAccess& access, char* chunk, uint32_t used) {
    for (uint32_t i = 0; i < used; ++i) write_empty_cell(access.kind, cell_of(access, chunk, i), access.cell_bytes);
  }

  // The chunk serves both tables. It moves where it has no room for the new columns.
  Status widen_chunk(const TablePartition* from, TablePartition* to, uint32_t number) {
    char* chunk = from->chunks[number];
    const uint32_t used = header_of(chunk)->used;
    if (header_of(chunk)->bytes < to->plan->chunk_bytes) {
      void* memory = table_->arena()->allocate(to->plan->chunk_bytes);
      if (memory == nullptr) return out_of_memory();
      char* wide = static_cast<char*>(memory);
      copy_used(chunk, wide, used);
      header_of(wide)->bytes = to->plan->chunk_bytes;
      table_->shared_rows()->move_chunk(to->partition, number, chunk, wide);
      free_chunk(table_->arena(), chunk);
      chunk = wide;
    }
    ChunkHeader* header = header_of(chunk);
    for (const ColumnAccess& access : shared_->payloads) write_empty_cells(access, chunk, used);
    header->bytes_used = to->plan->chunk_bytes;
    append_chunk(to, chunk);
    std::atomic_ref(to->live_tuples).store(to->live_tuples + header->live, std::memory_order_relaxed);
    for (uint32_t c = 0; c < sources_.size(); ++c) {
      if (keeps(c)) continue;
      Pauses::pause_if_any();
      if (sources_[c] >= 0) SCYPER_RETURN_IF_ERROR(convert_column(from, to, number, c));
      SCYPER_RETURN_IF_ERROR(finish_column(to, number, c));
    }
    return Status();
  }
  // Of all columns of the old table, also of those that the new one does not have.
  void copy_used(const char* old, char* chunk, uint32_t used) {
    std::memcpy(chunk, old, sizeof(ChunkHeader));
    for (const CellRun& run : shared_->runs) {
      Pauses::pause_if_any();
      std::memcpy(chunk + run.offset, old + run.offset, uint64_t{run.stride} * used);
    }
  }
  Status copy_chunk(const TablePartition* from, TablePartition* to, uint32_t number) {
    const char* old = from->chunks[number];
    const auto& old_header = *reinterpret_cast<const ChunkHeader*>(old);
    const uint32_t used = old_header.used;
    char* chunk = add_chunk(to, used);
    if (chunk == nullptr) return out_of_memory();
    const char* live = old + from->plan->live_offset;
    std::memcpy(chunk + to->plan->live_offset, live, used);
    reinterpret_cast<ChunkHeader*>(chunk)->live = old_header.live;
    std::atomic_ref(to->live_tuples).store(to->live_tuples + old_header.live, std::memory_order_relaxed);
    // also those that the running transaction has freed: in the old table it gives them back when it commits
    for (uint32_t i = used; old_header.live < used && i-- > 0;) {
      if (live[i] == 0) free_position(to, (Tid{number} << kChunkShift) + i);
    }
    for (uint32_t c = 0; c < sources_.size(); ++c) {
      Pauses::pause_if_any();
      if (is_copied(c)) {
        copy_column(old, chunk, c, used);
      } else if (sources_[c] >= 0) {
        SCYPER_RETURN_IF_ERROR(convert_column(from, to, number, c));
      }
      SCYPER_RETURN_IF_ERROR(finish_column(to, number, c));
    }
    return Status();
  }

  // Tuples of a chunk that is not hot become those of a hot one.
  Status thaw_chunk(const TablePartition* from, TablePartition* to, uint32_t number) {
    if (add_chunk(to, kChunkTuples) == nullptr) return out_of_memory();
    if (shared_ != nullptr) table_->shared_rows()->note_thawed(table_, to->partition, number);
    const Tid first = Tid{number} << kChunkShift;
    for (uint32_t i = kChunkTuples; i-- > 0;) {
      Pauses::step_if_any();
      const Tid tid = first + i;
      if (from->frozen[number].state == ChunkState::kEmpty || !has_tuple(from, tid)) {
        free_position(to, tid);
        continue;
      }
      SCYPER_RETURN_IF_ERROR(bring_tuple(from, tid));
      set_live(to, tid, true);
      for (uint32_t c = 0; c < sources_.size(); ++c) {
        if (sources_[c] < 0) continue;
        SCYPER_RETURN_IF_ERROR(store(to, tid, c, read_column(from, tid, static_cast<uint32_t>(sources_[c]))));
      }
    }
    for (uint32_t c = 0; c < sources_.size(); ++c) SCYPER_RETURN_IF_ERROR(finish_column(to, number, c));
    return Status();
  }

  Status store(TablePartition* to, Tid tid, uint32_t column, const Datum& value) {
    if (value.null != 0 && schema().columns[column].not_null) return contains_nulls(column);
    return store_datum(to, nullptr, tid, column, value) == ChangeResult::kOk ? Status() : out_of_memory();
  }
  Status contains_nulls(uint32_t column) const {
    return sql_error("23502", "column \"" + schema().columns[column].name + "\" of relation \"" + schema().name +
                                  "\" contains null values");
  }

  void copy_column(const char* old_chunk, char* chunk, uint32_t column, uint32_t used) const {
    const ColumnAccess& old = old_access_of(column);
    const ColumnAccess& access = access_of(column);
    copy_cells(old_chunk + old.value_offset, old.value_stride, chunk + access.value_offset, access.value_stride,
               access.cell_bytes, used);
    if (access.null_offset == 0) return;
    const char none = 0;
    const char* nulls = old.null_offset == 0 ? &none : old_chunk + old.null_offset;
    copy_cells(nulls, old.null_offset == 0 ? 0 : old.null_stride, chunk + access.null_offset, access.null_stride, 1,
               used);
  }

  Status convert_column(const TablePartition* from, TablePartition* to, uint32_t number, uint32_t column) {
    const auto old_column = static_cast<uint32_t>(sources_[column]);
    return for_each_live(to, number,
                         [&](Tid tid) { return store(to, tid, column, read_column(from, tid, old_column)); });
  }

  // NOT NULL of what was copied; one value for all rows.
  Status finish_column(TablePartition* to, uint32_t number, uint32_t column) {
    char* chunk = to->chunks[number];
    const auto& header = *reinterpret_cast<const ChunkHeader*>(chunk);
    if (sources_[column] >= 0 && is_copied(column) && schema().columns[column].not_null &&
        old_access_of(column).null_offset != 0) {
      return check_not_null(to, number, column);
    }
    if (!has_values(column) || has_value_per_row(column) || header.live == 0) return Status();
    const Datum& value = columns_[column].values[0];
    if (value.null != 0 && schema().columns[column].not_null) return contains_nulls(column);
    const ColumnAccess& access = access_of(column);
    if (!fits_in_cell(access, value)) {
      return for_each_live(to, number, [&](Tid tid) { return store(to, tid, column, value); });
    }
    const Tid first = Tid{number} << kChunkShift;
    SCYPER_RETURN_IF_ERROR(store(to, first, column, value));
    const std::string cell(cell_of(access, chunk, 0), access.cell_bytes);
    fill_cells(cell.data(), chunk + access.value_offset, access.value_stride, access.cell_bytes, header.used);
    const char null = static_cast<char>(value.null != 0);
    if (access.null_offset != 0) fill_cells(&null, chunk + access.null_offset, access.null_stride, 1, header.used);
    return Status();
  }

  // Of the old cells: the new ones have no NULL bytes.
  Status check_not_null(const TablePartition* to, uint32_t number, uint32_t column) {
    const TablePartition* from = old_.partition(to->partition);
    const char* old = from->chunks[number];
    if (old == nullptr) return Status();  // store() has looked
    return for_each_live(to, number, [&](Tid tid) {
      return is_null(old_access_of(column), old, offset_of(tid)) ? contains_nulls(column) : Status();
    });
  }

  template <typename Visit>
  Status for_each_live(const TablePartition* to, uint32_t number, Visit visit) {
    const Tid first = Tid{number} << kChunkShift;
    const char* live = to->chunks[number] + to->plan->live_offset;
    for (uint32_t i = 0; i < kChunkTuples; ++i) {
      if (live[i] == 0) continue;
      Pauses::step_if_any();
      SCYPER_RETURN_IF_ERROR(visit(first + i));
    }
    return Status();
  }

  // A value of its own for each row.
  Status store_values(const TablePartition* from, TablePartition* to) {
    std::vector<uint32_t> columns;
    for (uint32_t c = 0; c < sources_.size(); ++c)
      if (has_value_per_row(c)) columns.push_back(c);
    if (columns.empty()) return Status();
    SCYPER_ASSIGN_OR_RETURN(const std::vector<Tid> tids, tuples_of(from, by_identity_));
    for (const Tid tid : tids) {
      Pauses::step_if_any();
      for (const uint32_t c : columns) SCYPER_RETURN_IF_ERROR(store(to, tid, c, columns_[c].values[row_]));
      ++row_;
    }
    return Status();
  }

  // While there are no rows, so that nobody has to wait until it is filled.
  Status add_companion(uint32_t number) {
    const IndexDef& index = schema().indexes[number];
    const auto& old = old_.schema().indexes;
    for (size_t i = 0; i < old.size(); ++i) {
      if (old[i].id == index.id && index.unique && old_.partition(0)->indexes[i].hash != nullptr)
        return table_->build_hash_companion(number);
    }
    return Status();
  }
  Status fill_index(uint32_t number, uint32_t partition_number) {
    TablePartition* partition = table_->partition(partition_number);
    const IndexPlan& plan = partition->plan->indexes[number];
    char key[kMaxIndexKeyBytes];
    for (uint32_t i = 0; i < partition->chunk_count; ++i) {
      SCYPER_RETURN_IF_ERROR(for_each_live(partition, i, [&](Tid tid) {
        const RowKey info = encode_row_key(plan, partition->chunks[i], offset_of(tid), tid, key);
        ChangeLog::Conflict conflict;
        const ChangeResult result = insert_key(partition, number, key, info, tid, &conflict);
        return result == ChangeResult::kOk ? Status() : failure(result, conflict, schema(), format_);
      }));
    }
    return Status();
  }

  const Table& old_;
  Table* const table_;
  const std::vector<RebuiltColumn>& columns_;
  const bool by_identity_;
  const Table::DatumFormatter format_;
  const SharedParts* const shared_;
  const std::vector<int> sources_;  // by column: its position in the old table; -1: its values; kNumbered
  size_t row_ = 0;                  // of values
};

}  // namespace

StatusOr<std::vector<size_t>> places_by_identity(const Table& table) {
  std::vector<size_t> places;
  places.reserve(table.live_tuples());
  for (uint32_t i = 0; i < table.partition_count(); ++i) {
    SCYPER_ASSIGN_OR_RETURN(const std::vector<Tid> lying, tuples_of(table.partition(i), false));
    SCYPER_ASSIGN_OR_RETURN(const std::vector<Tid> ordered, tuples_of(table.partition(i), true));
    const size_t before = places.size();
    for (const Tid tid : ordered) {
      Pauses::step_if_any();
      const auto place = std::lower_bound(lying.begin(), lying.end(), tid) - lying.begin();
      places.push_back(before + static_cast<size_t>(place));
    }
  }
  return places;
}

StatusOr<std::unique_ptr<Table>> rebuild_table(Table* old, TableSchema schema,
                                               const std::vector<RebuiltColumn>& columns, bool by_identity,
                                               Table::DatumFormatter format, RebuildMode mode) {
  CHECK(columns.size() == schema.columns.size() - (schema.has_row_id ? 1 : 0));
  const uint64_t rows = old->live_tuples();
  for (const RebuiltColumn& column : columns)
    CHECK(column.from >= 0 || column.values.size() == 1 || column.values.size() == rows);
  std::vector<int> sources = sources_of(old->schema(), schema, columns);
  std::optional<SharedParts> shared;
  if (mode == RebuildMode::kShares) shared = shared_parts(*old, schema, sources);
  SCYPER_ASSIGN_OR_RETURN(
      auto table, shared.has_value() ? Table::create_sharing(old, std::move(schema), shared->layout, shared->indexes)
                                     : Table::create(std::move(schema), old->partition_count(), old->arena()));
  CHECK(table->partition_count() == old->partition_count());
  if (shared.has_value())
    for (const ColumnAccess& access : shared->payloads) table->shared_rows()->note_payload(table.get(), access);
  Rebuild rebuild(*old, table.get(), columns, std::move(sources), by_identity, format,
                  shared.has_value() ? &*shared : nullptr);
  SCYPER_RETURN_IF_ERROR(rebuild.run());
  return table;
}

}  // namespace scyper::storage
