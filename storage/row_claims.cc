#include "storage/row_claims.h"

#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "row_key.h"
#include "row_plan.h"
#include "storage/key.h"
#include "storage/tiered_chunk.h"
#include "tuple_place.h"

namespace scyper::storage {
namespace {

constexpr uint32_t kByRowId = ~uint32_t{0};  // in the place of the index

// Table and index, then the key's bytes follow.
char* put_claim_head(char* out, TableId table, uint32_t index) {
  const uint32_t head[] = {table.value(), index};
  std::memcpy(out, head, sizeof(head));
  return out + sizeof(head);
}
static_assert(kClaimBytesMax == 2 * sizeof(uint32_t) + kMaxIndexKeyBytes);

uint32_t unique_indexes(const RowPlan& plan) {
  uint32_t bits = 0;
  for (uint32_t i = 0; i < plan.indexes.size(); ++i) bits |= plan.indexes[i].unique ? 1u << i : 0u;
  return bits;
}

bool is_row_change(const UndoEntry& entry) {
  const bool changes = entry.kind == UndoEntry::Kind::kInsert || entry.kind == UndoEntry::Kind::kUpdate ||
                       entry.kind == UndoEntry::Kind::kDelete;
  return changes && entry.tid != kNoTid && entry.partition->plan->is_logged;
}

// Goes through a log from the newest entry to the oldest. A row's cells are as the newest change has left them. Where
// an update has changed the primary key, earlier entries of the row are of the key before it: `older_` has these
// values.
class Walk {
 public:
  explicit Walk(const ClaimVisitor& visit) : visit_(visit) {}

  StatusOr<bool> take(UndoEntry* entry) {
    const RowPlan& plan = *entry->partition->plan;
    const uint32_t moved = entry->kind == UndoEntry::Kind::kUpdate ? entry->moved_indexes & unique_indexes(plan) : 0;
    if (entry->kind == UndoEntry::Kind::kInsert) return visit_keys(entry, ~uint32_t{0});
    if (moved != 0) {
      SCYPER_ASSIGN_OR_RETURN(const bool goes_on, visit_keys(entry, moved));
      if (!goes_on) return false;
    }
    const auto primary = primary_index(*plan.schema);
    if (primary.has_value() && (moved >> *primary & 1) != 0) note_older(entry, plan.schema->indexes[*primary]);
    const bool is_weak = entry->kind == UndoEntry::Kind::kUpdate && moved == 0;
    SCYPER_ASSIGN_OR_RETURN(const std::string_view name, name_before(*entry, primary));
    return visit_({entry->partition, name, is_weak ? RowLock::kNoKeyUpdate : RowLock::kUpdate, true});
  }

 private:
  using Place = std::pair<const TablePartition*, Tid>;

  // The keys that the row has now, in those unique indexes.
  StatusOr<bool> visit_keys(const UndoEntry* entry, uint32_t indexes) {
    const TablePartition* partition = entry->partition;
    const RowPlan& plan = *partition->plan;
    if (chunk_of(partition, entry->tid) == nullptr) return true;
    char name[kClaimBytesMax];
    for (uint32_t left = indexes & unique_indexes(plan); left != 0; left &= left - 1) {
      const auto index = static_cast<uint32_t>(__builtin_ctz(left));
      char* key = put_claim_head(name, plan.schema->id, index);
      const RowKey info =
          encode_row_key(plan.indexes[index], chunk_of(partition, entry->tid), offset_of(entry->tid), entry->tid, key);
      if (info.with_tid || info.too_large) continue;  // equal to no other
      const auto size = static_cast<size_t>(key - name) + info.size;
      if (!visit_({partition, {name, size}, RowLock::kUpdate, true})) return false;
    }
    return true;
  }

  void note_older(UndoEntry* entry, const IndexDef& primary) {
    auto& values = older_[{entry->partition, entry->tid}];
    const char* image = entry->image();
    for (const UpdateDescriptor::Cell& cell : entry->descriptor->cells) {
      for (const uint32_t column : primary.columns) {
        if (column == cell.column)
          values[column] = read_cell(cell.access.kind, image, entry->partition->plan->columns[column].type);
      }
      image += cell.access.cell_bytes + (cell.access.null_offset != 0 ? 1 : 0);
    }
  }

  // The row's name before the change.
  StatusOr<std::string_view> name_before(const UndoEntry& entry, std::optional<uint32_t> primary) {
    const auto older = older_.find({entry.partition, entry.tid});
    if (!primary.has_value() || older == older_.end()) return name_row(entry.partition, entry.tid, name_);
    std::vector<Datum> key;
    for (const uint32_t column : entry.partition->plan->schema->indexes[*primary].columns) {
      const auto value = older->second.find(column);
      key.push_back(value != older->second.end() ? value->second : read_column(entry.partition, entry.tid, column));
    }
    return name_row(*entry.partition->table, key, name_);
  }

  const ClaimVisitor& visit_;
  std::map<Place, std::map<uint32_t, Datum>> older_;
  char name_[kClaimBytesMax];
};

}  // namespace

TableId table_of(std::string_view name) {
  uint32_t table = 0;
  std::memcpy(&table, name.data(), sizeof(table));
  return TableId(table);
}

StatusOr<std::string_view> name_row(const TablePartition* partition, Tid tid, char* out) {
  const RowPlan& plan = *partition->plan;
  SCYPER_RETURN_IF_ERROR(bring_tuple(partition, tid, plan.key_columns));
  const auto primary = primary_index(*plan.schema);
  char* key = put_claim_head(out, plan.schema->id, primary.value_or(kByRowId));
  if (!primary.has_value()) {
    const auto row_id = read_column(partition, tid, static_cast<uint32_t>(plan.row_id_column)).lo;
    std::memcpy(key, &row_id, sizeof(row_id));
    return std::string_view(out, static_cast<size_t>(key - out) + sizeof(row_id));
  }
  const TuplePlace place = place_of(partition, tid, plan.key_columns);
  const RowKey info = encode_row_key(plan.indexes[*primary], place.chunk, place.offset, tid, key);
  return std::string_view(out, static_cast<size_t>(key - out) + info.size);
}

StatusOr<std::string_view> name_row(const Table& table, std::span<const Datum> identity, char* out) {
  const TableSchema& schema = table.schema();
  const auto primary = primary_index(schema);
  char* key = put_claim_head(out, schema.id, primary.value_or(kByRowId));
  const auto head = static_cast<size_t>(key - out);
  if (!primary.has_value()) {
    std::memcpy(key, &identity[0].lo, sizeof(int64_t));
    return std::string_view(out, head + sizeof(int64_t));
  }
  SCYPER_ASSIGN_OR_RETURN(const KeyFormat format, KeyFormat::create(schema.indexes[*primary], schema));
  const size_t size = format.encode(identity, key);
  return size == kKeyTooLarge ? std::string_view() : std::string_view(out, head + size);
}

StatusOr<bool> visit_claims(const ChangeLog& log, const UndoEntry* before, const ClaimVisitor& visit) {
  Walk walk(visit);
  for (UndoEntry* entry = log.top(); entry != before; entry = entry->previous) {
    if (!is_row_change(*entry)) continue;
    SCYPER_ASSIGN_OR_RETURN(const bool goes_on, walk.take(entry));
    if (!goes_on) return false;
  }
  return true;
}

StatusOr<bool> visit_written(const ChangeLog& log, const UndoEntry* before,
                             const std::function<StatusOr<bool>(const WrittenRow&)>& visit) {
  for (UndoEntry* entry = log.top(); entry != before; entry = entry->previous) {
    if (!is_row_change(*entry) || entry->kind == UndoEntry::Kind::kDelete) continue;
    if (!has_tuple(entry->partition, entry->tid)) continue;  // deleted since
    const bool is_update = entry->kind == UndoEntry::Kind::kUpdate;
    SCYPER_ASSIGN_OR_RETURN(const bool goes_on,
                            visit({entry->partition, entry->tid, is_update ? entry->descriptor : nullptr}));
    if (!goes_on) return false;
  }
  return true;
}

}  // namespace scyper::storage
